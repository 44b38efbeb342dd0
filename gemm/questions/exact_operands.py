"""What an algorithm reduces to if its operands are numbers of the unit's format."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from mmaproof.designs.conversions import Rounding
from mmaproof.designs.design import Design
from mmaproof.gemm.programs.algorithm import OPERANDS
from mmaproof.gemm.programs.arithmetic import Arithmetic
from mmaproof.gemm.programs.numbers import Number, Span
from mmaproof.gemm.programs.plan import Plan
from mmaproof.gemm.programs.program import Elements, run
from mmaproof.gemm.questions.split import OperandLemma, Splitting, Window
from mmaproof.properties.question import Question
from mmaproof.smt.algebra.protocol import Algebra, D, T, Truth, Word
from mmaproof.smt.proving.lemma import Input, Lemma
from mmaproof.smt.semantics import OperandWords, dot_product_accumulate, equal_results
from mmaproof.smt.semantics.unpack import normalised, unpack

Numbers = Sequence[Number[Any]]
Reduced = Callable[[Arithmetic[Any, Any], Numbers, Numbers, Number[Any]], Number[Any]]
"""The program that an algorithm reduces to, on elements of a and b in the unit's format and on c."""


class ResidualsVanish(Lemma):
    """The first word of a number of the unit's format is that number, and every other word is +0."""

    def __init__(self, splitting: Splitting) -> None:
        self.splitting = splitting
        self.inputs = (Input("h", splitting.fmt.bits),)
        name = splitting.fmt.name
        self.name = f"a finite number of {name} is its first word of {splitting.count}, the others are +0"

    def assumption(self, algebra: Algebra[D, T], words: Mapping[str, Word[D]]) -> Truth[T]:
        """Return whether the number is finite, in a pattern whose ignored bits are zero."""
        fmt, h = self.splitting.fmt, words["h"]
        value = unpack(algebra, fmt, h)
        truths = [algebra.negation(algebra.any_of([value.infinite, value.nan]))]
        if fmt.ignored_bits:
            truths.append(algebra.is_value(algebra.extract(h, fmt.ignored_bits - 1, 0), 0))
        return algebra.all_of(truths)

    def claim(self, algebra: Algebra[D, T], words: Mapping[str, Word[D]]) -> Truth[T]:
        """Return whether the words are so."""
        fmt, h = self.splitting.fmt, words["h"]
        x = widened(Arithmetic(algebra), Number(fmt, h, Span.of_format(fmt)))
        first, *others = self.splitting.words(algebra, x.word)
        zeros = [algebra.is_value(n.word, 0) for n in others]
        return algebra.all_of([algebra.equal(first.word, h), *zeros])


class ZerosAddNothing(OperandLemma):
    """A step of the unit whose products all have a factor +0, on the side of ``zeros``, returns c.

    c is called x here. It lies in one of the windows. Without windows it has the pattern ``only``.
    """

    def __init__(self, unit: Design, zeros: str, windows: Sequence[Window], only: int | None = None) -> None:
        super().__init__(windows)
        self.unit, self.zeros, self.only = unit.one_step(), zeros, only
        other = self.other
        self.inputs = (*OperandLemma.inputs, *(Input(f"other{i}", other.bits) for i in range(self.unit.k)))
        stated = "every c of the windows" if only is None else f"c = {OPERANDS.hex(only)}"
        self.name = f"a step whose elements of {zeros} are all +0 returns {stated}"

    @property
    def other(self) -> Any:
        """The format of the elements that are not zero."""
        return self.unit.b_format if self.zeros == "a" else self.unit.a_format

    def assumption(self, algebra: Algebra[D, T], words: Mapping[str, Word[D]]) -> Truth[T]:
        """Return whether c lies in a window, or is ``only``, and the other elements are finite."""
        meant = super().assumption(algebra, words)
        if self.only is not None:
            meant = algebra.is_value(words["x"], self.only)
        values = [unpack(algebra, self.other, words[i.name]) for i in self.inputs[1:]]
        infinite = [t for v in values for t in (v.infinite, v.nan)]
        return algebra.all_of([meant, algebra.negation(algebra.any_of(infinite))])

    def claim(self, algebra: Algebra[D, T], words: Mapping[str, Word[D]]) -> Truth[T]:
        """Return whether d is c, bit by bit."""
        others = [words[i.name] for i in self.inputs[1:]]
        fmt = self.unit.a_format if self.zeros == "a" else self.unit.b_format
        zeros = [algebra.unsigned(0, fmt.bits)] * len(others)
        a, b = (zeros, others) if self.zeros == "a" else (others, zeros)
        d = dot_product_accumulate(self.unit, algebra, OperandWords(a, b, words["x"])).d
        return algebra.equal(d, words["x"])


