"""Terms read as sums have the value of these sums, for all values of their words: forms, and how terms become forms."""

import itertools
import random

import pytest
from pysmt.environment import Environment
from pysmt.typing import BOOL, BVType
from support.form_widths import not_joined, steps_between, widths_of_forms

from mmaproof.smt.proving.columns import Columns
from mmaproof.smt.proving.cut_variables import bitwise_function
from mmaproof.smt.proving.linear import Form, Linear

WIDTHS = (2, 3, 1)
"""of the words x0, x1 and so on, of which all values are tried, together with a truth value"""


class Words:
    """A few words, all of their values, and terms over them."""

    def __init__(self, signs=(True, False, False)):
        self.environment = Environment()
        self.m = self.environment.formula_manager
        self.words = [self.m.Symbol(f"x{i}", BVType(w)) for i, w in enumerate(WIDTHS)]
        self.truth = self.m.Symbol("t", BOOL)
        self.signs = dict(zip(self.words, signs, strict=True)) | {self.truth: False}
        names = [*(x.symbol_name() for x in self.words), "t"]
        every = itertools.product(*(range(1 << w) for w in WIDTHS), (0, 1))
        self.columns = Columns([dict(zip(names, row, strict=True)) for row in every])

    def numbers(self, symbol):
        """The values of a word as it is read, one for each assignment."""
        width = 1 if symbol is self.truth else symbol.bv_width()
        values = [int(v) for v in self.columns.values(symbol)]
        return [v - (1 << width) if self.signs[symbol] and v >> (width - 1) else v for v in values]

    def values(self, form):
        """The values of a form."""
        columns = [(self.numbers(v), c) for v, c in form.terms]
        rows = range(len(self.columns.rows))
        return [(form.constant + sum(c * x[row] for x, c in columns)) % (1 << form.width) for row in rows]

    def form(self, rng, width):
        """A random form."""
        terms = [(v, rng.randrange(-20, 20)) for v in self.signs if rng.random() < 0.7]
        return Form.of(width, [*terms, *terms[:1]], rng.randrange(-40, 40))


def test_forms_are_sums():
    words, rng = Words(), random.Random(1)
    for _ in range(40):
        width = rng.randrange(1, 8)
        x, y, whole = words.form(rng, width), words.form(rng, width), 1 << width
        of_x, of_y = words.values(x), words.values(y)
        factor, places, less = rng.randrange(-9, 9), rng.randrange(4), rng.randrange(1, width + 1)
        wide = rng.randrange(1, width + places + 1)
        assert words.values(x.plus(y)) == [(v + w) % whole for v, w in zip(of_x, of_y, strict=True)]
        assert words.values(x.times(factor)) == [v * factor % whole for v in of_x]
        assert words.values(x.cut(less)) == [v % (1 << less) for v in of_x]
        assert words.values(x.shifted(places, wide)) == [(v << places) % (1 << wide) for v in of_x]
        assert words.values(x.alone()) == [(v - x.constant) % whole for v in of_x]
        terms, constant = x.centred()
        assert words.values(Form.of(width, terms, constant)) == of_x
        assert all(-whole <= 2 * c < whole for c in (*(c for _, c in terms), constant))


class Reader:
    """Reads terms, with all that is known of extensions, of doubles and of exclusive ors."""

    def __init__(self, words, *, is_known=True):
        self.words, self.is_known = words, is_known
        m = words.m
        # a word of which only the double is known to be a sum, modulo eight
        self.half, self.both = m.Symbol("half", BVType(3)), m.Symbol("both", BVType(3))
        x1 = words.words[1]
        x0, four = words.words[0], m.BV(4, 3)
        other = m.Ite(m.Equals(x0, m.BV(1, 2)), four, m.BV(0, 3))
        words.columns.define(self.half, words.columns.values(m.BVXor(m.BVAdd(x1, m.BV(2, 3)), other)))
        words.columns.define(self.both, words.columns.values(m.BVXor(x1, m.BV(5, 3))))
        words.signs[self.both] = False
        self.used = set()
        parts = self.extended, self.doubled, self.exclusive, lambda term: None
        self.linear = Linear(words.environment, words.signs.get, *parts, self.uses)

    def uses(self, *widths):
        """Note the widths modulo which sums are taken apart."""
        self.used |= steps_between(*widths)

    def extended(self, form, width, signed):
        """The form with more bits, where the sum as an integer fits."""
        terms, constant = form.centred()
        columns = [(self.words.numbers(v), c) for v, c in terms]
        sums = [constant + sum(c * x[row] for x, c in columns) for row in range(len(self.words.columns.rows))]
        least = -(1 << (form.width - 1)) if signed else 0
        fits = all(least <= x < least + (1 << form.width) for x in sums)
        return Form.of(width, terms, constant) if fits and self.is_known else None

    def doubled(self, term):
        """The form of twice ``half``."""
        known = term is self.half and self.is_known
        return Form.of(3, ((self.words.words[1], 2),), 4) if known else None

    def exclusive(self, term):
        """The variable of an exclusive or with five."""
        x1 = self.words.words[1]
        is_it = term is self.words.m.BVXor(x1, self.words.m.BV(5, 3))
        return Form.of(3, ((self.both, 1),), 0) if is_it and self.is_known else None


