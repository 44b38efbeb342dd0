"""Terms as sums: integer combinations of variables modulo a power of two.

Addition, subtraction, negation, complement, multiplication by a constant, shifts by constants and cutting off the
highest bits are homomorphisms of the integers modulo powers of two. So a term built from these has the value of a sum
``constant + sum coefficient * variable``, whatever the order in which its adders take the words. Extension is none of
them: it asks for what is known of the range of a sum, and the caller proves that (``extended``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from pysmt import operators as op
from pysmt.environment import Environment
from pysmt.fnode import FNode

Bounds = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Form:
    """``constant + sum(coefficient * variable)`` modulo ``2**width``, coefficients and constant from 0 on."""

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

    ``summand`` says of a variable whether it is read in two's complement (None: not a number); a truth value is 0 or
    1. ``extended`` returns the form, modulo ``2**width``, of a sum of fewer bits extended, or None where nothing is
    known. ``doubled`` returns the form of twice a term, or None; ``bitwise`` that of an exclusive or, or None. ``uses``
    is told in words of which widths a sum is taken apart and put together. ``addend`` returns a variable that stands
    for a term that is not a sum, or None.
    """

    def __init__(
        self,
        environment: Environment,
        summand: Callable[[FNode], bool | None],
        extended: Callable[[Form, int, bool], Form | None],
        doubled: Callable[[FNode], Form | None],
        bitwise: Callable[[FNode], Form | None],
        addend: Callable[[FNode], FNode | None],
        uses: Callable[..., None],
    ) -> None:
        self._terms: Any = environment.formula_manager
        self._summand, self._extended, self._doubled, self._bitwise = summand, extended, doubled, bitwise
        self._addend, self._uses = addend, uses
        self._forms: dict[FNode, Form | None] = {}

    def form(self, term: FNode) -> Form | None:
        """Return the form of a term modulo two to its width; None where it is not a sum of variables."""
        pending = [term]
        while pending:
            node = pending[-1]
            missing = [x for x in _parts(node) if x not in self._forms]
            if missing:
                pending += missing
                continue
            pending.pop()
            if node not in self._forms:
                found = self._of(node)
                self._forms[node] = self._of_addend(node) if found is None else found
        return self._forms[term]

    def _of_addend(self, node: FNode) -> Form | None:
        variable = self._addend(node)
        return None if variable is None else Form.of(node.bv_width(), ((variable, 1),), 0)

    def forget_unknown(self) -> None:
        """Forget which terms are not sums, because more is known now."""
        self._forms = {term: form for term, form in self._forms.items() if form is not None}

    def _of(self, node: FNode) -> Form | None:
        width, kind = node.bv_width(), node.node_type()
        if node.is_bv_constant():
            return Form.of(width, (), node.constant_value())
        if node.is_symbol():
            return None if self._summand(node) is None else Form.of(width, ((node, 1),), 0)
        special = {op.BV_XOR: lambda: self._bitwise(node), op.ITE: lambda: self._choice(node, width)}
        special[op.BV_CONCAT] = lambda: self._concatenated(node, width)
        if kind in special:
            return special[kind]()
        parts = [form for x in _parts(node) if (form := self._forms[x]) is not None]
        if not parts or len(parts) < len(_parts(node)):
            return None
        found = self._combined(node, parts, width)
        if found is not None:
            self._uses(width, *(x.width for x in parts))
        return found

    def _combined(self, node: FNode, parts: Sequence[Form], width: int) -> Form | None:
        """Return the form of an operation on sums."""
        x, last = parts[0], parts[-1]
        found = None
        match node.node_type():
            case op.BV_ADD:
                found = x.plus(last)
            case op.BV_SUB:
                found = x.plus(last.times(-1))
            case op.BV_NEG:
                found = x.times(-1)
            case op.BV_NOT:
                found = x.times(-1).plus(Form.of(width, (), -1))
            case op.BV_MUL if not (x.terms and last.terms):
                found = x.times(last.constant) if not last.terms else last.times(x.constant)
            case op.BV_LSHL:
                found = x.shifted(min(node.arg(1).constant_value(), width), width)
            case op.BV_EXTRACT if node.bv_extract_start() == 0:
                found = x.cut(width)
            case op.BV_ZEXT | op.BV_SEXT:
                found = self._extension(node.arg(0), x, width, node.is_bv_sext())
        return found

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
        if inner.is_ite() and self._choice(inner, inner.bv_width()) is not None:
            # only then is the variable of the form the truth value; elsewhere it stands for the whole choice
            truth, *words = inner.args()
            first, second = (Form.of(inner.bv_width(), (), x.constant_value()) for x in words)
            yes, no = (x.centred()[1] if signed else x.constant for x in (first, second))
            return Form.of(width, ((truth, yes - no),), no)
        return self._extended(form, width, signed)

    def _concatenated(self, node: FNode, width: int) -> Form | None:
        high, low = node.args()
        places = low.bv_width()
        if low.is_bv_constant() and low.constant_value() == 0:
            form = self._forms.get(high)
            if form is not None:
                return self._shifted(form, places, width)
            whole = high.arg(0) if high.is_bv_extract() and high.bv_extract_start() == 0 else high
            twice = self._doubled(whole)
            # 2 * x = F modulo 2**n says what 2**places * x is modulo 2**(n + places - 1)
            if twice is not None and width <= twice.width + places - 1:
                return self._shifted(twice, places - 1, width)
            return None
        if high.is_bv_constant() and high.constant_value() == 0:
            form = self._forms.get(low)
            if form is None:
                return None
            self._uses(places, width)
            return self._extension(low, form, width, signed=False)
        return None

    def _shifted(self, form: Form, places: int, width: int) -> Form:
        """Return a form with zeros below it, and what is above ``width`` cut off."""
        self._uses(form.width, width, form.width + places)
        return form.shifted(places, width)


def in_order(terms: Iterable[FNode]) -> list[FNode]:
    """Return terms in the order in which they were made."""
    return sorted(terms, key=lambda x: x.node_id())


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
