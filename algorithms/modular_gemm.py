"""Residues on an integer unit: Ozaki's scheme II, which makes one wide product of products modulo small numbers.

A row of A (a column of B) shares one exponent, that of its largest element. Every element becomes a fixed-point number
below it, cut to ``bits`` bits of magnitude. The unit multiplies the residues of these numbers modulo each of ``moduli``
numbers that have no common factor, exactly, in int32. The residues of the sums determine the exact sum of the cut
products, if that is below half of the product of the moduli (Chinese remainder theorem). It is scaled and rounded once,
and c is added last (Ozaki, Uchino and Imamura, arXiv 2504.08009). Operands are finite.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import ClassVar

from mmaproof.algorithms.algorithm import OPERANDS, Algorithm, parameter
from mmaproof.algorithms.arithmetic import Arithmetic, rules_of
from mmaproof.algorithms.numbers import Number, Span
from mmaproof.algorithms.slice_gemm import EXPONENT, Outside, shared_exponent
from mmaproof.designs.conversions import Rounding
from mmaproof.designs.design import Design
from mmaproof.designs.errors import DesignError
from mmaproof.designs.formats import FORMATS
from mmaproof.smt.algebra.protocol import Algebra, D, T, Word
from mmaproof.smt.semantics.align import align
from mmaproof.smt.semantics.convert import convert
from mmaproof.smt.semantics.cut import Cut
from mmaproof.smt.semantics.terms import Term
from mmaproof.smt.semantics.unpack import normalised, unpack

MODULI = (256, 255, 253, 251, 247, 241, 239, 233, 229, 227, 223, 217, 211, 199, 197, 193)
"""Numbers without a common factor, as large as residues of eight bits allow."""
REGISTER = FORMATS["int32"]
_SPAN = Span.of_format(OPERANDS).times(Span.of_format(OPERANDS))


@dataclass(frozen=True, kw_only=True, repr=False)
class ModularGemm(Algorithm):
    """The algorithm that the module describes; what the source leaves open is a parameter."""

    finite_only: ClassVar[bool] = True

    moduli: int = parameter(8, range(2, len(MODULI) + 1), "how many moduli, the largest ones first")
    bits: int = parameter(24, range(1, 54), "bits to which elements are cut, beside their sign")
    outside: Outside = parameter(Outside.FP64, Outside, "format to which the sum is rounded, and in which c is added")

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

    def check_length(self, unit: Design, k: int) -> None:
        """Raise DesignError where so many elements do not fit."""
        super().check_length(unit, k)
        if k > self.longest:
            raise DesignError(
                f"{self.name}: sums of k = {k} products are not determined by {self.moduli} residues: at most "
                f"{self.longest}; take more moduli or fewer bits"
            )

    def words(
        self, arithmetic: Arithmetic[D, T], unit: Design, operand: str, xs: Sequence[Number[D]]
    ) -> list[list[Number[D]]]:
        """Return the residues modulo each modulus, and last the exponent of the row."""
        algebra = arithmetic.algebra
        values = [normalised(algebra, unpack(algebra, x.fmt, x.word)) for x in xs]
        top = shared_exponent(algebra, values)
        residues: list[list[Number[D]]] = [[] for _ in self.chosen]
        for v in values:
            present = algebra.negation(v.zero)
            term = Term(v.fraction_bits, algebra.truth(False), v.exponent, v.significand, present, v.largest)
            # the top bit of the largest element is the top bit of its row
            fixed = algebra.narrow_to_unsigned(align(algebra, term, top, Cut(self.bits - 1)), self.bits)
            signed = algebra.conditional_negate(v.negative, fixed)
            for found, p in zip(residues, self.chosen, strict=True):
                found.append(Number(FORMATS["int8"], _centred(algebra, residue(algebra, signed, p), p), Span(0, 7)))
        for i, p in enumerate(self.chosen):
            for k, x in enumerate(xs):
                arithmetic.note(f"{operand}{k} modulo {p}", ((x,),), residues[i][k])
        exponent = algebra.extract(algebra.extend(top, EXPONENT.bits), EXPONENT.bits - 1, 0)
        return [*residues, [Number(EXPONENT, exponent, Span(0, 9))]]

    def accumulate(
        self,
        arithmetic: Arithmetic[D, T],
        unit: Design,
        a: Sequence[Sequence[Number[D]]],
        b: Sequence[Sequence[Number[D]]],
        c: Number[D],
    ) -> Number[D]:
        """Return d from the residues. Raises DesignError for more elements than they determine."""
        self.check_length(unit, len(a[0]))
        algebra = arithmetic.algebra
        *a, (first,) = a
        *b, (second,) = b
        whole, width = prod(self.chosen), (prod(self.chosen) * self.moduli).bit_length()
        parts: list[Word[D]] = []
        for p, x, y in zip(self.chosen, a, b, strict=True):
            register = arithmetic.call(f"residues modulo {p}", unit, x, y, arithmetic.zero(REGISTER))
            found = residue(algebra, algebra.twos_complement(register.word), p)
            # the multiple of the other moduli that is found modulo p, and 0 modulo each of them
            other = whole // p
            inverse = algebra.unsigned(pow(other, -1, p), p.bit_length())
            scaled = residue(algebra, algebra.multiply(found, inverse), p)
            product = algebra.multiply(scaled, algebra.unsigned(other, other.bit_length()))
            parts.append(algebra.as_signed(product))
        total = algebra.narrow_to_unsigned(algebra.bounded_sum(parts, width + 1), width)
        total = _reduced(algebra, total, whole, self.moduli.bit_length())
        above = algebra.less(algebra.unsigned((whole - 1) // 2, width), total)
        signed = algebra.as_signed(total)
        value = algebra.ite(above, algebra.subtract(signed, algebra.signed(whole)), algebra.extend(signed, width + 2))
        exponent = algebra.add(*(algebra.twos_complement(x.word) for x in (first, second)))
        weight = algebra.add(exponent, algebra.signed(2 - 2 * self.bits))
        fmt = FORMATS[self.outside]
        word, _ = convert(algebra, rules_of(fmt, Rounding.RNE), value, weight, 0, algebra.truth(False))
        result = Number(fmt, word, _SPAN.summed(len(a[0])))
        arithmetic.note("sum from its residues", (), result)
        return arithmetic.convert("d", arithmetic.add("c", result, c), OPERANDS, Rounding.RNE)


def residue(algebra: Algebra[D, T], x: Word[D], p: int) -> Word[D]:
    """Return a word modulo ``p``, from 0 to p - 1: each of its bits adds the residue of its weight."""
    weights = [pow(2, i, p) for i in range(x.width)]
    if x.signed:
        weights[-1] = -(1 << (x.width - 1)) % p
    most = max(sum(weights), p)
    width = most.bit_length()
    zero = algebra.unsigned(0, width)
    bits = [algebra.ite(algebra.is_bit_set(x, i), algebra.unsigned(w, width), zero) for i, w in enumerate(weights) if w]
    total = algebra.narrow_to_unsigned(
        algebra.bounded_sum([algebra.as_signed(y) for y in bits] or [algebra.signed(0)], width + 1), width
    )
    reduced = _reduced(algebra, total, p, (most // p).bit_length())
    return algebra.extract(algebra.extend(reduced, max(width, 8)), 7, 0)


def _reduced(algebra: Algebra[D, T], x: Word[D], p: int, places: int) -> Word[D]:
    """Return an unsigned word modulo ``p``; the quotient has at most so many bits."""
    for place in range(places - 1, -1, -1):
        multiple = p << place
        if multiple.bit_length() > x.width:
            continue
        constant = algebra.unsigned(multiple, x.width)
        difference = algebra.subtract(algebra.as_signed(x), algebra.as_signed(constant))
        fits = algebra.negation(algebra.less(x, constant))
        kept = algebra.ite(fits, difference, algebra.extend(algebra.as_signed(x), difference.width))
        x = algebra.narrow_to_unsigned(kept, x.width)
    return x


def _centred(algebra: Algebra[D, T], x: Word[D], p: int) -> Word[D]:
    """Return the pattern in int8 of the number next to zero that is ``x`` modulo p; x has eight bits."""
    above = algebra.less(algebra.unsigned((p - 1) // 2, 8), x)
    lowered = algebra.subtract(algebra.as_signed(x), algebra.signed(p))
    moved = algebra.ite(above, lowered, algebra.extend(algebra.as_signed(x), lowered.width))
    return algebra.extract(moved, 7, 0)
