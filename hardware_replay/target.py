"""What a target is: something that runs operands, says what it is, which designs it is, and which rows it can run.

Rows of operands that a target is to run, and the d that something returned for them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Protocol, overload

import numpy as np
import numpy.typing as npt

from mmaproof.designs.design import Design
from mmaproof.designs.errors import InputError
from mmaproof.designs.formats import Format
from mmaproof.designs.operands import OperandBatch, Patterns


@dataclass(frozen=True)
class Numbered(Sequence[str]):
    """Labels "WHAT FIRST", "WHAT FIRST+1", ... of many rows, made when they are asked for."""

    what: str
    first: int
    rows: int

    def __len__(self) -> int:
        return self.rows

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[str]: ...
    def __getitem__(self, index: int | slice) -> str | Sequence[str]:
        numbers = range(self.first, self.first + self.rows)[index]
        return f"{self.what} {numbers}" if isinstance(numbers, int) else [f"{self.what} {i}" for i in numbers]


@dataclass(frozen=True, kw_only=True)
class Rows:
    """Operands of one length in one set of formats (a, b, c, d).

    ``labels`` name the rows for a person ("row 17", "line 3"). ``whence`` says where the rows come from. ``design`` is
    the name of the design that they are meant for, None if that is not known. ``seed`` is the seed of random operands.
    """

    batch: OperandBatch
    formats: tuple[Format, Format, Format, Format]
    labels: Sequence[str]
    whence: str
    scale_format: Format | None = None
    design: str | None = None
    seed: int | None = None

    @property
    def all_formats(self) -> tuple[Format | None, ...]:
        """Formats of a, b, c, d and of the scales."""
        return (*self.formats, self.scale_format)

    def check_formats(self, design: Design) -> None:
        """Raise InputError where ``design`` does not take or return these formats, or cannot run this length."""
        mine, taken = self.all_formats, (*design.formats, design.scale_format)
        for name, held, wanted in zip((*"abcd", "scales"), mine, taken, strict=True):
            if held is not wanted:
                names = [fmt.name if fmt else "absent" for fmt in (held, wanted)]
                raise InputError(
                    f"format mismatch: {name} is {names[0]} in {self.whence} and {names[1]} in {design.name}"
                )
        self.batch.check(design)

    def are_for(self, design: Design) -> bool:
        """Return whether ``design`` takes and returns these formats and can run this length."""
        try:
            self.check_formats(design)
        except InputError:
            return False
        return True


@dataclass(frozen=True, kw_only=True)
class Answers(Rows):
    """Rows and the d of each; ``whence`` says who returned d."""

    d: Patterns

    def joined(self, others: Sequence[Answers]) -> Answers:
        """Return these rows and those of others; InputError where formats or lengths differ."""
        if not others:
            return self
        parts = [self, *others]
        for part in others:
            if part.all_formats != self.all_formats or part.batch.k != self.batch.k:
                raise InputError(f"{part.whence}: has other formats or another k than {self.whence}")
        batch = OperandBatch.concatenate([x.batch for x in parts])
        d, whence = np.concatenate([x.d for x in parts]), ", ".join(x.whence for x in parts)
        return replace(self, batch=batch, d=d, labels=Numbered("row", 1, len(batch)), whence=whence)

    def select(self, rows: npt.NDArray[np.bool_]) -> Answers:
        """Return the rows that are marked."""
        labels = [self.labels[i] for i in np.flatnonzero(rows).tolist()]
        return replace(self, batch=self.batch.select(rows), labels=labels, d=self.d[rows])


@dataclass(frozen=True)
class Unit:
    """What a target is: the device or program, its version, its driver; empty where there is nothing to say."""

    device: str
    version: str = ""
    driver: str = ""


@dataclass(frozen=True)
class Ran:
    """d of each row, and which rows were answered at all.

    ``problem`` says what went wrong and at which row, if rows were not answered. It is None if nothing went wrong.
    """

    d: Patterns
    answered: npt.NDArray[np.bool_]
    problem: str | None = None

    @classmethod
    def all(cls, d: Patterns) -> Ran:
        """Return that every row was answered."""
        return cls(d, np.ones(len(d), dtype=bool))


class Target(Protocol):
    """Something that runs operands."""

    @property
    def name(self) -> str:
        """How it is spelled, in one line."""

    @property
    def unit(self) -> Unit:
        """What it is."""

    @property
    def designs(self) -> tuple[Design, ...]:
        """The designs that it runs, by name; empty if it runs whatever it is given, or a design that is not known."""

    def design_of(self, rows: Rows) -> Design | None:
        """Return the design that these rows are run on, None where that is not known.

        Raises InputError where rows of these formats and this length cannot be run.
        """

    def run(self, rows: Rows) -> Ran:
        """Return d of each row. ``design_of`` has accepted them."""


def listed(names: Iterable[str]) -> str:
    """Return the first names, and how many more there are."""
    held = list(names)
    return ", ".join(held[:8]) + (f" and {len(held) - 8} more" if len(held) > 8 else "")
