"""Lemmas of longer arguments claim what their names say: stages are made up, and what is just outside violates it."""

import itertools
from types import SimpleNamespace

import pytest

from mmaproof.designs.catalogue import find_design
from mmaproof.smt.algebra.integers import IntegerAlgebra
from mmaproof.smt.proving import monotone, monotone_in_a, two_terms
from mmaproof.smt.proving.cuts import KeptAtTop, KeptInOrder, TermShape
from mmaproof.smt.proving.monotone_in_a import KeptAgain
from mmaproof.smt.proving.rising_terms import ChangedC, last_sum
from mmaproof.smt.proving.two_terms import AddsAligned, StartIsUnique, StartsAligned
from mmaproof.smt.semantics.align import Cut
from mmaproof.smt.semantics.sequential_step import Accumulator
from mmaproof.smt.semantics.terms import Term

INTEGERS = IntegerAlgebra()
VOLTA = "volta/mma.m8n8k4.f32.f16.f16.f32"
CDNA3, GAUDI = "cdna3/v_mfma_f32_32x32x8_f16", "gaudi2/mme.m1n1k8.f32.bf16.bf16.f32"
SHAPE = TermShape(significand_width=4, largest=15, fraction_bits=3, exponent_width=4, e_max_width=4)
EXPONENTS = (1, 2, 3)
E_MAX = 2


def truth(value):
    return INTEGERS.truth(bool(value))


def term(exponent, present=1, significand=5):
    word = INTEGERS.unsigned(significand, 4)
    return Term(3, truth(0), INTEGERS.signed(exponent, 4), word, truth(present), 15)


def words(lemma, **values):
    """Words of the inputs of a lemma; those that are not given are zero."""
    read = {x.name: INTEGERS.signed if x.signed else INTEGERS.unsigned for x in lemma.inputs}
    return {x.name: read[x.name](values.get(x.name, 0), x.width) for x in lemma.inputs}


def accumulator(value, exponent, present):
    return Accumulator(INTEGERS.signed(value, 12), INTEGERS.signed(exponent, 5), truth(present))


def in_turn(kind, *more):
    return kind("c", find_design(f"{VOLTA}@summation=sequential"), SHAPE, Cut(2), 4, *more)


def test_a_sum_starts_as_the_term_that_is_aligned(monkeypatch):
    lemma = in_turn(StartsAligned)
    monkeypatch.setattr(two_terms, "align", lambda *_: INTEGERS.signed(3, 6))
    monkeypatch.setattr(two_terms, "cut_at", lambda step, state, fraction: state)
    for present, exponent, value, at, there in itertools.product((0, 1), EXPONENTS[:2], (3, 11, 12), EXPONENTS, (0, 1)):
        monkeypatch.setattr(two_terms, "start", lambda *_, x=(value, at, there): accumulator(*x))
        given = words(lemma, significand=5, exponent=exponent, e_max=E_MAX, present=present)
        claimed = lemma.claim(INTEGERS, given).data
        right = (value, at, there) == (3 << 2, E_MAX, 1)
        assert claimed == (right or not present or exponent < E_MAX)


def test_an_addition_adds_the_term_that_is_aligned(monkeypatch):
    lemma = in_turn(AddsAligned, 6)
    monkeypatch.setattr(two_terms, "align", lambda *_: INTEGERS.signed(3, 6))
    for present, taken, value, at, there in itertools.product((0, 1), (0, 1), (20, 31, 32, 33), EXPONENTS, (0, 1)):
        monkeypatch.setattr(two_terms, "add", lambda *_, x=(value, at, there): accumulator(*x))
        given = words(lemma, significand=5, exponent=1, e_max=E_MAX, present=present, held=5, taken=taken)
        amount = 3 << 2 if present and taken else 0
        assert lemma.claim(INTEGERS, given).data == ((value, at, there) == ((5 << 2) + amount, E_MAX, 1))


