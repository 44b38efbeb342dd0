"""The words that a plan cuts its operands into, as factors of products, and what they miss of the operands.

Words of given operands are computed as the plan computes them. Those of a range of operands are bounded by the largest
operand: rounding keeps the order of magnitudes, and moves a number by one unit in the last place at most, or by half of
one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import ceil, floor
from typing import Any, assert_never

import numpy as np
import numpy.typing as npt

from mmaproof.designs.conversions import Rounding
from mmaproof.designs.errors import InputError
from mmaproof.designs.formats import Format, floor_log2
from mmaproof.designs.operands import pattern_dtype
from mmaproof.gemm.programs.evaluate import places, words_of
from mmaproof.gemm.programs.normal_form import weights_of_words
from mmaproof.gemm.programs.schedule import FP32, Cut, Operation, Residues, Slices, Split
from mmaproof.gemm.tolerances.given import Box, Floats, Side, rounded_up

_NEAREST = (Rounding.RNE, Rounding.RNA)
_AWAY = (Rounding.RTN, Rounding.RTP, Rounding.RTO)
"""Roundings that may take a tiny number to one that is much larger."""


class NoBoundError(InputError):
    """There is no bound. The text says why."""


@dataclass(frozen=True)
class CutSide:
    """The words of the elements ``ks`` of an operand; the operand itself is its only word where nothing cuts it."""

    ks: tuple[int, ...]
    words: tuple[Side, ...]
    weights: tuple[Fraction, ...] = (Fraction(1),)
    """what each word is multiplied with in the sum that stands for the operand"""
    left: Floats | None = None
    """at least what that sum misses of the magnitude of each element; None: nothing"""
    powers: Floats | None = None
    """what all words of a row or a column are multiplied with besides"""
    overflows: bool = False
    """whether some word of a range may be beyond its format"""

    @cached_property
    def special(self) -> npt.NDArray[np.bool_]:
        """Which rows or columns have a word that is not a number, or may have one."""
        found: npt.NDArray[np.bool_] = np.any([x.special for x in self.words], axis=0)
        return found | self.overflows

    def word(self, i: int, ks: Sequence[int]) -> Side:
        """Return a word of some of the elements."""
        return self.words[i] if tuple(ks) == self.ks else self.words[i].selected(self._at(ks))

    def magnitudes(self, i: int, ks: Sequence[int]) -> Floats:
        """Return the magnitudes of a word of some of the elements, with the power of its row or column."""
        found: Floats = self.word(i, ks).magnitudes.astype(np.float64)
        return found if self.powers is None else found * self.powers

    def missed(self, ks: Sequence[int]) -> Floats:
        """Return at least what the sum of all words misses of some of the elements."""
        if self.left is None:
            return np.zeros((1, 1))
        at = self._at(ks)
        return self.left[:, at] if self.words[0].along else self.left[at]

    def _at(self, ks: Sequence[int]) -> Any:
        return places([self._place[k] for k in ks])

    @cached_property
    def _place(self) -> dict[int, int]:
        return {k: i for i, k in enumerate(self.ks)}


def cut_side(side: Side, operation: Cut) -> CutSide:
    """Return the words of an operand. Raises NoBoundError for residues, and for slices of fp64."""
    reason = why_no_words(operation)
    if reason is not None or isinstance(operation, Residues):
        raise NoBoundError(reason or "residues")
    if side.box is not None:
        return _cut_box(side, operation)
    elements = side.selected(places(operation.ks))
    found, weights = words_of(operation, elements.patterns, side.along), weights_of_words(operation)
    words = tuple(Side(operation.fmt, x, side.along) for x in found.words)
    powers = None
    if found.exponent is not None:
        powers = np.expand_dims(np.ldexp(1.0, found.exponent.view(np.int32)), side.along)
    with np.errstate(invalid="ignore", over="ignore"):
        total = sum(x.values * float(w) for x, w in zip(words, weights, strict=True))
        values = elements.values
        left = np.abs(values - (total if powers is None else total * powers)) * (1 + 2.0**-40)
        left = left + np.abs(values) * 2.0**-50
    return CutSide(operation.ks, words, weights, np.where(np.isfinite(left), left, 0.0), powers)


def why_no_words(operation: Operation) -> str | None:
    """Return why the words that an operation cuts have no bound; None where they have one, and for other operations."""
    match operation:
        case Residues():
            return "it computes with residues, of which no bound is composed"
        case Slices(of=of, spare=spare) if of is not FP32 or spare:
            return "it cuts fp64 operands, or has spare bits in a slice: of these no bound is composed"
        case _:
            return None


def _cut_box(side: Side, operation: Split | Slices) -> CutSide:
    """Return the words of elements of which each stands for a range of numbers, up to the largest of them."""
    largest = Fraction(float(side.magnitudes.max()))
    weights, powers = weights_of_words(operation), None
    if isinstance(operation, Split):
        sizes, left = _words_of_box(largest, operation)
    else:
        # with a smaller exponent every slice weighs less
        top = floor_log2(largest) if largest else FP32.e_min - FP32.fraction_bits
        sizes, powers = [Fraction((1 << operation.bits) - 1)] * operation.count, np.full((1, 1), 2.0**top)
        left = Fraction(2) ** (top + 1 - operation.count * operation.bits)
    words = tuple(bounded(side.along, operation.fmt, x, len(operation.ks)) for x in sizes)
    missed, overflows = np.full(words[0].patterns.shape, rounded_up(left)), max(sizes) > operation.fmt.largest
    return CutSide(operation.ks, words, weights, missed, powers, overflows)


def bounded(along: int, fmt: Format, size: Fraction, k: int) -> Side:
    """Return a row of a, or a column of b, of ``k`` elements, each any number of a format up to a size that it has."""
    pattern = fmt.encode(min(size, fmt.largest))
    box = Box(1.0, 0.0) if fmt.is_integer else Box(float(least(fmt)), 2.0**fmt.e_min)
    shape = (1, k) if along else (k, 1)
    return Side(fmt, np.full(shape, pattern, dtype=pattern_dtype(fmt)), along, box=box)


def _words_of_box(largest: Fraction, cut: Split) -> tuple[list[Fraction], Fraction]:
    """Return the largest magnitude of each word of numbers up to ``largest``, and what their sum misses at most.

    A residual is a difference in fp32, which is rounded, too. It is multiplied with ``2**scale``.
    """
    sizes: list[Fraction] = []
    left, weight, off = Fraction(0), Fraction(1), Fraction(0)
    most, rounding = largest, cut.rounding
    for i in range(cut.count):
        if i:  # the words so far are off by ``off``
            left += rounding_error(off, FP32, Rounding.RNE) * weight
            weight /= 2**cut.scale
            most, rounding = rounded_magnitude(off, FP32, Rounding.RNE) * 2**cut.scale, cut.residual_rounding
        exact = cut.fmt.holds(FP32)
        off = Fraction(0) if exact else rounding_error(most, cut.fmt, rounding)
        sizes.append(most if exact else rounded_magnitude(most, cut.fmt, rounding))
    return sizes, left + off * weight


def rounding_error(most: Fraction, fmt: Format, rounding: Rounding) -> Fraction:
    """Return how far rounding to ``fmt`` moves a number of at most ``most`` in magnitude, if it stays finite."""
    # a power of two in the range of the format does not move, and numbers below it have the next lower exponent
    top = _log2_below(most) if most else fmt.e_min
    ulp = Fraction(2) ** (max(top, fmt.e_min) - fmt.fraction_bits)
    if rounding in _AWAY:
        return ulp if most else most
    return min(ulp / 2 if rounding in _NEAREST else ulp, most)


def rounded_magnitude(most: Fraction, fmt: Format, rounding: Rounding) -> Fraction:
    """Return ``most`` rounded to ``fmt`` without an upper end of exponents. RTN and RTP round it up."""
    ulp = fmt.ulp(most)
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


def _log2_below(x: Fraction) -> int:
    """Return the largest exponent of numbers below x."""
    top = floor_log2(x)
    return top - 1 if Fraction(2) ** top == x else top
