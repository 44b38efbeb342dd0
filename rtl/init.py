"""A first map of a unit: what its ports may be, guessed from their names and widths. A person checks it."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from mmaproof.designs.circuit import Bit, Bits, Cell
from mmaproof.designs.errors import InputError
from mmaproof.rtl.elaboration import elaborate
from mmaproof.rtl.netlist import Module, Port, read_module
from mmaproof.rtl.unit_file import UnitFile

_NAMES = {
    "a": r"a|lhs|matrix_?a|vec_?a|op_?a|operand_?a|src_?a|rs1|x",
    "b": r"b|rhs|matrix_?b|vec_?b|op_?b|operand_?b|src_?b|rs2|w|y",
    "c": r"c|acc|accum|accumulator|addend|matrix_?c|op_?c|operand_?c|src_?c|rs3|psum|bias",
    "d": r"d|y|z|q|r|out|output|result|res|sum|dout|acc|psum|matrix_?d",
    "scale_a": r"scale_?a|sa|a_?scale|xa",
    "scale_b": r"scale_?b|sb|b_?scale|xb",
}
_AROUND = r"(?:i_|o_|in_|out_|io_)?(?:{})(?:_?(?P<number>\d+))?(?:_?(?:i|o|in|out|data|vec|row|col|bits))?"
_CLOCK = re.compile(r"(?:.*_)?(?:clk|clock)(?:_.*)?", re.IGNORECASE)
_RESET = re.compile(r"(?:.*_)?a?(?:rst|reset)(?:_?(?P<low>n|ni|l|b))?(?:_.*)?", re.IGNORECASE)
_HELD = re.compile(r"(?:.*_)?(?:stall|flush|clear|clr|kill)(?:_.*)?", re.IGNORECASE)
_VALID = re.compile(r"(?:.*_)?(?:valid|vld|tag|id)(?:_.*)?", re.IGNORECASE)
_WIDE = {16: "fp16", 32: "fp32", 64: "fp64"}
_LANES = ("L", "K", "N", "LANES", "NUM_LANES", "SIZE", "DEPTH", "TCK", "VEC", "WIDTH_K")


@dataclass
class _Map:
    """What has been guessed, as lines of a file."""

    ports: dict[str, str] = field(default_factory=dict)
    formats: dict[str, str] = field(default_factory=dict)
    tied: dict[str, str] = field(default_factory=dict)
    free: list[str] = field(default_factory=list)
    undecided: dict[str, str] = field(default_factory=dict)
    """inputs of which nothing is guessed: a proof about a constant in place of an operand would say too little"""
    clock: str | None = None


def first_map(
    sources: Sequence[Path],
    top: str,
    path: Path,
    *,
    include: Sequence[Path] = (),
    defines: Mapping[str, str] | None = None,
    parameters: Mapping[str, str] | None = None,
    design: str | None = None,
) -> str:
    """Return the text of a UNIT.toml that is to be written at ``path``. Raises as ``elaborate`` and ``read_module``."""
    folder = path.parent

    def relative(file: Path) -> str:
        return Path(os.path.relpath(file, folder)).as_posix()

    unit = UnitFile(
        path,
        tuple(relative(x) for x in sources),
        top,
        tuple(relative(x) for x in include),
        dict(defines or {}),
        dict(parameters or {}),
    )
    module = read_module(top, elaborate(unit))
    found = _guessed(module, unit.parameters)
    return "".join(f"{line}\n" for line in _lines(unit, module, found, design))


def _role(name: str, operands: Sequence[str]) -> tuple[str, int | None] | None:
    """Return which operand a name suggests, and which element of it."""
    for operand in operands:
        match = re.fullmatch(_AROUND.format(_NAMES[operand]), name, re.IGNORECASE)
        if match is not None:
            return operand, None if match["number"] is None else int(match["number"])
    return None


def _guessed(module: Module, parameters: Mapping[str, str]) -> _Map:
    found = _Map()
    given: dict[str, dict[int | None, Port]] = {}
    for port in module.ports.values():
        if port.direction == "input":
            role = _role(port.name, ("a", "b", "c", "scale_a", "scale_b"))
            if role is not None and (len(port.bits) > 1 or role[0] in given):
                given.setdefault(role[0], {})[role[1]] = port
            else:
                _other(found, module, port)
    outputs = [x for x in module.ports.values() if x.direction == "output"]
    result = next((x for x in outputs if len(x.bits) > 1 and _role(x.name, ("d",))), None)
    result = result or max(outputs, key=lambda x: len(x.bits), default=None)
    if result is not None:
        found.ports["d"] = f'"{result.name}"'
        found.formats["d"] = _WIDE.get(len(result.bits), "")
    for operand, ports in given.items():
        if len(ports) == 1:
            only = next(iter(ports.values()))
            found.ports[operand] = f'"{only.name}"'
        else:
            ordered = sorted(ports.items(), key=lambda x: -1 if x[0] is None else x[0])
            found.ports[operand] = "[" + ", ".join(f'"{x.name}"' for _, x in ordered) + "]"
        width = sum(len(x.bits) for x in ports.values())
        found.formats[operand] = _format(operand, width, len(ports), parameters)
    return found


def _other(found: _Map, module: Module, port: Port) -> None:
    """Guess what an input is that is no operand."""
    clocks = {bit for cell in module.cells for bit in cell.inputs.get("CLK", ())}
    reset = _RESET.fullmatch(port.name)
    if len(port.bits) == 1 and (clocks.intersection(port.bits) or _CLOCK.fullmatch(port.name)):
        found.clock = found.clock or port.name
    elif reset is not None:
        found.tied[port.name] = f"{1 if reset['low'] else 0}  # CHECK: not in reset"
    elif _HELD.fullmatch(port.name):
        found.tied[port.name] = "0  # CHECK"
    elif _VALID.fullmatch(port.name):
        found.free.append(port.name)
    elif len(port.bits) == 1:
        found.tied[port.name] = "1  # CHECK: enabled, or list it as free"
    else:
        found.undecided[port.name] = f'"{len(port.bits)}\'d0"  # map these bits above, tie them, or list them as free'


def _format(operand: str, width: int, ports: int, parameters: Mapping[str, str]) -> str:
    """Return the format that a width suggests; an empty text where it suggests none."""
    if operand == "c":
        return _WIDE.get(width, "")
    lanes = next((int(parameters[x]) for x in _LANES if parameters.get(x, "").isdigit()), 0)
    count = ports if ports > 1 else lanes
    each = width // count if count and width % count == 0 else 0
    if operand.startswith("scale"):
        return "e8m0" if (each or width) == 8 else ""
    if each:
        return {8: "e4m3", 4: "e2m1", **_WIDE}.get(each, "")
    return "fp16" if width % 16 == 0 else "e4m3" if width % 8 == 0 else ""


def _lines(unit: UnitFile, module: Module, found: _Map, design: str | None) -> list[str]:
    def listed(texts: Sequence[str]) -> str:
        return "[" + ", ".join(f'"{x}"' for x in texts) + "]"

    def table(values: Mapping[str, str]) -> str:
        return (
            "{ "
            + ", ".join(f"{n} = {x if x.isdigit() else f'{chr(34)}{x}{chr(34)}'}" for n, x in values.items())
            + " }"
        )

    lines = [f"# A first map of {module.name}, guessed from the names and the widths of its ports: check every line."]
    lines += [f"# {x.direction} {x.name}, {len(x.bits)} bits" for x in module.ports.values()]
    lines += [f"sources = {listed(unit.sources)}", f'top = "{unit.top}"']
    lines += [f"include = {listed(unit.include)}"] if unit.include else []
    lines += [f"defines = {table(unit.defines)}"] if unit.defines else []
    lines += [f"parameters = {table(unit.parameters)}"] if unit.parameters else []
    if design is not None:
        lines.append(f'design = "{design}"')
    else:
        lines.append('# design = "ARCHITECTURE/INSTRUCTION"  # what it is meant to be: see `mmaproof designs`')
    if found.free:
        lines.append(f"free = {listed(found.free)}  # CHECK: inputs that must not matter")
    scaled = "scale_a" in found.ports
    if scaled:
        lines.append("block = 32  # CHECK: elements that share a scale")
    if design is None:
        lines += ["", "[formats]  # CHECK: widths do not tell formats apart, and int8 has the width of e4m3"]
        for operand in "abcd":
            name = found.formats.get(operand, "")
            lines.append(f'{operand} = "{name}"' if name else f'# {operand} = "?"  # the width does not tell')
        lines += ['scale = "e8m0"  # CHECK'] if scaled else []
    lines += ["", "[ports]  # one packed port with element 0 lowest, or a list with a slice for each element"]
    for operand in ("a", "b", "c", "d", *(("scale_a", "scale_b") if scaled else ())):
        stated = found.ports.get(operand)
        lines.append(f'# {operand} = "?"  # no port has such a name' if stated is None else f"{operand} = {stated}")
    if found.tied or found.undecided:
        lines += ["", "[tied]", *(f"{name} = {text}" for name, text in found.tied.items())]
        lines += [f"# {name} = {text}" for name, text in found.undecided.items()]
    if found.clock is not None:
        latency = _most_registers(module)
        lines += ["", "[clock]", f'clock = "{found.clock}"']
        if latency is None:
            lines.append("cycles = 1  # CHECK: registers feed back: how many cycles a result takes")
        else:
            lines.append(f"latency = {latency}  # CHECK: registers on every path from the operands to d")
    return lines


def _most_registers(module: Module) -> int | None:
    """Return the most registers on a path to an output; None if registers feed themselves."""
    drivers: dict[Bit, tuple[Cell, int]] = {}
    for cell in module.cells:
        for bits in cell.outputs.values():
            drivers |= {bit: (cell, place) for place, bit in enumerate(bits)}
    most: dict[Bit, int] = {}
    entered: set[Bit] = set()
    ends = [x for p in module.ports.values() if p.direction == "output" for x in p.bits if x in drivers]
    stack = [(x, False) for x in dict.fromkeys(ends)]
    while stack:
        bit, is_left = stack.pop()
        before = {x for x in _read(drivers, bit) if x in drivers}
        if is_left:
            most[bit] = ("CLK" in drivers[bit][0].inputs) + max((most[x] for x in before), default=0)
        elif bit not in entered:
            entered.add(bit)
            stack.append((bit, True))
            if any(x in entered and x not in most for x in before):
                return None
            stack += [(x, False) for x in before if x not in entered]
    return max((most[x] for x in ends), default=0)


def _read(drivers: Mapping[Bit, tuple[Cell, int]], bit: Bit) -> Bits:
    """Return the bits that a bit depends on; of a register that an enable holds, what it takes when it is not held."""
    cell, place = drivers[bit]
    if "CLK" not in cell.inputs:
        return tuple(x for bits in cell.inputs.values() for x in bits)
    taken = cell.inputs["D"][place]
    while taken in drivers:
        source, place = drivers[taken]
        if source.kind != "$mux" or bit not in (source.inputs["A"][place], source.inputs["B"][place]):
            break
        taken = source.inputs["B" if source.inputs["A"][place] == bit else "A"][place]
    return (taken,)


def checked_top(top: str) -> str:
    """Return the name of a module. Raises InputError for what is none."""
    if not top.isidentifier():
        raise InputError(f"--top {top}: is no name of a module")
    return top
