"""The space in which a unit is searched: an interface, and the values that each parameter may have.

How a unit computes, apart from its formats and K: what an identification looks for.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cache, cached_property
from pathlib import Path
from typing import Any

from mmaproof.designs.catalogue import load_catalogue
from mmaproof.designs.conversions import conversions_to
from mmaproof.designs.design import Design
from mmaproof.designs.errors import DesignError, InputError
from mmaproof.designs.files import read_toml
from mmaproof.designs.formats import Format
from mmaproof.designs.parameters import (
    DEFINITIONS,
    Chain,
    complete_settings,
    compose,
    format_parameter,
    parse_parameter,
    settings_of,
)
from mmaproof.designs.profiles import load_disputes
from mmaproof.designs.readings import CONSECUTIVE, KOrder
from mmaproof.designs.signature import Signature
from mmaproof.designs.steps import Step
from mmaproof.designs.steps.step import IntegerRange
from mmaproof.smt.semantics.terms import ZERO_EXPONENT


@dataclass(frozen=True)
class Behaviour:
    """A chain and its step. Behaviours are equal where every parameter that has an effect is."""

    chain: Chain
    step: Step

    @classmethod
    def of(cls, design: Design, k: int | None = None) -> Behaviour:
        """Return the behaviour of a design, at length ``k`` where one is given."""
        found = cls(design.chain, design.step)
        return found if k is None else found.at_length(k)

    @cached_property
    def settings(self) -> Mapping[str, Any]:
        """The values of the parameters that have an effect, by name."""
        return settings_of(self.chain, self.step)

    @cached_property
    def _hash(self) -> int:
        return hash((self.chain, self.step))

    def __hash__(self) -> int:
        # behaviours are looked up very often
        return self._hash

    def __getitem__(self, name: str) -> Any:
        """Return the value of a parameter, its default where it has no effect."""
        return self.settings[name] if name in self.settings else DEFINITIONS[name].default

    def change(self, **changes: Any) -> Behaviour:
        """Return the behaviour with parameters changed; those that come into effect by that are at their defaults.

        Raises DesignError for a value that is not allowed.
        """
        return Behaviour(*compose({**self.settings, **changes}))

    def at_length(self, k: int) -> Behaviour:
        """Return what means the same for dot products of ``k``: in one step there is no order."""
        if k != self.step.L or self.chain.k_order == CONSECUTIVE:
            return self
        return replace(self, chain=replace(self.chain, k_order=CONSECUTIVE))

    def as_text(self) -> dict[str, str]:
        """Return every parameter as text, those without an effect at their defaults."""
        return {name: format_parameter(name, self[name]) for name in DEFINITIONS}


@dataclass(frozen=True)
class Axes(Mapping[str, tuple[Any, ...]]):
    """parameter -> the values that are tried by themselves.

    Parameters of ``ranges`` may have any integer of a range besides these. Such values are tried where ladders point at
    them, and next to the value that a design has.
    """

    values_of: Mapping[str, tuple[Any, ...]]
    ranges: Mapping[str, range]

    def __getitem__(self, name: str) -> tuple[Any, ...]:
        """Return the values of a parameter that are tried by themselves."""
        return self.values_of[name]

    def __iter__(self) -> Iterator[str]:
        """Iterate over the names."""
        return iter(self.values_of)

    def __len__(self) -> int:
        """Return the number of parameters."""
        return len(self.values_of)

    def allows(self, name: str, value: Any) -> bool:
        """Return whether a parameter may have a value."""
        return value in self[name] or (isinstance(value, int) and value in self.ranges.get(name, ()))

    def near(self, name: str, value: Any) -> tuple[Any, ...]:
        """Return the values of a parameter that are tried, where it is ``value`` now."""
        listed, held = self[name], self.ranges.get(name, range(0))
        if isinstance(value, bool) or not isinstance(value, int):
            return listed
        return listed + tuple(x for x in range(value - 1, value + 2) if x in held and x not in listed)


ORDERS = ("consecutive", "reversed", "mod2:0/1", "mod2:1/0", "mod4:01/23", "mod4:23/01", "mod4:02/13", "mod4:0/1/2/3")
_SAME_RESULTS = ("adder", "comparator")
"""Parameters that change how a unit is built and not what it returns."""

_RANGES: Mapping[str, tuple[int | None, ...]] = {
    "carry_bits": (None, *range(6)),
    "low_bits": (None, *range(4, 13)),
    "floor": (None, -126),
    "c_extra_bits": tuple(range(5)),
    "product_bits": (None, 25),
    "dropped_bits": (0, 2),
    "e_zero": (-126,),
    "product_limit": (None, 128),
    "intermediate_bits": (None, 16),
}
"""What an integer parameter is tried to be, besides what the catalogue or a profile says of some unit."""

GROUPS = (
    ("L", "k_order"),
    ("summation", "first", "truncates", "normalises"),
    ("summation", "chain_terms", "complex_part"),
    ("join", "grouping", "join_rounding"),
    ("grouping", "alignment", "small_c"),
    ("fraction_bits", "alignment"),
    ("alignment", "c_extra_bits"),
    ("rho", "product_exponent"),
    ("late_bits", "late_alignment"),
    ("late_rounding", "far_c"),
    ("group_size", "zero_group", "group_e_zero"),
    ("widening", "low_bits"),
    ("low_bits", "middle_bits"),
    ("subnormals", "flushed_sign", "flushed_result", "zero_product_sign", "minus_zero", "tininess"),
    ("zero_c", "zero_product", "e_zero"),
    ("floor",),
    ("c_subnormal", "negative_zero", "zero_sum"),
    ("overflow", "chain_infinity"),
    ("out_of_range",),
    ("carry_bits",),
    ("pair_bits", "e_zero"),
    ("sticky", "implicit_ones"),
    ("fidelity_phase",),
    ("product_bits", "dropped_bits"),
    ("product_limit", "product_infinity", "product_range"),
    ("product_shift",),
    ("integer_overflow", "intermediate_bits", "element_product"),
    ("nan_code",),
)
"""Parameters that are varied together, because one may hide another."""

MAKE_UP = (("summation", "zero_c", "zero_product"),)
"""Parameters that compensate each other: a fused sum with other readings of zeros may equal a sequential sum."""

STRUCTURE = (
    *(
        "L",
        "k_order",
        "summation",
        "join",
        "grouping",
        "widening",
        "fraction_bits",
        "alignment",
        "product_exponent",
        "rho",
    ),
    "late_bits",
)
"""Parameters of which any two may hide each other: they are varied in pairs where groups lead no further."""


@dataclass(frozen=True)
class Interface:
    """Signature and length of a unit: what can be asked of it without knowing what it is."""

    signature: Signature
    k: int

    @classmethod
    def of(cls, design: Design) -> Interface:
        """Return the interface of a design, at its own K."""
        return cls(design.signature, design.k)

    @classmethod
    def parse(cls, text: str, k: int) -> Interface:
        """Return the interface of length ``k`` whose formats ``text`` spells; see ``Signature.parse``."""
        return cls(Signature.parse(text), k)

    def __str__(self) -> str:
        return self.signature.interface

    def design(self, behaviour: Behaviour) -> Design:
        """Return the design of this interface that behaves so; DesignError where that does not fit it."""
        return Design(
            architecture="identified",
            instruction=str(self),
            family="any",
            signature=self.signature,
            m=1,
            n=1,
            k=self.k,
            chain=behaviour.chain,
            step=behaviour.step,
            source="",
        )

    def takes(self, design: Design) -> bool:
        """Return whether a design has this signature, and runs this length in whole instructions."""
        return design.signature == self.signature and self.k % design.k == 0


def default_axes(interface: Interface) -> Axes:
    """Return the values that each parameter may have: all readings; of integers ranges, and what any known unit has."""
    d = interface.signature.d
    axes: dict[str, tuple[Any, ...]] = {}
    for name, definition in DEFINITIONS.items():
        if name in _SAME_RESULTS:
            continue
        match definition.values:
            case IntegerRange():
                listed = (*_RANGES.get(name, ()), *_known_values(d)[name], definition.default)
                axes[name] = tuple(dict.fromkeys(listed))
            case tuple():
                axes[name] = conversions_to(d)
            case kind if issubclass(kind, KOrder):
                axes[name] = tuple(map(KOrder, ORDERS))
            case readings if issubclass(readings, StrEnum):
                axes[name] = tuple(x for x in readings if not _is_other_word(interface, name, x))
            case other:
                raise TypeError(f"{name}: no values of {other} are known")
    divisors = tuple(x for x in range(1, interface.k + 1) if interface.k % x == 0)
    axes |= {"L": divisors, "group_size": (None, *(x for x in divisors if interface.signature.block))}
    return Axes(axes, {} if d.is_integer else _ranges(interface))


def _ranges(interface: Interface) -> dict[str, range]:
    """Return the integers that a parameter may have where some of them are not tried by themselves.

    They are those that make a difference for some operands, and more: of the exponents those of all terms, and as many
    above as a term keeps bits; of fraction bits the largest distance between terms.
    """
    a, b, c, d, *scale = (*interface.signature.formats, *filter(None, [interface.signature.scale]))
    low, high = a.e_min + b.e_min + 2 * sum(f.e_min for f in scale), a.e_max + b.e_max + 2 * sum(f.e_max for f in scale)
    lowest = min(low, c.e_min - c.fraction_bits, d.e_min - d.fraction_bits)
    highest = max(high, c.e_max, d.e_max) + 1
    exponents, places = range(lowest - 1, highest + 64), range(1, highest - lowest + 2 * d.fraction_bits)
    return {
        name: range(max(wanted.start, limits.low), min(wanted.stop, limits.high + 1))
        for name, wanted in {
            **dict.fromkeys(("floor", "e_zero", "group_e_zero"), exponents),
            **dict.fromkeys(("fraction_bits", "late_bits"), places),
            "product_limit": range(high + 3),
            "product_shift": range(-1000, 1001),
        }.items()
        if isinstance(limits := DEFINITIONS[name].values, IntegerRange)
    }


def _is_other_word(interface: Interface, name: str, reading: StrEnum) -> bool:
    """Return whether a reading means here what the first one does: zeros read e_min, which is -126 in every format."""
    a, b, c, d = interface.signature.formats
    read_by = {"zero_c": (c, d), "zero_product": (a, b)}.get(name, ())
    return bool(reading == "natural" and read_by and all(f.e_min == ZERO_EXPONENT for f in read_by))


@cache
def _known_values(d: Format) -> Mapping[str, tuple[int | None, ...]]:
    """Return what units of the catalogue with this format of d have for each integer parameter, or profiles set."""
    designs = [x for x in load_catalogue().designs.values() if x.d_format is d]
    held = [complete_settings(*x) for x in {(x.chain, x.step) for x in designs}]
    held += load_disputes().settings_of(designs)
    integers = (name for name, definition in DEFINITIONS.items() if isinstance(definition.values, IntegerRange))
    values = {name: {x[name] for x in held if name in x} for name in integers}
    return {name: tuple(sorted(x, key=lambda v: (v is not None, v or 0))) for name, x in values.items()}


def read_axes(path: Path, interface: Interface) -> Axes:
    """Return the default space with the parameters that a TOML file names restricted to the values it lists.

    Raises InputError, with the parameter, where the file is malformed.
    """
    return restricted(interface, read_toml(path), str(path))


def restricted(interface: Interface, table: Mapping[str, Any], whence: str) -> Axes:
    """Return the default space with the parameters of ``table`` restricted to the values that it lists.

    Raises InputError, with ``whence`` and the parameter, for an unknown one and for values that it may not have.
    """
    default = default_axes(interface)
    axes, ranges = dict(default), dict(default.ranges)
    for name, values in table.items():
        if name not in axes:
            raise InputError(f"{whence}: unknown parameter {name!r}: one of {', '.join(axes)}")
        if not isinstance(values, list | tuple) or not values:
            raise InputError(f"{whence}: {name} is not a list of values")
        try:
            axes[name] = tuple(None if value is None else parse_parameter(name, str(value)) for value in values)
            for value in axes[name]:
                DEFINITIONS[name].check(name, value)
        except DesignError as error:
            raise InputError(f"{whence}: {error}") from error
        ranges.pop(name, None)
    return Axes(axes, ranges)


def variants(behaviour: Behaviour, names: tuple[str, ...], axes: Axes, interface: Interface) -> Iterator[Behaviour]:
    """Yield every valid setting of the parameters ``names``, the others as they are, ``behaviour`` itself left out."""
    seen = {behaviour}
    for values in itertools.product(*(axes.near(name, behaviour.settings.get(name)) for name in names)):
        found = behaviour.change(**dict(zip(names, values, strict=True))).at_length(interface.k)
        if found not in seen:
            seen.add(found)
            try:
                interface.design(found)
            except DesignError:
                continue
            yield found


def size(axes: Axes, behaviour: Behaviour) -> int:
    """Return the number of settings of those parameters that have an effect besides those of ``behaviour``."""
    return math.prod(_count(axes, name) for name in axes if name in behaviour.settings)


def _count(axes: Axes, name: str) -> int:
    return len({*axes[name], *axes.ranges.get(name, ())})
