"""A query: a formula as a list of nodes, each after its operands, with a canonical text.

The text is sent to the solver process, and it is the key of a query in a store. It contains the whole formula, with the
symbols and their widths. It depends only on the structure of the formula, and not on the order in which its parts were
built. The order of nodes is that of the first visit in a walk that takes operands from left to right.

The text is one JSON array: the name of the form, then one row for each node. A row is ``["symbol", WIDTH, NAME]``,
``["const", WIDTH, "0x..."]`` or ``[OPERATOR, INDEX..., OPERAND...]``. An operand is the position of an earlier row,
counted from 0. WIDTH is in bits, and 0 means a truth value. The last row is the query.

The operators of quantifier-free bit-vector logic. Query text, SMT-LIB and evaluation share one table.

The names are SMT-LIB's, except ``iff``, which SMT-LIB also writes ``=``. A truth value has the width 0.

The query as an SMT-LIB 2 script, for people and for solvers outside this project.
"""

import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum, auto
from functools import cached_property, lru_cache
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from pysmt import operators as op
from pysmt.fnode import FNode
from pysmt.formula import FormulaManager
from pysmt.typing import BOOL

from mmaproof.smt.solving.verdict import MalformedQueryError, UnsupportedFormulaError

TRUTH: Final = 0
"""The width that stands for a truth value."""


class Typing(Enum):
    """How the width of a result follows from the widths of the operands."""

    CONNECTIVE = auto()
    """Truth values to a truth value."""
    RELATION = auto()
    """Bit-vectors of one width to a truth value."""
    SAME = auto()
    """Bit-vectors of one width to that width."""
    COMPARE = auto()
    """Bit-vectors of one width to one bit."""
    CONCAT = auto()
    """Two bit-vectors to the sum of their widths."""
    EXTRACT = auto()
    """Indices high and low, one bit-vector, to high - low + 1 bits."""
    ROTATE = auto()
    """Index steps (at most the width), one bit-vector, to the same width."""
    EXTEND = auto()
    """Index of additional bits, one bit-vector, to that many more bits."""
    CHOOSE = auto()
    """A truth value and two operands of one type to that type."""


@dataclass(frozen=True)
class Operator:
    """One operator.

    ``evaluate(operands, widths, indices)`` computes on unsigned Python integers. ``widths`` are those of the operands
    in bits. The caller keeps the bits of the result that fit.
    """

    name: str
    node_type: int
    arity: int | None
    """Number of operands; None means two or more."""
    indices: int
    """Number of indices, which are in SMT-LIB's order."""
    typing: Typing
    evaluate: Callable[[Sequence[int], Sequence[int], Sequence[int]], int]

    def result_width(self, widths: Sequence[int], indices: Sequence[int]) -> int:
        """Return the width of the result in bits; ``TRUTH`` for a truth value.

        Raises ``MalformedQueryError`` if the widths of the operands or the indices do not fit.
        """
        width = _known_width(self.name, tuple(widths), tuple(indices))
        if width is None:
            raise MalformedQueryError(
                f"{self.name} does not apply to operands of widths {list(widths)} (0: truth value) with "
                f"indices {list(indices)}"
            )
        return width


@lru_cache(maxsize=1 << 16)
def _known_width(name: str, widths: tuple[int, ...], indices: tuple[int, ...]) -> int | None:
    """Return the width of the result of an operator, or None if operands or indices do not fit.

    It is remembered, because formulas apply the same operators to the same widths again and again.
    """
    operator = BY_NAME[name]
    counted = len(widths) >= 2 if operator.arity is None else len(widths) == operator.arity
    if counted and len(indices) == operator.indices and min(indices, default=0) >= 0:
        return _result_width(operator.typing, widths, indices)
    return None


