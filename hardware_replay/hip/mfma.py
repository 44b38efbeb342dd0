"""Kernels of MFMA, the matrix instructions of CDNA1 to CDNA3: one wavefront multiplies matrices in its registers.

The layouts are those that AMD's matrix instruction calculator prints (ROCm/amd_matrix_instruction_calculator on GitHub)
and that the CDNA4 instruction set guide, 7.1.4, "General input and output layout", states for every MFMA; the programs
of AMD's lab notes, "AMD matrix cores", use them. A lane has neighbours along K of one row of A and of one column of B.
The lanes go through the rows (columns) of a block, then through the blocks, then through the stretches of K. Of C and D
a lane has one column: groups of four rows (of f64 one row), dealt out to the lanes first, then to the registers.

An instruction may multiply several blocks. Those of A, C and D lie below each other here, and all have the same B: one
product of blocks * M rows. For the four blocks of f64 4x4x4 the sources disagree: row i of block b of D is in the lanes
from 16*i + 4*b on (calculator, lab notes) or from 4*i + 16*b on (guide). They agree on row b of block b, so row i of
the one product of 4 rows is in block i, and the other rows of the blocks are not used.
"""

from __future__ import annotations

import re

import numpy as np
import numpy.typing as npt

from mmaproof.designs.catalogue import load_catalogue
from mmaproof.designs.design import Design
from mmaproof.designs.errors import InputError
from mmaproof.hardware_replay.kernels.kernel import NOTHING, Fragment, Kernel, in_registers

ARCHITECTURES = ("cdna1", "cdna2", "cdna3")
"""The architectures of the catalogue whose instructions are AMD's."""

_LANES = 64

_SOURCE = """
extern "C" __global__ void {name}(
    const unsigned *a, const unsigned *b, const unsigned *c, const unsigned *scale_a, const unsigned *scale_b, unsigned *d)
{{
    typedef {input};
    typedef {accumulators};
    const unsigned long long thread = blockIdx.x * {lanes}ull + threadIdx.x;
    ((Accumulators *)d)[thread] = __builtin_amdgcn_{builtin}(
        ((const Input *)a)[thread], ((const Input *)b)[thread], ((const Accumulators *)c)[thread], 0, 0, 0);
}}
"""  # noqa: E501

_TYPES = {"fp64": "double", "fp32": "float", "tf32": "float", "fp16": "_Float16", "bf16": "short", "int32": "int"}
"""C++ types of the elements of registers by format; elements of 8 bits are handed over as one integer."""

_Places = npt.NDArray[np.intp]


def kernel(design: Design) -> Kernel:
    """Return the kernel of an instruction; InputError for a design that is none of AMD's, or a changed one.

    Its source is HIP C++ that needs no header but the one of blockIdx and threadIdx; clang compiles it, from version 17
    on for CDNA3. The fragments of a, c and d have the rows of all blocks, those of f64 4x4x4 one row of each.
    """
    if design.architecture not in ARCHITECTURES:
        raise InputError(f"{design.name} is not an instruction of an AMD GPU: {', '.join(ARCHITECTURES)} are")
    if design.name != design.base_name:
        raise InputError(f"{design.name} has parameters changed: a GPU runs {design.base_name}")
    if not design.instruction.startswith("v_mfma_"):
        raise InputError(f"{design.name} has no kernel here: those of v_mfma instructions are written")
    name = re.sub(r"\W", "_", design.name)
    architecture = load_catalogue().architectures[design.architecture].targets[-1]
    machine_code = rf"\b{re.escape(design.instruction)}\s"
    return Kernel(design, architecture, name, _source(name, design), _LANES, _fragments(design), machine_code)


def _builtin(design: Design) -> str:
    """Return clang's name of the instruction without its prefix.

    Instructions of CDNA3 that CDNA2 has too are called as there: 32x32x4_2b_bf16 is 32x32x4bf16_1k.
    """
    name = re.sub("_bf16$", "_bf16_1k", design.instruction.removeprefix("v_"))
    return re.sub(r"(_\d+b)?_(bf16_1k|f16|f32|f64)$", r"\2", name)


