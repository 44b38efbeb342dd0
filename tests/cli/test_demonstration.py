"""The demonstration: it ends with status 0 only if everything came out as it must."""

import pytest
from support.deciding import proof_if

from mmaproof.cli import demo
from mmaproof.designs.catalogue import find_design
from mmaproof.designs.element import Operands
from mmaproof.properties.equivalence import Equivalence
from mmaproof.smt.solving.verdict import Status
from mmaproof.verification.compare import Comparison

WITNESS = Operands((0x3C00,) * 4, (0x3C00,) * 4, 0)


def says(status):
    """How two designs come out, whatever they are."""

    def ask(first, second):
        reason = "timeout: made up" if status is Status.UNKNOWN else None
        witness = WITNESS if status is Status.REFUTED else None
        question = Equivalence(find_design(first), find_design(second))
        return Comparison(status, 0.0, reason, witness, question=question, proof=proof_if(status))

    return ask


@pytest.mark.parametrize("status", Status)
def test_a_difference_is_one_that_is_shown_and_a_proof_is_one(monkeypatch, capsys, status):
    monkeypatch.setattr(demo, "_ask", says(status))
    assert demo.show_difference() is (status is Status.REFUTED)
    assert demo.show_proof() is (status is Status.PROVED)
