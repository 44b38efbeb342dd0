"""Lemmas about the cut of one term: how much it loses, when it loses nothing, and how large the cut term is.

Every term of a fused sum goes through ``align`` by itself. So what holds for one term of each shape (widths, fraction
bits, bound of the significand) holds for all of them, however many there are. The assumption about a term is what the
earlier stages ensure (``Term.valid_at``): its significand is at most ``largest``. If the term is present, its exponent
is at most e_max. If it is not present, it is zero.

Lemmas about the conversion rho: how far it moves the sum, and that it depends only on the value of the sum.

They hold for every sum within the bound of the step and for every exponent, whatever the terms were.

The lemmas about a c that is dropped because it is small: of two neighbours the larger one keeps no less.

``lemmas_for_c`` (``monotone``) needs two things of the cut of c. At the same e_max the cut of a larger c is not
smaller. Where the exponent of c is e_max, nothing of c is lost. Here the cut comes after the decision to drop c, and
each of the two is a lemma (``KeptInOrder``, ``KeptAtTop``).
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pysmt.fnode import FNode

from mmaproof.designs.conversions import Rounding
from mmaproof.designs.design import Design
from mmaproof.smt.algebra.protocol import Algebra, D, T, Truth, Word, ite
from mmaproof.smt.algebra.terms import TermAlgebra
from mmaproof.smt.algebra.words import normalised, with_top_exponent
from mmaproof.smt.proving.lemma import Input, Lemma
from mmaproof.smt.proving.rising_terms import Changed, Neighbours
from mmaproof.smt.semantics.align import Cut, align, loses_bits
from mmaproof.smt.semantics.convert import Rules, convert
from mmaproof.smt.semantics.datapath import Addend, Label, Partial, StepPath, SumPath, datapath
from mmaproof.smt.semantics.fused_step import without_far_c, without_small_c
from mmaproof.smt.semantics.fused_sum import FusedSum
from mmaproof.smt.semantics.patterns import Unpacked, unpack
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


WIDE = 96
"""Width of sums up to which the error of their conversion is one lemma."""


def rules_of(of: Design | Rules) -> Rules:
    """Return the rules of a conversion: those given, or those at the end of a design's step."""
    return of if isinstance(of, Rules) else Rules.of(of.step)


class ConversionLemma(Lemma):
    """A statement about the conversion of ``total * 2**(e_max - fraction_bits)``.

    ``of`` are the rules of the conversion, or the design whose step it ends.
    """

    def __init__(self, name: str, of: Design | Rules, total: FusedSum[Any, Any]) -> None:
        self.name = name
        self.rules = rules_of(of)
        self.fraction_bits = total.fraction_bits
        self.largest = total.largest
        self.inputs = (
            Input("total", total.total.width, signed=True),
            Input("e_max", total.e_max.width, signed=True),
            Input("zero_negative", 1),
        )

    def assumption(self, algebra: Algebra[D, T], words: Mapping[str, Word[D]]) -> Truth[T]:
        """Return whether the sum is within the bound of its terms."""
        magnitude = words["total"].magnitude()
        width = max(magnitude.width, self.largest.bit_length())
        return magnitude <= algebra.unsigned(self.largest, width)

    def claim(self, algebra: Algebra[D, T], words: Mapping[str, Word[D]]) -> Truth[T]:
        """Return the claim about the sum that the words represent."""
        return self.of_sum(algebra, words["total"], words["e_max"], words["zero_negative"].is_value(1))

    @abstractmethod
    def of_sum(self, algebra: Algebra[D, T], total: Word[D], e_max: Word[D], zero_negative: Truth[T]) -> Truth[T]:
        """Return the claim about a sum."""


