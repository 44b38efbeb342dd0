"""Mutants of the project's own RTL, as ``tests/rtl/mutants.toml`` lists them."""

from __future__ import annotations

import shutil
import tomllib
from dataclasses import dataclass
from pathlib import Path

from support.own_rtl import UNITS


@dataclass(frozen=True, slots=True)
class Mutant:
    """In ``file``, beside the UNIT.toml at ``unit``, the text ``old`` becomes ``new``, which is wrong for ``why``."""

    name: str
    unit: str
    file: str
    old: str
    new: str
    why: str

    def write(self, folder: Path) -> Path:
        """Write the mutated unit, with all other units beside it, to a new folder; return its UNIT.toml."""
        copy = folder / self.name
        shutil.copytree(UNITS, copy)
        mutated = (copy / self.unit).with_name(self.file)
        text = mutated.read_text(encoding="utf-8")
        if text.count(self.old) != 1:
            raise ValueError(f"{self.name}: the text to change occurs {text.count(self.old)} times in {self.file}")
        mutated.write_text(text.replace(self.old, self.new), encoding="utf-8")
        return copy / self.unit


@dataclass(frozen=True, slots=True)
class Different(Mutant):
    """A mutant that gives ``wrong``, not ``d``, for these operands: patterns in hexadecimal, k = 0 first.

    ``wrong`` is "x" where it depends on unknown bits. ``rare`` ones are missed by 16,000 random rows.
    """

    a: str
    b: str
    c: str
    d: str
    wrong: str
    scale_a: str = ""
    scale_b: str = ""
    rare: bool = False


_LISTED = tomllib.loads((UNITS.parent / "mutants.toml").read_text(encoding="utf-8"))

MUTANTS: tuple[Different, ...] = tuple(Different(**row) for row in _LISTED["mutant"])
"""Those that compute something else than their design."""

REFUSED: tuple[Mutant, ...] = tuple(Mutant(**row) for row in _LISTED["refused"])
"""Those that are not pipelines of the stated latency."""
