"""The schemas of JSON objects as rows of a table: what stands at each place, and what it means."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from mmaproof.pages.markdown import code, escaped

Schema = Mapping[str, Any]


def schema_rows(schema: Schema, definitions: Schema, place: str = "") -> Iterator[tuple[str, str, str]]:
    """Give a row for each field: its place (``lemmas[].name``), its type, and its meaning. Absent ones are marked."""
    needed = schema.get("required", ())
    for name, field in schema.get("properties", {}).items():
        here = f"{place}.{name}" if place else name
        may_lack = "" if name in needed else ", not always there"
        yield code(here), escaped(type_text(field, definitions)) + may_lack, escaped(field.get("description", ""))
        yield from _inner(field, definitions, here)


def _inner(field: Schema, definitions: Schema, here: str) -> Iterator[tuple[str, str, str]]:
    for kind in alternatives(field, definitions):
        yield from schema_rows(kind, definitions, here)
        if "items" in kind:
            yield from _inner(kind["items"], definitions, f"{here}[]")
        if isinstance(kind.get("additionalProperties"), Mapping):
            yield from _inner(kind["additionalProperties"], definitions, f"{here}.NAME")


def alternatives(field: Schema, definitions: Schema) -> list[Schema]:
    """Return what a value may be, with what is referred to in its place."""
    found = field.get("anyOf", [field])
    return [definitions[x["$ref"].rpartition("/")[2]] if "$ref" in x else x for x in found]


def type_text(field: Schema, definitions: Schema) -> str:
    """Return the type of a field in words."""
    found = []
    for kind in alternatives(field, definitions):
        if "enum" in kind or "const" in kind:
            found += [f"`{x}`" for x in kind.get("enum", [kind.get("const")])]
        else:
            found.append(kind.get("type", "any value"))
    return " or ".join(found)
