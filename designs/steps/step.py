"""What all steps have in common: they turn products and c into one number, and they state what proofs may assume.

Records of parameters. Each field is a parameter with its definition, or a record of further parameters.

A definition gives the meaning of a parameter, its source and the values that it takes. If other values of a record
leave a parameter without an effect, it has its default there. So records that mean the same are equal.
"""

from __future__ import annotations

import string
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from enum import Enum, StrEnum
from functools import cache
from typing import Any, ClassVar, Self, TypeVar

from mmaproof.designs.conversions import RHO, Conversion, OutOfRange, Rounding, Stochastic, WithFloats
from mmaproof.designs.errors import DesignError
from mmaproof.designs.formats import Format
from mmaproof.designs.readings import (
    FlushedResult,
    FlushedSign,
    KOrder,
    NanCode,
    Overflow,
    RangeEnd,
    Subnormals,
    Tininess,
    Widening,
)
from mmaproof.designs.signature import Signature

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
            case WithFloats() as conversions:
                return conversions.text
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
            because = self.values.why_not(value) if isinstance(self.values, WithFloats) else ""
            raise DesignError(f"parameter {name} = {value}: {because}allowed is {self.allowed()}", name)


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


FORMATS_ALONE = frozenset({"a", "b", "c", "d"})
"""The fields of a signature that every step computes with."""

SCALES = frozenset({"scale", "block"})
"""Those that a unit with scales has beside them."""

_CHOOSING = ("summation", "low_bits", "fidelity_phase")
"""The parameters whose values decide whether a step reads scales."""


class Guarantee(Enum):
    """What a proof or a question may assume of a step. A step has the guarantees that it states, and no others."""

    ALIGNED_TERMS = "its products, or groups or parts of them, are terms that are aligned with each other and added"
    ALIGNED_SUMS = (
        "its products, or groups or parts of them, are terms of sums, which are aligned at the largest exponent, "
        "cut and added"
    )
    SINGLE_SUM = "all of these terms and c are added in one such sum, whose value alone is converted"
    CONVERTED_SUM = "what rho converts is the sum of the terms that are aligned last, and it looks at nothing else"
    CONVERTED_VALUE = "rho converts the value of the sum of the terms that are added last, and it looks at nothing else"
    OWN_CUTS = "what is cut off a term depends on that term and on e_max alone"
    C_AS_TERM = "c is aligned with the products, or with sums of them, as one of these is"
    TRUNCATED_TERMS = "its aligned terms are truncated magnitudes"
    JAMMED_TERMS = "its aligned terms are truncated magnitudes whose last kept bit says whether anything was lost"
    TRUNCATES = "what it loses of products, or of partial sums, is dropped from magnitudes and leaves no trace"
    EXACT_SUM = "the sum of its aligned terms is exact: no register wraps"
    SUMMED_EXPONENTS = "the exponent of a product is the sum of the exponents of its factors"
    MOVING_EXPONENTS = "where no operand is zero, the exponent of a term moves with those of its factors, or of c"
    SINGLE_PRODUCTS = "each product is a term of its own"
    FINITE_PRODUCTS = "no product of finite operands is an infinity"
    ABSENT_ZEROS = "a product, group or c that is zero takes no part in e_max"
    NO_FLOOR = "e_max is the exponent of one of its terms"
    UNCHANGED_OPERANDS = "elements and c are used as they are: none is converted, no subnormal one is a zero"
    SUBNORMAL_OPERANDS = "no element and no c that is subnormal becomes a zero"
    SUBNORMAL_RESULTS = "no result that is subnormal becomes a zero"
    CONVERTED_BY_RHO = "its result is converted by rho, or is the sum of c and a number that is"
    POSITIVE_ZERO_SUM = "a sum that is exactly zero is +0"
    ROUNDED_OPERATIONS = "it is made of rounded operations of IEEE 754"
    ROUNDED_LAST_SUM = "its products become a number of the output format, to which c is added as IEEE 754 has it"
    ADDER_TREE = "each product is rounded, then each sum of two neighbours, until one is left, then its sum with c"
    SUM_IN_TURN = "its terms are added one after the other into one accumulator that is aligned once"
    BOUNDED_SUM = (
        "unless it overflows, d is a multiple of any power of two that all of its terms are multiples of, and at most "
        "four times the sum of their magnitudes"
    )
    EXACT_IN_RANGE = "its d is the exact sum wherever that is a number of its output format"
    EXACT_INTEGERS = "its products and their sum with c are exact integers, reduced to the register once"
    WRAPS_MODULO = "its sum is that of the integers modulo a power of two, however its products are grouped"


