"""The lemmas behind the scaling of a step that rounds more than once: each result in between is doubled, too.

A result in between is doubled if it is zero, or so far above the smallest normal number that nothing was lost for
being small. Its exponent has a lower limit: that of the last bit of what was rounded. So

1. a rounded product of normal elements is doubled where its factor is, and its exponent lies in a range
   (``ProductMoves``);
2. a number that is zero or normal is, doubled, the same addend with an exponent one higher (``AddendMoves``); the cuts
   of two such addends and their sum stay the same (``MaximumMoves`` and ``CutMoves``, as in ``scaling``). The sum is
   rounded to a number that is doubled where e_max is one higher, and in a range that is wider by the bits of a sum
   (``ResultMoves``). This is repeated for each level of a tree;
3. a converted sum of aligned products is such a result, too (``ProductExponents``, and again ``ResultMoves``). Where a
   +0 is aligned with the products, it adds nothing (``ZeroStays``);
4. the rounded sum of c and such a result is doubled inside the normal range (``ConversionMoves``).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from mmaproof.designs.design import Design
from mmaproof.designs.formats import Format
from mmaproof.designs.steps import Guarantee
from mmaproof.smt.algebra.protocol import Algebra, D, T, Truth, Word
from mmaproof.smt.algebra.terms import TermAlgebra
from mmaproof.smt.proving.conversions import ConversionLemma, rules_of
from mmaproof.smt.proving.cuts import CutLemma, TermShape
from mmaproof.smt.proving.lemma import Input, Lemma
from mmaproof.smt.proving.rising_terms import beside_zeros
from mmaproof.smt.proving.scaling import (
    ConversionMoves,
    CutMoves,
    MaximumMoves,
    UnpacksDoubled,
    doubled,
    stays_normal,
)
from mmaproof.smt.semantics import dot_product_accumulate, ieee
from mmaproof.smt.semantics.align import align
from mmaproof.smt.semantics.convert import Rules, convert
from mmaproof.smt.semantics.datapath import datapath
from mmaproof.smt.semantics.fused_sum import FusedSum
from mmaproof.smt.semantics.labels import Addend
from mmaproof.smt.semantics.terms import Term
from mmaproof.smt.semantics.unit import factors
from mmaproof.smt.semantics.unpack import unpack

Range = tuple[int, int]
"""Exponents from the first to below the second."""


def is_zero_or_normal(algebra: Algebra[D, T], fmt: Format, pattern: Word[D]) -> Truth[T]:
    """Return whether a number is zero, or normal as its double is."""
    return unpack(algebra, fmt, pattern).zero | stays_normal(algebra, fmt, pattern)


def _is_doubled(algebra: Algebra[D, T], fmt: Format, d: Word[D], moved: Word[D], within: Range) -> Truth[T]:
    """Return whether ``moved`` is twice ``d``, which is zero, or normal with an exponent in a range."""
    x = unpack(algebra, fmt, d)
    inside = stays_normal(algebra, fmt, d) & (x.exponent >= within[0]) & (x.exponent < within[1])
    return (moved == doubled(algebra, fmt, d)) & (x.zero | inside)


class ProductMoves(Lemma):
    """A rounded product is doubled where the exponent of one of its normal factors is one higher."""

    def __init__(self, design: Design) -> None:
        self.name = "a rounded product is doubled where the exponent of a is one higher"
        self.design = design.one_step()
        a, b = design.a_format, design.b_format
        least = a.e_min - a.fraction_bits + b.e_min - b.fraction_bits
        self.within: Range = (least, a.e_max + b.e_max + 3)
        self.inputs = (Input("a", a.bits), Input("b", b.bits))

    def assumption(self, algebra: Algebra[D, T], words: Mapping[str, Word[D]]) -> Truth[T]:
        """Return whether the elements are normal, and the double of a is."""
        a, b = self.design.a_format, self.design.b_format
        return stays_normal(algebra, a, words["a"]) & _is_normal(algebra, b, words["b"])

    def claim(self, algebra: Algebra[D, T], words: Mapping[str, Word[D]]) -> Truth[T]:
        """Return whether it is."""
        rules = Rules.of_operation(self.design.step)
        x = factors(self.design, algebra, beside_zeros(algebra, self.design, words), 0)
        higher = replace(x, a=replace(x.a, exponent=x.a.exponent + 1))
        d, moved = (ieee.finite_product(algebra, rules, y)[0] for y in (x, higher))
        return _is_doubled(algebra, self.design.d_format, d, moved, self.within)


class AddendMoves(Lemma):
    """A doubled number that is zero or normal is the same addend with an exponent one higher."""

    def __init__(self, fmt: Format) -> None:
        self.fmt = fmt
        self.name = f"a doubled {fmt.name} is the same addend with an exponent one higher"
        self.inputs = (Input("x", fmt.bits),)

    def assumption(self, algebra: Algebra[D, T], words: Mapping[str, Word[D]]) -> Truth[T]:
        """Return whether the number is so."""
        return is_zero_or_normal(algebra, self.fmt, words["x"])

    def claim(self, algebra: Algebra[D, T], words: Mapping[str, Word[D]]) -> Truth[T]:
        """Return whether it is, and whether its exponent as an addend is its own."""
        x = words["x"]
        numbers = [unpack(algebra, self.fmt, w) for w in (x, doubled(algebra, self.fmt, x))]
        t, moved = (ieee.aligned_sum(algebra, self.fmt, y, y).terms[0] for y in numbers)
        same = [t.negative == moved.negative, t.present == moved.present, t.significand == moved.significand]
        exponents = (t.exponent + 1 == moved.exponent) & (t.exponent == numbers[0].exponent)
        return algebra.all_of([*same, ~t.present | exponents])


class ProductExponents(Lemma):
    """The exponent of a product of normal elements lies in a range, and that of a +0 aligned with it not above it."""

    def __init__(self, design: Design) -> None:
        self.design = design.one_step()
        a, b, excess = design.a_format, design.b_format, design.step.product_excess or 0
        self.within: Range = (a.e_min + b.e_min, a.e_max + b.e_max + excess + 1)
        low, high = self.within
        self.name = f"a product of normal elements is aligned at an exponent from {low} to below {high}"
        self.inputs = (Input("a", a.bits), Input("b", b.bits))

    def assumption(self, algebra: Algebra[D, T], words: Mapping[str, Word[D]]) -> Truth[T]:
        """Return whether both elements are normal."""
        a, b = self.design.a_format, self.design.b_format
        return _is_normal(algebra, a, words["a"]) & _is_normal(algebra, b, words["b"])

    def claim(self, algebra: Algebra[D, T], words: Mapping[str, Word[D]]) -> Truth[T]:
        """Return whether both exponents are so."""
        total = dot_product_accumulate(self.design, algebra, beside_zeros(algebra, self.design, words)).steps[0].sums[0]
        product = total.terms[0]
        low, high = self.within
        claims = [product.present, product.exponent >= low, product.exponent < high]
        if Addend.C in total.labels:
            c = total.terms[total.labels.index(Addend.C)]
            claims.append(~c.present | (c.exponent <= low))
        return algebra.all_of(claims)


class ZeroStays(CutLemma):
    """A term that is zero is cut to zero."""

    def of_term(self, algebra: Algebra[D, T], term: Term[D, T], e_max: Word[D]) -> Truth[T]:
        """Return whether it is."""
        return ~term.significand.is_value(0) | (align(algebra, term, e_max, self.cut) == 0)


class ResultMoves(ConversionLemma):
    """A rounded sum is doubled where e_max is one higher, and it is zero or normal with an exponent in a range."""

    def __init__(self, of: Design | Rules, total: FusedSum[Any, Any], of_e_max: Range) -> None:
        low, high = of_e_max
        super().__init__(f"rho of a sum at an e_max from {low} to below {high} is doubled", rules_of(of), total)
        self.of_e_max = of_e_max
        carries = self.largest.bit_length() - self.fraction_bits
        self.within: Range = (low - self.fraction_bits, high + carries)

    def assumption(self, algebra: Algebra[D, T], words: Mapping[str, Word[D]]) -> Truth[T]:
        """Return whether e_max is in that range, too."""
        low, high = self.of_e_max
        return algebra.all_of([super().assumption(algebra, words), words["e_max"] >= low, words["e_max"] < high])

    def of_sum(self, algebra: Algebra[D, T], total: Word[D], e_max: Word[D], zero_negative: Truth[T]) -> Truth[T]:
        """Return whether it is so."""
        fmt = self.rules.rho.target
        d, moved = (
            convert(algebra, self.rules, total, e, self.fraction_bits, zero_negative)[0] for e in (e_max, e_max + 1)
        )
        return _is_doubled(algebra, fmt, d, moved, self.within)


def _is_normal(algebra: Algebra[D, T], fmt: Format, pattern: Word[D]) -> Truth[T]:
    x = unpack(algebra, fmt, pattern)
    return ~algebra.any_of([x.zero, x.subnormal, x.infinite, x.nan])


def _fits(fmt: Format, within: Range) -> bool:
    """Return whether numbers with these exponents are normal, as their doubles are."""
    return within[0] >= fmt.e_min and within[1] <= fmt.e_max


def _moved_terms(total: FusedSum[Any, Any], labels: Iterable[Any], which: str) -> Iterator[Lemma]:
    """Yield the lemmas about the alignment of some of the terms of a sum."""
    wanted = set(labels)
    shapes = dict.fromkeys(
        (TermShape.of(t, total.e_max), cut)
        for label, t, cut in zip(total.labels, total.terms, total.path.cuts, strict=True)
        if label in wanted
    )
    for width in sorted({shape.exponent_width for shape, _ in shapes} | {total.e_max.width}):
        yield MaximumMoves(width)
    for i, (shape, cut) in enumerate(shapes):
        number = f" of shape {i + 1}" if i else ""
        yield CutMoves(f"cutting {which}{number} depends on their distance alone", shape, cut)


def _addition(fmt: Format) -> FusedSum[Any, Any]:
    """Return the sum of two numbers. Only the widths of its words are used."""
    algebra = TermAlgebra()
    x = unpack(algebra, fmt, algebra.symbol(f"addend_{fmt.name}", fmt.bits))
    return ieee.aligned_sum(algebra, fmt, x, x)


def _last_sum(fmt: Format, rules: Rules) -> Sequence[Lemma]:
    """Return the lemmas about the rounded sum of c and a number that is zero or normal."""
    total = _addition(fmt)
    return [AddendMoves(fmt), *_moved_terms(total, total.labels, "addends"), ConversionMoves(rules, total)]


def lemmas_of_tree(design: Design) -> Sequence[Lemma]:
    """Return the lemmas for a tree of rounded additions; none where the argument does not apply."""
    fmt, levels = design.d_format, design.step.L.bit_length() - 1
    if not design.guarantees(Guarantee.ADDER_TREE) or design.c_format is not fmt or design.scale_format is not None:
        return ()
    product, total, rules = ProductMoves(design), _addition(fmt), Rules.of_operation(design.step)
    within, results = product.within, list[ResultMoves]()
    for _ in range(levels):
        results.append(ResultMoves(rules, total, within))
        within = results[-1].within
    if not _fits(fmt, within):
        return ()
    return [UnpacksDoubled(design.a_format), product, *results, *_last_sum(fmt, rules)]


_SUMMED = (Guarantee.ALIGNED_SUMS, Guarantee.CONVERTED_VALUE, Guarantee.MOVING_EXPONENTS, Guarantee.FINITE_PRODUCTS)


def lemmas_of_late_sum(design: Design, sums: Sequence[FusedSum[Any, Any]]) -> Sequence[Lemma]:
    """Return the lemmas for a step that adds c to the converted sum of its products; none where they do not apply."""
    (path,) = datapath(design.one_step(), design.step.L)
    fmt = design.d_format
    if path.added_last is None or not design.guarantees(*_SUMMED) or len(sums) != 1 or path.small_c_dropped is not None:
        return ()
    if design.scale_format is not None or design.c_format is not fmt or path.sums[0].floor is not None:
        return ()
    (total,) = sums
    exponents = ProductExponents(design)
    converted = ResultMoves(design, total, exponents.within)
    if any(cut.inverts for cut in total.path.cuts) or not _fits(fmt, converted.within):
        return ()
    zeros = [
        (TermShape.of(t, total.e_max), cut)
        for label, t, cut in zip(total.labels, total.terms, total.path.cuts, strict=True)
        if label is Addend.C
    ]
    return [
        UnpacksDoubled(design.a_format),
        exponents,
        *_moved_terms(total, set(total.labels) - {Addend.C}, "products"),
        *(ZeroStays("a zero is cut to zero", *x) for x in zeros),
        converted,
        *_last_sum(fmt, Rules.of_late_addition(design)),
    ]
