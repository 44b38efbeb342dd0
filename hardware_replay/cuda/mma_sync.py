"""Kernels of mma.sync: one warp multiplies matrices that lie in the registers of its 32 threads.

The layouts are those of the PTX ISA, "Matrix Fragments for mma.m8n8k4 with .f16 floating point type" and the sections
after it, one for each shape. All but that first one follow one rule. Eight groups of four threads hold the rows of A
and the columns of B. A register holds neighbours along K: the first registers of the four threads of a group hold the
first stretch of K, the next ones the next. Rows 8 to 15 of A and of the accumulators are in registers of their own.

Elements of less than 8 bits are packed, but with .kind::f8f6f4 and .kind::mxf8f6f4 each has a byte: those of 6 bits
lie in its low bits, those of 4 bits in its bits 2 to 5. The PTX ISA does not say so; CUTLASS does (fp4_shift_A in
cute/atom/mma_traits_sm120.hpp). Scales are those of "Block Scaling for mma.sync", with all selectors 0.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from mmaproof.designs.catalogue import load_catalogue
from mmaproof.designs.design import Design
from mmaproof.designs.errors import InputError
from mmaproof.designs.formats import Format
from mmaproof.hardware_replay.kernels.kernel import Fragment, Kernel, in_registers

_THREADS = 32

_EMULATED = "emulated-fp8"
"""The family of instructions that the compiler replaces by others: fp8 as fp16, in steps of K = 16."""

_SOURCE = """
extern "C" __global__ void {name}(
    const unsigned *a, const unsigned *b, const unsigned *c, const unsigned *scale_a, const unsigned *scale_b, unsigned *d)
{{
    const unsigned long long thread = blockIdx.x * {threads}ull + threadIdx.x;
    asm volatile(
        "{instruction} {operands};"
        : {results}
        : {arguments});
}}
"""  # noqa: E501

_Places = npt.NDArray[np.intp]


def kernel(design: Design) -> Kernel:
    """Return the kernel of ``design``, an NVIDIA design of the catalogue whose instruction is ``mma....``.

    Raises InputError for an instruction that the assembler rejects.
    """
    if (why := rejected(design)) is not None:
        raise InputError(f"{design.base_name}: {why}")
    name = re.sub(r"\W", "_", design.base_name)
    architecture = load_catalogue().architectures[design.architecture].targets[-1]
    fragments = _fragments(design)
    source = _source(name, design, fragments)
    return Kernel(design, architecture, name, source, _THREADS, fragments, _machine_code(design))


def rejected(design: Design) -> str | None:
    """Return why ptxas rejects an instruction of the catalogue, None where it does not."""
    scale = design.scale_format
    if scale is not None and scale.isa_name == "ue4m3" and design.block != 16:
        return f"ptxas takes scales of ue4m3 with blocks of 16 only, not of {design.block}: no GPU runs it"
    return None


def _kind(design: Design) -> str | None:
    """Return the .kind of the instruction, None where it needs none."""
    if design.block is not None:
        return "mxf8f6f4" if design.k == 32 else "mxf4" if design.block == 32 else "mxf4nvf4"
    return "f8f6f4" if _is_narrow(design.a_format) or _is_narrow(design.b_format) else None


def _is_narrow(fmt: Format) -> bool:
    return fmt.bits < 8 and not fmt.is_integer


def _instruction(design: Design) -> str:
    """Return the instruction as PTX spells it."""
    kind = _kind(design)
    parts = ["mma", "sync", "aligned"]
    if kind is not None:
        parts.append(f"kind::{kind}")
    if design.block is not None:
        parts += ["block_scale", f"scale_vec::{design.k // design.block}X"]
    parts += [f"m{design.m}n{design.n}k{design.k}", "row", "col"]
    if _saturates(design):
        parts.append("satfinite")
    types = (design.d_format, design.a_format, design.b_format, design.c_format, design.scale_format)
    return ".".join([*parts, *(fmt.isa_name for fmt in types if fmt is not None), *_operation(design)])


def _operation(design: Design) -> list[str]:
    """Return what is done to bits: ["xor", "popc"], and of other elements nothing."""
    parts = design.instruction.split(".")
    return parts[-2:] if parts[-1] == "popc" else []


def _saturates(design: Design) -> bool:
    return "satfinite" in design.instruction.split(".")


def _source(name: str, design: Design, fragments: Mapping[str, Fragment]) -> str:
    """Return the source text; ``fragments`` are in the order in which the instruction has its operands, d first."""
    register, constraint, words = ("unsigned long long", "l", 2) if design.d_format.bits == 64 else ("unsigned", "r", 1)
    number = itertools.count()
    operands, bound = [], []
    for operand, fragment in fragments.items():
        count = fragment.words // (_THREADS * words)
        numbers = ", ".join(f"%{next(number)}" for _ in range(count))
        # {0, 0}: the scale in byte 0, or those from it on, of the first threads of a group
        operands.append(f"{numbers}, {{0, 0}}" if operand.startswith("scale") else f"{{{numbers}}}")
        mark = "=" if operand == "d" else ""
        texts = [f'"{mark}{constraint}"((({register} *){operand})[thread * {count} + {i}])' for i in range(count)]
        bound.append(",\n          ".join(texts))
    return _SOURCE.format(
        name=name,
        threads=_THREADS,
        instruction=_instruction(design),
        operands=", ".join(operands),
        results=bound[0],
        arguments=",\n          ".join(bound[1:]),
    )


def _machine_code(design: Design) -> str:
    """Return the machine instruction, as nvdisasm of CUDA 12.8 and 13.5 print it.

    From Blackwell on all shapes of f64 are sequences of one, and Hopper and Blackwell have no fp8 of mma.sync. Volta
    needs two or four steps, and names the accumulators' formats both.
    """
    shape = f"{design.m}{design.n}{design.k}"
    d, a, b, c = (fmt.isa_name.upper() for fmt in (design.d_format, design.a_format, design.b_format, design.c_format))
    if design.d_format.bits == 64:
        whole = rf"{shape}|{design.m}x{design.n}x{design.k}"
        return rf"\bDMMA\.({'8x8x4' if design.architecture.endswith('blackwell') else whole})\s"
    if (operation := _operation(design)) and design.architecture == "hopper":
        operation[0] = "and"  # Hopper has no other: XOR is two of them
    if operation:
        parts = ["BMMA", shape, *(x.upper() for x in operation)]
    elif design.d_format.is_integer:
        parts = ["IMMA", shape, a, b] + (["SAT"] if _saturates(design) else [])
    elif design.family == _EMULATED:
        parts = ["HMMA", "16816", d]
    elif _is_of_quad_pairs(design):
        parts = ["HMMA", shape, d, c, "STEP0"]
    elif design.a_format.bits > 8:
        parts = ["HMMA", shape, d] + ([] if a == "F16" else [a])
    else:
        parts = ["OMMA" if design.k == 64 else "QMMA", shape, d, a, b]
        if design.scale_format is not None:
            parts.insert(1, "SF")
            parts.append({"ue8m0": "E8", "ue4m3": "UE4M3"}[design.scale_format.isa_name])
        if design.block == 16:
            parts.append("4X")
    return rf"\b{re.escape('.'.join(parts))}\s"


def _fragments(design: Design) -> dict[str, Fragment]:
    """Return the layouts of all operands in the order in which the instruction has them."""
    m, n, k = design.m, design.n, design.k
    # how many bits of a register an element of A or B takes
    a_bits, b_bits = (8 if _is_narrow(x) and k == 32 else x.bits for x in (design.a_format, design.b_format))
    c_bits, d_bits = design.c_format.bits, design.d_format.bits
    if _is_of_quad_pairs(design):
        a, b, c, d = _quad_pair_a(), _quad_pair_b(), _quad_pair_accumulators(c_bits), _quad_pair_accumulators(d_bits)
    else:
        a, b, c, d = _a(m, k, a_bits), _b(k, n, b_bits), _accumulators(m, n, c_bits), _accumulators(m, n, d_bits)
    fragments = {
        "d": Fragment((m, n), d),
        "a": Fragment((m, k), a, _shift(design.a_format, a_bits)),
        "b": Fragment((k, n), b, _shift(design.b_format, b_bits)),
        "c": Fragment((m, n), c),
    }
    if design.block is not None:
        blocks = k // design.block
        fragments["scale_a"] = Fragment((m, blocks), _scales_of_a(blocks))
        fragments["scale_b"] = Fragment((blocks, n), _scales_of_b(blocks, n))
    return fragments


def _shift(fmt: Format, slot_bits: int) -> int:
    """Return the position of an element's lowest bit in what it takes."""
    return 2 if fmt.bits == 4 and slot_bits == 8 else 0


