"""Trees as records: equal trees have equal records, however they were built; subtrees have sizes; text is short."""

import pytest

from mmaproof.designs.catalogue import find_design
from mmaproof.gemm.kernels.fit import Plus, decompose, levels_of
from mmaproof.gemm.kernels.tree import Sum, Tree, add, chain, leaves, renumbered, size, text_of


def test_a_sum_does_not_depend_on_the_order_of_its_terms() -> None:
    assert add([0, 1]) == add([1, 0]) == Sum(((0, 1),))
    assert add([add([3, 2]), add([1, 0])]) == add([add([0, 1]), add([2, 3])])


def test_a_chain_is_the_additions_that_it_stands_for() -> None:
    one_by_one: Tree = 0
    for k in range(1, 9):
        one_by_one = add([one_by_one, k])
    assert chain(None, [[k] for k in range(9)]) == one_by_one
    assert chain(0, [[k] for k in range(1, 9)]) == one_by_one


def test_a_chain_may_be_joined_by_something_larger() -> None:
    large = chain(None, [[k] for k in range(2, 9)])
    assert chain(None, [[0], [1], [large], [9]]) == add([add([add([0, 1]), large]), 9])


def test_several_terms_at_once_are_another_tree_than_one_after_the_other() -> None:
    assert chain(None, [[0, 1], [2, 3]]) != chain(None, [[0], [1], [2], [3]])


@pytest.mark.parametrize(
    ("tree", "pair", "common"),
    [
        (chain(None, [[k] for k in range(8)]), (2, 5), 6),
        (chain(None, [[0, 1], [2, 3]]), (2, 3), 4),
        (add([chain(None, [[0], [1], [2]]), chain(None, [[3], [4], [5]])]), (4, 5), 3),
        (add([chain(None, [[0], [1], [2]]), chain(None, [[3], [4], [5]])]), (0, 3), 6),
    ],
)
def test_size_of_the_smallest_common_subtree(tree: Sum, pair: tuple[int, int], common: int) -> None:
    assert tree.common(*pair) == tree.common(*pair[::-1]) == common


def test_renumbered_leaves() -> None:
    tree = add([chain(None, [[0], [1], [2]]), 3])
    assert leaves(renumbered(tree, [7, 6, 5, 4])) == leaves(chain(None, [[6, 7], [5], [4]]))
    assert size(tree) == 4


@pytest.mark.parametrize(
    ("tree", "text"),
    [
        (5, "5"),
        (chain(None, [[k] for k in range(256)]), "0..255"),
        (chain(None, [[k] for k in range(0, 32, 2)]), "0..30:2"),
        (chain(None, [range(k, k + 16) for k in range(0, 64, 16)]), "0..63 by 16"),
        (add(range(4)), "{0..3}"),
        (add([0, 2, 5]), "{0 2 5}"),
        (chain(None, [[0], [1], [3], [2], [5], [4]]), "0 1 3 2 5 4"),
        (add([chain(None, [[0], [1], [2]]), chain(None, [[3], [4]])]), "0..2 + (3 4)"),
        (
            chain(
                chain(None, [[0], [1], [2], [3]]), [[chain(None, [[k + i] for i in range(4)])] for k in range(4, 40, 4)]
            ),
            "0..3 + (4..7) and 8 more like it, each 4 further",
        ),
        (add([chain(None, [[0], [1], [2]]), 3, 4]), "0..2 + {3 4}"),
    ],
)
def test_text(tree: Tree, text: str) -> None:
    assert text_of(tree) == text


@pytest.mark.slow
def test_a_long_chain_of_single_terms_is_taken_apart() -> None:
    """It nests as deep as it is long where the unit takes k in another order."""
    swapped = [k ^ 1 for k in range(3000)]
    expression = decompose(chain(None, [[k] for k in swapped]), find_design("cpu/vfmadd231ps"))
    assert isinstance(expression, Plus)
    assert (expression.length, expression.ks) == (3000, tuple(range(3000)))
    assert levels_of(expression) == []  # no rule of a plan takes k in pairs