def _neighbours(design: Design) -> int:
    """Return how many elements of A, and of B, a lane has.

    They fill 64 bits, or 32 of fp32, of bf16 without _1k, and of int8 before CDNA3.
    """
    before = re.search(r"(bf16|[0-9]i8)$", _builtin(design)) is not None
    fills_one_register = design.a_format.name == "fp32" or before
    return (32 if fills_one_register else 64) // design.a_format.bits


def _blocks(design: Design) -> int:
    return _LANES * _neighbours(design) // (design.m * design.k)


def _source(name: str, design: Design) -> str:
    accumulators = _blocks(design) * design.m * design.n // _LANES
    if design.a_format.bits == 8:
        inputs = _declare("long long" if _neighbours(design) == 8 else "int", "Input", 1)
    else:
        inputs = _declare(_TYPES[design.a_format.name], "Input", _neighbours(design))
    return _SOURCE.format(
        name=name,
        input=inputs,
        accumulators=_declare(_TYPES[design.d_format.name], "Accumulators", accumulators),
        lanes=_LANES,
        builtin=_builtin(design),
    )


def _declare(element: str, name: str, count: int) -> str:
    return f"{element} {name}" + (f" __attribute__((ext_vector_type({count})))" if count > 1 else "")


def _fragments(design: Design) -> dict[str, Fragment]:
    m, n, k = _rows(design), design.n, design.k
    accumulators = Fragment((m, n), _accumulators(design))
    return {
        "a": Fragment((m, k), _a(design)),
        "b": Fragment((k, n), _b(design)),
        "c": accumulators,
        "d": accumulators,
    }


def _uses_one_row_of_a_block(design: Design) -> bool:
    """Return whether the instruction is 4x4x4 of f64, the only one of f64 with more than one block."""
    return design.a_format.bits == 64 and _blocks(design) > 1


def _rows(design: Design) -> int:
    """Return the number of rows of A, C and D."""
    return design.m if _uses_one_row_of_a_block(design) else design.m * _blocks(design)


def _elements(design: Design, block: _Places, row: _Places, columns: int, column: _Places) -> _Places:
    """Return the elements of A, C or D in ``column`` and in ``row`` of ``block``."""
    if _uses_one_row_of_a_block(design):
        return np.where(block == row, row * columns + column, NOTHING)
    elements: _Places = (block * design.m + row) * columns + column
    return elements


def _a(design: Design) -> _Places:
    lane, neighbour = np.ogrid[:_LANES, : _neighbours(design)]
    stretch, line = np.divmod(lane, design.m * _blocks(design))
    block, row = np.divmod(line, design.m)
    elements = _elements(design, block, row, design.k, stretch * _neighbours(design) + neighbour)
    return in_registers(elements, design.a_format.bits)


def _b(design: Design) -> _Places:
    lane, neighbour = np.ogrid[:_LANES, : _neighbours(design)]
    stretch, line = np.divmod(lane, design.n * _blocks(design))
    elements = (stretch * _neighbours(design) + neighbour) * design.n + line % design.n
    return in_registers(elements, design.b_format.bits)


def _accumulators(design: Design) -> _Places:
    """Return the places of C and D; blocks of 4x4 lie side by side in the lanes of a register, others do not."""
    m, n, bits, blocks = design.m, design.n, design.d_format.bits, _blocks(design)
    height = 1 if bits == 64 else 4
    lane, register = np.ogrid[:_LANES, : blocks * m * n // _LANES]
    group, column = np.divmod(lane, n)
    side_by_side = max(_LANES * height // (m * n), 1)
    # the groups of a register, then those of the next, all blocks after each other
    row = (register // height * (_LANES // n // side_by_side) + group // side_by_side) * height + register % height
    block = row // m + group % side_by_side
    return in_registers(_elements(design, block, row % m, n, column), bits)
