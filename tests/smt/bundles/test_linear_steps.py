"""Sums in another order, and in other adders, are derived step by step; sums of other words are not."""

from types import SimpleNamespace

import numpy as np
import pytest
from pysmt.environment import Environment

from mmaproof.smt.bundles.writing import Refutations
from mmaproof.smt.proving.columns import Columns
from mmaproof.smt.proving.kernel import Kernel, NotComposedError
from mmaproof.smt.proving.laws import LawsInUse
from mmaproof.smt.proving.linear_steps import LinearSteps
from mmaproof.smt.proving.net_relations import Relations
from mmaproof.smt.solving.limits import Limits
from mmaproof.smt.solving.refuting import Refuter

LIMITS = Limits(60, 2 << 30)
WIDTH = 5


@pytest.fixture
def proving():
    """What derives equations of sums of x, y and z, and these words."""
    environment = Environment()
    m = environment.formula_manager
    words = [m.Symbol(name, environment.type_manager.BVType(WIDTH)) for name in "xyz"]
    no_adders = SimpleNamespace(carries_of=lambda _: None, exclusive_of=lambda _: None)
    sums = SimpleNamespace(summands=dict.fromkeys(words, True), forms={}, adders=no_adders)
    rows = [{w.symbol_name(): int(v) for w, v in zip(words, row, strict=True)} for row in np.eye(3, dtype=int)]
    with Refuter(LIMITS.memory_bytes) as refuter:
        root = m.Not(m.Equals(*words[:2]))
        # z is not an operand of the root: what is known of it is that it is equal to itself
        root = m.And(m.Equals(words[2], words[2]), root)
        kernel = Kernel(environment, root, Refutations(refuter, LIMITS).refute)
        laws = LawsInUse(kernel, lambda _: None)
        yield LinearSteps(laws, sums, Relations(environment, Columns(rows)), lambda _: None), kernel, m, words


def equations(m, x, y, z):
    """Pairs of terms that are equal as sums."""
    one = m.BV(1, WIDTH)
    yield m.BVAdd(m.BVAdd(x, y), z), m.BVAdd(z, m.BVAdd(y, x))
    yield m.BVSub(m.BVAdd(x, y), x), y
    yield m.BVAdd(m.BVAdd(m.BVNot(x), one), y), m.BVSub(y, x)
    yield m.BVAdd(m.BVAdd(x, x), x), m.BVMul(x, m.BV(3, WIDTH))
    yield m.BVConcat(m.BVExtract(m.BVAdd(x, y), 0, WIDTH - 2), m.BV(0, 1)), m.BVAdd(m.BVAdd(y, y), m.BVAdd(x, x))
    yield m.BVLShl(m.BVSub(x, y), m.BV(2, WIDTH)), m.BVSub(m.BVMul(x, m.BV(4, WIDTH)), m.BVMul(m.BV(4, WIDTH), y))


def test_equal_sums_are_derived(proving):
    steps, kernel, m, words = proving
    for left, right in equations(m, *words):
        steps.prove(left, right)
        assert kernel.same(left, right)
    assert not kernel.same(words[0], words[1])
    assert not kernel.complete


def test_other_sums_are_not(proving):
    steps, kernel, m, (x, y, z) = proving
    for left, right in ((m.BVAdd(x, y), m.BVAdd(x, z)), (m.BVSub(x, y), m.BVSub(y, x)), (m.BVAdd(x, x), x)):
        with pytest.raises(NotComposedError, match="other words"):
            steps.prove(left, right)
        assert not kernel.same(left, right)
    with pytest.raises(NotComposedError, match="not a sum"):
        steps.prove(m.BVMul(x, y), m.BVMul(y, x))
    assert not kernel.complete
