"""Fixed-point slices: the scheme of Ozaki (scheme I) as Ootomo, Ozaki and Yokota run it on INT8 units, and on FP8.

A row of A (a column of B) shares one exponent, that of its largest element. Every element becomes a fixed-point number
below it, cut to ``slices * bits`` bits of magnitude. This number becomes ``slices`` integers of ``bits`` bits, all with
the sign of the element. A floating-point unit gets these integers as numbers of its format. The unit adds products of
slices exactly as long as its register, or the bits that it keeps, hold the sum. The sums are added outside, each times
its power of two, those of the least weight first (Ootomo, Ozaki and Yokota, IJHPCA 2024). c is added last. Operands are
finite. No integer stands for an infinity or a NaN, so with these the result means nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from typing import ClassVar

from mmaproof.algorithms.algorithm import OPERANDS, Algorithm, parameter
from mmaproof.algorithms.arithmetic import Arithmetic
from mmaproof.algorithms.numbers import Number, Span
from mmaproof.designs.conversions import Rounding
from mmaproof.designs.design import Design
from mmaproof.designs.formats import FORMATS, Format
from mmaproof.smt.algebra.protocol import Algebra, D, T, Word
from mmaproof.smt.semantics.align import align
from mmaproof.smt.semantics.cut import Cut
from mmaproof.smt.semantics.terms import Term
from mmaproof.smt.semantics.unpack import Unpacked, normalised, unpack

EXPONENT = FORMATS["int32"]
"""The format in which the exponent of a row is handed on, after the slices."""


_PRODUCTS = Span.of_format(OPERANDS).times(Span.of_format(OPERANDS))


class Kept(StrEnum):
    """Which products of slices are computed."""

    TRIANGLE = "triangle"
    """those of slices i and j with i + j below the number of slices: the others are about as large as what the cut
    of the operands loses"""
    ALL = "all"


class Sums(StrEnum):
    """What the integer unit adds up."""

    PRODUCT = "product"
    """one product of slices over k"""
    WEIGHT = "weight"
    """all products of slices of one weight i + j"""


class Outside(StrEnum):
    """Format in which the integer sums are added."""

    FP64 = "fp64"
    FP32 = "fp32"


@dataclass(frozen=True, kw_only=True, repr=False)
class SliceGemm(Algorithm):
    """The algorithm that the module describes; what the source leaves open is a parameter."""

    finite_only: ClassVar[bool] = True

    slices: int = parameter(4, range(1, 10), "slices of an element")
    bits: int = parameter(7, range(1, 13), "bits of a slice beside its sign")
    kept: Kept = parameter(Kept.TRIANGLE, Kept, "products of slices that are computed")
    sums: Sums = parameter(Sums.PRODUCT, Sums, "what is added up in one register of the unit")
    interval: int = parameter(
        0, range(0, 1 << 16), "elements of k from one addition outside the unit to the next; 0: all of k"
    )
    outside: Outside = parameter(Outside.FP64, Outside, "format of the sum outside the unit, rounded to nearest")

    def why_not(self, unit: Design) -> str | None:
        """Return why the unit does not fit: its formats must hold a slice with its sign."""
        problems: dict[str, bool] = {}
        for fmt in (unit.a_format, unit.b_format):
            unsigned = fmt.is_integer and not fmt.signed
            problems[f"its operands are {fmt.name}, and signed integers are meant"] = unsigned
            problems[f"a slice of {self.bits} bits and a sign does not fit {fmt.name}"] = widest_slice(fmt) < self.bits
        c, d = unit.c_format, unit.d_format
        problems |= {
            "its operands have scales": unit.scale_format is not None,
            f"its c is {c.name}, and d is {d.name}": c is not d,
            f"its sums are {d.name}, which is wider than {self.outside}": d.bits > FORMATS[self.outside].bits,
            f"interval = {self.interval} is no multiple of the instruction's K = {unit.k}": bool(
                self.interval % unit.k
            ),
        }
        return next((problem for problem, found in problems.items() if found), None)

    @property
    def pairs(self) -> list[tuple[int, int]]:
        """The products of slices that are computed, those of the least weight first."""
        everything = [(i, j) for i in range(self.slices) for j in range(self.slices)]
        kept = [x for x in everything if self.kept is Kept.ALL or sum(x) < self.slices]
        return sorted(kept, key=lambda x: (-sum(x), x))

    def words(
        self, arithmetic: Arithmetic[D, T], unit: Design, operand: str, xs: Sequence[Number[D]]
    ) -> list[list[Number[D]]]:
        """Return the slices, that of the largest weight first, and last the exponent of the row."""
        algebra, fmt = arithmetic.algebra, unit.a_format if operand == "a" else unit.b_format
        values = [normalised(algebra, unpack(algebra, x.fmt, x.word)) for x in xs]
        top = shared_exponent(algebra, values)
        width, span = self.slices * self.bits, Span(0, self.bits)
        slices: list[list[Number[D]]] = [[] for _ in range(self.slices)]
        for v in values:
            present = algebra.negation(v.zero)
            term = Term(v.fraction_bits, algebra.truth(False), v.exponent, v.significand, present, v.largest)
            # the top bit of the largest element is the top bit of its first slice
            fixed = algebra.narrow_to_unsigned(align(algebra, term, top, Cut(width - 1)), width)
            for i, found in enumerate(slices):
                high = width - 1 - i * self.bits
                part = algebra.extract(fixed, high, high - self.bits + 1)
                signed = algebra.conditional_negate(v.negative, part)
                found.append(_integer(arithmetic, fmt, signed, span))
        for i, found in enumerate(slices):
            for k, x in enumerate(xs):
                arithmetic.note(f"slice {i} of {operand}{k}", ((x,),), found[k])
        exponent = algebra.extract(algebra.extend(top, EXPONENT.bits), EXPONENT.bits - 1, 0)
        shared = Number(EXPONENT, exponent, Span(0, 9))
        arithmetic.note(f"exponent of {operand}", (tuple(xs),), shared)
        return [*slices, [shared]]

    def accumulate(
        self,
        arithmetic: Arithmetic[D, T],
        unit: Design,
        a: Sequence[Sequence[Number[D]]],
        b: Sequence[Sequence[Number[D]]],
        c: Number[D],
    ) -> Number[D]:
        """Return d from the slices."""
        algebra = arithmetic.algebra
        *a, (first,) = a
        *b, (second,) = b
        exponent = algebra.add(*(algebra.twos_complement(x.word) for x in (first, second)))
        fmt = FORMATS[self.outside]
        span = _PRODUCTS.summed(len(a[0]))
        total = arithmetic.zero(fmt)
        whole = self.interval or max(len(a[0]), 1)
        for at in range(0, len(a[0]), whole):
            ks = slice(at, at + whole)
            register = arithmetic.zero(unit.c_format)
            for n, (i, j) in enumerate(self.pairs):
                start = register if self.sums is Sums.WEIGHT else arithmetic.zero(unit.c_format)
                register = arithmetic.call(f"a[{i}]*b[{j}]", unit, a[i][ks], b[j][ks], start)
                if self.sums is Sums.WEIGHT and n + 1 < len(self.pairs) and sum(self.pairs[n + 1]) == i + j:
                    continue
                # the top bits of row and column weigh 2**exponent
                weight = algebra.add(exponent, algebra.signed(2 - (i + j + 2) * self.bits))
                if unit.d_format.is_integer:
                    value = arithmetic.from_integer("integer sum", register, weight, fmt, span)
                else:
                    value = arithmetic.times_power("integer sum", register, weight, fmt, span)
                total = arithmetic.add("outside", value, total)
                register = arithmetic.zero(unit.c_format)
        total = arithmetic.add("c", total, c)
        return arithmetic.convert("d", total, OPERANDS, Rounding.RNE)


def shared_exponent(algebra: Algebra[D, T], values: Sequence[Unpacked[D, T]]) -> Word[D]:
    """Return the exponent of the largest of some normalised fp32 numbers; that of the smallest one if all are zero."""
    least = algebra.signed(OPERANDS.e_min - OPERANDS.fraction_bits)
    return algebra.maximum([algebra.ite(v.zero, least, v.exponent) for v in values])


def widest_slice(fmt: Format) -> int:
    """Return the most bits s such that a format has every integer up to ``2**s - 1``."""
    if fmt.is_integer:
        return fmt.bits - fmt.signed
    bits = 0
    # an integer of as many bits as the significand has is in the format, if its exponent is
    while bits < fmt.precision and Fraction((1 << (bits + 1)) - 1) <= fmt.largest:
        bits += 1
    return bits


def _integer(arithmetic: Arithmetic[D, T], fmt: Format, value: Word[D], span: Span) -> Number[D]:
    """Return a signed integer as a number of a format that has it."""
    algebra = arithmetic.algebra
    if fmt.is_integer:
        return Number(fmt, algebra.extract(algebra.extend(value, fmt.bits), fmt.bits - 1, 0), span)
    wide = algebra.extract(algebra.extend(value, EXPONENT.bits), EXPONENT.bits - 1, 0)
    return arithmetic.from_integer("slice", Number(EXPONENT, wide, span), algebra.signed(0), fmt, span)