class ConversionError(ConversionLemma):
    """rho changes the sum by less than one ulp if it truncates, and by at most half an ulp if it rounds to nearest.

    The ulp is that of the result in the precision of rho. Nothing is claimed of a result that is not finite. With
    ``up_to_largest``, nothing is claimed of the largest number either where the sum is larger: a format without
    infinities and a directed rounding return it for such a sum. Where subnormal results are flushed, a result may also
    be zero for any sum below the smallest normal number.
    """

    beside = 0
    """units of the sum by which the error is counted larger; what lies beside it is nearer than that"""

    def __init__(self, of: Design | Rules, total: FusedSum[Any, Any], *, up_to_largest: bool = False) -> None:
        rules = rules_of(of)
        nearest = rules.rho.rounding in (Rounding.RNE, Rounding.RNA)
        amount = "at most half an ulp" if nearest else "less than one ulp"
        flushed = ", or flushes one below the smallest normal number" if rules.flushes else ""
        limited = rules.rho.target.infinity is None or rules.rho.rounding in (Rounding.RTN, Rounding.RTP)
        within = ", up to the largest number" if up_to_largest and limited else ""
        super().__init__(f"rho changes the sum by {amount} of the result{flushed}{within}", rules, total)
        self.nearest = nearest
        self.up_to_largest = up_to_largest and limited

    def of_sum(self, algebra: Algebra[D, T], total: Word[D], e_max: Word[D], zero_negative: Truth[T]) -> Truth[T]:
        """Return whether the error is as claimed, or the result is not finite.

        The result is n * 2**(x - f) with the significand n, and the sum is t * 2**(e_max - F). With
        s = (x - f) - (e_max - F), both are counted in units of the smaller exponent, so n * 2**s is compared with t, or
        n with t * 2**-s. If s is beyond all bits of t, the claim is that n is zero, because t is less than half an ulp
        then; rounded away from zero, it may also be one ulp, if t is not zero. If -s is beyond all bits of n, the claim
        is that t is zero, and then n is zero too.
        """
        rho = self.rules.rho
        pattern, _ = convert(algebra, self.rules, total, e_max, self.fraction_bits, zero_negative)
        d = unpack(algebra, rho.target, pattern)
        shift = d.exponent - e_max - (d.fraction_bits - self.fraction_bits)
        unused = rho.target.fraction_bits - rho.fraction_bits
        n, t = d.significand.as_signed(), total.magnitude()
        up_most, down_most = total.width + 1, d.significand.width + 1
        up, up_far = _amount(algebra, shift, up_most)
        down, down_far = _amount(algebra, -shift, down_most)
        result = n.shift_left_by(up)
        exact = t.as_signed().shift_left_by(down)
        error = (result - exact).magnitude() + algebra.unsigned(self.beside, 1).shift_left_by(down)
        # the error is doubled, so that it is counted in half ulps
        error = error << 1
        ulp = algebra.unsigned(2 << unused, unused + 2).shift_left_by(up)
        if self.nearest:
            ulp = ulp.drop_low(1)
        within = error <= ulp if self.nearest or self.beside else error < ulp
        zero_result, zero_sum = d.significand.is_value(0), t.is_value(0)
        signs = d.negative == (total < 0)
        fits = algebra.any_of(
            [
                up_far & zero_result,
                algebra.all_of([down_far, zero_sum, zero_result]),
                ~(up_far | down_far) & within,
            ]
        )
        if not self.nearest:
            fits = fits | algebra.all_of([up_far, d.significand.is_value(1 << unused), ~zero_sum])
        if self.rules.flushes:  # with the exponent e_min of the zero, 2**e_min is 2**f ulps
            smallest = algebra.unsigned(1 << d.fraction_bits, d.fraction_bits + 1).shift_left_by(up)
            fits = fits | (~down_far & zero_result & (exact.magnitude() < smallest))
        same_side = signs | zero_result
        beyond = d.infinite | d.nan
        if self.up_to_largest:
            ignored = rho.target.ignored_bits + unused
            largest = rho.target.max_finite >> ignored << ignored
            at_largest = algebra.extract(pattern, rho.target.sign_position - 1, 0).is_value(largest)
            above = (~(up_far | down_far) & (result.magnitude() < exact.magnitude())) | (down_far & ~zero_sum)
            beyond = beyond | (at_largest & above)
        return beyond | (fits & same_side)


