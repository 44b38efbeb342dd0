"""Random plans as black boxes: each is found, or proved equal to the one that is."""

import numpy as np
import pytest
from support.matrix_functions import Matrix, black_box

from mmaproof.designs.errors import DesignError
from mmaproof.designs.operands import array_of, patterns_of
from mmaproof.gemm.kernels.asked import Asked
from mmaproof.gemm.kernels.identify import KernelSearch
from mmaproof.gemm.kernels.outcome import Verdict, rival
from mmaproof.gemm.kernels.tree import are_same
from mmaproof.gemm.programs import Plan, read_plan
from mmaproof.gemm.programs.evaluate import multiply_plan
from mmaproof.hardware_replay.matrix_targets import Product

K = 128
UNITS = (
    "cpu/vfmadd231ps",
    "cpu/vfmadd231pd",
    "cpu/vdpbf16ps",
    "cpu/tdpbf16ps",
    "volta/f32.f16.f16.f32",
    "hopper/wgmma.f32.f16.f16",
    "hopper/wgmma.f32.e4m3.e4m3",
    "cdna2/v_mfma_f32_16x16x16f16",
)
LEVELS = (
    *(
        "promote=32",
        "promote=64",
        "split-k=2",
        "split-k=4",
        "split-k=4:tree",
        "split-k=2:onward",
        "split-k=4:descending",
    ),
    *("split-k=4:2.0.3.1", "stream-k=32.96", "stream-k=64.32.32:onward", "sliced-k=2x32"),
)
OUTS = ("", "", "out=bf16", "out=fp16")


def random_plan(seed: int) -> Plan:
    """Return a plan of one or two levels that fits K."""
    rng = np.random.default_rng(seed)
    while True:
        unit = UNITS[rng.integers(len(UNITS))]
        count = rng.integers(3)
        settings = [LEVELS[i] for i in rng.integers(len(LEVELS), size=count)]
        out = OUTS[rng.integers(len(OUTS))]
        try:
            plan = read_plan(" | ".join([unit, *settings, *([out] if out else [])]))
            plan.schedule(K)
        except DesignError:
            continue
        return plan


@pytest.mark.slow_values("0", "2")
@pytest.mark.parametrize(
    "seed", [pytest.param(x, marks=pytest.mark.middle if x in (0, 2) else pytest.mark.slow) for x in range(30)]
)
def test_round_trip(seed: int) -> None:
    plan = random_plan(seed)
    a, b, _, d = plan.formats

    def function(x: Matrix, y: Matrix) -> Matrix:
        return array_of(multiply_plan(plan, patterns_of(x, a), patterns_of(y, b)), d)

    asked = Asked(black_box(function), Product(12, 12, K, a, b, d))
    outcome = KernelSearch(asked, seconds=3600, validation=5000).search()
    (finding,) = outcome.findings
    found = finding.plan
    assert found is not None
    if not are_same(found, plan, K):
        equal = rival(found, plan, asked.product, 60.0)
        assert equal.verdict is Verdict.EQUAL, f"{found.name}: {equal}"
