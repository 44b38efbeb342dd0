"""Lemmas about a conversion claim what their names say: a made-up result is within its error where rationals say so."""

import random
from fractions import Fraction

import pytest

from mmaproof.designs.catalogue import find_design
from mmaproof.properties.library.carry import SumFits
from mmaproof.properties.question import Scope
from mmaproof.smt.algebra.integers import IntegerAlgebra
from mmaproof.smt.algebra.terms import TermAlgebra
from mmaproof.smt.proving import cuts
from mmaproof.smt.proving.cuts import ConversionError
from mmaproof.smt.semantics import dot_product_accumulate
from mmaproof.smt.semantics.patterns import unpack

INTEGERS = IntegerAlgebra()
NEAREST, TRUNCATED, SHORTENED = (
    "volta/f16.f16.f16.f16",
    "volta/f32.f16.f16.f32",
    "hopper/wgmma.f32.e4m3.e4m3@rho=rz-e8m13",
)
WIDTH = 24
"""of the sums"""


def of_step(name):
    """A design of one step, and its only sum."""
    design = find_design(name).one_step()
    algebra = TermAlgebra()
    words = SumFits(design, Scope(), 5).symbols(algebra)
    (total,) = dot_product_accumulate(design, algebra, words).steps[0].sums
    return design, total


def numbers(rng, fmt):
    """Finite numbers of a format: zeros, the least ones, powers of two and their neighbours, and others."""
    exponent = rng.randrange(0, fmt.max_finite >> fmt.fraction_bits) << fmt.fraction_bits
    magnitude = rng.choice([0, 1, 2, exponent, exponent + 1, exponent ^ rng.randrange(1 << fmt.fraction_bits)])
    return min(magnitude, fmt.max_finite) | rng.randrange(2) << fmt.sign_position


def sums(rng, lemma, exact, ulp):
    """Sums of exponents near and far from those of a number, the near ones less than three halves of an ulp from it."""
    finest = Fraction(2) ** -rng.randrange(0, 3)
    for half in range(-3, 4):
        unit = ulp * finest / 2
        value = (exact + half * ulp / 2) / unit + rng.choice([-1, 0, 0, 1])
        if value.denominator == 1 and abs(value) < 1 << (WIDTH - 1):
            yield int(value), unit.numerator.bit_length() - unit.denominator.bit_length() + lemma.fraction_bits
    for _ in range(4):
        yield rng.choice([0, 1, -1, rng.randrange(-(1 << 22), 1 << 22)]), rng.randrange(-200, 200)


def is_within(lemma, exact, ulp, negative, total, e_max):
    """Whether a result is as near to a sum as the lemma claims, and has its sign."""
    value = total * Fraction(2) ** (e_max - lemma.fraction_bits)
    error = abs(exact - value)
    near = error <= ulp / 2 if lemma.nearest else error < ulp
    return near and (not exact or negative == (total < 0))


@pytest.mark.middle
@pytest.mark.parametrize("name", [NEAREST, TRUNCATED, SHORTENED])
def test_the_error_of_a_conversion_is_so_large_at_most(monkeypatch, name):
    lemma, rng, seen = ConversionError(*of_step(name)), random.Random(name), set()
    rho = lemma.rules.rho
    unused = rho.target.fraction_bits - rho.fraction_bits
    for _ in range(400):
        pattern = numbers(rng, rho.target) >> unused << unused
        word = INTEGERS.unsigned(pattern, rho.target.bits)
        monkeypatch.setattr(cuts, "convert", lambda *_, word=word: (word, INTEGERS.truth(False)))
        x = unpack(INTEGERS, rho.target, word)
        bit = Fraction(2) ** (x.exponent.data - x.fraction_bits)
        exact = x.significand.data * bit * (-1 if x.negative.data else 1)
        for total, e_max in sums(rng, lemma, exact, bit * 2**unused):
            words = INTEGERS.signed(total, WIDTH), INTEGERS.signed(e_max, 12)
            claimed = lemma.of_sum(INTEGERS, *words, INTEGERS.truth(False)).data
            assert claimed == is_within(lemma, exact, bit * 2**unused, x.negative.data, total, e_max), (
                hex(pattern),
                total,
                e_max,
            )
            seen.add(claimed)
    assert seen == {True, False}
