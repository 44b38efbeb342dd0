"""Operands of a dot-product-accumulate: bit patterns, checked against the design that is to read them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from mmaproof.designs.design import Design
from mmaproof.designs.errors import OperandError
from mmaproof.designs.formats import Format

Patterns = npt.NDArray[np.unsignedinteger]
"""An array of bit patterns: uint8, uint16, uint32 or uint64."""


def pattern_dtype(fmt: Format) -> np.dtype[np.unsignedinteger]:
    """Return the smallest unsigned NumPy type that holds a pattern of ``fmt``."""
    for dtype in (np.uint8, np.uint16, np.uint32):
        if fmt.bits <= np.iinfo(dtype).bits:
            return np.dtype(dtype)
    return np.dtype(np.uint64)


@dataclass(frozen=True, slots=True)
class Operands:
    """Operands of one output element: patterns of ``a`` and ``b`` (k = 0, 1, ...) and of ``c``."""

    a: tuple[int, ...]
    b: tuple[int, ...]
    c: int

    def __len__(self) -> int:
        return len(self.a)

    def check(self, design: Design) -> None:
        """Raise OperandError where the operands do not fit ``design`` (number of elements, widths)."""
        if len(self.a) != len(self.b):
            raise OperandError(f"a has {len(self.a)} elements and b has {len(self.b)}: they must be as many")
        design.padded_length(len(self.a))
        columns = (("a", self.a), ("b", self.b), ("c", (self.c,)))
        for (column, patterns), fmt in zip(columns, design.formats, strict=False):
            for index, pattern in enumerate(patterns):
                if not 0 <= pattern < 1 << fmt.bits:
                    raise OperandError(f"{column}[{index}] = {pattern:#x} is too wide for {fmt.name} ({fmt.bits} bits)")


@dataclass(frozen=True, slots=True)
class OperandBatch:
    """Operands of many output elements: ``a`` and ``b`` of shape (rows, k), ``c`` of shape (rows,)."""

    a: Patterns
    b: Patterns
    c: Patterns

    def __len__(self) -> int:
        return len(self.c)

    @property
    def k(self) -> int:
        """Number of products of each row."""
        return int(self.a.shape[1])

    def row(self, index: int) -> Operands:
        """Return one row as plain integers."""
        return Operands(tuple(self.a[index].tolist()), tuple(self.b[index].tolist()), int(self.c[index]))

    def select(self, rows: npt.NDArray[np.bool_] | slice | npt.NDArray[np.intp]) -> OperandBatch:
        """Return the rows that the mask, slice or index array ``rows`` picks."""
        return OperandBatch(self.a[rows], self.b[rows], self.c[rows])

    @classmethod
    def of_rows(cls, formats: Sequence[Format], rows: Sequence[Operands]) -> OperandBatch:
        """Return a batch of equally long rows in the pattern types of ``formats`` (of a, b, c)."""
        a, b, c = map(pattern_dtype, formats[:3])
        return cls(
            np.array([r.a for r in rows], dtype=a),
            np.array([r.b for r in rows], dtype=b),
            np.array([r.c for r in rows], dtype=c),
        )

    def check(self, design: Design) -> None:
        """Raise OperandError where shapes or pattern widths do not fit ``design``."""
        if self.a.ndim != 2 or self.a.shape != self.b.shape or self.c.shape != self.a.shape[:1]:
            raise OperandError(
                f"shapes a {self.a.shape}, b {self.b.shape}, c {self.c.shape}: (rows, k), (rows, k), (rows,) needed"
            )
        design.padded_length(self.k)
        for column, patterns, fmt in zip("abc", (self.a, self.b, self.c), design.formats, strict=False):
            if patterns.dtype.kind != "u":
                raise OperandError(f"{column} has type {patterns.dtype}: bit patterns are unsigned integers")
            if patterns.size and int(patterns.max()) >> fmt.bits:
                raise OperandError(
                    f"{column} holds {int(patterns.max()):#x}, too wide for {fmt.name} ({fmt.bits} bits)"
                )
