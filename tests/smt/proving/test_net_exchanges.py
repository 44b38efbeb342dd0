"""Networks of comparators: what they return is a maximum of minima, and sums over what they exchanged are known."""

import numpy as np
import pytest
from pysmt.environment import Environment
from support.in_this_process import InAnyEnvironment

from mmaproof.designs.formats import FORMATS
from mmaproof.smt.algebra.protocol import Word
from mmaproof.smt.algebra.words import Signal, SignalKind
from mmaproof.smt.proving.columns import Columns
from mmaproof.smt.proving.cut_variables import CutVariables
from mmaproof.smt.proving.laws import Law, Operation
from mmaproof.smt.proving.lemma import Lemmas
from mmaproof.smt.proving.model_terms import ModelTerms
from mmaproof.smt.proving.net_exchanges import Exchanges
from mmaproof.smt.proving.net_sweep import NetSweep
from mmaproof.smt.solving.limits import Limits, worked

EXPONENT, MAGNITUDE, SUM = 2, 2, 6
COUNT = 3
BITS = {"e": EXPONENT, "s": 1, "m": MAGNITUDE}
NAMES = [(n, i) for i in range(COUNT) for n in BITS]


def all_rows():
    places = np.cumsum([0, *(BITS[n] for n, _ in NAMES)])
    values = np.arange(1 << int(places[-1]), dtype=np.uint64)
    columns = {
        f"{n}{i}": values >> np.uint64(low) & np.uint64((1 << BITS[n]) - 1)
        for (n, i), low in zip(NAMES, places, strict=False)
    }
    return [dict(zip(columns, map(int, row), strict=True)) for row in zip(*columns.values(), strict=True)]


ROWS = all_rows()


class Unit:
    """Three signed terms with exponents, aligned at the largest one and added, by a model and by nets."""

    def __init__(self, few=37):
        self.environment = Environment()
        self.m = self.environment.formula_manager
        columns = Columns(ROWS[::few])
        self.everywhere = Columns(ROWS)
        lemmas = Lemmas(InAnyEnvironment().ask, Limits(60, 4 << 30), worked(), self.environment)
        self.cuts = CutVariables(lemmas, columns, self.environment)
        self.model = ModelTerms(self.cuts, self.environment, {}, FORMATS["fp32"])
        self.words = [{n: self.model.symbol(f"{n}{i}", w).data for n, w in BITS.items()} for i in range(COUNT)]
        exponents = [self.model.twos_complement(self.word(w["e"])) for w in self.words]
        largest = self.model.maximum(exponents)
        aligned = [
            self.model.signal(Signal(SignalKind.ALIGNED, i), self.aligned(w, largest.data))
            for i, w in enumerate(self.words)
        ]
        self.total = self.model.signal(Signal(SignalKind.SUM), self.model.modular_sum(aligned, SUM))
        plain = [
            self.model.signal(Signal(SignalKind.ALIGNED, f"p{i}"), self.plain(w)) for i, w in enumerate(self.words)
        ]
        self.model.signal(Signal(SignalKind.PARTIAL_SUM), self.model.modular_sum(plain, SUM))
        self.model.place("distance", self.word(self.m.BVSub(largest.data, exponents[0].data)))
        self.model.nested += 1
        self.sweep = NetSweep(self.model, self.cuts, columns, self.environment)
        self.nets = 0

    def word(self, term):
        return Word(term, term.bv_width(), False, self.model)

    def aligned(self, word, largest):
        """A term shifted to the largest exponent, and signed."""
        m = self.m
        distance = m.BVZExt(m.BVSub(largest, word["e"]), SUM - EXPONENT)
        kept = m.BVLShr(m.BVZExt(word["m"], SUM - MAGNITUDE), distance)
        term = m.Ite(m.Equals(word["s"], m.BV(1, 1)), m.BVNeg(kept), kept)
        return Word(term, SUM, True, self.model)

    def plain(self, word, _=None):
        """A term neither shifted nor signed."""
        return Word(self.m.BVZExt(word["m"], SUM - MAGNITUDE), SUM, True, self.model)

    def net(self, term):
        """What replaces a net, which has its value for all operands."""
        self.nets += 1
        found = self.sweep.on_net(f"net{self.nets}", self.word(term)).data
        same = self.cuts.without_cuts(self.m.Equals(term, found))
        assert self.everywhere.values(same).all(), f"{term.serialize()} is not {found.serialize()}"
        return found

    def joined(self, word):
        return self.m.BVConcat(word["e"], self.m.BVConcat(word["s"], word["m"]))

    def parted(self, term):
        bits = self.model.extract
        word, low = self.word(term), MAGNITUDE
        return {
            "m": bits(word, low - 1, 0).data,
            "s": bits(word, low, low).data,
            "e": bits(word, low + EXPONENT, low + 1).data,
        }

    def truth(self, condition):
        """A net that says whether a condition holds, as a condition."""
        one, zero = self.m.BV(1, 1), self.m.BV(0, 1)
        return self.m.Equals(self.net(self.m.Ite(condition, one, zero)), one)

    def below(self, x, y):
        return self.truth(self.m.BVSLT(x["e"], y["e"]))

    def not_above(self, x, y):
        """As ``below``, but of equals the second one counts as the larger."""
        return self.truth(self.m.BVSLE(x["e"], y["e"]))

    def compared(self, x, y, whole=True, second=None):
        """Both results of a comparator, the larger one first; ``second`` is the condition of the other result."""
        below = self.below(x, y)
        other = below if second is None else second(x, y)
        if whole:
            p, q = self.joined(x), self.joined(y)
            return self.parted(self.net(self.m.Ite(below, q, p))), self.parted(self.net(self.m.Ite(other, p, q)))
        return self.chosen(dict.fromkeys(BITS, below), y, x), self.chosen(dict.fromkeys(BITS, other), x, y)

    def chosen(self, conditions, x, y):
        return {n: self.net(self.m.Ite(c, x[n], y[n])) for n, c in conditions.items()}

    def added(self, words, largest, function=None):
        """The sum of the terms of some words, one after the other."""
        total, function = self.m.BV(0, SUM), self.aligned if function is None else function
        for x in words:
            kept = self.net(function(x, largest).data)
            total = self.net(self.m.BVAdd(total, kept))
        return total

    def is_total(self, net):
        return any(x.signal == "sum" for x in self.sweep.matched) and self.cuts.symbols(net) == {self.total.data}


