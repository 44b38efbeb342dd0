"""The lemmas behind symmetry under negation: d(-a, b, -c) = -d(a, b, c), but for the signs of zeros and NaNs.

Two patterns are *opposite* if one is the other negated, both are zeros or both are NaN. The lemmas say that every stage
of a step takes opposite inputs to opposite outputs. For a step that adds its products, with or without c, in one fused
sum whose register does not wrap, they add up to the claim so:

1. Negating a and c negates every term: exponent, significand and presence stay, the sign changes unless the term is
   zero (``NegatedProduct`` for the products, each of which is made by the same stage, and ``NegatedAccumulator``). So
   e_max, which depends on exponents and presence alone, stays.
2. Every cut term is negated (``NegatedCut``) and within its bound (``cuts.CutBound``), so that it is not the one number
   of its width that has no opposite.
3. The sum is negated: that of two words is (``NegatedSum``), and by induction that of any number. It is within the sum
   of the bounds of its terms, for which the register is wide enough.
4. The conversion of such a sum is opposite, and overflows where the other does (``NegatedConversion``, which reads
   magnitude and sign of the negated sum as ``NegatedWord`` says).
5. Infinities and NaNs are decided alike, with opposite signs (``NegatedSpecials``), and choosing them instead of the
   converted sum keeps results opposite (``NegatedChoice``).
6. Where c joins later by an IEEE addition, the addends become terms (``NegatedAddend``), and 2 to 5 are about their sum
   (``NegatedSpecialSum`` for its special values).

A tree of rounded operations is made of rounded products (``NegatedMultiplication``) and of such additions.
What holds for a step on all opposite operands, c included, holds for a chain of such steps.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any

from pysmt.fnode import FNode

from mmaproof.designs.conversions import Rounding
from mmaproof.designs.design import Design
from mmaproof.designs.formats import Format
from mmaproof.designs.readings import Alignment, ChainInfinity, Grouping, Join, Summation
from mmaproof.smt.algebra.protocol import Algebra, D, T, Truth, Word
from mmaproof.smt.algebra.terms import TermAlgebra
from mmaproof.smt.proving.conversions import ConversionLemma
from mmaproof.smt.proving.cuts import CutBound, CutLemma, TermShape, cut_of, term_shapes
from mmaproof.smt.proving.lemma import Input, Lemma
from mmaproof.smt.semantics import OperandWords, StepSignals, dot_product_accumulate, ieee
from mmaproof.smt.semantics.align import Cut, align
from mmaproof.smt.semantics.convert import Rules, convert
from mmaproof.smt.semantics.fused_sum import FusedSum
from mmaproof.smt.semantics.patterns import negated, same_number, zero
from mmaproof.smt.semantics.specials import SpecialResult, choose_special, special_result
from mmaproof.smt.semantics.terms import Term
from mmaproof.smt.semantics.unpack import unpack


def opposite(algebra: Algebra[D, T], fmt: Format, x: Word[D], y: Word[D]) -> Truth[T]:
    """Return whether ``y`` is ``x`` negated, both are zeros, or both are NaN."""
    return same_number(algebra, fmt, negated(algebra, fmt, x), y)


class _OfStep(Lemma):
    """A statement about one step on the operands that the inputs are, and on the same with a and c negated.

    The first ``products`` are inputs, the others +0 * +0. The c of the second step is any opposite of the first one's.
    """

    def __init__(self, name: str, design: Design, products: int, *, with_c: bool) -> None:
        self.name = name
        self.step, self.products, self.with_c = design.one_step(), products, with_c
        a, b, c, _ = design.formats
        columns = [(f"{x}{k}", f) for k in range(products) for x, f in (("a", a), ("b", b))]
        columns += [(name, c) for name in ("c", "opposite_c") if with_c]
        self.scales = [f"scale_{x}{i}" for i in range(self.step.blocks(self.step.k)) for x in "ab"]
        if design.scale_format is not None:
            columns += [(name, design.scale_format) for name in self.scales]
        self.inputs = tuple(Input(n, f.bits) for n, f in columns)

    def assumption(self, algebra: Algebra[D, T], words: Mapping[str, Word[D]]) -> Truth[T]:
        """Return that both c are opposite."""
        if not self.with_c:
            return algebra.truth(True)
        return opposite(algebra, self.step.c_format, words["c"], words["opposite_c"])

    def claim(self, algebra: Algebra[D, T], words: Mapping[str, Word[D]]) -> Truth[T]:
        """Return the claim about both steps."""
        a, b, c, _ = self.step.formats
        none = [zero(algebra, f) for f in (a, b, c)]
        rest = self.step.k - self.products
        column_a, column_b = ([words[f"{x}{k}"] for k in range(self.products)] for x in "ab")
        flipped = [negated(algebra, a, x) for x in column_a]
        padded_b = [*column_b, *[none[1]] * rest]
        scales = [[words[n] for n in self.scales if n.startswith(f"scale_{x}")] for x in "ab"]
        both = [
            OperandWords([*column, *[none[0]] * rest], padded_b, words.get(name, none[2]), *scales)
            for column, name in ((column_a, "c"), (flipped, "opposite_c"))
        ]
        first, second = (dot_product_accumulate(self.step, algebra, x).steps[0] for x in both)
        return self.of_steps(algebra, words, first, second)

    @abstractmethod
    def of_steps(
        self,
        algebra: Algebra[D, T],
        words: Mapping[str, Word[D]],
        first: StepSignals[D, T],
        second: StepSignals[D, T],
    ) -> Truth[T]:
        """Return the claim about the signals of both steps."""


class NegatedProduct(_OfStep):
    """The term of a product, or of a group of products, is negated where its elements of a are."""

    def __init__(self, design: Design) -> None:
        count = design.parameters.group_size or 1
        super().__init__("negating a negates the term of a product", design, count, with_c=False)

    def of_steps(
        self,
        algebra: Algebra[D, T],
        words: Mapping[str, Word[D]],
        first: StepSignals[D, T],
        second: StepSignals[D, T],
    ) -> Truth[T]:
        """Return whether the first term is."""
        return _opposite_terms(algebra, first.sums[0].terms[0], second.sums[0].terms[0])


class NegatedAccumulator(_OfStep):
    """The term of c is negated where c is; a NaN is not meant."""

    def __init__(self, design: Design) -> None:
        super().__init__("negating c negates its term", design, 0, with_c=True)

    def of_steps(
        self,
        algebra: Algebra[D, T],
        words: Mapping[str, Word[D]],
        first: StepSignals[D, T],
        second: StepSignals[D, T],
    ) -> Truth[T]:
        """Return whether the last term is."""
        nan = unpack(algebra, self.step.c_format, words["c"]).nan
        return algebra.any_of([nan, _opposite_terms(algebra, first.sums[0].terms[-1], second.sums[0].terms[-1])])


class NegatedSpecials(_OfStep):
    """Negated operands give NaN and infinities where the operands do, infinities with the opposite sign."""

    def __init__(self, design: Design) -> None:
        super().__init__(
            "infinities and NaNs, their signs apart, do not depend on signs", design, design.k, with_c=True
        )

    def of_steps(
        self,
        algebra: Algebra[D, T],
        words: Mapping[str, Word[D]],
        first: StepSignals[D, T],
        second: StepSignals[D, T],
    ) -> Truth[T]:
        """Return whether the classes agree and the signs of infinities do not."""
        return _opposite_specials(algebra, first.special, second.special)


class NegatedCut(CutLemma):
    """A term of the opposite sign is cut to the negated word; a zero to zero."""

    def __init__(self, kind: str, shape: TermShape, cut: Cut) -> None:
        super().__init__(f"one of the {kind} of the other sign, cut, is negated", shape, cut)

    def of_term(self, algebra: Algebra[D, T], term: Term[D, T], e_max: Word[D]) -> Truth[T]:
        """Return whether it is."""
        other = Term(
            term.fraction_bits,
            algebra.negation(term.negative),
            term.exponent,
            term.significand,
            term.present,
            term.largest,
        )
        kept, negative = (align(algebra, t, e_max, self.cut) for t in (term, other))
        nonzero = algebra.negation(algebra.is_value(term.significand, 0))
        return algebra.all_of(
            [
                algebra.equal(algebra.negate(kept), negative),
                algebra.any_of([nonzero, algebra.is_value(kept, 0)]),
            ]
        )


class NegatedWord(Lemma):
    """A negated word has the magnitude of the word, and is negative where that is positive."""

    def __init__(self, width: int, what: str) -> None:
        self.name = f"negating {what} keeps its magnitude and changes its sign"
        self.width = width
        self.inputs = (Input("x", width, signed=True),)

    def assumption(self, algebra: Algebra[D, T], words: Mapping[str, Word[D]]) -> Truth[T]:
        """Return that the word has an opposite of its width."""
        return algebra.negation(algebra.is_value(words["x"], -(1 << (self.width - 1))))

    def claim(self, algebra: Algebra[D, T], words: Mapping[str, Word[D]]) -> Truth[T]:
        """Return whether it is so."""
        x, nothing = words["x"], algebra.signed(0)
        negative = algebra.narrow(algebra.negate(x), self.width)
        return algebra.all_of(
            [
                algebra.equal(algebra.magnitude(x), algebra.magnitude(negative)),
                _same(algebra, algebra.less(negative, nothing), algebra.less(nothing, x)),
            ]
        )


class _OppositeTerms(TermAlgebra):
    """Terms in which magnitude and sign of a negated word are written as those of the word.

    A word that is narrowed after it was negated is the negated word: both are taken modulo its width.
    """

    def _narrow(self, x: FNode, width: int, to_width: int, signed: bool) -> FNode:
        if x.is_bv_neg() and x.arg(0).is_bv_sext() and x.arg(0).arg(0).bv_width() == to_width:
            return self._terms.BVNeg(x.arg(0).arg(0))
        return super()._narrow(x, width, to_width, signed)

    def _magnitude(self, x: FNode, negative: FNode, width: int) -> FNode:
        if not x.is_bv_neg():
            return super()._magnitude(x, negative, width)
        y = x.arg(0)
        return super()._magnitude(y, self._less(y, self._constant(0, width), True), width)

    def _less(self, x: FNode, y: FNode, signed: bool) -> FNode:
        if signed and x.is_bv_neg() and y.is_constant() and not y.constant_value():
            return super()._less(y, x.arg(0), signed)
        return super()._less(x, y, signed)


class NegatedSum(Lemma):
    """In a register of two's complement, the sum of two negated words is the negated sum."""

    def __init__(self, width: int, what: str) -> None:
        self.name = f"the sum {what} negated is the negated sum"
        self.width = width
        self.inputs = (Input("x", width, signed=True), Input("y", width, signed=True))

    def claim(self, algebra: Algebra[D, T], words: Mapping[str, Word[D]]) -> Truth[T]:
        """Return whether it is."""
        x, y = words["x"], words["y"]
        total = algebra.modular_sum([x, y], self.width)
        of_negated = algebra.modular_sum([algebra.negate(x), algebra.negate(y)], self.width)
        return algebra.equal(algebra.modular_sum([algebra.negate(total)], self.width), of_negated)


