"""The designs of the architecture ``cpu`` against the instructions of this CPU, where it has them."""

import ctypes
import errno
import platform
import sys
from dataclasses import replace

import numpy as np
import pytest

from mmaproof.designs.catalogue import find_design, load_catalogue
from mmaproof.designs.design import Design
from mmaproof.designs.element import Operands
from mmaproof.designs.errors import DesignError, InputError, OperandError, TargetUnavailable
from mmaproof.designs.operands import OperandBatch, Patterns
from mmaproof.hardware_replay import cpu
from mmaproof.hardware_replay.cpu import INSTRUCTIONS, CpuInstruction, find_cpu_instruction, permit_tiles, tile_source
from mmaproof.hardware_replay.target import Unit
from mmaproof.smt.evaluate import equal_patterns, evaluate_batch
from mmaproof.verification.distributions import DISTRIBUTIONS, draw

RUNS = [(x, d) for x in INSTRUCTIONS.values() for d in x.designs]
of_each_run = pytest.mark.parametrize(
    ("instruction", "design"), RUNS, ids=[f"{x.name}-{d.instruction.partition('.')[0]}" for x, d in RUNS]
)
BF16, TILE = "cpu/vdpbf16ps.m1n1k2.f32.bf16.bf16.f32", "cpu/tdpbf16ps.m16n16k32.f32.bf16.bf16.f32"
NORMAL_ROWS, SLOW_ROWS = 100_000, 4_000_000

# what each mutant computes otherwise than the instruction
MUTANTS = [
    (BF16, "k_order=consecutive"),  # the even element first
    (BF16, "L=2"),  # both products and c added exactly, rounded once
    (BF16, "summation=pairwise"),  # each product rounded, and flushed, before it is added
    (BF16, "subnormals=kept"),
    (BF16, "subnormals=operands"),
    (BF16, "subnormals=accumulator"),
    (BF16, "subnormals=results"),
    (BF16, "flushed_sign=positive"),
    (BF16, "tininess=rounded"),
    (BF16, "zero_sum=positive"),
    (BF16, "rho=rz-fp32"),
    (TILE, "k_order=mod4:02/13"),
    (TILE, "L=16"),  # two instructions of half the length
    (TILE, "summation=pairwise"),
    (TILE, "subnormals=kept"),
    (TILE, "subnormals=operands"),
    (TILE, "subnormals=accumulator"),
    (TILE, "subnormals=results"),
    (TILE, "flushed_sign=positive"),
    (TILE, "tininess=rounded"),
    (TILE, "rho=rz-fp32"),
    ("cpu/tdpfp16ps", "subnormals=flushed"),  # fp16 operands too
    ("cpu/tdpfp16ps", "subnormals=kept"),  # c too
    ("cpu/tdpfp16ps", "L=16"),
    ("cpu/tdpbf8ps", "chain_terms=1"),
    ("cpu/tdpbssd", "integer_overflow=saturate"),
    ("cpu/vpdpwssds", "integer_overflow=wrap"),
    ("cpu/vpdpwssds", "L=1,integer_overflow=saturate"),
    ("cpu/vpdpbusd", "integer_overflow=saturate"),
    ("cpu/vpdpbusds", "integer_overflow=wrap"),
    ("cpu/vpdpbusds", "L=1,integer_overflow=saturate"),  # saturates after each product
    ("cpu/vpmaddubsw-vpmaddwd-vpaddd", "intermediate_bits=none"),
    ("cpu/vpmaddubsw-vpmaddwd-vpaddd", "intermediate_bits=17"),
    ("cpu/vpmaddubsw-vpmaddwd-vpaddd", "intermediate_bits=15"),
    ("cpu/vpmaddubsw-vpmaddwd-vpaddd", "integer_overflow=saturate"),
    ("cpu/vpmaddubsw-vpaddw", "intermediate_bits=none"),
    ("cpu/vpmaddubsw-vpaddw", "integer_overflow=saturate"),
    ("cpu/vpmaddubsw-vpaddsw", "intermediate_bits=none"),
    ("cpu/vpmaddubsw-vpaddsw", "integer_overflow=wrap"),
    ("cpu/vpmaddwd-vpaddd", "integer_overflow=saturate"),
    ("cpu/vfmadd231ps", "summation=pairwise"),  # the product rounded before it is added
    ("cpu/vfmadd231ps", "subnormals=flushed"),
    ("cpu/vfmadd231ps", "zero_sum=positive"),
    ("cpu/vfmadd231ph", "summation=pairwise"),
    ("cpu/vfmadd231ph", "subnormals=flushed"),
    ("cpu/vfmadd231ph", "zero_sum=positive"),
    ("cpu/vfmadd231pd", "summation=pairwise"),
    ("cpu/vfmadd231pd", "subnormals=flushed"),
    ("cpu/vfmadd231pd", "zero_sum=positive"),
]