@dataclass(frozen=True, slots=True)
class RoundedOperations:
    """How many rounded operations of IEEE 754 make one number of the products of a step.

    Each result is the rounded sum of some of the products, and none of them is in two sums of the same operation.
    """

    products: int = 0
    """products that are rounded by themselves"""
    multiply_adds: int = 0
    """products that are added to a number and rounded once with it"""
    additions: int = 0
    """additions of two numbers"""


def stated(facts: Mapping[Guarantee, bool]) -> frozenset[Guarantee]:
    """Return the guarantees whose fact is true."""
    return frozenset(guarantee for guarantee, holds in facts.items() if holds)


@dataclass(frozen=True)
class Step(Record):
    """How L products and c become one number. A subclass holds the parameters of one kind of step.

    The properties of this class tell what a step guarantees. By default it guarantees nothing.
    """

    L: int = parameter(1, IntegerRange(1, 1024), "products fused in one step", "Xie et al. 2026, algorithm 7, L")
    rho: str = parameter(
        "rz-fp32",
        WithFloats(RHO),
        "conversion of the sum to the output format",
        "Xie et al. 2026, table 2; directions of IEEE 754",
    )

    @property
    def conversion(self) -> Conversion:
        """The conversion that ``rho`` names."""
        return RHO[self.rho]

    @property
    def range_end(self) -> OutOfRange | None:
        """What takes the place of an infinity; None where the format of d has infinities, and where nothing says it."""
        return None

    @property
    def projection(self) -> tuple[Rounding | Stochastic, OutOfRange | None] | None:
        """The rounding of an exact sum, and what becomes of one beyond the largest number; None for integers."""
        return None

    @property
    def guarantees(self) -> frozenset[Guarantee]:
        """What proofs and questions about the step may assume. By default it is nothing."""
        return frozenset()

    @property
    def reads(self) -> frozenset[str]:
        """The fields of a signature that it computes with. It refuses a signature that has any other."""
        return FORMATS_ALONE

    @property
    def subnormals(self) -> Subnormals:
        """Which subnormal numbers become zero. Integers have none."""
        return Subnormals.KEPT

    @property
    def kept_bits(self) -> int | None:
        """F: the fraction bits below e_max that a product keeps; None if products are not aligned."""
        return None

    @property
    def group_size(self) -> int | None:
        """The number of products whose exact sum is scaled as one term; None if there are no groups."""
        return None

    @property
    def cut_terms(self) -> int:
        """The most terms, c aside, of which a cut may lose a part by itself."""
        return self.L

    @property
    def multiplied_places(self) -> tuple[tuple[int, int], tuple[int, int]] | None:
        """The first and the last place of the significands of a and of b that are multiplied; None if all are."""
        return None

    @property
    def multiplies_elements(self) -> bool:
        """Whether it adds the products of elements of a and b with the same k, as a matrix product does."""
        return True

    @property
    def product_excess(self) -> int | None:
        """The most by which the exponent of a product exceeds the sum of its factors' exponents; None if not stated.

        The exponent of a factor is read as its format has it: it is at least e_min. That of zero is e_min or -126.
        """
        return None

    def other_exponents(self, *c_formats: Format) -> tuple[int, ...] | None:
        """Return the values of e_max besides -126 and the exponents of products and of a c that is not zero.

        ``c_formats`` are the formats that a c has. None if it is not stated.
        """
        return None

    @property
    def has_scaled_groups(self) -> bool:
        """Whether a term is a group of products whose exponent is that of its scales, whatever the group adds up to."""
        return False

    @property
    def operations(self) -> RoundedOperations | None:
        """The rounded operations of IEEE 754 before c is added in a last one; None if not stated."""
        return None

    @property
    def infinite_from(self) -> int | None:
        """The exponent of the least power of two from which on a product is an infinity; None if not stated.

        It does not exist if the step guarantees that products are finite.
        """
        return None

    @property
    def adds_c_last(self) -> bool:
        """Whether the products become a number first, and c is added to it in an IEEE 754 addition."""
        return False

    @property
    def adds_c_as_rho(self) -> bool:
        """Whether rho rounds the sum with c too, where ``adds_c_last`` holds. It is rounded to nearest otherwise."""
        return False

    @property
    def hands_on_overflow(self) -> bool:
        """Whether its conversion can give an infinity that the next step of a chain may read as a number."""
        return False

    @property
    def hands_on_nans(self) -> bool:
        """Whether the next step of a chain reads a result that is NaN as NaN. Integers have none."""
        return True

    @property
    def clears_minus_zero(self) -> bool:
        """Whether an element that is -0, and such a c where it enters an instruction, reads +0.

        Then the steps of an instruction do not all read their c alike.
        """
        return False

    @property
    def can_start_at_zero(self) -> bool:
        """Whether the first step of a chain can take +0 in place of c, so that c is added after the last step."""
        return False

    @property
    def is_parametric(self) -> bool:
        """Whether its parameters say what it computes, so that they can be changed."""
        return True

    @property
    def content(self) -> str:
        """What it computes besides its parameters, as a text that no other step has; empty where these say all."""
        return ""

    def guarantees_all(self, *wanted: Guarantee) -> bool:
        """Return whether the step states all of these guarantees."""
        return self.guarantees.issuperset(wanted)

    def misfits(self, signature: Signature, k: int) -> Iterator[tuple[str, str]]:
        """Yield what does not fit the signature or K: the field of a catalogue row, and the problem."""
        yield from self.unread(signature)
        if self.conversion.target is not signature.d:
            yield "rho", f"rho = {self.rho} does not convert to its output format {signature.d.name}"
        if k % self.L:
            yield "L_max", f"L = {self.L} does not divide K = {k}: choose a divisor of K"
        block = signature.block
        if block is not None and (block < 1 or k % block or (block % self.L and self.L % block)):
            yield "block", f"blocks of {block} do not divide K = {k} and fit L = {self.L}"
        if block is not None and block % self.L and self.group_size is None:
            yield "block", f"a block of {block} is shorter than a step of L = {self.L} products; set group_size"

    def unread(self, signature: Signature) -> Iterator[tuple[str, str]]:
        """Yield the fields of the signature that it does not read, as ``misfits`` does."""
        for part in fields(signature):
            if part.name not in self.reads and getattr(signature, part.name) is not None:
                set_here = {name: x for name, x in self.settings().items() if name in _CHOOSING and x is not None}
                chosen = ", ".join(f"{name} = {value}" for name, value in set_here.items())
                yield part.name, f"a step with {chosen or type(self).__name__} reads no {part.name}; this unit has one"


