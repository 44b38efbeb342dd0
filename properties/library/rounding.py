"""How a sum is rounded: the mode of the conversion, and whether the exact sum is what it rounds.

Bits of the output that are never used (the accumulator-precision post; Xie et al. 2026, table 2: RZ-E8M13).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from mmaproof.designs.conversions import RHO, Rounding, conversions_to
from mmaproof.designs.design import Design
from mmaproof.designs.errors import DesignError
from mmaproof.designs.parameters import complete_settings
from mmaproof.designs.readings import Overflow
from mmaproof.designs.steps import Guarantee
from mmaproof.properties.library.against_exact import (
    AgainstExact,
    LastAddition,
    adds_last_in_ieee,
    ieee_bits,
    keeping,
    loses_nothing,
    rounds_last_in_ieee,
)
from mmaproof.properties.property import (
    INTEGER,
    Ask,
    Property,
    PropertyVerdict,
    SimpleProperty,
    first_reason,
    has_single_sum,
    kept_bits,
)
from mmaproof.properties.question import Run, RunQuestion, Scope
from mmaproof.properties.settings import exact_twin
from mmaproof.smt.algebra.protocol import Algebra, D, T, Truth
from mmaproof.smt.semantics import DotProduct, OperandWords, equal_results
from mmaproof.smt.semantics.convert import Rules, convert
from mmaproof.smt.semantics.datapath import datapath
from mmaproof.smt.semantics.fused_sum import FusedSum
from mmaproof.smt.semantics.patterns import unpack
from mmaproof.smt.solving.verdict import Status

MODES: dict[str, tuple[Rounding, Overflow]] = {
    "RNE": (Rounding.RNE, Overflow.INFINITY),
    "RNA": (Rounding.RNA, Overflow.INFINITY),
    "RTZ": (Rounding.RZ, Overflow.LARGEST_FINITE),
    "RTN": (Rounding.RTN, Overflow.INFINITY),
    "RTP": (Rounding.RTP, Overflow.INFINITY),
    "truncation": (Rounding.RZ, Overflow.INFINITY),
}
"""The candidates. Truncation and RTZ differ in what an overflow gives."""


class ConversionRounding(Property):
    """The rounding mode of the conversion of a sum that is exact.

    There is one question for each mode. No design gets the opposite verdict, so the mutant has another value instead.
    """

    name = "conversion-rounding"
    feature = "rounding mode of the conversion"
    statement = (
        "d(a, b, c) = the mode's rounding of a_0 b_0 + c != 0 to the precision of rho, where all other elements are "
        "+0 and no term loses a bit when aligned, for normal a_0, b_0 with a normal product and c zero or normal (d "
        "normal where the design flushes results)"
    )
    witness = "sums that are exact, and are converted otherwise than some of the modes would"
    source = "Valpey et al. 2025, property 2; Fasi et al. 2021, Rounding modes in tensor core computations"
    specimen = "volta/mma.m8n8k4.f16.f16.f16.f16"
    rests_on = (Guarantee.CONVERTED_BY_RHO,)

    def mutant(self, design: Design) -> Design:
        """Return a design with another rounding, which is its value. DesignError if rho has no other."""
        rho, in_ieee = design.step.conversion, rounds_last_in_ieee(design)
        now = Rounding.RNE if in_ieee else rho.rounding
        others = [name for name in conversions_to(rho.target) if RHO[name].rounding is not now]
        if not others:
            raise DesignError(f"no other conversion to {rho.target.name} is known")
        wanted = sorted(others, key=lambda name: RHO[name].rounding not in (Rounding.RNE, Rounding.RZ))[0]
        return design.change(rho=wanted, join="fused") if in_ieee else design.change(rho=wanted)

    def settle(self, design: Design, scope: Scope, ask: Ask) -> PropertyVerdict:
        """Ask for each mode whether d agrees with it. The value names the proved modes if no other mode is open."""
        answers, runs = {}, list[Run]()
        for mode in MODES:
            question = _Converted(design, scope, mode)
            answers[mode] = found = ask(question, mode)
            if found.status is Status.VACUOUS:
                return PropertyVerdict(Status.VACUOUS, answers=answers)
            if found.witness is not None:
                runs += question.witness_runs(found.witness)
        agreeing = [mode for mode, x in answers.items() if x.status is Status.PROVED]
        reason = first_reason(list(answers.values()))
        if reason is not None:
            return PropertyVerdict(Status.UNKNOWN, None, tuple(runs), reason, answers)
        status = Status.PROVED if agreeing else Status.REFUTED
        return PropertyVerdict(status, ", ".join(agreeing) or "none", tuple(runs), answers=answers)


class _Converted(AgainstExact):
    """d is the exact sum of the first product and c, converted in one mode.

    If the design converts a sum and no term has lost a bit, that sum is the design's own. If c joins in an IEEE 754
    addition, it is the sum of c and of what comes before, which is the product. Otherwise it is the exact twin's sum.
    """

    def __init__(self, design: Design, scope: Scope, mode: str) -> None:
        self.kept = ieee_bits(design) if adds_last_in_ieee(design) else _least_bits(design)
        super().__init__(design, scope, fraction_bits=self.kept)
        self.addition = LastAddition(self) if adds_last_in_ieee(design) else None
        rho = self.twin.step.conversion
        rounding, overflow = MODES[mode]
        self.rules = replace(Rules.of(self.twin.step), rho=replace(rho, rounding=rounding), overflow=overflow)

    def runs(self, algebra: Algebra[D, T], operands: OperandWords[D]) -> Sequence[tuple[Design, OperandWords[D]]]:
        """Return the design on the first product and c."""
        return super().runs(algebra, operands)[:1]

    def terms(self, algebra: Algebra[D, T], operands: OperandWords[D]) -> Truth[T]:
        """Return whether the product is normal, and c normal or zero."""
        c = unpack(algebra, self.formats[2], operands.c)
        odd = algebra.any_of([c.subnormal, c.infinite, c.nan])
        return algebra.all_of([super().terms(algebra, operands), algebra.negation(odd)])

    def assumption(self, algebra: Algebra[D, T], operands: OperandWords[D]) -> Truth[T]:
        """Return whether the terms are so, their sum is not zero, and it is exact when aligned."""
        first = self.first(algebra, operands)
        d = self.returned(self.design, algebra, first)
        total = self._total(algebra, first, d)
        meant = [super().assumption(algebra, operands), algebra.negation(algebra.is_value(total.total, 0))]
        meant.append(loses_nothing(algebra, (*d.steps[0].sums, total), self.kept))
        if self.addition is not None:
            meant.append(self.addition.is_product(algebra, d, self.returned(self.twin, algebra, first)))
        elif d.steps[0].path.drops_c:
            # a c that was dropped is not among the terms of the sum
            meant.append(loses_nothing(algebra, self.returned(self.twin, algebra, first).steps[0].sums, self.kept))
        return algebra.all_of(meant)

    def _total(self, algebra: Algebra[D, T], first: OperandWords[D], d: DotProduct[D, T]) -> FusedSum[D, T]:
        """Return the sum that is converted."""
        if self.addition is not None:
            return self.addition.total(algebra, d, first.c)
        with_sum = d if d.steps[0].sums else self.returned(self.twin, algebra, first)
        return with_sum.steps[0].sums[-1]

    def relation(
        self, algebra: Algebra[D, T], operands: OperandWords[D], results: Sequence[DotProduct[D, T]]
    ) -> Truth[T]:
        """Return whether d is what the mode gives."""
        total = self._total(algebra, self.first(algebra, operands), results[0])
        expected, _ = convert(algebra, self.rules, total.total, total.e_max, total.fraction_bits, algebra.truth(False))
        return equal_results(algebra, self.design.d_format, results[0].d, expected)


def _least_bits(design: Design) -> int:
    """Return the fraction bits that every cut of a term or of a sum of a step keeps."""
    (path,) = datapath(design.one_step(), design.step.L)
    cuts = [cut.fraction_bits for total in path.sums for cut in total.cuts]
    return min([kept_bits(design), *cuts, *([] if path.rounds_again is None else [path.rounds_again])])


class CorrectlyRounded(SimpleProperty):
    """d is the exact sum of all terms, rounded once."""

    name = "correctly-rounded"
    feature = "the exact sum is rounded"
    statement = (
        "d(a, b, c) = rho(c + sum_k a_k b_k), the sum exact, for finite operands (to nearest, whatever rho, where c "
        "joins in an IEEE 754 addition)"
    )
    witness = "finite operands whose d is not the conversion of their exact sum"
    source = "Valpey et al. 2025, 4.2 and table 3"
    specimen = "cdna1/v_mfma_f32_32x32x8f16@L=2"
    rests_on = (Guarantee.CONVERTED_BY_RHO,)

    def mutant(self, design: Design) -> Design:
        """Return the exact design. If this is the exact one, return one that cuts bits that a result shows."""
        if adds_exactly(design):
            return keeping(design, design.step.conversion.fraction_bits - 1)
        return exact_twin(design)

    def question(self, design: Design, scope: Scope) -> RunQuestion:
        """Return that d is the exact sum rounded once."""
        return RoundedOnce(design, scope)


class RoundedOnce(AgainstExact):
    """d is the exact sum of all terms, rounded once."""

    def first(self, algebra: Algebra[D, T], operands: OperandWords[D]) -> OperandWords[D]:
        """Return all operands."""
        return operands

    def terms(self, algebra: Algebra[D, T], operands: OperandWords[D]) -> Truth[T]:
        """Return whether all operands are finite."""
        return self.finite(algebra, operands)

    def assumption(self, algebra: Algebra[D, T], operands: OperandWords[D]) -> Truth[T]:
        """Return the same: flushed results are wrong ones here."""
        return self.terms(algebra, operands)

    @property
    def rounds_as_jammed(self) -> bool:
        """Whether all terms are one product and c."""
        return self.k == 1


def adds_exactly(design: Design) -> bool:
    """Return whether the parameters say that the exact sum is rounded: nothing is cut, or it is a chain of FMAs."""
    if design.step.L == 1 and design.guarantees(Guarantee.JAMMED_TERMS) and has_single_sum(design):
        return kept_bits(design) >= ieee_bits(design)
    exact = exact_twin(design)
    ours, theirs = (complete_settings(x.chain, x.step) for x in (design, exact))
    same = all(ours[n] == theirs[n] for n in ours if n != "fraction_bits")
    return same and kept_bits(design) >= kept_bits(exact)


LOW_BITS = 10
"""23 - 13: the fraction bits of fp32 below the 13 of E8M13."""


class _LowBitsZero(RunQuestion):
    """The low bits of d are zero, or d is NaN."""

    def relation(
        self, algebra: Algebra[D, T], operands: OperandWords[D], results: Sequence[DotProduct[D, T]]
    ) -> Truth[T]:
        """Return whether they are."""
        d = results[0].d
        nan = unpack(algebra, self.design.d_format, d).nan
        return algebra.any_of([algebra.is_value(algebra.extract(d, LOW_BITS - 1, 0), 0), nan])


class LowBitsZero(SimpleProperty):
    """The low ten bits of an fp32 result are zero. The question is about one step, or about a given length."""

    name = "low-bits-zero"
    feature = "the low ten bits of d are zero"
    statement = "the ten lowest bits of d are zero, for all operands whose d is not NaN"
    witness = "operands whose d uses one of its ten lowest bits"
    source = "blog on accumulator precision, Triton probe; Xie et al. 2026, section 6.2.3"
    specimen = "hopper/wgmma.m64n8k32.f32.e4m3.e4m3"

    def why_not(self, design: Design) -> str | None:
        """Return why not: the output is not an fp32 number."""
        if design.d_format.is_integer:
            return INTEGER
        return None if design.d_format.name == "fp32" else f"its output is {design.d_format.name}, not fp32"

    def mutant(self, design: Design) -> Design:
        """Return a design that converts to 13 fraction bits. If this one does, return one that converts to all 23."""
        if design.adds_c_last:
            raise DesignError(f"{design.name}: its last addition rounds to all bits of fp32, whatever rho does before")
        return design.change(rho="rz-fp32" if design.step.rho == "rz-e8m13" else "rz-e8m13")

    def question(self, design: Design, scope: Scope) -> RunQuestion:
        """Return the question about d."""
        return _LowBitsZero(design, scope)
