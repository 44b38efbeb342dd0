"""A first map of a unit: what its ports may be, guessed from their names and widths. A person checks it."""

from __future__ import annotations

import os
import re
import tomllib
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from pathlib import Path
from types import MappingProxyType

from mmaproof.designs.catalogue import INTEGER, load_catalogue
from mmaproof.designs.circuit import Bit, Bits
from mmaproof.designs.errors import InputError
from mmaproof.designs.formats import FORMATS, Format, integer_format
from mmaproof.rtl.declarations import Declared, declared_ports, fields_of_ports, top_modules
from mmaproof.rtl.elaboration import elaborate
from mmaproof.rtl.netlist import Module, Port, cone, drivers_of, input_bits, read_module, with_constants
from mmaproof.rtl.pipeline import Structure, latencies
from mmaproof.rtl.registers import cut, registers_of, shortest_first, with_next_values
from mmaproof.rtl.tried_formats import SETS, Fitting, formats_of_width, formats_that_fit
from mmaproof.rtl.unit_file import NEXT, REG, UnitFile, unit_file_of

_NAMES = {
    "a": r"a|act|activation|input|ifmap|west|left|lhs|matrix_?a|vec_?a|op_?a|operand_?a|src_?a|rs1|x",
    "b": r"b|weight|wt|filter|north|up|top|rhs|matrix_?b|vec_?b|op_?b|operand_?b|src_?b|rs2|w|y",
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
_CLOCK = re.compile(r"(?:.*_)?a?(?:clk|clock)(?:_.*)?", re.IGNORECASE)
_RESET = re.compile(r"(?:.*_)?a?(?:rst|reset)(?:_?(?P<low>n|ni|l|b))?(?:_.*)?", re.IGNORECASE)
_CLEAR = re.compile(r"(?:.*_)?(?:clr|clear|init|start|first|finish|last)(?:_.*)?", re.IGNORECASE)
_ENABLE = re.compile(r"(?:.*_)?(?:en|ena|enable|ce|valid|vld)(?:_.*)?", re.IGNORECASE)
KEEPING = ("$mux", "$_MUX_", "$pmux")
_HELD = re.compile(r"(?:.*_)?(?:stall|flush|clear|clr|kill|load\w*)(?:_.*)?", re.IGNORECASE)
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
    adding: Format | None = None
    """the format of the numbers that a unit without products adds"""
    control: dict[str, str] = field(default_factory=dict)
    elements: dict[str, list[Bits]] = field(default_factory=dict)
    """the bits of the elements of each operand"""
    result: Bits = ()
    others: dict[str, list[str]] = field(default_factory=dict)
    """further ports that an operand may be"""
    also: list[dict[str, str]] | None = None
    """further formats that fit the netlist; None if no formats were found to fit"""
    returned: int = 0
    """for how many of the operand sets tried it returned the sum in these formats"""


def first_map(
    sources: Sequence[Path],
    top: str | None,
    path: Path,
    *,
    include: Sequence[Path] = (),
    defines: Mapping[str, str] | None = None,
    parameters: Mapping[str, str] | None = None,
    design: str | None = None,
) -> str:
    """Return the text of a UNIT.toml that is to be written at ``path``.

    Without ``top``, it is of the only module that no other one has inside. Raises InputError where there are several,
    and as ``elaborate`` and ``read_module``.
    """
    folder = path.parent

    def relative(file: Path) -> str:
        return Path(os.path.relpath(file, folder)).as_posix()

    unit = UnitFile(
        path,
        tuple(relative(x) for x in sources),
        top or "",
        tuple(relative(x) for x in include),
        dict(defines or {}),
        dict(parameters or {}),
    )
    unit = unit if top is not None else replace(unit, top=_only_top(unit))
    elaborated = read_module(unit.top, elaborate(unit))
    declared = declared_ports(unit)
    module, labels = _with_fields(unit, elaborated, declared)

    def text(found: _Map) -> str:
        return "".join(f"{line}\n" for line in _lines(unit, module, found, design, labels))

    def guessed(assumed: Mapping[str, str] = MappingProxyType({})) -> _Map:
        return _guessed(module, unit.parameters, declared, labels, assumed)

    def fitting(found: _Map) -> Fitting:
        return _fitting(found, path, text(found), elaborated)

    found = guessed()
    if design is not None:
        return text(found)
    best, fits = found, Fitting()
    unnamed = _two_alike(found, module)
    for tried in _tried(guessed(unnamed), guessed):
        if fits.returned < SETS and (here := fitting(tried)).returned > fits.returned:
            best, fits = tried, here
    if fits.returned == SETS or (fits.returned and all(found.formats.get(x) for x in "ab")):
        _take(best, fits)
    return text(best)


def _tried(products: _Map, guessed: Callable[[Mapping[str, str]], _Map]) -> Iterator[_Map]:
    """Yield the maps that are tried: of a unit of products, and where a, b and d are as wide, of one that adds two."""
    yield products
    words = [[bit for element in products.elements.get(x, ()) for bit in element] for x in "ab"]
    if products.ports.keys() != {"a", "b", "d"} or len({*map(len, words), len(products.result)}) > 1:
        return
    for fmt in formats_of_width(len(products.result)):
        found = guessed({products.ports[x].strip('"'): y for x, y in zip("ab", "ac", strict=True)})
        found.ports["b"] = f'"{fmt.bits}\'h{fmt.encode(Fraction(1)):x}"  # no product: a times 1'
        found.adding = fmt
        yield found


def _two_alike(found: _Map, module: Module) -> dict[str, str]:
    """Return the two inputs that a and b may be though their names do not say it: only they have their width."""
    if {"a", "b"} & found.ports.keys():
        return {}
    widths = Counter(len(module.ports[x].bits) for x in found.undecided)
    alike = [x for x in found.undecided if widths[len(module.ports[x].bits)] == 2]
    return dict(zip(alike, "ab", strict=True)) if len(alike) == 2 else {}


def _fitting(found: _Map, path: Path, text: str, module: Module) -> Fitting:
    """Return the formats that fit the netlist where it is mapped like this."""
    register = None if found.accumulator is None else module.registers[found.accumulator].bits
    words = {n: sum(map(len, x)) for n, x in found.elements.items()}
    words["d"] = len(register or found.result)
    if register is not None:
        words["c"] = len(register)
    if found.adding is not None:
        words["b"] = found.adding.bits
    if not {"a", "b", "d"} <= words.keys() or "scale_a" in words:
        return Fitting()
    try:
        file = unit_file_of(tomllib.loads(text), path)
    except InputError:
        return Fitting()
    return formats_that_fit(file, module, words, found.adding)


def _take(found: _Map, fitting: Fitting) -> None:
    """Take the formats that fit in place of those that widths suggest."""
    formats = sorted(fitting.formats, key=lambda x: x != found.formats)  # what is declared comes first where it fits
    _leave_c_out(found, formats)
    found.formats, *found.also = formats
    found.returned = fitting.returned
    bits = [bit for x in found.elements["a"] for bit in x]
    width = FORMATS[found.formats["a"]].bits
    if len(found.elements["a"]) != len(bits) // width:
        found.elements["a"] = [tuple(bits[i : i + width]) for i in range(0, len(bits), width)]


def _only_top(unit: UnitFile) -> str:
    """Return the module that is meant. Raises InputError if there are several, or none."""
    for source in unit.sources:
        if not (unit.folder / source).is_file():
            raise InputError(f"there is no file {unit.folder / source}")
    found = top_modules(unit)
    if len(found) != 1:
        several = f"one of {', '.join(found)}" if found else "no module was found that no other one has inside"
        raise InputError(f"which module is meant? Name it with --top: {several}")
    return found[0]


def _with_fields(unit: UnitFile, module: Module, declared: dict[str, Declared]) -> tuple[Module, dict[str, str]]:
    """Return the module with a slice for each field of a port that is a structure, and the names of these fields.

    How they are declared is added to ``declared``.
    """
    ports: dict[str, Port] = {}
    labels: dict[str, str] = {}
    fields = fields_of_ports(unit, {n: len(x.bits) for n, x in module.ports.items()})
    for name, port in module.ports.items():
        if name not in fields:
            ports[name] = port
        for field_ in reversed(fields.get(name, [])):
            low, high = port.index(field_.low), port.index(field_.low + field_.width - 1)
            part = f"{name}[{low}]" if field_.width == 1 else f"{name}[{high}:{low}]"
            ports[part] = Port(part, port.direction, port.bits[field_.low : field_.low + field_.width])
            labels[part], declared[part.lower()] = field_.name.rpartition(".")[2], field_.declared
    return replace(module, ports=ports), labels


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


def _guessed(
    module: Module,
    parameters: Mapping[str, str],
    declared: Mapping[str, Declared],
    labels: Mapping[str, str],
    assumed: Mapping[str, str] = MappingProxyType({}),
) -> _Map:
    """Return the map that names and widths suggest, with the operands that some inputs are ``assumed`` to be."""
    found = _Map()
    given: dict[str, dict[int | None, Port]] = {}
    roles = {
        x.name: _role(labels.get(x.name, x.name), ("a", "b", "c", "scale_a", "scale_b"))
        for x in module.ports.values()
        if x.direction == "input"
    }
    roles |= {name: (operand, None) for name, operand in assumed.items()}
    numbered = {role[0] for role in roles.values() if role is not None and role[1] is not None}
    if not any(role is not None and role[0] == "c" for role in roles.values()):
        found.accumulator = _accumulator(module)
    for name, role in roles.items():
        port = module.ports[name]
        is_one = role is not None and (role[1] is not None or role[0] not in numbered)
        if role is None or not is_one or role[1] in given.get(role[0], {}) or (len(port.bits) == 1 and not given):
            if role is not None:
                found.others.setdefault(role[0], []).append(name)
            _other(found, module, port, labels.get(name, name))
        else:
            given.setdefault(role[0], {})[role[1]] = port
    outputs = [x for x in module.ports.values() if x.direction == "output"]
    result = next((x for x in outputs if len(x.bits) > 1 and _role(labels.get(x.name, x.name), ("d",))), None)
    result = result or max(outputs, key=lambda x: len(x.bits), default=None)
    used = [x for ports in given.values() for x in ports.values()] + ([result] if result is not None else [])
    numbers = next((x.kind for port in used if (x := declared.get(port.name.lower(), Declared())).kind), None)
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
    found.elements = {n: _elements(ports, found.formats.get(n, "")) for n, ports in given.items()}
    found.result = () if result is None else result.bits
    if found.accumulator is not None:
        register = module.registers[found.accumulator]
        kind = numbers or next((x.kind for x in declared.values() if x.kind), None)
        for operand, which in (("c", REG), ("d", NEXT)):
            found.ports[operand] = f'"{which}{found.accumulator}"  # CHECK: a register that feeds back'
            fmt = f"{kind}{len(register.bits)}"
            found.formats[operand] = fmt if _is_format(fmt) else _WIDE.get(len(register.bits), "")
    return found


def _leave_c_out(found: _Map, fitting: list[dict[str, str]]) -> None:
    """Make c of a unit without one -0, where floating-point numbers have that: +0 would change the sign of a zero."""
    d = FORMATS[fitting[0]["d"]]
    if "c" not in found.ports and not d.is_integer and not d.nan_is_minus_zero:
        found.ports["c"] = f'"{d.bits}\'h{d.hex(1 << d.sign_position)[2:]}"  # no c: -0 changes no sum'
        for formats in fitting:
            formats["c"] = formats["d"]


def _is_format(name: str) -> bool:
    return name in FORMATS or integer_format(name) is not None


def _elements(ports: Mapping[int | None, Port], fmt: str) -> list[Bits]:
    """Return the bits of elements, lowest first: of one port as wide as several elements, those of each."""
    bits = [x.bits for _, x in sorted(ports.items(), key=lambda x: -1 if x[0] is None else x[0])]
    width = FORMATS[fmt].bits if _is_format(fmt) else 0
    if len(bits) > 1 or not width or len(bits[0]) % width:
        return bits
    return [bits[0][i : i + width] for i in range(0, len(bits[0]), width)]


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
    declared: Mapping[str, Declared],
    numbers: str | None,
) -> str:
    """Return the format of the elements of an operand; an empty text where nothing tells it."""
    if numbers is not None and not operand.startswith("scale"):
        return _number_format(operand, ports, declared, numbers)
    width = sum(len(x.bits) for x in ports)
    elements = {declared.get(x.name.lower(), Declared()).element for x in ports}
    if 0 in elements:
        return ""
    element = elements.pop() if len(elements) == 1 else None
    count = len(ports) if element is None else width // element
    return _format(operand, width, count, parameters)


