"""A first map of a unit: what its ports may be, guessed from their names and widths. A person checks it."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from mmaproof.designs.circuit import Bit, Bits
from mmaproof.designs.errors import InputError
from mmaproof.designs.formats import FORMATS
from mmaproof.rtl.elaboration import elaborate
from mmaproof.rtl.netlist import Module, Port, cone, drivers_of, input_bits, read_module, with_constants
from mmaproof.rtl.pipeline import Structure, latencies
from mmaproof.rtl.registers import cut, registers_of, with_next_values
from mmaproof.rtl.unit_file import NEXT, REG, VHDL, UnitFile
from mmaproof.rtl.unroll import shortest_first

_NAMES = {
    "a": r"a|act|activation|west|lhs|matrix_?a|vec_?a|op_?a|operand_?a|src_?a|rs1|x",
    "b": r"b|weight|wt|north|rhs|matrix_?b|vec_?b|op_?b|operand_?b|src_?b|rs2|w|y",
    "c": r"c|acc|accum|accumulator|addend|matrix_?c|op_?c|operand_?c|src_?c|rs3|psum|bias",
    "d": r"d|y|z|q|r|out|output|result|res|sum|dout|acc|psum|matrix_?d",
    "scale_a": r"scale_?a|sa|a_?scale|xa",
    "scale_b": r"scale_?b|sb|b_?scale|xb",
}
_AROUND = r"(?:i_|o_|in_|out_|io_)?(?:{})(?:_?(?:{lane})?_?(?P<number>\d+))?(?:_?(?:i|o|in|out|data|vec|row|col|bits))?"
_LANE = "x|k|i|ch|lane|el|elem|element|vec|row|col|in|data|pe"
_FILLING = re.compile(
    r"i|o|in|out|io|data|tdata|bits|vec|row|col|s|m|axis|port|lane|el|elem|element|ch|pe|op|operand|src"
)
"""Words of names that say nothing about what a port is."""
_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+|\d+")
_ONE = re.compile(r"(?P<kind>.*?)\b(?P<name>\w+)\s*(?P<array>(?:\[[^\[\]]*\]\s*)*)", re.DOTALL)
_RANGE = re.compile(r"\[\s*(?P<last>\w+)\s*(?P<less>-\s*1)?\s*:\s*0\s*\]")
_PARAMETER = re.compile(r"\b(?P<name>\w+)\s*=\s*(?P<value>\d+)\s*[,;)]")
_DECLARED = re.compile(r"\b(?:input|output)\b(?P<rest>.*?)(?=\b(?:input|output|inout)\b|;|\)\s*;)", re.DOTALL)
_OF_VHDL = re.compile(r"(?P<names>\w+(?:\s*,\s*\w+)*)\s*:\s*(?:in|out)\s+(?P<kind>\w+)", re.IGNORECASE)
_CLOCK = re.compile(r"(?:.*_)?a?(?:clk|clock)(?:_.*)?", re.IGNORECASE)
_RESET = re.compile(r"(?:.*_)?a?(?:rst|reset)(?:_?(?P<low>n|ni|l|b))?(?:_.*)?", re.IGNORECASE)
_CLEAR = re.compile(r"(?:.*_)?(?:clr|clear|init|start|first)(?:_.*)?", re.IGNORECASE)
_ENABLE = re.compile(r"(?:.*_)?(?:en|ena|enable|ce|valid|vld)(?:_.*)?", re.IGNORECASE)
KEEPING = ("$mux", "$_MUX_", "$pmux")
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
    accumulator: str | None = None
    """a register that is c and d"""
    control: dict[str, str] = field(default_factory=dict)
    taken: Bits = ()
    """the bits of the operands"""
    result: Bits = ()
    others: dict[str, list[str]] = field(default_factory=dict)
    """further ports that an operand may be"""


@dataclass(frozen=True, slots=True)
class _Declared:
    """How the sources declare a port: as "int" or "uint" or neither, and of elements of how many bits.

    None bits are those of the whole port; 0 bits are not known.
    """

    kind: str = ""
    element: int | None = None


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
    found = _guessed(module, unit.parameters, _declared(unit))
    return "".join(f"{line}\n" for line in _lines(unit, module, found, design))


def _role(name: str, operands: Sequence[str]) -> tuple[str, int | None] | None:
    """Return which operand a name suggests, and which element of it."""
    for operand in operands:
        match = re.fullmatch(_AROUND.format(_NAMES[operand], lane=_LANE), name, re.IGNORECASE)
        if match is not None:
            return operand, None if match["number"] is None else int(match["number"])
    words = [x.lower() for x in _WORD.findall(name)]
    numbers = [int(x) for x in words if x.isdigit()]
    said = [x for x in words if not x.isdigit() and not _FILLING.fullmatch(x)]
    for operand in operands:
        if len(said) == 1 and len(numbers) <= 1 and re.fullmatch(_NAMES[operand], said[0]):
            return operand, numbers[0] if numbers else None
    return None


def _declared(unit: UnitFile) -> dict[str, _Declared]:
    """Return how the sources declare ports, by the name of the port.

    Yosys does not say it. Names are in lower case, because VHDL knows no other difference.
    """
    found: dict[str, _Declared] = {}
    for source in unit.sources:
        text = (unit.folder / source).read_text(encoding="utf-8", errors="replace")
        if Path(source).suffix.lower() in VHDL:
            kinds = {"signed": _Declared("int"), "unsigned": _Declared("uint")}
            for port in _OF_VHDL.finditer(re.sub(r"--.*", "", text)):
                names = [x.strip().lower() for x in port["names"].split(",")]
                found |= dict.fromkeys(names, kinds[port["kind"].lower()]) if port["kind"].lower() in kinds else {}
            continue
        text = re.sub(r"//[^\n]*|/\*.*?\*/", " ", text, flags=re.DOTALL)
        header = re.search(rf"\bmodule\s+{re.escape(unit.top)}\b(.*?)\bendmodule\b", text, re.DOTALL)
        text = "" if header is None else header[1]
        values = [*_PARAMETER.finditer(text)]
        parameters = {x["name"]: x["value"] for x in reversed(values)} | dict(unit.parameters)
        for declared in _DECLARED.finditer(text):
            kind = ""
            for each in declared["rest"].split(","):
                one = _ONE.fullmatch(each.strip().rstrip(") "))
                if one is not None:
                    kind = one["kind"] or kind
                    found[one["name"].lower()] = _as_declared(kind, one["array"], parameters)
    return found


def _as_declared(kind: str, array: str, parameters: Mapping[str, str]) -> _Declared:
    """Return how a port of a type is declared that may be an array: of packed elements, or of unpacked ones."""
    sign = "int" if re.search(r"\bsigned\b", kind) else ""
    packed, several = re.findall(r"\[[^\[\]]*\]", kind), re.findall(r"\[[^\[\]]*\]", array)
    if len(packed) + len(several) < 2:
        return _Declared(sign)
    last = _RANGE.fullmatch(packed[-1]) if packed else None
    number = "" if last is None else parameters.get(last["last"], last["last"])
    return _Declared(sign, int(number) + (not last["less"]) if last is not None and number.isdigit() else 0)


def _guessed(module: Module, parameters: Mapping[str, str], declared: Mapping[str, _Declared]) -> _Map:
    found = _Map()
    given: dict[str, dict[int | None, Port]] = {}
    roles = {
        x.name: _role(x.name, ("a", "b", "c", "scale_a", "scale_b"))
        for x in module.ports.values()
        if x.direction == "input"
    }
    numbered = {role[0] for role in roles.values() if role is not None and role[1] is not None}
    if not any(role is not None and role[0] == "c" for role in roles.values()):
        found.accumulator = _accumulator(module)
    for name, role in roles.items():
        port = module.ports[name]
        is_one = role is not None and (role[1] is not None or role[0] not in numbered)
        if role is None or not is_one or role[1] in given.get(role[0], {}) or (len(port.bits) == 1 and not given):
            if role is not None:
                found.others.setdefault(role[0], []).append(name)
            _other(found, module, port)
        else:
            given.setdefault(role[0], {})[role[1]] = port
    outputs = [x for x in module.ports.values() if x.direction == "output"]
    result = next((x for x in outputs if len(x.bits) > 1 and _role(x.name, ("d",))), None)
    result = result or max(outputs, key=lambda x: len(x.bits), default=None)
    used = [x for ports in given.values() for x in ports.values()] + ([result] if result is not None else [])
    numbers = next((x.kind for port in used if (x := declared.get(port.name.lower(), _Declared())).kind), None)
    if result is not None:
        found.others["d"] = [x.name for x in outputs if x is not result and len(x.bits) == len(result.bits)]
        found.ports["d"] = f'"{result.name}"'
        found.formats["d"] = _number_format("d", [result], declared, numbers) or _WIDE.get(len(result.bits), "")
    for operand, ports in given.items():
        if len(ports) == 1:
            only = next(iter(ports.values()))
            found.ports[operand] = f'"{only.name}"'
        else:
            ordered = sorted(ports.items(), key=lambda x: -1 if x[0] is None else x[0])
            found.ports[operand] = "[" + ", ".join(f'"{x.name}"' for _, x in ordered) + "]"
        found.formats[operand] = _element_format(operand, [*ports.values()], parameters, declared, numbers)
    found.taken = tuple(bit for x in given.values() for port in x.values() for bit in port.bits)
    found.result = () if result is None else result.bits
    if found.accumulator is not None:
        register = module.registers[found.accumulator]
        kind = numbers or next((x.kind for x in declared.values() if x.kind), None)
        for operand, which in (("c", REG), ("d", NEXT)):
            found.ports[operand] = f'"{which}{found.accumulator}"  # CHECK: a register that feeds back'
            fmt = f"{kind}{len(register.bits)}"
            found.formats[operand] = fmt if fmt in FORMATS else _WIDE.get(len(register.bits), "")
    return found


def _accumulator(module: Module) -> str | None:
    """Return the widest register that is computed from itself and from another word; None if there is none.

    One that only keeps its value while it is not enabled is none.
    """
    registers, drivers = registers_of(module), drivers_of(module)
    follows = {q: d for x in registers.values() for q, d in zip(x.q, x.d, strict=True)}
    found = None
    for name, _ in shortest_first({n: x.bits for n, x in module.registers.items()}):
        bits = module.registers[name].bits
        reached = cone(
            [follows[bit] for bit in bits], drivers, lambda i: () if i in registers else input_bits(module.cells[i])
        )
        cells = [module.cells[i] for i in reached if i not in registers]
        choosing = [x for x in cells if x.kind in KEEPING]
        carried: set[Bit] = set()
        more = set(bits)
        while more:
            carried |= more
            more = {y for x in choosing if not carried.isdisjoint(input_bits(x)) for y in x.outputs["Y"]} - carried
        feeds_back = any(not carried.isdisjoint(input_bits(x)) for x in cells if x.kind not in KEEPING)
        if feeds_back and len(bits) > (len(module.registers[found].bits) if found else 1):
            found = name
    return found


def _element_format(
    operand: str,
    ports: Sequence[Port],
    parameters: Mapping[str, str],
    declared: Mapping[str, _Declared],
    numbers: str | None,
) -> str:
    """Return the format of the elements of an operand; an empty text where nothing tells it."""
    if numbers is not None and not operand.startswith("scale"):
        return _number_format(operand, ports, declared, numbers)
    width = sum(len(x.bits) for x in ports)
    elements = {declared.get(x.name.lower(), _Declared()).element for x in ports}
    if 0 in elements:
        return ""
    element = elements.pop() if len(elements) == 1 else None
    count = len(ports) if element is None else width // element
    return _format(operand, width, count, parameters)


def _number_format(operand: str, ports: Sequence[Port], declared: Mapping[str, _Declared], numbers: str | None) -> str:
    """Return the integer format of ports where some port is declared as a number; an empty text where none fits."""
    if numbers is None:
        return ""
    stated = [(x, declared.get(x.name.lower(), _Declared())) for x in ports]
    kinds = {x.kind or (numbers if operand in "ab" else "int") for _, x in stated}
    widths = {len(port.bits) if x.element is None else x.element for port, x in stated}
    name = f"{kinds.pop()}{widths.pop()}" if len(kinds) == len(widths) == 1 else ""
    return name if name in FORMATS else ""


def _other(found: _Map, module: Module, port: Port) -> None:
    """Guess what an input is that is not an operand."""
    clocks = {bit for cell in module.cells for bit in cell.inputs.get("CLK", ())}
    reset = _RESET.fullmatch(port.name)
    if len(port.bits) == 1 and (clocks.intersection(port.bits) or _CLOCK.fullmatch(port.name)):
        found.clock = found.clock or port.name
    elif found.accumulator is not None and len(port.bits) == 1 and reset is None and _steers(found, port.name):
        return
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


def _steers(found: _Map, name: str) -> bool:
    """Note what an input does with a register that accumulates, if its name says it."""
    for role, names in (("clear", _CLEAR), ("enable", _ENABLE)):
        if role not in found.control and names.fullmatch(name):
            found.control[role] = name
            return True
    return False


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
        lines.append('# design = "ARCHITECTURE/INSTRUCTION"  # what it is meant to be: see `mmaproof list designs`')
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
        others = [*found.others.get(operand, ()), *(found.undecided if stated is None else ())]
        listed_others = ", ".join(f"{x} ({len(module.ports[x].bits)} bits)" for x in dict.fromkeys(others))
        if stated is None:
            which = f": one of {listed_others}?" if others else ""
            lines.append(f'# {operand} = "?"  # no port has such a name{which}')
        else:
            lines.append(f"{operand} = {stated}" + (f"  # CHECK: or {listed_others}?" if others else ""))
    if found.tied or found.undecided:
        lines += ["", "[tied]", *(f"{name} = {text}" for name, text in found.tied.items())]
        lines += [f"# {name} = {text}" for name, text in found.undecided.items()]
    if found.clock is not None:
        lines += ["", "[clock]", f'clock = "{found.clock}"', _latency(unit, module, found)]
    if found.control:
        lines += ["", "[control]", *(f'{role} = "{name}"  # CHECK' for role, name in found.control.items())]
    return lines


def _latency(unit: UnitFile, module: Module, found: _Map) -> str:
    """Return the line that states the latency, which is checked; where no latency is right, a comment that says why."""
    constants: dict[Bit, Bit] = {}
    for name, text in found.tied.items():
        value = int(text.split()[0])
        constants |= {bit: "1" if value >> i & 1 else "0" for i, bit in enumerate(module.ports[name].bits)}
    for role, name in found.control.items():
        constants[module.ports[name].bits[0]] = "1" if role == "enable" else "0"
    result, tied = found.result, with_constants(module, constants)
    try:
        clock = module.ports[str(found.clock)].bits[0]
        if found.accumulator is not None:
            tied, following, _ = with_next_values(tied, [f"{NEXT}{found.accumulator}"], unit.path.as_posix())
            tied, _ = cut(tied, set(module.registers[found.accumulator].bits))
            result = following[f"{NEXT}{found.accumulator}"].bits
        structure = Structure(tied, unit.path.as_posix(), result, clock)
        structure.check_registers(clock)
        structure.refuse_feedback()
        counts = latencies(structure, found.taken)
    except InputError as problem:
        return f"# latency = ?  # or cycles: {str(problem).removeprefix(unit.path.as_posix()).lstrip(': ')}"
    if len(counts) == 1:
        return f"latency = {counts.pop()}  # registers on every path from the operands to d"
    paths = f"paths from the operands to d have {' and '.join(map(str, sorted(counts)))} registers"
    return f"# latency = ?  # {paths if counts else 'no path goes from the operands to d'}"


def checked_top(top: str) -> str:
    """Return the name of a module. Raises InputError for what is none."""
    if not top.isidentifier():
        raise InputError(f"--top {top}: is not a name of a module")
    return top
