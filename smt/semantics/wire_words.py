"""Operations on words whose bits are at places: what cells of several kinds are made of.

A word that is wider than what an interpretation handles fast is computed in parts where that gives the same bits.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mmaproof.smt.algebra.protocol import Algebra, Truth, Word
from mmaproof.smt.semantics.wires import ONE, ZERO, Place, Places, Wires, constant

TwoWords = Callable[[Algebra[Any, Any], Word[Any], Word[Any]], Word[Any]]


def bitwise(wires: Wires[Any, Any], operation: TwoWords, a: Places, b: Places) -> Places:
    """Return the places of an operation on two words that works bit by bit."""
    return wires.in_parts(
        len(a), lambda part: wires.place(operation(wires.algebra, wires.word(a[part]), wires.word(b[part])))
    )


def conjunction(wires: Wires[Any, Any], a: Places, b: Places) -> Places:
    """Return the places of a & b."""
    for one, other in ((a, b), (b, a)):
        mask = wires.known_number(one)
        if mask is not None:
            return [place if mask >> i & 1 else ZERO for i, place in enumerate(other)]
    return bitwise(wires, lambda g, x, y: g.bitwise_and(x, y), a, b)


def disjunction(wires: Wires[Any, Any], a: Places, b: Places) -> Places:
    """Return the places of a | b."""
    for one, other in ((a, b), (b, a)):
        mask = wires.known_number(one)
        if mask is not None:
            return [ONE if mask >> i & 1 else place for i, place in enumerate(other)]
    return bitwise(wires, lambda g, x, y: g.bitwise_or(x, y), a, b)


def difference(wires: Wires[Any, Any], a: Places, b: Places) -> Places:
    """Return the places of a ^ b."""
    for one, other in ((a, b), (b, a)):
        mask = wires.known_number(one)
        if mask is not None and mask in (0, (1 << len(one)) - 1):
            return inverted(wires, other) if mask else other
    return bitwise(wires, lambda g, x, y: g.bitwise_xor(x, y), a, b)


def inverted(wires: Wires[Any, Any], a: Places) -> Places:
    """Return the places of the bits of ``a`` inverted."""
    known = wires.known_number(a)
    if known is not None:
        return constant(~known, len(a))
    if len(a) == 1:
        return [wires.place_truth(~wires.truth(a[0]))]
    return wires.in_parts(len(a), lambda part: wires.place(wires.algebra.complement(wires.word(a[part]))))


def choice(wires: Wires[Any, Any], select: Place, a: Places, b: Places) -> Places:
    """Return the places of b where ``select`` is 1, and of a elsewhere. Bits that are alike at the ends are kept."""
    known = wires.known_bit(select)
    if known is not None:
        return b if known else a
    low, high = _differing(a, b)
    middle_a, middle_b = a[low:high], b[low:high]
    if not middle_a:
        return a
    truth = wires.truth(select)
    if (middle_a, middle_b) == ([ZERO], [ONE]):
        return [*a[:low], select, *a[high:]]
    if (middle_a, middle_b) == ([ONE], [ZERO]):
        return [*a[:low], wires.place_truth(~truth), *a[high:]]

    def part(bits: slice) -> Places:
        return wires.place(wires.algebra.ite(truth, wires.word(middle_b[bits]), wires.word(middle_a[bits])))

    return [*a[:low], *wires.in_parts(high - low, part), *a[high:]]


def _differing(a: Places, b: Places) -> tuple[int, int]:
    """Return the first position at which two words have different places, and the one after the last."""
    low, high = 0, len(a)
    while low < high and a[low] == b[low]:
        low += 1
    while high > low and a[high - 1] == b[high - 1]:
        high -= 1
    return low, high


def selected(wires: Wires[Any, Any], values: list[Places], select: Places) -> Places:
    """Return the places of the value whose number is in ``select``; there are values for all numbers."""
    for place in select:
        values = [choice(wires, place, values[i], values[i + 1]) for i in range(0, len(values), 2)]
    return values[0]


def total(wires: Wires[Any, Any], a: Places, b: Places, carry: Place = ZERO) -> tuple[Places, Place]:
    """Return the places of a + b + carry in the width of both, and of the carry out of it."""
    most = len(a) if wires.algebra.handy_width is None else wires.algebra.handy_width - 2
    found: Places = []
    for first in range(0, len(a), most):
        x, y = wires.word(a[first : first + most]), wires.word(b[first : first + most])
        held = x + y
        if carry != ZERO:
            held = held + wires.word([carry])
        places = wires.place(held)
        found += places[: x.width]
        carry = places[x.width]
    return found, carry


def plus(wires: Wires[Any, Any], a: Places, b: Places) -> Places:
    """Return the places of a + b in the width of both."""
    if wires.is_wide(len(a)):
        return total(wires, a, b)[0]
    return wires.place(wires.algebra.wrapped_sum(wires.word(a), wires.word(b)))


def minus(wires: Wires[Any, Any], a: Places, b: Places) -> Places:
    """Return the places of a - b in the width of both."""
    if wires.is_wide(len(a)):
        return total(wires, a, inverted(wires, b), ONE)[0]
    return wires.place(wires.algebra.wrapped_difference(wires.word(a), wires.word(b)))


def times(wires: Wires[Any, Any], a: Places, b: Places) -> Places:
    """Return the places of a * b in the width of both."""
    return wires.place(wires.algebra.wrapped_product(wires.word(a), wires.word(b)))


def any_bit(wires: Wires[Any, Any], places: Places) -> Truth[Any]:
    """Return whether one of the bits is 1."""
    if ONE in places:
        return wires.algebra.truth(True)
    open_places = [place for place in places if place != ZERO]
    if len(open_places) == 1:
        return wires.truth(open_places[0])
    return wires.algebra.any_of([~wires.word(x).is_value(0) for x in _in_handy_parts(wires, open_places)])


def all_bits(wires: Wires[Any, Any], places: Places) -> Truth[Any]:
    """Return whether all of the bits are 1."""
    if ZERO in places:
        return wires.algebra.truth(False)
    open_places = [place for place in places if place != ONE]
    if len(open_places) == 1:
        return wires.truth(open_places[0])
    parts = _in_handy_parts(wires, open_places)
    return wires.algebra.all_of([wires.word(x).is_value((1 << len(x)) - 1) for x in parts])


def _in_handy_parts(wires: Wires[Any, Any], places: Places) -> list[Places]:
    most = wires.algebra.handy_width or max(len(places), 1)
    return [places[first : first + most] for first in range(0, len(places), most)]


def alike(wires: Wires[Any, Any], a: Places, b: Places) -> Truth[Any]:
    """Return whether two words of one width are equal."""
    low, high = _differing(a, b)
    a, b = a[low:high], b[low:high]
    if len(a) == 1 and (known := wires.known_bit(b[0])) is not None:
        truth = wires.truth(a[0])
        return truth if known else ~truth
    pairs = zip(_in_handy_parts(wires, a), _in_handy_parts(wires, b), strict=True)
    return wires.algebra.all_of([wires.word(x) == wires.word(y) for x, y in pairs])


def below(wires: Wires[Any, Any], a: Places, b: Places, signed: bool) -> Truth[Any]:
    """Return whether a < b, of words of one width."""
    if wires.is_wide(len(a)):
        most = wires.algebra.handy_width or 1
        low, high = slice(0, len(a) - most), slice(len(a) - most, len(a))
        tops_equal = alike(wires, a[high], b[high])
        return below(wires, a[high], b[high], signed) | (tops_equal & below(wires, a[low], b[low], False))
    x, y = wires.word(a), wires.word(b)
    if signed:
        x, y = wires.algebra.twos_complement(x), wires.algebra.twos_complement(y)
    return x < y
