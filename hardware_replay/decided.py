"""What recordings decide: the parameters of which every other value contradicts some recorded row.

A recording is of one instruction. What it decides holds for the row of the catalogue that the instruction is of, and
for no other one.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from mmaproof.designs.catalogue import find_design, load_catalogue
from mmaproof.designs.design import Design
from mmaproof.designs.errors import DesignError, InputError
from mmaproof.designs.open_points import STRUCTURE, RecordedRow
from mmaproof.designs.parameters import DEFINITIONS, complete_settings, format_parameter
from mmaproof.designs.profiles import load_disputes
from mmaproof.designs.readings import KOrder
from mmaproof.designs.steps.step import IntegerRange
from mmaproof.hardware_replay.recordings import read_index, read_recording
from mmaproof.hardware_replay.target import Answers
from mmaproof.smt.evaluate import SharedBatch, equal_patterns, evaluate_batch
from mmaproof.smt.semantics.datapath import sum_widths

DISTANCES = (1, 2, 4, 8, 16, 32)
"""How far from the value of an integer parameter others are tried, in both directions."""

ORDERS = ("consecutive", "reversed", "mod2:0/1", "mod2:1/0", "mod4:01/23", "mod4:23/01", "mod4:02/13", "mod4:0/1/2/3")
"""The orders of k that are tried."""


@dataclass(frozen=True)
class Alternative:
    """Another value of a parameter of ``base``, and the design that has it."""

    parameter: str
    value: Any
    base: Design
    design: Design

    @property
    def text(self) -> str:
        """The value as a person types it."""
        return format_parameter(self.parameter, self.value)


def alternatives(design: Design, parameter: str | None = None) -> Iterator[Alternative]:
    """Yield the other values of each parameter, or of one, with which ``design`` is another valid design.

    A value that makes the same computation is left out, and so is a register that is wide enough.

    Of an enumeration these are all other readings, and of integers some in the neighbourhood, or, where there is none,
    whatever other rows of the catalogue and their profiles have. The other parameters stay as they are.
    """
    for name in design.settings if parameter is None else (parameter,):
        if name in STRUCTURE:
            continue
        for value in candidates(design, name):
            try:
                other = design.change(**{name: value})
            except DesignError:
                continue
            if (other.chain, other.step) == (design.chain, design.step):
                continue
            if name == "carry_bits" and not sum_widths(other).may_wrap:
                continue
            yield Alternative(name, value, design, other)


def candidates(design: Design, name: str) -> tuple[Any, ...]:
    """Return the values of a parameter that are tried besides its own. Not all of them may be valid."""
    held = complete_settings(design.chain, design.step)[name]
    found: tuple[Any, ...]
    match DEFINITIONS[name].values:
        case IntegerRange() if name == "L":
            found = tuple(x for x in range(1, design.k + 1) if design.k % x == 0)
        case IntegerRange(low, high, otherwise):
            if name == "carry_bits":
                near: tuple[int, ...] = tuple(range(low, high + 1))
            elif held is None:
                near = _values_of_others(name)
            else:
                near = tuple(held + sign * x for x in DISTANCES for sign in (-1, 1))
            none = () if otherwise is None else (None,)
            found = (*none, *(x for x in near if low <= x <= high))
        case tuple() as values:
            found = values
        case kind if issubclass(kind, KOrder):
            found = tuple(map(KOrder, ORDERS))
        case readings if issubclass(readings, StrEnum):
            found = tuple(readings)
        case other:
            raise TypeError(f"{name}: no values of {other} are known")
    return tuple(dict.fromkeys(x for x in found if x != held))


@cache
def _values_of_others(name: str) -> tuple[int, ...]:
    """Return what rows of the catalogue, and profiles of them, have for an integer parameter."""
    return tuple(sorted({x[name] for x in _settings_of_others() if x[name] is not None}))


@cache
def _settings_of_others() -> tuple[dict[str, Any], ...]:
    """Return the settings of all rows of the catalogue and of profiles of them."""
    disputes = load_disputes()
    rows = {x.evidence.row: x for x in load_catalogue().designs.values() if x.evidence.like is None}
    designs = [*rows.values(), *(disputes.apply(x, p) for x in rows.values() for p in disputes.profiles)]
    return tuple(complete_settings(*x) for x in {(x.chain, x.step) for x in designs})


@dataclass
class RowDecision:
    """What recordings say of one row of the catalogue.

    ``refuting`` has, for each parameter and each other value of it as text, how many recorded rows exclude that value.
    ``wrong`` counts the rows in which the catalogue's own row is not what was recorded.
    """

    row: str
    recordings: list[str] = field(default_factory=list)
    rows: int = 0
    wrong: int = 0
    refuting: dict[str, dict[str, int]] = field(default_factory=lambda: defaultdict(dict))

    @property
    def decided(self) -> dict[str, int]:
        """The parameters that are decided, each with the fewest recorded rows that exclude one of its other values."""
        if self.wrong:
            return {}
        return {name: min(counts.values()) for name, counts in self.refuting.items() if all(counts.values())}

    def left(self, parameter: str) -> list[str]:
        """Return the values of a parameter that no recorded row excludes, as texts."""
        return [text for text, count in self.refuting[parameter].items() if not count]

    def recorded(self) -> RecordedRow | None:
        """Return what the recordings say as the data file has it; None if they contradict the row."""
        if self.wrong:
            return None
        partly = {name: tuple(self.left(name)) for name, counts in self.refuting.items() if any(counts.values())}
        left = {name: texts for name, texts in partly.items() if texts}
        return RecordedRow(self.row, tuple(self.recordings), self.rows, self.decided, left)


def recordings_of_the_project() -> list[Path]:
    """Return the recordings that are part of the project."""
    folder = Path(str(files("mmaproof.hardware_replay") / "recordings"))
    return sorted(folder.glob("*.npz")) if folder.is_dir() else []


def recordings_in(folder: Path) -> list[Path]:
    """Return the recordings in a folder: those of its index if it has one, else all files.

    Raises InputError if there are none.
    """
    if (folder / "index.json").is_file():
        found = [x.path for x in read_index(folder).values()]
    else:
        found = sorted(x for x in folder.glob("*.npz") if x.is_file())
    if not found:
        raise InputError(f"{folder}: holds no recording; name a recording (.npz), or a folder of them")
    return found


def decide(recordings: Iterable[Path], rows: int | None = None) -> dict[str, RowDecision]:
    """Return what ``recordings`` decide, by row of the catalogue; of each the first ``rows`` rows, None for all.

    Raises InputError for a file that is not a recording, and for one that is of no design of the catalogue.
    """
    found: dict[str, RowDecision] = {}
    for path in recordings:
        answers = read_recording(path)
        if answers.design is None:
            raise InputError(f"{path}: says of no design of the catalogue that it was run, so it decides nothing")
        design = find_design(find_design(answers.design).base_name)
        decision = found.setdefault(design.evidence.row, RowDecision(design.evidence.row))
        _add(decision, design, answers, rows)
    for decision in found.values():
        _add_values_of_siblings(decision)
    return found


def _add(decision: RowDecision, design: Design, answers: Answers, rows: int | None) -> None:
    """Add what the first ``rows`` rows of one recording say."""
    batch, d = SharedBatch.of(answers.batch.select(slice(0, rows))), answers.d[:rows]

    def differs(other: Design, *, nan_codes: bool = False) -> npt.NDArray[np.bool_]:
        return ~equal_patterns(design.d_format, evaluate_batch(other, batch), d, nan_codes=nan_codes)

    wrong = int(differs(design).sum())
    decision.recordings.append(answers.whence)
    decision.rows += len(batch)
    decision.wrong += wrong
    codes_differ = bool(differs(design, nan_codes=True).any())
    for other in alternatives(design):
        counts = decision.refuting[other.parameter]
        # the code of a NaN is looked at where the row has the code that was returned
        compared = differs(other.design, nan_codes=other.parameter == "nan_code" and not codes_differ)
        counts[other.text] = counts.get(other.text, 0) + int(compared.sum())


def _add_values_of_siblings(decision: RowDecision) -> None:
    """Add the values that only other instructions of the row can have: no recorded row excludes them."""
    for design in load_catalogue().designs.values():
        if design.evidence.row == decision.row:
            for other in alternatives(design, "L") if "L" in design.settings else ():
                decision.refuting["L"].setdefault(other.text, 0)


def recorded_text(decisions: Mapping[str, RowDecision]) -> str:
    """Return what is decided as the text of the project's data file."""
    lines = [
        "# What recordings decide of the rows of the catalogue, computed by `mmaproof evidence --decided`.",
        "# A row is named by its first design. A parameter is listed if every other value of it that was tried",
        "# contradicts some recorded row, with the fewest rows that contradict one of these values. Of parameters that",
        "# are not decided, [row.left] has the values that no row contradicts, if rows contradict others.",
    ]
    for row in sorted(decisions):
        recorded = decisions[row].recorded()
        if recorded is not None:
            lines += [
                "",
                "[[row]]",
                f"row = {json.dumps(recorded.row)}",
                f"recordings = {json.dumps(list(recorded.recordings))}",
                f"rows = {recorded.rows}",
                "[row.refuted]",
                *(f"{name} = {count}" for name, count in sorted(recorded.refuted.items())),
                "[row.left]",
                *(f"{name} = {json.dumps(list(texts))}" for name, texts in sorted(recorded.left.items())),
            ]
    return "\n".join(lines) + "\n"
