"""Published statements about units, each as a property that is checked (the four papers and the post).

Where a later paper corrected an earlier one, the later outcome is the expected one; the comments say which it was.
"""

import numpy as np
import pytest
from support.sampling import arithmetic

from mmaproof.designs.catalogue import find_design, load_catalogue
from mmaproof.designs.operands import OperandBatch
from mmaproof.designs.readings import Alignment
from mmaproof.properties.library import find_property
from mmaproof.smt.evaluate import evaluate_batch
from mmaproof.verification.check import check
from mmaproof.verification.distributions import from_float64

pytestmark = pytest.mark.middle

VOLTA, TURING, AMPERE = (
    "volta/mma.m8n8k4.f32.f16.f16.f32",
    "turing/mma.m16n8k8.f32.f16.f16.f32",
    "ampere/mma.m16n8k8.f32.f16.f16.f32",
)
HALVES = tuple(name.replace(".f32.f16.f16.f32", ".f16.f16.f16.f16") for name in (VOLTA, TURING, AMPERE))
HOPPER_FP8, ADA_FP8 = "hopper/wgmma.f32.e4m3.e4m3", "ada/mma.m16n8k32.f32.e4m3.e4m3.f32"
BLACKWELL_FP8 = "blackwell/tcgen05.mma.m64n8k32.f32.e4m3.e4m3"

# property -> (verdict, value) on Volta, Turing and Ampere, as Fasi et al. 2021 state it
FASI = {
    "products-exact": [("holds", None)] * 3,
    "subnormal-operands": [("holds", None)] * 3,
    "subnormal-accumulator": [("holds", None)] * 3,
    "normalised-in-addition": [("violated", None)] * 3,
    "normalised-in-subtraction": [("violated", None)] * 3,
    # no guard digit on Volta; the extra bit of the others is one
    "guard-bit": [("violated", None), ("holds", None), ("holds", None)],
    "monotone-in-c": [("violated", None)] * 3,
    # round-towards-zero in Fasi et al.; Valpey et al., table 3: truncation, which RTZ is not
    "correctly-rounded": [("violated", None)] * 3,
    "sticky-bit": [("violated", None)] * 3,
    "fraction-bits": [("holds", 23), ("holds", 24), ("holds", 24)],
    # at least two in Fasi et al.; three for five terms in Valpey et al.; L = 8 of Turing and Ampere needs four
    "carry-bits": [("holds", 3), ("holds", 4), ("holds", 4)],
    "order-independent": [("holds", None)] * 3,
}
UNITS = (VOLTA, TURING)
"""Those asked: Ampere's is the arithmetic of Turing's."""
LONG = ("order-independent", "normalised-in-addition", "normalised-in-subtraction")
"""What takes longer; ``library/`` asks it of shorter steps."""


@pytest.mark.slow_values("guard-bit-turing/mma.m16n8k8.f32.f16.f16.f32-expected11")
@pytest.mark.middle
@pytest.mark.parametrize(
    ("name", "design", "expected"),
    [
        pytest.param(name, d, e, marks=() if d == VOLTA and name not in LONG else pytest.mark.middle)
        for name, row in FASI.items()
        for d, e in zip(UNITS, row[:2], strict=True)
    ],
)
def test_fasi(name, design, expected):
    answer = check(name, find_design(design))
    assert (answer.verdict, answer.finding.value) == expected


def test_what_is_said_of_turing_is_said_of_ampere():
    assert all(row[1] == row[2] for row in FASI.values())
    for of_turing, of_ampere in ((TURING, AMPERE), HALVES[1:]):
        assert arithmetic(find_design(of_turing)) == arithmetic(find_design(of_ampere))


@pytest.mark.slow_values("turing/mma.m16n8k8.f16.f16.f16.f16", "volta/mma.m8n8k4.f16.f16.f16.f16")
@pytest.mark.middle
@pytest.mark.parametrize("design", HALVES[:2])
def test_fp16_results_are_rounded_to_nearest_and_from_a_wider_sum(design):
    # Fasi et al. and Valpey et al., properties 1 and 2
    assert check("accumulation-precision", find_design(design)).verdict == "holds"
    assert check("conversion-rounding", find_design(design)).finding.value == "RNE"


