"""The shift cells: by constants they are wiring, by variable amounts an operation on a word or a row of choices.

* ``$shl``, ``$sshl``: A in the width of Y, up by B, zeros coming in;
* ``$shr``: A in the wider of its own width and that of Y, down by B, zeros coming in; ``$sshr`` with a signed A the
  same, copies of its top bit coming in;
* ``$shift``: like ``$shr``, and up where a signed B is negative;
* ``$shiftx``: A as it is, with undefined bits beyond both of its ends (the input ``X``).
"""

from __future__ import annotations

from typing import Any

from mmaproof.designs.circuit import Cell
from mmaproof.smt.semantics.wire_words import choice, conjunction, disjunction, inverted, minus
from mmaproof.smt.semantics.wires import ONE, ZERO, Place, Places, Wires, constant, extended


def shift(wires: Wires[Any, Any], cell: Cell) -> dict[str, Places]:
    """Return the places of the output of a shift cell."""
    a, b = wires.places(cell.inputs["A"]), wires.places(cell.inputs["B"])
    width, signed = len(cell.outputs["Y"]), bool(cell.parameters.get("A_SIGNED", 0))
    whole = max(width, len(a))
    if cell.kind in ("$shl", "$sshl"):
        found = up(wires, extended(a, width, signed), b)
    elif cell.kind == "$sshr" and signed:
        found = down(wires, extended(a, whole, True), b, copies=True)
    elif cell.kind in ("$shr", "$sshr"):
        found = down(wires, extended(a, whole, signed), b)
    else:
        by_signed = bool(cell.parameters.get("B_SIGNED", 0))
        if cell.kind == "$shift":
            found = _either_way(wires, extended(a, whole, signed), b, by_signed)
        else:
            found = _either_way(wires, extended(a, whole, False), b, by_signed)
            if "X" in cell.inputs:
                inside = _either_way(wires, extended([ONE] * len(a), whole, False), b, by_signed)[:width]
                beyond = conjunction(wires, inverted(wires, inside), wires.places(cell.inputs["X"]))
                found = disjunction(wires, found[:width], beyond)
    return {"Y": found[:width]}


def _either_way(wires: Wires[Any, Any], a: Places, b: Places, by_signed: bool) -> Places:
    """Return the places of ``a`` moved down by b, or up where b is signed and negative."""
    if not by_signed:
        return down(wires, a, b)
    b = extended(b, len(b) + 1, True)
    opposite = minus(wires, constant(0, len(b)), b) if wires.known_number(b) is None else _negated(wires, b)
    # of a signed number, one bit less holds the magnitude of each direction
    return choice(wires, b[-1], down(wires, a, b[:-1]), up(wires, a, opposite[:-1]))


def _negated(wires: Wires[Any, Any], places: Places) -> Places:
    return constant(-(wires.known_number(places) or 0), len(places))


def up(wires: Wires[Any, Any], a: Places, amount: Places) -> Places:
    """Return the places of a * 2**amount in the width of ``a``."""
    amount = _without_top_zeros(amount)
    known = wires.known_number(amount)
    if known is not None:
        return _moved_up(a, known)
    if wires.is_wide(len(a)):
        found = a
        for position, place in _stages(amount, len(a)):
            found = choice(wires, place, found, _moved_up(found, 1 << position))
        return _unless_beyond(wires, amount, found, ZERO)
    return wires.place(wires.algebra.shift_left_within(wires.word(a), wires.word(amount)))


def down(wires: Wires[Any, Any], a: Places, amount: Places, *, copies: bool = False) -> Places:
    """Return the places of ``a`` shifted right, with zeros or with copies of its top bit coming in."""
    amount, filler = _without_top_zeros(amount), a[-1] if copies else ZERO
    known = wires.known_number(amount)
    if known is not None:
        return _moved_down(a, known, filler)
    if wires.is_wide(len(a)):
        found = a
        for position, place in _stages(amount, len(a)):
            found = choice(wires, place, found, _moved_down(found, 1 << position, filler))
        return _unless_beyond(wires, amount, found, filler)
    word, by = wires.word(a), wires.word(amount)
    moved = wires.algebra.shift_right_within(word, by) if copies else wires.algebra.shift_right(word, by)
    return wires.place(moved)


def _moved_up(a: Places, by: int) -> Places:
    return ([ZERO] * min(by, len(a)) + a)[: len(a)]


def _moved_down(a: Places, by: int, filler: Place) -> Places:
    return a[by:] + [filler] * min(by, len(a))


def _without_top_zeros(amount: Places) -> Places:
    count = len(amount)
    while count > 1 and amount[count - 1] == ZERO:
        count -= 1
    return amount[:count]


def _stages(amount: Places, width: int) -> list[tuple[int, Place]]:
    """Return the bits of an amount that move a word by less than its width."""
    return [(position, place) for position, place in enumerate(amount) if 1 << position < width]


def _unless_beyond(wires: Wires[Any, Any], amount: Places, found: Places, filler: Place) -> Places:
    """Return ``found``, or ``filler`` everywhere where a bit of the amount moves by the width or more."""
    for position, place in enumerate(amount):
        if 1 << position >= len(found):
            found = choice(wires, place, found, [filler] * len(found))
    return found
