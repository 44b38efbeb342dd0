"""The level of every parameter of a design: what its row states, what recordings decide, what is left assumed.

The recorded part is data that ``mmaproof evidence --decided`` writes and a test computes anew from the recordings.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files
from typing import Any

from mmaproof.designs.catalogue import load_catalogue
from mmaproof.designs.design import Design, Evidence, Level
from mmaproof.designs.parameters import DEFINITIONS, complete_settings
from mmaproof.designs.profiles import load_disputes

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
