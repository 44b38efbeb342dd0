"""A netlist has what its design has only if it is proved to be that design."""

from dataclasses import replace

import pytest
from support.small_units import COMBINATIONAL, DESIGN, WRONG, write_unit

from mmaproof.designs.catalogue import find_design
from mmaproof.properties.library import find_property
from mmaproof.rtl import read_unit
from mmaproof.rtl.meant import in_one_pass
from mmaproof.smt.solving.limits import Limits
from mmaproof.smt.solving.verdict import Status
from mmaproof.verification import check as module
from mmaproof.verification.check import check, check_netlist

pytest.importorskip("pyosys")

SYMMETRIC = find_property("exchange-symmetric")
LIMITS = Limits(30, 4 << 30)


@pytest.fixture
def nothing_is_known_of_netlists(monkeypatch):
    def asked(found, design, **given):
        done = check(found, design, **given)
        unknown = replace(done.finding, status=Status.UNKNOWN, reason="not asked", runs=())
        return done if design.step.is_parametric else replace(done, finding=unknown)

    monkeypatch.setattr(module, "check", asked)


def answer(folder, source, design):
    unit = read_unit(write_unit(folder, source)).design
    return unit, check_netlist(SYMMETRIC, unit, in_one_pass(unit, find_design(design)), limits=LIMITS)


@pytest.mark.usefixtures("nothing_is_known_of_netlists")
def test_a_proof_of_the_design_is_one_of_its_netlist(tmp_path):
    unit, done = answer(tmp_path, COMBINATIONAL, f"{DESIGN}@L=2")
    assert (done.verdict, done.design) == ("holds", unit)
    assert len(done.answers) == 2
    assert next(iter(done.finding.answers)).startswith(f"{unit.name} returns the bits that ")


@pytest.mark.few(1)
@pytest.mark.usefixtures("nothing_is_known_of_netlists")
@pytest.mark.parametrize(
    ("source", "design"),
    [(WRONG, f"{DESIGN}@L=2"), (COMBINATIONAL, DESIGN), (COMBINATIONAL, "turing/mma.m8n8k16.s32.s8.s8.s32@L=2")],
    ids=["another function", "another length", "other formats"],
)
def test_a_proof_of_another_design_is_none(tmp_path, source, design):
    assert answer(tmp_path, source, design)[1].verdict == "unknown"


def test_what_the_netlist_says_itself_counts(tmp_path):
    unit, done = answer(tmp_path, WRONG, f"{DESIGN}@L=2")
    assert done.verdict == "violated"
    assert {run.design for run in done.finding.runs} == {unit}
