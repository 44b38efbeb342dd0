"""Matrices in shared memory as wgmma and tcgen05.mma read them through a matrix descriptor.

The layout is the one without swizzle, K-major for A and B alike. PTX ISA: "Major-ness supported by Strides" and "Matrix
Descriptor Format" for wgmma; "Canonical Layouts" and "Shared memory descriptor" for tcgen05.

The layout consists of core matrices. A core matrix is 8 rows of A (columns of B) by 16 bytes along K, and lies in 128
consecutive bytes. The K of one instruction is 32 bytes, which are two core matrices. The second one follows the first,
and the next 8 rows follow the two.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from mmaproof.designs.operands import Patterns
from mmaproof.hardware_replay.kernels.kernel import NOTHING, Fragment, Words

_WORDS_OF_A_LINE = 4
"""A line is what a core matrix has of one row: 16 bytes along K."""

_LEADING_BYTE_OFFSET = 128
"""From a core matrix to the next one along K."""

_STRIDE_BYTE_OFFSET = 256
"""From a core matrix to that of the next 8 rows."""

_PIECE_BITS = 2
"""Size of the pieces of an element of 6 bits: 16 of them fill three words, and some cross from one to the next."""


@dataclass(frozen=True)
class SixBitFragment(Fragment):
    """The layout of a matrix of elements of 6 bits, each of three pieces of 2 bits, the lowest first.

    ``places`` counts the pieces: 3*i is the lowest one of element i.
    """

    def pack(self, matrices: Patterns) -> Words:
        """Return the words of matrices of shape (tiles, rows, columns)."""
        shifts = np.arange(0, 6, _PIECE_BITS, dtype=matrices.dtype)
        pieces = (matrices[..., None] >> shifts) & matrices.dtype.type((1 << _PIECE_BITS) - 1)
        return super().pack(pieces)


def shared_memory_image(shape: tuple[int, int], k_axis: Literal[0, 1], element_bits: int, *, padded: bool) -> Fragment:
    """Return the layout of a matrix of ``shape``, whose axis ``k_axis`` is that of K, in shared memory.

    ``padded`` is for elements of 4 and 6 bits, and of 8 beside them: 16 lie packed at the start of their 16 bytes,
    the rest is not read (PTX ISA: "Packing format used for matrix A and B by .kind::mxf8f6f4 in Shared Memory").
    Element 0 is in the lowest bits.
    """
    slot_bits, pieces = (_PIECE_BITS, 3) if element_bits == 6 else (element_bits, 1)
    elements = np.arange(shape[0] * shape[1], dtype=np.intp).reshape(shape)
    by_row = elements if k_axis == 1 else elements.T
    of_pieces = (by_row[..., None] * pieces + np.arange(pieces)).reshape(-1)
    per_line = pieces * (16 if padded else 128 // element_bits)
    lines = of_pieces.reshape(-1, per_line * slot_bits // 32, 32 // slot_bits)
    places = np.full((len(lines), _WORDS_OF_A_LINE, lines.shape[2]), NOTHING, dtype=np.intp)
    places[:, : lines.shape[1]] = lines
    # (rows // 8, 8, 2): the line of a row in each of the two core matrices, to (rows // 8, 2, 8)
    in_memory = places.reshape(-1, 8, 2, *places.shape[1:]).swapaxes(1, 2)
    layout = SixBitFragment if element_bits == 6 else Fragment
    return layout(shape, in_memory.reshape(-1, places.shape[2]))


def matrix_descriptor(version: int = 0) -> int:
    """Return the descriptor of such a matrix at address 0: the encoded address is bits 0 to 13.

    ``version`` is bits 46 to 48: 0 for wgmma, 1 for tcgen05.mma.
    """
    return _encode(_LEADING_BYTE_OFFSET) << 16 | _encode(_STRIDE_BYTE_OFFSET) << 32 | version << 46


def _encode(byte_offset: int) -> int:
    """Return an address or an offset as descriptors hold it: 14 bits, in units of 16 bytes."""
    return (byte_offset & 0x3FFFF) >> 4
