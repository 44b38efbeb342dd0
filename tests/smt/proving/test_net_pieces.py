"""The pieces that net-by-net proofs are made of, on words of a few bits: what they say is so for all values.

A *bench* has a small model instead of a design, and nets that are written by hand or drawn at random. Some assignments
are the samples, which suggest what is to be proved. What replaces a net, and each fact that is noted, is then evaluated
for all assignments: a net that is nearly something, as the samples have it, must not become it.
"""

import itertools
import random

import numpy as np
import pytest
from pysmt.environment import Environment
from support.form_widths import not_joined, steps_between, widths_of_forms
from support.in_this_process import InAnyEnvironment

from mmaproof.designs.formats import FORMATS
from mmaproof.smt.algebra.protocol import Word
from mmaproof.smt.algebra.words import Signal, SignalKind
from mmaproof.smt.proving.columns import Columns
from mmaproof.smt.proving.cut_variables import CutVariables
from mmaproof.smt.proving.laws import Law, Operation
from mmaproof.smt.proving.lemma import Lemmas
from mmaproof.smt.proving.linear import Form
from mmaproof.smt.proving.model_terms import ModelTerms
from mmaproof.smt.proving.net_orders import NetOrders
from mmaproof.smt.proving.net_relations import Relations
from mmaproof.smt.proving.net_sums import NetSums
from mmaproof.smt.proving.net_sweep import NetSweep
from mmaproof.smt.solving.limits import Limits, worked

LIMITS = Limits(60, 4 << 30)


def opaque(m, term):
    """A term with the same value that is not a sum and no part of a word."""
    return m.BVXor(m.BVOr(term, m.BV(1, term.bv_width())), m.BVAnd(m.BVNot(term), m.BV(1, term.bv_width())))


class CheckedCuts(CutVariables):
    """Variables whose facts are evaluated for all assignments."""

    everywhere: Columns

    def note(self, fact):
        assert self.everywhere.values(self.without_cuts(fact)).all(), f"{fact.serialize()} is not a fact"
        super().note(fact)


class Bench:
    """A model over operands of a few bits (``widths``), of which every ``few``-th assignment is a sample."""

    def __init__(self, widths, few=1, seed=0, keep=None):
        self.environment = Environment()
        self.m = self.environment.formula_manager
        every = [
            dict(zip(widths, row, strict=True)) for row in itertools.product(*(range(1 << w) for w in widths.values()))
        ]
        every = [row for row in every if keep is None or keep(row)]
        random.Random(seed).shuffle(every)
        self.everywhere, self.samples = Columns(every), Columns(every[::few])
        self.lemmas = Lemmas(InAnyEnvironment().ask, LIMITS, worked(), self.environment)
        self.cuts = CheckedCuts(self.lemmas, self.samples, self.environment)
        self.cuts.everywhere = self.everywhere
        self.model = ModelTerms(self.cuts, self.environment, {}, FORMATS["int32"])
        self.words = {name: self.model.symbol(name, width) for name, width in widths.items()}

    def signal(self, kind, word, bounds=None):
        """A signal of the model."""
        return self.model.signal(Signal(kind, len(self.model.signals)), word, bounds)

    def aligned(self, word, width, bounds):
        """A term of a sum of N bits, which a net is only by a lemma."""
        term = opaque(self.m, self.model.extend(word, width).data)
        return self.signal(SignalKind.ALIGNED, Word(term, width, True, self.model), bounds)

    def found(self, word):
        """What replaces the net that is a word of the model."""
        return self.net(self.cuts.without_cuts(word.data))

    def signed(self, name):
        """An operand read in two's complement."""
        return self.model.twos_complement(self.words[name])

    def values(self, term):
        """The value of a term for each assignment."""
        return self.everywhere.values(self.cuts.without_cuts(term))

    def begin(self):
        """Begin the netlist."""
        self.sweep = NetSweep(self.model, self.cuts, self.samples, self.environment)
        self.model.on_net = self.sweep.on_net
        self.model.nested += 1

    def net(self, term, name="net"):
        """What replaces a net, which is compared with it."""
        found = self.sweep.on_net(name, Word(term, term.bv_width(), False, self.model)).data
        assert np.array_equal(self.values(found), self.values(term)), f"{name} is not {found.serialize()}"
        return found

    def relation(self, term):
        """The relation by which a net is replaced, None if it is not."""
        before = len(self.sweep.matched)
        self.net(term)
        return self.sweep.matched[-1].relation if len(self.sweep.matched) > before else None


@pytest.fixture(autouse=True)
def forms_at(monkeypatch):
    """The widths modulo which forms were put together, of which the laws about sums must be noted."""
    return widths_of_forms(monkeypatch)


def require_laws(seen, model):
    """Require that the laws about sums were noted at each width, and from each to the next one."""
    noted = {(x.width, x.width) for x in model.used if x.operation is Operation.LINEAR}
    noted |= {(x.width, x.wider) for x in model.used if x.operation is Operation.RESIZED_SUM}
    assert not not_joined(seen, noted)


# --- sums ---------------------------------------------------------------------------------------------------


def sums_of(bench, bounds):
    """Sums over operands with bounds; those that begin with s are read in two's complement."""
    relations = Relations(bench.environment, bench.samples)
    orders = NetOrders(bench.model, bench.cuts, bench.samples, relations, [], bench.environment)
    known = bench.model, bench.cuts, bench.samples, relations, orders
    sums = NetSums(*known, lambda name, term: None, [], bench.environment)
    for name, word in bench.words.items():
        sums.summands[word.data] = name.startswith("s")
        if name in bounds:
            bench.model.bounds[word.data] = bounds[name]
    return sums


def number(value, width):
    return value - (1 << width) if value >> (width - 1) else value