def instruction_of(design: Design) -> CpuInstruction:
    """What runs the design here; the test is skipped where nothing does."""
    names = [x.name for x in INSTRUCTIONS.values() if design.base_name in {d.name for d in x.designs}]
    return available(names[0])


def available(name: str) -> CpuInstruction:
    """The instruction; the test is skipped where this CPU lacks it."""
    try:
        return find_cpu_instruction(name)
    except TargetUnavailable as error:
        pytest.skip(str(error))


def beside_the_smallest_normal_number(design: Design, rows: int, k: int, rng: np.random.Generator) -> OperandBatch:
    """c at the smallest normal numbers, and last a product of about half a unit in the last place of what is below."""
    batch = draw("normal", design, rows, k, rng)
    a, b, d = design.a_format, design.b_format, design.d_format
    last = design.chain.k_order.permutation(design.k)[-1] + k - design.k
    exponent = d.e_min - d.fraction_bits + rng.integers(-4, 2, rows)
    parts = []
    for fmt, e in ((a, exponent // 2), (b, exponent - exponent // 2)):
        fraction = rng.choice(np.array([0, 1, 1 << (fmt.fraction_bits - 1)], dtype=np.uint64), rows)
        sign = rng.integers(0, 2, rows, dtype=np.uint64) << np.uint64(fmt.sign_position)
        field = (e + fmt.bias).astype(np.uint64) << np.uint64(fmt.fraction_bits)
        column = np.zeros((rows, k), dtype=batch.a.dtype)
        column[:, last] = sign | field | fraction
        parts.append(column)
    smallest = (1 << d.fraction_bits) + rng.integers(0, 2, rows)
    c = smallest.astype(batch.c.dtype) | rng.integers(0, 2, rows, dtype=batch.c.dtype) << batch.c.dtype.type(d.bits - 1)
    return OperandBatch(parts[0], parts[1], c)


def around_the_smallest_normal_number(design: Design, rows: int, k: int, rng: np.random.Generator) -> OperandBatch:
    """The same beside a product instead of c, in the same chain of every second product."""
    batch = beside_the_smallest_normal_number(design, rows, k, rng)
    if k > 2:
        half = design.d_format.e_min // 2
        for column, fmt in ((batch.a, design.a_format), (batch.b, design.b_format)):
            sign = rng.integers(0, 2, rows, dtype=column.dtype) << column.dtype.type(fmt.sign_position)
            column[:, -3] = sign | column.dtype.type(fmt.encode(2.0**half))
        batch.c[:] = 0
    return batch


def subnormal_beside_zeros(design: Design, rows: int, k: int, rng: np.random.Generator) -> OperandBatch:
    """c, mostly a subnormal number, beside products that are zeros."""
    batch = draw("subnormal", design, rows, k, rng)
    return replace(batch, a=batch.a * 0)


def operands(design: Design, rows: int, seed: int = 0) -> list[OperandBatch]:
    """``rows`` operand sets in all: every distribution, at K and in a chain of three instructions."""
    rng = np.random.default_rng(seed)
    draws = [lambda *x, name=name: draw(name, *x) for name in DISTRIBUTIONS]
    a, b, _, d = design.formats
    if not d.is_integer:
        draws.append(subnormal_beside_zeros)
    if not d.is_integer and a.e_min + b.e_min < d.e_min - d.fraction_bits:
        draws += [beside_the_smallest_normal_number, around_the_smallest_normal_number]
    each = -(-rows // (2 * len(draws)))
    return [make(design, each, k, rng) for make in draws for k in (design.k, 3 * design.k)]


def differing(design: Design, ran: list[Patterns], batches: list[OperandBatch]) -> list[str]:
    """The first row of each batch on which the design returns something else than the instruction did."""
    found = []
    for d, batch in zip(ran, batches, strict=True):
        model = evaluate_batch(design, batch)
        wrong = np.flatnonzero(~equal_patterns(design.d_format, d, model))
        found += [f"{len(wrong)} rows, first {batch.row(i)}: {d[i]:#x}, model {model[i]:#x}" for i in wrong[:1]]
    return found


def rows_of(design: Design) -> int:
    """Fewer rows of tiles: they have many more products."""
    return NORMAL_ROWS if design.k <= 4 else NORMAL_ROWS // 5


@pytest.fixture(scope="module")
def ran():
    """The normal tier's operands of a design and what the instruction returned for them, by name of the design."""
    held: dict[tuple[str, str], tuple[list[OperandBatch], list[Patterns]]] = {}

    def get(instruction: CpuInstruction, design: Design) -> tuple[list[OperandBatch], list[Patterns]]:
        key = instruction.name, design.name
        if key not in held:
            batches = operands(design, rows_of(design))
            held[key] = batches, [available(instruction.name).run(design, b) for b in batches]
        return held[key]

    return get


@pytest.mark.few(12)
@pytest.mark.slow_values("amx-fp16-tdpfp16ps")
@of_each_run
def test_the_design_is_what_the_instruction_computes(instruction, design, ran):
    batches, returned = ran(instruction, design)
    assert sum(map(len, batches)) >= rows_of(design)
    assert differing(design, returned, batches) == []


@pytest.mark.slow
@of_each_run
def test_the_design_is_what_the_instruction_computes_on_millions(instruction, design):
    available(instruction.name)
    for seed in range(1, 9):
        batches = operands(design, SLOW_ROWS // 8, seed)
        assert differing(design, [instruction.run(design, b) for b in batches], batches) == []


@pytest.mark.slow_values(
    "cpu/tdpbf16ps.m16n16k32.f32.bf16.bf16.f32-L=16",
    "cpu/tdpbf16ps.m16n16k32.f32.bf16.bf16.f32-flushed_sign=positive",
    "cpu/tdpbf16ps.m16n16k32.f32.bf16.bf16.f32-k_order=mod4:02/13",
    "cpu/tdpbf16ps.m16n16k32.f32.bf16.bf16.f32-rho=rz-fp32",
    "cpu/tdpbf16ps.m16n16k32.f32.bf16.bf16.f32-subnormals=accumulator",
    "cpu/tdpbf16ps.m16n16k32.f32.bf16.bf16.f32-subnormals=kept",
    "cpu/tdpbf16ps.m16n16k32.f32.bf16.bf16.f32-subnormals=operands",
    "cpu/tdpbf16ps.m16n16k32.f32.bf16.bf16.f32-subnormals=results",
    "cpu/tdpbf16ps.m16n16k32.f32.bf16.bf16.f32-summation=pairwise",
    "cpu/tdpbf16ps.m16n16k32.f32.bf16.bf16.f32-tininess=rounded",
    "cpu/tdpfp16ps-L=16",
    "cpu/tdpfp16ps-subnormals=flushed",
    "cpu/tdpfp16ps-subnormals=kept",
)
@pytest.mark.middle
@pytest.mark.parametrize(("name", "settings"), MUTANTS)
def test_a_mutant_is_told_apart(name, settings, ran):
    batches, returned = ran(instruction_of(find_design(name)), find_design(name))
    assert differing(find_design(f"{name}@{settings}"), returned, batches) != []


@pytest.mark.few(14)
@pytest.mark.skipif(platform.machine() != "x86_64", reason="LLVM assembles for the CPU that it runs on")
@of_each_run
def test_the_instruction_itself_is_compiled(instruction, design):
    """Also where this CPU lacks it: LLVM assembles it into machine code, which is not run."""
    mnemonic = design.instruction.partition(".")[0]
    assembly = cpu.compiled(instruction.source(mnemonic), instruction.features).assembly
    for part in mnemonic.split("-"):
        (line,) = (words for line in assembly.splitlines() if part in (words := line.split()))
        assert line[: line.index(part) + 1] == [*instruction.encoding.split(), part]


@pytest.mark.parametrize("name", ["tdpbf16ps", "tdpfp16ps", "tdpbsud"])
def test_a_whole_tile_holds_what_its_elements_hold_one_by_one(name):
    design = find_design(f"cpu/{name}")
    instruction, rng = instruction_of(design), np.random.default_rng(3)
    left, right = (draw("ties", design, 16, design.k, rng) for _ in "ab")
    c = draw("edges", design, 256, design.k, rng).c
    pairs = OperandBatch(np.repeat(left.a, 16, axis=0), np.tile(right.b, (16, 1)), c)
    words = np.ascontiguousarray(np.ascontiguousarray(right.b).view(np.uint32).T)  # one row for each word of a row of A
    a, d = np.ascontiguousarray(left.a), c.copy()
    whole = cpu.compiled(tile_source(name, 16, 16), instruction.features)
    whole.run(a.ctypes.data, words.ctypes.data, d.ctypes.data, 1)
    assert d.tolist() == instruction.run(design, pairs).tolist()


def test_the_control_register_is_at_its_default_inside_and_restored():
    design = find_design("cpu/vfmadd231ps")
    instruction, batch = instruction_of(design), draw("normal", design, 1000, 1, np.random.default_rng(0))
    expected, libm = instruction.run(design, batch), ctypes.CDLL("libm.so.6")
    upward = 0x800
    try:
        libm.fesetround(upward)
        returned, mode = instruction.run(design, batch), libm.fegetround()
    finally:
        libm.fesetround(0)
    assert mode == upward
    assert returned.tolist() == expected.tolist()


def run_one(design: Design, a: tuple[int, ...], b: tuple[int, ...], c: int) -> int:
    return int(instruction_of(design).run(design, OperandBatch.of_rows(design.formats, [Operands(a, b, c)]))[0])


def test_nan_codes_of_the_silicon_are_none_that_a_design_states():
    """A NaN operand is made quiet and keeps sign and payload; where none is one, the code is negative."""
    for name, nan, payload in (("cpu/vfmadd231ps", 0xFF812345, 0xFFC12345), ("cpu/vdpbf16ps", 0xFF81, 0xFFC10000)):
        design = find_design(name)
        rest = (0,) * (design.k - 1)
        assert run_one(design, (nan, *rest), (0, *rest), 0) == payload
        infinity = design.a_format.infinity
        assert run_one(design, (infinity, *rest), (0, *rest), 0) == 0xFFC00000


def test_lengths_and_designs_that_do_not_fit():
    bf16 = find_design(BF16)
    instruction = instruction_of(bf16)
    one = bf16.a_format.encode(1)
    assert run_one(bf16, (one,), (one,), 0x3F800000) == 0x40000000  # the rest is +0
    assert instruction.run(bf16, draw("normal", bf16, 0, 2, np.random.default_rng(0))).shape == (0,)
    with pytest.raises(DesignError, match="choose 2 or 4"):
        instruction.run(bf16, draw("normal", bf16, 4, 3, np.random.default_rng(0)))
    with pytest.raises(OperandError, match="b holds"):
        a, b = np.full((2, 1, 2), 1 << 16, dtype=np.uint32)
        instruction.run(bf16, OperandBatch(a * 0, b, a[0, :1]))
    for name in ("cpu/vfmadd231ps", f"{BF16}@tininess=rounded", "ampere/f32.bf16.bf16.f32"):
        with pytest.raises(InputError, match=r"cpu:avx512-bf16 does not run .*: it runs cpu/vdpbf16ps"):
            instruction.run(find_design(name), draw("normal", bf16, 4, 2, np.random.default_rng(0)))


def test_unknown_names():
    with pytest.raises(InputError, match=r"'avx512-bf61': one of amx-bf16, .*mean avx512-bf16 or avx512-fp16\?"):
        find_cpu_instruction("avx512-bf61")


def test_every_design_of_the_catalogue_has_an_instruction():
    here = {d.name for d in load_catalogue().designs.values() if d.architecture == "cpu"}
    assert {d.name for _, d in RUNS} == here
    assert set(INSTRUCTIONS) == set(load_catalogue().architectures["cpu"].targets)


CPUINFO = (
    "processor : 0\nvendor_id : Its Maker\ncpu family : 6\nmodel : 7\nmodel name : Some CPU\n"
    "flags : fpu fma avx512f amx_tile amx_bf16\n\nprocessor : 1\nflags : avx512_bf16\n"
)


def test_what_is_missing_is_said(monkeypatch, tmp_path):
    monkeypatch.setattr(cpu, "CPUINFO", tmp_path / "cpuinfo")
    monkeypatch.setattr(cpu.platform, "machine", lambda: "x86_64")
    with pytest.raises(TargetUnavailable, match="cpu:fma needs an x86-64 CPU under Linux: this is x86_64 under"):
        find_cpu_instruction("fma")
    cpu.CPUINFO.write_text(CPUINFO)
    with pytest.raises(TargetUnavailable, match=r"cpu:avx512-bf16 is not on this CPU: .*cpuinfo lacks avx512_bf16"):
        find_cpu_instruction("avx512-bf16")
    monkeypatch.setitem(sys.modules, "llvmlite", None)
    with pytest.raises(TargetUnavailable, match=r"pip install 'mmaproof\[cpu\]'"):
        find_cpu_instruction("fma")
    assert INSTRUCTIONS["fma"].about == Unit("Some CPU", "Its Maker, family 6, model 7")
    monkeypatch.setattr(cpu.platform, "machine", lambda: "aarch64")
    with pytest.raises(TargetUnavailable, match="this is aarch64 under"):
        find_cpu_instruction("fma")


def test_a_feature_that_is_not_listed_is_tried_in_a_process_of_its_own(monkeypatch, tmp_path):
    monkeypatch.setattr(cpu, "CPUINFO", tmp_path / "cpuinfo")
    monkeypatch.setattr(cpu.platform, "machine", lambda: "x86_64")
    monkeypatch.setattr(cpu, "permit_tiles", lambda: None)
    cpu.CPUINFO.write_text(CPUINFO)
    tried = []
    monkeypatch.setattr(cpu, "executes", lambda name: tried.append(name) or name == "amx-fp16")
    assert find_cpu_instruction("amx-bf16").name == "amx-bf16"  # listed
    assert find_cpu_instruction("amx-fp16").name == "amx-fp16"
    with pytest.raises(TargetUnavailable, match="cpu:amx-tf32 is not on this CPU: .* lacks amx_tf32, and it was tried"):
        find_cpu_instruction("amx-tf32")
    with pytest.raises(TargetUnavailable, match=r"lacks avx_vnni_int8$"):
        find_cpu_instruction("avx-vnni-int8")
    assert tried == ["amx-fp16", "amx-tf32"]


def test_a_process_that_traps_is_no_cpu_that_has_the_instruction(monkeypatch):
    monkeypatch.setattr(cpu.sys, "executable", "/bin/false")
    assert not cpu.executes.__wrapped__("fma")


def test_a_refused_permission_is_said(monkeypatch):
    class Refusing:
        def syscall(self, *_: int) -> int:
            ctypes.set_errno(errno.EPERM)
            return -1

    permit_tiles.cache_clear()
    monkeypatch.setattr("mmaproof.hardware_replay.cpu.ctypes.CDLL", lambda *_, **__: Refusing())
    try:
        with pytest.raises(
            TargetUnavailable, match=r"Linux refuses this process the tiles of AMX \(Operation not perm"
        ):
            permit_tiles()
    finally:
        permit_tiles.cache_clear()