def _a(m: int, k: int, bits: int) -> _Places:
    together = max(32 // bits, 1)
    lane, stretch, lower, slot = np.ogrid[:_THREADS, : k // (4 * together), : m // 8, :together]
    row, column = lane // 4 + 8 * lower, (4 * stretch + lane % 4) * together + slot
    return in_registers(row * k + column, bits)


def _b(k: int, n: int, bits: int) -> _Places:
    together = max(32 // bits, 1)
    lane, stretch, slot = np.ogrid[:_THREADS, : k // (4 * together), :together]
    row, column = (4 * stretch + lane % 4) * together + slot, lane // 4
    return in_registers(row * n + column, bits)


def _accumulators(m: int, n: int, bits: int) -> _Places:
    lane, lower, neighbour = np.ogrid[:_THREADS, : m // 8, :2]
    row, column = lane // 4 + 8 * lower, lane % 4 * 2 + neighbour
    return in_registers(row * n + column, bits)


def _scales_of_a(blocks: int) -> _Places:
    """Return the places of the scales of A, repeated in all threads and bytes that selectors could choose.

    Of a pair of threads of group g, the first has the scales of row g, the second those of row g + 8.
    """
    lane, byte = np.ogrid[:_THREADS, :4]
    return in_registers((lane // 4 + 8 * (lane % 2)) * blocks + byte % blocks, 8)


def _scales_of_b(blocks: int, n: int) -> _Places:
    """Return the places of the scales of B, repeated likewise; group g has those of column g."""
    lane, byte = np.ogrid[:_THREADS, :4]
    return in_registers(byte % blocks * n + lane // 4, 8)


def _is_of_quad_pairs(design: Design) -> bool:
    """Return whether the instruction is m8n8k4 of f16.

    Each of four quad pairs, threads 4q to 4q + 3 and those 16 above them, then multiplies matrices of its own. All
    four are given the same ones.
    """
    return design.k == 4 and design.a_format.bits == 16


def _quad_pair_a() -> _Places:
    lane, column = np.ogrid[:_THREADS, :4]
    return in_registers((lane % 4 + lane // 16 * 4) * 4 + column, 16)


def _quad_pair_b() -> _Places:
    lane, row = np.ogrid[:_THREADS, :4]
    return in_registers(row * 8 + lane % 4 + lane // 16 * 4, 16)


def _quad_pair_accumulators(bits: int) -> _Places:
    lane, i = np.ogrid[:_THREADS, :8]
    if bits == 16:
        return in_registers((lane % 4 + lane // 16 * 4) * 8 + i, bits)
    row, column = lane // 16 * 4 + (lane & 1) + (i & 2), (i & 4) + (lane & 2) + (i & 1)
    return in_registers(row * 8 + column, bits)