class NegatedConversion(ConversionLemma):
    """The conversion of the negated sum is opposite, and overflows alike, whatever the signs of exact zeros."""

    def __init__(self, what: str, design: Design, total: FusedSum[Any, Any], rules: Rules) -> None:
        super().__init__(f"the negated sum {what} converts to the opposite", design, total)
        self.rules = rules

    def terms(self) -> TermAlgebra:
        """Return terms that know the magnitude and the sign of a negated word (``NegatedWord``)."""
        return _OppositeTerms()

    def of_sum(self, algebra: Algebra[D, T], total: Word[D], e_max: Word[D], zero_negative: Truth[T]) -> Truth[T]:
        """Return whether it does, with either sign of zero."""
        fmt, negative = self.rules.rho.target, algebra.narrow(algebra.negate(total), total.width)
        given, overflowed = convert(algebra, self.rules, total, e_max, self.fraction_bits, zero_negative)
        claims = []
        for sign in (False, True):
            other, beyond = convert(algebra, self.rules, negative, e_max, self.fraction_bits, algebra.truth(sign))
            claims += [opposite(algebra, fmt, given, other), _same(algebra, overflowed, beyond)]
        return algebra.all_of(claims)


class NegatedChoice(Lemma):
    """Special values of opposite signs, put in the place of opposite finite results, give opposite results."""

    def __init__(self, design: Design) -> None:
        self.name = "special values take the place of opposite results alike"
        self.fmt, self.nan_code = design.d_format, design.parameters.nan_code
        flags = tuple(Input(n, 1) for n in ("nan", "infinite", "negative"))
        self.inputs = (Input("x", self.fmt.bits), Input("y", self.fmt.bits), *flags)

    def assumption(self, algebra: Algebra[D, T], words: Mapping[str, Word[D]]) -> Truth[T]:
        """Return that the finite results are opposite."""
        return opposite(algebra, self.fmt, words["x"], words["y"])

    def claim(self, algebra: Algebra[D, T], words: Mapping[str, Word[D]]) -> Truth[T]:
        """Return whether the results are."""
        nan, infinite, negative = (algebra.is_value(words[n], 1) for n in ("nan", "infinite", "negative"))
        chosen = [
            choose_special(algebra, self.fmt, self.nan_code, SpecialResult(nan, infinite, sign), finite)
            for sign, finite in ((negative, words["x"]), (algebra.negation(negative), words["y"]))
        ]
        return opposite(algebra, self.fmt, *chosen)


