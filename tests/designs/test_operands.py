"""Operands are checked against the design that is to read them."""

import numpy as np
import pytest

from mmaproof.designs.catalogue import find_design
from mmaproof.designs.element import Operands
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
