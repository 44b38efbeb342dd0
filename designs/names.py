"""What people call designs: products, formats, mnemonics of PTX and MFMA, in upper or lower case."""

from __future__ import annotations

import logging
import re
from collections.abc import Collection, Iterable, Mapping, Sequence

from mmaproof.designs.design import Design
from mmaproof.designs.errors import InputError
from mmaproof.designs.formats import ALIASES, FORMATS

_FAMILIES = {
    "double": ("f64",),
    "half": ("f16",),
    "fp8": ("e4m3", "e5m2", "fp8", "bf8"),
    "fp6": ("e3m2", "e2m3"),
    "fp4": ("e2m1",),
    "int8": ("s8", "i8"),
    "tf32": ("xf32",),
    "s32": ("i32",),
    "s8": ("i8",),
    "int4": ("s4",),
    "mxfp8": ("e4m3", "e5m2"),
    "mxfp6": ("e3m2", "e2m3"),
    "mxfp4": ("e2m1",),
    "nvfp4": ("e2m1",),
}
"""What instructions call formats of which people have a name that is not among those of ``find_format``"""
_SCALES = {"mxfp8": "e8m0", "mxfp6": "e8m0", "mxfp4": "e8m0", "nvfp4": "ue4m3"}
"""Formats that are always block-scaled, and that of their scales"""
_ANY = "*"
"""A word that is not said: the compute type of a sum in fp32 leaves the formats of its products to the operands."""
_COMPUTE_TYPES = {
    "16f": "f16.f16.f16",
    "32f": f"f32.{_ANY}",
    "32f_fast_16f": "f32.f16",
    "32f_fast_16bf": "f32.bf16",
    "32f_fast_tf32": "f32.tf32",
    "32i": "s32.s8",
    "64f": "f64.f64",
    "f32": f"f32.{_ANY}",
    "f32_fast_f16": "f32.f16",
    "f32_fast_bf16": "f32.bf16",
    "f32_fast_xf32": "f32.tf32",
    "i32": "s32.s8",
    "f64": "f64.f64",
}
"""What a unit computes of each compute type of cuBLAS and hipBLASLt, as formats of d and a; early hipBLASLt has f32"""
_COMPUTE_TYPE = re.compile(r"(cu|hip)blas(?:lt)?_compute_(\w+?)(?:_pedantic)?", re.ASCII)
_QUALIFIERS = {"sync", "aligned", "async", "row", "col", "v"}
"""Words of a mnemonic that do not say what is computed, as `mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32` has."""
_ON = re.compile(r"(.+?)\s+(?:on|of)\s+(.+)")
MOST = 12
"""Designs that a list has."""


def turned(text: str) -> tuple[str, str]:
    """Return the architecture, empty if none is named, and the rest of a name as people write it, in lower case."""
    name = text.strip().lower()
    if found := _ON.fullmatch(name):
        return found[2].strip(), found[1].strip()
    architecture, slash, rest = name.partition("/")
    if slash:
        return architecture.strip(), rest.strip()
    first, _, rest = name.partition(" ")
    return (first, rest.strip()) if rest else ("", name)


def words_of(text: str) -> list[str]:
    """Return the words of an instruction or of a description, those left out that do not say what is computed.

    A compute type of a library is the formats that it stands for.
    """
    parts = text.lower().split()
    found = [_COMPUTE_TYPE.fullmatch(x) for x in parts]
    parts = [_COMPUTE_TYPES.get(y[2], x) if y else x for x, y in zip(parts, found, strict=True)]
    words = [x for x in re.split(r"[._\s:]+", " ".join(parts)) if x]
    kept = [x for i, x in enumerate(words) if x not in _QUALIFIERS and (x, words[i - 1]) != ("mma", "wgmma")]
    return [x for x in kept if x != "mma_async"]


def fitting(designs: Iterable[Design], words: Sequence[str]) -> list[Design]:
    """Return the designs whose instruction has all words in this order.

    If there are none, words are what people call formats, and a single one is the format of a and of b.
    """
    held = list(designs)
    named = [x for x in words if len(_meant(x)) > 1 or any(x in (d.a_format.isa_name, d.a_format.name) for d in held)]
    if len(named) == 1 and _ANY not in words:
        others = [x for x in words if x != named[0]]
        found = [x for x in held if _multiplies(x, named[0]) and _has(x, [(y,) for y in others])]
        if found:
            return found
    exact = [x for x in held if _has(x, [(y,) for y in words])]
    return exact or [x for x in held if _has(x, [_meant(y) for y in words])]


def _meant(name: str) -> set[str]:
    """Return the names that instructions have for the formats that people call so, and the name itself."""
    fmt = FORMATS.get(ALIASES.get(name, name))
    return {name, *_FAMILIES.get(name, ()), *(() if fmt is None else (fmt.isa_name,))}


def _has(design: Design, words: Sequence[Collection[str]]) -> bool:
    """Return whether the instruction has one of each of the words, in this order."""
    parts = iter(words_of(design.instruction))
    return all(any(x in allowed or _ANY in allowed for x in parts) for allowed in words)


