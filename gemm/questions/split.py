"""Statements about one fp32 operand and the words that it is split into.

Values are counted in units of the last bit of x, where x is read as a number of 24 significant bits. So words of the
algebra stay narrow, however far the exponents reach. Every word of a split is an integer of these units, because
rounding gives no number a bit below its lowest one. Each claim includes that, so it is not an assumption.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Generic

from mmaproof.designs.design import Design
from mmaproof.designs.formats import Format
from mmaproof.gemm.programs.algorithm import OPERANDS
from mmaproof.gemm.programs.arithmetic import Arithmetic, Number, Span, Step
from mmaproof.gemm.programs.schedule import Split
from mmaproof.gemm.programs.split_gemm import SplitGemm
from mmaproof.smt.algebra.protocol import Algebra, D, T, Truth, Word
from mmaproof.smt.proving.lemma import Input, Lemma
from mmaproof.smt.semantics.align import Cut, align, loses_bits
from mmaproof.smt.semantics.patterns import Unpacked, normalised, unpack
from mmaproof.smt.semantics.terms import Term

EXPONENTS = range(OPERANDS.e_min - OPERANDS.fraction_bits, OPERANDS.e_max + 1)
"""floor(log2|x|) of the nonzero finite fp32 numbers."""
REACH = 2
"""Words that are scaled back reach at most N binary places above x. A word that does not violates every claim."""


@dataclass(frozen=True, slots=True)
class Window:
    """Nonzero numbers of at most ``bits`` significant bits with floor(log2|x|) in low..high."""

    low: int
    high: int
    bits: int = OPERANDS.precision

    def __str__(self) -> str:
        return f"{self.low}..{self.high}"

    def holds(self, algebra: Algebra[D, T], x: Unpacked[D, T]) -> Truth[T]:
        """Return whether ``x``, a normalised fp32 number, is one of them."""
        truths = [
            algebra.negation(algebra.less(x.exponent, algebra.signed(self.low))),
            algebra.negation(algebra.less(algebra.signed(self.high), x.exponent)),
            algebra.negation(algebra.any_of([x.zero, x.infinite, x.nan])),
        ]
        if self.bits < OPERANDS.precision:
            low = algebra.extract(x.significand, OPERANDS.precision - self.bits - 1, 0)
            truths.append(algebra.is_value(low, 0))
        return algebra.all_of(truths)


@dataclass(frozen=True)
class Splitting:
    """How one element is split into words. ``flushes``: subnormal words are read as 0."""

    cut: Split
    flushes: bool

    @classmethod
    def of(cls, algorithm: SplitGemm, unit: Design, operand: str) -> Splitting:
        """Return the split of operand ``a`` or ``b`` by an algorithm that runs on ``unit``."""
        flushed = unit.step.subnormals
        flushes = flushed.of_a if operand == "a" else flushed.of_b
        return cls(replace(algorithm.split(unit, operand, (0,)), side="x"), flushes)

    @property
    def fmt(self) -> Format:
        """The format of the words."""
        return self.cut.fmt

    @property
    def count(self) -> int:
        """How many words there are."""
        return self.cut.count

    def words(self, algebra: Algebra[D, T], x: Word[D]) -> list[Number[D]]:
        """Return the words of a pattern of fp32."""
        return self.split(Arithmetic(algebra), x)

    def read_words(self, algebra: Algebra[D, T], x: Word[D]) -> list[Number[D]]:
        """Return the words as the unit reads them. A unit that flushes subnormal words reads zeros for them."""
        words = self.words(algebra, x)
        if not self.flushes:
            return words
        nothing = algebra.unsigned(0, self.fmt.bits)
        small = [unpack(algebra, self.fmt, n.word).subnormal for n in words]
        return [replace(n, word=algebra.ite(s, nothing, n.word)) for n, s in zip(words, small, strict=True)]

    def split(self, arithmetic: Arithmetic[D, T], x: Word[D]) -> list[Number[D]]:
        """Return the words of a pattern of fp32. ``arithmetic`` notes every operation."""
        number = Number(OPERANDS, x, Span.of_format(OPERANDS))
        return [word for (word,) in arithmetic.split(self.cut, [number]).words]

    def scaled_back(self, i: int) -> Fraction:
        """Return the factor that scales word i back."""
        return Fraction(1, 1 << self.cut.scale * i)


@dataclass(frozen=True, slots=True)
class SplitValues(Generic[D, T]):
    """An operand and its words, scaled back, in units of the last of 24 significant bits of the operand (signed).

    ``sound`` says of each word whether it is finite, in reach, and an integer of units. Otherwise its value has no
    meaning.
    """

    operand: Word[D]
    words: Sequence[Word[D]]
    sound: Sequence[Truth[T]]

    @classmethod
    def of(cls, algebra: Algebra[D, T], splitting: Splitting, x: Word[D]) -> SplitValues[D, T]:
        """Return the values for a pattern of fp32, which must be finite and not zero."""
        operand = normalised(algebra, unpack(algebra, OPERANDS, x))
        top = algebra.add(operand.exponent, algebra.signed(REACH))
        cut = Cut(OPERANDS.fraction_bits + REACH)
        values, sound = [], []
        for i, word in enumerate(splitting.read_words(algebra, x)):
            n = normalised(algebra, unpack(algebra, word.fmt, word.word))
            exponent = algebra.add(n.exponent, algebra.signed(-splitting.cut.scale * i))
            present = algebra.negation(n.zero)
            term = Term(n.fraction_bits, n.negative, exponent, n.significand, present, n.largest)
            above = algebra.all_of([present, algebra.less(top, exponent)])
            # align needs every word to be in reach; one that is not gets a wrong value here, but it is not sound
            term = replace(term, exponent=algebra.ite(above, top, exponent))
            values.append(align(algebra, term, top, cut))
            bad = [above, n.infinite, n.nan, loses_bits(algebra, term, top, cut)]
            sound.append(algebra.negation(algebra.any_of(bad)))
        return cls(algebra.conditional_negate(operand.negative, operand.significand), values, sound)

    def rest(self, algebra: Algebra[D, T], count: int) -> Word[D]:
        """Return the operand minus its first ``count`` words."""
        taken = [algebra.negate(w) for w in self.words[:count]]
        width = max(w.width for w in (self.operand, *taken)) + count.bit_length()
        return algebra.bounded_sum([self.operand, *taken], width)


class OperandLemma(Lemma):
    """A statement about every fp32 number x in one of some windows."""

    inputs: tuple[Input, ...] = (Input("x", OPERANDS.bits),)

    def __init__(self, windows: Sequence[Window]) -> None:
        self.windows = tuple(windows)

    def assumption(self, algebra: Algebra[D, T], words: Mapping[str, Word[D]]) -> Truth[T]:
        """Return whether x is in one of the windows."""
        x = normalised(algebra, unpack(algebra, OPERANDS, words["x"]))
        return algebra.any_of([w.holds(algebra, x) for w in self.windows])

    def operand(self, model: Mapping[str, int]) -> int:
        """Return x in a solver's model of the formula."""
        return model[self.formula.symbols[0].symbol_name()]


