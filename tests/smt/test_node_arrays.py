"""Every operation on arrays computes what the operation means, and designs computed together are what each is alone."""

from collections.abc import Sequence

import numpy as np
import pytest
from support.sampling import distinct_designs, first_of_each_family

from mmaproof.designs.catalogue import find_design
from mmaproof.designs.errors import DesignError
from mmaproof.smt.algebra.node_arrays import run_on_arrays
from mmaproof.smt.algebra.nodes import (
    COMPARISONS,
    LANES,
    SHIFTS,
    Graph,
    Node,
    Op,
    UndefinedOperationError,
    mask,
    run,
)
from mmaproof.smt.arrays import evaluate_on_arrays
from mmaproof.smt.joint import JointDesigns
from mmaproof.verification.distributions import BASIC, draw

ROWS = 300
RESIZED = {
    Op.ZERO_EXTEND: ((32, 64), (32, 128), (64, 128), (1, 32), (1, 128)),
    Op.SIGN_EXTEND: ((32, 64), (32, 128), (64, 128)),
    Op.TRUNCATE: ((64, 32), (128, 32), (128, 64)),
}
OF_TRUTHS = (Op.AND, Op.OR, Op.XOR, Op.SELECT)
CASES = [
    *(
        (op, bits, bits)
        for op in Op
        if op not in (Op.INPUT, Op.CONSTANT, Op.FUSED_MULTIPLY_ADD, *RESIZED)
        for bits in (LANES if op not in OF_TRUTHS else (1, *LANES))
    ),
    *((op, *widths) for op, pairs in RESIZED.items() for widths in pairs),
]


def word(graph: Graph, name: str, bits: int) -> Node:
    """Any word of ``bits``, of inputs of 32 bits."""
    low, *parts = (graph.input(f"{name}{i}", 32, 32) for i in range(max(bits // 32, 1)))
    if bits == 1:
        return graph.node(Op.LESS_SIGNED, (low, graph.constant(0, 32)), 1)
    total = low if bits == 32 else graph.node(Op.ZERO_EXTEND, (low,), bits)
    for i, part in enumerate(parts, 1):
        wide = graph.node(Op.ZERO_EXTEND, (part,), bits)
        moved = graph.node(Op.SHIFT_LEFT, (wide, graph.constant(32 * i, bits)), bits)
        total = graph.node(Op.OR, (total, moved), bits)
    return total


def drawn(rng: np.random.Generator, names: Sequence[str]) -> dict[str, np.ndarray]:
    """Rows of parts of words: of all sizes, with the ends of the range among them."""
    ends = np.array([0, 1, mask(32), 1 << 31, mask(31), mask(31) << 1], dtype=np.uint32)
    columns = {}
    for name in names:
        any_size = rng.integers(0, 1 << 32, ROWS, dtype=np.uint32) >> rng.integers(0, 32, ROWS, dtype=np.uint32)
        columns[name] = np.where(rng.random(ROWS) < 0.5, ends[rng.integers(0, len(ends), ROWS)], any_size)
    return columns


@pytest.mark.parametrize(("op", "bits", "to_bits"), CASES)
def test_operations_on_arrays(op, bits, to_bits):
    graph = Graph()
    count = {Op.SELECT: 3, Op.MAGNITUDE: 1, Op.LEADING_ZEROS: 1}.get(op, 1 if op in RESIZED else 2)
    operands = [word(graph, name, bits) for name in "xyz"[:count]]
    if op is Op.SELECT:
        operands[0] = word(graph, "x", 1)
    if op in SHIFTS:
        operands[1] = graph.node(Op.AND, (operands[1], graph.constant(bits - 1, bits)), bits)
    if op is Op.LEADING_ZEROS:
        operands[0] = graph.node(Op.OR, (operands[0], graph.constant(1, bits)), bits)
    result = graph.node(op, operands, 1 if op in COMPARISONS else to_bits)
    rng = np.random.default_rng(0)
    columns = drawn(rng, [x.name for x in graph.nodes if x.op is Op.INPUT])
    if op in COMPARISONS:
        for name in columns:
            if name.startswith("y"):
                columns[name] = np.where(rng.random(ROWS) < 0.6, columns["x" + name[1:]], columns[name])
    (found,) = run_on_arrays([result], columns)
    expected = [run([result], {name: int(x[i]) for name, x in columns.items()})[0] for i in range(ROWS)]
    assert np.broadcast_to(found, ROWS).tolist() == expected
    assert len(set(expected)) > 1
    if result.bits <= 64:
        assert found.dtype == {1: np.bool_, 32: np.uint32, 64: np.uint64}[result.bits]


def test_a_node_may_be_used_often_and_be_a_result_twice():
    graph = Graph()
    x = graph.input("x", 32, 32)
    square = graph.node(Op.MULTIPLY, (x, x), 32)
    total = graph.node(Op.ADD, (square, x), 32)
    rows = np.arange(5, dtype=np.uint8)
    found = run_on_arrays([square, total, square, x, graph.constant(7, 32)], {"x": rows})
    assert [np.broadcast_to(y, 5).tolist() for y in found] == [
        [0, 1, 4, 9, 16],
        [0, 2, 6, 12, 20],
        [0, 1, 4, 9, 16],
        [0, 1, 2, 3, 4],
        [7] * 5,
    ]


def test_a_fused_multiply_add_is_not_computed_on_arrays():
    graph = Graph()
    words = [graph.input(name, 32, 32) for name in "xyz"]
    node = graph.node(Op.FUSED_MULTIPLY_ADD, words, 32)
    with pytest.raises(UndefinedOperationError, match="not computed on arrays"):
        run_on_arrays([node], {name: np.zeros(2, np.uint32) for name in "xyz"})


FAMILIES = [*first_of_each_family(distinct_designs()), find_design("ampere/f16.f16.f16.f16")]


@pytest.mark.parametrize("design", FAMILIES, ids=lambda d: d.family)
def test_designs_computed_together_are_what_each_is_alone(design):
    others = [design] if design.family in ("integer", "fma-chain") else [design, design.change(k_order="reversed")]
    joint = JointDesigns(design, design.k)
    nodes = [joint.add(x) for x in others]
    if None in nodes:
        assert design.family == "e-fdpa"
        return
    rng = np.random.default_rng(0)
    for name in BASIC:
        batch = draw(name, design, 60, design.k, rng)
        for other, found in zip(others, joint.results(nodes, batch), strict=True):
            expected = evaluate_on_arrays(other, batch)
            assert found.dtype == expected.dtype
            assert (found == expected).all(), (other.name, name)


def test_settings_that_differ_are_told_apart_in_one_graph():
    design = find_design("volta/mma.m8n8k4.f32.f16.f16.f32")
    others = [design, *(design.change(fraction_bits=x) for x in (8, 12, 22))]
    joint = JointDesigns(design, design.k)
    nodes = [joint.add(x) for x in others]
    assert len(set(nodes)) == len(others)
    batch = draw("normal", design, 400, design.k, np.random.default_rng(0))
    results = joint.results(nodes, batch)
    for other, found in zip(others, results, strict=True):
        assert (found == evaluate_on_arrays(other, batch)).all()
    assert all((results[0] != x).any() for x in results[1:])


def test_designs_of_other_formats_are_refused():
    joint = JointDesigns(find_design("volta/mma.m8n8k4.f32.f16.f16.f32"), 4)
    with pytest.raises(DesignError, match="other formats"):
        joint.add(find_design("volta/mma.m8n8k4.f32.f16.f16.f16"))
