"""Which small change of a netlist makes it right: where it goes wrong, if nothing else is wrong with it.

A change is one that a line of the source may need: another constant, an operand that is extended with its sign or with
zeros, one that is not cut, another operator, one operand left out, or elements of an operand that change places. It is
made in all cells of one place of the sources, because a line is written once and elaborated often. One that makes d
right on all samples, and wrong on none, names its place. If none does, a truth value may: one that makes d right on
every wrong sample where it is inverted.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from mmaproof.designs.circuit import Bit, Bits, Cell, Circuit
from mmaproof.designs.formats import Format
from mmaproof.designs.operands import Patterns
from mmaproof.smt.algebra.arrays import ArrayAlgebra
from mmaproof.smt.algebra.protocol import Word
from mmaproof.smt.evaluate import equal_patterns
from mmaproof.smt.semantics.cells import cell_outputs
from mmaproof.smt.semantics.wires import Wires

MOST_ROWS = 64
"""Samples for which d is wrong, and for which it is right, that a change is tried on."""
FEWEST_WRONG = 8
"""Samples for which d is wrong that an inverted truth value has to make right."""
MOST_CELLS = 2000
"""Cells of a netlist that is changed; in a larger one, and one of gates, too much time would go by."""
MOST_TRIED = 1500
"""Changes that are tried."""
MOST_EVALUATED = 500_000
"""Cells that are evaluated for changes, some twenty seconds; a number and not a time, so that an answer is the same."""

_OPERATORS = {
    "$and": ("$or", "$xor"),
    "$or": ("$xor", "$and"),
    "$xor": ("$or", "$and"),
    "$logic_and": ("$logic_or",),
    "$logic_or": ("$logic_and",),
    "$gt": ("$ge", "$lt"),
    "$ge": ("$gt", "$le"),
    "$lt": ("$le", "$gt"),
    "$le": ("$lt", "$ge"),
    "$eq": ("$ne",),
    "$ne": ("$eq",),
    "$add": ("$sub",),
    "$sub": ("$add",),
    "$shr": ("$sshr",),
    "$sshr": ("$shr",),
}
_SHIFTS = frozenset({"$shl", "$shr", "$sshl", "$sshr", "$shift", "$shiftx"})
_ARITHMETIC = frozenset({"$add", "$sub", "$neg", "$not"})
_WIDENED = frozenset({"$add", "$sub", "$mul"})
_FRESH = 1 << 40
"""What the numbers of nets begin with that a wider result has in addition."""

Column = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Repair:
    """A change that makes d right: the first cell that it changes on the witness, and the values that tell it there."""

    cell: Bits
    """the output of the cell"""
    bits: Bits
    """the net that is shown for it, whose values these are"""
    change: str
    expected: int
    returned: int


def repairs(
    circuit: Circuit,
    inputs: Callable[[ArrayAlgebra, npt.NDArray[np.intp]], Mapping[str, Word[Any]]],
    fmt: Format,
    wanted: Patterns,
    wrong: npt.NDArray[np.bool_],
    shown: Callable[[Bits], Bits],
) -> Iterator[Repair]:
    """Yield the changes that make a circuit right, those of cells before inverted truth values, in their order.

    ``inputs`` returns the words of some samples, of which the last one is the witness; ``wanted`` is the d of each, and
    ``wrong`` says for which d is wrong. ``shown`` returns the net that stands for the output of a cell.
    """
    last = len(wrong) - 1
    if len(circuit.cells) > MOST_CELLS:
        return
    chosen = np.concatenate([np.flatnonzero(wrong[:-1])[:MOST_ROWS], np.flatnonzero(~wrong[:-1])[:MOST_ROWS], [last]])
    few = _Repairs(circuit, inputs(ArrayAlgebra(), chosen), fmt, wanted[chosen], wrong[chosen], shown)
    few.all = _Repairs(circuit, inputs(ArrayAlgebra(), np.arange(last + 1)), fmt, wanted, wrong, shown)
    yield from few.found()


class _Repairs:
    """A circuit that was run once on some samples. What repairs it there is tried on all of them."""

    all: _Repairs | None = None

    def __init__(
        self,
        circuit: Circuit,
        inputs: Mapping[str, Word[Any]],
        fmt: Format,
        wanted: Patterns,
        wrong: npt.NDArray[np.bool_],
        shown: Callable[[Bits], Bits],
    ) -> None:
        self._shown = shown
        self._circuit, self._format, self._wanted, self._wrong = circuit, fmt, wanted, wrong
        self._wires: Wires[Any, Any] = Wires(ArrayAlgebra())
        for name, bits in circuit.inputs.items():
            self._wires.connect_word(bits, inputs[name])
        for bits in circuit.unknown.values():
            self._wires.connect_word(bits, self._wires.algebra.unsigned(0, len(bits)))
        self._inputs = self._wires.forked()
        for cell in circuit.cells:
            found = cell_outputs(self._wires, cell)
            for port, bits in cell.outputs.items():
                self._wires.connect(bits, found[port])
        self._readers: dict[Bit, list[int]] = {}
        for number, cell in enumerate(circuit.cells):
            for bit in {bit for bits in cell.inputs.values() for bit in bits if not isinstance(bit, str)}:
                self._readers.setdefault(bit, []).append(number)
        self._words = {bits for cell in circuit.cells for bits in cell.outputs.values()}
        self._words |= {bits for bits in circuit.nets.values() if len(bits) > 1}
        self._longer: dict[Bits, Bits] = {}
        for bits in sorted(self._words, key=len):
            for width in range(1, len(bits)):
                self._longer.setdefault(bits[:width], bits)
        self._tried = self._evaluated = 0

    def found(self) -> Iterator[Repair]:
        """Yield the repairs."""
        groups: dict[tuple[str, str], list[int]] = {}
        for number, cell in enumerate(self._circuit.cells):
            groups.setdefault((cell.source, cell.kind), []).append(number)
        of_some: list[tuple[str, dict[int, Cell]]] = []
        for numbers in groups.values():
            changes: dict[str, dict[int, Cell]] = {}
            for number in numbers:
                for text, cell in self._changes(self._circuit.cells[number]):
                    changes.setdefault(text, {})[number] = cell
            for text, changed in changes.items():
                if len(changed) == len(numbers):
                    yield from self._tested(text, changed, {})
                else:
                    of_some.append((text, changed))
            if self._circuit.cells[numbers[0]].kind in _ARITHMETIC:
                for text, change in _RESULTS.items():
                    yield from self._tested(text, {}, dict.fromkeys(numbers, change))
            yield from self._widened(numbers)
        yield from self._other_bits()
        yield from self._exchanged()
        for text, changed in of_some:
            yield from self._tested(text, changed, {})
        yield from self._inverted(groups.values())

    def _tested(
        self, text: str, cells: Mapping[int, Cell], results: Mapping[int, Callable[[Word[Any]], Word[Any]]]
    ) -> Iterator[Repair]:
        self._tried += 1
        if self._tried > MOST_TRIED or self._evaluated > MOST_EVALUATED:
            return
        wires = self._rerun(cells, results)
        if not self._right(wires).all():
            return
        if self.all is not None and not self.all._right(self.all._rerun(cells, results)).all():
            return
        for number in sorted({*cells, *results}):
            (bits,) = self._circuit.cells[number].outputs.values()
            repair = self._repair(text, bits, wires)
            if repair is not None:
                yield repair
                return

    def _repair(self, change: str, cell: Bits, wires: Wires[Any, Any]) -> Repair | None:
        """Return the repair that a cell shows, or None if the cell returns on the witness what it did before."""
        if self._last(wires, cell) == self._last(self._wires, cell):
            return None
        for bits in (self._shown(cell), cell):
            new, old = (self._last(x, bits) for x in (wires, self._wires))
            if new != old:
                break
        return Repair(cell, bits, change, new, old)

    def _last(self, wires: Wires[Any, Any], bits: Bits) -> int:
        """Return the value of bits on the witness."""
        data = wires.word(wires.places(bits)).data
        return int(data[-1] if np.ndim(data) else data)

    def _right(self, wires: Wires[Any, Any]) -> npt.NDArray[np.bool_]:
        data = wires.word(wires.places(self._circuit.outputs["d"])).data
        d = np.broadcast_to(np.asarray(data, dtype=self._wanted.dtype), self._wanted.shape)
        return equal_patterns(self._format, d, self._wanted)

    def _rerun(
        self, cells: Mapping[int, Cell], results: Mapping[int, Callable[[Word[Any]], Word[Any]]]
    ) -> Wires[Any, Any]:
        """Return what the nets are where some cells are others, or other words come out of them."""
        wires, dirty = self._wires.forked(), set[Bit]()
        first = min((*cells, *results))
        for number, old in enumerate(self._circuit.cells[first:], first):
            cell = cells.get(number, old)
            if cell is old and number not in results and all(dirty.isdisjoint(x) for x in cell.inputs.values()):
                continue
            self._evaluated += 1
            found = cell_outputs(wires, cell)
            for port, bits in cell.outputs.items():
                if number in results:
                    wires.connect_word(bits, results[number](wires.word(found[port])))
                else:
                    wires.connect(bits, found[port])
                dirty.update(bits)
        return wires

    def _changes(self, cell: Cell) -> Iterator[tuple[str, Cell]]:
        """Yield what may be meant in place of a cell, each with its words."""
        if len(cell.outputs) != 1:
            return
        for kind in _OPERATORS.get(cell.kind, ()):
            signed = {"A_SIGNED": 1} if kind == "$sshr" else {}
            yield f"{kind} in place of {cell.kind}", replace(cell, kind=kind, parameters={**cell.parameters, **signed})
        signs = [x for x in ("A_SIGNED", "B_SIGNED") if x in cell.parameters]
        if signs:
            is_signed = all(cell.parameters[x] for x in signs)
            new = {**cell.parameters, **dict.fromkeys(signs, int(not is_signed))}
            yield f"operands {'un' * is_signed}signed", replace(cell, parameters=new)
        for port, bits in cell.inputs.items():
            if port != "S":
                is_amount = port == "B" and cell.kind in _SHIFTS
                for text, changed in self._operands(port, bits):
                    yield (
                        text,
                        replace(cell, inputs={**cell.inputs, port: changed if is_amount else changed[: len(bits)]}),
                    )
        if cell.kind in ("$and", "$or", "$add", "$sub"):
            zeros: Bits = tuple("1" if cell.kind == "$and" else "0" for _ in cell.outputs["Y"])
            for port in "AB":
                yield f"without operand {port}", replace(cell, inputs={**cell.inputs, port: zeros})

    def _operands(self, port: str, bits: Bits) -> Iterator[tuple[str, Bits]]:
        """Yield what may be meant in place of an operand."""
        if all(isinstance(bit, str) for bit in bits):
            value = sum(1 << i for i, bit in enumerate(bits) if bit == "1")
            for step in (1, -1):
                new = (value + step) % (1 << len(bits))
                yield f"{new} in place of {value}", tuple("1" if new >> i & 1 else "0" for i in range(len(bits)))
            return
        low = len(bits)
        while low > 1 and bits[low - 1] == "0":
            low -= 1
        if low < len(bits):
            yield f"operand {port} extended with its sign", (*bits[:low], *[bits[low - 1]] * (len(bits) - low))
        copies = len(bits)
        while copies > 1 and bits[copies - 2] == bits[-1] and not isinstance(bits[-1], str):
            copies -= 1
        if copies < len(bits):
            yield f"operand {port} extended with zeros", (*bits[:copies], *_zeros(len(bits) - copies))
        longer = self._longer.get(bits[:low])
        if longer is not None:
            yield f"operand {port} not cut", (*longer, *_zeros(len(bits) - len(longer)))

    def _widened(self, numbers: Sequence[int]) -> Iterator[Repair]:
        """Yield the cells of a place whose results have too few bits for those that read them, with zeros above."""
        changed: dict[int, Cell] = {}
        fresh = _FRESH
        for number in numbers:
            cell = self._circuit.cells[number]
            if cell.kind not in _WIDENED:
                return
            a, b, bits = len(cell.inputs["A"]), len(cell.inputs["B"]), cell.outputs["Y"]
            natural = a + b if cell.kind == "$mul" else max(a, b) + 1
            more: Bits = tuple(range(fresh, fresh + natural - len(bits)))
            fresh += len(more)
            if not more:
                continue
            parameters = {**cell.parameters, "Y_WIDTH": natural}
            changed[number] = replace(cell, outputs={"Y": bits + more}, parameters=parameters)
            for reader in self._readers.get(bits[-1], ()):
                old = changed.get(reader, self._circuit.cells[reader])
                inputs = {port: _with_more(read, bits[-1], more) for port, read in old.inputs.items()}
                changed[reader] = replace(old, inputs=inputs)
        if any(cell.inputs != self._circuit.cells[number].inputs for number, cell in changed.items()):
            yield from self._tested("a result that is not cut", changed, {})

    def _other_bits(self) -> Iterator[Repair]:
        """Yield the cells that read one bit of a word where they should read another one."""
        for word in sorted(self._words, key=lambda x: (len(x), str(x))):
            for i, bit in enumerate(word):
                readers = [n for n in self._readers.get(bit, ()) if (bit,) in self._circuit.cells[n].inputs.values()]
                for other in sorted({i - 1, i + 1, len(word) - 1} & set(range(len(word))) - {i}) if readers else ():
                    changed = {}
                    for number in readers:
                        cell = self._circuit.cells[number]
                        inputs = {port: (word[other],) if x == (bit,) else x for port, x in cell.inputs.items()}
                        changed[number] = replace(cell, inputs=inputs)
                    if all(self._circuit.cells[n].outputs.get("Y") != word for n in changed):
                        yield from self._tested(f"bit {other} in place of bit {i}", changed, {})

    def _exchanged(self) -> Iterator[Repair]:
        """Yield the cells that read elements of an operand which should change places.

        Where it may be either operand, that comes first whose elements are read in lanes of other numbers.
        """
        found = [x for operand in "ab" for x in self._with_exchanged(operand)]
        yield from (x for _, x in sorted(found, key=lambda x: -x[0]))

    def _strangers(self, operand: str) -> int:
        """Return how many bits of an operand are read in a lane of another number, by the names of its nets."""
        count = 0
        lanes: dict[Bit, set[int]] = {}
        for name, bits in self._circuit.nets.items():
            numbers = [int(x) for x in re.findall(r"\[(\d+)\]", name)]
            for bit in bits if numbers else ():
                lanes.setdefault(bit, set()).add(numbers[0])
        for name, bits in self._circuit.inputs.items():
            if name[0] == operand and name[1:].isdigit():
                for number in {n for bit in bits for n in self._readers.get(bit, ())}:
                    read = {
                        x for y in self._circuit.cells[number].outputs.values() for bit in y for x in lanes.get(bit, ())
                    }
                    count += bool(read) and int(name[1:]) not in read
        return count

    def _with_exchanged(self, operand: str) -> Iterator[tuple[int, Repair]]:
        names = sorted(
            (x for x in self._circuit.inputs if x[0] == operand and x[1:].isdigit()), key=lambda x: int(x[1:])
        )
        count = len(names)
        orders = [[k ^ 1 if k ^ 1 < count else k for k in range(count)], list(range(count))[::-1]]
        orders += [[(k + step) % count for k in range(count)] for step in (1, -1)]
        pairs = [(i, j) for i in range(min(count, 8)) for j in range(i)]
        orders += [[j if k == i else i if k == j else k for k in range(count)] for i, j in pairs]
        for order in orders:
            if order == list(range(count)) or self._evaluated > MOST_EVALUATED:
                continue
            wires, dirty = self._wires.forked(), set[Bit]()
            for name, k in zip(names, order, strict=True):
                bits = self._circuit.inputs[name]
                wires.connect(bits, self._inputs.places(self._circuit.inputs[names[k]]))
                dirty.update(bits)
            read, first = set(dirty), None
            for cell in self._circuit.cells:
                if all(dirty.isdisjoint(x) for x in cell.inputs.values()):
                    continue
                self._evaluated += 1
                found = cell_outputs(wires, cell)
                for port, bits in cell.outputs.items():
                    wires.connect(bits, found[port])
                    dirty.update(bits)
                    if first is None and any(not read.isdisjoint(x) for x in cell.inputs.values()):
                        first = self._repair(f"other elements of {operand}: k = {order}", bits, wires)
            if first is not None and self._right(wires).all():
                yield self._strangers(operand), first

    def _inverted(self, groups: Sequence[list[int]] | Any) -> Iterator[Repair]:
        """Yield truth values that make d right on every wrong sample where they are inverted."""
        if int(self._wrong.sum()) < FEWEST_WRONG:
            return
        for numbers in groups:
            if any(len(bits) != 1 for i in numbers for bits in self._circuit.cells[i].outputs.values()):
                continue
            right, repair = ~self._wrong, None
            for number in numbers:
                if self._evaluated > MOST_EVALUATED:
                    return
                wires = self._rerun({}, {number: lambda x: x.algebra.complement(x)})
                fixed = self._right(wires)
                if fixed[-1] and repair is None:
                    (bits,) = self._circuit.cells[number].outputs.values()
                    repair = self._repair("the other truth value", bits, wires)
                right = right | fixed
                if (~right).sum() and number - numbers[0] > MOST_ROWS:
                    break
            if right.all() and repair is not None:
                yield repair


def _with_more(read: Bits, top: Bit, more: Bits) -> Bits:
    """Return bits in which the zeros above one bit are others."""
    if top not in read:
        return read
    first = read.index(top) + 1
    zeros = 0
    while first + zeros < len(read) and read[first + zeros] == "0" and zeros < len(more):
        zeros += 1
    return read[:first] + more[:zeros] + read[first + zeros :]


def _plus(step: int) -> Callable[[Word[Any]], Word[Any]]:
    def change(x: Word[Any]) -> Word[Any]:
        return x.algebra.wrapped_sum(x, x.algebra.unsigned(step % (1 << x.width), x.width))

    return change


_RESULTS = {"one more": _plus(1), "one less": _plus(-1)}
"""What may be meant in place of a result."""


def _zeros(count: int) -> Bits:
    return tuple("0" for _ in range(count))
