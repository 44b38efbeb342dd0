"""What the verdicts on the questions of a property make of it, one script of verdicts after the other.

A script has a letter for each question in order: proved, refuted, unknown or vacuous. A property that asks more
questions than there are letters took an answer for another one.
"""

import pytest
from support.deciding import proof_if

from mmaproof.designs.catalogue import find_design
from mmaproof.properties.library import PROPERTIES
from mmaproof.properties.property import QuestionVerdict, SimpleProperty
from mmaproof.properties.question import Scope
from mmaproof.smt.semantics.datapath import sum_widths
from mmaproof.smt.solving.verdict import Status

REASON = "timeout: made up"
STATUSES = {"P": Status.PROVED, "R": Status.REFUTED, "U": Status.UNKNOWN, "V": Status.VACUOUS}


class LargestError(Exception):
    """Only of a bound that is proved the largest error is looked for."""


class Scripted:
    """Verdicts on questions, one after the other; +0 everywhere is the witness of those that are refuted."""

    def __init__(self, script):
        self.script = iter(script)

    def __call__(self, question, what):
        status = STATUSES[next(self.script, None) or pytest.fail(f"one question too many: {what}")]
        reason = REASON if status is Status.UNKNOWN else None
        witness = zeros(question) if status is Status.REFUTED else None
        return QuestionVerdict(status, 0.0, reason, witness, question=question, proof=proof_if(status))

    def largest(self, question, measure):
        raise LargestError


def zeros(question):
    return question.operands({s.symbol_name(): 0 for s in question.formula.symbols})


def settled(name, script, design=None):
    asked = PROPERTIES[name]
    ask = Scripted(script)
    found = asked.settle(find_design(design or asked.specimen), Scope(), ask)
    assert next(ask.script, None) is None, "a question was not asked"
    assert found.reason == REASON or found.status is not Status.UNKNOWN
    return found.status, found.value


@pytest.mark.few(13)
@pytest.mark.parametrize("asked", [x for x in PROPERTIES.values() if type(x).settle is SimpleProperty.settle])
@pytest.mark.parametrize("status", STATUSES)
def test_a_property_that_is_one_question_is_what_that_is(asked, status):
    assert settled(asked.name, status) == (STATUSES[status], None)


@pytest.mark.few(4)
@pytest.mark.parametrize(
    ("script", "status", "value"),
    [
        ("PRRRRR", "P", "RNE"),
        ("RRRRRP", "P", "truncation"),
        ("RPPRRR", "P", "RNA, RTZ"),
        ("RRRRRR", "R", "none"),
        ("PURRRR", "U", None),
        ("RRRRRU", "U", None),
        ("V", "V", None),
        ("RV", "V", None),
    ],
)
def test_the_mode_of_a_conversion_is_known_where_no_mode_is_open(script, status, value):
    assert settled("conversion-rounding", script) == (STATUSES[status], value)


@pytest.mark.parametrize(
    ("script", "status"),
    [("RR", "P"), ("P", "R"), ("RP", "R"), ("RU", "U"), ("UR", "U"), ("UU", "U"), ("V", "V"), ("RV", "V")],
)
def test_fraction_bits_are_observed_where_both_neighbours_differ(script, status):
    assert settled("fraction-bits", script)[0] is STATUSES[status]


@pytest.mark.parametrize(("script", "status"), [("U", "U"), ("V", "V"), ("PU", "U")])
def test_bits_are_enough_only_where_that_is_proved(script, status):
    assert settled("fraction-bits-sufficient", script) == (STATUSES[status], None)


@pytest.mark.parametrize(
    ("script", "status", "less"),
    [
        ("PRR", "P", 0),  # the sum of +0 wraps nowhere, so another witness is asked for
        ("PPRR", "P", 1),
        ("PRU", "U", 0),
        ("U", "U", None),
        ("PU", "U", None),
        ("PPU", "U", None),
        ("V", "V", None),
    ],
)
def test_carry_bits_suffice_where_that_is_proved(script, status, less):
    design = PROPERTIES["carry-bits"].specimen
    value = None if less is None else sum_widths(find_design(design)).sufficient_carry_bits - less
    assert settled("carry-bits", script) == (STATUSES[status], value)


ROOM = 3
"""The spread at which the lowest bit of a product is the last one that the specimen keeps."""


def exactness(script):
    """The status, and the value less the spread at which is asked first."""
    status, value = settled("exactness-of-products", script)
    return status, value - ROOM if isinstance(value, int) else value


@pytest.mark.parametrize(
    ("script", "status", "value"),
    [
        # at the first spread, no term is further away, one further, at any spread, two further
        ("PP", "P", "any"),
        ("PUR", "P", 0),
        ("PVR", "P", 0),
        ("PRR", "P", 0),
        ("PUPP", "P", "any"),
        ("PUPUR", "P", 1),
        ("PUPVR", "P", 1),
        ("PUPRPR", "P", 2),
        ("U", "U", None),
        ("PUU", "U", None),
        ("PRU", "U", None),
        ("PUPUU", "U", None),
        ("PUPRPU", "U", None),
        ("V", "V", None),
        ("PUV", "V", None),
        ("PUPUV", "V", None),
    ],
)
def test_terms_are_exact_up_to_a_spread_that_is_proved(script, status, value):
    assert exactness(script) == (STATUSES[status], value)


@pytest.mark.parametrize(
    ("script", "status", "value"),
    [("R", "R", "none"), ("RPUR", "P", -1), ("RU", "U", None), ("RV", "V", None)],
)
def test_terms_are_exact_nowhere_only_where_that_is_refuted(script, status, value):
    """Each spread below is asked where the one above is refuted, and only there."""
    assert exactness(script * (ROOM + 1) if script == "R" else script) == (STATUSES[status], value)


def test_a_bound_is_shown_by_the_largest_error_only_where_it_is_proved():
    with pytest.raises(LargestError):
        settled("error-bound", "P")
    for status in "RUV":
        assert settled("error-bound", status) == (STATUSES[status], None)


@pytest.mark.few(14)
@pytest.mark.parametrize("asked", PROPERTIES.values())
def test_what_operands_of_an_answer_show_is_a_limit_only_where_it_holds(asked):
    assert asked.shown_by(Status.PROVED) == (asked.limit or asked.witness)
    assert {asked.shown_by(x) for x in Status if x is not Status.PROVED} == {asked.witness}
