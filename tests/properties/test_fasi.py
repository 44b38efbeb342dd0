"""Every experiment of the results of Fasi et al. 2021, on the inputs of the paper, for Volta, Turing and Ampere.

The inputs for Turing and Ampere are those of Volta with the constants adapted to the extra fraction bit, as the paper
says; those that need every product of a step use all L of it. Where Valpey et al. 2025 or Xie et al. 2026 corrected the
paper, the corrected outcome is asserted and the paper's is stated beside it.
"""

import numpy as np
import pytest
from reference.formats import decode

from mmaproof.designs.catalogue import find_design
from mmaproof.designs.element import Operands
from mmaproof.designs.formats import find_format
from mmaproof.smt.trace import evaluate
from mmaproof.verification.distributions import from_float64

# name -> (fp32 output, fp16 output, u: the weight of the first bit below those kept beside 1)
UNITS = {
    "volta": ("volta/mma.m8n8k4.f32.f16.f16.f32", "volta/mma.m8n8k4.f16.f16.f16.f16", 2.0**-24),
    "turing": ("turing/mma.m16n8k8.f32.f16.f16.f32", "turing/mma.m16n8k8.f16.f16.f16.f16", 2.0**-25),
    "ampere": ("ampere/mma.m16n8k8.f32.f16.f16.f32", "ampere/mma.m16n8k8.f16.f16.f16.f16", 2.0**-25),
}
SINGLE, HALF = 0, 1
EVERY = pytest.mark.parametrize("unit", UNITS)


def factors(value):
    """A product of two fp16 numbers that is ``value``: one factor holds the significand, the other a power of two."""
    for power in (0, -12, 12):
        x, y = value * 2.0**-power, 2.0**power
        if all(returned("fp16", pattern("fp16", v)) == v for v in (x, y)):
            return x, y
    raise ValueError(f"{value} is not a product of an fp16 number and a power of two")


def pattern(fmt, value):
    return int(from_float64(find_format(fmt), np.array([value]))[0])


def returned(fmt, bits):
    x = decode(bits, fmt)
    return float(-x.magnitude if x.sign else x.magnitude)


def run(design, products=(), c=0.0):
    """d for products, each a number or a pair (a, b), and c; all exactly representable."""
    found = find_design(design) if isinstance(design, str) else design
    pairs = [p if isinstance(p, tuple) else factors(p) for p in products]
    a, b = ([*(x[i] for x in pairs), *[0.0] * (found.k - len(pairs))] for i in (0, 1))
    columns = [[pattern(f.name, x) for x in column] for f, column in zip(found.formats, (a, b, [c]), strict=False)]
    for fmt, column, given in zip(found.formats, columns, (a, b, [c]), strict=False):
        assert [returned(fmt.name, p) for p in column] == list(given), "the inputs are exact"
    d = evaluate(found, Operands(tuple(columns[0]), tuple(columns[1]), columns[2][0]))
    return returned(found.d_format.name, d)


# --- Support for subnormal numbers ----------------------------------------------------------------------------------


@EVERY
@pytest.mark.parametrize("output", [SINGLE, HALF])
def test_a_subnormal_operand_is_used(unit, output):
    assert run(UNITS[unit][output], [(2.0**-24, 2.0**2)]) == 2.0**-22


@EVERY
def test_a_subnormal_accumulator_is_returned(unit):
    assert run(UNITS[unit][SINGLE], c=2.0**-149) == 2.0**-149


@EVERY
@pytest.mark.parametrize("output", [SINGLE, HALF])
def test_normal_operands_give_a_subnormal_result(unit, output):
    assert run(UNITS[unit][output], [(2.0**-14, 2.0**-1)]) == 2.0**-15
    assert run(UNITS[unit][output], [(2.0**-14, 1.0)], c=-(2.0**-15)) == 2.0**-15


@EVERY
def test_subnormal_operands_are_truncated_and_not_rounded_to_nearest(unit):
    u = UNITS[unit][2]
    # b11 = 2^-23 + 2^-24 is three quarters of what 2 takes beside it; the product of a power of two adapts it
    assert run(UNITS[unit][SINGLE], [(2.0**-23 + 2.0**-24, u / 2.0**-24), (1.0, 2.0)]) == 2.0


# --- Accuracy of the dot products -----------------------------------------------------------------------------------


@EVERY
def test_products_are_exact(unit):
    x = 1 - 2.0**-11
    assert run(UNITS[unit][SINGLE], [(x, x)] * 4) == 4 * (1 - 2.0**-10 + 2.0**-22)


@EVERY
def test_products_are_exact_with_fp16_output(unit):
    x = 1 - 2.0**-11
    assert run(UNITS[unit][HALF], [(x, x), (x, 2.0**-11)]) == 1 - 2.0**-10 + 2.0**-11


@EVERY
@pytest.mark.parametrize("largest", range(5))
def test_small_addends_are_lost_beside_the_largest_wherever_it_stands(unit, largest):
    u = UNITS[unit][2]
    terms = [u] * 5
    terms[largest] = 1.0
    assert run(UNITS[unit][SINGLE], terms[:4], c=terms[4]) == 1.0


# --- Rounding modes -------------------------------------------------------------------------------------------------


