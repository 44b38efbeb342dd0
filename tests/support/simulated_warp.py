"""A warp that executes the mma.sync of a kernel's source, on words in memory; arithmetic is that of the design.

Every number here is from the PTX ISA (9.1), for each thread and element as it is written there: section 9.7.14.5.1 to
9.7.14.5.11 ("Matrix Fragments for mma.m8n8k4 ..." to "... mma.m16n8k64"), 9.7.14.3 ("Block Scaling for mma.sync"). The
bits of a byte that hold 4 or 6 bits are CUTLASS's (cute/atom/mma_traits_sm120.hpp, fp4_shift_A). Nothing of the
kernel but its source is read: which registers an operand has, where they are in memory, type, shape and selectors.
"""

import ctypes
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from mmaproof.designs.design import Design
from mmaproof.designs.operands import OperandBatch, Patterns, pattern_dtype
from mmaproof.hardware_replay.kernels.kernel import Kernel, Words
from mmaproof.smt.evaluate import evaluate_batch

Places = Callable[[int, int, int, int], tuple[int, int]]
"""Row and column of element i of a thread: of %laneid, i, groupID = %laneid >> 2, threadID_in_group = %laneid % 4."""

# shape, and the bits that an element takes: number of elements of a thread, and their places
A: dict[tuple[str, int], tuple[int, Places]] = {
    ("m8n8k4", 16): (4, lambda lane, i, g, t: (lane % 4 + (0 if lane < 16 else 4), i)),
    ("m8n8k4", 64): (1, lambda lane, i, g, t: (lane >> 2, lane % 4)),
    ("m8n8k16", 8): (4, lambda lane, i, g, t: (g, t * 4 + i)),
    ("m8n8k32", 4): (8, lambda lane, i, g, t: (g, t * 8 + i)),
    ("m16n8k4", 32): (2, lambda lane, i, g, t: (g if i == 0 else g + 8, t)),
    ("m16n8k4", 64): (2, lambda lane, i, g, t: (g if i == 0 else g + 8, t)),
    ("m16n8k8", 16): (4, lambda lane, i, g, t: (g if i in (0, 1) else g + 8, t * 2 + (i & 1))),
    ("m16n8k8", 32): (4, lambda lane, i, g, t: (g if i in (0, 2) else g + 8, t if i in (0, 1) else t + 4)),
    ("m16n8k8", 64): (4, lambda lane, i, g, t: (g if i in (0, 2) else g + 8, t if i in (0, 1) else t + 4)),
    ("m16n8k16", 16): (
        8,
        lambda lane, i, g, t: (
            g if 0 <= i < 2 or 4 <= i < 6 else g + 8,
            t * 2 + (i & 1) if i < 4 else t * 2 + (i & 1) + 8,
        ),
    ),
    ("m16n8k16", 64): (
        8,
        lambda lane, i, g, t: (g if i % 2 == 0 else g + 8, i * 2 + t if i % 2 == 0 else i * 2 - 2 + t),
    ),
    ("m16n8k16", 8): (8, lambda lane, i, g, t: (g if i < 4 else g + 8, t * 4 + (i & 3))),
    ("m16n8k32", 4): (16, lambda lane, i, g, t: (g if i < 8 else g + 8, t * 8 + (i & 7))),
    ("m16n8k32", 8): (
        16,
        lambda lane, i, g, t: (
            g if 0 <= i < 4 or 8 <= i < 12 else g + 8,
            t * 4 + (i & 3) if i < 8 else t * 4 + (i & 3) + 16,
        ),
    ),
    ("m8n8k128", 1): (32, lambda lane, i, g, t: (g, t * 32 + i)),
    ("m16n8k128", 1): (64, lambda lane, i, g, t: (g if i < 32 else g + 8, t * 32 + (i & 0x1F))),
    ("m16n8k256", 1): (
        128,
        lambda lane, i, g, t: (
            g if 0 <= i < 32 or 64 <= i < 96 else g + 8,
            t * 32 + (i & 0x1F) if i < 64 else t * 32 + (i & 0x1F) + 128,
        ),
    ),
    ("m16n8k64", 4): (
        32,
        lambda lane, i, g, t: (
            g if 0 <= i < 8 or 16 <= i < 24 else g + 8,
            t * 8 + (i & 7) if i < 16 else t * 8 + (i & 7) + 32,
        ),
    ),
}
B: dict[tuple[str, int], tuple[int, Places]] = {
    ("m8n8k4", 16): (4, lambda lane, i, g, t: (i, lane % 4 + (0 if lane < 16 else 4))),
    ("m8n8k4", 64): (1, lambda lane, i, g, t: (lane % 4, lane >> 2)),
    ("m8n8k16", 8): (4, lambda lane, i, g, t: (t * 4 + i, g)),
    ("m8n8k32", 4): (8, lambda lane, i, g, t: (t * 8 + i, g)),
    ("m16n8k4", 32): (1, lambda lane, i, g, t: (t, g)),
    ("m16n8k4", 64): (1, lambda lane, i, g, t: (t, g)),
    ("m16n8k8", 16): (2, lambda lane, i, g, t: (t * 2 + i, g)),
    ("m16n8k8", 32): (2, lambda lane, i, g, t: (t if i == 0 else t + 4, g)),
    ("m16n8k8", 64): (2, lambda lane, i, g, t: (t if i == 0 else t + 4, g)),
    ("m16n8k16", 16): (4, lambda lane, i, g, t: (t * 2 + (i & 1) if i < 2 else t * 2 + (i & 1) + 8, g)),
    ("m16n8k16", 64): (4, lambda lane, i, g, t: (t + i * 4, g)),
    ("m16n8k16", 8): (4, lambda lane, i, g, t: (t * 4 + i, g)),
    ("m16n8k32", 4): (8, lambda lane, i, g, t: (t * 8 + i, g)),
    ("m16n8k32", 8): (8, lambda lane, i, g, t: (t * 4 + (i & 3) if i < 4 else t * 4 + (i & 3) + 16, g)),
    ("m8n8k128", 1): (32, lambda lane, i, g, t: (t * 32 + i, g)),
    ("m16n8k128", 1): (32, lambda lane, i, g, t: (t * 32 + i, g)),
    ("m16n8k256", 1): (64, lambda lane, i, g, t: (t * 32 + (i & 0x1F) + (128 if i >= 32 else 0), g)),
    ("m16n8k64", 4): (16, lambda lane, i, g, t: (t * 8 + (i & 7) if i < 8 else t * 8 + (i & 7) + 32, g)),
}
# C and D; those of m8n8k4 with .f16 operands, by the type of the accumulators
QUAD_PAIR: dict[int, tuple[int, Places]] = {
    16: (8, lambda lane, i, g, t: (lane % 4 if lane < 16 else lane % 4 + 4, i)),
    32: (
        8,
        lambda lane, i, g, t: (
            (lane & 0b1) + (i & 0b10) + (0 if lane < 16 else 4),
            (i & 0b100) + (lane & 0b10) + (i & 0b1),
        ),
    ),
}
EIGHT_ROWS: tuple[int, Places] = (2, lambda lane, i, g, t: (g, t * 2 + (i & 1)))
SIXTEEN_ROWS: tuple[int, Places] = (4, lambda lane, i, g, t: (g if i < 2 else g + 8, t * 2 + (i & 1)))