WIDTHS, BOUNDS = {"s0": 3, "s1": 3, "u0": 2, "u1": 3}, {"s0": (-3, 2), "s1": (1, 3), "u1": (0, 5)}


def within(row):
    return all(
        low <= (number(row[n], WIDTHS[n]) if n.startswith("s") else row[n]) <= high for n, (low, high) in BOUNDS.items()
    )


def drawn_form(bench, rng, width):
    names = rng.sample(list(WIDTHS), rng.randrange(1, 4))
    coefficients = [rng.choice((1, -1, 2, 3, -2, 4, rng.randrange(-9, 9))) for _ in names]
    terms = [(bench.words[n].data, c) for n, c in zip(names, coefficients, strict=True)]
    return Form.of(width, terms, rng.choice((0, 0, rng.randrange(-20, 20))))


def value_of(form, row):
    """The value of a form over the operands as an integer."""
    terms, constant = form.centred()
    held = [(v.symbol_name(), c) for v, c in terms]
    return constant + sum(c * (number(row[n], WIDTHS[n]) if n.startswith("s") else row[n]) for n, c in held)


def check_bounds(bench):
    """Compare the bounds of all variables with their values."""
    for variable, (low, high) in bench.model.bounds.items():
        if not bench.cuts.is_variable(variable):
            continue
        values = [number(int(v), variable.bv_width()) for v in bench.values(variable)]
        assert low <= min(values) and max(values) <= high, variable


@pytest.mark.few(2)
@pytest.mark.parametrize("seed", range(6))
def test_a_sum_has_the_value_of_its_form_and_lies_within_its_bounds(seed, forms_at):
    bench, rng = Bench(WIDTHS, keep=within), random.Random(seed)
    sums, rows = sums_of(bench, BOUNDS), bench.everywhere.rows
    for _ in range(12):
        form = drawn_form(bench, rng, rng.randrange(1, 8))
        for noted in (bench.model.used, forms_at):
            noted.clear()
        term = sums.of_form("net", form)
        require_laws({(form.width, form.width), *forms_at}, bench.model)
        assert term.bv_width() == form.width
        assert bench.values(term).tolist() == [value_of(form, row) % (1 << form.width) for row in rows]
        more, signed = rng.randrange(1, 4), rng.random() < 0.5
        bench.model.used.clear()
        wide = sums._extended(form, form.width + more, signed)
        if wide is not None:
            require_laws(steps_between(form.width, form.width + more), bench.model)
            assert wide.width == form.width + more
            cut = bench.m.BVSExt(term, more) if signed else bench.m.BVZExt(term, more)
            assert bench.values(cut).tolist() == bench.values(sums.of_form("net", wide)).tolist()
    check_bounds(bench)


def test_sums_whose_coefficients_differ_in_the_highest_bit_are_two():
    bench = Bench({"s0": 3, "u1": 3})
    sums, words = sums_of(bench, {}), [w.data for w in bench.words.values()]
    sums.of_form("net", Form.of(6, [(w, 1) for w in words], 0))
    for width in range(2, 6):
        for more in ((1 << (width - 1)), (1 << width)):
            form = Form.of(width, ((words[0], 1), (words[1], 1 + more)), 0)
            wanted = [(number(row["s0"], 3) + (1 + more) * row["u1"]) % (1 << width) for row in bench.everywhere.rows]
            assert bench.values(sums.of_form("net", form)).tolist() == wanted


def test_the_law_about_sums_is_noted_between_the_width_of_a_sum_and_that_in_which_it_is_read():
    bench = Bench({"s0": 3, "s1": 3})
    sums, words = sums_of(bench, {}), [w.data for w in bench.words.values()]
    variable, _ = sums._variable_of("", Form.of(9, [(w, 3) for w in words], 0))
    own = variable.bv_width()
    for width in (own - 3, own + 3):
        bench.model.used.clear()
        assert sums.expanded(Form.of(width, ((variable, 1),), 0)).terms == tuple((w, 3) for w in words)
        require_laws(steps_between(own, width), bench.model)


def test_bounds_of_a_word_that_is_read_otherwise_are_not_those_of_the_summand():
    """The bounds are those of the word without a sign, and it is added in two's complement."""
    bench = Bench({"s0": 3, "u1": 2})
    sums, (s0, u1) = sums_of(bench, {"s0": (0, 7)}), (w.data for w in bench.words.values())
    sums.of_form("net", Form.of(7, ((s0, 1), (u1, 1)), 0))
    check_bounds(bench)


def test_the_law_about_bounds_is_used_where_every_word_may_be_zero():
    """Of other words it would have to say that all partial sums fit: those of s1 begin at one."""
    bench = Bench(WIDTHS, keep=within)
    sums, (s0, s1, u0, _) = sums_of(bench, BOUNDS), (x.data for x in bench.words.values())
    with_zero, _ = sums._variable_of("", Form.of(6, ((s0, 1), (u0, 2)), 0))
    without, _ = sums._variable_of("", Form.of(6, ((s0, 1), (s1, 1)), 0))
    assert bench.model.bounds[with_zero] == (-3, 8)
    assert without not in bench.model.bounds
    assert Law(Operation.BOUNDED_SUM, with_zero.bv_width()) in bench.model.used


@pytest.mark.parametrize(("least", "noted"), [(0, True), (1, False)])
def test_the_bounds_of_a_total_follow_where_every_word_may_be_zero(least, noted):
    bench = Bench({"s0": 3, "s1": 3}, keep=lambda row: row["s1"] in range(least, 4))
    added = [bench.aligned(bench.signed(n), 5, bounds) for n, bounds in (("s0", (-4, 3)), ("s1", (least, 3)))]
    for word, bounds in zip(added, ((-4, 3), (least, 3)), strict=True):
        bench.model.bounds[word.data] = bounds
    total = bench.model.signal(Signal(SignalKind.SUM), bench.model.modular_sum(added, 5))
    assert bench.model.bounds.get(total.data) == ((-4, 6) if noted else None)