def _number_format(operand: str, ports: Sequence[Port], declared: Mapping[str, Declared], numbers: str | None) -> str:
    """Return the integer format of ports where some port is declared as a number; an empty text where none fits."""
    if numbers is None:
        return ""
    stated = [(x, declared.get(x.name.lower(), Declared())) for x in ports]
    kinds = {x.kind or (numbers if operand in "ab" else "int") for _, x in stated}
    widths = {len(port.bits) if x.element is None else x.element for port, x in stated}
    name = f"{kinds.pop()}{widths.pop()}" if len(kinds) == len(widths) == 1 else ""
    return name if _is_format(name) else ""


def _other(found: _Map, module: Module, port: Port, label: str) -> None:
    """Guess from its name, which is a ``label``, what an input is that is not an operand."""
    clocks = {bit for cell in module.cells for bit in cell.inputs.get("CLK", ())}
    reset = _RESET.fullmatch(label)
    if len(port.bits) == 1 and (clocks.intersection(port.bits) or _CLOCK.fullmatch(label)):
        found.clock = found.clock or port.name
    elif found.accumulator is not None and len(port.bits) == 1 and reset is None and _steers(found, port.name, label):
        return
    elif reset is not None:
        found.tied[port.name] = f"{1 if reset['low'] else 0}  # CHECK: not in reset"
    elif _HELD.fullmatch(label):
        found.tied[port.name] = "0  # CHECK"
    elif _VALID.fullmatch(label):
        found.free.append(port.name)
    elif len(port.bits) == 1:
        found.tied[port.name] = "1  # CHECK: enabled, or list it as free"
    else:
        found.undecided[port.name] = f'"{len(port.bits)}\'d0"  # map these bits above, tie them, or list them as free'


