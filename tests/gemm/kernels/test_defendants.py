"""NumPy's OpenBLAS as a defendant: its products have the bits of the plans that identification found, at three shapes.

Which kernel runs depends on the processor and on OPENBLAS_CORETYPE: Haswell's takes k in two chains at the edges of its
tiles, so that its products have two plans.
"""

import numpy as np
import pytest
from support.defendants import judged, plans_of

from mmaproof.designs.formats import FORMATS
from mmaproof.hardware_replay.matrix_targets import Product

FP32 = FORMATS["fp32"]


@pytest.mark.slow
@pytest.mark.parametrize(("m", "n", "k"), [(64, 64, 64), (96, 64, 256), (80, 96, 512)])
def test_a_product_of_numpy_is_judged_by_its_plans(m, n, k):
    product = Product(m, n, k, FP32, FP32, FP32)
    plans = plans_of(np.matmul, product)
    lost, rounded, swapped = judged(np.matmul, product, plans, seed=k)
    assert f"k = {k // 2}..{k // 2 + 15} were missing" in lost or f"k = {k // 2}..{k // 2 + 15} missing" in lost
    assert "the result rounded to bf16 on its way" in rounded
    assert "tiles at another place: " in swapped
    assert "rows 16..23, columns 16..23 are rows 32..39, columns 40..47" in swapped
