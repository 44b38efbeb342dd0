"""Kernels that choose another plan by M are found, with the M and an element; those that do not are not accused."""

import ml_dtypes
import numpy as np
import pytest

from mmaproof.designs.errors import InputError, TargetUnavailable
from mmaproof.hardware_replay.matrix_targets import check_batch_invariance

UNIT = "hopper/wgmma.f32.bf16.bf16"


def in_parts(a, b, parts):
    """A product in fp32 whose k is cut in parts, each row by itself."""
    x, y = a.astype(np.float32), b.astype(np.float32)
    total = np.zeros((len(a), b.shape[1]), dtype=np.float32)
    for ks in np.array_split(np.arange(a.shape[1]), parts):
        part = np.zeros_like(total)
        for i in ks:
            part = part + x[:, i, None] * y[i]
        total = total + part
    return total


def check(kernel, **settings):
    return check_batch_invariance(kernel, UNIT, k=64, n=8, most=40, **settings)


def test_one_plan_for_all_rows_is_invariant():
    found = check(lambda a, b: in_parts(a, b, 1))
    assert found.invariant
    assert found.deterministic
    assert found.changes == ()
    assert found.witness is None
    assert found.runs > 3 * 10


@pytest.mark.parametrize("at", [2, 11, 33, 40])
def test_split_k_from_some_rows_on_is_found(at):
    found = check(lambda a, b: in_parts(a, b, 4 if len(a) >= at else 1))
    assert not found.invariant
    assert found.deterministic
    assert found.changes == (at,)
    witness = found.witness
    assert witness is not None
    assert witness.m >= at
    a, b = (x.view(ml_dtypes.bfloat16) for x in (witness.a[None], witness.b[:, None]))
    alone, batch = (in_parts(a, b, parts).view(np.uint32)[0, 0] for parts in (1, 4))
    assert (witness.alone, witness.other) == (alone, batch)


def test_a_row_that_depends_on_its_place_is_found():
    def kernel(a, b):
        d = in_parts(a, b, 1)
        d[16:] = in_parts(a, b, 2)[16:]
        return d

    found = check(kernel)
    assert not found.invariant
    assert found.witness.how == "in another order of rows"


def test_a_kernel_that_returns_other_bits_each_time_is_not_deterministic():
    calls = []

    def kernel(a, b):
        calls.append(1)
        return in_parts(a, b, 1 + len(calls) % 2)

    found = check(kernel)
    assert not found.deterministic
    assert not found.invariant


def test_bad_input():
    with pytest.raises(InputError, match="at least 2 rows"):
        check_batch_invariance(lambda a, b: a, UNIT, most=1)
    with pytest.raises(InputError, match="has scales"):
        check_batch_invariance(lambda a, b: a, "blackwell/tcgen05.mma.m128n8k32.block32.f32.e4m3.e4m3.ue8m0", most=4)
    with pytest.raises(TargetUnavailable, match="raised ZeroDivisionError"):
        check(lambda a, b: 1 / 0)
    with pytest.raises(InputError):
        check(lambda a, b: a)
