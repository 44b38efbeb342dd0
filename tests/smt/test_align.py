"""What a cut loses, against exact rationals."""

import random
from collections import Counter
from fractions import Fraction

import pytest
from pysmt.environment import get_env

from mmaproof.designs.readings import Alignment
from mmaproof.smt.algebra.integers import IntegerAlgebra
from mmaproof.smt.algebra.terms import TermAlgebra
from mmaproof.smt.semantics.align import Cut, align, loses_bits
from mmaproof.smt.semantics.terms import Term

INTEGERS = IntegerAlgebra()


def integer_term(source: random.Random, distance: int) -> tuple[Term[int, bool], int]:
    """A random term, at times absent and then zero, and an e_max so far above its exponent."""
    width, exponent = source.randint(1, 60), source.randint(-300, 300)
    significand = source.getrandbits(width) << source.choice([0, 0, source.randint(0, width)]) & (1 << width) - 1
    present = source.random() < 0.9
    term = Term(
        fraction_bits=source.randint(0, 70),
        negative=INTEGERS.truth(source.random() < 0.5),
        exponent=INTEGERS.signed(exponent, 10),
        significand=INTEGERS.unsigned(significand if present else 0, width),
        present=INTEGERS.truth(present),
        largest=(1 << width) - 1,
    )
    return term, exponent + distance


def value(term: Term[int, bool]) -> Fraction:
    magnitude = term.significand.data * Fraction(2) ** (term.exponent.data - term.fraction_bits)
    return -magnitude if term.negative.data else magnitude


@pytest.mark.few(1)
@pytest.mark.parametrize("alignment", [x for x in Alignment if x is not Alignment.COMPLEMENT])
def test_bits_are_lost_where_the_term_is_no_multiple_of_the_last_kept_bit(alignment):
    source, seen = random.Random(31), Counter()
    for index in range(6000):
        distance = source.choice([0, 1, source.randint(0, 40), source.randint(0, 200)])
        term, e_max = integer_term(source, distance)
        # more fraction bits than the term has, one less, and any number
        point = term.fraction_bits
        cut = Cut(max(source.choice([point, point - 1, point + distance, source.randint(0, 90)]), 0), alignment)
        unit = Fraction(2) ** (e_max - cut.fraction_bits)
        lost = value(term) % unit != 0
        word = INTEGERS.signed(e_max, 11)
        assert loses_bits(INTEGERS, term, word, cut).data is lost, (index, term, e_max, cut)
        # a cut term is a multiple of the last kept bit: it is the term itself only where nothing is lost
        assert (align(INTEGERS, term, word, cut).data * unit != value(term)) is lost
        seen[lost, point > cut.fraction_bits, distance > cut.fraction_bits] += 1
    assert len(seen) == 8
    assert min(seen.values()) > 20


def test_the_nearest_multiple_is_kept_and_of_two_the_even_one():
    source, seen = random.Random(32), Counter()
    for index in range(6000):
        term, e_max = integer_term(source, source.choice([0, 1, source.randint(0, 70), source.randint(0, 200)]))
        # often N bits that a tie is likely
        point = term.fraction_bits + e_max - term.exponent.data
        bits = max(point - source.choice([0, 1, 2, 3, source.randint(0, 70)]), 0)
        exact = value(term) * Fraction(2) ** (bits - e_max)
        kept = align(INTEGERS, term, INTEGERS.signed(e_max, 11), Cut(bits, Alignment.NEAREST)).data
        assert kept == round(exact), (index, term, e_max, bits)  # Fraction rounds ties to even
        tie, up = exact % 1 == Fraction(1, 2), abs(kept) > abs(exact)
        seen[tie, up, exact < 0] += exact % 1 != 0
    assert len(seen) == 8
    assert min(seen.values()) > 20


@pytest.mark.few(14)
@pytest.mark.parametrize(
    ("significand", "distance", "fraction_bits", "lost"),
    [
        # a significand of four fraction bits, in [0, 2)
        (0b10000, 0, 4, False),
        (0b10001, 0, 4, False),
        (0b10001, 0, 3, True),
        (0b10010, 0, 3, False),
        (0b10001, 1, 4, True),
        (0b10010, 1, 4, False),
        (0b10000, 4, 4, False),
        (0b10000, 5, 4, True),
        (0b10000, 900, 4, True),
        (0b00000, 900, 4, False),
        (0b00001, 900, 904, False),
        (0b00001, 900, 903, True),
    ],
)
@pytest.mark.parametrize("negative", [False, True])
def test_lost_bits_by_hand(significand, distance, fraction_bits, lost, negative):
    term = Term(
        4, INTEGERS.truth(negative), INTEGERS.signed(0), INTEGERS.unsigned(significand, 5), INTEGERS.truth(True), 31
    )
    assert loses_bits(INTEGERS, term, INTEGERS.signed(distance), Cut(fraction_bits)).data is lost


def test_lost_bits_of_symbols_are_those_of_integers():
    algebra, terms, source = TermAlgebra(), get_env().formula_manager, random.Random(33)
    words = [algebra.symbol(f"lost_{n}", w) for n, w in (("significand", 12), ("exponent", 6), ("e_max", 6))]
    significand, exponent, e_max = words[0], *(algebra.as_signed(w) for w in words[1:])
    term = Term(8, algebra.truth(True), exponent, significand, algebra.truth(True), 0xFFF)
    cut, lost = Cut(10), loses_bits(algebra, term, e_max, Cut(10)).data
    for _ in range(200):
        low, high = sorted(source.getrandbits(6) for _ in range(2))
        values = source.getrandbits(12), low, high
        constants = {w.data: terms.BV(v, w.width) for w, v in zip(words, values, strict=True)}
        expected = values[0] * Fraction(2) ** (low - 8) % Fraction(2) ** (high - cut.fraction_bits) != 0
        assert lost.substitute(constants).simplify().is_true() is expected
