"""The schemas of JSON objects as rows of a table: what stands at each place, and what it means."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from mmaproof.pages.markdown import code, escaped


def schema_rows(schema: Mapping[str, Any], place: str = "") -> Iterator[tuple[str, str, str]]:
    """Give a row for each field: its place (``lemmas[].name``), its type, and its meaning. Absent ones are marked."""
    needed = schema.get("required", ())
    for name, field in schema.get("properties", {}).items():
        here = f"{place}.{name}" if place else name
        may_lack = "" if name in needed else ", not always there"
        yield code(here), escaped(type_text(field)) + may_lack, escaped(field.get("description", ""))
        yield from _inner(field, here)
    values = schema.get("additionalProperties")
    if isinstance(values, Mapping):
        here = f"{place}.NAME" if place else "NAME"
        yield code(here), escaped(type_text(values)), escaped(values.get("description", ""))
        yield from _inner(values, here)


def _inner(field: Mapping[str, Any], here: str) -> Iterator[tuple[str, str, str]]:
    yield from schema_rows(field, here)
    if "items" in field:
        yield from schema_rows(field["items"], f"{here}[]")


def type_text(field: Mapping[str, Any]) -> str:
    """Return the type of a field in words."""
    if "enum" in field:
        return " or ".join(f"`{x}`" for x in field["enum"])
    kinds = field.get("type", "any value")
    return " or ".join([kinds] if isinstance(kinds, str) else kinds)
