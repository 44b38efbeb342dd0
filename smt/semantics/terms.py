"""Stage 2: products, scaled groups of products and the accumulator become terms, to be aligned and added."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Generic, assert_never

from mmaproof.designs.readings import ProductExponent, SubnormalC, ZeroC, ZeroGroup, ZeroProduct
from mmaproof.designs.steps import FusedStep
from mmaproof.designs.steps.aligned import AlignedStep, PartialProducts, PhaseProducts, ScaledGroups, SingleProducts
from mmaproof.smt.algebra.protocol import Algebra, D, T, Truth, Word, ite
from mmaproof.smt.algebra.words import Signal, SignalKind
from mmaproof.smt.semantics.patterns import Unpacked, normalised

ZERO_EXPONENT = -126
"""The exponent of a zero under reading A of open points 1 and 2, in every format."""


@dataclass(frozen=True, slots=True)
class Term(Generic[D, T]):
    """``(-1)**negative * significand * 2**(exponent - fraction_bits)``, to be aligned.

    A term that is not ``present`` takes no part in e_max; it is zero. The significand never exceeds ``largest``.
    ``valid`` says so to a machine. ``opposes`` says that an adder inverts its bits, because its sign is not that of c;
    it is stated where such a cut is asked for, of zeros as well.
    """

    fraction_bits: int
    negative: Truth[T]
    exponent: Word[D]
    significand: Word[D]
    present: Truth[T]
    largest: int
    opposes: Truth[T] | None = None

    def valid(self) -> Truth[T]:
        """Return what the stages after this one rely on, whatever the term is made of.

        * ``largest < 2**width``, and ``significand <= largest``: an aligned term is within ``Cut.bound``, and a sum of
          terms is within the sum of their bounds, from which its width is computed;
        * ``not present => significand = 0``: a term that takes no part in e_max adds nothing.
        """
        return self._valid()

    def valid_at(self, e_max: Word[D]) -> Truth[T]:
        """Return whether it is ``valid`` and may be aligned at e_max: ``present => exponent <= e_max``.

        Terms only move down then. Lemmas about the cut of one term (smt/proving/cuts.py) assume this and nothing else.
        """
        return self._valid(~self.present | (self.exponent <= e_max))

    def _valid(self, *more: Truth[T]) -> Truth[T]:
        significand, algebra = self.significand, self.significand.algebra
        if self.largest >> significand.width:
            return algebra.truth(False)
        bounded = significand <= algebra.unsigned(self.largest, significand.width)
        return algebra.all_of([bounded, *more, self.present | significand.is_value(0)])

    def lies_near(self, e_max: Word[D], spread: int | None) -> Truth[T]:
        """Return whether it is zero, or lies at most ``spread`` below e_max. Without a spread, whether it is zero."""
        zero = self.significand.is_value(0)
        if spread is None:
            return zero
        algebra = self.significand.algebra
        return algebra.any_of([zero, ~(algebra.signed(spread) < e_max - self.exponent)])

    def named(self, label: object) -> Term[D, T]:
        """Return the term, its parts named as signals."""
        algebra = self.significand.algebra
        significand = algebra.signal(Signal(SignalKind.SIGNIFICAND, label), self.significand, (0, self.largest))
        return Term(
            self.fraction_bits,
            algebra.signal_truth(Signal(SignalKind.SIGN, label), self.negative, lambda: ~significand.is_value(0)),
            algebra.signal(Signal(SignalKind.EXPONENT, label), self.exponent),
            significand,
            algebra.signal_truth(Signal(SignalKind.PRESENCE, label), self.present),
            self.largest,
            self.opposes,
        )


def drop_low_jam(x: Word[D], places: int) -> Word[D]:
    """Return a magnitude without its lowest bits; the lowest bit that is left is set where a bit is lost."""
    if places <= 0:
        return x
    x = x.extend(max(x.width, places + 1))
    return x.shift_right_jam(x.algebra.unsigned(places, places.bit_length())).narrow(x.width - places)


@dataclass(frozen=True, slots=True)
class Factors(Generic[D, T]):
    """The elements of a and b at one k, with the scales of their blocks where the unit has scales."""

    a: Unpacked[D, T]
    b: Unpacked[D, T]
    scales: tuple[Unpacked[D, T], ...] = ()


def product_term(algebra: Algebra[D, T], step: AlignedStep, x: Factors[D, T]) -> Term[D, T]:
    """Return the exact product of two elements and of their scales.

    Its exponent is the sum of all exponents unless ``product_exponent`` says that the product is normalised first.
    """
    a, b = x.a, x.b
    if isinstance(step.terms, PhaseProducts):
        a, b = _part(a, *step.terms.places_of_a), _part(b, *step.terms.places_of_b)
    reading = step.terms.zero_product if isinstance(step.terms, SingleProducts) else None
    zero = algebra.any_of([f.zero for f in (a, b, *x.scales)])
    present = algebra.truth(True)
    # of a zero, unpacked, the exponent is that of its encoding
    exponents = [a.exponent, b.exponent]
    if reading is ZeroProduct.OPERAND_MINUS_126:
        exponents = [ite(f.zero, ZERO_EXPONENT, f.exponent) for f in (a, b)]
    exponent = exponents[0] + exponents[1]
    if step.terms.shift:
        exponent = exponent + step.terms.shift
    significand = a.significand * b.significand
    fraction_bits, largest = a.fraction_bits + b.fraction_bits, a.largest * b.largest
    for scale in x.scales:
        exponent = exponent + scale.exponent
        if scale.fraction_bits:
            significand = significand * scale.significand
        fraction_bits, largest = fraction_bits + scale.fraction_bits, largest * scale.largest
    match reading:
        case ZeroProduct.E_ZERO:
            exponent = ite(zero, step.e_zero, exponent)
        case ZeroProduct.ABSENT:
            present = ~zero
        case ZeroProduct.OPERAND_MINUS_126 | ZeroProduct.NATURAL | None:
            pass
        case _:
            assert_never(reading)
    kept = step.terms.product_bits if isinstance(step.terms, SingleProducts) else None
    if kept is not None and kept < fraction_bits:
        places, fraction_bits = fraction_bits - kept, kept
        significand, largest = drop_low_jam(significand, places), largest >> places | 1
    if step.product_exponent is ProductExponent.NORMALISED:
        significand, exponent, fraction_bits = _normalise_product(zero, significand, exponent, fraction_bits)
        largest = (1 << significand.width) - 1
    return Term(fraction_bits, product_sign(x), exponent, significand, present, largest)


def _part(x: Unpacked[D, T], first: int, last: int) -> Unpacked[D, T]:
    """Return an element whose significand has only the places ``first`` to ``last`` are left: place 0 is its top bit.

    It may be zero, and it need not be normal.
    """
    algebra, width = x.significand.algebra, x.significand.width
    low = max(width - 1 - last, 0)
    kept = x.significand.extract(width - 1 - first, low).extend(width - low) << low
    return replace(x, significand=kept, zero=kept.is_value(0), subnormal=algebra.truth(False))


def part_terms(
    algebra: Algebra[D, T], step: AlignedStep, x: Factors[D, T], terms: PartialProducts
) -> tuple[Term[D, T], ...]:
    """Return the products of the parts of two significands, in the order of ``Part.all_of``.

    All have the exponent, the sign, the fraction bits and the bound of the whole product; bits that do not belong to a
    part are zero in it.
    """
    whole = product_term(algebra, step, x)
    of_a, of_b = (_parts(f.significand, terms) for f in (x.a, x.b))
    return tuple(replace(whole, significand=of_a[p] * of_b[q]) for p, q in terms.pairs)


def _parts(significand: Word[D], terms: PartialProducts) -> dict[str, Word[D]]:
    """Return the parts of a significand by letter, each in its place."""
    found, below = {}, 0
    for letter, bits in reversed(terms.widths):
        width = significand.width - below if bits is None else bits
        part = significand.extract(below + width - 1, below)
        found[letter] = part.extend(significand.width - below) << below if below else part.extend(significand.width)
        below += width
    return found


def normalised_product(algebra: Algebra[D, T], x: Factors[D, T]) -> Term[D, T]:
    """Return the exact product of two elements and their scales, normalised; it is not present where it is zero."""
    terms = SingleProducts(zero_product=ZeroProduct.ABSENT)
    return product_term(algebra, AlignedStep(product_exponent=ProductExponent.NORMALISED, terms=terms), x)


def _normalise_product(
    zero: Truth[T], significand: Word[D], exponent: Word[D], fraction_bits: int
) -> tuple[Word[D], Word[D], int]:
    """Return significand (top bit set), exponent and fraction bits of a product normalised to [1, 2)."""
    algebra = significand.algebra
    top_weight = significand.width - 1 - fraction_bits
    significand, places = algebra.normalise(significand)
    up = algebra.unsigned(top_weight, max(places.width, top_weight.bit_length(), 1)) - places
    return significand, ite(zero, exponent, exponent + up), significand.width - 1


def product_sign(x: Factors[D, T]) -> Truth[T]:
    """Return the sign of the product of two elements (scales have none)."""
    return x.a.negative ^ x.b.negative


def accumulator_term(algebra: Algebra[D, T], step: AlignedStep, c: Unpacked[D, T]) -> Term[D, T]:
    """Return the accumulator as a term. ``c_extra_bits`` moves its point, and with it the exponent of its alignment."""
    extra = step.c_extra_bits if isinstance(step, FusedStep) else 0
    encoded, present = c.exponent - extra if extra else c.exponent, algebra.truth(True)
    exponent = encoded
    if step.c_subnormal is SubnormalC.NORMALISED:
        c = normalised(algebra, c)
        exponent = c.exponent - extra if extra else c.exponent
    match step.zero_c:
        case ZeroC.MINUS_126:
            exponent = ite(c.zero, ZERO_EXPONENT, exponent)
        case ZeroC.E_ZERO:
            exponent = ite(c.zero, step.e_zero, exponent)
        case ZeroC.ABSENT:
            present = ~c.zero
        case ZeroC.NATURAL:
            # the exponent of a zero that was normalised means nothing
            exponent = exponent if exponent is encoded else ite(c.zero, encoded, exponent)
        case _:
            assert_never(step.zero_c)
    return Term(c.fraction_bits - extra, c.negative, exponent, c.significand, present, c.largest)


def scaled_term(
    algebra: Algebra[D, T],
    groups: ScaledGroups,
    group: Sequence[Factors[D, T]],
    exact: Word[D],
    fraction_bits: int,
    largest: int,
) -> Term[D, T]:
    """Return a group of products as one scaled term (Xie et al. 2026, algorithm 9, lines 4 and 5).

    ``exact`` is the signed sum of the group's products in units of ``2**-fraction_bits``, of magnitude at most
    ``largest``. The significand is its magnitude times those of the scales, the exponent is the scales' alone.
    """
    scales = group[0].scales
    significand = exact.magnitude()
    exponent = scales[0].exponent + scales[1].exponent
    if scales[0].fraction_bits:
        # of each other first, so that the two change places by the law of one multiplication
        significand = significand * (scales[0].significand * scales[1].significand)
    for scale in scales:
        fraction_bits, largest = fraction_bits + scale.fraction_bits, largest * scale.largest
    present = algebra.truth(True)
    match groups.zero_group:
        case ZeroGroup.ABSENT:
            present = ~significand.is_value(0)
        case ZeroGroup.E_ZERO:
            products_zero = algebra.all_of([x.a.zero | x.b.zero for x in group])
            empty = algebra.any_of([products_zero, *(s.zero for s in scales)])
            exponent = ite(empty, groups.group_e_zero, exponent)
        case ZeroGroup.SCALE_MINUS_126:
            read = [ite(s.zero, ZERO_EXPONENT, s.exponent) for s in scales]
            exponent = read[0] + read[1]
        case ZeroGroup.SCALES:
            pass
        case _:
            assert_never(groups.zero_group)
    return Term(fraction_bits, exact < 0, exponent, significand, present, largest)
