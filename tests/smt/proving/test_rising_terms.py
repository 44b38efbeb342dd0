"""The term of an operand that rises: it is the number, the next one is above it, and what is assumed of both is so."""

from bisect import bisect
from fractions import Fraction
from functools import cache

import numpy as np
import pytest

from mmaproof.designs.catalogue import find_design
from mmaproof.designs.formats import FORMATS
from mmaproof.designs.operands import values_of
from mmaproof.smt.algebra.integers import IntegerAlgebra
from mmaproof.smt.proving.rising_terms import ChangedA, ChangedAddend, ChangedC, ChangedProduct, Neighbours
from mmaproof.smt.semantics.patterns import successor

INTEGERS = IntegerAlgebra()
FP8 = find_design("hopper/wgmma.m64n8k32.f32.e4m3.e4m3")
FP16 = find_design("volta/mma.m8n8k4.f16.f16.f16.f16")
LATE_C = find_design("cdna3/v_mfma_f32_16x16x8_xf32")
SCALED = find_design("blackwell/tcgen05.mma.m128n8k32.block32.f32.e4m3.e4m3.ue8m0")
HALF, E4M3 = FORMATS["fp16"], FORMATS["e4m3"]
SOME_FACTORS = [0x00, 0x01, 0x07, 0x08, 0x38, 0x3B, 0x7E, 0x80, 0x81, 0xB8]
"""Zeros, subnormal, ordinary, largest and negative numbers of e4m3."""


class Seen(Neighbours):
    """Keeps both terms."""

    def of_terms(self, algebra, words, v, above):
        self.seen = v, above
        return algebra.truth(True)


def seen(changed):
    return Seen("seen", changed)


def value(x):
    size = Fraction(x.significand.data) * Fraction(2) ** (x.exponent.data - x.fraction_bits)
    return -size if x.negative.data else size


@cache
def numbers(fmt):
    """The finite numbers of a format by pattern."""
    values = values_of(np.arange(1 << fmt.bits, dtype=np.uint32), fmt)
    return {i: Fraction(float(x)) for i, x in enumerate(values) if np.isfinite(x)}


@cache
def in_order(fmt):
    return sorted(set(numbers(fmt).values()))


def next_above(fmt, pattern):
    """The value of the next number: -0 is just below +0."""
    x = numbers(fmt)[pattern]
    return x if x == 0 and pattern else in_order(fmt)[bisect(in_order(fmt), x)]


@pytest.mark.parametrize("changed", [ChangedC(FP16), ChangedAddend(HALF), ChangedAddend(HALF, FP16.step)])
def test_an_addend_is_its_number_and_the_next_one_is_above(changed):
    known, lemma = numbers(HALF), seen(changed)
    ends = (0x0000, 0x0001, 0x03FF, 0x0400, 0x3BFF, 0x3C00, 0x3D55, 0x7BFE, 0x7BFF)
    for pattern in (x | sign for x in ends for sign in (0, 0x8000)):
        words = {"x": INTEGERS.unsigned(pattern, 16)}
        assert lemma.assumption(INTEGERS, words).data == (known[pattern] < HALF.largest)
        if known[pattern] < HALF.largest:
            assert lemma.claim(INTEGERS, words).data
            assert tuple(map(value, lemma.seen)) == (known[pattern], next_above(HALF, pattern))
    for pattern in (HALF.infinity, HALF.infinity | 0x8000, HALF.quiet_nan):
        assert not lemma.assumption(INTEGERS, {"x": INTEGERS.unsigned(pattern, 16)}).data


def test_c_is_a_term_of_the_last_sum():
    lemma = seen(ChangedC(LATE_C))
    assert lemma.claim(INTEGERS, {"x": INTEGERS.unsigned(0x40400000, 32)}).data
    assert value(lemma.seen[0]) == 3


def words_of_products(changed, a, b, scales=(1, 1)):
    """The words of the lemma for the patterns ``a`` and ``b``. The products of a, and of the next number, are right."""
    scale = changed.step.scale_format
    words = {"x": INTEGERS.unsigned(a, 8), "b": INTEGERS.unsigned(b, 8)}
    if scale is not None:
        words |= {f"scale_{n}": INTEGERS.unsigned(scale.encode(x), 8) for n, x in zip("ab", scales, strict=True)}
    both = words["x"], successor(INTEGERS, E4M3, words["x"])
    read = [changed._factors(INTEGERS, {**words, "a": x}) for x in both]
    n = read[0].b.significand.data
    held = {"n": n, **{k: x.a.significand.data * n for k, x in zip(("product", "product_above"), read, strict=True)}}
    return words | {x.name: INTEGERS.unsigned(held[x.name], x.width) for x in changed.inputs if x.name in held}


@pytest.mark.parametrize("kind", [ChangedA, ChangedProduct])
@pytest.mark.parametrize(("design", "scales"), [(FP8, (1, 1)), (SCALED, (4, Fraction(1, 2)))])
def test_a_product_with_a_positive_number_is_the_product(kind, design, scales):
    changed, known = kind(design), numbers(E4M3)
    lemma = seen(changed)
    for b in SOME_FACTORS:
        for a in [*SOME_FACTORS, 0x0F, 0x10, 0x88, 0xFE]:
            words = words_of_products(changed, a, b, scales)
            meant = known[a] < E4M3.largest and known[b] > 0
            assert lemma.assumption(INTEGERS, words).data == meant, (a, b)
            if not meant:
                continue
            assert lemma.claim(INTEGERS, words).data
            factor = known[b] * (Fraction(scales[0]) * scales[1] if kind is ChangedA else 1)
            assert tuple(map(value, lemma.seen)) == (known[a] * factor, next_above(E4M3, a) * factor), (a, b)
    for wrong in ({"b": 0x7F}, {"x": 0x7F}, {"x": 0xFF}):  # no numbers
        words = words_of_products(changed, 0x38, 0x38, scales)
        assert not lemma.assumption(INTEGERS, words | {k: INTEGERS.unsigned(x, 8) for k, x in wrong.items()}).data


@pytest.mark.parametrize("kind", [ChangedA, ChangedProduct])
def test_significands_that_are_no_products_are_left_out(kind):
    changed = kind(FP8)
    lemma = seen(changed)
    words = words_of_products(changed, 0x38, 0x3B)
    for name in ("product_above", "product"):
        for by in (-1, 1):
            moved = INTEGERS.unsigned(words[name].data + by, words[name].width)
            assert not lemma.assumption(INTEGERS, {**words, name: moved}).data
    assert not lemma.assumption(INTEGERS, {**words, "n": INTEGERS.unsigned(0, words["n"].width)}).data


def test_scales_that_are_no_numbers_are_left_out():
    changed = ChangedA(SCALED)
    words = words_of_products(changed, 0x38, 0x38)
    for name in ("scale_a", "scale_b"):
        assert not seen(changed).assumption(INTEGERS, {**words, name: INTEGERS.unsigned(0xFF, 8)}).data
