"""Which subnormal numbers become zero: every reading in every family against the reference, and by hand."""

import dataclasses

import numpy as np
import pytest
from support.variations import VARIED, disagreements, random_design, varied_base, with_parameters

from mmaproof.designs.catalogue import find_design, load_catalogue
from mmaproof.designs.design import Design
from mmaproof.designs.element import Operands
from mmaproof.designs.errors import DesignError
from mmaproof.designs.formats import FORMATS
from mmaproof.designs.operands import OperandBatch, Patterns
from mmaproof.designs.parameters import settings_of
from mmaproof.designs.readings import FlushedSign, Subnormals, Tininess
from mmaproof.smt.evaluate import evaluate_batch
from mmaproof.smt.trace import evaluate, trace
from mmaproof.verification.compare import compare
from mmaproof.verification.distributions import draw

FLUSHES = {
    # of a, of b, of c, of results
    Subnormals.KEPT: (False, False, False, False),
    Subnormals.FLUSHED: (True, True, True, True),
    Subnormals.OPERANDS: (True, True, False, False),
    Subnormals.OPERANDS_A: (True, False, False, False),
    Subnormals.ACCUMULATOR: (False, False, True, False),
    Subnormals.RESULTS: (False, False, False, True),
    Subnormals.ACCUMULATOR_AND_RESULTS: (False, False, True, True),
    Subnormals.ALL_BUT_A: (False, True, True, True),
    Subnormals.ALL_BUT_B: (True, False, True, True),
}
BOTH = "accumulator-and-results"
SOME = (BOTH, "all-but-a", "all-but-b")
"""The readings that flush c and results, without ``flushed``."""


@pytest.mark.parametrize("reading", Subnormals)
def test_what_a_reading_flushes(reading):
    assert (reading.of_a, reading.of_b, reading.of_c, reading.of_results) == FLUSHES[reading]


def test_letters_and_catalogue():
    assert [find_design(f"{BF16.name}@subnormals={x}").step.subnormals for x in "ABCDEFGHI"] == [*FLUSHES]
    found = {(d.family, d.step.subnormals) for d in load_catalogue().designs.values()}
    all_of = ("ftz-addmul", "fma-chain", "interleaved-fma", "bf16-to-odd", "sign-frame", "gaudi2", "tensix", "vfpu")
    flushing = {(x, Subnormals.FLUSHED) for x in all_of}
    flushing |= {(x, Subnormals(BOTH)) for x in ("fma-chain", "interleaved-fma", "sign-frame", "gaudi2")}
    flushing |= {("vortex-tfr", Subnormals.RESULTS), ("e-fdpa", Subnormals.FLUSHED)}
    flushing |= {("aie-blocks", Subnormals(BOTH)), ("t-fdpa", Subnormals.OPERANDS)}
    assert {x for x in found if x[1] is not Subnormals.KEPT} == flushing
    with pytest.raises(DesignError, match="no effect"):
        find_design("turing/mma.m8n8k16.s32.s8.s8.s32@subnormals=flushed")


def rich(design: Design, rows: int, k: int, rng: np.random.Generator) -> OperandBatch:
    """Operands of which about half are subnormal, beside others of which some are large enough to bring them back."""
    batches = [draw(name, design, rows, k, rng) for name in ("subnormal", "ties", "uniform-bits")]

    def mixed(column: str) -> Patterns:
        parts: list[Patterns] = [getattr(b, column) for b in batches]
        return np.choose(rng.choice(3, parts[0].shape, p=(0.5, 0.3, 0.2)), parts)

    return dataclasses.replace(batches[0], a=mixed("a"), b=mixed("b"), c=mixed("c"))


@pytest.mark.middle
@pytest.mark.parametrize(
    "reading", [x if x is Subnormals.FLUSHED else pytest.param(x, marks=pytest.mark.middle) for x in Subnormals]
)
@pytest.mark.parametrize("family", VARIED)
def test_any_combination_with_other_parameters_agrees_with_the_reference(family, reading):
    first = 2 * [*Subnormals].index(reading)
    for seed in (first, first + 1):
        rng, design = np.random.default_rng(seed), random_design(family, seed, subnormals=reading)
        for name in ("subnormal", "ties"):
            assert disagreements(design, draw(name, design, 10, design.k, rng)) == [], name
        assert disagreements(design, rich(design, 12, 2 * design.k, rng)) == []


