"""Registers become wires: every path from an operand to d is shown to have as many registers as stated.

For each bit, the numbers of registers on all paths from operands to it are computed, as a set. Paths from constants do
not count, and neither do those from inputs that are free, because every age of such an input is another unknown.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace

from mmaproof.designs.circuit import Bit, Bits, Cell
from mmaproof.designs.errors import InputError
from mmaproof.rtl.known_bits import CHOICE, constants_and_copies, without_keeping
from mmaproof.rtl.netlist import Module, cone, drivers_of, in_order, input_bits, loop_among, named, with_constants
from mmaproof.rtl.registers import LATCHES, Register, check_controls, opens, registers_of
from mmaproof.smt.semantics.cells import RULES

_BIT_BY_BIT = frozenset({"$and", "$or", "$xor", "$xnor", "$not", "$buf", "$pos", "$bwmux", "$bweqx"})


class Structure:
    """A module whose constants are wired, with what drives what, as seen from d."""

    def __init__(self, module: Module, path: str, result: Bits, steady_with: Bit | None) -> None:
        """Wire the constants of a module, among them registers that load constants with the clock ``steady_with``.

        Raises InputError where d depends on a cell that is not covered, or on a loop without a register.
        """
        chosen: Mapping[Bit, Bit] | None = None
        self.opened = False
        """whether it was proved that latches or loops which d depends on keep nothing"""
        self.settles = False
        """whether d depends on registers that are constants once they have loaded them"""
        while chosen is None or chosen:
            registers = registers_of(module)
            order = in_order(module, drivers_of(module), registers)
            replaced = constants_and_copies(module, registers, order, steady_with)
            self.settles = self.settles or _settles(module, result, registers, replaced)
            module = with_constants(module, replaced)
            result = tuple(replaced.get(bit, bit) for bit in result)
            chosen = _chosen(module, set(range(len(module.cells))) - set(order) - set(registers))
            module = _without(module, chosen)
            result = tuple(chosen.get(bit, bit) for bit in result)
            if not chosen and not self.opened:
                opened = without_keeping(module, order, result)
                self.opened, module = opened is not module, opened
                chosen = None if self.opened else chosen
        self.path = path
        self.module = module
        self.result: Bits = result
        self.drivers = drivers_of(self.module)
        self.registers = registers_of(self.module)
        self.cells = cone(self.result, self.drivers, self.before)
        self.used = {i: x for i, x in self.registers.items() if i in self.cells}
        self._refuse_uncovered()
        self._refuse_loops_without_register()

    def before(self, number: int) -> Iterable[Bit]:
        """Return the bits that a cell depends on, those of the clock aside."""
        register = self.registers.get(number)
        if register is None:
            return input_bits(self.module.cells[number])
        return (*register.d, *(register.loaded or ()), *(bit for bit, _ in register.loads))

    def _refuse_uncovered(self) -> None:
        for number in sorted(self.cells - self.used.keys()):
            cell = self.module.cells[number]
            if cell.kind not in RULES:
                raise InputError(f"{self.path}: {cell.describe()}: {_why_not(cell)}")

    def _refuse_loops_without_register(self) -> None:
        loop = loop_among(self.cells - self.used.keys(), self.drivers, self.before)
        if loop and self._only_chooses(loop):
            raise InputError(
                f"{self.path}: {named(self.module, loop)}: a value is kept where no branch assigns one: latches are "
                "not covered, unless what is tied chooses a branch that assigns one: let every branch assign a value"
            )
        if loop:
            raise InputError(f"{self.path}: a combinational loop through {named(self.module, loop)}")

    def _only_chooses(self, loop: Sequence[int]) -> bool:
        """Return whether the cells of a loop, registers aside, do nothing but choose."""
        return all(self.module.cells[i].kind in CHOICE for i in loop if i not in self.used)

    @property
    def feeds_back(self) -> bool:
        """Whether d depends on registers that depend on themselves."""
        return bool(loop_among(self.cells, self.drivers, self.before))

    def refuse_feedback(self) -> None:
        """Raise InputError where d depends on registers that depend on themselves; it names them."""
        loop = loop_among(self.cells, self.drivers, self.before)
        if loop:
            registers = [i for i in loop if i in self.used]
            raise InputError(
                f"{self.path}: a feedback loop through {named(self.module, registers)}: of an enable tie the value "
                "that writes; a unit of several passes states cycles under [clock], and no latency; memories that are "
                "written are not covered"
            )

    def check_taken(self, taken: Mapping[int, Register], clock: Bit | None) -> None:
        """Raise InputError where registers that are operands have another clock, or another edge than those used."""
        for register in taken.values():
            if register.clock != clock:
                raise InputError(f"{self.path}: [clock]: {register.cell.describe()} has another clock")
        edges = {x.rising for x in (*self.used.values(), *taken.values()) if x.cell.kind != "$ff"}
        if len(edges) > 1:
            raise InputError(f"{self.path}: registers that are operands have another edge of the clock than others")

    def check_registers(self, clock: Bit | None, reset: Bits = ()) -> None:
        """Raise InputError where a register has another clock than ``clock``, or another reset that is not tied."""
        for register in self.used.values():
            check_controls(register, clock, self.path, reset)
        edges = {register.rising for register in self.used.values() if register.cell.kind != "$ff"}
        if len(edges) > 1:
            falling = next(x for x in self.used.values() if not x.rising)
            raise InputError(f"{self.path}: {falling.cell.describe()} has the falling edge, and others the rising one")


def _settles(module: Module, result: Bits, registers: Mapping[int, Register], replaced: Mapping[Bit, Bit]) -> bool:
    """Return whether some bits depend on a register that is replaced by a constant."""
    constants = {bit for x in registers.values() for bit in x.q if replaced.get(bit) in ("0", "1")}
    if not constants:
        return False

    def before(number: int) -> Iterable[Bit]:
        register = registers.get(number)
        return input_bits(module.cells[number]) if register is None else register.d

    drivers = drivers_of(module)
    cells = cone(result, drivers, before)
    return any(drivers[bit] in cells for bit in constants)


def _chosen(module: Module, looped: Collection[int]) -> dict[Bit, Bit]:
    """Return what a multiplexer of a loop gives, where a constant chooses it and it is not its own output."""
    for number in looped:
        cell = module.cells[number]
        if cell.kind in CHOICE and cell.inputs["S"][0] in ("0", "1"):
            taken = cell.inputs["B" if cell.inputs["S"][0] == "1" else "A"]
            if not set(taken) & set(cell.outputs["Y"]):
                return dict(zip(cell.outputs["Y"], taken, strict=True))
    return {}


def _without(module: Module, chosen: Mapping[Bit, Bit]) -> Module:
    """Return the module without the cells whose outputs are other nets."""
    if not chosen:
        return module
    cells = tuple(x for x in module.cells if not any(bit in chosen for bits in x.outputs.values() for bit in bits))
    return with_constants(replace(module, cells=cells), chosen)


def _why_not(cell: Cell) -> str:
    if cell.kind in LATCHES:
        if opens(cell, lambda bit: None if isinstance(bit, int) else bit == "1") is False:
            return "what is tied keeps this latch shut: tie the value of its enable that opens it"
        return "latches are not covered, unless what is tied keeps them open: let every branch assign a value"
    if cell.kind.startswith("$mem"):
        return "memories that are written are not covered; a table of constants is"
    if cell.kind == "$tribuf":
        return "tri-state buffers are not covered"
    if not cell.kind.startswith("$"):
        return f"module {cell.kind} has no content: add its source"
    return "this kind of cell is not covered"


def check_latency(structure: Structure, inputs: Mapping[str, Bits], latency: int | Mapping[str, int]) -> None:
    """Raise InputError where a path from an operand to d has more or fewer registers than ``latency``.

    That is one number, or one for each input; an input that has none is held, and not checked. The structure has no
    feedback.
    """
    stated = dict.fromkeys(inputs, latency) if isinstance(latency, int) else latency
    longest = max(stated.values(), default=0)
    if not structure.used and not longest:
        return
    operands = {bit: f"{name}[{i}]" for name in stated for i, bit in enumerate(inputs[name])}
    # an operand that comes later starts as if it had passed the registers that it has fewer than others
    seeds = {bit: longest - stated[name] for name in stated for bit in inputs[name]}
    counts = _register_counts(structure, seeds)
    for position, bit in enumerate(structure.result):
        wrong = counts.get(bit, 0) & ~(1 << longest)
        if wrong:
            source, passed = _path(structure, counts, seeds, bit, wrong.bit_length() - 1)
            registers = "no register" if not passed else named(structure.module, passed)
            raise InputError(
                f"{structure.path}: [clock] latency = {longest - seeds[source]}: a path from {operands[source]} to "
                f"d[{position}] has {len(passed)} register{'s' * (len(passed) != 1)}: {registers}"
            )


def latencies(structure: Structure, operands: Bits) -> set[int]:
    """Return the numbers of registers on the paths from operands to d. The structure has no feedback."""
    counts = _register_counts(structure, dict.fromkeys(operands, 0))
    found = 0
    for bit in structure.result:
        found |= counts.get(bit, 0)
    return {n for n in range(found.bit_length()) if found >> n & 1}


def ages(structure: Structure, inputs: Mapping[str, Bits]) -> int:
    """Return over how many clock cycles the values of some inputs reach d. The structure has no feedback."""
    numbers = latencies(structure, tuple(bit for bits in inputs.values() for bit in bits))
    return 1 + max(numbers) - min(numbers) if numbers else 0


def _register_counts(structure: Structure, seeds: Mapping[Bit, int]) -> dict[Bit, int]:
    """Return for each bit the numbers of registers on its paths from operands, number n as the bit 2**n.

    An operand itself counts as ``seeds`` says.
    """
    counts: dict[Bit, int] = {bit: 1 << seed for bit, seed in seeds.items()}
    for number in _all_in_order(structure):
        register = structure.registers.get(number)
        if register is not None:
            for q, d in zip(register.q, register.d, strict=True):
                counts[q] = counts.get(d, 0) << 1
            continue
        cell = structure.module.cells[number]
        for port, bits in cell.outputs.items():
            for position, bit in enumerate(bits):
                found = 0
                for source in _sources(cell, port, position):
                    found |= counts.get(source, 0)
                counts[bit] = found
    return counts


def _all_in_order(structure: Structure) -> list[int]:
    """Return the cells that d depends on, registers among them, each after those that drive it."""
    done: set[int] = set()
    order: list[int] = []
    open_cells = [(number, False) for number in sorted(structure.cells)]
    while open_cells:
        number, is_left = open_cells.pop()
        if is_left:
            order.append(number)
        elif number not in done:
            done.add(number)
            open_cells.append((number, True))
            drivers = (structure.drivers.get(bit) for bit in structure.before(number))
            open_cells += [(i, False) for i in drivers if i is not None and i not in done]
    return order


def _sources(cell: Cell, port: str, position: int) -> Iterable[Bit]:
    """Return the bits that a bit of an output depends on."""
    if cell.kind in _BIT_BY_BIT:
        # an extended operand repeats its top bit
        return (bits[min(position, len(bits) - 1)] for bits in cell.inputs.values())
    if cell.kind in CHOICE:
        return (cell.inputs["A"][position], cell.inputs["B"][position], *cell.inputs["S"])
    return input_bits(cell)


def _path(
    structure: Structure, counts: Mapping[Bit, int], seeds: Mapping[Bit, int], bit: Bit, count: int
) -> tuple[Bit, list[int]]:
    """Return the operand from which a path with this count goes to a bit, and its registers in order."""
    passed: list[int] = []
    while bit not in seeds:
        number = structure.drivers[bit]
        register = structure.registers.get(number)
        if register is not None:
            passed.append(number)
            bit, count = register.d[register.q.index(bit)], count - 1
            continue
        cell = structure.module.cells[number]
        port, position = next((p, bits.index(bit)) for p, bits in cell.outputs.items() if bit in bits)
        bit = next(x for x in _sources(cell, port, position) if counts.get(x, 0) >> count & 1)
    return bit, passed[::-1]
