"""A plan's schedule runs on expressions. Proved equations simplify the operations on zeros."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from mmaproof.algorithms.arithmetic import Arithmetic, Cutting
from mmaproof.algorithms.numbers import Number, Span
from mmaproof.algorithms.program import Elements, run
from mmaproof.designs.conversions import Rounding
from mmaproof.designs.design import Design
from mmaproof.designs.formats import Format
from mmaproof.designs.plans.algorithm import OPERANDS
from mmaproof.designs.plans.plan import Plan
from mmaproof.designs.plans.schedule import Split
from mmaproof.properties.gemm.exact_operands import Numbers
from mmaproof.smt.algebra.integers import IntegerAlgebra
from mmaproof.smt.algebra.protocol import Word

_INTEGERS = IntegerAlgebra()

Value = Callable[[Arithmetic[Any, Any], Numbers, Numbers, Number[Any]], Number[Any]]


@dataclass(frozen=True)
class Expression:
    """A number as text, and as a function of the elements of a and b and of c."""

    text: str
    value: Value


ZERO = "+0"


class Substitution(Arithmetic[Any, Any]):
    """Operations on numbers whose words hold an ``Expression``. Operations on +0 are replaced by proved equations.

    ``passed`` are the accumulators that calls without products returned. The equations hold for them if they are in the
    proved range. ``signs_lost`` says whether a zero was added outside the unit, which may change the sign of a zero.
    """

    def __init__(self) -> None:
        super().__init__(_INTEGERS)
        self.passed: set[str] = set()
        self.signs_lost = False

    def zero(self, fmt: Format) -> Number[Any]:
        """Return +0."""
        return _number(fmt, ZERO, lambda arithmetic, a, b, c: arithmetic.zero(fmt))

    def convert(self, label: str, x: Number[Any], fmt: Format, rounding: Rounding) -> Number[Any]:
        """Return ``x`` rounded to ``fmt``."""
        if x.fmt is fmt:
            return x
        held = x.word.data
        if held.text == ZERO:
            return self.zero(fmt)
        return _number(
            fmt,
            f"{fmt.name}({held.text})",
            lambda arithmetic, a, b, c: arithmetic.convert(label, held.value(arithmetic, a, b, c), fmt, rounding),
        )

    def flush(self, label: str, x: Number[Any]) -> Number[Any]:
        """Return ``x``, or a zero of its sign where it is a subnormal number."""
        held = x.word.data
        if held.text == ZERO:
            return x
        return _number(
            x.fmt,
            f"flush({held.text})",
            lambda arithmetic, a, b, c: arithmetic.flush(label, held.value(arithmetic, a, b, c)),
        )

    def scale(self, label: str, x: Number[Any], places: int) -> Number[Any]:
        """Return ``x * 2**places``."""
        held = x.word.data
        if not places or held.text == ZERO:
            return x
        return _number(
            x.fmt,
            f"{held.text} * 2^{places}",
            lambda arithmetic, a, b, c: arithmetic.scale(label, held.value(arithmetic, a, b, c), places),
        )

    def add(self, label: str, x: Number[Any], y: Number[Any], rounding: Rounding = Rounding.RNE) -> Number[Any]:
        """Return ``x + y``. If one of them is +0, it is the other one, except for the sign of a zero."""
        first, second = x.word.data, y.word.data
        if ZERO in (first.text, second.text):
            self.signs_lost = self.signs_lost or first.text != second.text
            return y if first.text == ZERO else x
        return _number(
            x.fmt,
            f"RN({first.text} + {second.text})",
            lambda arithmetic, a, b, c: arithmetic.add(
                label, first.value(arithmetic, a, b, c), second.value(arithmetic, a, b, c), rounding
            ),
        )

    def call(
        self,
        label: str,
        unit: Design,
        a: Sequence[Number[Any]],
        b: Sequence[Number[Any]],
        c: Number[Any],
        scales: tuple[Sequence[Number[Any]], Sequence[Number[Any]]] = ((), ()),
    ) -> Number[Any]:
        """Return the unit's result for ``c + sum_k a[k]*b[k]``. It is c if all elements of a or of b are +0.

        Algorithms run on units without scales. ValueError for others.
        """
        if any(scales):
            raise ValueError(f"{label}: algorithms have no scales of blocks")
        start: Expression = c.word.data
        if any(all(x.word.data.text == ZERO for x in side) for side in (a, b)):
            self.passed.add(start.text)
            return c
        sides = [[x.word.data for x in side] for side in (a, b)]
        names = [f"{s[0].text}..{s[-1].text}" if len(s) > 1 else s[0].text for s in sides]
        return _number(
            unit.d_format,
            f"unit({names[0]}, {names[1]}, {start.text})",
            lambda arithmetic, p, q, r: arithmetic.call(
                label,
                unit,
                [x.value(arithmetic, p, q, r) for x in sides[0]],
                [x.value(arithmetic, p, q, r) for x in sides[1]],
                start.value(arithmetic, p, q, r),
            ),
        )

    def split(self, cut: Split, xs: Sequence[Number[Any]]) -> Cutting[Any]:
        """Return words of numbers that the format of the words holds: the numbers themselves, and +0."""
        others = [[self.zero(cut.fmt)] * len(xs) for _ in range(cut.count - 1)]
        return Cutting(cut.ks, [xs, *others])


def reduced(plan: Plan, k: int) -> tuple[Expression, Substitution]:
    """Return what a plan reduces to if the first words are the operands and the others are +0."""
    arithmetic = Substitution()
    a, b = (
        [_number(fmt, f"{name}{i}", partial(_element, side, i)) for i in range(k)]
        for side, (name, fmt) in enumerate(zip("ab", plan.unit.formats[:2], strict=True))
    )
    c = _number(OPERANDS, "c", lambda _, a, b, c: c)
    found: Expression = run(arithmetic, plan.schedule(k), Elements(a, b, c)).word.data
    return found, arithmetic


def _element(side: int, i: int, _: Arithmetic[Any, Any], a: Numbers, b: Numbers, c: Number[Any]) -> Number[Any]:
    return (a, b)[side][i]


def _number(fmt: Format, text: str, value: Value) -> Number[Any]:
    return Number(fmt, Word[Any](Expression(text, value), fmt.bits, False, _INTEGERS), Span.of_format(fmt))
