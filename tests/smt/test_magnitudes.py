"""Top bits and ties against exact arithmetic, on all interpretations."""

from fractions import Fraction
from math import floor

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pysmt.environment import Environment

from mmaproof.smt.algebra.arrays import ArrayAlgebra
from mmaproof.smt.algebra.integers import IntegerAlgebra
from mmaproof.smt.algebra.protocol import Word
from mmaproof.smt.algebra.terms import TermAlgebra
from mmaproof.smt.algebra.words import nearest_rounds_up, normalised, with_top_exponent

INTEGERS, ARRAYS = IntegerAlgebra(), ArrayAlgebra()


NONZERO = st.integers(1, 48).flatmap(lambda w: st.tuples(st.just(w), st.integers(1, (1 << w) - 1)))
"""A width, and a magnitude of it."""


@given(NONZERO, st.integers(-300, 300))
def test_the_top_bit_is_set_and_the_number_stays(x, exponent):
    width, value = x
    words = INTEGERS.unsigned(value, width), INTEGERS.signed(exponent, 10)
    top, lower = normalised(*words)
    assert (top.width, top.data >> (width - 1)) == (width, 1)
    assert top.data * Fraction(2) ** lower.data == value * Fraction(2) ** exponent
    assert -(1 << (lower.width - 1)) <= lower.data < 1 << (lower.width - 1)


@given(NONZERO, st.integers(-300, 300), st.integers(0, 60))
def test_the_exponent_is_that_of_the_top_bit(x, exponent, fraction_bits):
    width, value = x
    top, found = with_top_exponent(INTEGERS.unsigned(value, width), INTEGERS.signed(exponent, 10), fraction_bits)
    number = value * Fraction(2) ** (exponent - fraction_bits)
    assert Fraction(2) ** found.data <= number < Fraction(2) ** (found.data + 1)
    assert top.data == value << (width - value.bit_length())


@given(st.integers(1, 20).flatmap(lambda w: st.tuples(st.just(w), st.integers(0, (1 << w) - 1))))
def test_nearest_is_to_even(x):
    width, value = x
    kept = value >> 2
    up = nearest_rounds_up(INTEGERS.unsigned(value, width)).data
    # the lowest bit stands for anything between a tie, or a multiple, and what comes next
    exact = Fraction(value >> 1, 2) + (Fraction(1, 4) if value & 1 else 0)
    assert kept + up == round(exact)
    assert floor(exact) == kept


@pytest.mark.parametrize("fraction_bits", [0, 3, 20])
def test_the_interpretations_agree(fraction_bits):
    values, exponents = [1, 2, 3, 100, 127, 128, 255], [-7, 0, 5, -8, 7, 1, -1]
    algebra = TermAlgebra(Environment())
    columns = [np.array(x) for x in (values, exponents)]
    arrays = [Word(x, w, s, ARRAYS) for x, w, s in zip(columns, (8, 4), (False, True), strict=True)]
    top, exponent = with_top_exponent(*arrays, fraction_bits)
    up = nearest_rounds_up(arrays[0])
    for i, (x, e) in enumerate(zip(values, exponents, strict=True)):
        words = INTEGERS.unsigned(x, 8), INTEGERS.signed(e, 4)
        expected, place = with_top_exponent(*words, fraction_bits)
        assert (top.data[i], exponent.data[i]) == (expected.data, place.data)
        assert up.data[i] == nearest_rounds_up(words[0]).data
        terms = with_top_exponent(algebra.unsigned(x, 8), algebra.signed(e, 4), fraction_bits)
        simplify = algebra.environment.simplifier.simplify
        assert [simplify(w.data).bv_unsigned_value() for w in terms] == [
            expected.data,
            place.data % (1 << place.width),
        ]
        assert [w.width for w in terms] == [expected.width, place.width]


def test_the_terms_are_those_of_the_operations_in_full():
    algebra = TermAlgebra(Environment())
    x, e = algebra.symbol("magnitude", 24), algebra.twos_complement(algebra.symbol("exponent", 9))
    top, places = algebra.normalise(x)
    weight = algebra.signed(x.width - 1 - 30)
    exponent = algebra.subtract(algebra.add(e, weight), algebra.as_signed(places))
    found = with_top_exponent(x, e, 30)
    assert found[0].data is top.data
    assert found[1].data is exponent.data
    sticky, half, odd = (algebra.is_bit_set(x, i) for i in range(3))
    assert nearest_rounds_up(x).data is algebra.all_of([half, algebra.any_of([sticky, odd])]).data