class LeadingBits(ConversionLemma):
    """rho of a wide sum is rho of its leading bits, of which the last says whether any bit below is set."""

    def __init__(self, of: Design | Rules, total: FusedSum[Any, Any]) -> None:
        super().__init__("rho looks at the leading bits of a sum, and at whether any bit below is set", of, total)

    def of_sum(self, algebra: Algebra[D, T], total: Word[D], e_max: Word[D], zero_negative: Truth[T]) -> Truth[T]:
        """Return whether both convert to the same result."""
        given, _ = convert(algebra, self.rules, total, e_max, self.fraction_bits, zero_negative)
        leading, exponent = _leading(total, e_max, self.fraction_bits, leading_bits(self.rules))
        shorter, _ = convert(algebra, self.rules, leading, exponent, leading_bits(self.rules) - 1, zero_negative)
        return given == shorter


def leading_bits(rules: Rules) -> int:
    """Return the bits of a magnitude that decide how it is rounded: those that are kept and two more."""
    rho = rules.rho
    return max(rho.fraction_bits, rho.first.fraction_bits) + 3


def _leading(total: Word[D], e_max: Word[D], fraction_bits: int, bits: int) -> tuple[Word[D], Word[D]]:
    """Return the leading bits of a sum, jammed, with its sign, and the exponent of the first one."""
    top, exponent = with_top_exponent(total.magnitude(), e_max, fraction_bits)
    places = top.width - bits
    moved = top.shift_right_jam(top.algebra.unsigned(places, places.bit_length())).narrow(bits)
    return moved.negated_where(total < 0), exponent


def conversion_errors(of: Design | Rules, total: FusedSum[Any, Any], *, up_to_largest: bool = False) -> Sequence[Lemma]:
    """Return the lemmas that a conversion moves a sum as little as ``ConversionError`` says.

    That of a wide sum is the one of its leading bits. These and the exact sum lie on the same side of every number that
    has two bits less, or are equal to it: jamming moves a sum to an odd multiple of the last bit, between the same two
    even ones. A result, half an ulp beside it and one ulp beside it are such numbers, so both sums are as near.
    """
    rules = rules_of(of)
    if total.total.width <= WIDE:
        return [ConversionError(rules, total, up_to_largest=up_to_largest)]
    algebra, bits = TermAlgebra(), leading_bits(rules)
    words = [algebra.twos_complement(algebra.symbol(f"wide_{w.width}", w.width)) for w in (total.total, total.e_max)]
    leading, exponent = _leading(words[0], words[1], total.fraction_bits, bits)
    path = SumPath(Partial.WHOLE, (Addend.X,), (Cut(bits - 1),))
    short = FusedSum(path, (), exponent, (), leading, algebra.truth(True), (1 << bits) - 1)
    return [LeadingBits(rules, total), ConversionError(rules, short, up_to_largest=up_to_largest)]


class ConversionOfValue(ConversionLemma):
    """rho depends only on the value of the sum: the same sum in units of half the size converts to the same result."""

    def __init__(self, design: Design, total: FusedSum[Any, Any]) -> None:
        super().__init__("rho depends on the value of the sum, not on the unit it is counted in", design, total)

    def of_sum(self, algebra: Algebra[D, T], total: Word[D], e_max: Word[D], zero_negative: Truth[T]) -> Truth[T]:
        """Return whether t * 2**(e - F), 2t * 2**(e - (F + 1)) and 2t * 2**((e - 1) - F) convert to one result."""
        doubled, below = total << 1, e_max - 1
        given, _ = convert(algebra, self.rules, total, e_max, self.fraction_bits, zero_negative)
        finer, _ = convert(algebra, self.rules, doubled, e_max, self.fraction_bits + 1, zero_negative)
        lower, _ = convert(algebra, self.rules, doubled, below, self.fraction_bits, zero_negative)
        return (given == finer) & (given == lower)


def one_number(algebra: TermAlgebra, x: Unpacked[FNode, FNode]) -> FusedSum[FNode, FNode]:
    """Return the shape of a number that is to be converted by itself."""
    significand, exponent = normalised(x.significand, x.exponent)
    path = SumPath(Partial.WHOLE, (Addend.X,), (Cut(x.fraction_bits),))
    largest = (1 << significand.width) - 1
    return FusedSum(path, (), exponent, (), significand.negated_where(x.negative), algebra.truth(True), largest)


def _amount(algebra: Algebra[D, T], shift: Word[D], most: int) -> tuple[Word[D], Truth[T]]:
    """Return a shift as an unsigned word from 0 to ``most``, and whether it is larger than that."""
    far = shift > most
    clipped = algebra.maximum([ite(far, most, shift), algebra.signed(0)])
    return clipped.narrow_to_unsigned(most.bit_length()), far


