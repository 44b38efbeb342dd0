"""Lemmas about the cut of one term: how much it loses, when it loses nothing, and how large the cut term is.

Every term of a fused sum goes through ``align`` by itself. So what holds for one term of each shape (widths, fraction
bits, bound of the significand) holds for all of them, however many there are. The assumption about a term is what the
earlier stages ensure (``Term.valid_at``): its significand is at most ``largest``. If the term is present, its exponent
is at most e_max. If it is not present, it is zero.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mmaproof.smt.algebra.protocol import Algebra, D, T, Truth, Word, ite
from mmaproof.smt.proving.lemma import Input, Lemma
from mmaproof.smt.semantics.align import Cut, align, loses_bits
from mmaproof.smt.semantics.fused_sum import FusedSum
from mmaproof.smt.semantics.labels import Addend, Label
from mmaproof.smt.semantics.terms import Term


@dataclass(frozen=True)
class TermShape:
    """What terms have in common that differ only in their values, and the width of the e_max that aligns them."""

    significand_width: int
    largest: int
    fraction_bits: int
    exponent_width: int
    e_max_width: int

    @classmethod
    def of(cls, term: Term[Any, Any], e_max: Word[Any]) -> TermShape:
        """Return the shape of a term of a step."""
        return cls(term.significand.width, term.largest, term.fraction_bits, term.exponent.width, e_max.width)


def kind_of(label: Label) -> str:
    """Return what a label of a step's only sum stands for: ``products`` (or groups of them) or ``c``."""
    return "c" if label is Addend.C else "products"


def cut_terms(total: FusedSum[Any, Any]) -> dict[str, tuple[TermShape, Cut]]:
    """Return the shapes of the terms of a sum by their kind, ``products`` and ``c``, each with the cut of such terms.

    Raises ValueError if the products differ in shape or cut.
    """
    found: dict[str, tuple[TermShape, Cut]] = {}
    for label, term, cut in zip(total.labels, total.terms, total.path.cuts, strict=True):
        kind, this = kind_of(label), (TermShape.of(term, total.e_max), cut)
        if found.setdefault(kind, this) != this:
            raise ValueError(f"the {kind} of a step differ: {found[kind]} and {this}")
    return found


class TermLemma(Lemma):
    """A statement about one term of ``shape`` and about what ``cut`` keeps of it below an e_max."""

    def __init__(self, name: str, shape: TermShape, cut: Cut) -> None:
        self.name = name
        self.shape, self.cut = shape, cut
        self.inputs = (
            Input("significand", shape.significand_width),
            Input("exponent", shape.exponent_width, signed=True),
            Input("e_max", shape.e_max_width, signed=True),
            Input("negative", 1),
            Input("present", 1),
            *([Input("opposes", 1)] if cut.inverts else []),
        )

    def assumption(self, algebra: Algebra[D, T], words: Mapping[str, Word[D]]) -> Truth[T]:
        """Return whether the term is as the earlier stages ensure."""
        return self.term_of(algebra, words).valid_at(words["e_max"])

    def term_of(self, algebra: Algebra[D, T], words: Mapping[str, Word[D]]) -> Term[D, T]:
        """Return the term that the words represent."""
        return Term(
            self.shape.fraction_bits,
            words["negative"].is_value(1),
            words["exponent"],
            words["significand"],
            words["present"].is_value(1),
            self.shape.largest,
            words["opposes"].is_value(1) if self.cut.inverts else None,
        )


class CutLemma(TermLemma):
    """A statement about one term and its cut, and nothing else."""

    def claim(self, algebra: Algebra[D, T], words: Mapping[str, Word[D]]) -> Truth[T]:
        """Return the claim about the term that the words represent."""
        return self.of_term(algebra, self.term_of(algebra, words), words["e_max"])

    @abstractmethod
    def of_term(self, algebra: Algebra[D, T], term: Term[D, T], e_max: Word[D]) -> Truth[T]:
        """Return the claim about ``term`` cut below ``e_max``."""


class CutError(CutLemma):
    """A cut moves a term by less than one unit, ``2**(e_max - F)``. Rounding to nearest moves it by at most half."""

    def __init__(self, kind: str, shape: TermShape, cut: Cut) -> None:
        amount = "at most half of" if cut.rounds_to_nearest else "less than"
        super().__init__(f"cutting one of the {kind} changes it by {amount} 2^(e_max - F)", shape, cut)

    def of_term(self, algebra: Algebra[D, T], term: Term[D, T], e_max: Word[D]) -> Truth[T]:
        """Return whether ``|kept - exact| < 1``, or at most 1/2, in units of the last kept bit.

        With x = significand * 2**(F - f - distance), both sides are multiplied by 2**(f + distance). A distance beyond
        all bits is replaced by the first such distance, because the exact term is less than half a unit there anyway.
        """
        scaled, exact, unit = compared(algebra, term, e_max, self.shape, self.cut)
        error = (scaled - exact).magnitude()
        if self.cut.rounds_to_nearest:
            return (error << 1) <= unit
        return error < unit


