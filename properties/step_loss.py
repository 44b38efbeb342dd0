"""What one step loses at most, as data, and the lemmas that prove it.

A step is a few sums of aligned terms, a conversion, and rounded operations of IEEE 754. Each of them moves its result
by a bounded amount, and the amounts add up:

* an aligned term is cut by less than one unit, ``2**(e_max - F)``, and the register holds the sum of the cut terms;
* rho moves a sum by less than one unit in the last place of the result, or by at most half of one;
* a term whose bits all lie at or above that unit loses nothing: c where e_max is its own exponent, and products of few
  bits where their last bits are large enough;
* a rounded operation of IEEE 754 is an aligned sum of two numbers and a conversion (``ieee.aligned_sum``);
* what is flushed to zero is below the smallest normal number.

``StepLoss`` counts these amounts by the numbers that limit their exponents. It is read from the datapath of a design
and from what its step states. Where a step does not state what the argument needs, there is no ``StepLoss``, and
``why_no_loss`` says so. ``lemmas_of_loss`` are the statements about the stages that a solver has to prove.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from typing import Any

from pysmt.fnode import FNode

from mmaproof.designs.conversions import Rounding, Stochastic
from mmaproof.designs.design import Design
from mmaproof.designs.formats import Format
from mmaproof.designs.steps import Guarantee
from mmaproof.smt.algebra.protocol import Algebra, D, T, Truth, Word
from mmaproof.smt.algebra.terms import TermAlgebra
from mmaproof.smt.proving.cuts import (
    ConversionError,
    CutBound,
    CutError,
    CutIsExact,
    CutLemma,
    CutOfValue,
    TermLemma,
    TermShape,
    conversion_errors,
    one_number,
)
from mmaproof.smt.proving.lemma import Input, Lemma
from mmaproof.smt.proving.two_terms import jammed_errors
from mmaproof.smt.semantics import OperandWords, StepSignals, dot_product_accumulate, ieee
from mmaproof.smt.semantics.align import Cut, loses_bits
from mmaproof.smt.semantics.convert import Rules
from mmaproof.smt.semantics.datapath import Addend, Partial, Product, StepPath, SumPath, datapath
from mmaproof.smt.semantics.fused_step import without_far_c
from mmaproof.smt.semantics.fused_sum import FusedSum
from mmaproof.smt.semantics.patterns import Unpacked, unpack
from mmaproof.smt.semantics.terms import Term

_SUMS = {
    Partial.WHOLE: "the sum",
    Partial.PRODUCTS: "the sum of the products",
    Partial.EVEN: "the sum of even products",
    Partial.ODD: "the sum of odd products",
    Partial.FIRST: "the sum of the first half",
    Partial.SECOND: "the sum of the second half",
}
_NEAREST = (Rounding.RNE, Rounding.RNA)


@dataclass(frozen=True, slots=True)
class StepLoss:
    """The most that is lost between two additions to the accumulator c.

    There are ``products`` products in between: those of one step, or of one instruction where c is added once. With

    * p the largest exponent of a product, as the unit reads it, and at least ``least_exponent``,
    * S a number that no partial sum of these products exceeds, the losses included,
    * G a number that neither c nor the result exceeds,
    * e(x) the exponent of x, at least e_min of the output format,

    the result differs from c plus the products by less than ``of_products * 2**p + of_sums * 2**max(p, e(S)) + of_c *
    2**max(p, e(G)) + rounded_sums * 2**e(S) + rounded_c * 2**e(G) + flushed``.
    """

    products: int
    of_products: Fraction
    of_sums: Fraction
    of_c: Fraction
    rounded_sums: Fraction
    rounded_c: Fraction
    flushed: Fraction
    least_exponent: int
    excess: int
    """by how much the exponent of a product exceeds the sum of its factors' exponents at most"""
    largest: Fraction
    """the largest number that each conversion returns without an overflow"""
    cut_bits: int | None = None
    """F of products that are aligned with c: of ``of_c``, each of them adds its ``2**-F`` only if its last bit that is
    not zero lies below ``2**(max(p, e(G)) - F)``; None: no such thing is stated"""
    cut_is_rest: bool = False
    """whether such a product loses its bits below that and no more, so that ``2**-F`` is the most it adds"""
    product_bits: int = 0
    """fraction bits of a product, those of its scales included"""
    of_one_sum: bool = False
    """whether all of ``of_c`` is cut in one sum, of products and c: G need not exceed the result there, but c alone"""

    @property
    def sums_matter(self) -> bool:
        """Whether anything depends on S."""
        return bool(self.of_sums or self.rounded_sums)


