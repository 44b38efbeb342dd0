"""The term of a node has the value that the operation has, for words at and between the ends of every lane."""

import random

import pytest
from pysmt.environment import Environment

from mmaproof.smt.algebra.nodes import COMPARISONS, LANES, SHIFTS, Graph, Op, UndefinedOperationError, run
from mmaproof.smt.native.terms import GraphTerms
from mmaproof.smt.proving.staged_lemmas import Samples

ONE_OPERAND = {Op.MAGNITUDE, Op.LEADING_ZEROS}
OF_TRUTHS = {Op.AND, Op.OR, Op.XOR, Op.EQUAL}
RESIZE = {Op.ZERO_EXTEND, Op.SIGN_EXTEND, Op.TRUNCATE}
OF_WORDS = [op for op in Op if op not in RESIZE | {Op.INPUT, Op.CONSTANT, Op.SELECT, Op.FUSED_MULTIPLY_ADD}]


def words(bits, rng):
    whole = (1 << bits) - 1
    near = [0, 1, 2, whole, whole - 1, whole >> 1, (whole >> 1) + 1, bits - 1, bits]
    return [*near, *(rng.getrandbits(rng.randint(1, bits)) for _ in range(12))]


def agree(node, rows, known=()):
    """Compare the term of a node with the node on rows. Where the node has no meaning, its demand must say so."""
    terms = GraphTerms(Environment())
    for earlier in known:
        terms.of(earlier)
    term = terms.of(node)
    values = Samples(rows).values(term)
    demands = [Samples(rows).values(demand) for _, demand in terms.demands]
    for i, row in enumerate(rows):
        met = all(column[i] for column in demands)
        try:
            (expected,) = run([node], row)
        except UndefinedOperationError:
            assert not met
            continue
        assert met
        assert values[i] == expected, (node, row)


@pytest.mark.few(14)
@pytest.mark.parametrize("bits", LANES)
@pytest.mark.parametrize("op", OF_WORDS)
def test_operations_of_words(op, bits):
    graph, rng = Graph(), random.Random(f"{op} {bits}")
    inputs = [graph.input(name, bits, bits) for name in "xy"]
    node = graph.node(op, inputs[:1] if op in ONE_OPERAND else inputs, 1 if op in COMPARISONS else bits)
    amounts = [0, 1, bits - 1, bits, bits + 1, (1 << bits) - 1]
    ys = amounts if op in SHIFTS else words(bits, rng)
    agree(node, [{"x": x, "y": y} for x in words(bits, rng) for y in ys])


@pytest.mark.parametrize("op", sorted(OF_TRUTHS))
def test_operations_of_truth_values(op):
    graph = Graph()
    x, y = (graph.node(Op.EQUAL, (graph.input(n, 1, 32), graph.constant(1, 32)), 1) for n in "xy")
    agree(graph.node(op, (x, y), 1), [{"x": i, "y": j} for i in (0, 1) for j in (0, 1)])


@pytest.mark.parametrize(
    ("op", "narrow", "wide"), [(op, n, w) for op in sorted(RESIZE) for n in LANES for w in LANES if n < w]
)
def test_resizing(op, narrow, wide):
    graph, rng = Graph(), random.Random(f"{op} {narrow} {wide}")
    before, after = (wide, narrow) if op is Op.TRUNCATE else (narrow, wide)
    node = graph.node(op, (graph.input("x", before, before),), after)
    agree(node, [{"x": x} for x in words(before, rng)])


@pytest.mark.parametrize("bits", [1, *LANES])
def test_choice_and_the_extension_of_a_truth_value(bits):
    graph = Graph()
    condition = graph.node(Op.LESS, (graph.input("x", 32, 32), graph.constant(5, 32)), 1)
    rows = [{"x": x, "y": y, "z": z} for x in (4, 5) for y in (0, 1) for z in (0, 1)]
    if bits == 1:
        y, z = (graph.node(Op.EQUAL, (graph.input(n, 1, 32), graph.constant(1, 32)), 1) for n in "yz")
        agree(graph.node(Op.SELECT, (condition, y, z), 1), rows)
        return
    agree(graph.node(Op.SELECT, (condition, graph.input("y", 8, bits), graph.input("z", 8, bits)), bits), rows)
    for op in (Op.ZERO_EXTEND, Op.SIGN_EXTEND):
        agree(graph.node(op, (condition,), bits), rows)


@pytest.mark.parametrize("bits", LANES)
def test_a_product_with_a_factor_moved_is_the_product_moved(bits):
    """Where the product is known, and where it is not."""
    graph, rng = Graph(), random.Random(bits)
    x, y = (graph.input(name, bits, bits) for name in "xy")
    product = graph.node(Op.MULTIPLY, (x, y), bits)
    for places in (1, 7, bits - 1):
        moved = graph.node(Op.SHIFT_LEFT, (x, graph.constant(places, bits)), bits)
        rows = [{"x": rng.getrandbits(bits), "y": rng.getrandbits(bits)} for _ in range(20)]
        for known in ((), (product,)):
            agree(graph.node(Op.MULTIPLY, (moved, y), bits), rows, known)
        terms = GraphTerms(Environment())
        terms.of(product)
        assert terms.of(graph.node(Op.MULTIPLY, (moved, y), bits)).is_bv_lshl()


def test_a_shift_by_a_constant_demands_nothing_unless_it_is_too_far():
    graph = Graph()
    x = graph.input("x", 32, 32)
    for amount, demands in ((31, 0), (32, 1)):
        terms = GraphTerms(Environment())
        terms.of(graph.node(Op.SHIFT_LEFT, (x, graph.constant(amount, 32)), 32))
        assert len(terms.demands) == demands


def test_an_instruction_of_floating_point_numbers_has_no_term():
    graph = Graph()
    x = graph.input("x", 32, 32)
    node = graph.node(Op.FUSED_MULTIPLY_ADD, (x, x, x), 32)
    with pytest.raises(ValueError, match="fused-multiply-add has no term"):
        GraphTerms(Environment()).of(node)
