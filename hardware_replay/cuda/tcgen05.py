"""Kernels of tcgen05.mma, the matrix products of the 5th generation of tensor cores (Blackwell, sm_100a), of one CTA.

All layouts are those of the PTX ISA, "TensorCore 5th Generation Family Instructions":

* A and B in shared memory (``wgmma``). "Packing formats of elements in Tensor and Shared memory": for
  .kind::f8f6f4 and .kind::mxf8f6f4, 16 elements of 4 or 6 bits are packed at the start of 16 bytes; for .kind::mxf4 and
  .kind::mxf4nvf4 there is no padding.
* C and D in tensor memory. "Data Path Layout Organization": layout D (M = 128) has row i in lane i, layout F (M = 64)
  has 16 rows in the first half of each 32 lanes. Column j of the matrix is one 32-bit column; an element of 16 bits is
  the lower half of its word ("Packing format for matrix D in Tensor Memory"). Each warp reaches its own 32 lanes, with
  the shape .32x32b: thread t has lane t, its register r the column r ("Matrix fragments for shape .32x32b").
* Scales in tensor memory. "Block Scaling" and the layouts of the scale factor matrices after it: the scales of row i of
  A (of column i of B) are the lowest bytes, as many as there are blocks, of lane i mod 32 and column i div 32, and the
  same in the 32 lanes of each warp.
* "Instruction descriptor", its tables for the kinds.

The order of events follows "Memory Consistency Model" there. What the threads write for the tensor core is complete
before they all meet: shared memory through a proxy fence, tensor memory through tcgen05.wait::st and tcgen05.fence.
Then one thread issues the one instruction, whose completion arrives at an mbarrier.
"""

from __future__ import annotations

import re

import numpy as np
import numpy.typing as npt

from mmaproof.designs.catalogue import load_catalogue
from mmaproof.designs.design import Design
from mmaproof.hardware_replay.cuda.wgmma import matrix_descriptor, shared_memory_image
from mmaproof.hardware_replay.kernels.kernel import NOTHING, Fragment, Kernel

_THREADS = 128

_N = 8

_CODES = {"f16": 0, "bf16": 1, "tf32": 2, "e4m3": 0, "e5m2": 1, "e2m3": 3, "e3m2": 4, "e2m1": 5, "u8": 0, "s8": 1}
"""Formats of A and B in the instruction descriptor; those of .kind::mxf4 and .kind::mxf4nvf4 are others."""

