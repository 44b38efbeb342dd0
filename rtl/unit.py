"""A UNIT.toml as a design: its sources elaborated, its ports mapped to operands."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path

from mmaproof.designs.chain import Chain
from mmaproof.designs.circuit import Bit, Bits, Circuit
from mmaproof.designs.design import Design
from mmaproof.designs.errors import DesignError, InputError
from mmaproof.designs.formats import Format, find_format
from mmaproof.designs.signature import Signature
from mmaproof.designs.steps import NetlistStep
from mmaproof.rtl.elaboration import FACTS_ABOUT_X, MEMORY_BYTES, SECONDS, elaborate
from mmaproof.rtl.netlist import MOST_CELLS, Module, Port, read_module, with_constants
from mmaproof.rtl.pipeline import Structure, check_latency
from mmaproof.rtl.slices import bits_of, constant_of
from mmaproof.rtl.unit_file import UnitFile, read_unit_file
from mmaproof.rtl.unpacked import ascending_ports
from mmaproof.rtl.unroll import Start, circuit_of

PRIORITY = "where items of a case statement marked unique or parallel overlap, the first one counts"
_BIT = re.compile(r"(?P<net>.*?)(?:\[(?P<index>\d+)\])?(?: at age \d+)?")
"""The name of a bit that may have any value, at the first age at which it is read or at a later one."""
WITHOUT_C = "c is +0, because the unit has none"


@dataclass(frozen=True, slots=True)
class RtlReport:
    """What was elaborated, and what was assumed on the way."""

    top: str
    elaborator: str
    ports: Mapping[str, tuple[str, int]]
    """direction and width of each port of the top module"""
    mapped: Mapping[str, str]
    """what each port is mapped to: operands, a constant, ``free``, or nothing"""
    cells: int
    """cells that d depends on"""
    kinds: Mapping[str, int]
    """how many there are of each kind"""
    registers: int
    latency: int | None
    unknown: Mapping[str, int]
    """how many bits of each net may have any value; its name says which"""
    assumptions: tuple[str, ...]
    warnings: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class RtlUnit:
    """A unit that was read: the content of its file, its design, and the report."""

    file: UnitFile
    design: Design
    report: RtlReport
    ports: Mapping[str, Port]
    """the ports of the top module, as they are declared"""

    def __repr__(self) -> str:
        return f"<{self.design.name}: module {self.report.top}, {self.report.cells} cells>"

    @property
    def where(self) -> tuple[str, ...]:
        """The preconditions of every question about it: c is +0 where it has no accumulator."""
        return () if self.file.adds_c else ("c=0x0",)

    @property
    def circuit(self) -> Circuit:
        """The circuit of its design."""
        if not isinstance(self.design.step, NetlistStep):
            raise TypeError(f"{self.design.name} is no netlist")
        return self.design.step.circuit


def read_unit(
    path: str | Path,
    *,
    signature: Signature | None = None,
    seconds: float = SECONDS,
    memory_bytes: int = MEMORY_BYTES,
    most_cells: int = MOST_CELLS,
) -> RtlUnit:
    """Return the unit that a UNIT.toml describes.

    ``signature`` is that of the design that it is held against; its formats count where the file has none. Raises
    InputError for what is wrong in the file or in the sources, TargetUnavailable where Yosys is not installed.
    """
    file = read_unit_file(Path(path))
    signature_of_unit = _signature(file, signature)
    netlist = elaborate(file, seconds=seconds, memory_bytes=memory_bytes)
    module = read_module(file.top, netlist, most_cells)
    declared = module.ports
    module, tied = _tied(file, module)
    ports = {n: x for n, x in module.ports.items() if x.direction == "input"}
    inputs, products = _inputs(file, signature_of_unit, module)
    free = {f"free {x}": bits_of(x, ports, f"{file.path}: free") for x in file.free}
    result = _result(file, signature_of_unit, module)
    _check_complete(file, module, inputs, free)
    module = replace(module, unknown=dict(module.unknown) | free)
    circuit, registers, said, held = _circuit(file, module, inputs, result, most_cells)
    said += [
        f"{operand} is a whole unpacked port {declared}: packed, its first element is the highest, so k = 0 is the "
        "last one"
        for operand, declared in ascending_ports(file)
    ]
    name = Path(path).as_posix()
    try:
        when = (*held, *tied, *(() if file.adds_c else (WITHOUT_C,)))
        step = NetlistStep(L=products, circuit=replace(circuit, name=name), conditions=when)
        design = Design("rtl", name, "RTL", signature_of_unit, 1, 1, products, Chain(), step, f"RTL of {file.top}")
    except DesignError as problem:
        raise InputError(f"{file.path}: {problem}") from problem
    report = RtlReport(
        file.top,
        netlist.elaborator,
        {n: (x.direction, len(x.bits)) for n, x in module.ports.items()},
        _mapped(file, tied),
        len(circuit.cells),
        dict(Counter(cell.kind for cell in circuit.cells).most_common()),
        registers,
        0 if file.clock is None else file.clock.latency,
        _folded(circuit.unknown),
        (FACTS_ABOUT_X, PRIORITY, *said),
        netlist.warnings,
    )
    return RtlUnit(file, design, report, declared)


def _folded(unknown: Mapping[str, Bits]) -> dict[str, int]:
    """Return how many bits of each net have any value, under the name of the net with ranges: ``net[15:8,3:0]``."""
    places: dict[str, Counter[str]] = {}
    for name in unknown:
        found = _BIT.fullmatch(name)
        net, index = (name, None) if found is None else (found["net"], found["index"])
        places.setdefault(net, Counter())[index or ""] += 1
    return {
        f"{net}{_ranges(int(x) for x in held if x)}" + f" at {max(held.values())} ages" * (max(held.values()) > 1): sum(
            held.values()
        )
        for net, held in places.items()
    }


def _ranges(places: Iterable[int]) -> str:
    """Return places as a slice; nothing where there are none."""
    runs: list[list[int]] = []
    for place in sorted(places, reverse=True):
        if runs and runs[-1][-1] == place + 1:
            runs[-1].append(place)
        else:
            runs.append([place])
    texts = [str(x[0]) if len(x) == 1 else f"{x[0]}:{x[-1]}" for x in runs]
    return f"[{','.join(texts)}]" if texts else ""


def _signature(file: UnitFile, given: Signature | None) -> Signature:
    """Return the formats of the file, and those of ``given`` where it has none."""
    found: dict[str, Format] = {}
    for name in "abcd":
        if name in file.formats:
            found[name] = _format(file, name)
        elif given is not None:
            found[name] = getattr(given, name)
        elif name == "c" and not file.adds_c and "d" in file.formats:
            found[name] = _format(file, "d")
        else:
            raise InputError(f"{file.path}: [formats] {name}: its format is not stated, and no design is given")
    has_scales = "scale_a" in file.ports
    scale = _format(file, "scale") if "scale" in file.formats else (given.scale if given else None)
    block = file.block or (given.block if given else None)
    if has_scales and (scale is None or block is None):
        raise InputError(f"{file.path}: scales need a format ([formats] scale) and a block length (block)")
    if not has_scales and scale is not None:
        raise InputError(f"{file.path}: [ports]: there are scales: state scale_a and scale_b")
    block = block if has_scales else None
    signature = Signature(found["a"], found["b"], found["c"], found["d"], scale, block)
    for field, misfit in signature.misfits():
        raise InputError(f"{file.path}: [formats] {field}: {misfit}")
    return signature


def _format(file: UnitFile, name: str) -> Format:
    try:
        return find_format(file.formats[name])
    except InputError as problem:
        raise InputError(f"{file.path}: [formats] {name}: {problem}") from problem


def _tied(file: UnitFile, module: Module) -> tuple[Module, list[str]]:
    """Return the module with the tied ports as constants, and what was tied."""
    ports = {n: x for n, x in module.ports.items() if x.direction == "input"}
    constants: dict[Bit, Bit] = {}
    said = []
    for expression, value in file.tied.items():
        where = f"{file.path}: [tied] {expression}"
        bits = bits_of(expression, ports, where)
        number = constant_of(value, len(bits), where)
        for position, bit in enumerate(bits):
            if bit in constants:
                raise InputError(f"{where}: these bits are tied twice")
            constants[bit] = "1" if number >> position & 1 else "0"
        said.append(f"{expression} = {value}")
    return with_constants(module, constants), said


def _elements(file: UnitFile, key: str, fmt: Format, ports: Mapping[str, Port], count: int | None) -> list[Bits]:
    """Return the bits of each element of an operand, the lowest first."""
    stated, is_d = file.ports[key], key == "d"
    where = f"{file.path}: [ports] {key}"
    if isinstance(stated, str):
        bits = bits_of(stated, ports, where, result=is_d)
        if len(bits) % fmt.bits or not bits:
            raise InputError(f"{where}: {stated} has {len(bits)} bits, and {fmt.name} has {fmt.bits}")
        found = [bits[i : i + fmt.bits] for i in range(0, len(bits), fmt.bits)]
    else:
        found = [bits_of(x, ports, f"{where}[{i}]", result=is_d) for i, x in enumerate(stated)]
        for i, bits in enumerate(found):
            if len(bits) not in (fmt.bits, fmt.bits - fmt.ignored_bits):
                others = f" ({fmt.bits - fmt.ignored_bits} without those ignored)" if fmt.ignored_bits else ""
                raise InputError(
                    f"{where}[{i}]: {stated[i]} has {len(bits)} bits, and {fmt.name} has {fmt.bits}{others}"
                )
    if count is not None and len(found) != count:
        raise InputError(f"{where}: {len(found)} elements of {fmt.name}, and {count} are expected")
    return found


def _inputs(file: UnitFile, signature: Signature, module: Module) -> tuple[dict[str, Bits], int]:
    """Return the nets of every operand by its name, and how many products there are."""
    ports = {n: x for n, x in module.ports.items() if x.direction == "input"}
    unread = module.new_nets()
    a = _elements(file, "a", signature.a, ports, None)
    b = _elements(file, "b", signature.b, ports, len(a))
    found = {f"a{i}": _whole(bits, signature.a, unread) for i, bits in enumerate(a)}
    found |= {f"b{i}": _whole(bits, signature.b, unread) for i, bits in enumerate(b)}
    found["c"] = (
        _elements(file, "c", signature.c, ports, 1)[0] if file.adds_c else tuple(islice(unread, signature.c.bits))
    )
    if signature.scale is not None and signature.block is not None:
        if len(a) % signature.block:
            raise InputError(f"{file.path}: block: {signature.block} does not divide the {len(a)} products")
        for key, short in (("scale_a", "sa"), ("scale_b", "sb")):
            scales = _elements(file, key, signature.scale, ports, len(a) // signature.block)
            found |= {f"{short}{i}": bits for i, bits in enumerate(scales)}
    return found, len(a)


def _whole(bits: Bits, fmt: Format, unread: Iterator[int]) -> Bits:
    """Return an element with nets that nothing reads for the ignored bits that the unit has no ports for."""
    return (*islice(unread, fmt.bits - len(bits)), *bits)


def _result(file: UnitFile, signature: Signature, module: Module) -> Bits:
    outputs = {n: x for n, x in module.ports.items() if x.direction == "output"}
    return _elements(file, "d", signature.d, outputs, 1)[0]


def _check_complete(file: UnitFile, module: Module, inputs: Mapping[str, Bits], free: Mapping[str, Bits]) -> None:
    """Raise InputError where a bit has two roles, or an input none."""
    roles: dict[Bit, str] = {}
    for name, bits in (*inputs.items(), *free.items()):
        for bit in bits:
            if isinstance(bit, str):
                raise InputError(f"{file.path}: {name}: one of its bits is tied")
            if bit in roles:
                raise InputError(f"{file.path}: a bit of a port is both {roles[bit]} and {name}")
            roles[bit] = name
    clock = () if file.clock is None else (file.clock.port, file.clock.reset)
    for port in module.ports.values():
        missing = [i for i, bit in enumerate(port.bits) if isinstance(bit, int) and bit not in roles]
        if port.direction == "input" and port.name not in clock and missing:
            what = port.name if len(missing) == len(port.bits) else f"{port.name}[{port.index(missing[0])}]"
            raise InputError(
                f"{file.path}: input {what} ({len(port.bits)} bit{'s' * (len(port.bits) != 1)}) is no operand: map it "
                "under [ports], tie it under [tied], or list it as free, if it must not matter"
            )


def _circuit(
    file: UnitFile, module: Module, inputs: Mapping[str, Bits], result: Bits, most_cells: int
) -> tuple[Circuit, int, list[str], list[str]]:
    """Return the circuit of a unit, how many register bits it had, what is said of its clock, and on what it depends.

    That is a condition for its users: operands that are held.
    """
    clock, path = file.clock, str(file.path)
    ports = {n: x for n, x in module.ports.items() if x.direction == "input"}
    net = None if clock is None else bits_of(clock.port, ports, f"{path}: [clock] clock")
    if clock is not None and net is not None and len(net) != 1:
        raise InputError(f"{path}: [clock] clock: {clock.port} has {len(net)} bits, and one is expected")
    start = _start(file, ports)
    structure = Structure(module, path, result, net[0] if net is not None and start is None else None)
    structure.check_registers(None if net is None else net[0], () if start is None else start.nets)
    said, held = [], []
    if start is None:
        structure.refuse_feedback()
        latency = 0 if clock is None or clock.latency is None else clock.latency
        check_latency(structure, inputs, latency)
        if clock is not None:
            said.append(f"every path from an operand to d has {latency} registers; they are taken for wires")
        if structure.settles:
            held.append("registers that always load a constant have loaded it")
    else:
        reset = None if clock is None else clock.reset
        said.append(f"{start.age} clock cycles are unrolled, from {'any state' if reset is None else 'the reset'}")
        since = "" if reset is None else f" from the reset {reset} on"
        held.append(f"operands are held for {start.age} clock cycle{'s' * (start.age != 1)}{since}")
        if not structure.feeds_back:
            said.append("no register feeds back: with latency in place of cycles, operands need not be held")
    circuit = circuit_of(structure.module, inputs, structure.result, structure.used, start, most_cells)
    return circuit, sum(len(x.q) for x in structure.used.values()), said, held


def _start(file: UnitFile, ports: Mapping[str, Port]) -> Start | None:
    """Return how a unit of several passes starts; None for any other unit."""
    clock = file.clock
    if clock is None or clock.cycles is None:
        return None
    if clock.reset is None:
        return Start(clock.cycles)
    nets = bits_of(clock.reset, ports, f"{file.path}: [clock] reset")
    return Start(clock.cycles, nets, "1" if clock.reset_value else "0")


def _mapped(file: UnitFile, tied: list[str]) -> dict[str, str]:
    """Return what the file says about ports, as a text for each."""
    found = {}
    for operand, stated in file.ports.items():
        found[operand] = stated if isinstance(stated, str) else ", ".join(stated)
    return found | ({"tied": ", ".join(tied)} if tied else {}) | ({"free": ", ".join(file.free)} if file.free else {})
