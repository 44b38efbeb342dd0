"""Plans that agree with a target as well: proved equal, told apart by a witness, or left open; never guessed."""

from dataclasses import replace

import numpy as np
import pytest
from support.matrix_functions import black_box

from mmaproof.designs.catalogue import find_design
from mmaproof.designs.element import Operands
from mmaproof.designs.operands import array_of, patterns_of
from mmaproof.gemm.kernels import identify
from mmaproof.gemm.kernels.asked import Asked
from mmaproof.gemm.kernels.identify import WITNESS, KernelSearch
from mmaproof.gemm.kernels.outcome import Finding, Verdict, everywhere, rival
from mmaproof.gemm.kernels.tree import are_same
from mmaproof.gemm.programs import read_plan
from mmaproof.gemm.programs.evaluate import multiply_plan
from mmaproof.gemm.questions.plan_equivalence import never_minus_zero
from mmaproof.hardware_replay.matrix_targets import Product
from mmaproof.smt.trace import evaluate

VOLTA = "volta/mma.m8n8k4.f32.f16.f16.f32"
FMA = "cpu/vfmadd231ps.m1n1k1.f32.f32.f32.f32"
SECONDS = 20.0


def product(text: str, k: int) -> Product:
    a, b, _, d = read_plan(text).formats
    return Product(4, 4, k, a, b, d)


def compare(first: str, second: str, k: int = 8, seconds: float = SECONDS):
    return rival(read_plan(first), read_plan(second), product(first, k), seconds)


def test_a_sum_onto_zero_is_the_same_on_a_unit_that_never_returns_minus_zero() -> None:
    found = compare(VOLTA, f"{VOLTA} | promote=8")
    assert found.verdict is Verdict.EQUAL
    assert f"{VOLTA} never returns -0" in found.how


def test_on_a_unit_that_returns_minus_zero_it_is_not() -> None:
    found = compare(FMA, f"{FMA} | promote=2", k=2)
    assert found.verdict is Verdict.DIFFERENT
    assert found.witness is not None
    a, b = (np.array(x, dtype=np.uint32) for x in (found.witness.a, found.witness.b))
    d = [multiply_plan(read_plan(x), a[None], b[:, None])[0, 0] for x in (FMA, f"{FMA} | promote=2")]
    assert d[0] != d[1]


def test_without_time_and_for_other_uses_of_c_it_is_left_open() -> None:
    assert compare(VOLTA, f"{VOLTA} | promote=8", seconds=0.5).verdict is Verdict.OPEN
    assert "start of its sum" in compare(VOLTA, f"{VOLTA} | c=last").how
    assert "longer K" in compare(VOLTA, f"{VOLTA} | tile=16").how


def test_integers_are_equal_where_no_sum_leaves_the_register() -> None:
    wraps, saturates = "turing/mma.m8n8k16.s32.s8.s8.s32", "turing/mma.m8n8k16.satfinite.s32.s8.s8.s32"
    found = compare(wraps, saturates, k=1024, seconds=0)
    assert found.verdict is Verdict.EQUAL
    assert "at most 16777216 in magnitude" in found.how
    wraps, saturates = "cpu/vpdpwssd.m1n1k2.s32.s16.s16.s32", "cpu/vpdpwssds.m1n1k2.s32.s16.s16.s32"
    assert compare(wraps, saturates, k=2, seconds=0).verdict is Verdict.OPEN


def test_minus_zeros_of_a_unit_decide_about_plans_that_differ_in_them_alone() -> None:
    first, second = read_plan(VOLTA), read_plan(f"{VOLTA} | promote=8")
    assert are_same(first, second, 8, lambda unit: True)
    assert not are_same(first, second, 8)
    # a c that may be -0 is kept by the chain, so what follows a sum of which nothing is known is not equal
    deeper = read_plan(f"{FMA} | split-k=2:onward"), read_plan(f"{FMA} | split-k=2")
    assert not are_same(*deeper, 8)


def test_the_claim_about_minus_zero_is_one_about_bits() -> None:
    unit = find_design("cpu/vfmadd231ps")
    (question,) = never_minus_zero(unit)
    tiny, minus_zero = Operands((1 << 31 | 1,), (1,), 0), 1 << 31
    assert evaluate(unit, tiny) == minus_zero
    assert question.is_refuted_by(tiny)
    assert not question.is_meant(replace(tiny, c=minus_zero))


def test_a_witness_fills_a_product() -> None:
    found = compare(FMA, f"{FMA} | promote=2", k=2)
    assert found.witness is not None
    operands = everywhere(found.witness, product(FMA, 2))
    assert operands is not None
    assert len(np.unique(multiply_plan(read_plan(FMA), *operands))) == 1
    assert everywhere(found.witness, product(FMA, 1)) is None


def test_the_target_is_asked_about_the_witness(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without random operands that tell them apart, the witness of a comparison does."""
    wanted, other = read_plan(f"{FMA} | promote=2"), read_plan(FMA)
    of = product(FMA, 2)

    def target(a, b):
        return array_of(multiply_plan(wanted, patterns_of(a, of.a), patterns_of(b, of.b)), of.d)

    monkeypatch.setattr(identify, "kinds_for", lambda product: ("normal",))
    search = KernelSearch(Asked(black_box(target), of), seconds=120, validation=100, given=(other,))
    (finding,) = search.search().findings
    assert isinstance(finding, Finding)
    assert finding.plan is not None
    assert are_same(finding.plan, wanted, 2)
    assert WITNESS in [x.kind for x in search.answers]
