"""Sums and maxima in any order are derived from laws about two and three words."""

import random

import pytest
from pysmt.environment import Environment

from mmaproof.smt.algebra.terms import TermAlgebra
from mmaproof.smt.bundles.writing import Refutations
from mmaproof.smt.proving.composer import Maxima, Sums
from mmaproof.smt.proving.kernel import Kernel, NotComposedError
from mmaproof.smt.solving.limits import Limits
from mmaproof.smt.solving.refuting import Refuter

WIDTH, LIMITS = 4, Limits(60, 1 << 30)


@pytest.fixture
def environment():
    return Environment()


def words(environment, count):
    algebra = TermAlgebra(environment)
    return [algebra.symbol(f"w{i}", WIDTH).data for i in range(count)]


@pytest.fixture
def kernel(environment):
    m = environment.formula_manager
    xs = words(environment, 9)
    root = m.And(*(m.Equals(x, x) for x in xs), m.Not(m.Equals(*xs[:2])))
    with Refuter(1 << 30) as refuter:
        yield Kernel(environment, root, Refutations(refuter, LIMITS).refute)


def test_sums_in_any_order(environment, kernel):
    xs, sums = words(environment, 7), Sums(kernel, WIDTH)
    ys = random.Random(1).sample(xs, len(xs))
    assert not kernel.same(sums.fold(xs), sums.fold(ys))
    sums.prove(xs, ys)
    assert kernel.same(sums.fold(xs), sums.fold(ys))


@pytest.mark.parametrize("order", ["reversed", "random", "random, words twice", "one apart"])
def test_sums_of_many_words_take_few_steps(environment, order):
    m, xs = environment.formula_manager, words(environment, 40)
    root = m.Not(m.Equals(*xs[:2]))
    taken = [*xs[:20], *xs[:20]] if order.endswith("twice") else xs
    ys = taken[::-1] if order == "reversed" else random.Random(2).sample(taken, len(taken))
    ys = [taken[1], taken[0], *taken[2:]] if order == "one apart" else ys
    with Refuter(1 << 30) as refuter:
        kernel = Kernel(environment, m.And(*(m.Equals(x, x) for x in xs), root), Refutations(refuter, LIMITS).refute)
        sums, laws = Sums(kernel, WIDTH), []
        law = sums.law
        sums.law = lambda *given: (laws.append(given), law(*given))
        sums.prove(taken, ys)
    assert kernel.same(sums.fold(taken), sums.fold(ys))
    assert len(laws) == 1 if order == "one apart" else 40 < len(laws) < 260  # 780 exchanges are those of all pairs


def test_compressors(environment, kernel):
    xs, algebra, sums = words(environment, 9), TermAlgebra(environment), Sums(kernel, WIDTH)
    level = xs
    sums.compressed(xs, algebra)
    while len(level) > 2:
        threes = [level[i : i + 3] for i in range(0, len(level), 3)]
        level = [y for x in threes for y in (algebra.compressor(*x, WIDTH) if len(x) == 3 else x)]
    assert kernel.same(sums.fold(level), sums.fold(xs))


@pytest.mark.few(1)
@pytest.mark.parametrize("signed", [False, True])
def test_maxima_in_any_order_grouping_and_width(environment, kernel, signed):
    xs, maxima = words(environment, 5), Maxima(kernel, WIDTH, signed)
    wide = Maxima(kernel, WIDTH + 2, signed)
    repeated = [*xs[:2], xs[0], *xs[2:], xs[3]]
    tree = maxima.of_two(maxima.fold(repeated[:3]), maxima.fold(repeated[3:]))
    flat = maxima.regroup(repeated[:3], repeated[3:])
    distinct = maxima.without_repetitions(flat)
    assert distinct == xs
    maxima.prove(distinct, xs[::-1])
    assert kernel.same(tree, maxima.fold(xs[::-1]))
    wide_words = maxima.widened(xs, WIDTH + 2)
    assert kernel.same(maxima.extended(maxima.fold(xs), WIDTH + 2), wide.fold(wide_words))
    maxima.bound(xs[:1], 0)
    assert kernel.holds(maxima.not_less(xs[0], xs[0]))
    for place, x in enumerate(xs):
        assert not kernel.holds(maxima.not_less(maxima.fold(xs), x))
        maxima.bound(xs, place)
        assert kernel.holds(maxima.not_less(maxima.fold(xs), x))


def test_folds_of_other_words_are_not_proved_equal(environment, kernel):
    xs, sums = words(environment, 4), Sums(kernel, WIDTH)
    with pytest.raises(NotComposedError):
        sums.prove(xs[:3], xs[1:])
    with pytest.raises(NotComposedError):
        sums.prove(xs[:3], xs)
