"""VHDL becomes Verilog by GHDL's synthesis, and is then read as Verilog is.

Signed arithmetic that GHDL synthesises wrongly is restored in its Verilog, or refused.

GHDL 2 writes shifts to the right, quotients and remainders of signed numbers as Verilog computes them for unsigned
ones. The netlist is right, and its Verilog says by ``$signed`` or by a comment which operation it is, so the Verilog is
mended here. GHDL 2 also swaps the operands of an integer minus a signed number. There the netlist itself is wrong, so
a source that has such an operation is refused.

``when others`` of GHDL's netlists is restored in their Verilog.

GHDL before version 3 writes a ``case`` of a netlist as Verilog without its default (GHDL's issue 2041). Read as it is,
such a ``case`` is a latch, and what the VHDL says about other values is lost. GHDL writes the same netlist as VHDL
with its ``when others``, and names every net of a module alike in both. So the default of a net is taken from there.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

from mmaproof.designs.errors import InputError, TargetUnavailable
from mmaproof.rtl.tools import Limits, run_tool
from mmaproof.rtl.unit_file import VHDL, UnitFile

_MODULE = re.compile(r"^module\s+(\w+)", re.MULTILINE)
_ENTITY = re.compile(r"^\s*entity\s+(\w+)\s+is\b", re.IGNORECASE | re.MULTILINE)
_USED = re.compile(
    r":\s*(?:entity\s+\w+\.|component\s+)?(\w+)\s*(?:\(\s*\w+\s*\))?\s*(?:generic|port)\s+map", re.IGNORECASE
)

_READING = ("--std=08", "-fsynopsys")
"""``-fsynopsys`` admits std_logic_arith and std_logic_unsigned, which generators of arithmetic use."""


def is_vhdl(source: str) -> bool:
    """Return whether a file is VHDL, by the end of its name."""
    return Path(source).suffix.lower() in VHDL


def as_verilog(unit: UnitFile, folder: Path, limits: Limits) -> UnitFile:
    """Return a unit whose VHDL files are replaced by Verilog in ``folder``.

    If the top is an entity, it is synthesised with its parameters as generics. If it is a module of Verilog, the
    entities that no other entity uses are. Raises InputError with GHDL's message, and
    TargetUnavailable where GHDL is not installed.
    """
    sources = [x for x in unit.sources if is_vhdl(x)]
    if not sources:
        return unit
    ghdl = shutil.which("ghdl")
    if ghdl is None:
        raise TargetUnavailable("VHDL is synthesised by GHDL, which is not installed: apt-get install ghdl")
    text = "\n".join((unit.folder / x).read_text(encoding="utf-8", errors="replace") for x in sources)
    text = re.sub(r"--.*", "", text)
    entities = [x.lower() for x in _ENTITY.findall(text)]
    if not entities:
        raise InputError(f"{unit.path}: sources: there is no entity in {', '.join(sources)}")
    others = [x for x in unit.sources if not is_vhdl(x)]
    if unit.top.lower() in entities:
        generics = [f"-g{name}={value}" for name, value in unit.parameters.items()]
        made = [_synthesised(ghdl, unit, sources, unit.top.lower(), generics, folder, limits)]
        _refuse_what_is_swapped(ghdl, unit, sources, folder, limits)
        modules = _MODULE.findall(Path(made[0]).read_text(encoding="utf-8"))
        top = next((x for x in modules if x.lower() == unit.top.lower()), unit.top)
        return replace(unit, sources=(*made, *others), top=top, parameters={})
    if not others:
        raise InputError(f"{unit.path}: top: there is no entity {unit.top}; there are {', '.join(entities)}")
    used = {x.lower() for x in _USED.findall(text)}
    roots = [x for x in dict.fromkeys(entities) if x not in used]
    made = [_synthesised(ghdl, unit, sources, x, [], folder, limits) for x in roots]
    _refuse_what_is_swapped(ghdl, unit, sources, folder, limits)
    return replace(unit, sources=(*made, *others))


def _synthesised(
    ghdl: str, unit: UnitFile, sources: list[str], entity: str, generics: list[str], folder: Path, limits: Limits
) -> str:
    """Return the path of the Verilog that GHDL makes of an entity."""

    def written(kind: str) -> str:
        command = [ghdl, "--synth", *_READING, f"--workdir={folder}", f"--out={kind}"]
        return run_tool([*command, *generics, *sources, "-e", entity], unit, limits).output

    verilog = written("verilog")
    if lacks_default(verilog):
        verilog = with_others(verilog, written("vhdl"))
    path = folder / f"{entity}.v"
    path.write_text(with_signs(verilog), encoding="utf-8")
    return str(path)


def _refuse_what_is_swapped(ghdl: str, unit: UnitFile, sources: list[str], folder: Path, limits: Limits) -> None:
    """Raise InputError where this GHDL synthesises a subtraction of the sources with its operands swapped."""
    probe = folder / "mmaproof_probe.vhdl"
    probe.write_text(PROBE, encoding="utf-8")
    command = [ghdl, "--synth", *_READING, f"--workdir={folder}", "--out=verilog", str(probe), "-e", probe.stem]
    if swaps_operands(run_tool(command, unit, limits).output):
        command = [ghdl, "--file-to-xml", *_READING, f"--workdir={folder}", *sources]
        refuse_swapped(run_tool(command, unit, limits).output)


_SHIFT = re.compile(
    r"^(?P<to>\s*assign\s+.+?\s=\s)\$signed\((?P<left>[^()]+)\) >> (?P<right>[^;]+);", flags=re.MULTILINE
)
_DIVISION = re.compile(
    r"^(?P<to>\s*assign\s+.+?\s=\s)(?P<left>[^;]+?) [/%] (?P<right>[^;]+?)\s*;\s*// (?P<kind>sdiv|srem|smod)\b.*$",
    flags=re.MULTILINE,
)

_SWAPPED = re.compile(r"_SUB_INT_(?:SGN|SLV)")
"""An integer minus a number that is signed, of numeric_std, std_logic_arith and std_logic_signed."""

PROBE = """library ieee;
use ieee.numeric_std.all;
entity mmaproof_probe is
  port (probed : in signed(7 downto 0); difference : out signed(7 downto 0));
