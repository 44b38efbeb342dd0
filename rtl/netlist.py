"""The netlist that Yosys wrote as JSON becomes a circuit: its ports are operands, and its cells get an order."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import count
from typing import Any

from mmaproof.designs.circuit import Bit, Bits, Cell
from mmaproof.designs.errors import InputError
from mmaproof.rtl.elaboration import Netlist

MOST_CELLS = 200_000
"""A netlist of more cells is refused by default."""

_X_OF_QUOTIENT = ("$div", "$mod", "$divfloor", "$modfloor")


@dataclass(frozen=True, slots=True)
class Port:
    """A port of the top module. ``bits`` are its bits, the lowest first."""

    name: str
    direction: str
    bits: Bits
    first: int = 0
    """the smaller index in its declaration: 8 in ``[15:8]`` and in ``[8:15]``"""
    ascends: bool = False
    """whether the declaration ascends, as in ``[0:7]``: its smaller index is that of the highest bit"""

    def position(self, index: int) -> int:
        """Return where the bit of this index is in ``bits``; outside of it for an index that the port does not have."""
        return self.first + len(self.bits) - 1 - index if self.ascends else index - self.first

    def index(self, position: int) -> int:
        """Return the index of the bit at a position of ``bits``."""
        return self.first + (len(self.bits) - 1 - position if self.ascends else position)

    @property
    def declared(self) -> str:
        """The range of its declaration."""
        last = self.first + len(self.bits) - 1
        return f"{self.first}:{last}" if self.ascends else f"{last}:{self.first}"


@dataclass(frozen=True, slots=True)
class Module:
    """A flat module: its ports, its cells in no order, and the names of its nets. Each X bit is a net of its own."""

    name: str
    ports: Mapping[str, Port]
    cells: tuple[Cell, ...]
    nets: Mapping[str, Bits]
    unknown: Mapping[str, Bits]
    registers: Mapping[str, Port] = field(default_factory=dict)
    """nets of which every bit is a register's, by name"""

    def facing(self, direction: str) -> dict[str, Port]:
        """Return the ports of one direction."""
        return {n: x for n, x in self.ports.items() if x.direction == direction}

    def new_nets(self) -> Iterator[int]:
        """Yield numbers that no net of the module has."""
        groups: list[Iterable[Bits]] = [
            self.nets.values(),
            self.unknown.values(),
            (x.bits for x in self.ports.values()),
        ]
        groups += [x.inputs.values() for x in self.cells]
        groups += [x.outputs.values() for x in self.cells]
        taken = (bit for group in groups for bits in group for bit in bits if isinstance(bit, int))
        return count(1 + max(taken, default=0))


def read_module(name: str, netlist: Netlist, most_cells: int = MOST_CELLS) -> Module:
    """Return the module that Yosys wrote. Raises InputError for more cells than ``most_cells``, and for ``inout``."""
    held = netlist.module
    if len(held["cells"]) > most_cells:
        raise InputError(
            f"{name} has {len(held['cells'])} cells, and at most {most_cells} are taken: a proof about N would "
            "not end; give a smaller unit as top module"
        )
    reader = _Reader(held)
    ports = {}
    for port, x in held["ports"].items():
        if x["direction"] not in ("input", "output"):
            raise InputError(f"{name}: port {port} is {x['direction']}: only inputs and outputs are taken")
        bits = reader.bits(x["bits"], f"port {port}")
        ports[port] = Port(port, x["direction"], bits, x.get("offset", 0), bool(x.get("upto", 0)))
    cells = tuple(reader.cell(cell, x) for cell, x in held["cells"].items())
    nets = {net: reader.known_bits(x["bits"]) for net, x in held["netnames"].items() if not x.get("hide_name")}
    _check_drivers(name, ports, cells, nets)
    nets = {n: bits for n, bits in nets.items() if bits}
    return Module(name, ports, cells, nets, dict(reader.unknown), _registers(held, cells, nets))


