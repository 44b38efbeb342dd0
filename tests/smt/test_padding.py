"""A dot product shorter than K: the missing elements are +0, and the scales of missing blocks 1."""

import numpy as np
import pytest
from reference.designs import reference_result

from mmaproof.designs.catalogue import find_design
from mmaproof.designs.element import Operands
from mmaproof.designs.errors import DesignError, OperandError
from mmaproof.designs.operands import OperandBatch
from mmaproof.hardware_replay.emulation import dot
from mmaproof.smt.evaluate import evaluate_batch
from mmaproof.smt.trace import evaluate
from mmaproof.verification.distributions import draw

SCALED = [
    "rtx-blackwell/mma.m16n8k64.block16.f32.e2m1.e2m1.f32.ue4m3",
    "blackwell/tcgen05.mma.m128n8k64.block32.f32.e2m1.e2m1.ue8m0",
    "blackwell/tcgen05.mma.m128n8k64.block32.f32.e2m1.e2m1.ue8m0@zero_group=absent",
]


def padded(column, length, with_):
    """The columns of a batch with others of one pattern beside them."""
    added = np.full((len(column), length - column.shape[1]), with_, column.dtype)
    return np.concatenate([column, added], axis=1)


@pytest.mark.few(1)
@pytest.mark.parametrize("name", SCALED)
@pytest.mark.parametrize("distribution", ["aligned", "edges", "normal"])
def test_missing_blocks_are_zeros_scaled_by_one(name, distribution):
    design = find_design(name)
    batch = draw(distribution, design, 16, design.block, np.random.default_rng(0))
    assert batch.scale_a.shape == (16, 1) == (16, design.blocks(design.block))
    one = design.scale_format.encode(1)
    whole = OperandBatch(
        *(padded(x, design.k, 0) for x in (batch.a, batch.b)),
        batch.c,
        *(padded(x, design.k // design.block, one) for x in (batch.scale_a, batch.scale_b)),
    )
    expected = evaluate_batch(design, whole).tolist()
    assert evaluate_batch(design, batch).tolist() == expected
    assert [evaluate(design, batch.row(i)) for i in range(len(batch))] == expected
    assert [reference_result(design, batch.row(i)) for i in range(len(batch))] == expected
    emulated = dot(design, batch.a, batch.b, batch.c, batch.scale_a, batch.scale_b)
    assert emulated.view(np.uint32).tolist() == expected


def test_scales_of_missing_blocks_are_not_given():
    design = find_design(SCALED[0])
    with pytest.raises(OperandError, match="takes 1 scales of a and of b"):
        Operands((0,) * 16, (0,) * 16, 0, (0x38,) * 4, (0x38,) * 4).check(design)
    with pytest.raises(DesignError, match="not a multiple of the 16 elements"):
        design.blocks(24)