def test_one_term_that_is_present_and_has_the_largest_exponent_is_chosen(monkeypatch):
    total = SimpleNamespace(terms=[term(0)] * 2, e_max=INTEGERS.signed(0, 4))
    lemma = StartIsUnique(total)
    for first, second, p, q in itertools.product(EXPONENTS, EXPONENTS, (0, 1), (0, 1)):
        given = words(lemma, exponent0=first, exponent1=second, present0=p, present1=q, e_max=E_MAX)
        possible = [bool(p and first == E_MAX), bool(q and second == E_MAX)]
        assert lemma.assumption(INTEGERS, given).data == any(possible)
        for chosen in itertools.product((0, 1), repeat=2):
            monkeypatch.setattr(two_terms, "with_exponent", lambda *_, x=chosen: list(map(truth, x)))
            right = sum(chosen) == 1 and possible[chosen.index(1)]
            assert lemma.claim(INTEGERS, given).data == right, (given, chosen)


class Kept:
    """What is kept of c, by its exponent."""

    def __init__(self, of):
        self.of, self.cut = of, Cut(2)

    def kept(self, algebra, c, e_max, products):
        return algebra.signed(self.of[c.exponent.data], 6)


def dropped(kind, kept):
    return kind(ChangedC(find_design(VOLTA)), Kept(kept), SHAPE, 4)


def test_what_is_kept_of_a_larger_c_is_not_smaller():
    for first, second, p, q, of_products, r in itertools.product(
        EXPONENTS, EXPONENTS, (0, 1), (0, 1), EXPONENTS, (0, 1)
    ):
        for low, high in ((1, 2), (2, 2), (2, 1)):
            lemma = dropped(KeptInOrder, {first: low, second: high})
            given = words(lemma, e_max=E_MAX, of_products=of_products, present=r)
            claimed = lemma.of_terms(INTEGERS, given, term(first, p), term(second, q)).data
            beyond = any(x > E_MAX and seen for x, seen in ((first, p), (second, q), (of_products, r)))
            kept = lemma.dropped.of[first] <= lemma.dropped.of[second]
            assert claimed == (beyond or kept)


def test_a_c_of_the_largest_exponent_is_not_dropped(monkeypatch):
    monkeypatch.setattr("mmaproof.smt.proving.cuts.align", lambda *_: INTEGERS.signed(3, 6))
    for first, second, p, q, of_products, r in itertools.product(
        EXPONENTS, EXPONENTS, (0, 1), (0, 1), EXPONENTS, (0, 1)
    ):
        for low, high in itertools.product((2, 3), repeat=2):
            lemma = dropped(KeptAtTop, {first: low, second: high})
            given = words(lemma, of_products=of_products, present=r)
            claimed = lemma.of_terms(INTEGERS, given, term(first, p), term(second, q)).data
            right = [
                not seen or (r and of_products > x) or lemma.dropped.of[x] == 3 for x, seen in ((first, p), (second, q))
            ]
            assert claimed == all(right)


def test_a_c_that_is_kept_again_is_near_or_gone(monkeypatch):
    for present, gone, low, high in itertools.product(
        (0, 1), itertools.product((0, 1), repeat=2), range(-3, 4), range(-3, 4)
    ):

        def left(algebra, c, e_max, products, gone=gone):
            return term(0, 1, 0) if gone[e_max.data - E_MAX] else c

        lemma = KeptAgain(SHAPE, SimpleNamespace(cut=Cut(2), left=left))
        monkeypatch.setattr(
            monotone_in_a, "align", lambda _, x, e, cut, kept=(low, high): INTEGERS.signed(kept[e.data - E_MAX], 6)
        )
        given = words(lemma, significand=5, exponent=1, e_max=E_MAX, present=present)
        near = not any(gone) and abs(2 * high - low) <= 1
        assert lemma.claim(INTEGERS, given).data == bool(not present or near or (gone[1] and abs(low) <= 2))


@pytest.mark.parametrize(
    ("asked", "name"),
    list(itertools.product(("monotone-in-a", "monotone-in-c", "sequential"), (CDNA3, GAUDI, VOLTA))),
)
def test_exponents_are_signed(name, asked):
    """A lemma about unsigned exponents would say nothing of small numbers."""
    design = find_design(name)
    lemmas = {
        "monotone-in-a": lambda: monotone_in_a.lemmas_for_a(design),
        "monotone-in-c": lambda: monotone.lemmas_for_c(design),
        "sequential": lambda: two_terms.sequential_lemmas(
            find_design(f"{VOLTA}@summation=sequential"), last_sum(find_design(VOLTA))
        ),
    }[asked]()
    exponents = [x for lemma in lemmas for x in lemma.inputs if x.name.startswith(("exponent", "e_max"))]
    assert all(x.signed for x in exponents)
    assert exponents