class ZeroIsNeutral(Lemma):
    """Outside the unit ``x + 0`` is x, except for the sign of a zero, and ``+0 * 2**n`` is +0 for some n.

    x may be any number, an infinity or a NaN.
    """

    inputs = (Input("x", OPERANDS.bits),)

    def __init__(self, places: Sequence[int]) -> None:
        self.places = tuple(places)
        self.name = "outside the unit x + 0 = x but for the sign of a zero, and +0 stays +0 where it is scaled back"

    def claim(self, algebra: Algebra[D, T], words: Mapping[str, Word[D]]) -> Truth[T]:
        """Return whether they are."""
        arithmetic: Arithmetic[D, T] = Arithmetic(algebra)
        x, zero = Number(OPERANDS, words["x"], Span.of_format(OPERANDS)), arithmetic.zero(OPERANDS)
        sums = [arithmetic.add("", x, zero), arithmetic.add("", zero, x)]
        same = [equal_results(algebra, OPERANDS, s.word, x.word, zero_signs=False) for s in sums]
        scaled = [algebra.is_value(arithmetic.scale("", zero, n).word, 0) for n in self.places]
        return algebra.all_of([*same, *scaled])


class ComesDownTo(Question):
    """On finite operands of its unit's format an algorithm returns what a reduced program returns.

    c lies in one of the windows or is +0. With ``negative_zero`` it may be -0 too. With ``up_to_zero_sign`` the results
    +0 and -0 are equal.
    """

    def __init__(
        self,
        plan: Plan,
        reduced: Reduced,
        windows: Sequence[Window],
        *,
        k: int,
        negative_zero: bool,
        up_to_zero_sign: bool,
    ) -> None:
        self.schedule, self.reduced = plan.schedule(k), reduced
        self.windows, self.k = tuple(windows), k
        self.negative_zero, self.up_to_zero_sign = negative_zero, up_to_zero_sign
        self.formats = (plan.unit.a_format, plan.unit.b_format, OPERANDS)
        self.scale_format, self.blocks, self.where = None, 0, ()

    def claim(self, algebra: Algebra[D, T], operands: OperandWords[D]) -> Truth[T]:
        """Return whether the two results are equal."""
        arithmetic: Arithmetic[D, T] = Arithmetic(algebra)
        a, b, (c,) = (
            [Number(f, w, Span.of_format(f)) for w in words]
            for f, words in zip(self.formats, (operands.a, operands.b, (operands.c,)), strict=True)
        )
        wide = [[widened(arithmetic, x) for x in column] for column in (a, b)]
        d = run(arithmetic, self.schedule, Elements(wide[0], wide[1], c))
        expected = self.reduced(arithmetic, a, b, c)
        return equal_results(algebra, OPERANDS, d.word, expected.word, zero_signs=not self.up_to_zero_sign)

    def precondition(self, algebra: Algebra[D, T], operands: OperandWords[D]) -> Truth[T]:
        """Return whether the operands are finite numbers of the unit, and c is in the range."""
        truths = []
        for fmt, words in zip(self.formats[:2], (operands.a, operands.b), strict=True):
            for word in words:
                value = unpack(algebra, fmt, word)
                truths.append(algebra.negation(algebra.any_of([value.infinite, value.nan])))
        c = normalised(algebra, unpack(algebra, OPERANDS, operands.c))
        zero = c.zero if self.negative_zero else algebra.is_value(operands.c, 0)
        truths.append(algebra.any_of([zero, *(w.holds(algebra, c) for w in self.windows)]))
        return algebra.all_of(truths)


def widened(arithmetic: Arithmetic[D, T], x: Number[D]) -> Number[D]:
    """Return a number of the unit's format converted to fp32. The conversion is exact."""
    return arithmetic.convert("fp32", x, OPERANDS, Rounding.RNE)