def _steers(found: _Map, name: str, label: str) -> bool:
    """Note what an input does with a register that accumulates, if its name says it."""
    for role, names in (("clear", _CLEAR), ("enable", _ENABLE)):
        if role not in found.control and names.fullmatch(label):
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


def _lines(unit: UnitFile, module: Module, found: _Map, design: str | None, labels: Mapping[str, str]) -> list[str]:
    def listed(texts: Sequence[str]) -> str:
        return "[" + ", ".join(f'"{x}"' for x in texts) + "]"

    def table(values: Mapping[str, str]) -> str:
        return (
            "{ "
            + ", ".join(f"{n} = {x if x.isdigit() else f'{chr(34)}{x}{chr(34)}'}" for n, x in values.items())
            + " }"
        )

    lines = [f"# A first map of {module.name}, guessed from the names and the widths of its ports: check every line."]
    lines += [
        f"# {x.direction} {x.name}{f' = {labels[x.name]}' if x.name in labels else ''}, {len(x.bits)} bits"
        for x in module.ports.values()
    ]
    lines += [f"sources = {listed(unit.sources)}", f'top = "{unit.top}"']
    lines += [f"include = {listed(unit.include)}"] if unit.include else []
    lines += [f"defines = {table(unit.defines)}"] if unit.defines else []
    lines += [f"parameters = {table(unit.parameters)}"] if unit.parameters else []
    if design is not None:
        lines.append(f'design = "{design}"')
    else:
        lines += _meant(found)
    if found.free:
        lines.append(f"free = {listed(found.free)}  # CHECK: inputs that must not matter")
    if "scale_a" in found.ports:
        lines.append("block = 32  # CHECK: elements that share a scale")
    lines += _lines_of_formats(found) if design is None else []
    lines += _lines_of_ports(found, module)
    if found.tied or found.undecided:
        lines += ["", "[tied]", *(f"{_key(name)} = {text}" for name, text in found.tied.items())]
        lines += [f"# {_key(name)} = {text}" for name, text in found.undecided.items()]
    if found.clock is not None:
        lines += ["", "[clock]", f'clock = "{found.clock}"', *_latency(unit, module, found)]
    if found.control:
        lines += ["", "[control]", *(f'{role} = "{name}"  # CHECK' for role, name in found.control.items())]
    return lines


