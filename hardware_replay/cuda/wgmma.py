"""Kernels of wgmma.mma_async, the matrix products of a warpgroup of Hopper (sm_90a).

A and B come from shared memory (``shared_memory``). C and D are in the registers of the 128 threads: PTX ISA, "Matrix
Fragments for wgmma.mma_async.m64nNk16" and the same for each other K, accumulator D. Operands are neither negated nor
transposed.

The order of events follows "Async Proxy" and "wgmma.fence" of the PTX ISA: the copies to shared memory are made visible
to the asynchronous proxy, then all threads meet; the accumulators are written before wgmma.fence, and read after the
group of the one instruction has completed.
"""

from __future__ import annotations

import re

import numpy as np
import numpy.typing as npt

from mmaproof.designs.catalogue import load_catalogue
from mmaproof.designs.design import Design
from mmaproof.hardware_replay.cuda.shared_memory import matrix_descriptor, shared_memory_image
from mmaproof.hardware_replay.kernels.kernel import Fragment, Kernel

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
        "wgmma.mma_async.sync.aligned.{instruction} {{{d_operands}}}, %{first}, %{second}, add_c, {modifiers};\\n"
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
    d, a, b = (f.isa_name for f in (design.d_format, design.a_format, design.b_format))
    source = _SOURCE.format(
        threads=_THREADS,
        name=name,
        a_words=fragments["a"].words,
        b_words=fragments["b"].words,
        descriptor=matrix_descriptor(),
        registers=registers,
        instruction=f"m{m}n{n}k{k}.{d}.{a}.{b}",
        d_operands=", ".join(f"%{i}" for i in range(registers)),
        d_constraints=", ".join(f'"+r"(d_words[{i}])' for i in range(registers)),
        first=registers,
        second=registers + 1,
        # factors 1 of A and B; only elements of 16 bits can be transposed, and are told not to be
        modifiers="1, 1, 0, 0" if design.a_format.bits == 16 else "1, 1",
    )
    target = load_catalogue().architectures[design.architecture].targets[-1]
    return Kernel(design, target, name, source, _THREADS, fragments, _machine_code(design))


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
    """Return the pattern of HGMMA (QGMMA for FP8), which names the formats of A and B where they are not fp16."""
    formats = [f.isa_name.upper() for f in (design.d_format, design.a_format, design.b_format)]
    opcode, named = ("QGMMA", 3) if design.a_format.bits == 8 else ("HGMMA", 1 if formats[1] == "F16" else 2)
    return re.escape(".".join([opcode, f"64x8x{design.k}", *formats[:named]]) + " R")
