"""Integer units that wrap return the same however products are grouped; saturating ones do not."""

import pytest
from support.deciding import decide

from mmaproof.designs.catalogue import find_design
from mmaproof.smt.algebra.integers import IntegerAlgebra
from mmaproof.smt.proving.wrapping import RegroupedSum, is_regrouping, regrouping_lemmas
from mmaproof.smt.solving.limits import Limits
from mmaproof.smt.solving.verdict import Status
from mmaproof.verification.compare import compare

WRAPPING = "ampere/mma.m16n8k32.s32.s8.s8.s32"
SATURATING = "ampere/mma.m16n8k32.satfinite.s32.s8.s8.s32"
LIMITS = Limits(60, 4 << 30)


class NarrowerFirst(RegroupedSum):
    """A register that loses a bit after the first sum."""

    def claim(self, algebra, words):
        x, y, c = (words[n] for n in "xyc")
        first = algebra.modular_sum([x, c], self.bits - 1)
        in_turn = algebra.modular_sum([y, first], self.bits)
        return algebra.equal(in_turn, algebra.modular_sum([algebra.add(x, y), c], self.bits))


def test_the_lemma_is_proved_and_its_mutant_refuted():
    assert decide(RegroupedSum(21, 32)) is Status.PROVED
    assert decide(NarrowerFirst(21, 32)) is Status.REFUTED


class Saturating(IntegerAlgebra):
    """Integers whose registers hold the nearest number that they have."""

    def modular_sum(self, words, width):
        half = 1 << (width - 1)
        return self.signed(min(max(sum(x.data for x in words), -half), half - 1), width)


def test_the_lemma_is_false_of_registers_that_saturate():
    lemma = RegroupedSum(4, 4)
    for algebra, holds in ((IntegerAlgebra(), True), (Saturating(), False)):
        words = {name: algebra.signed(x, 4) for name, x in (("x", 7), ("y", -7), ("c", 7))}
        assert lemma.claim(algebra, words).data is holds


@pytest.mark.parametrize("k", [1, 32, 100])
def test_the_lemma_is_about_every_sum_that_occurs(k):
    """32 products of -128 and -128 are 2**19, which takes 21 bits in two's complement."""
    (lemma,) = regrouping_lemmas(find_design(WRAPPING), k)
    widths = [x.width for x in lemma.inputs]
    assert [-(1 << (w - 1)) <= -128 * 127 * k and 128 * 128 * k < 1 << (w - 1) for w in widths] == [True] * 3
    assert widths[:2] == [(k << 14).bit_length() + 1] * 2


@pytest.mark.middle
@pytest.mark.parametrize("changed", ["L=1", "L=4,k_order=mod2:1/0"])
def test_grouping_and_order_change_nothing_where_the_register_wraps(changed):
    answer = compare(find_design(WRAPPING), find_design(f"{WRAPPING}@{changed}"), limits=LIMITS)
    assert answer.status is Status.PROVED
    assert [x.status for x in answer.lemmas] == [Status.PROVED]
    # instructions of another K are chains of other steps
    other = compare(find_design(WRAPPING), find_design("turing/mma.m8n8k16.s32.s8.s8.s32"), limits=LIMITS)
    assert (other.status, other.question.k) == (Status.PROVED, 32)


def test_saturation_depends_on_the_grouping():
    first, second = find_design(SATURATING), find_design(f"{SATURATING}@L=16")
    assert not is_regrouping(first, second)
    assert compare(first, second, limits=LIMITS).status is Status.REFUTED
    assert not is_regrouping(find_design(WRAPPING), first)