def _registers(held: Mapping[str, Any], cells: Sequence[Cell], nets: Mapping[str, Bits]) -> dict[str, Port]:
    stored = {bit for cell in cells if "Q" in cell.outputs for bit in cell.outputs["Q"]}
    declared = held["netnames"]
    return {
        n: Port(n, "register", bits, declared[n].get("offset", 0), bool(declared[n].get("upto", 0)))
        for n, bits in nets.items()
        if stored.issuperset(bits)
    }


def _check_drivers(name: str, ports: Mapping[str, Port], cells: Sequence[Cell], nets: Mapping[str, Bits]) -> None:
    """Raise InputError where a net is driven twice, or a constant is driven."""
    drivers = {bit: f"input {x.name}" for x in ports.values() if x.direction == "input" for bit in x.bits}
    for cell in cells:
        for bits in cell.outputs.values():
            for bit in bits:
                if bit in drivers or isinstance(bit, str):
                    net = next((n for n, of in nets.items() if bit in of), str(bit))
                    other = drivers.get(bit, f"the constant {bit}")
                    raise InputError(f"{name}: net {net} is driven by {other} and by {cell.describe()}")
                drivers[bit] = cell.describe()


class _Reader:
    """Numbers the undefined bits as nets of their own."""

    def __init__(self, held: Mapping[str, Any]) -> None:
        groups: list[Iterable[Any]] = [x["bits"] for x in held["netnames"].values()]
        groups += [bits for x in held["cells"].values() for bits in x["connections"].values()]
        groups += [x["bits"] for x in held["ports"].values()]
        self._next = 1 + max((bit for bits in groups for bit in bits if isinstance(bit, int)), default=1)
        self.unknown: dict[str, Bits] = {}

    def bits(self, bits: Sequence[Any], where: str) -> Bits:
        """Return bits, with a new net for each undefined one."""
        if "z" in bits:
            raise InputError(f"{where} has a bit of high impedance (z): tri-state logic is not covered")
        count = sum(bit == "x" for bit in bits)
        if not count:
            return tuple(bits)
        fresh = self.fresh(count, f"x of {where}")
        numbers = iter(fresh)
        return tuple(next(numbers) if bit == "x" else bit for bit in bits)

    def fresh(self, count: int, name: str) -> Bits:
        """Return new nets of which nothing is known."""
        found: Bits = tuple(range(self._next, self._next + count))
        self._next += count
        number = 2
        unique = name
        while unique in self.unknown:
            unique, number = f"{name} ({number})", number + 1
        self.unknown[unique] = found
        return found

    @staticmethod
    def known_bits(bits: Sequence[Any]) -> Bits:
        """Return the bits of a public net; none where some are undefined."""
        return () if any(bit in ("x", "z") for bit in bits) else tuple(bits)

    def cell(self, name: str, held: Mapping[str, Any]) -> Cell:
        source = str(held.get("attributes", {}).get("src", "")).partition("|")[0]
        parameters = {}
        for key, value in held["parameters"].items():
            number = _number(value)
            if number is not None:
                parameters[key] = number
        inputs: dict[str, Bits] = {}
        outputs: dict[str, Bits] = {}
        for port, bits in held["connections"].items():
            # a port of unknown direction may drive its nets; the cell is refused where d depends on them
            if held.get("port_directions", {}).get(port) == "input":
                inputs[port] = self.bits(bits, f"{held['type']} {name}.{port}" + (f" ({source})" if source else ""))
            else:
                outputs[port] = self.bits(bits, f"{held['type']} {name}.{port}")
        cell = Cell(name, held["type"], parameters, inputs, outputs, source)
        undefined = _undefined_results(cell)
        if undefined:
            inputs["X"] = self.fresh(undefined, f"{cell.kind} {name}")
        return cell


def _number(value: object) -> int | None:
    """Return a parameter as a number; None for a text and for one with undefined bits."""
    if isinstance(value, int):
        return value
    if isinstance(value, str) and value and set(value) <= {"0", "1"}:
        return int(value, 2)
    return None


