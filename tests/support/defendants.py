"""Libraries whose products are judged: the plans that identification finds, and what is said of corrupted results."""

from collections.abc import Callable
from typing import Any

import numpy as np

import mmaproof
from mmaproof.designs.formats import FORMATS
from mmaproof.designs.operands import array_of, values_of
from mmaproof.gemm.kernels.asked import Asked
from mmaproof.gemm.kernels.identify import KernelSearch
from mmaproof.gemm.programs import Plan
from mmaproof.hardware_replay.matrix_targets import Product
from mmaproof.verification.distributions import from_float64
from support.matrix_functions import black_box

TILES = np.s_[16:24, 16:24], np.s_[32:40, 40:48]


def plans_of(function: Callable[[Any, Any], Any], product: Product) -> list[Plan]:
    """Return the plans of a library for one shape, one for each region that has another order of additions."""
    found = KernelSearch(Asked(black_box(function), product), seconds=900, validation=20000, comparing=0).search()
    assert found.found, found
    return [x.plan for x in found.findings if x.plan is not None]


def judged(function: Callable[[Any, Any], Any], product: Product, plans: list[Plan], seed: int) -> list[str]:
    """Hold a library's product and three corruptions of it to the plans; return the words for the corruptions."""
    rng = np.random.default_rng(seed)

    def drawn(fmt: Any, *shape: int) -> Any:
        return array_of(from_float64(fmt, rng.standard_normal(shape)), fmt)

    a, b = drawn(product.a, product.m, product.k), drawn(product.b, product.k, product.n)
    d = function(a, b)
    right = mmaproof.judge(d, a, b, plans=plans, explain=False)
    assert right.verdict == ("exact" if len(plans) == 1 else "mixed"), right
    assert {x.plan for x in right.parts} == ({x.name for x in plans} if len(plans) > 1 else set())
    lost = a.copy()
    lost[:, product.k // 2 : product.k // 2 + 16] = 0
    narrow = FORMATS["e5m2" if product.d is FORMATS["bf16"] else "bf16"]
    rounded = values_of(from_float64(narrow, d.astype(np.float64)), narrow).astype(d.dtype)
    swapped = d.copy()
    swapped[TILES[0]], swapped[TILES[1]] = d[TILES[1]], d[TILES[0]]
    words = []
    for wrong in (function(lost, b), rounded, swapped):
        found = mmaproof.judge(wrong, a, b, plans=plans)
        assert found.verdict == "outside", found
        words.append(" ".join(found.fits))
    return words
