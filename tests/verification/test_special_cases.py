"""Special cases of questions: their witnesses refute the question, and a proof of them says nothing of it."""

import pytest
from support.bundles import LIMITS

from mmaproof.designs.catalogue import find_design
from mmaproof.properties.library.carry import SumFits
from mmaproof.properties.library.special_case import NothingBesideC
from mmaproof.properties.question import Scope
from mmaproof.smt.semantics.datapath import sum_widths
from mmaproof.smt.solving.limits import worked
from mmaproof.smt.solving.solving import Solving
from mmaproof.smt.solving.verdict import Status
from mmaproof.verification import strategies
from mmaproof.verification.search import Budget, Means

VOLTA = "volta/mma.m8n8k4.f32.f16.f16.f32"


def case_of(question, design):
    return strategies.Case(question, design, Means(Solving(), LIMITS, Budget()), worked(), LIMITS)


@pytest.mark.parametrize("strategy", [strategies.special_search, strategies.special_case], ids=lambda x: x.__name__)
def test_a_witness_of_a_special_case_refutes_the_question(strategy):
    """The largest sums are of products that are all the same. A witness of that case may have any others."""
    design = find_design(VOLTA)
    question = SumFits(design, Scope(), sum_widths(design).sufficient_carry_bits - 1)
    found = strategy(case_of(question, design))
    assert found.status is Status.REFUTED
    assert question.is_refuted_by(found.witness)


class FitsAlone(SumFits):
    """Its special case has no products, so that every sum fits."""

    def special_case(self):
        return NothingBesideC(self, 0).as_case()


def test_a_proof_of_a_special_case_says_nothing():
    design = find_design(VOLTA)
    question = FitsAlone(design, Scope(), sum_widths(design).sufficient_carry_bits - 1)
    special = case_of(question.special_case().question, design)
    assert strategies.first_verdict(special).status is Status.PROVED
    assert strategies.special_case(case_of(question, design)) is None
