"""Attributes of standards as spellings of plans: what they state becomes other keys of a plan, or a check of its unit.

A standard names formats, and sometimes how operands are split. What it does not state is so as the unit and the
algorithm have it, which is a reading: docs/conformance.md lists the readings that each attribute leaves open, with
operands for each.
"""

from __future__ import annotations

import re

from mmaproof.designs.design import Design
from mmaproof.designs.errors import DesignError, InputError
from mmaproof.designs.formats import Format, find_format

Setting = tuple[str, str]

DOT_ALGORITHM = re.compile(
    r"(?:ALG_DOT_)?(?P<a>ANY_F8|[A-Z]+[0-9]+)_(?P<b>ANY_F8|[A-Z]+[0-9]+)_(?P<sum>[A-Z]+[0-9]+)"
    r"(?:_X(?P<count>[1-9]))?(?P<fast>_FAST_ACCUM)?"
)
ATTRIBUTE = re.compile(
    r"(?:#stablehlo\.dot_algorithm)?< ?lhs_precision_type = ([a-z]\w+), rhs_precision_type = ([a-z]\w+), "
    r"accumulation_type = ([a-z]\w+), lhs_component_count = 1, rhs_component_count = 1, "
    r"num_primitive_operations = ([1-9]), allow_imprecise_accumulation = (true|false) ?>"
)
"""The same as MLIR prints it. Every algorithm with a name has one component: of others nothing is stated."""
WORDS = {("bf16", "3"): "bf16x3", ("bf16", "6"): "bf16x6", ("bf16", "9"): "bf16x9", ("tf32", "3"): "3xtf32"}
"""The algorithm of a plan by the format of its words and the number of products (``num_primitive_operations``)."""
ACC_TYPES = {"fp16": "fp16", "fp32": "fp32", "int32": "int32", "int48": "int64"}
"""acc_type of TOSA, and the format of d that it means. A sum beyond 48 bits is an error there, so that 64 bits do."""
CAST = {
    ("e4m3", "1"): "rne:saturate",
    ("e4m3", "0"): "rne:nan",
    ("e5m2", "1"): "rne:saturate",
    ("e5m2", "0"): "rne:infinity",
    ("e4m3fnuz", "1"): "rne:saturate/nan",
    ("e4m3fnuz", "0"): "rne:nan",
    ("e5m2fnuz", "1"): "rne:saturate/nan",
    ("e5m2fnuz", "0"): "rne:nan",
}
"""``out`` of a plan without its format, by the format and ``saturate`` of ONNX Cast (version 19 and later)."""

ONNX = {
    "MatMulInteger": {},
    "Gemm": {"alpha": "1", "beta": "1", "transA": "0", "transB": "0"},
    "GemmFloat8": {"alpha": "1", "beta": "0", "dtype": "1", "activation": "NONE", "transA": "0", "transB": "1"},
}
"""Operators of ONNX and com.microsoft that plans state: attributes and defaults. Transposing changes no bit."""
DATA_TYPES = {"1": "fp32", "10": "fp16", "16": "bf16", "17": "e4m3", "19": "e5m2"}
"""TensorProto.DataType of results."""


def as_keys(unit: Design, key: str, value: str) -> list[Setting]:
    """Return the settings of a plan that an attribute of a standard means; another setting as it is.

    Raises InputError for what is not a value of an attribute, and DesignError where the unit is not of its formats.
    """
    match key:
        case "dot_algorithm":
            return dot_algorithm(unit, value)
        case "acc_type":
            return acc_type(unit, value)
        case "cast":
            return cast(value)
        case "onnx":
            return operator(unit, value)
        case _:
            return [(key, value)]


def dot_algorithm(unit: Design, value: str) -> list[Setting]:
    """Return the settings that an algorithm of StableHLO, XLA or JAX means: A_B_SUM, _XN and _FAST_ACCUM."""
    types, count, imprecise = _algorithm(value)
    formats = {"a": unit.a_format, "b": unit.b_format, "the sum": unit.d_format}
    for wanted, (name, fmt) in zip(types, formats.items(), strict=True):
        if wanted == "ANY_F8":
            _expect(unit, name, fmt, "a float of 8 bits", fmt.bits == 8 and not fmt.is_integer)
        else:
            _expect(unit, name, fmt, *_named(wanted, fmt))
    kept = _kept_bits(unit)
    if kept is not None and kept < unit.d_format.fraction_bits and not imprecise:
        raise DesignError(
            f"{unit.name} keeps {kept} of the {unit.d_format.fraction_bits} fraction bits of its sum, which only "
            "allow_imprecise_accumulation permits: add _FAST_ACCUM, or choose another unit"
        )
    if count == "1":
        return []
    if (unit.a_format.name, count) not in WORDS or unit.a_format is not unit.b_format:
        known = ", ".join(f"{x}_X{n}" for x, n in WORDS)
        raise InputError(f"{count} products of words of {unit.a_format.name} are not an algorithm here: one of {known}")
    return [("algorithm", WORDS[unit.a_format.name, count])]