class NegatedMultiplication(_OfStep):
    """A rounded product is opposite where its element of a is negated."""

    def __init__(self, design: Design) -> None:
        super().__init__("negating a negates a rounded product", design, 1, with_c=False)

    def of_steps(
        self,
        algebra: Algebra[D, T],
        words: Mapping[str, Word[D]],
        first: StepSignals[D, T],
        second: StepSignals[D, T],
    ) -> Truth[T]:
        """Return whether the first product is."""
        return opposite(algebra, self.step.d_format, first.rounded[0][1], second.rounded[0][1])


class NegatedAddend(Lemma):
    """The term of an addend is negated where it is; a NaN is not meant."""

    def __init__(self, fmt: Format, *, flushes: bool) -> None:
        """Of a number of ``fmt``, read with its subnormals flushed or not."""
        self.name = f"negating an addend of {fmt.name}{', flushed,' if flushes else ''} negates its term"
        self.fmt, self.flushes = fmt, flushes
        self.inputs = (Input("x", fmt.bits), Input("y", fmt.bits))

    def assumption(self, algebra: Algebra[D, T], words: Mapping[str, Word[D]]) -> Truth[T]:
        """Return that the addends are opposite."""
        return opposite(algebra, self.fmt, words["x"], words["y"])

    def claim(self, algebra: Algebra[D, T], words: Mapping[str, Word[D]]) -> Truth[T]:
        """Return whether their terms are."""
        x, y = (ieee.read(algebra, self.fmt, words[n], flushes=self.flushes) for n in ("x", "y"))
        terms = [ieee.aligned_sum(algebra, self.fmt, a, a).terms[0] for a in (x, y)]
        return algebra.any_of([x.nan, _opposite_terms(algebra, *terms)])


