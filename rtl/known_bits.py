"""Constant propagation through a netlist with tied ports: constants, and nets that equal other nets.

Cells are computed by the rules of ``smt/semantics/cells.py`` over words that are known or not. So a multiplexer whose
select bit is a tied enable is a wire, so is a latch that a tied enable keeps open, and a register that always loads a
constant is that constant (after the first cycle, in which nobody looks at the result).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from mmaproof.designs.circuit import Bit, Cell
from mmaproof.designs.errors import InputError
from mmaproof.rtl.netlist import Module
from mmaproof.rtl.registers import LATCHES, Register, opens
from mmaproof.smt.algebra.integers import IntegerAlgebra
from mmaproof.smt.algebra.protocol import Algebra, Word
from mmaproof.smt.semantics.cells import cell_outputs
from mmaproof.smt.semantics.wires import CONSTANT, Place, Places, Wires

_INTEGERS = IntegerAlgebra()


class PartlyKnown(IntegerAlgebra):
    """Integers of which some are None: nobody knows them. What is computed of such a one is None too."""

    def known_value(self, x: Word[int]) -> int | None:
        """Return the value of a word that is known."""
        return x.data

    def _known(self, x: bool) -> bool | None:
        return x

    def unknown_word(self, width: int) -> Word[Any]:
        """Return a word that is not known."""
        nothing: Any = None
        return Word(nothing, width, False, self)


_PAIRS = frozenset({"_normalise", "_compress", "_divide"})
"""Primitives that return two words."""


def _where_known(name: str) -> Callable[..., Any]:
    primitive = getattr(IntegerAlgebra, name)

    def partly(self: PartlyKnown, *arguments: Any) -> Any:
        held = [x for argument in arguments for x in (argument if isinstance(argument, list) else [argument])]
        if any(x is None for x in held):
            return (None, None) if name in _PAIRS else None
        return primitive(_INTEGERS, *arguments)

    return partly


for _name in sorted(Algebra.__abstractmethods__ - {"_known"}):
    setattr(PartlyKnown, _name, _where_known(_name))


def constants_and_copies(
    module: Module, registers: Mapping[int, Register], order: list[int], steady_with: Bit | None
) -> dict[Bit, Bit]:
    """Return, for nets that are constants or copies of other nets, what they are.

    ``registers`` are cells by their numbers, ``order`` has the others, each after what drives it. A register that loads
    a constant with the clock ``steady_with``, and is never set without it, is that constant: its first cycles are of no
    interest. With None, no register is a constant.
    """
    known: dict[Bit, Bit] = {}
    while True:
        wires, first_at = _computed(module, registers, order, known)
        more: dict[Bit, Bit] = {}
        for register in registers.values():
            if register.clock != steady_with or _may_load(wires, register):
                continue
            for q, d in zip(register.q, register.d, strict=True):
                place = wires.find(d)
                if q not in known and place is not None and place[0] == CONSTANT:
                    more[q] = "1" if place[1] else "0"
        if not more:
            break
        known |= more
    found = dict(known)
    for bit, place in wires.connected():
        if isinstance(bit, str):
            continue
        if place[0] == CONSTANT:
            found[bit] = "1" if place[1] else "0"
        elif first_at[place] != bit:
            found[bit] = first_at[place]
    return found


def _outputs(wires: Wires[Any, Any], cell: Cell) -> dict[str, Places]:
    """Return where the outputs of a cell are; none of a cell that is not covered: it is refused where d needs it."""

    def value_of(bit: Bit) -> bool | None:
        place = wires.find(bit)
        return None if place is None else wires.known_bit(place)

    if cell.kind in LATCHES and opens(cell, value_of):
        return {"Q": wires.places(cell.inputs["D"])}
    try:
        return cell_outputs(wires, cell)
    except InputError:
        return {}


def _may_load(wires: Wires[Any, Any], register: Register) -> bool:
    """Return whether something may set a register without the clock."""
    for bit, active in register.loads:
        place = wires.find(bit)
        if place is None or place[0] != CONSTANT or bool(place[1]) is active:
            return True
    return False


def _computed(
    module: Module, registers: Mapping[int, Register], order: list[int], known: Mapping[Bit, Bit]
) -> tuple[Wires[Any, Any], dict[Place, Bit]]:
    """Return the places of all nets, and the first net at each place."""
    algebra = PartlyKnown()
    wires: Wires[Any, Any] = Wires(algebra)
    driven = {bit for cell in module.cells for bits in cell.outputs.values() for bit in bits}
    read = {bit for cell in module.cells for bits in cell.inputs.values() for bit in bits}
    read |= {bit for port in module.ports.values() for bit in port.bits}
    for net in sorted(x for x in read - driven if isinstance(x, int)):
        wires.connect_word((net,), algebra.unknown_word(1))
    for register in registers.values():
        for q in register.q:
            constant = known.get(q)
            wires.connect_word(
                (q,), algebra.unknown_word(1) if constant is None else algebra.unsigned(int(constant), 1)
            )
    skipped = set(range(len(module.cells))) - set(order) - set(registers)
    for number in skipped:
        for bits in module.cells[number].outputs.values():
            for bit_of_cell in bits:
                wires.connect_word((bit_of_cell,), algebra.unknown_word(1))
    for number in order:
        cell = module.cells[number]
        found = _outputs(wires, cell)
        for port, bits in cell.outputs.items():
            if port in found:
                wires.connect(bits, found[port])
            else:
                wires.connect_word(bits, algebra.unknown_word(len(bits)))
    first_at: dict[Place, Bit] = {}
    for bit, place in wires.connected():
        first_at.setdefault(place, bit)
    return wires, first_at
