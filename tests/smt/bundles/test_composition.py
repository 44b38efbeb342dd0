"""Steps add up by equal operators on equal operands alone, and what does not follow is not known."""

import itertools
import random

import pytest
from pysmt.environment import Environment

from mmaproof.smt.algebra.terms import TermAlgebra
from mmaproof.smt.bundles.closure import Closure
from mmaproof.smt.bundles.composer import Composer
from mmaproof.smt.bundles.composition import Composition, NotComposedError
from mmaproof.smt.bundles.folds import Maxima, Sums
from mmaproof.smt.bundles.refutations import Refutations
from mmaproof.smt.solving.limits import Limits
from mmaproof.smt.solving.refuting import Refuter

WIDTH = 4


@pytest.fixture
def environment():
    return Environment()


def words(environment, count):
    algebra = TermAlgebra(environment)
    return [algebra.symbol(f"w{i}", WIDTH).data for i in range(count)]


def test_equal_operands_give_equal_results(environment):
    m = environment.formula_manager
    a, b, c, d = words(environment, 4)
    known = Closure(environment)
    outer = m.BVMul(m.BVAdd(a, b), c), m.BVMul(m.BVAdd(d, b), c)
    assert not known.same(*outer)
    known.merge(a, d)
    assert known.same(*outer)
    assert not known.same(m.BVAdd(a, b), m.BVAdd(b, a))
    assert not known.same(m.BVExtract(a, 0, 1), m.BVExtract(d, 1, 2))


def test_it_agrees_with_its_definition(environment):
    """The classes of random terms under random equations are those that repeated comparison finds."""
    m, draw = environment.formula_manager, random.Random(3)
    for _ in range(30):
        terms = words(environment, 4)
        while len(terms) < 20:
            terms.append(draw.choice((m.BVAdd, m.BVMul))(draw.choice(terms), draw.choice(terms)))
        terms = list(dict.fromkeys(terms))
        known, equal = Closure(environment), {x: x for x in terms}
        for _ in range(3):
            x, y = draw.choice(terms), draw.choice(terms)
            known.merge(x, y)
            equal = {z: equal[x] if equal[z] == equal[y] else equal[z] for z in terms}
        changed = True
        while changed:
            changed = False
            for x, y in itertools.combinations([t for t in terms if t.args()], 2):
                alike = x.node_type() == y.node_type() and [equal[z] for z in x.args()] == [equal[z] for z in y.args()]
                if alike and equal[x] != equal[y]:
                    old, new, changed = equal[y], equal[x], True
                    equal = {z: new if v == old else v for z, v in equal.items()}
        for x, y in itertools.combinations(terms, 2):
            assert known.same(x, y) == (equal[x] == equal[y])


@pytest.fixture
def composition(environment):
    m = environment.formula_manager
    return Composition(environment, m.Not(m.Equals(*words(environment, 2))))


def refuted(composition):
    """Refute all lemmas of a composition."""
    with Refuter(1 << 30) as refuter:
        refutations = Refutations(refuter, Limits(60, 1 << 30))
        for lemma in composition.lemmas:
            refutations.of(lemma.query)


def test_sums_in_any_order(environment, composition):
    xs, sums = words(environment, 7), Sums(composition, WIDTH)
    ys = random.Random(1).sample(xs, len(xs))
    assert not composition.closure.same(sums.fold(xs), sums.fold(ys))
    sums.prove(xs, ys)
    assert composition.closure.same(sums.fold(xs), sums.fold(ys))
    assert len(composition.lemmas) == 2
    refuted(composition)


def test_compressors(environment, composition):
    xs, algebra, sums = words(environment, 9), TermAlgebra(environment), Sums(composition, WIDTH)
    level = xs
    sums.compressed(xs, algebra)
    while len(level) > 2:
        threes = [level[i : i + 3] for i in range(0, len(level), 3)]
        level = [y for x in threes for y in (algebra.compressor(*x, WIDTH) if len(x) == 3 else x)]
    assert composition.closure.same(sums.fold(level), sums.fold(xs))
    refuted(composition)


