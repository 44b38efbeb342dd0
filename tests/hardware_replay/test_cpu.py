"""The designs of the architecture ``cpu`` against the instructions of this CPU, where it has them."""

import ctypes
import sys

import numpy as np
import pytest

from mmaproof.designs.catalogue import find_design, load_catalogue
from mmaproof.designs.design import Design
from mmaproof.designs.errors import DesignError, InputError, OperandError, TargetUnavailable
from mmaproof.designs.operands import OperandBatch, Operands, Patterns
from mmaproof.hardware_replay import cpu
from mmaproof.hardware_replay.cpu import INSTRUCTIONS, CpuInstruction, find_cpu_instruction
from mmaproof.smt.evaluate import equal_patterns, evaluate_batch
from mmaproof.verification.distributions import DISTRIBUTIONS, draw

DESIGNS = [d for instruction in INSTRUCTIONS.values() for d in instruction.designs]
BF16 = "cpu/vdpbf16ps.m1n1k2.f32.bf16.bf16.f32"
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
    ("cpu/vpdpbusd", "integer_overflow=saturate"),
    ("cpu/vpdpbusds", "integer_overflow=wrap"),
    ("cpu/vpdpbusds", "L=1,integer_overflow=saturate"),  # saturates after each product
    ("cpu/vfmadd231ps", "summation=pairwise"),  # the product rounded before it is added
    ("cpu/vfmadd231ps", "subnormals=flushed"),
    ("cpu/vfmadd231ps", "zero_sum=positive"),
    ("cpu/vfmadd231pd", "summation=pairwise"),
    ("cpu/vfmadd231pd", "subnormals=flushed"),
    ("cpu/vfmadd231pd", "zero_sum=positive"),
]


def instruction_of(design: Design) -> CpuInstruction:
    """What runs the design here; the test is skipped where nothing does."""
    (name,) = (x.name for x in INSTRUCTIONS.values() if design.base_name in {d.name for d in x.designs})
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


def operands(design: Design, rows: int, seed: int = 0) -> list[OperandBatch]:
    """``rows`` operand sets in all: every distribution, at K and in a chain of three instructions."""
    rng = np.random.default_rng(seed)
    draws = [lambda *x, name=name: draw(name, *x) for name in DISTRIBUTIONS]
    if not design.d_format.is_integer:
        draws.append(beside_the_smallest_normal_number)
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


@pytest.fixture(scope="module")
def ran():
    """The normal tier's operands of a design and what the instruction returned for them, by name of the design."""
    held: dict[str, tuple[list[OperandBatch], list[Patterns]]] = {}

    def get(design: Design) -> tuple[list[OperandBatch], list[Patterns]]:
        instruction = instruction_of(design)
        if design.name not in held:
            batches = operands(design, NORMAL_ROWS)
            held[design.name] = batches, [instruction.run(design, b) for b in batches]
        return held[design.name]

    return get


@pytest.mark.parametrize("design", DESIGNS, ids=lambda d: d.name)
def test_the_design_is_what_the_instruction_computes(design, ran):
    batches, returned = ran(design)
    assert sum(map(len, batches)) >= NORMAL_ROWS
    assert differing(design, returned, batches) == []


@pytest.mark.slow
@pytest.mark.parametrize("design", DESIGNS, ids=lambda d: d.name)
def test_the_design_is_what_the_instruction_computes_on_millions(design):
    instruction = instruction_of(design)
    for seed in range(1, 9):
        batches = operands(design, SLOW_ROWS // 8, seed)
        assert differing(design, [instruction.run(design, b) for b in batches], batches) == []


@pytest.mark.middle
@pytest.mark.parametrize(("name", "settings"), MUTANTS)
def test_a_mutant_is_told_apart(name, settings, ran):
    batches, returned = ran(find_design(name))
    assert differing(find_design(f"{name}@{settings}"), returned, batches) != []


@pytest.mark.parametrize("design", DESIGNS, ids=lambda d: d.name)
def test_the_instruction_itself_is_compiled(design):
    mnemonic = design.instruction.partition(".")[0]
    assembly = instruction_of(design).compiled(mnemonic).assembly
    assert [line.split()[0] for line in assembly.splitlines() if mnemonic in line.split()] == [mnemonic]


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
    with pytest.raises(InputError, match=r"'avx512-bf61': one of avx512-bf16, avx512-vnni, fma .*mean avx512-bf16"):
        find_cpu_instruction("avx512-bf61")


def test_every_design_of_the_catalogue_has_one_instruction():
    assert sorted(d.name for x in INSTRUCTIONS.values() for d in x.designs) == sorted(d.name for d in DESIGNS)
    assert set(INSTRUCTIONS) == set(load_catalogue().architectures["cpu"].targets)


CPUINFO = "processor : 0\nmodel name : Some CPU\nflags : fpu fma avx512f\n\nprocessor : 1\nflags : avx512_bf16\n"


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
    assert INSTRUCTIONS["fma"].about == "Some CPU"
    monkeypatch.setattr(cpu.platform, "machine", lambda: "aarch64")
    with pytest.raises(TargetUnavailable, match="this is aarch64 under"):
        find_cpu_instruction("fma")
