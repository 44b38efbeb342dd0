"""An instruction as a kernel: source text, and how dot products are laid out in the matrices that it multiplies.

The elements of D are independent of each other, and D[i, j] is the dot product of row i of A and column j of B. Dot
products with operands of their own therefore lie on a diagonal: the r-th of a tile takes column r of B and a row of A
that differs from tile to tile, so that every element of D is used by some. One block of threads runs one tile.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from mmaproof.designs.design import Design
from mmaproof.designs.errors import InputError
from mmaproof.designs.operands import OperandBatch, Patterns, pattern_dtype

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


def in_registers(elements: npt.NDArray[np.intp], bits: int) -> npt.NDArray[np.intp]:
    """Return the places of ``elements``, each of ``bits`` bits, in the order in which the threads have them."""
    return halves(elements.reshape(-1)) if bits == 64 else elements.reshape(-1, 32 // bits)


OPERANDS = ("a", "b", "c", "scale_a", "scale_b")
"""The parameters of every kernel before ``d``: ``const unsigned *``, the words of one tile after the other."""


@dataclass(frozen=True)
class Kernel:
    """The kernel of one instruction of the catalogue.

    ``source`` is CUDA or HIP C++ that defines ``extern "C" __global__ void NAME(const unsigned *a, const unsigned *b,
    const unsigned *c, const unsigned *scale_a, const unsigned *scale_b, unsigned *d)``, run with ``threads`` threads a
    block and one block a tile; the pointers to scales are null for designs without. ``fragments`` (of a, b, c, d, and
    the scales where there are any) have the shapes (M, K), (K, N), (M, N), (M, N), (M, blocks), (blocks, N).
    ``machine_code`` is a regular expression for the machine instruction that must be found in the compiled kernel.
    """

    design: Design
    architecture: str
    name: str
    source: str
    threads: int
    fragments: Mapping[str, Fragment]
    machine_code: str

    @property
    def rows(self) -> int:
        """Number of dot products of a tile."""
        return min(self.fragments["d"].shape)

    def steps(self, batch: OperandBatch) -> Iterator[dict[str, Words]]:
        """Yield the words of the operands of each instruction, for rows whose k is a multiple of the instruction's K.

        From the second instruction on, c is the words of D that the one before returns, because elements of one format
        lie alike in both. Raises InputError for a chain of an instruction whose c and d differ in format.
        """
        design = self.design
        if batch.k > design.k and design.c_format is not design.d_format:
            raise InputError(
                f"{design.name} adds {design.c_format.name} and returns {design.d_format.name}: "
                f"it cannot be chained to k = {batch.k}"
            )
        blocks = design.blocks(design.k)
        for i in range(batch.k // design.k):
            elements, scales = slice(i * design.k, (i + 1) * design.k), slice(i * blocks, (i + 1) * blocks)
            of_blocks = [None if x is None else x[:, scales] for x in (batch.scale_a, batch.scale_b)]
            yield self.pack(OperandBatch(batch.a[:, elements], batch.b[:, elements], batch.c, *of_blocks))

    def pack(self, batch: OperandBatch) -> dict[str, Words]:
        """Return the words of each operand, shape (tiles, words), for rows of the instruction's own K.

        Elements of the matrices that belong to no row are zero (scales 1).
        """
        tiles, place = self._tiles(len(batch)), self._places(len(batch))
        columns: dict[str, Patterns] = {"a": batch.a, "b": batch.b, "c": batch.c}
        if batch.scale_a is not None and batch.scale_b is not None:
            columns |= {"scale_a": batch.scale_a, "scale_b": batch.scale_b}
        packed = {}
        for name, values in columns.items():
            matrices = self._empty(name, tiles)
            if name in ("a", "scale_a"):
                matrices[place.tile, place.row, :] = values
            elif name in ("b", "scale_b"):
                matrices[place.tile, :, place.column] = values
            else:
                matrices[place.tile, place.row, place.column] = values
            packed[name] = self.fragments[name].pack(matrices)
        return packed

    def unpack(self, words: Words, rows: int) -> Patterns:
        """Return d of the first ``rows`` dot products from the words of D, shape (tiles, words)."""
        fmt = self.design.d_format
        word, bit = self.homes_of_d(rows)
        mask = np.uint32((1 << min(fmt.bits, 32)) - 1)
        halves = np.ascontiguousarray((words.reshape(-1)[word] >> bit) & mask)
        d: Patterns = halves.view(np.uint64) if fmt.bits > 32 else halves
        return d[:, 0].astype(pattern_dtype(fmt))

    def homes_of_d(self, rows: int) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.uint32]]:
        """Return where d of the first ``rows`` dot products is: the word, counted over all tiles, and its lowest bit.

        Shape (rows, 1), or (rows, 2) for the low and high halves of results of 64 bits.
        """
        fragment, place = self.fragments["d"], self._places(rows)
        halves = 2 if self.design.d_format.bits > 32 else 1
        element = place.row * fragment.shape[1] + place.column
        word, bit = fragment.homes()
        half = halves * element[:, None] + np.arange(halves)
        return place.tile[:, None] * fragment.words + word[half], bit[half]

    def _tiles(self, rows: int) -> int:
        return -(-rows // self.rows)

    def _empty(self, name: str, tiles: int) -> Patterns:
        fmt = dict(zip("abcd", self.design.formats, strict=True)).get(name) or self.design.scale_format
        if fmt is None:
            raise ValueError(f"{self.design.name} has no scales")
        filler = fmt.encode(1) if fmt.is_of_scales else 0
        return np.full((tiles, *self.fragments[name].shape), filler, dtype=pattern_dtype(fmt))

    def _places(self, rows: int) -> _Places:
        tile, column = np.divmod(np.arange(rows), self.rows)
        m = self.fragments["d"].shape[0]
        return _Places(tile, (column + tile * self.rows + tile * self.rows // m) % m, column)


@dataclass(frozen=True)
class _Places:
    """The tile of each dot product, and the row and the column of D that hold it."""

    tile: npt.NDArray[np.intp]
    row: npt.NDArray[np.intp]
    column: npt.NDArray[np.intp]