def _multiplies(design: Design, name: str) -> bool:
    """Return whether a and b are both of the format, or of one of the formats, that people call so."""
    fmt, scale = design.a_format, _SCALES.get(name)
    scaled = scale is None or (design.scale_format is not None and design.scale_format.name == scale)
    return design.b_format is fmt and scaled and bool({fmt.isa_name, fmt.name} & _meant(name))


def of_formats(designs: Sequence[Design], text: str) -> list[Design]:
    """Return the designs with a and b in the formats that a text names: one for both, or two with a comma between.

    Raises InputError where a name is not known.
    """
    given = [x.strip().lower() for x in text.split(",")]
    known = {y for x in FORMATS.values() for y in (x.name, x.isa_name)} | ALIASES.keys() | _FAMILIES.keys()
    if odd := [x for x in given if x not in known]:
        raise InputError(f"--formats {text}: unknown format {odd[0]!r}: one of {', '.join(sorted(known))}")
    if len(given) > 2:
        raise InputError(f"--formats {text}: one format of a and b, or one of each, is needed")
    wanted = [_meant(x) for x in (given[0], given[-1])]
    scales = {_SCALES[x] for x in given if x in _SCALES}
    return [
        x
        for x in designs
        if all({y.name, y.isa_name} & z for y, z in zip((x.a_format, x.b_format), wanted, strict=True))
        and (not scales or (x.scale_format is not None and x.scale_format.name in scales))
    ]


def told_apart(designs: Sequence[Design]) -> list[str]:
    """Return names of designs, each with what tells it from the others: its unit, formats, and scales.

    Of many it is one line with the architectures.
    """
    places = list(dict.fromkeys(x.architecture for x in designs))
    if len(designs) > MOST and len(places) > 1:
        return [
            f"{len(designs)} units have it: say of which architecture, ARCHITECTURE/..., one of {', '.join(places)}"
        ]
    listed = [f"{x.base_name} ({_kind(x)})" for x in designs[:MOST]]
    return [*listed, f"and {len(designs) - MOST} more"] if len(designs) > MOST else listed


def _kind(design: Design) -> str:
    a, b, _, d = (x.isa_name for x in design.formats)
    unit = re.split(r"[._]", design.instruction.removeprefix("v_"))[0]
    unit = "mma.sync" if unit == "mma" else unit
    scales = (
        "plain" if design.scale_format is None else f"blocks of {design.block} scaled by {design.scale_format.name}"
    )
    return f"{unit}, {a} x {b} to {d}, {scales}"


_LOG = logging.getLogger("mmaproof")

PRODUCTS: Mapping[str, tuple[str, ...]] = {
    "volta": ("v100", "v100s", "titan-v", "gv100"),
    "turing": ("t4", "rtx-2060", "rtx-2070", "rtx-2080", "rtx-2080-ti", "titan-rtx"),
    "ampere": ("a100", "a800", "a30"),
    "ada": ("l4", "l20", "l40", "l40s", "rtx-4060", "rtx-4070", "rtx-4080", "rtx-4090", "rtx-6000-ada"),
    "hopper": ("h100", "h200", "h800", "h20", "gh200"),
    "blackwell": ("b100", "b200", "gb200"),
    "blackwell-ultra": ("b300", "gb300"),
    "rtx-blackwell": ("rtx-5060", "rtx-5070", "rtx-5080", "rtx-5090", "rtx-pro-6000"),
    "gb10": ("dgx-spark",),
    "cdna1": ("mi100",),
    "cdna2": ("mi210", "mi250", "mi250x"),
    "cdna3": ("mi300a", "mi300x", "mi325x"),
    "cdna4": ("mi350x", "mi355x"),
    "rdna3": ("rx-7600", "rx-7700-xt", "rx-7800-xt", "rx-7900-xt", "rx-7900-xtx"),
    "rdna4": ("rx-9060-xt", "rx-9070", "rx-9070-xt"),
}
"""The architecture of each product. NVIDIA's compute capability 8.6 (RTX 30, A10, A40) is not in the catalogue."""


def libraries_run_on(text: str, targets: Iterable[str]) -> bool:
    """Return whether the libraries whose compute types a description names have these compiler targets."""
    found = [_COMPUTE_TYPE.fullmatch(x) for x in text.lower().split()]
    needed = {{"cu": "sm_", "hip": "gfx"}[x[1]] for x in found if x}
    return all(any(x.startswith(y) for x in targets) for y in needed)


_MAKERS = re.compile(r"^(?:(?:nvidia|amd|instinct|geforce|tesla|radeon|quadro)-)+")


def architecture_of(name: str, architectures: Mapping[str, Sequence[str]]) -> str | None:
    """Return the architecture that a product or compiler target has; None if nobody calls one so. It is logged.

    ``architectures`` are those of the catalogue, with their compiler targets.
    """
    wanted = _MAKERS.sub("", re.sub(r"[\s_]+", "-", name.strip().lower()))
    wanted = re.sub(r"^(rtx|rx)(?=\d)", r"\1-", wanted)
    for architecture, named in architectures.items():
        targets = (x.replace("_", "-") for x in named)
        if wanted == architecture or wanted in PRODUCTS.get(architecture, ()) or wanted in targets:
            _LOG.warning("note: %s is read as %s", name.strip(), architecture)
            return architecture
    return None
