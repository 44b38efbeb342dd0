"""The registers of a netlist: plain ones, once their resets and enables are tied.

Yosys has already written enables and synchronous resets as multiplexers in front of the data input.

A register that is an operand: what it holds is an input of the netlist, and what it holds next is an output.

A netlist over several clock cycles becomes a circuit without registers.

The *age* of a net says how many clock cycles before d its value is taken. A register's output at an age is its input at
the next one. In a pipeline every operand is read at one age, the latency, and what is read at an age is another copy of
the cells than what is read at another age; where every path has the same number of registers, there is one copy only.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace

from mmaproof.designs.circuit import Bit, Bits, Cell, Circuit
from mmaproof.designs.errors import InputError
from mmaproof.rtl.netlist import MOST_CELLS, Module, Port, drivers_of, input_bits
from mmaproof.rtl.unit_file import NEXT, REG

PLAIN = ("$dff", "$ff")
ASYNCHRONOUS = ("$adff", "$aldff", "$dffsr")
LATCHES = ("$dlatch", "$adlatch", "$dlatchsr", "$sr")


@dataclass(frozen=True, slots=True)
class Register:
    """A register of one or more bits. ``loads`` are bits that, where one of them is 1, set it without the clock.

    ``loaded`` is what it is set to then; None where that is not a word (set and reset bit by bit).
    """

    cell: Cell
    d: Bits
    q: Bits
    clock: Bit
    rising: bool
    loads: tuple[tuple[Bit, bool], ...] = ()
    loaded: Bits | None = None


def registers_of(module: Module) -> dict[int, Register]:
    """Return the registers by the numbers of their cells."""
    found = {}
    for number, cell in enumerate(module.cells):
        if cell.kind in (*PLAIN, *ASYNCHRONOUS):
            found[number] = _register(cell)
    return found


def _register(cell: Cell) -> Register:
    clock: Bit = cell.inputs["CLK"][0] if "CLK" in cell.inputs else "0"
    rising = bool(cell.parameters.get("CLK_POLARITY", 1))
    d, q = cell.inputs["D"], cell.outputs["Q"]
    if cell.kind == "$adff":
        value = cell.parameters.get("ARST_VALUE")
        loaded = None if value is None else _constant(value, len(q))
        return Register(cell, d, q, clock, rising, (_active(cell, "ARST"),), loaded)
    if cell.kind == "$aldff":
        return Register(cell, d, q, clock, rising, (_active(cell, "ALOAD"),), cell.inputs["AD"])
    if cell.kind == "$dffsr":
        controls = [(bit, bool(cell.parameters[f"{p}_POLARITY"])) for p in ("SET", "CLR") for bit in cell.inputs[p]]
        return Register(cell, d, q, clock, rising, tuple(controls))
    return Register(cell, d, q, clock, rising)


def _active(cell: Cell, port: str) -> tuple[Bit, bool]:
    return cell.inputs[port][0], bool(cell.parameters[f"{port}_POLARITY"])


def _constant(value: int, width: int) -> Bits:
    return tuple("1" if value >> i & 1 else "0" for i in range(width))


def opens(latch: Cell, value_of: Callable[[Bit], bool | None]) -> bool | None:
    """Return whether a latch always shows its input; False where it never does, None where that is not known.

    ``value_of`` gives the value of a bit that is a constant.
    """
    if "EN" not in latch.inputs:
        return None
    controls = [(port, bit) for port in ("ARST", "SET", "CLR") for bit in latch.inputs.get(port, ())]
    for port, bit in controls:
        if value_of(bit) is not (not latch.parameters.get(f"{port}_POLARITY", 1)):
            return None
    enable = value_of(latch.inputs["EN"][0])
    return None if enable is None else enable is bool(latch.parameters.get("EN_POLARITY", 1))


def check_controls(register: Register, clock: Bit | None, path: str, reset: Bits) -> None:
    """Raise InputError where a register is not clocked by ``clock``, or may be set without it but by ``reset``."""
    cell = register.cell
    if clock is None:
        raise InputError(f"{path}: {cell.describe()} is a register: state the [clock] and its latency")
    if register.clock != clock:
        raise InputError(f"{path}: [clock]: {cell.describe()} has another clock: one clock is covered, ungated")
    for bit, active in register.loads:
        if bit in reset:
            continue
        if bit not in ("0", "1"):
            raise InputError(f"{path}: {cell.describe()} has an asynchronous reset or load that is not tied: tie it")
        if (bit == "1") is active:
            raise InputError(f"{path}: {cell.describe()} is held in reset by what is tied: tie the other value")


def present_values(module: Module) -> dict[str, Port]:
    """Return registers as ports of what they hold, under names such as ``reg:acc``."""
    return {f"{REG}{n}": replace(x, name=f"{REG}{n}") for n, x in module.registers.items()}


def with_next_values(
    module: Module, expressions: Iterable[str], path: str, controls: Collection[Bit] = ()
) -> tuple[Module, dict[str, Port], dict[int, Register]]:
    """Return registers that ``expressions`` name as ports of what they hold after an edge, such as ``next:acc``.

    The module and these registers by their numbers are returned, too.
    That is the data input, or, where a reset or a load without the clock is active, what that sets: a multiplexer that
    is added to the module. Raises InputError for a register that is set and reset bit by bit, and for one that
    something else sets without the clock than a constant or one of the ``controls``.
    """
    texts = list(expressions)
    named = {n: x for n, x in module.registers.items() if any(f"{NEXT}{n}" in text for text in texts)}
    wanted = {bit for x in named.values() for bit in x.bits}
    new, cells = module.new_nets(), list(module.cells)
    follows: dict[Bit, Bit] = {}
    taken = {number: x for number, x in registers_of(module).items() if not wanted.isdisjoint(x.q)}
    for register in taken.values():
        data = register.d
        if register.loads and register.loaded is None:
            raise InputError(f"{path}: {register.cell.describe()} is set and reset bit by bit: that is not covered")
        for bit, active in register.loads:
            if bit not in ("0", "1") and bit not in controls:
                raise InputError(
                    f"{path}: {register.cell.describe()} has an asynchronous reset or load that is not tied: "
                    "tie it, or state it as clear under [control]"
                )
            chosen = (data, register.loaded or ()) if active else (register.loaded or (), data)
            data = tuple(next(new) for _ in data)
            inputs: dict[str, Bits] = {"A": chosen[0], "B": chosen[1], "S": (bit,)}
            name = f"{register.cell.name} next"
            cells.append(Cell(name, "$mux", {"WIDTH": len(data)}, inputs, {"Y": data}, register.cell.source))
        follows |= dict(zip(register.q, data, strict=True))
    ports = {f"{NEXT}{n}": replace(x, bits=tuple(follows[bit] for bit in x.bits)) for n, x in named.items()}
    return replace(module, cells=tuple(cells)), ports, taken


def cut(module: Module, bits: Collection[Bit]) -> tuple[Module, dict[int, Register]]:
    """Return the module in which nothing drives some bits of registers, and these registers as they were."""
    taken = {number: x for number, x in registers_of(module).items() if not set(bits).isdisjoint(x.q)}
    cells = list(module.cells)
    for number, register in taken.items():
        kept = [i for i, bit in enumerate(register.q) if bit not in bits]
        cells[number] = _of_bits(register.cell, kept)
    left = (x for x in cells if x.outputs.get("Q", (0,)))
    return replace(module, cells=tuple(left)), taken


def _of_bits(cell: Cell, kept: list[int]) -> Cell:
    """Return the register of some bits of a register."""

    def some(held: Mapping[str, Bits], ports: Collection[str]) -> dict[str, Bits]:
        return {n: tuple(x[i] for i in kept) if n in ports else x for n, x in held.items()}

    parameters = dict(cell.parameters)
    if "ARST_VALUE" in parameters:
        parameters["ARST_VALUE"] = sum((parameters["ARST_VALUE"] >> i & 1) << place for place, i in enumerate(kept))
    inputs = some(cell.inputs, ("D", "AD", "SET", "CLR"))
    return replace(cell, parameters=parameters, inputs=inputs, outputs=some(cell.outputs, ("Q",)))


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
