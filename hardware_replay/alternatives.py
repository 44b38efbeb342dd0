"""The other values that a parameter of a design might have: what a recording must exclude to decide it.

Of an enumeration these are all other readings, and of integers some in the neighbourhood, or, where there is none,
whatever other rows of the catalogue and their profiles have. The other parameters stay as they are.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from typing import Any

from mmaproof.designs.catalogue import load_catalogue
from mmaproof.designs.design import Design
from mmaproof.designs.errors import DesignError
from mmaproof.designs.k_order import KOrder
from mmaproof.designs.levels import STRUCTURE
from mmaproof.designs.parameters import DEFINITIONS, complete_settings, format_parameter
from mmaproof.designs.profiles import load_disputes
from mmaproof.designs.steps.record import IntegerRange
from mmaproof.smt.semantics.widths import sum_widths

DISTANCES = (1, 2, 4, 8, 16, 32)
"""How far from the value of an integer parameter others are tried, in both directions."""

ORDERS = ("consecutive", "reversed", "mod2:0/1", "mod2:1/0", "mod4:01/23", "mod4:23/01", "mod4:02/13", "mod4:0/1/2/3")
"""The orders of k that are tried."""


@dataclass(frozen=True)
class Alternative:
    """Another value of a parameter of ``base``, and the design that has it."""

    parameter: str
    value: Any
    base: Design
    design: Design

    @property
    def text(self) -> str:
        """The value as a person types it."""
        return format_parameter(self.parameter, self.value)


def alternatives(design: Design, parameter: str | None = None) -> Iterator[Alternative]:
    """Yield the other values of each parameter, or of one, with which ``design`` is another valid design.

    A value that makes the same computation is left out, and so is a register that is wide enough.
    """
    for name in design.settings if parameter is None else (parameter,):
        if name in STRUCTURE:
            continue
        for value in candidates(design, name):
            try:
                other = design.change(**{name: value})
            except DesignError:
                continue
            if (other.chain, other.step) == (design.chain, design.step):
                continue
            if name == "carry_bits" and not sum_widths(other).may_wrap:
                continue
            yield Alternative(name, value, design, other)


def candidates(design: Design, name: str) -> tuple[Any, ...]:
    """Return the values of a parameter that are tried besides its own. Not all of them may be valid."""
    held = complete_settings(design.chain, design.step)[name]
    found: tuple[Any, ...]
    match DEFINITIONS[name].values:
        case IntegerRange() if name == "L":
            found = tuple(x for x in range(1, design.k + 1) if design.k % x == 0)
        case IntegerRange(low, high, otherwise):
            if name == "carry_bits":
                near: tuple[int, ...] = tuple(range(low, high + 1))
            elif held is None:
                near = _values_of_others(name)
            else:
                near = tuple(held + sign * x for x in DISTANCES for sign in (-1, 1))
            none = () if otherwise is None else (None,)
            found = (*none, *(x for x in near if low <= x <= high))
        case tuple() as values:
            found = values
        case kind if issubclass(kind, KOrder):
            found = tuple(map(KOrder, ORDERS))
        case readings if issubclass(readings, StrEnum):
            found = tuple(readings)
        case other:
            raise TypeError(f"{name}: no values of {other} are known")
    return tuple(dict.fromkeys(x for x in found if x != held))


@cache
def _values_of_others(name: str) -> tuple[int, ...]:
    """Return what rows of the catalogue, and profiles of them, have for an integer parameter."""
    return tuple(sorted({x[name] for x in _settings_of_others() if x[name] is not None}))


@cache
def _settings_of_others() -> tuple[dict[str, Any], ...]:
    """Return the settings of all rows of the catalogue and of profiles of them."""
    disputes = load_disputes()
    rows = {x.evidence.row: x for x in load_catalogue().designs.values() if x.evidence.like is None}
    designs = [*rows.values(), *(disputes.apply(x, p) for x in rows.values() for p in disputes.profiles)]
    return tuple(complete_settings(*x) for x in {(x.chain, x.step) for x in designs})
