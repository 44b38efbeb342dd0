"""The key of a question: a text that is the same for equal questions in every process."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, fields, is_dataclass
from enum import Enum
from functools import cached_property
from typing import Any

from mmaproof.designs.circuit import Circuit
from mmaproof.designs.design import Design

_PACKAGE = "mmaproof."
_DECIDING = ("signature", "k", "chain", "step", "k_multiple")
"""The fields of a design on which results depend."""


class Keyed:
    """The base of classes whose key consists of the class and all fields."""

    @property
    def key(self) -> str | None:
        """The key as canonical JSON; None if a field is not plain data, because the key would not contain it."""
        return _key(self, lambda kind: True)

    @property
    def own_key(self) -> str | None:
        """The key, if all classes in it are this program's own; None otherwise.

        What another class does is not known from its name, nor from the sources of this program.
        """
        return _key(self, lambda kind: kind.__module__.startswith(_PACKAGE))


def _key(keyed: Keyed, allows: Callable[[type], bool]) -> str | None:
    try:
        return json.dumps(_Data(allows).of_keyed(keyed, ()), sort_keys=True, separators=(",", ":"))
    except TypeError:
        return None


@dataclass(frozen=True)
class _Data:
    """Objects as JSON data, of classes that are allowed."""

    allows: Callable[[type], bool]

    def of_keyed(self, keyed: Keyed, around: tuple[Keyed, ...]) -> Any:
        """Return ``keyed`` as data. ``around`` are the objects that hold it, the outermost first."""
        for depth, outer in enumerate(around):
            if outer is keyed:
                return {"around": depth}
        kind = type(keyed)
        held = {n: x for n, x in vars(keyed).items() if not isinstance(getattr(kind, n, None), cached_property)}
        return {self._name(kind): {n: self._plain(x, (*around, keyed)) for n, x in held.items()}}

    def _plain(self, value: object, around: tuple[Keyed, ...]) -> Any:
        """Return a value as JSON data. Raise TypeError if the data would not contain all of it."""
        record: Any
        match value:
            case Enum():
                record = {self._name(type(value)): value.name}
            case None | bool() | int() | float() | str():
                record = value
            case tuple() | list() | range():
                record = [self._plain(x, around) for x in value]
            case dict() if all(type(name) is str for name in value):
                record = {name: self._plain(x, around) for name, x in value.items()}
            case Design():
                held = {n: self._plain(getattr(value, n), around) for n in _DECIDING}
                record = {self._name(type(value)): held}
            case Circuit():
                record = {self._name(type(value)): value.digest}
            case Keyed():
                record = self.of_keyed(value, around)
            case _ if is_dataclass(value) and not isinstance(value, type):
                held = {f.name: self._plain(getattr(value, f.name), around) for f in fields(value)}
                record = {self._name(type(value)): held}
            case _:
                raise TypeError(f"{value!r} is not plain data")
        return record

    def _name(self, kind: type) -> str:
        if not self.allows(kind):
            raise TypeError(f"{kind} is not known by its name")
        return f"{kind.__module__}.{kind.__qualname__}"
