"""Results in a notebook: each shows itself as HTML that stands alone, says its verdict, and draws its witness."""

import re

import pytest
from support.pictures import EQUATION_10, TURING, VOLTA

from mmaproof import check, compare
from mmaproof.designs.catalogue import find_design
from mmaproof.explain import explain
from mmaproof.generators.vectors import Vector
from mmaproof.smt.trace import evaluate


def test_a_comparison_shows_its_witness() -> None:
    answer = compare(VOLTA, TURING)
    shown = answer._repr_html_()
    assert f"different: {VOLTA.name} and {TURING.name}" in shown
    assert all(VOLTA.d_format.hex(d) in shown for d in answer.outputs.values())
    assert answer.picture() == explain([VOLTA, TURING], answer.witness)
    assert shown.count("<figure") == 1


def test_an_equivalence_has_no_picture() -> None:
    answer = compare(VOLTA, VOLTA)
    assert answer.picture() is None
    assert "equivalent: " in answer._repr_html_() and "<figure" not in answer._repr_html_()


def test_a_check_shows_its_runs() -> None:
    done = check("monotone-in-c", VOLTA)
    assert [name for name, _ in done.pictures()] == ["run 1", "run 2"]
    assert done._repr_html_().count("<figure") == 2


def test_a_vector_and_a_picture_show_themselves() -> None:
    outputs = {d.name: evaluate(d, EQUATION_10) for d in (VOLTA, TURING)}
    shown = Vector(EQUATION_10, VOLTA.formats, outputs, why="a < b")._repr_html_()
    assert "a &lt; b" in shown and "0xbf000000" in shown and shown.count("<figure") == 1
    unknown = Vector(EQUATION_10, VOLTA.formats, {"my unit": 0})._repr_html_()
    assert "no picture: my unit" in unknown
    assert "<style>" in explain([VOLTA], EQUATION_10)._repr_html_()


@pytest.mark.parametrize("name", [VOLTA.name, "volta/f32.f16.f16.f32@fraction_bits=20"])
def test_a_design_shows_its_parameters(name: str) -> None:
    shown = find_design(name)._repr_html_()
    assert f"<b>{find_design(name).name}</b>" in shown
    cells = re.findall(r">(fraction_bits\*?)</th><td[^>]*>(\d+)<", shown)
    assert cells == [("fraction_bits*", "20") if "@" in name else ("fraction_bits", "23")]