class SplitIsExact(OperandLemma):
    """The words, scaled back, add up to x."""

    def __init__(self, splitting: Splitting, windows: Sequence[Window]) -> None:
        super().__init__(windows)
        self.splitting = splitting
        self.name = (
            f"x is the sum of its words ({splitting.count} of {splitting.fmt.name}"
            f"{', as read without subnormals' if splitting.flushes else ''}) in every window of the table"
        )

    def claim(self, algebra: Algebra[D, T], words: Mapping[str, Word[D]]) -> Truth[T]:
        """Return whether they do."""
        values = SplitValues.of(algebra, self.splitting, words["x"])
        rest = values.rest(algebra, self.splitting.count)
        return algebra.all_of([algebra.is_value(rest, 0), *values.sound])


@dataclass(frozen=True, slots=True)
class Part:
    """A part of an operand: word ``i`` scaled back, or with ``rest`` the operand minus words 0..i."""

    i: int
    rest: bool

    def __str__(self) -> str:
        if self.rest:
            return "|x - " + " - ".join(f"x[{j}]" for j in range(self.i + 1)) + "|"
        return f"|x[{self.i}]|"

    def value(self, algebra: Algebra[D, T], values: SplitValues[D, T]) -> tuple[Word[D], Truth[T]]:
        """Return the magnitude of the part, and whether that has a meaning."""
        if self.rest:
            rest = values.rest(algebra, self.i + 1)
            return algebra.magnitude(rest), algebra.all_of(values.sound[: self.i + 1])
        return algebra.magnitude(values.words[self.i]), values.sound[self.i]


