"""Bounds of a program's numbers: its schedule runs on polynomials in the operands, with an error and a magnitude.

All elements of a row or a column have the same bound, so one element stands for all of them. When an operand is split
into words, every rounding becomes a symbol with a bound of its own. So the residual ``x - w`` of a word ``w = x + r``
is ``-r`` and its bound is not as large as that of x. The losses of sums are added up in ``error``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import ceil, floor, prod
from typing import Any, assert_never

from mmaproof.designs.conversions import OutOfRange, Rounding
from mmaproof.designs.design import Design
from mmaproof.designs.errors import InputError
from mmaproof.designs.formats import Format
from mmaproof.designs.steps import Guarantee
from mmaproof.gemm.programs.algorithm import OPERANDS
from mmaproof.gemm.programs.arithmetic import Arithmetic, Cutting
from mmaproof.gemm.programs.linear import constant
from mmaproof.gemm.programs.numbers import Number, Span
from mmaproof.gemm.programs.schedule import EXPONENT, Cut, Residues, Slices, Split
from mmaproof.smt.algebra.integers import IntegerAlgebra
from mmaproof.smt.algebra.protocol import Word
from mmaproof.smt.semantics.terms import ZERO_EXPONENT

_INTEGERS = IntegerAlgebra()

Monomial = tuple[str, ...]
"""The names of symbols. Two symbols stand for the products of an element of a row and one of a column."""

_NEAREST = (Rounding.RNE, Rounding.RNA)
_AWAY = (Rounding.RTN, Rounding.RTP, Rounding.RTO)
"""Roundings that may take a tiny number to one that is much larger."""


class NoBoundError(InputError):
    """There is no bound. The text says why."""


@dataclass(frozen=True, slots=True)
class Enclosure:
    """A number ``sum coefficient * monomial + e`` with ``|e| <= error`` and a magnitude of at most ``most``."""

    terms: Mapping[Monomial, Fraction]
    error: Fraction
    most: Fraction

    def times(self, factor: Fraction | int) -> Enclosure:
        """Return the number times a constant."""
        factor = Fraction(factor)
        terms = {m: x * factor for m, x in self.terms.items()}
        return Enclosure(terms, self.error * abs(factor), self.most * abs(factor))

    def plus(self, other: Enclosure) -> Enclosure:
        """Return the sum of two numbers."""
        terms = dict(self.terms)
        for m, x in other.terms.items():
            terms[m] = terms.get(m, Fraction(0)) + x
        return Enclosure(terms, self.error + other.error, self.most + other.most)

    def product(self, other: Enclosure) -> Enclosure:
        """Return the product of two numbers."""
        terms = {(*m, *n): x * y for m, x in self.terms.items() for n, y in other.terms.items()}
        error = self.error * other.most + (self.most + self.error) * other.error
        return Enclosure(terms, error, self.most * other.most)


ZERO = Enclosure({}, Fraction(0), Fraction(0))


class EnclosureArithmetic(Arithmetic[Any, Any]):
    """Operations on numbers whose words hold an ``Enclosure``. ``sizes`` are the bounds of the symbols.

    The operations raise NoBoundError if a number might not be finite. ``operands`` are the elements of a and b, and
    ``rounded_operands`` what rounding to the unit's format makes of them, where something does. With ``whole`` every
    sum outside the unit, and what is converted, is taken to be as large as that at least.
    """

    def __init__(self, sizes: dict[str, Fraction], whole: Fraction = Fraction(0)) -> None:
        super().__init__(_INTEGERS)
        self.sizes, self.whole = sizes, whole
        self.operands: dict[str, Enclosure] = {}
        self.rounded_operands: dict[str, Enclosure] = {}
        self._cut: dict[Cut, Cutting[Any]] = {}

    def operand(self, side: str, fmt: Format) -> Number[Any]:
        """Return an element of ``a`` or ``b``, a number of fp32 of a known size, rounded to ``fmt``."""
        element = Enclosure({(side,): Fraction(1)}, Fraction(0), self.sizes[side])
        found = WordArithmetic(self.sizes).convert(side, number(OPERANDS, element), fmt, Rounding.RNE)
        self.operands[side], self.rounded_operands[side] = element, found.word.data
        return found

    def split(self, cut: Split, xs: Sequence[Number[Any]]) -> Cutting[Any]:
        """Return the words of elements, of which one stands for all."""
        key = replace(cut, ks=())
        if key not in self._cut:
            words = WordArithmetic(self.sizes)._split(cut.side, xs[0], cut)
            self.rounded_operands[cut.side] = words[0].word.data
            self._cut[key] = Cutting((), [[x] for x in words])
        return Cutting(cut.ks, [[*word] * len(xs) for word in self._cut[key].words])

    def slices(self, cut: Slices, xs: Sequence[Number[Any]]) -> Cutting[Any]:
        """Return the slices of elements, and the largest exponent that the row can have.

        With a smaller exponent every slice weighs less. The element becomes the sum of its slices and the loss of the
        cut, for which the symbol of the operand stands from then on.
        """
        side, key = cut.side, replace(cut, ks=())
        if key not in self._cut:
            largest, most = self.sizes[side], Fraction((1 << cut.bits) - 1)
            top = floor_log2(largest) if largest else OPERANDS.e_min - OPERANDS.fraction_bits
            terms: dict[Monomial, Fraction] = {(side,): Fraction(1)}
            slices = []
            for i in range(cut.count):
                symbol = f"{side}{i}"
                self.sizes[symbol] = most
                terms[symbol,] = Fraction(2) ** (top + 1 - (i + 1) * cut.bits)
                slices.append([number(cut.fmt, Enclosure({(symbol,): Fraction(1)}, Fraction(0), most))])
            self.sizes[side] = Fraction(2) ** (top + 1 - cut.count * cut.bits)
            self.operands[side] = Enclosure(terms, Fraction(0), largest)
            self.rounded_operands.pop(side, None)
            exponent = _INTEGERS.unsigned(top & ((1 << EXPONENT.bits) - 1), EXPONENT.bits)
            self._cut[key] = Cutting((), slices, Number(EXPONENT, exponent, Span(0, 9)))
        found = self._cut[key]
        return Cutting(cut.ks, [[*word] * len(xs) for word in found.words], found.exponent)

    def residues(self, cut: Residues, xs: Sequence[Number[Any]]) -> Cutting[Any]:
        """Raise NoBoundError: nothing is known of them."""
        raise NoBoundError("it computes with residues, of which no bound is composed")

    def constant(self, fmt: Format, pattern: int) -> Number[Any]:
        """Return the magnitude of a finite number: which sign a factor has makes no difference to a bound."""
        size = abs(constant(fmt, pattern))
        return number(fmt, Enclosure({(): size}, Fraction(0), size))

    def product(self, label: str, x: Number[Any], y: Number[Any]) -> Number[Any]:
        """Return ``x * y``, rounded to nearest."""
        return self.rounded(label, x.word.data.product(y.word.data), x.fmt, Rounding.RNE)

    def multiply_add(self, label: str, x: Number[Any], factor: int, y: Number[Any]) -> Number[Any]:
        """Return ``x * factor + y``, rounded once."""
        times = x.word.data.product(self.constant(x.fmt, factor).word.data)
        return self.rounded(label, times.plus(y.word.data), x.fmt, Rounding.RNE)

    def largest(self, terms: Mapping[Monomial, Fraction]) -> Fraction:
        """Return a bound on the magnitude of a polynomial."""
        return sum((abs(x) * prod(self.sizes[s] for s in m) for m, x in terms.items()), Fraction(0))

    def zero(self, fmt: Format) -> Number[Any]:
        """Return +0."""
        return number(fmt, ZERO)

    def convert(
        self, label: str, x: Number[Any], fmt: Format, rounding: Rounding, out_of_range: OutOfRange | None = None
    ) -> Number[Any]:
        """Return ``x`` rounded to ``fmt``. It is unchanged if ``fmt`` has every number of its format.

        What is out of range has no bound, so it does not matter what becomes of it.
        """
        return number(fmt, x.word.data) if fmt.holds(x.fmt) else self.rounded(label, x.word.data, fmt, rounding)

    def flush(self, label: str, x: Number[Any]) -> Number[Any]:
        """Return ``x``, or a zero where it is below the smallest normal number."""
        value = self._moved(x.word.data, Fraction(2) ** x.fmt.e_min)
        return number(x.fmt, replace(value, most=x.word.data.most))

    def scale(self, label: str, x: Number[Any], places: int) -> Number[Any]:
        """Return ``x * 2**places``. It is exact except for bits below the smallest number."""
        scaled = x.word.data.times(Fraction(2) ** places)
        if places >= 0:
            _require_finite(label, scaled.most, x.fmt)
            return number(x.fmt, scaled)
        return number(x.fmt, self._moved(scaled, least(x.fmt) / 2))

    def add(self, label: str, x: Number[Any], y: Number[Any], rounding: Rounding = Rounding.RNE) -> Number[Any]:
        """Return ``x + y`` rounded to the format of ``x``. Nothing is rounded if one of them is +0."""
        first, second = x.word.data, y.word.data
        if not (first.most and second.most):
            return number(x.fmt, first if first.most else second)
        return self.rounded(label, first.plus(second), x.fmt, rounding)

    def subtract(self, label: str, x: Number[Any], y: Number[Any]) -> Number[Any]:
        """Return ``x - y``, rounded to nearest."""
        return self.add(label, x, number(y.fmt, y.word.data.times(-1)))

    def call(
        self,
        label: str,
        unit: Design,
        a: Sequence[Number[Any]],
        b: Sequence[Number[Any]],
        c: Number[Any],
        scales: tuple[Sequence[Number[Any]], Sequence[Number[Any]]] = ((), ()),
    ) -> Number[Any]:
        """Return the unit's result for ``c + sum a*b``, with each step within the bound of ``error-bound``.

        That is ``|d - exact| < (L + 1) * 2**(e_max - F) + u``; L counts the parts where products are cut in parts.
        e_max is at most the exponent of the largest product or of the largest c, as the design reads exponents. u is
        one ulp of d (or half an ulp), and ``|d|`` is below ``|exact| + (L + 1) * 2**(e_max - F) + u``. The sum in the
        register is below that without u, because each term is cut by less than one unit. The conversion does not
        overflow if that is at most its largest number.
        """
        if any(scales):
            raise NoBoundError(f"{label}: no bound of products with scales of blocks is composed")
        x, y, total = a[0].word.data, b[0].word.data, c.word.data
        product = x.product(y)
        if unit.d_format.is_integer and unit.guarantees(Guarantee.EXACT_INTEGERS):
            total = total.plus(product.times(len(a)))
            if total.most > unit.d_format.largest:
                raise NoBoundError(f"{label}: the integer sum of {len(a)} products may exceed {unit.d_format.name}")
            return number(unit.d_format, total)
        _require_finite_products(label, unit, product.most)
        rho, length = unit.step.conversion, unit.step.L
        fixed, kept = _product_exponent(label, unit, x.most, y.most)
        error, most, fmt, left = total.error, total.most, unit.c_format, len(a)
        half = int(rho.rounding in _NEAREST)
        for _ in range(0, unit.padded_length(len(a)), length):
            e_max = max(fixed, _exponent(fmt, most))
            cut = (unit.step.cut_terms + 1) * Fraction(2) ** (e_max - kept)
            most += min(left, length) * product.most + cut
            left, fmt = max(left - length, 0), unit.d_format
            if most > _largest_converted(unit):
                raise NoBoundError(f"{label}: the sum may be as large as {float(most):.3g}, beyond {fmt.name}")
            top = _log2_below(most / (1 - Fraction(1, 1 << (rho.fraction_bits + half))))
            u = Fraction(2) ** (max(top, fmt.e_min) - rho.fraction_bits - half)
            error, most = error + cut + u, most + u
        return number(unit.d_format, Enclosure(total.plus(product.times(len(a))).terms, error, most))

    def weigh(
        self, label: str, x: Number[Any], a: Cutting[Any], b: Cutting[Any], places: int, fmt: Format
    ) -> Number[Any]:
        """Return ``x`` times ``2**places`` and the exponents of both operands, rounded to nearest in ``fmt``."""
        exponent = self._weight(a, b, places).data
        if x.fmt.is_integer:
            return self.from_integer(label, x, exponent, fmt)
        return self.rounded(label, x.word.data.times(Fraction(2) ** exponent), fmt, Rounding.RNE)

    def from_integer(self, label: str, x: Number[Any], exponent: int, fmt: Format) -> Number[Any]:
        """Return an integer times ``2**exponent``, rounded to nearest.

        An integer of at most as many bits as ``fmt`` has digits is exact there if its last bit is at least the least
        number, unless it is beyond the largest: at the largest exponents it is an infinity then.
        """
        value = x.word.data.times(Fraction(2) ** exponent)
        if x.fmt.bits <= fmt.precision and Fraction(2) ** exponent >= least(fmt):
            _require_finite(label, value.most, fmt)
            return number(fmt, value)
        return self.rounded(label, value, fmt, Rounding.RNE)

    def rounded(self, label: str, value: Enclosure, fmt: Format, rounding: Rounding) -> Number[Any]:
        """Return a number rounded to ``fmt``."""
        most = max(min(value.most, self.largest(value.terms) + value.error), self.whole)
        moved = self._moved(replace(value, most=most), rounding_error(most, fmt, rounding))
        # rounding keeps the order of magnitudes
        rounded = replace(moved, most=rounded_magnitude(most, fmt, rounding))
        _require_finite(label, rounded.most, fmt)
        return number(fmt, rounded)

    def _moved(self, value: Enclosure, error: Fraction) -> Enclosure:
        """Return a number that lies this far from ``value`` at most."""
        return Enclosure(value.terms, value.error + error, value.most + error)


class WordArithmetic(EnclosureArithmetic):
    """The operations that split elements into words. Every rounding makes a symbol."""

    def _moved(self, value: Enclosure, error: Fraction) -> Enclosure:
        symbol = f"r{len(self.sizes)}"
        self.sizes[symbol] = error
        return Enclosure({**value.terms, (symbol,): Fraction(1)}, value.error, value.most + error)


def number(fmt: Format, value: Enclosure) -> Number[Any]:
    """Return a number of a format with this enclosure. Its span is not used."""
    return Number(fmt, Word[Any](value, fmt.bits, False, _INTEGERS), Span.of_format(OPERANDS))


def rounding_error(most: Fraction, fmt: Format, rounding: Rounding) -> Fraction:
    """Return how far rounding to ``fmt`` moves a number of at most ``most`` in magnitude, if it stays finite."""
    # a power of two in the range of the format does not move, and numbers below it have the next lower exponent
    top = _log2_below(most) if most else fmt.e_min
    ulp = Fraction(2) ** (max(top, fmt.e_min) - fmt.fraction_bits)
    if rounding in _AWAY:
        return ulp
    return min(ulp / 2 if rounding in _NEAREST else ulp, most)


def rounded_magnitude(most: Fraction, fmt: Format, rounding: Rounding) -> Fraction:
    """Return ``most`` rounded to ``fmt`` without an upper end of exponents. RTN and RTP round it up."""
    ulp = Fraction(2) ** (_exponent(fmt, most) - fmt.fraction_bits)
    count = most / ulp
    match rounding:
        case Rounding.RNE:
            return round(count) * ulp
        case Rounding.RNA:
            return floor(count + Fraction(1, 2)) * ulp
        case Rounding.RZ:
            return floor(count) * ulp
        case Rounding.RTN | Rounding.RTP | Rounding.RTO:
            return ceil(count) * ulp
        case _:
            assert_never(rounding)


def least(fmt: Format) -> Fraction:
    """Return the smallest positive number of a floating-point format."""
    return Fraction(2) ** (fmt.e_min - fmt.fraction_bits)


def floor_log2(x: Fraction) -> int:
    """Return floor(log2(x)) of a positive number."""
    top = x.numerator.bit_length() - x.denominator.bit_length()
    return top if Fraction(2) ** top <= x else top - 1


def _log2_below(x: Fraction) -> int:
    """Return the largest exponent of numbers below x."""
    top = floor_log2(x)
    return top - 1 if Fraction(2) ** top == x else top


def _exponent(fmt: Format, most: Fraction) -> int:
    """Return the largest exponent of a number of magnitude ``most`` at most, as a format has it."""
    return max(floor_log2(most), fmt.e_min) if most else fmt.e_min


def _product_exponent(label: str, unit: Design, a: Fraction, b: Fraction) -> tuple[int, int]:
    """Return the largest e_max of products and of a zero c, whatever zeros and subnormals read, and F.

    Raises NoBoundError if the steps of a unit do not state that they align each product and c in one sum, and how.
    """
    step = unit.step
    excess, others, kept = step.product_excess, step.other_exponents(unit.c_format, unit.d_format), step.kept_bits
    stated = unit.guarantees(Guarantee.SINGLE_SUM, Guarantee.CONVERTED_BY_RHO)
    if not stated or excess is None or others is None or kept is None:
        raise NoBoundError(f"{label}: no bound of the largest exponent in a step of {unit.name} is known")
    exponents = [max(_exponent(f, x), ZERO_EXPONENT) for f, x in ((unit.a_format, a), (unit.b_format, b))]
    return max(sum(exponents) + excess, ZERO_EXPONENT, *others), kept


def _require_finite_products(label: str, unit: Design, most: Fraction) -> None:
    if unit.guarantees(Guarantee.FINITE_PRODUCTS):
        return
    limit = unit.step.infinite_from
    if limit is None:
        raise NoBoundError(f"{label}: which products are infinities in {unit.name} is not known")
    if most >= 2**limit:
        raise NoBoundError(f"{label}: a product may be 2**{limit} or more, which is an infinity here")


def _largest_converted(unit: Design) -> Fraction:
    """Return the largest number that the conversion of a unit returns."""
    unused = unit.d_format.fraction_bits - unit.step.conversion.fraction_bits
    ulp = Fraction(2) ** (unit.d_format.e_max - unit.step.conversion.fraction_bits)
    return unit.d_format.largest // ulp * ulp if unused else unit.d_format.largest


def _require_finite(label: str, most: Fraction, fmt: Format) -> None:
    if most > fmt.largest:
        raise NoBoundError(f"{label}: may be as large as {float(most):.3g}, beyond {fmt.name}")
