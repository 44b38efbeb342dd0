"""The parameters of a design: every one is defined here and nowhere else.

A parameter's field holds its default, its metadata what it means, where it comes from and which values it takes.
Parsing from text (command line, catalogue file), validation and the tables that people see all read this list.

Points on which publications disagree ("open points") are parameters whose values are named readings. The first
member of a reading's enumeration is reading A, the second B, the third C, and the letters are accepted as text.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, fields
from enum import StrEnum
from typing import Any

from mmaproof.designs.errors import DesignError
from mmaproof.designs.formats import FORMATS, Format


class Alignment(StrEnum):
    """What happens to the bits of an aligned term below the last kept one."""

    TRUNCATE = "truncate"
    """dropped from the magnitude, each term by itself"""
    FLOOR = "floor"
    """each term is rounded towards minus infinity"""
    JAM = "jam"
    """dropped, and the last kept bit is set if any of them was nonzero (round to odd)"""


class ProductExponent(StrEnum):
    """Which exponent a product enters the alignment with."""

    SUMMED = "summed"
    """Exp(a) + Exp(b); the significand lies in [0, 4)"""
    NORMALISED = "normalised"
    """floor(log2|a*b|); the significand lies in [1, 2)"""


class ZeroC(StrEnum):
    """Open point 1: the exponent of c = 0 in e_max."""

    MINUS_126 = "minus-126"
    """reads -126, whatever the format"""
    ABSENT = "absent"
    """takes no part"""
    E_ZERO = "e-zero"
    """reads e_zero"""


class ZeroProduct(StrEnum):
    """Open point 2: the exponent of a product with a zero operand in e_max."""

    OPERAND_MINUS_126 = "operand-minus-126"
    """the zero operand's exponent reads -126 and is added to the other operand's"""
    ABSENT = "absent"
    """takes no part"""
    E_ZERO = "e-zero"
    """the product reads e_zero"""


class SubnormalC(StrEnum):
    """Open point 5: the exponent of a subnormal c."""

    E_MIN = "e-min"
    """that of its format's smallest normal number"""
    NORMALISED = "normalised"
    """that of the value normalised"""


class Overflow(StrEnum):
    """Open point 6: what a truncating conversion returns beyond the largest finite number."""

    INFINITY = "infinity"
    """infinity"""
    LARGEST_FINITE = "largest-finite"
    """the largest finite number of the conversion"""


class NegativeZero(StrEnum):
    """Open point 7: a negative sum that converts to zero."""

    POSITIVE = "positive"
    """gives +0"""
    NEGATIVE = "negative"
    """gives -0"""


class ZeroSum(StrEnum):
    """The sign of a sum that is exactly zero."""

    POSITIVE = "positive"
    """always +0"""
    IEEE = "ieee"
    """-0 if every term is -0, else +0 (IEEE 754, round to nearest)"""


class ChainInfinity(StrEnum):
    """Open point 8: an infinity that an earlier step of a chain produced from finite operands."""

    INFINITE = "infinite"
    """stays an infinity"""
    FINITE = "finite"
    """behaves as the finite number 2**(e_max + 1) of the output format (2**128 for fp32)"""


class NanCode(StrEnum):
    """The pattern of a NaN result."""

    ALL_ONES = "all-ones"
    """every bit but the sign: 0x7fffffff, 0x7fff"""
    QUIET = "quiet"
    """exponent and top fraction bit: 0x7fc00000"""

    def pattern(self, fmt: Format) -> int:
        """Return the code in ``fmt``."""
        return fmt.quiet_nan if self is NanCode.QUIET else (1 << (fmt.bits - 1)) - 1


class Rounding(StrEnum):
    """Rounding of the conversion; truncation of the magnitude is the papers' RZ."""

    RZ = "rz"
    RNE = "rne"


@dataclass(frozen=True, slots=True)
class Conversion:
    """rho: how ``S * 2**e_max`` becomes a number of ``target`` with ``fraction_bits`` of its fraction used."""

    rounding: Rounding
    target: Format
    fraction_bits: int


RHO: dict[str, Conversion] = {
    "rz-fp32": Conversion(Rounding.RZ, FORMATS["fp32"], 23),
    "rz-e8m13": Conversion(Rounding.RZ, FORMATS["fp32"], 13),
    "rne-fp32": Conversion(Rounding.RNE, FORMATS["fp32"], 23),
    "rne-fp16": Conversion(Rounding.RNE, FORMATS["fp16"], 10),
    "rne-fp64": Conversion(Rounding.RNE, FORMATS["fp64"], 52),
}


@dataclass(frozen=True, slots=True)
class IntegerRange:
    """Values of an integer parameter; ``otherwise`` spells the value that is no integer (None in Python)."""

    low: int
    high: int
    otherwise: str | None = None


@dataclass(frozen=True, slots=True)
class Definition:
    """What a parameter means: one line, its source, and the values it takes."""

    meaning: str
    source: str
    values: IntegerRange | type[StrEnum] | tuple[str, ...]

    def allowed(self) -> str:
        """Return the allowed values as a person reads them."""
        match self.values:
            case IntegerRange(low, high, otherwise):
                return f"an integer {low}..{high}" + (f" or {otherwise}" if otherwise else "")
            case tuple():
                return ", ".join(self.values)
            case readings:
                return ", ".join(f"{letter} = {r.value}" for letter, r in zip("ABCDEF", readings, strict=False))


