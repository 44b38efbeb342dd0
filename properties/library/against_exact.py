"""Questions about a few terms of a step against their exact sum, and the lemmas that answer them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from mmaproof.designs.design import Design
from mmaproof.designs.errors import DesignError
from mmaproof.designs.formats import Format
from mmaproof.designs.steps import Guarantee
from mmaproof.properties.property import has_single_sum, kept_bits
from mmaproof.properties.question import Question, RunQuestion, Scope, operand_words
from mmaproof.properties.settings import changed_to, exact_twin
from mmaproof.smt.algebra.protocol import Algebra, D, T, Truth, Word
from mmaproof.smt.algebra.terms import TermAlgebra
from mmaproof.smt.proving.lemma import Input, Lemma
from mmaproof.smt.proving.two_terms import holds_every_bit, is_zero_or_normalised, jammed_as_exact
from mmaproof.smt.semantics import DotProduct, OperandWords, dot_product_accumulate, equal_results
from mmaproof.smt.semantics.align import Cut, loses_bits
from mmaproof.smt.semantics.convert import Rules, convert
from mmaproof.smt.semantics.datapath import datapath
from mmaproof.smt.semantics.fused_sum import FusedSum
from mmaproof.smt.semantics.ieee import aligned_sum, read_accumulator
from mmaproof.smt.semantics.patterns import Unpacked, unpack, zero


class AgainstExact(RunQuestion):
    """d is the exact sum of the first ``count`` products and of c (or +0), rounded once as the design rounds last.

    All other elements are +0, and all blocks have the scales of the first, so only these terms decide. The exact sum is
    taken with ``fraction_bits`` below its largest exponent. The claim includes that no term loses a bit there.
    """

    def __init__(
        self, design: Design, scope: Scope, *, count: int = 1, with_c: bool = True, fraction_bits: int | None = None
    ) -> None:
        check_one_step(design, scope)
        super().__init__(design, scope)
        if self.k < count:
            raise DesignError(f"k = {self.k}: this is asked of {count} products")
        self.count, self.with_c = count, with_c
        self.twin = rounded_once(design, fraction_bits)
        # with nothing beside it, a product keeps all of its bits where there are as many as it has, normalised
        alone = rounded_once(design, product_bits(design) + 1)
        self.products_alone = design.step.group_size or 1
        self.twin_of_product = alone.change(L=self.products_alone).one_step()

    def runs(self, algebra: Algebra[D, T], operands: OperandWords[D]) -> Sequence[tuple[Design, OperandWords[D]]]:
        """Return the design and its exact twin on the first terms."""
        first = self.first(algebra, operands)
        return (self.design, first), (self.twin, first)

    def first(self, algebra: Algebra[D, T], operands: OperandWords[D]) -> OperandWords[D]:
        """Return the operands of the terms that this is about."""
        a, b, c = (zero(algebra, f) for f in self.formats)
        rest = self.k - self.count
        return OperandWords(
            [*operands.a[: self.count], *[a] * rest],
            [*operands.b[: self.count], *[b] * rest],
            operands.c if self.with_c else c,
            [operands.scale_a[0]] * self.blocks if self.blocks else (),
            [operands.scale_b[0]] * self.blocks if self.blocks else (),
        )

    def alone(self, algebra: Algebra[D, T], operands: OperandWords[D], i: int = 0) -> OperandWords[D]:
        """Return the operands of one product alone, as ``twin_of_product`` takes them."""
        a, b, c = (zero(algebra, f) for f in self.formats)
        rest = self.products_alone - 1
        scales = [x[:1] for x in (operands.scale_a, operands.scale_b)]
        return OperandWords([operands.a[i], *[a] * rest], [operands.b[i], *[b] * rest], c, *scales)

    def returned(self, design: Design, algebra: Algebra[D, T], operands: OperandWords[D]) -> DotProduct[D, T]:
        """Return what one step of ``design`` returns."""
        return dot_product_accumulate(self.asked(design), algebra, operands)

    def normal_product(self, algebra: Algebra[D, T], operands: OperandWords[D]) -> Truth[T]:
        """Return whether the first elements, their scales and their product, rounded, are normal numbers."""
        a, b, _ = self.formats
        given = [(a, operands.a[0]), (b, operands.b[0])]
        if self.scale_format is not None:
            given += [(self.scale_format, x) for x in (operands.scale_a[0], operands.scale_b[0])]
        product = dot_product_accumulate(self.twin_of_product, algebra, self.alone(algebra, operands)).d
        return algebra.all_of([is_normal(algebra, f, x) for f, x in (*given, (self.design.d_format, product))])

    def terms(self, algebra: Algebra[D, T], operands: OperandWords[D]) -> Truth[T]:
        """Return what is assumed of the terms: by default that the first product is normal."""
        return self.normal_product(algebra, operands)

    def assumption(self, algebra: Algebra[D, T], operands: OperandWords[D]) -> Truth[T]:
        """Return whether the terms are as assumed, and the design does not flush their sum."""
        return algebra.all_of([self.terms(algebra, operands), self.not_flushed(algebra, operands)])

    def not_flushed(self, algebra: Algebra[D, T], operands: OperandWords[D]) -> Truth[T]:
        """Return whether the exact result is not a subnormal that the design flushes."""
        if not self.design.step.subnormals.of_results:
            return algebra.truth(True)
        exact = self.returned(self.twin, algebra, self.first(algebra, operands))
        return algebra.negation(unpack(algebra, self.design.d_format, exact.d).subnormal)

    def relation(
        self, algebra: Algebra[D, T], operands: OperandWords[D], results: Sequence[DotProduct[D, T]]
    ) -> Truth[T]:
        """Return whether both return equal d, and the twin is exact."""
        d, exact = results
        same = equal_results(algebra, self.design.d_format, d.d, exact.d)
        if not self.twin.guarantees(Guarantee.TRUNCATED_TERMS):
            return same
        return algebra.all_of([same, loses_nothing(algebra, exact.steps[0].sums, kept_bits(self.twin))])

    def by_jamming(self) -> Sequence[Lemma]:
        """Return lemmas that d is the sum of the first product and c, jammed, and that this converts as the exact one.

        There are none for designs that lose bits without a trace, because these do not return that sum. There are none
        for a given length either, because it may not be a step, and none where the jammed sum has as many bits as the
        exact one. Other designs jam in their own alignment, or in a sum of c and the sum of the products, or add c in
        IEEE 754 to the product, which is a number of the output format. If a sum of two nonzero terms is zero, the
        terms have both signs. The sign that it gets does not depend on how it was added.
        """
        if self.scope.k is not None or not keeps_trace(self.design):
            return ()
        algebra = TermAlgebra()
        first = self.first(algebra, self.symbols(algebra))
        (exact,) = self.returned(self.twin, algebra, first).steps[0].sums
        if adds_last_in_ieee(self.design):
            if exact.terms[0].fraction_bits > self.design.d_format.fraction_bits:
                return ()
            addition = LastAddition(self)
            jammed = addition.total(algebra, self.returned(self.design, algebra, first), first.c)
            found = [
                Asked("the product is a number of the output format", _ProductIsResult(self)),
                Asked("d is its sum with c as IEEE 754 adds", addition),
            ]
        elif has_single_sum(self.design) or joins_jammed(self.design):
            like, bits = type(self)(self.design, self.scope), jammed_bits(self.design)
            like.twin = self.twin.change(alignment="jam", fraction_bits=bits)
            (jammed,) = self.returned(like.twin, algebra, first).steps[0].sums
            found = [Asked(f"d is the sum jammed at {bits} fraction bits", like)]
        else:
            return ()
        if jammed.fraction_bits >= exact.fraction_bits:
            return ()
        held = Asked("the terms are zero or normalised, and lose no bit in the exact sum", _HoldsEveryBit(self))
        return [*found, held, *jammed_as_exact(Rules.of(self.twin.step), exact, jammed)]


class _About(RunQuestion):
    """A statement about the terms of another question: what the design and its exact twin do with them."""

    def __init__(self, about: AgainstExact) -> None:
        super().__init__(about.design, about.scope)
        self.about = about

    def runs(self, algebra: Algebra[D, T], operands: OperandWords[D]) -> Sequence[tuple[Design, OperandWords[D]]]:
        """Return those of the question."""
        return self.about.runs(algebra, operands)

    def assumption(self, algebra: Algebra[D, T], operands: OperandWords[D]) -> Truth[T]:
        """Return what the question assumes of the terms."""
        return self.about.terms(algebra, operands)


class _HoldsEveryBit(_About):
    """All terms of the exact twin are zero or normalised, and hold every bit."""

    def assumption(self, algebra: Algebra[D, T], operands: OperandWords[D]) -> Truth[T]:
        """Return all that the question assumes, such as that the terms are close to each other."""
        return self.about.assumption(algebra, operands)

    def relation(
        self, algebra: Algebra[D, T], operands: OperandWords[D], results: Sequence[DotProduct[D, T]]
    ) -> Truth[T]:
        """Return whether all terms are so."""
        (total,) = results[1].steps[0].sums
        found = []
        for term in total.terms:
            found.append(is_zero_or_normalised(algebra, term))
            found.append(holds_every_bit(algebra, term, total.e_max, total.fraction_bits))
        return algebra.all_of(found)


class _ProductIsResult(_About):
    """What c is added to is the exact product, as a normal number of the output format."""

    def relation(
        self, algebra: Algebra[D, T], operands: OperandWords[D], results: Sequence[DotProduct[D, T]]
    ) -> Truth[T]:
        """Return whether it is the product."""
        return self.is_product(algebra, *results)

    def is_product(self, algebra: Algebra[D, T], result: DotProduct[D, T], exact: DotProduct[D, T]) -> Truth[T]:
        """Return whether it has sign, exponent and significand of the product, as the exact twin has it."""
        x = self.addend(algebra, result)
        (total,) = exact.steps[0].sums
        product = total.terms[0]
        more = x.fraction_bits - product.fraction_bits
        significand = algebra.shift_left(product.significand, max(more, 0))
        return algebra.all_of(
            [
                algebra.negation(algebra.exclusive_or(x.negative, product.negative)),
                algebra.equal(x.exponent, product.exponent),
                algebra.equal(algebra.shift_left(x.significand, max(-more, 0)), significand),
                algebra.negation(algebra.any_of([x.zero, x.subnormal, x.infinite, x.nan])),
            ]
        )

    def addend(self, algebra: Algebra[D, T], result: DotProduct[D, T]) -> Unpacked[D, T]:
        """Return the sum of the products."""
        _, word = result.steps[0].rounded[-1]
        return unpack(algebra, self.design.d_format, word)


class LastAddition(_ProductIsResult):
    """d is the sum of that number and c, jammed and converted, or that is a subnormal."""

    def assumption(self, algebra: Algebra[D, T], operands: OperandWords[D]) -> Truth[T]:
        """Return also what is known of the product."""
        results = [self.about.returned(d, algebra, x) for d, x in self.runs(algebra, operands)]
        known = self.is_product(algebra, *results)
        return algebra.all_of([super().assumption(algebra, operands), known])

    def total(self, algebra: Algebra[D, T], result: DotProduct[D, T], c: Word[D]) -> FusedSum[D, T]:
        """Return the jammed sum."""
        accumulator = read_accumulator(algebra, self.design.step, self.formats[2], c)
        return aligned_sum(algebra, self.design.d_format, accumulator, self.addend(algebra, result))

    def relation(
        self, algebra: Algebra[D, T], operands: OperandWords[D], results: Sequence[DotProduct[D, T]]
    ) -> Truth[T]:
        """Return whether d is it."""
        rules, total = Rules.of(self.about.twin.step), self.total(algebra, results[0], operands.c)
        negative = rules.sign_of_zero(algebra, [t.negative for t in total.terms])
        expected, _ = convert(algebra, rules, total.total, total.e_max, total.fraction_bits, negative)
        subnormal = unpack(algebra, self.design.d_format, expected).subnormal
        flushed = algebra.truth(self.design.step.subnormals.of_results)
        return algebra.any_of([algebra.equal(results[0].d, expected), algebra.all_of([flushed, subnormal])])


class Asked(Lemma):
    """What a question claims, as a lemma for another one."""

    def __init__(self, name: str, question: Question) -> None:
        self.name, self.question = name, question
        self.columns = list(zip(("a", "b", "c"), question.formats, (question.k, question.k, 1), strict=True))
        if question.scale_format is not None:
            self.columns += [(n, question.scale_format, question.blocks) for n in ("scale_a", "scale_b")]
        self.inputs = tuple(Input(f"{n}{i}", f.bits) for n, f, count in self.columns for i in range(count))

    def assumption(self, algebra: Algebra[D, T], words: Mapping[str, Word[D]]) -> Truth[T]:
        """Return the precondition of the question."""
        return self.question.precondition(algebra, self._operands(words))

    def claim(self, algebra: Algebra[D, T], words: Mapping[str, Word[D]]) -> Truth[T]:
        """Return its claim."""
        return self.question.claim(algebra, self._operands(words))

    def _operands(self, words: Mapping[str, Word[D]]) -> OperandWords[D]:
        return operand_words([[words[f"{n}{i}"] for i in range(count)] for n, _, count in self.columns])


def check_one_step(design: Design, scope: Scope) -> None:
    """Raise DesignError where the length asked about is longer than a step."""
    if scope.k is not None and scope.k > design.step.L:
        raise DesignError(f"k = {scope.k}: this is asked of one step, of L = {design.step.L} products")


def rounded_once(design: Design, fraction_bits: int | None = None) -> Design:
    """Return the exact twin, with the conversion that gives the design its result.

    That is rho, unless c joins in an IEEE 754 addition, which rounds to nearest. If the design rounds or normalises
    products first, the twin normalises them. This changes no exact sum, and it makes proofs short.
    """
    settings = {}
    if rounds_last_in_ieee(design):
        settings["rho"] = f"rne-{design.d_format.name}"
    if adds_last_in_ieee(design):
        settings["negative_zero"] = "negative"
    summed = design.guarantees(Guarantee.SUMMED_EXPONENTS)
    if adds_last_in_ieee(design) or joins_jammed(design) or not summed:
        settings["product_exponent"] = "normalised"
    return changed_to(exact_twin(design, fraction_bits), **settings)


def rounds_last_in_ieee(design: Design) -> bool:
    """Return whether the last operation of a step is an addition of c that rounds to nearest, whatever rho is."""
    return design.adds_c_last and not design.step.adds_c_as_rho


def adds_last_in_ieee(design: Design) -> bool:
    """Return whether c is added in IEEE 754, in whatever direction, to something that was rounded already."""
    return design.guarantees(Guarantee.ROUNDED_LAST_SUM) or rounds_last_in_ieee(design)


def keeps_trace(design: Design) -> bool:
    """Return whether c is added in a way that jams what lies below the last bit of a sum."""
    return design.guarantees(Guarantee.JAMMED_TERMS) or adds_last_in_ieee(design) or joins_jammed(design)


def joins_jammed(design: Design) -> bool:
    """Return whether c and the sum of the products are normalised, and added in a sum that jams what it loses."""
    (path,) = datapath(design.one_step(), design.step.L)
    return path.normalises_addends and all(cut.jams for cut in path.sums[-1].cuts)


def jammed_bits(design: Design) -> int:
    """Return the fraction bits at which the sum is jammed that a design converts, or that it adds c in."""
    if has_single_sum(design):
        return kept_bits(design)
    if joins_jammed(design):
        (path,) = datapath(design.one_step(), design.step.L)
        return path.sums[-1].fraction_bits
    return ieee_bits(design)


def ieee_bits(design: Design) -> int:
    """Return the fraction bits at which an IEEE 754 addition of two numbers of the output format jams."""
    return 2 * design.d_format.precision + 2


def loses_nothing(algebra: Algebra[D, T], sums: Sequence[FusedSum[D, T]], fraction_bits: int) -> Truth[T]:
    """Return whether every term of some sums keeps all of its bits at ``fraction_bits``."""
    cut = Cut(fraction_bits)
    lost = [loses_bits(algebra, term, total.e_max, cut) for total in sums for term in total.terms]
    return algebra.negation(algebra.any_of(lost))


def is_normal(algebra: Algebra[D, T], fmt: Format, pattern: Word[D]) -> Truth[T]:
    """Return whether a pattern is a normal number."""
    x = unpack(algebra, fmt, pattern)
    return algebra.negation(algebra.any_of([x.zero, x.subnormal, x.infinite, x.nan]))


def product_bits(design: Design) -> int:
    """Return the fraction bits of a product of normal operands below the exponent with which it is aligned.

    The exponent of a group of scaled products is that of the scales alone, so the elements may lie below it.
    """
    a, b = design.a_format, design.b_format
    bits = a.fraction_bits + b.fraction_bits
    if design.scale_format is not None:
        bits += 2 * design.scale_format.fraction_bits
    return bits - (a.e_min + b.e_min if design.step.group_size is not None else 0)


def keeping(design: Design, fraction_bits: int) -> Design:
    """Return the design with N fraction bits. One that rounds every operation then adds in a fused sum."""
    if design.step.kept_bits is None:
        return design.change(fraction_bits=fraction_bits, summation="fused")
    return design.change(fraction_bits=fraction_bits)


def keeps_at_most(design: Design, fraction_bits: int) -> bool:
    """Return whether the terms of the design are cut to so few fraction bits."""
    return design.step.kept_bits is not None and design.step.kept_bits <= fraction_bits