def why_no_loss(design: Design) -> str | None:
    """Return why nothing can be proved about the error of a step of ``design``; None if something can."""
    return next(_reasons(design), None)


def _reasons(design: Design) -> Iterator[str]:
    """Yield what a step does not state that the argument needs. Later reasons have a meaning without earlier ones."""
    step = design.step
    if not step.guarantees:
        yield "its kind of step does not state how it adds its terms and rounds its result"
    if design.d_format.is_integer:
        if not design.guarantees(Guarantee.EXACT_INTEGERS):
            yield "it does not state that its sums are exact"
        return
    if not design.guarantees(Guarantee.CONVERTED_BY_RHO):
        yield "its step does not state that rho converts the sum of its products and c"
    if not design.guarantees(Guarantee.FINITE_PRODUCTS) and step.infinite_from is None:
        yield "which products are infinities is not stated"
    if design.guarantees(Guarantee.ROUNDED_OPERATIONS):
        if step.operations is None or not design.guarantees(Guarantee.ROUNDED_LAST_SUM):
            yield "how many rounded operations it consists of is not stated"
        return
    if not design.guarantees(Guarantee.ALIGNED_SUMS, Guarantee.CONVERTED_SUM):
        yield "it does not state that rho converts a sum of aligned terms and looks at nothing else"
    if not design.guarantees(Guarantee.EXACT_SUM):
        yield "its register may wrap"
    if step.other_exponents(design.c_format, design.d_format) is None:
        yield "which exponents a c that keeps extra bits reads is not stated"
    path = _path(design)
    if any(cut.inverts for total in path.sums for cut in total.cuts):
        yield "it inverts terms instead of negating them, which moves them by a whole unit"
    if path.small_c_dropped is not None:
        yield "it drops a c for its value, and how far below one unit that is is not proved here"


@lru_cache(maxsize=256)
def loss_of(design: Design) -> StepLoss:
    """Return what a step of ``design`` loses. ValueError where ``why_no_loss`` gives a reason, or for integers."""
    reason = why_no_loss(design)
    if reason is not None or design.d_format.is_integer:
        raise ValueError(reason or f"{design.name} is an integer unit")
    return _of_operations(design) if design.guarantees(Guarantee.ROUNDED_OPERATIONS) else _of_sums(design)


def rounding_unit(rounding: Rounding | Stochastic, fraction_bits: int) -> Fraction:
    """Return the most that a conversion moves a number whose result has the exponent 0."""
    return Fraction(1, 1 << (fraction_bits + (rounding in _NEAREST)))


def _of_sums(design: Design) -> StepLoss:
    path, step, fmt = _path(design), design.step, design.d_format
    late = path.added_last is not None
    of_products = of_sums = of_c = Fraction(0)
    with_c: set[Partial] = set()
    for total in path.sums:
        lost = sum((_most_cut(cut) for cut in total.cuts), Fraction(0))
        if not late and _keeps_c(design, total):
            # it is cut only where a product has a larger exponent than c
            of_products += _most_cut(total.cut_of(Addend.C))
            lost -= _most_cut(total.cut_of(Addend.C))
        if not any(label is Addend.C or label in with_c for label in total.terms):
            of_products += lost
            continue
        with_c.add(total.label)
        if late:
            of_sums += lost
        else:
            of_c += lost
    rho = step.conversion
    one = rounding_unit(rho.rounding, rho.fraction_bits)
    steps = design.k // step.L if design.chain.adds_c_once else 1
    flushed = steps * _flushed_results(design)
    late_rho = Rules.of_late_addition(design).rho if late else rho
    least = [*(step.other_exponents(design.c_format, fmt) or ()), *_least_exponents(design)]
    return StepLoss(
        products=steps * step.L,
        of_products=steps * of_products,
        of_sums=steps * of_sums,
        of_c=of_c,
        rounded_sums=steps * one if late else Fraction(0),
        rounded_c=rounding_unit(late_rho.rounding, late_rho.fraction_bits),
        flushed=flushed + (_flushed_results(design) if late else 0) + steps * _flushed_c(design),
        least_exponent=max(least),
        excess=_excess(design),
        largest=_largest(design),
        cut_bits=None if (cut := _cut_of_products(design)) is None else cut.fraction_bits,
        cut_is_rest=cut is not None and cut.truncates,
        product_bits=_product_bits(design),
        of_one_sum=len(path.sums) == 1 and not late,
    )


