"""The answers that list, count, show or write something."""

from __future__ import annotations

from typing import Annotated, Any, Literal, NotRequired

from typing_extensions import TypedDict

from mmaproof.explain.answers.answer import (
    ABSENT,
    Absent,
    Answer,
    Assumed,
    Block,
    BundleOf,
    By,
    DesignName,
    DesignNames,
    File,
    FormatName,
    Length,
    Means,
    OperandSet,
    Reading,
    Reason,
    RestsOn,
    ScaleFormat,
    Seconds,
    Source,
    Where,
)

Rows = Annotated[int, Means("number of rows")]
Named = Annotated[str, Means("name")]
Problem = Annotated[str | None, Means("what went wrong; null if nothing did")]
Target = Annotated[str, Means("what ran the operands")]
Unanswered = Annotated[int, Means("rows without an answer")]
LevelName = Annotated[Literal["recorded", "vendor", "published", "assumed"], Means("how firm it is")]
Seed = Annotated[int, Means("seed of random operands")]
Vendor = Annotated[str, Means("instruction, as the vendor spells it")]
SomeDesign = Annotated[str | None, Means("full name of the design; null if none is known")]


class Stated(Answer):
    """What a value rests on."""

    level: LevelName
    source: Source


class DesignAnswer(Answer):
    """A design: formats, shape, parameters and what they rest on."""

    name: DesignName
    architecture: Annotated[str, Means("architecture")]
    instruction: Vendor
    family: Annotated[str, Means("family of arithmetic")]
    a_format: FormatName
    b_format: FormatName
    c_format: FormatName
    d_format: FormatName
    scale_format: ScaleFormat
    block: Block
    m: Annotated[int, Means("rows of d")]
    n: Annotated[int, Means("columns of d")]
    k: Length
    k_multiple: Annotated[
        int | None,
        Means("elements in multiples of which one instruction is configured to a smaller K; null where +0 fills up"),
    ]
    parameters: Annotated[dict[str, int | str], Means("values of the parameters, as NAME@parameter=value reads them")]
    source: Source
    assumed: Annotated[bool, Means("whether its row of the catalogue is assumed as a whole")]
    evidence: Annotated[dict[str, Stated], Means("what each value rests on")]


class Designs(Answer):
    """Designs of the catalogue."""

    designs: Annotated[list[DesignAnswer], Means("the designs")]


class SolverState(Answer):
    """Whether a solver works here."""

    version: Annotated[str | None, Means("its version; null if it is missing")]
    missing: Annotated[str | None, Means("what is missing, and what to do; null if nothing is")]
    fault: Annotated[str | None, Means("what does not work; null if all does")]


class DoctorAnswer(Answer):
    """What is installed, and what to do about the rest."""

    version: Annotated[str, Means("version of mmaproof")]
    python: Annotated[str, Means("version of Python")]
    platform: Annotated[str, Means("the machine")]
    solvers: Annotated[dict[str, SolverState], Means("the solvers")]
    packages: Annotated[dict[str, str | None], Means("versions of packages; null for one that is missing")]
    extras: Annotated[dict[str, dict[str, str | None]], Means("versions of optional packages by extra")]
    backends: Annotated[dict[str, str], Means("what computes many rows")]
    targets: Annotated[dict[str, str], Means("what can run operands here")]
    tools: Annotated[dict[str, str | None], Means("where programs are; null for one that is missing")]
    needed: Annotated[list[str], Means("what to do before mmaproof can be relied on")]
    optional: Annotated[list[str], Means("what to install for what is missing")]


class OpenValue(Answer):
    """A value that no recording excludes."""

    value: Annotated[str, Means("the value")]
    under: Annotated[str | None, Means("settings of other parameters; null if there are none")]
    vectors: Annotated[list[int], Means("numbers of the vectors that would exclude it, from 1")]
    same: Annotated[bool, Means("whether the value is proved to compute the same")]
    reason: Reason


class OpenReading(OpenValue):
    """A reading of open points that no recording excludes."""

    points: Annotated[list[int], Means("numbers of the open points")]
    settings: Annotated[dict[str, str], Means("the parameters that the reading sets, as texts")]


