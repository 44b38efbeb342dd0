"""The first rows on which designs differ: the same ones however they are computed, and none where time ran out."""

import itertools

import numpy as np
import pytest

from mmaproof.designs.catalogue import find_design
from mmaproof.designs.operands import OperandBatch
from mmaproof.generators.identify import identify as searching
from mmaproof.generators.identify.identify import differing, first_differences
from mmaproof.generators.identify.space import Behaviour, Interface, default_axes, variants
from mmaproof.smt.backends import BACKEND_VARIABLE
from mmaproof.smt.evaluate import evaluate_on_arrays
from mmaproof.verification.distributions import DISTRIBUTIONS, draw

VOLTA = find_design("volta/mma.m8n8k4.f32.f16.f16.f32")
INTERFACE = Interface.of(VOLTA)
COUNT = 3


@pytest.fixture
def rivals():
    behaviour, axes = Behaviour.of(VOLTA), default_axes(INTERFACE)
    names = (("alignment",), ("rho",), ("zero_c",), ("overflow",), ("carry_bits",), ("summation",), ("fraction_bits",))
    found = [x for n in names for x in itertools.islice(variants(behaviour, n, axes, INTERFACE), 5)]
    return [*map(INTERFACE.design, found), INTERFACE.design(behaviour.change(fraction_bits=300))]


@pytest.fixture
def rows():
    rng = np.random.default_rng(5)
    return OperandBatch.concatenate([draw(name, VOLTA, 60, VOLTA.k, rng) for name in DISTRIBUTIONS])


@pytest.mark.few(1)
@pytest.mark.parametrize("backend", ["", "arrays"])
@pytest.mark.parametrize(("at_once", "count"), [(50, COUNT), (8192, COUNT), (50, 1000)])
def test_the_first_rows_are_found(rivals, rows, backend, at_once, count, monkeypatch):
    monkeypatch.setenv(BACKEND_VARIABLE, backend)
    monkeypatch.setattr(searching, "AT_ONCE", at_once)
    ours = evaluate_on_arrays(VOLTA, rows)
    found = first_differences(rivals, rows, ours, count, lambda: False)
    expected = [differing(x, rows, ours, range(len(rows)))[:count] for x in rivals]
    assert found == expected
    # the rows tell some apart, some late ones only, and others not at all
    assert min(map(len, expected)) == 0
    assert max(map(len, expected)) >= COUNT
    assert any(x and x[-1] > 50 for x in expected)


def test_no_rivals(rows):
    assert first_differences([], rows, evaluate_on_arrays(VOLTA, rows), COUNT, lambda: False) == []


@pytest.mark.middle
@pytest.mark.parametrize("backend", ["", "arrays"])
def test_a_search_that_was_not_finished_says_nothing(rivals, rows, backend, monkeypatch):
    monkeypatch.setenv(BACKEND_VARIABLE, backend)
    monkeypatch.setattr(searching, "AT_ONCE", 50)
    ours = evaluate_on_arrays(VOLTA, rows)
    expected = [differing(x, rows, ours, range(len(rows)))[:COUNT] for x in rivals]
    together = () if backend else (len(rivals) + 1, len(rivals) + 3)
    for calls in (0, 5, len(rivals) - 1, *together):
        left = itertools.count()
        found = first_differences(rivals, rows, ours, COUNT, lambda n=left, most=calls: next(n) >= most)
        # a rival without differences is one whose rows were all computed
        assert all(x is None or x == y for x, y in zip(found, expected, strict=True))
        assert None in found
