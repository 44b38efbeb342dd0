"""Monotonicity: a larger addend never makes a smaller result (Fasi et al. 2021)."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence

from pysmt.fnode import FNode

from mmaproof.designs.design import Design
from mmaproof.designs.errors import DesignError
from mmaproof.designs.formats import Format
from mmaproof.properties.library.special_case import OfSpecialOperands
from mmaproof.properties.property import SimpleProperty, has_single_sum, kept_bits
from mmaproof.properties.question import Argument, RunQuestion, Scope, SpecialCase
from mmaproof.properties.settings import changed_to
from mmaproof.smt.algebra.protocol import Algebra, D, T, Truth, Word
from mmaproof.smt.algebra.terms import TermAlgebra
from mmaproof.smt.bundles.order_steps import OrderSteps
from mmaproof.smt.proving.kernel import Kernel, NotComposedError
from mmaproof.smt.proving.lemma import Lemma
from mmaproof.smt.proving.monotone import LargeStep, TermRises, lemmas_for_c
from mmaproof.smt.proving.monotone_in_a import lemmas_for_a
from mmaproof.smt.semantics import DotProduct, OperandWords, dot_product_accumulate
from mmaproof.smt.semantics.patterns import is_largest, last_before_power, order_key, successor, unpack


class Monotone(RunQuestion):
    """d of some operands is at most d of the same operands with one of them replaced by its successor."""

    def runs(self, algebra: Algebra[D, T], operands: OperandWords[D]) -> Sequence[tuple[Design, OperandWords[D]]]:
        """Return the run as given, and the one with the larger operand."""
        return (self.design, operands), (self.design, self.larger(algebra, operands))

    @abstractmethod
    def rising(self, operands: OperandWords[D]) -> tuple[Format, Word[D]]:
        """Return the operand that rises, and its format."""

    @abstractmethod
    def larger(self, algebra: Algebra[D, T], operands: OperandWords[D]) -> OperandWords[D]:
        """Return the operands with one of them replaced by its successor."""

    def assumption(self, algebra: Algebra[D, T], operands: OperandWords[D]) -> Truth[T]:
        """Return whether the operands and the successor are finite. The largest number has none."""
        largest = algebra.negation(is_largest(algebra, *self.rising(operands)))
        both = [self.finite(algebra, x) for x in (operands, self.larger(algebra, operands))]
        return algebra.all_of([largest, *both])

    def relation(
        self, algebra: Algebra[D, T], operands: OperandWords[D], results: Sequence[DotProduct[D, T]]
    ) -> Truth[T]:
        """Return whether the first result is at most the second, or one of them is NaN."""
        fmt = self.design.d_format
        before, after = (x.d for x in results)
        smaller = algebra.less(order_key(algebra, fmt, after), order_key(algebra, fmt, before))
        return algebra.any_of([algebra.negation(smaller), *(unpack(algebra, fmt, x).nan for x in (before, after))])

    def special_case(self) -> SpecialCase:
        """Return the question where e_max changes."""
        return _EndOfBinade(self).as_case()

    def argument(self) -> Argument:
        """Return why no stage of a step lets the result fall, as steps."""
        return self._in_order

    def _in_order(self, kernel: Kernel) -> None:
        found = self.lemmas()
        rises = [x for x in found if isinstance(x, TermRises)]
        large = [x for x in found if isinstance(x, LargeStep)]
        if len(rises) != 1 or len(large) != 1:
            raise NotComposedError("no term of one sum rises")
        algebra = TermAlgebra(kernel.environment)
        operands, assumed = self.symbols(algebra), self.formula.precondition
        runs = [dot_product_accumulate(self.asked(x), algebra, y).steps for x, y in self.runs(algebra, operands)]
        if any(len(steps) != 1 for steps in runs):
            raise NotComposedError("an order of results of several steps")
        ((first,), (second,)) = runs

        def claim(*results: Word[FNode]) -> Truth[FNode]:
            return self.relation(algebra, operands, [DotProduct(d, ()) for d in results])

        OrderSteps(kernel, first, second, rises[0], large[0], assumed).prove(self.design.d_format, claim)


class _MonotoneInC(Monotone):
    """d(c) is at most d(the next number above c)."""

    def rising(self, operands: OperandWords[D]) -> tuple[Format, Word[D]]:
        """Return c."""
        return self.formats[2], operands.c

    def larger(self, algebra: Algebra[D, T], operands: OperandWords[D]) -> OperandWords[D]:
        """Return the operands with the next c."""
        x = operands
        return OperandWords(x.a, x.b, successor(algebra, self.formats[2], x.c), x.scale_a, x.scale_b)

    def lemmas(self) -> Sequence[Lemma]:
        """Return why no stage of a step lets the result fall."""
        return lemmas_for_c(self.asked(self.design), self.k)


class _MonotoneInA(Monotone):
    """d(a[0]) is at most d(the next number above a[0]) where b[0] is positive."""

    def rising(self, operands: OperandWords[D]) -> tuple[Format, Word[D]]:
        """Return a[0]."""
        return self.formats[0], operands.a[0]

    def larger(self, algebra: Algebra[D, T], operands: OperandWords[D]) -> OperandWords[D]:
        """Return the operands with the next a[0]."""
        x = operands
        return OperandWords([successor(algebra, self.formats[0], x.a[0]), *x.a[1:]], x.b, x.c, x.scale_a, x.scale_b)

    def assumption(self, algebra: Algebra[D, T], operands: OperandWords[D]) -> Truth[T]:
        """Return whether everything is finite and b[0] positive."""
        b = unpack(algebra, self.formats[1], operands.b[0])
        positive = algebra.negation(algebra.any_of([b.negative, b.zero]))
        return algebra.all_of([super().assumption(algebra, operands), positive])

    def lemmas(self) -> Sequence[Lemma]:
        """Return why no stage of a step lets the result fall."""
        return lemmas_for_a(self.asked(self.design), self.k)


class _EndOfBinade(OfSpecialOperands):
    """The operand that rises is the last before a power of two. At most two products differ from the others.

    So e_max rises, or falls if the operand is negative, and what the products lose adds up.
    """

    def __init__(self, general: Monotone) -> None:
        super().__init__(general)
        self.in_c = isinstance(general, _MonotoneInC)

    def special(self, algebra: Algebra[D, T], operands: OperandWords[D]) -> OperandWords[D]:
        """Return the operands moved to the end of their binade, the products between the first and the last alike."""
        x = operands
        columns = []
        for column in (x.a, x.b):
            repeated = column[0 if self.in_c else min(1, self.k - 1)]
            columns.append([column[0], *[repeated] * (self.k - 2), column[-1]][: self.k])
        if self.in_c:
            c = last_before_power(algebra, self.formats[2], x.c)
            return OperandWords(columns[0], columns[1], c, x.scale_a, x.scale_b)
        columns[0][0] = last_before_power(algebra, self.formats[0], x.a[0])
        return OperandWords(columns[0], columns[1], x.c, x.scale_a, x.scale_b)


class MonotoneInC(SimpleProperty):
    """A larger accumulator never makes a smaller result."""

    name = "monotone-in-c"
    feature = "d does not fall where c rises"
    statement = (
        "d(a, b, c) <= d(a, b, c') by value for finite operands, c' the next number above c, finite, neither d NaN"
    )
    witness = "two neighbouring c, the larger of which gives the smaller d"
    source = "Fasi et al. 2021, Monotonicity of dot product"
    specimen = "volta/mma.m8n8k4.f32.f16.f16.f32"

    def mutant(self, design: Design) -> Design:
        """Return a design whose e_max is always the same, or, if the property holds, one that cuts terms to few bits.

        The property holds if the cut is so fine that all products together lose less than c rises by.
        """
        products = design.step.L // (design.step.group_size or 1)
        enough = design.c_format.fraction_bits + 1 + products.bit_length()
        if not has_single_sum(design) or kept_bits(design) > enough:
            return _coarse(design)
        return _on_a_floor(design)

    def question(self, design: Design, scope: Scope) -> RunQuestion:
        """Return the question about neighbours."""
        return _MonotoneInC(design, scope)


class MonotoneInA(SimpleProperty):
    """A larger element of a, times a positive number, never makes a smaller result."""

    name = "monotone-in-a"
    feature = "d does not fall where a[0] rises, b[0] > 0"
    statement = (
        "d(a, b, c) <= d(a', b, c) by value for finite operands, b[0] > 0, a' with the next number above a[0], finite, "
        "neither d NaN"
    )
    witness = "two neighbouring elements of a, the larger of which gives the smaller d"
    source = "Fasi et al. 2021, Monotonicity of dot product"
    specimen = "volta/mma.m8n8k4.f32.f16.f16.f32"

    def mutant(self, design: Design) -> Design:
        """Return a design that cuts terms to few bits. If this one does, return one whose e_max is always the same."""
        few = design.a_format.fraction_bits + design.b_format.fraction_bits
        cuts = has_single_sum(design) and kept_bits(design) < few
        return _on_a_floor(design) if cuts else _coarse(design)

    def question(self, design: Design, scope: Scope) -> RunQuestion:
        """Return the question about neighbours."""
        return _MonotoneInA(design, scope)


def _on_a_floor(design: Design) -> Design:
    """Return a design whose e_max is at least every exponent that finite operands have."""
    a, b, c, _ = design.formats
    scale = 0 if design.scale_format is None else 2 * design.scale_format.e_max
    highest = a.e_max + b.e_max + scale
    return design.change(floor=max(highest if design.step.group_size is None else scale, c.e_max))


def _coarse(design: Design) -> Design:
    """Return a design that truncates all terms of a step to few bits in one sum. DesignError for one product."""
    if design.step.L == 1:
        raise DesignError(f"{design.name}: one product and c rise in any alignment")
    return changed_to(
        design,
        summation="fused",
        grouping="all",
        join="fused",
        alignment="truncate",
        fraction_bits="4",
        product_limit="none",
    )