# words of three bits that are added to a constant in a register of four: s in two's complement, h less one, n negated;
# f has four bits
REGISTERS = {
    "both ends": ("s0", "s1", "s2", 0),
    "the upper end": ("s0", "h1", 0),
    "the lower end": ("s0", "n1", 0),
    "a constant": ("s0", "s1", 1),
    "a constant at the upper end": ("s0", "s1", 4),
    "neither": ("s0", "s1", 0),
    "a least number that has no negative": ("f0", "s1", 0),
}


@pytest.mark.parametrize("register", REGISTERS)
def test_a_register_that_wraps_is_its_sum_in_its_own_bits_alone(register, forms_at):
    *names, constant = REGISTERS[register]
    bench = Bench({n: 4 if n[0] == "f" else 3 for n in names})
    m, model, width = bench.m, bench.model, 4
    read = {
        "s": lambda n: (bench.signed(n), (-4, 3)),
        "h": lambda n: (model.subtract(bench.words[n], model.unsigned(1, 1)), (-1, 6)),
        "f": lambda n: (bench.signed(n), (-8, 7)),
        "n": lambda n: (model.negate(bench.words[n]), (-7, 0)),
    }
    added = [bench.aligned(word, width, bounds) for word, bounds in (read[n[0]](n) for n in names)]
    constants = [model.signed(constant, width)] if constant else []
    bench.signal(SignalKind.SUM, model.modular_sum([*added, *constants], width))
    bench.begin()
    words = [bench.found(w) for w in added]
    assert all(bench.cuts.is_variable(x) for x in words)

    def word(of, bits):
        return m.BVSExt(of, bits - width) if bits > width else m.BVExtract(of, 0, bits - 1)

    def added_up(bits, offset=constant):
        found = m.BV(offset % (1 << bits), bits)
        for x in words:
            found = m.BVAdd(found, word(x, bits))
        return found

    for bits in (width, 2, 3, width + 1, 7):
        found = bench.net(added_up(bits))
        assert words[0] not in bench.cuts.symbols(found)
        bench.net(added_up(bits, 0))
        bench.net(m.BVSub(m.BVNeg(added_up(bits, 0)), word(words[0], bits)))
        if bits > width:
            narrow = added_up(width)
            bench.net(m.BVSExt(narrow, bits - width))
            bench.net(m.BVAdd(m.BVZExt(narrow, bits - width), word(words[0], bits)))
            bench.net(m.BVAdd(m.BVSExt(bench.net(narrow), bits - width), word(words[1], bits)))
    require_laws(forms_at, model)


# --- relations ----------------------------------------------------------------------------------------------


class Related(Bench):
    """A model with a word of each kind that nets are compared with, of three operands: 1024 assignments."""

    def __init__(self, few):
        super().__init__({"x": 4, "y": 3, "z": 3}, few, seed=few)
        model, (x, y, z) = self.model, self.words.values()
        signed = model.twos_complement(x)
        self.truth = self.model.signal_truth(Signal(SignalKind.OPERAND_SIGN, 0), model.less(y, z))
        self.significand = self.signal(SignalKind.OPERAND_SIGNIFICAND, model.add(y, z))
        self.exponent = self.signal(SignalKind.EXPONENT, model.as_signed(model.add(x, y)), (0, 22))
        self.signed_one = self.signal(SignalKind.EXPONENT, model.subtract(signed, model.as_signed(z)))
        aligned = [model.shift_left(signed, 1), model.as_signed(model.shift_left(y, 2)), model.as_signed(z)]
        self.aligned = [self.signal(SignalKind.ALIGNED, w, (-31, 31)) for w in aligned]
        self.total = self.signal(SignalKind.SUM, model.modular_sum(self.aligned, 8))
        self.magnitude = model.magnitude(self.total)
        self.begin()

    def raw(self, word):
        """A word of the model as a term over the operands."""
        return self.cuts.without_cuts(word.data)

    def resized(self, word, width):
        """A word as a term over the operands, in N bits."""
        own, term, m = word.width, self.raw(word), self.m
        if width <= own:
            return m.BVExtract(term, 0, width - 1)
        return m.BVSExt(term, width - own) if word.signed else m.BVZExt(term, width - own)

    def nearly(self, term):
        """A term with another value for one assignment that is not a sample."""
        hidden = self.everywhere.rows[1]
        assert hidden not in self.samples.rows
        m = self.m
        here = m.And([m.Equals(w.data, m.BV(hidden[n], w.width)) for n, w in self.words.items()])
        return m.Ite(here, m.BVXor(term, m.BV(1, term.bv_width())), term)

    def chosen(self, truth, yes, no):
        """One of two words, where a truth value of the model holds and elsewhere."""
        return self.m.Ite(self.cuts.without_cuts(truth.data), yes, no)

    def absolute(self, word, width):
        """The magnitude of a word in N bits."""
        m, term = self.m, self.resized(word, width)
        return m.Ite(m.BVSLT(term, m.BV(0, width)), m.BVNeg(term), term)

    def constant(self, value, width):
        """A constant."""
        return self.m.BV(value % (1 << width), width)


