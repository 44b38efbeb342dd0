"""Views: modules of the sources that say which number a word inside a unit is, or which word a number is there.

A recoded or unnormalised format has more bits than numbers need. ``[view] d = "MODULE"`` reads the words of d as a
number. ``[view] c = "MODULE"`` makes of a number the words that stand for it. Each module has one input and one output.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

from mmaproof.designs.circuit import Bit, Bits, Cell
from mmaproof.designs.errors import InputError
from mmaproof.rtl.elaboration import elaborate
from mmaproof.rtl.netlist import Module, drivers_of, in_order, read_module
from mmaproof.rtl.registers import registers_of
from mmaproof.rtl.unit_file import UnitFile
from mmaproof.smt.algebra.integers import IntegerAlgebra
from mmaproof.smt.semantics.cells import cell_outputs
from mmaproof.smt.semantics.wires import Wires, constant


@dataclass(frozen=True, slots=True)
class View:
    """A module without registers that computes ``result`` of ``given``."""

    module: Module
    given: Bits
    result: Bits

    @property
    def ports(self) -> tuple[str, str]:
        """The names of its input and of its output."""
        named = {x.direction: x.name for x in self.module.ports.values()}
        return named["input"], named["output"]

    def of_values(self, values: Sequence[int]) -> list[int]:
        """Return the result for each of some patterns of its input."""
        known: dict[int, int] = {}
        for value in values:
            if value not in known:
                known[value] = self._of(value)
        return [known[value] for value in values]

    def _of(self, value: int) -> int:
        wires: Wires[Any, Any] = Wires(IntegerAlgebra())
        wires.connect(self.given, constant(value, len(self.given)))
        for number in in_order(self.module, drivers_of(self.module), {}):
            cell = self.module.cells[number]
            for port, places in cell_outputs(wires, cell).items():
                wires.connect(cell.outputs[port], places)
        return int(wires.word(wires.places(self.result)).data)


def read_views(file: UnitFile) -> dict[str, View]:
    """Return the views of operands. Raises InputError for a module that has registers, or other ports than two."""
    return {operand: _view(file, f"{file.path}: [view] {operand}", name) for operand, name in file.view.items()}


def _view(file: UnitFile, where: str, name: str) -> View:
    module = read_module(name, elaborate(replace(file, top=name, parameters={})))
    sides: Mapping[str, list[Bits]] = {
        which: [x.bits for x in module.ports.values() if x.direction == which] for which in ("input", "output")
    }
    if len(sides["input"]) != 1 or len(sides["output"]) != 1:
        raise InputError(f"{where}: {name} has other ports than one input and one output")
    if registers_of(module) or module.unknown:
        raise InputError(
            f"{where}: {name} has registers or undefined bits: its output is to be a function of its input"
        )
    return View(module, sides["input"][0], sides["output"][0])


def applied(module: Module, view: View, given: Bits, fresh: Iterator[int]) -> tuple[Module, Bits]:
    """Return a module with a copy of a view that reads ``given``, and the bits of its result."""
    nets: dict[Bit, Bit] = {"0": "0", "1": "1", **dict(zip(view.given, given, strict=True))}

    def copied(bits: Bits) -> Bits:
        for bit in bits:
            if bit not in nets:
                nets[bit] = next(fresh)
        return tuple(nets[bit] for bit in bits)

    cells = list(module.cells)
    for cell in view.module.cells:
        inputs, outputs = ({p: copied(bits) for p, bits in held.items()} for held in (cell.inputs, cell.outputs))
        name = f"{view.module.name}.{cell.name} {len(cells)}"
        cells.append(Cell(name, cell.kind, cell.parameters, inputs, outputs, cell.source))
    return replace(module, cells=tuple(cells)), copied(view.result)


def driven(module: Module, view: View, words: Bits, fresh: Iterator[int]) -> tuple[Module, Bits]:
    """Return a module in which a copy of a view drives ``words``, and the bits that it reads."""
    given: Bits = tuple(islice(fresh, len(view.given)))
    module, result = applied(module, view, given, fresh)
    for word, bit in zip(words, result, strict=True):
        module = replace(
            module, cells=(*module.cells, Cell(f"view {word}", "$buf", {"WIDTH": 1}, {"A": (bit,)}, {"Y": (word,)}))
        )
    return module, given
