"""A register that is an operand: what it holds is an input of the netlist, and what it holds next is an output."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace

from mmaproof.designs.circuit import Bit, Bits, Cell
from mmaproof.designs.errors import InputError
from mmaproof.rtl.netlist import Module, Port
from mmaproof.rtl.registers import Register, registers_of
from mmaproof.rtl.unit_file import NEXT, REG


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
