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
Operation = Callable[[FNode, FNode], FNode]
Operations = dict[str, Operation]


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
def a(manager: FormulaManager) -> FNode:
    return manager.Symbol("a", BVType(8))


@pytest.fixture
def five(manager: FormulaManager, a: FNode) -> FNode:
    """That a is 5."""
    return manager.Equals(a, manager.BV(5, 8))


@pytest.fixture
def limits() -> Limits:
    """Enough for everything that a test expects to be answered."""
    return Limits(seconds=300.0, memory_bytes=2 << 30)


@pytest.fixture
def make_formula(manager: FormulaManager) -> MakeFormula:
    """Build a random truth value from a seed and a number of steps, over symbols of all WIDTHS."""
    return lambda seed, steps: _random_formula(manager, random.Random(seed), steps)


@pytest.fixture
def make_operations(manager: FormulaManager) -> Callable[[int], Operations]:
    """Build, for a width of 2 bits or more, every operator of QF_BV as a function of two bit-vectors."""
    return lambda width: _operations(manager, width)


def _operations(m: FormulaManager, width: int) -> Operations:
    def bit(relation: Operation) -> Operation:
        return lambda x, y: m.Ite(relation(x, y), m.BV(1, 1), m.BV(0, 1))

    def top(x: FNode) -> FNode:
        return m.Equals(m.BVExtract(x, width - 1, width - 1), m.BV(1, 1))

    return {
        **{f: getattr(m, f) for f in ("BVAnd", "BVOr", "BVXor", "BVAdd", "BVSub", "BVMul", "BVConcat", "BVComp")},
        **{f: getattr(m, f) for f in ("BVUDiv", "BVURem", "BVSDiv", "BVSRem", "BVLShl", "BVLShr", "BVAShr")},
        **{f: bit(getattr(m, f)) for f in ("BVULT", "BVULE", "BVSLT", "BVSLE", "Equals")},
        "And": bit(lambda x, y: m.And(top(x), top(y))),
        "Or": bit(lambda x, y: m.Or(top(x), top(y))),
        "Not": bit(lambda x, y: m.Not(top(x))),
        "Implies": bit(lambda x, y: m.Implies(top(x), top(y))),
        "Iff": bit(lambda x, y: m.Iff(top(x), top(y))),
        "BVNot": lambda x, y: m.BVNot(x),
        "BVNeg": lambda x, y: m.BVNeg(x),
        **{f"BVRol {n}": (lambda x, y, n=n: m.BVRol(x, n)) for n in range(width + 1)},
        **{f"BVRor {n}": (lambda x, y, n=n: m.BVRor(x, n)) for n in range(width + 1)},
        **{f"BVZExt {n}": (lambda x, y, n=n: m.BVZExt(x, n)) for n in range(2)},
        **{f"BVSExt {n}": (lambda x, y, n=n: m.BVSExt(x, n)) for n in range(3)},
        "BVExtract low": lambda x, y: m.BVExtract(x, 0, width - 2),
        "BVExtract high": lambda x, y: m.BVExtract(x, 1, width - 1),
        "Ite": lambda x, y: m.Ite(m.BVULT(x, y), x, m.BVNot(y)),
    }


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