class NegatedSpecialSum(Lemma):
    """The sum of opposite numbers is NaN, or infinite, where that of the numbers is."""

    def __init__(self, fmt: Format) -> None:
        self.name = "infinities and NaNs of a rounded sum, their signs apart, do not depend on signs"
        self.fmt = fmt
        self.inputs = tuple(Input(n, fmt.bits) for n in ("x", "opposite_x", "y", "opposite_y"))

    def assumption(self, algebra: Algebra[D, T], words: Mapping[str, Word[D]]) -> Truth[T]:
        """Return that the addends are opposite."""
        return algebra.all_of([opposite(algebra, self.fmt, words[n], words[f"opposite_{n}"]) for n in "xy"])

    def claim(self, algebra: Algebra[D, T], words: Mapping[str, Word[D]]) -> Truth[T]:
        """Return whether the special values are opposite."""
        first, second = (
            special_result(algebra, (), [unpack(algebra, self.fmt, words[f"{prefix}{n}"]) for n in "xy"])
            for prefix in ("", "opposite_")
        )
        return _opposite_specials(algebra, first, second)


def negation_lemmas(design: Design) -> Sequence[Lemma]:
    """Return lemmas that together say that a step of ``design`` takes opposite operands to opposite results.

    None where the argument does not hold: more than one fused sum, a register that may wrap, terms that are rounded or
    a conversion that is directed towards one end of the line, a sum that depends on the order of its terms.
    """
    p = design.parameters
    if p.conversion.rounding not in (Rounding.RZ, Rounding.RNE, Rounding.RNA) or design.d_format.is_integer:
        return ()
    if design.c_format is not design.d_format and (p.join is not Join.FUSED or p.summation is Summation.PAIRWISE):
        return ()
    if p.summation is Summation.PAIRWISE:
        return [NegatedMultiplication(design), NegatedChoice(design), *_of_additions(design, Rules.of_operation(p))]
    if p.summation is not Summation.FUSED or p.grouping is not Grouping.ALL or p.join is Join.ROUND_DOWN:
        return ()
    if p.alignment is Alignment.FLOOR or p.carry_bits is not None or p.chain_infinity is not ChainInfinity.INFINITE:
        return ()
    step = design.one_step()
    total = _sum_of(step)
    found: list[Lemma] = [NegatedProduct(design)]
    if p.join is Join.FUSED:
        found.append(NegatedAccumulator(design))
    found += _of_sum(design, total, term_shapes(total), cut_of(design), Rules.of(p))
    found += [NegatedSpecials(step), NegatedChoice(design)]
    if p.join is not Join.FUSED:
        found += _of_additions(design, Rules.nearest(design.d_format, flushes=p.subnormals.of_results))
    return found


