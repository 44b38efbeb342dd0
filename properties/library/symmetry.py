"""Symmetries: under negation of all terms, and under exchange of a and b.

The order of the addends: within a step, and in a chain of steps (Valpey et al. 2025, property 3).
"""

from __future__ import annotations

from collections.abc import Sequence

from pysmt.fnode import FNode

from mmaproof.designs.design import Design
from mmaproof.designs.errors import DesignError
from mmaproof.properties.property import SimpleProperty, is_aligned
from mmaproof.properties.question import RunQuestion, SameResults, Scope
from mmaproof.properties.settings import with_other_value
from mmaproof.smt.algebra.protocol import Algebra, D, T, Truth, Word
from mmaproof.smt.proving.laws import LawfulTerms
from mmaproof.smt.proving.staged import Related
from mmaproof.smt.semantics import DotProduct, OperandWords
from mmaproof.smt.semantics.datapath import Partial, datapath
from mmaproof.smt.semantics.patterns import negated, same_number, unpack


class _Negated(RunQuestion):
    """d(-a, b, -c) = -d(a, b, c), where zeros of either sign are the same, and so are NaNs of either sign."""

    compares_runs = True

    def runs(self, algebra: Algebra[D, T], operands: OperandWords[D]) -> Sequence[tuple[Design, OperandWords[D]]]:
        """Return the run as given, and the one with a and c negated."""
        a, _, c = self.formats
        opposite = OperandWords(
            [negated(algebra, a, x) for x in operands.a],
            operands.b,
            negated(algebra, c, operands.c),
            operands.scale_a,
            operands.scale_b,
        )
        return (self.design, operands), (self.design, opposite)

    def relation(
        self, algebra: Algebra[D, T], operands: OperandWords[D], results: Sequence[DotProduct[D, T]]
    ) -> Truth[T]:
        """Return whether the second result is the first, negated."""
        fmt = self.design.d_format
        return same_number(algebra, fmt, negated(algebra, fmt, results[0].d), results[1].d)

    def related_results(self) -> Related:
        """Return that the second is the first with the other sign, both are zeros, or both the same NaN."""
        fmt = self.design.d_format

        def related(terms: LawfulTerms, x: Word[FNode], y: Word[FNode]) -> Truth[FNode]:
            number, flipped = unpack(terms, fmt, x), terms.equal(negated(terms, fmt, x), y)
            other = unpack(terms, fmt, y)
            alike = [[number.zero, other.zero], [number.nan, terms.equal(x, y)], [terms.negation(number.nan), flipped]]
            return terms.any_of([terms.all_of(some) for some in alike])

        return related


class NegationSymmetric(SimpleProperty):
    """Negating every term negates the result."""

    name = "negation-symmetric"
    feature = "negating a and c negates d"
    statement = "d(-a, b, -c) = -d(a, b, c), but for the sign of a zero and of a NaN"
    witness = "operands, and the same with a and c negated, whose results differ in more than the sign"
    source = "Xie et al. 2026, section 6.2.4 and table 10"
    specimen = "volta/mma.m8n8k4.f32.f16.f16.f32"

    def mutant(self, design: Design) -> Design:
        """Return a design that rounds aligned terms down. If c joins rounded down, return one that joins it fused."""
        if _joins_rounded_down(design):
            return design.change(join="fused")
        if not is_aligned(design):
            # rounded additions: towards minus infinity instead of to nearest
            return design.change(rho=f"rtn-{design.d_format.name}")
        return with_other_value(design, "alignment", "floor", "truncate")

    def question(self, design: Design, scope: Scope) -> RunQuestion:
        """Return the question about both results."""
        return _Negated(design, scope)


def _joins_rounded_down(design: Design) -> bool:
    """Return whether c joins the sum of the products in a sum whose terms are rounded towards minus infinity."""
    (path,) = datapath(design.one_step(), design.step.L)
    last = path.sums[-1] if path.sums and "late_bits" in design.settings else None
    return last is not None and Partial.PRODUCTS in last.terms and all(cut.rounds_down for cut in last.cuts)


class _Exchanged(SameResults):
    """d(b, a, c) = d(a, b, c), the scales exchanged too."""

    def runs(self, algebra: Algebra[D, T], operands: OperandWords[D]) -> Sequence[tuple[Design, OperandWords[D]]]:
        """Return the run as given, and the exchanged one."""
        x = operands
        return (self.design, x), (self.design, OperandWords(x.b, x.a, x.c, x.scale_b, x.scale_a))