NETS = {
    "equal": lambda b: opaque(b.m, b.resized(b.exponent, 8)),
    "equal, cut": lambda b: opaque(b.m, b.resized(b.signed_one, 4)),
    "equal, sign extended": lambda b: opaque(b.m, b.resized(b.signed_one, 9)),
    "offset by 5": lambda b: opaque(b.m, b.m.BVAdd(b.resized(b.exponent, 7), b.constant(5, 7))),
    "offset by -3": lambda b: opaque(b.m, b.m.BVSub(b.resized(b.signed_one, 8), b.constant(3, 8))),
    "9 minus it": lambda b: opaque(b.m, b.m.BVSub(b.constant(9, 7), b.resized(b.signed_one, 7))),
    "equal to a magnitude": lambda b: opaque(b.m, b.resized(b.magnitude, 9)),
    "its magnitude": lambda b: opaque(b.m, b.absolute(b.signed_one, 7)),
    "moved by 2 places": lambda b: b.m.BVConcat(opaque(b.m, b.resized(b.exponent, 6)), b.constant(0, 2)),
    "its bits from 1 on": lambda b: opaque(b.m, b.m.BVExtract(b.raw(b.significand), 1, 3)),
    "offset by 4 where": lambda b: opaque(
        b.m, b.m.BVAdd(b.resized(b.aligned[1], 8), b.chosen(b.truth, b.constant(4, 8), b.constant(11, 8)))
    ),
    "offset by 2 where": lambda b: b.chosen(
        b.truth, opaque(b.m, b.m.BVAdd(b.resized(b.exponent, 7), b.constant(2, 7))), b.constant(77, 7)
    ),
    "equal, a truth": lambda b: b.m.BVNot(b.chosen(b.truth, b.constant(0, 1), b.constant(1, 1))),
    "negated": lambda b: b.m.BVNot(b.chosen(b.truth, b.constant(1, 1), b.constant(0, 1))),
    "its highest bit": lambda b: b.m.BVNot(b.m.BVNot(b.m.BVExtract(b.raw(b.significand), 3, 3))),
    "its highest bit, negated": lambda b: b.m.BVNot(b.m.BVExtract(b.raw(b.significand), 3, 3)),
}


@pytest.mark.few(3)
@pytest.mark.parametrize("relation", NETS)
def test_a_net_becomes_what_it_is_and_not_what_it_nearly_is(relation):
    bench = Related(few=5)
    term = NETS[relation](bench)
    bench.net(bench.nearly(term), "nearly")
    found = bench.relation(term)
    if "highest bit" not in relation:
        assert found is not None and found.startswith(relation.split(",")[0].removesuffix(" to a magnitude")), found


def over_variables(bench, relation):
    """A net over the variables of the model, as one that reads matched nets is."""
    variables = {bench.raw(w): w.data for w in (bench.exponent, bench.signed_one, bench.significand, bench.magnitude)}
    variables |= {bench.cuts.without_cuts(bench.truth.data): bench.truth.data}
    return bench.environment.substituter.substitute(NETS[relation](bench), variables)


@pytest.mark.few(4)
@pytest.mark.parametrize("relation", NETS)
def test_a_net_over_variables_becomes_what_it_is(relation):
    bench = Related(few=5)
    term = over_variables(bench, relation)
    bench.net(bench.nearly(term), "nearly")
    bench.net(term)


def test_single_bits_that_are_nearly_the_highest_bit_are_not():
    bench = Related(few=5)
    m, word = bench.m, bench.significand.data
    top = m.BVExtract(word, 3, 3)
    for term in (top, m.BVNot(top)):
        bench.net(m.BVAnd(bench.nearly(term), bench.nearly(term)))
        matched = len(bench.sweep.matched)
        found = bench.net(m.BVOr(term, m.BVAnd(term, m.BVExtract(word, 0, 0))))
        assert len(bench.sweep.matched) == matched + 1
        assert found in (top, m.BVNot(top))


def test_a_word_that_samples_take_for_an_earlier_one_is_another():
    bench = Bench({"x": 4, "y": 3}, few=3)
    m, model, x = bench.m, bench.model, bench.words["x"]
    first = model.place("first", model.add(x, bench.words["y"]))
    hidden = bench.everywhere.rows[1]
    here = m.And([m.Equals(w.data, m.BV(hidden[n], w.width)) for n, w in bench.words.items()])
    nearly = m.Ite(here, m.BVNot(first.data), first.data)
    again = m.BVSub(m.BVAdd(first.data, x_in(m, x, first.width)), x_in(m, x, first.width))
    for term, is_first in ((nearly, False), (again, True)):
        found = model.place("again", Word(term, first.width, False, model))
        assert (found.data is first.data) is is_first
        assert np.array_equal(bench.values(found.data), bench.values(term))


def test_a_word_that_is_constant_on_the_samples_is_no_constant():
    bench = Bench({"x": 4, "y": 3}, few=3)
    m, model, (x, y) = bench.m, bench.model, (w.data for w in bench.words.values())
    hidden = bench.everywhere.rows[1]
    here = m.And(m.Equals(x, m.BV(hidden["x"], 4)), m.Equals(y, m.BV(hidden["y"], 3)))
    for term, is_constant in ((m.Ite(here, m.BV(5, 4), m.BV(2, 4)), False), (m.BVSub(opaque(m, x), x), True)):
        found = model.place("word", Word(term, 4, False, model)).data
        assert np.array_equal(bench.values(found), bench.values(term))
        assert found.is_constant() is is_constant


@pytest.mark.parametrize("few", [1, 5])
def test_a_word_inside_a_definition_is_itself_and_no_other(few):
    bench = Bench({"x": 4, "y": 3, "z": 2}, few)
    m, model, (x, y, z) = bench.m, bench.model, (w.data for w in bench.words.values())
    inner = m.BVMul(m.BVXor(x, m.BV(9, 4)), m.BVZExt(y, 1))
    model.place("outer", Word(m.BVXor(m.BVMul(inner, inner), m.BVZExt(z, 2)), 4, False, model))
    bench.begin()
    hidden = bench.everywhere.rows[1]
    here = m.And([m.Equals(w.data, m.BV(hidden[n], w.width)) for n, w in bench.words.items()])
    product = m.BVMul(m.BVZExt(y, 1), m.BVXor(m.BV(9, 4), x))
    for term in (product, m.BVZExt(product, 2), m.BVSExt(product, 2), m.BVExtract(product, 0, 2)):
        bench.net(m.Ite(here, m.BVNot(term), term))
        bench.net(term)


