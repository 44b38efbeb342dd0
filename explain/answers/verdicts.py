"""The answers to one question about designs: what `compare`, `check` and `run` return."""

from __future__ import annotations

from typing import Annotated, Literal

from mmaproof.explain.answers.answer import ABSENT, Absent, Answer, Means
from mmaproof.explain.answers.parts import (
    SHOWN,
    Assumed,
    BundleOf,
    Decided,
    DesignName,
    DesignNames,
    DifferingWitness,
    Length,
    OpenPointsOfResult,
    OperandSet,
    Origin,
    RestsOn,
    Run,
    Value,
    When,
    Where,
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
