"""The readings of a design that are open: what publications say of it, and no recording excludes.

Open points hide one another, so readings of two points are taken together as well, and those of each source as a whole.
Beside what sources say, an infinity inside a chain (open point 8) has the other reading that its parameter names. Carry
bits (open point 13) have none: every source takes the sum to be exact.

The level of every parameter of a design: what its row states, what recordings decide, what is left assumed.

The recorded part is data that ``mmaproof evidence --decided`` writes and a test computes anew from the recordings.
"""

from __future__ import annotations

import itertools
import tomllib
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache, cached_property, lru_cache
from importlib.resources import files
from typing import Any

from mmaproof.designs.catalogue import load_catalogue
from mmaproof.designs.design import Design, Evidence, Level
from mmaproof.designs.errors import DesignError
from mmaproof.designs.parameters import DEFINITIONS, complete_settings, compose, format_parameter, parse_parameter
from mmaproof.designs.profiles import load_disputes
from mmaproof.designs.readings import ChainInfinity

STRUCTURE = ("adder", "comparator")
"""Parameters on which no result depends. Nothing is evidence for them, and none is needed."""

SILENT = {
    "chain_infinity": "open point 8: no source states it of this unit",
    "carry_bits": "open point 13: sources take the sum to be exact",
}
"""Open points on which no profile departs from the default. What a vendor writes down leaves none of them open."""


@dataclass(frozen=True)
class RecordedRow:
    """What recordings say of a row of the catalogue.

    ``refuted`` has, for each parameter that they decide, the fewest rows that refute another value of it. ``left`` has,
    for parameters that they restrict and do not decide, the other values that are left, as texts.
    """

    row: str
    recordings: tuple[str, ...]
    rows: int
    refuted: Mapping[str, int]
    left: Mapping[str, tuple[str, ...]]

    def merged(self, other: RecordedRow) -> RecordedRow:
        """Return what these recordings and those of ``other`` say together."""
        refuted = {**other.refuted, **self.refuted}
        left: dict[str, tuple[str, ...]] = {}
        for name in {*self.left, *other.left} - refuted.keys():
            both = [set(x.left[name]) for x in (self, other) if name in x.left]
            left[name] = tuple(
                x for x in (*self.left.get(name, ()), *other.left.get(name, ())) if x in both[0] & both[-1]
            )
        refuted |= {name: 1 for name, texts in left.items() if not texts}
        recordings = tuple(dict.fromkeys((*self.recordings, *other.recordings)))
        left = {name: tuple(dict.fromkeys(texts)) for name, texts in left.items() if texts}
        return RecordedRow(self.row, recordings, self.rows + other.rows, refuted, left)

    def evidence(self, parameter: str) -> Evidence:
        """Return the evidence for a parameter that the recordings decide."""
        fewest = self.refuted[parameter]
        source = f"{', '.join(self.recordings)}: every other value is wrong in {fewest} of {self.rows} rows or more"
        return Evidence(Level.RECORDED, source)


@cache
def load_recorded() -> Mapping[str, RecordedRow]:
    """Return what the project's recordings decide, by row of the catalogue."""
    text = (files("mmaproof.designs") / "data" / "evidence.toml").read_text(encoding="utf-8")
    return parse_recorded(text)


def parse_recorded(text: str) -> Mapping[str, RecordedRow]:
    """Return the rows of a file of recorded evidence."""
    rows = tomllib.loads(text).get("row", [])
    return {
        x["row"]: RecordedRow(
            x["row"],
            tuple(x["recordings"]),
            x["rows"],
            dict(x["refuted"]),
            {name: tuple(texts) for name, texts in x["left"].items()},
        )
        for x in rows
    }


def levels_of(design: Design, recorded: RecordedRow | None = None) -> dict[str, Evidence]:
    """Return what each parameter of ``design`` that a result may depend on rests on.

    ``recorded`` is what recordings say of its row, by default those of the project. A parameter that was changed from
    the catalogue's row is assumed; one that a profile sets is published.
    """
    settings = design.settings
    base = load_catalogue().designs.get(design.base_name)
    before = {} if base is None else complete_settings(base.chain, base.step)
    recorded = recorded or load_recorded().get(design.evidence.row)
    complete = complete_settings(design.chain, design.step)
    disputed = _disputed(design, complete)
    found = {}
    for name, value in settings.items():
        if name in STRUCTURE:
            continue
        if before[name] != value if before else name in design.changed:
            found[name] = _changed(design, name)
        elif recorded is not None and name in recorded.refuted:
            found[name] = recorded.evidence(name)
        else:
            stated = _stated(design, name, complete, disputed)
            if recorded is not None and name in recorded.left:
                left = ", ".join(recorded.left[name])
                stated = replace(stated, source=f"{stated.source}; recordings do not exclude {left}")
            found[name] = stated
    return found


