"""The JSON that a command printed, read with care: what is missing or of another kind is said with its place."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mmaproof.designs.errors import InputError
from mmaproof.designs.files import why_unreadable


@dataclass(frozen=True, slots=True)
class Record:
    """A JSON object, and where it stands in its file. Each method raises InputError for another kind of value."""

    held: dict[str, Any]
    where: str

    def __contains__(self, name: str) -> bool:
        return self.held.get(name) is not None

    def __iter__(self) -> Iterator[str]:
        return iter(self.held)

    def has(self, *names: str) -> bool:
        """Return whether all of these names are there."""
        return all(name in self.held for name in names)

    def text(self, name: str, default: str | None = None) -> str:
        """Return a text, or a number or truth value as one; ``default`` where there is none."""
        value = self.held.get(name)
        if value is None and default is not None:
            return default
        if isinstance(value, str | int | float):
            return str(value)
        raise self._misfit(name, "a text")

    def number(self, name: str) -> int:
        """Return a whole number."""
        value = self.held.get(name)
        if isinstance(value, int) and not isinstance(value, bool):
            return value
        raise self._misfit(name, "a whole number")

    def texts(self, name: str) -> list[str]:
        """Return a list of texts."""
        value = self.held.get(name)
        if isinstance(value, list) and all(isinstance(x, str) for x in value):
            return list(value)
        raise self._misfit(name, "a list of texts")

    def record(self, name: str) -> Record:
        """Return an object."""
        value = self.held.get(name)
        if isinstance(value, dict):
            return Record(value, f"{self.where}, {name}")
        raise self._misfit(name, "an object")

    def records(self, name: str) -> list[Record]:
        """Return a list of objects."""
        value = self.held.get(name)
        if isinstance(value, list) and all(isinstance(x, dict) for x in value):
            return [Record(x, f"{self.where}, {name} {i}") for i, x in enumerate(value, start=1)]
        raise self._misfit(name, "a list of objects")

    def _misfit(self, name: str, wanted: str) -> InputError:
        found = "is missing" if self.held.get(name) is None else "is something else"
        return InputError(f"{self.where}: {name!r} {found}: {wanted} was expected")


def read_record(path: Path) -> Record:
    """Return the object that a file holds. Raises InputError."""
    try:
        held = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {why_unreadable(error)}") from error
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path}: not JSON; give what a command printed with --json") from error
    if not isinstance(held, dict):
        raise InputError(f"{path}: not a JSON object; give what a command printed with --json")
    return Record(held, str(path))
