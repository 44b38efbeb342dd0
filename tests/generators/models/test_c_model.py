"""The model in C returns what the arrays return, by two compilers and under sanitizers; a wrong one fails its test."""

import re

import numpy as np
import pytest
from support.models import (
    MUTATIONS,
    STRICT,
    compiled,
    driver,
    mutated,
    run_in,
    run_rows,
    sanitized,
    self_tested,
    write,
)
from support.variations import VARIED, random_design

from mmaproof.designs.catalogue import find_design, load_catalogue
from mmaproof.designs.errors import DesignError
from mmaproof.designs.operands import OperandBatch, array_of, pattern_dtype, patterns_of
from mmaproof.generators.models.c_model import c_files, c_library
from mmaproof.generators.models.model import ROWS, make_model, make_self_test
from mmaproof.hardware_replay.emulation import matmul
from mmaproof.smt.algebra.nodes import Op
from mmaproof.smt.evaluate import evaluate_batch
from mmaproof.smt.native.lowering import continued
from mmaproof.verification.distributions import DISTRIBUTIONS, draw

VOLTA = "volta/mma.m8n8k4.f32.f16.f16.f16"
HOPPER = "hopper/wgmma.m64n8k16.f32.f16.f16"
NVFP4 = "blackwell/tcgen05.mma.m128n8k64.block16.f32.e2m1.e2m1.ue4m3"
DOUBLE = "cpu/vfmadd231pd.m1n1k1.f64.f64.f64.f64"
AMX = "cpu/tdpbf16ps.m16n16k32.f32.bf16.bf16.f32"
SATURATING = "cpu/vpdpbusds.m1n1k4.s32.u8.s8.s32"

FAMILIES = [  # one of each kind of step, and of each width of words
    VOLTA,  # d is wider than c
    DOUBLE,  # 128 bits
    SATURATING,
    "turing/mma.m8n8k16.s32.s8.s8.s32",
    "turing/mma.m8n8k32.s32.s4.s4.s32",  # elements of 4 bits
    "cdna3/v_mfma_f32_32x32x4_2b_f16",
    "riscv/bulk.m1n1k4.f32.f16.f16.f32",
    "paper/sequential.m1n1k4.f32.f16.f16.f32",
    "cdna1/v_mfma_f32_32x32x1f32",
]
LARGER = [
    HOPPER,
    NVFP4,
    "blackwell/tcgen05.mma.m128n8k32.block32.f32.e5m2.e5m2.ue8m0",
    "hopper/mma.m16n8k32.f16.e5m2.e4m3.f16",
    "ampere/mma.m16n8k8.f32.tf32.tf32.f32",  # ignored bits
    "rtx-blackwell/mma.m16n8k32.f32.e3m2.e2m3.f32",  # elements of 6 bits
    "cdna2/v_mfma_f32_16x16x16f16",
    "cdna3/v_mfma_f32_16x16x32_fp8_bf8",
    "paper/tree.m1n1k4.f32.f16.f16.f32",
    "ampere/mma.m8n8k4.f64.f64.f64.f64",
]
VECTORISED = ["-O3", "-march=native"]


def model_of(name, k=None):
    return make_model(find_design(name), k, "0")


def drawn(model, rows, seed=3):
    rng = np.random.default_rng(seed)
    return OperandBatch.concatenate([draw(x, model.design, rows, model.k, rng) for x in DISTRIBUTIONS])


def check_rows(folder, model, compiler, options, batch):
    """The model returns the d of the arrays, and so does a single dot product of each row."""
    write(folder, c_library(model) | {"driver.c": driver(model)})
    program = compiled(folder, compiler, options, "driver.c", f"{model.name}.c")
    agree(model.design, batch, run_rows(folder, program, model, batch))


def agree(design, batch, returned):
    wrong = np.flatnonzero(returned != evaluate_batch(design, batch))
    assert not wrong.size, (wrong[:5], batch.row(int(wrong[0])))


@pytest.mark.few(1)
@pytest.mark.parametrize("name", FAMILIES)
def test_rows_of_every_distribution(tmp_path, name):
    model = model_of(name)
    check_rows(tmp_path, model, "gcc", [*STRICT, "-O0", *sanitized("gcc")], drawn(model, 300))


@pytest.mark.middle
@pytest.mark.parametrize(
    ("compiler", "name"),
    [
        *(("gcc", x) for x in FAMILIES + LARGER),
        *(pytest.param("clang", x, marks=[pytest.mark.slow] * (i % 2)) for i, x in enumerate(FAMILIES + LARGER)),
    ],
)
def test_rows_by_two_compilers_and_sanitizers(tmp_path, name, compiler):
    model = model_of(name)
    check_rows(tmp_path, model, compiler, [*STRICT, "-O1", *sanitized(compiler)], drawn(model, 2000))


