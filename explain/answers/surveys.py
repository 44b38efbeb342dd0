"""The answers about many designs, or one unknown unit: `matrix`, `suite`, `fingerprint`, `identify` and the like."""

from __future__ import annotations

from typing import Annotated, Literal

from mmaproof.explain.answers.answer import (
    ABSENT,
    Absent,
    Answer,
    Assumed,
    By,
    CertifiedBy,
    Decided,
    DesignName,
    DesignNames,
    DifferingWitness,
    Length,
    Means,
    OperandSet,
    Origin,
    Reason,
    Run,
    Seconds,
    Value,
    When,
    Witness,
)

Classes = Annotated[list[list[str]], Means("designs that are proved to return the same bits, class by class")]
Formats = Annotated[str, Means("formats that the designs share")]
Feature = Annotated[str, Means("the property in a few words")]
Texts = dict[str, list[str]]


class Group(Answer):
    """Designs that can be compared, and which of them are equal."""

    formats: Formats
    classes: Classes
    transitive: Annotated[bool, Means("whether equal pairs add up; each pair is compared at its own length")]


class Pair(Decided):
    """The verdict on two designs."""

    first: Annotated[str, Means("name of the first design")]
    second: Annotated[str, Means("name of the second design")]
    question: Annotated[
        int | None,
        Means("number of the question; pairs with the same number share one; null if parameters are equal"),
    ]
    verdict: Annotated[Literal["equivalent", "different", "unknown", "vacuous"], Means("the answer")]
    when: When
    k: Length
    witness: Annotated[DifferingWitness | Absent, Means("operands for which they differ")] = ABSENT


class MatrixAnswer(Answer):
    """Which of many designs are the same."""

    designs: DesignNames
    classes: Annotated[list[Group], Means("one for each kind of designs that can be compared")]
    pairs: Annotated[list[Pair], Means("one for each comparable pair")]
    not_comparable: Annotated[
        dict[str, int], Means("numbers of pairs that cannot be compared, by the first difference")
    ]
    questions: Annotated[int, Means("questions that were asked")]
    seconds: Seconds
    assumed: Assumed


class InCommon(Answer):
    """A unit of either architecture with the same formats."""

    interface: Annotated[str, Means("formats of d, a, b and c, as --interface reads them")]
    designs: Annotated[list[str], Means("the unit of each architecture")]
    k: Annotated[list[int], Means("K of each unit")]
    same: Annotated[bool, Means("whether both are one computation")]
    differences: Annotated[Texts, Means("the two values of each parameter that differs")]


class PlacesCompared(Answer):
    """What the units of two architectures have in common."""

    architectures: Annotated[list[str], Means("the two architectures")]
    pairs: Annotated[list[InCommon], Means("one for each combination of formats that both have")]


class SuiteVector(Witness):
    """A vector of a suite."""

    k: Length
    origin: Origin


class Left(Answer):
    """Two designs that no vector tells apart, though they are not proved equal."""

    first: Annotated[str, Means("name of the first design")]
    second: Annotated[str, Means("name of the second design")]
    k: Length
    verdict: Annotated[str, Means("the answer")]
    reason: Reason


class Kind(Answer):
    """The suite of designs that can be compared."""

    formats: Formats
    classes: Classes
    vectors: Annotated[list[SuiteVector], Means("the vectors that were chosen")]
    fewest: Annotated[str, Means("whether no smaller set of vectors separates the same pairs")]
    reason: Annotated[str, Means("why")]
    left: Annotated[list[Left], Means("pairs that are neither separated nor proved equal")]


class SuiteAnswer(Answer):
    """Vectors that tell designs apart."""

    designs: DesignNames
    kinds: Annotated[list[Kind], Means("one for each group of comparable designs")]
    vectors: Annotated[int, Means("how many vectors there are")]
    left: Annotated[int, Means("pairs that are neither separated nor proved equal")]
    seconds: Seconds
    assumed: Assumed


class FeatureOf(Answer):
    """What a property says of a design."""

    verdict: Annotated[Literal["holds", "violated", "unknown", "vacuous", "not asked"], Means("the answer")]
    value: Value
    reason: Reason
    seconds: Seconds
    runs: Annotated[list[Run], Means("dot products that show it")]


class FeatureRow(Answer):
    """What a property says of each design."""

    property: Annotated[str, Means("name of the property")]
    feature: Feature
    results: Annotated[dict[str, FeatureOf], Means("the answer by name of the design")]


class FingerprintAnswer(Answer):
    """What the properties say of designs."""

    designs: DesignNames
    features: Annotated[list[FeatureRow], Means("one for each property")]
    assumed: Assumed


class DisputeAnswer(Answer):
    """Two readings of a point on which publications disagree."""

    design: DesignName
    designs: DesignNames
    point: Annotated[int, Means("number of the open point")]
    title: Annotated[str, Means("the open point in words")]
    readings: Annotated[dict[str, str], Means("what each source says")]
    pair: Annotated[list[str], Means("the two readings that are compared")]
    status: Annotated[Literal["separated", "unobservable", "unknown"], Means("what is known")]
    contexts: Annotated[list[str], Means("settings of the other points under which it was asked")]
    reason: Reason
    context: Annotated[str | Absent, Means("the setting under which they were separated")] = ABSENT
    witness: Annotated[Witness | Absent, Means("operands for which the readings differ")] = ABSENT
    predictions: Annotated[dict[str, str] | Absent, Means("what each source as a whole predicts")] = ABSENT