def x_in(m, x, width):
    return m.BVZExt(x.data, width - x.width)


def test_a_fact_that_the_samples_suggest_is_not_noted():
    bench = Bench({"x": 4, "y": 3}, few=3)
    m, model = bench.m, bench.model
    word = model.place("sum", model.add(bench.words["x"], bench.words["y"]))
    seen = set(map(int, bench.samples.values(word.data)))
    others = set(map(int, bench.values(word.data))) - seen
    hidden = m.Or([m.Equals(word.data, m.BV(v, word.width)) for v in (*seen, *others)])
    assert model._fact("test", "is a value", hidden)
    bench = Bench({"x": 4, "y": 4}, keep=lambda row: row["x"] or not row["y"], few=1)
    model = bench.model
    word = model.place("product", model.add(bench.words["x"], bench.words["y"]))
    few = bench.m.BVULT(word.data, bench.m.BV(30, word.width))
    assert not model._fact("test", "below 30", few)


# --- maxima -------------------------------------------------------------------------------------------------


class WithMaximum(Bench):
    """A model with the maximum of three signed exponents of three bits."""

    def __init__(self, few=1):
        super().__init__({f"s{i}": 3 for i in range(3)}, few, seed=few)
        self.parts = [self.signal(SignalKind.EXPONENT, self.signed(n)) for n in self.words]
        self.largest = self.model.maximum(self.parts)
        self.model.used.clear()
        self.begin()

    def folded(self, terms):
        """A maximum by comparators."""
        m, found = self.m, terms[0]
        for x in terms[1:]:
            found = m.Ite(m.BVSLT(x, found), found, x)
        return found

    def moved(self, term, offset, more=2):
        """A term in more bits, plus a constant."""
        m, width = self.m, term.bv_width() + more
        return m.BVAdd(m.BVSExt(term, more), m.BV(offset % (1 << width), width))


@pytest.mark.few(7)
@pytest.mark.parametrize("few", [1, 7])
@pytest.mark.parametrize("order", [(0, 1, 2), (2, 0, 1), (1, 0), (2, 1), (0, 2, 1)])
def test_a_maximum_in_any_order_is_one_and_no_word_exceeds_it(few, order):
    bench = WithMaximum(few)
    m, words = bench.m, [bench.words[f"s{i}"].data for i in order]
    whole = bench.folded(words)
    bench.net(m.Ite(m.BVSLT(words[0], words[1]), words[0], words[1]), "the smaller")
    bench.net(m.Ite(m.BVULT(words[0], words[1]), words[1], words[0]), "without signs")
    offset = m.Ite(m.BVSLT(words[0], words[1]), bench.moved(words[1], 4), bench.moved(words[0], 4))
    found = bench.net(offset)
    assert bench.cuts.symbols(found).isdisjoint(words)
    assert {Law(Operation.MAXIMUM, 3, True), Law(Operation.LATTICE, 3, True)} & bench.model.used
    found = bench.net(whole)
    assert bench.cuts.symbols(found).isdisjoint(words)
    assert len(order) == 2 or Law(Operation.MAXIMUM, 3, True) in bench.model.used
    first = bench.net(bench.folded(words[:2]))
    bench.net(bench.folded([first, *(x.data for x in bench.parts)]))


@pytest.mark.parametrize("count", [2, 3])
def test_what_is_nearly_a_maximum_is_none(count):
    bench = WithMaximum(few=7)
    m, words = bench.m, [w.data for w in bench.words.values()]
    hidden = bench.everywhere.rows[1]
    here = m.And([m.Equals(w.data, m.BV(hidden[n], 3)) for n, w in bench.words.items()])
    for offset in (4, 5):
        whole = bench.moved(bench.folded(words[:count]), offset)
        matched = len(bench.sweep.matched)
        bench.net(m.Ite(here, m.BVNot(whole), whole))
        assert len(bench.sweep.matched) == matched
        bench.net(m.Ite(m.BVSLT(words[0], words[1]), whole, whole))
    bench.net(m.Ite(here, m.BV(3, 3), m.Ite(m.BVSLT(words[0], words[1]), words[1], words[0])))


def check_orders(bench):
    """Compare what is known of comparators with the values of their words."""
    orders, m = bench.sweep.orders, bench.m
    for variable, by in orders.choices.items():
        for condition, words in by.items():
            assert np.array_equal(bench.values(variable), bench.values(m.Ite(condition, *words))), variable
    for lattice in orders._lattices:
        for variable in lattice.tables:
            others = [x for x in lattice.tables if x is not variable]
            for pair in itertools.combinations(others, 2):
                found = orders.over(variable, frozenset(pair))
                assert found is None or np.array_equal(bench.values(variable), bench.values(found)), pair


@pytest.mark.parametrize("few", [1, 7])
def test_what_comparators_return_is_what_is_known_of_them(few):
    bench = WithMaximum(few)
    m, (x, y, z) = bench.m, (w.data for w in bench.words.values())
    below, not_above = m.BVSLT(x, y), m.BVSLE(x, y)
    larger, smaller = bench.net(m.Ite(below, y, x)), bench.net(m.Ite(not_above, x, y))
    for p, q in ((larger, z), (smaller, z), (larger, smaller)):
        bench.net(m.Ite(m.BVSLT(p, q), q, p))
        bench.net(m.Ite(m.BVSLT(p, q), p, q))
    assert len(bench.sweep.orders.choices) > 3
    check_orders(bench)


