"""What GEMM kernels returned, against their proved tolerances.

Each file of the folder GEMM_RESULTS is one product: the arrays a (M, K), b (K, N), c and d (M, N), as numbers of their
formats or as bit patterns, and the text plan, which says how the kernel builds the product from its unit.
"""

import os
from pathlib import Path

import numpy as np
import pytest

from mmaproof import assert_gemm

FOLDER = Path(os.environ.get("GEMM_RESULTS", "results"))
FILES = sorted(FOLDER.glob("*.npz"))


def test_there_are_results():
    """A job that wrote nothing must not pass."""
    assert FILES, f"no .npz file in {FOLDER.resolve()}"


@pytest.mark.parametrize("file", FILES, ids=lambda x: x.stem)
def test_a_product_is_within_its_bound(file):
    """A correct kernel never fails; a lost part of k, or c added twice, does."""
    with np.load(file) as held:
        assert_gemm(held["d"], held["a"], held["b"], held["c"], plan=str(held["plan"]), strength="proved")