class PartIsBounded(OperandLemma):
    """A part of x is at most ``bound * |x|``. The denominator of the bound is a power of two."""

    def __init__(self, splitting: Splitting, part: Part, bound: Fraction, window: Window) -> None:
        super().__init__((window,))
        self.splitting, self.part, self.bound = splitting, part, bound
        most = f"<= {spell(bound)} |x|" if bound else "= 0"
        self.name = f"{part} {most} for exponents {window}"

    def claim(self, algebra: Algebra[D, T], words: Mapping[str, Word[D]]) -> Truth[T]:
        """Return whether it is."""
        values = SplitValues.of(algebra, self.splitting, words["x"])
        found, sound = self.part.value(algebra, values)
        numerator, places = self.bound.numerator, self.bound.denominator.bit_length() - 1
        factor = algebra.unsigned(numerator, max(numerator.bit_length(), 1))
        most = algebra.multiply(algebra.magnitude(values.operand), factor)
        return algebra.all_of([sound, algebra.negation(algebra.less(most, algebra.shift_left(found, places)))])


class WordsAreBounded(OperandLemma):
    """Word i is at most ``2**most[i]`` for zero and every x of a window, and words and residuals are finite."""

    def __init__(self, splitting: Splitting, most: Sequence[int], window: Window) -> None:
        super().__init__((window,))
        self.splitting, self.most = splitting, tuple(most)
        powers = ", ".join(f"|x[{i}]| <= 2^{m}" for i, m in enumerate(most))
        self.name = f"{powers} before scaling back, for exponents {window} and zero"

    def assumption(self, algebra: Algebra[D, T], words: Mapping[str, Word[D]]) -> Truth[T]:
        """Return whether x is zero or in the window."""
        zero = unpack(algebra, OPERANDS, words["x"]).zero
        return algebra.any_of([zero, super().assumption(algebra, words)])

    def claim(self, algebra: Algebra[D, T], words: Mapping[str, Word[D]]) -> Truth[T]:
        """Return whether they are. Patterns of magnitudes have the same order as the magnitudes."""
        arithmetic: Arithmetic[D, T] = Arithmetic(algebra, record=True)
        fmt, truths = self.splitting.fmt, []
        for number, most in zip(self.splitting.split(arithmetic, words["x"]), self.most, strict=True):
            largest = algebra.unsigned(power_pattern(fmt, most), fmt.bits - 1)
            magnitude = algebra.extract(number.word, fmt.bits - 2, 0)
            truths.append(algebra.negation(algebra.less(largest, magnitude)))
        return algebra.all_of([*truths, all_finite(arithmetic)])


def all_finite(arithmetic: Arithmetic[D, T]) -> Truth[T]:
    """Return whether no operation that was noted overflowed."""
    algebra = arithmetic.algebra
    return algebra.negation(algebra.any_of([overflows(algebra, step) for step in arithmetic.steps]))


def overflows(algebra: Algebra[D, T], step: Step[D]) -> Truth[T]:
    """Return whether the floating-point result of an operation is infinite, NaN, or clamped.

    A format without infinities replaces what is beyond its largest number by that number, which is called clamped.
    """
    fmt = step.result.fmt
    if fmt.is_integer:
        return algebra.truth(False)
    value = unpack(algebra, fmt, step.result.word)
    found = [value.infinite, value.nan]
    if step.unit is None and fmt.infinity is None:
        found += [_is_beyond(algebra, x, fmt) for (x,) in step.operands]
    return algebra.any_of(found)


def _is_beyond(algebra: Algebra[D, T], x: Number[D], fmt: Format) -> Truth[T]:
    """Return whether the magnitude of ``x``, of a wider format, is above the largest number of ``fmt``."""
    magnitude = algebra.extract(x.word, x.fmt.sign_position - 1, 0)
    return algebra.less(algebra.unsigned(x.fmt.encode(fmt.largest), magnitude.width), magnitude)


def power_pattern(fmt: Format, exponent: int) -> int:
    """Return the pattern of ``2**exponent``, or of the smallest or largest number if the format does not reach it."""
    if exponent > fmt.e_max:
        return fmt.max_finite
    return fmt.encode(Fraction(2) ** max(exponent, fmt.e_min - fmt.fraction_bits))


def spell(bound: Fraction) -> str:
    """Return as text a bound whose denominator is a power of two: ``2^-11``, ``4095 * 2^-23``."""
    if bound.denominator == 1:
        return str(bound)
    power = f"2^-{bound.denominator.bit_length() - 1}"
    return power if bound.numerator == 1 else f"{bound.numerator} * {power}"
