"""Integer units that wrap return the same however products are grouped; saturating ones do not."""

import pickle

import pytest
from support.bundles import checked, theorem_of, written

from mmaproof.designs.catalogue import find_design
from mmaproof.properties.equivalence import Equivalence
from mmaproof.smt.algebra.terms import TermAlgebra
from mmaproof.smt.bundles.regrouped_steps import RegroupedSteps, is_regrouping
from mmaproof.smt.proving.kernel import Kernel, NotComposedError, is_theorem
from mmaproof.smt.solving.limits import Limits
from mmaproof.smt.solving.refuting import NotRefutedError
from mmaproof.smt.solving.verdict import Status
from mmaproof.verification.compare import compare

WRAPPING = "turing/mma.m8n8k32.s32.s4.s4.s32"
SATURATING = "ampere/mma.m16n8k32.satfinite.s32.s8.s8.s32"
LIMITS = Limits(60, 4 << 30)


@pytest.mark.middle
@pytest.mark.parametrize(
    ("changed", "k"),
    [("L=1", 8), ("L=4,k_order=mod2:1/0", 32), ("L=16", 64), ("L=8", 30)],
    ids=["one by one", "another order", "chains", "padding"],
)
def test_grouping_and_order_change_nothing_where_the_register_wraps(changed, k):
    question = Equivalence(find_design(WRAPPING), find_design(f"{WRAPPING}@{changed}"), k=k)
    assert question.decides_by_argument
    theorem = theorem_of(question)
    assert theorem.root is question.formula.violation
    assert len(theorem.steps) > 4 * k


@pytest.mark.middle
def test_an_answer_carries_its_theorem():
    answer = compare(find_design(WRAPPING), find_design(f"{WRAPPING}@L=16"), limits=LIMITS, budget=None)
    assert answer.status is Status.PROVED
    assert is_theorem(answer.theorem)
    assert {x.status for x in answer.lemmas} == {Status.PROVED}
    assert pickle.loads(pickle.dumps(answer)).theorem is None


@pytest.mark.middle
def test_instructions_of_another_length_are_chains_of_other_steps(tmp_path):
    units = find_design("turing/mma.m8n8k16.s32.s8.s8.s32"), find_design("ampere/mma.m16n8k32.s32.s8.s8.s32")
    report = written(Equivalence(*units), units[0], tmp_path / "bundle")
    assert report.steps > report.lemmas > 1
    status, text = checked(tmp_path / "bundle")
    assert status == 0, text


def _believing(_stated, _seconds):
    return "nobody"


def test_nothing_is_said_of_registers_that_saturate():
    designs = find_design(SATURATING), find_design(f"{SATURATING}@L=16")
    question = Equivalence(*designs)
    assert not is_regrouping(*designs)
    assert question.argument() is None
    assert compare(*designs, limits=LIMITS).status is Status.REFUTED
    # even if every leaf were believed
    kernel = Kernel(question.formula.environment, question.formula.violation, _believing)
    with pytest.raises(NotComposedError):
        RegroupedSteps(kernel, designs[0]).of_design(designs[0], question.symbols(TermAlgebra(kernel.environment)))


def test_a_leaf_that_nobody_refutes_gives_no_theorem():
    question = Equivalence(find_design(WRAPPING), find_design(f"{WRAPPING}@L=16"))

    def refuse(_stated, _seconds):
        raise NotRefutedError("not today")

    kernel = Kernel(question.formula.environment, question.formula.violation, refuse)
    with pytest.raises(NotComposedError, match="not today"):
        question.argument()(kernel)
    with pytest.raises(NotComposedError):
        kernel.theorem()
