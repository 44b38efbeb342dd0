"""Fixed-point slices: the scheme of Ozaki (scheme I) as Ootomo, Ozaki and Yokota run it on INT8 units, and on FP8.

A row of A (a column of B) shares one exponent, that of its largest element. Every element becomes a fixed-point number
below it, cut to ``slices * bits`` bits of magnitude. This number becomes ``slices`` integers of ``bits`` bits, all with
the sign of the element, or those of its two's complement, where the first alone has one. A floating-point unit gets
these integers as numbers of its format. The unit adds products of slices exactly as long as its register, or the bits
that it keeps, hold the sum. The sums are added outside, each times its power of two, those of the least weight first
(Ootomo, Ozaki and Yokota, IJHPCA 2024). c is added last. Operands are finite. No integer stands for an infinity or a
NaN, so with these the result means nothing.

Residues on an integer unit: Ozaki's scheme II, which makes one wide product of products modulo small numbers.

A row of A (a column of B) shares one exponent, that of its largest element. Every element becomes a fixed-point number
below it, cut to ``bits`` bits of magnitude. The unit multiplies the residues of these numbers modulo each of ``moduli``
numbers that have no common factor, exactly, in int32. The residues of the sums determine the exact sum of the cut
products, if that is below half of the product of the moduli (Chinese remainder theorem). It is scaled and rounded once,
and c is added last (Ozaki, Uchino and Imamura, arXiv 2504.08009). Operands are finite.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from math import prod
from typing import ClassVar

from mmaproof.designs.catalogue import find_design
from mmaproof.designs.design import Design
from mmaproof.designs.errors import DesignError
from mmaproof.designs.formats import FORMATS, Format
from mmaproof.gemm.programs.algorithm import Algorithm, parameter
from mmaproof.gemm.programs.schedule import Add, Builder, Call, Combine, Residues, Slices, Weigh, Words, Zero


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


class Sign(StrEnum):
    """Which slices have a sign."""

    EACH = "each"
    """all have that of the element, besides ``bits`` bits"""
    FIRST = "first"
    """the first one, as one of its bits; the others are unsigned, because the number is in two's complement"""


class Order(StrEnum):
    """In which order sums of products of slices are added outside the unit."""

    ASCENDING = "ascending"
    """those of the least weight first"""
    DESCENDING = "descending"


class Wide(StrEnum):
    """A format of operands, and of sums outside the unit."""

    FP64 = "fp64"
    FP32 = "fp32"


@dataclass(frozen=True, kw_only=True, repr=False)
class FixedPointGemm(Algorithm):
    """What cuts the elements of a row or a column to fixed-point numbers with one exponent."""

    finite_only: ClassVar[bool] = True

    operands: Wide = parameter(Wide.FP32, Wide, "format of a, b, c and d")

    @property
    def operand_format(self) -> Format:
        """The format of a, b, c and d."""
        return FORMATS[self.operands]


