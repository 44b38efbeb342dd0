"""The parameters of designs by name: how they are parsed and printed, and which records they make.

The definitions are in the records of ``designs/steps``. The record of the chain of steps is here, with the two
parameters that choose a record. The command line, the catalogue file and the printed tables all use this module.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Self

from mmaproof.designs.errors import DesignError
from mmaproof.designs.readings import CONSECUTIVE, ChainInfinity, Join, KOrder, Summation
from mmaproof.designs.signature import Signature
from mmaproof.designs.steps import STEPS, RoundedStep, Step
from mmaproof.designs.steps.aligned import POINTS
from mmaproof.designs.steps.step import LETTERS, Definition, IntegerRange, Record, choose, parameter


@dataclass(frozen=True)
class Chain(Record):
    """The order in which k enters the steps, and the c that each step takes.

    The first step takes c, and each later step takes the d of the step before it. With ``adds_c_once`` the first step
    takes +0, and c is added to the last d, rounded to nearest.
    """

    k_order: KOrder = parameter(CONSECUTIVE, KOrder, "order in which products enter the steps", "reference recordings")
    chain_infinity: ChainInfinity = parameter(
        ChainInfinity.INFINITE, ChainInfinity, "an infinity produced inside a chain", POINTS + "8"
    )
    adds_c_once: bool = False
    """whether c is added once, after the last step of an instruction"""

    @property
    def keeps_infinities(self) -> bool:
        """Whether the next step reads an infinity as an infinity, even if it came from finite operands."""
        return self.chain_infinity is ChainInfinity.INFINITE

    @classmethod
    def of(cls, settings: Mapping[str, Any], step: Step) -> Self:
        """Return the chain of ``step`` with the values of ``settings``, which must name every parameter."""
        infinity = settings["chain_infinity"] if step.hands_on_overflow else ChainInfinity.INFINITE
        once = settings["join"] is Join.IEEE_ONCE and step.can_start_at_zero
        return cls(settings["k_order"], infinity, once)

    def settings(self) -> dict[str, Any]:
        """Return the values of the chain's parameters by name."""
        return super().settings() | ({"join": Join.IEEE_ONCE} if self.adds_c_once else {})

    def misfits(self, signature: Signature, step: Step) -> Iterator[tuple[str, str]]:
        """Yield what does not fit the signature or the step: the field of a catalogue row, and the problem."""
        if self.adds_c_once and not step.can_start_at_zero:
            yield "join", f"join = {Join.IEEE_ONCE} is of steps in which c is a term of the sum"
        if self.chain_infinity is not ChainInfinity.INFINITE and not step.hands_on_overflow:
            yield "chain_infinity", f"chain_infinity = {self.chain_infinity} has no effect with this kind of step"
        if self.adds_c_once and signature.c is not signature.d:
            yield "join", f"join = {Join.IEEE_ONCE} adds c in {signature.d.name}, and c is {signature.c.name}"


_CHOICES = {
    "summation": Definition(
        "how the terms of a step are added", "Xie et al. 2026, section 4.1", Summation, Summation.FUSED
    ),
    "join": Definition(
        "how the accumulator joins the products", "Xie et al. 2026, algorithms 7 and 10", Join, Join.FUSED
    ),
}
"""The parameters whose values choose a record."""

_SHOWN_FIRST = [
    "L",
    "fraction_bits",
    "rho",
    "k_order",
    "widening",
    "subnormals",
    "flushed_sign",
    "flushed_result",
    "tininess",
    "summation",
    "adder",
    "comparator",
    "grouping",
    "group_size",
    "low_bits",
    "middle_bits",
    "join",
    "join_rounding",
    "late_bits",
    "late_alignment",
    "late_rounding",
    "far_c",
    "product_limit",
    "product_infinity",
    "product_range",
    "zero_group",
    "group_e_zero",
    "zero_product_sign",
    "minus_zero",
    "first",
    "truncates",
    "normalises",
    "integer_overflow",
    "intermediate_bits",
    "element_product",
    "chain_terms",
    "complex_part",
    "alignment",
    "sticky",
    "product_exponent",
    "product_shift",
    "c_extra_bits",
    "small_c",
    "carry_bits",
    "zero_c",
    "zero_product",
    "e_zero",
    "floor",
    "c_subnormal",
    "overflow",
    "out_of_range",
    "negative_zero",
    "chain_infinity",
    "zero_sum",
    "nan_code",
]
"""The order of parameters in tables and in the names of designs. Any others follow."""