class OpenParameter(Stated):
    """A parameter that recordings do not decide."""

    value: Annotated[str, Means("what the catalogue has")]
    others: Annotated[list[OpenValue], Means("other values that are left")]


class EvidenceRow(Answer):
    """What recordings leave open of a row of the catalogue."""

    row: Annotated[str, Means("row of the catalogue, by its first design")]
    designs: DesignNames
    design: DesignName
    assumed: Annotated[bool, Means("whether the row is assumed as a whole")]
    recorded: Annotated[dict[str, str], Means("what decides a parameter, by parameter")]
    open: Annotated[dict[str, OpenParameter], Means("parameters that recordings do not decide")]
    readings: Annotated[list[OpenReading], Means("readings of open points that no recording excludes")]


class EvidenceAnswer(Answer):
    """What recordings leave open of the catalogue."""

    rows: Annotated[list[EvidenceRow], Means("one for each row of the catalogue")]
    vectors: Annotated[int, Means("how many vectors were found")]
    file: File
    assumed: Assumed


class _Exported(Answer):
    file: Annotated[str, Means("the file or folder that was written")]
    format: Annotated[str, Means("format of the file")]
    assumed: Assumed


class ExportedVectors(_Exported):
    """Vectors that were written."""

    rows: Rows
    left_out: Annotated[int, Means("vectors that do not fit --design and --k")]
    designs: DesignNames
    computed: Annotated[dict[str, int], Means("rows whose d the model computed, by design")]


class ExportedProgram(_Exported):
    """A program that was written."""

    rows: Rows
    designs: DesignNames


class ExportedQuestion(_Exported):
    """A question that was written."""

    designs: DesignNames
    k: Length
    where: Where


class ExportedModel(_Exported):
    """A model that was written."""

    design: DesignName
    k: Length
    name: Annotated[str, Means("name of the model in its files")]
    rows: Annotated[int, Means("rows of its self-test")]
    files: Annotated[list[str], Means("names of the files")]


class AlgorithmAnswer(Answer):
    """An algorithm of a matrix product."""

    name: Named
    what: Annotated[str, Means("what it is, in words")]
    source: Source
    parameters: Annotated[dict[str, str], Means("values of the parameters, as NAME@parameter=value reads them")]


class Algorithms(Answer):
    """The algorithms."""

    algorithms: Annotated[list[AlgorithmAnswer], Means("the algorithms")]


class Preset(Answer):
    """A plan by name."""

    name: Named
    what: Annotated[str, Means("what it is, in words")]
    library: Annotated[str, Means("the library whose plan it is")]
    version: Annotated[str | None, Means("a release, a commit or a paper; null if it is not known")]
    file: Annotated[str | None, Means("the file of the library's sources where it is stated; null if there is none")]
    source: Source
    plan: Annotated[str, Means("the plan as it is spelled")]


class Key(Answer):
    """What a plan can say."""

    meaning: Annotated[str, Means("what it means")]
    values: Annotated[str, Means("allowed values")]
    default: Annotated[str, Means("what holds without it")]
    source: Source


class Presets(Answer):
    """The presets, and the keys of plans."""

    presets: Annotated[list[Preset], Means("plans by name")]
    keys: Annotated[dict[str, Key], Means("what a plan can say")]


class PlanAnswer(Answer):
    """A plan and its operations."""

    plan: Annotated[str, Means("the plan as it is spelled")]
    formats: Annotated[dict[str, str], Means("formats of a, b, c and d")]
    k: Length
    operations: Annotated[list[str], Means("the operations, in order")]
    assumed: Assumed


class StepAnswer(Answer):
    """The proof of the loss of a step."""

    proved: Annotated[bool, Means("whether it is proved")]
    reason: Annotated[str, Means("by what it is proved, or why it is not")]
    seconds: Seconds


