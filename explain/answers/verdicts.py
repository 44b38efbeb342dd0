"""The answers to one question about designs or RTL: what `compare`, `check`, `run`, `rtl prove` and `rtl run` give.

The answers to one question about matrix products: what `gemm compare`, `gemm check` and `gemm run` return.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from mmaproof.explain.answers.answer import (
    ABSENT,
    SHOWN,
    Absent,
    Answer,
    Assumed,
    BundleOf,
    Decided,
    DesignName,
    DesignNames,
    DifferingWitness,
    FormatName,
    Lemmas,
    Length,
    Means,
    OpenPointsOfResult,
    OperandSet,
    Origin,
    Reason,
    RestsOn,
    Run,
    Seconds,
    Value,
    When,
    Where,
    Witness,
)


class RestingWitness(DifferingWitness):
    """Operands for which two designs differ, and the open points on which that rests."""

    open_points: Annotated[
        dict[str, RestsOn], Means("by name of the design: the open points on which its result rests")
    ]
    holds_under_every_reading: Annotated[
        bool | None,
        Means(
            "whether no readings of open points make the results equal; null if the question is about readings of one "
            "unit"
        ),
    ]


class Compared(Decided):
    """Whether two designs return equal results for all operands."""

    verdict: Annotated[Literal["equivalent", "equivalent-when", "different", "unknown", "vacuous"], Means("the answer")]
    when: When
    designs: DesignNames
    k: Length
    where: Where
    witness: Annotated[RestingWitness | Absent, SHOWN] = ABSENT
    assumed: Assumed
    bundle: BundleOf = ABSENT


class Asked(Answer):
    """A question that was asked on the way to an answer."""

    what: Annotated[str, Means("what it is, in words")]
    verdict: Annotated[str, Means("the answer")]
    origin: Origin


class Shown(Answer):
    """The runs that show what a property says."""

    runs: Annotated[list[Run], Means("dot products that show it")]
    value: Value


class Checked(Decided):
    """Whether a design has a property."""

    verdict: Annotated[Literal["holds", "holds-when", "violated", "unknown", "vacuous"], Means("the answer")]
    when: When
    property: Annotated[str, Means("name of the property")]
    design: DesignName
    k: Length
    where: Where
    value: Value
    witness: Annotated[Shown | None, SHOWN]
    questions: Annotated[list[Asked], Means("the questions that were asked")]
    assumed: Assumed
    bundle: BundleOf = ABSENT


class RunAnswer(OperandSet):
    """What a design returns for operands."""

    design: DesignName
    k: Length
    d: Annotated[str, Means("pattern of d")]
    number: Annotated[
        str, Means("d as a decimal: exact, or with as many digits as tell all numbers of its format apart")
    ]
    open_points: OpenPointsOfResult
    assumed: Assumed


class Simulated(Answer):
    """What the sources of a unit return for a witness."""

    name: Annotated[str | None, Means("name of the simulator; null if none ran")]
    d: Annotated[str | None, Means("d that the sources return, a pattern in hexadecimal; null if they did not run")]
    undefined: Annotated[str, Means("the bits of d that are undefined there, a pattern in hexadecimal")]
    reason: Annotated[str | None, Means("why the sources did not run; null if they did")]


class Net(Answer):
    """A net of a netlist whose value is not what the model says."""

    net: Annotated[str, Means("its name")]
    place: Annotated[str | None, Means("file and line of the cell that drives it; null if they are not known")]
    cone: Annotated[
        list[str], Means("files and lines of the cells between it and nets that are right, the nearest first")
    ]
    signal: Annotated[str, Means("the signal of the model to which it is related")]
    relation: Annotated[str | None, Means("how, on other operands; null if it is the signal itself")]
    share: Annotated[float, Means("the share of samples on which the relation holds")]
    width: Annotated[int, Means("its bits")]
    model: Annotated[str, Means("what the model says that it is, a pattern in hexadecimal")]
    rtl: Annotated[str, Means("what it is, a pattern in hexadecimal")]


class NetlistWitness(DifferingWitness):
    """Operands for which a netlist and a design differ."""

    simulator: Annotated[Simulated | None, Means("what the sources return in a simulator; null if they were not run")]
    nets: Annotated[
        list[Net], Means("nets whose values are not what the model says, the likeliest fault first; the last is d")
    ]


class RegisterClaim(Decided):
    """What a register that accumulates does in a clock cycle in which it takes no step, or starts anew."""

    verdict: Annotated[Literal["equal", "different", "unknown", "vacuous"], Means("the answer")]
    claim: Annotated[str, Means("what is claimed, in words")]
    witness: Annotated[DifferingWitness | Absent, SHOWN] = ABSENT
    simulator: Annotated[Simulated | Absent, Means("what the sources return for the witness in a simulator")] = ABSENT


class NetlistProved(Decided):
    """Whether a unit in RTL returns what a design returns, for all operands."""

    verdict: Annotated[Literal["equal", "equal-when", "different", "unknown", "vacuous"], Means("the answer")]
    when: When
    unit: Annotated[str, Means("the unit")]
    design: DesignName
    k: Length
    where: Where
    cells: Annotated[int, Means("cells of the netlist")]
    registers: Annotated[int, Means("register bits")]
    latency: Annotated[int | None, Means("registers from an operand to d; null if there are several numbers")]
    unknown_bits: Annotated[dict[str, int], Means("how many bits of the netlist may have any value, by net")]
    assumptions: Annotated[list[str], Means("what elaboration assumed")]
    witness: Annotated[NetlistWitness | Absent, SHOWN] = ABSENT
    assumed: Assumed
    covers: Annotated[str | Absent, Means("what a pipeline may be given in each clock cycle")] = ABSENT
    step: Annotated[
        Literal["equal", "different", "unknown", "vacuous"] | Absent,
        Means("of a register that is c and d: the answer about a cycle in which it takes a step"),
    ] = ABSENT
    register_claims: Annotated[
        list[RegisterClaim] | Absent, Means("of such a register: what its enable, clear and load do")
    ] = ABSENT
    induction: Annotated[
        str | Absent, Means("of such a register: what follows for several clock cycles, or why nothing does")
    ] = ABSENT
    bundle: BundleOf = ABSENT


class NetlistRun(OperandSet):
    """What the netlist of a unit returns for operands."""

    unit: Annotated[str, Means("the unit")]
    k: Length
    d: Annotated[str, Means("pattern of d")]
    model: Annotated[str | Absent, Means("pattern of d that the model returns, if a design is named")] = ABSENT
    simulated: Annotated[str | Absent, Means("pattern of d that the sources return in a simulator")] = ABSENT


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
