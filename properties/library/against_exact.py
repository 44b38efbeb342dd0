"""Questions about a few terms of a step against their exact sum, and the lemmas that answer them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pysmt.fnode import FNode

from mmaproof.designs.design import Design
from mmaproof.designs.errors import DesignError
from mmaproof.designs.formats import Format
from mmaproof.designs.steps import Guarantee
from mmaproof.properties.property import has_single_sum, kept_bits
from mmaproof.properties.question import Argument, Question, RunQuestion, Scope, operand_words
from mmaproof.properties.settings import changed_to, exact_twin
from mmaproof.smt.algebra.protocol import Algebra, D, T, Truth, Word
from mmaproof.smt.algebra.terms import TermAlgebra
from mmaproof.smt.bundles.jammed_steps import JammedSteps
from mmaproof.smt.bundles.leaves import Leaves, prove_no_special
from mmaproof.smt.proving.kernel import Kernel
from mmaproof.smt.proving.laws import LawsInUse
from mmaproof.smt.proving.lemma import Input, Lemma
from mmaproof.smt.semantics import DotProduct, OperandWords, dot_product_accumulate, equal_results
from mmaproof.smt.semantics.align import Cut, loses_bits
from mmaproof.smt.semantics.convert import Rules, convert
from mmaproof.smt.semantics.datapath import datapath
from mmaproof.smt.semantics.fused_sum import FusedSum
from mmaproof.smt.semantics.ieee import aligned_sum, read_accumulator
from mmaproof.smt.semantics.patterns import Unpacked, unpack, zero

JAMMED_SECONDS = 120.0
"""Seconds in which a lemma about a sum that is jammed is refuted."""


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

    @property
    def rounds_as_jammed(self) -> bool:
        """Whether d is asked to be the sum of the first product and c, and the argument of a jammed sum applies."""
        return False

    @property
    def decides_by_argument(self) -> bool:
        """Whether d is a sum that jams what it loses, which is rounded as the exact one.

        Designs that lose bits without a trace do not return that sum. A given length may not be a step. A jammed sum
        may have as many bits as the exact one. Other designs jam in their own alignment, or in a sum of c and the sum
        of the products, or add c in IEEE 754 to the product, which is a number of the output format.
        """
        if not self.rounds_as_jammed or self.scope.k is not None or not keeps_trace(self.design):
            return False
        if not adds_last_in_ieee(self.design):
            jams = has_single_sum(self.design) or joins_jammed(self.design)
            return jams and jammed_bits(self.design) < kept_bits(self.twin)
        algebra = TermAlgebra()
        result = self.returned(self.twin, algebra, self.first(algebra, self.symbols(algebra)))
        (exact,) = result.steps[0].sums
        fits = exact.terms[0].fraction_bits <= self.design.d_format.fraction_bits
        return fits and jammed_bits(self.design) < exact.fraction_bits

    def argument(self) -> Argument | None:
        """Return why a sum that is jammed is rounded as the exact one; None where it is not such a sum."""
        return self.add_steps if self.decides_by_argument else None

    def add_steps(self, kernel: Kernel) -> None:
        """Add the steps of the argument to a kernel, in which it is known that what the question assumes holds."""
        algebra, laws = TermAlgebra(kernel.environment), LawsInUse(kernel, seconds=JAMMED_SECONDS)
        operands = self.symbols(algebra)
        first = self.first(algebra, operands)
        d, exact = (self.returned(x, algebra, first) for x in (self.design, self.twin))
        (step,) = exact.steps
        (total,) = step.sums
        terms, not_flushed = self.terms(algebra, operands), self.not_flushed(algebra, operands)

        truncates = self.twin.guarantees(Guarantee.TRUNCATED_TERMS)
        nothing = loses_nothing(algebra, (total,), kept_bits(self.twin))

        def prove(steps: JammedSteps, expected: Word[FNode]) -> None:
            held, given = steps.held(), self.assumption(algebra, operands)
            for claim in held:
                laws.claim(claim.data, [given.data], {}, "a term is zero or normalised, and is held in the exact sum")
            steps.prove((step.converted, expected))
            if truncates:
                steps.prove_whole(nothing)
            prove_no_special(laws, algebra, step, terms.data)

        last = len(total.terms) - 1
        if adds_last_in_ieee(self.design):
            addition = LastAddition(self)
            number, jammed = addition.is_product(algebra, d, exact), addition.total(algebra, d, first.c)
            laws.claim(number.data, [terms.data], {}, "the product is a number of the output format")
            steps = JammedSteps(algebra, laws, total, jammed, [(0, 1), (last, 0)], terms.data)
            _, word = d.steps[0].rounded[-1]
            steps.prove_same(0, [terms, number], [word])
            steps.prove_same(1, [terms])
            expected = addition.converted(algebra, d, first.c)
            prove(steps, expected)
            returned = addition.is_returned(algebra, d, first.c)
            laws.claim(returned.data, [terms.data, number.data], {}, "d is its sum with c as IEEE 754 adds")
        else:
            like = type(self)(self.design, self.scope)
            like.twin = self.twin.change(alignment="jam", fraction_bits=jammed_bits(self.design))
            result = self.returned(like.twin, algebra, first)
            (other,) = result.steps
            (jammed,) = other.sums
            prove(JammedSteps(algebra, laws, total, jammed, [(0, 0), (last, last)], terms.data), other.converted)
            prove_no_special(laws, algebra, other, terms.data)
            expected = result.d
            flushed = like.not_flushed(algebra, operands)
            Leaves(algebra).parts(exact.d, expected).use_of(
                laws, flushed, [not_flushed, exact.d == expected], "d alike"
            )
            returned = AgainstExact.relation(like, algebra, operands, [d, result])
            why = f"d is the sum jammed at {jammed.fraction_bits} fraction bits"
            laws.claim(returned.data, [self.assumption(algebra, operands).data, flushed.data], {}, why)
        found = self.relation(algebra, operands, [d, exact])
        whole = [nothing] if truncates else []
        known = [returned, not_flushed, exact.d == expected, *whole]
        Leaves(algebra).parts(d.d, exact.d, expected, *whole).use_of(
            laws, found, known, "d is the exact sum, rounded once"
        )


class LastAddition:
    """What c is added to in IEEE 754, where that is the exact product: a normal number of the output format."""

    def __init__(self, about: AgainstExact) -> None:
        self.about, self.design = about, about.design

    def is_product(self, algebra: Algebra[D, T], result: DotProduct[D, T], exact: DotProduct[D, T]) -> Truth[T]:
        """Return whether it has sign, exponent and significand of the product, as the exact twin has it."""
        x = self._addend(algebra, result)
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

    def _addend(self, algebra: Algebra[D, T], result: DotProduct[D, T]) -> Unpacked[D, T]:
        _, word = result.steps[0].rounded[-1]
        return unpack(algebra, self.design.d_format, word)

    def total(self, algebra: Algebra[D, T], result: DotProduct[D, T], c: Word[D]) -> FusedSum[D, T]:
        """Return its sum with c, jammed."""
        accumulator = read_accumulator(algebra, self.design.step, self.about.formats[2], c)
        return aligned_sum(algebra, self.design.d_format, accumulator, self._addend(algebra, result))

    def converted(self, algebra: Algebra[D, T], result: DotProduct[D, T], c: Word[D]) -> Word[D]:
        """Return what that sum converts to."""
        rules, total = Rules.of(self.about.twin.step), self.total(algebra, result, c)
        negative = rules.sign_of_zero(algebra, [t.negative for t in total.terms])
        return convert(algebra, rules, total.total, total.e_max, total.fraction_bits, negative)[0]

    def is_returned(self, algebra: Algebra[D, T], result: DotProduct[D, T], c: Word[D]) -> Truth[T]:
        """Return whether d is it, or it is a subnormal that is flushed."""
        expected = self.converted(algebra, result, c)
        subnormal = unpack(algebra, self.design.d_format, expected).subnormal
        flushed = algebra.truth(self.design.step.subnormals.of_results)
        return algebra.any_of([algebra.equal(result.d, expected), algebra.all_of([flushed, subnormal])])


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