@pytest.mark.parametrize("signed", [False, True])
def test_maxima_in_any_order_grouping_and_width(environment, composition, signed):
    xs, maxima = words(environment, 5), Maxima(composition, WIDTH, signed)
    wide = Maxima(composition, WIDTH + 2, signed)
    repeated = [*xs[:2], xs[0], *xs[2:], xs[3]]
    tree = maxima.of_two(maxima.fold(repeated[:3]), maxima.fold(repeated[3:]))
    flat = maxima.regroup(repeated[:3], repeated[3:])
    distinct = maxima.without_repetitions(flat)
    assert distinct == xs
    maxima.prove(distinct, xs[::-1])
    assert composition.closure.same(tree, maxima.fold(xs[::-1]))
    wide_words = maxima.widened(xs, WIDTH + 2)
    assert composition.closure.same(maxima.extended(maxima.fold(xs), WIDTH + 2), wide.fold(wide_words))
    maxima.bound(xs[:1], 0)
    assert composition.closure.holds(maxima.not_less(xs[0], xs[0]))
    for place, x in enumerate(xs):
        assert not composition.closure.holds(maxima.not_less(maxima.fold(xs), x))
        maxima.bound(xs, place)
        assert composition.closure.holds(maxima.not_less(maxima.fold(xs), x))
    refuted(composition)


def test_folds_of_other_words_are_not_proved_equal(environment, composition):
    xs, sums = words(environment, 4), Sums(composition, WIDTH)
    with pytest.raises(NotComposedError):
        sums.prove(xs[:3], xs[1:])
    with pytest.raises(NotComposedError):
        sums.prove(xs[:3], xs)


def test_a_lemma_is_used_only_where_its_assumptions_hold(environment, composition):
    m = environment.formula_manager
    a, b = words(environment, 2)
    positive = m.BVULT(m.BV(0, WIDTH), a)
    with pytest.raises(NotComposedError, match="not known to hold"):
        composition.use(m.Not(m.Equals(a, m.BV(0, WIDTH))), [positive], "a claim")
    composition.closure.hold(positive)
    composition.use(m.Not(m.Equals(a, m.BV(0, WIDTH))), [positive], "a claim")
    assert composition.closure.holds(m.Not(m.Equals(a, m.BV(0, WIDTH))))
    assert not composition.complete
    composition.use(m.Equals(a, b), [], "a false claim, which nobody could refute")
    assert composition.complete


def test_what_holds_is_what_was_noted_and_no_more(environment):
    m = environment.formula_manager
    p, q, r = (m.Symbol(name) for name in "pqr")
    known = Closure(environment)
    known.hold(m.Or(p, q))
    assert [known.holds(x) for x in (m.Or(p, q), p, q, m.And(p, q), m.Not(p))] == [True, False, False, False, False]
    known.hold(p)
    assert [known.holds(x) for x in (p, m.And(p, q), m.Not(p))] == [True, False, False]
    known.refute(m.Not(q))
    assert [known.holds(x) for x in (q, m.And(p, q), m.Not(q))] == [True, True, False]
    known.refute(r)
    assert [known.holds(x) for x in (r, m.Not(r))] == [False, True]
    assert not known.contradictory
    known.hold(r)
    assert known.contradictory


def test_other_operators_and_other_bits_are_not_equal(environment):
    m = environment.formula_manager
    a, b, c = words(environment, 3)
    known = Closure(environment)
    known.merge(a, b)
    alike = [(m.BVAdd, True), (m.BVSub, False), (m.BVMul, False)]
    assert [known.same(m.BVAdd(a, c), of(b, c)) for of, _ in alike] == [same for _, same in alike]
    bits = [(0, 1), (1, 2), (0, 2)]
    assert [known.same(m.BVExtract(a, 0, 1), m.BVExtract(b, *x)) for x in bits] == [True, False, False]
    assert not known.same(m.BVZExt(a, 1), m.BVZExt(b, 2))


def test_lemmas_that_differ_in_more_than_names_are_two(environment, composition):
    m = environment.formula_manager
    a, b = words(environment, 2)
    lemmas = len(composition.lemmas)
    zero, one = m.BV(0, WIDTH), m.BV(1, WIDTH)
    for claim in (m.Equals(m.BVSub(a, a), zero), m.Equals(m.BVSub(a, b), zero), m.Equals(m.BVSub(a, a), one)):
        composition.use(claim, [], "a claim")
    composition.use(m.Equals(m.BVSub(b, b), zero), [], "the first one, of another word")
    assert len(composition.lemmas) == lemmas + 3
    assert [x.lemma - lemmas for x in composition.steps[-4:]] == [0, 1, 2, 0]


def test_a_proof_that_refutes_no_counterexample_is_none(environment, composition):
    claim = environment.formula_manager.Equals(*words(environment, 2))
    with pytest.raises(NotComposedError, match="do not refute the counterexamples"):
        Composer(composition, samples=None, refutations=None).compose([], [], claim, claim)
