"""The order of cells, and the loops that leave none."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

from mmaproof.designs.circuit import Bit, Cell
from mmaproof.rtl.netlist import Module

MOST_NAMED = 8
"""More cells of a loop than this are not named."""


def drivers_of(module: Module) -> dict[Bit, int]:
    """Return the number of the cell that drives each net."""
    return {bit: i for i, cell in enumerate(module.cells) for bits in cell.outputs.values() for bit in bits}


def input_bits(cell: Cell) -> Iterable[Bit]:
    """Return the bits that a cell reads."""
    return (bit for bits in cell.inputs.values() for bit in bits)


def in_order(module: Module, drivers: Mapping[Bit, int], registers: Collection[int]) -> list[int]:
    """Return the cells that are not registers, each after those that drive it; those of loops are left out."""
    waits: dict[int, int] = {}
    readers: dict[int, list[int]] = {}
    for number, cell in enumerate(module.cells):
        if number in registers:
            continue
        before = {drivers[bit] for bit in input_bits(cell) if bit in drivers} - set(registers)
        waits[number] = len(before)
        for i in before:
            readers.setdefault(i, []).append(number)
    ready = [number for number, count in waits.items() if not count]
    order = []
    while ready:
        number = ready.pop()
        order.append(number)
        for i in readers.get(number, ()):
            waits[i] -= 1
            if not waits[i]:
                ready.append(i)
    return order


def cone(start: Iterable[Bit], drivers: Mapping[Bit, int], before: Callable[[int], Iterable[Bit]]) -> set[int]:
    """Return the cells that some bits depend on, where ``before`` gives the bits that a cell depends on."""
    found: set[int] = set()
    open_bits = list(start)
    while open_bits:
        number = drivers.get(open_bits.pop())
        if number is not None and number not in found:
            found.add(number)
            open_bits += before(number)
    return found


def loop_among(cells: Collection[int], drivers: Mapping[Bit, int], before: Callable[[int], Iterable[Bit]]) -> list[int]:
    """Return the cells of one loop among ``cells``, in the order in which they drive each other.

    There are none if there is no loop.
    """
    done: dict[int, bool] = {}
    for first in cells:
        if first in done:
            continue
        path: list[int] = []
        open_cells: list[tuple[int, bool]] = [(first, False)]
        while open_cells:
            number, leaves = open_cells.pop()
            if leaves:
                done[number] = True
                path.pop()
                continue
            if number in done:
                continue
            done[number] = False
            path.append(number)
            open_cells.append((number, True))
            for bit in before(number):
                i = drivers.get(bit)
                if i is None or i not in cells:
                    continue
                if i not in done:
                    open_cells.append((i, False))
                elif not done[i] and i in path:
                    return path[path.index(i) :][::-1]
    return []


def named(module: Module, cells: Sequence[int]) -> str:
    """Return the names of cells for a message."""
    more = f" and {len(cells) - MOST_NAMED} more" if len(cells) > MOST_NAMED else ""
    return ", ".join(module.cells[i].describe() for i in cells[:MOST_NAMED]) + more