def without_drops(design: Design) -> Design:
    """Return a design like this one, except that it aligns a c however small it is."""
    (path,) = datapath(design.one_step(), design.step.L)
    settings = {"far_c": "rounded"} if path.far_c_dropped is not None else {}
    settings |= {"small_c": "rounded"} if path.small_c_dropped is not None else {}
    return design.change(**settings) if settings else design


@dataclass(frozen=True)
class Dropped:
    """When a step drops c, by its path, and how c is cut otherwise."""

    path: StepPath
    cut: Cut

    def left(self, algebra: Algebra[D, T], c: Term[D, T], e_max: Word[D], products: Term[D, T]) -> Term[D, T]:
        """Return c, with a zero significand where it is dropped. ``products`` is their sum as a term."""
        if self.path.far_c_dropped is not None:
            c = without_far_c(self.path.far_c_dropped, products, c)
        if self.path.small_c_dropped is not None:
            c = without_small_c(algebra, c, e_max, self.cut.fraction_bits, self.path.small_c_dropped)
        return c

    def kept(self, algebra: Algebra[D, T], c: Term[D, T], e_max: Word[D], products: Term[D, T]) -> Word[D]:
        """Return what is added of c."""
        return align(algebra, self.left(algebra, c, e_max, products), e_max, self.cut)


class _KeptNeighbours(Neighbours):
    """A statement about what is kept of the terms of two neighbours, beside products whose e_max is one of the terms'.

    The sum of the products may be absent. It is a term only where c joins it.
    """

    def __init__(self, name: str, changed: Changed, dropped: Dropped, shape: TermShape, products_width: int) -> None:
        super().__init__(
            name,
            changed,
            Input("e_max", shape.e_max_width, signed=True),
            Input("of_products", products_width, signed=True),
            Input("present", 1),
        )
        self.dropped = dropped

    def of_products(self, algebra: Algebra[D, T], words: Mapping[str, Word[D]]) -> Term[D, T]:
        """Return the sum of the products as a term whose significand means nothing."""
        return Term(
            0,
            algebra.truth(False),
            words["of_products"],
            algebra.unsigned(1, 1),
            words["present"].is_value(1),
            1,
        )


class KeptInOrder(_KeptNeighbours):
    """At the same e_max, what is kept of a larger c is not smaller."""

    def __init__(self, changed: Changed, dropped: Dropped, shape: TermShape, products_width: int) -> None:
        name = "at the same e_max, what is kept of a larger c is not smaller"
        super().__init__(name, changed, dropped, shape, products_width)

    def of_terms(
        self, algebra: Algebra[D, T], words: Mapping[str, Word[D]], v: Term[D, T], above: Term[D, T]
    ) -> Truth[T]:
        """Return whether that holds, or e_max is below one of the exponents."""
        e_max, products = words["e_max"], self.of_products(algebra, words)
        below = [t.present & (t.exponent > e_max) for t in (v, above, products)]
        x, y = (self.dropped.kept(algebra, t, e_max, products) for t in (v, above))
        return algebra.any_of([*below, x <= y])


class KeptAtTop(_KeptNeighbours):
    """Nothing of c is dropped where e_max is its own exponent."""

    def __init__(self, changed: Changed, dropped: Dropped, shape: TermShape, products_width: int) -> None:
        name = "where e_max is its own exponent, c is not dropped"
        super().__init__(name, changed, dropped, shape, products_width)

    def of_terms(
        self, algebra: Algebra[D, T], words: Mapping[str, Word[D]], v: Term[D, T], above: Term[D, T]
    ) -> Truth[T]:
        """Return whether both terms are kept, or the exponent of the products is higher."""
        products = self.of_products(algebra, words)
        claims = []
        for t in (v, above):
            higher = products.present & (products.exponent > t.exponent)
            kept = self.dropped.kept(algebra, t, t.exponent, products)
            claims.append(algebra.any_of([~t.present, higher, kept == align(algebra, t, t.exponent, self.dropped.cut)]))
        return algebra.all_of(claims)
