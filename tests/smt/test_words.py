"""Operators on words and truth values: each is the operation of the algebra that it stands for."""

import numpy as np
import pytest

from mmaproof.designs.catalogue import find_design
from mmaproof.properties.library.symmetry import OrderIndependence
from mmaproof.properties.question import Scope
from mmaproof.smt.algebra.arrays import ArrayAlgebra
from mmaproof.smt.algebra.integers import IntegerAlgebra
from mmaproof.smt.algebra.protocol import Word, ite
from mmaproof.smt.algebra.terms import TermAlgebra
from mmaproof.smt.solving.limits import Limits
from mmaproof.verification import stages

INTEGERS, ARRAYS, TERMS = IntegerAlgebra(), ArrayAlgebra(), TermAlgebra()
ALGEBRAS = pytest.mark.parametrize("algebra", [INTEGERS, ARRAYS, TERMS], ids=["integers", "arrays", "terms"])
SIGNEDNESS = pytest.mark.parametrize("signed", [False, True], ids=["unsigned", "signed"])

ARITHMETIC = {
    "x + y": (lambda x, y: x + y, lambda g, x, y: g.add(x, y)),
    "x - y": (lambda x, y: x - y, lambda g, x, y: g.subtract(x, y)),
    "-x": (lambda x, y: -x, lambda g, x, y: g.negate(x)),
    "x * y": (lambda x, y: x * y, lambda g, x, y: (g.multiply_signed if x.signed else g.multiply)(x, y)),
    "x << 3": (lambda x, y: x << 3, lambda g, x, y: g.shift_left(x, 3)),
    "x + 3": (lambda x, y: x + 3, lambda g, x, y: g.add(x, like(g, x, 3))),
    "3 + x": (lambda x, y: 3 + x, lambda g, x, y: g.add(like(g, x, 3), x)),
    "x - 1": (lambda x, y: x - 1, lambda g, x, y: g.subtract(x, like(g, x, 1))),
    "1 - x": (lambda x, y: 1 - x, lambda g, x, y: g.subtract(like(g, x, 1), x)),
    "x * 5": (lambda x, y: x * 5, lambda g, x, y: (g.multiply_signed if x.signed else g.multiply)(x, like(g, x, 5))),
    "5 * x": (lambda x, y: 5 * x, lambda g, x, y: (g.multiply_signed if x.signed else g.multiply)(like(g, x, 5), x)),
    "drop_low": (lambda x, y: x.drop_low(2), lambda g, x, y: g.drop_low(x, 2)),
    "extract": (lambda x, y: x.extract(4, 1), lambda g, x, y: g.extract(x, 4, 1)),
    "narrow": (lambda x, y: x.narrow(5), lambda g, x, y: g.narrow(x, 5)),
    "extend": (lambda x, y: x.extend(20), lambda g, x, y: g.extend(x, 20)),
    "as_signed": (lambda x, y: x.as_signed(), lambda g, x, y: g.as_signed(x)),
    "magnitude": (lambda x, y: x.magnitude(), lambda g, x, y: g.magnitude(x)),
    "narrow_to_unsigned": (
        lambda x, y: (y + 0).as_signed().magnitude().as_signed().narrow_to_unsigned(12),
        lambda g, x, y: g.narrow_to_unsigned(g.as_signed(g.magnitude(g.as_signed(g.add(y, like(g, y, 0))))), 12),
    ),
    "negated_where": (
        lambda x, y: x.magnitude().negated_where(y.bit(0)),
        lambda g, x, y: g.conditional_negate(g.is_bit_set(y, 0), g.magnitude(x)),
    ),
    "ite": (lambda x, y: ite(x < y, x, y), lambda g, x, y: g.ite(g.less(x, y), x, y)),
    "ite(, x, 0)": (lambda x, y: ite(x < y, x, 0), lambda g, x, y: g.ite(g.less(x, y), x, like(g, x, 0))),
    "ite(, 0, y)": (lambda x, y: ite(x < y, 0, y), lambda g, x, y: g.ite(g.less(x, y), like(g, y, 0), y)),
    "as_bit": (
        lambda x, y: (x < y).as_bit(),
        lambda g, x, y: g.ite(g.less(x, y), g.unsigned(1, 1), g.unsigned(0, 1)),
    ),
}
COMPARISONS = {
    "x < y": (lambda x, y: x < y, lambda g, x, y: g.less(x, y)),
    "x > y": (lambda x, y: x > y, lambda g, x, y: g.less(y, x)),
    "x <= y": (lambda x, y: x <= y, lambda g, x, y: g.negation(g.less(y, x))),
    "x >= y": (lambda x, y: x >= y, lambda g, x, y: g.negation(g.less(x, y))),
    "x == y": (lambda x, y: x == y, lambda g, x, y: g.equal(x, y)),
    "x != y": (lambda x, y: x != y, lambda g, x, y: g.negation(g.equal(x, y))),
    "x < 3": (lambda x, y: x < 3, lambda g, x, y: g.less(x, like(g, x, 3))),
    "x <= 3": (lambda x, y: x <= 3, lambda g, x, y: g.negation(g.less(like(g, x, 3), x))),
    "x == 9": (lambda x, y: x == 9, lambda g, x, y: g.equal(x, like(g, x, 9))),
    "x != 300": (lambda x, y: x != 300, lambda g, x, y: g.negation(g.equal(x, like(g, x, 300)))),
    "is_value": (lambda x, y: x.is_value(9), lambda g, x, y: g.is_value(x, 9)),
    "bit": (lambda x, y: x.bit(2), lambda g, x, y: g.is_bit_set(x, 2)),
    "p & q": (lambda x, y: (x < y) & y.bit(0), lambda g, x, y: g.all_of([g.less(x, y), g.is_bit_set(y, 0)])),
    "p | q": (lambda x, y: (x < y) | y.bit(0), lambda g, x, y: g.any_of([g.less(x, y), g.is_bit_set(y, 0)])),
    "p ^ q": (lambda x, y: (x < y) ^ y.bit(0), lambda g, x, y: g.exclusive_or(g.less(x, y), g.is_bit_set(y, 0))),
    "p != q": (lambda x, y: (x < y) != y.bit(0), lambda g, x, y: g.exclusive_or(g.less(x, y), g.is_bit_set(y, 0))),
    "p == q": (
        lambda x, y: (x < y) == y.bit(0),
        lambda g, x, y: g.negation(g.exclusive_or(g.less(x, y), g.is_bit_set(y, 0))),
    ),
    "~p": (lambda x, y: ~(x < y), lambda g, x, y: g.negation(g.less(x, y))),
}