def _lines_of_formats(found: _Map) -> list[str]:
    how = "CHECK: widths do not tell formats apart, and int8 has the width of e4m3"
    if found.also is not None:
        count = SETS if found.returned == SETS else f"{found.returned} of {SETS}"
        how = f"CHECK: in these formats it returned the sum of products of {count} operand sets that need no rounding"
    lines = ["", f"[formats]  # {how}"]
    for operand in "abcd":
        name = found.formats.get(operand, "")
        if name:
            others = dict.fromkeys(x[operand] for x in found.also or () if x[operand] != name)
            lines.append(f'{operand} = "{name}"' + (f"  # or {', '.join(others)}" if others else ""))
        elif found.also is None:
            lines.append(f'# {operand} = "?"  # the width does not tell')
    return lines + (['scale = "e8m0"  # CHECK'] if "scale_a" in found.ports else [])


def _lines_of_ports(found: _Map, module: Module) -> list[str]:
    lines = ["", "[ports]  # one packed port with element 0 lowest, or a list with a slice for each element"]
    for operand in ("a", "b", "c", "d", *(("scale_a", "scale_b") if "scale_a" in found.ports else ())):
        stated = found.ports.get(operand)
        others = [*found.others.get(operand, ()), *(found.undecided if stated is None else ())]
        listed = ", ".join(f"{x} ({len(module.ports[x].bits)} bits)" for x in dict.fromkeys(others))
        if stated is not None:
            lines.append(f"{operand} = {stated}" + (f"  # CHECK: or {listed}?" if others else ""))
        elif operand == "c" and found.also is not None and not others:
            lines.append("# no c: it is +0")
        else:
            which = f": one of {listed}?" if others else ""
            lines.append(f'# {operand} = "?"  # no port has such a name{which}')
    return lines