def _changed(design: Design, name: str) -> Evidence:
    """Return what a value rests on that is not that of the catalogue's row."""
    if design.profile is not None and name not in design.changed:
        return Evidence(Level.PUBLISHED, f"as {design.profile} has it")
    return Evidence(Level.ASSUMED, "changed from the catalogue's row")


def _stated(design: Design, name: str, complete: Mapping[str, Any], disputed: Mapping[str, str]) -> Evidence:
    """Return what a value of the catalogue's row rests on, recordings left out. ``complete`` has every parameter."""
    row = design.evidence
    if row.is_assumed:
        return Evidence(Level.ASSUMED, design.source)
    if name in row.parameters:
        stated = row.parameters[name]
        return Evidence(stated.level, stated.source or design.source)
    if row.whole is None:
        return Evidence(Level.ASSUMED, "its row states no evidence")
    if name in disputed:
        return Evidence(Level.ASSUMED, disputed[name])
    if name in SILENT and row.whole.level is not Level.VENDOR and not _is_set(name, complete[name]):
        return Evidence(Level.ASSUMED, SILENT[name])
    return Evidence(row.whole.level, row.whole.source or design.source)


def _is_set(name: str, value: Any) -> bool:
    """Return whether a parameter differs from its default, so that a row or its family must set it."""
    return bool(value != DEFINITIONS[name].default)


def _disputed(design: Design, complete: Mapping[str, Any]) -> dict[str, str]:
    """Return the parameters that profiles set to different values in ``design``, each with the open point.

    A parameter that the row sets to something other than its default is left out: the row's own source states it.
    """
    disputes = load_disputes()
    found = {}
    for point in disputes.points:
        held = [disputes.settings(design, profile, point.number) for profile in disputes.profiles]
        for name in {n for x in held for n in x}:
            values = {str(x.get(name, complete[name])) for x in held}
            if len(values) > 1 and not _is_set(name, complete[name]):
                found[name] = f"open point {point.number}: publications disagree"
    return found


CHAIN_INFINITY = 8
"""The open point on which no source departs from the catalogue."""

_WORDS: Mapping[str, Mapping[str, str]] = {
    "zero_c": {
        "minus-126": "c = 0 reads exponent -126",
        "absent": "c = 0 takes no part in e_max",
        "e-zero": "c = 0 reads exponent {e_zero}",
        "natural": "c = 0 reads the exponent of its encoding",
    },
    "zero_product": {
        "operand-minus-126": "a zero operand reads exponent -126",
        "absent": "a zero product takes no part in e_max",
        "e-zero": "a zero product reads exponent {e_zero}",
        "natural": "a zero operand reads the exponent of its encoding",
    },
    "floor": {"none": "e_max has no floor", "": "e_max is at least {floor}"},
    "c_subnormal": {
        "e-min": "a subnormal c reads the exponent e_min",
        "normalised": "a subnormal c reads its exponent once normalised",
    },
    "overflow": {
        "infinity": "a result that overflows is infinite",
        "largest-finite": "a result that overflows is the largest finite number",
    },
    "negative_zero": {
        "positive": "a negative sum that becomes zero is +0",
        "negative": "a negative sum that becomes zero is -0",
    },
    "chain_infinity": {
        "infinite": "an overflow inside a chain stays infinite",
        "finite": "an overflow inside a chain stays finite",
    },
}
"""Readings in words. Others are told as the settings that make them."""


@dataclass(frozen=True)
class OpenReading:
    """Another reading of open points: their numbers, what it sets, and the design that it makes."""

    points: tuple[int, ...]
    settings: Mapping[str, Any]
    design: Design

    @property
    def texts(self) -> dict[str, str]:
        """The settings as a person types them."""
        return {name: format_parameter(name, x) for name, x in self.settings.items()}

    @property
    def words(self) -> str:
        """What it says and the points that it is about, for a person."""
        values = complete_settings(self.design.chain, self.design.step)
        spelled = {n: _WORDS.get(n, {}).get(text, _WORDS.get(n, {}).get("", "")) for n, text in self.texts.items()}
        if any("{e_zero}" in x for x in spelled.values()):
            spelled.pop("e_zero", None)
        parts = [x.format(**values) if x else f"{n} = {self.texts[n]}" for n, x in spelled.items()]
        return f"{' and '.join(parts)}: open point{'s' * (len(self.points) > 1)} {', '.join(map(str, self.points))}"