@pytest.mark.middle
def test_rows_of_two_chains_of_sixteen(tmp_path):
    model = model_of(AMX)  # 7,000 operations
    check_rows(tmp_path, model, "gcc", [*STRICT, "-O0", *sanitized("gcc")], drawn(model, 500))


@pytest.mark.middle
@pytest.mark.parametrize("name", [*FAMILIES, HOPPER])
@pytest.mark.parametrize("compiler", ["gcc", pytest.param("clang", marks=pytest.mark.slow)])
def test_rows_by_vector_instructions(tmp_path, name, compiler):
    model = model_of(name)
    check_rows(tmp_path, model, compiler, [*STRICT, *VECTORISED], drawn(model, 2001))


@pytest.mark.slow
@pytest.mark.parametrize("name", FAMILIES + LARGER)
def test_a_million_rows_without_undefined_behaviour(tmp_path, name):
    model = model_of(name)
    check_rows(
        tmp_path, model, "gcc", [*STRICT, "-O1", *sanitized("gcc")], drawn(model, 1_000_000 // len(DISTRIBUTIONS))
    )


@pytest.mark.slow
def test_every_arithmetic_of_the_catalogue(tmp_path):
    seen, refused = set(), []
    for design in load_catalogue().designs.values():
        key = (design.signature, design.k, design.chain, design.step)
        if key in seen:
            continue
        seen.add(key)
        try:
            model = make_model(design, None, "0")
        except DesignError as error:
            assert "more than 128 bits" in str(error)
            refused.append(design.name)
            continue
        check_rows(tmp_path / model.name, model, "gcc", [*STRICT, "-O1", *sanitized("gcc")], drawn(model, 512))
    assert len(refused) == 6
    assert all(x.startswith("cdna1/") for x in refused)


RANDOM = [
    pytest.param(family, seed, marks=pytest.mark.slow if seed > 1 else pytest.mark.middle if seed or i % 4 else ())
    for i, family in enumerate(VARIED)
    for seed in range(8)
]


@pytest.mark.middle
@pytest.mark.parametrize(("family", "seed"), RANDOM)
def test_designs_with_random_parameters(tmp_path, family, seed):
    try:
        model = make_model(random_design(family, seed), None, "0")
    except DesignError as error:
        assert "more than 128 bits" in str(error)
        pytest.skip("too wide to be printed")
    check_rows(tmp_path, model, "gcc", [*STRICT, "-O0", *sanitized("gcc")], drawn(model, 200))


@pytest.mark.few(1)
@pytest.mark.parametrize("k", [2, 3, 8, 12])
def test_lengths_below_and_above_the_k_of_the_instruction(tmp_path, k):
    model = model_of(VOLTA, k)
    assert model.name.endswith(f"_k{k}")
    check_rows(tmp_path, model, "gcc", [*STRICT, "-O0", *sanitized("gcc")], drawn(model, 100))


# --- chains -----------------------------------------------------------------------------------------------------


@pytest.mark.few(1)
@pytest.mark.parametrize("name", [VOLTA, SATURATING, f"{VOLTA}@chain_infinity=finite"])
def test_the_self_test_passes(tmp_path, name):
    model = model_of(name)
    status, said = self_tested(
        tmp_path, model, make_self_test(model, 80, 0), "gcc", [*STRICT, "-O0", *sanitized("gcc")]
    )
    assert (status, said) == (0, f"PASS: 80 rows and 8 tiles as {model.design.name}\n")


@pytest.mark.middle
@pytest.mark.parametrize("name", FAMILIES + LARGER)
def test_the_self_test_of_every_family(tmp_path, name):
    model = model_of(name)
    status, said = self_tested(tmp_path, model, make_self_test(model, 80, 0), "clang", [*STRICT, "-O1"])
    assert (status, said.split(":")[0]) == (0, "PASS")


def test_an_instruction_that_follows_takes_the_d_before(tmp_path):
    model = model_of(VOLTA)
    design = continued(model.design)
    batch = drawn(make_model(design, None, "0"), 100)
    write(tmp_path, c_library(model) | {"driver.c": driver(model, following=True)})
    program = compiled(tmp_path, "gcc", [*STRICT, "-O0", *sanitized("gcc")], "driver.c", f"{model.name}.c")
    agree(design, batch, run_rows(tmp_path, program, model, batch))


@pytest.mark.parametrize("name", [VOLTA, pytest.param(NVFP4, marks=pytest.mark.middle)])
def test_tiles_of_the_self_test_are_matrix_products(name):
    model = model_of(name)
    for tile in make_self_test(model, 8, 0).tiles:
        a, b, scale_a, scale_b = (
            np.array([getattr(x, part) for x in of])
            for part, of in (("a", tile.rows), ("b", tile.columns), ("scale_a", tile.rows), ("scale_b", tile.columns))
        )
        operands = [pattern(x, fmt) for x, fmt in zip((a, b.T), model.design.formats, strict=False)]
        operands.append(pattern(np.array(tile.c).reshape(len(tile.rows), -1), model.design.c_format))
        if model.design.scale_format is not None:
            operands += [pattern(x, model.design.scale_format) for x in (scale_a, scale_b.T)]
        d = patterns_of(matmul(model.design, *operands), model.design.d_format)
        assert d.reshape(-1).tolist() == list(tile.d)


def pattern(words, fmt):
    return array_of(words.astype(pattern_dtype(fmt)), fmt)


def test_a_chain_is_refused_where_an_infinity_between_instructions_matters():
    model = model_of(f"{VOLTA}@chain_infinity=finite")
    header = " ".join(c_library(model)[f"{model.name}.h"].replace("\n *", " ").split())
    assert "There is no function for a chain" in header
    assert "instructions," not in header
    assert all(tile.instructions == 1 for tile in make_self_test(model, 8, 0).tiles)


# --- mutants ----------------------------------------------------------------------------------------------------


def caught(folder, model, test, text):
    """Whether the self-test fails with this text in place of the model's source, under the sanitizer."""
    write(folder, c_files(model, test) | {f"{model.name}.c": text})
    program = compiled(
        folder, "gcc", ["-std=c11", "-O0", "-w", *sanitized("gcc")], f"{model.name}.c", f"{model.name}_test.c"
    )
    return run_in(folder, program)[0] != 0


@pytest.mark.middle
@pytest.mark.slow_values("volta/mma.m8n8k4.f32.f16.f16.f16-None")
@pytest.mark.parametrize(
    ("name", "ops"),
    [
        (VOLTA, (Op.LEADING_ZEROS, Op.LESS_SIGNED, Op.SELECT, Op.SHIFT_OUT, Op.SHIFT_RIGHT)),
        pytest.param(VOLTA, None, marks=pytest.mark.middle),
        (DOUBLE, (Op.LEADING_ZEROS, Op.MAGNITUDE, Op.MULTIPLY, Op.SHIFT_RIGHT, Op.TRUNCATE)),
        (SATURATING, (Op.SHIFT_RIGHT_SIGNED, Op.SIGN_EXTEND, Op.LESS_SIGNED)),
    ],
)
def test_an_operation_printed_wrong_everywhere_fails_the_self_test(tmp_path, name, ops):
    model = model_of(name)
    test = make_self_test(model, 80, 0)
    source = c_library(model)[f"{model.name}.c"]
    for op in ops or sorted({x.op for x in model.first.nodes} & set(MUTATIONS)):
        nodes = [x for x in model.first.nodes if x.op is op]
        for mutation in MUTATIONS[op]:
            assert caught(tmp_path, model, test, mutated(source, nodes, mutation)), op


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("name", "lane", "narrower"),
    [
        (DOUBLE, "mma_uint128", "uint64_t"),
        (DOUBLE, "uint64_t", "uint32_t"),
        (SATURATING, "uint64_t", "uint32_t"),
        ("cdna3/v_mfma_f32_32x32x4_2b_f16", "uint64_t", "uint32_t"),
        (VOLTA, "uint32_t", "uint16_t"),
    ],
)
def test_words_that_are_too_narrow_fail_the_self_test(tmp_path, name, lane, narrower):
    model = model_of(name)
    source = c_library(model)[f"{model.name}.c"]
    wrong = source.replace(f"const {lane} t", f"const {narrower} t")
    assert wrong != source
    assert caught(tmp_path, model, make_self_test(model, 80, 0), wrong)