def sort(unit, whole=True):
    words = unit.words
    for i in (0, 1, 0):
        words[i], words[i + 1] = unit.compared(words[i], words[i + 1], whole)
    return words


@pytest.mark.few(1)
@pytest.mark.parametrize("whole", [True, False])
def test_the_sum_of_sorted_terms_is_that_of_the_terms(whole):
    unit = Unit()
    words = sort(unit, whole)
    largest = words[0]["e"]
    assert unit.cuts.symbols(largest) == {unit.model.folds[0].variable}
    assert unit.is_total(unit.added(words, largest))
    assert Law(Operation.EXCHANGE, SUM) in unit.model.used


def test_the_first_one_need_not_be_shifted():
    unit = Unit()
    first, *others = sort(unit)
    m, magnitude = unit.m, unit.m.BVZExt(first["m"], SUM - MAGNITUDE)
    unshifted = unit.net(m.Ite(m.Equals(first["s"], m.BV(1, 1)), m.BVNeg(magnitude), magnitude))
    rest = unit.added(others, first["e"])
    assert unit.is_total(unit.net(m.BVAdd(rest, unshifted)))


@pytest.mark.parametrize("whole", [True, False])
def test_a_comparator_that_loses_one_of_equals_is_none(whole):
    unit = Unit()
    words = unit.words
    for i in (0, 1, 0):
        words[i], words[i + 1] = unit.compared(words[i], words[i + 1], whole, unit.not_above)
    assert unit.cuts.symbols(words[0]["e"]) == {unit.model.folds[0].variable}  # the exponents are right
    assert not unit.is_total(unit.added(words, words[0]["e"]))


def test_a_sign_that_stays_behind_is_noticed():
    unit = Unit()
    words = sort(unit, whole=False)
    signs = [x["s"] for x in words]
    words = [x | {"s": s} for x, s in zip(words, reversed(signs), strict=True)]
    assert not unit.is_total(unit.added(words, words[0]["e"]))


def test_terms_that_are_not_all_of_one_function_are_noticed():
    unit = Unit()
    words = sort(unit)
    less = unit.net(unit.aligned(words[2] | {"e": words[1]["e"]}, words[0]["e"]).data)
    rest = unit.added(words[:2], words[0]["e"])
    assert not unit.is_total(unit.net(unit.m.BVAdd(rest, less)))


def test_one_word_twice_and_another_never_is_noticed():
    unit = Unit()
    words = sort(unit)
    assert not unit.is_total(unit.added([words[0], words[1], words[1]], words[0]["e"]))


def test_a_difference_is_that_of_the_terms():
    unit = Unit()
    total = unit.m.BV(0, SUM)
    for x in sort(unit):
        total = unit.net(unit.m.BVSub(total, unit.net(unit.aligned(x, unit.words[0]["e"]).data)))
    assert unit.is_total(total)


def test_conditions_may_be_written_in_any_order():
    unit = Unit()
    words, m, one = unit.words, unit.m, unit.m.BV(1, MAGNITUDE)
    for i in (0, 1, 0):
        x, y = words[i : i + 2]
        below = unit.truth(m.BVULT(m.BVAdd(one, x["m"]), m.BVAdd(y["m"], one)))
        by = dict.fromkeys(BITS, below)
        words[i], words[i + 1] = unit.chosen(by, y, x), unit.chosen(by, x, y)
    unit.added(words, None, unit.plain)
    assert any(x.signal == "sum" for x in unit.sweep.matched)


