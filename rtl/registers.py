"""The registers of a netlist: plain ones, once their resets and enables are tied.

Yosys has already written enables and synchronous resets as multiplexers in front of the data input.

A register that is an operand: what it holds is an input of the netlist, and what it holds next is an output.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, replace

from mmaproof.designs.circuit import Bit, Bits, Cell
from mmaproof.designs.errors import InputError
from mmaproof.rtl.netlist import Module, Port
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
