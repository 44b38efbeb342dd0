"""Words of a model and bits of a netlist that are constant, and results that are not NaN: samples alone say nothing."""

import pytest
from pysmt.environment import Environment
from support.in_this_process import InAnyEnvironment

from mmaproof.designs.formats import FORMATS
from mmaproof.smt.algebra.protocol import Truth, Word, ite
from mmaproof.smt.algebra.words import Signal, SignalKind
from mmaproof.smt.proving.columns import Columns
from mmaproof.smt.proving.cut_variables import CutVariables
from mmaproof.smt.proving.lemma import Lemmas
from mmaproof.smt.proving.model_terms import ModelTerms
from mmaproof.smt.proving.net_sweep import NetSweep
from mmaproof.smt.solving.limits import Limits, worked

SEEN = [{"x": x} for x in range(0, 256, 2)]


@pytest.fixture
def model():
    environment = Environment()
    lemmas = Lemmas(InAnyEnvironment().ask, Limits(60, 4 << 30), worked(), environment)
    return ModelTerms(CutVariables(lemmas, Columns(SEEN), environment), environment, {}, FORMATS["fp32"])


@pytest.fixture
def x(model):
    return model.symbol("x", 8)


def rarely(x):
    """Whether x is 77, which no sample is."""
    return x.is_value(77)


def never(x):
    """Whether x is two numbers at once, which is not seen without proof."""
    return (x < 7) & (x > 200)


def chosen(model, truth):
    return Word(model.environment.formula_manager.Ite(truth.data, *numbers(model)), 4, False, model)


def numbers(model):
    return (model.unsigned(9, 4).data, model.unsigned(4, 4).data)


def test_a_word_of_the_model_that_is_always_one_number_is_that_number(model, x):
    word = model.place("word", chosen(model, never(x)))
    assert word.data is numbers(model)[1]
    assert not model.signals


def test_a_word_that_is_another_number_on_operands_not_sampled_is_none(model, x):
    word = model.place("word", chosen(model, rarely(x)))
    assert word.data.is_symbol()
    assert [s.variable for s in model.signals] == [word.data]


def bit_of(model, x, truth):
    """What replaces a bit, where the model has a truth value that no sample meets."""
    model.place_of_truth("rare", rarely(x))
    model.nested += 1
    sweep = NetSweep(model, model.cuts, Columns(SEEN), model.environment)
    return sweep.on_net("net", Truth(truth.data, model).as_bit()).data


def test_a_bit_that_never_holds_is_zero_and_not_some_truth_that_no_sample_meets(model, x):
    assert bit_of(model, x, never(x)) is model.unsigned(0, 1).data


def test_a_bit_that_holds_on_operands_not_sampled_is_not_constant(model, x):
    found = bit_of(model, x, rarely(x) | x.is_value(79))
    assert found.is_ite() and found.arg(0) is not model.signals[0].variable
    assert bit_of(model, x, rarely(x)).arg(0) is model.signals[0].variable


NAN, INFINITY = 0x7FC00000, 0x7F800000


def result(model, x, kind, nan, infinite):
    """Return a result whose exponent field is 1, but a NaN or an infinity where these hold."""
    number = model.unsigned(1, 9).concatenate(x).concatenate(x).concatenate(x).extract(31, 0)
    finite_or_infinite = ite(infinite, model.unsigned(INFINITY, 32), number)
    return model.signal(Signal(kind, 0), ite(nan, model.unsigned(NAN, 32), finite_or_infinite))


def is_known_to_be_at_most(model, d, magnitude):
    claim = ~(model.unsigned(magnitude, 31) < d.extract(30, 0))
    return model.cuts.holds("test", "at most", claim.data, widenings=0)


@pytest.mark.parametrize("kind", [SignalKind.CONVERTED, SignalKind.D])
@pytest.mark.parametrize("sampled", [True, False])
def test_a_result_that_is_never_a_nan_is_at_most_infinity(model, x, kind, sampled):
    d = result(model, x, kind, never(x), x.is_value(76 if sampled else 77))
    assert is_known_to_be_at_most(model, d, INFINITY)
    assert not is_known_to_be_at_most(model, d, INFINITY - 1)


@pytest.mark.parametrize("kind", [SignalKind.CONVERTED, SignalKind.D])
def test_a_result_that_is_a_nan_on_operands_not_sampled_has_no_bound(model, x, kind):
    d = result(model, x, kind, rarely(x), x.is_value(76))
    assert not is_known_to_be_at_most(model, d, NAN - 1)
