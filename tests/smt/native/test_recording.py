"""What is recorded is the lowering that is compiled, node by node."""

import pytest
from support.sampling import distinct_designs, first_of_each_family

from mmaproof.designs.catalogue import find_design
from mmaproof.smt.algebra.code import CodeAlgebra, TooWideError
from mmaproof.smt.native.lowering import lower
from mmaproof.smt.native.terms import DifferentGraphError, RecordingCode, record, structure


@pytest.mark.few(3)
@pytest.mark.parametrize("design", first_of_each_family(distinct_designs()), ids=lambda d: d.family)
def test_a_record_changes_no_operation(design):
    try:
        plain = lower(design)
    except TooWideError:
        pytest.skip("runs on arrays")
    recorded = record(design)
    assert structure(recorded.lowered) == structure(plain)
    assert recorded.places


def test_another_graph_than_the_compiled_one_is_refused(monkeypatch):
    class Another(RecordingCode):
        def _add(self, x, y):
            return super()._add(y, x) if x.node.is_constant else CodeAlgebra._subtract(self, x, y, 0)

    monkeypatch.setattr("mmaproof.smt.native.terms.RecordingCode", Another)
    with pytest.raises(DifferentGraphError, match="other nodes than the one that is compiled"):
        record(find_design("volta/f32.f16.f16.f32"), 1)