@EVERY
@pytest.mark.parametrize("sign", [1, -1])
def test_additions_drop_what_does_not_fit(unit, sign):
    u = UNITS[unit][2]
    assert run(UNITS[unit][SINGLE], [sign * 2.0, sign * (2 * u + u)]) == sign * 2.0


@EVERY
def test_that_is_truncation_and_not_round_towards_zero(unit):
    # Fasi et al. conclude round-towards-zero; Valpey et al., table 3: 2 - 2^-40 gives 2, where RTZ gives 2 - 2^-23
    assert run(UNITS[unit][SINGLE], [2.0], c=-(2.0**-40)) == 2.0


@EVERY
def test_the_result_is_rounded_to_fp16_to_nearest(unit):
    # Fasi et al.: in software; Valpey et al., section 4.2: in the unit. The result is the same
    assert run(UNITS[unit][HALF], [(2.0**-24, 2.0**-1), (2.0**-24, 2.0**-2)]) == 2.0**-24


# --- Features of the accumulator ------------------------------------------------------------------------------------


def test_volta_has_no_guard_digit():
    assert run(UNITS["volta"][SINGLE], [1.0], c=-1 + 2.0**-24) == 2.0**-23


@pytest.mark.parametrize("unit", ["turing", "ampere"])
def test_the_extra_bit_of_turing_and_ampere_is_a_guard_digit(unit):
    assert run(UNITS[unit][SINGLE], [1.0], c=-1 + 2.0**-24) == 2.0**-24
    # one further down, held by products alone, is lost again
    assert run(UNITS[unit][SINGLE], [1.0, -(2.0**-25)], c=-1.0 + 2.0**-24) == 2.0**-24


@EVERY
def test_turing_and_ampere_add_exactly_what_volta_loses(unit):
    expected = 1.0 if unit == "volta" else 1.0 + 2.0**-23
    assert run(UNITS[unit][SINGLE], [1.0, 2.0**-24, 2.0**-24]) == expected


def test_partial_sums_are_not_normalised_in_addition():
    assert run(UNITS["volta"][SINGLE], [2.0**-24] * 4, c=1 - 2.0**-24) == 1 + 2.0**-23
    for unit in ("turing", "ampere"):
        assert run(UNITS[unit][SINGLE], [2.0**-25] * 8, c=1 - 2.0**-24) == 1 + 2.0**-23


def test_partial_sums_are_not_normalised_in_subtraction():
    assert run(UNITS["volta"][SINGLE], [1.0, -(2.0**-24)], c=-1 + 2.0**-24) == 2.0**-23
    for unit in ("turing", "ampere"):
        assert run(UNITS[unit][SINGLE], [1.0, -(2.0**-25)], c=-1 + 2.0**-24) == 2.0**-24


@EVERY
@pytest.mark.parametrize("small", range(4))
def test_two_carry_bits_are_there(unit, small):
    terms = [1.0] * 4
    terms[small] = 2.0**-23
    assert run(UNITS[unit][SINGLE], terms, c=1 + 2.0**-22 + 2.0**-23) == 4 + 2.0**-21


@EVERY
def test_a_third_carry_bit_is_there(unit):
    # in the paper's fixed-point format, with products normalised, 8 needs it; a magnitude would lose its top bit and
    # give 0, as the paper has it, a two's complement register changes the sign
    d = run(UNITS[unit][SINGLE], [1.0, 1.5, 1.75, 1.875], c=1.875)
    assert d == 8.0
    wraps = f"{UNITS[unit][SINGLE]}@product_exponent=normalised,carry_bits=2"
    assert run(wraps, [1.0, 1.5, 1.75, 1.875], c=1.875) == -8.0


@EVERY
def test_the_final_normalisation_truncates(unit):
    assert run(UNITS[unit][SINGLE], [1.0] * 4, c=1 + 2.0**-22 + 2.0**-23) == 5.0


# --- Monotonicity of dot product ------------------------------------------------------------------------------------


def test_a_larger_c_gives_a_smaller_result():
    assert run(UNITS["volta"][SINGLE], [2.0**-24] * 4, c=1.0) == 1.0
    assert run(UNITS["volta"][SINGLE], [2.0**-24] * 4, c=1 - 2.0**-24) == 1 + 2.0**-23
    assert run(UNITS["ampere"][SINGLE], [2.0**-25] * 8, c=1.0) == 1.0
    assert run(UNITS["ampere"][SINGLE], [2.0**-25] * 8, c=1 - 2.0**-24) == 1 + 2.0**-23


# --- NVIDIA Ampere tensor cores -------------------------------------------------------------------------------------


@pytest.mark.parametrize("operands", ["bf16", "tf32"])
def test_ampere_computes_subnormal_fp32_results(operands):
    design = f"ampere/mma.m16n8k8.f32.{operands}.{operands}.f32"
    assert run(design, [(2.0**-126, 2.0**-1)]) == 2.0**-127


def test_ampere_fp64_rounds_each_addition_to_nearest():
    design = "ampere/mma.m8n8k4.f64.f64.f64.f64"
    u = 2.0**-53
    # each u is a tie beside 1 and is rounded to even; three halves of it round up
    assert run(design, [(1.0, u)] * 4, c=1.0) == 1.0
    assert run(design, [(1.0, 1.5 * u)], c=1.0) == 1 + 2.0**-52
    # normalised after each addition: the carry to 1 makes the next addends ties
    assert run(design, [(1.0, u)] * 4, c=1 - u) == 1.0