def without_products(batch: OperandBatch) -> OperandBatch:
    """The same with a of zeros, and with the smallest scales: c alone is left."""
    scales = {x: None if y is None else y * 0 for x, y in (("scale_a", batch.scale_a), ("scale_b", batch.scale_b))}
    return dataclasses.replace(batch, a=batch.a * 0, **scales)


def with_small_products(base: Design, batch: OperandBatch) -> tuple[Design, OperandBatch]:
    """The design and operands changed so that most products are about the smallest normal number of d.

    The formats of some units have no such products, and no operands have a subnormal d there unless c is subnormal.
    """
    smallest = base.d_format.e_min
    if base.scale_format is not None:
        few = max(base.scale_format.bias + smallest // 2 - 8, 0)
        return base, dataclasses.replace(batch, scale_a=batch.scale_a % 8 + few, scale_b=batch.scale_b % 8 + few)
    middle = sum(f.e_min + f.e_max for f in (base.a_format, base.b_format)) // 2
    if "product_shift" not in settings_of(base.chain, base.step):
        return base, batch
    return with_parameters(base, product_shift=max(smallest - middle - 8, -1000)), batch


@pytest.mark.middle
@pytest.mark.parametrize("family", VARIED)
def test_every_two_readings_differ_in_every_family(family):
    rng, seen = np.random.default_rng(23), set()
    for seed in range(len(VARIED[family][0])):
        base = varied_base(family, seed)
        operands = rich(base, 300, base.k, rng)
        asked = [(base, operands), (base, draw("ties", base, 300, base.k, rng)), (base, without_products(operands))]
        asked.append(with_small_products(*asked[0]))
        results = {
            r: np.concatenate([evaluate_batch(with_parameters(x, subnormals=r), b) for x, b in asked])
            for r in Subnormals
        }
        seen |= {(x, y) for x in results for y in results if (results[x] != results[y]).any()}
    assert seen == {(x, y) for x in Subnormals for y in Subnormals if x is not y}


@pytest.mark.middle
@pytest.mark.parametrize("name", ["paper/sequential.f32.f16.f16.f32", "rtx-blackwell/block16.f32.e2m1.e2m1.f32.ue4m3"])
def test_results_are_not_subnormal_where_products_are_large_and_c_is_not(name):
    """With c flushed, no product of these formats leaves a subnormal sum: why small ones are asked for above."""
    accumulator, both = (find_design(f"{name}@subnormals={x}") for x in (Subnormals.ACCUMULATOR, Subnormals(BOTH)))
    assert compare(accumulator, both).verdict == "equivalent"


# --- by hand

BF16 = find_design("ampere/mma.m16n8k8.f32.bf16.bf16.f32")
MINUS_ZERO = 0x80000000


def bf16(*values: float) -> tuple[int, ...]:
    return tuple(FORMATS["bf16"].encode(x) for x in (*values, *(0.0,) * (BF16.k - len(values))))


def results(a: tuple[int, ...], b: tuple[int, ...], c: int, design: Design = BF16) -> dict[str, int]:
    return {r.value: evaluate(design.change(subnormals=r), Operands(a, b, c)) for r in Subnormals}


def test_operands_of_a_and_b():
    """2^-130 * 2^100, one of them subnormal."""
    small, large, product = bf16(2.0**-130), bf16(2.0**100), FORMATS["fp32"].encode(2.0**-30)
    of_a, of_b = results(small, large, 0), results(large, small, 0)
    assert {r for r, d in of_a.items() if d == 0} == {"flushed", "operands", "operands-of-a", "all-but-b"}
    assert {r for r, d in of_b.items() if d == 0} == {"flushed", "operands", "all-but-a"}
    assert {*of_a.values(), *of_b.values()} == {0, product}


def test_bochs_flushes_e5m2_and_not_e4m3():
    """It converts elements of AMX-FP8 to fp16, where e4m3 has no subnormal number: 3 * 2^-16 and 3 * 2^-9, times 1."""
    of_a, of_b = (results((x,), (y,), 0, find_design("cpu/tdphbf8ps")) for x, y in ((0x03, 0x3C), (0x38, 0x03)))
    assert (of_a["accumulator-and-results"], of_b["accumulator-and-results"]) == (0x3BC00000, 0x38400000)
    assert (of_a["all-but-a"], of_b["all-but-a"]) == (0x3BC00000, 0)
    assert (of_a["all-but-b"], of_b["all-but-b"]) == (0, 0x38400000)


def test_a_flushed_operand_is_plus_zero():
    """-2^-130 * +infinity is NaN where the subnormal is a zero."""
    a, b = bf16(-(2.0**-130)), bf16(float("inf"))
    nan, infinity = 0x7FFFFFFF, 0xFF800000
    assert set(results(a, b, 0).values()) == {nan, infinity}
    assert results(a, b, 0)["operands-of-a"] == nan


def test_c_in_each_step_of_a_chain():
    """Two steps of one product: the first leaves a subnormal, which the second reads as its c."""
    design = find_design("ampere/mma.m16n8k8.f32.bf16.bf16.f32@L=1,zero_c=absent,zero_product=absent")
    tiny, small = 2.0**-149, FORMATS["fp32"].encode
    a, b = bf16(2.0**-70), bf16(2.0**-70)  # 2^-140 in the first step, nothing in the others
    assert results(a, b, 1, design) == {
        "kept": small(2.0**-140 + tiny),
        "flushed": 0,
        "operands": small(2.0**-140 + tiny),
        "operands-of-a": small(2.0**-140 + tiny),
        "accumulator": 0,
        "results": 0,
        **dict.fromkeys(SOME, 0),
    }
    last = (*bf16()[:-1], FORMATS["bf16"].encode(2.0**-70))
    assert results(last, last, 1, design)["accumulator"] == small(2.0**-140)


def test_results_are_zeros_of_their_sign():
    """A subnormal sum is a zero of its sign; one that the conversion itself takes to zero has that of its reading."""
    fused = find_design("ampere/mma.m16n8k8.f32.bf16.bf16.f32@zero_c=absent,zero_product=absent,fraction_bits=40")
    a = bf16(-(2.0**-70))
    subnormal, nothing = results(a, bf16(2.0**-70), 0, fused), results(a, bf16(2.0**-90), 0, fused)
    assert subnormal["results"] == subnormal["flushed"] == MINUS_ZERO
    assert set(nothing.values()) == {0}
    # the largest subnormal and a half more: rounded up to the smallest normal number, it is kept
    up = find_design("cdna1/v_mfma_f32_32x32x1f32@subnormals=results")
    half = FORMATS["fp32"].encode(2.0**-75)
    assert evaluate(up, Operands((half,), (half,), 0x007FFFFF)) == 0x00800000
    assert evaluate(up, Operands((0,), (half,), 0x007FFFFF)) == 0


def test_late_additions_flush_sum_c_and_result():
    base = find_design("riscv/bulk.m1n1k4.f32.bf16.f16.f32")
    smallest, step = 2.0**-126, 2.0**-140
    fp32, ones = base.c_format.encode, (base.b_format.encode(1.0), 0, 0, 0)

    def late(product: float, c: float) -> dict[str, int]:
        a = (base.a_format.encode(product * 2.0**14), 0, 0, 0)
        b = (base.b_format.encode(2.0**-14), 0, 0, 0)
        return {r.value: evaluate(base.change(subnormals=r), Operands(a, b, fp32(c))) for r in Subnormals}

    whole, zero = fp32(smallest + step), fp32(smallest)
    # the sum is a result, and so zero before c is added; c is not
    assert late(step, smallest) == dict.fromkeys(Subnormals, whole) | dict.fromkeys(("flushed", "results", *SOME), zero)
    assert late(smallest, step) == dict.fromkeys(Subnormals, whole) | dict.fromkeys(
        ("flushed", "accumulator", *SOME), zero
    )
    below = dict.fromkeys(Subnormals, fp32(step - smallest))
    assert late(step, -smallest) == below | dict.fromkeys(("flushed", "results", *SOME), fp32(-smallest))
    difference = fp32(-smallest / 2)
    assert late(smallest, -1.5 * smallest) == dict.fromkeys(Subnormals, difference) | {
        "flushed": MINUS_ZERO,
        "results": MINUS_ZERO,
        **dict.fromkeys(SOME, MINUS_ZERO),
    }
    for reading in Subnormals:
        d = evaluate(base.change(subnormals=reading), Operands((0,) * 4, ones, 0x80000001))
        assert d == (0 if reading.of_c else MINUS_ZERO if reading.of_results else 0x80000001)


def test_a_late_addition_at_the_end_of_an_instruction():
    base = find_design("hopper/mma.m16n8k32.f16.e4m3.e4m3.f16")
    ones = (base.a_format.encode(1.0),) * base.k
    for reading in Subnormals:
        d = evaluate(base.change(subnormals=reading), Operands((0,) * base.k, ones, 0x8001))
        assert d == (0 if reading.of_c else 0x8000 if reading.of_results else 0x8001)


def test_operands_of_a_can_be_told_from_those_of_b():
    rng = np.random.default_rng(25)
    for reading in Subnormals:
        design = BF16.change(subnormals=reading)
        batch = rich(design, 300, design.k, rng)
        exchanged = dataclasses.replace(batch, a=batch.b, b=batch.a)
        differs = (evaluate_batch(design, batch) != evaluate_batch(design, exchanged)).any()
        assert differs == (reading.of_a is not reading.of_b)


def test_the_converted_sum_of_a_step_is_flushed():
    """A flushed result is the signal ``converted`` as well as d."""
    fused = find_design("cdna1/v_mfma_f32_32x32x1f32@subnormals=results")
    (step,) = trace(fused, Operands((0,), (0,), 0x80000001)).steps
    assert step.converted.data == step.d.data == MINUS_ZERO
    assert step.overflowed.data is False


# --- the sign of a flushed operand, and which results are flushed

FMA = find_design("cdna1/v_mfma_f32_32x32x1f32@subnormals=flushed")


@pytest.mark.parametrize(("sign", "zero"), [(FlushedSign.POSITIVE, 0), (FlushedSign.KEPT, MINUS_ZERO)])
def test_the_sign_of_a_flushed_operand(sign, zero):
    """A sum of zeros is -0 where all of them are: -s*1 + -0, -0*1 + -s, and likewise for a b, in each kind of step."""
    one, minus_small = 0x3F800000, 0x80000001
    fma, tree = FMA.change(flushed_sign=sign), find_design("cdna2/v_mfma_f32_32x32x8bf16_1k").change(flushed_sign=sign)
    for a, b, c in ((minus_small, one, MINUS_ZERO), (one, minus_small, MINUS_ZERO), (MINUS_ZERO, one, minus_small)):
        assert evaluate(fma, Operands((a,), (b,), c)) == zero
        halves = [(x >> 16 | x & 1,) * tree.k for x in (a, b)]
        assert evaluate(tree, Operands(*halves, c)) == zero
    # c added late to a sum that underflows to -0
    late = find_design("riscv/bulk.m1n1k4.f32.bf16.f16.f32@subnormals=accumulator").change(flushed_sign=sign)
    assert evaluate(late, Operands((0x8001, 0, 0, 0), (0x0001, 0, 0, 0), minus_small)) == zero


def test_the_sign_of_a_flushed_operand_has_an_effect_only_where_one_is_flushed():
    assert FMA.change(subnormals=Subnormals.ACCUMULATOR).change(flushed_sign=FlushedSign.KEPT)
    for name in ("subnormals=kept", "subnormals=results"):
        with pytest.raises(DesignError, match="flushed_sign has no effect"):
            find_design(f"cdna1/v_mfma_f32_32x32x1f32@{name}").change(flushed_sign=FlushedSign.KEPT)


@pytest.mark.parametrize(
    ("rho", "below", "rounded", "unbounded"),
    [
        # 2^-126 - below * 2^-151: numbers are 4 units apart below 2^-126, with an unbounded exponent 2
        ("rne-fp32", 1.0, 0x00800000, 0x00800000),  # a tie with the unbounded exponent, to even
        ("rne-fp32", 1.5, 0x00800000, 0),
        ("rne-fp32", 2.5, 0, 0),
        ("rna-fp32", 1.0, 0x00800000, 0x00800000),
        ("rna-fp32", 2.0, 0x00800000, 0),
        ("rtp-fp32", 1.5, 0x00800000, 0x00800000),
        ("rtp-fp32", 3.5, 0x00800000, 0),
        ("rtn-fp32", 0.5, 0, 0),
    ],
)
def test_when_a_result_counts_as_subnormal(rho, below, rounded, unbounded):
    a, b = (FORMATS["fp32"].encode(x) for x in (-below * 2.0**-75, 2.0**-76))
    for tininess, d in ((Tininess.ROUNDED, rounded), (Tininess.UNBOUNDED, unbounded)):
        assert evaluate(FMA.change(rho=rho, tininess=tininess), Operands((a,), (b,), 0x00800000)) == d


def test_tininess_has_an_effect_only_where_results_are_flushed_and_not_truncated():
    for settings in ("subnormals=kept", "subnormals=operands", "subnormals=flushed,rho=rz-fp32"):
        with pytest.raises(DesignError, match="tininess has no effect"):
            find_design(f"cdna1/v_mfma_f32_32x32x1f32@{settings}").change(tininess=Tininess.UNBOUNDED)
