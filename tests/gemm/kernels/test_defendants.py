"""A library's own products: the judge finds the plan that was identified, and names what was done to them."""

import numpy as np
import pytest

import mmaproof
from mmaproof.designs.formats import FORMATS
from mmaproof.gemm.kernels.asked import Asked
from mmaproof.gemm.kernels.identify import KernelSearch
from mmaproof.gemm.tolerances.judge import Judgement, judge
from mmaproof.hardware_replay.matrix_target import Product
from mmaproof.hardware_replay.matrix_targets import find_matrix_target

FP32 = FORMATS["fp32"]
SHAPES = [(32, 48, 128), (64, 64, 512), (40, 24, 1000)]


def found_plan(m: int, n: int, k: int) -> str:
    """Return the plan of NumPy's product of a shape, whichever library and processor compute it here."""
    asked = Asked(find_matrix_target("python:numpy:matmul", 60), Product(m, n, k, FP32, FP32, FP32))
    plan = KernelSearch(asked, seconds=200, validation=10_000).search().findings[0].plan
    assert plan is not None
    return plan.name


@pytest.mark.slow
@pytest.mark.parametrize("shape", SHAPES)
def test_numpys_products_are_judged(shape: tuple[int, int, int]) -> None:
    m, n, k = shape
    plan, rng = found_plan(*shape), np.random.default_rng(k)
    a, b = (rng.standard_normal(x).astype(np.float32) for x in ((m, k), (k, n)))
    d = a @ b

    def judged(x: np.ndarray, **more: object) -> Judgement:
        return judge(x, a, b, plans=[plan], **more)

    assert judged(d).exact == (mmaproof.read_plan(plan).name,)
    # a k-block that was left out, here the last sixteen products
    found = judged(a[:, :-16] @ b[:-16])
    assert found.verdict == "outside" and f"k = {k - 16}..{k - 1}" in " ".join(found.fits), found
    # results that went through a narrower type
    found = judged(d.astype(np.float16).astype(np.float32))
    assert found.verdict == "outside" and "rounded to fp16" in " ".join(found.fits), found
    # two tiles of the result in each other's place
    swapped = d.copy()
    swapped[:8, :8], swapped[8:16, 8:16] = d[8:16, 8:16], d[:8, :8]
    found = judged(swapped)
    assert found.verdict == "outside" and "tiles at another place" in " ".join(found.fits), found
