"""Fields of files that people write, in TOML or JSON, read one by one: one set of messages."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from mmaproof.designs.errors import InputError, did_you_mean
from mmaproof.designs.formats import Format, find_format


def parse_object(text: str | bytes, **options: Any) -> dict[str, Any]:
    """Return the JSON object that ``text`` is. ``options`` are those of ``json.loads``. Raises InputError."""
    try:
        held = json.loads(text, **options)
    except (ValueError, RecursionError) as error:  # ValueError: also of numbers too long to read
        raise InputError(f"not JSON: {error}") from error
    if not isinstance(held, dict):
        raise InputError("not a JSON object")
    return held


class Fields:
    """The fields of one table or object of a file.

    ``where`` is what messages begin with, up to the name of a field. Every method raises ``ERROR`` for a value of
    another kind than the one that it returns.
    """

    ERROR: ClassVar[type[InputError]] = InputError
    KIND: ClassVar[str] = "a table"
    """what the format of the file calls it"""

    def __init__(self, where: str, held: Any) -> None:
        self.where = where
        if not isinstance(held, dict):
            raise self.ERROR(f"{where.rstrip('.: ') or 'the file'}: {self.KIND} is expected, not {shown(held)}")
        self.held: Mapping[str, Any] = held

    def wrong(self, name: str, problem: str) -> InputError:
        """Return the error about a field."""
        return self.ERROR(f"{self.where}{name}: {problem}")

    def expected(self, name: str, what: str) -> InputError:
        """Return the error about a field whose value is not ``what``."""
        return self.wrong(name, f"{what} is expected, not {shown(self.held.get(name))}")

    def only(self, known: Sequence[str], needed: Sequence[str] = (), why: str = "unknown field") -> None:
        """Raise the error about the first field that is not ``known``, or that is ``needed`` and missing."""
        for name in self.held:
            if name not in known:
                raise self.wrong(name, f"{why}{did_you_mean(name, known)}; known are {', '.join(known)}")
        missing = [name for name in needed if name not in self.held]
        if missing:
            others = f", and so are {', '.join(missing[1:])}" if len(missing) > 1 else ""
            raise self.wrong(missing[0], f"is missing{others}; what is not stated is not assumed")

    def text(self, name: str) -> str:
        """Return a text that is not blank."""
        held = self.held.get(name)
        if not isinstance(held, str) or not held.strip():
            raise self.expected(name, "a text")
        return held

    def text_or_none(self, name: str) -> str | None:
        """Return a text that is not blank, and None where the field is left out."""
        return self.text(name) if name in self.held else None

    def texts(self, name: str) -> tuple[str, ...]:
        """Return a list of texts that are not blank, which is empty where the field is left out."""
        held = self.held.get(name, [])
        if not isinstance(held, list) or not all(isinstance(x, str) and x.strip() for x in held):
            raise self.expected(name, "a list of texts")
        return tuple(held)

    def number(self, name: str, least: int = 1) -> int:
        """Return an integer from ``least`` on."""
        held = self.held.get(name)
        if type(held) is not int or held < least:
            raise self.expected(name, f"an integer from {least} on")
        return held

    def number_or_none(self, name: str, least: int = 1) -> int | None:
        """Return an integer from ``least`` on, and None where the field is left out."""
        return self.number(name, least) if name in self.held else None

    def truth(self, name: str, *, default: bool) -> bool:
        """Return a field that is true or false, and ``default`` where it is left out."""
        held = self.held.get(name, default)
        if type(held) is not bool:
            raise self.expected(name, "true or false")
        return held

    def format(self, name: str) -> Format:
        """Return the format that a field names."""
        text = self.text(name)
        try:
            return find_format(text)
        except InputError as problem:
            raise self.wrong(name, str(problem)) from problem


def shown(held: object) -> str:
    """Return a value as a message repeats it: cut where it is long."""
    text = repr(held)
    return text if len(text) <= 40 else f"{text[:37]}..."