BITS = {"f64": 64, "f32": 32, "s32": 32, "tf32": 32, "f16": 16, "bf16": 16, "e4m3": 8, "e5m2": 8, "s8": 8, "u8": 8}
BITS |= {"e3m2": 6, "e2m3": 6, "e2m1": 4, "s4": 4, "b1": 1}
BYTES_OF_SCALES = {"1X": 1, "2X": 2, "4X": 4}


@dataclass(frozen=True)
class Layout:
    """Where an operand of ``shape`` lies in registers: an element takes ``slot_bits``, from bit ``low`` of them on."""

    shape: tuple[int, int]
    count: int
    places: Places
    bits: int
    slot_bits: int
    low: int = 0

    def elements(self, lane: int) -> list[tuple[int, int, tuple[int, int]]]:
        """Register, position in it and place of each element of a thread."""
        per_register = max(32 // self.slot_bits, 1)
        return [
            (i // per_register, i % per_register * self.slot_bits, self.places(lane, i, lane >> 2, lane % 4))
            for i in range(self.count)
        ]


@dataclass(frozen=True)
class Register:
    """An operand register of the asm statement: element ``thread * stride + index`` of a pointer to ``dtype``."""

    pointer: str
    dtype: str
    stride: int
    index: int


class Warp:
    """What executes the one instruction of ``kernel``."""

    def __init__(self, kernel: Kernel) -> None:
        self.design: Design = kernel.design
        found = re.search(r'"mma\.sync\.aligned\.(\S+) (.*);"\s*:(.*)\);', kernel.source, re.DOTALL)
        assert found is not None
        self.registers = [
            Register(pointer, "u8" if kind == "unsigned long long" else "u4", int(stride), int(index))
            for kind, pointer, stride, index in re.findall(
                r'"=?[rl]"\(\(\((unsigned(?: long long)?) \*\)(\w+)\)\[thread \* (\d+) \+ (\d+)\]\)', found[3]
            )
        ]
        # d, a, b, c as {...}; then the scales, each followed by its selectors as {byte, thread}
        self.groups = [[int(n) for n in re.findall(r"\d+", x)] for x in re.findall(r"\{[^}]*\}|%\d+", found[2])]
        self.modifiers = re.findall(r"[\w:]+", found[1])
        shape = next(x for x in self.modifiers if re.fullmatch(r"m\d+n\d+k\d+", x))
        m, n, k = map(int, re.findall(r"\d+", shape))
        after = self.modifiers[self.modifiers.index("col") + 1 :]
        d, a, b, c = [x for x in after if x in BITS]
        self.quad_pairs = shape == "m8n8k4" and a == "f16"
        self.layouts = {
            "d": self._accumulator(m, n, d),
            "a": self._multiplicand(A, (m, k), shape, a),
            "b": self._multiplicand(B, (k, n), shape, b),
            "c": self._accumulator(m, n, c),
        }

    def _accumulator(self, m: int, n: int, of_type: str) -> Layout:
        bits = BITS[of_type]
        count, places = QUAD_PAIR[bits] if self.quad_pairs else SIXTEEN_ROWS if m == 16 else EIGHT_ROWS
        return Layout((m, n), count, places, bits, bits)

    def _multiplicand(
        self, table: dict[tuple[str, int], tuple[int, Places]], matrix: tuple[int, int], shape: str, of_type: str
    ) -> Layout:
        in_bytes = any(x in self.modifiers for x in ("kind::f8f6f4", "kind::mxf8f6f4"))
        slot_bits = 8 if in_bytes else BITS[of_type]
        count, places = table[shape, slot_bits]
        return Layout(matrix, count, places, BITS[of_type], slot_bits, 2 if in_bytes and of_type == "e2m1" else 0)

    def read(self, name: str, words: Words, lanes: list[int] | None = None) -> Patterns:
        """The matrix of each tile that the threads ``lanes`` have of a, b, c or d; bits of no element must be zero."""
        layout = self.layouts[name]
        numbers = self.groups[list(self.layouts).index(name)]
        matrices = np.full((len(words), *layout.shape), -1, dtype=object)
        for tile in range(len(words)):
            for lane in range(32) if lanes is None else lanes:
                values = [self._value(words, self.registers[x], name, tile, lane) for x in numbers]
                for register, position, place in layout.elements(lane):
                    slot = values[register] >> position & ((1 << layout.slot_bits) - 1)
                    element = slot >> layout.low
                    assert slot == element << layout.low, f"{name}: bits below the element are set"
                    assert element < 1 << layout.bits, f"{name}: bits above the element are set"
                    assert matrices[(tile, *place)] in (-1, element), f"{name}: threads differ on an element"
                    matrices[(tile, *place)] = element
        assert (matrices >= 0).all(), f"{name}: an element is held by no thread"
        return matrices.astype(np.uint64)

    def _value(self, words: Words, register: Register, name: str, tile: int, lane: int) -> int:
        assert register.pointer == name
        # as a copy to the device takes them: by address
        memory = np.frombuffer(ctypes.string_at(words.ctypes.data, words.nbytes), register.dtype)
        return int(memory[(tile * 32 + lane) * register.stride + register.index])

    def read_scales(self, name: str, words: Words) -> Patterns:
        """The scales of each tile: (tiles, M, blocks) of A, (tiles, blocks, N) of B."""
        data, (byte, thread) = self.groups[4:6] if name == "scale_a" else self.groups[6:8]
        blocks = BYTES_OF_SCALES[next(x for x in self.modifiers if x.startswith("scale_vec::"))[-2:]]
        lines = []
        for line in range(16 if name == "scale_a" else 8):
            # A: one pair of threads of each group, for rows g and g + 8; B: one thread of each group
            lane = 4 * (line % 8) + (2 * thread + line // 8 if name == "scale_a" else thread)
            values = [self._value(words, self.registers[data[0]], name, x, lane) for x in range(len(words))]
            lines.append([[value >> 8 * (byte + x) & 0xFF for x in range(blocks)] for value in values])
        by_line = np.array(lines, dtype=np.uint8)
        return by_line.transpose(1, 0, 2) if name == "scale_a" else by_line.transpose(1, 2, 0)

    def run(self, packed: Mapping[str, Words]) -> Words:
        """The words of D: all elements of the tiles, computed with the semantics of the design."""
        layout, tiles = self.layouts["d"], len(packed["c"])
        numbers = self.groups[0]
        dtype, stride = self.registers[numbers[0]].dtype, self.registers[numbers[0]].stride
        d = np.zeros((tiles, 32, stride), dtype=dtype)
        threads = [[x for x in range(32) if x % 16 // 4 == q] for q in range(4)] if self.quad_pairs else [[*range(32)]]
        for lanes in threads:
            a, b, c = (self.read(x, packed[x], lanes) for x in "abc")
            scales = [self.read_scales(x, words) for x, words in packed.items() if x.startswith("scale")]
            results = [self._multiply(*(x[tile] for x in (a, b, c, *scales))) for tile in range(tiles)]
            for tile, result in enumerate(results):
                for lane in lanes:
                    for register, position, place in layout.elements(lane):
                        index = self.registers[numbers[register]].index
                        d[tile, lane, index] |= result[place].astype(dtype) << d.dtype.type(position)
        return d.reshape(tiles, -1).view(np.uint32)

    def _multiply(self, a: Patterns, b: Patterns, c: Patterns, *scales: Patterns) -> Patterns:
        m, n = c.shape
        row, column = np.divmod(np.arange(m * n), n)
        formats = self.design.formats
        a, b, c = (x.astype(pattern_dtype(fmt)) for x, fmt in zip((a, b, c), formats, strict=False))
        of_rows = (scales[0][row], scales[1].T[column]) if scales else (None, None)
        batch = OperandBatch(a[row], b.T[column], c.reshape(-1), *of_rows)
        return evaluate_batch(self.design, batch).reshape(m, n)
