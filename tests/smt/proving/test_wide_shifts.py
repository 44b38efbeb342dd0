"""Shifts of words of hundreds of bits: the amount that counts, and the shift that normalises a magnitude."""

import pytest
from pysmt.environment import Environment
from support.in_this_process import InAnyEnvironment

from mmaproof.designs.formats import FORMATS
from mmaproof.smt.algebra.protocol import Word
from mmaproof.smt.algebra.terms import WIDE
from mmaproof.smt.proving.columns import Columns
from mmaproof.smt.proving.cut_variables import CutVariables
from mmaproof.smt.proving.lemma import Lemmas
from mmaproof.smt.proving.model_terms import ModelTerms
from mmaproof.smt.proving.net_sweep import NetSweep
from mmaproof.smt.solving.limits import Limits, worked

SEEN = Columns([{"x": x, "y": (5 * x) % 64} for x in range(0, 256, 2)])
"""Samples: x is even."""
WIDTH, LANE = WIDE + 3, 256
"""The bits of a magnitude, and of the words of a netlist that shifts it."""


@pytest.fixture
def model():
    environment = Environment()
    lemmas = Lemmas(InAnyEnvironment().ask, Limits(60, 4 << 30), worked(), environment)
    return ModelTerms(CutVariables(lemmas, SEEN, environment), environment, {}, FORMATS["fp32"])


def chosen(model, condition, yes, no):
    """A choice as a netlist has it."""
    return Word(model.environment.formula_manager.Ite(condition.data, yes.data, no.data), yes.width, False, model)


@pytest.mark.parametrize("shift", ["shift_left_within", "shift_right_within"])
@pytest.mark.parametrize("is_first", [True, False])
def test_a_word_that_is_zero_may_be_shifted_by_any_amount(model, shift, is_first):
    x, y, constant = model.symbol("x", 8), model.symbol("y", 6), model.unsigned(40, 6)
    wide, is_zero = x.extend(WIDTH), x < 1
    amount = chosen(model, is_zero, constant, y) if is_first else chosen(model, ~is_zero, y, constant)
    move = getattr(model, shift)
    assert move(wide, amount).data is move(wide, y).data


@pytest.mark.parametrize(
    "amounts",
    {
        "zero on all samples alone": lambda m, x, y: chosen(m, x.bit(0), m.unsigned(40, 6), y),
        "the other way round": lambda m, x, y: chosen(m, x < 1, y, m.unsigned(40, 6)),
        "constants": lambda m, x, y: chosen(m, x < 1, m.unsigned(40, 6), m.unsigned(3, 6)),
        "no constant": lambda m, x, y: chosen(m, x < 1, x.extract(5, 0), y),
    }.items(),
    ids=lambda item: item[0],
)
def test_a_word_that_may_be_another_one_is_shifted_by_the_amount_that_it_is(model, amounts):
    x, y = model.symbol("x", 8), model.symbol("y", 6)
    columns = Columns([{"x": i, "y": j} for i in (0, 1, 2, 76, 77, 255) for j in (0, 1, 17, 63)])
    amount = amounts[1](model, x, y)
    places = [int(a) for a in columns.values(amount.data)]
    found = columns.values(model.shift_left_within(x.extend(WIDTH), amount).data)
    assert found.tolist() == [row["x"] << a for row, a in zip(columns.rows, places, strict=True)]


class Normalising:
    """A magnitude of many bits that is normalised, and a netlist that shifts it by the places that it counted."""

    def __init__(self, model):
        self.model, self.m = model, model.environment.formula_manager
        x, y = model.symbol("x", 8), model.symbol("y", 6)
        spread = model.concatenate(model.concatenate(y, model.unsigned(0, WIDTH - 14)), x)
        self.magnitude = model.place("magnitude", spread)
        self.top, self.places = model.normalise(self.magnitude)
        model.nested += 1
        self.sweep = NetSweep(model, model.cuts, SEEN, model.environment)

    def shifted(self, places, word=None):
        """What replaces a net that is a word, or the magnitude, moved up in a lane."""
        wide = model_word(self.model, (self.magnitude if word is None else word).extend(LANE).data)
        moved = self.model.shift_left_within(wide, places)
        return self.sweep.on_net("net", moved).data, moved.data

    def counted(self, beyond):
        """The places, and a number of them for a magnitude of zero."""
        is_number = ~self.places.is_value((1 << self.places.width) - 1)
        return chosen(self.model, is_number, self.places.extend(32), self.model.unsigned(beyond, 32))


def model_word(model, term):
    return Word(term, term.bv_width(), False, model)


@pytest.mark.parametrize("beyond", [0, 131, 255])
def test_a_magnitude_moved_up_by_its_leading_zeros_is_normalised(model, beyond):
    unit = Normalising(model)
    found, _ = unit.shifted(unit.counted(beyond))
    assert found is unit.top.extend(LANE).data
    assert unit.sweep.matched[-1].signal == "normalised"


@pytest.mark.parametrize("width", [8, 32])
def test_the_count_of_the_zeros_of_zero_may_be_any_number(model, width):
    """With another number where x is 77, which no sample has, it is not that count."""
    unit = Normalising(model)
    nothing, count = unit.magnitude.is_value(0), unit.places.extend(width)
    net = chosen(model, nothing, model.unsigned(50, width), count)
    for condition in (model.symbol("x", 8).is_value(77), nothing):
        wrong = chosen(model, condition, model.unsigned(3, width), net)
        assert (unit.sweep.on_net("nearly", wrong).data is wrong.data) is (condition is not nothing)
    unit.sweep.on_net("net", net)
    assert unit.sweep.matched[-1].relation == "offset by 0 where it is a number, 50 elsewhere"


def test_what_is_nearly_that_is_not(model):
    """They differ where x is 77, and no sample has that."""
    unit = Normalising(model)
    x = model.symbol("x", 8)
    rare = x.is_value(77)
    places, other = unit.counted(0), model.bitwise_xor(unit.places.extend(32), model.unsigned(1, 32))
    lost = model.bitwise_and(unit.magnitude, model.complement(rare.as_bit().extend(WIDTH)))
    for found, net in (unit.shifted(chosen(model, rare, other, places)), unit.shifted(places, lost)):
        assert found is net
    assert not unit.sweep.matched
