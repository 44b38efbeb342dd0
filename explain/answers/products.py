"""The answers to one question about matrix products: what `gemm compare`, `gemm check` and `gemm run` return."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from mmaproof.explain.answers.answer import ABSENT, Absent, Answer, Means
from mmaproof.explain.answers.parts import (
    SHOWN,
    Assumed,
    BundleOf,
    Decided,
    DesignName,
    FormatName,
    Lemmas,
    Length,
    OpenPointsOfResult,
    OperandSet,
    Reason,
    Seconds,
    Where,
    Witness,
)


class ErrorOf(Answer):
    """The error of a result."""

    error: Annotated[str, Means("absolute error, an exact rational number; or infinite")]
    ulps: Annotated[float | None, Means("in units of the last place of the exact result; null if it is infinite")]


class ErrorsWitness(Witness):
    """Operands for which one algorithm has the larger error."""

    exact: Annotated[str, Means("exact result, a rational number")]
    errors: Annotated[dict[str, ErrorOf], Means("error of each algorithm")]


class ErrorsCompared(Decided):
    """Whether the error of one algorithm or plan is ever larger than that of another."""

    verdict: Annotated[Literal["never larger", "larger", "unknown", "vacuous"], Means("the answer")]
    algorithms: Annotated[list[str], Means("the two algorithms or plans")]
    units: Annotated[list[str], Means("the units that they call")]
    k: Length
    where: Where
    by: Annotated[str, Means("factor that was asked for")]
    witness: Annotated[ErrorsWitness | Absent, SHOWN] = ABSENT
    assumed: Assumed


class PlansPair(Decided):
    """Whether two plans return the same bits."""

    verdict: Annotated[Literal["equivalent", "different", "unknown", "vacuous"], Means("the answer")]
    plans: Annotated[list[str], Means("the two plans as they are spelled")]
    k: Length
    where: Where
    witness: Annotated[Witness | Absent, SHOWN] = ABSENT


class PlansCompared(PlansPair):
    """Whether two plans return the same bits, and its bundle."""

    assumed: Assumed
    bundle: BundleOf = ABSENT


class Number(Answer):
    """A number of a witness."""

    name: Annotated[str, Means("name")]
    format: FormatName
    pattern: Annotated[str, Means("pattern in hexadecimal")]


class Numbers(Answer):
    """Numbers that show something of an algorithm."""

    shows: Annotated[str, Means("what they show")]
    numbers: Annotated[list[Number], Means("the numbers")]


HoldsVerdict = Annotated[Literal["holds", "violated", "unknown", "vacuous"], Means("the answer")]
Conclusion = Annotated[str, Means("what the lemmas give together")]
Values = Annotated[dict[str, Any], Means("what was found, by name: numbers, words or lists of them")]
Witnesses = Annotated[list[Numbers], Means("numbers that show it")]


class Questions(Answer):
    """The questions that `gemm check` answers."""

    questions: Annotated[dict[str, str], Means("each question, and what it asks")]


class Found(Answer):
    """What was found out about an algorithm or a unit."""

    verdict: HoldsVerdict
    unit: DesignName
    conclusion: Conclusion
    values: Values
    witnesses: Witnesses
    reason: Reason
    lemmas: Lemmas


class GemmChecked(Found):
    """What is exact, what overflows or what is lost in an algorithm on a unit."""

    question: Annotated[str, Means("name of the question")]
    algorithm: Annotated[str, Means("the algorithm or plan")]
    where: Where
    seconds: Seconds
    assumed: Assumed


class PlansChecked(Answer):
    """What the bits of plans depend on."""

    verdict: HoldsVerdict
    question: Annotated[str, Means("name of the question")]
    plans: Annotated[list[str], Means("the plans as they are spelled")]
    k: Length
    seconds: Seconds
    conclusion: Conclusion
    reason: Reason
    comparisons: Annotated[list[PlansPair], Means("one for each two plans that were compared")]
    assumed: Assumed


class SlicesChecked(Answer):
    """How long the exact sums of slices are on units."""

    question: Annotated[Literal["slices"], Means("name of the question")]
    units: Annotated[list[Found], Means("one for each unit")]
    assumed: Assumed


class _Element(OperandSet):
    """One element of a matrix product."""

    k: Length
    d: Annotated[str, Means("pattern of d")]
    exact: Annotated[str | None, Means("exact result, a rational number; null if there is none")]
    error: Annotated[str | None, Means("absolute error, an exact rational number; or infinite; null if there is none")]
    open_points: OpenPointsOfResult
    assumed: Assumed


class AlgorithmRun(_Element):
    """One element as an algorithm computes it."""

    algorithm: Annotated[str, Means("the algorithm")]
    unit: DesignName
    ulps: Annotated[float | None, Means("error in units of the last place of the exact result; null if infinite")]


class PlanRun(_Element):
    """One element as a plan computes it."""

    plan: Annotated[str, Means("the plan as it is spelled")]
    factors: Annotated[list[str] | Absent, Means("patterns of the factors that rescale sums, in order")] = ABSENT
