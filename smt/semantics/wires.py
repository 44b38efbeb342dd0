"""Where the bits of a circuit's nets are: at places in words of an algebra.

A net is never copied. Wiring (slices, concatenations, extensions, shifts by constants) only says at which places the
bits of a word are, and a word is put together where a cell computes with it. So a port that is wider than any machine
word costs nothing where cells read slices of it.

Operations on words whose bits are at places: what cells of several kinds are made of.

A word that is wider than what an interpretation handles fast is computed in parts where that gives the same bits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Generic

from mmaproof.designs.circuit import Bit
from mmaproof.smt.algebra.protocol import Algebra, D, T, Truth, Word

Place = tuple[int, int]
"""The number of a word and a position in it; of a constant, ``CONSTANT`` and the bit."""

Places = list[Place]
"""Places of the bits of a word, the lowest first."""

CONSTANT = -1
ZERO: Place = (CONSTANT, 0)
ONE: Place = (CONSTANT, 1)


class Wires(Generic[D, T]):
    """The words that were computed so far, and the place of each net."""

    def __init__(self, algebra: Algebra[D, T]) -> None:
        self.algebra = algebra
        self._words: list[Word[D] | None] = []
        self._truths: dict[Place, Truth[T]] = {}
        self._of_net: dict[Bit, Place] = {"0": ZERO, "1": ONE}

    def forked(self) -> Wires[D, T]:
        """Return what is connected now; what either of both is told from now on is its own."""
        found = Wires(self.algebra)
        found._words, found._truths, found._of_net = self._words.copy(), self._truths.copy(), self._of_net.copy()
        return found

    # --- nets -----------------------------------------------------------------------------------------------

    def places(self, bits: Sequence[Bit]) -> Places:
        """Return the places of nets. All of them must be connected."""
        return [self._of_net[bit] for bit in bits]

    def find(self, bit: Bit) -> Place | None:
        """Return the place of a net, None where it is not connected."""
        return self._of_net.get(bit)

    def connected(self) -> list[tuple[Bit, Place]]:
        """Return all nets with their places, in the order in which they were connected first."""
        return list(self._of_net.items())

    def connect(self, bits: Sequence[Bit], places: Places) -> None:
        """Say that the bits of nets are at these places from now on."""
        self._of_net.update(zip(bits, places, strict=True))

    def connect_word(self, bits: Sequence[Bit], word: Word[D]) -> None:
        """Let nets carry the bits of a word."""
        self.connect(
            [bit for bit in bits if not isinstance(bit, str)],
            [place for bit, place in zip(bits, self.place(word), strict=True) if not isinstance(bit, str)],
        )

    # --- words ----------------------------------------------------------------------------------------------

    def place(self, word: Word[D]) -> Places:
        """Return the places of an unsigned word's bits: those of constants where its value is known."""
        known = self.algebra.known_value(word)
        if known is not None:
            return constant(known, word.width)
        self._words.append(word)
        return [(len(self._words) - 1, position) for position in range(word.width)]

    def place_truth(self, truth: Truth[T]) -> Place:
        """Return the place of a bit that is 1 where ``truth`` holds. It becomes a word where one is needed."""
        known = self.algebra.known_truth(truth)
        if known is not None:
            return ONE if known else ZERO
        self._words.append(None)
        place = (len(self._words) - 1, 0)
        self._truths[place] = truth
        return place

    def _word_at(self, number: int) -> Word[D]:
        word = self._words[number]
        if word is None:
            word = self._truths[number, 0].as_bit()
            self._words[number] = word
        return word

    def truth(self, place: Place) -> Truth[T]:
        """Return whether the bit at a place is 1."""
        found = self._truths.get(place)
        if found is None:
            number, position = place
            if number == CONSTANT:
                return self.algebra.truth(bool(position))
            found = self._word_at(number).bit(position)
            self._truths[place] = found
        return found

    def known_bit(self, place: Place) -> bool | None:
        """Return the bit at a place if it is a constant."""
        return bool(place[1]) if place[0] == CONSTANT else None

    def known_number(self, places: Places) -> int | None:
        """Return the number at these places if all of them are constants."""
        if any(number != CONSTANT for number, _ in places):
            return None
        return sum(bit << i for i, (_, bit) in enumerate(places))

    def word(self, places: Places) -> Word[D]:
        """Return the bits at one or more places as an unsigned word."""
        found: Word[D] | None = None
        for first, last in _runs(places):
            part = places[first:last]
            if part[0][0] == CONSTANT:
                found = self._with_constant(found, part)
            elif found is not None and places[first - 1] == part[0]:
                # copies of the bit below them extend a sign
                found = self._with_copies(found, len(part))
            else:
                copies = len(part) > 1 and part[0] == part[1]
                piece = self._with_copies(self._slice(part[:1]), len(part) - 1) if copies else self._slice(part)
                found = piece if found is None else piece.concatenate(found)
        if found is None:
            raise ValueError("a word has at least one bit")
        return found

    def _with_constant(self, low: Word[D] | None, part: Places) -> Word[D]:
        value = sum(bit << i for i, (_, bit) in enumerate(part))
        if low is None:
            return self.algebra.unsigned(value, len(part))
        if not value:
            return low.extend(low.width + len(part))
        return self.algebra.unsigned(value, len(part)).concatenate(low)

    def _with_copies(self, x: Word[D], count: int) -> Word[D]:
        """Return a word with N copies of its top bit above it."""
        return self.algebra.pattern(self.algebra.twos_complement(x).extend(x.width + count))

    def _slice(self, part: Places) -> Word[D]:
        return self._word_at(part[0][0]).extract(part[-1][1], part[0][1])

    # --- in parts -------------------------------------------------------------------------------------------

    def in_parts(self, width: int, part: Callable[[slice], Places]) -> Places:
        """Return places for all bits, computed in parts that the algebra handles fast."""
        most = self.algebra.handy_width or width
        return [place for first in range(0, width, most) for place in part(slice(first, min(first + most, width)))]

    def is_wide(self, width: int) -> bool:
        """Return whether words of N bits are better computed in parts."""
        return self.algebra.handy_width is not None and width > self.algebra.handy_width