def _definitions() -> dict[str, Definition]:
    # if several kinds of steps have a parameter, the definition of rounded steps says the most
    found = dict(_CHOICES)
    kinds: tuple[type[Record], ...] = (RoundedStep, *STEPS, Chain)
    for kind in kinds:
        for name, definition in kind.definitions().items():
            found.setdefault(name, definition)
    return {name: found[name] for name in dict.fromkeys((*_SHOWN_FIRST, *found))}


DEFINITIONS: Mapping[str, Definition] = _definitions()
"""Every parameter by name."""

_DEFAULTS = {name: definition.default for name, definition in DEFINITIONS.items()}


def compose(settings: Mapping[str, Any]) -> tuple[Chain, Step]:
    """Return the chain and the step that ``settings`` describe. All other parameters have their defaults.

    Raises DesignError for an unknown parameter and for a value that is not allowed.
    """
    for name, value in settings.items():
        definition(name).check(name, value)
    complete = _DEFAULTS | dict(settings)
    step = choose(STEPS, complete).read(complete)
    return Chain.of(complete, step), step


def settings_of(chain: Chain, step: Step) -> dict[str, Any]:
    """Return the values of the parameters that have an effect, by name."""
    found = step.settings() | chain.settings()
    if not step.hands_on_overflow:
        del found["chain_infinity"]
    return {name: found[name] for name in DEFINITIONS if name in found}


def complete_settings(chain: Chain, step: Step) -> dict[str, Any]:
    """Return the values of all parameters by name.

    A parameter without an effect has the value that the step implies, or else its default. Raises DesignError for a
    step that no parameters describe.
    """
    if not step.is_parametric:
        raise DesignError(f"a {type(step).__name__} has no parameters: what it computes is given as a circuit")
    return _DEFAULTS | dict(step.implies) | settings_of(chain, step)


def definition(name: str) -> Definition:
    """Return the definition of the parameter ``name``. Raises DesignError if there is none."""
    if name not in DEFINITIONS:
        if name in ("K", "k"):
            raise DesignError(
                f"{name} is the length of a dot product: --k 4, for example; L=4 sets how many products a step adds"
            )
        raise DesignError(f"unknown parameter {name!r}: one of {', '.join(DEFINITIONS)}")
    return DEFINITIONS[name]


def parse_parameter(name: str, text: str) -> Any:
    """Return the value of the parameter ``name`` that ``text`` spells.

    Raises DesignError for an unknown name or a value that is not allowed.
    """
    found = definition(name)
    text = text.strip()
    value: Any = text
    match found.values:
        case IntegerRange(_, _, otherwise):
            if text == otherwise:
                value = None
            elif re.fullmatch(r"[+-]?[0-9]{1,9}", text):
                value = int(text)
        case tuple():
            value = text.lower()
        case readings if issubclass(readings, StrEnum):
            members = list(readings)
            letter = LETTERS.find(text) if len(text) == 1 else -1
            if 0 <= letter < len(members):
                value = members[letter]
            elif text.lower() in [m.value for m in members]:
                value = readings(text.lower())
        case _:
            value = KOrder(text.lower())
    found.check(name, value)
    return value


def format_parameter(name: str, value: object) -> str:
    """Return ``value`` of the parameter ``name`` as the text that ``parse_parameter`` reads."""
    values = DEFINITIONS[name].values
    if value is None and isinstance(values, IntegerRange):
        return str(values.otherwise)
    return str(value)


def format_settings(settings: Mapping[str, Any], names: Iterable[str] | None = None) -> dict[str, str]:
    """Return all settings, or those of ``names``, as texts that ``parse_parameter`` reads."""
    return {name: format_parameter(name, settings[name]) for name in (settings if names is None else names)}
