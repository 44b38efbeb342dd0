"""The code interpretation: every operation, and every family of designs, computes what integers do."""

import itertools
from collections.abc import Callable, Sequence

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from support.sampling import basic_operands, distinct_designs, first_of_each_family

from mmaproof.designs.design import Design
from mmaproof.designs.element import Operands
from mmaproof.designs.formats import Format
from mmaproof.smt.algebra import code
from mmaproof.smt.algebra.code import CodeAlgebra, TooWideError, Value
from mmaproof.smt.algebra.integers import IntegerAlgebra
from mmaproof.smt.algebra.nodes import (
    COMPARISONS,
    LANES,
    Graph,
    Node,
    Op,
    UndefinedOperationError,
    compute,
    mask,
    needed,
    run,
    signed,
)
from mmaproof.smt.algebra.protocol import Word
from mmaproof.smt.algebra.words import Signal, SignalKind
from mmaproof.smt.native.lowering import lower
from mmaproof.smt.semantics.align import Cut
from mmaproof.smt.trace import evaluate

INTEGERS = IntegerAlgebra()


def in_one_width(operation):
    """An operation on two words of one width, as one on words of any widths."""

    def wider(g, x, y):
        width = max(x.width, y.width)
        return operation(g, g.extend(x, width), g.extend(y, width))

    return wider


