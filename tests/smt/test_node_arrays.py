"""Nodes on arrays: each operation has the meaning that it has on integers, in every lane and for every kind of word."""

import itertools

import numpy as np
import pytest

from mmaproof.smt.algebra.nodes import COMPARISONS, LANES, SHIFTS, Graph, Op, UndefinedOperationError, mask, run
from mmaproof.smt.joint import run_on_arrays

TYPES = {1: np.uint8, 32: np.uint32, 64: np.uint64, 128: object}
BINARY = [
    *(Op.ADD, Op.SUBTRACT, Op.MULTIPLY, Op.AND, Op.OR, Op.XOR),
    *(Op.MINIMUM, Op.MAXIMUM, Op.MINIMUM_SIGNED, Op.MAXIMUM_SIGNED),
    *sorted(SHIFTS),
    Op.SHIFT_OUT,
    *sorted(COMPARISONS),
]
RESIZED = [
    *((Op.ZERO_EXTEND, x, y) for x, y in itertools.combinations((1, *LANES), 2)),
    *((Op.SIGN_EXTEND, x, y) for x, y in itertools.combinations(LANES, 2)),
    *((Op.TRUNCATE, y, x) for x, y in itertools.combinations(LANES, 2)),
]


def words(bits):
    """Words at the boundaries of a lane and of its fields, and random ones of any length."""
    rng = np.random.default_rng(bits)
    edges = {0, 1, 2, 3, mask(bits), mask(bits) - 1, 1 << (bits - 1), (1 << (bits - 1)) - 1, (1 << (bits - 1)) + 1}
    edges |= {1 << n for n in range(0, bits, 5)} | {mask(n) for n in range(1, bits, 7)}
    edges |= {int.from_bytes(rng.bytes(16)) >> int(rng.integers(0, 127)) for _ in range(12)}
    return sorted({x & mask(bits) for x in edges})


def check(build, columns, bits):
    """Hold a node against integers, in each row; ``build`` makes it of the inputs, which have these widths."""
    graph = Graph()
    inputs = [graph.input(f"x{i}", n, n) for i, n in enumerate(bits)]
    node = build(graph, inputs)
    arrays = {f"x{i}": np.array(x, dtype=TYPES[n]) for i, (x, n) in enumerate(zip(columns, bits, strict=True))}
    (found,) = run_on_arrays([node], arrays)
    expected = [run([node], {name: int(x[row]) for name, x in arrays.items()})[0] for row in range(len(columns[0]))]
    assert np.broadcast_to(found, len(expected)).astype(object).tolist() == expected
    # what it is computed in holds the width, so that the next node finds it as it should be
    assert found.dtype == (np.bool_ if node.bits == 1 else TYPES[node.bits])


@pytest.mark.few(13)
@pytest.mark.parametrize("bits", LANES)
@pytest.mark.parametrize("op", BINARY)
def test_operations_on_two_words(op, bits):
    right = [x for x in words(bits) if x < bits] if op in SHIFTS else words(bits)
    pairs = list(itertools.product(words(bits), right))
    check(lambda g, x: g.node(op, x, 1 if op in COMPARISONS else bits), list(zip(*pairs, strict=True)), (bits, bits))


@pytest.mark.few(14)
@pytest.mark.parametrize("bits", LANES)
@pytest.mark.parametrize("op", BINARY)
def test_a_constant_on_either_side(op, bits):
    column = [x for x in words(bits) if x < bits] if op in SHIFTS else words(bits)
    result = 1 if op in COMPARISONS else bits
    for constant in (3, mask(bits) if op not in SHIFTS else bits - 1):
        check(lambda g, x, n=constant: g.node(op, (x[0], g.constant(n, bits)), result), [words(bits)], (bits,))
        check(lambda g, x, n=constant: g.node(op, (g.constant(n, bits), x[0]), result), [column], (bits,))


@pytest.mark.parametrize("bits", LANES)
@pytest.mark.parametrize("op", [Op.MAGNITUDE, Op.LEADING_ZEROS])
def test_operations_on_one_word(op, bits):
    check(lambda g, x: g.node(op, x, bits), [[x for x in words(bits) if x]], (bits,))


@pytest.mark.parametrize("op", [Op.AND, Op.OR, Op.XOR])
def test_truth_values(op):
    check(lambda g, x: g.node(op, x, 1), [(0, 0, 1, 1), (0, 1, 0, 1)], (1, 1))
    check(lambda g, x: g.node(op, (g.constant(1, 1), x[0]), 1), [(0, 1)], (1,))


@pytest.mark.parametrize("bits", LANES)
def test_choices(bits):
    rows = list(itertools.product((0, 1), words(bits)[::3], words(bits)[::4]))
    check(lambda g, x: g.node(Op.SELECT, x, bits), list(zip(*rows, strict=True)), (1, bits, bits))
    for x, y in ((mask(bits), 5), (5, mask(bits))):
        check(
            lambda g, c, x=x, y=y: g.node(Op.SELECT, (*c, g.constant(x, bits), g.constant(y, bits)), bits),
            [(0, 1)],
            (1,),
        )


@pytest.mark.parametrize(("op", "bits", "to_bits"), RESIZED)
def test_other_widths(op, bits, to_bits):
    check(lambda g, x: g.node(op, x, to_bits), [words(bits)], (bits,))


def test_several_outputs_and_one_of_them_inside_another():
    graph = Graph()
    x = graph.input("x", 32, 32)
    twice = graph.node(Op.ADD, (x, x), 32)
    square = graph.node(Op.MULTIPLY, (twice, twice), 32)
    found = run_on_arrays([square, twice, x, graph.constant(7, 32), twice], {"x": np.arange(4, dtype=np.uint32)})
    assert [y.tolist() for y in found] == [[0, 4, 16, 36], [0, 2, 4, 6], [0, 1, 2, 3], 7, [0, 2, 4, 6]]


def test_a_fused_multiply_add_is_not_computed():
    graph = Graph()
    x = graph.input("x", 32, 32)
    with pytest.raises(UndefinedOperationError, match="fused-multiply-add is not computed on arrays"):
        run_on_arrays([graph.node(Op.FUSED_MULTIPLY_ADD, (x, x, x), 32)], {"x": np.zeros(1, dtype=np.uint32)})
