"""Random queries of a few bits, and multipliers, which a solver takes long for."""

import random
from collections.abc import Sequence

from pysmt.environment import Environment
from pysmt.fnode import FNode
from pysmt.typing import BVType

from mmaproof.smt.solving.query import OPERATORS, SYMBOL, TRUTH, Node, Operator, Query


def random_query(
    seed: int, bits: Sequence[int] = (2, 3, 3, TRUTH), steps: int = 25, operators: Sequence[Operator] = OPERATORS
) -> Query:
    """A random truth value over symbols of N bits, with operators of QF_BV."""
    rng = random.Random(seed)
    nodes = [Node(SYMBOL, width, name=f"s{i}") for i, width in enumerate(bits)]
    while len(nodes) < len(bits) + steps or nodes[-1].width != TRUTH:
        operator = rng.choice(operators)
        operands = tuple(rng.randrange(len(nodes)) for _ in range(operator.arity or rng.choice((2, 3))))
        indices = tuple(sorted((rng.randrange(4) for _ in range(operator.indices)), reverse=True))
        try:
            width = operator.result_width([nodes[i].width for i in operands], indices)
        except ValueError:
            continue
        if width <= 8:
            nodes.append(Node(operator.name, width, indices, operands))
    # All truth values together, so that most of the formula matters.
    first, *others = [i for i, node in enumerate(nodes) if node.width == TRUTH]
    for i in others:
        nodes.append(Node("iff", TRUTH, (), (first, i)))
        first = len(nodes) - 1
    return Query(tuple(nodes))


def multipliers(width: int, wrong: int | None = None) -> tuple[Environment, FNode]:
    """The claim that rows of carry-save adders multiply, in an environment of its own; ``wrong`` loses one carry."""
    environment = Environment()
    m = environment.formula_manager
    x, y = (m.Symbol(name, BVType(width)) for name in "xy")
    wide, zero, one = m.BVZExt(x, width), m.BV(0, 2 * width), m.BV(1, 2 * width)
    rows = [
        m.Ite(m.Equals(m.BVExtract(y, i, i), m.BV(1, 1)), m.BVLShl(wide, m.BV(i, 2 * width)), zero)
        for i in range(width)
    ]
    saved, carried = rows[:2]
    for i, row in enumerate(rows[2:]):
        pairs = m.BVOr(m.BVOr(m.BVAnd(saved, carried), m.BVAnd(saved, row)), m.BVAnd(carried, row))
        if i == wrong:
            pairs = m.BVAnd(pairs, m.BV((1 << 2 * width) - 1 - (1 << width), 2 * width))
        saved, carried = m.BVXor(m.BVXor(saved, carried), row), m.BVLShl(pairs, one)
    return environment, m.Equals(m.BVAdd(saved, carried), m.BVMul(wide, m.BVZExt(y, width)))
