"""What an algorithm is: it makes ``d = c + sum_k a_k*b_k`` of fp32 numbers with a narrower unit.

An algorithm takes the place of the chain of instructions in a plan: it lowers to operations of the plan's schedule.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from enum import StrEnum
from typing import Any, ClassVar, Self

from mmaproof.designs.design import Design
from mmaproof.designs.errors import DesignError
from mmaproof.designs.formats import Format
from mmaproof.gemm.programs.schedule import FP32, Builder

OPERANDS = FP32
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
    def operand_format(self) -> Format:
        """The format of a, b, c and d."""
        return OPERANDS

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
        """Return why a parameter has no effect together with the others, or None if it has one."""
        return None

    def require(self, unit: Design) -> None:
        """Raise DesignError where the algorithm does not run on ``unit``."""
        reason = self.why_not(unit)
        if reason is not None:
            raise DesignError(f"{self.name} does not run on {unit.name}: {reason}")

    @abstractmethod
    def why_not(self, unit: Design) -> str | None:
        """Return why the algorithm does not run on ``unit``, or None if it does."""

    @abstractmethod
    def lower(self, builder: Builder, unit: Design, ks: tuple[int, ...], c: int) -> int:
        """Append the operations that add the products of the elements ``ks`` of both operands to ``c``, with ``unit``.

        ``c`` is the index of a number of ``operand_format``, and so is what is returned. Raises DesignError where
        N elements do not fit.
        """
