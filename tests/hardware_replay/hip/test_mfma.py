"""MFMA: every design compiles to the instruction that it names, and its operands lie where AMD's documents say."""

import re
import shutil
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from math import ceil
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from mmaproof.designs.catalogue import find_design, load_catalogue
from mmaproof.designs.errors import InputError
from mmaproof.designs.operands import OperandBatch, Patterns
from mmaproof.hardware_replay.hip.mfma import ARCHITECTURES, kernel
from mmaproof.hardware_replay.kernels.kernel import Fragment, Kernel
from mmaproof.smt.evaluate import evaluate_batch
from mmaproof.verification.distributions import draw

TARGETS = {"cdna1": "gfx908", "cdna2": "gfx90a", "cdna3": "gfx942"}
MFMA = [x for x in load_catalogue().designs.values() if x.architecture in ARCHITECTURES and "mfma" in x.instruction]
KERNELS = [kernel(x) for x in MFMA]

# the tables of "AMD matrix cores" (lab notes) and of the instruction set guides; the rest has one block
BLOCKS = {
    2: ["32x32x1f32", "32x32x4f16", "32x32x2bf16", "32x32x4bf16_1k", "32x32x4i8"],
    4: ["16x16x1f32", "16x16x4f16", "16x16x2bf16", "16x16x4bf16_1k", "4x4x4f64", "16x16x4i8"],
    16: ["4x4x1f32", "4x4x4f16", "4x4x2bf16", "4x4x4bf16_1k", "4x4x4i8"],
}


def blocks_of(of: Kernel) -> int:
    """CDNA3 states them, CDNA1 and CDNA2 do not."""
    instruction = of.design.instruction
    if of.design.architecture == "cdna3":
        stated = re.search(r"_(\d+)b_", instruction)
        return int(stated[1]) if stated else 1
    return next((blocks for blocks, names in BLOCKS.items() if instruction.split("_", 3)[3] in names), 1)