class DisputesAnswer(Answer):
    """The points on which publications disagree."""

    disputes: Annotated[list[DisputeAnswer], Means("one for each pair of readings of a point, for each arithmetic")]
    assumed: Assumed


class Returned(OperandSet):
    """Operands, and what the unit returned for them."""

    d: Annotated[str, Means("pattern of d")]


class Disagreements(Answer):
    """How many rows disagree."""

    rows: Annotated[int, Means("number of rows")]
    wrong: Annotated[int, Means("rows that disagree")]


class Nearest(Answer):
    """The nearest design with changed parameters."""

    design: DesignName
    changes: Annotated[dict[str, str], Means("parameters that are to be changed, with their values")]
    disagreements: Annotated[dict[str, Disagreements], Means("rows that disagree, by class of operands")]


class EqualityProof(Answer):
    """Whether RTL is proved to be the design that was found."""

    verdict: Annotated[Literal["equivalent", "equivalent-when", "different", "unknown", "vacuous"], Means("the answer")]
    when: When
    seconds: Seconds
    origin: Origin
    reason: Reason
    witness: Annotated[Witness | Absent, Means("operands for which they differ")] = ABSENT


class Identified(Answer):
    """Which unit it is."""

    target: Annotated[str, Means("what ran the operands")]
    interface: Annotated[str, Means("formats of the target")]
    k: Length
    identified: Annotated[bool, Means("whether a design agrees with everything, the final validation too")]
    late: Annotated[bool, Means("whether time ran out")]
    matches: Annotated[list[str], Means("designs of the catalogue that are proved to be what was found")]
    fitting: Annotated[list[str], Means("designs of the catalogue that agree with every row, and are not proved")]
    parameters: Annotated[dict[str, str], Means("values of the parameters, as NAME@parameter=value reads them")]
    unobservable: Annotated[Texts, Means("other values that no operands tell apart, by parameter")]
    undecided: Annotated[Texts, Means("other values that are left, by parameter")]
    decided_by: Annotated[dict[str, Returned], Means("a row that excludes other values, by parameter")]
    other_interfaces: Annotated[Texts, Means("designs of other formats that agree with every row, by formats")]
    nan_codes: Annotated[list[str], Means("patterns of NaN that were seen")]
    contradiction: Annotated[Returned | None, Means("a row that no setting explains; null if there is none")]
    nearest: Annotated[dict[str, str] | None, Means("the nearest setting of parameters if none agrees")]
    neighbour: Annotated[Nearest | None, Means("the nearest design of the catalogue if none agrees")]
    disagreements: Annotated[dict[str, Disagreements], Means("rows that disagree, by class of operands")]
    batches: Annotated[int, Means("batches of rows that were asked")]
    operands: Annotated[int, Means("rows that were asked")]
    validated: Annotated[int, Means("rows on which the answer was confirmed")]
    space: Annotated[int, Means("settings of parameters that were considered")]
    tried: Annotated[int, Means("settings that were tried")]
    seconds: Seconds
    unanswered: Annotated[int, Means("rows without an answer")]
    unproved: Annotated[int, Means("designs that fit, and time did not let it find out whether they are the same")]
    problem: Annotated[str | None, Means("what went wrong; null if nothing did")]
    proof: Annotated[EqualityProof | None, Means("of RTL: whether it is proved to be what was found")]
    assumed: Assumed
    where: Annotated[
        list[str] | Absent, Means("what operands that the target lacks are: all else is said where they are so")
    ] = ABSENT


class Bin(Answer):
    """An event that vectors should reach."""

    event: Annotated[str, Means("the event")]
    value: Annotated[str, Means("which of its values")]
    status: Annotated[str, Means("hit, reachable, unreachable (proved) or unknown")]
    hits: Annotated[int, Means("vectors that hit it")]
    baseline_hits: Annotated[int, Means("random vectors that hit it")]
    solver: By
    certified_by: CertifiedBy
    reason: Reason


class Covered(Answer):
    """Which events of a datapath vectors reach."""

    design: DesignName
    complete: Annotated[bool, Means("whether each bin is hit or proved unreachable")]
    vectors: Annotated[int, Means("how many vectors were chosen")]
    wanted_hits: Annotated[int, Means("hits that were asked for")]
    baseline: Annotated[str, Means("random vectors that were tried for comparison")]
    seed: Annotated[int, Means("seed of the search")]
    seconds: Seconds
    hit: Annotated[int, Means("bins that are hit")]
    not_hit: Annotated[int, Means("bins that are not hit")]
    unreachable: Annotated[int, Means("bins that are proved unreachable")]
    unknown: Annotated[int, Means("how many are unknown")]
    bins: Annotated[list[Bin], Means("events that the vectors should reach")]
    unit: Annotated[str | Absent, Means("the unit in RTL that ran the vectors")] = ABSENT
    wrong: Annotated[int | Absent, Means("vectors for which the unit returns something else")] = ABSENT
    assumed: Assumed
