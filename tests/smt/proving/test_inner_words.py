"""Words inside what variables stand for: which ones a net is compared with, and that only a proof makes it one."""

import pytest
from pysmt.environment import Environment
from support.in_this_process import InAnyEnvironment

from mmaproof.designs.formats import find_format
from mmaproof.smt.proving.columns import Columns
from mmaproof.smt.proving.cut_variables import CutVariables, InnerWord, InnerWords
from mmaproof.smt.proving.lemma import Lemmas
from mmaproof.smt.proving.model_terms import ModelTerms
from mmaproof.smt.proving.net_sweep import NetSweep
from mmaproof.smt.solving.limits import Limits, worked

LIMITS = Limits(20, 4 << 30)
ROWS = [{"x": 5 * i % 256, "y": (77 * i + 3) % 256, "z": 255 - i} for i in range(200)]


class Setting:
    """A variable that stands for 2x + (-y), over words of 8 bits."""

    def __init__(self, rows=ROWS):
        self.environment = Environment()
        self.terms = self.environment.formula_manager
        self.columns = Columns(rows)
        lemmas = Lemmas(InAnyEnvironment().ask, LIMITS, worked(), self.environment)
        self.cuts = CutVariables(lemmas, self.columns, self.environment)
        self.x, self.y, self.z = (self.terms.Symbol(n, self.environment.type_manager.BVType(8)) for n in "xyz")
        m = self.terms
        self.twice, self.opposite = m.BVLShl(self.x, m.BV(1, 8)), m.BVSExt(m.BVNeg(self.y), 3)
        self.definition = m.BVAdd(m.BVZExt(self.twice, 3), self.opposite)
        self.variable = self.cuts.new(self.definition, 11)

    def words(self, apart=()):
        return InnerWords([("total", self.variable)], apart, self.cuts, self.columns)

    def sweep(self):
        model = ModelTerms(self.cuts, self.environment, {}, find_format("fp16"))
        sweep = NetSweep(model, self.cuts, self.columns, self.environment)
        sweep._inner = self.words()
        return sweep


def replaced(found):
    return [(x.term, x.replacement, x.signed) for x in found]


def test_a_net_is_compared_with_words_of_its_values_in_any_width():
    s = Setting()
    m = s.terms
    words = s.words()
    added = m.BVZExt(m.BVAdd(s.x, s.x), 24)
    assert (s.twice, s.twice, False) in replaced(words.like(added))
    negated = m.BVSExt(m.BVSub(m.BV(0, 8), s.y), 24)
    assert (s.opposite, s.opposite, True) in replaced(words.like(negated))
    assert not words.like(m.BVNot(s.y))


def test_a_definition_has_its_variable_in_its_place():
    s = Setting()
    m = s.terms
    same = m.BVAdd(s.opposite, m.BVZExt(m.BVAdd(s.x, s.x), 3))
    assert replaced(s.words().like(same))[0] == (s.definition, s.variable, False)


def test_words_over_other_variables_and_over_operands_that_are_apart_are_left_out():
    s = Setting([{"x": i, "y": 7 * i % 256, "z": i} for i in range(200)])
    m = s.terms
    of_z = m.BVAdd(s.z, s.z)
    assert not s.words().like(of_z)
    assert s.words().like(m.BVAdd(s.x, s.x))
    assert not s.words([s.x]).like(m.BVAdd(s.x, s.x))


def test_constant_nets_are_compared_with_nothing():
    s = Setting()
    assert not s.words().like(s.terms.BVXor(s.x, s.x))


def test_words_beyond_64_bits_have_the_values_of_narrow_ones():
    s = Setting()
    m = s.terms
    wide = m.BVZExt(m.BVAdd(s.x, s.x), 92)
    assert (s.twice, s.twice, False) in replaced(s.words().like(wide))
    negated = m.BVSExt(m.BVSub(m.BV(0, 8), s.y), 92)
    assert (s.opposite, s.opposite, True) in replaced(s.words().like(negated))


def test_a_net_that_is_such_a_word_is_replaced():
    s = Setting()
    m = s.terms
    sweep = s.sweep()
    assert sweep._of_model("net", m.BVZExt(m.BVAdd(s.x, s.x), 24)) is m.BVZExt(s.twice, 24)
    same = m.BVAdd(s.opposite, m.BVZExt(m.BVAdd(s.x, s.x), 3))
    assert sweep._of_model("net", same) is s.variable
    assert [x.signal for x in sweep.matched] == ["a word of total", "total"]


# What is suggested wrongly must not be believed. Each of these agrees with the word on all samples but few values.
WRONG = {
    "one value": lambda s, m: m.Ite(m.Equals(s.x, m.BV(1, 8)), m.BV(9, 8), m.BVAdd(s.x, s.x)),
    "highest bit": lambda s, m: m.BVAnd(m.BVAdd(s.x, s.x), m.BV(0x7F, 8)),
    "lowest bit": lambda s, m: m.BVOr(m.BVAdd(s.x, s.x), m.BVZExt(m.BVComp(s.x, m.BV(77, 8)), 7)),
    "no shift": lambda s, m: m.BVAdd(s.x, m.BVLShr(s.x, m.BV(1, 8))),
    "other word": lambda s, m: m.BVAdd(s.x, s.z),
    "sign": lambda s, m: m.BVNeg(m.BVAdd(s.x, s.x)),
}


@pytest.mark.parametrize("name", WRONG)
@pytest.mark.parametrize("rows", [ROWS, [{"x": v, "y": v, "z": v} for v in (0, 2, 4, 6, 8)]], ids=["many", "few"])
def test_a_wrong_suggestion_is_not_believed(name, rows):
    s = Setting(rows)
    m = s.terms
    sweep = s.sweep()
    wrong = WRONG[name](s, m)
    assert sweep._inside("net", wrong, [InnerWord("total", s.twice, s.twice, False)]) is None
    assert not sweep.matched


@pytest.mark.parametrize("signed", [False, True])
def test_a_word_that_is_extended_wrongly_is_not_believed(signed):
    s = Setting([{"x": v, "y": v, "z": v} for v in (0, 2, 4, 6, 8)])
    m = s.terms
    sweep = s.sweep()
    added = m.BVAdd(s.x, s.x)
    net = m.BVZExt(added, 8) if signed else m.BVSExt(added, 8)
    assert sweep._inside("net", net, [InnerWord("total", s.twice, s.twice, signed)]) is None
