"""Bits kept below the largest exponent: how many, and whether they do what guard and sticky bits do."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from mmaproof.designs.arithmetic import repeats_one_step
from mmaproof.designs.design import Design
from mmaproof.designs.steps import Guarantee
from mmaproof.properties.library.against_exact import (
    AgainstExact,
    is_normal,
    jammed_bits,
    keeping,
    keeps_at_most,
    keeps_trace,
    product_bits,
    rounds_last_in_ieee,
)
from mmaproof.properties.library.enough_bits import argument_of_bits
from mmaproof.properties.library.rounding import RoundedOnce, adds_exactly
from mmaproof.properties.property import (
    INTEGER,
    Ask,
    Property,
    PropertyVerdict,
    SimpleProperty,
    first_reason,
    has_single_sum,
    is_aligned,
    kept_bits,
    why_not_aligned,
)
from mmaproof.properties.question import Argument, Run, RunQuestion, SameResults, Scope
from mmaproof.properties.settings import exact_twin
from mmaproof.smt.algebra.protocol import Algebra, D, T, Truth
from mmaproof.smt.algebra.terms import TermAlgebra
from mmaproof.smt.bundles.leaves import Leaves
from mmaproof.smt.proving.kernel import Kernel, NotComposedError
from mmaproof.smt.proving.laws import LawsInUse
from mmaproof.smt.semantics import OperandWords, equal_results
from mmaproof.smt.solving.verdict import Status

_JAMS_EXACT_SUM = (Guarantee.JAMMED_TERMS, Guarantee.EXACT_SUM, Guarantee.OWN_CUTS)


class FractionBits(Property):
    """The number F of fraction bits below e_max can be observed: one more and one fewer give other results."""

    name = "fraction-bits"
    feature = "fraction bits kept in the alignment"
    statement = "d(a, b, c) differs from that of the design with F + 1, and from that with F - 1, for some operands"
    witness = "operands for which one fraction bit more, or fewer, gives another d"
    source = "Fasi et al. 2021, Extra bits in the alignment of significands; Valpey et al. 2025, 4.3"
    specimen = "volta/mma.m8n8k4.f32.f16.f16.f32@L=2"

    def why_not(self, design: Design) -> str | None:
        """Refuse designs without a fused sum, and those with one bit."""
        if not is_aligned(design):
            return INTEGER if design.d_format.is_integer else why_not_aligned(design)
        return "it keeps one fraction bit, the least there can be" if kept_bits(design) == 1 else None

    def mutant(self, design: Design) -> Design:
        """Return the exact design, where one bit more changes nothing. If this one is exact, return one of few bits."""
        if adds_exactly(design):
            return keeping(design, design.step.conversion.fraction_bits)
        return exact_twin(design)

    def settle(self, design: Design, scope: Scope, ask: Ask) -> PropertyVerdict:
        """Ask whether each neighbour returns the same; the value is F."""
        bits = kept_bits(design)
        answers, runs = {}, list[Run]()
        for neighbour in (bits + 1, bits - 1):
            question = _SameWith(design, scope, neighbour)
            what = f"F = {neighbour} returns the same"
            answers[what] = found = ask(question, what)
            if found.status in (Status.PROVED, Status.VACUOUS):
                status = Status.REFUTED if found.status is Status.PROVED else Status.VACUOUS
                return PropertyVerdict(status, bits, answers=answers)
            if found.witness is not None:
                runs += question.witness_runs(found.witness)
        reason = first_reason(list(answers.values()))
        return PropertyVerdict(Status.PROVED if reason is None else Status.UNKNOWN, bits, tuple(runs), reason, answers)


class _SameWith(SameResults):
    """The design returns the same with another number of fraction bits."""

    def __init__(self, design: Design, scope: Scope, fraction_bits: int) -> None:
        super().__init__(design, scope)
        self.other = design.change(fraction_bits=fraction_bits)

    def runs(self, algebra: Algebra[D, T], operands: OperandWords[D]) -> Sequence[tuple[Design, OperandWords[D]]]:
        """Return both on the same operands."""
        return (self.design, operands), (self.other, operands)

    def argument(self) -> Argument | None:
        """Return why d is the same: no term loses a bit with the fewer bits, or both round the exact sum once."""
        design = self.design
        alike = self.k == 1 and repeats_one_step(self.asked(design), self.k)
        if alike and has_single_sum(design) and design.guarantees(*_JAMS_EXACT_SUM):
            asked = [RoundedOnce(d, self.scope) for d in (design, self.other)]
            if all(x.decides_by_argument for x in asked):
                return partial(self._both_rounded, asked)
        return argument_of_bits(self, self.asked(design), self.asked(self.other))

    def _both_rounded(self, asked: Sequence[RoundedOnce], kernel: Kernel) -> None:
        """Add the steps: infinities and NaNs give the same, so operands of a counterexample are finite."""
        algebra, laws = TermAlgebra(kernel.environment), LawsInUse(kernel)
        operands, root = self.symbols(algebra), Truth(kernel.root, algebra)
        found = [x.returned(x.design, algebra, operands) for x in asked]
        (exact, same) = (x.returned(x.twin, algebra, operands).d for x in asked)
        parts = [y for x in found for y in (x.steps[0].converted, x.steps[0].overflowed)]
        finite = self.finite(algebra, operands)
        Leaves(algebra).parts(*parts).use_of(laws, finite, [root], "other operands give the same special result")
        for x in asked:
            x.add_steps(kernel)
        if not kernel.same(exact.data, same.data):
            raise NotComposedError("two exact sums differ")
        fmt, (d, other) = self.design.d_format, (x.d for x in found)
        known = [equal_results(algebra, fmt, x, y) for x, y in ((d, exact), (other, same))]
        claim = equal_results(algebra, fmt, d, other)
        Leaves(algebra).parts(d, other, exact).use_of(laws, claim, known, "both are the exact sum, rounded once")

    @property
    def decides_by_argument(self) -> bool:
        """Whether there is one."""
        return self.argument() is not None


class GuardBit(SimpleProperty):
    """The difference of two numbers within a factor of two is exact."""

    name = "guard-bit"
    feature = "a guard bit: differences of close numbers are exact"
    statement = (
        "d(a, b, c) = rho(a_0 b_0 + c) where all other elements are +0, for normal a_0, b_0, a_0 b_0 and c of opposite "
        "signs with |a_0 b_0| / 2 <= |c| <= 2 |a_0 b_0| (d zero or normal where the design flushes results)"
    )
    witness = "two numbers within a factor of two whose difference is wrong: a bit was lost before it"
    source = "Fasi et al. 2021, Extra bits in the alignment of significands (no guard digit)"
    specimen = "turing/mma.m16n8k8.f32.f16.f16.f32"
    rests_on = (Guarantee.CONVERTED_BY_RHO,)

    def mutant(self, design: Design) -> Design:
        """Return the design with the bits of c (one fewer than a product if c joins late), or the exact one."""
        least, cut = close_bits(design), design.c_format.fraction_bits
        if rounds_last_in_ieee(design):
            least, cut = product_bits(design), product_bits(design) - 1
        if keeps_at_most(design, least - 1):
            return exact_twin(design)
        return keeping(design, cut)

    def question(self, design: Design, scope: Scope) -> RunQuestion:
        """Return that the difference is exact except for rho."""
        return _CloseDifference(design, scope)


def close_bits(design: Design) -> int:
    """Return fraction bits with which the sum of a product and c of about its magnitude is exact.

    |c| is from a half to twice the product, and the product is in [1, 4) times the power of two of its exponent. So the
    exponent of c is from one below to two above that of the product. In a group the product lies anywhere in the range
    of its elements.
    """
    a, b, c = design.a_format, design.b_format, design.c_format
    below, above = 1, 2
    if design.step.group_size is not None:
        below, above = below - a.e_min - b.e_min, above + a.e_max + b.e_max
    if design.scale_format is not None and design.scale_format.fraction_bits:
        above += 2  # two more significands in [1, 2)
    return max(c.fraction_bits + below, product_bits(design) + above)


class _TwoTerms(AgainstExact):
    """The first product and c."""

    def terms(self, algebra: Algebra[D, T], operands: OperandWords[D]) -> Truth[T]:
        """Return whether both are normal numbers."""
        return algebra.all_of([super().terms(algebra, operands), is_normal(algebra, self.formats[2], operands.c)])

    @property
    def rounds_as_jammed(self) -> bool:
        """Whether the terms are the first product and c: they are."""
        return True


class _CloseDifference(_TwoTerms):
    def __init__(self, design: Design, scope: Scope) -> None:
        # lemmas about a jammed sum compare it with one that keeps a few bits more
        least = jammed_bits(design) + 2 if keeps_trace(design) else 0
        super().__init__(design, scope, fraction_bits=max(close_bits(design), least))

    @property
    def rounds_as_jammed(self) -> bool:
        """Whether no sum of close numbers loses a bit: else whether they are close depends on what is kept of them."""
        return jammed_bits(self.design) >= close_bits(self.design)

    def assumption(self, algebra: Algebra[D, T], operands: OperandWords[D]) -> Truth[T]:
        """Return also whether the two have opposite signs and lie within a factor of two."""
        total = self.returned(self.twin, algebra, self.first(algebra, operands)).steps[0].sums[-1]
        # a term that loses bits is far below the other, and further when cut
        product, c = (algebra.magnitude(total.aligned[i]) for i in (0, -1))
        far = [algebra.less(algebra.shift_left(x, 1), y) for x, y in ((product, c), (c, product))]
        opposite = algebra.exclusive_or(total.terms[0].negative, total.terms[-1].negative)
        return algebra.all_of([super().assumption(algebra, operands), opposite, algebra.negation(algebra.any_of(far))])


class StickyBit(SimpleProperty):
    """The sum of two terms is rounded as their exact sum is."""

    name = "sticky-bit"
    feature = "a sticky bit: sums of two terms are correctly rounded"
    statement = (
        "d(a, b, c) = rho(a_0 b_0 + c) where all other elements are +0, for normal a_0, b_0, a_0 b_0 and c (d zero or "
        "normal where the design flushes results)"
    )
    witness = "two terms whose sum is rounded as if bits of the smaller one were not there"
    source = "Valpey et al. 2025, 4.2 and table 3; Fasi et al. 2021, Extra bits in the alignment of significands"
    specimen = "cdna2/v_mfma_f32_32x32x8f16"
    rests_on = (Guarantee.CONVERTED_BY_RHO,)

    def mutant(self, design: Design) -> Design:
        """Return a design that cuts a bit of products. If this one loses bits without a trace, return the exact one."""
        cut = min(product_bits(design), design.step.conversion.fraction_bits) - 1
        if (keeps_trace(design) or adds_exactly(design)) and not keeps_at_most(design, cut):
            return keeping(design, cut)
        return exact_twin(design)

    def question(self, design: Design, scope: Scope) -> RunQuestion:
        """Return that the sum of the first product and c is correctly rounded."""
        return _TwoTerms(design, scope)