def test_what_is_nearly_a_comparator_is_none():
    """Its condition is wrong for one assignment, or it only returns the right low bits."""
    bench = WithMaximum(few=7)
    m, words = bench.m, bench.words
    x, y = words["s0"].data, words["s1"].data
    hidden = next(r for r in bench.everywhere.rows if r not in bench.samples.rows and r["s0"] != r["s1"])
    here = m.And([m.Equals(w.data, m.BV(hidden[n], 3)) for n, w in words.items()])
    below = m.BVSLT(x, y)
    wrong = m.Or(m.And(below, m.Not(here)), m.And(m.Not(below), here))
    for more in (0, 2):
        p, q = (m.BVSExt(w, more) if more else w for w in (x, y))
        bench.net(m.Ite(wrong, q, p))
        bench.net(m.Ite(wrong, p, q))
        bench.net(m.Ite(below, bench.moved(y, 4, more), bench.moved(x, 5, more)))
    low = [m.BVExtract(w, 0, 1) for w in (x, y)]
    either = m.Or(m.And(below, m.Not(m.Equals(*low))), m.And(m.Not(below), m.Equals(*low)))
    bench.net(m.Ite(either, low[1], low[0]))
    check_orders(bench)


def test_a_maximum_of_numbers_without_a_sign_is_none_of_numbers_with_one():
    bench = Bench({"u0": 3, "u1": 3})
    m, (x, y) = bench.m, (w.data for w in bench.words.values())
    bench.model.maximum(list(bench.words.values()))
    bench.begin()
    bench.net(m.Ite(m.BVSLT(x, y), y, x))
    bench.net(m.Ite(m.BVULT(x, y), y, x))


def test_what_overflows_is_not_told_apart_from_what_is_shared():
    """The maximum of e0 + scale and e1 + scale is not that of e0 and e1, plus scale, where the sums overflow."""
    bench = Bench({"e0": 3, "e1": 3, "scale": 3})
    scale = bench.words["scale"].data
    model = ModelTerms(bench.cuts, bench.environment, {scale: FORMATS["e8m0"]}, FORMATS["e8m0"])
    m, (e0, e1) = bench.m, (bench.words[n].data for n in ("e0", "e1"))
    for more in (0, 1):
        wide = [m.BVSExt(x, more) if more else x for x in (e0, e1, scale)]
        parts = [model.place("part", Word(m.BVAdd(x, wide[2]), 3 + more, True, model)) for x in wide[:2]]
        largest = model.maximum(parts)
        p, q = (bench.cuts.without_cuts(x.data) for x in parts)
        wanted = [number(int(v), 3 + more) for v in bench.values(m.Ite(m.BVSLT(p, q), q, p))]
        assert [number(int(v), largest.width) for v in bench.values(largest.data)] == wanted
        assert any(x.operation is Operation.TRANSLATED_MAXIMUM for x in model.used) is bool(more)


# --- adders -------------------------------------------------------------------------------------------------


class WithSummands(Bench):
    """A model that adds three signed words of three bits in eight."""

    def __init__(self, few=1):
        super().__init__({f"s{i}": 3 for i in range(3)}, few, seed=few)
        model = self.model
        self.added = [self.aligned(self.signed(n), 6, (-4, 3)) for n in self.words]
        self.total = self.signal(SignalKind.SUM, model.modular_sum(self.added, 6))
        self.begin()

    def over_words(self):
        """The three words as terms over the operands, in six bits; nets."""
        return [self.found(w) for w in self.added]


def majority(m, x, y, z):
    return m.BVOr(m.BVOr(m.BVAnd(x, y), m.BVAnd(y, z)), m.BVAnd(x, z))


def nearly_majority(m, x, y, z):
    return m.BVOr(m.BVOr(m.BVAnd(x, y), y), m.BVAnd(x, z))


@pytest.mark.parametrize("function", [majority, nearly_majority])
@pytest.mark.parametrize("few", [1, 7])
def test_a_carry_save_adder_keeps_the_sum(function, few, forms_at):
    bench = WithSummands(few)
    m, (x, y, z) = bench.m, bench.over_words()
    saved = bench.net(m.BVXor(m.BVXor(x, y), z))
    for nearly in (m.BVXor(m.BVAnd(x, y), z), m.BVXor(m.BVOr(x, y), z), m.BVXor(x, m.BVXor(y, m.BVAnd(x, z)))):
        bench.net(m.BVAdd(nearly, y))
    carries = bench.net(function(m, x, y, z))
    moved = bench.net(m.BVConcat(m.BVExtract(carries, 0, 4), m.BV(0, 1)))
    found = bench.net(m.BVAdd(saved, moved))
    assert (found is bench.total.data) is (function is majority)
    for other in (m.BVConcat(m.BVExtract(carries, 0, 4), m.BV(1, 1)), m.BVSExt(m.BVExtract(moved, 0, 4), 1)):
        bench.net(m.BVAdd(saved, other))
    bench.net(m.BVAdd(m.BVNot(saved), moved))
    bench.net(m.BVAdd(saved, m.BVConcat(m.BVExtract(carries, 0, 3), m.BV(0, 2))))
    require_laws(forms_at, bench.model)
    assert function is nearly_majority or Law(Operation.CARRY_SAVE_SUM, 6) in bench.model.used


def rippled(m, x, y, carry_in=0, lost=None):
    """The sum of two words by an adder of single bits; one that loses a carry."""
    width, carry, bits = x.bv_width(), m.BV(carry_in, 1), []
    for i in range(width):
        a, b = m.BVExtract(x, i, i), m.BVExtract(y, i, i)
        bits.append(m.BVXor(m.BVXor(a, b), carry))
        carry = m.BV(0, 1) if i == lost else majority(m, a, b, carry)
    word = bits[0]
    for bit in bits[1:]:
        word = m.BVConcat(bit, word)
    return word


