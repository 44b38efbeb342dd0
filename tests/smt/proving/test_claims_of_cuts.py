"""Lemmas about a cut claim what their names say: what is just outside a claim violates it.

The cut is made up: it returns what a test wants. So it is told whether a lemma would notice.
"""

import pytest

from mmaproof.designs.readings import Alignment
from mmaproof.smt.algebra.integers import IntegerAlgebra
from mmaproof.smt.proving import cuts
from mmaproof.smt.proving.cuts import CutBound, CutError, CutIsExact, CutOfValue, TermShape
from mmaproof.smt.semantics.align import Cut
from mmaproof.smt.semantics.terms import Term

INTEGERS = IntegerAlgebra()
SHAPE = TermShape(significand_width=4, largest=15, fraction_bits=3, exponent_width=4, e_max_width=4)
E_MAX = INTEGERS.signed(3, 4)


def term(significand=9, *, negative=False, exponent=3):
    present, sign = INTEGERS.truth(True), INTEGERS.truth(negative)
    return Term(3, sign, INTEGERS.signed(exponent, 4), INTEGERS.unsigned(significand, 4), present, 15)


def holds(lemma, x):
    return lemma.of_term(INTEGERS, x, E_MAX).data


def comparing(monkeypatch, scaled, exact, unit=8):
    """Let a cut keep ``scaled`` of a term that is ``exact``, in parts of a unit."""
    found = INTEGERS.signed(scaled, 8), INTEGERS.signed(exact, 8), INTEGERS.unsigned(unit, 4)
    monkeypatch.setattr(cuts, "compared", lambda *_: found)


@pytest.mark.parametrize("exact", [-20, 20])
@pytest.mark.parametrize(("alignment", "most"), [(Alignment.TRUNCATE, 7), (Alignment.JAM, 7), (Alignment.NEAREST, 4)])
def test_the_error_of_a_cut_is_so_large_at_most(monkeypatch, alignment, most, exact):
    lemma = CutError("c", SHAPE, Cut(2, alignment))
    for error in range(-9, 10):
        comparing(monkeypatch, exact + error, exact)
        assert holds(lemma, term(negative=exact < 0)) == (abs(error) <= most), error


@pytest.mark.parametrize("exact", [-20, 20])
def test_the_floor_is_the_whole_part_below(monkeypatch, exact):
    lemma = CutOfValue("c", SHAPE, Cut(2, Alignment.FLOOR))
    for rest in range(-2, 10):
        comparing(monkeypatch, exact - rest, exact)
        assert holds(lemma, term(negative=exact < 0)) == (0 <= rest < 8), rest


@pytest.mark.parametrize("negative", [False, True])
def test_the_whole_part_of_a_magnitude_has_the_sign_of_the_term(monkeypatch, negative):
    lemma, sign = CutOfValue("c", SHAPE, Cut(2)), -1 if negative else 1
    for kept in range(10, 23):
        comparing(monkeypatch, sign * kept, sign * 20)
        assert holds(lemma, term(negative=negative)) == (12 < kept <= 20), kept
        comparing(monkeypatch, -sign * kept, sign * 20)
        assert not holds(lemma, term(negative=negative))
    comparing(monkeypatch, 0, sign * 7)
    assert holds(lemma, term(negative=negative))


def test_a_cut_loses_nothing_of_what_is_near(monkeypatch):
    lemma = CutIsExact("c", SHAPE, Cut(2), 2)
    monkeypatch.setattr(cuts, "loses_bits", lambda *_: INTEGERS.truth(True))
    assert [holds(lemma, term(exponent=3 - distance)) for distance in range(5)] == [False] * 3 + [True] * 2
    assert not holds(lemma, term(0, exponent=-2))
    monkeypatch.setattr(cuts, "loses_bits", lambda *_: INTEGERS.truth(False))
    assert all(holds(lemma, term(exponent=3 - distance)) for distance in range(5))


@pytest.mark.parametrize("sign", [-1, 1])
def test_a_cut_term_is_within_its_bound(monkeypatch, sign):
    lemma = CutBound("c", SHAPE, Cut(2))
    assert lemma.bound == 7
    for kept in range(10):
        monkeypatch.setattr(cuts, "align", lambda *_, kept=kept: INTEGERS.signed(sign * kept, 8))
        assert holds(lemma, term()) == (kept <= 7)


def test_terms_are_assumed_to_be_what_earlier_stages_ensure():
    lemma = CutBound("c", TermShape(4, 14, 3, 4, 4), Cut(2))
    good = {"significand": 14, "exponent": 3, "e_max": 3, "negative": 0, "present": 1}

    def assumed(**changes):
        values = good | changes
        words = {
            x.name: INTEGERS.signed(values[x.name], x.width) if x.signed else INTEGERS.unsigned(values[x.name], x.width)
            for x in lemma.inputs
        }
        return lemma.assumption(INTEGERS, words).data

    assert assumed()
    assert assumed(present=0, significand=0, exponent=5)
    assert not assumed(significand=15)
    assert not assumed(exponent=4)
    assert not assumed(present=0)


def test_what_lies_far_below_is_compared_where_it_is():
    """Whatever the distance: the cut of a term that it moves below every bit is zero, and the term is not."""
    for alignment in (Alignment.TRUNCATE, Alignment.FLOOR):
        lemma = CutOfValue("c", SHAPE, Cut(6, alignment))  # more bits than the term has below its point
        for exponent in range(-8, 4):
            for negative in (False, True):
                assert holds(lemma, term(15, negative=negative, exponent=exponent)), (exponent, negative)