class PointAnswer(Answer):
    """The errors of an algorithm at one size."""

    algorithm: Annotated[str, Means("the algorithm or plan")]
    unit: Annotated[str, Means("its unit; several on one accumulator with a + between")]
    n: Annotated[int, Means("size of the matrices")]
    rows: Annotated[int, Means("rows that were drawn")]
    columns: Annotated[int, Means("columns that were drawn")]
    largest: Annotated[float | None, Means("largest error, rounded up; null if none was measured")]
    mean: Annotated[float | None, Means("mean error")]
    relative: Annotated[float | None, Means("largest error relative to the sum of magnitudes")]
    ulps: Annotated[float | None, Means("median, in units of the last place of the reference")]
    bias: Annotated[float | None, Means("mean of the signed errors")]
    squared: Annotated[float | None, Means("mean of the squared errors")]
    frobenius: Annotated[float | None, Means("Frobenius norm of the errors, relative to that of the reference")]
    relative_above: Annotated[
        float | None, Means("largest error relative to the reference, where that exceeds --above in magnitude")
    ]
    not_finite: Annotated[int, Means("elements left out: they or their references are not finite")]
    bound: Annotated[float | None, Means("proved bound, rounded up; null if there is none")]
    a: Annotated[float | None, Means("largest magnitude of a; null without a bound for it")]
    b: Annotated[float | None, Means("largest magnitude of b; null without a bound for it")]
    reason: Annotated[str | None, Means("by what the bound is proved, or why there is none")]


class ErrorsAnswer(Answer):
    """Errors of algorithms on random matrices."""

    unit: Annotated[str, Means("the unit of all points, or plans")]
    distribution: Annotated[str, Means("how operands are drawn")]
    reference: Annotated[str, Means("what results are compared with")]
    seed: Seed
    above: Annotated[float, Means("what the magnitude of a reference exceeds for relative_above")]
    step: Annotated[StepAnswer | None, Means("the proved loss of a step; null if it was not asked for")]
    points: Annotated[list[PointAnswer], Means("one for each algorithm and length")]
    assumed: Assumed


class Rival(Answer):
    """Another plan that agrees."""

    plan: Annotated[str, Means("the plan as it is spelled")]
    verdict: Annotated[str, Means("whether it is equal to the plan that was found")]
    how: Annotated[str, Means("how that is known")]


class FirstDifference(Answer):
    """Where the nearest plan differs."""

    operands: Annotated[str, Means("kind of the operands")]
    row: Annotated[int, Means("row of the first element that differs")]
    column: Annotated[int, Means("its column")]
    returned: Annotated[str, Means("what the target returned, a pattern in hexadecimal")]
    expected: Annotated[str, Means("what the plan returns")]
    differing: Annotated[int, Means("elements that differ")]
    of: Annotated[int, Means("elements that were compared")]


class KernelFinding(Answer):
    """What was found of some elements of a product."""

    elements: Annotated[int, Means("elements of d")]
    tree: Annotated[str | None, Means("order of the additions; null if it was not found")]
    no_tree: Annotated[str | None, Means("why no tree was found")]
    pairs: Annotated[int, Means("pairs of masked products that were asked")]
    plan: Annotated[str | None, Means("the plan as it is spelled; null if none was found")]
    units: Annotated[list[str], Means("units of its arithmetic")]
    same: Annotated[list[str], Means("other plans of the same operations")]
    rivals: Annotated[list[Rival], Means("other plans that agree")]
    validated: Annotated[int, Means("outputs on which the answer was confirmed")]
    tried: Annotated[int, Means("plans that were tried")]
    nearest: Annotated[str | None, Means("the plan that agrees best if none agrees")]
    flushes: Annotated[bool, Means("whether the target flushes subnormal results")]
    difference: Annotated[FirstDifference | None, Means("where the nearest plan differs; null if one was found")]


class KernelAnswer(Answer):
    """Which plan a kernel follows."""

    target: Target
    interface: Annotated[str, Means("formats of the target")]
    m: Annotated[int, Means("rows of d")]
    n: Annotated[int, Means("columns of d")]
    k: Length
    identified: Annotated[bool, Means("whether a plan was found, and validated on fresh operands")]
    late: Annotated[bool, Means("whether time ran out")]
    calls: Annotated[int, Means("products that were asked for")]
    seconds: Seconds
    problem: Problem
    findings: Annotated[list[KernelFinding], Means("one for each part of the product")]
    assumed: Assumed


