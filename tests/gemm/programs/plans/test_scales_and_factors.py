"""Plans whose operands have scales of blocks, and plans whose factors are operands."""

from fractions import Fraction

import numpy as np
import pytest
from reference.algorithms import add, value
from reference.designs import reference_result
from reference.formats import decode
from reference.plans import times
from support.plan_operands import moderate

from mmaproof.designs.catalogue import find_design
from mmaproof.designs.element import Operands
from mmaproof.designs.errors import DesignError, OperandError
from mmaproof.designs.operands import array_of
from mmaproof.gemm.answers.compare import compare_plans
from mmaproof.gemm.programs import read_plan
from mmaproof.gemm.programs.evaluate import multiply_plan, trace
from mmaproof.gemm.programs.normal_form import exact_result
from mmaproof.gemm.questions.plan_equivalence import PlanEquivalence
from mmaproof.hardware_replay.emulation import matmul
from mmaproof.smt.solving.limits import Limits

MX = "blackwell/tcgen05.mma.m128n8k32.block32.f32.e4m3.e4m3.ue8m0"
NV = "blackwell/tcgen05.mma.m128n8k64.block16.f32.e2m1.e2m1.ue4m3"
BF16 = "hopper/mma.m16n8k16.f32.bf16.bf16.f32"


def scaled(plan, k: int, shape: tuple[int, int], seed: int):
    """Return patterns of a, b, c and of the scales of blocks."""
    rng, (m, n), (a, b, c, _) = np.random.default_rng(seed), shape, plan.formats
    fmt, blocks = plan.scale_format, plan.blocks(k)
    scales = [
        rng.integers(fmt.bias - 3 << fmt.fraction_bits, fmt.bias + 4 << fmt.fraction_bits, s)
        for s in ((m, blocks), (blocks, n))
    ]
    return (
        *(moderate(f, rng, s) for f, s in ((a, (m, k)), (b, (k, n)), (c, (m, n)))),
        *(x.astype(np.uint8) for x in scales),
    )


def at(operands, i: int, j: int) -> Operands:
    a, b, c, scale_a, scale_b = operands
    return Operands(
        tuple(a[i].tolist()),
        tuple(b[:, j].tolist()),
        int(c[i, j]),
        tuple(scale_a[i].tolist()),
        tuple(scale_b[:, j].tolist()),
    )


