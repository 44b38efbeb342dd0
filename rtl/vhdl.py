"""VHDL becomes Verilog by GHDL's synthesis, and is then read as Verilog is."""

from __future__ import annotations

import re
import shutil
from dataclasses import replace
from pathlib import Path

from mmaproof.designs.errors import InputError, TargetUnavailable
from mmaproof.rtl.ghdl_others import lacks_default, with_others
from mmaproof.rtl.ghdl_signed import PROBE, refuse_swapped, swaps_operands, with_signs
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
