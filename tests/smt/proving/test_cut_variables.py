"""Cut points: the queries about them, the facts known of them, and when a cut is moved back."""

import pytest
from pysmt.environment import Environment
from support.in_this_process import InAnyEnvironment, unanswered

from mmaproof.smt.proving import cut_variables
from mmaproof.smt.proving.cut_variables import CutVariables, FalseFactError
from mmaproof.smt.proving.laws import Law, Operation
from mmaproof.smt.proving.lemma import Input, Lemma, Lemmas
from mmaproof.smt.proving.staged_lemmas import Samples
from mmaproof.smt.solving.limits import Limits, worked
from mmaproof.smt.solving.verdict import Status

LIMITS = Limits(20, 4 << 30)


class Setting:
    """Variables over two words of 8 bits, with a few samples."""

    def __init__(self, rows=({"x": 0, "y": 0}, {"x": 3, "y": 200}, {"x": 255, "y": 255})):
        self.environment = Environment()
        self.terms = self.environment.formula_manager
        self.asked = []
        self.lemmas = Lemmas(self.ask, LIMITS, worked(), self.environment)
        self.cuts = CutVariables(self.lemmas, Samples(rows), self.environment)
        self.x, self.y = (self.terms.Symbol(n, self.environment.type_manager.BVType(8)) for n in "xy")

    def ask(self, formula, symbols, /, *, limits):
        self.asked.append(formula)
        return InAnyEnvironment().ask(formula, symbols, limits=limits)


def test_a_claim_that_a_sample_violates_is_not_asked_about():
    s = Setting()
    assert not s.cuts.holds("stage", "false", s.terms.BVULT(s.x, s.terms.BV(255, 8)))
    assert not s.asked


def test_a_variable_is_any_value_until_its_cut_is_moved_back():
    s = Setting()
    even = s.cuts.new(s.terms.BVAdd(s.x, s.x), 8)
    lowest = s.terms.Equals(s.terms.BVExtract(even, 0, 0), s.terms.BV(0, 1))
    assert s.cuts.holds("stage", "even", lowest)
    assert len(s.asked) == 2  # about any value, and about 2x


def test_a_noted_fact_saves_that_and_only_facts_about_the_same_symbols_are_used():
    s = Setting()
    even = s.cuts.new(s.terms.BVAdd(s.x, s.x), 8)
    lowest = s.terms.Equals(s.terms.BVExtract(even, 0, 0), s.terms.BV(0, 1))
    assert s.cuts.is_news(lowest)
    s.cuts.note(lowest)
    assert not s.cuts.is_news(lowest)
    assert s.cuts.holds("stage", "not one", s.terms.Not(s.terms.Equals(even, s.terms.BV(1, 8))))
    assert len(s.asked) == 1


def test_what_is_false_beyond_the_samples_is_not_proved():
    s = Setting()
    seen = {0, 203, 254}
    total = s.cuts.new(s.terms.BVAdd(s.x, s.y), 8)
    claim = s.terms.Or(*(s.terms.Equals(total, s.terms.BV(value, 8)) for value in seen))
    assert not s.cuts.holds("stage", "one of those seen", claim)
    assert s.asked


def test_definitions_are_used_where_both_sides_are_in_the_claim():
    s = Setting()
    total = s.cuts.new(s.terms.BVAdd(s.x, s.y), 8)
    assert s.cuts.holds("stage", "equal", s.terms.Equals(total, s.terms.BVAdd(s.y, s.x)))


def test_a_false_fact_is_an_internal_error():
    s = Setting()
    total = s.cuts.new(s.terms.BVAdd(s.x, s.y), 8)
    s.cuts.note(s.terms.BVULT(total, s.terms.BV(10, 8)))
    with pytest.raises(FalseFactError, match="operands violate what was proved"):
        s.cuts.holds("stage", "anything", s.terms.BVULE(total, s.terms.BV(255, 8)))


def test_what_nobody_answers_does_not_hold():
    s = Setting()
    s.lemmas._ask = lambda formula, symbols, /, *, limits: unanswered()
    total = s.cuts.new(s.terms.BVAdd(s.x, s.y), 8)
    same = s.terms.Equals(total, s.terms.BVAdd(s.y, s.x))
    assert not s.cuts.holds("stage", "equal", same)
    assert not s.cuts.proved("stage", "equal", s.terms.Equals(s.x, s.x))


