"""Structured sparse instructions: which elements are selected, and open point 62, on literals."""

import itertools
import re

import pytest

from mmaproof.designs.catalogue import find_design, load_catalogue
from mmaproof.designs.element import Operands, selected
from mmaproof.designs.formats import FORMATS
from mmaproof.designs.open_points import open_readings
from mmaproof.designs.profiles import load_disputes
from mmaproof.smt.trace import evaluate
from mmaproof.verification.compare import compare

ROWS = [x for x in load_catalogue().designs.values() if x.architecture == "sparse"]
DENSE = {
    "ampere.mma.sp.m16n8k32.f32.f16.f16.f32": "ampere/mma.m16n8k16.f32.f16.f16.f32",
    "ampere.mma.sp.m16n8k16.f32.bf16.bf16.f32": "ampere/mma.m16n8k8.f32.bf16.bf16.f32",
    "hopper.wgmma.sp.m64n8k32.f32.f16.f16": "hopper/wgmma.m64n8k16.f32.f16.f16",
    "cdna3.v_smfmac_f32_32x32x16_f16": "cdna3/v_mfma_f32_32x32x8_f16",
    "cdna3.v_smfmac_f32_16x16x32_bf16": "cdna3/v_mfma_f32_16x16x16_bf16",
}


def test_the_shape_counts_all_elements_of_b_and_every_row_is_assumed():
    assert len(ROWS) == 10
    for x in ROWS:
        assert x.evidence.is_assumed
        assert x.k >= x.step.L
        (shape,) = re.findall(r"(?:m\d+n\d+k|\d+x\d+x)(\d+)", x.instruction)
        assert 2 * x.k == int(shape)


@pytest.mark.parametrize(("sparse", "dense"), DENSE.items())
def test_the_default_is_the_dense_instruction_of_the_selected_elements(sparse, dense):
    found = compare(find_design(f"sparse/{sparse}"), find_design(dense))
    assert (found.verdict, found.origin.split()[0]) == ("equivalent", "identity:")


@pytest.mark.parametrize("design", ROWS, ids=lambda x: x.instruction)
def test_half_a_step_is_the_other_reading(design):
    (reading,) = [x for x in open_readings(design) if x.points == (62,)]
    assert reading.settings == {"L": design.step.L // 2}
    other = load_disputes().apply(design, "sparse-steps")
    assert other.step.L == design.step.L // 2
    found = compare(design, other)
    assert found.verdict == "different"
    assert found.witness is not None
    assert evaluate(design, found.witness) != evaluate(other, found.witness)


def test_2_to_the_24_and_one_come_together_or_apart():
    """2^24 + 1 - 2^24 is one in one step; where -2^24 is of the next step, the first one loses it."""
    design = find_design("sparse/ampere.mma.sp.m16n8k32.f32.f16.f16.f32")
    fp16 = FORMATS["fp16"]
    large, one = fp16.encode(4096), fp16.encode(1)
    minus = fp16.encode(-4096)
    b = selected([large, one, 0, 0, 0, 0, 0, 0, 0x7C00, 0x7C00, large, 0, *[0] * 20], 0x44444E44)
    a = (large, one, 0, 0, minus, *[0] * 11)
    assert evaluate(design, Operands(a, b, 0)) == 0x3F800000
    assert evaluate(design.change(L=4), Operands(a, b, 0)) == 0


def test_a_selection_is_that_of_each_group():
    """Every pair of places of a group, against places by hand."""
    for first, second in itertools.combinations(range(4), 2):
        metadata = first | second << 2 | 0x40
        assert selected([10, 11, 12, 13, 20, 21, 22, 23], metadata) == (10 + first, 10 + second, 20, 21)