class CutOfValue(CutLemma):
    """A cut is the whole part of a term in units of the last kept bit: the floor, or the truncated magnitude.

    So it depends only on the value of the term, and a larger value has a cut that is not smaller.
    """

    def __init__(self, kind: str, shape: TermShape, cut: Cut) -> None:
        if not (cut.truncates or cut.rounds_down):
            raise ValueError(f"{cut} does not keep the whole part")
        super().__init__(f"the cut of one of the {kind} is its whole part", shape, cut)

    def of_term(self, algebra: Algebra[D, T], term: Term[D, T], e_max: Word[D]) -> Truth[T]:
        """Return whether ``0 <= exact - kept < 1``, of magnitudes where these are truncated."""
        scaled, exact, unit = compared(algebra, term, e_max, self.shape, self.cut)
        if self.cut.rounds_down:
            rest = exact - scaled
            return (rest >= 0) & (rest < unit.as_signed())
        rest = exact.magnitude().as_signed() - scaled.magnitude().as_signed()
        sign = scaled.is_value(0) | ((scaled < 0) == term.negative)
        return sign & (rest >= 0) & (rest < unit.as_signed())


class CutIsExact(CutLemma):
    """A cut loses nothing of a nonzero term that lies at most ``spread`` below e_max."""

    def __init__(self, kind: str, shape: TermShape, cut: Cut, spread: int) -> None:
        super().__init__(f"{kind} at most {spread} below e_max lose nothing", shape, cut)
        self.spread = spread

    def of_term(self, algebra: Algebra[D, T], term: Term[D, T], e_max: Word[D]) -> Truth[T]:
        """Return whether nothing is lost, or the term lies more than ``spread`` below e_max."""
        further = e_max - term.exponent > self.spread
        nonzero = ~term.significand.is_value(0)
        lost = loses_bits(algebra, term, e_max, self.cut)
        return ~lost | (nonzero & further)


class CutBound(CutLemma):
    """A cut term is at most the bound that the width of the sum is computed from."""

    def __init__(self, kind: str, shape: TermShape, cut: Cut) -> None:
        self.bound = cut.bound(shape.largest, shape.fraction_bits)
        super().__init__(f"one of the {kind}, cut, is at most {self.bound} * 2^(e_max - F)", shape, cut)

    def of_term(self, algebra: Algebra[D, T], term: Term[D, T], e_max: Word[D]) -> Truth[T]:
        """Return whether the magnitude is within the bound."""
        magnitude = align(algebra, term, e_max, self.cut).magnitude()
        width = max(magnitude.width, self.bound.bit_length())
        return magnitude <= algebra.unsigned(self.bound, width)


def compared(
    algebra: Algebra[D, T], term: Term[D, T], e_max: Word[D], shape: TermShape, cut: Cut
) -> tuple[Word[D], Word[D], Word[D]]:
    """Return what a cut keeps of a term, the exact term, and one unit of the last kept bit, in some smaller unit."""
    far = shape.significand_width + cut.fraction_bits + 1
    kept = align(algebra, term, e_max, cut)
    distance = _distance(algebra, term, e_max, far)
    exact = (term.significand << cut.fraction_bits).negated_where(term.negative)
    one = algebra.unsigned(1 << term.fraction_bits, term.fraction_bits + 1)
    # moved by at most ``far``, whatever more the word of the distance could hold
    scaled, unit = (x.shift_left_by(distance).narrow(x.width + far) for x in (kept << term.fraction_bits, one))
    return scaled, exact, unit


def _distance(algebra: Algebra[D, T], term: Term[D, T], e_max: Word[D], most: int) -> Word[D]:
    """Return e_max - exponent as an unsigned word of at most ``most``. It is zero for a term that is not present."""
    distance = e_max - term.exponent
    far = distance > most
    near = ite(far, most, distance)
    return ite(term.present, near, 0).narrow_to_unsigned(most.bit_length())


def cut_errors(total: FusedSum[Any, Any]) -> Sequence[Lemma]:
    """Return the lemmas that a cut moves every term of a sum by less than one unit, or at most half of one."""
    return [CutError(kind, shape, cut) for kind, (shape, cut) in cut_terms(total).items()]


def cut_bounds(total: FusedSum[Any, Any]) -> Sequence[Lemma]:
    """Return the lemmas that every cut term of a sum is within the bound that ``FusedSum.largest`` adds up."""
    return [CutBound(kind, shape, cut) for kind, (shape, cut) in cut_terms(total).items()]
