"""Netlists whose result depends on bits that may have any value: a witness has values of these bits."""

from dataclasses import replace
from pathlib import Path

import pytest
from support.rtl_units import HEAD, write_unit

from mmaproof.designs.catalogue import find_design
from mmaproof.designs.design import Design
from mmaproof.properties.equivalence import Equivalence
from mmaproof.rtl import read_unit
from mmaproof.rtl.meant import in_one_pass
from mmaproof.smt.proving.lemma import decide
from mmaproof.smt.proving.netlists import NetlistProof
from mmaproof.smt.solving.limits import Limits
from mmaproof.smt.solving.solving import Solving
from mmaproof.smt.solving.verdict import Status
from mmaproof.verification.compare import Comparison, compare
from mmaproof.verification.netlists import by_nets
from mmaproof.verification.stages import by_stages

pytest.importorskip("pyosys")

INT8 = "ampere/mma.m16n8k16.s32.s8.s8.s32"
UNKNOWN = f"""
module unit({HEAD}, output signed [31:0] d);
  wire [31:0] nothing;
  wire signed [31:0] sum = a0 * b0 + a1 * b1 + c;
  assign d = CHOICE;
endmodule
"""
MATTERS = "c == 32'd77 ? sum | nothing : sum"
"""On the zeros that integers take, all is well."""
DOES_NOT_MATTER = "(sum ^ nothing) ^ nothing"


def _pair(folder: Path, choice: str) -> tuple[Design, Design]:
    unit = read_unit(write_unit(folder, UNKNOWN.replace("CHOICE", choice))).design
    return unit, in_one_pass(unit, find_design(INT8))


def _compared(folder: Path, choice: str) -> Comparison:
    return compare(*_pair(folder, choice), k=2, limits=Limits(60, 4 << 30), budget=None)


@pytest.mark.middle
def test_the_witness_has_values_of_unknown_bits(tmp_path: Path) -> None:
    found = _compared(tmp_path, MATTERS)
    assert found.status is Status.REFUTED and found.witness is not None and found.witness.c == 77
    assert found.unknown and all(found.unknown.values())
    first, second = found.outputs.values()
    assert first != second
    assert not found.question.is_refuted_by(found.witness)
    assert found.question.is_refuted_with(found.witness, found.unknown)


@pytest.mark.middle
def test_unknown_bits_that_do_not_matter_are_proved_not_to(tmp_path: Path) -> None:
    assert _compared(tmp_path, DOES_NOT_MATTER).status is Status.PROVED


def test_no_proof_net_by_net_takes_unknown_bits_for_zeros(tmp_path: Path) -> None:
    unit, model = _pair(tmp_path, MATTERS)
    question = _compared(tmp_path / "same", MATTERS).question
    proof: NetlistProof = by_nets(question, unit, model, Solving().ask, Limits(30, 4 << 30), 0)
    assert not proof.proved


def test_a_store_does_not_say_more(tmp_path: Path) -> None:
    pair = _pair(tmp_path, MATTERS)
    for _ in range(2):
        found = compare(*pair, solver=Solving(store=tmp_path / "store"), k=2, limits=Limits(60, 4 << 30), budget=None)
        assert found.status is Status.REFUTED and found.unknown


def test_unknown_bits_of_two_netlists_are_not_the_same_bits(tmp_path: Path) -> None:
    """They have one name in both, and are others nevertheless: of each run, in every kind of proof."""
    first, _ = _pair(tmp_path, MATTERS)
    second = replace(first, instruction="the same again")
    question = Equivalence(first, second, k=2)
    ask, limits = Solving().ask, Limits(30, 4 << 30)
    assert decide(question, ask, limits).status is Status.REFUTED
    assert not by_stages(question, in_one_pass(first, find_design(INT8)), ask, limits, 0).proved