MOST_DESIGNS = 5
"""More designs of the formats than these are not listed."""


def _meant(found: _Map) -> list[str]:
    """Return the lines that say what the unit may be meant to be, of what the catalogue has in its formats."""
    elements = len(found.elements.get("a", ()))
    formats = [found.formats.get(x) or (found.formats.get("d") if x == "c" else "") for x in "dabc"]
    unknown = ['# design = "ARCHITECTURE/INSTRUCTION"  # what it is meant to be: see `mmaproof list designs`']
    if not all(formats) or not elements:
        return unknown
    if all(integer_format(str(x)) is not None for x in formats):
        return [f'# design = "{INTEGER}/dot{elements}.{".".join(map(str, formats))}"  # if it adds products up']
    alike = [
        x
        for x in load_catalogue().designs.values()
        if [y.name for y in (x.d_format, x.a_format, x.b_format, x.c_format)] == formats
        and (x.scale_format is not None) is ("scale_a" in found.ports)
        and elements in (x.step.L, x.k)
    ]
    names = list({(x.architecture, x.step): x.base_name for x in alike}.values())
    if not names:
        return unknown
    more = f" and {len(names) - MOST_DESIGNS} more" * (len(names) > MOST_DESIGNS)
    listed = [f"#   {x}" for x in names[:MOST_DESIGNS]]
    count = f"{elements} product{'s' * (elements > 1)}"
    return [f'# design = "..."  # of these formats and {count} the catalogue has{more}:', *listed]


def _key(name: str) -> str:
    return name if name.isidentifier() else f'"{name}"'


def _latency(unit: UnitFile, module: Module, found: _Map) -> list[str]:
    """Return the lines that state the latency, which is checked; where none is right, a comment that says why."""
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
        each = {n: [latencies(structure, bits) for bits in elements] for n, elements in sorted(found.elements.items())}
    except InputError as problem:
        return [f"# latency = ?  # or cycles: {str(problem).removeprefix(unit.path.as_posix()).lstrip(': ')}"]
    return _in_lines(each)


def _in_lines(each: Mapping[str, Sequence[set[int]]]) -> list[str]:
    """Return the lines for the numbers of registers on the paths from each element of each operand to d."""
    counts = {n for elements in each.values() for numbers in elements for n in numbers}
    if not counts:
        return ["# latency = ?  # no path goes from the operands to d"]
    if len(counts) == 1:
        return [f"latency = {counts.pop()}  # registers on every path from the operands to d"]
    stated, several = [], []
    for operand, elements in each.items():
        reaching = [numbers or {max(counts)} for numbers in elements]  # one that does not reach d has any number
        if any(len(x) > 1 for x in reaching):
            several.append(operand)
            continue
        numbers = [next(iter(x)) for x in reaching]
        stated.append(f"{operand} = {numbers[0] if len(set(numbers)) == 1 else numbers}")
    lines = [f"latency = {{ {', '.join(stated)} }}  # CHECK: registers on the paths to d: given in different cycles?"]
    if several:
        found = "; ".join(f"from {x} {_listed(set().union(*each[x]))}" for x in several)
        held = ", ".join(f'"{x}"' for x in several)
        lines = [
            f"# latency = ?  # registers on paths to d: {found}",
            f"# held = [{held}]  # if they keep their values",
        ]
        lines += [f"# latency = {{ {', '.join(stated)} }}"] if stated else []
    return lines


def _listed(numbers: Collection[int]) -> str:
    *others, last = map(str, sorted(numbers))
    return f"{', '.join(others)} and {last}"


def checked_top(top: str) -> str:
    """Return the name of a module. Raises InputError for what is none."""
    if not top.isidentifier():
        raise InputError(f"--top {top}: is not a name of a module")
    return top
