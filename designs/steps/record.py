"""Records of parameters. Each field is a parameter with its definition, or a record of further parameters.

A definition gives the meaning of a parameter, its source and the values that it takes. If other values of a record
leave a parameter without an effect, it has its default there. So records that mean the same are equal.
"""

from __future__ import annotations

import string
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from enum import StrEnum
from functools import cache
from typing import Any, ClassVar, Self, TypeVar

from mmaproof.designs.errors import DesignError
from mmaproof.designs.readings import KOrder

LETTERS = string.ascii_uppercase
"""The letters that stand for the readings of an enumeration, in its order."""


@dataclass(frozen=True, slots=True)
class IntegerRange:
    """The values of an integer parameter. ``otherwise`` is the text of the value None, if that is allowed."""

    low: int
    high: int
    otherwise: str | None = None


@dataclass(frozen=True, slots=True)
class Definition:
    """The meaning of a parameter in one line, its source, the values that it takes, and its default."""

    meaning: str
    source: str
    values: IntegerRange | type[StrEnum] | tuple[str, ...] | type[KOrder]
    default: Any

    def allowed(self) -> str:
        """Return the allowed values as text for a person."""
        match self.values:
            case IntegerRange(low, high, otherwise):
                return f"an integer {low}..{high}" + (f" or {otherwise}" if otherwise else "")
            case tuple():
                return ", ".join(self.values)
            case readings if issubclass(readings, StrEnum):
                return ", ".join(f"{letter} = {r.value}" for letter, r in zip(LETTERS, readings, strict=False))
            case _:
                return KOrder.ALLOWED

    def check(self, name: str, value: object) -> None:
        """Raise DesignError if ``value`` is not allowed for the parameter ``name``."""
        match self.values:
            case IntegerRange(low, high, otherwise):
                good = (value is None and otherwise is not None) or (
                    isinstance(value, int) and not isinstance(value, bool) and low <= value <= high
                )
            case tuple():
                good = value in self.values
            case kind:
                good = isinstance(value, kind)
        if not good:
            raise DesignError(f"parameter {name} = {value}: allowed is {self.allowed()}", name)


def parameter(
    default: Any, values: Any, meaning: str, source: str, *, only: Callable[[Any], bool] | None = None
) -> Any:
    """Return a field that is a parameter. ``only`` tells of a record whether the parameter has an effect in it."""
    definition = Definition(meaning, source, values, default)
    return field(default=default, metadata={"definition": definition, "only": only})


def record(default: Any, *choices: type[Record]) -> Any:
    """Return a field that is a record of one of the classes ``choices``.

    If there are several, ``is_meant`` of a class tells whether the settings choose it. The first such class is taken.
    """
    return field(default=default, metadata={"choices": choices})


R = TypeVar("R", bound="Record")


@dataclass(frozen=True)
class Record:
    """Parameters that belong together.

    Raises DesignError if a value is out of range.
    """

    selects: ClassVar[Mapping[str, Any]] = {}
    """parameters and the values with which they choose this record among others"""
    implies: ClassVar[Mapping[str, Any]] = {}
    """parameters of other records, with the values that describe what this record always does"""

    def __post_init__(self) -> None:
        for name, definition, only in self._parameters():
            definition.check(name, getattr(self, name))
            if only is not None and not only(self):
                object.__setattr__(self, name, definition.default)

    @classmethod
    def is_meant(cls, settings: Mapping[str, Any]) -> bool:
        """Return whether the values of parameters in ``settings`` choose this record."""
        return all(settings[name] == value for name, value in cls.selects.items())

    @classmethod
    def read(cls, settings: Mapping[str, Any]) -> Self:
        """Return the record with the values of ``settings``, which must name every parameter.

        Raises DesignError if they choose no inner record.
        """
        found = {name: settings[name] for name, _, _ in cls._parameters()}
        for name, choices in cls._records():
            chosen = choose(choices, settings) if len(choices) > 1 else choices[0]
            found[name] = chosen.read(settings)
        return cls(**found)

    def settings(self) -> dict[str, Any]:
        """Return the values of the parameters that have an effect, by name. Inner records are included."""
        found = dict(self.selects)
        for name, _, only in self._parameters():
            if only is None or only(self):
                found[name] = getattr(self, name)
        for name, _ in self._records():
            found |= getattr(self, name).settings()
        return found

    @classmethod
    def definitions(cls) -> dict[str, Definition]:
        """Return the definitions of the parameters that such a record can have, by name."""
        found = {name: definition for name, definition, _ in cls._parameters()}
        for _, choices in cls._records():
            for choice in choices:
                found |= choice.definitions()
        return found

    @classmethod
    @cache
    def _parameters(cls) -> tuple[tuple[str, Definition, Callable[[Any], bool] | None], ...]:
        held = (f for f in fields(cls) if "definition" in f.metadata)
        return tuple((f.name, f.metadata["definition"], f.metadata["only"]) for f in held)

    @classmethod
    @cache
    def _records(cls) -> tuple[tuple[str, tuple[type[Record], ...]], ...]:
        return tuple((f.name, f.metadata["choices"]) for f in fields(cls) if "choices" in f.metadata)


def choose(choices: Sequence[type[R]], settings: Mapping[str, Any]) -> type[R]:
    """Return the first record of ``choices`` that ``settings`` choose. Raises DesignError if there is none."""
    for choice in choices:
        if choice.is_meant(settings):
            return choice
    names = {name for choice in choices for name in choice.selects}
    held = ", ".join(f"{name} = {settings[name]}" for name in sorted(names))
    raise DesignError(f"{held}: none of {', '.join(choice.__name__ for choice in choices)}", min(names))
