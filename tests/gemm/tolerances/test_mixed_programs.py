"""Algorithms and plans together: one set of operands, one reference, one kind of bound."""

from dataclasses import replace

import numpy as np
import pytest
from support.fp32_operands import FINITE, random_operands

from mmaproof.designs.errors import DesignError, InputError
from mmaproof.designs.operands import values_of
from mmaproof.gemm.answers.compare import compare_errors
from mmaproof.gemm.programs import read_plan
from mmaproof.gemm.programs.evaluate import trace
from mmaproof.gemm.programs.named import find_gemm
from mmaproof.gemm.questions.finite_operands import LargerError
from mmaproof.gemm.tolerances.errors import measure_errors
from mmaproof.gemm.tolerances.tolerance import Tolerance
from mmaproof.gemm.tolerances.walk import LossProof
from mmaproof.smt.algebra.integers import IntegerAlgebra

TF32, FP16 = "ampere/mma.m16n8k8.f32.tf32.tf32.f32", "volta/f32.f16.f16.f32"


@pytest.mark.parametrize("unit", [TF32, FP16])
@pytest.mark.parametrize("reference", ["exact", "fp32", "rounded"])
def test_a_unit_alone_has_the_errors_and_bounds_of_operands_rounded_once(monkeypatch, unit, reference) -> None:
    monkeypatch.setattr(Tolerance, "proof", LossProof(True, "granted"))
    plain, alone = measure_errors(["plain", unit], 32, unit, reference=reference, rows=8, columns=8).points
    assert plain.largest > 0
    assert (plain.plan.label, alone.plan.label) == ("plain", alone.plan.unit.name)
    same = replace(alone, plan=plain.plan, relative=plain.relative)
    assert same == plain
    assert alone.largest <= alone.bound.value


@pytest.mark.parametrize("kind", FINITE)
def test_a_plan_of_narrower_operands_gets_them_rounded(kind) -> None:
    asked = LargerError(find_gemm("plain", FP16), read_plan(FP16), k=4)
    found = asked.errors(IntegerAlgebra(), asked.integer_words(random_operands(kind, 4, 1)))
    assert asked.formats == asked.plans[0].formats[:3]
    assert found.results[0].data == found.results[1].data


def test_an_algorithm_runs_on_the_unit_of_the_plan_beside_it() -> None:
    done = compare_errors("3xtf32", f"{TF32} | split-k=2")
    assert done.verdict == "larger"
    first, second = done.outcomes
    assert abs(first.error) > abs(second.error)
    assert [x.plan.unit.name for x in done.outcomes] == [TF32] * 2
    for (plan, operands), returned in zip(done.operands, done.outcomes, strict=True):
        assert trace(plan, operands).d == returned.d
    better = compare_errors(f"{TF32} | split-k=2", "3xtf32")
    assert better.verdict == "larger"


@pytest.mark.parametrize(
    ("plan", "error", "text"),
    [
        (f"{TF32} | alpha=2 | c=last", DesignError, "scales its sum"),
        ("ampere/mma.m16n8k32.s32.s8.s8.s32", DesignError, "not comparable|integer unit"),
        ("blackwell/tcgen05.mma.m128n8k32.block32.f32.e4m3.e4m3.ue8m0", DesignError, "scales of blocks"),
    ],
)
def test_what_has_no_reference_in_common_is_refused(plan, error, text) -> None:
    with pytest.raises(error, match=text):
        compare_errors("3xtf32", plan, TF32)


def test_plans_alone_are_compared_with_what_they_take() -> None:
    with pytest.raises(InputError, match="nothing else"):
        measure_errors([TF32], 8, reference="fp32")
    assert measure_errors([TF32], 8, rows=2, columns=2, bound=False).reference == "rounded"


@pytest.mark.parametrize("order", ["2.0.1", "descending", "0.2.1"])
def test_the_bound_of_an_open_order_holds_for_every_order(order) -> None:
    k = 24
    found = Tolerance(read_plan(f"{FP16} | algorithm=markidis | split-k=3:any"), k)
    stated = read_plan(f"{FP16} | algorithm=markidis | split-k=3:{order}")
    rng = np.random.default_rng(3)
    a, b, c = (rng.standard_normal(s).astype(np.float32).view(np.uint32) for s in ((6, k), (k, 6), (6, 6)))
    given = found.given(a, b, c)
    bound, (exact, beyond) = found.bound_of(given), found.exact_of(given)
    assert np.isfinite(bound).all()
    assert (bound >= Tolerance(stated, k).bound_of(given)).all()
    d = Tolerance(stated, k).emulate(a, b, c)
    assert (np.abs(values_of(d, "fp32") - exact) <= bound + beyond).all()
