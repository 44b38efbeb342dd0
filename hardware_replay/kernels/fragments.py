"""Where the elements of a matrix lie in the 32-bit words that an instruction reads or writes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from mmaproof.designs.operands import Patterns

Words = npt.NDArray[np.uint32]
"""An array of 32-bit words, one row per tile."""

NOTHING = -1
"""The place of no element: its bits are zero in what is packed, and not read in what is unpacked."""


@dataclass(frozen=True)
class Fragment:
    """The layout of a matrix of ``shape`` (rows, columns) in words.

    ``places`` has shape (words, slots): the element in each slot of a word, lowest bits first, counted row by row, or
    NOTHING. A slot is ``32 / slots`` bits wide, and the element's lowest bit lies ``shift`` above that of the slot.
    Elements of 64 bits are two elements of 32, the low half first: element 2*i is the low half of i. An element may
    have several places.
    """

    shape: tuple[int, int]
    places: npt.NDArray[np.intp]
    shift: int = 0

    @property
    def words(self) -> int:
        """Number of words of a tile."""
        return len(self.places)

    def pack(self, matrices: Patterns) -> Words:
        """Return the words of matrices of shape (tiles, rows, columns), contiguous: they are copied as memory."""
        elements = _elements(matrices).astype(np.uint32)
        held = np.where(self.places == NOTHING, np.uint32(0), elements[:, self.places])
        packed: Words = np.ascontiguousarray(np.bitwise_or.reduce(held << self._shifts(), axis=2))
        return packed

    def homes(self) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.uint32]]:
        """Return a word that holds each element, and the position of its lowest bit there; every one must have a place.

        Shape (elements,) for elements of up to 32 bits; those of 64 bits count as two.
        """
        words, slots = np.nonzero(self.places != NOTHING)
        elements = self.places[words, slots]
        word = np.zeros(int(elements.max()) + 1, dtype=np.intp)
        bit = np.zeros(len(word), dtype=np.uint32)
        word[elements], bit[elements] = words, self._shifts()[slots]
        return word, bit

    def _shifts(self) -> npt.NDArray[np.uint32]:
        slots = self.places.shape[1]
        return (np.arange(slots, dtype=np.uint32) * np.uint32(32 // slots) + np.uint32(self.shift)).astype(np.uint32)


def _elements(matrices: Patterns) -> Patterns:
    """Return the elements of each matrix in a row, those of 64 bits as two of 32."""
    flat = np.ascontiguousarray(matrices).reshape(len(matrices), -1)
    return flat.view(np.uint32) if flat.dtype.itemsize == 8 else flat


def halves(places: npt.NDArray[np.intp]) -> npt.NDArray[np.intp]:
    """Return the places, shape (words, 1), of elements of 64 bits in two words each; theirs have shape (elements,)."""
    both = np.stack([2 * places, 2 * places + 1], axis=-1)
    both[places == NOTHING] = NOTHING
    return both.reshape(-1, 1)
