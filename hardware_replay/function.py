"""A function of Python as a target: it takes arrays of operands and returns an array of d."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy.typing as npt

from mmaproof.designs.arrays import array_of, patterns_of
from mmaproof.designs.design import Design
from mmaproof.designs.errors import OperandError
from mmaproof.designs.operands import Patterns
from mmaproof.hardware_replay.answers import Rows
from mmaproof.hardware_replay.target import Ran, Unit

Function = Callable[..., npt.ArrayLike]
"""a (rows, k), b (rows, k), c (rows,), and scales (rows, blocks) of a and of b where there are some -> d (rows,)"""


@dataclass(frozen=True)
class FunctionTarget:
    """A function of Python. It is called with arrays of the types that ``array_dtype`` names for the formats."""

    function: Function

    @property
    def name(self) -> str:
        """``function:`` and its name."""
        return f"function:{getattr(self.function, '__name__', type(self.function).__name__)}"

    @property
    def unit(self) -> Unit:
        """The function."""
        return Unit(self.name)

    @property
    def designs(self) -> tuple[Design, ...]:
        """None: nothing is known of it."""
        return ()

    def design_of(self, rows: Rows) -> Design | None:
        """Return that the design is not known."""
        return None

    def run(self, rows: Rows) -> Ran:
        """Return d of every row. Raises OperandError for a result of another type or shape than that of d."""
        batch, scale = rows.batch, rows.scale_format
        given: list[npt.NDArray[Any]] = [
            array_of(x, f) for x, f in zip((batch.a, batch.b, batch.c), rows.formats, strict=False)
        ]
        if scale is not None:
            given += [array_of(x, scale) for x in (batch.scale_a, batch.scale_b) if x is not None]
        try:
            d: Patterns = patterns_of(self.function(*given), rows.formats[3])
        except OperandError as problem:
            raise OperandError(f"{self.name} returned {problem}") from problem
        if d.shape != (len(batch),):
            raise OperandError(f"{self.name} returned an array of shape {d.shape}: ({len(batch)},) is needed")
        return Ran.all(d)
