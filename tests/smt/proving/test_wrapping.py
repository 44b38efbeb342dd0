"""Integer units that wrap return the same however products are grouped; saturating ones do not."""

import pytest
from support.deciding import decide

from mmaproof.designs.catalogue import find_design
from mmaproof.smt.proving.wrapping import RegroupedSum, is_regrouping
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
