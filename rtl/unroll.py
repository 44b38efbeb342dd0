"""A netlist over several clock cycles becomes a circuit without registers.

The *age* of a net says how many clock cycles before d its value is taken. A register's output at an age is its input at
the next one. In a pipeline every operand is read at one age, the latency, and what is read at an age is another copy of
the cells than what is read at another age; where every path has the same number of registers, there is one copy only.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field

from mmaproof.designs.circuit import Bit, Bits, Cell, Circuit
from mmaproof.designs.errors import InputError
from mmaproof.rtl.netlist import MOST_CELLS, Module, drivers_of, input_bits
from mmaproof.rtl.registers import Register

At = tuple[Bit, int]
"""A net at an age."""


@dataclass(frozen=True, slots=True)
class Start:
    """How a unit of several passes starts: ``age`` clock cycles before d, with a reset or with unknown registers.

    With a reset, its ``nets`` are ``value`` in the cycle of that age, which registers load at its end, and the other
    value afterwards.
    """

    age: int
    nets: Bits = ()
    value: Bit = "0"

    @property
    def other(self) -> Bit:
        """The value that does not reset."""
        return "0" if self.value == "1" else "1"


@dataclass
class _Unrolling:
    module: Module
    registers: Mapping[int, Register]
    operands: Collection[Bit]
    start: Start | None
    most_cells: int
    nets: dict[At, Bit] = field(default_factory=dict)
    cells: list[Cell] = field(default_factory=list)
    unknown: dict[str, Bits] = field(default_factory=dict)
    ages: dict[Bit, set[int]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.drivers = drivers_of(self.module)
        self._next = 1 + max((bit for bit in self.operands if isinstance(bit, int)), default=0)
        self._names = _names_of(self.module)

    def fresh(self) -> int:
        self._next += 1
        return self._next - 1

    # --- where a net comes from -------------------------------------------------------------------------------

    def source(self, bit: Bit, age: int) -> tuple[Bit, int] | Bit:
        """Return the net at the age at which it is computed or read: behind registers. A constant is itself."""
        start = self.start
        while True:
            if bit in ("0", "1"):
                return bit
            if start is not None and bit in start.nets:
                return start.value if age > start.age else start.other
            number = self.drivers.get(bit)
            if number is None or number not in self.registers:
                return bit, age
            self.ages.setdefault(bit, set()).add(age)
            register = self.registers[number]
            position = register.q.index(bit)
            if start is not None and age == start.age + (1 if start.nets else 0):
                return bit, age
            if start is not None and age == start.age and register.loaded is not None and self._resets(register):
                bit = register.loaded[position]
            else:
                bit = register.d[position]
            age += 1

    def _resets(self, register: Register) -> bool:
        """Return whether the reset of the start sets a register without the clock."""
        start = self.start
        return start is not None and any(
            bit in start.nets and (start.value == "1") is active for bit, active in register.loads
        )

    def net(self, bit: Bit, age: int) -> Bit | None:
        """Return the net of the circuit that carries a bit at an age; None where it is not computed yet."""
        found = self.source(bit, age)
        if not isinstance(found, tuple):
            return found
        self.ages.setdefault(bit, set()).add(age)
        if found in self.nets:
            return self.nets[found]
        source, at = found
        if source in self.operands:
            self.nets[found] = source
        elif source not in self.drivers or self.drivers[source] in self.registers:
            self.nets[found] = self.fresh()
            self._note_unknown(source, at, self.nets[found])
        else:
            return None
        self.ages.setdefault(source, set()).add(at)
        return self.nets[found]

    def _note_unknown(self, source: Bit, age: int, new: Bit) -> None:
        number = self.drivers.get(source)
        if number is not None:
            name = f"initial {self._names.get(source, source)}"
        else:
            name = self._names.get(source, f"undriven {source}")
            if not name.startswith(("x of", "$", "free ", "steers: ")):
                name = f"undriven {name}"
        self.unknown[f"{name} at age {age}" if name in self.unknown else name] = (new,)

    # --- copies of cells ----------------------------------------------------------------------------------------

    def compute(self, bits: Iterable[At]) -> None:
        """Add the cells that compute some nets, each after those that drive it."""
        open_cells: list[tuple[int, int, bool]] = []

        def want(bit: Bit, age: int) -> None:
            if self.net(bit, age) is None:
                found = self.source(bit, age)
                if isinstance(found, tuple):
                    open_cells.append((self.drivers[found[0]], found[1], False))

        for bit, age in bits:
            want(bit, age)
        made: set[tuple[int, int]] = set()
        while open_cells:
            number, age, is_ready = open_cells.pop()
            if (number, age) in made:
                continue
            cell = self.module.cells[number]
            if not is_ready:
                open_cells.append((number, age, True))
                for bit in input_bits(cell):
                    want(bit, age)
                continue
            made.add((number, age))
            self._add(cell, age)

    def _add(self, cell: Cell, age: int) -> None:
        if len(self.cells) >= self.most_cells:
            raise InputError(f"{self.module.name}: more than {self.most_cells} cells over all clock cycles")
        inputs = {port: tuple(self._given(bit, age) for bit in bits) for port, bits in cell.inputs.items()}
        outputs = {}
        for port, bits in cell.outputs.items():
            new: Bits = tuple(self.fresh() for _ in bits)
            outputs[port] = new
            for bit, made in zip(bits, new, strict=True):
                self.nets[bit, age] = made
                self.ages.setdefault(bit, set()).add(age)
        name = cell.name if self.start is None else f"{cell.name}@{age}"
        self.cells.append(Cell(name, cell.kind, cell.parameters, inputs, outputs, cell.source))

    def _given(self, bit: Bit, age: int) -> Bit:
        found = self.net(bit, age)
        if found is None:
            raise InputError(f"{self.module.name}: net {self._names.get(bit, bit)} is computed from itself")
        return found

    # --- names --------------------------------------------------------------------------------------------------

    def public_nets(self) -> dict[str, Bits]:
        """Return the public nets of which every bit was computed at one age; with the age where there are several."""
        found: dict[str, Bits] = {}
        for name, bits in shortest_first(self.module.nets):
            shared: set[int] | None = None
            for bit in bits:
                if isinstance(bit, int):
                    ages = self.ages.get(bit, set())
                    shared = set(ages) if shared is None else shared & ages
            for age in sorted(shared or ()):
                carried = [self.net(bit, age) for bit in bits]
                known = tuple(bit for bit in carried if bit is not None)
                if len(known) == len(bits):
                    found[name if len(shared or ()) == 1 else f"{name}@{age}"] = known
        return found


def shortest_first(nets: Mapping[str, Bits]) -> list[tuple[str, Bits]]:
    """Return nets, those of outer modules before those of inner ones, and short names before long ones."""
    return sorted(nets.items(), key=lambda item: (item[0].count("."), len(item[0]), item[0]))


def _names_of(module: Module) -> dict[Bit, str]:
    """Return a name for each bit that is public or unknown."""
    names: dict[Bit, str] = {}
    for name, bits in (*module.unknown.items(), *shortest_first(module.nets)):
        for position, bit in enumerate(bits):
            names.setdefault(bit, f"{name}[{position}]" if len(bits) > 1 else name)
    return names


def circuit_of(
    module: Module,
    inputs: Mapping[str, Bits],
    result: Bits,
    registers: Mapping[int, Register] | None = None,
    start: Start | None = None,
    most_cells: int = MOST_CELLS,
) -> Circuit:
    """Return the circuit that computes ``result``, of copies of the cells that it depends on.

    ``inputs`` are the nets of the operands. ``start`` is that of a unit of several passes. There must be no loop
    without a register, and none at all where there is no start. Raises InputError for more cells than ``most_cells``.
    """
    operands = {bit for bits in inputs.values() for bit in bits}
    unrolling = _Unrolling(module, registers or {}, operands, start, most_cells)
    unrolling.compute((bit, 0) for bit in result)
    d: Bits = tuple(unrolling._given(bit, 0) for bit in result)
    nets = unrolling.public_nets()
    return Circuit(module.name, inputs, {"d": d}, tuple(unrolling.cells), nets, unrolling.unknown)
