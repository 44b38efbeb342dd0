"""How plans are spelled: ``UNIT | key=value | key=value``, and the same keys in a TOML file.

The keys are in the order of the data: those nearer to the unit come first. ``KEYS`` has the definition of each.

Presets are plans of libraries, with their sources, spelled by name: ``presets.toml``.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from mmaproof.designs.catalogue import find_design, load_catalogue
from mmaproof.designs.conversions import OutOfRange, Rounding, Stochastic
from mmaproof.designs.design import Design
from mmaproof.designs.errors import DesignError, InputError, did_you_mean
from mmaproof.designs.files import read_toml
from mmaproof.designs.formats import FORMATS, Format, find_format
from mmaproof.designs.readings import CONSECUTIVE, KOrder
from mmaproof.gemm.programs.algorithms import find_algorithm
from mmaproof.gemm.programs.parts import (
    ASCENDING,
    Blocks,
    EqualParts,
    HalvedBlocks,
    Interleaved,
    Order,
    Parts,
    StatedParts,
)
from mmaproof.gemm.programs.plan import FP32, ONE, Epilogue, Held, JoinsC, Level, PartSum, Plan, Rescale
from mmaproof.gemm.programs.standards import as_keys

MOST_DIGITS = 40
"""Characters of a constant."""
OPERANDS = "operand"
"""How factors that are operands are spelled."""
FLUSH = "flush"
"""How an epilogue, or a sum of parts, that flushes subnormal numbers is spelled."""
SHORT_DIGITS = 10
"""Characters of a constant that is spelled as a number."""


@dataclass(frozen=True, slots=True)
class Key:
    """A key of a plan: what it means, how its values are spelled, what holds without it, and where it is from."""

    meaning: str
    values: str
    default: str
    source: str
    parts: type[Parts] | None = None
    """the rule of a key that divides k"""


_SUMMED = f"[:ORDER[:FORMAT[:ROUNDING[:{FLUSH}]]]]"
_FORMATS = (
    "ORDER is ascending, onward, descending, tree, any or the parts in order (2.0.1); FORMAT is that of the additions, "
    "PART>FORMAT where parts are stored in PART first, FORMAT/KEPT where the running sum is stored in KEPT; "
    "with flush, a subnormal sum of a part is added as a zero"
)
_CONSTANT = "a number, which is rounded to the nearest one of fp32 (0.5, 1e-3, 2/3), or a pattern of fp32 (0x3dcccccd)"
KEYS: dict[str, Key] = {
    "unit": Key("the instruction", "a design of the catalogue", "must be given", "PTX, CDNA and others"),
    "algorithm": Key(
        "splits fp32 operands into words of the unit",
        "a name that `mmaproof list algorithms` lists, with @parameter=value,...",
        "operands are in the unit's formats",
        "see `mmaproof list algorithms`",
    ),
    "dot_algorithm": Key(
        "the algorithm that StableHLO, XLA or JAX name: a check of the unit's formats, and ``algorithm``",
        "A_B_SUM[_XN][_FAST_ACCUM], as TF32_TF32_F32_X3, or the attribute of StableHLO with all of its fields",
        "none is named",
        "StableHLO, DotAlgorithm; XLA, PrecisionConfig.Algorithm; what it leaves open: docs/conformance.md",
    ),
    "acc_type": Key(
        "the type of sums that TOSA names: a check of the unit's format",
        "FP16, FP32, INT32 or INT48",
        "none is named",
        "TOSA 1.1, acc_type of CONV2D and others; what it leaves open: docs/conformance.md",
    ),
    "tile": Key("K of a tile", "a multiple of the instruction's K", "the instruction's K", "CUTLASS, ThreadblockShape"),
    "order": Key("order of k inside a tile", KOrder.ALLOWED, "consecutive", "interleaved layouts of shared memory"),
    "then": Key(
        "instructions that follow the unit in each tile, on the same elements and the same accumulator",
        "DESIGN[+DESIGN...], of the unit's formats and K; the part of a name that differs suffices (phase1+phase2)",
        "none",
        "tenstorrent/tt-metal, math fidelity: HiFi2 is phases 0 and 1, HiFi4 is phases 0 to 3",
    ),
    "held": Key(
        "how the accumulator is stored after each instruction",
        "FORMAT[>FORMAT...][:ROUNDING], each rounded to in turn",
        "as the instruction returns it",
        "tenstorrent/tt-metal, issue 46101: a Dst of 16 bits; registers of bf16 in other kernels",
    ),
    "promote": Key(
        "the partial sum is added outside the unit every N elements of k",
        f"N[:FORMAT[:ROUNDING[:{FLUSH}]]]; {Blocks.ALLOWED}",
        "all of k is summed in the unit",
        "DeepSeek-V3 technical report, section 3.3.2; CUTLASS, GmmaFP8Accumulation",
        Blocks,
    ),
    "split-k": Key(
        "parts of k that are summed apart",
        f"COUNT{_SUMMED}; {_FORMATS}",
        "one part",
        "CUTLASS, GemmSplitKParallel and serial split-K; cuBLASLt, SPLITK_NUM and REDUCTION_SCHEME",
        EqualParts,
    ),
    "stream-k": Key(
        "the parts of k that different workers compute for this tile of the result",
        f"SIZE.SIZE...{_SUMMED}; sizes in elements of k, in order",
        "one part",
        "Osama et al., Stream-K, PPoPP 2023; CUTLASS, ThreadblockSwizzleStreamK",
        StatedParts,
    ),
    "sliced-k": Key(
        "workers that take turns along k",
        f"COUNTxSTEP{_SUMMED}",
        "one worker",
        "CUTLASS, sliced-K (warps of one threadblock); several accumulators in a CPU kernel",
        Interleaved,
    ),
    "blocks": Key(
        "blocks of k of a CPU library, the last two halved",
        f"SIZExUNROLL{_SUMMED}",
        "one block",
        "OpenBLAS, driver/level3/level3.c (GEMM_Q)",
        HalvedBlocks,
    ),
    "rescale": Key(
        "the accumulator is multiplied by a factor every N elements of k, and stays in the unit",
        f"N:FACTOR[,FACTOR...], used in turn, the last one for the rest; each is {_CONSTANT}; N:{OPERANDS}: factors "
        "are operands, one for each row and each multiplication",
        "no rescaling",
        "FlashAttention-2 (Dao 2023, algorithm 1, line 10) and FlashAttention-3",
    ),
    "c": Key(
        "where c is added, and its format",
        "first, last or none; first:FORMAT, last:FORMAT",
        "first, in the format of what it is added to",
        "BLAS: C may be an operand; CUTLASS, LinearCombination: last",
    ),
    "alpha": Key("factor of the sum", _CONSTANT, "1", "BLAS; CUTLASS, LinearCombination"),
    "beta": Key("factor of c", _CONSTANT, "1", "BLAS; CUTLASS, LinearCombination"),
    "out": Key(
        "format of the result; with flush, a subnormal sum is converted as a zero of its sign; what becomes of numbers "
        "beyond the largest one, and of infinities; ROUNDING may take random bits",
        f"FORMAT[:ROUNDING[:{FLUSH}][:OUT_OF_RANGE]], the last of {OutOfRange.ALLOWED}; {Stochastic.ALLOWED}",
        "that of the sum",
        "CUTLASS, NumericConverter; Intel SDM, VCVTNEPS2BF16: flush",
    ),
    "cast": Key(
        "the conversion of the result by the operator Cast of ONNX: ``out``",
        "FORMAT[:saturate=0|1], an FP8 format",
        "no conversion",
        "ONNX, Cast (version 19 and later)",
    ),
    "onnx": Key(
        "the operator of ONNX that the product is: a check of the unit's formats, alpha, beta, ``c`` and ``out``",
        "MatMulInteger, Gemm[:alpha=X,beta=Y] or GemmFloat8[:alpha=X,beta=Y,dtype=N]",
        "none is named",
        "ONNX, operators; com.microsoft, GemmFloat8; what they leave open: docs/conformance.md",
    ),
}
"""The keys of plans by name. Those of standards are spellings of others."""

LEVEL_KEYS = tuple(name for name, key in KEYS.items() if key.parts is not None or name == "rescale")


def read_plan(text: str | Path) -> Plan:
    """Return the plan that ``text`` spells, the preset that it names, or that of a TOML file (a path, or *.toml).

    Raises InputError for what no key or value is, and DesignError for what does not fit together.

    >>> import mmaproof
    >>> mmaproof.read_plan("hopper/wgmma.f32.bf16.bf16 | split-k=2 | out=bf16").name
    'hopper/wgmma.m64n8k16.f32.bf16.bf16 | split-k=2 | out=bf16'
    """
    if not isinstance(text, str | Path):
        raise InputError(f"plan = {text!r}: the text that spells a plan, or the path of a file, is needed")
    if isinstance(text, Path) or text.strip().endswith(".toml"):
        return plan_of_file(Path(text))
    return plan_of(*split_spelling(text))


def split_spelling(text: str) -> tuple[str, list[tuple[str, str]]]:
    """Return the unit or preset of a spelled plan, and its settings. Raises InputError for what no setting is."""
    first, *others = (x.strip() for x in text.split("|"))
    key, equals, _ = first.partition("=")
    if equals and key.strip() in KEYS:
        raise InputError(f"{text!r} names no unit: a plan begins with a unit or a preset, UNIT | {first}")
    settings: list[tuple[str, str]] = []
    for setting in others:
        key, equals, value = (x.strip() for x in setting.partition("="))
        if not equals:
            raise InputError(f"{setting!r} is not a setting of a plan: write key=value, keys are {', '.join(KEYS)}")
        settings.append((key, value))
    return first, settings


def plan_of_file(path: Path) -> Plan:
    """Return the plan of a TOML file: ``unit`` or ``preset``, and the keys of plans."""
    table = read_toml(path)
    try:
        return plan_of_table(table)
    except DesignError as error:
        raise DesignError(f"{path}: {error}") from error
    except InputError as error:
        raise InputError(f"{path}: {error}") from error


def plan_of_table(table: dict[str, Any]) -> Plan:
    """Return the plan of a table of keys, in the order of the data. A list of values is a key given several times."""
    settings: list[tuple[str, str]] = []
    for key, value in table.items():
        values = value if isinstance(value, list) else [value]
        for x in values:
            if isinstance(x, bool) or not isinstance(x, str | int | float):
                raise InputError(f"{key} = {x!r}: a value of a plan is a text or a number")
            settings.append((key, str(x)))
    named = dict(settings)
    first = named.get("preset") or named.get("unit")
    if first is None:
        raise InputError("a plan names a unit: unit = 'ARCHITECTURE/INSTRUCTION', or preset = 'NAME'")
    name = "preset" if "preset" in named else "unit"
    return plan_of(first, [x for x in settings if x[0] != name])


def plan_of(first: str, settings: Sequence[tuple[str, str]]) -> Plan:
    """Return the plan of a unit or a preset with settings, each a key and a value."""
    for key, _ in settings:
        if key not in KEYS:
            raise InputError(f"unknown key {key!r} of a plan: one of {', '.join(KEYS)}{did_you_mean(key, list(KEYS))}")
    for key in {k for k, _ in settings if k not in LEVEL_KEYS}:
        if sum(k == key for k, _ in settings) > 1:
            raise InputError(f"{key} is given twice")
    preset = find_preset(first)
    if preset is None:
        if "unit" in dict(settings):
            raise InputError(f"the unit is given twice: {first} and {dict(settings)['unit']}")
        return _composed(find_design(first), settings)
    given = {key for key, _ in settings}
    kept = [x for x in preset.settings if x[0] not in given]
    # a setting takes the place of the preset's with the same key, so that the order of the data is the preset's
    places = [key for key, _ in preset.settings]
    changed = sorted([*kept, *settings], key=lambda x: places.index(x[0]) if x[0] in places else len(places))
    unit = dict(changed)["unit"]
    plan = _composed(find_design(unit), [x for x in changed if x[0] != "unit"])
    return replace(plan, preset=preset.name)


def _composed(unit: Design, settings: Iterable[tuple[str, str]]) -> Plan:
    """Return the plan of a unit and settings."""
    settings = _as_keys(unit, [*settings])
    levels: list[Level] = []
    fields: dict[str, Any] = {}
    epilogue: dict[str, Any] = {}
    sums = FORMATS["fp32"] if unit.d_format.bits <= FP32.bits and not unit.d_format.is_integer else unit.d_format
    for key, value in settings:
        try:
            match key:
                case "algorithm":
                    fields["algorithm"] = find_algorithm(value)
                case "tile":
                    fields["tile"] = Blocks.parse(value).size
                case "order":
                    fields["order"] = KOrder(value)
                case "then":
                    fields["then"] = tuple(_beside(unit, x.strip()) for x in value.split("+"))
                case "held":
                    name, _, rounding = value.partition(":")
                    fields["held"] = Held(tuple(map(find_format, name.split(">"))), _rounding(rounding))
                case "alpha" | "beta":
                    epilogue[key] = _constant(value)
                case "c":
                    epilogue |= _joins(value)
                case "out":
                    epilogue |= _converted(value)
                case _:
                    levels.append(_level(key, value, sums))
        except InputError as error:
            raise type(error)(f"{key}={value}: {error}") from error
        except ValueError:
            raise InputError(f"{key}={value} is not allowed: {KEYS[key].values}") from None
    return Plan(unit, levels=tuple(levels), epilogue=Epilogue(**epilogue), **fields)


def _as_keys(unit: Design, settings: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """Return settings without the attributes of standards; what they refuse is said with their key and value."""
    found: list[tuple[str, str]] = []
    for key, value in settings:
        try:
            found += as_keys(unit, key, value)
        except InputError as error:
            raise type(error)(f"{key}={value}: {error}") from error
    for key in ("algorithm", "out", "c", "alpha", "beta"):
        if sum(name == key for name, _ in found) > 1:
            raise InputError(f"{key} is given twice: by itself, and by an attribute of a standard")
    return found


def _beside(unit: Design, name: str) -> Design:
    """Return the design that a text names beside ``unit``: with another part in its name, or a whole name."""
    if "/" in name:
        return find_design(name)
    here = (x for x in load_catalogue().designs.values() if x.architecture == unit.architecture)
    alike = [x for x in here if (x.signature, x.k) == (unit.signature, unit.k)]
    found = [x for x in alike if name in x.instruction.split(".")]
    if len(found) != 1:
        parts = sorted({y for x in alike for y in _own_parts(unit, x)})
        raise InputError(
            f"{name!r} names {'no' if not found else 'more than one'} instruction beside {unit.name}: "
            f"one of {', '.join(parts) or 'none'}, or a whole name"
        )
    return found[0]


def _own_parts(unit: Design, other: Design) -> list[str]:
    """Return the parts of the name of ``other`` that ``unit`` has not."""
    return [x for x in other.instruction.split(".") if x not in unit.instruction.split(".")]


def _name_beside(unit: Design, other: Design) -> str:
    """Return the shortest text by which ``_beside`` finds ``other``."""
    for part in _own_parts(unit, other) if other.architecture == unit.architecture else ():
        with suppress(InputError):
            if _beside(unit, part) == other:
                return part
    return other.name


def _converted(value: str) -> dict[str, Any]:
    """Return what ``out`` sets; ValueError where its value spells nothing."""
    name, *others = value.split(":")
    rounding, *last = others or [""]
    flushes = last[:1] == [FLUSH]
    out = find_format(name)
    stated = [OutOfRange.parse(x, out) for x in last[flushes:]]
    if len(stated) > 1:
        raise ValueError(value)
    way = Stochastic.parse(rounding) if rounding.startswith("sr") else _rounding(rounding)
    found = {"out": out, "rounding": way, "flushes": flushes}
    return found | ({"out_of_range": stated[0]} if stated else {})


def _level(key: str, value: str, sums: Format) -> Level:
    """Return the level that a key and its value spell; ValueError where they spell none."""
    first, *others = value.split(":")
    if key == "rescale":
        (factors,) = others
        constants = () if factors.strip() == OPERANDS else tuple(map(_constant, factors.split(",")))
        return Rescale(Blocks.parse(first), constants)
    rule = KEYS[key].parts
    if rule is None:
        raise ValueError(key)
    order = ASCENDING
    if key != "promote" and others:
        order, others = Order.parse(others[0]), others[1:]
    if others[2:] not in ([], [FLUSH]):
        raise ValueError(value)
    formats = _formats(others[0], sums) if others else {"fmt": sums}
    rounding = _rounding(others[1]) if len(others) > 1 else Rounding.RNE
    return PartSum(key, rule.parse(first), order=order, rounding=rounding, flushes=len(others) > 2, **formats)


def _formats(text: str, sums: Format) -> dict[str, Any]:
    """Return the formats of ``[PART>]FORMAT[/KEPT]``."""
    stored, arrow, rest = text.rpartition(">")
    name, slash, kept = rest.partition("/")
    found: dict[str, Any] = {"fmt": find_format(name)}
    if arrow:
        found["stored"] = find_format(stored)
    if slash:
        found["kept"] = find_format(kept)
    return found


def _joins(value: str) -> dict[str, Any]:
    name, colon, fmt = value.partition(":")
    joins = JoinsC(name)
    if joins is JoinsC.NONE and colon:
        raise ValueError(value)
    return {"c": joins, "c_format": find_format(fmt) if colon else None}


def _rounding(text: str) -> Rounding:
    return Rounding(text) if text else Rounding.RNE


def _constant(text: str) -> Fraction:
    """Return the number of fp32 that a text spells: a pattern of fp32, or a decimal or a quotient, rounded to nearest.

    ValueError for other texts and for numbers beyond the largest one.
    """
    text = text.strip()
    if re.fullmatch(r"0x[0-9a-fA-F]{1,8}", text):
        return _finite(int(text, 16))
    # an exponent of many digits would be a number of gigabytes
    if len(text) > MOST_DIGITS or not re.fullmatch(r"-?[0-9]+(\.[0-9]*)?(/[0-9]+|e-?[0-9]{1,2})?", text):
        raise ValueError(text)
    try:
        value = Fraction(text)
    except ZeroDivisionError:
        raise ValueError(text) from None
    return _nearest(value)


def _finite(pattern: int) -> Fraction:
    """Return the number of a pattern of fp32; ValueError where it is an infinity or a NaN. -0 counts as 0."""
    if pattern & 0x7FFFFFFF > FP32.max_finite:
        raise ValueError(FP32.hex(pattern))
    field, fraction = pattern >> FP32.fraction_bits & 0xFF, pattern & 0x7FFFFF
    significand = fraction | (bool(field) << FP32.fraction_bits)
    size = significand * Fraction(2) ** (max(field - FP32.bias, FP32.e_min) - FP32.fraction_bits)
    return -size if pattern >> FP32.sign_position else size


def _nearest(value: Fraction) -> Fraction:
    """Return the number of fp32 nearest to ``value``, of two the even one; ValueError beyond the largest number."""
    unit = FP32.ulp(value)
    rounded = round(abs(value) / unit) * unit
    if rounded > FP32.largest:
        raise ValueError(str(value))
    return -rounded if value < 0 else rounded


def rounded_constants(settings: Iterable[tuple[str, str]]) -> list[str]:
    """Return a sentence for each constant of settings that is not a number of fp32, and what stands for it."""
    found = []
    for key, value in settings:
        texts = value.partition(":")[2].split(",") if key == "rescale" else [value] if key in ("alpha", "beta") else []
        for text in (x.strip() for x in texts if not x.strip().startswith("0x") and x.strip() != OPERANDS):
            number = _constant(text)
            if number != Fraction(text):
                found.append(f"{key}={text}: {FP32.hex(FP32.encode(number))} is meant, the nearest number of fp32")
    return found


def _spelled_constant(value: Fraction) -> str:
    """Return a short number as a quotient, and others as patterns of fp32."""
    text = str(value)
    return text if len(text) <= SHORT_DIGITS else FP32.hex(FP32.encode(value))


def spelled(plan: Plan) -> str:
    """Return the text that ``read_plan`` reads. It names every setting that is not the default."""
    return " | ".join([plan.unit.name, *(f"{key}={value}" for key, value in settings_of(plan))])


def settings_of(plan: Plan) -> list[tuple[str, str]]:
    """Return the settings of a plan, without its unit, in the order of the data."""
    found: list[tuple[str, str]] = []
    if plan.algorithm is not None:
        found.append(("algorithm", plan.algorithm.name))
    if plan.tile is not None:
        found.append(("tile", str(plan.tile)))
    if plan.order != CONSECUTIVE:
        found.append(("order", str(plan.order)))
    if plan.then:
        found.append(("then", "+".join(_name_beside(plan.unit, x) for x in plan.then)))
    if plan.held is not None:
        by = "" if plan.held.rounding is Rounding.RNE else f":{plan.held.rounding}"
        found.append(("held", ">".join(x.name for x in plan.held.formats) + by))
    found += [(x.key, _spelled_level(plan, x)) for x in plan.levels]
    epilogue = plan.epilogue
    if epilogue.c is not JoinsC.FIRST or epilogue.c_format is not None:
        fmt = "" if epilogue.c_format is None else f":{epilogue.c_format.name}"
        found.append(("c", f"{epilogue.c}{fmt}"))
    found += [(n, _spelled_constant(x)) for n, x in (("alpha", epilogue.alpha), ("beta", epilogue.beta)) if x != ONE]
    if epilogue.out is not None:
        last = [FLUSH] if epilogue.flushes else []
        last += [] if epilogue.out_of_range is None else [str(epilogue.out_of_range)]
        rounded = [str(epilogue.rounding)] if last or epilogue.rounding is not Rounding.RNE else []
        found.append(("out", ":".join([epilogue.out.name, *rounded, *last])))
    return found


def _spelled_level(plan: Plan, level: Level) -> str:
    if isinstance(level, Rescale):
        return f"{level.parts}:{','.join(map(_spelled_constant, level.factors)) or OPERANDS}"
    fmt = level.fmt.name
    fmt = fmt if level.stored is None else f"{level.stored.name}>{fmt}"
    fmt = fmt if level.kept is None else f"{fmt}/{level.kept.name}"
    texts = [str(level.parts), str(level.order), fmt, str(level.rounding), FLUSH if level.flushes else ""]
    if level.key == "promote":
        del texts[1]
    # what is the default is left out from the end
    plain = [str(level.parts), "ascending", "fp32" if plan.unit.d_format.bits <= FP32.bits else fmt, "rne", ""]
    if plan.unit.d_format.is_integer:
        plain[2] = plan.unit.d_format.name
    if level.key == "promote":
        del plain[1]
    while len(texts) > 1 and texts[-1] == plain[len(texts) - 1]:
        texts.pop()
    return ":".join(texts)


@dataclass(frozen=True, slots=True)
class Preset:
    """A plan by name: its settings in the order of the data (``unit`` among them), what it is, and its source.

    ``version`` of the library and the ``file`` of its sources are what it was read from; one of them may be empty.
    """

    name: str
    what: str
    library: str
    version: str
    file: str
    source: str
    settings: tuple[tuple[str, str], ...]

    @property
    def rests_on(self) -> str:
        """Library, version and file, and what is said there, in a line."""
        read_from = ", ".join(x for x in (f"{self.library} {self.version}".rstrip(), self.file) if x)
        return f"{read_from}: {self.source}"


@dataclass(frozen=True, slots=True)
class Selection:
    """Plans of which a library chooses by M and N: when it chooses each, and how the plan is spelled."""

    name: str
    what: str
    source: str
    plans: tuple[tuple[str, str], ...]


@cache
def load_selections() -> dict[str, Selection]:
    """Return the selections by name."""
    return {
        x["name"]: Selection(x["name"], x["what"], x["source"], tuple((y["when"], y["plan"]) for y in x["plans"]))
        for x in _table()["selection"]
    }


def _table() -> dict[str, Any]:
    text = files("mmaproof.gemm.programs").joinpath("presets.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)


@cache
def load_presets() -> dict[str, Preset]:
    """Return the presets by name."""
    found = {}
    for row in _table()["preset"]:
        settings = tuple((key, str(value)) for key, value in row["plan"].items())
        read_from = row["library"], row.get("version", ""), row.get("file", "")
        found[row["name"]] = Preset(row["name"], row["what"], *read_from, row["source"], settings)
    return found


def find_preset(name: str) -> Preset | None:
    """Return the preset of that name, None if there is none."""
    return load_presets().get(name)
