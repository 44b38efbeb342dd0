"""PyTorch's bf16 on the CPU (oneDNN) as a defendant, at three shapes."""

import pytest
from support.extras import PYTORCH

torch = pytest.importorskip("torch", reason=PYTORCH)

import numpy as np  # noqa: E402
from support.defendants import judged, plans_of  # noqa: E402

from mmaproof.designs.formats import FORMATS  # noqa: E402
from mmaproof.hardware_replay.matrix_targets import Product  # noqa: E402

BF16 = FORMATS["bf16"]


def bf16(a, b):
    """Return the product of two arrays of bf16."""
    x, y = (torch.from_numpy(np.ascontiguousarray(v).view(np.int16)).view(torch.bfloat16) for v in (a, b))
    return (x @ y).view(torch.int16).numpy().view(a.dtype)


@pytest.mark.middle
@pytest.mark.parametrize(("m", "n", "k"), [(64, 64, 64), (96, 64, 256), (64, 64, 512)])
def test_a_product_of_pytorch_is_judged_by_its_plan(m, n, k):
    product = Product(m, n, k, BF16, BF16, BF16)
    plans = plans_of(bf16, product)
    lost, rounded, swapped = judged(bf16, product, plans, seed=k)
    assert "missing" in lost
    assert "the result rounded to e5m2 on its way" in rounded
    assert "tiles at another place" in swapped