def _result_width(typing: Typing, widths: Sequence[int], indices: Sequence[int]) -> int | None:
    """Return the width of the result, or None if the operands or indices do not fit. Their number is right."""
    first = widths[0]
    alike = TRUTH not in widths and all(width == first for width in widths)
    result = None
    match typing:
        case Typing.CONNECTIVE if not any(widths):
            result = TRUTH
        case Typing.RELATION if alike:
            result = TRUTH
        case Typing.SAME if alike:
            result = first
        case Typing.COMPARE if alike:
            result = 1
        case Typing.CONCAT if TRUTH not in widths:
            result = sum(widths)
        case Typing.EXTRACT if indices[1] <= indices[0] < first:
            result = indices[0] - indices[1] + 1
        case Typing.ROTATE if alike and indices[0] <= first:
            result = first
        case Typing.EXTEND if alike:
            result = first + indices[0]
        case Typing.CHOOSE if first == TRUTH and widths[1] == widths[2]:
            result = widths[1]
    return result


def _signed(value: int, width: int) -> int:
    return value - (1 << width) if value >> (width - 1) else value


def _signed_quotient(left: int, right: int, width: int) -> int:
    """Divide and truncate towards zero. Division by zero gives 1 for a negative dividend, else -1 (SMT-LIB)."""
    dividend, divisor = _signed(left, width), _signed(right, width)
    if divisor == 0:
        return 1 if dividend < 0 else -1
    quotient = abs(dividend) // abs(divisor)
    return quotient if (dividend < 0) == (divisor < 0) else -quotient


def _signed_remainder(left: int, right: int, width: int) -> int:
    """Return the remainder, with the sign of the dividend. By zero it is the dividend (SMT-LIB)."""
    dividend, divisor = _signed(left, width), _signed(right, width)
    if divisor == 0:
        return dividend
    remainder = abs(dividend) % abs(divisor)
    return -remainder if dividend < 0 else remainder


def _rotated_left(value: int, width: int, steps: int) -> int:
    steps %= width
    return (value << steps) | (value >> (width - steps))


# A shift by the width or more is cut short, because Python would build a number of that length.
def _shifted_left(value: int, amount: int, width: int) -> int:
    return value << amount if amount < width else 0


def _extended(value: int, width: int, more: int) -> int:
    return _signed(value, width) & ((1 << (width + more)) - 1)


# v is the values of the operands, w their widths, and i the indices.
_C, _R, _S = Typing.CONNECTIVE, Typing.RELATION, Typing.SAME

