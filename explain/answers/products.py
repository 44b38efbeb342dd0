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


class BatchDifferenceFound(Answer):
    """An element whose bits depend on the batch."""

    m: Annotated[int, Means("rows of the batch")]
    how: Annotated[str, Means("what was different")]
    row: Annotated[int, Means("row of d")]
    column: Annotated[int, Means("column of d")]
    a: Annotated[list[str], Means("the row of a, as patterns")]
    b: Annotated[list[str], Means("the column of b, as patterns")]
    alone: Annotated[str, Means("its pattern alone, or in the run before")]
    other: Annotated[str, Means("its pattern in this run")]


class BatchesChecked(Answer):
    """What the bits of a row of a kernel depend on, as far as runs show."""

    question: Annotated[Literal["batch-invariance"], Means("name of the question")]
    name: Annotated[str, Means("the kernel as it is spelled")]
    formats: Annotated[str, Means("formats of d, a and b")]
    k: Length
    n: Annotated[int, Means("columns")]
    most: Annotated[int, Means("rows of the largest batch")]
    runs: Annotated[int, Means("products that were run")]
    invariant: Annotated[bool, Means("whether no difference was found")]
    deterministic: Annotated[bool, Means("whether each run again gave the same bits")]
    changes: Annotated[list[int], Means("numbers of rows at which the bits of a row become others")]
    witness: Annotated[BatchDifferenceFound | None, Means("an element that differs; null if none was found")]


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
