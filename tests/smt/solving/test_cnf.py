"""The clauses of a query have its models: every operator exhaustively, then whole formulas."""

import itertools
import random
from collections.abc import Callable, Sequence

import pytest
from pysmt.fnode import FNode

from mmaproof.smt.solving.cnf import CIRCUITS, TRUE, Cnf, Gates, encode
from mmaproof.smt.solving.query import BY_NAME, CONST, OPERATORS, SYMBOL, Node, Operator, Query, Typing

MakeFormula = Callable[[int, int], FNode]

# What varies is the width of the operands (0: a truth value) and the indices.
TRUTHS = [((0, 0), ()), ((0, 0, 0), ())]
PAIRS = [((width, width), ()) for width in (1, 2, 3, 4)]
SHAPES: dict[Typing, list[tuple[tuple[int, ...], tuple[int, ...]]]] = {
    Typing.CONNECTIVE: TRUTHS,
    Typing.RELATION: PAIRS,
    Typing.SAME: PAIRS,
    Typing.COMPARE: PAIRS,
    Typing.CONCAT: [((1, 3), ()), ((3, 2), ())],
    Typing.EXTRACT: [((4,), (high, low)) for high in range(4) for low in range(high + 1)],
    Typing.ROTATE: [((4,), (steps,)) for steps in range(5)] + [((1,), (1,))],
    Typing.EXTEND: [((width,), (more,)) for width in (1, 3) for more in (0, 1, 5)],
    Typing.CHOOSE: [((0, 3, 3), ()), ((0, 0, 0), ())],
}
APPLICATIONS = list(
    dict.fromkeys(
        (operator.name, widths[: operator.arity], indices)
        for operator in OPERATORS
        for widths, indices in SHAPES[operator.typing]
    )
)


def application(operator: Operator, widths: Sequence[int], indices: Sequence[int], constant: int | None) -> Query:
    """The query whether an application of the operator to symbols, the last maybe a constant, is the symbol ``r``."""
    nodes = [Node(SYMBOL, width, name=f"x{n}") for n, width in enumerate(widths)]
    if constant is not None:
        nodes[-1] = Node(CONST, widths[-1], value=constant)
    width = operator.result_width(widths, indices)
    nodes.append(Node(operator.name, width, tuple(indices), tuple(range(len(widths)))))
    nodes.append(Node(SYMBOL, width, name="r"))
    same = BY_NAME["iff" if width == 0 else "="]
    return Query((*nodes, Node(same.name, 0, (), (len(nodes) - 2, len(nodes) - 1))))


def propagated(cnf: Cnf, fixed: dict[str, int]) -> dict[str, int]:
    """The values of the symbols once unit propagation from some of them ends; a clause that is left is an error."""
    true = {x if fixed[name] >> n & 1 else -x for name in fixed for n, x in enumerate(cnf.symbols[name])}
    clauses, before = list(cnf.clauses), -1
    while len(true) > before:
        before, undecided = len(true), []
        for clause in clauses:
            if true.isdisjoint(clause):
                left = [x for x in clause if -x not in true]
                assert left, "no contradiction"
                if len(left) == 1:
                    true.add(left[0])
                else:
                    undecided.append(clause)
        clauses = undecided
    assert not clauses, "the inputs determine every gate"
    return cnf.model(sorted(true))


def _span(width: int) -> range:
    return range(1 << max(1, width))


@pytest.mark.few(14)
@pytest.mark.parametrize(("name", "widths", "indices"), APPLICATIONS)
def test_every_operator_is_its_table(name: str, widths: tuple[int, ...], indices: tuple[int, ...]) -> None:
    operator = BY_NAME[name]
    encoded = encode(application(operator, widths, indices, None))
    mask = _span(operator.result_width(widths, indices))[-1]
    for values in itertools.product(*map(_span, widths)):
        found = propagated(encoded, {f"x{n}": value for n, value in enumerate(values)})
        assert found["r"] == operator.evaluate(values, widths, indices) & mask, values


@pytest.mark.few(14)
@pytest.mark.parametrize(
    ("name", "widths"), [(name, widths) for name, widths, _ in APPLICATIONS if len(widths) == 2 and widths[0] == 3]
)
def test_a_constant_operand_makes_no_difference(name: str, widths: tuple[int, ...]) -> None:
    operator = BY_NAME[name]
    mask = _span(operator.result_width(widths, ()))[-1]
    for constant in _span(widths[1]):
        encoded = encode(application(operator, widths, (), constant))
        for value in _span(widths[0]):
            expected = operator.evaluate((value, constant), widths, ()) & mask
            assert propagated(encoded, {"x0": value})["r"] == expected, (value, constant)


def test_there_is_a_circuit_for_every_operator() -> None:
    assert CIRCUITS.keys() == BY_NAME.keys()


@pytest.mark.few(14)
@pytest.mark.parametrize("seed", range(20))
def test_whole_formulas_are_what_they_evaluate_to(make_formula: MakeFormula, seed: int) -> None:
    query = Query.of(make_formula(seed, 100))
    # Asserted is the formula; here it is asked for, so that assignments which it is false for are tried as well.
    encoded = encode(query)
    gates = Cnf(encoded.variables, encoded.clauses[:-1], {**encoded.symbols, "": (encoded.root,)}, encoded.root)
    assert encoded.clauses[-1] == [encoded.root]
    rng = random.Random(seed)
    for _ in range(8):
        values = {name: rng.choice((0, rng.randrange(1 << max(1, w)))) for name, w in query.symbols.items()}
        assert propagated(gates, values)[""] == query.evaluate(values)


def test_gates_that_their_inputs_settle_need_no_clauses() -> None:
    gates = Gates()
    x, y = gates.variable(), gates.variable()
    settled = [gates.all_of((x, TRUE)), gates.all_of((x, x)), gates.any_of((x, -TRUE)), gates.xor(x, -TRUE)]
    settled += [gates.ite(TRUE, x, y), gates.ite(-TRUE, y, x), gates.ite(y, x, x), gates.ite(x, TRUE, -TRUE)]
    assert settled == [x] * len(settled)
    assert [gates.all_of((x, -x)), gates.xor(x, x), gates.xor(x, -x)] == [-TRUE, -TRUE, TRUE]
    assert gates.clauses == [[TRUE]]
    both = gates.all_of((x, y))
    assert gates.all_of((y, x, y)) == both == -gates.any_of((-x, -y))
    assert gates.xor(-x, y) == gates.xor(x, -y) == -gates.xor(y, x)
    assert gates.ite(-x, y, -both) == -gates.ite(x, both, -y)


def test_the_clauses_are_written_as_dimacs() -> None:
    truth = Query((Node(SYMBOL, 0, name="p"), Node(SYMBOL, 0, name="q"), Node("and", 0, (), (0, 1))))
    text = encode(truth).dimacs()
    assert text == "p cnf 4 5\n1 0\n-4 2 0\n-4 3 0\n4 -2 -3 0\n4 0\n"