@dataclass(frozen=True, kw_only=True, repr=False)
class SliceGemm(FixedPointGemm):
    """The algorithm that the module describes; what the source leaves open is a parameter."""

    slices: int = parameter(4, range(1, 14), "slices of an element")
    bits: int = parameter(7, range(1, 13), "bits of a slice besides its sign; with sign=first, all of its bits")
    sign: Sign = parameter(Sign.EACH, Sign, "which slices have a sign")
    headroom: int = parameter(0, range(3), "top bits of the first slice that are not used")
    kept: Kept = parameter(Kept.TRIANGLE, Kept, "products of slices that are computed")
    sums: Sums = parameter(Sums.PRODUCT, Sums, "what is added up in one register of the unit")
    interval: int = parameter(
        0, range(0, 1 << 16), "elements of k from one addition outside the unit to the next; 0: all of k"
    )
    outside: Wide = parameter(Wide.FP64, Wide, "format of the sum outside the unit, rounded to nearest")
    order: Order = parameter(Order.ASCENDING, Order, "order of weights in which sums are added outside")

    def why_not(self, unit: Design) -> str | None:
        """Return why the unit does not fit: its formats must hold a slice with its sign."""
        problems: dict[str, bool] = {
            f"{self.headroom} of the {self.bits} bits of its first slice are not used: fewer are needed": (
                self.spare >= self.bits
            )
        }
        for fmt in (unit.a_format, unit.b_format):
            unsigned = fmt.is_integer and not fmt.signed
            problems[f"its operands are {fmt.name}, and signed integers are meant"] = unsigned
            if self.sign is Sign.FIRST:
                whole = fmt.is_integer and fmt.bits == self.bits
                problems[
                    f"sign=first wants integers of bits = {self.bits}, and its operands are {fmt.name}"
                ] = not whole
                continue
            problems[f"a slice of {self.bits} bits and a sign does not fit {fmt.name}"] = widest_slice(fmt) < self.bits
        c, d = unit.c_format, unit.d_format
        problems |= {
            "its operands have scales": unit.scale_format is not None,
            f"its c is {c.name}, and d is {d.name}": c is not d,
            f"its sums are {d.name}, which is wider than {self.outside}": d.bits > FORMATS[self.outside].bits,
            f"interval = {self.interval} is not a multiple of the instruction's K = {unit.k}": bool(
                self.interval % unit.k
            ),
        }
        found = next((problem for problem, found in problems.items() if found), None)
        if found is None and any(self.multiplies(unit, i, j) is None for i, j in self.pairs):
            return "the catalogue has no such instruction for unsigned integers, which sign=first needs"
        return found

    @property
    def spare(self) -> int:
        """The top bits of the first slice that hold no bit of a magnitude."""
        return self.headroom + (self.sign is Sign.FIRST)

    def multiplies(self, unit: Design, i: int, j: int) -> Design | None:
        """Return the instruction that multiplies slices i of a and j of b; None if the catalogue has none."""
        if self.sign is Sign.EACH:
            return unit
        signed, kinds = f".s{self.bits}.s{self.bits}", (f".{'u' if at else 's'}{self.bits}" for at in (i, j))
        if unit.name.count(signed) != 1:
            return None
        try:
            return find_design(unit.name.replace(signed, "".join(kinds)))
        except DesignError:
            return None

    @property
    def pairs(self) -> list[tuple[int, int]]:
        """The products of slices that are computed, those of the least weight first."""
        everything = [(i, j) for i in range(self.slices) for j in range(self.slices)]
        kept = [x for x in everything if self.kept is Kept.ALL or sum(x) < self.slices]
        return sorted(kept, key=lambda x: (sum(x) if self.order is Order.DESCENDING else -sum(x), x))

    def cut(self, unit: Design, side: str, ks: tuple[int, ...]) -> Slices:
        """Return what cuts the elements ``ks`` of operand ``a`` or ``b``, the slice of the largest weight first."""
        signed_first, fmt = self.sign is Sign.FIRST, unit.formats["ab".index(side)]
        return Slices(side, ks, fmt, self.slices, self.bits, self.operand_format, self.spare, signed_first)

    def lower(self, builder: Builder, unit: Design, ks: tuple[int, ...], c: int) -> int:
        """Append the slices, the calls of the unit and the sums of their weighed results."""
        a, b = (builder.add(self.cut(unit, side, ks)) for side in "ab")
        fmt, nothing = FORMATS[self.outside], builder.add(Zero(unit.c_format))
        total = builder.add(Zero(fmt))
        whole = self.interval or len(ks)
        for at in range(0, len(ks), whole):
            register = nothing
            for n, (i, j) in enumerate(self.pairs):
                start = register if self.sums is Sums.WEIGHT else nothing
                part, each = ks[at : at + whole], self.multiplies(unit, i, j) or unit
                register = builder.add(Call(each, part, start, Words(a, i), Words(b, j), label=f"a[{i}]*b[{j}]"))
                if self.sums is Sums.WEIGHT and n + 1 < len(self.pairs) and sum(self.pairs[n + 1]) == i + j:
                    continue
                # the top bits of row and column weigh 2**exponent
                places = 2 * (1 + self.spare) - (i + j + 2) * self.bits
                value = builder.add(Weigh(register, a, b, places, fmt, label="integer sum"))
                total = builder.add(Add(value, total, fmt, label="outside"))
                register = nothing
        total = builder.add(Add(total, builder.convert(c, fmt), fmt, label="c"))
        return builder.convert(total, self.operand_format, label="d")