def random_term(reader, rng, pool):
    """A random term over the words, of a few bits."""
    m, words = reader.words.m, reader.words
    x, y = rng.choice(pool), rng.choice(pool)
    width = x.bv_width()
    y = m.BVZExt(y, width - y.bv_width()) if y.bv_width() < width else m.BVExtract(y, 0, width - 1)
    constant, other = (m.BV(rng.randrange(1 << width), width) for _ in range(2))
    places, low = rng.randrange(width + 2) % (1 << width), rng.choice((0, 0, rng.randrange(width)))
    below = rng.choice((m.BV(0, 2), m.BV(rng.randrange(4), 2), m.BV(0, 1)))
    parts = m.BVExtract(reader.half, 0, 1), m.BVExtract(reader.half, 1, 2)
    build = (
        lambda: m.BVAdd(x, y),
        lambda: m.BVSub(x, y),
        lambda: m.BVNeg(x),
        lambda: m.BVNot(x),
        lambda: m.BVMul(*rng.sample((x, constant), 2)),
        lambda: m.BVMul(x, y),
        lambda: m.BVLShl(x, m.BV(places, width)),
        lambda: m.BVExtract(x, low, rng.randrange(low, width)),
        lambda: m.BVZExt(x, rng.randrange(1, 3)),
        lambda: m.BVSExt(x, rng.randrange(1, 3)),
        lambda: m.Ite(words.truth, constant, rng.choice((other, y))),
        lambda: m.BVConcat(rng.choice((x, reader.half, *parts)), below),
        lambda: m.BVConcat(m.BV(rng.choice((0, 0, 1)), 2), x),
        lambda: m.BVXor(words.words[1], m.BV(rng.choice((5, 5, 6)), 3)),
    )
    return rng.choice(build)()


def read_random_terms(seed, is_known, monkeypatch):
    """Compare the forms of random terms with their values; return how many are sums."""
    rng = random.Random(seed)
    reader = Reader(Words((rng.random() < 0.5, rng.random() < 0.5, False)), is_known=is_known)
    pool, sums = list(reader.words.words), 0
    for _ in range(60):
        term = random_term(reader, rng, pool)
        if term.bv_width() > 9:
            continue
        pool.append(term)
        form = reader.linear.form(term)
        if form is not None:
            assert form.width == term.bv_width()
            assert reader.words.values(form) == reader.words.columns.values(term).tolist(), term.serialize()
            sums += bool(form.terms)
            with monkeypatch.context() as patch:
                widths = widths_of_forms(patch)
                reader.used.clear()
                reader.linear._forms.clear()
                reader.linear.form(term)
            assert not not_joined(widths, reader.used), term.serialize()
    return sums


@pytest.mark.few(1)
@pytest.mark.parametrize("is_known", [True, False])
def test_terms_are_the_sums_that_they_are_read_as(is_known, monkeypatch):
    found = [read_random_terms(seed, is_known, monkeypatch) for seed in range(25)]
    assert sum(found) > 250, found


def test_what_is_no_sum_is_not_read_as_one():
    words = Words()
    m, (x, y, _) = words.m, words.words
    linear = Reader(words).linear
    other = m.Symbol("other", BVType(3))
    for term in (m.BVMul(x, m.BVExtract(y, 0, 1)), m.BVExtract(y, 1, 2), m.BVAnd(y, y), other, m.BVAdd(other, y)):
        assert linear.form(term) is None
    form = linear.form(m.BVAdd(m.BVNeg(m.BVAdd(y, y)), m.BV(3, 3)))
    assert (form.terms, form.constant) == (((y, 6),), 3)