end entity;
architecture rtl of mmaproof_probe is
begin
  difference <= 1 - probed;
end architecture;
"""
"""An integer minus a signed number: a GHDL that swaps them shows it here."""

_RIGHT_PROBE = re.compile(r"=\s*8'b00000001 - probed\s*;")


def with_signs(verilog: str) -> str:
    """Return the Verilog of a netlist whose signed shifts, quotients and remainders are those of VHDL."""
    shifted = _SHIFT.sub(r"\g<to>$signed(\g<left>) >>> \g<right>;", verilog)
    return _DIVISION.sub(lambda match: match["to"] + _division(match) + ";", shifted)


def swaps_operands(probe: str) -> bool:
    """Return whether the GHDL that wrote the Verilog of ``PROBE`` swaps the operands of an integer minus a signed."""
    return _RIGHT_PROBE.search(probe) is None


def refuse_swapped(syntax: str) -> None:
    """Raise InputError where a source has an integer minus a signed number.

    ``syntax`` is what GHDL's ``--file-to-xml`` says of the sources.
    """
    places = list(dict.fromkeys(_swapped(syntax)))
    if places:
        raise InputError(
            f"{', '.join(places)}: GHDL synthesises an integer minus a signed number with its operands swapped: make "
            "the integer a signed number, as in to_signed(1, 8) - x, or use a GHDL that does not"
        )


def _swapped(syntax: str) -> Iterator[str]:
    try:
        root = ElementTree.fromstring(syntax)
    except ElementTree.ParseError as problem:
        raise InputError(f"what GHDL's --file-to-xml says of the sources is not read: {problem}") from problem
    names = {x.get("id"): x.get("implicit_definition", "") for x in root.iter()}
    for element in root.iter():
        called = element.find("implementation")
        if called is not None and _SWAPPED.search(names.get(called.get("ref"), "")):
            yield f"{element.get('file')}:{element.get('line')}:{element.get('col')}"


def _division(match: re.Match[str]) -> str:
    """Return a signed division. A ``mod`` has the sign of the divisor, Verilog's remainder that of the dividend."""
    left, right = (x if x.startswith("$signed(") else f"$signed({x})" for x in (match["left"], match["right"]))
    if match["kind"] == "sdiv":
        return f"{left} / {right}"
    remainder = f"{left} % {right}"
    if match["kind"] == "srem":
        return remainder
    return f"(({left} < 0) != ({right} < 0) && {remainder} != 0) ? {remainder} + {right} : {remainder}"


