"""Words of exponents are replaced by functions of the distance, and only where all operands say that they are that."""

import random
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
from pysmt.environment import Environment, get_env
from pysmt.fnode import FNode
from support.in_this_process import InAnyEnvironment

from mmaproof.designs.formats import find_format
from mmaproof.smt.algebra.terms import TermAlgebra
from mmaproof.smt.proving.case_nets import ExponentWords, Operand, rows_of_all_distances
from mmaproof.smt.proving.columns import Columns
from mmaproof.smt.proving.kernel import Kernel
from mmaproof.smt.proving.lemma import Lemmas
from mmaproof.smt.solving.limits import Limits, worked

FORMAT = find_format("e3m1")
FIELD, BITS = (1, 3), 6
ALL = [
    {"a": a, "b": b, "c": c}
    for a in range(1 << FORMAT.bits)
    for b in range(1 << FORMAT.bits)
    for c in range(1 << FORMAT.bits)
]


def exponent(m: Any, x: FNode) -> FNode:
    field = m.BVExtract(x, *FIELD)
    return m.Ite(m.Equals(field, m.BV(0, 3)), m.BV(1, BITS), m.BVZExt(field, BITS - 3))


def word_of_exponents(rng: random.Random, m: Any, of_product: FNode, of_c: FNode, operands: list[FNode]) -> FNode:
    """A word as datapaths have them; in a third of all cases it is another one for one pair of operands."""
    p, c = (m.BVAdd(x, m.BV(rng.randrange(1 << BITS), BITS)) for x in (of_product, of_c))
    if rng.random() < 0.7:
        p, c = of_product, of_c
    if rng.random() < 0.33:
        rare = m.And(*(m.Equals(x, m.BV(rng.randrange(1 << FORMAT.bits), FORMAT.bits)) for x in operands[:2]))
        p = m.BVAdd(p, m.Ite(rare, m.BV(1, BITS), m.BV(0, BITS)))
    apart, limit = m.BVSub(p, c), m.BV(rng.randrange(-6, 7) % (1 << BITS), BITS)
    ways: list[Callable[[], FNode]] = [
        lambda: m.BVAdd(p, limit),
        lambda: m.BVSub(c, p),
        lambda: m.BVExtract(m.BVSub(limit, apart), 0, 3),
        lambda: m.BVSExt(m.Ite(m.BVSLT(p, c), c, p), 4),
        lambda: m.BVSub(m.Ite(m.BVSLT(p, c), c, p), c),
        lambda: m.Ite(m.BVSLT(apart, limit), limit, apart),
        lambda: m.Ite(m.BVSLE(limit, apart), m.BV(0, BITS), m.BVSub(limit, apart)),
        lambda: m.Ite(m.BVSLT(apart, limit), m.BV(1, 1), m.BV(0, 1)),
        lambda: m.BVXor(p, c),
        lambda: m.BVMul(apart, apart),
    ]
    return rng.choice(ways)()


def replaced(seed: int) -> Counter[str]:
    """Count the words that are replaced in a random claim; each must be what it is replaced by for all operands."""
    rng = random.Random(seed)
    with Environment():
        environment = get_env()
        m, algebra = environment.formula_manager, TermAlgebra(environment)
        operands = [algebra.symbol(x, FORMAT.bits).data for x in "abc"]
        a, b, addend = (exponent(m, x) for x in operands)
        of_product = m.BVAdd(a, b)
        words = [word_of_exponents(rng, m, of_product, addend, operands) for _ in range(3)]
        root = m.And(*(m.Equals(x, m.BVNot(x)) for x in words))
        lemmas = Lemmas(InAnyEnvironment().ask, Limits(60, 4 << 30), worked(), environment)
        kernel = Kernel(environment, root, lemmas.refute)
        distance, meaning = algebra.symbol("distance", BITS).data, m.BVSub(of_product, addend)
        kernel.define(distance, meaning)
        found = rows_of_all_distances(*(Operand(x, FORMAT, None) for x in "abc"))
        rows = [x for some in found.values() for x in some]
        if seed % 4 == 0:
            rows = rng.sample(rows, 6)  # which suggest much that is wrong
        places = ExponentWords(kernel, distance, addend, [], rows).places(root, frozenset(operands[:2]))
        every = Columns(ALL)
        every.define(distance, every.values(meaning))
        for word, image in places.items():
            assert (every.values(word) == every.values(image)).all(), f"{word} is not {image}"
            assert kernel.same(word, image)
        of_whole = Counter("whole" if x in places or x.arg(0) in places else "none" for x in words)
        return Counter({"replaced": len(places), **of_whole})


def test_what_is_replaced_is_that_for_all_operands() -> None:
    found = sum((replaced(seed) for seed in range(12)), Counter())
    assert found["replaced"] > 15
    assert found["none"] > 3  # what no function of the distance is


@pytest.mark.slow
def test_more_of_what_is_replaced_is_that_for_all_operands() -> None:
    found = sum((replaced(seed) for seed in range(12, 400)), Counter())
    assert found["replaced"] > 500 < found["whole"]


@pytest.mark.parametrize("constant", [None, FORMAT.encode(1), 1])
def test_samples_have_all_distances(constant: int | None) -> None:
    """Of an addition one factor is a constant: the one, or here a subnormal number, too."""
    found = rows_of_all_distances(*(Operand(x, FORMAT, constant if x == "b" else None) for x in "abc"))
    fields = {d: [[max(row[x] >> 1 & 7, 1) for x in "abc"] for row in rows] for d, rows in found.items()}
    offset = FORMAT.e_min - 1
    assert {x + y - z + offset - d for d, rows in fields.items() for x, y, z in rows} == {0}
    of_b = (1, 6) if constant is None else (max(constant >> 1 & 7, 1),) * 2
    assert {d - offset for d, rows in fields.items() if rows} == set(range(1 + of_b[0] - 6, 6 + of_b[1]))
    assert all(1 <= z <= 6 for rows in fields.values() for row in rows for z in row)