@pytest.mark.parametrize("signed", [False, True])
def test_a_choice_that_stands_for_itself_is_not_read_as_its_truth_value(signed):
    """Its condition is not a symbol, so the variable of its form is the word that was chosen: 5 or 0, not 1 or 0."""
    environment = Environment()
    m = environment.formula_manager
    x, y, word = (m.Symbol(n, BVType(3)) for n in ("x", "y", "word"))
    choice = m.Ite(m.BVULT(x, y), m.BV(5, 3), m.BV(0, 3))
    known = {choice: word}
    linear = Linear(
        environment, lambda _: False, lambda *_: None, lambda _: None, lambda _: None, known.get, lambda *_: None
    )
    assert linear.form(choice) == Form.of(3, ((word, 1),), 0)
    assert linear.form(m.BVSExt(choice, 4) if signed else m.BVZExt(choice, 4)) is None
    assert linear.form(m.BVConcat(m.BV(0, 4), choice)) is None


def bitwise_term(m, rng, leaves, depth):
    """A random function of bits."""
    if depth == 0 or rng.random() < 0.15:
        return rng.choice(leaves)
    kind = rng.choice((m.BVAnd, m.BVOr, m.BVXor, m.BVNot))
    operands = [bitwise_term(m, rng, leaves, depth - 1) for _ in range(1 if kind == m.BVNot else 2)]
    return kind(*operands)


def adder_term(m, rng, leaves):
    """The majority of three words or the exclusive or of three or four, often with an operator changed."""
    x, y, z = rng.sample(leaves, 3)
    kinds = (m.BVAnd, m.BVOr, m.BVXor)
    changed = rng.randrange(8)

    def of(number, kind, *operands):
        return (rng.choice(kinds) if number == changed else kind)(*operands)

    first = of(0, m.BVXor, x, y)
    if rng.random() < 0.4:
        total = of(1, m.BVXor, first, z)
        return of(2, m.BVXor, total, rng.choice([w for w in leaves if w not in (x, y, z)])) if changed > 4 else total
    if rng.random() < 0.5:
        return of(2, m.BVOr, of(3, m.BVAnd, x, y), of(1, m.BVAnd, first, z))
    return of(0, m.BVOr, of(1, m.BVOr, of(2, m.BVAnd, x, y), of(3, m.BVAnd, y, z)), m.BVNot(m.BVNot(m.BVAnd(x, z))))


def function_of(values, table):
    """Whether words of one bit of all values have a truth table that counts their ones."""
    return all(table(sum(bits)) == bit for *bits, bit in values)


def test_functions_of_bits_are_told_by_their_tables():
    environment, rng, seen = Environment(), random.Random(2), set()
    m = environment.formula_manager
    symbols = [m.Symbol(f"y{i}", BVType(1)) for i in range(5)]
    columns = Columns([{f"y{i}": row >> i & 1 for i in range(5)} for row in range(32)])
    for number in range(2000):
        term = bitwise_term(m, rng, symbols[: rng.randrange(2, 6)], rng.randrange(1, 5))
        term = adder_term(m, rng, symbols[:4]) if number % 5 == 0 else term
        function = bitwise_function(term)
        if function is None:
            continue
        leaves = list(function.leaves)
        values = list(zip(*(columns.values(x).tolist() for x in (*leaves, term)), strict=True))
        assert function.is_exclusive_or is function_of(values, lambda ones: ones % 2)
        if len(leaves) < 4:
            assert function.is_carry is function_of(values, lambda ones: int(ones >= 2))
        else:
            assert not function.is_carry
        seen.add((len(leaves), function.is_exclusive_or, function.is_carry))
    assert {(2, True, False), (3, True, False), (4, True, False), (2, False, True), (3, False, True)} <= seen


def test_functions_of_too_many_words_or_of_constants_are_none():
    m = Environment().formula_manager
    words = [m.Symbol(f"y{i}", BVType(2)) for i in range(5)]
    term = words[0]
    for i, x in enumerate(words[1:], 2):
        term = m.BVXor(term, x)
        assert (bitwise_function(term) is None) is (i > 4)
    assert bitwise_function(m.BVXor(words[0], m.BV(1, 2))) is None
    assert bitwise_function(m.BVAdd(words[0], words[1])) is None
    assert bitwise_function(m.BVNot(words[0])) is None