def promoted(unit, x: Operands, every: int) -> int:
    """Sums of ``every`` elements from +0, added onto c in fp32: step by step, on the exact references."""
    size, total = unit.block, x.c
    for first in range(0, len(x), every):
        part = 0
        for k in range(first, first + every, unit.k):
            ks, blocks = slice(k, k + unit.k), slice(k // size, (k + unit.k) // size)
            part = reference_result(unit, Operands(x.a[ks], x.b[ks], part, x.scale_a[blocks], x.scale_b[blocks]))
        total = add(total, part, "fp32")
    return total


@pytest.mark.few(1)
@pytest.mark.parametrize(("name", "every", "k"), [(MX, 64, 192), (NV, 64, 128)])
@pytest.mark.parametrize("backend", ["arrays", None, pytest.param("native", marks=pytest.mark.middle)])
def test_a_plan_with_scales_is_that_of_the_reference(name: str, every: int, k: int, backend: str | None) -> None:
    plan, unit = read_plan(f"{name} | promote={every}"), find_design(name)
    given = scaled(plan, k, (3, 2), seed=4)
    d = multiply_plan(plan, *given, backend=backend)
    for i in range(3):
        for j in range(2):
            element = at(given, i, j)
            assert trace(plan, element).d == d[i, j] == promoted(unit, element, every)


def test_one_chain_is_that_of_the_unit() -> None:
    plan = read_plan(f"{MX} | tile=64")
    a, b, c, scale_a, scale_b = scaled(plan, 128, (4, 3), seed=5)
    arrays = [array_of(x, f) for x, f in zip((a, b, c), plan.formats, strict=False)]
    expected = matmul(MX, *arrays, scale_a, scale_b)
    assert (matmul(plan, *arrays, scale_a, scale_b) == expected).all()


@pytest.mark.middle
def test_the_order_of_parts_is_compared_with_scales() -> None:
    assert (
        compare_plans(f"{MX} | tile=32", f"{MX} | tile=64", limits=Limits(seconds=10, memory_bytes=1 << 30)).verdict
        == "equivalent"
    )
    found = compare_plans(MX, f"{MX} | split-k=2", limits=Limits(seconds=10, memory_bytes=1 << 30))
    assert found.verdict == "different"
    assert len(found.answer.witness.scale_a) == 2
    assert len({d for _, d in found.outputs}) == 2


@pytest.mark.parametrize(
    ("text", "k", "scales", "error", "match"),
    [
        (MX, 64, ((), ()), OperandError, "takes 2 scales of a and of b"),
        (MX, 64, ((127,), (127, 127)), OperandError, "1 and 2 given"),
        (BF16, 16, ((127,), (127,)), OperandError, "has no scales"),
        (MX, 16, ((), ()), DesignError, "multiple of|whole blocks"),
    ],
)
def test_scales_that_do_not_fit_are_refused(text: str, k: int, scales, error, match: str) -> None:
    with pytest.raises(error, match=match):
        trace(read_plan(text), Operands((0,) * k, (0,) * k, 0, *scales))


def test_elements_that_share_a_scale_keep_their_order() -> None:
    with pytest.raises(DesignError, match="consecutive"):
        read_plan(f"{MX} | tile=64 | order=interleaved-2")
    with pytest.raises(DesignError, match="markidis makes none"):
        read_plan(f"{MX} | algorithm=markidis")


def rescaled(a, b, factors) -> int:
    """Blocks of 16 from +0; before every block but the first, the accumulator is multiplied."""
    unit, total = find_design(BF16), 0
    for i, k in enumerate(range(0, len(a), 16)):
        if i:
            total = times(total, value(factors[i - 1], "fp32"))
        total = reference_result(unit, Operands(a[k : k + 16], b[k : k + 16], total))
    return total


@pytest.mark.parametrize("backend", ["arrays", None])
def test_factors_that_are_operands_are_those_of_the_reference(backend: str | None) -> None:
    plan = read_plan(f"{BF16} | rescale=16:operand | c=none")
    assert read_plan(plan.name) == plan
    rng = np.random.default_rng(6)
    a, b = (moderate(f, rng, s) for f, s in zip(plan.formats, ((4, 64), (64, 3)), strict=False))
    factors = rng.uniform(0.1, 1, (4, 3)).astype(np.float32).view(np.uint32)
    d = multiply_plan(plan, a, b, factors=factors, backend=backend)
    for i in range(4):
        for j in range(3):
            row = tuple(a[i].tolist()), tuple(b[:, j].tolist()), tuple(factors[i].tolist())
            assert trace(plan, Operands(*row[:2], 0), row[2]).d == d[i, j] == rescaled(*row)


def test_constants_are_the_same_as_operands() -> None:
    rng = np.random.default_rng(7)
    constants = read_plan(f"{BF16} | rescale=16:0.75,0x3dcccccd | c=none | split-k=2")
    operands = read_plan(f"{BF16} | rescale=16:operand | c=none | split-k=2")
    a, b = (moderate(f, rng, s) for f, s in zip(constants.formats, ((2, 96), (96, 2)), strict=False))
    # both parts of k are multiplied twice
    factors = np.array([[0x3F400000, 0x3DCCCCCD] * 2] * 2, dtype=np.uint32)
    assert (multiply_plan(constants, a, b) == multiply_plan(operands, a, b, factors=factors)).all()
    numbers = [Fraction(3, 4), value(0x3DCCCCCD, "fp32")]
    ones = [Fraction(1)] * 96
    assert exact_result(operands.schedule(96), ones, ones, Fraction(0), numbers * 2) == exact_result(
        constants.schedule(96), ones, ones, Fraction(0)
    )


def test_a_factor_may_be_zero_or_an_infinity() -> None:
    plan = read_plan(f"{BF16} | rescale=16:operand | c=none")
    one = (0x3F80,) * 32
    assert decode(trace(plan, Operands(one, one, 0), [0]).d, "fp32").kind != "nan"
    assert value(trace(plan, Operands(one, one, 0), [0]).d, "fp32") == 16
    assert trace(plan, Operands(one, one, 0), [0x7F800000]).d == 0x7F800000


def test_factors_that_do_not_fit_are_refused() -> None:
    plan, one = read_plan(f"{BF16} | rescale=16:operand | c=none"), (0x3F80,) * 32
    for wrong in ([], [0x3F800000] * 2):
        with pytest.raises(OperandError, match="takes 1 factors for k = 32"):
            trace(plan, Operands(one, one, 0), wrong)
    with pytest.raises(OperandError, match="takes no factors"):
        trace(read_plan(f"{BF16} | c=none"), Operands(one, one, 0), [0])
    a, b = np.full((2, 32), 0x3F80, np.uint16), np.full((32, 2), 0x3F80, np.uint16)
    for wrong in (np.zeros((1, 1), np.uint32), np.zeros(2, np.uint32), None, np.zeros((2, 1), np.float32)):
        with pytest.raises(OperandError, match="factors"):
            multiply_plan(plan, a, b, factors=wrong)
    with pytest.raises(OperandError, match="takes no factors"):
        matmul(BF16, array_of(a, "bf16"), array_of(b, "bf16"), factors=np.ones((2, 1), np.float32))
    with pytest.raises(DesignError, match="factors that are operands|not for factors"):
        PlanEquivalence(plan, plan, k=32)