def constant(value: int, width: int) -> Places:
    """Return the places of a constant's bits."""
    return [ONE if value >> position & 1 else ZERO for position in range(width)]


def extended(places: Places, width: int, signed: bool) -> Places:
    """Return the places of a word in ``width`` bits: with copies of its top bit or zeros, or without its top bits."""
    filler = places[-1] if signed and places else ZERO
    return places[:width] + [filler] * (width - len(places))


def _runs(places: Places) -> Iterator[tuple[int, int]]:
    """Yield first and last (not included) of what is one piece: constants, neighbours in a word, copies of a bit."""
    first, end = 0, len(places)
    while first < end:
        number, position = places[first]
        last = first + 1
        if number == CONSTANT:
            while last < end and places[last][0] == CONSTANT:
                last += 1
        elif (last < end and places[last] == places[first]) or (first and places[first - 1] == places[first]):
            while last < end and places[last] == places[first]:
                last += 1
        else:
            while last < end and places[last] == (number, position + last - first):
                last += 1
        yield first, last
        first = last


TwoWords = Callable[[Algebra[Any, Any], Word[Any], Word[Any]], Word[Any]]


def bitwise(wires: Wires[Any, Any], operation: TwoWords, a: Places, b: Places) -> Places:
    """Return the places of an operation on two words that works bit by bit."""
    return wires.in_parts(
        len(a), lambda part: wires.place(operation(wires.algebra, wires.word(a[part]), wires.word(b[part])))
    )


def _masks(wires: Wires[Any, Any], a: Places, b: Places) -> Iterator[tuple[int, Places]]:
    """Yield each of two words that is known, with the other."""
    for one, other in ((a, b), (b, a)):
        mask = wires.known_number(one)
        if mask is not None:
            yield mask, other


def conjunction(wires: Wires[Any, Any], a: Places, b: Places) -> Places:
    """Return the places of a & b."""
    for mask, other in _masks(wires, a, b):
        return [place if mask >> i & 1 else ZERO for i, place in enumerate(other)]
    return bitwise(wires, lambda g, x, y: g.bitwise_and(x, y), a, b)


def disjunction(wires: Wires[Any, Any], a: Places, b: Places) -> Places:
    """Return the places of a | b."""
    for mask, other in _masks(wires, a, b):
        return [ONE if mask >> i & 1 else place for i, place in enumerate(other)]
    return bitwise(wires, lambda g, x, y: g.bitwise_or(x, y), a, b)


def difference(wires: Wires[Any, Any], a: Places, b: Places) -> Places:
    """Return the places of a ^ b."""
    for mask, other in _masks(wires, a, b):
        if mask in (0, (1 << len(a)) - 1):
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
