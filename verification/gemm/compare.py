"""The comparison of two algorithms: operands with a larger error of the first, a proof that none exist, or unknown."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from mmaproof.algorithms.algorithm import OPERANDS, Algorithm, Program
from mmaproof.algorithms.catalogue import find_algorithm
from mmaproof.algorithms.evaluate import check_operands
from mmaproof.algorithms.numbers import Number, Span
from mmaproof.algorithms.plans.evaluate import check_operands as check_operands_of_plan
from mmaproof.algorithms.plans.program import PlanProgram
from mmaproof.designs.catalogue import find_design
from mmaproof.designs.design import Design
from mmaproof.designs.element import Operands
from mmaproof.designs.formats import Format
from mmaproof.explain.values import exact
from mmaproof.properties.gemm.larger_error import LargerError, errors_of
from mmaproof.properties.gemm.plan_equivalence import shaped_for
from mmaproof.properties.preconditions import Conditions, preconditions_of
from mmaproof.properties.property import QuestionVerdict
from mmaproof.smt.algebra.integers import IntegerAlgebra
from mmaproof.smt.solving.backends import DEFAULT_SOLVER
from mmaproof.smt.solving.limits import Limits
from mmaproof.smt.solving.solving import Solving
from mmaproof.smt.solving.verdict import Status
from mmaproof.verification.answer import answer
from mmaproof.verification.compare import DEFAULT_BUDGET, DEFAULT_LIMITS
from mmaproof.verification.means import Means
from mmaproof.verification.search import Budget

_INTEGERS = IntegerAlgebra()

WORDS = {
    Status.PROVED: "never larger",
    Status.REFUTED: "larger",
    Status.UNKNOWN: "unknown",
    Status.VACUOUS: "vacuous",
}
SIMPLIFIED = 1
"""The number of witnesses that are simplified. Every attempt runs both algorithms and the exact sum."""

SHAPED_FOR = "cpu/vfmadd231ps"
"""The design of the random operands: a chain of fp32 operations, which the algorithms imitate."""


@dataclass(frozen=True, slots=True)
class Returned:
    """The pattern ``d`` that an algorithm returned, the exact result, and the error d - exact; None if not finite."""

    algorithm: Program
    unit: Design
    d: int
    exact: Fraction
    error: Fraction | None

    @property
    def ulps(self) -> Fraction | None:
        """The error in units in the last place of the exact result, in the format of d."""
        return None if self.error is None else self.error / ulp(self.exact, self.algorithm.interface[3])

    @property
    def error_text(self) -> str:
        """The error for a person."""
        return error_text(self.error, self.ulps)

    def __repr__(self) -> str:
        return f"<{self.algorithm.name}: d = {self.algorithm.interface[3].hex(self.d)}, error {self.error_text}>"


@dataclass(frozen=True)
class ErrorComparison:
    """The verdict. ``answer.witness`` are operands for which the first algorithm has the larger error."""

    question: LargerError
    answer: QuestionVerdict

    def __repr__(self) -> str:
        runs = " and ".join(f"{program.name} on {unit.name}" for program, unit in self.question.runs)
        return f"<{self.verdict}: errors of {runs}, k = {self.question.k}>"

    @property
    def verdict(self) -> str:
        """The verdict as the command line prints it."""
        return WORDS[self.answer.status]

    @property
    def outcomes(self) -> Sequence[Returned]:
        """The results of both algorithms for the witness, in their order; none without a witness."""
        witness = self.answer.witness
        return () if witness is None else outcomes(self.question.runs, witness)


def compare_errors(
    first: Program | str,
    second: Program | str,
    unit: Design | str,
    *,
    solver: str | Solving = DEFAULT_SOLVER,
    limits: Limits | float = DEFAULT_LIMITS,
    k: int | None = None,
    where: Conditions = (),
    by: Fraction = Fraction(1),
    second_unit: Design | str | None = None,
    budget: Budget | None = DEFAULT_BUDGET,
    seed: int = 0,
) -> ErrorComparison:
    """Find out whether ``first`` ever has a larger error than ``second``, or one that is ``by`` times as large.

    Algorithms and units may be given by name, ``limits`` as seconds, and conditions as ``--where`` spells them. Both
    run on ``unit``, unless the second has a unit of its own. The search comes first. ``budget`` None switches it off.
    Raises DesignError if an algorithm does not run on its unit or ``k`` does not fit, and what ``answer`` raises.
    """
    first, second = (find_algorithm(x) if isinstance(x, str) else x for x in (first, second))
    unit, second_unit = find_design(unit), None if second_unit is None else find_design(second_unit)
    question = LargerError(first, second, unit, k=k, where=preconditions_of(where), by=by, second_unit=second_unit)
    means = Means(Solving.of(solver), Limits.of(limits), budget, seed, SIMPLIFIED)
    shape = shaped_for(first.plan) if isinstance(first, PlanProgram) else find_design(SHAPED_FOR)
    return ErrorComparison(question, answer(question, shape, means))


def outcomes(runs: Sequence[tuple[Program, Design]], operands: Operands) -> Sequence[Returned]:
    """Return the results of algorithms, each with its unit, for finite fp32 operands, computed on integers.

    Raises DesignError if one of them does not run on its unit, and OperandError for patterns that are not fp32.
    """
    for program, unit in runs:
        if isinstance(program, Algorithm):
            check_operands(program, unit, operands)
        elif isinstance(program, PlanProgram):
            check_operands_of_plan(program.plan, operands)
    formats = runs[0][0].interface[:3]
    numbers = [
        [Number(f, _INTEGERS.unsigned(x, f.bits), Span.of_format(f)) for x in column]
        for f, column in zip(formats, (operands.a, operands.b, (operands.c,)), strict=True)
    ]
    found = errors_of(runs, _INTEGERS, numbers[0], numbers[1], numbers[2][0])
    unit_of_all = Fraction(2) ** found.least
    exact = found.exact.data * unit_of_all
    return [
        Returned(algorithm, unit, d.data, exact, None if infinite.data else error.data * unit_of_all)
        for (algorithm, unit), d, error, infinite in zip(runs, found.results, found.errors, found.infinite, strict=True)
    ]


def ulp(x: Fraction, fmt: Format = OPERANDS) -> Fraction:
    """Return the distance of numbers of a format at the magnitude of ``x``, at least that of subnormals."""
    exponent = fmt.e_min
    magnitude = abs(x)
    if magnitude >= Fraction(2) ** fmt.e_min:
        exponent = magnitude.numerator.bit_length() - magnitude.denominator.bit_length()
        if Fraction(2) ** exponent > magnitude:
            exponent -= 1
    return Fraction(2) ** (exponent - fmt.fraction_bits)


def error_text(error: Fraction | None, ulps: Fraction | None) -> str:
    """Return an error for a person: exact, and in units in the last place of the exact result."""
    if error is None or ulps is None:
        return "infinite"
    return f"{exact(error)} = {float(ulps):+.4g} ulp" if error else "0"