class PropertyAnswer(Answer):
    """A property."""

    name: Named
    feature: Annotated[str, Means("the property in a few words")]
    statement: Annotated[str, Means("what is claimed, in mathematics")]
    witness: Annotated[str, Means("what shows that it does not hold")]
    source: Source
    specimen: Annotated[str, Means("a design of which it can be asked")]
    mutant: Annotated[str, Means("a design on which it comes out the other way")]


class Properties(Answer):
    """The properties."""

    properties: Annotated[list[PropertyAnswer], Means("the properties")]


class UnitOfTarget(Answer):
    """What a target is."""

    device: Annotated[str, Means("name of the device")]
    version: Annotated[str, Means("its version")]
    driver: Annotated[str, Means("version of the driver")]


class Recorded(Answer):
    """What was recorded of a target."""

    target: Target
    unit: Annotated[UnitOfTarget, Means("what the target is")]
    design: SomeDesign
    file: File
    rows: Rows
    unanswered: Unanswered
    problem: Problem
    assumed: Assumed


class TallyAnswer(Answer):
    """What a target returned for the operands of one distribution."""

    distribution: Annotated[str, Means("how operands are drawn")]
    rows: Rows
    unanswered: Unanswered
    differ: Annotated[int, Means("rows that differ from the model")]
    nan_codes: Annotated[int, Means("rows that differ in the code of a NaN only")]
    problems: Annotated[list[str], Means("what went wrong")]


class InstructionAnswer(Answer):
    """What was recorded of an instruction."""

    design: DesignName
    file: Annotated[str, Means("the recording")]
    distributions: Annotated[list[TallyAnswer], Means("one for each distribution of operands")]


class ProbeAnswer(Answer):
    """What a target returned for a vector that sources predict."""

    design: DesignName
    why: Annotated[str, Means("what the vector is for")]
    d: Annotated[str, Means("pattern of d that was returned")]
    predictions: Annotated[dict[str, str], Means("what each source predicts")]
    right: Annotated[list[str], Means("who predicted it")]
    wrong: Annotated[list[str], Means("who predicted something else")]


class StandardRecorded(Answer):
    """The standard recording of a target."""

    version: Annotated[str, Means("version of mmaproof")]
    numpy: Annotated[str, Means("version of NumPy")]
    date: Annotated[str, Means("when it was recorded")]
    target: Target
    unit: Annotated[UnitOfTarget, Means("what the target is")]
    seed: Seed
    instructions: Annotated[list[InstructionAnswer], Means("one for each instruction")]
    questions: Annotated[list[ProbeAnswer], Means("vectors of disputes and of published queries")]
    problems: Annotated[list[str], Means("what went wrong")]
    assumed: Assumed


class RecordingAnswer(TypedDict):
    """What a recording says of itself; it may say more."""

    file: Annotated[str, Means("the file")]
    layout: Annotated[int, Means("version of the layout of the file")]
    target: Target
    device: Annotated[str, Means("name of the device")]
    device_version: Annotated[str, Means("version of the device")]
    driver: Annotated[str, Means("version of the driver")]
    instruction: Vendor
    design: SomeDesign
    a_format: FormatName
    b_format: FormatName
    c_format: FormatName
    d_format: FormatName
    scale_format: ScaleFormat
    k: Length
    rows: Rows
    operands: Annotated[dict[str, Any], Means("how the operands were made: source, seed, and whatever else is said")]
    version: Annotated[str, Means("version of mmaproof that wrote it")]
    date: Annotated[str, Means("when it was recorded")]
    flags: NotRequired[Annotated[str, Means("flags of the processor")]]
    note: NotRequired[Annotated[str, Means("a note of whoever recorded it")]]
    imported: NotRequired[Annotated[dict[str, Any], Means("what it was imported from: layout, and sums of files")]]


class Recordings(Answer):
    """What recordings say of themselves."""

    recordings: Annotated[list[RecordingAnswer], Means("the recordings")]