UNSIGNED = {
    "bitwise and": in_one_width(lambda g, x, y: g.bitwise_and(x, y)),
    "bitwise or": in_one_width(lambda g, x, y: g.bitwise_or(x, y)),
    "bitwise xor": in_one_width(lambda g, x, y: g.bitwise_xor(x, y)),
    "complement": lambda g, x, y: g.complement(x),
    "wrapped sum": in_one_width(lambda g, x, y: g.wrapped_sum(x, y)),
    "wrapped difference": in_one_width(lambda g, x, y: g.wrapped_difference(x, y)),
    "wrapped product": in_one_width(lambda g, x, y: g.wrapped_product(x, y)),
    "shift left within": lambda g, x, y: g.shift_left_within(x, y),
    "shift right within": lambda g, x, y: g.shift_right_within(x, y),
    "quotient": in_one_width(lambda g, x, y: g.quotient(x, y)),
    "remainder": in_one_width(lambda g, x, y: g.remainder(x, y)),
    "pattern": lambda g, x, y: g.pattern(g.twos_complement(x)),
    "add": lambda g, x, y: x + y,
    "subtract": lambda g, x, y: x - y,
    "multiply": lambda g, x, y: x * y,
    "negate": lambda g, x, y: -x,
    "shift left": lambda g, x, y: (x * y) << 5,
    "shift left by": lambda g, x, y: x.shift_left_by(y.extract(min(y.width, 4) - 1, 0)),
    "shift right": lambda g, x, y: x.shift_right(y),
    "shift right jam": lambda g, x, y: x.shift_right_jam(y),
    "shift right by a constant": lambda g, x, y: x.shift_right(g.unsigned(3, 9)),
    "jam by a constant": lambda g, x, y: x.shift_right_jam(g.unsigned(3, 9)),
    "concatenate": lambda g, x, y: x.concatenate(y),
    "extract": lambda g, x, y: x.extract(x.width - 1, x.width // 2),
    "extract of a negative number": lambda g, x, y: (x - y).extract(max(x.width, y.width), 0),
    "low bits of a negative number": lambda g, x, y: (x - y).extract(0, 0),
    "equal": lambda g, x, y: (x == y).as_bit(),
    "less": lambda g, x, y: (x < y).as_bit(),
    "a bit": lambda g, x, y: x.bit(x.width - 1).as_bit(),
    "a bit of a negative number": lambda g, x, y: (x - y).bit(max(x.width, y.width)).as_bit(),
    "ite": lambda g, x, y: g.ite(x < y, x, y),
    "ite of numbers with a sign": lambda g, x, y: g.ite(x < y, x - y, y.as_signed()),
    "maximum": lambda g, x, y: g.maximum([x, y, x]),
    "maximum of numbers with a sign": lambda g, x, y: g.maximum([x - y, y - x, x.as_signed()]),
    "negated where": lambda g, x, y: x.negated_where(y.bit(0)),
    "drop low": lambda g, x, y: x.drop_low(x.width - 1),
    "drop low of a negative number": lambda g, x, y: (x - y).drop_low(1),
    "normalise": lambda g, x, y: g.normalise(x)[0],
    "normalise, places": lambda g, x, y: g.normalise(x)[1],
    "two's complement": lambda g, x, y: g.twos_complement(x),
    "magnitude": lambda g, x, y: (x - y).magnitude(),
    "signed product": lambda g, x, y: (x - y) * (y - x),
    "junctions": lambda g, x, y: g.any_of([x < y, g.all_of([~(y < x), x.bit(0)]), x.bit(0) ^ (x < y)]).as_bit(),
    "modular sum": lambda g, x, y: g.modular_sum([x - y, y.as_signed(), x.as_signed()], max(x.width - 1, 1)),
    "compressed sum": lambda g, x, y: g.compressed_sum([x - y, y.as_signed(), x.as_signed(), y - x], x.width),
    "bounded sum": lambda g, x, y: g.bounded_sum([x - y, y - x, x.as_signed()], max(x.width, y.width) + 2),
    "signed shift right": lambda g, x, y: (x - y).shift_right(y),
    "narrow": lambda g, x, y: ((x + y) - y).magnitude().narrow(x.width),
    "modular sum of a difference": lambda g, x, y: g.modular_sum([x - y, x.as_signed()], max(x.width - 1, 1)),
    "ite with zero": lambda g, x, y: g.ite(x < y, y.extract(0, 0), g.unsigned(0, 1)),
    "not of an exclusive or": lambda g, x, y: (~(x.bit(0) ^ (x < y))).as_bit(),
}


EXTENDED = {Op.ZERO_EXTEND, Op.SIGN_EXTEND}


def is_well_formed(node: Node) -> bool:
    """Whether the operands of an operation have the widths that the operation asks for."""
    widths = [x.bits for x in node.operands]
    if node.op in COMPARISONS:
        return node.bits == 1 and len(set(widths)) == 1
    if node.op is Op.SELECT:
        return widths == [1, node.bits, node.bits]
    if node.op in EXTENDED or node.op is Op.TRUNCATE:
        return widths[0] != node.bits and (widths[0] < node.bits) == (node.op in EXTENDED)
    return set(widths) <= {node.bits}


@st.composite
def words(draw) -> tuple[int, int, int, int]:
    """A number with its width, and an interval that holds it."""
    width = draw(st.sampled_from([1, 2, 7, 16, 31, 32, 33, 40, 63, 64]))
    x, y, z = (draw(st.integers(0, mask(width)) | st.sampled_from([0, 1, mask(width)])) for _ in range(3))
    least, value, largest = sorted((x, y, z))
    return value, width, least, largest


def known_within(algebra: CodeAlgebra, name: str, word: tuple[int, int, int, int]) -> Word[Value]:
    _, width, least, largest = word
    return algebra.signal(Signal(SignalKind.SUM), algebra.symbol(name, width), (least, largest))


@pytest.mark.few(1)
@pytest.mark.parametrize("name", UNSIGNED)
@given(x=words(), y=words())
def test_operations_compute_what_integers_do(name, x, y):
    algebra, operation = CodeAlgebra(), UNSIGNED[name]
    try:
        result = operation(algebra, known_within(algebra, "x", x), known_within(algebra, "y", y))
    except TooWideError:
        assume(False)
        return
    expected = operation(INTEGERS, INTEGERS.unsigned(*x[:2]), INTEGERS.unsigned(*y[:2]))
    node, least, largest = result.data
    (found,) = run([node], {"x": x[0], "y": y[0]})
    assert (signed(found, node.bits) if least < 0 else found) == expected.data
    assert least <= expected.data <= largest
    assert (result.width, result.signed) == (expected.width, expected.signed)
    assert node.bits in LANES
    assert all(map(is_well_formed, needed([node])))


INTERVALS = [*itertools.combinations_with_replacement(range(5), 2)]
"""All intervals of small numbers: they touch, overlap, and end at and beside powers of two."""


@pytest.mark.few(14)
@pytest.mark.parametrize("name", UNSIGNED)
def test_operations_on_every_small_interval(name):
    operation = UNSIGNED[name]
    for x, y in itertools.product(INTERVALS, INTERVALS):
        algebra = CodeAlgebra()
        words_ = (known_within(algebra, n, (0, 3, *ends)) for n, ends in (("x", x), ("y", y)))
        node, least, largest = operation(algebra, *words_).data
        for numbers in {(x[0], y[0]), (x[0], y[1]), (x[1], y[0]), (x[1], y[1])}:
            (found,) = run([node], dict(zip("xy", numbers, strict=True)))
            expected = operation(INTEGERS, *(INTEGERS.unsigned(n, 3) for n in numbers)).data
            assert (signed(found, node.bits) if least < 0 else found) == expected
            assert least <= expected <= largest


SMALL_IN_WIDE = {
    "drop low": lambda g, x: x.drop_low(40),
    "bits above the lane": lambda g, x: x.extract(32, 31),
    "the bit above the lane": lambda g, x: x.bit(32).as_bit(),
    "a bounded sum": lambda g, x: g.bounded_sum([x, x, -x], 4),
}


@pytest.mark.parametrize("name", SMALL_IN_WIDE)
def test_small_numbers_in_wide_words(name):
    operation = SMALL_IN_WIDE[name]
    for number in range(-8, 8):
        results = []
        for g in (CodeAlgebra(), INTEGERS):
            y = g.symbol("y", 4) if isinstance(g, CodeAlgebra) else g.unsigned(number + 8, 4)
            wide = y.concatenate(g.unsigned(0, 70)).drop_low(70).as_signed() - g.signed(8, 80)
            results.append(operation(g, g.signal(Signal(SignalKind.SUM), wide, (-8, 7))).data)
        (node, least, _), expected = results
        (found,) = run([node], {"y": number + 8})
        assert (signed(found, node.bits) if least < 0 else found) == expected


@pytest.mark.parametrize("name", ["shift right", "shift right jam"])
@pytest.mark.parametrize("width", [31, 32, 63, 64])
def test_amounts_near_the_width_of_a_lane(name, width):
    x = mask(width) - 4
    for bits in LANES:
        for least, largest in itertools.combinations(range(bits - 2, bits + 3), 2):
            algebra = CodeAlgebra()
            words_ = (known_within(algebra, "x", (x, width, 0, x)), known_within(algebra, "y", (0, 9, least, largest)))
            node = UNSIGNED[name](algebra, *words_).data.node
            for amount in range(least, largest + 1):
                expected = UNSIGNED[name](INTEGERS, INTEGERS.unsigned(x, width), INTEGERS.unsigned(amount, 9)).data
                assert run([node], {"x": x, "y": amount}) == [expected]


@pytest.mark.parametrize("bits", LANES)
def test_a_lane_holds_its_ends_and_nothing_beyond(bits):
    half = 1 << (bits - 1)
    assert {code.lane(*ends) for ends in ((0, mask(bits)), (-half, half - 1), (-half, -half), (-1, half - 1))} == {bits}
    for ends in ((0, mask(bits) + 1), (-half - 1, 0), (-1, half)):
        if bits < LANES[-1]:
            assert code.lane(*ends) > bits
        else:
            with pytest.raises(TooWideError):
                code.lane(*ends)


@pytest.mark.few(14)
@pytest.mark.parametrize("op", [x for x in Op if x not in (Op.INPUT, Op.CONSTANT, Op.FUSED_MULTIPLY_ADD)])
def test_constants_are_computed_when_they_are_made(op):
    graph = CodeAlgebra().graph
    lanes = {Op.SELECT: (1, 32, 32), Op.ZERO_EXTEND: (32,), Op.SIGN_EXTEND: (32,), Op.TRUNCATE: (64,)}.get(op, (32, 32))
    given_ = [graph.constant(value, bits) for value, bits in zip((1, 5, 9), lanes, strict=False)]
    bits = 64 if op in (Op.ZERO_EXTEND, Op.SIGN_EXTEND) else 32
    made = graph.node(op, given_, bits)
    assert made.is_constant
    assert made.value == compute(op, [x.value for x in given_], lanes, bits)


def by_name(operands: Operands) -> dict[str, int]:
    columns = {"a": operands.a, "b": operands.b, "sa": operands.scale_a, "sb": operands.scale_b}
    return {"c": operands.c} | {f"{name}{i}": x for name, column in columns.items() for i, x in enumerate(column)}


def wrong_rows(design: Design, rows: int, *, finite: bool = False) -> int:
    """How many of some rows of each distribution the graph gets wrong, or has no meaning for.

    With ``finite``, it is the graph for numbers alone, and every infinity and NaN of a, b and scales is replaced.
    """
    lowered, wrong = lower(design, finite=finite), 0
    d = lowered.d
    assert all(map(is_well_formed, lowered.nodes))
    for batch in basic_operands(design, rows).values():
        for row in range(len(batch)):
            operands = finite_operands(design, batch.row(row)) if finite else batch.row(row)
            try:
                wrong += run([d], by_name(operands)) != [evaluate(design, operands)]
            except UndefinedOperationError:
                wrong += 1
    return wrong


def finite_operands(design: Design, operands: Operands) -> Operands:
    """The operands with the largest number in the place of each infinity and NaN of a, b and scales."""

    def numbers(fmt: Format | None, patterns: tuple[int, ...]) -> tuple[int, ...]:
        if fmt is None or fmt.is_integer:
            return patterns
        infinities = {fmt.infinity, None if fmt.infinity is None else fmt.infinity | 1 << fmt.sign_position}
        ignored = (1 << fmt.ignored_bits) - 1
        return tuple(fmt.max_finite if fmt.is_nan(x) or x & ~ignored in infinities else x for x in patterns)

    scales = (numbers(design.scale_format, x) for x in (operands.scale_a, operands.scale_b))
    return Operands(numbers(design.a_format, operands.a), numbers(design.b_format, operands.b), operands.c, *scales)


FAMILIES = [d for d in first_of_each_family(distinct_designs()) if d.family != "e-fdpa"]


@pytest.mark.few(1)
@pytest.mark.parametrize("design", FAMILIES, ids=lambda d: d.family)
def test_every_family_computes_what_integers_do(design):
    assert wrong_rows(design, 25) == 0


@pytest.mark.few(3)
@pytest.mark.parametrize("design", FAMILIES, ids=lambda d: d.family)
def test_of_numbers_alone_every_family_computes_what_integers_do(design):
    assert wrong_rows(design, 15, finite=True) == 0


def test_what_is_assumed_holds_as_far_as_it_goes():
    algebra = CodeAlgebra()
    x = algebra.symbol("x", 8)
    algebra.assume_within(x.extract(5, 2), 3, 14)
    field = x.extract(5, 2)
    assert (field.data.least, field.data.largest) == (3, 14)
    p, q, r = (x.bit(i) for i in range(3))
    algebra.assume(p & q, holds=False)
    assert algebra.all_of([p, q, r]).data == algebra.truth(False).data
    algebra.assume(p | q, holds=True)
    assert algebra.any_of([p, q, r]).data == algebra.truth(True).data
    assert algebra.all_of([p | q, r]).data == r.data


def test_of_a_number_every_exponent_is_possible_but_that_of_specials():
    algebra, design = CodeAlgebra(), FAMILIES[0]
    lower(design, finite=True, algebra=algebra)
    fmt = design.a_format
    for name in ("a0", "b0"):
        field = algebra.symbol(name, fmt.bits).extract(fmt.bits - 2, fmt.fraction_bits)
        assert (field.data.least, field.data.largest) == (0, (1 << fmt.exponent_bits) - 2)


def test_numbers_wider_than_any_lane_are_refused():
    too_wide = next(d for d in distinct_designs() if d.family == "e-fdpa" and d.a_format.name == "bf16")
    with pytest.raises(TooWideError, match="more than 128 bits"):
        lower(too_wide)


def test_what_is_assumed_of_operands_shortens_the_graph():
    design = FAMILIES[0]
    assert len(lower(design, finite=True).nodes) < 0.8 * len(lower(design).nodes)


def narrow_lane(right: Callable[[int, int], int]) -> Callable[[int, int], int]:
    """A lane that has one bit too few for some numbers."""
    return lambda least, largest: right(least // 2, largest // 2)


def unguarded(right: Callable[..., Node]) -> Callable[..., Node]:
    """Nodes without the bit that keeps a word from being zero."""

    def node(graph: Graph, op: Op, operands: Sequence[Node], bits: int) -> Node:
        guards = op is Op.OR and bits > 1 and operands[1].is_constant and operands[1].value == 1
        return operands[0] if guards else right(graph, op, operands, bits)

    return node


MUTANTS = {
    "lanes one bit too narrow": lambda m: m.setattr(code, "lane", narrow_lane(code.lane)),
    "no clamp of amounts": lambda m: m.setattr(CodeAlgebra, "_at_most", lambda g, amount, most: amount),
    "leading zeros of zero": lambda m: m.setattr(Graph, "node", unguarded(Graph.node)),
    "bounds one bit too tight": lambda m: m.setattr(Cut, "bound", lambda *a, right=Cut.bound: right(*a) // 2),
    "sign extension without signs": lambda m: m.setattr(
        CodeAlgebra, "_in_lane", lambda g, x, bits, right=CodeAlgebra._in_lane: right(g, x._replace(least=0), bits)
    ),
    "comparisons without signs": lambda m: m.setattr(
        CodeAlgebra, "_compared", lambda g, op, _, x, y, right=CodeAlgebra._compared: right(g, op, op, x, y)
    ),
}


@pytest.mark.few(1)
@pytest.mark.parametrize("name", MUTANTS)
def test_a_mutant_of_the_interpretation_is_caught(monkeypatch, name):
    MUTANTS[name](monkeypatch)
    caught = []
    for design in FAMILIES:
        try:
            caught += [design.family] if wrong_rows(design, 25) else []
        except (TooWideError, ArithmeticError, ValueError):
            caught.append(design.family)
        if caught:
            break
    assert caught


def test_assumptions_that_do_not_hold_are_seen_in_the_results():
    design = FAMILIES[0]
    lowered = lower(design, finite=True)
    rng = np.random.default_rng(0)
    infinite = [design.a_format.infinity or 0] + [int(x) for x in rng.integers(0, 99, design.k - 1)]
    operands = Operands(tuple(infinite), tuple([0x3C00] * design.k), 0)
    assert run([lowered.d], by_name(operands)) != [evaluate(design, operands)]