OPERATORS: Final[tuple[Operator, ...]] = (
    Operator("not", op.NOT, 1, 0, _C, lambda v, w, i: 1 - v[0]),
    Operator("and", op.AND, None, 0, _C, lambda v, w, i: int(all(v))),
    Operator("or", op.OR, None, 0, _C, lambda v, w, i: int(any(v))),
    Operator("=>", op.IMPLIES, 2, 0, _C, lambda v, w, i: int(v[0] <= v[1])),
    Operator("iff", op.IFF, 2, 0, _C, lambda v, w, i: int(v[0] == v[1])),
    Operator("=", op.EQUALS, 2, 0, _R, lambda v, w, i: int(v[0] == v[1])),
    Operator("ite", op.ITE, 3, 0, Typing.CHOOSE, lambda v, w, i: v[1] if v[0] else v[2]),
    Operator("bvult", op.BV_ULT, 2, 0, _R, lambda v, w, i: int(v[0] < v[1])),
    Operator("bvule", op.BV_ULE, 2, 0, _R, lambda v, w, i: int(v[0] <= v[1])),
    Operator("bvslt", op.BV_SLT, 2, 0, _R, lambda v, w, i: int(_signed(v[0], w[0]) < _signed(v[1], w[1]))),
    Operator("bvsle", op.BV_SLE, 2, 0, _R, lambda v, w, i: int(_signed(v[0], w[0]) <= _signed(v[1], w[1]))),
    Operator("bvcomp", op.BV_COMP, 2, 0, Typing.COMPARE, lambda v, w, i: int(v[0] == v[1])),
    Operator("bvnot", op.BV_NOT, 1, 0, _S, lambda v, w, i: ~v[0]),
    Operator("bvand", op.BV_AND, 2, 0, _S, lambda v, w, i: v[0] & v[1]),
    Operator("bvor", op.BV_OR, 2, 0, _S, lambda v, w, i: v[0] | v[1]),
    Operator("bvxor", op.BV_XOR, 2, 0, _S, lambda v, w, i: v[0] ^ v[1]),
    Operator("bvneg", op.BV_NEG, 1, 0, _S, lambda v, w, i: -v[0]),
    Operator("bvadd", op.BV_ADD, 2, 0, _S, lambda v, w, i: v[0] + v[1]),
    Operator("bvsub", op.BV_SUB, 2, 0, _S, lambda v, w, i: v[0] - v[1]),
    Operator("bvmul", op.BV_MUL, 2, 0, _S, lambda v, w, i: v[0] * v[1]),
    # SMT-LIB defines division by zero as all ones and the remainder by zero as the dividend.
    Operator("bvudiv", op.BV_UDIV, 2, 0, _S, lambda v, w, i: v[0] // v[1] if v[1] else -1),
    Operator("bvurem", op.BV_UREM, 2, 0, _S, lambda v, w, i: v[0] % v[1] if v[1] else v[0]),
    Operator("bvsdiv", op.BV_SDIV, 2, 0, _S, lambda v, w, i: _signed_quotient(v[0], v[1], w[0])),
    Operator("bvsrem", op.BV_SREM, 2, 0, _S, lambda v, w, i: _signed_remainder(v[0], v[1], w[0])),
    Operator("bvshl", op.BV_LSHL, 2, 0, _S, lambda v, w, i: _shifted_left(v[0], v[1], w[0])),
    Operator("bvlshr", op.BV_LSHR, 2, 0, _S, lambda v, w, i: v[0] >> min(v[1], w[0])),
    Operator("bvashr", op.BV_ASHR, 2, 0, _S, lambda v, w, i: _signed(v[0], w[0]) >> min(v[1], w[0])),
    Operator("concat", op.BV_CONCAT, 2, 0, Typing.CONCAT, lambda v, w, i: (v[0] << w[1]) | v[1]),
    Operator("extract", op.BV_EXTRACT, 1, 2, Typing.EXTRACT, lambda v, w, i: v[0] >> i[1]),
    Operator("rotate_left", op.BV_ROL, 1, 1, Typing.ROTATE, lambda v, w, i: _rotated_left(v[0], w[0], i[0])),
    Operator("rotate_right", op.BV_ROR, 1, 1, Typing.ROTATE, lambda v, w, i: _rotated_left(v[0], w[0], -i[0])),
    Operator("zero_extend", op.BV_ZEXT, 1, 1, Typing.EXTEND, lambda v, w, i: v[0]),
    Operator("sign_extend", op.BV_SEXT, 1, 1, Typing.EXTEND, lambda v, w, i: _extended(v[0], w[0], i[0])),
)

BY_NAME: Final[Mapping[str, Operator]] = {operator.name: operator for operator in OPERATORS}
BY_NODE_TYPE: Final[Mapping[int, Operator]] = {operator.node_type: operator for operator in OPERATORS}


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


# A term that is used once is written where it is used, as long as it stays readable. Every other term gets a name, so
# that neither people nor parsers meet deep nesting.
_INLINE_CHARACTERS: Final = 80
_SIMPLE = re.compile(r"[A-Za-z~!$%^&*_+=<>?/-][A-Za-z0-9~!@$%^&*_+=<>.?/-]*", re.ASCII)
_INDEXED: Final = frozenset({"extract", "rotate_left", "rotate_right", "zero_extend", "sign_extend"})
# Words that a script may not use as plain symbols.
_RESERVED: Final = frozenset(
    {"!", "_", "as", "BINARY", "DECIMAL", "exists", "HEXADECIMAL", "forall", "let", "match", "NUMERAL", "par"}
    | {"STRING", "true", "false", "assert", "check-sat", "declare-const", "define-fun", "set-logic", "and", "or"}
    | {"not", "ite", "xor", "distinct", "concat", "extract", "Bool", "BitVec", "=>", "="}
)


def to_smtlib(query: Query, *, comments: Sequence[str] = ()) -> str:
    """Return a script that declares the symbols, asserts the query, and asks for satisfiability and a model.

    The script is printable ASCII. ``comments`` become comment lines at the top, other characters in them escapes. In
    names of symbols, characters that SMT-LIB cannot write (``|``, the backslash, all but printable ASCII) or reserves
    for solvers (``@`` or ``.`` at the beginning) are percent-encoded. So is the percent sign.
    """
    lines = [f"; {plain(line)}" for comment in comments for line in comment.splitlines()]
    lines += ["(set-logic QF_BV)", *asserted(query), "(check-sat)"]
    if query.symbols:
        # a name in bars at the beginning of a list reads as an operator in bundles
        names = sorted(map(quoted, query.symbols), key=lambda name: name.startswith("|"))
        lines.append(f"(get-value ({' '.join(names)}))")
    return "\n".join(lines) + "\n"


def asserted(query: Query) -> list[str]:
    """Return the commands that declare the symbols and assert the query, one for each line of a script."""
    uses = Counter(position for node in query.nodes for position in node.operands)
    prefix = _unused_prefix(query)
    lines = [f"(declare-const {quoted(name)} {sort_text(width)})" for name, width in query.symbols.items()]
    terms: list[str] = []
    for position, node in enumerate(query.nodes):
        term = term_text(node, terms)
        leaf = node.operator in (SYMBOL, CONST)
        if not leaf and (uses[position] > 1 or len(term) > _INLINE_CHARACTERS):
            lines.append(f"(define-fun {prefix}{position} () {sort_text(node.width)} {term})")
            term = f"{prefix}{position}"
        terms.append(term)
    return [*lines, f"(assert {terms[-1]})"]


def term_text(node: Node, terms: Sequence[str]) -> str:
    """Return a node as a term of SMT-LIB. ``terms`` are the texts of the nodes before it."""
    if node.operator == SYMBOL:
        return quoted(node.name)
    if node.operator == CONST:
        return _constant(node.value, node.width)
    operator = "=" if node.operator == "iff" else node.operator
    if operator in _INDEXED:
        operator = f"(_ {operator} {' '.join(map(str, node.indices))})"
    return f"({operator} {' '.join(terms[position] for position in node.operands)})"


def _constant(value: int, width: int) -> str:
    if width == TRUTH:
        return "true" if value else "false"
    # A hexadecimal digit has four bits. Other widths can only be written in binary.
    return f"#{to_hexadecimal(value, width)[1:]}" if width % 4 == 0 else f"#b{value:0{width}b}"


def sort_text(width: int) -> str:
    """Return the sort of words of N bits; 0 for truth values."""
    return "Bool" if width == TRUTH else f"(_ BitVec {width})"


def quoted(name: str) -> str:
    """Return the name of a symbol as scripts have it."""
    name = "".join(_encoded(character, first=position == 0) for position, character in enumerate(name))
    plain = _SIMPLE.fullmatch(name) and name not in _RESERVED and not name.startswith("bv")
    return name if plain else f"|{name}|"


def _encoded(character: str, *, first: bool) -> str:
    if " " <= character <= "~" and character not in "|\\%" and not (first and character in "@."):
        return character
    return "".join(f"%{byte:02X}" for byte in character.encode(errors="surrogatepass"))


def plain(text: str) -> str:
    """Return a line of a comment with escapes in the place of all but printable ASCII."""
    return "".join(x if " " <= x <= "~" else ascii(x)[1:-1] for x in text)


def _unused_prefix(query: Query) -> str:
    """Return a prefix for the names of terms that no symbol of the query has."""
    prefix = "t"
    while any(name.startswith(prefix) for name in query.symbols):
        prefix += "_"
    return prefix
