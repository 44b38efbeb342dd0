"""Fidelity phases of Tenstorrent's matrix unit: which bits of the significands are multiplied, on small examples."""

from fractions import Fraction

import numpy as np
import pytest
from reference.tensix import fidelity_bits, value
from support.pictures import draw

from mmaproof.designs.catalogue import find_design, load_catalogue
from mmaproof.designs.element import Operands
from mmaproof.designs.errors import DesignError
from mmaproof.designs.formats import FORMATS
from mmaproof.explain import explain
from mmaproof.smt.backends import Backend
from mmaproof.smt.evaluate import evaluate_batch
from mmaproof.smt.trace import evaluate
from mmaproof.verification.compare import compare
from mmaproof.verification.distributions import DISTRIBUTIONS
from mmaproof.verification.distributions import draw as draw_operands

PHASES = [find_design(f"wormhole/mvmul.phase{i}.f32.e5m10.e5m10.f32") for i in range(4)]
ALL_ONES = 0x3FFF  # 1.1111111111
ROWS = [d for d in load_catalogue().designs.values() if d.family == "tensix"]


def alone(x: int, y: int) -> Operands:
    return Operands((x, *(0,) * 15), (y, *(0,) * 15), 0)


def result(phase: int, x: int, y: int) -> Fraction:
    bits = evaluate(PHASES[phase], alone(x, y))
    return Fraction(float(np.uint32(bits).view(np.float32)))


def test_the_parts_are_those_of_the_documentation():
    """SrcASrcB.md: of SrcA (b) the implicit one and four bits, then five; of SrcB (a) that one and six, then four."""
    high_a, low_a = Fraction(0b1111111, 2**6), Fraction(0b1111, 2**10)
    high_b, low_b = Fraction(0b11111, 2**4), Fraction(0b11111, 2**9)
    assert [result(i, ALL_ONES, ALL_ONES) for i in range(4)] == [
        high_a * high_b,
        high_a * low_b,
        low_a * high_b,
        low_a * low_b,
    ]


def test_all_phases_make_the_whole_product_of_bf16_and_leave_one_bit_of_fp16():
    fp16 = sum(result(i, ALL_ONES, ALL_ONES) for i in range(4))
    assert fp16 == Fraction(0x7FF, 2**10) * Fraction(0x7FE, 2**10)
    names = [find_design(f"wormhole/mvmul.phase{i}.f32.e8m7.e8m7.f32") for i in range(4)]
    d = 0
    for design in names:
        x = alone(0x3FFF, 0xBFFF)
        d = evaluate(design, Operands(x.a, x.b, d))
    assert Fraction(float(np.uint32(d).view(np.float32))) == -(Fraction(0xFF, 2**7) ** 2)


def test_the_largest_exponent_is_that_of_a_number():
    design = find_design("wormhole/mvmul.phase0.f32.e8m7.e8m7.f32")
    assert evaluate(design, alone(0x7F80, 0x3F00)) == 0x7F000000  # 2^128 * 2^-1
    assert evaluate(design, alone(0x7F80, 0x3F80)) == 0x7F800000  # too large: an infinity


def test_subnormals_are_zeros():
    design = find_design("wormhole/mvmul.phase0.f32.e8m7.e8m7.f32")
    assert evaluate(design, alone(0x007F, 0x7F00)) == 0
    assert evaluate(design, Operands((0,) * 16, (0,) * 16, 0x80400000)) == 0


@pytest.mark.few(1)
@pytest.mark.parametrize("fmt", ["e8m7", "e8m10", "e5m10"])
def test_parts_of_every_element_add_up(fmt):
    """The parts that a pair of phases multiplies are the element, but for the last bit of SrcA where it has ten."""
    ignored = FORMATS[fmt].ignored_bits
    for bits in range(0, 1 << 16 if fmt != "e8m10" else 1 << 19, 37):
        pattern = bits << ignored
        for source, low in (("A", 1), ("B", 2)):
            whole = value(fidelity_bits(pattern, fmt, source, 0)) + value(fidelity_bits(pattern, fmt, source, low))
            field = bits >> FORMATS[fmt].fraction_bits & (1 << FORMATS[fmt].exponent_bits) - 1
            if field == 0:
                assert whole == 0
                continue
            last = 2 if source == "A" and fmt != "e8m7" else 1
            fraction = (bits % (1 << FORMATS[fmt].fraction_bits) | 1 << FORMATS[fmt].fraction_bits) // last * last
            scale = Fraction(2) ** (field - FORMATS[fmt].bias - FORMATS[fmt].fraction_bits)
            assert abs(whole) == fraction * scale


@pytest.mark.few(1)
@pytest.mark.parametrize("change", ["fidelity_phase=1", "fidelity_phase=2", "fidelity_phase=none", "subnormals=kept"])
def test_every_reading_has_a_mutant_that_is_refuted(change):
    mutant = find_design(f"{PHASES[0].name}@{change}")
    assert compare(PHASES[0], mutant).verdict == "different"


@pytest.mark.middle
def test_native_code_agrees():
    rng = np.random.default_rng(3)
    for design in (PHASES[1], PHASES[2]):
        for name in DISTRIBUTIONS:
            batch = draw_operands(name, design, 100, design.k, rng)
            native = evaluate_batch(design, batch, backend=Backend.NATIVE)
            assert (native == evaluate_batch(design, batch, backend=Backend.ARRAYS)).all(), name


def test_nothing_is_guaranteed_of_parts():
    assert all(not d.step.guarantees for d in ROWS)
    assert PHASES[0].change(fidelity_phase=None).step.guarantees


def test_a_phase_that_multiplies_nothing_is_refused():
    with pytest.raises(DesignError, match="fidelity_phase = 2 multiplies no bit of a, e4m3"):
        find_design("hopper/wgmma.m64n8k32.f32.e4m3.e4m3").change(fidelity_phase=2)


def test_the_sum_is_assumed_and_the_phase_is_not():
    for design in ROWS:
        assert design.evidence.is_assumed
        assert design.evidence.parameters["fidelity_phase"].level.value == "vendor"


def test_a_picture_says_which_bits_are_multiplied():
    lines = "\n".join(draw(explain([PHASES[1]], alone(ALL_ONES, ALL_ONES)), 80))
    assert "phase 1: the places 0 to 6 of a and 5 to 9 of b are multiplied" in lines