class Decision(Answer):
    """What recordings decide of a row of the catalogue."""

    row: Annotated[str, Means("row of the catalogue, by its first design")]
    recordings: Annotated[list[str], Means("the recordings")]
    rows: Rows
    wrong: Annotated[int, Means("rows that are not what the catalogue has")]
    decided: Annotated[dict[str, int], Means("fewest rows that refute any other value, by parameter")]
    left: Annotated[dict[str, list[str]], Means("values that are left, by parameter")]


class Decisions(Answer):
    """What recordings decide of the catalogue."""

    rows: Annotated[list[Decision], Means("one for each row of the catalogue")]


class Counts(Answer):
    """How many rows were expected of a design, and how many differ."""

    rows: Rows
    mismatches: Annotated[int, Means("rows whose d differs")]


class MismatchAnswer(OperandSet):
    """A row whose d differs."""

    row: Annotated[str, Means("which row of the source")]
    expected: Annotated[str, Means("pattern of d in the source")]
    returned: Annotated[str, Means("pattern of d that the target returned")]


class RestsOnOf(RestsOn):
    """What the results of a design rest on."""

    design: Annotated[str, Means("the design that was run")]


class Replayed(Answer):
    """What a target returns for recorded rows."""

    source: Annotated[str, Means("the file whose rows were run")]
    target: Target
    rows: Rows
    mismatches: Annotated[int, Means("rows whose d differs")]
    other_nan_codes: Annotated[int, Means("rows that do not differ and have a NaN of another code")]
    unanswered: Unanswered
    problems: Annotated[list[str], Means("what went wrong")]
    expectations: Annotated[dict[str, Counts], Means("rows and mismatches by the design that is expected")]
    left_out: Annotated[int, Means("vectors that hold no output of the design")]
    examples: Annotated[list[MismatchAnswer], Means("the simplest rows that differ")]
    open_points: Annotated[
        list[RestsOnOf], Means("what the results of a model rest on, by design, where a reading changes some")
    ]
    assumed: Assumed


class StoredAnswers(Answer):
    """Stored answers of one kind."""

    solver: By
    outcome: Annotated[str, Means("sat or unsat")]
    answers: Annotated[int, Means("how many")]
    seconds: Annotated[float, Means("seconds of the solver")]


class StoreContents(Answer):
    """What a store holds."""

    store: Annotated[str, Means("the file of the store")]
    answers: Annotated[list[StoredAnswers], Means("stored answers, by solver and outcome")]
    witnesses: Annotated[int, Means("stored witnesses of questions")]
    proofs: Annotated[int, Means("stored proofs of questions")]
    bytes: Annotated[int, Means("size")]


class Removed(Answer):
    """How much --clear removed."""

    answers: Annotated[int, Means("answers that were removed")]
    witnesses: Annotated[int, Means("witnesses that were removed")]
    proofs: Annotated[int, Means("proofs that were removed")]


class StoreCleared(Answer):
    """What --clear removed from a store."""

    store: Annotated[str, Means("the file of the store")]
    removed: Annotated[Removed, Means("what --clear removed")]


class BoundLemma(Answer):
    """A lemma of a bound."""

    name: Named
    status: Annotated[str, Means("what is known")]
    seconds: Seconds


class TwoNumbers(Answer):
    """A tolerance in the form of numpy.allclose."""

    rtol: Annotated[float, Means("relative part")]
    atol: Annotated[float, Means("absolute part")]


class NoTwoNumbers(Answer):
    """Why there is no tolerance in the form of numpy.allclose."""

    reason: Annotated[str, Means("why there are none")]


class Statistical(Answer):
    """A quantile of measured errors."""

    p: Annotated[float, Means("which quantile")]
    value: Annotated[float, Means("its value")]
    lower: Annotated[float, Means("lower end of its interval")]
    upper: Annotated[float | None, Means("upper end of its interval; null if there is none")]
    confidence: Annotated[float, Means("confidence of the interval")]
    samples: Annotated[int, Means("elements that were measured")]
    not_finite: Annotated[int, Means("elements that are not finite")]
    distribution: Annotated[str, Means("how operands are drawn")]