def open_readings(design: Design, fixed: Collection[str] = ()) -> tuple[OpenReading, ...]:
    """Return the other readings of ``design`` that nothing recorded excludes, those of the fewest points first.

    Parameters that a user set, in the name of the design or in ``fixed``, are not open, and neither is anything of a
    design that was read as one source has it (``@as=``). A unit that is not of the catalogue has no other reading.
    """
    # equal designs may differ in what the user set, so this is part of the key
    return _readings(design, design.profile, design.changed, frozenset(fixed))


@lru_cache(maxsize=1024)
def _readings(
    design: Design, profile: str | None, changed: tuple[str, ...], fixed: frozenset[str]
) -> tuple[OpenReading, ...]:
    row = load_catalogue().designs.get(design.base_name)
    if profile is not None or row is None or not design.step.is_parametric:
        return ()
    may_be = _Allowed(design, fixed.union(changed))
    found: dict[tuple[Any, ...], OpenReading] = {(design.chain, design.step): OpenReading((), {}, design)}
    for points, settings in sorted(_joint(design, may_be), key=lambda x: len(x[0])):
        try:
            chain, step = compose(complete_settings(design.chain, design.step) | settings)
            other = replace(design, chain=chain, step=step, changed=tuple(n for n in DEFINITIONS if n in settings))
        except DesignError:  # two readings that no step has together
            continue
        found.setdefault((chain, step), OpenReading(points, settings, other))
    return tuple(found.values())[1:]


@dataclass(frozen=True)
class _Allowed:
    """Which settings of a design neither a recording nor the user excludes."""

    design: Design
    fixed: frozenset[str]

    @cached_property
    def _others(self) -> dict[str, tuple[str, ...] | None]:
        """The values other than its own that each parameter may have as texts, None for all."""
        recorded = load_recorded().get(self.design.evidence.row)
        left = {} if recorded is None else recorded.left
        found: dict[str, tuple[str, ...] | None] = {name: left.get(name) for name in DEFINITIONS}
        decided = {name for name, x in levels_of(self.design).items() if x.level is Level.RECORDED}
        return found | dict.fromkeys(self.fixed | decided, ())

    def __call__(self, settings: Mapping[str, Any]) -> bool:
        held = complete_settings(self.design.chain, self.design.step)
        return all(
            x == held[name] or self._others[name] is None or format_parameter(name, x) in (self._others[name] or ())
            for name, x in settings.items()
        )


def _joint(design: Design, may_be: _Allowed) -> Iterator[tuple[tuple[int, ...], dict[str, Any]]]:
    """Yield points and settings: of each point alone, with what else it needs to show, of two, of each source whole."""
    disputes = load_disputes()
    sources = {
        profile: {p.number: disputes.settings(design, profile, p.number) for p in disputes.points}
        for profile in disputes.sources(design)
    }
    single = [(number, x) for of in sources.values() for number, x in of.items() if x and may_be(x)]
    other = next(x for x in ChainInfinity if x is not design.settings.get("chain_infinity"))
    if "chain_infinity" in design.settings and may_be({"chain_infinity": other}):
        single.append((CHAIN_INFINITY, {"chain_infinity": other}))
    single = sorted((x for i, x in enumerate(single) if x not in single[:i]), key=lambda x: x[0])
    yield from (((number,), x) for number, x in single)
    for (first, x), (second, y) in itertools.combinations(single, 2):
        if first != second and all(x[n] == y[n] for n in x.keys() & y.keys()):
            yield (first, second), {**x, **y}
    for point in disputes.points:
        shown = {n: parse_parameter(n, text) for n, text in point.jointly.items()}
        if shown and may_be(shown):
            also = [p.number for p in disputes.points if p.parameters[0] in shown]
            yield from (((*also, number), {**shown, **x}) for number, x in single if number == point.number)
    for of in sources.values():
        held = {number: x for number, x in of.items() if x and may_be(x)}
        yield tuple(held), {name: x for settings in held.values() for name, x in settings.items()}
