"""A model of what wgmma and tcgen05.mma read and write, from the formulas of the PTX ISA, runs the packed operands.

It takes the values of the descriptors from the source of the kernels, and from the index maps of a kernel nothing.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace

import numpy as np
import pytest
from numpy.typing import NDArray

from mmaproof.designs.catalogue import find_design, load_catalogue
from mmaproof.designs.design import Design
from mmaproof.designs.formats import FORMATS
from mmaproof.designs.operands import OperandBatch, pattern_dtype
from mmaproof.designs.readings import IntegerOverflow
from mmaproof.hardware_replay.cuda.device import compile_kernels, kernel_of
from mmaproof.hardware_replay.kernels.kernel import Fragment, Kernel
from mmaproof.smt.evaluate import evaluate_batch
from mmaproof.verification.distributions import draw

Disassemble = Callable[[Sequence[Kernel]], dict[str, str]]

Words = NDArray[np.uint32]

# one of each layout of operands, scales and accumulators
DESIGNS = (
    "hopper/wgmma.m64n8k8.f32.tf32.tf32",
    "hopper/wgmma.m64n8k16.f32.bf16.bf16",
    "hopper/wgmma.m64n8k16.f16.f16.f16",
    "hopper/wgmma.m64n8k32.f32.e4m3.e5m2",
    "hopper/wgmma.m64n8k32.f16.e5m2.e4m3",
    "blackwell/tcgen05.mma.m64n8k8.f32.tf32.tf32",
    "blackwell/tcgen05.mma.m64n8k16.f32.bf16.bf16",
    "blackwell/tcgen05.mma.m64n8k16.f16.f16.f16",
    "blackwell/tcgen05.mma.m64n8k32.f32.e5m2.e4m3",
    "blackwell/tcgen05.mma.m64n8k32.f32.e3m2.e2m1",
    "blackwell/tcgen05.mma.m64n8k32.f16.e2m1.e2m3",
    "blackwell/tcgen05.mma.m128n8k32.block32.f32.e4m3.e5m2.ue8m0",
    "blackwell/tcgen05.mma.m128n8k32.block32.f32.e2m3.e2m1.ue8m0",
    "blackwell/tcgen05.mma.m128n8k64.block32.f32.e2m1.e2m1.ue8m0",
    "blackwell/tcgen05.mma.m128n8k64.block16.f32.e2m1.e2m1.ue4m3",
    "blackwell/tcgen05.mma.m128n8k64.block16.f32.e2m1.e2m1.ue8m0",
    "hopper/wgmma.m64n8k32.satfinite.s32.u8.s8",
    "hopper/wgmma.m64n8k256.s32.b1.b1.and.popc",
    "blackwell/tcgen05.mma.m64n8k32.satfinite.s32.u8.s8",
)

FORMAT_OF = {f.isa_name: f for f in FORMATS.values()}

A_AT, B_AT = 0x400, 0x2400  # addresses in shared memory, multiples of 16


def number(kernel: Kernel, name: str) -> int:
    """The constant ``name`` of the source."""
    (found,) = re.findall(rf"\b{name} = (0x[0-9a-f]+)u", kernel.source)
    return int(found, 16)


def read_matrix(memory: bytes, descriptor: int, version: int, lines: int, k: int, bits: int, padded: bool) -> NDArray:
    """Elements (line, k) of a K-major operand in shared memory without swizzle.

    "Shared memory descriptor" and "Matrix Descriptor Format": bits 0-13 start address, 16-29 leading dimension byte
    offset, 32-45 stride dimension byte offset, each without its 4 low bits; 46-48 0b001 in tcgen05; 49-63 base offset
    and swizzling mode, here 0. "Canonical Layouts": K-major, no-swizzling: T o ((8,m),(T,2k)):((1T,SBO),(1,LBO)).
    """
    assert descriptor >> 46 == version
    assert not descriptor & 0xC000C000
    start, leading, stride = ((descriptor >> bit & 0x3FFF) << 4 for bit in (0, 16, 32))
    per_chunk = 16 if padded else 128 // bits
    elements = np.zeros((lines, k), dtype=np.uint32)
    for line in range(lines):
        for chunk in range(k // per_chunk):
            at = start + line // 8 * stride + line % 8 * 16 + chunk * leading
            value = int.from_bytes(memory[at : at + 16], "little")
            for i in range(per_chunk):
                elements[line, chunk * per_chunk + i] = value >> (i * bits) & ((1 << bits) - 1)
    return elements


def shared_memory(a: Words, b: Words) -> bytes:
    memory = bytearray(b"\xa5" * 0x4000)
    for at, words in ((A_AT, a), (B_AT, b)):
        image = words.astype("<u4").tobytes()
        memory[at : at + len(image)] = image
    return bytes(memory)


def accumulator_of_wgmma(i: int, j: int, bits: int) -> tuple[int, int]:
    """The word and shift of D[i, j]: "Matrix Fragments for wgmma.mma_async.m64nNk16", accumulator D.

    row = groupID (+ 8) + 16 * (warp of the warpgroup), col = (i/4*8) + (threadID_in_group * 2) + (i & 0x1).
    """
    warp, row = divmod(i, 16)
    thread = warp * 32 + (row % 8) * 4 + j % 8 // 2
    index = j // 8 * 4 + row // 8 * 2 + j % 2
    per_register = 32 // bits
    registers = 4 // per_register
    return thread * registers + index // per_register, index % per_register * bits


def accumulator_of_tcgen05(i: int, j: int, m: int) -> tuple[int, int]:
    """The word and shift of D[i, j]: thread (= lane) t stores and loads columns 0 to 7 of its lane.

    "Data Path Layout Organization": layout D for M = 128, layout F for M = 64; an element of 16 bits is the lower half.
    """
    lane = i if m == 128 else i // 16 * 32 + i % 16
    return lane * 8 + j, 0


def scale(words: Words, line: int, block: int, scale_id: int, columns: int) -> int:
    """The scale of a row of A or a column of B, of 32 lanes by ``columns`` columns: "Layout of the Scale Factor..."."""
    lane, column = line % 32, line // 32
    return int(words[lane * columns + column]) >> (scale_id + block) * 8 & 0xFF


@dataclass(frozen=True)
class Instruction:
    """What the source of a kernel tells the hardware, descriptors decoded; formats by their names in the ISA."""

    size: tuple[int, int, int]
    a: str
    b: str
    d: str
    version: int  # of matrix descriptors
    padded: bool
    blocks: int = 0
    scale: str | None = None
    scale_ids: tuple[int, int] = (0, 0)

    def accumulator(self, i: int, j: int) -> tuple[int, int]:
        if self.version:
            return accumulator_of_tcgen05(i, j, self.size[0])
        return accumulator_of_wgmma(i, j, FORMAT_OF[self.d].bits)


def decode(kernel: Kernel) -> Instruction:
    return decode_wgmma(kernel) if "wgmma" in kernel.source else decode_tcgen05(kernel)


def saturates(kernel: Kernel) -> bool:
    return kernel.design.settings.get("integer_overflow") == IntegerOverflow.SATURATE


def decode_wgmma(kernel: Kernel) -> Instruction:
    found = re.search(
        r"mma_async\.sync\.aligned\.m(\d+)n(\d+)k(\d+)\.(\w+)\.(\w+)\.(\w+)(\S*) .*add_c(.*);", kernel.source
    )
    assert found
    *size, d, a, b, operation, modifiers = found.groups()
    factors = "" if d == "s32" else ", 1, 1, 0, 0" if FORMAT_OF[a].bits == 16 else ", 1, 1"
    assert modifiers == factors
    assert operation in ([".and.popc"] if a == "b1" else ["", ".satfinite"] if d == "s32" else [""])
    assert (operation == ".satfinite") is saturates(kernel)
    m, n, k = map(int, size)
    return Instruction((m, n, k), a, b, d, version=0, padded=False)


def decode_tcgen05(kernel: Kernel) -> Instruction:
    """ "Instruction descriptor", its tables for the kinds; "Valid combinations of scale_vectorsize with types..."."""
    found = re.search(r"tcgen05\.mma\.cta_group::1\.kind::(\w+)(?:\.block_scale\.scale_vec::(\d)X)? ", kernel.source)
    assert found
    kind, blocks = found[1], int(found[2] or 0)
    descriptor = number(kernel, "instruction")

    def field(low: int, size: int) -> int:
        return descriptor >> low & ((1 << size) - 1)

    # dense, nothing negated or transposed, K = 64 for 4 bits, reserved bits; bit 3 saturates integers
    assert field(3, 1) == saturates(kernel)
    assert field(0, 3) == field(6, 1) == field(13, 4) == field(31, 1) == 0
    of_8_bits = ["e4m3", "e5m2", "", "e2m3", "e3m2", "e2m1"]
    of_16_bits = ["f16", "bf16", "tf32"]
    types, k = {
        "tf32": (of_16_bits, 8),
        "f16": (of_16_bits, 16),
        "f8f6f4": (of_8_bits, 32),
        "mxf8f6f4": (of_8_bits, 32),
        "mxf4": (["", "e2m1"], 64),
        "mxf4nvf4": (["", "e2m1"], 64),
        "i8": (["u8", "s8"], 32),
    }[kind]
    plain = Instruction(
        (field(24, 5) << 4, field(17, 6) << 3, k),
        types[field(7, 3)],
        types[field(10, 3)],
        "f32" if blocks else ["f16", "f32", "s32"][field(4, 2)],
        version=1,
        padded=kind.endswith("f8f6f4"),
    )
    if not blocks:
        assert not kind.startswith("mx")
        assert field(23, 1) == field(29, 2) == 0
        return plain
    assert kind == {1: "mxf8f6f4", 2: "mxf4", 4: "mxf4nvf4"}[blocks]
    scale_ids = field(29, 2), field(4, 2)
    return replace(plain, blocks=blocks, scale=["ue4m3", "ue8m0"][field(23, 1)], scale_ids=scale_ids)


@dataclass(frozen=True)
class Tile:
    """The matrices of a tile as the hardware reads them, B and its scales by columns."""

    a: NDArray
    b: NDArray
    c: NDArray
    scale_a: NDArray
    scale_b: NDArray


def read_tile(kernel: Kernel, words: dict[str, Words]) -> Tile:
    instruction = decode(kernel)
    m, n, k = instruction.size
    version, padded = instruction.version, instruction.padded
    memory = shared_memory(words["a"], words["b"])
    layout = number(kernel, "layout")
    a_bits, b_bits, d_bits = (FORMAT_OF[name].bits for name in (instruction.a, instruction.b, instruction.d))
    c = np.zeros((m, n), dtype=np.uint32)
    for i, j in np.ndindex(m, n):
        word, shift = instruction.accumulator(i, j)
        c[i, j] = int(words["c"][word]) >> shift & ((1 << d_bits) - 1)
    scales = [
        np.array(
            [[scale(words[name], line, x, of, columns) for x in range(instruction.blocks)] for line in range(lines)]
        )
        for name, lines, of, columns in zip(("scale_a", "scale_b"), (m, n), instruction.scale_ids, (4, 1), strict=True)
    ]
    return Tile(
        read_matrix(memory, layout | A_AT >> 4, version, m, k, a_bits, padded),
        read_matrix(memory, layout | B_AT >> 4, version, n, k, b_bits, padded),
        c,
        *scales,
    )


def multiply(design: Design, tiles: list[Tile]) -> NDArray:
    """D of every tile, each element as the design computes it."""
    tile, i, j = np.indices((len(tiles), design.m, design.n)).reshape(3, -1)
    a, b, c, scale_a, scale_b = (np.stack([getattr(t, field.name) for t in tiles]) for field in fields(Tile))
    types = [pattern_dtype(f) for f in design.formats[:3]]
    columns = [x.astype(t) for x, t in zip((a[tile, i], b[tile, j], c[tile, i, j]), types, strict=True)]
    if design.block is not None:
        columns += [scale_a[tile, i].astype(np.uint8), scale_b[tile, j].astype(np.uint8)]
    return evaluate_batch(design, OperandBatch(*columns)).reshape(len(tiles), design.m, design.n)


def run(kernel: Kernel, batch: OperandBatch) -> NDArray:
    """D of the rows of ``batch`` as the model of the hardware leaves it in the words of the kernel."""
    packed, instruction = kernel.pack(batch), decode(kernel)
    tiles = [
        read_tile(kernel, {name: words[tile] for name, words in packed.items()}) for tile in range(len(packed["a"]))
    ]
    d_words = np.full((len(tiles), kernel.fragments["d"].words), 0xA5A5A5A5, dtype=np.uint32)
    mask = (1 << FORMAT_OF[instruction.d].bits) - 1
    for (tile, i, j), pattern in np.ndenumerate(multiply(kernel.design, tiles)):
        word, shift = instruction.accumulator(i, j)
        d_words[tile, word] = int(d_words[tile, word]) & ~(mask << shift) | int(pattern) << shift
    return kernel.unpack(d_words, len(batch))


def operands(design: Design) -> OperandBatch:
    """As many rows as use every row of A, and one more: the last tile is not full."""
    return draw("normal", design, design.m + 1, design.k, np.random.default_rng(0))


def differs(kernel: Kernel) -> bool:
    batch = operands(kernel.design)
    return not np.array_equal(run(kernel, batch), evaluate_batch(kernel.design, batch))


@pytest.mark.few(2)
@pytest.mark.parametrize("name", DESIGNS)
def test_operands_and_results_lie_where_the_hardware_has_them(name: str) -> None:
    assert not differs(kernel_of(find_design(name)))


@pytest.mark.slow_values("<lambda>0-blackwell/tcgen05.mma.m128n8k32.block32.f32.e2m3.e2m1.ue8m0")
@pytest.mark.middle
@pytest.mark.parametrize("name", ["hopper/wgmma.m64n8k32.f16.e5m2.e4m3", DESIGNS[12], DESIGNS[14]])
@pytest.mark.parametrize("change", [lambda f: replace(f, shift=1), lambda f: replace(f, places=np.roll(f.places, 1))])
def test_the_model_notices_an_operand_elsewhere(name: str, change: Callable[[Fragment], Fragment]) -> None:
    kernel = kernel_of(find_design(name))
    for operand, fragment in kernel.fragments.items():
        assert differs(replace(kernel, fragments={**kernel.fragments, operand: change(fragment)})), operand


def test_the_model_notices_exchanged_offsets_of_a_descriptor() -> None:
    kernel = kernel_of(find_design("blackwell/tcgen05.mma.m64n8k32.f32.e3m2.e2m1"))
    exchanged = kernel.source.replace("0x0000401000080000", "0x0000400800100000")
    assert exchanged != kernel.source
    assert differs(replace(kernel, source=exchanged))


def kernels(family: str) -> list[Kernel]:
    known = (d for d in load_catalogue().designs.values() if not d.is_assumed)
    return [kernel_of(d) for d in known if d.instruction.split(".")[0] == family]


@pytest.mark.parametrize("family", ["wgmma", "tcgen05"])
def test_each_kernel_states_the_instruction_of_its_design(family: str) -> None:
    for kernel in kernels(family):
        said, design = decode(kernel), kernel.design
        assert said.size == (design.m, design.n, design.k)
        assert [said.a, said.b, said.d] == [f.isa_name for f in (design.a_format, design.b_format, design.d_format)]
        assert said.blocks == design.blocks(design.k)
        assert said.scale == (design.scale_format and design.scale_format.isa_name)


@pytest.mark.parametrize("family", ["wgmma", pytest.param("tcgen05", marks=pytest.mark.middle)])
def test_kernels_compile(family: str) -> None:
    pytest.importorskip("cuda.bindings", reason="the package cuda-bindings is not here")
    assert compile_kernels(kernels(family))


@pytest.mark.middle
@pytest.mark.parametrize("family", ["wgmma", "tcgen05"])
def test_the_machine_code_has_the_one_instruction(family: str, disassemble: Disassemble) -> None:
    pytest.importorskip("cuda.bindings", reason="the package cuda-bindings is not here")
    of_family = kernels(family)
    code = disassemble(of_family)
    assert {k.name: len(re.findall(k.machine_code, code[k.name])) for k in of_family} == {k.name: 1 for k in of_family}
