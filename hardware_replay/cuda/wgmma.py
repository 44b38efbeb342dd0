"""Kernels of wgmma.mma_async, the matrix products of a warpgroup of Hopper (sm_90a).

A and B come from shared memory. C and D are in the registers of the 128 threads: PTX ISA, "Matrix Fragments for
wgmma.mma_async.m64nNk16" and the same for each other K, accumulator D. Operands are neither negated nor transposed.

The order of events follows "Async Proxy" and "wgmma.fence" of the PTX ISA: the copies to shared memory are made visible
to the asynchronous proxy, then all threads meet; the accumulators are written before wgmma.fence, and read after the
group of the one instruction has completed.

wgmma and tcgen05.mma read matrices in shared memory through a matrix descriptor. The layout is the one without swizzle,
K-major for A and B alike. PTX ISA: "Major-ness supported by Strides" and "Matrix Descriptor Format" for wgmma;
"Canonical Layouts" and "Shared memory descriptor" for tcgen05.

The layout consists of core matrices. A core matrix is 8 rows of A (columns of B) by 16 bytes along K, and lies in 128
consecutive bytes. The K of one instruction is 32 bytes, which are two core matrices. The second one follows the first,
and the next 8 rows follow the two.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from mmaproof.designs.catalogue import load_catalogue
from mmaproof.designs.design import Design
from mmaproof.designs.operands import Patterns
from mmaproof.hardware_replay.kernels.kernel import NOTHING, Fragment, Kernel, Words

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


_THREADS = 128

_SOURCE = """
extern "C" __global__ void __launch_bounds__({threads}) {name}(
    const unsigned *a, const unsigned *b, const unsigned *c, const unsigned *, const unsigned *, unsigned *d)
{{
    __shared__ __align__(128) unsigned a_image[{a_words}], b_image[{b_words}];
    const unsigned thread = threadIdx.x;
    const unsigned long long tile = blockIdx.x;
    for (unsigned i = thread; i < {a_words}; i += {threads}) a_image[i] = a[tile * {a_words} + i];
    for (unsigned i = thread; i < {b_words}; i += {threads}) b_image[i] = b[tile * {b_words} + i];
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    __syncthreads();

    const unsigned long long layout = {descriptor:#018x}ull;
    const unsigned long long a_address = __cvta_generic_to_shared(a_image);
    const unsigned long long b_address = __cvta_generic_to_shared(b_image);
    const unsigned long long a_descriptor = layout | (a_address & 0x3ffff) >> 4;
    const unsigned long long b_descriptor = layout | (b_address & 0x3ffff) >> 4;
    unsigned d_words[{registers}];
    for (unsigned i = 0; i < {registers}; ++i) d_words[i] = c[(tile * {threads} + thread) * {registers} + i];
    asm volatile(
        "{{\\n"
        ".reg .pred add_c;\\n"
        "setp.eq.u32 add_c, 0, 0;\\n"
        "wgmma.fence.sync.aligned;\\n"
        "wgmma.mma_async.sync.aligned.{instruction} {{{d_operands}}}, %{first}, %{second}, add_c{modifiers};\\n"
        "wgmma.commit_group.sync.aligned;\\n"
        "wgmma.wait_group.sync.aligned 0;\\n"
        "}}\\n"
        : {d_constraints}
        : "l"(a_descriptor), "l"(b_descriptor)
        : "memory");
    for (unsigned i = 0; i < {registers}; ++i) d[(tile * {threads} + thread) * {registers} + i] = d_words[i];
}}
"""


def kernel(design: Design) -> Kernel:
    """Return the kernel of ``design``, whose instruction is ``wgmma.m64n8k...``."""
    m, n, k = design.m, design.n, design.k
    accumulators = Fragment((m, n), _accumulators(design.d_format.bits))
    registers = accumulators.words // _THREADS
    fragments = {
        "a": shared_memory_image((m, k), 1, design.a_format.bits, padded=False),
        "b": shared_memory_image((k, n), 0, design.b_format.bits, padded=False),
        "c": accumulators,
        "d": accumulators,
    }
    name = re.sub(r"\W", "_", design.base_name)
    source = _SOURCE.format(
        threads=_THREADS,
        name=name,
        a_words=fragments["a"].words,
        b_words=fragments["b"].words,
        descriptor=matrix_descriptor(),
        registers=registers,
        instruction=_instruction(design),
        d_operands=", ".join(f"%{i}" for i in range(registers)),
        d_constraints=", ".join(f'"+r"(d_words[{i}])' for i in range(registers)),
        first=registers,
        second=registers + 1,
        modifiers=_modifiers(design),
    )
    target = load_catalogue().architectures[design.architecture].targets[-1]
    return Kernel(design, target, name, source, _THREADS, fragments, _machine_code(design))


def _instruction(design: Design) -> str:
    """Return the shape, the formats and what else the instruction says: .satfinite follows the formats in PTX."""
    *_, shape, of_formats = re.split(r"wgmma\.(m\d+n\d+k\d+)\.", design.instruction)
    saturates = of_formats.startswith("satfinite.")
    return f"{shape}.{of_formats.removeprefix('satfinite.')}{'.satfinite' * saturates}"


def _modifiers(design: Design) -> str:
    """Return the factors 1 of A and B, which integers do not have; only elements of 16 bits can be transposed."""
    if design.d_format.is_integer:
        return ""
    return ", 1, 1, 0, 0" if design.a_format.bits == 16 else ", 1, 1"


def _accumulators(bits: int) -> npt.NDArray[np.intp]:
    """Return the places of the 64 x 8 elements of C or D, of ``bits`` bits, in the registers of the threads.

    Each warp holds 16 rows, each thread two rows that are 8 apart and two neighbouring columns of them; elements of 16
    bits lie two in a register, the lower column in the lower half.
    """
    thread = np.arange(_THREADS, dtype=np.intp)[:, None, None]
    half, column = np.arange(2, dtype=np.intp)[:, None], np.arange(2, dtype=np.intp)
    row = thread // 32 * 16 + half * 8 + thread % 32 // 4
    elements: npt.NDArray[np.intp] = row * 8 + thread % 4 * 2 + column
    return elements.reshape(-1, 32 // bits)


def _machine_code(design: Design) -> str:
    """Return the pattern of HGMMA (QGMMA for FP8), which names the formats of A and B where they are not fp16.

    IGMMA is that of int8, BGMMA that of bits.
    """
    if design.d_format.is_integer:
        parts = [f.isa_name.upper() for f in (design.a_format, design.b_format)]
        parts = ["BGMMA", "AND", "POPC"] if parts == ["B1", "B1"] else ["IGMMA", *parts]
        parts += ["SAT"] * ("satfinite" in design.instruction)
        return re.escape(".".join([parts[0], f"64x8x{design.k}", *parts[1:]]) + " R")
    formats = [f.isa_name.upper() for f in (design.d_format, design.a_format, design.b_format)]
    opcode, named = ("QGMMA", 3) if design.a_format.bits == 8 else ("HGMMA", 1 if formats[1] == "F16" else 2)
    return re.escape(".".join([opcode, f"64x8x{design.k}", *formats[:named]]) + " R")
