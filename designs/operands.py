"""Operands of many dot products as arrays. Those of one are in ``element``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from mmaproof.designs.design import Design
from mmaproof.designs.element import Operands, check_scales
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
class OperandBatch:
    """The operands of many output elements: ``a`` and ``b`` of shape (rows, k), ``c`` of shape (rows,).

    ``scale_a`` and ``scale_b`` have shape (rows, blocks). They are None if the design has no scales. ``random`` has
    shape (rows, 1). It is None unless random bits are an operand.
    """

    a: Patterns
    b: Patterns
    c: Patterns
    scale_a: Patterns | None = None
    scale_b: Patterns | None = None
    random: Patterns | None = None

    def __len__(self) -> int:
        return len(self.c)

    @property
    def k(self) -> int:
        """Number of products of each row."""
        return int(self.a.shape[1])

    def row(self, index: int) -> Operands:
        """Return the row at ``index`` as Python integers."""
        others = [() if s is None else tuple(s[index].tolist()) for s in (self.scale_a, self.scale_b, self.random)]
        return Operands(tuple(self.a[index].tolist()), tuple(self.b[index].tolist()), int(self.c[index]), *others)

    def key(self, index: int) -> tuple[bytes, ...]:
        """Return what tells the row at ``index`` from rows with other operands, as a key of a dictionary."""
        columns = (self.a, self.b, self.c, self.scale_a, self.scale_b, self.random)
        return tuple(x[index].tobytes() for x in columns if x is not None)

    def select(self, rows: npt.NDArray[np.bool_] | slice | npt.NDArray[np.intp]) -> OperandBatch:
        """Return the rows that the mask, slice or index array ``rows`` picks."""
        others = [None if s is None else s[rows] for s in (self.scale_a, self.scale_b, self.random)]
        return OperandBatch(self.a[rows], self.b[rows], self.c[rows], *others)

    def padded(self, design: Design) -> OperandBatch:
        """Return the rows padded with +0 elements (and scales of 1) to the length that ``design`` computes."""
        length = design.padded_length(self.k)
        one = 0 if design.scale_format is None else design.scale_format.encode(1)

        def filled(x: Patterns, count: int, filler: int) -> Patterns:
            return np.pad(x, ((0, 0), (0, count - x.shape[1])), constant_values=filler)

        blocks = design.blocks(length)
        scales = [None if x is None else filled(x, blocks, one) for x in (self.scale_a, self.scale_b)]
        return OperandBatch(filled(self.a, length, 0), filled(self.b, length, 0), self.c, *scales)

    @classmethod
    def concatenate(cls, parts: Sequence[OperandBatch]) -> OperandBatch:
        """Return the rows of several batches of the same length, one batch after the other."""
        columns = ((x.scale_a, x.scale_b, x.random) for x in parts)
        others = [[x for x in column if x is not None] for column in zip(*columns, strict=True)]
        a, b, c = (np.concatenate(x) for x in zip(*((x.a, x.b, x.c) for x in parts), strict=True))
        return cls(a, b, c, *(np.concatenate(x) if x else None for x in others))

    @classmethod
    def of_rows(cls, formats: Sequence[Format], rows: Sequence[Operands]) -> OperandBatch:
        """Return a batch of rows of the same length. Patterns have the types of ``formats`` (of a, b, c)."""
        a, b, c = map(pattern_dtype, formats[:3])
        scaled = bool(rows and rows[0].scale_a)
        return cls(
            np.array([r.a for r in rows], dtype=a),
            np.array([r.b for r in rows], dtype=b),
            np.array([r.c for r in rows], dtype=c),
            np.array([r.scale_a for r in rows], dtype=np.uint8) if scaled else None,
            np.array([r.scale_b for r in rows], dtype=np.uint8) if scaled else None,
            np.array([r.random for r in rows], dtype=np.uint32) if rows and rows[0].random else None,
        )

    def check(self, design: Design) -> None:
        """Raise OperandError if the shapes or the widths of patterns do not fit ``design``."""
        if self.a.ndim != 2 or self.a.shape != self.b.shape or self.c.shape != self.a.shape[:1]:
            raise OperandError(
                f"shapes a {self.a.shape}, b {self.b.shape}, c {self.c.shape}: (rows, k), (rows, k), (rows,) needed"
            )
        design.padded_length(self.k)
        for scale in (self.scale_a, self.scale_b):
            if scale is not None and (scale.ndim != 2 or len(scale) != len(self.c)):
                raise OperandError(f"scales have shape {scale.shape}: (rows, blocks) needed")
        counts = [0 if s is None else int(s.shape[1]) for s in (self.scale_a, self.scale_b)]
        check_scales(design, self.k, counts[0], counts[1])
        columns: list[tuple[str, Patterns | None, Format | None]] = [
            ("a", self.a, design.a_format),
            ("b", self.b, design.b_format),
            ("c", self.c, design.c_format),
            ("scale_a", self.scale_a, design.scale_format),
            ("scale_b", self.scale_b, design.scale_format),
        ]
        for column, patterns, fmt in columns:
            if patterns is None or fmt is None:
                continue
            if patterns.dtype.kind != "u":
                raise OperandError(f"{column} has type {patterns.dtype}: bit patterns are unsigned integers")
            if 8 * patterns.itemsize > fmt.bits and patterns.size and int(patterns.max()) >> fmt.bits:
                raise OperandError(
                    f"{column} holds {int(patterns.max()):#x}, too wide for {fmt.name} ({fmt.bits} bits)"
                )