_SOURCE = """
extern "C" __global__ void __launch_bounds__({threads}) {name}(
    const unsigned *a, const unsigned *b, const unsigned *c, const unsigned *scale_a, const unsigned *scale_b,
    unsigned *d)
{{
    __shared__ __align__(128) unsigned a_image[{a_words}], b_image[{b_words}];
    __shared__ unsigned long long completion;
    __shared__ unsigned allocated;
    const unsigned thread = threadIdx.x;
    const unsigned long long tile = blockIdx.x;
    const unsigned barrier = __cvta_generic_to_shared(&completion);

    for (unsigned i = thread; i < {a_words}; i += {threads}) a_image[i] = a[tile * {a_words} + i];
    for (unsigned i = thread; i < {b_words}; i += {threads}) b_image[i] = b[tile * {b_words} + i];
    if (thread == 0)
        asm volatile(
            "mbarrier.init.shared::cta.b64 [%0], 1;\\n"
            "fence.mbarrier_init.release.cluster;\\n" :: "r"(barrier) : "memory");
    __syncwarp();
    if (thread < 32)
        asm volatile(
            "tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%0], 32;\\n"
            "tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;\\n"
            :: "r"((unsigned)__cvta_generic_to_shared(&allocated)) : "memory");
    asm volatile("fence.proxy.async.shared::cta;\\n" ::: "memory");
    asm volatile("tcgen05.fence::before_thread_sync;\\n" ::: "memory");
    __syncthreads();
    asm volatile("tcgen05.fence::after_thread_sync;\\n" ::: "memory");

    const unsigned d_memory = *(volatile unsigned *)&allocated;
    const unsigned lanes_of_warp = thread / 32 * 32 << 16;
    unsigned words[8];
    for (unsigned i = 0; i < 8; ++i) words[i] = c[(tile * {threads} + thread) * 8 + i];
    asm volatile(
        "tcgen05.st.sync.aligned.32x32b.x8.b32 [%0], {{%1, %2, %3, %4, %5, %6, %7, %8}};\\n"
        :: "r"(d_memory + lanes_of_warp), "r"(words[0]), "r"(words[1]), "r"(words[2]), "r"(words[3]),
           "r"(words[4]), "r"(words[5]), "r"(words[6]), "r"(words[7]) : "memory");
{store_scales}    asm volatile("tcgen05.wait::st.sync.aligned;\\n" ::: "memory");
    asm volatile("tcgen05.fence::before_thread_sync;\\n" ::: "memory");
    __syncthreads();
    asm volatile("tcgen05.fence::after_thread_sync;\\n" ::: "memory");

    if (thread == 0) {{
        const unsigned long long layout = {matrix_descriptor:#018x}ull;
        const unsigned long long a_address = __cvta_generic_to_shared(a_image);
        const unsigned long long b_address = __cvta_generic_to_shared(b_image);
        const unsigned long long a_descriptor = layout | (a_address & 0x3ffff) >> 4;
        const unsigned long long b_descriptor = layout | (b_address & 0x3ffff) >> 4;
        const unsigned instruction = {instruction_descriptor:#010x}u;
        asm volatile(
            "{{\\n"
            ".reg .pred add_c;\\n"
            "setp.eq.u32 add_c, 0, 0;\\n"
            "tcgen05.mma.cta_group::1.{qualifiers} [%0], %1, %2, %3, {scale_operands}add_c;\\n"
            "}}\\n"
            :: "r"(d_memory), "l"(a_descriptor), "l"(b_descriptor), "r"(instruction){scale_addresses} : "memory");
        asm volatile(
            "tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%0];\\n"
            :: "r"(barrier) : "memory");
    }}
    for (unsigned done = 0; !done;)
        asm volatile(
            "{{\\n"
            ".reg .pred arrived;\\n"
            "mbarrier.try_wait.parity.shared::cta.b64 arrived, [%1], 0;\\n"
            "selp.u32 %0, 1, 0, arrived;\\n"
            "}}\\n" : "=r"(done) : "r"(barrier) : "memory");
    __syncthreads();
    asm volatile("tcgen05.fence::after_thread_sync;\\n" ::: "memory");
    asm volatile(
        "tcgen05.ld.sync.aligned.32x32b.x8.b32 {{%0, %1, %2, %3, %4, %5, %6, %7}}, [%8];\\n"
        "tcgen05.wait::ld.sync.aligned;\\n"
        : "=r"(words[0]), "=r"(words[1]), "=r"(words[2]), "=r"(words[3]),
          "=r"(words[4]), "=r"(words[5]), "=r"(words[6]), "=r"(words[7])
        : "r"(d_memory + lanes_of_warp) : "memory");
    for (unsigned i = 0; i < 8; ++i) d[(tile * {threads} + thread) * 8 + i] = words[i];
    asm volatile("tcgen05.fence::before_thread_sync;\\n" ::: "memory");
    __syncthreads();
    if (thread < 32)
        asm volatile(
            "tcgen05.fence::after_thread_sync;\\n"
            "tcgen05.dealloc.cta_group::1.sync.aligned.b32 %0, 32;\\n" :: "r"(d_memory) : "memory");
}}
"""

_STORE_SCALES = """\
    const unsigned scale_a_memory = d_memory + 16, scale_b_memory = d_memory + 24, lane = thread % 32;
    const unsigned *scales = scale_a + (tile * 32 + lane) * 4;
    asm volatile(
        "tcgen05.st.sync.aligned.32x32b.x4.b32 [%0], {%1, %2, %3, %4};\\n"
        :: "r"(scale_a_memory + lanes_of_warp), "r"(scales[0]), "r"(scales[1]), "r"(scales[2]), "r"(scales[3])
        : "memory");
    asm volatile(
        "tcgen05.st.sync.aligned.32x32b.x1.b32 [%0], {%1};\\n"
        :: "r"(scale_b_memory + lanes_of_warp), "r"(scale_b[tile * 32 + lane]) : "memory");
"""