def _keeps_c(design: Design, total: SumPath) -> bool:
    """Return whether a cut keeps all of c where e_max is its exponent."""
    formats = design.c_format, design.d_format
    return Addend.C in total.terms and max(f.fraction_bits for f in formats) <= total.cut_of(Addend.C).fraction_bits


def _cut_of_products(design: Design) -> Cut | None:
    """Return the cut of single products that are aligned with c; None where there are none, or they are rounded."""
    path = _path(design)
    if path.added_last is not None or design.chain.adds_c_once or len(path.sums) != 1:
        return None
    (total,) = path.sums
    cuts = {cut for label, cut in zip(total.terms, total.cuts, strict=True) if isinstance(label, Product)}
    if len(total.terms) != design.step.L + 1 or len(cuts) != 1:
        return None
    (cut,) = cuts
    return None if cut.rounds_to_nearest else cut


def _product_bits(design: Design) -> int:
    scale = design.scale_format
    return design.a_format.fraction_bits + design.b_format.fraction_bits + 2 * (scale.fraction_bits if scale else 0)


def _of_operations(design: Design) -> StepLoss:
    step, rho = design.step, design.step.conversion
    operations = step.operations
    if operations is None:
        raise ValueError(f"{design.name} does not state its operations")
    one = rounding_unit(rho.rounding, rho.fraction_bits)
    count = operations.products + operations.multiply_adds + operations.additions
    return StepLoss(
        products=step.L,
        of_products=Fraction(0),
        of_sums=Fraction(0),
        of_c=Fraction(0),  # what is jammed is rounded as the exact sum
        rounded_sums=count * one,
        rounded_c=one,
        flushed=(count + 1) * _flushed_results(design) + _flushed_c(design),
        least_exponent=max(_least_exponents(design)),
        excess=0,  # numbers are normalised before they are aligned, so that e(S) limits the exponent of a product too
        largest=_largest(design),
    )


def _most_cut(cut: Cut) -> Fraction:
    """Return what a cut takes from one term at most, as a part of ``2**e_max``."""
    return Fraction(1, 1 << (cut.fraction_bits + cut.rounds_to_nearest))


def _flushed_results(design: Design) -> Fraction:
    return _smallest_normal(design.d_format) if design.step.subnormals.of_results else Fraction(0)


def _flushed_c(design: Design) -> Fraction:
    largest = max(_smallest_normal(f) for f in (design.c_format, design.d_format))
    return largest if design.step.subnormals.of_c else Fraction(0)


def _smallest_normal(fmt: Format) -> Fraction:
    return Fraction(2) ** fmt.e_min


def _least_exponents(design: Design) -> tuple[int, ...]:
    """Return exponents that a number may have however small it is: those that zeros read are among them."""
    return design.c_format.e_min, design.d_format.e_min, -126


def _excess(design: Design) -> int:
    excess = design.step.product_excess
    if excess is None:
        return 0  # of groups, whose exponent is that of their scales
    # the significands of two scales come on top where a product is normalised
    scale = design.scale_format
    return excess + (2 if excess > 0 and scale is not None and scale.fraction_bits else 0)


def _largest(design: Design) -> Fraction:
    """Return the largest number that the conversion of a unit returns."""
    fmt, rho = design.d_format, design.step.conversion
    ulp = Fraction(2) ** (fmt.e_max - rho.fraction_bits)
    return fmt.largest // ulp * ulp


def _path(design: Design) -> StepPath:
    (path,) = datapath(design.one_step(), design.step.L)
    return path


class HighBitsAreKept(CutLemma):
    """A cut loses nothing of a term whose last bit that is not zero weighs ``2**(e_max - F)`` or more."""

    def __init__(self, kind: str, shape: TermShape, cut: Cut) -> None:
        super().__init__(f"{kind} without bits below 2^(e_max - F) lose nothing", shape, cut)

    def of_term(self, algebra: Algebra[D, T], term: Term[D, T], e_max: Word[D]) -> Truth[T]:
        """Return whether nothing is lost, or some bit that is not zero lies below the last one that is kept."""
        least, below = term.exponent - term.fraction_bits, e_max - self.cut.fraction_bits
        low = [
            algebra.negation(term.significand.bit(i).as_bit().is_value(0)) & (least + i < below)
            for i in range(term.significand.width)
        ]
        return ~loses_bits(algebra, term, e_max, self.cut) | algebra.any_of(low)


