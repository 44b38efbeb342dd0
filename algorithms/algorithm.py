"""What an algorithm is: a program that makes ``d = c + sum_k a_k*b_k`` of fp32 numbers with a narrower unit."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from enum import StrEnum
from typing import Any, ClassVar, Protocol, Self

from mmaproof.algorithms.arithmetic import Arithmetic
from mmaproof.algorithms.numbers import Number
from mmaproof.designs.design import Design
from mmaproof.designs.errors import DesignError
from mmaproof.designs.formats import FORMATS, Format
from mmaproof.smt.algebra.protocol import D, T

OPERANDS = FORMATS["fp32"]
"""What every algorithm takes and returns."""


@dataclass(frozen=True, slots=True)
class Choice:
    """A parameter of algorithms: what it means, and how its values are spelled."""

    meaning: str
    values: type[StrEnum] | range | type[Spelled]

    def allowed(self) -> str:
        """Return the allowed values as a person reads them."""
        if isinstance(self.values, range):
            return f"an integer {self.values.start}..{self.values.stop - 1}"
        if issubclass(self.values, StrEnum):
            return ", ".join(self.values)
        return self.values.ALLOWED

    def parse(self, text: str) -> Any:
        """Return the value that ``text`` spells; ValueError where it spells none."""
        if isinstance(self.values, range):
            value = int(text)
            if value not in self.values:
                raise ValueError(text)
            return value
        return self.values(text) if issubclass(self.values, StrEnum) else self.values.parse(text)


class Spelled(ABC):
    """A value of a parameter that is a text of its own."""

    ALLOWED: str

    @classmethod
    @abstractmethod
    def parse(cls, text: str) -> Self:
        """Return the value that ``text`` spells; ValueError where it spells none."""


def parameter(default: Any, values: type[StrEnum] | range | type[Spelled], meaning: str) -> Any:
    """Return the field of a parameter."""
    return field(default=default, metadata={"choice": Choice(meaning, values)})


class Program(Protocol):
    """What computes ``d = c + sum_k a_k*b_k`` with a unit: an algorithm, or a plan."""

    @property
    def name(self) -> str:
        """The name, with parameters."""

    @property
    def interface(self) -> tuple[Format, Format, Format, Format]:
        """The formats of a, b, c and d."""

    def check_length(self, unit: Design, k: int, /) -> None:
        """Raise DesignError where so many elements do not fit."""

    def shortest_k(self, unit: Design, /) -> int:
        """Return the K for which questions are asked unless another one is given."""

    def require(self, unit: Design, /) -> None:
        """Raise DesignError where the program does not run on ``unit``."""

    def run(
        self,
        arithmetic: Arithmetic[D, T],
        unit: Design,
        a: Sequence[Number[D]],
        b: Sequence[Number[D]],
        c: Number[D],
        /,
    ) -> Number[D]:
        """Return d."""


@dataclass(frozen=True, kw_only=True)
class Algorithm(ABC):
    """An algorithm with its parameters; ``source`` says where it is published, ``what`` describes it in a few words."""

    finite_only: ClassVar[bool] = False
    """whether infinities and NaNs among the operands have no meaning"""

    base_name: str
    what: str
    source: str
    changed: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return f"<{self.name}>"

    @classmethod
    def choices(cls) -> dict[str, Choice]:
        """Return the parameters by name."""
        return {f.name: f.metadata["choice"] for f in fields(cls) if f.metadata}

    @property
    def name(self) -> str:
        """Name, with the parameters that were changed."""
        if not self.changed:
            return self.base_name
        return f"{self.base_name}@" + ",".join(f"{n}={getattr(self, n)}" for n in self.changed)

    def parameters(self) -> Mapping[str, str]:
        """Return every parameter with its value as text."""
        return {n: str(getattr(self, n)) for n in self.choices()}

    def change(self, settings: Mapping[str, str]) -> Self:
        """Return the algorithm with parameters changed, given as text. DesignError for one that is not allowed."""
        choices = self.choices()
        values = {}
        for name, text in settings.items():
            if name not in choices:
                raise DesignError(f"{self.base_name} has no parameter {name!r}: one of {', '.join(choices)}")
            try:
                values[name] = choices[name].parse(text)
            except ValueError:
                raise DesignError(
                    f"{self.base_name}: {name} = {text!r} is not allowed: {choices[name].allowed()}"
                ) from None
        changed = tuple(n for n in choices if n in self.changed or n in values)
        found = replace(self, changed=changed, **values)
        for name in values:
            reason = found.has_no_effect(name)
            if reason is not None:
                raise DesignError(f"{self.base_name}: {name} has no effect {reason}")
        return found

    def has_no_effect(self, name: str) -> str | None:
        """Return why a parameter has no effect beside the others, or None if it has one."""
        return None

    @property
    def interface(self) -> tuple[Format, Format, Format, Format]:
        """The formats of a, b, c and d."""
        return (OPERANDS,) * 4

    def check_length(self, unit: Design, k: int) -> None:
        """Raise DesignError where the algorithm does not take so many elements on ``unit``."""
        unit.padded_length(k)

    def shortest_k(self, unit: Design) -> int:
        """Return the K for which questions are asked unless another one is given."""
        return unit.k

    def require(self, unit: Design) -> None:
        """Raise DesignError where the algorithm does not run on ``unit``."""
        reason = self.why_not(unit)
        if reason is not None:
            raise DesignError(f"{self.name} does not run on {unit.name}: {reason}")

    @abstractmethod
    def why_not(self, unit: Design) -> str | None:
        """Return why the algorithm does not run on ``unit``, or None if it does."""

    @abstractmethod
    def words(
        self, arithmetic: Arithmetic[D, T], unit: Design, operand: str, xs: Sequence[Number[D]]
    ) -> list[list[Number[D]]]:
        """Return what an operand is split into: for each word, its element for each k.

        ``operand`` is ``a`` or ``b``. ``xs`` is one row of the first matrix or one column of the second. The result
        depends on nothing else, so it serves for every element of a row or a column of the product.
        """

    @abstractmethod
    def accumulate(
        self,
        arithmetic: Arithmetic[D, T],
        unit: Design,
        a: Sequence[Sequence[Number[D]]],
        b: Sequence[Sequence[Number[D]]],
        c: Number[D],
    ) -> Number[D]:
        """Return d, an fp32 number, from the words of a row and of a column."""

    def run(
        self, arithmetic: Arithmetic[D, T], unit: Design, a: Sequence[Number[D]], b: Sequence[Number[D]], c: Number[D]
    ) -> Number[D]:
        """Return ``c + sum_k a[k]*b[k]`` as the algorithm computes it with ``unit``."""
        first, second = (self.words(arithmetic, unit, n, x) for n, x in (("a", a), ("b", b)))
        return self.accumulate(arithmetic, unit, first, second, c)