Defaults = Mapping[tuple[str, str], str]
"""(module, net) -> the VHDL expression after which stands ``when others``. Names are in lower case."""

_ARCHITECTURE = re.compile(r"^architecture\s+\S+\s+of\s+(?P<name>\S+)\s+is\b", re.IGNORECASE)
_CHOICE = re.compile(r"^\s*with\s+(?P<select>\S+)\s+select\s+(?P<net>\S+)\s*<=", re.IGNORECASE)
_OTHERS = re.compile(r"^\s*(?P<value>.+?)\s+when\s+others\s*;", re.IGNORECASE)

_HEADING = re.compile(r"^module\s+(?P<name>[^\s(]+)")
_CASE = re.compile(r"^\s*case\s*\(")
_DEFAULT = re.compile(r"^\s*default\s*:")
_ITEM = re.compile(r":\s*(?P<net>\S+)\s*<?=")
_END = re.compile(r"^(?P<indent>\s*)endcase\b")

_LITERAL = re.compile(r"(?P<quote>[\"'])(?P<bits>[01XZUWLH-]+)(?P=quote)", re.IGNORECASE)
_NAME = re.compile(r"[a-z]\w*", re.IGNORECASE)
_OF_VERILOG = str.maketrans("LHUWXZ-lhuwxz", "01xxxzx01xxxz")


def lacks_default(verilog: str) -> bool:
    """Return whether a ``case`` of a netlist that GHDL wrote has no default."""
    lines = verilog.splitlines()
    return sum(map(bool, map(_CASE.match, lines))) > sum(map(bool, map(_DEFAULT.match, lines)))


def with_others(verilog: str, vhdl: str) -> str:
    """Return the Verilog of a netlist with a default in every ``case`` that lacks one.

    ``vhdl`` is the same netlist, as the same GHDL writes it with ``--out=vhdl``. Raises InputError where it does not
    say what the default is.
    """
    return "".join(_restored(verilog, dict(_defaults(vhdl))))


def _defaults(vhdl: str) -> Iterator[tuple[tuple[str, str], str]]:
    module, net = "", ""
    for line in vhdl.splitlines():
        if match := _ARCHITECTURE.match(line):
            module = match["name"].lower()
        elif match := _CHOICE.match(line):
            net = match["net"].lower()
        elif net and (match := _OTHERS.match(line)):
            yield (module, net), match["value"]
            net = ""


def _restored(verilog: str, defaults: Defaults) -> Iterator[str]:
    module, net, inside, has_default = "", "", False, False
    for line in verilog.splitlines(keepends=True):
        if match := _HEADING.match(line):
            module = match["name"].lower()
        elif _CASE.match(line):
            inside, net, has_default = True, "", False
        elif inside and _DEFAULT.match(line):
            has_default = True
        elif inside and (match := _END.match(line)):
            if not has_default:
                yield f"{match['indent']}  default: {net} <= {_of_verilog(module, net, defaults)};\n"
            inside = False
        elif inside and (match := _ITEM.search(line)):
            net = match["net"]
        yield line


def _of_verilog(module: str, net: str, defaults: Defaults) -> str:
    """Return the default of a net as Verilog: a constant or a net."""
    value = defaults.get((module, net.lower()))
    if value is None:
        raise _unreadable(module, net, "does not say")
    literal = _LITERAL.fullmatch(value)
    if literal:
        return f"{len(literal['bits'])}'b{literal['bits'].translate(_OF_VERILOG)}"
    if _NAME.fullmatch(value):
        return value
    raise _unreadable(module, net, f"says in a form that is not read ({value})")


def _unreadable(module: str, net: str, problem: str) -> InputError:
    return InputError(
        f"GHDL writes a case of {module} without its default, and its netlist {problem} what {net} is then: "
        "use GHDL 3 or later, which writes the default"
    )