def _parameter(default: Any, values: Any, meaning: str, source: str) -> Any:
    return field(default=default, metadata={"definition": Definition(meaning, source, values)})


_XIE7 = "Xie et al. 2026, algorithm 7"
_POINTS = "publications disagree: open point "


@dataclass(frozen=True)
class Parameters:
    """The numerical behaviour of a unit, apart from its formats and K.

    Raises DesignError where a value is out of range.
    """

    L: int = _parameter(1, IntegerRange(1, 1024), "products fused in one step", _XIE7 + ", L")
    fraction_bits: int = _parameter(
        23, IntegerRange(1, 400), "F: fraction bits kept below 2**e_max after alignment", _XIE7 + ", F"
    )
    rho: str = _parameter(
        "rz-fp32", tuple(RHO), "conversion of the sum to the output format", "Xie et al. 2026, table 2"
    )
    alignment: Alignment = _parameter(
        Alignment.TRUNCATE, Alignment, "what happens to bits below the last kept one", _XIE7 + ", line 10"
    )
    product_exponent: ProductExponent = _parameter(
        ProductExponent.SUMMED,
        ProductExponent,
        "exponent with which a product enters the alignment",
        _XIE7 + ", line 4; normalised: Valpey et al. 2025",
    )
    carry_bits: int | None = _parameter(
        None,
        IntegerRange(0, 64, otherwise="sufficient"),
        "integer bits of the sum above those of one product; the register wraps, 'sufficient' never does",
        _POINTS + "13; Valpey et al. 2025",
    )
    zero_c: ZeroC = _parameter(ZeroC.MINUS_126, ZeroC, "exponent of c = 0 in e_max", _POINTS + "1")
    zero_product: ZeroProduct = _parameter(
        ZeroProduct.OPERAND_MINUS_126, ZeroProduct, "exponent of a zero product in e_max", _POINTS + "2"
    )
    e_zero: int = _parameter(
        -133, IntegerRange(-2000, 2000), "exponent that the readings e-zero use", _POINTS + "1 to 4"
    )
    floor: int | None = _parameter(
        None, IntegerRange(-2000, 2000, otherwise="none"), "least value of e_max", _POINTS + "3 and 4"
    )
    c_subnormal: SubnormalC = _parameter(SubnormalC.E_MIN, SubnormalC, "exponent of a subnormal c", _POINTS + "5")
    overflow: Overflow = _parameter(
        Overflow.INFINITY, Overflow, "result of a truncating conversion that overflows", _POINTS + "6"
    )
    negative_zero: NegativeZero = _parameter(
        NegativeZero.POSITIVE, NegativeZero, "sign of a negative sum that converts to zero", _POINTS + "7"
    )
    chain_infinity: ChainInfinity = _parameter(
        ChainInfinity.INFINITE, ChainInfinity, "an infinity produced inside a chain", _POINTS + "8"
    )
    zero_sum: ZeroSum = _parameter(
        ZeroSum.POSITIVE, ZeroSum, "sign of an exactly zero sum", "Xie et al. 2026; IEEE 754 for FMA chains"
    )
    nan_code: NanCode = _parameter(NanCode.ALL_ONES, NanCode, "pattern of a NaN result", "Xie et al. 2026, section 4.2")

    def __post_init__(self) -> None:
        for f in fields(self):
            _check(f.name, getattr(self, f.name), f.metadata["definition"])

    @property
    def conversion(self) -> Conversion:
        """The conversion that ``rho`` names."""
        return RHO[self.rho]

    def as_text(self) -> dict[str, str]:
        """Return every parameter as the text that ``parse_parameter`` reads."""
        return {f.name: format_parameter(f.name, getattr(self, f.name)) for f in fields(self)}


DEFINITIONS: dict[str, Definition] = {f.name: f.metadata["definition"] for f in fields(Parameters)}


def _check(name: str, value: object, definition: Definition) -> None:
    match definition.values:
        case IntegerRange(low, high, otherwise):
            good = (value is None and otherwise is not None) or (
                isinstance(value, int) and not isinstance(value, bool) and low <= value <= high
            )
        case tuple():
            good = value in definition.values
        case readings:
            good = isinstance(value, readings)
    if not good:
        raise DesignError(f"parameter {name} = {value}: allowed is {definition.allowed()}")


def parse_parameter(name: str, text: str) -> Any:
    """Return the value that ``text`` spells for the parameter ``name``.

    Raises DesignError for an unknown name or a value that is not allowed.
    """
    if name not in DEFINITIONS:
        raise DesignError(f"unknown parameter {name!r}: one of {', '.join(DEFINITIONS)}")
    definition = DEFINITIONS[name]
    text = text.strip()
    value: Any = text
    match definition.values:
        case IntegerRange(_, _, otherwise):
            if text == otherwise:
                value = None
            elif re.fullmatch(r"[+-]?[0-9]{1,9}", text):
                value = int(text)
        case tuple():
            value = text.lower()
        case readings:
            members = list(readings)
            letter = "ABCDEF".find(text) if len(text) == 1 else -1
            if 0 <= letter < len(members):
                value = members[letter]
            elif text.lower() in [m.value for m in members]:
                value = readings(text.lower())
    _check(name, value, definition)
    return value


def format_parameter(name: str, value: object) -> str:
    """Return ``value`` of the parameter ``name`` as the text that ``parse_parameter`` reads."""
    values = DEFINITIONS[name].values
    if value is None and isinstance(values, IntegerRange):
        return str(values.otherwise)
    return str(value)