def _algorithm(text: str) -> tuple[tuple[str, ...], str, bool]:
    """Return the types of an algorithm, the number of products, and whether imprecise sums are allowed."""
    if (match := ATTRIBUTE.fullmatch(" ".join(text.split()))) is not None:
        *types, count, imprecise = match.groups()
        return tuple(types), count, imprecise == "true"
    match = DOT_ALGORITHM.fullmatch(text.strip().upper())
    if match is None:
        raise InputError(
            "A_B_SUM[_XN][_FAST_ACCUM] is needed, as BF16_BF16_F32_X3 or ANY_F8_ANY_F8_F32_FAST_ACCUM; or "
            "#stablehlo.dot_algorithm<...> as MLIR prints it, with all fields and component counts of 1"
        )
    return (match["a"], match["b"], match["sum"]), match["count"] or "1", match["fast"] is not None


def _kept_bits(unit: Design) -> int | None:
    """Return the fraction bits that a step keeps below its largest term or its result, whichever are fewer."""
    conversion = getattr(unit.step, "conversion", None)
    bits = [x for x in (unit.step.kept_bits, None if conversion is None else conversion.fraction_bits) if x is not None]
    return min(bits, default=None)


def acc_type(unit: Design, value: str) -> list[Setting]:
    """Check that a unit returns what ``acc_type`` of TOSA says that sums are. Nothing else follows from it."""
    name = value.strip().lower()
    if name not in ACC_TYPES:
        raise InputError(f"one of {', '.join(x.upper() for x in ACC_TYPES)} is needed")
    _expect(unit, "the sum", unit.d_format, *_named(ACC_TYPES[name], unit.d_format))
    return []


def cast(value: str) -> list[Setting]:
    """Return ``out`` of a conversion by ONNX Cast: FORMAT:saturate=0 or 1; the default of the operator is 1."""
    name, _, attribute = value.partition(":")
    fmt = find_format(name.strip())
    saturate = {"": "1", "saturate=0": "0", "saturate=1": "1"}.get(attribute.strip())
    if saturate is None or (fmt.name, saturate) not in CAST:
        known = ", ".join(dict.fromkeys(x for x, _ in CAST))
        raise InputError(f"FORMAT[:saturate=0|1] is needed, where FORMAT is one of {known}")
    return [("out", f"{fmt.name}:{CAST[fmt.name, saturate]}")]


def operator(unit: Design, value: str) -> list[Setting]:
    """Return the settings that an operator of ONNX means: NAME[:ATTRIBUTE=VALUE,...]."""
    name, _, text = (x.strip() for x in value.partition(":"))
    parts = [x.partition("=") for x in text.split(",")] if text else []
    given = {key.strip(): x.strip() for key, _, x in parts}
    defaults = ONNX.get(name, {})
    if name not in ONNX or len(given) < len(parts) or not given.keys() <= defaults.keys() or not all(given.values()):
        known = "; ".join(":".join(filter(None, (x, ", ".join(y)))) for x, y in ONNX.items())
        beside = (
            "; QLinearMatMul converts sums of MatMulInteger to 8 bits, which no plan does" if "QLin" in name else ""
        )
        raise InputError(f"an operator and its attributes are needed, each once: {known}{beside}")
    a, b, d, attributes = unit.a_format, unit.b_format, unit.d_format, defaults | given
    if name == "MatMulInteger":
        for what, fmt in (("a", a), ("b", b)):
            _expect(unit, what, fmt, "an integer of 8 bits", fmt.is_integer and fmt.bits == 8)
        _expect(unit, "the sum", d, *_named("int32", d))
        return []
    types = {"Gemm": ("fp64", "fp32", "fp16", "bf16"), "GemmFloat8": tuple(DATA_TYPES.values())}[name]
    _expect(unit, "a", a, f"one of {', '.join(types)}", a.name in types)
    _expect(
        unit,
        "b",
        b,
        *((a.name, b is a) if name == "Gemm" else ("as wide a float", b.name in types and a.bits == b.bits)),
    )
    out = a.name if name == "Gemm" else DATA_TYPES.get(attributes["dtype"])
    if out is None or attributes.get("activation", "NONE") != "NONE":
        raise InputError(f"plans state activation=NONE and dtype of {', '.join(DATA_TYPES)}")
    c = [("c", "none")]
    if attributes["beta"].strip("0."):
        c = [("c", f"last:{out if name == 'Gemm' else d.name}"), ("beta", attributes["beta"])]
    # the epilogue has numbers of fp32 or wider
    converts = out != d.name or len(c) > 1 or attributes["alpha"] != "1"
    return [*c, ("alpha", attributes["alpha"]), *([("out", out)] if converts else [])]


def _named(name: str, fmt: Format) -> tuple[str, bool]:
    """Return the name of the format that a standard names, and whether it is ``fmt``."""
    wanted = find_format(name.lower())
    return wanted.name, wanted is fmt


def _expect(unit: Design, what: str, fmt: Format, wanted: str, holds: bool) -> None:
    if not holds:
        raise DesignError(f"{unit.name}: {what} is {fmt.name}, and {wanted} is needed")