def test_bits_above_the_format_are_not_read(tmp_path):
    model = model_of("turing/mma.m8n8k32.s32.s4.s4.s32")
    test = make_self_test(model, 16, 0)
    files = c_files(model, test)
    program = files[f"{model.name}_test.c"]
    marked = re.sub(r"0x([0-9a-f])u", r"0xf\1u", program.partition("uint32_t c[ROWS]")[0])
    write(
        tmp_path,
        files | {f"{model.name}_test.c": marked + "uint32_t c[ROWS]" + program.partition("uint32_t c[ROWS]")[2]},
    )
    made = compiled(tmp_path, "gcc", [*STRICT, "-O0"], f"{model.name}.c", f"{model.name}_test.c")
    assert "0xffu" in marked
    assert run_in(tmp_path, made)[0] == 0


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "without_effect"),
    # fp16 products are never so small that d is a subnormal number of fp32: what handles these may be anything
    [(VOLTA, [Op.MAXIMUM_SIGNED, Op.SHIFT_RIGHT, Op.XOR]), (SATURATING, [])],
)
def test_each_single_operation_printed_wrong_fails_the_self_test(tmp_path, name, without_effect):
    model = model_of(name)
    test = make_self_test(model, ROWS, 0)
    source = c_library(model)[f"{model.name}.c"]
    unnoticed = [
        node.op
        for node in model.first.nodes
        for mutation in MUTATIONS.get(node.op, [])
        if not caught(tmp_path, model, test, mutated(source, [node], mutation))
    ]
    assert unnoticed == without_effect