def like(algebra, x, value):
    return algebra.signed(value) if x.signed else algebra.unsigned(value, max(value.bit_length(), 1))


def samples(algebra, signed):
    """Yield pairs of words of 8 and of 9 bits; all pairs at once on arrays, any at all on terms."""
    x, y = ([-16, -1, 0, 1, 3, 9, 15], [-3, 0, 9, 200]) if signed else ([0, 1, 3, 8, 9, 31], [0, 9, 300])
    pairs = [(i, j) for i in x for j in y]
    if algebra is INTEGERS:
        make = algebra.signed if signed else algebra.unsigned
        return [(make(i, 8), make(j, 9)) for i, j in pairs]
    if algebra is ARRAYS:
        columns = zip(*pairs, strict=True)
        return [tuple(Word(np.array(c), w, signed, algebra) for c, w in zip(columns, (8, 9), strict=True))]
    words = [algebra.symbol(f"words_{n}", w) for n, w in (("x", 8), ("y", 9))]
    return [tuple(algebra.twos_complement(w) for w in words) if signed else tuple(words)]


def same(x, y):
    """Return whether two results are the same: one term, or the same numbers, and for words one width."""
    if isinstance(x, Word):
        assert (x.width, x.signed) == (y.width, y.signed)
    assert x.algebra is y.algebra
    return x.data is y.data if isinstance(x.algebra, TermAlgebra) else np.array_equal(x.data, y.data)


@ALGEBRAS
@SIGNEDNESS
def test_an_operator_is_the_operation_it_stands_for(algebra, signed):
    for name, (operator, operation) in (ARITHMETIC | COMPARISONS).items():
        for x, y in samples(algebra, signed):
            assert same(operator(x, y), operation(algebra, x, y)), name


def test_the_operators_compute():
    x, y = INTEGERS.signed(-5, 8), INTEGERS.signed(3, 4)
    results = (x + y, x - y, -x, x * y, x << 2, 1 - x)
    assert [(w.data, w.width) for w in results] == [(-2, 9), (-8, 9), (5, 9), (-15, 12), (-20, 10), (6, 9)]
    truths = (x < y, x <= -5, x > y, x >= 0, x == -5, x != 3)
    assert [t.data for t in truths] == [True, True, False, False, True, True]


def test_a_negative_constant_beside_an_unsigned_word_is_refused():
    x = INTEGERS.unsigned(3, 4)
    for misuse in (lambda: x + -1, lambda: x < -1, lambda: x == -1, lambda: ite(x < 1, x, -1)):
        with pytest.raises(OverflowError, match="as_signed"):
            misuse()


def test_signed_and_unsigned_do_not_meet():
    x, y = INTEGERS.unsigned(3, 4), INTEGERS.signed(3, 4)
    for misuse in (lambda: x + y, lambda: x - y, lambda: x < y, lambda: x == y):
        with pytest.raises(TypeError, match="as_signed"):
            misuse()
    for misuse in (lambda: x * y, lambda: y * x):
        with pytest.raises(TypeError, match="needed here"):
            misuse()


@ALGEBRAS
def test_what_is_no_number_is_refused(algebra):
    x = algebra.unsigned(3, 4)
    for misuse in (lambda: x + "1", lambda: x < 0.5, lambda: x == None, lambda: x != "3"):  # noqa: E711
        with pytest.raises(TypeError, match="neither a word nor an integer"):
            misuse()
    with pytest.raises(TypeError, match="has to be a word"):
        ite(x < 1, 0, 1)
    with pytest.raises(ValueError, match="lose bits"):
        x << -1


@ALGEBRAS
def test_comparisons_are_no_python_bools_and_words_have_no_hash(algebra):
    x, y = algebra.unsigned(3, 4), algebra.unsigned(4, 4)
    for misuse in (lambda: 1 if x == y else 0, lambda: x < y < x, lambda: x in [y], lambda: not x < y):
        with pytest.raises(TypeError, match="ite"):
            misuse()
    for value in (x, x < y):
        with pytest.raises(TypeError, match="unhashable"):
            hash(value)


def test_a_staged_proof_reads_operands_as_words_of_its_own_terms(monkeypatch):
    question, seen = OrderIndependence().question(find_design("volta/f32.f16.f16.f32"), Scope()), []
    claim = type(question).claim

    def watched(self, algebra, operands):
        seen.append(all(w.algebra is algebra for w in (*operands.a, *operands.b, operands.c)))
        return claim(self, algebra, operands)

    monkeypatch.setattr(type(question), "claim", watched)
    stages.by_stages(question, question.design, None, Limits(1e-9, 1 << 30), seed=0)
    assert seen
    assert all(seen)