def test_results_of_two_comparators_of_one_condition_are_told_apart():
    unit = Unit()
    x, y, z = unit.words
    by = dict.fromkeys(BITS, unit.below(x, y))
    first, _, _, second = (unit.chosen(by, p, q) for p, q in ((y, x), (x, y), (z, x), (x, z)))
    unit.added([first, second], unit.words[0]["e"], unit.plain)


def test_a_function_that_is_another_one_of_a_few_operands_is_noticed():
    unit = Unit(few=37)
    first, *others = sort(unit)
    m, magnitude = unit.m, unit.m.BVZExt(first["m"], SUM - MAGNITUDE)
    unshifted = m.Ite(m.Equals(first["s"], m.BV(1, 1)), m.BVNeg(magnitude), magnitude)
    row = next(r for i, r in enumerate(ROWS) if i % 37 and r["m0"] and r["m1"] and r["m2"])
    unseen = [m.Equals(unit.model.symbol(n, BITS[n[0]]).data, m.BV(x, BITS[n[0]])) for n, x in row.items()]
    unshifted = unit.net(m.Ite(m.And(unseen), m.BV(0, SUM), unshifted))
    assert not unit.is_total(unit.net(m.BVAdd(unit.added(others, first["e"]), unshifted)))


def test_the_maximum_of_all_is_the_larger_one_of_two():
    unit = Unit()
    larger = unit.compared(*unit.words[1:])[0]["e"]
    first, m = unit.words[0]["e"], unit.m
    behind = unit.net(m.Ite(m.BVSLT(larger, first), m.BV(0, EXPONENT), m.BVSub(larger, first)))
    assert unit.sweep.matched[-1].signal == "distance"
    assert behind.is_symbol()


def random_sum(unit, rng, depth):
    """A random sum of words and constants, some of them several times and some subtracted."""
    m = unit.m
    if not depth:
        word = unit.words[int(rng.integers(COUNT))]
        magnitude, exponent = m.BVZExt(word["m"], SUM - MAGNITUDE), m.BVSExt(word["e"], SUM - EXPONENT)
        return [magnitude, exponent, m.BV(1, SUM), m.BV(5, SUM)][int(rng.integers(4))]
    x, y = (random_sum(unit, rng, depth - 1) for _ in range(2))
    return [m.BVAdd(x, y), m.BVSub(x, y), m.BVNeg(x), m.BVAdd(x, x), m.BVAnd(x, y)][int(rng.integers(5))]


def test_sums_in_one_order_have_the_values_of_the_sums():
    unit, rng = Unit(few=3701), np.random.default_rng(5)
    for _ in range(60):
        term = random_sum(unit, rng, 4)
        same = unit.m.Equals(term, unit.sweep.sums.exchanges._collected(term))
        assert unit.cuts.column(same).all(), term.serialize()


def random_network(seed):
    """Random comparators, some of them wrong, and a sum of random functions of what they return."""
    rng = np.random.default_rng(seed)
    unit = Unit(few=int(rng.choice([37, 331, 1001])))
    words, whole = unit.words, bool(rng.random() < 0.3)
    largest = unit.model.folds[0].variable
    for _ in range(int(rng.integers(1, 5))):
        i, j = (int(x) for x in rng.permutation(COUNT)[:2])
        if whole:
            wrong = unit.not_above if rng.random() < 0.2 else None
            words[i], words[j] = unit.compared(words[i], words[j], True, wrong)
            continue
        truths = [unit.below(words[i], words[j]), unit.not_above(words[i], words[j])]
        truths.append(unit.m.Equals(words[i]["s"], unit.m.BV(1, 1)))
        usual = truths[int(rng.integers(3))]
        by = [{n: usual if rng.random() < 0.93 else truths[int(rng.integers(3))] for n in BITS} for _ in range(2)]
        words[i], words[j] = unit.chosen(by[0], words[j], words[i]), unit.chosen(by[1], words[i], words[j])
    if rng.random() < 0.1:
        words[int(rng.integers(COUNT))] = words[int(rng.integers(COUNT))]
    function = unit.aligned if rng.random() < 0.4 else unit.plain
    chosen = words[: COUNT if rng.random() < 0.8 else 2]
    return unit, unit.added(chosen, largest, function)


def looked_through(seeds, monkeypatch):
    """Check random networks; return how many sums of exchanged words were told from others, and how many not."""
    undone, found = Exchanges._undone, []

    def watched(self, *given):
        form = undone(self, *given)
        found.append(form is not None)
        return form

    monkeypatch.setattr(Exchanges, "_undone", watched)
    for seed in seeds:
        random_network(seed)
    return found.count(True), found.count(False)


@pytest.mark.middle
def test_random_networks_have_the_values_of_what_replaces_them(monkeypatch):
    assert min(looked_through(range(10), monkeypatch)) > 3


@pytest.mark.slow
def test_many_random_networks_have_the_values_of_what_replaces_them(monkeypatch):
    assert min(looked_through(range(10, 60), monkeypatch)) > 15
