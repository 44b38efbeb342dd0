"""What the text of sources says about modules and ports, and Yosys does not: signs, elements, fields, the top."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from mmaproof.rtl.unit_file import VHDL, UnitFile

_ONE = re.compile(r"(?P<kind>.*?)\b(?P<name>\w+)\s*(?P<array>(?:\[[^\[\]]*\]\s*)*)", re.DOTALL)
_RANGE = re.compile(r"\[\s*(?P<last>\w+)\s*(?P<less>-\s*1)?\s*:\s*0\s*\]")
_PARAMETER = re.compile(r"\b(?P<name>\w+)\s*=\s*(?P<value>\d+)\s*[,;)]")
_DECLARED = re.compile(r"\b(?:input|output)\b(?P<rest>.*?)(?=\b(?:input|output|inout)\b|;|\)\s*;)", re.DOTALL)
_OF_VHDL = re.compile(r"(?P<names>\w+(?:\s*,\s*\w+)*)\s*:\s*(?:in|out)\s+(?P<kind>\w+)", re.IGNORECASE)
_STRUCT = re.compile(r"\btypedef\s+struct\s+packed\s*(?:signed|unsigned)?\s*\{(?P<fields>[^{}]*)\}\s*(?P<name>\w+)\s*;")
_TYPE = re.compile(r"\btypedef\s+(?P<kind>(?:logic|bit|reg|wire)\b[^;{}]*?)\b(?P<name>\w+)\s*;")
_MODULE = re.compile(r"\bmodule\s+(?:automatic\s+|static\s+)?(?P<name>\w+)\b(?P<body>.*?)\bendmodule\b", re.DOTALL)
_ENTITY = re.compile(r"\bentity\s+(?P<name>\w+)\s+is\b", re.IGNORECASE)
_USED = re.compile(r":\s*(?:component\s+|entity\s+(?:\w+\.)?)?(?P<name>\w+)", re.IGNORECASE)
_PLAIN = ("logic", "bit", "reg", "wire", "signed", "unsigned", "var")


@dataclass(frozen=True, slots=True)
class Declared:
    """How the sources declare a port: as "int" or "uint" or neither, and of elements of how many bits.

    None bits are those of the whole port; 0 bits are not known.
    """

    kind: str = ""
    element: int | None = None


@dataclass(frozen=True, slots=True)
class Field:
    """A field of a port that is a packed structure, from the bit ``low`` on."""

    name: str
    low: int
    width: int
    declared: Declared


def _texts(unit: UnitFile, suffixes: bool) -> Iterator[str]:
    """Yield the sources without comments: those of VHDL, or the others."""
    for source in unit.sources:
        if (Path(source).suffix.lower() in VHDL) is suffixes:
            text = (unit.folder / source).read_text(encoding="utf-8", errors="replace")
            yield re.sub(r"--.*", "", text) if suffixes else re.sub(r"//[^\n]*|/\*.*?\*/", " ", text, flags=re.DOTALL)


def top_modules(unit: UnitFile) -> list[str]:
    """Return the modules and entities of the sources that no other one of them has inside, in their order."""
    bodies = {x["name"]: x["body"] for text in _texts(unit, False) for x in _MODULE.finditer(text)}
    used = {n for n in bodies for other, body in bodies.items() if other != n and _instantiates(body, n)}
    vhdl = [*_texts(unit, True)]
    entities = [x["name"] for text in vhdl for x in _ENTITY.finditer(text)]
    inside = {x["name"].lower() for text in vhdl for x in _USED.finditer(text)}
    return [n for n in bodies if n not in used] + [n for n in entities if n.lower() not in inside]


def _instantiates(body: str, name: str) -> bool:
    return re.search(rf"(?<![.\w$]){re.escape(name)}\s*(?:#\s*\(|\w+\s*(?:\[[^\]]*\]\s*)?\()", body) is not None


def declared_ports(unit: UnitFile) -> dict[str, Declared]:
    """Return how the sources declare ports, by the name of the port.

    Yosys does not say it. Names are in lower case, because VHDL knows no other difference.
    """
    found: dict[str, Declared] = {}
    for text in _texts(unit, True):
        kinds = {"signed": Declared("int"), "unsigned": Declared("uint")}
        for port in _OF_VHDL.finditer(text):
            names = [x.strip().lower() for x in port["names"].split(",")]
            found |= dict.fromkeys(names, kinds[port["kind"].lower()]) if port["kind"].lower() in kinds else {}
    for name, kind, array, parameters in _ports(unit):
        found[name.lower()] = _as_declared(kind, array, parameters)
    return found


def _ports(unit: UnitFile) -> Iterator[tuple[str, str, str, Mapping[str, str]]]:
    """Yield each port of the top module with its kind and the dimensions after its name, and the parameters."""
    for text in _texts(unit, False):
        body = next((x["body"] for x in _MODULE.finditer(text) if x["name"] == unit.top), "")
        parameters = _parameters(body, unit)
        for declared in _DECLARED.finditer(body):
            kind = ""
            for each in declared["rest"].split(","):
                one = _ONE.fullmatch(each.strip().rstrip(") "))
                if one is not None:
                    kind = one["kind"] or kind
                    yield one["name"], kind, one["array"], parameters


def _parameters(text: str, unit: UnitFile) -> dict[str, str]:
    return {x["name"]: x["value"] for x in reversed([*_PARAMETER.finditer(text)])} | dict(unit.parameters)


def _as_declared(kind: str, array: str, parameters: Mapping[str, str]) -> Declared:
    """Return how a port of a type is declared that may be an array: of packed elements, or of unpacked ones."""
    sign = "int" if re.search(r"\bsigned\b", kind) else ""
    packed, several = re.findall(r"\[[^\[\]]*\]", kind), re.findall(r"\[[^\[\]]*\]", array)
    if len(packed) + len(several) < 2:
        return Declared(sign)
    return Declared(sign, (_size(packed[-1], parameters) or 0) if packed else 0)


def _size(dimension: str, parameters: Mapping[str, str]) -> int | None:
    """Return how many there are in a dimension such as ``[W-1:0]``; None if that is not plain from the text."""
    last = _RANGE.fullmatch(dimension)
    number = "" if last is None else parameters.get(last["last"], last["last"])
    return int(number) + (not last["less"]) if last is not None and number.isdigit() else None


def fields_of_ports(unit: UnitFile, widths: Mapping[str, int]) -> dict[str, list[Field]]:
    """Return the fields of ports that are packed structures, by the name of the port, the lowest bit first.

    A port is left out if the text does not tell the width of each field, or if they are not as wide as the port is.
    """
    whole = "\n".join(_texts(unit, False))
    parameters = _parameters(whole, unit)
    structures = {x["name"]: x["fields"] for x in _STRUCT.finditer(whole)}
    aliases = {x["name"]: x["kind"] for x in _TYPE.finditer(whole)}

    def fields(name: str, prefix: str, depth: int) -> Iterable[tuple[str, int | None, str]]:
        for text in structures[name].split(";"):
            one = _ONE.fullmatch(text.strip())
            if one is None or not text.strip():
                continue
            kind = one["kind"].strip()
            word = re.sub(r"\[.*", "", kind).split("::")[-1].strip()
            if word in structures and depth and "[" not in kind:
                yield from fields(word, f"{prefix}{one['name']}.", depth - 1)
                continue
            alias = word if word in aliases else ""
            dimensions = re.findall(r"\[[^\[\]]*\]", kind) + re.findall(r"\[[^\[\]]*\]", aliases.get(alias, ""))
            width: int | None = 1
            for size in (_size(x, parameters) for x in dimensions):
                width = None if size is None or width is None else width * size
            known = alias or all(x in _PLAIN for x in re.sub(r"\[[^\[\]]*\]", " ", kind).split())
            text_of = f"{kind} {aliases.get(alias, '')}"
            yield f"{prefix}{one['name']}", width if known and not one["array"] else None, text_of

    found: dict[str, list[Field]] = {}
    for name, kind, _, _ in _ports(unit):
        word = kind.split("::")[-1].strip()
        if word not in structures or name not in widths:
            continue
        held = [*fields(word, "", 4)]
        if all(width is not None for _, width, _ in held) and sum(x or 0 for _, x, _ in held) == widths[name]:
            low, taken = 0, []
            for field, width, text in reversed(held):
                taken.append(Field(field, low, width or 0, _as_declared(text, "", parameters)))
                low += width or 0
            found[name] = taken
    return found
