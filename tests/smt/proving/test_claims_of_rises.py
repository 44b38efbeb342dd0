"""Lemmas about a term that rises claim what their names say: compared with rationals, for all terms of a few bits."""

import itertools
from fractions import Fraction

import pytest

from mmaproof.designs.catalogue import find_design
from mmaproof.designs.readings import Alignment
from mmaproof.smt.algebra.integers import IntegerAlgebra
from mmaproof.smt.proving import monotone
from mmaproof.smt.proving.cuts import TermShape
from mmaproof.smt.proving.monotone import ChangedC, CutAgain, CutOfDoubled, CutOrdered, LargeStep, TermRises
from mmaproof.smt.semantics.align import Cut
from mmaproof.smt.semantics.terms import Term

INTEGERS = IntegerAlgebra()
SHAPE = TermShape(significand_width=3, largest=7, fraction_bits=1, exponent_width=4, e_max_width=4)
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


def kept(lemma, x):
    """What is kept of a term where e_max is its own exponent: its magnitude truncated to the bits of the cut."""
    unit = Fraction(2) ** (x.exponent.data - lemma.cut.fraction_bits)
    return int(value(x) / unit) * unit


def losses(lemma, exponent, half):
    """What the other terms lose: units of the exponent, or half units; nothing where no product lies as low."""
    low = lemma.least is not None and exponent <= lemma.least
    return 0 if low else lemma.lost * Fraction(2) ** (exponent - lemma.finest - half)


def is_enough(lemma, v, above, half_unseen):
    """Whether both terms are present, one exponent apart, and the step makes up for half a unit of each other term."""
    if abs(v.exponent.data - above.exponent.data) != 1:
        return False
    top = max(v.exponent.data, above.exponent.data)
    lower = kept(lemma, v) if v.exponent.data < top else -kept(lemma, above)
    step = kept(lemma, above) - kept(lemma, v)
    if step >= losses(lemma, top, 1):
        return True
    half = Fraction(2) ** (top - lemma.finest - 1)
    close = lower + lemma.lost * half >= Fraction(2) ** top
    return half_unseen and step + half >= lemma.lost * half and close


def is_enough_beside_zero(lemma, v, above):
    """Whether one term is zero and not as high as the other, which makes up for a unit of each other term."""
    for nothing, x, sign in ((v, above, 1), (above, v, -1)):
        higher = nothing.present.data and nothing.exponent.data >= x.exponent.data
        right = x.negative.data == (sign < 0)
        enough = sign * kept(lemma, x) >= losses(lemma, x.exponent.data, 0)
        if not kept(lemma, nothing) and not higher and x.present.data and right and enough:
            return True
    return False


@pytest.mark.few(5)
@pytest.mark.parametrize("least", [None, 0, -1])
@pytest.mark.parametrize("half_unseen", [False, True])
@pytest.mark.parametrize("floor", [None, 0])
@pytest.mark.parametrize(
    ("bits", "others"),
    [(1, ()), (1, (1,)), (1, (1, 1)), (1, (1, 1, 1)), (2, (1, 2, 0)), (3, (3, 3, 3)), (0, (0,)), (0, (0, 0))],
)
def test_a_step_is_large_where_it_makes_up_for_the_others(bits, others, floor, half_unseen, least):
    lemma = LargeStep(CHANGED, Cut(bits), [Cut(x) for x in others], floor, half_unseen=half_unseen, least=least)
    for (first, second), seen in itertools.product(pairs((-1, 0, 1)), ((1, 1), (0, 1), (1, 0), (0, 0))):
        both = [(x, p) for x, p in zip((first, second), seen, strict=True)]
        if any(x[0] and not p for x, p in both):
            continue  # a term that is not present is zero
        v, above = (term(*x, present=bool(p)) for x, p in both)
        stays = seen == (0, 0) or (seen == (1, 1) and first[1] == second[1])
        stays = stays or (floor is not None and all(x[1] <= floor or not p for x, p in both))
        enough = (seen == (1, 1) and is_enough(lemma, v, above, half_unseen)) or is_enough_beside_zero(lemma, v, above)
        claimed = lemma.of_terms(INTEGERS, {}, v, above).data
        assert claimed == (stays or enough), (first, second, seen)


def again(alignment, low):
    """A cut, cut again by one bit."""
    match alignment:
        case Alignment.FLOOR:
            return low // 2
        case Alignment.JAM:
            return (abs(low) // 2 | low % 2) * (-1 if low < 0 else 1)
        case _:
            return abs(low) // 2 * (-1 if low < 0 else 1)


@pytest.mark.parametrize("alignment", [Alignment.TRUNCATE, Alignment.FLOOR, Alignment.JAM, Alignment.NEAREST])
@pytest.mark.parametrize("present", [True, False])
def test_a_cut_at_a_higher_e_max_is_the_cut_cut_again(monkeypatch, alignment, present):
    """What is kept of a term is made up."""
    lemma, e_max = CutAgain("c", SHAPE, Cut(1, alignment)), INTEGERS.signed(2, 4)
    for low, high in itertools.product(range(-9, 10), range(-6, 7)):
        kept = {2: INTEGERS.signed(low, 6), 3: INTEGERS.signed(high, 6)}
        monkeypatch.setattr(monotone, "align", lambda algebra, x, e, cut, kept=kept: kept[e.data])
        claimed = lemma.of_term(INTEGERS, term(-3 if low < 0 else 3, 2, present=present), e_max).data
        near = abs(2 * high - low) <= 1 if alignment is Alignment.NEAREST else high == again(alignment, low)
        assert claimed == (near or not present), (low, high)


@pytest.mark.parametrize("significand", [3, -3])
def test_a_cut_has_the_sign_of_its_term_and_depends_on_its_value(monkeypatch, significand):
    lemma, e_max = CutOfDoubled(SHAPE, Cut(1)), INTEGERS.signed(2, 4)
    for plain, wide, doubled in itertools.product(range(-2, 3), repeat=3):

        def align(algebra, x, e, cut, kept=(plain, wide, doubled)):
            assert (value(x), e.data) == (value(term(significand, 2)), 2)
            which = 0 if x.significand.width == 3 else 1 + (x.exponent.data == 1)
            return algebra.signed(kept[which], 6)

        monkeypatch.setattr(monotone, "align", align)
        claimed = lemma.of_term(INTEGERS, term(significand, 2), e_max).data
        assert claimed == (plain == wide == doubled and plain * significand >= 0), (plain, wide, doubled)


def test_the_larger_term_has_the_larger_cut(monkeypatch):
    lemma = CutOrdered(SHAPE, Cut(1))
    given = {"significand": 5, "larger": 6, "exponent": 2, "e_max": 2, "negative": 0, "present": 1}

    def words(**changes):
        values = given | changes
        read = {x.name: INTEGERS.signed if x.signed else INTEGERS.unsigned for x in lemma.inputs}
        return {x.name: read[x.name](values[x.name], x.width) for x in lemma.inputs}

    for small, large in itertools.product(range(-3, 4), repeat=2):
        kept = {5: small, 6: large}
        monkeypatch.setattr(
            monotone, "align", lambda _, x, e, c, kept=kept: INTEGERS.signed(kept[x.significand.data], 6)
        )
        assert lemma.claim(INTEGERS, words()).data == (abs(small) <= abs(large))
    assert lemma.assumption(INTEGERS, words()).data
    assert lemma.assumption(INTEGERS, words(larger=14)).data  # twice the largest
    for changes in ({"larger": 4}, {"larger": 15}, {"e_max": 1}, {"present": 0}):
        assert not lemma.assumption(INTEGERS, words(**changes)).data