@pytest.mark.middle
def test_turing_as_volta_is_a_reading_of_valpey():
    # open point 14: Valpey et al. find L = 4 and F = 23 on Turing
    reading = find_design(f"{TURING}@L=4,fraction_bits=23")
    assert check("fraction-bits", reading).finding.value == 23
    assert check("carry-bits", reading).finding.value == 3


@pytest.mark.middle
@pytest.mark.parametrize("design", [HOPPER_FP8, ADA_FP8])
def test_the_low_ten_bits_of_fp8_results_are_zero(design):
    # the post on accumulator precision: thirteen bits on Ada and Hopper, also across chained K
    assert check("low-bits-zero", find_design(design)).verdict == "holds"


def test_blackwell_returns_all_bits_of_fp8_sums():
    assert check("low-bits-zero", find_design(BLACKWELL_FP8)).verdict == "violated"


# Xie et al. 2026, table 10: the design and the property that shows its risk
RISKS = [
    ("cdna2/v_mfma_f32_32x32x8f16", "subnormal-operands"),
    (ADA_FP8, "exactness-of-c"),
    (HOPPER_FP8, "exactness-of-c"),
    ("cdna3/v_mfma_f32_32x32x8_f16", "negation-symmetric"),
    ("cdna3/v_mfma_f32_32x32x4_2b_bf16", "negation-symmetric"),
    ("cdna3/v_mfma_f32_32x32x16_fp8_fp8", "negation-symmetric"),
]


@pytest.mark.parametrize(("design", "name"), RISKS)
def test_risky_designs_of_xie(design, name):
    answer = check(name, find_design(design))
    assert answer.verdict == "violated"
    assert answer.finding.runs


@pytest.mark.middle
@pytest.mark.parametrize("name", [VOLTA, TURING, pytest.param("hopper/wgmma.f32.f16.f16", marks=pytest.mark.slow)])
def test_nvidia_is_symmetric(name):
    assert check("negation-symmetric", find_design(name)).verdict == "holds"


def test_the_bias_of_rounding_down():
    # Xie et al. 2026, figure 3: A and B of 1000 * N(0, 1), C of N(0, 1), c negative and small beside the products
    design = find_design("cdna3/v_mfma_f32_32x32x8_f16")
    towards_zero = design.change(late_alignment=Alignment.TRUNCATE)
    rng = np.random.default_rng(0)
    rows, k = 50_000, design.k
    a, b = (from_float64(design.a_format, 1000 * rng.standard_normal((rows, k))) for _ in range(2))
    c = from_float64(design.c_format, rng.standard_normal(rows))
    batch = OperandBatch(a, b, c)
    exact = (a.view(np.float16).astype(float) * b.view(np.float16).astype(float)).sum(axis=1) + c.view(np.float32)
    down, zero = (evaluate_batch(d, batch).view(np.float32) - exact for d in (design, towards_zero))
    standard_error = down.std() / np.sqrt(rows)
    assert down.mean() < -10 * standard_error, "biased towards minus infinity"
    assert abs(zero.mean()) < 4 * zero.std() / np.sqrt(rows), "symmetric"


DESCRIBED = [d for d in load_catalogue().designs.values() if not d.is_assumed]


@pytest.mark.slow
@pytest.mark.parametrize("name", [d.name for d in DESCRIBED if d.family == "t-fdpa"])
def test_table_9_is_proved_for_every_row(name):
    assert check("error-bound", find_design(name)).verdict == "holds"


@pytest.mark.slow
def test_table_9_is_proved_for_every_arithmetic():
    seen = {}
    for d in DESCRIBED:
        if d.family == "t-fdpa":
            seen.setdefault((tuple(f.name for f in d.formats), d.step.fraction_bits, d.step.rho), d)
    chosen = [d for d in seen.values() if d.step.L in (4, 32)]
    assert len(chosen) > 3
    asked = find_property("error-bound")
    for design in chosen[:3]:
        assert check(asked, design).verdict == "holds", design.name
