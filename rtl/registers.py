"""The registers of a netlist: plain ones, once their resets and enables are tied.

Yosys has already written enables and synchronous resets as multiplexers in front of the data input.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from mmaproof.designs.circuit import Bit, Bits, Cell
from mmaproof.designs.errors import InputError
from mmaproof.rtl.netlist import Module

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