class Rests(Answer):
    """A limit of the bits of products below a unit."""

    unit: Annotated[float, Means("the unit, a power of two")]
    most: Annotated[float, Means("what the bits below it add up to at most, over all products of an element")]


class OfData(Answer):
    """Absolute errors of dot products of some data, with c = 0."""

    data: Annotated[str, Means("how operands are drawn")]
    a: Annotated[float, Means("largest magnitude of an element of a")]
    b: Annotated[float, Means("largest magnitude of an element of b")]
    sums: Annotated[float | None, Means("largest sum of the products so far; null if the bound does not use it")]
    rests: Annotated[list[Rests], Means("limits of the low bits of products; none if the bound does not use them")]
    atol: Annotated[float | None, Means("proved bound of the error of all operands within these limits; null if none")]
    elements: Annotated[float | None, Means("largest proved bound of the products that were drawn; null if none")]
    quantile: Annotated[Statistical, Means("a quantile of the absolute error")]
    largest: Annotated[float | None, Means("largest error found; null if some result is not finite")]
    pytest: Annotated[str, Means("the assertion of a test")]


class CaughtFault(Answer):
    """How soon the tolerance notices a fault."""

    fault: Annotated[str, Means("the fault")]
    strength: Annotated[str, Means("how strong it is")]
    chance: Annotated[float, Means("the chance that an element shows it")]
    elements: Annotated[float | None, Means("elements until it is noticed; null if it is not")]
    distribution: Annotated[str, Means("how operands are drawn")]


class DifferenceOfData(Answer):
    """How much the results of two plans differ for data of a distribution."""

    plan: Annotated[str, Means("the other plan as it is spelled")]
    data: Annotated[str, Means("the data")]
    a: Annotated[float, Means("the largest magnitude of a that is allowed")]
    b: Annotated[float, Means("the largest magnitude of b that is allowed")]
    sums: Annotated[float | None, Means("the largest sum of the products so far; null if it is not limited")]
    rests: Annotated[list[Rests], Means("limits of the low bits of products")]
    most: Annotated[
        float | None, Means("the largest difference within these limits, proved; null if nothing is proved")
    ]
    quantile: Annotated[Statistical, Means("a quantile of the differences")]
    largest: Annotated[float | None, Means("the largest difference found; null if one of both was not finite")]
    equal: Annotated[float, Means("the part of the samples with equal results")]


class ToleranceAnswer(Answer):
    """How far results of a plan may be from the exact ones."""

    plan: Annotated[str, Means("the plan as it is spelled")]
    k: Length
    where: Where
    proved: Annotated[bool, Means("whether the tolerance is proved")]
    reason: Annotated[str | None, Means("by what it is proved, or why it is not")]
    lemmas: Annotated[list[BoundLemma], Means("the lemmas that were tried; if all are proved, they are the proof")]
    open_points: Annotated[
        list[Reading],
        Means("readings of open points, decided by no recording, under which the bound is another"),
    ]
    step: Annotated[str | Absent, Means("the proved loss of a step")] = ABSENT
    two_numbers: Annotated[
        TwoNumbers | NoTwoNumbers | Absent, Means("with --two-numbers: the tolerance as rtol and atol")
    ] = ABSENT
    statistical: Annotated[Statistical | Absent, Means("with --statistical: what random operands show")] = ABSENT
    of_data: Annotated[OfData | Absent, Means("with --data: the tolerance of these data")] = ABSENT
    difference: Annotated[
        DifferenceOfData | Absent, Means("of two plans: how much their results differ for these data")
    ] = ABSENT
    mutants: Annotated[
        list[CaughtFault] | Absent, Means("with --mutants: faults, and how soon the tolerance notices them")
    ] = ABSENT
    bundle: BundleOf = ABSENT
    derived: Annotated[
        float | Absent, Means("with --bundle: the bound of the bundle, for all operands of the range")
    ] = ABSENT
    assumed: Assumed


class PartOf(Answer):
    """A part of a result, and the plan whose bits it has."""

    where: Annotated[str, Means("rows and columns")]
    plan: Annotated[str, Means("the plan as it is spelled")]
    elements: Annotated[int, Means("its elements")]


