"""A query: a formula as a list of nodes, each after its operands, with a canonical text.

The text is sent to the solver process, and it is the key of a query in a store. It contains the whole formula, with the
symbols and their widths. It depends only on the structure of the formula, and not on the order in which its parts were
built. The order of nodes is that of the first visit in a walk that takes operands from left to right.

The text is one JSON array: the name of the form, then one row for each node. A row is ``["symbol", WIDTH, NAME]``,
``["const", WIDTH, "0x..."]`` or ``[OPERATOR, INDEX..., OPERAND...]``. An operand is the position of an earlier row,
counted from 0. WIDTH is in bits, and 0 means a truth value. The last row is the query.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from pysmt import operators as op
from pysmt.fnode import FNode
from pysmt.formula import FormulaManager
from pysmt.typing import BOOL

from mmaproof.smt.solving.errors import MalformedQueryError, UnsupportedFormulaError
from mmaproof.smt.solving.operators import BY_NAME, BY_NODE_TYPE, TRUTH

_HEXADECIMAL = re.compile(r"0x[0-9a-f]+", re.ASCII)


def to_hexadecimal(value: int, width: int) -> str:
    """Return ``0x`` and ceil(width/4) lower-case digits; one digit for a truth value (width 0)."""
    return f"0x{value:0{_digits(width)}x}"


def from_hexadecimal(text: object, width: int) -> int:
    """Read what ``to_hexadecimal`` wrote for a value of ``width`` bits (0: a truth value).

    Raises ``ValueError`` for any other spelling.
    """
    digits = _digits(width)
    # The length is checked first, so that a width from a file cannot make Python build a number of that size.
    if isinstance(text, str) and len(text) == 2 + digits and _HEXADECIMAL.fullmatch(text):
        value = int(text, 16)
        if value.bit_length() <= max(1, width):
            return value
    raise ValueError(f"{text!r} is not a value of {width} bits (0: truth value): expected 0x and {digits} digits")


def _digits(width: int) -> int:
    return max(1, -(-width // 4))


FORM: Final = "mmaproof-query-1"
SYMBOL: Final = "symbol"
CONST: Final = "const"


class Node(NamedTuple):
    """One node: a symbol (with ``name``), a constant (with ``value``), or an operator on earlier nodes."""

    operator: str
    width: int
    """In bits; 0 for a truth value."""
    indices: tuple[int, ...] = ()
    operands: tuple[int, ...] = ()
    name: str = ""
    value: int = 0


@dataclass(frozen=True)
class Query:
    """A formula as nodes, each after its operands. The last node is the formula, which is a truth value."""

    nodes: tuple[Node, ...]

    @classmethod
    def of(cls, formula: FNode) -> "Query":
        """Return the query of a pySMT formula. The walk has its own stack, so formulas may be of any depth.

        Raises ``UnsupportedFormulaError`` for a formula that is not a truth value or has a node outside QF_BV.
        """
        nodes, _ = nodes_of([formula])
        if nodes[-1].width != TRUTH:
            raise UnsupportedFormulaError(
                f"a query is a truth value, and this formula is a bit-vector of {nodes[-1].width} bits; "
                "compare it with something"
            )
        return cls(tuple(nodes))

    @classmethod
    def all_of(cls, formulas: Sequence[FNode]) -> "Query":
        """Return the query that all truth values hold. Its last node is the conjunction of them."""
        nodes, positions = nodes_of(formulas)
        return cls((*nodes, Node("and", TRUTH, operands=tuple(positions[x] for x in formulas))))

    @classmethod
    def parse(cls, text: str) -> "Query":
        """Read the canonical text.

        Raises ``MalformedQueryError``, which names the row.
        """
        try:
            form, *rows = json.loads(text)
        except (ValueError, TypeError, RecursionError) as problem:
            raise MalformedQueryError(f"a query is a JSON array that begins with {FORM!r}: {problem}") from None
        if form != FORM or not rows:
            raise MalformedQueryError(f"a query begins with {FORM!r} and has rows, this one begins with {form!r}")
        nodes: list[Node] = []
        for number, row in enumerate(rows):
            try:
                nodes.append(_node_of_row(row, nodes))
            except (ValueError, TypeError) as problem:
                raise MalformedQueryError(f"row {number} of the query, {str(row)[:80]}: {problem}") from None
        if nodes[-1].width != TRUTH:
            raise MalformedQueryError("the last row of a query is a truth value")
        query = cls(tuple(nodes))
        if sum(node.operator == SYMBOL for node in nodes) != len(query.symbols):
            raise MalformedQueryError("a symbol of the query has two rows")
        return query

    @cached_property
    def text(self) -> str:
        """The canonical text."""
        return json.dumps([FORM, *map(_row_of, self.nodes)], separators=(",", ":"))

    @cached_property
    def symbols(self) -> Mapping[str, int]:
        """The symbols in order of first visit: name -> width in bits, 0 for a truth value."""
        return MappingProxyType({node.name: node.width for node in self.nodes if node.operator == SYMBOL})

    def formula(self, manager: FormulaManager) -> FNode:
        """Build the pySMT formula.

        Raises pySMT's ``PysmtTypeError`` if the manager already has one of the symbols with another type.
        """
        built: list[FNode] = []
        for node in self.nodes:
            built.append(_build(node, built, manager))
        return built[-1]

    def evaluate(self, model: Mapping[str, int]) -> bool:
        """Return whether the values (symbol name -> unsigned value, 0 or 1 for a truth value) satisfy the query.

        Raises ``KeyError`` for a symbol without a value.
        """
        values: list[int] = []
        for node in self.nodes:
            if node.operator == SYMBOL:
                value = model[node.name]
            elif node.operator == CONST:
                value = node.value
            else:
                operands = [values[position] for position in node.operands]
                widths = [self.nodes[position].width for position in node.operands]
                value = BY_NAME[node.operator].evaluate(operands, widths, node.indices)
            values.append(value & ((1 << max(1, node.width)) - 1))
        return values[-1] == 1


def nodes_of(formulas: Sequence[FNode]) -> tuple[list[Node], dict[FNode, int]]:
    """Return the nodes of formulas in order, each after its operands from left to right, and the place of each term."""
    positions: dict[FNode, int] = {}
    nodes: list[Node] = []
    for formula in formulas:
        pending = [formula]
        while pending:
            node = pending[-1]
            missing = [operand for operand in node.args() if operand not in positions]
            if missing:
                pending.extend(reversed(missing))
                continue
            pending.pop()
            if node not in positions:
                made = node_of(node, nodes, positions)
                positions[node] = len(nodes)
                nodes.append(made)
    return nodes, positions


def node_of(formula: FNode, nodes: Sequence[Node], positions: Mapping[FNode, int]) -> Node:
    """Return the node of a term. ``nodes`` and ``positions`` have those of its operands.

    Raises ``UnsupportedFormulaError`` for a node outside QF_BV.
    """
    node_type = formula.node_type()
    if node_type == op.SYMBOL:
        return Node(SYMBOL, _width_of_symbol(formula), name=formula.symbol_name())
    if node_type == op.BV_CONSTANT:
        return Node(CONST, formula.bv_width(), value=formula.constant_value())
    if node_type == op.BOOL_CONSTANT:
        return Node(CONST, TRUTH, value=int(formula.constant_value()))
    operator = BY_NODE_TYPE.get(node_type)
    if operator is None:
        raise UnsupportedFormulaError(
            f"{op.op_to_str(node_type)} is not of quantifier-free bit-vector logic (QF_BV); allowed are symbols, "
            f"constants and {', '.join(BY_NAME)}"
        )
    indices = tuple(indices_of(formula))
    operands = tuple(positions[operand] for operand in formula.args())
    width = operator.result_width([nodes[position].width for position in operands], indices)
    return Node(operator.name, width, indices, operands)


def width_of(formula: FNode) -> int:
    """Return the width of a term in bits, 0 for a truth value."""
    while formula.is_ite():
        formula = formula.arg(1)
    if formula.is_symbol():
        return _width_of_symbol(formula)
    is_vector = formula.node_type() == op.BV_CONSTANT or formula.node_type() in op.BV_OPERATORS
    return int(formula.bv_width()) if is_vector else TRUTH


def _width_of_symbol(symbol: FNode) -> int:
    """Return the width in bits; 0 for a truth value. Raise ``UnsupportedFormulaError`` for another type."""
    kind = symbol.symbol_type()
    if kind.is_bool_type():
        return TRUTH
    if kind.is_bv_type():
        return int(kind.width)
    raise UnsupportedFormulaError(
        f"symbol {symbol.symbol_name()!r} has type {kind}; quantifier-free bit-vector logic (QF_BV) has Bool and "
        "bit-vectors, such as BV{16}"
    )


def indices_of(formula: FNode) -> Iterator[int]:
    """Yield the indices of a node, in the order of SMT-LIB."""
    if formula.is_bv_extract():
        yield formula.bv_extract_end()
        yield formula.bv_extract_start()
    elif formula.is_bv_rol() or formula.is_bv_ror():
        yield formula.bv_rotation_step()
    elif formula.is_bv_zext() or formula.is_bv_sext():
        yield formula.bv_extend_step()


def _row_of(node: Node) -> tuple[str | int, ...]:
    if node.operator == SYMBOL:
        return (SYMBOL, node.width, node.name)
    if node.operator == CONST:
        return (CONST, node.width, to_hexadecimal(node.value, node.width))
    return (node.operator, *node.indices, *node.operands)


def _node_of_row(row: list[Any], nodes: list[Node]) -> Node:
    """Return the node of a row. Raise ``ValueError`` or ``TypeError`` for a malformed row."""
    name, *numbers = row
    if name in (SYMBOL, CONST):
        width, payload = numbers
        _require_naturals([width])
        if name == CONST:
            return Node(CONST, width, value=from_hexadecimal(payload, width))
        if not isinstance(payload, str) or not payload:
            raise ValueError(f"a symbol's name is a text that is not empty, not {payload!r}")
        return Node(SYMBOL, width, name=payload)
    operator = BY_NAME.get(name)
    if operator is None:
        raise ValueError(f"unknown operator {name!r}; known are {SYMBOL}, {CONST}, {', '.join(BY_NAME)}")
    _require_naturals(numbers)
    indices, operands = tuple(numbers[: operator.indices]), tuple(numbers[operator.indices :])
    if max(operands, default=0) >= len(nodes):
        raise ValueError("an operand is the position of an earlier row")
    width = operator.result_width([nodes[position].width for position in operands], indices)
    return Node(name, width, indices, operands)


def _require_naturals(numbers: list[Any]) -> None:
    # In Python, JSON's true and false are integers.
    if not all(type(number) is int and number >= 0 for number in numbers):
        raise ValueError(f"widths, indices and operands are integers from 0, not {numbers}")


def _build(node: Node, built: list[FNode], manager: FormulaManager) -> FNode:
    if node.operator == SYMBOL:
        return manager.Symbol(node.name, BOOL if node.width == TRUTH else manager.env.type_manager.BVType(node.width))
    if node.operator == CONST:
        return manager.Bool(bool(node.value)) if node.width == TRUTH else manager.BV(node.value, node.width)
    operator = BY_NAME[node.operator]
    operands = tuple(built[position] for position in node.operands)
    return manager.create_node(operator.node_type, operands, _payload(operator.node_type, node))


def _payload(node_type: int, node: Node) -> tuple[int, ...] | None:
    """Return what pySMT keeps in a node besides its operands: nothing, the width, or the width and the indices."""
    if node_type in op.BV_RELATIONS or node_type not in op.BV_OPERATORS:
        return None
    # pySMT has the low end of an extraction first, and SMT-LIB the high end.
    return (node.width, *reversed(node.indices))
