"""Terms as sums: integer combinations of variables modulo a power of two.

Addition, subtraction, negation, complement, multiplication by a constant, shifts by constants and cutting off the
highest bits are homomorphisms of the integers modulo powers of two. So a term built from these has the value of a sum
``constant + sum coefficient * variable``, whatever the order in which its adders take the words. Extension is none of
them: it asks for what is known of the range of a sum, and the caller proves that (``extended``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from pysmt import operators as op
from pysmt.environment import Environment
from pysmt.fnode import FNode

Bounds = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Form:
    """``constant + sum(coefficient * variable)`` modulo ``2**width``, coefficients and constant reduced to the range."""

    width: int
    terms: tuple[tuple[FNode, int], ...]
    constant: int

    @classmethod
    def of(cls, width: int, terms: Iterable[tuple[FNode, int]], constant: int) -> Form:
        """Return the form with one coefficient for each variable, in the order in which the variables were made."""
        mask, total = (1 << width) - 1, dict[FNode, int]()
        for variable, coefficient in terms:
            total[variable] = (total.get(variable, 0) + coefficient) & mask
        kept = sorted(((v, c) for v, c in total.items() if c), key=lambda x: x[0].node_id())
        return cls(width, tuple(kept), constant & mask)

    def plus(self, other: Form) -> Form:
        """Return the sum of two forms of one width."""
        return Form.of(self.width, (*self.terms, *other.terms), self.constant + other.constant)

    def times(self, factor: int) -> Form:
        """Return the multiple."""
        return Form.of(self.width, ((v, c * factor) for v, c in self.terms), self.constant * factor)

    def cut(self, width: int) -> Form:
        """Return the form modulo a smaller power of two."""
        return Form.of(width, self.terms, self.constant)

    def shifted(self, places: int, width: int) -> Form:
        """Return ``2**places`` times the form, modulo ``2**width``, which is at most ``2**(self.width + places)``."""
        return Form.of(width, ((v, c << places) for v, c in self.terms), self.constant << places)

    def centred(self) -> tuple[tuple[tuple[FNode, int], ...], int]:
        """Return coefficients and constant as the integers nearest to zero."""
        half, whole = 1 << (self.width - 1), 1 << self.width

        def near(x: int) -> int:
            return x - whole if x >= half else x

        return tuple((v, near(c)) for v, c in self.terms), near(self.constant)

    def alone(self) -> Form:
        """Return the form without its constant."""
        return Form(self.width, self.terms, 0)


class Linear:
    """Reads terms as forms over variables.

    ``summand`` says of a variable whether it is read in two's complement (None: it is no number; a truth value is 0 or 1). ``extended`` returns
    the form, modulo ``2**width``, of a term of fewer bits extended, or None where nothing is known. ``doubled`` returns
    the form of twice a term, or None; ``bitwise`` that of an exclusive or, or None.
    """

    def __init__(
        self,
        environment: Environment,
        summand: Callable[[FNode], bool | None],
        extended: Callable[[FNode, Form, int, bool], Form | None],
        doubled: Callable[[FNode], Form | None],
        bitwise: Callable[[FNode], Form | None],
    ) -> None:
        self._terms: Any = environment.formula_manager
        self._summand, self._extended, self._doubled, self._bitwise = summand, extended, doubled, bitwise
        self._forms: dict[FNode, Form | None] = {}

    def form(self, term: FNode) -> Form | None:
        """Return the form of a term modulo two to its width; None where it is no sum of variables."""
        pending = [term]
        while pending:
            node = pending[-1]
            missing = [x for x in _parts(node) if x not in self._forms]
            if missing:
                pending += missing
                continue
            pending.pop()
            if node not in self._forms:
                self._forms[node] = self._of(node)
        return self._forms[term]

    def forget(self, term: FNode) -> None:
        """Forget the form of a term, because more is known now."""
        self._forms.pop(term, None)

    def _of(self, node: FNode) -> Form | None:
        width, kind = node.bv_width(), node.node_type()
        if node.is_bv_constant():
            return Form.of(width, (), node.constant_value())
        if node.is_symbol():
            return None if self._summand(node) is None else Form.of(width, ((node, 1),), 0)
        if kind == op.BV_XOR:
            return self._bitwise(node)
        if kind == op.ITE:
            return self._choice(node, width)
        parts = [self._forms[x] for x in _parts(node)]
        if kind == op.BV_CONCAT:
            return self._concatenated(node, width)
        if any(x is None for x in parts) or not parts:
            return None
        x = parts[0]
        if x is None:
            return None
        match kind:
            case op.BV_ADD | op.BV_SUB:
                y = parts[1]
                return None if y is None else x.plus(y if kind == op.BV_ADD else y.times(-1))
            case op.BV_NEG:
                return x.times(-1)
            case op.BV_NOT:
                return x.times(-1).plus(Form.of(width, (), -1))
            case op.BV_MUL:
                y = parts[1]
                if y is None or (x.terms and y.terms):
                    return None
                return x.times(y.constant) if not y.terms else y.times(x.constant)
            case op.BV_LSHL if node.arg(1).is_bv_constant():
                return x.shifted(min(node.arg(1).constant_value(), width), width)
            case op.BV_EXTRACT:
                return x.cut(width) if node.bv_extract_start() == 0 else None
            case op.BV_ZEXT | op.BV_SEXT:
                return self._extension(node.arg(0), x, width, kind == op.BV_SEXT)
        return None

    def _choice(self, node: FNode, width: int) -> Form | None:
        """Return the form of a choice between two constants, whose truth value counts as 0 or 1."""
        condition, yes, no = node.args()
        if not (condition.is_symbol() and yes.is_bv_constant() and no.is_bv_constant()):
            return None
        if self._summand(condition) is None:
            return None
        return Form.of(width, ((condition, yes.constant_value() - no.constant_value()),), no.constant_value())

    def _extension(self, inner: FNode, form: Form, width: int, signed: bool) -> Form | None:
        if not form.terms:
            constant = form.centred()[1] if signed else form.constant
            return Form.of(width, (), constant)
        if inner.is_symbol() and self._summand(inner) is signed:
            return Form.of(width, ((inner, 1),), 0)
        if inner.is_ite():  # of two constants
            ((truth, _),) = form.terms
            first, second = (Form.of(inner.bv_width(), (), x.constant_value()) for x in inner.args()[1:])
            yes, no = (x.centred()[1] if signed else x.constant for x in (first, second))
            return Form.of(width, ((truth, yes - no),), no)
        return self._extended(inner, form, width, signed)

    def _concatenated(self, node: FNode, width: int) -> Form | None:
        high, low = node.args()
        places = low.bv_width()
        if low.is_bv_constant() and low.constant_value() == 0:
            form = self._forms.get(high)
            if form is not None:
                return form.shifted(places, width)
            whole = high.arg(0) if high.is_bv_extract() and high.bv_extract_start() == 0 else high
            twice = self._doubled(whole)
            # 2 * x = F modulo 2**n says what 2**places * x is modulo 2**(n + places - 1)
            if twice is not None and width <= twice.width + places - 1:
                return twice.shifted(places - 1, width)
            return None
        if high.is_bv_constant() and high.constant_value() == 0:
            form = self._forms.get(low)
            return None if form is None else self._extension(low, form, width, signed=False)
        return None


def _parts(node: FNode) -> tuple[FNode, ...]:
    """Return the operands of a node that are words of a sum."""
    kind = node.node_type()
    if node.is_symbol() or node.is_constant():
        return ()
    if kind in (op.BV_ADD, op.BV_SUB, op.BV_MUL, op.BV_CONCAT):
        return tuple(node.args())
    if kind in (op.BV_NEG, op.BV_NOT, op.BV_EXTRACT, op.BV_ZEXT, op.BV_SEXT):
        return (node.arg(0),)
    if kind == op.BV_LSHL:
        return (node.arg(0),) if node.arg(1).is_bv_constant() else ()
    return ()
