"""What an answer is: a frozen dataclass of plain values whose fields say what they mean.

JSON, its schema and the reader of it all follow from the fields. pydantic makes the schema and reads. It is imported
only then, so that a command which prints an answer does not wait for it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, fields, is_dataclass
from enum import Enum
from fractions import Fraction
from json.encoder import encode_basestring_ascii
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple, Self, TypeVar, cast, dataclass_transform

if TYPE_CHECKING:
    from pydantic.annotated_handlers import GetJsonSchemaHandler
    from pydantic_core import CoreSchema

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

    def __init_subclass__(cls) -> None:
        dataclass(frozen=True, kw_only=True)(cls)

    @classmethod
    def taken(cls, *sources: object, **named: Any) -> Self:
        """Return the answer whose fields are ``named``, or else attributes of the first source that has them."""
        for name in (x.name for x in fields(cast("Any", cls)) if x.name not in named):
            source = next((x for x in sources if hasattr(x, name)), None)
            if source is not None:
                value = getattr(source, name)
                named[name] = round(value, 3) if name == "seconds" else value
        return cls(**named)


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

    try:
        return TypeAdapter(kind).validate_json(text, strict=True)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        place = "".join(f"[{x}]" if isinstance(x, int) else f".{x}" for x in first["loc"]).lstrip(".")
        raise InputError(f"{where}: {place}: {first['msg'].lower()}") from error
