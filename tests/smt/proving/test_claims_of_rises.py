"""Lemmas about a term that rises claim what their names say: compared with rationals, for all terms of a few bits."""

import itertools
from fractions import Fraction

import pytest

from mmaproof.designs.catalogue import find_design
from mmaproof.smt.algebra.integers import IntegerAlgebra
from mmaproof.smt.proving.monotone import ChangedC, LargeStep, TermRises
from mmaproof.smt.semantics.cut import Cut
from mmaproof.smt.semantics.terms import Term

INTEGERS = IntegerAlgebra()
CHANGED = ChangedC(find_design("volta/f32.f16.f16.f32"))
BITS = 1
"""Fraction bits of the terms."""


def term(significand, exponent, *, present=True):
    sign, word = INTEGERS.truth(significand < 0), INTEGERS.unsigned(abs(significand), 3)
    return Term(BITS, sign, INTEGERS.signed(exponent, 4), word, INTEGERS.truth(present), 7)


def value(x):
    size = x.significand.data * Fraction(2) ** (x.exponent.data - BITS)
    return -size if x.negative.data else size


def pairs(exponents, least=-3, most=3):
    """Two terms, all significands and exponents of a range."""
    of_one = [(n, e) for n in range(least, most + 1) for e in exponents]
    return itertools.product(of_one, repeat=2)


def test_a_term_rises_where_its_value_does():
    lemma = TermRises(CHANGED)
    for first, second in pairs(range(-2, 3)):
        v, above = term(*first), term(*second)
        near = abs(first[1] - second[1]) <= 1 or not first[0] or not second[0]
        assert lemma.of_terms(INTEGERS, {}, v, above).data == (near and value(v) <= value(above)), (first, second)


def is_enough(lemma, v, above, half_unseen):
    """Whether both terms are present, one exponent apart, and the step makes up for half a unit of each other term."""
    if abs(v.exponent.data - above.exponent.data) != 1:
        return False
    top = max(v.exponent.data, above.exponent.data)
    lower = value(v) if v.exponent.data < top else -value(above)
    half = Fraction(2) ** (top - lemma.finest - 1)
    step = value(above) - value(v)
    if step >= lemma.lost * half:
        return True
    close = lower + lemma.lost * half >= Fraction(2) ** top
    return half_unseen and lemma.finest >= BITS and step + half >= lemma.lost * half and close


def is_enough_beside_zero(lemma, v, above):
    """Whether one term is zero and not as high as the other, which makes up for a unit of each other term."""
    for nothing, x, sign in ((v, above, 1), (above, v, -1)):
        unit = Fraction(2) ** (x.exponent.data - lemma.finest)
        higher = nothing.present.data and nothing.exponent.data >= x.exponent.data
        if not value(nothing) and not higher and x.present.data and sign * value(x) >= lemma.lost * unit:
            return True
    return False


@pytest.mark.parametrize("half_unseen", [False, True])
@pytest.mark.parametrize("floor", [None, 0])
@pytest.mark.parametrize(
    ("bits", "others"), [(1, (1,)), (1, (1, 1)), (1, (1, 1, 1)), (2, (1, 2, 0)), (3, (3, 3, 3)), (0, (0,)), (0, (0, 0))]
)
def test_a_step_is_large_where_it_makes_up_for_the_others(bits, others, floor, half_unseen):
    lemma = LargeStep(CHANGED, Cut(bits), [Cut(x) for x in others], floor, half_unseen=half_unseen)
    for (first, second), seen in itertools.product(pairs((-1, 0, 1, 2)), ((1, 1), (0, 1), (1, 0), (0, 0))):
        both = [(x, p) for x, p in zip((first, second), seen, strict=True)]
        if any(x[0] and not p for x, p in both):
            continue  # a term that is not present is zero
        v, above = (term(*x, present=bool(p)) for x, p in both)
        stays = seen == (0, 0) or (seen == (1, 1) and first[1] == second[1])
        stays = stays or (floor is not None and all(x[1] <= floor or not p for x, p in both))
        lost = bits < BITS and any(x[0] % 2 and p for x, p in both)
        enough = (seen == (1, 1) and is_enough(lemma, v, above, half_unseen)) or is_enough_beside_zero(lemma, v, above)
        claimed = lemma.of_terms(INTEGERS, {}, v, above).data
        assert claimed == (stays or (enough and not lost)), (first, second, seen)
