"""Operands are checked against the design that is to read them."""

import numpy as np
import pytest

from mmaproof.designs.catalogue import find_design
from mmaproof.designs.element import Operands, selected
from mmaproof.designs.errors import DesignError, OperandError
from mmaproof.designs.operands import OperandBatch

VOLTA = find_design("volta/f32.f16.f16.f32")


@pytest.mark.parametrize(
    ("operands", "problem"),
    [
        (Operands((0,) * 4, (0,) * 3, 0), "as many"),
        (Operands((0x10000, 0, 0, 0), (0,) * 4, 0), r"a\[0\].*too wide"),
        (Operands((0,) * 4, (0, 0, 0, -1), 0), r"b\[3\]"),
        (Operands((0,) * 4, (0,) * 4, 1 << 32), r"c\[0\]"),
    ],
)
def test_misfits_are_named(operands, problem):
    with pytest.raises(OperandError, match=problem):
        operands.check(VOLTA)


@pytest.mark.parametrize("length", [0, 5, 6, 11])
def test_a_length_that_no_chain_has(length):
    with pytest.raises(DesignError):
        Operands((0,) * length, (0,) * length, 0).check(VOLTA)


def batch(rows=2, k=4, a=np.uint16, c=np.uint32):
    return OperandBatch(np.zeros((rows, k), a), np.zeros((rows, k), np.uint16), np.zeros(rows, c))


def test_batches_are_checked_too():
    batch().check(VOLTA)
    with pytest.raises(OperandError, match="unsigned"):
        batch(a=np.int16).check(VOLTA)
    with pytest.raises(OperandError, match="shapes"):
        OperandBatch(batch().a, batch().b, np.zeros(3, np.uint32)).check(VOLTA)
    wide = OperandBatch(np.full((2, 4), 0x10000, np.uint32), batch().b, batch().c)
    with pytest.raises(OperandError, match="too wide"):
        wide.check(VOLTA)


def test_rows_go_in_and_out():
    rows = [Operands((1, 2, 3, 4), (5, 6, 7, 8), 9), Operands((0,) * 4, (1,) * 4, 2)]
    made = OperandBatch.of_rows(VOLTA.formats, rows)
    assert [made.row(i) for i in range(2)] == rows
    assert made.k == 4


def test_metadata_select_two_of_four_elements():
    b = tuple(range(100, 116))
    pairs = [(0, 1), (0, 2), (1, 3), (2, 3)]
    metadata = sum((second << 2 | first) << 4 * i for i, (first, second) in enumerate(pairs))
    dense = [i in pairs[at] for at in range(4) for i in range(4)]  # which places of a are stored
    assert selected(b, metadata) == tuple(x for x, stored in zip(b, dense, strict=True) if stored)
    assert selected(b[:4], 0x4) == (100, 101)


@pytest.mark.parametrize(
    ("count", "metadata", "problem"),
    [
        (4, 0x0, "select 0, then 0 of group 0"),
        (8, 0x14, "select 1, then 0 of group 1"),
        (4, 0x44, "groups of 4 elements, and b has 4"),
        (6, 0x4, "b has 6"),
    ],
)
def test_metadata_that_select_nothing_in_order_are_refused(count, metadata, problem):
    with pytest.raises(OperandError, match=problem):
        selected((0,) * count, metadata)
