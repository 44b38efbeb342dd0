"""What programs compute with: IEEE 754 operations outside the unit, words of operands, and calls of the unit.

Numbers of an algorithm: words with a format, and what is known of their size without looking at data.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import prod
from typing import Any, Generic

from mmaproof.designs.catalogue import find_design
from mmaproof.designs.conversions import OutOfRange, Rounding, Stochastic
from mmaproof.designs.design import Design
from mmaproof.designs.formats import FORMATS, Format
from mmaproof.designs.readings import NanCode
from mmaproof.designs.steps import Guarantee
from mmaproof.gemm.programs.schedule import EXPONENT, FP32, FUSED, Residues, Slices, Split
from mmaproof.smt.algebra.protocol import Algebra, D, T, Truth, Word, ite
from mmaproof.smt.semantics import OperandWords, dot_product_accumulate, ieee
from mmaproof.smt.semantics.align import Cut, align
from mmaproof.smt.semantics.convert import Rules, convert
from mmaproof.smt.semantics.integer_step import read_integer
from mmaproof.smt.semantics.patterns import Unpacked, normalised, unpack
from mmaproof.smt.semantics.terms import Factors, Term


@dataclass(frozen=True, slots=True)
class Span:
    """Where the bits of a finite number lie: it is a multiple of ``2**least``, and at most ``2**most`` in magnitude.

    Rounding to nearest, ties to even, keeps a number in its span. A rounded number becomes a multiple of a larger power
    of two or stays as it is, and it never passes a power of two that it was not above. For overflow to a finite number,
    and for other roundings, see ``rounded``.
    """

    least: int
    most: int

    @classmethod
    def of_format(cls, fmt: Format) -> Span:
        """Return the span of every finite number of a format."""
        return cls(fmt.e_min - fmt.fraction_bits, fmt.e_max + 1)

    @classmethod
    def of_pattern(cls, fmt: Format, pattern: int) -> Span:
        """Return the span of one finite number of a floating-point format, which is not zero."""
        fraction = pattern >> fmt.ignored_bits & ((1 << fmt.fraction_bits) - 1)
        field = pattern >> (fmt.ignored_bits + fmt.fraction_bits) & ((1 << fmt.exponent_bits) - 1)
        significand = fraction + ((1 << fmt.fraction_bits) if field else 0)
        least = max(field - fmt.bias, fmt.e_min) - fmt.fraction_bits
        lowest = (significand & -significand).bit_length() - 1
        return cls(least + lowest, least + (significand - 1).bit_length())

    def scaled(self, places: int) -> Span:
        """Return the span of numbers times ``2**places``."""
        return Span(self.least + places, self.most + places)

    def rounded(self, fmt: Format) -> Span:
        """Return the span of numbers rounded to ``fmt`` in any way.

        Numbers below its smallest number may become that, and numbers beyond its largest finite number may become that.
        """
        least, most = fmt.e_max - fmt.fraction_bits, fmt.e_min - fmt.fraction_bits
        return Span(min(self.least, least), max(self.most, most))

    def times(self, other: Span) -> Span:
        """Return the span of products."""
        return Span(self.least + other.least, self.most + other.most)

    def with_(self, other: Span) -> Span:
        """Return the span of numbers that are in one of two."""
        return Span(min(self.least, other.least), max(self.most, other.most))

    def summed(self, count: int) -> Span:
        """Return the span of sums of ``count`` such numbers."""
        return Span(self.least, self.most + max(count - 1, 0).bit_length())


@dataclass(frozen=True, slots=True)
class Number(Generic[D]):
    """The bit pattern ``word`` read as a number of ``fmt``; ``span`` holds for it wherever it is finite."""

    fmt: Format
    word: Word[D]
    span: Span


def exact_value(algebra: Algebra[D, T], x: Number[D], span: Span) -> tuple[Word[D], Truth[T]]:
    """Return ``x`` as a signed multiple of ``2**span.least``, and whether it is finite; other numbers count as zero.

    ``span`` must hold for a finite x.
    """
    value = unpack(algebra, x.fmt, x.word)
    finite = algebra.negation(algebra.any_of([value.infinite, value.nan]))
    span = Span(span.least, max(span.most, _highest_exponent(x)))
    return _fixed(algebra, value.negative, value.exponent, value.significand, value.fraction_bits, finite, span), finite


def exact_dot_product(
    algebra: Algebra[D, T], a: Sequence[Number[D]], b: Sequence[Number[D]], c: Number[D], span: Span
) -> Word[D]:
    """Return ``c + sum_k a[k]*b[k]`` of finite numbers as a signed multiple of ``2**span.least``."""
    terms = [exact_product(algebra, x, y, span) for x, y in zip(a, b, strict=True)]
    terms.append(exact_value(algebra, c, span)[0])
    width = max(t.width for t in terms) + (len(terms) - 1).bit_length()
    return algebra.bounded_sum(terms, width)


def exact_product(algebra: Algebra[D, T], x: Number[D], y: Number[D], span: Span) -> Word[D]:
    """Return ``x * y`` of finite numbers as a signed multiple of ``2**span.least``."""
    first, second = (unpack(algebra, n.fmt, n.word) for n in (x, y))
    negative = algebra.exclusive_or(first.negative, second.negative)
    exponent = algebra.add(first.exponent, second.exponent)
    significand = algebra.multiply(first.significand, second.significand)
    fraction_bits = first.fraction_bits + second.fraction_bits
    finite = algebra.all_of([_finite(algebra, v) for v in (first, second)])
    span = Span(span.least, max(span.most, _highest_exponent(x) + _highest_exponent(y)))
    return _fixed(algebra, negative, exponent, significand, fraction_bits, finite, span)


def dot_product_span(a: Sequence[Number[D]], b: Sequence[Number[D]], c: Number[D]) -> Span:
    """Return where the bits of the products and of c lie, and those of their sum."""
    products = [x.span.times(y.span) for x, y in zip(a, b, strict=True)]
    least = min(c.span.least, *(p.least for p in products))
    most = max(c.span.most, *(p.most for p in products))
    return Span(least, most).summed(len(products) + 1)


def _finite(algebra: Algebra[D, T], x: Unpacked[D, T]) -> Truth[T]:
    return algebra.negation(algebra.any_of([x.infinite, x.nan]))


def _highest_exponent(x: Number[D]) -> int:
    """Return the highest exponent that a finite number reads: zeros and subnormals read e_min, however small."""
    return max(x.span.most, x.fmt.e_min)


def _fixed(
    algebra: Algebra[D, T],
    negative: Truth[T],
    exponent: Word[D],
    significand: Word[D],
    fraction_bits: int,
    finite: Truth[T],
    span: Span,
) -> Word[D]:
    """Return a number as a multiple of ``2**span.least``. Nothing is cut, because every bit of it lies above."""
    significand = algebra.ite(finite, significand, algebra.unsigned(0, significand.width))
    largest = (1 << significand.width) - 1
    term = Term(fraction_bits, negative, exponent, significand, finite, largest)
    return align(algebra, term, algebra.signed(span.most), Cut(span.most - span.least))


def fixed_point(
    algebra: Algebra[D, T], xs: Sequence[Number[D]], bits: int
) -> tuple[list[tuple[Truth[T], Word[D]]], Number[D]]:
    """Return whether each number of a row is negative, its magnitude, and their exponent.

    The top bit of the largest element is the top bit of its magnitude. Of a row of zeros the exponent is the smallest.
    """
    values, of = [normalised(algebra, unpack(algebra, x.fmt, x.word)) for x in xs], xs[0].fmt
    least = algebra.signed(of.e_min - of.fraction_bits)
    top = algebra.maximum([algebra.ite(v.zero, least, v.exponent) for v in values])
    words = []
    for v in values:
        present = algebra.negation(v.zero)
        term = Term(v.fraction_bits, algebra.truth(False), v.exponent, v.significand, present, v.largest)
        magnitude = algebra.narrow_to_unsigned(align(algebra, term, top, Cut(bits - 1)), bits)
        words.append((v.negative, magnitude))
    exponent = algebra.extract(algebra.extend(top, EXPONENT.bits), EXPONENT.bits - 1, 0)
    return words, Number(EXPONENT, exponent, Span(0, of.exponent_bits + 1))


def residue(algebra: Algebra[D, T], x: Word[D], p: int) -> Word[D]:
    """Return a word modulo ``p``, from 0 to p - 1: each of its bits adds the residue of its weight."""
    weights = [pow(2, i, p) for i in range(x.width)]
    if x.signed:
        weights[-1] = -(1 << (x.width - 1)) % p
    most = max(sum(weights), p)
    width = most.bit_length()
    zero = algebra.unsigned(0, width)
    bits = [algebra.ite(algebra.is_bit_set(x, i), algebra.unsigned(w, width), zero) for i, w in enumerate(weights) if w]
    total = algebra.narrow_to_unsigned(
        algebra.bounded_sum([algebra.as_signed(y) for y in bits] or [algebra.signed(0)], width + 1), width
    )
    reduced = _reduced(algebra, total, p, (most // p).bit_length())
    return algebra.extract(algebra.extend(reduced, max(width, 8)), 7, 0)


def centred(algebra: Algebra[D, T], x: Word[D], p: int) -> Word[D]:
    """Return the pattern in int8 of the number next to zero that is ``x`` modulo p; x has eight bits."""
    above = algebra.less(algebra.unsigned((p - 1) // 2, 8), x)
    lowered = algebra.subtract(algebra.as_signed(x), algebra.signed(p))
    moved = algebra.ite(above, lowered, algebra.extend(algebra.as_signed(x), lowered.width))
    return algebra.extract(moved, 7, 0)


def determined(algebra: Algebra[D, T], sums: Sequence[Number[D]], moduli: Sequence[int]) -> Word[D]:
    """Return the sum (signed) that its residues modulo each of ``moduli`` determine (Chinese remainder theorem)."""
    whole, width = prod(moduli), (prod(moduli) * len(moduli)).bit_length()
    parts: list[Word[D]] = []
    for p, register in zip(moduli, sums, strict=True):
        found = residue(algebra, algebra.twos_complement(register.word), p)
        # the multiple of the other moduli that is found modulo p, and 0 modulo each of them
        other = whole // p
        inverse = algebra.unsigned(pow(other, -1, p), p.bit_length())
        scaled = residue(algebra, algebra.multiply(found, inverse), p)
        product = algebra.multiply(scaled, algebra.unsigned(other, other.bit_length()))
        parts.append(algebra.as_signed(product))
    total = algebra.narrow_to_unsigned(algebra.bounded_sum(parts, width + 1), width)
    total = _reduced(algebra, total, whole, len(moduli).bit_length())
    above = algebra.less(algebra.unsigned((whole - 1) // 2, width), total)
    signed = algebra.as_signed(total)
    return algebra.ite(above, algebra.subtract(signed, algebra.signed(whole)), algebra.extend(signed, width + 2))


def _reduced(algebra: Algebra[D, T], x: Word[D], p: int, places: int) -> Word[D]:
    """Return an unsigned word modulo ``p``; the quotient has at most N bits."""
    for place in range(places - 1, -1, -1):
        multiple = p << place
        if multiple.bit_length() > x.width:
            continue
        constant = algebra.unsigned(multiple, x.width)
        difference = algebra.subtract(algebra.as_signed(x), algebra.as_signed(constant))
        fits = algebra.negation(algebra.less(x, constant))
        kept = algebra.ite(fits, difference, algebra.extend(algebra.as_signed(x), difference.width))
        x = algebra.narrow_to_unsigned(kept, x.width)
    return x


@dataclass(frozen=True, slots=True)
class Step(Generic[D]):
    """One operation of a program, as it is shown: what it is, its operands, and its result.

    The operands of a call of the unit are a (one for each k), b, c and the scales of blocks of a and of b, where it has
    scales. ``unit`` is then the design.
    """

    label: str
    operands: tuple[tuple[Number[D], ...], ...]
    result: Number[D]
    unit: Design | None = None


@dataclass(frozen=True)
class Cutting(Generic[D]):
    """The words of the elements ``ks`` of an operand: for each word, its numbers in that order.

    ``exponent`` is that of the largest element, where the words are of fixed-point numbers. ``of`` is the format of the
    elements.
    """

    ks: tuple[int, ...]
    words: Sequence[Sequence[Number[D]]]
    exponent: Number[D] | None = None
    of: Format = FP32

    @cached_property
    def _place(self) -> dict[int, int]:
        return {k: i for i, k in enumerate(self.ks)}

    def at(self, word: int, ks: Sequence[int]) -> list[Number[D]]:
        """Return a word of some of the elements."""
        return [self.words[word][self._place[k]] for k in ks]


class Arithmetic(Generic[D, T]):
    """Operations on numbers over an algebra; with ``record`` they are kept in ``steps``."""

    def __init__(self, algebra: Algebra[D, T], *, record: bool = False) -> None:
        self.algebra = algebra
        self.steps: list[Step[D]] = []
        self._record = record

    def zero(self, fmt: Format) -> Number[D]:
        """Return +0."""
        return Number(fmt, self.algebra.unsigned(0, fmt.bits), Span(0, 0))

    def constant(self, fmt: Format, pattern: int) -> Number[D]:
        """Return a finite number that is not zero."""
        return Number(fmt, self.algebra.unsigned(pattern, fmt.bits), Span.of_pattern(fmt, pattern))

    def convert(
        self,
        label: str,
        x: Number[D],
        fmt: Format,
        rounding: Rounding | Stochastic,
        out_of_range: OutOfRange | None = None,
        random: Word[D] | None = None,
    ) -> Number[D]:
        """Return ``x`` rounded to ``fmt``, with ``random`` bits where it takes some; itself where it is of that format.

        Raises DesignError where random bits are an operand and are not given.
        """
        if x.fmt is fmt:
            return x
        value = unpack(self.algebra, x.fmt, x.word)
        rules = Rules.of_format(fmt, rounding, out_of_range)
        word = ieee.convert_number(self.algebra, rules, NanCode.QUIET, value, random)
        return self._noted(label, ((x,),), Number(fmt, word, x.span.rounded(fmt)))

    def flush(self, label: str, x: Number[D]) -> Number[D]:
        """Return ``x``, or a zero of its sign where it is a subnormal number."""
        subnormal = unpack(self.algebra, x.fmt, x.word).subnormal
        sign = x.word.extract(x.fmt.sign_position, x.fmt.sign_position)
        zero = sign.concatenate(self.algebra.unsigned(0, x.fmt.sign_position))
        return self._noted(label, ((x,),), Number(x.fmt, ite(subnormal, zero, x.word), x.span))

    def scale(self, label: str, x: Number[D], places: int) -> Number[D]:
        """Return ``x * 2**places`` in the format of ``x``, rounded to nearest."""
        if not places:
            return x
        value = unpack(self.algebra, x.fmt, x.word)
        word = ieee.scale(self.algebra, Rules.of_format(x.fmt, Rounding.RNE), NanCode.QUIET, value, places)
        return self._noted(label, ((x,),), Number(x.fmt, word, x.span.scaled(places)))

    def add(self, label: str, x: Number[D], y: Number[D], rounding: Rounding = Rounding.RNE) -> Number[D]:
        """Return ``x + y`` in the format of ``x``; that of ``y`` is not wider. A sum of integers wraps."""
        if x.fmt.is_integer:
            held = [read_integer(self.algebra, n.fmt, n.word) for n in (x, y)]
            wrapped = self.algebra.extract(self.algebra.add(*held), x.fmt.bits - 1, 0)
            return self._noted(label, ((x,), (y,)), Number(x.fmt, wrapped, x.span.with_(y.span).summed(2)))
        values = [unpack(self.algebra, n.fmt, n.word) for n in (x, y)]
        word = ieee.add(self.algebra, Rules.of_format(x.fmt, rounding), NanCode.QUIET, *values)
        return self._noted(label, ((x,), (y,)), Number(x.fmt, word, x.span.with_(y.span).summed(2)))

    def multiply(self, label: str, x: Number[D], factor: int) -> Number[D]:
        """Return ``x`` times a constant, the finite number with the pattern ``factor``, rounded to nearest."""
        return self.product(label, x, self.constant(x.fmt, factor))

    def product(self, label: str, x: Number[D], y: Number[D]) -> Number[D]:
        """Return ``x * y``, two numbers of one format, rounded to nearest."""
        fmt = x.fmt
        first, second = (unpack(self.algebra, fmt, n.word) for n in (x, y))
        word = ieee.multiply(self.algebra, Rules.of_format(fmt, Rounding.RNE), NanCode.QUIET, Factors(first, second))
        return self._noted(label, ((x,), (y,)), Number(fmt, word, x.span.times(y.span)))

    def multiply_add(self, label: str, x: Number[D], factor: int, y: Number[D]) -> Number[D]:
        """Return ``x * factor + y``, rounded once; ``factor`` is the pattern of a finite number that is not zero."""
        return self.call(label, find_design(FUSED[x.fmt.name]), [x], [self.constant(x.fmt, factor)], y)

    def subtract(self, label: str, x: Number[D], y: Number[D]) -> Number[D]:
        """Return ``x - y`` in the format of ``x``, rounded to nearest; that of ``y`` is not wider."""
        first, second = (unpack(self.algebra, n.fmt, n.word) for n in (x, y))
        second = replace(second, negative=self.algebra.negation(second.negative))
        word = ieee.add(self.algebra, Rules.of_format(x.fmt, Rounding.RNE), NanCode.QUIET, first, second)
        return self._noted(label, ((x,), (y,)), Number(x.fmt, word, x.span.with_(y.span).summed(2)))

    def call(
        self,
        label: str,
        unit: Design,
        a: Sequence[Number[D]],
        b: Sequence[Number[D]],
        c: Number[D],
        scales: tuple[Sequence[Number[D]], Sequence[Number[D]]] = ((), ()),
    ) -> Number[D]:
        """Return what ``unit`` returns for ``c + sum_k a[k]*b[k]``, with the scales of blocks of a and of b.

        Each step of the unit may at most round up to the next power of two, and rounding down may enlarge a negative
        sum by one in its last place. The span has two bits to spare for that. Of a unit that does not state as much it
        is that of the format.
        """
        scale_a, scale_b = ([x.word for x in side] for side in scales)
        words = OperandWords([x.word for x in a], [x.word for x in b], c.word, scale_a, scale_b)
        d = self._dot_product(unit, words)
        products = Span(
            min(x.span.least + y.span.least for x, y in zip(a, b, strict=True)),
            max(x.span.most + y.span.most for x, y in zip(a, b, strict=True)),
        )
        span = Span.of_format(unit.d_format)
        if unit.guarantees(Guarantee.BOUNDED_SUM) and not scale_a:
            span = products.with_(c.span).summed(4 * (len(a) + 1))
        operands = (tuple(a), tuple(b), (c,), *(tuple(side) for side in scales if side))
        return self._noted(label, operands, Number(unit.d_format, d, span), unit)

    def _dot_product(self, unit: Design, words: OperandWords[D]) -> Word[D]:
        """Return the pattern of d that ``unit`` returns."""
        return dot_product_accumulate(unit, self.algebra, words).d

    def split(self, cut: Split, xs: Sequence[Number[D]]) -> Cutting[D]:
        """Return the words of the elements of an operand, that of the largest weight first."""
        words = [self._split(f"{cut.side}{k}", x, cut) for k, x in zip(cut.ks, xs, strict=True)]
        return Cutting(cut.ks, [list(word) for word in zip(*words, strict=True)])

    def _split(self, label: str, x: Number[D], cut: Split) -> list[Number[D]]:
        words = [self.convert(f"{label}[0]", x, cut.fmt, cut.rounding)]
        for i in range(1, cut.count):
            rest = self.subtract(f"residual of {label}", x, words[-1])
            x = self.scale(f"residual of {label}, scaled", rest, cut.scale)
            words.append(self.convert(f"{label}[{i}]", x, cut.fmt, cut.residual_rounding))
        return words

    def slices(self, cut: Slices, xs: Sequence[Number[D]]) -> Cutting[D]:
        """Return the slices of the elements of an operand, and the exponent of the largest of them."""
        algebra, width = self.algebra, cut.count * cut.bits
        numbers, exponent = fixed_point(algebra, xs, cut.width)
        slices: list[list[Number[D]]] = [[] for _ in range(cut.count)]
        for k, x, (negative, magnitude) in zip(cut.ks, xs, numbers, strict=True):
            whole = algebra.extend(magnitude, width)
            if cut.signed_first:
                whole = algebra.extract(algebra.conditional_negate(negative, whole), width - 1, 0)
            for i, found in enumerate(slices):
                high, fmt = width - 1 - i * cut.bits, cut.fmt
                part = algebra.extract(whole, high, high - cut.bits + 1)
                if not cut.signed_first:
                    part = algebra.conditional_negate(negative, part)
                elif i:
                    fmt = FORMATS[f"uint{cut.bits}"]
                found.append(self._slice(f"slice {i} of {cut.side}{k}", x, fmt, part, Span(0, cut.bits)))
        self._noted(f"exponent of {cut.side}", (tuple(xs),), exponent)
        return Cutting(cut.ks, slices, exponent, cut.of)

    def _slice(self, label: str, x: Number[D], fmt: Format, value: Word[D], span: Span) -> Number[D]:
        """Return a signed integer as a number of a format that has it."""
        algebra = self.algebra
        if fmt.is_integer:
            word = algebra.extract(algebra.extend(value, fmt.bits), fmt.bits - 1, 0)
        else:
            word = self._rounded(value, algebra.signed(0), fmt)
        return self._noted(label, ((x,),), Number(fmt, word, span))

    def residues(self, cut: Residues, xs: Sequence[Number[D]]) -> Cutting[D]:
        """Return the residues of the elements of an operand, and the exponent of the largest of them."""
        algebra = self.algebra
        numbers, exponent = fixed_point(algebra, xs, cut.bits)
        residues: list[list[Number[D]]] = [[] for _ in cut.moduli]
        for k, x, (negative, magnitude) in zip(cut.ks, xs, numbers, strict=True):
            signed = algebra.conditional_negate(negative, magnitude)
            for found, p in zip(residues, cut.moduli, strict=True):
                number = Number(cut.fmt, centred(algebra, residue(algebra, signed, p), p), Span(0, 7))
                found.append(self._noted(f"{cut.side}{k} modulo {p}", ((x,),), number))
        return Cutting(cut.ks, residues, exponent, cut.of)

    def weigh(self, label: str, x: Number[D], a: Cutting[D], b: Cutting[D], places: int, fmt: Format) -> Number[D]:
        """Return ``x`` times ``2**places`` and the exponents of both operands, rounded to nearest in ``fmt``."""
        exponent, span = self._weight(a, b, places), _products(a, b)
        if x.fmt.is_integer:
            word = self._rounded(self.algebra.twos_complement(x.word), exponent, fmt)
        else:
            value = unpack(self.algebra, x.fmt, x.word)
            value = replace(value, exponent=value.exponent + exponent)
            word = ieee.convert_number(self.algebra, Rules.of_format(fmt, Rounding.RNE), NanCode.QUIET, value)
        return self._noted(label, ((x,),), Number(fmt, word, span))

    def combine(
        self,
        label: str,
        xs: Sequence[Number[D]],
        moduli: Sequence[int],
        a: Cutting[D],
        b: Cutting[D],
        places: int,
        fmt: Format,
    ) -> Number[D]:
        """Return the sum with these residues times ``2**places`` and the exponents of both operands, rounded."""
        word = self._rounded(determined(self.algebra, xs, moduli), self._weight(a, b, places), fmt)
        return self._noted(label, (), Number(fmt, word, _products(a, b)))

    def _weight(self, a: Cutting[D], b: Cutting[D], places: int) -> Word[D]:
        exponents = (x.exponent for x in (a, b) if x.exponent is not None)
        exponent = self.algebra.add(*(self.algebra.twos_complement(x.word) for x in exponents))
        return self.algebra.add(exponent, self.algebra.signed(places))

    def _rounded(self, value: Word[D], exponent: Word[D], fmt: Format) -> Word[D]:
        """Return the signed integer ``value`` times ``2**exponent`` (signed), rounded to nearest in ``fmt``."""
        positive = self.algebra.truth(False)
        return convert(self.algebra, Rules.of_format(fmt, Rounding.RNE), value, exponent, 0, positive)[0]

    def _noted(
        self, label: str, operands: tuple[tuple[Number[D], ...], ...], result: Number[D], unit: Design | None = None
    ) -> Number[D]:
        if self._record:
            self.steps.append(Step(label, operands, result, unit))
        return result


def _products(a: Cutting[Any], b: Cutting[Any]) -> Span:
    """Return where the bits of sums of products of elements lie."""
    return Span.of_format(a.of).times(Span.of_format(b.of)).summed(len(a.ks))
