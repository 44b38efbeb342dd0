"""Where the bits of a circuit's nets are: at places in words of an algebra.

A net is never copied. Wiring (slices, concatenations, extensions, shifts by constants) only says at which places the
bits of a word are, and a word is put together where a cell computes with it. So a port that is wider than any machine
word costs nothing where cells read slices of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Generic

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