def kernel(design: Design) -> Kernel:
    """Return the kernel of ``design``, whose instruction is ``tcgen05.mma.m...``."""
    m, n, k = design.m, design.n, design.k
    kind, scaled = _kind(design), design.block is not None
    padded = kind.endswith("f8f6f4")
    accumulators = Fragment((m, n), _accumulators(m))
    fragments = {
        "a": shared_memory_image((m, k), 1, design.a_format.bits, padded=padded),
        "b": shared_memory_image((k, n), 0, design.b_format.bits, padded=padded),
        "c": accumulators,
        "d": accumulators,
    }
    qualifiers = f"kind::{kind}"
    if design.block is not None:
        blocks = k // design.block
        fragments["scale_a"] = Fragment((m, blocks), _scales_of_a(blocks))
        fragments["scale_b"] = Fragment((blocks, n), _scales_of_b(blocks))
        qualifiers += f".block_scale.scale_vec::{blocks}X"
    name = re.sub(r"\W", "_", design.base_name)
    source = _SOURCE.format(
        threads=_THREADS,
        name=name,
        a_words=fragments["a"].words,
        b_words=fragments["b"].words,
        store_scales=_STORE_SCALES if scaled else "",
        matrix_descriptor=matrix_descriptor(version=1),
        instruction_descriptor=_instruction_descriptor(design, kind),
        qualifiers=qualifiers,
        scale_operands="[%4], [%5], " if scaled else "",
        scale_addresses=', "r"(scale_a_memory), "r"(scale_b_memory)' if scaled else "",
    )
    target = load_catalogue().architectures[design.architecture].targets[-1]
    return Kernel(design, target, name, source, _THREADS, fragments, _machine_code(design, kind))


def _kind(design: Design) -> str:
    """Return the .kind of the instruction; .kind::mxf4nvf4 with scales of 32 elements would be the same as mxf4."""
    if design.d_format.is_integer:
        return "i8"
    if design.block is None:
        return {32: "tf32", 16: "f16"}.get(design.a_format.bits, "f8f6f4")
    if design.k == 32:
        return "mxf8f6f4"
    return "mxf4" if design.block == 32 else "mxf4nvf4"


def _instruction_descriptor(design: Design, kind: str) -> int:
    """Return the instruction descriptor: dense, neither operand negated or transposed, scales from byte 0 (ID 0)."""
    codes = {"e2m1": 1} if kind.startswith("mxf4") else _CODES
    a, b = codes[design.a_format.isa_name], codes[design.b_format.isa_name]
    descriptor = a << 7 | b << 10 | design.n >> 3 << 17 | design.m >> 4 << 24
    if kind == "i8":
        return descriptor | 2 << 4 | ("satfinite" in design.instruction) << 3
    if design.scale_format is None:
        return descriptor | (design.d_format.isa_name == "f32") << 4
    return descriptor | (design.scale_format.isa_name == "ue8m0") << 23


def _machine_code(design: Design, kind: str) -> str:
    """Return the pattern of UTCHMMA, UTCQMMA (8 bits), UTCOMMA (4 bits) or UTCIMMA (int8), which adds C (UPT).

    Formats are not in the machine code but in the instruction descriptor.
    """
    opcode = {"tf32": "UTCHMMA", "f16": "UTCHMMA", "i8": "UTCIMMA"}.get(kind, "UTCOMMA")
    opcode = "UTCQMMA" if kind.endswith("f8f6f4") else opcode
    size = r"\.4X" if design.block == 16 else ""
    scales = "" if design.block is None else r"tmem\[\w+\], "
    return rf"{opcode}{size} gdesc\[\w+\], gdesc\[\w+\], tmem\[\w+\], tmem\[\w+\], idesc\[\w+\], {scales}UPT"


def _accumulators(m: int) -> npt.NDArray[np.intp]:
    """Return the places of C or D, one row of words for each lane of tensor memory."""
    lane, column = np.arange(_THREADS, dtype=np.intp)[:, None], np.arange(_N, dtype=np.intp)
    per_warp = m // 4
    row = lane // 32 * per_warp + lane % 32
    return np.where(lane % 32 < per_warp, row * _N + column, NOTHING).reshape(-1, 1)


def _scales_of_a(blocks: int) -> npt.NDArray[np.intp]:
    """Return the places of the scales of 128 rows of A: of each of 32 lanes the words of four columns."""
    lane, column, byte = np.arange(32)[:, None, None], np.arange(4)[:, None], np.arange(4)
    row = column * 32 + lane
    return np.where(byte < blocks, row * blocks + byte, NOTHING).reshape(-1, 4)


def _scales_of_b(blocks: int) -> npt.NDArray[np.intp]:
    """Return the places of the scales of B: the word of each of 32 lanes. There are 8 columns; lanes repeat them."""
    lane, byte = np.arange(32)[:, None], np.arange(4)
    return np.where(byte < blocks, byte * _N + lane % _N, NOTHING)
