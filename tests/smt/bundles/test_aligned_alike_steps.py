"""Readings that change no alignment that matters: decided in steps, also along a chain, and refused elsewhere."""

import pytest
from support.bundles import checked, small_design, theorem_of, written
from support.small_designs import use_small_formats

from mmaproof.properties.equivalence import Equivalence
from mmaproof.smt.proving.kernel import NotComposedError
from mmaproof.smt.solving.limits import Limits
from mmaproof.smt.solving.verdict import Status
from mmaproof.verification.compare import compare

LIMITS = Limits(100, 2 << 30)
ALIKE = {"zero_product": "operand-minus-126"}, {"zero_product": "absent"}
DIFFERENT = {"zero_product": "operand-minus-126"}, {"zero_product": "natural"}


def question_of(settings, k):
    designs = [small_design(2, zero_c="minus-126", **x) for x in settings]
    return Equivalence(*designs, k=k)


@pytest.mark.middle
@pytest.mark.parametrize("k", [2, 4])
def test_they_prove_that_the_results_are_the_same(monkeypatch, tmp_path, k):
    use_small_formats(monkeypatch)
    question = question_of(ALIKE, k)
    assert question.decides_by_argument
    assert len(theorem_of(question).steps) >= k
    assert written(question, question.designs[0], tmp_path / "bundle").lemmas >= 1
    status, text = checked(tmp_path / "bundle")
    assert status == 0, text


@pytest.mark.middle
def test_they_are_refused_where_a_result_differs(monkeypatch):
    use_small_formats(monkeypatch)
    question = question_of(DIFFERENT, 2)
    assert compare(*question.designs, k=2, limits=LIMITS).status is Status.REFUTED
    with pytest.raises(NotComposedError, match="satisfiable"):
        theorem_of(question)
