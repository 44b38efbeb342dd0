"""What each cell of Yosys' word-level library computes, over the algebra.

The rules for widths and signs are those of Yosys' own evaluation: two operands are signed if both are; operands are
extended to the width that the operation needs, and the result keeps its lower bits.
Of a ``$pmux`` with several select bits set, the highest one counts: it is that of the first item of a case statement.

Shifts by constants are wiring, those by variable amounts an operation on a word or a row of choices.

* ``$shl``, ``$sshl``: A in the width of Y, up by B, zeros coming in;
* ``$shr``: A in the wider of its own width and that of Y, down by B, zeros coming in; ``$sshr`` with a signed A the
  same, copies of its top bit coming in;
* ``$shift``: like ``$shr``, and up where a signed B is negative;
* ``$shiftx``: A as it is, with undefined bits beyond both of its ends (the input ``X``).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from mmaproof.designs.circuit import Cell
from mmaproof.designs.errors import InputError
from mmaproof.smt.algebra.protocol import Truth
from mmaproof.smt.semantics.wires import (
    ONE,
    ZERO,
    Place,
    Places,
    Wires,
    alike,
    all_bits,
    any_bit,
    below,
    choice,
    conjunction,
    constant,
    difference,
    disjunction,
    extended,
    inverted,
    minus,
    plus,
    selected,
    times,
    total,
)


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


Outputs = dict[str, Places]
Rule = Callable[[Wires[Any, Any], Cell], Outputs]


def cell_outputs(wires: Wires[Any, Any], cell: Cell) -> Outputs:
    """Return the places of the output bits of a cell. Raises InputError for a kind of cell without a rule."""
    rule = RULES.get(cell.kind)
    if rule is None:
        raise InputError(f"{cell.describe()}: this kind of cell is not covered")
    return rule(wires, cell)


# --- operands -----------------------------------------------------------------------------------------------


def _is_signed(cell: Cell, *ports: str) -> bool:
    return all(cell.parameters.get(f"{port}_SIGNED", 0) for port in ports)


def _operand(wires: Wires[Any, Any], cell: Cell, port: str, width: int, signed: bool) -> Places:
    return extended(wires.places(cell.inputs[port]), width, signed)


def _one(wires: Wires[Any, Any], cell: Cell, port: str) -> Place:
    (place,) = wires.places(cell.inputs[port])
    return place


def _as_result(cell: Cell, place: Place) -> Outputs:
    """Return one bit, with zeros above it."""
    return {"Y": extended([place], len(cell.outputs["Y"]), False)}


Combine = Callable[[Wires[Any, Any], Places, Places], Places]


def _binary(combine: Combine, *, inverts: bool = False) -> Rule:
    def rule(wires: Wires[Any, Any], cell: Cell) -> Outputs:
        width, signed = len(cell.outputs["Y"]), _is_signed(cell, "A", "B")
        found = combine(wires, _operand(wires, cell, "A", width, signed), _operand(wires, cell, "B", width, signed))
        return {"Y": inverted(wires, found) if inverts else found}

    return rule


def _unary(combine: Callable[[Wires[Any, Any], Places], Places]) -> Rule:
    def rule(wires: Wires[Any, Any], cell: Cell) -> Outputs:
        operand = _operand(wires, cell, "A", len(cell.outputs["Y"]), _is_signed(cell, "A"))
        return {"Y": combine(wires, operand)}

    return rule


# --- sums and products --------------------------------------------------------------------------------------


# --- truths -------------------------------------------------------------------------------------------------


def _comparison(relation: Callable[[Wires[Any, Any], Places, Places, bool], Truth[Any]]) -> Rule:
    def rule(wires: Wires[Any, Any], cell: Cell) -> Outputs:
        width, signed = max(len(cell.inputs["A"]), len(cell.inputs["B"])), _is_signed(cell, "A", "B")
        a, b = _operand(wires, cell, "A", width, signed), _operand(wires, cell, "B", width, signed)
        return _as_result(cell, wires.place_truth(relation(wires, a, b, signed)))

    return rule


def _reduction(of: Callable[[Wires[Any, Any], Places], Truth[Any]], *, inverts: bool = False) -> Rule:
    def rule(wires: Wires[Any, Any], cell: Cell) -> Outputs:
        truth = of(wires, wires.places(cell.inputs["A"]))
        return _as_result(cell, wires.place_truth(~truth if inverts else truth))

    return rule


def _parity(wires: Wires[Any, Any], places: Places) -> Truth[Any]:
    while len(places) > 1:
        half = len(places) // 2
        places = difference(wires, places[:half], places[half : 2 * half]) + places[2 * half :]
    return wires.truth(places[0])


def _connective(join: Callable[[Truth[Any], Truth[Any]], Truth[Any]]) -> Rule:
    def rule(wires: Wires[Any, Any], cell: Cell) -> Outputs:
        x, y = (any_bit(wires, wires.places(cell.inputs[port])) for port in "AB")
        return _as_result(cell, wires.place_truth(join(x, y)))

    return rule


# --- choices ------------------------------------------------------------------------------------------------


def _mux(wires: Wires[Any, Any], cell: Cell) -> Outputs:
    a, b = wires.places(cell.inputs["A"]), wires.places(cell.inputs["B"])
    return {"Y": choice(wires, _one(wires, cell, "S"), a, b)}


def _pmux(wires: Wires[Any, Any], cell: Cell) -> Outputs:
    found, b = wires.places(cell.inputs["A"]), wires.places(cell.inputs["B"])
    width = len(found)
    for i, select in enumerate(wires.places(cell.inputs["S"])):
        found = choice(wires, select, found, b[i * width : (i + 1) * width])
    return {"Y": found}


def _bmux(wires: Wires[Any, Any], cell: Cell) -> Outputs:
    a, width = wires.places(cell.inputs["A"]), len(cell.outputs["Y"])
    return {"Y": selected(wires, [a[i : i + width] for i in range(0, len(a), width)], wires.places(cell.inputs["S"]))}


def _demux(wires: Wires[Any, Any], cell: Cell) -> Outputs:
    a, select = wires.places(cell.inputs["A"]), wires.places(cell.inputs["S"])
    found: Places = []
    for number in range(1 << len(select)):
        here = wires.place_truth(alike(wires, select, constant(number, len(select))))
        found += choice(wires, here, [ZERO] * len(a), a)
    return {"Y": found}


def _bwmux(wires: Wires[Any, Any], cell: Cell) -> Outputs:
    a, b, select = (wires.places(cell.inputs[port]) for port in "ABS")
    kept = conjunction(wires, inverted(wires, select), a)
    return {"Y": disjunction(wires, kept, conjunction(wires, select, b))}


def _lut(wires: Wires[Any, Any], cell: Cell) -> Outputs:
    select, table = wires.places(cell.inputs["A"]), cell.parameters["LUT"]
    return {"Y": selected(wires, [constant(table >> i, 1) for i in range(1 << len(select))], select)}


def _sop(wires: Wires[Any, Any], cell: Cell) -> Outputs:
    a, table = wires.places(cell.inputs["A"]), cell.parameters["TABLE"]
    products = []
    for row in range(cell.parameters["DEPTH"]):
        literals = [(table >> 2 * (row * len(a) + i) & 3, place) for i, place in enumerate(a)]
        # the lower bit of a pair asks for 0, the upper one for 1
        truths = [~wires.truth(p) for wanted, p in literals if wanted & 1]
        truths += [wires.truth(p) for wanted, p in literals if wanted & 2]
        products.append(wires.algebra.all_of(truths))
    return _as_result(cell, wires.place_truth(wires.algebra.any_of(products)))


# --- wiring -------------------------------------------------------------------------------------------------


def _slice(wires: Wires[Any, Any], cell: Cell) -> Outputs:
    first = cell.parameters["OFFSET"]
    return {"Y": wires.places(cell.inputs["A"])[first : first + len(cell.outputs["Y"])]}


def _concat(wires: Wires[Any, Any], cell: Cell) -> Outputs:
    return {"Y": wires.places(cell.inputs["A"]) + wires.places(cell.inputs["B"])}


# --- quotients ----------------------------------------------------------------------------------------------


def _division(*, remainder: bool, floor: bool) -> Rule:
    def rule(wires: Wires[Any, Any], cell: Cell) -> Outputs:
        width = max(len(cell.inputs["A"]), len(cell.inputs["B"]), len(cell.outputs["Y"]))
        signed, algebra = _is_signed(cell, "A", "B"), wires.algebra
        places = [_operand(wires, cell, port, width, signed) for port in "AB"]
        a, b = (wires.word(x) for x in places)
        nothing = algebra.unsigned(0, width)
        if signed:
            negative = [wires.truth(x[-1]) for x in places]
            a, b = (
                algebra.ite(n, algebra.wrapped_difference(nothing, x), x) for n, x in zip(negative, (a, b), strict=True)
            )
        found = algebra.remainder(a, b) if remainder else algebra.quotient(a, b)
        if signed:
            inexact = ~(algebra.remainder(a, b) == nothing)
            opposite = negative[0] ^ negative[1]
            found = algebra.ite(
                negative[0] if remainder else opposite, algebra.wrapped_difference(nothing, found), found
            )
            if floor and remainder:
                divisor = wires.word(places[1])
                found = algebra.ite(opposite & inexact, algebra.wrapped_sum(found, divisor), found)
            elif floor:
                one = algebra.unsigned(1, width)
                found = algebra.ite(opposite & inexact, algebra.wrapped_difference(found, one), found)
        result = wires.place(found)[: len(cell.outputs["Y"])]
        by_zero = wires.place_truth(~any_bit(wires, places[1]))
        return {"Y": choice(wires, by_zero, result, wires.places(cell.inputs["X"]))}

    return rule


def _power(wires: Wires[Any, Any], cell: Cell) -> Outputs:
    exponent, width = wires.known_number(wires.places(cell.inputs["B"])), len(cell.outputs["Y"])
    signed = [_is_signed(cell, port) for port in "AB"]
    if exponent is None or (signed[1] and exponent >> (len(cell.inputs["B"]) - 1)):
        raise InputError(f"{cell.describe()}: a power is covered where its exponent is a constant and not negative")
    if signed == [True, False] and width > len(cell.inputs["A"]):
        raise InputError(f"{cell.describe()}: of a signed base and an unsigned exponent, Yosys has two meanings")
    base, found = _operand(wires, cell, "A", width, all(signed)), constant(1, width)
    while exponent:
        if exponent & 1:
            found = times(wires, found, base)
        exponent >>= 1
        base = times(wires, base, base) if exponent else base
    return {"Y": found}


# --- parts of adders ----------------------------------------------------------------------------------------


def _alu(wires: Wires[Any, Any], cell: Cell) -> Outputs:
    width, signed = len(cell.outputs["Y"]), _is_signed(cell, "A", "B")
    a, b = _operand(wires, cell, "A", width, signed), _operand(wires, cell, "B", width, signed)
    b = choice(wires, _one(wires, cell, "BI"), b, inverted(wires, b))
    partial = difference(wires, a, b)
    found, carry = total(wires, a, b, _one(wires, cell, "CI"))
    carries = [*difference(wires, partial, found)[1:], carry]
    return {"X": partial, "Y": found, "CO": carries}


def _full_adder(wires: Wires[Any, Any], cell: Cell) -> Outputs:
    a, b, c = (wires.places(cell.inputs[port]) for port in "ABC")
    half = difference(wires, a, b)
    both, carried = conjunction(wires, a, b), conjunction(wires, half, c)
    return {"Y": difference(wires, half, c), "X": disjunction(wires, both, carried)}


def _carries(wires: Wires[Any, Any], cell: Cell) -> Outputs:
    carry, found = [_one(wires, cell, "CI")], []
    for p, g in zip(wires.places(cell.inputs["P"]), wires.places(cell.inputs["G"]), strict=True):
        carry = disjunction(wires, [g], conjunction(wires, [p], carry))
        found += carry
    return {"CO": found}


# --- single bits --------------------------------------------------------------------------------------------


def _gate(of: Callable[..., Truth[Any]], ports: str) -> Rule:
    def rule(wires: Wires[Any, Any], cell: Cell) -> Outputs:
        return _as_result(cell, wires.place_truth(of(*(wires.truth(_one(wires, cell, port)) for port in ports))))

    return rule


def _mux_gate(values: str, selects: str, *, inverts: bool = False) -> Rule:
    def rule(wires: Wires[Any, Any], cell: Cell) -> Outputs:
        chosen = selected(wires, [[_one(wires, cell, x)] for x in values], [_one(wires, cell, x) for x in selects])
        return {"Y": inverted(wires, chosen) if inverts else chosen}

    return rule


_GATES: Mapping[str, Rule] = {
    "$_BUF_": _gate(lambda a: a, "A"),
    "$_NOT_": _gate(lambda a: ~a, "A"),
    "$_AND_": _gate(lambda a, b: a & b, "AB"),
    "$_NAND_": _gate(lambda a, b: ~(a & b), "AB"),
    "$_OR_": _gate(lambda a, b: a | b, "AB"),
    "$_NOR_": _gate(lambda a, b: ~(a | b), "AB"),
    "$_XOR_": _gate(lambda a, b: a ^ b, "AB"),
    "$_XNOR_": _gate(lambda a, b: ~(a ^ b), "AB"),
    "$_ANDNOT_": _gate(lambda a, b: a & ~b, "AB"),
    "$_ORNOT_": _gate(lambda a, b: a | ~b, "AB"),
    "$_AOI3_": _gate(lambda a, b, c: ~((a & b) | c), "ABC"),
    "$_OAI3_": _gate(lambda a, b, c: ~((a | b) & c), "ABC"),
    "$_AOI4_": _gate(lambda a, b, c, d: ~((a & b) | (c & d)), "ABCD"),
    "$_OAI4_": _gate(lambda a, b, c, d: ~((a | b) & (c | d)), "ABCD"),
    "$_MUX_": _mux_gate("AB", "S"),
    "$_NMUX_": _mux_gate("AB", "S", inverts=True),
    "$_MUX4_": _mux_gate("ABCD", "ST"),
    "$_MUX8_": _mux_gate("ABCDEFGH", "STU"),
    "$_MUX16_": _mux_gate("ABCDEFGHIJKLMNOP", "STUV"),
}

RULES: Mapping[str, Rule] = {
    "$buf": _unary(lambda wires, a: a),
    "$pos": _unary(lambda wires, a: a),
    "$not": _unary(inverted),
    "$neg": _unary(lambda wires, a: minus(wires, constant(0, len(a)), a)),
    "$and": _binary(conjunction),
    "$or": _binary(disjunction),
    "$xor": _binary(difference),
    "$xnor": _binary(difference, inverts=True),
    "$add": _binary(plus),
    "$sub": _binary(minus),
    "$mul": _binary(times),
    "$div": _division(remainder=False, floor=False),
    "$mod": _division(remainder=True, floor=False),
    "$divfloor": _division(remainder=False, floor=True),
    "$modfloor": _division(remainder=True, floor=True),
    "$pow": _power,
    "$shl": shift,
    "$sshl": shift,
    "$shr": shift,
    "$sshr": shift,
    "$shift": shift,
    "$shiftx": shift,
    "$eq": _comparison(lambda wires, a, b, signed: alike(wires, a, b)),
    "$eqx": _comparison(lambda wires, a, b, signed: alike(wires, a, b)),
    "$ne": _comparison(lambda wires, a, b, signed: ~alike(wires, a, b)),
    "$nex": _comparison(lambda wires, a, b, signed: ~alike(wires, a, b)),
    "$lt": _comparison(below),
    "$ge": _comparison(lambda wires, a, b, signed: ~below(wires, a, b, signed)),
    "$gt": _comparison(lambda wires, a, b, signed: below(wires, b, a, signed)),
    "$le": _comparison(lambda wires, a, b, signed: ~below(wires, b, a, signed)),
    "$reduce_and": _reduction(all_bits),
    "$reduce_or": _reduction(any_bit),
    "$reduce_bool": _reduction(any_bit),
    "$reduce_xor": _reduction(_parity),
    "$reduce_xnor": _reduction(_parity, inverts=True),
    "$logic_not": _reduction(any_bit, inverts=True),
    "$logic_and": _connective(lambda x, y: x & y),
    "$logic_or": _connective(lambda x, y: x | y),
    "$mux": _mux,
    "$pmux": _pmux,
    "$bmux": _bmux,
    "$demux": _demux,
    "$bwmux": _bwmux,
    "$bweqx": _binary(difference, inverts=True),
    "$lut": _lut,
    "$sop": _sop,
    "$slice": _slice,
    "$concat": _concat,
    "$alu": _alu,
    "$fa": _full_adder,
    "$lcu": _carries,
    **_GATES,
}
"""What a kind of cell computes, by its name. Cells of any other kind are refused."""