def prefixed(m, x, y, lost=None):
    """The sum of two words of six bits by a prefix adder; one that loses a step."""
    both, either = m.BVAnd(x, y), m.BVXor(x, y)
    carry, passed = both, either
    for step, places in enumerate((1, 2, 4)):
        if step != lost:
            moved = m.BVLShl(carry, m.BV(places, 6))
            carry, passed = m.BVOr(carry, m.BVAnd(passed, moved)), m.BVAnd(passed, m.BVLShl(passed, m.BV(places, 6)))
    return m.BVXor(either, m.BVLShl(carry, m.BV(1, 6)))


@pytest.mark.parametrize("is_nearly", [False, True])
def test_a_magnitude_is_the_sum_of_the_parts_only_if_that_is_proved(is_nearly):
    """One that differs for one assignment is another word."""
    bench = Bench({"s": 1, "x": 3, "y": 2}, few=3)
    m, model, (s, x, _) = bench.m, bench.model, bench.words.values()
    hidden = next(row for row in bench.everywhere.rows if row not in bench.samples.rows and row["x"] > 2)
    here = m.And([m.Equals(w.data, m.BV(hidden[n], w.width)) for n, w in bench.words.items()])
    whole = m.BVXor(opaque(m, x.data), m.Ite(here, m.BV(1, 3), m.BV(0, 3))) if is_nearly else opaque(m, x.data)
    size = model.place("size", Word(whole, 3, False, model))
    positive = m.BVZExt(size.data, 1)
    negative = m.Equals(s.data, m.BV(1, 1))
    term = m.Ite(negative, m.BVNeg(positive), positive)
    if is_nearly:
        term = m.Ite(here, m.BVZExt(x.data, 1), term)
    aligned = bench.signal(SignalKind.ALIGNED, Word(term, 4, True, model), (-7, 7))
    bench.signal(SignalKind.SUM, model.modular_sum([aligned, model.signed(1, 4)], 4))
    bench.begin()
    a, b = bench.found(aligned), bench.net(bench.cuts.without_cuts(size.data))
    wide = [m.BVSExt(a, 2), m.BVZExt(b, 3) if b.bv_width() == 3 else m.BVZExt(b, 2)]
    assert (size.data in bench.sweep.sums.forms) is not is_nearly
    for p, q in ((wide[0], wide[1]), (m.BVNeg(wide[0]), wide[1]), (wide[1], wide[1])):
        bench.net(m.BVAdd(p, q))


@pytest.mark.parametrize("lost", [None, 0, 1, 2])
def test_an_adder_that_loses_a_carry_is_none(lost):
    bench = WithSummands(few=7)
    m, (x, y, z) = bench.m, bench.over_words()
    bench.net(m.BVXor(x, y))
    first = bench.net(prefixed(m, x, y, lost))
    found = bench.net(m.BVAdd(first, z))
    assert (found is bench.total.data) is (lost is None)
    bench.net(rippled(m, x, y, 1, lost))


def test_an_adder_with_a_carry_is_the_sum_with_it():
    bench = WithSummands(few=7)
    m, (x, y, _) = bench.m, bench.over_words()
    bench.net(m.BVXor(x, y))
    bench.net(rippled(m, x, y, 1, None))


def test_what_the_samples_take_for_an_adder_is_none():
    bench = Bench({"s0": 3, "s1": 3}, few=5)
    m, model = bench.m, bench.model
    added = [bench.aligned(bench.signed(n), 6, (-4, 3)) for n in bench.words]
    total = bench.signal(SignalKind.SUM, model.modular_sum(added, 6))
    bench.begin()
    x, y = (bench.found(w) for w in added)
    bench.net(m.BVXor(x, y))
    hidden = bench.everywhere.rows[1]
    assert hidden not in bench.samples.rows
    bits = [m.BVExtract(w, i, i) for w in (x, y) for i in range(3)]
    values = [hidden[n] >> i & 1 for n in ("s0", "s1") for i in range(3)]
    here = bits[0] if values[0] else m.BVNot(bits[0])
    for bit, value in zip(bits[1:], values[1:], strict=True):
        here = m.BVAnd(here, bit if value else m.BVNot(bit))
    bench.net(m.BVXor(prefixed(m, x, y), m.BVZExt(here, 5)))
    assert bench.net(prefixed(m, x, y)) is total.data


def test_a_choice_between_sums_is_a_sum_of_a_choice():
    bench = Related(few=5)
    m = bench.m
    first, second, third = (bench.resized(w, 8) for w in bench.aligned)
    chosen = bench.cuts.without_cuts(bench.truth.data)
    bench.net(m.Ite(chosen, m.BVAdd(first, second), m.BVAdd(first, third)))
    bench.net(m.Ite(chosen, m.BVAdd(first, m.BV(3, 8)), first))
    bench.net(m.Ite(chosen, m.BVSub(first, third), m.BVAdd(m.BVNeg(third), second)))


# --- facts --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("bounds", [(0, 22), (0, 21), (1, 22)])
@pytest.mark.parametrize("few", [1, 5])
def test_bounds_that_some_values_exceed_are_not_noted(few, bounds):
    bench = Bench({"x": 4, "y": 3}, few)
    word = bench.model.place("sum", bench.model.as_signed(bench.model.add(bench.words["x"], bench.words["y"])))
    bench.model._bound(word, bounds)
    assert bench.model.bounds == ({word.data: bounds} if bounds == (0, 22) else {})


