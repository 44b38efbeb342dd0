"""The places at which a run of the semantics is cut when its graph of operations is compared with its terms.

They are the signals that the stages name, and inside the stages the operations that are hard for a solver if nothing is
cut before and after: products, sums, maxima, magnitudes, normalisation and shifts by variable amounts. Two
interpretations with ``CutPlaces`` meet the same places in the same order, because the semantics takes no decision on
data.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from mmaproof.smt.algebra.protocol import Algebra, D, T, Truth, Word
from mmaproof.smt.algebra.words import Signal


class CutPlaces(Algebra[D, T]):
    """An interpretation that calls ``place``, ``place_of_truth`` and ``place_of_product`` at each place."""

    nested = 0
    """above 0 inside an operation that is a place itself"""

    @abstractmethod
    def place(self, what: str, x: Word[D]) -> Word[D]:
        """Return the word that stands for ``x`` after this place."""

    @abstractmethod
    def place_of_truth(self, what: str, x: Truth[T]) -> Truth[T]:
        """Return the truth value that stands for ``x`` after this place."""

    @abstractmethod
    def place_of_product(self, x: Word[D], y: Word[D], product: Word[D]) -> Word[D]:
        """Return the word that stands for the product of two words, which are places too."""

    @contextmanager
    def no_places(self) -> Iterator[None]:
        """Meet no places for a while."""
        self.nested += 1
        try:
            yield
        finally:
            self.nested -= 1

    def _placed(self, what: str, x: Word[D]) -> Word[D]:
        return x if self.nested else self.place(what, x)

    def signal(self, name: Signal, x: Word[D], bounds: tuple[int, int] | None = None) -> Word[D]:
        """Return what stands for the signal ``x``."""
        return self._placed(str(name), super().signal(name, x, bounds))

    def signal_truth(self, name: Signal, x: Truth[T], observable: Callable[[], Truth[T]] | None = None) -> Truth[T]:
        """Return what stands for the signal ``x``."""
        return x if self.nested else self.place_of_truth(str(name), x)

    def multiply(self, x: Word[D], y: Word[D]) -> Word[D]:
        """Return what stands for x * y."""
        return self._multiplied(x, y, super().multiply)

    def multiply_signed(self, x: Word[D], y: Word[D]) -> Word[D]:
        """Return what stands for x * y."""
        return self._multiplied(x, y, super().multiply_signed)

    def _multiplied(self, x: Word[D], y: Word[D], multiply: Callable[[Word[D], Word[D]], Word[D]]) -> Word[D]:
        if self.nested:
            return multiply(x, y)
        x, y = self.place("factor", x), self.place("factor", y)
        return self.place_of_product(x, y, multiply(x, y))

    def magnitude(self, x: Word[D]) -> Word[D]:
        """Return what stands for |x|."""
        return self._placed("magnitude", super().magnitude(x)) if x.signed else x

    def normalise(self, x: Word[D]) -> tuple[Word[D], Word[D]]:
        """Return what stands for ``x`` normalised, and for the number of places."""
        top, places = super().normalise(x)
        return self._placed("normalised", top), self._placed("places", places)

    def shift_right(self, x: Word[D], amount: Word[D]) -> Word[D]:
        """Return what stands for floor(x / 2**amount)."""
        with self.no_places():
            moved = super().shift_right(x, amount)
        return self._placed("moved right", moved)

    def shift_right_jam(self, x: Word[D], amount: Word[D]) -> Word[D]:
        """Return what stands for x / 2**amount, rounded to odd."""
        with self.no_places():
            moved = super().shift_right_jam(x, amount)
        return self._placed("moved right and jammed", moved)

    def shift_left_by(self, x: Word[D], amount: Word[D]) -> Word[D]:
        """Return what stands for x * 2**amount."""
        with self.no_places():
            moved = super().shift_left_by(x, amount)
        return self._placed("moved left", moved)

    def maximum(self, words: Sequence[Word[D]]) -> Word[D]:
        """Return what stands for the largest word, and for the maximum of each pair of halves before it."""
        largest = super().maximum(words)
        return self._placed("maximum", largest) if len(words) > 1 else largest

    def maximum_in_turn(self, words: Sequence[Word[D]]) -> Word[D]:
        """Return what stands for the largest word, and for the maximum of the first words, two, three and so on."""
        largest = words[0]
        for word in words[1:]:
            with self.no_places():
                largest = super().maximum_in_turn([largest, word])
            largest = self._placed("maximum", largest)
        return largest
