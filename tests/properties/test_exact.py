"""The exact twin keeps every bit of any term, also where c is the wider d of the step before."""

import pytest
from support.sampling import distinct_designs

from mmaproof.designs.catalogue import find_design
from mmaproof.properties.settings import exact_twin, whole_range


def test_all_numbers_of_c_and_d_lie_in_the_whole_range():
    for design in distinct_designs():
        if design.d_format.is_integer:
            continue
        last = min(f.e_min - f.fraction_bits for f in (design.c_format, design.d_format))
        assert whole_range(design) >= max(f.e_max for f in (design.c_format, design.d_format)) - last, design.name


@pytest.mark.parametrize("name", ["volta/mma.m8n8k4.f32.f16.f16.f16", "volta/mma.m8n8k4.f32.f16.f16.f32"])
def test_a_narrower_c_leaves_the_twin_the_bits_of_d(name):
    # from 2**127 to the last bit of the smallest fp32 number, 2**-149
    assert exact_twin(find_design(name)).step.kept_bits == 276
