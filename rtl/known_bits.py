"""Constant propagation through a netlist with tied ports: constants, and nets that equal other nets.

Cells are computed by the rules of ``smt/semantics/cells.py`` over words that are known or not. So a multiplexer whose
select bit is a tied enable is a wire, so is a latch that a tied enable keeps open, and a register that always loads a
constant is that constant (after the first cycle, in which nobody looks at the result).

Loops and latches that keep nothing, as of a case statement whose items are complete without a default.

A multiplexer that may give its own output keeps a value, and so does a latch, which is one: enable ? input : output.
The loops are cut, and the nets at the cuts may have any values. If no net that is read behind the loop depends on these
values, whatever everything else is, then none of them is ever seen: they may as well be 0. That is a question to a
solver; what it does not prove stays a loop or a latch, and is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from typing import Any

from mmaproof.designs.circuit import Bit, Bits, Cell
from mmaproof.designs.errors import InputError
from mmaproof.rtl.netlist import Module, cone, drivers_of, input_bits
from mmaproof.rtl.registers import LATCHES, Register, circuit_of, opens
from mmaproof.smt.algebra.integers import IntegerAlgebra
from mmaproof.smt.algebra.protocol import Algebra, Word
from mmaproof.smt.algebra.terms import TermAlgebra
from mmaproof.smt.semantics.cells import RULES, cell_outputs
from mmaproof.smt.semantics.netlist_step import run_circuit
from mmaproof.smt.semantics.wires import CONSTANT, Place, Places, Wires
from mmaproof.smt.solving.limits import Limits
from mmaproof.smt.solving.solving import Solving
from mmaproof.smt.solving.verdict import Outcome

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


SECONDS = 30.0
"""How long the solver may take for one question."""

MOST_QUESTIONS = 16
"""After more questions that were answered by a value that is kept, nothing is opened."""

CHOICE = frozenset({"$mux", "$_MUX_"})
_IN_LOOPS = CHOICE | {"$pmux", "$not", "$_NOT_", "$buf", "$pos"}
"""Cells that a loop may go through: none of them lets a value pass for a moment that another input blocks."""


def without_keeping(module: Module, order: Collection[int], result: Bits) -> Module:
    """Return the module without the latches and loops that ``result`` depends on and that are proved to keep nothing.

    ``order`` has the cells without registers that neither are in a loop nor depend on one. It is the module itself
    where nothing is opened.
    """
    drivers = drivers_of(module)
    reached = cone(result, drivers, lambda i: input_bits(module.cells[i]))
    cells = {i: _choosing(module.cells[i]) for i in sorted(reached)}
    cells = {i: x for i, x in cells.items() if x.kind in RULES}
    if all(i in order and x is module.cells[i] for i, x in cells.items()):
        return module
    drivers = {bit: i for bit, i in drivers.items() if i in cells}
    new = module.new_nets()
    cuts: dict[Bit, tuple[int, Bit]] = {}
    ends = [*result, *(bit for i in sorted(reached - cells.keys()) for bit in input_bits(module.cells[i]))]
    for number, bits in _read_back(cells, drivers, ends).items():
        fresh: dict[Bit, Bit] = {bit: next(new) for bit in sorted(bits, key=str)}
        cuts |= {u: (number, bit) for bit, u in fresh.items()}
        cells[number] = _reading(cells[number], fresh)
    core = _between(cells, drivers, cuts)
    blocked = {bit for i in core for bit in cells[i].inputs.get("S", ()) if bit in cuts or drivers.get(bit) in core}
    if blocked or any(cells[i].kind not in _IN_LOOPS for i in core):
        return module
    seen = {bit for i, x in enumerate(module.cells) if i not in core for bit in input_bits(x)} | set(result)
    seen = {bit for bit in seen if drivers.get(bit) in core} | {bit for _, bit in cuts.values()}
    unseen = _unseen(replace(module, cells=tuple(cells.values())), tuple(sorted(seen, key=str)), cuts)
    return _opened(module, cuts, unseen) if unseen else module


def _choosing(cell: Cell) -> Cell:
    """Return the multiplexer that a latch is; any other cell is itself."""
    if cell.kind != "$dlatch":
        return cell
    kept, given = cell.outputs["Q"], cell.inputs["D"]
    if cell.parameters.get("EN_POLARITY", 1):
        inputs = {"A": kept, "B": given, "S": cell.inputs["EN"]}
    else:
        inputs = {"A": given, "B": kept, "S": cell.inputs["EN"]}
    return Cell(cell.name, "$mux", {"WIDTH": len(kept)}, inputs, {"Y": kept}, cell.source)


def _reading(cell: Cell, others: Mapping[Bit, Bit]) -> Cell:
    """Return a cell that reads other nets in place of some."""
    return replace(cell, inputs={p: tuple(others.get(bit, bit) for bit in bits) for p, bits in cell.inputs.items()})


def _read_back(cells: Mapping[int, Cell], drivers: Mapping[Bit, int], ends: Collection[Bit]) -> dict[int, set[Bit]]:
    """Return which inputs of which cells have to be cut, so that no loop is left.

    The search goes from ``ends`` backwards, so that what is cut of a loop is what it gives to cells behind it.
    """
    position: dict[int, int] = {}
    begun: set[int] = set()
    open_cells = [(drivers[bit], False) for bit in ends if bit in drivers]
    while open_cells:
        number, is_left = open_cells.pop()
        if is_left:
            position[number] = len(position)
        elif number not in begun:
            begun.add(number)
            open_cells.append((number, True))
            open_cells += [(drivers[bit], False) for bit in input_bits(cells[number]) if bit in drivers]
    found = {}
    for number, cell in cells.items():
        back = {bit for bit in input_bits(cell) if bit in drivers and position[drivers[bit]] >= position[number]}
        if back:
            found[number] = back
    return found


def _between(cells: Mapping[int, Cell], drivers: Mapping[Bit, int], cuts: Mapping[Bit, tuple[int, Bit]]) -> set[int]:
    """Return the cells on paths from the cuts back to the nets that were cut."""
    before = cone((bit for _, bit in cuts.values()), drivers, lambda i: input_bits(cells[i]))
    readers: dict[Bit, set[int]] = {}
    for i in before:
        for bit in input_bits(cells[i]):
            readers.setdefault(bit, set()).add(i)
    found: set[int] = set()
    open_bits: list[Bit] = list(cuts)
    while open_bits:
        for i in readers.get(open_bits.pop(), set()) - found:
            found.add(i)
            open_bits += [bit for bits in cells[i].outputs.values() for bit in bits]
    return found


def _unseen(module: Module, seen: Bits, cuts: Collection[Bit]) -> set[Bit]:
    """Return cuts whose values are never seen, all of them together; none where that is not proved."""
    drivers = drivers_of(module)
    read = {bit for x in module.cells for bit in input_bits(x)}.union(seen, cuts) - drivers.keys() - {"0", "1"}
    names = {bit: f"net {bit}" for bit in read}
    circuit = circuit_of(module, {n: (bit,) for bit, n in names.items()}, seen, most_cells=len(module.cells) + 1)
    left = set(cuts)
    for _ in range(MOST_QUESTIONS):
        if not left:
            break
        terms, integers = TermAlgebra(), IntegerAlgebra()
        once = {n: terms.symbol(n, 1) for n in names.values()}
        again = once | {names[u]: terms.symbol(f"other {u}", 1) for u in left}
        is_same = terms.equal(*(run_circuit(circuit, terms, words)["d"] for words in (once, again)))
        symbols = {x.data for words in (once, again) for x in words.values()}
        answer = Solving().ask(terms.negation(is_same).data, [*symbols], limits=Limits.of(SECONDS))
        if answer.outcome is Outcome.UNSAT:
            return left
        if answer.model is None:
            break
        model = {bit: answer.model[n] for bit, n in names.items()}
        # each net behind a cut gives one of the kept bits, or its complement, or none: all of them change at once
        values = [
            run_circuit(circuit, integers, {n: integers.unsigned(x[bit], 1) for bit, n in names.items()})["d"].data
            for x in (model | dict.fromkeys(left, 0), model | dict.fromkeys(left, 1))
        ]
        differ = values[0] ^ values[1]
        wrong = [bit for i, bit in enumerate(seen) if differ >> i & 1]
        reached = cone(wrong, drivers, lambda i: input_bits(module.cells[i]))
        left -= {bit for i in reached for bit in input_bits(module.cells[i])}
    return set()


def _opened(module: Module, cuts: Mapping[Bit, tuple[int, Bit]], unseen: Collection[Bit]) -> Module:
    """Return the module whose cells read 0 at cuts that are never seen; a latch there is a wire."""
    found = list(module.cells)
    for number in {number for number, _ in cuts.values()}:
        zeros: dict[Bit, Bit] = {bit: "0" for u, (i, bit) in cuts.items() if i == number and u in unseen}
        cell = module.cells[number]
        if cell.kind != "$dlatch":
            found[number] = _reading(cell, zeros)
        elif zeros.keys() >= set(cell.outputs["Q"]):
            width = len(cell.outputs["Q"])
            parameters = {"A_WIDTH": width, "Y_WIDTH": width, "A_SIGNED": 0}
            given = _reading(cell, zeros).inputs["D"]
            found[number] = Cell(cell.name, "$pos", parameters, {"A": given}, {"Y": cell.outputs["Q"]}, cell.source)
    return replace(module, cells=tuple(found))
