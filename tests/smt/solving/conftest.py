"""A fresh pySMT environment for every test, and random formulas that use every operator of QF_BV."""

import functools
import random
from collections.abc import Callable, Iterator

import pytest
from pysmt.environment import Environment, pop_env, push_env
from pysmt.fnode import FNode
from pysmt.formula import FormulaManager
from pysmt.typing import BVType

from mmaproof.smt.solving.limits import Limits

WIDTHS = (1, 2, 3, 8, 13)

MakeFormula = Callable[[int, int], FNode]


@pytest.fixture(autouse=True)
def environment() -> Iterator[Environment]:
    # Symbols of one name and two types cannot live in one environment.
    fresh = Environment()
    push_env(fresh)
    yield fresh
    pop_env()


@pytest.fixture
def manager(environment: Environment) -> FormulaManager:
    return environment.formula_manager


@pytest.fixture
def limits() -> Limits:
    """Enough for everything that a test expects to be answered."""
    return Limits(seconds=300.0, memory_bytes=2 << 30)


@pytest.fixture
def make_formula(manager: FormulaManager) -> MakeFormula:
    """Build a random truth value from a seed and a number of steps, over symbols of all WIDTHS."""
    return lambda seed, steps: _random_formula(manager, random.Random(seed), steps)


def _random_formula(manager: FormulaManager, rng: random.Random, steps: int) -> FNode:
    vectors: dict[int, list[FNode]] = {
        width: [manager.Symbol(f"v{width}_{n}", BVType(width)) for n in range(2)] for width in WIDTHS
    }
    truths = [manager.Symbol("p"), manager.Symbol("q")]

    def vector(width: int) -> FNode:
        """A term of this width, made to fit from another width now and then."""
        if rng.random() < 0.15:
            return manager.BV(rng.getrandbits(width), width)
        if rng.random() < 0.7:
            return rng.choice(vectors[width][-6:])
        other = rng.choice(WIDTHS)
        term = rng.choice(vectors[other][-6:])
        if other > width:
            low = rng.randrange(other - width + 1)
            return manager.BVExtract(term, low, low + width - 1)
        extend = rng.choice((manager.BVZExt, manager.BVSExt))
        return extend(term, width - other)

    def truth() -> FNode:
        return rng.choice(truths[-6:])

    binary = [manager.BVAnd, manager.BVOr, manager.BVXor, manager.BVAdd, manager.BVSub, manager.BVMul]
    binary += [manager.BVUDiv, manager.BVURem, manager.BVSDiv, manager.BVSRem]
    binary += [manager.BVLShl, manager.BVLShr, manager.BVAShr]
    relations = [manager.BVULT, manager.BVULE, manager.BVSLT, manager.BVSLE, manager.Equals]
    connectives = [manager.And, manager.Or, manager.Implies, manager.Iff]
    for _ in range(steps):
        width = rng.choice(WIDTHS)
        kind = rng.randrange(8)
        if kind <= 2:
            vectors[width].append(rng.choice(binary)(vector(width), vector(width)))
        elif kind == 3:
            steps_left = rng.randrange(width + 1)
            rotate = functools.partial(rng.choice((manager.BVRol, manager.BVRor)), steps=steps_left)
            vectors[width].append(rng.choice((manager.BVNot, manager.BVNeg, rotate))(vector(width)))
        elif kind == 4:
            vectors[13].append(manager.BVConcat(vector(8), vector(3), vector(2)))
            vectors[1].append(manager.BVComp(vector(width), vector(width)))
        elif kind == 5:
            vectors[width].append(manager.Ite(truth(), vector(width), vector(width)))
        elif kind == 6:
            truths.append(rng.choice(relations)(vector(width), vector(width)))
        else:
            truths.append(rng.choice(connectives)(truth(), truth()))
            truths.append(manager.Ite(truth(), manager.Not(truth()), truth()))
    parts = [manager.Equals(vector(width), vectors[width][-1]) for width in WIDTHS]
    return manager.And(truths[-1], manager.Or(truths[-2], *parts))
