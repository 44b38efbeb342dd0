"""The lemmas behind the scaling of a whole step by two.

Take nonzero operands of a step, and the same operands with a and c doubled, so that every number stays normal. Then

1. each doubled operand has the same significand and sign, and an exponent one higher (``UnpacksDoubled``). The same
   holds for c and for every product, whose exponent is the sum of the exponents of a and b;
2. the largest of exponents that are all one higher is one higher (``MaximumMoves``, two at a time). A floor of e_max
   is not higher than the exponent of c, which is normal (``NormalC``), so it changes nothing;
3. whether a c that lies far below the products, or below one unit, is dropped stays the same (``FarMoves``,
   ``SmallMoves``), and a number that is normalised before it is aligned moves with its exponent (``NormalisedMoves``);
4. a term cut below e_max is the same when its exponent and e_max are both one higher (``CutMoves``), so that all
   aligned terms and their sum are the same;
5. rho of the same sum at an e_max one higher is twice rho of it, where that stays in the normal range
   (``ConversionMoves``).

So d is doubled. No number is special, before or after, so no special value replaces the sum. A step that consists of
rounded operations, and one that adds c to the converted sum, has results in between (``scaling_of_results``).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from mmaproof.designs.design import Design
from mmaproof.designs.formats import Format
from mmaproof.designs.steps import Guarantee
from mmaproof.smt.algebra.protocol import Algebra, D, T, Truth, Word, ite
from mmaproof.smt.algebra.terms import TermAlgebra
from mmaproof.smt.proving.conversions import ConversionLemma
from mmaproof.smt.proving.cuts import CutLemma, TermShape
from mmaproof.smt.proving.lemma import Input, Lemma
from mmaproof.smt.proving.rising_terms import beside_zeros
from mmaproof.smt.semantics import dot_product_accumulate
from mmaproof.smt.semantics.align import Cut, align
from mmaproof.smt.semantics.convert import Rules, convert
from mmaproof.smt.semantics.datapath import StepPath, datapath
from mmaproof.smt.semantics.fused_step import normalised_addend, without_far_c, without_small_c
from mmaproof.smt.semantics.fused_sum import FusedSum
from mmaproof.smt.semantics.labels import Addend
from mmaproof.smt.semantics.terms import Term
from mmaproof.smt.semantics.unpack import unpack

_MOVES = (Guarantee.ALIGNED_SUMS, Guarantee.CONVERTED_VALUE, Guarantee.MOVING_EXPONENTS)


def doubled(algebra: Algebra[D, T], fmt: Format, pattern: Word[D]) -> Word[D]:
    """Return the pattern of twice a normal number whose double is normal too. Zero is returned as it is."""
    zero = unpack(algebra, fmt, pattern).zero
    one_up = algebra.unsigned(1 << (fmt.fraction_bits + fmt.ignored_bits), fmt.bits)
    return ite(zero, pattern, (pattern + one_up).extract(fmt.bits - 1, 0))


def stays_normal(algebra: Algebra[D, T], fmt: Format, pattern: Word[D]) -> Truth[T]:
    """Return whether a number and its double are normal."""
    x, twice = unpack(algebra, fmt, pattern), unpack(algebra, fmt, doubled(algebra, fmt, pattern))
    below_top = x.exponent < fmt.e_max
    special = algebra.any_of([x.zero, x.subnormal, x.infinite, x.nan, twice.infinite, twice.nan])
    return below_top & ~special


def is_inside(algebra: Algebra[D, T], fmt: Format, pattern: Word[D]) -> Truth[T]:
    """Return whether a result is at least 2**(e_min + 1) and its double is normal.

    The value that was rounded to such a result was normal.
    """
    above = unpack(algebra, fmt, pattern).exponent > fmt.e_min
    return above & stays_normal(algebra, fmt, pattern)


class UnpacksDoubled(Lemma):
    """A doubled number has the same significand and sign, and an exponent one higher."""

    def __init__(self, fmt: Format) -> None:
        self.fmt = fmt
        self.name = f"doubling a normal {fmt.name} adds one to its exponent and changes nothing else"
        self.inputs = (Input("pattern", fmt.bits),)

    def assumption(self, algebra: Algebra[D, T], words: Mapping[str, Word[D]]) -> Truth[T]:
        """Return whether the number and its double are normal."""
        return stays_normal(algebra, self.fmt, words["pattern"])

    def claim(self, algebra: Algebra[D, T], words: Mapping[str, Word[D]]) -> Truth[T]:
        """Return whether the parts are so."""
        x = unpack(algebra, self.fmt, words["pattern"])
        twice = unpack(algebra, self.fmt, doubled(algebra, self.fmt, words["pattern"]))
        return algebra.all_of(
            [
                x.significand == twice.significand,
                x.negative == twice.negative,
                x.exponent + 1 == twice.exponent,
                ~(twice.zero | twice.subnormal),
            ]
        )


class MaximumMoves(Lemma):
    """If two exponents are one higher, their maximum is one higher."""

    def __init__(self, width: int) -> None:
        self.name = f"the larger of two exponents of {width} bits moves with them"
        self.inputs = (Input("x", width, signed=True), Input("y", width, signed=True))

    def claim(self, algebra: Algebra[D, T], words: Mapping[str, Word[D]]) -> Truth[T]:
        """Return whether it is."""
        pair = [words["x"], words["y"]]
        moved = algebra.maximum([w + 1 for w in pair])
        return moved == algebra.maximum(pair) + 1


class CutMoves(CutLemma):
    """The cut of a term depends only on its significand and its distance below e_max."""

    def of_term(self, algebra: Algebra[D, T], term: Term[D, T], e_max: Word[D]) -> Truth[T]:
        """Return whether the cut stays the same if the exponent and e_max are one higher."""
        higher = replace(term, exponent=term.exponent + 1)
        moved = align(algebra, higher, e_max + 1, self.cut)
        return align(algebra, term, e_max, self.cut) == moved


class FarMoves(Lemma):
    """Whether a c is dropped because it lies far below the products depends only on the distance of their exponents."""

    def __init__(self, c_width: int, products_width: int, dropped_below: int) -> None:
        self.name = "whether c is dropped depends on its distance from the products alone"
        self.dropped_below = dropped_below
        self.inputs = (
            Input("c", c_width, signed=True),
            Input("products", products_width, signed=True),
            Input("present", 1),
        )

    def claim(self, algebra: Algebra[D, T], words: Mapping[str, Word[D]]) -> Truth[T]:
        """Return whether the same c is kept if both exponents are one higher."""
        present, no = words["present"].is_value(1), algebra.truth(False)
        one = algebra.unsigned(1, 1)
        kept = []
        for more in (0, 1):
            products = Term(0, no, words["products"] + more, one, present, 1)
            c = Term(0, no, words["c"] + more, one, algebra.truth(True), 1)
            kept.append(without_far_c(self.dropped_below, products, c).significand)
        return kept[0] == kept[1]


class SmallMoves(CutLemma):
    """Whether a normal c is dropped because it is below one unit depends only on its distance below e_max."""

    def __init__(self, shape: TermShape, cut: Cut, e_min: int, least: int) -> None:
        super().__init__("whether a c below one unit is dropped depends on its distance below e_max", shape, cut)
        self.e_min, self.least = e_min, least

    def assumption(self, algebra: Algebra[D, T], words: Mapping[str, Word[D]]) -> Truth[T]:
        """Return whether the term is that of a normal c (``NormalC``)."""
        return super().assumption(algebra, words) & _is_normal_term(self.term_of(algebra, words), self.least)

    def of_term(self, algebra: Algebra[D, T], term: Term[D, T], e_max: Word[D]) -> Truth[T]:
        """Return whether the same c is kept if its exponent and e_max are one higher."""
        kept = [
            without_small_c(algebra, replace(term, exponent=term.exponent + n), e_max + n, bits, self.e_min).significand
            for bits in (self.cut.fraction_bits,)
            for n in (0, 1)
        ]
        return kept[0] == kept[1]


class NormalisedMoves(Lemma):
    """A number with an exponent one higher has, once normalised, an exponent one higher and the same significand."""

    def __init__(self, kind: str, shape: TermShape) -> None:
        self.name = f"normalising {kind} moves its exponent by as much"
        self.shape = shape
        self.inputs = (Input("significand", shape.significand_width), Input("exponent", shape.exponent_width, True))

    def claim(self, algebra: Algebra[D, T], words: Mapping[str, Word[D]]) -> Truth[T]:
        """Return whether it does."""
        bits, yes = self.shape.fraction_bits, algebra.truth(True)
        x, y = (
            normalised_addend(Term(bits, yes, words["exponent"] + n, words["significand"], yes, self.shape.largest))
            for n in (0, 1)
        )
        same = (x.significand == y.significand) & (x.present == y.present)
        return same & (x.exponent + 1 == y.exponent)


class NormalC(Lemma):
    """A normal c is a term with its top bit set, whose exponent is at least ``least``."""

    def __init__(self, design: Design, least: int) -> None:
        self.design, self.least = design.one_step(), least
        self.name = f"a normal c is aligned with its top bit set, at an exponent of at least {least}"
        self.inputs = (Input("pattern", design.c_format.bits),)

    def assumption(self, algebra: Algebra[D, T], words: Mapping[str, Word[D]]) -> Truth[T]:
        """Return whether c is normal."""
        return stays_normal(algebra, self.design.c_format, words["pattern"])

    def claim(self, algebra: Algebra[D, T], words: Mapping[str, Word[D]]) -> Truth[T]:
        """Return whether the term is so."""
        operands = beside_zeros(algebra, self.design, {"c": words["pattern"]})
        total = dot_product_accumulate(self.design, algebra, operands).steps[0].sums[-1]
        return _is_normal_term(total.terms[total.labels.index(Addend.C)], self.least)


def _is_normal_term(term: Term[D, T], least: int) -> Truth[T]:
    return term.present & (term.exponent >= least) & term.significand.bit(term.significand.width - 1)


class ConversionMoves(ConversionLemma):
    """rho of a sum at an e_max one higher is twice rho of it, inside the normal range."""

    def __init__(self, of: Design | Rules, total: FusedSum[Any, Any]) -> None:
        super().__init__("rho of a doubled sum is doubled, inside the normal range", of, total)

    def of_sum(self, algebra: Algebra[D, T], total: Word[D], e_max: Word[D], zero_negative: Truth[T]) -> Truth[T]:
        """Return whether it is, or the result or its double is not inside the normal range."""
        fmt, higher = self.rules.rho.target, e_max + 1
        d, _ = convert(algebra, self.rules, total, e_max, self.fraction_bits, zero_negative)
        moved, _ = convert(algebra, self.rules, total, higher, self.fraction_bits, zero_negative)
        outside = ~is_inside(algebra, fmt, d)
        return outside | (moved == doubled(algebra, fmt, d))


def scaling_moves(design: Design) -> bool:
    """Return whether the argument applies: the exponents of all terms move, and nothing else decides an alignment.

    A scale of zero would make products of nonzero elements zero, and zero products may have another exponent. So would
    a group, whose exponent is that of its scales. A product that becomes an infinity does not move.
    """
    scales_are_nonzero = design.scale_format is None or not design.scale_format.fraction_bits
    if not design.guarantees(*_MOVES) or not scales_are_nonzero or design.step.has_scaled_groups:
        return False
    (path,) = datapath(design.one_step(), design.step.L)
    if path.added_last is not None:
        return False
    above_floors = all(total.floor is None or Addend.C in total.terms for total in path.sums)
    return above_floors and (design.guarantees(Guarantee.FINITE_PRODUCTS) or _stays_below_limit(design))


def _stays_below_limit(design: Design) -> bool:
    """Return whether no product of finite elements without scales is so large that it is an infinity."""
    limit = design.step.infinite_from
    # the significands of both factors are below 2
    highest = design.a_format.e_max + design.b_format.e_max + 2
    return limit is not None and design.scale_format is None and highest <= limit


def scaling_lemmas(design: Design, sums: Sequence[FusedSum[Any, Any]]) -> Sequence[Lemma]:
    """Return the lemmas for a step of ``design`` with these sums, of which the last one is converted.

    A sum is a term of a later one, with e_max as its exponent. It moves as a product does. There are none where the
    argument does not apply.
    """
    if not scaling_moves(design):
        return ()
    (path,) = datapath(design.one_step(), design.step.L)
    floors = [total.floor for total in path.sums if total.floor is not None]
    terms = [
        (TermShape.of(term, total.e_max), cut)
        for total in sums
        for term, cut in zip(total.terms, total.path.cuts, strict=True)
    ]
    last = sums[-1]
    c, cut = next(
        (x, y) for x, y, label in zip(last.terms, last.path.cuts, last.labels, strict=True) if label is Addend.C
    )
    least = design.c_format.e_min - (design.c_format.fraction_bits - c.fraction_bits)
    if any(floor > least for floor in floors):
        return ()
    widths = {shape.exponent_width for shape, _ in terms} | {total.e_max.width for total in sums}
    formats = dict.fromkeys((design.a_format, design.c_format))
    cuts = enumerate(dict.fromkeys(terms))
    dropped: list[Lemma] = []
    if path.far_c_dropped is not None:
        dropped.append(FarMoves(c.exponent.width, sums[-2].e_max.width, path.far_c_dropped))
    if path.small_c_dropped is not None:
        dropped.append(SmallMoves(TermShape.of(c, last.e_max), cut, path.small_c_dropped, least))
    return [
        *([NormalC(design, least)] if floors or path.small_c_dropped is not None else []),
        *dropped,
        *(NormalisedMoves(*x) for x in _normalised_terms(design, path, sums)),
        *(UnpacksDoubled(f) for f in formats),
        *(MaximumMoves(width) for width in sorted(widths)),
        *(CutMoves(f"cutting terms of shape {i + 1} depends on their distance alone", x, cut) for i, (x, cut) in cuts),
        ConversionMoves(design, last),
    ]


def _normalised_terms(
    design: Design, path: StepPath, sums: Sequence[FusedSum[Any, Any]]
) -> Iterator[tuple[str, TermShape]]:
    """Yield what is normalised before it is aligned, as it is before that."""
    if not path.normalises_addends:
        return
    whole, e_max = sums[-2].as_term(), sums[-1].e_max
    yield "the sum of the products", TermShape.of(whole, e_max)
    algebra, fmt = TermAlgebra(), design.c_format
    c = unpack(algebra, fmt, algebra.symbol(f"c_{fmt.name}", fmt.bits))
    yield "c", TermShape(c.significand.width, c.largest, c.fraction_bits, c.exponent.width, e_max.width)