class FarCutError(TermLemma):
    """A c that is dropped because it lies far below the products is less than one unit of its cut.

    The exponent of the products is one of those that e_max is the largest of.
    """

    def __init__(self, shape: TermShape, cut: Cut, dropped_below: int, products_width: int, which: str = "") -> None:
        super().__init__(f"a c{which} that is dropped is less than 2^(e_max - F)", shape, cut)
        self.inputs = (*self.inputs, Input("of_products", products_width, signed=True))
        self.dropped_below = dropped_below

    def assumption(self, algebra: Algebra[D, T], words: Mapping[str, Word[D]]) -> Truth[T]:
        """Return whether the term is as the earlier stages ensure, and the products lie at e_max at most."""
        return super().assumption(algebra, words) & (words["of_products"] <= words["e_max"])

    def claim(self, algebra: Algebra[D, T], words: Mapping[str, Word[D]]) -> Truth[T]:
        """Return whether c is kept, or is below one unit: ``s * 2**(e - f) < 2**(e_max - F)``."""
        c = self.term_of(algebra, words)
        products = Term(0, algebra.truth(False), words["of_products"], algebra.unsigned(1, 1), algebra.truth(True), 1)
        kept = without_far_c(self.dropped_below, products, c)
        dropped = ~(kept.significand == c.significand)
        # of width w, s < 2**w: the claim follows if w + e - f <= e_max - F
        below = c.exponent + (c.significand.width - c.fraction_bits + self.cut.fraction_bits) <= words["e_max"]
        return ~dropped | below


def lemmas_of_loss(design: Design) -> tuple[Lemma, ...]:
    """Return the lemmas that prove what ``loss_of(design)`` says."""
    if design.d_format.is_integer:
        return ()
    if design.guarantees(Guarantee.ROUNDED_OPERATIONS):
        return tuple(_operation_lemmas(design))
    lemmas = list(_step_lemmas(design, ""))
    if design.c_format is not design.d_format:
        # the c of every step but the first is the d of another one
        later = replace(design, signature=replace(design.signature, c=design.d_format))
        lemmas += _step_lemmas(later, " of later steps")
    return tuple(lemmas)


def _step_lemmas(design: Design, which: str) -> Iterator[Lemma]:
    step = symbolic_step(design)
    for total in step.sums:
        yield from _sum_lemmas(f"{_SUMS[total.path.label]}{which}", total)
        yield from _kept_lemmas(design, which, total)
    yield from _conversion(f"the sum{which}", step.sums[-1], Rules.of(design.step))
    dropped = step.path.far_c_dropped
    if dropped is not None:
        last, products = step.sums[-1], step.sums[-2]
        at = last.labels.index(Addend.C)
        shape = TermShape.of(last.terms[at], last.e_max)
        yield FarCutError(shape, last.path.cuts[at], dropped, products.e_max.width, which)
    if step.path.added_last is not None:
        addition, _ = _ieee_sums(design)
        yield from _rounded(f"the sum with c{which}", addition, Rules.of_late_addition(design))


def _operation_lemmas(design: Design) -> Iterator[Lemma]:
    operations, rules = design.step.operations, Rules.of_operation(design.step)
    if operations is None:
        raise ValueError(f"{design.name} does not state its operations")
    addition, multiply_add = _ieee_sums(design)
    sums = {"an addition": addition} | ({"a multiply-add": multiply_add} if operations.multiply_adds else {})
    for name, total in sums.items():
        yield from _rounded(name, total, rules)
    if operations.products:
        algebra = TermAlgebra()
        yield from _conversion("a product", one_number(algebra, _exact_product(algebra, design)), rules)


def lemmas_of_operation(kind: str, fmt: Format, source: Format, rounding: Rounding | Stochastic) -> tuple[Lemma, ...]:
    """Return the lemmas about an operation outside a unit, which is rounded to ``fmt``.

    It is the ``addition`` of two numbers, a ``product``, or the ``conversion`` of a number of the format ``source``.
    """
    algebra, rules = TermAlgebra(), Rules.of_format(fmt, rounding).unclamped
    x, y = (unpack(algebra, source, _symbol(algebra, name, source)) for name in ("x", "y"))
    match kind:
        case "addition":
            total = ieee.aligned_sum(algebra, fmt, x, y)
            return tuple(jammed_errors(rules, "the addition", total))
        case "product":
            return (ConversionError(rules, one_number(algebra, _multiplied(algebra, x, y)), up_to_largest=True),)
        case "conversion":
            return (ConversionError(rules, one_number(algebra, x), up_to_largest=True),)
        case _:
            raise ValueError(f"no operation is called {kind}")