class FarElement(Answer):
    """An element beyond every bound."""

    row: Annotated[int, Means("row of d")]
    column: Annotated[int, Means("column of d")]
    pattern: Annotated[str, Means("what was returned, a pattern in hexadecimal")]
    value: Annotated[str, Means("what was returned, as a decimal")]
    exact: Annotated[float, Means("the exact result, in float64")]
    bound: Annotated[float, Means("the widest of the proved bounds")]


class JudgedAnswer(Answer):
    """Whose bits a product has."""

    verdict: Annotated[Literal["exact", "mixed", "within", "outside", "indeterminate"], Means("the answer")]
    plans: Annotated[list[str], Means("the plans that were asked")]
    k: Length
    shape: Annotated[list[int], Means("rows and columns of d")]
    rows: Annotated[int, Means("rows that were judged")]
    exact: Annotated[list[str], Means("plans that have all bits")]
    parts: Annotated[list[PartOf], Means("parts of a mixed result")]
    element: Annotated[FarElement | None, Means("the element that is the farthest beyond every bound; null if none is")]
    fits: Annotated[list[str], Means("what would explain the result")]
    rests_on: Annotated[str, Means("what the verdict rests on")]
    missed: Annotated[
        dict[str, float], Means("by fraction of faulty rows: the probability that no judged row is among them")
    ]
    assumed: Assumed


class ConformanceCheck(Answer):
    """What a check of a standard found."""

    name: Named
    passed: Annotated[bool, Means("whether it passed")]
    absolute: Annotated[float | None, Means("largest error over what is allowed; null if it is not looked at")]
    squared: Annotated[float | None, Means("sum of squared errors over what is allowed; null if it is not looked at")]
    bias: Annotated[float | None, Means("sum of errors over what is allowed; null if it is not looked at")]
    wrong: Annotated[int | None, Means("results that are not the one that is asked for; null if they are not counted")]
    row: Annotated[int, Means("row of the element with the largest error, or of the first wrong one")]
    column: Annotated[int, Means("its column")]


class LengthConformed(Answer):
    """What the checks of a standard found for dot products of one length."""

    k: Length
    conforms: Annotated[bool, Means("whether all checks passed")]
    checks: Annotated[list[ConformanceCheck], Means("the checks")]


class Conformed(Answer):
    """Whether a plan or a kernel meets a standard."""

    standard: Named
    source: Source
    name: Annotated[str, Means("the plan or the kernel, as it is spelled")]
    m: Annotated[int, Means("rows of d")]
    n: Annotated[int, Means("columns of d")]
    accumulator: FormatName
    lengths: Annotated[list[LengthConformed], Means("by the length of the dot products")]


class Port(Answer):
    """A port of a unit."""

    direction: Annotated[str, Means("direction of a port")]
    bits: Annotated[int, Means("width")]


class UnitAnswer(Answer):
    """What was elaborated of a unit."""

    unit: Annotated[str, Means("the unit")]
    top: Annotated[str, Means("top module")]
    elaborator: Annotated[str, Means("what read the sources")]
    design: SomeDesign
    a_format: FormatName
    b_format: FormatName
    c_format: FormatName
    d_format: FormatName
    scale_format: ScaleFormat
    block: Block
    k: Length
    ports: Annotated[dict[str, Port], Means("ports")]
    mapped: Annotated[dict[str, str], Means("which bits of ports are operands")]
    cells: Annotated[int, Means("cells of the netlist")]
    kinds: Annotated[dict[str, int], Means("how many cells there are of each kind")]
    registers: Annotated[int, Means("register bits")]
    latency: Annotated[int | None, Means("registers from an operand to d; null if there are several numbers")]
    unknown: Annotated[dict[str, int], Means("how many bits may have any value, by net")]
    when: Annotated[list[str], Means("when the unit is what is said of it, each condition in words")]
    assumptions: Annotated[list[str], Means("what elaboration assumed")]
    warnings: Annotated[list[str], Means("warnings of the elaborator")]
    register_names: Annotated[dict[str, int], Means("the bits of each register of the module, by name")]
