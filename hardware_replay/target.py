"""What a target is: something that runs operands, says what it is, which designs it is, and which rows it can run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from mmaproof.designs.design import Design
from mmaproof.designs.operands import Patterns
from mmaproof.hardware_replay.answers import Rows


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