class ExchangeSymmetric(SimpleProperty):
    """Exchanging a and b, and their scales, does not matter."""

    name = "exchange-symmetric"
    feature = "a and b can be exchanged"
    statement = "d(b, a, c) = d(a, b, c), for a and b of the same format, their scales exchanged too"
    witness = "operands whose result changes when a and b change places"
    source = "Xie et al. 2026, algorithms 1 to 11: every product is of a pair"
    specimen = "volta/mma.m8n8k4.f32.f16.f16.f32"

    def why_not(self, design: Design) -> str | None:
        """Return that a and b have different formats."""
        a, b = design.a_format.name, design.b_format.name
        return None if a == b else f"a and b have different formats: {a} and {b}"

    def mutant(self, design: Design) -> Design:
        """Return a design that flushes subnormals of a alone."""
        return design.change(subnormals="operands-of-a")

    def question(self, design: Design, scope: Scope) -> RunQuestion:
        """Return the question about both results."""
        return _Exchanged(design, scope)


class SameAfter(SameResults):
    """d stays the same when the products are permuted in each of some ways."""

    def __init__(self, design: Design, scope: Scope, permutations: Sequence[Sequence[int]]) -> None:
        super().__init__(design, scope)
        self.permutations = permutations

    def runs(self, algebra: Algebra[D, T], operands: OperandWords[D]) -> Sequence[tuple[Design, OperandWords[D]]]:
        """Return the run as given and one for each permutation."""
        order = range(self.k)
        return [(self.design, self._permuted(operands, p)) for p in (order, *self.permutations)]

    def _permuted(self, operands: OperandWords[D], order: Sequence[int]) -> OperandWords[D]:
        a, b = ([x[k] for k in order] for x in (operands.a, operands.b))
        scales = (operands.scale_a, operands.scale_b)
        if self.blocks:
            size = self.k // self.blocks
            blocks = [order[i * size] // size for i in range(self.blocks)]
            scales = ([operands.scale_a[i] for i in blocks], [operands.scale_b[i] for i in blocks])
        return OperandWords(a, b, operands.c, *scales)


def generators(count: int, unit: int) -> list[list[int]]:
    """Return permutations that generate all those of ``count`` products which keep runs of ``unit`` together.

    The exchange of the first two products and a shift of all by one generate every permutation. With runs, the
    generators are those within the first run and those of whole runs.
    """
    found = []
    if unit > 1:
        found += [[*p, *range(unit, count)] for p in generators(unit, 1)]
    runs = [list(range(i, i + unit)) for i in range(0, count, unit)]
    if len(runs) > 1:
        found.append([k for run in (runs[1], runs[0], *runs[2:]) for k in run])
    if len(runs) > 2:
        found.append([k for run in (*runs[1:], runs[0]) for k in run])
    return found


class OrderIndependence(SimpleProperty):
    """Any order of the products within a step gives the same d."""

    name = "order-independent"
    feature = "order of the products in a step does not matter"
    statement = (
        "d(a[s], b[s], c) = d(a, b, c) for generators s of all orders of the products of one step: an exchange of the "
        "first two, and a shift by one (within and of runs that share a scale)"
    )
    witness = "the same products in two orders, with different results"
    source = "Valpey et al. 2025, property 3; Fasi et al. 2021, Accuracy of the dot products"
    specimen = "volta/mma.m8n8k4.f32.f16.f16.f32@L=2"

    def why_not(self, design: Design) -> str | None:
        """Return that one product has one order."""
        return "a step of one product has one order" if design.step.L == 1 else None

    def mutant(self, design: Design) -> Design:
        """Return a design that adds the terms one by one in index order, truncating the partial sums."""
        return design.change(summation="sequential", first="index", truncates="partial-sum")

    def question(self, design: Design, scope: Scope) -> RunQuestion:
        """Return invariance under permutations that generate all others.

        Products that share a scale, or a group, stay together.
        """
        step = design if scope.k is not None else design.one_step()
        count = scope.k or step.k
        if scope.k is not None and scope.k > design.step.L:
            raise DesignError(f"{self.name} is about a step of L = {design.step.L}: see chain-order-independent")
        return SameAfter(design, scope, generators(count, design.step.group_size or step.block or 1))


class ChainOrder(SimpleProperty):
    """The order of the products along a chain of steps does not matter."""

    name = "chain-order-independent"
    feature = "order of k along a chain does not matter"
    statement = "d(a, b, c) = d(reversed a, reversed b, c) over the K of the instruction, a chain of K / L steps"
    witness = "the same products in two orders, with different results"
    source = "Valpey et al. 2025, property 3, carried on to K > L"
    specimen = "ampere/mma.m16n8k16.f32.f16.f16.f32"

    def mutant(self, design: Design) -> Design:
        """Return a unit whose one step takes all products. If this one does, return one that takes half of them."""
        return design.change(L=design.k if design.k > design.step.L else design.k // 2)

    def why_not(self, design: Design) -> str | None:
        """Return that scales would have to move with their blocks."""
        return "its products are tied to scales" if design.scale_format is not None else None

    def question(self, design: Design, scope: Scope) -> RunQuestion:
        """Return invariance under reversal of the K elements of the instruction, or of ``scope.k``."""
        length = scope.k or design.k
        return SameAfter(design, Scope(length, scope.where, scope.seed), [list(reversed(range(length)))])
