"""What an answer is: a frozen dataclass of plain values whose fields say what they mean.

JSON, its schema and the reader of it all follow from the fields. pydantic makes the schema and reads. It is imported
only then, so that a command which prints an answer does not wait for it.

What several kinds of answers have: fields of one meaning, solvers, lemmas, operands, witnesses, open points.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, fields, is_dataclass
from enum import Enum
from fractions import Fraction
from json.encoder import encode_basestring_ascii
from pathlib import Path
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    ClassVar,
    Literal,
    NamedTuple,
    Self,
    TypeVar,
    cast,
    dataclass_transform,
)

if TYPE_CHECKING:
    from pydantic.annotated_handlers import GetJsonSchemaHandler
    from pydantic_core import CoreSchema

    from mmaproof.smt.evaluate import OpenPoints


X = TypeVar("X")

DIALECT = "https://json-schema.org/draft/2020-12/schema"


class Absent(Enum):
    """The value of a field that is left out of the JSON object."""

    ABSENT = "absent"

    def __bool__(self) -> Literal[False]:
        return False


ABSENT = Absent.ABSENT


class Means(NamedTuple):
    """The meaning of a field, in ``Annotated[type, Means("...")]``."""

    text: str

    def __get_pydantic_json_schema__(self, core: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        return {**handler(core), "description": self.text}


@dataclass_transform(frozen_default=True, kw_only_default=True)
class Answer:
    """A part of an answer, or all of it: a subclass is a frozen dataclass, and has no other keys as a JSON object."""

    __pydantic_config__: ClassVar[Any] = {"extra": "forbid"}

    def __new__(cls, **_: Any) -> Self:
        """Make the class a dataclass first: a command prints few kinds of answers, and all of them take a while."""
        return super().__new__(made(cls))

    @classmethod
    def taken(cls, *sources: object, **named: Any) -> Self:
        """Return the answer whose fields are ``named``, or else attributes of the first source that has them."""
        for name in (x.name for x in fields(cast("Any", made(cls))) if x.name not in named):
            source = next((x for x in sources if hasattr(x, name)), None)
            if source is not None:
                value = getattr(source, name)
                named[name] = round(value, 3) if name == "seconds" else value
        return cls(**named)


def made(kind: type[X]) -> type[X]:
    """Return a kind of answer, which is a dataclass from now on."""
    if "__dataclass_fields__" not in vars(kind):
        for base in kind.__bases__:
            if issubclass(base, Answer) and base is not Answer:
                made(base)
        dataclass(frozen=True, kw_only=True)(kind)
    return kind


def _make_all(kind: type[Answer] = Answer) -> None:
    """Make all kinds dataclasses: one has others as its parts."""
    for part in kind.__subclasses__():
        _make_all(made(part))


def plain(answer: Any) -> Any:
    """Return an answer as JSON data."""
    return json.loads(as_json(answer))


def as_json(answer: Any) -> str:
    """Return an answer as JSON, indented by two. A list that stands in several places is written once."""
    lists: dict[tuple[int, str], str] = {}

    def written(value: Any, line: str) -> str:
        """Return a value; ``line`` begins the line of its closing bracket."""
        if type(value) is str:
            return encode_basestring_ascii(value)
        inner = line + "  "
        if isinstance(value, list | tuple) and value:
            place = id(value), line
            if place not in lists:
                lists[place] = f"[{inner}{f',{inner}'.join([written(x, inner) for x in value])}{line}]"
            return lists[place]
        if isinstance(value, Mapping):
            held = list(value.items())
        elif is_dataclass(value):
            held = [(x.name, y) for x in fields(value) if (y := getattr(value, x.name)) is not ABSENT]
        else:
            value = value.value if isinstance(value, Enum) else value
            return json.dumps(str(value) if isinstance(value, Fraction | Path) else value)
        texts = [f"{encode_basestring_ascii(str(name))}: {written(x, inner)}" for name, x in held]
        return f"{{{inner}{f',{inner}'.join(texts)}{line}}}" if texts else "{}"

    return written(answer, "\n")


def schema_of(kind: Any, title: str) -> dict[str, Any]:
    """Return the JSON schema of a kind of answer, or of a union of several."""
    from pydantic import TypeAdapter  # noqa: PLC0415

    _make_all()
    found = _tidied(TypeAdapter(kind).json_schema())
    found.get("$defs", {}).pop(Absent.__name__, None)
    return {"$schema": DIALECT, **found, "title": title}


def _tidied(schema: Any) -> Any:
    """Return a schema without titles of fields, which only repeat their names, and without the value for absence."""
    if isinstance(schema, list):
        return [_tidied(x) for x in schema]
    if not isinstance(schema, dict):
        return schema
    unsaid = ("default",) if "properties" in schema else ("title", "default")
    held = {name: x for name, x in schema.items() if name not in unsaid or isinstance(x, dict)}
    if "default" in schema and "anyOf" in schema:
        kinds = [x for x in held.pop("anyOf") if x.get("$ref") != f"#/$defs/{Absent.__name__}"]
        held = {**(kinds[0] if len(kinds) == 1 else {"anyOf": kinds}), **held}
    return {name: _tidied(x) for name, x in held.items()}


def read_as(kind: type[X], text: str, where: str) -> X:
    """Return the answer of this kind that a JSON text holds. Raises InputError with what is wrong, and ``where``."""
    from pydantic import TypeAdapter, ValidationError  # noqa: PLC0415

    from mmaproof.designs.errors import InputError  # noqa: PLC0415

    _make_all()
    try:
        return TypeAdapter(kind).validate_json(text, strict=True)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        place = "".join(f"[{x}]" if isinstance(x, int) else f".{x}" for x in first["loc"]).lstrip(".")
        raise InputError(f"{where}: {place}: {first['msg'].lower()}") from error


Patterns = Annotated[dict[str, str], Means("d by name of the design, a pattern in hexadecimal")]
DesignName = Annotated[str, Means("full name of the design")]
DesignNames = Annotated[list[str], Means("full names of the designs")]
Length = Annotated[int, Means("length of the dot product")]
Where = Annotated[list[str], Means("preconditions, as they were given")]
When = Annotated[
    list[str],
    Means("when a proved answer holds, if not always: held operands, tied inputs, preconditions, each in words"),
]
Seconds = Annotated[float, Means("wall time")]
Reason = Annotated[str | None, Means("why the answer is unknown; null if it is known")]
Origin = Annotated[str, Means("where the answer came from, in words")]
Source = Annotated[str, Means("where it is stated")]
FormatName = Annotated[str, Means("name of a format, in short form")]
ScaleFormat = Annotated[str | None, Means("format of scales; null without scales")]
Block = Annotated[int | None, Means("elements that share a scale; null without scales")]
File = Annotated[str | None, Means("the file that was written; null if there is none")]
Assumed = Annotated[list[str], Means("designs of the answer whose row of the catalogue is assumed as a whole")]
Value = Annotated[int | float | str | None, Means("a number or a word, if the property has one")]


class Solver(Answer):
    """A solver by name and version."""

    name: Annotated[str, Means("its name")]
    version: Annotated[str, Means("its version")]

    def __str__(self) -> str:
        return f"{self.name} {self.version}"


By = Annotated[Solver | None, Means("the solver that answered; null if none was needed")]
CertifiedBy = Annotated[Solver | None, Means("what confirmed the answer of the solver; null if nothing did")]


CertificateCovers = Annotated[
    str | None,
    Means(
        "what was certified: the claim in one piece, or its lemmas, joined by an argument that no certificate covers "
        "or by a kernel, step by step; "
        "null if nothing was"
    ),
]


class Lemma(Answer):
    """A lemma that was tried on the way to an answer."""

    name: Annotated[str, Means("name")]
    stage: Annotated[str | None, Means("the part of the unit that it is about")]
    status: Annotated[str, Means("what is known: proved, refuted, unknown or vacuous")]
    seconds: Seconds
    solver: By
    certified_by: CertifiedBy
    reason: Annotated[str | Absent, Means("why it is unknown")] = ABSENT


Lemmas = Annotated[list[Lemma], Means("the lemmas that were tried; if all are proved, they are the proof")]


class OperandSet(Answer):
    """The operands of one dot product."""

    a: Annotated[list[str], Means("patterns of a, k = 0 first")]
    b: Annotated[list[str], Means("patterns of b, k = 0 first")]
    c: Annotated[str, Means("pattern of c")]
    scale_a: Annotated[list[str] | Absent, Means("patterns of the scales of a, block 0 first")] = ABSENT
    scale_b: Annotated[list[str] | Absent, Means("patterns of the scales of b, block 0 first")] = ABSENT
    random: Annotated[str | Absent, Means("random bits, where they are an operand")] = ABSENT


class Run(OperandSet):
    """Operands, and the d that a design returns for them."""

    design: DesignName
    d: Annotated[str, Means("pattern of d")]
    step: Annotated[bool | Absent, Means("true where d is that of one step, which no instruction returns")] = ABSENT


class Witness(OperandSet):
    """Operands, and what several designs return for them."""

    outputs: Patterns


class Difference(Answer):
    """How far two results are apart."""

    absolute: Annotated[str, Means("an exact rational number")]
    ulps: Annotated[float | None, Means("in units of the last place of the larger result; null if they are integers")]

    @property
    def words(self) -> str:
        """How the two results differ, for a person."""
        return "differ only in the sign of zero" if self.absolute == "0" else f"differ by {self}"

    def __str__(self) -> str:
        """Return it for a person."""
        from mmaproof.explain.values import magnitude  # noqa: PLC0415

        return magnitude(Fraction(self.absolute)) + ("" if self.ulps is None else f" = {self.ulps:.4g} ulp")


class DifferingWitness(Witness):
    """Operands for which two designs return different results."""

    difference: Annotated[
        Difference | None, Means("how far the two results are apart; null if one is an infinity or a NaN")
    ]
    unknown_bits: Annotated[
        dict[str, str] | Absent,
        Means("bits that may have any value and are not 0 in the witness, by name: hexadecimal"),
    ] = ABSENT


class Reading(Answer):
    """A reading of open points."""

    points: Annotated[list[int], Means("numbers of the open points")]
    settings: Annotated[dict[str, str], Means("the parameters that the reading sets, as texts")]
    words: Annotated[str, Means("the reading for a person")]


class ChangingReading(Reading):
    """A reading of open points that changes results."""

    changed: Annotated[int, Means("results that change under the reading")]
    first: Annotated[int, Means("the first of them that no reading before changes so; of a matrix, row * N + column")]
    d: Annotated[str, Means("its d, a pattern in hexadecimal")]
    d_under_reading: Annotated[str, Means("its d under the reading")]


class RestsOn(Answer):
    """What results rest on: readings of open points, decided by no recording, that change them."""

    results: Annotated[int, Means("number of results")]
    looked_at: Annotated[int, Means("results that were computed under every open reading")]
    changed: Annotated[int, Means("results that change under some reading")]
    readings: Annotated[list[ChangingReading], Means("readings that are needed for every other result")]

    @classmethod
    def fields_of(cls, found: OpenPoints) -> dict[str, Any]:
        """Return the fields as the open points of a result have them."""
        record = found.record()
        return {**record, "readings": [ChangingReading(**x) for x in record["readings"]]}

    @classmethod
    def of(cls, found: OpenPoints) -> RestsOn:
        """Return the open points of a result."""
        return cls(**cls.fields_of(found))


OpenPointsOfResult = Annotated[
    RestsOn,
    Means("what the result rests on: readings of open points, decided by no recording, that change it"),
]


class Bundle(Answer):
    """The proof that was written for other checkers."""

    folder: Annotated[str, Means("where")]
    folders: Annotated[list[str], Means("the folders of its parts, one for each question that was proved")]
    lemmas: Annotated[int, Means("lemmas in it")]
    steps: Annotated[int, Means("steps of the proof")]
    bytes: Annotated[int, Means("size")]
    seconds: Seconds


class NoBundle(Answer):
    """Why there is no bundle of a proved answer."""

    refused: Annotated[str, Means("why a proved answer cannot be written as a bundle")]


BundleOf = Annotated[
    Bundle | NoBundle | Absent | None,
    Means("with --bundle: the proof that was written for other checkers; null if none was"),
]


SHOWN = Means("operands that show a difference or a violation, and what is computed for them")


class Decided(Answer):
    """What is known of every question that was decided: the verdict, who gave it, and how long it took."""

    verdict: Annotated[str, Means("the answer")]
    seconds: Seconds
    solver: By
    certified_by: CertifiedBy
    certificate_covers: CertificateCovers
    reason: Reason
    origin: Origin
    lemmas: Lemmas
