"""The tree of a black box, from masked operands: of NumPy sums in a known order, and of designs."""

from functools import partial

import numpy as np
import pytest
from support.matrix_functions import (
    Function,
    Matrix,
    ascending,
    black_box,
    descending,
    in_parts,
    lanes,
    pairwise,
    product,
    terms,
)

from mmaproof.designs.catalogue import find_design
from mmaproof.gemm.kernels.asked import Asked, DiffersEachTime
from mmaproof.gemm.kernels.masks import Magnitudes, Masks, NotMasked
from mmaproof.gemm.kernels.tree import Tree, add, grow, instruction_trees, text_of, tree_of_call
from mmaproof.hardware_replay.emulation import matmul
from mmaproof.hardware_replay.matrix_targets import Product


def tree_of(function: Function, of: Product, seed: int = 0) -> Tree:
    return grow(Masks(Asked(black_box(function), of)), of.k, seed)


@pytest.mark.parametrize(
    ("function", "text"),
    [
        (ascending, "0..23"),
        (descending, "22 23 21..0:-1"),
        (
            pairwise,
            "0 1 + (2 3) + (4 5 + (6 7)) + (8 9 + (10 11) + (12 13 + (14 15))) + (16 17 + (18 19) + (20 21 + (22 23)))",
        ),
        (in_parts(12, 12), "0..11 + (12..23)"),
        (in_parts(9, 9, 6), "0..8 + (9..17) + (18..23)"),
        (in_parts(8, 8, 8, order=[2, 0, 1]), "0..7 + (16..23) + (8..15)"),
        (lanes(2), "0..22:2 + (1..23:2)"),
    ],
)
@pytest.mark.parametrize("shape", [(5, 7), (16, 1)])
def test_numpy_sums(function: Function, text: str, shape: tuple[int, int]) -> None:
    assert text_of(tree_of(function, product(*shape, 24))) == text


@pytest.mark.parametrize("seed", range(5))
def test_random_trees(seed: int) -> None:
    rng = np.random.default_rng(seed)
    order = rng.permutation(31).tolist()
    joins = [sorted(rng.choice(31 - i, 2, replace=False).tolist()) for i in range(30)]

    def multiply(a: Matrix, b: Matrix) -> Matrix:
        values = [terms(a, b)[k] for k in order]
        for i, j in joins:
            values.append(values[i] + values[j])
            del values[j], values[i]
        return values[0]

    first, second = (tree_of(multiply, product(8, 8, 31), s) for s in (1, 2))
    assert first == second
    known: list[Tree] = list(order)
    for i, j in joins:
        known.append(add([known[i], known[j]]))
        del known[j], known[i]
    assert first == known[0]


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("name", "count", "text"),
    [
        pytest.param("hopper/wgmma.m64n8k16.f32.f16.f16", 2, "0..31 by 16", marks=pytest.mark.middle),
        pytest.param("hopper/wgmma.m64n8k32.f32.e4m3.e4m3", 2, "0..63 by 32", marks=pytest.mark.middle),
        ("volta/mma.m8n8k4.f16.f16.f16.f16", 3, "0..11 by 4"),
        ("cpu/vdpbf16ps.m1n1k2.f32.bf16.bf16.f32", 3, "0 1 3 2 5 4"),
        ("cpu/tdpbf16ps.m16n16k32.f32.bf16.bf16.f32", 2, "0..30:2 + (1..31:2) + (32..62:2 + (33..63:2))"),
        ("cpu/vfmadd231ps.m1n1k1.f32.f32.f32.f32", 4, "0..3"),
    ],
)
def test_units(name: str, count: int, text: str) -> None:
    design = find_design(name)
    found = instruction_trees(design)
    assert found is not None
    assert text_of(tree_of_call(design, range(count * design.k))) == text


def test_a_unit_as_a_black_box_has_the_tree_of_the_unit() -> None:
    design = find_design("volta/mma.m8n8k4.f16.f16.f16.f16")
    of = Product(8, 4, 12, design.a_format, design.b_format, design.d_format)
    assert tree_of(partial(matmul, design, backend="arrays"), of) == tree_of_call(design, range(12))


def test_units_are_counted_in_parts_where_the_result_is_narrow() -> None:
    def in_fp32(a: Matrix, b: Matrix) -> Matrix:
        return ascending(a.astype(np.float32), b.astype(np.float32)).astype(a.dtype)

    masks = Masks(Asked(black_box(in_fp32), product(8, 8, 300, "bf16", "bf16")))
    assert masks.at_once == 256
    assert text_of(grow(masks, 300)) == "0..299"


def test_sums_that_lose_nothing_have_no_tree() -> None:
    with pytest.raises(NotMasked, match="integers are exact"):
        Magnitudes.of(product(4, 4, 8, "int8", "int32"))
    with pytest.raises(NotMasked, match="no unit is absorbed"):
        Magnitudes.of(product(4, 4, 8, "e2m1", "fp32"))


def test_products_of_sums_have_no_tree() -> None:
    def combined(a: Matrix, b: Matrix) -> Matrix:
        """Multiply sums of operands, as Strassen's algorithm does."""
        half = a.shape[1] // 2
        (p, q), (r, s) = (a[:, :half], a[:, half:]), (b[:half], b[half:])
        return ascending(p + q, r) + ascending(q, s - r)

    with pytest.raises(NotMasked):
        tree_of(combined, product(8, 8, 12))


def test_a_contradiction_is_noticed() -> None:
    calls = []

    def sometimes(a: Matrix, b: Matrix) -> Matrix:
        calls.append(1)
        return (descending if len(calls) % 2 else ascending)(a, b)

    with pytest.raises(DiffersEachTime, match="answers the same operands differently.* 1 of 1 more answers"):
        Asked(black_box(sometimes), product(8, 8, 64)).require_the_same(2, 0)
    Asked(black_box(ascending), product(8, 8, 64)).require_the_same(2, 0)