def widest_slice(fmt: Format) -> int:
    """Return the most bits s such that a format has every integer up to ``2**s - 1``."""
    if fmt.is_integer:
        return fmt.bits - fmt.signed
    bits = 0
    # an integer of as many bits as the significand has is in the format, if its exponent is
    while bits < fmt.precision and Fraction((1 << (bits + 1)) - 1) <= fmt.largest:
        bits += 1
    return bits


MODULI = (256, 255, 253, 251, 247, 241, 239, 233, 229, 227, 223, 217, 211, 199, 197, 193, 191, 181, 179, 173)
"""Numbers without a common factor, as large as residues of eight bits allow."""
REGISTER = FORMATS["int32"]


@dataclass(frozen=True, kw_only=True, repr=False)
class ModularGemm(FixedPointGemm):
    """The algorithm that the module describes; what the source leaves open is a parameter."""

    moduli: int = parameter(8, range(2, len(MODULI) + 1), "how many moduli, the largest ones first")
    bits: int = parameter(24, range(1, 54), "bits to which elements are cut, besides their sign")
    outside: Wide = parameter(Wide.FP64, Wide, "format to which the sum is rounded, and in which c is added")

    def why_not(self, unit: Design) -> str | None:
        """Return why the unit does not fit: it must add products of int8 exactly in int32."""
        for fmt in (unit.a_format, unit.b_format):
            if fmt is not FORMATS["int8"]:
                return f"its operands are {fmt.name}, and int8 is meant"
        if unit.d_format is not REGISTER:
            return f"its sums are {unit.d_format.name}, and int32 is meant"
        return None

    @property
    def chosen(self) -> tuple[int, ...]:
        """The moduli."""
        return MODULI[: self.moduli]

    @property
    def longest(self) -> int:
        """The largest K for which the residues determine the sum, and each of their sums fits int32."""
        determined = (prod(self.chosen) - 1) // 2 // ((1 << self.bits) - 1) ** 2
        return min(determined, REGISTER.max_finite // (1 << 14))

    def lower(self, builder: Builder, unit: Design, ks: tuple[int, ...], c: int) -> int:
        """Append the residues, the calls of the unit, and the sum that theirs determine."""
        if len(ks) > self.longest:
            raise DesignError(
                f"{self.name}: sums of k = {len(ks)} products are not determined by {self.moduli} residues: at most "
                f"{self.longest}; take more moduli or fewer bits"
            )
        cuts = [Residues(side, ks, FORMATS["int8"], self.chosen, self.bits, self.operand_format) for side in "ab"]
        a, b = map(builder.add, cuts)
        start, fmt = builder.add(Zero(REGISTER)), FORMATS[self.outside]
        sums = tuple(
            builder.add(Call(unit, ks, start, Words(a, i), Words(b, i), label=f"residues modulo {p}"))
            for i, p in enumerate(self.chosen)
        )
        places = 2 - 2 * self.bits
        found = builder.add(Combine(sums, self.chosen, a, b, places, fmt, label="sum from its residues"))
        total = builder.add(Add(found, builder.convert(c, fmt), fmt, label="c"))
        return builder.convert(total, self.operand_format, label="d")
