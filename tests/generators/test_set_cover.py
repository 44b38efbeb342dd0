"""The fewest sets that hold everything, against trying all choices."""

import itertools

import numpy as np
import pytest

from mmaproof.generators import suite as module
from mmaproof.generators.suite import set_cover


def fewest(sets):
    """The size of a smallest cover, by trying all choices."""
    everything = frozenset().union(*sets)
    return next(
        n for n in range(len(sets) + 1) if any(everything <= set().union(*c) for c in itertools.combinations(sets, n))
    )


@pytest.mark.few(14)
@pytest.mark.parametrize("seed", range(40))
def test_nothing_is_left_out_and_nothing_is_too_much(seed):
    rng = np.random.default_rng(seed)
    size, share = rng.integers(1, 9), rng.choice([0.2, 0.4, 0.6])
    sets = [frozenset(np.flatnonzero(rng.random(size) < share).tolist()) for _ in range(rng.integers(1, 10))]
    chosen = set_cover(sets)
    assert frozenset().union(*(sets[i] for i in chosen)) == frozenset().union(*sets)
    assert len(chosen) == fewest(sets)


GREED_IS_NOT_BEST = [frozenset(x) for x in ({0, 1, 2, 3}, {0, 1, 4}, {2, 3, 5})]


def test_greed_is_not_best():
    assert set_cover(GREED_IS_NOT_BEST) == [1, 2]


def test_without_steps_the_greedy_choice_stays(monkeypatch):
    monkeypatch.setattr(module, "STEPS", 0)
    assert set_cover(GREED_IS_NOT_BEST) == [0, 1, 2]


def test_the_first_of_equal_sets_is_chosen_and_none_where_none_is_needed():
    assert set_cover([frozenset(), frozenset({1}), frozenset({1})]) == [1]
    assert set_cover([frozenset()]) == set_cover([]) == []