def test_lemmas_that_differ_in_more_than_names_are_asked_apart():
    s = Setting()
    m, x, y = s.terms, s.x, s.y
    wide, zero = m.BVZExt(x, 8), m.BV(0, 8)
    pairs = [
        (m.BVULE(x, m.BV(255, 8)), m.BVULE(x, m.BV(254, 8))),
        (m.Equals(m.BVSub(x, x), zero), m.Equals(m.BVSub(x, y), zero)),
        (m.Equals(m.BVExtract(wide, 8, 15), zero), m.Equals(m.BVExtract(wide, 7, 14), zero)),
        (m.BVULE(m.BVAnd(x, y), x), m.BVULE(m.BVAnd(x, y), m.BVXor(x, y))),
    ]
    for proved, refuted in pairs:
        asked = [s.lemmas.ask("stage", "relation", claim, None, seconds=20) for claim in (proved, refuted, proved)]
        assert asked == [Status.PROVED, Status.REFUTED, Status.PROVED]
    count = len(s.asked)
    swapped = m.Equals(m.BVSub(y, y), zero)
    assert s.lemmas.ask("stage", "relation", swapped, None, seconds=20) is Status.PROVED
    assert len(s.asked) == count == 2 * len(pairs)  # names alone make no other lemma


def test_a_claim_about_operands_alone():
    s = Setting()
    one = s.cuts.new(s.terms.BVAdd(s.x, s.y), 8)
    two = s.cuts.new(s.terms.BVAdd(one, one), 8)
    claim = s.cuts.without_cuts(s.terms.BVULT(two, s.terms.BV(7, 8)))
    assert s.cuts.symbols(claim) == {s.x, s.y}


@pytest.mark.parametrize("count", [2, 12], ids=["few, written out", "many, assumed"])
def test_variables_over_others_of_a_claim_are_what_they_stand_for(count):
    s = Setting()
    m = s.terms
    ladder = [s.cuts.new(m.BVAdd(s.x, s.y), 8)]
    for i in range(1, count):
        ladder.append(s.cuts.new(m.BVAdd(ladder[-1], m.BV(i, 8)), 8))
    total = ladder[-1]
    steps = m.BV(sum(range(count)) % 256, 8)
    inner = m.BVXor(total, total)
    for x in ladder:  # each of them is in the claim
        inner = m.BVOr(inner, m.BVXor(x, x))
    claim = m.Equals(m.BVAdd(m.BVAdd(s.y, s.x), steps), m.BVOr(total, inner))
    assert s.cuts.holds("stage", "sum", claim, widenings=0)
    # the samples agree with it: it has to be asked about
    one_more = m.Ite(m.Equals(s.x, m.BV(7, 8)), m.BV(1, 8), m.BV(0, 8))
    wrong = m.Equals(m.BVAdd(m.BVAdd(s.y, s.x), m.BVAdd(steps, one_more)), m.BVOr(total, inner))
    assert all(s.cuts.column(wrong))
    assert not s.cuts.holds("stage", "no sum", wrong, widenings=0)


@pytest.mark.parametrize("number", range(3))
def test_a_law_is_proved_only_if_each_of_its_lemmas_is(number, monkeypatch):
    class Commutes(Lemma):
        def __init__(self, operator):
            self.name, self.operator = operator, operator
            self.inputs = Input("x", 5), Input("y", 5)

        def claim(self, algebra, words):
            operation = getattr(algebra, self.operator)
            return operation(words["x"], words["y"]) == operation(words["y"], words["x"])

    lemmas = [Commutes(x) for x in ("wrapped_sum", "wrapped_product", "bitwise_and")]
    law = Law(Operation.BOUNDED_SUM, 5)
    monkeypatch.setattr(cut_variables, "lemmas_of_law", lambda law: lemmas)
    assert Setting().cuts.law(law) is Status.PROVED
    lemmas[number] = Commutes("wrapped_difference")
    assert Setting().cuts.law(law) is Status.REFUTED
