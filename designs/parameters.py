"""The parameters of a design: every one is defined here and nowhere else.

A parameter's field holds its default, its metadata what it means, where it comes from and which values it takes.
Parsing from text (command line, catalogue file), validation and the tables that people see all read this list.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field, fields
from enum import StrEnum
from typing import Any

from mmaproof.designs.conversions import RHO, Conversion, Rounding
from mmaproof.designs.errors import DesignError
from mmaproof.designs.k_order import CONSECUTIVE, KOrder
from mmaproof.designs.readings import (
    Adder,
    Alignment,
    ChainInfinity,
    Comparator,
    FarC,
    First,
    FlushedSign,
    Grouping,
    IntegerOverflow,
    Join,
    LateRounding,
    NanCode,
    NegativeZero,
    Normalises,
    Overflow,
    ProductExponent,
    ProductInfinity,
    SubnormalC,
    Subnormals,
    Summation,
    Tininess,
    Truncates,
    Widening,
    ZeroC,
    ZeroGroup,
    ZeroProduct,
    ZeroSum,
)


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
    values: IntegerRange | type[StrEnum] | tuple[str, ...] | type[KOrder]
    applies: Callable[[Parameters], bool]
    """whether the parameter has an effect beside the others"""

    def allowed(self) -> str:
        """Return the allowed values as a person reads them."""
        match self.values:
            case IntegerRange(low, high, otherwise):
                return f"an integer {low}..{high}" + (f" or {otherwise}" if otherwise else "")
            case tuple():
                return ", ".join(self.values)
            case readings if issubclass(readings, StrEnum):
                return ", ".join(f"{letter} = {r.value}" for letter, r in zip("ABCDEF", readings, strict=False))
            case _:
                return KOrder.ALLOWED


def _always(p: Parameters) -> bool:
    return True


def _rounded(p: Parameters) -> bool:
    return p.rho != "int32"


def _flushes_operands(p: Parameters) -> bool:
    return _rounded(p) and any((p.subnormals.of_a, p.subnormals.of_b, p.subnormals.of_c))


def _flushes_tiny(p: Parameters) -> bool:
    # what RZ takes below the smallest normal number is below it in any range of exponents
    return _rounded(p) and p.subnormals.of_results and p.conversion.rounding is not Rounding.RZ


def _aligned(p: Parameters) -> bool:
    return _rounded(p) and p.summation is not Summation.PAIRWISE


def _fused(p: Parameters) -> bool:
    return _rounded(p) and p.summation is Summation.FUSED


def _joined_late(p: Parameters) -> bool:
    return _fused(p) and p.join is Join.ROUND_DOWN


def _sequential(p: Parameters) -> bool:
    return p.summation is Summation.SEQUENTIAL


def _grouped(p: Parameters) -> bool:
    return p.group_size is not None


def _parameter(
    default: Any, values: Any, meaning: str, source: str, applies: Callable[[Parameters], bool] = _always
) -> Any:
    return field(default=default, metadata={"definition": Definition(meaning, source, values, applies)})


_XIE7 = "Xie et al. 2026, algorithm 7"
_POINTS = "publications disagree: open point "


@dataclass(frozen=True)
class Parameters:
    """The numerical behaviour of a unit, apart from its formats and K.

    Raises DesignError where a value is out of range.
    """

    L: int = _parameter(1, IntegerRange(1, 1024), "products fused in one step", _XIE7 + ", L")
    fraction_bits: int = _parameter(
        23,
        IntegerRange(1, 5000),
        "F: fraction bits kept below 2**e_max after alignment",
        _XIE7 + ", F",
        _aligned,
    )
    rho: str = _parameter(
        "rz-fp32",
        tuple(RHO),
        "conversion of the sum to the output format",
        "Xie et al. 2026, table 2; directions of IEEE 754",
    )
    k_order: KOrder = _parameter(CONSECUTIVE, KOrder, "order in which products enter the steps", "reference recordings")
    widening: Widening = _parameter(
        Widening.NONE, Widening, "conversion of a and b before they are multiplied", "FP8 mma.sync as recorded"
    )
    subnormals: Subnormals = _parameter(
        Subnormals.KEPT,
        Subnormals,
        "subnormal numbers that become zero",
        "Xie et al. 2026, algorithms 1 and 2",
        _rounded,
    )
    flushed_sign: FlushedSign = _parameter(
        FlushedSign.POSITIVE,
        FlushedSign,
        "zero that a subnormal operand becomes",
        "Xie et al. 2026, algorithm 2; kept: x86 CPUs as run",
        _flushes_operands,
    )
    tininess: Tininess = _parameter(
        Tininess.ROUNDED,
        Tininess,
        "when a result counts as subnormal and becomes zero",
        "IEEE 754-2019, clause 7.5; unbounded: x86 CPUs as run",
        _flushes_tiny,
    )
    summation: Summation = _parameter(
        Summation.FUSED, Summation, "how the terms of a step are added", "Xie et al. 2026, section 4.1", _rounded
    )
    adder: Adder = _parameter(
        Adder.SEQUENCE,
        Adder,
        "how the adder of the aligned terms is built (the sum is the same)",
        "RTL practice; proved equal by smt/proving/laws.py",
        _fused,
    )
    comparator: Comparator = _parameter(
        Comparator.TREE,
        Comparator,
        "how the largest exponent is found (it is the same)",
        "RTL practice; proved equal by smt/proving/laws.py",
        _fused,
    )
    grouping: Grouping = _parameter(
        Grouping.ALL,
        Grouping,
        "products that are aligned with each other",
        "Xie et al. 2026, algorithm 11",
        _fused,
    )
    group_size: int | None = _parameter(
        None,
        IntegerRange(1, 1024, otherwise="none"),
        "G: products whose exact sum is scaled as one term",
        "Xie et al. 2026, algorithm 9",
        _fused,
    )
    join: Join = _parameter(
        Join.FUSED,
        Join,
        "how the accumulator joins the products",
        "Xie et al. 2026, algorithms 7 and 10",
        _fused,
    )
    late_bits: int = _parameter(
        31,
        IntegerRange(1, 400),
        "F2: fraction bits of the products' sum where c joins rounded down",
        "algorithm 10",
        _joined_late,
    )
    late_alignment: Alignment = _parameter(
        Alignment.FLOOR,
        Alignment,
        "what happens to bits below the last kept one where c joins rounded down",
        "algorithm 10; truncated: the hypothetical instruction of Xie et al. 2026, figure 3",
        _joined_late,
    )
    late_rounding: LateRounding = _parameter(
        LateRounding.ONCE,
        LateRounding,
        "final rounding where c joins rounded down",
        _POINTS + "11",
        lambda p: _joined_late(p) and p.late_alignment is Alignment.FLOOR,
    )
    far_c: FarC = _parameter(
        FarC.ROUNDED, FarC, "a far smaller c that joins rounded down", "algorithm 11, line 24", _joined_late
    )
    product_limit: int | None = _parameter(
        None,
        IntegerRange(0, 4096, otherwise="none"),
        "a product of magnitude 2**product_limit or more is an infinity",
        "Xie et al. 2026, section 4.2",
        _aligned,
    )
    product_infinity: ProductInfinity = _parameter(
        ProductInfinity.NAN,
        ProductInfinity,
        "such a product against an infinite c of the other sign",
        _POINTS + "12",
        lambda p: p.product_limit is not None,
    )
    zero_group: ZeroGroup = _parameter(
        ZeroGroup.SCALES,
        ZeroGroup,
        "exponent of a scaled group that is zero",
        _POINTS + "15",
        _grouped,
    )
    group_e_zero: int = _parameter(
        -139,
        IntegerRange(-2000, 2000),
        "exponent that the reading e-zero of zero_group uses",
        _POINTS + "15",
        lambda p: p.zero_group is ZeroGroup.E_ZERO,
    )
    first: First = _parameter(
        First.EXPONENT, First, "term a sequential sum starts with", "Fasi et al. 2021", _sequential
    )
    truncates: Truncates = _parameter(
        Truncates.ADDEND, Truncates, "what a sequential sum cuts", "Fasi et al. 2021", _sequential
    )
    normalises: Normalises = _parameter(
        Normalises.NO,
        Normalises,
        "whether a sequential sum normalises",
        "Fasi et al. 2021",
        _sequential,
    )
    integer_overflow: IntegerOverflow = _parameter(
        IntegerOverflow.WRAP,
        IntegerOverflow,
        "overflow of an integer register",
        "PTX ISA, .satfinite",
        lambda p: p.rho == "int32",
    )
    alignment: Alignment = _parameter(
        Alignment.TRUNCATE,
        Alignment,
        "what happens to bits below the last kept one",
        _XIE7 + ", line 10",
        _fused,
    )
    product_exponent: ProductExponent = _parameter(
        ProductExponent.SUMMED,
        ProductExponent,
        "exponent with which a product enters the alignment",
        _XIE7 + ", line 4; normalised: Valpey et al. 2025",
        _aligned,
    )
    carry_bits: int | None = _parameter(
        None,
        IntegerRange(0, 64, otherwise="sufficient"),
        "integer bits of the sum above those of one product; the register wraps, 'sufficient' never does",
        _POINTS + "13; Valpey et al. 2025",
        _fused,
    )
    zero_c: ZeroC = _parameter(ZeroC.MINUS_126, ZeroC, "exponent of c = 0 in e_max", _POINTS + "1", _aligned)
    zero_product: ZeroProduct = _parameter(
        ZeroProduct.OPERAND_MINUS_126,
        ZeroProduct,
        "exponent of a zero product in e_max",
        _POINTS + "2",
        lambda p: _aligned(p) and p.group_size is None,
    )
    e_zero: int = _parameter(
        -133,
        IntegerRange(-2000, 2000),
        "exponent that the readings e-zero use",
        _POINTS + "1 to 4",
        lambda p: p.zero_c is ZeroC.E_ZERO or p.zero_product is ZeroProduct.E_ZERO,
    )
    floor: int | None = _parameter(
        None,
        IntegerRange(-2000, 2000, otherwise="none"),
        "least value of e_max",
        _POINTS + "3 and 4",
        _fused,
    )
    c_subnormal: SubnormalC = _parameter(
        SubnormalC.E_MIN, SubnormalC, "exponent of a subnormal c", _POINTS + "5", _aligned
    )
    overflow: Overflow = _parameter(
        Overflow.INFINITY,
        Overflow,
        "result of a truncating conversion that overflows",
        _POINTS + "6",
        lambda p: _rounded(p) and p.conversion.rounding is Rounding.RZ,
    )
    negative_zero: NegativeZero = _parameter(
        NegativeZero.POSITIVE,
        NegativeZero,
        "sign of a negative sum that converts to zero",
        _POINTS + "7",
        _aligned,
    )
    chain_infinity: ChainInfinity = _parameter(
        ChainInfinity.INFINITE,
        ChainInfinity,
        "an infinity produced inside a chain",
        _POINTS + "8",
        lambda p: _aligned(p) and p.join is not Join.IEEE,
    )
    zero_sum: ZeroSum = _parameter(
        ZeroSum.POSITIVE,
        ZeroSum,
        "sign of an exactly zero sum",
        "Xie et al. 2026; IEEE 754 for FMA chains",
        _aligned,
    )
    nan_code: NanCode = _parameter(
        NanCode.ALL_ONES, NanCode, "pattern of a NaN result", "Xie et al. 2026, section 4.2", _rounded
    )

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
        case kind:
            good = isinstance(value, kind)
    if not good:
        raise DesignError(f"parameter {name} = {value}: allowed is {definition.allowed()}", name)


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
        case readings if issubclass(readings, StrEnum):
            members = list(readings)
            letter = "ABCDEF".find(text) if len(text) == 1 else -1
            if 0 <= letter < len(members):
                value = members[letter]
            elif text.lower() in [m.value for m in members]:
                value = readings(text.lower())
        case _:
            value = KOrder(text.lower())
    _check(name, value, definition)
    return value


def format_parameter(name: str, value: object) -> str:
    """Return ``value`` of the parameter ``name`` as the text that ``parse_parameter`` reads."""
    values = DEFINITIONS[name].values
    if value is None and isinstance(values, IntegerRange):
        return str(values.otherwise)
    return str(value)