@dataclass(frozen=True)
class Wavefront:
    """64 lanes that multiply blocks: CDNA4 instruction set guide, 7.1.4, "General input and output layout".

    ``by_rows``: of f64 4x4x4, D lies as AMD's matrix instruction calculator and lab notes have it instead.
    """

    of: Kernel
    by_rows: bool = False

    def inputs(self, name: str) -> tuple[NDArray, NDArray]:
        """Lane and item of A[b, i, k] or B[b, j, k], by b, i or j, and k."""
        design, blocks = self.of.design, blocks_of(self.of)
        lines = design.m if name == "a" else design.n
        k_l = design.k // (64 // (lines * blocks))
        b, line, k = np.indices((blocks, lines, design.k))
        return line + lines * (b + blocks * (k // k_l)), k % k_l

    def outputs(self) -> tuple[NDArray, NDArray]:
        """Lane and item of C[b, i, j] and D[b, i, j], by b, i, j."""
        m, n = self.of.design.m, self.of.design.n
        h = 1 if self.of.design.d_format.name == "fp64" else 4
        b_i = ceil(64 / (n * m // h))
        m_i = 64 // b_i // n
        g = m // (h * m_i)
        b, i, j = np.indices((blocks_of(self.of), m, n))
        if self.by_rows:
            return 16 * i + 4 * b + j, np.zeros_like(i)
        return j + n * (i // h % m_i + m_i * (b % b_i)), i % h + h * (i // (h * m_i) + g * (b // b_i))

    def run(self, packed: dict[str, Patterns]) -> Patterns:
        """The words of D. Items are packed into the registers of a lane in little-endian form."""
        design = self.of.design

        def read(name: str, bits: int, places: tuple[NDArray, NDArray]) -> Patterns:
            lanes = packed[name].reshape(len(packed[name]), 64, -1).view(f"<u{bits // 8}")
            return lanes[:, *places]

        c = read("c", design.c_format.bits, self.outputs())
        tile, block, i, j = np.indices(c.shape).reshape(4, -1)
        a = read("a", design.a_format.bits, self.inputs("a"))[tile, block, i]
        b = read("b", design.b_format.bits, self.inputs("b"))[tile, block, j]
        d = evaluate_batch(design, OperandBatch(a, b, c.reshape(-1))).reshape(c.shape)
        registers = np.full((len(c), 64, packed["c"].shape[1] // 64), 0xA5A5A5A5, dtype=np.uint32)
        registers.view(d.dtype)[:, *self.outputs()] = d
        return registers.reshape(len(c), -1)


def wavefronts(of: Kernel) -> list[Wavefront]:
    """One for each reading of the documents."""
    return [Wavefront(of), Wavefront(of, by_rows=True)] if "f64_4x4x4" in of.design.instruction else [Wavefront(of)]


def layout_of(of: Kernel) -> tuple[object, ...]:
    """What tells two layouts apart."""
    return tuple((name, x.shape, x.places.shape, x.places.tobytes()) for name, x in sorted(of.fragments.items()))


ONE_OF_EACH_LAYOUT = list({layout_of(x): x for x in KERNELS}.values())


def unpack(fragment: Fragment, words: Patterns, bits: int) -> Patterns:
    """The matrix of one tile, elements of 32 or 64 bits."""
    word, bit = fragment.homes()
    return (words[0, word] >> bit).view(f"<u{bits // 8}").reshape(fragment.shape)


def differs(of: Kernel) -> bool:
    """Whether matrices of random operands, multiplied by a wavefront, give anything but what the design does."""
    (m, k), (_, n) = of.fragments["a"].shape, of.fragments["b"].shape
    operands = draw("normal", of.design, max(m, n), k, np.random.default_rng(0))
    c = draw("normal", of.design, m * n, k, np.random.default_rng(1)).c
    matrices = {"a": operands.a[:m], "b": operands.b[:n].T, "c": c.reshape(m, n)}
    packed = {name: of.fragments[name].pack(x[None]) for name, x in matrices.items()}
    i, j = np.indices((m, n)).reshape(2, -1)
    expected = evaluate_batch(of.design, OperandBatch(operands.a[i], operands.b[j], c)).reshape(m, n)
    returned = [unpack(of.fragments["d"], x.run(packed), of.design.d_format.bits) for x in wavefronts(of)]
    return not all(np.array_equal(x, expected) for x in returned)


@pytest.mark.few(14)
@pytest.mark.parametrize("of", ONE_OF_EACH_LAYOUT, ids=lambda of: of.name)
def test_wavefront_multiplies_the_matrices_that_were_packed(of: Kernel) -> None:
    assert not differs(of)


@pytest.mark.few(7)
@pytest.mark.parametrize("of", KERNELS, ids=lambda of: of.name)
def test_rows_come_back_as_the_design_computes_them(of: Kernel) -> None:
    rows = 2 * of.rows + 3
    batch = draw("normal", of.design, rows, of.design.k, np.random.default_rng(2))
    expected = evaluate_batch(of.design, batch)
    assert len(np.unique(expected)) > rows // 2
    for wavefront in wavefronts(of):
        assert np.array_equal(of.unpack(wavefront.run(of.pack(batch)), rows), expected)


def test_rows_of_blocks_that_are_not_used_are_zero() -> None:
    of = kernel(find_design("cdna3/v_mfma_f64_4x4x4_4b_f64"))
    packed = of.fragments["a"].pack(np.full((1, 4, 4), 0x3FF8000000000001, dtype=np.uint64))
    used = {i + 4 * i + 16 * k for i in range(4) for k in range(4)}
    assert {x // 2 for x in np.flatnonzero(packed).tolist()} == used


def transposed(x: Fragment) -> Fragment:
    row, column = np.divmod(x.places, x.shape[1])
    return replace(x, places=column * x.shape[1] + row)


def rows_moved(x: Fragment) -> Fragment:
    """Four rows on; of elements of 64 bits, two rows."""
    return replace(x, places=(x.places + 4 * x.shape[1]) % (x.places.max() + 1))


def next_word(x: Fragment) -> Fragment:
    return replace(x, places=np.roll(x.places, 1, axis=0))


def slots_exchanged(x: Fragment) -> Fragment:
    return replace(x, places=x.places[:, ::-1])


@pytest.mark.parametrize(
    ("design", "operand", "wrong"),
    [
        ("cdna1/v_mfma_f32_32x32x2f32", "d", transposed),
        ("cdna1/v_mfma_f32_32x32x2f32", "c", rows_moved),
        ("cdna3/v_mfma_f32_4x4x4_16b_f16", "d", rows_moved),
        ("cdna3/v_mfma_f32_16x16x4_4b_f16", "a", slots_exchanged),
        ("cdna3/v_mfma_i32_16x16x32_i8", "b", slots_exchanged),
        ("cdna3/v_mfma_f32_16x16x8_xf32", "a", next_word),
        ("cdna2/v_mfma_f64_16x16x4f64", "d", rows_moved),
        ("cdna2/v_mfma_f64_4x4x4f64", "b", next_word),
    ],
)
def test_wrong_layout_is_noticed(design: str, operand: str, wrong: Callable[[Fragment], Fragment]) -> None:
    of = kernel(find_design(design))
    assert differs(replace(of, fragments={**of.fragments, operand: wrong(of.fragments[operand])}))


@pytest.mark.parametrize(
    "design", ["hopper/mma.m16n8k16.f32.f16.f16.f32", "cdna1/v_mfma_f32_4x4x4f16@L=2", "cdna2/v_dot2_f32_f16"]
)
def test_other_designs_are_rejected(design: str) -> None:
    with pytest.raises(InputError, match=re.escape(design)):
        kernel(find_design(design))


# what the kernels use of HIP's headers
PRELUDE = """
#define __global__ __attribute__((global))
struct Index { unsigned x; };
#define threadIdx (Index{__builtin_amdgcn_workitem_id_x()})
#define blockIdx (Index{__builtin_amdgcn_workgroup_id_x()})
"""

COMPILERS = ["hipcc", "amdclang++", "clang++", *(f"clang++-{version}" for version in range(30, 13, -1))]


def assembly(compiler: str, target: str, source: str, folder: Path) -> subprocess.CompletedProcess[str]:
    (folder / "kernels.hip").write_text(PRELUDE + source)
    options = ["-x", "hip", f"--offload-arch={target}", "-nogpulib", "-nogpuinc", "--cuda-device-only", "-O2", "-S"]
    command = [compiler, *options, "kernels.hip", "-o", "-"]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=300, check=False)


def compilers_for(target: str, folder: Path) -> Iterator[str]:
    empty = 'extern "C" __global__ void empty() {}'
    for name in COMPILERS:
        if shutil.which(name) and not assembly(name, target, empty, folder).returncode:
            yield name


@pytest.mark.few(1)
@pytest.mark.parametrize(("architecture", "target"), TARGETS.items())
def test_compiles_to_its_instruction_and_no_other(architecture: str, target: str, tmp_path: Path) -> None:
    compiler = next(compilers_for(target, tmp_path), None)
    if compiler is None:
        pytest.skip(f"no compiler for {target} is here: hipcc, or clang++ with the AMDGPU target that knows it")
    kernels = [x for x in KERNELS if x.design.architecture == architecture]
    assert {x.architecture for x in kernels} == {target}
    compiled = assembly(compiler, target, "\n".join(x.source for x in kernels), tmp_path)
    assert compiled.returncode == 0, compiled.stderr
    # what is before the first label, then label and text of each function
    parts = re.split(r"^(\w+):", compiled.stdout, flags=re.MULTILINE)
    text = {name: code.split("s_endpgm")[0] for name, code in zip(parts[1::2], parts[2::2], strict=True)}
    assert {x.name: re.findall(r"\bv_mfma\S*\s", text[x.name]) for x in kernels} == {
        x.name: re.findall(x.machine_code, text[x.name])[:1] for x in kernels
    }