def _undefined_results(cell: Cell) -> int:
    """Return how many bits of a result Yosys leaves undefined for some operands."""
    if cell.kind in _X_OF_QUOTIENT:
        return len(cell.outputs["Y"])
    if cell.kind == "$shiftx":
        reached = (1 << min(len(cell.inputs["B"]), 64)) - 1 + len(cell.outputs["Y"])
        inside = not cell.parameters.get("B_SIGNED", 0) and reached <= len(cell.inputs["A"])
        return 0 if inside else len(cell.outputs["Y"])
    return 0


def with_constants(module: Module, constants: Mapping[Bit, Bit]) -> Module:
    """Return a module in which some nets are constants, or other nets."""

    def bits(old: Bits) -> Bits:
        return tuple(constants.get(bit, bit) for bit in old)

    return replace(
        module,
        ports={n: replace(x, bits=bits(x.bits)) for n, x in module.ports.items()},
        cells=tuple(replace(x, inputs={p: bits(b) for p, b in x.inputs.items()}) for x in module.cells),
        nets={n: bits(b) for n, b in module.nets.items()},
    )


MOST_NAMED = 8
"""More cells of a loop than this are not named."""


def drivers_of(module: Module) -> dict[Bit, int]:
    """Return the number of the cell that drives each net."""
    return {bit: i for i, cell in enumerate(module.cells) for bits in cell.outputs.values() for bit in bits}


def input_bits(cell: Cell) -> Iterable[Bit]:
    """Return the bits that a cell reads."""
    return (bit for bits in cell.inputs.values() for bit in bits)


def in_order(module: Module, drivers: Mapping[Bit, int], registers: Collection[int]) -> list[int]:
    """Return the cells that are not registers, each after those that drive it; those of loops are left out."""
    waits: dict[int, int] = {}
    readers: dict[int, list[int]] = {}
    for number, cell in enumerate(module.cells):
        if number in registers:
            continue
        before = {drivers[bit] for bit in input_bits(cell) if bit in drivers} - set(registers)
        waits[number] = len(before)
        for i in before:
            readers.setdefault(i, []).append(number)
    ready = [number for number, count in waits.items() if not count]
    order = []
    while ready:
        number = ready.pop()
        order.append(number)
        for i in readers.get(number, ()):
            waits[i] -= 1
            if not waits[i]:
                ready.append(i)
    return order


def cone(start: Iterable[Bit], drivers: Mapping[Bit, int], before: Callable[[int], Iterable[Bit]]) -> set[int]:
    """Return the cells that some bits depend on, where ``before`` gives the bits that a cell depends on."""
    found: set[int] = set()
    open_bits = list(start)
    while open_bits:
        number = drivers.get(open_bits.pop())
        if number is not None and number not in found:
            found.add(number)
            open_bits += before(number)
    return found


def loop_among(cells: Collection[int], drivers: Mapping[Bit, int], before: Callable[[int], Iterable[Bit]]) -> list[int]:
    """Return the cells of one loop among ``cells``, in the order in which they drive each other.

    There are none if there is no loop.
    """
    done: dict[int, bool] = {}
    for first in cells:
        if first in done:
            continue
        path: list[int] = []
        open_cells: list[tuple[int, bool]] = [(first, False)]
        while open_cells:
            number, leaves = open_cells.pop()
            if leaves:
                done[number] = True
                path.pop()
                continue
            if number in done:
                continue
            done[number] = False
            path.append(number)
            open_cells.append((number, True))
            for bit in before(number):
                i = drivers.get(bit)
                if i is None or i not in cells:
                    continue
                if i not in done:
                    open_cells.append((i, False))
                elif not done[i] and i in path:
                    return path[path.index(i) :][::-1]
    return []


def named(module: Module, cells: Sequence[int]) -> str:
    """Return the names of cells for a message."""
    more = f" and {len(cells) - MOST_NAMED} more" if len(cells) > MOST_NAMED else ""
    return ", ".join(module.cells[i].describe() for i in cells[:MOST_NAMED]) + more
