"""Fixed-point numbers of a row: their slices, their residues, and the sum that residues determine.

A row of a (a column of b) shares one exponent, that of its largest element. Every element becomes a fixed-point number
below it, cut to some bits of magnitude.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from mmaproof.gemm.programs.numbers import Number, Span
from mmaproof.gemm.programs.schedule import EXPONENT, FP32
from mmaproof.smt.algebra.protocol import Algebra, D, T, Truth, Word
from mmaproof.smt.semantics.align import align
from mmaproof.smt.semantics.cut import Cut
from mmaproof.smt.semantics.terms import Term
from mmaproof.smt.semantics.unpack import normalised, unpack

PRODUCTS = Span.of_format(FP32).times(Span.of_format(FP32))
"""Where the bits of products of elements lie."""


def fixed_point(
    algebra: Algebra[D, T], xs: Sequence[Number[D]], bits: int
) -> tuple[list[tuple[Truth[T], Word[D]]], Number[D]]:
    """Return whether each number of a row is negative, its magnitude, and their exponent.

    The top bit of the largest element is the top bit of its magnitude. Of a row of zeros the exponent is the smallest.
    """
    values = [normalised(algebra, unpack(algebra, x.fmt, x.word)) for x in xs]
    least = algebra.signed(FP32.e_min - FP32.fraction_bits)
    top = algebra.maximum([algebra.ite(v.zero, least, v.exponent) for v in values])
    words = []
    for v in values:
        present = algebra.negation(v.zero)
        term = Term(v.fraction_bits, algebra.truth(False), v.exponent, v.significand, present, v.largest)
        magnitude = algebra.narrow_to_unsigned(align(algebra, term, top, Cut(bits - 1)), bits)
        words.append((v.negative, magnitude))
    exponent = algebra.extract(algebra.extend(top, EXPONENT.bits), EXPONENT.bits - 1, 0)
    return words, Number(EXPONENT, exponent, Span(0, 9))


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


def centred(algebra: Algebra[D, T], x: Word[D], p: int) -> Word[D]:
    """Return the pattern in int8 of the number next to zero that is ``x`` modulo p; x has eight bits."""
    above = algebra.less(algebra.unsigned((p - 1) // 2, 8), x)
    lowered = algebra.subtract(algebra.as_signed(x), algebra.signed(p))
    moved = algebra.ite(above, lowered, algebra.extend(algebra.as_signed(x), lowered.width))
    return algebra.extract(moved, 7, 0)


def determined(algebra: Algebra[D, T], sums: Sequence[Number[D]], moduli: Sequence[int]) -> Word[D]:
    """Return the sum (signed) that its residues modulo each of ``moduli`` determine (Chinese remainder theorem)."""
    whole, width = prod(moduli), (prod(moduli) * len(moduli)).bit_length()
    parts: list[Word[D]] = []
    for p, register in zip(moduli, sums, strict=True):
        found = residue(algebra, algebra.twos_complement(register.word), p)
        # the multiple of the other moduli that is found modulo p, and 0 modulo each of them
        other = whole // p
        inverse = algebra.unsigned(pow(other, -1, p), p.bit_length())
        scaled = residue(algebra, algebra.multiply(found, inverse), p)
        product = algebra.multiply(scaled, algebra.unsigned(other, other.bit_length()))
        parts.append(algebra.as_signed(product))
    total = algebra.narrow_to_unsigned(algebra.bounded_sum(parts, width + 1), width)
    total = _reduced(algebra, total, whole, len(moduli).bit_length())
    above = algebra.less(algebra.unsigned((whole - 1) // 2, width), total)
    signed = algebra.as_signed(total)
    return algebra.ite(above, algebra.subtract(signed, algebra.signed(whole)), algebra.extend(signed, width + 2))


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