@pytest.mark.parametrize("flushes", [False, True])
def test_an_operand_is_its_parts_only_if_they_give_the_pattern_back(flushes):
    """Where subnormals are read as zeros, the parts do not say which one it was."""
    bench, fmt = Bench({"x": 4}), FORMATS["e2m1"]
    m, x = bench.m, bench.words["x"]
    model = ModelTerms(bench.cuts, bench.environment, {x.data: fmt}, fmt)
    field, fraction = m.BVExtract(x.data, 1, 2), m.BVExtract(x.data, 0, 0)
    normal = m.Not(m.Equals(field, m.BV(0, 2)))
    exponent = m.BVSub(m.BVZExt(m.Ite(normal, field, m.BV(1, 2)), 2), m.BV(1, 4))
    significand = m.BVConcat(m.Ite(normal, m.BV(1, 1), m.BV(0, 1)), fraction)
    if flushes:
        significand = m.Ite(normal, significand, m.BV(0, 2))
    negative = model.is_bit_set(x, 3)
    model.signal_truth(Signal(SignalKind.OPERAND_SIGN, 0), negative)
    model.signal(Signal(SignalKind.OPERAND_EXPONENT, 0), Word(exponent, 4, True, model))
    model.signal(Signal(SignalKind.OPERAND_SIGNIFICAND, 0), Word(significand, 2, False, model))
    assert bool(model.patterns) is not flushes
    for pattern in model.patterns.values():
        assert bench.values(pattern).tolist() == bench.values(x.data).tolist()


# --- parts of terms -----------------------------------------------------------------------------------------


def test_bits_of_parts_are_bits_of_the_whole():
    bench, rng = Bench({"x": 4, "y": 3, "z": 2}), random.Random(3)
    m, model = bench.m, bench.model
    pool = [w.data for w in bench.words.values()]
    for _ in range(60):
        x, y = rng.choice(pool), rng.choice(pool)
        whole = rng.choice((m.BVConcat(x, y), m.BVAdd(x, x), m.BVConcat(m.BVNot(y), x)))
        if whole.bv_width() > 10:
            continue
        low = rng.randrange(whole.bv_width())
        high = rng.randrange(low, whole.bv_width())
        found = model.bits(whole, low, high)
        assert bench.values(found).tolist() == bench.values(m.BVExtract(whole, low, high)).tolist()
        pool.append(found)


def test_ranges_are_those_of_all_values():
    bounds = {"s0": (-3, 2), "u1": (0, 5), "u2": (2, 7)}
    widths = {"s0": 3, "u1": 3, "u2": 3}

    def allowed(row):
        held = {n: number(v, 3) if n == "s0" else v for n, v in row.items()}
        return all(low <= held[n] <= high for n, (low, high) in bounds.items())

    bench, rng = Bench(widths, keep=allowed), random.Random(4)
    m, model = bench.m, bench.model
    for name, word in bench.words.items():
        model.bounds[word.data] = bounds[name]
    wide = [m.BVSExt(bench.words["s0"].data, 3), *(m.BVZExt(bench.words[n].data, 3) for n in ("u1", "u2", "s0"))]
    pool = [*wide, m.BV(5, 6), m.BV(60, 6), *(m.BVSExt(w.data, 3) for w in bench.words.values())]
    known = 0
    for _ in range(200):
        x, y = rng.choice(pool), rng.choice(pool)
        condition = m.BVULT(bench.words["u1"].data, m.BV(3, 3))
        term = rng.choice((m.BVAdd(x, y), m.BVSub(x, y), m.Ite(condition, x, y)))
        found = model.range_of(term)
        if found is not None:
            known += 1
            pool.append(term)
            values = [number(int(v), 6) for v in bench.values(term)]
            assert found[0] <= min(values) and max(values) <= found[1], term.serialize()
    for word in bench.words.values():
        found = model.range_of(word.data)
        values = [number(int(v), 3) for v in bench.values(word.data)]
        assert found is None or (found[0] <= min(values) and max(values) <= found[1])
    assert known > 100


def test_a_place_that_is_constant_on_samples_alone_stays_a_variable():
    bench = Bench({"x": 6}, keep=lambda row: True)
    x, model = bench.words["x"], bench.model
    rare = model.place("rare", model.ite(x.is_value(bench.everywhere.rows[-1]["x"]), x, model.unsigned(7, 6)))
    assert rare.data.is_symbol()
    few = Bench({"x": 6}, few=32)
    x, model = few.words["x"], few.model
    rest = next(row["x"] for row in few.everywhere.rows if row not in few.samples.rows)
    seen = model.place("rare", model.ite(x.is_value(rest), model.unsigned(9, 6), model.unsigned(7, 6)))
    assert (few.samples.values(seen.data) == 7).all()
    assert seen.data.is_symbol()
    assert model.place("constant", model.ite(x.is_value(9), x, model.unsigned(9, 6))).data.is_constant()


def test_the_magnitude_of_a_result_is_bounded_where_that_is_so():
    bench = Bench({"x": 6}, few=8)
    model = ModelTerms(bench.cuts, bench.environment, {}, FORMATS["e3m2"])
    x, m = bench.words["x"], bench.m
    low = model.ite(model.less(x, model.unsigned(32, 6)), model.unsigned(5, 6), model.unsigned(3, 6))
    y = model.signal(Signal(SignalKind.CONVERTED), low)
    assert not bench.cuts.is_news(m.BVULE(m.BVExtract(y.data, 0, 4), m.BV(5, 5)))
    rest = next(row["x"] for row in bench.everywhere.rows if row not in bench.samples.rows)
    other = model.signal(Signal(SignalKind.CONVERTED), model.ite(x.is_value(rest), model.unsigned(31, 6), low))
    assert (bench.samples.values(other.data) <= 5).all()
    assert bench.cuts.is_news(m.BVULE(m.BVExtract(other.data, 0, 4), m.BV(5, 5)))


def test_a_bound_is_sharpened_and_never_widened():
    bench = Bench({"x": 6})
    model = bench.model
    word = model.place("word", model.ite(bench.words["x"].is_value(63), model.unsigned(3, 6), model.unsigned(9, 6)))
    for asked, known in (
        ((0, 20), (0, 20)),
        ((2, 30), (2, 20)),
        ((4, 9), (2, 20)),
        ((3, 9), (3, 9)),
        ((0, 63), (3, 9)),
    ):
        model.note_bounds(word, asked)
        assert model.bounds[word.data] == known