def _flushes_operands(step: Any) -> bool:
    return bool(step.subnormals.of_a or step.subnormals.of_b or step.subnormals.of_c)


def _flushes_results(step: Any) -> bool:
    return bool(step.subnormals.of_results)


def _flushes_tiny(step: Any) -> bool:
    # a value that is truncated to one below the smallest normal number is below it in any range of exponents
    return bool(step.subnormals.of_results and not step.conversion.first.rounding.truncates)


@dataclass(frozen=True)
class RoundedStep(Step):
    """A step of floating-point numbers. It has the parameters for reading operands and rounding the result."""

    widening: Widening = parameter(
        Widening.NONE, Widening, "conversion of a and b before they are multiplied", "FP8 mma.sync as recorded"
    )
    subnormals: Subnormals = parameter(
        Subnormals.KEPT,
        Subnormals,
        "subnormal numbers that become zero",
        "Xie et al. 2026, algorithms 1 and 2",
    )
    flushed_sign: FlushedSign = parameter(
        FlushedSign.POSITIVE,
        FlushedSign,
        "zero that a subnormal operand becomes",
        "Xie et al. 2026, algorithm 2; kept: x86 CPUs as run",
        only=_flushes_operands,
    )
    flushed_result: FlushedResult = parameter(
        FlushedResult.KEPT,
        FlushedResult,
        "zero that a subnormal result becomes",
        "Xie et al. 2026, algorithm 2; positive: gfx1151 and gfx1100 as run",
        only=_flushes_results,
    )
    tininess: Tininess = parameter(
        Tininess.ROUNDED,
        Tininess,
        "when a result counts as subnormal and becomes zero",
        "IEEE 754-2019, clause 7.5; unbounded: x86 CPUs as run; exact: Arm, FPCR.FZ",
        only=_flushes_tiny,
    )
    overflow: Overflow = parameter(
        Overflow.INFINITY,
        Overflow,
        "result of a conversion that overflows, where it truncates or rounds to nearest even",
        "publications disagree: open point 6; to nearest: Arm, FPMR.OSM",
        only=lambda step: step.conversion.leaves_overflow_open,
    )
    out_of_range: RangeEnd = parameter(
        RangeEnd.SATURATE,
        RangeEnd,
        "what takes the place of an infinity where the format of d has none",
        "OCP 8-bit floating point 1.0, section 5.2.1; ONNX Cast; IEEE P3109, SatFinite and OvfInf",
        only=lambda step: step.conversion.leaves_range_open,
    )
    nan_code: NanCode = parameter(NanCode.ALL_ONES, NanCode, "pattern of a NaN result", "Xie et al. 2026, section 4.2")

    @property
    def hands_on_nans(self) -> bool:
        """Whether the code of a NaN is a NaN, and not a number."""
        return self.nan_code is not NanCode.LARGEST_FINITE and self.conversion.target.quiet_nan is not None

    @property
    def range_end(self) -> OutOfRange | None:
        """What takes the place of an infinity; None where the format of d has infinities."""
        target = self.conversion.target
        return OutOfRange.parse(self.out_of_range, target) if self.conversion.leaves_range_open else None

    @property
    def projection(self) -> tuple[Rounding | Stochastic, OutOfRange | None]:
        """The rounding of an exact sum, and what becomes of one beyond the largest number."""
        saturates = self.range_end is None and self.overflow is Overflow.LARGEST_FINITE
        target = self.conversion.target
        return self.conversion.rounding, OutOfRange.parse("satpropagate", target) if saturates else self.range_end

    @property
    def about_numbers(self) -> frozenset[Guarantee]:
        """What follows from the parameters of operands and results. Subclasses that obey these state it."""
        flushed = self.subnormals
        kept = not (flushed.of_a or flushed.of_b or flushed.of_c)
        return stated(
            {
                Guarantee.SUBNORMAL_OPERANDS: kept,
                Guarantee.UNCHANGED_OPERANDS: kept and self.widening is Widening.NONE,
                Guarantee.SUBNORMAL_RESULTS: not flushed.of_results,
            }
        )

    @property
    def rounds_near(self) -> bool:
        """Whether rho takes no number to more than twice itself; a direction away from zero does with tiny ones."""
        return self.conversion.rounding in (Rounding.RZ, Rounding.RNE, Rounding.RNA)

    def misfits(self, signature: Signature, k: int) -> Iterator[tuple[str, str]]:
        """Yield what does not fit, as in ``Step``. Operands that cannot be widened are included."""
        yield from super().misfits(signature, k)
        if self.conversion.target.is_integer:
            yield "rho", f"rho = {self.rho} is of integer units"
        lacks = None if self.range_end is None else self.range_end.misfit(self.conversion.target)
        if lacks is not None:
            yield "out_of_range", f"out_of_range = {self.out_of_range}, and {lacks}: set out_of_range=saturate"
        target = self.widening.target
        for name, fmt in (("a", signature.a), ("b", signature.b)):
            if target is not None and not _can_be_widened(fmt, target):
                yield "widening", f"{name} is {fmt.name}, which cannot be widened to {target.name}"


def _can_be_widened(fmt: Format, target: Format) -> bool:
    """Return whether ``target`` holds every number of ``fmt``, and all or none of its subnormals are normal there."""
    if fmt.is_integer or fmt.fraction_bits > target.fraction_bits or fmt.e_max > target.e_max:
        return False
    return fmt.e_min == target.e_min or fmt.e_min - fmt.fraction_bits >= target.e_min
