"""An algorithm's program runs on expressions. Proved equations simplify the operations on zeros."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from mmaproof.algorithms.algorithm import OPERANDS
from mmaproof.algorithms.arithmetic import Arithmetic
from mmaproof.algorithms.numbers import Number, Span
from mmaproof.algorithms.split_gemm import SplitGemm
from mmaproof.designs.conversions import Rounding
from mmaproof.designs.design import Design
from mmaproof.designs.formats import Format
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


def reduced(algorithm: SplitGemm, unit: Design, k: int) -> tuple[Expression, Substitution]:
    """Return what an algorithm reduces to if its first words are the operands and the others are +0."""
    arithmetic = Substitution()

    def element(name: str, fmt: Format, i: int) -> Number[Any]:
        side = "ab".index(name)
        return _number(fmt, f"{name}{i}", lambda _, a, b, c: (a, b)[side][i])

    words = []
    for name, fmt, count in zip("ab", unit.formats[:2], algorithm.products.words, strict=True):
        others = [[arithmetic.zero(fmt)] * k for _ in range(count - 1)]
        words.append([[element(name, fmt, i) for i in range(k)], *others])
    c = _number(OPERANDS, "c", lambda _, a, b, c: c)
    found: Expression = algorithm.accumulate(arithmetic, unit, words[0], words[1], c).word.data
    return found, arithmetic


def _number(fmt: Format, text: str, value: Value) -> Number[Any]:
    return Number(fmt, Word[Any](Expression(text, value), fmt.bits, False, _INTEGERS), Span.of_format(fmt))