def _sum_lemmas(name: str, total: FusedSum[Any, Any]) -> Iterator[Lemma]:
    shapes = {
        (TermShape.of(term, total.e_max), cut): None for term, cut in zip(total.terms, total.path.cuts, strict=True)
    }
    for number, (shape, cut) in enumerate(shapes):
        kind = f"terms of {name}" + (f", kind {number + 1}" if number else "")
        yield CutError(kind, shape, cut)
        yield CutBound(kind, shape, cut)


def _kept_lemmas(design: Design, which: str, total: FusedSum[Any, Any]) -> Iterator[Lemma]:
    """Yield that c loses nothing where e_max is its exponent, and products their low bits alone; where it is used.

    The products of a sum have one shape. Of a cut that is the whole part in units of the last kept bit, the loss is
    what the other bits weigh, so it is none without such bits, and it grows with that unit.
    """
    found = [
        (label, TermShape.of(term, total.e_max), cut)
        for label, term, cut in zip(total.labels, total.terms, total.path.cuts, strict=True)
    ]
    if _path(design).added_last is None and _keeps_c(design, total.path):
        ((shape, cut),) = ((x, y) for label, x, y in found if label is Addend.C)
        yield CutIsExact(f"c{which}", shape, cut, 0)
    if _cut_of_products(design) is not None:
        for shape, cut in dict.fromkeys((x, y) for label, x, y in found if isinstance(label, Product)):
            yield (CutOfValue if cut.truncates else HighBitsAreKept)(f"products{which}", shape, cut)


def _conversion(name: str, total: FusedSum[Any, Any], rules: Rules) -> Iterator[Lemma]:
    # overflow is excluded where the lemmas are used, and what a unit makes of it is not an error of rounding
    for lemma in conversion_errors(rules.unclamped, total, up_to_largest=True):
        lemma.name = f"{lemma.name} ({name})"
        yield lemma


def _rounded(name: str, total: FusedSum[Any, Any], rules: Rules) -> Iterator[Lemma]:
    for lemma in jammed_errors(rules.unclamped, name, total):
        lemma.name = f"{lemma.name} ({name})"
        yield lemma


def symbolic_step(design: Design) -> StepSignals[FNode, FNode]:
    """Return a step on variables. Only the shapes of its signals are used."""
    algebra, one = TermAlgebra(), design.one_step()
    (a, b, c, _), length = design.formats, one.step.L
    scale, blocks = one.scale_format, one.blocks(length)
    words = OperandWords(
        [_symbol(algebra, f"a{i}", a) for i in range(length)],
        [_symbol(algebra, f"b{i}", b) for i in range(length)],
        _symbol(algebra, "c", c),
        [] if scale is None else [_symbol(algebra, f"scale_a{i}", scale) for i in range(blocks)],
        [] if scale is None else [_symbol(algebra, f"scale_b{i}", scale) for i in range(blocks)],
    )
    return dot_product_accumulate(one, algebra, words).steps[0]


def _symbol(algebra: TermAlgebra, name: str, fmt: Format) -> Word[FNode]:
    return algebra.symbol(f"{name}_{fmt.name}", fmt.bits)


def _ieee_sums(design: Design) -> tuple[FusedSum[FNode, FNode], FusedSum[FNode, FNode]]:
    """Return the shapes of a sum of two numbers of the output format, and of a product and such a number."""
    algebra, fmt = TermAlgebra(), design.d_format
    x, y = (unpack(algebra, fmt, _symbol(algebra, name, fmt)) for name in ("x", "y"))
    product = _exact_product(algebra, design)
    return ieee.aligned_sum(algebra, fmt, x, y), ieee.aligned_sum(algebra, fmt, product, y)


def _exact_product(algebra: TermAlgebra, design: Design) -> Unpacked[FNode, FNode]:
    a, b, _, _ = design.formats
    return _multiplied(
        algebra, unpack(algebra, a, _symbol(algebra, "a", a)), unpack(algebra, b, _symbol(algebra, "b", b))
    )


def _multiplied(algebra: TermAlgebra, a: Unpacked[FNode, FNode], b: Unpacked[FNode, FNode]) -> Unpacked[FNode, FNode]:
    """Return the shape of an exact product of two finite numbers."""
    no = algebra.truth(False)
    return Unpacked(
        a.fraction_bits + b.fraction_bits,
        a.negative ^ b.negative,
        a.exponent + b.exponent,
        a.significand * b.significand,
        a.zero | b.zero,
        no,
        no,
        no,
    )