def _of_additions(design: Design, rules: Rules) -> Sequence[Lemma]:
    """Return the lemmas about rounded additions of numbers of the output format, c among them."""
    algebra, fmt = TermAlgebra(), design.d_format
    x = unpack(algebra, fmt, algebra.symbol(f"addend_{fmt.name}", fmt.bits))
    total, cut = ieee.aligned_sum(algebra, fmt, x, x), ieee.cut_of_addends(fmt, x, x)
    shapes = {"addends": TermShape.of(total.terms[0], total.e_max)}
    found: list[Lemma] = [NegatedAddend(fmt, flushes=False)]
    if design.parameters.subnormals.of_c:
        found.append(NegatedAddend(fmt, flushes=True))
    found += _of_sum(design, total, shapes, cut, rules)
    return [*found, NegatedSpecialSum(fmt)]


def _of_sum(
    design: Design, total: FusedSum[Any, Any], shapes: Mapping[str, TermShape], cut: Cut, rules: Rules
) -> Sequence[Lemma]:
    """Return the lemmas about the terms of a fused sum, the sum, and its conversion."""
    width, kinds = total.total.width, " and ".join(shapes)
    cuts = [lemma(kind, shape, cut) for kind, shape in shapes.items() for lemma in (NegatedCut, CutBound)]
    conversion = NegatedConversion(f"of {kinds}", design, total, rules)
    return [*cuts, NegatedSum(width, f"of {kinds}"), NegatedWord(width, f"a sum of {kinds}"), conversion]


def _sum_of(step: Design) -> FusedSum[Any, Any]:
    """Return the fused sum of a step, for the widths of its words."""
    algebra = TermAlgebra()
    a, b, c, _ = step.formats
    scale = step.scale_format
    scales = [] if scale is None else [algebra.symbol(f"scale_{scale.name}", scale.bits)] * step.blocks(step.k)
    column_a, column_b = ([algebra.symbol(f"{n}_{f.name}", f.bits)] * step.k for n, f in (("a", a), ("b", b)))
    operands = OperandWords(column_a, column_b, algebra.symbol(f"c_{c.name}", c.bits), scales, scales)
    return dot_product_accumulate(step, algebra, operands).steps[0].sums[0]


def _opposite_specials(algebra: Algebra[D, T], x: SpecialResult[T], y: SpecialResult[T]) -> Truth[T]:
    """Return whether both are NaN, or both infinite with different signs, or both neither."""
    number = algebra.all_of([x.infinite, algebra.negation(x.nan)])
    return algebra.all_of(
        [
            _same(algebra, x.nan, y.nan),
            algebra.any_of([x.nan, _same(algebra, x.infinite, y.infinite)]),
            algebra.any_of([algebra.negation(number), algebra.exclusive_or(x.negative, y.negative)]),
        ]
    )


def _opposite_terms(algebra: Algebra[D, T], x: Term[D, T], y: Term[D, T]) -> Truth[T]:
    """Return whether two terms agree in all but the sign, and differ in that unless they are zero."""
    either = algebra.any_of([algebra.exclusive_or(x.negative, y.negative), algebra.is_value(x.significand, 0)])
    same = [algebra.equal(x.exponent, y.exponent), algebra.equal(x.significand, y.significand)]
    return algebra.all_of([*same, _same(algebra, x.present, y.present), either])


def _same(algebra: Algebra[D, T], x: Truth[T], y: Truth[T]) -> Truth[T]:
    return algebra.negation(algebra.exclusive_or(x, y))
