"""What every property must have: words, a design and a mutant on which it comes out the other way, replayable runs."""

import dataclasses
import re
from pathlib import Path

import pytest

from mmaproof.designs.catalogue import find_design
from mmaproof.designs.errors import InputError
from mmaproof.designs.formats import FORMATS
from mmaproof.designs.profiles import load_disputes
from mmaproof.properties.library import PROPERTIES, find_property
from mmaproof.properties.preconditions import Exponents, Normal, Positive, ZeroAccumulator
from mmaproof.smt.solving.verdict import Status
from mmaproof.smt.trace import evaluate
from mmaproof.verification.check import check

README = (Path(__file__).resolve().parents[3] / "README.md").read_text(encoding="utf-8")
SOURCES = README.partition("\n## Sources\n")[2].partition("\n## ")[0].split("\n* ")[1:]
POINTS = {x.number for x in load_disputes().points}
LONG = {
    *("accumulation-precision", "conversion-rounding", "guard-bit", "sticky-bit"),
    *("order-independent", "chain-order-independent", "monotone-in-a", "monotone-in-c", "negation-symmetric"),
    *("error-bound", "scaling", "low-bits-zero", "fraction-bits-sufficient"),
    *("normalised-in-addition", "normalised-in-subtraction", "carry-bits", "exactness-of-products"),
    *("correctly-rounded", "zero-sum-positive", "underflow-sign", "overflow-to-infinity"),
}
"""Properties whose mutant takes seconds; the test of each, or ``SHORT``, has shorter questions of both answers."""
ITS_OWN = {
    *("accumulation-precision", "guard-bit", "sticky-bit", "monotone-in-a", "monotone-in-c", "negation-symmetric"),
    *("normalised-in-addition", "normalised-in-subtraction"),
    *("zero-sum-positive", "underflow-sign", "overflow-to-infinity"),
}
"""Those of ``LONG`` that have ``test_mutants_come_out_the_other_way`` in a file of their own, which asks the same."""
SHORT = {
    "normalised-in-addition": "volta/mma.m8n8k4.f32.f16.f16.f32@L=2",
    "normalised-in-subtraction": "volta/mma.m8n8k4.f32.f16.f16.f32@L=2",
    "zero-sum-positive": "ampere/mma.m16n8k8.f32.bf16.bf16.f32@L=1",
    "underflow-sign": "ampere/mma.m16n8k8.f32.bf16.bf16.f32@L=1",
    "overflow-to-infinity": "ampere/mma.m16n8k8.f32.bf16.bf16.f32@L=1",
    "guard-bit": "turing/mma.m16n8k8.f32.f16.f16.f32@L=1",
    "carry-bits": "volta/mma.m8n8k4.f32.f16.f16.f32@L=1",
}
"""Designs of shorter steps than the specimen, whose mutants come out the other way too."""
KNOWN = {Status.PROVED, Status.REFUTED}


@pytest.mark.few(14)
@pytest.mark.parametrize("name", PROPERTIES)
def test_its_statement_ends_where_its_questions_do(name):
    """What follows by induction, no theorem says: of larger numbers, other powers of two, chains, all permutations."""
    said = find_property(name).statement
    assert not re.search("so for|larger|repeated|power of two|any chain|every permutation", said), said


@pytest.mark.parametrize("name", PROPERTIES)
def test_it_says_what_it_is(name):
    asked = find_property(name)
    assert asked.name == name
    for text in (asked.feature, asked.statement, asked.witness, asked.source):
        assert len(text) > 10
        assert not text.endswith(".")
    assert find_design(asked.specimen)


@pytest.mark.few(14)
@pytest.mark.parametrize("name", PROPERTIES)
def test_its_source_can_be_looked_up(name):
    """What is cited as "AUTHOR et al. YEAR" is in the README's list, and the numbers are those of open points."""
    source = find_property(name).source
    for author, year in re.findall(r"(\w+) et al\. (\d+)", source):
        assert any(author in entry and year in entry for entry in SOURCES), f"{author} {year} is not in the README"
    for numbers in re.findall(r"open points? (\d+(?:(?:, | and )\d+)*)", source):
        assert {int(n) for n in re.findall(r"\d+", numbers)} <= POINTS


def tier(name):
    return pytest.mark.slow if name in ITS_OWN else pytest.mark.middle if name in LONG else ()


@pytest.mark.few(1)
@pytest.mark.slow_values(
    "chain-order-independent",
    "conversion-rounding",
    "correctly-rounded",
    "error-bound",
    "low-bits-zero",
    "padded-k",
    "scaling",
)
@pytest.mark.parametrize("name", [pytest.param(x, marks=tier(x)) for x in PROPERTIES])
def test_its_mutant_comes_out_the_other_way(name):
    come_out_differently(name, find_design(find_property(name).specimen))


@pytest.mark.few(1)
@pytest.mark.parametrize("name", SHORT)
def test_the_mutant_of_a_shorter_step_comes_out_the_other_way(name):
    come_out_differently(name, find_design(SHORT[name]))


def come_out_differently(name, specimen):
    """Ask of a design and of its mutant, and run again what is shown."""
    asked = find_property(name)
    mutant = asked.mutant(specimen)
    assert mutant != specimen
    answers = [check(asked, design) for design in (specimen, mutant)]
    assert all(x.finding.status in KNOWN for x in answers), [x.finding.reason for x in answers]
    outcomes = {(x.verdict, x.finding.value if name == "conversion-rounding" else None) for x in answers}
    assert len(outcomes) == 2
    for answer in answers:
        # that a neighbour returns the same is a proof, with nothing to show
        if answer.finding.status is Status.REFUTED and name != "fraction-bits":
            assert answer.finding.runs
        for run in answer.finding.runs:
            design = run.design if run.whole else run.design.one_step()
            assert evaluate(design, run.operands) == run.d


@pytest.mark.slow_values("error-bound", "sticky-bit")
@pytest.mark.parametrize(
    "name",
    [
        "products-exact",
        pytest.param("sticky-bit", marks=pytest.mark.middle),
        pytest.param("order-independent", marks=pytest.mark.middle),
        pytest.param("carry-bits", marks=pytest.mark.middle),
        pytest.param("error-bound", marks=pytest.mark.middle),
    ],
)
def test_nothing_to_ask_about_is_vacuous(name):
    # no positive c is zero, and no normal operand lies at these exponents
    for where in ([Positive(), ZeroAccumulator()], [Normal(), Exponents(-149, -130)]):
        answer = check(name, find_design("volta/f32.f16.f16.f32"), where=where)
        assert answer.verdict == "vacuous"


@pytest.mark.few(3)
@pytest.mark.parametrize("name", PROPERTIES)
def test_integer_units_are_asked_what_makes_sense_for_them(name):
    asked, design = find_property(name), find_design("turing/mma.m8n8k16.s32.s8.s8.s32")
    reason = asked.why_not(design)
    if reason is None:
        assert check(asked, design).finding.status in KNOWN
    else:
        with pytest.raises(InputError, match="cannot be asked"):
            check(asked, design)


def test_unknown_names_are_refused_with_those_that_are_close():
    with pytest.raises(InputError, match="did you mean carry-bits"):
        find_property("carry-bit")


def test_a_unit_of_another_format_is_another_question():
    design = find_design("volta/f32.f16.f16.f32")
    other = dataclasses.replace(design, signature=dataclasses.replace(design.signature, a=FORMATS["bf16"]))
    assert find_property("exchange-symmetric").why_not(other) is not None
