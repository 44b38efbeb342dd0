"""The steps that instructions of CPUs, of consoles and on bits have: arrays and compiled code on ten million rows."""

import numpy as np
import pytest

from mmaproof.designs.catalogue import find_design
from mmaproof.smt.backends import Backend
from mmaproof.smt.evaluate import evaluate_batch
from mmaproof.verification.distributions import DISTRIBUTIONS, draw

NAMES = (
    "ampere/mma.m8n8k128.s32.b1.b1.s32.xor.popc@L=8",
    "blackwell/tcgen05.mma.m64n8k32.satfinite.s32.u8.s8@L=8",
    "cpu/vpmaddubsw-vpmaddwd-vpaddd",
    "cpu/tcmmrlfp16ps@L=4",
    "cpu/tcmmimfp16ps@L=4",
    "cpu/tdpbf8ps@L=4",
    "psp/vdot",
    "wormhole/mvmul.phase0.m8n16k16.f32.e8m7.e8m7.f32",
)
AT_ONCE = 250_000


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_arrays_and_native_code_agree(name):
    design, rng, rows = find_design(name).one_step(), np.random.default_rng(7), 0
    for distribution in DISTRIBUTIONS:
        for _ in range(10_000_000 // len(DISTRIBUTIONS) // AT_ONCE):
            batch = draw(distribution, design, AT_ONCE, design.k, rng)
            arrays, native = (evaluate_batch(design, batch, backend=x) for x in (Backend.ARRAYS, Backend.NATIVE))
            assert (arrays == native).all(), distribution
            rows += AT_ONCE
    assert rows == 10_000_000
