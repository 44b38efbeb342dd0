"""Lemmas about the sum of two terms: if it is cut to fewer bits and jammed, it converts as the exact sum does.

The exact sum keeps W fraction bits below the larger exponent, which is enough for every bit of both terms. The jammed
sum keeps n < W. Take any terms that are zero or normalised. Then

1. the jammed sum is the exact sum jammed to n fraction bits, and if that loses bits, the exact sum is at least half of
   ``2**e_max`` (``JammedSum``);
2. if it loses none, both sums have the same value, which converts to the same result (``WidenedConversion``);
3. if the exact sum is so large, jamming it does not change the result of its conversion (``JammedConversion``).

Terms that are zero and not present change neither sum nor e_max.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from mmaproof.smt.algebra.protocol import Algebra, D, T, Truth, Word
from mmaproof.smt.proving.cuts import TermShape
from mmaproof.smt.proving.lemma import Input, Lemma
from mmaproof.smt.semantics.align import largest_exponent
from mmaproof.smt.semantics.convert import Rules, convert
from mmaproof.smt.semantics.cut import Cut
from mmaproof.smt.semantics.datapath import SumPath
from mmaproof.smt.semantics.fused_sum import FusedSum, fused_sum
from mmaproof.smt.semantics.labels import Addend, Partial
from mmaproof.smt.semantics.terms import Term


class JammedSum(Lemma):
    """The jammed sum is the exact sum jammed. If that loses bits, the exact sum is large."""

    def __init__(self, shapes: tuple[TermShape, TermShape], exact_bits: int, bits: int) -> None:
        self.name = f"the sum of two terms jammed at {bits} fraction bits is the one at {exact_bits}, jammed"
        self.shapes, self.exact_bits, self.bits = shapes, exact_bits, bits
        self.inputs = tuple(
            x
            for name, shape in zip("xy", shapes, strict=True)
            for x in (
                Input(f"{name}_significand", shape.significand_width),
                Input(f"{name}_exponent", shape.exponent_width, signed=True),
                Input(f"{name}_negative", 1),
            )
        )

    def assumption(self, algebra: Algebra[D, T], words: Mapping[str, Word[D]]) -> Truth[T]:
        """Return whether the terms are zero or normalised and keep all of their bits in the exact sum."""
        terms = self._terms(algebra, words)
        e_max = largest_exponent(algebra, terms)
        meant = []
        for term, shape in zip(terms, self.shapes, strict=True):
            width = term.significand.width
            below_one = term.significand < algebra.unsigned(1 << term.fraction_bits, width)
            above = term.significand > algebra.unsigned(shape.largest, width)
            meant += [~term.present | ~below_one, ~above]
            meant.append(holds_every_bit(algebra, term, e_max, self.exact_bits))
        return algebra.all_of(meant)

    def claim(self, algebra: Algebra[D, T], words: Mapping[str, Word[D]]) -> Truth[T]:
        """Return whether the sums are so."""
        terms = self._terms(algebra, words)
        exact = self._sum(algebra, terms, Cut(self.exact_bits)).total
        jammed = self._sum(algebra, terms, Cut.jammed(self.bits)).total
        expected, lost = _jam(algebra, exact, self.exact_bits - self.bits)
        kept_or_large = ~lost | _is_large(algebra, exact, self.exact_bits)
        return (jammed == expected) & kept_or_large

    def _terms(self, algebra: Algebra[D, T], words: Mapping[str, Word[D]]) -> list[Term[D, T]]:
        found = []
        for name, shape in zip("xy", self.shapes, strict=True):
            significand = words[f"{name}_significand"]
            negative = words[f"{name}_negative"].is_value(1)
            present = ~significand.is_value(0)
            exponent = words[f"{name}_exponent"]
            found.append(Term(shape.fraction_bits, negative, exponent, significand, present, shape.largest))
        return found

    @staticmethod
    def _sum(algebra: Algebra[D, T], terms: Sequence[Term[D, T]], cut: Cut) -> FusedSum[D, T]:
        return fused_sum(algebra, SumPath(Partial.WHOLE, (Addend.X, Addend.Y), (cut, cut)), terms)


class WidenedConversion(Lemma):
    """A sum with zeros appended converts to the same."""

    def __init__(self, rules: Rules, exact_bits: int, jammed: FusedSum[Any, Any]) -> None:
        self.name = f"a sum of {jammed.fraction_bits} fraction bits converts as it does with {exact_bits}"
        self.rules, self.exact_bits, self.bits = rules, exact_bits, jammed.fraction_bits
        self.inputs = (
            Input("total", jammed.total.width, signed=True),
            Input("e_max", jammed.e_max.width, signed=True),
            Input("zero_negative", 1),
        )

    def claim(self, algebra: Algebra[D, T], words: Mapping[str, Word[D]]) -> Truth[T]:
        """Return whether both convert to the same."""
        total, e_max = words["total"], words["e_max"]
        zero_negative = words["zero_negative"].is_value(1)
        wide = total << (self.exact_bits - self.bits)
        given, _ = convert(algebra, self.rules, total, e_max, self.bits, zero_negative)
        widened, _ = convert(algebra, self.rules, wide, e_max, self.exact_bits, zero_negative)
        return given == widened


class JammedConversion(Lemma):
    """A large sum converts as it does when jammed."""

    def __init__(self, rules: Rules, exact: FusedSum[Any, Any], bits: int) -> None:
        self.name = f"a large sum of {exact.fraction_bits} fraction bits converts as it does jammed to {bits}"
        self.rules, self.exact_bits, self.bits = rules, exact.fraction_bits, bits
        self.inputs = (
            Input("total", exact.total.width, signed=True),
            Input("e_max", exact.e_max.width, signed=True),
        )

    def assumption(self, algebra: Algebra[D, T], words: Mapping[str, Word[D]]) -> Truth[T]:
        """Return whether the sum is large."""
        return _is_large(algebra, words["total"], self.exact_bits)

    def claim(self, algebra: Algebra[D, T], words: Mapping[str, Word[D]]) -> Truth[T]:
        """Return whether both convert to the same."""
        total, e_max = words["total"], words["e_max"]
        jammed, _ = _jam(algebra, total, self.exact_bits - self.bits)
        no = algebra.truth(False)
        given, _ = convert(algebra, self.rules, total, e_max, self.exact_bits, no)
        shorter, _ = convert(algebra, self.rules, jammed, e_max, self.bits, no)
        return given == shorter


def _jam(algebra: Algebra[D, T], x: Word[D], places: int) -> tuple[Word[D], Truth[T]]:
    """Return ``x / 2**places`` with its magnitude jammed, and whether bits were lost."""
    magnitude = x.magnitude()
    lost = ~magnitude.extract(places - 1, 0).is_value(0)
    moved = magnitude.shift_right_jam(algebra.unsigned(places, places.bit_length()))
    moved = moved.narrow(magnitude.width - places)
    return moved.negated_where(x < 0), lost


def _is_large(algebra: Algebra[D, T], total: Word[D], fraction_bits: int) -> Truth[T]:
    """Return whether the magnitude of a sum is at least half of ``2**e_max``."""
    magnitude = total.magnitude()
    return magnitude >= algebra.unsigned(1 << (fraction_bits - 1), magnitude.width)


def holds_every_bit(algebra: Algebra[D, T], term: Term[D, T], e_max: Word[D], fraction_bits: int) -> Truth[T]:
    """Return whether a term is zero, or so close to e_max that all of its bits, set or not, lie above the cut."""
    distance = e_max - term.exponent
    return term.significand.is_value(0) | (distance <= fraction_bits - term.fraction_bits)


def jammed_as_exact(rules: Rules, exact: FusedSum[Any, Any], jammed: FusedSum[Any, Any]) -> Sequence[Lemma]:
    """Return lemmas that together imply that both sums of a first product and c convert to the same result.

    The two terms are the first and the last of both sums. The others are zero and not present. The caller must show
    that the two terms are zero or normalised and keep every bit in the exact sum.
    """
    x, y = (TermShape.of(exact.terms[i], exact.e_max) for i in (0, -1))
    return (
        JammedSum((x, y), exact.fraction_bits, jammed.fraction_bits),
        WidenedConversion(rules, exact.fraction_bits, jammed),
        JammedConversion(rules, exact, jammed.fraction_bits),
    )
