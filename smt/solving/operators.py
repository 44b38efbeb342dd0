"""The operators of quantifier-free bit-vector logic. Query text, SMT-LIB and evaluation share one table.

The names are SMT-LIB's, except ``iff``, which SMT-LIB also writes ``=``. A truth value has the width 0.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum, auto
from functools import lru_cache
from typing import Final

from pysmt import operators as op

from mmaproof.smt.solving.errors import MalformedQueryError

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
