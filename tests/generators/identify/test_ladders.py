"""Integers that no known unit has: ladders tell every observable value apart, and identification finds them exactly."""

import numpy as np
import pytest

from mmaproof.designs.catalogue import find_design
from mmaproof.generators.identify.evidence import Evidence, Oracle
from mmaproof.generators.identify.fit import Fit
from mmaproof.generators.identify.identify import Identifier
from mmaproof.generators.identify.probes import ladders, lowest_sums, product_exponents
from mmaproof.generators.identify.space import Behaviour, Interface, default_axes, read_axes
from mmaproof.hardware_replay.targets import ModelTarget
from mmaproof.smt.evaluate import equal_patterns, evaluate_batch
from mmaproof.smt.solving.limits import Until

BF16 = "ampere/mma.m16n8k8.f32.bf16.bf16.f32"
CDNA3 = "cdna3/v_mfma_f32_32x32x8_bf16"
NO_ZEROS = "zero_c=absent,zero_product=absent"


def told_apart(design, name, first, second):
    """Whether the ladders of the design with the first value of a parameter show that it is not the second one."""
    ours, theirs = design.change(**{name: first}), design.change(**{name: second})
    rows = ladders(ours).batch
    return not equal_patterns(
        ours.d_format, evaluate_batch(ours, rows), evaluate_batch(theirs, rows), nan_codes=False
    ).all()


@pytest.mark.middle
@pytest.mark.parametrize(
    ("name", "parameter", "values"),
    [
        # the least floors that show in d, among them 15*2^-78 * 17*2^-79 + 2^-78 * 2^-79 at -151
        (f"{BF16}@{NO_ZEROS}", "floor", (-150, -47)),
        ("blackwell/block16.f32.e2m1.e2m1.ue4m3@zero_group=e-zero", "group_e_zero", (-47,)),
        ("ampere/f16.f16.f16.f16", "product_limit", (17,)),
        *(
            pytest.param(*x, marks=pytest.mark.middle)
            for x in (
                (f"{BF16}@{NO_ZEROS}", "floor", (-149, -140, -133, -126, 0, 77, 126)),
                (f"ampere/f16.f16.f16.f16@{NO_ZEROS}", "floor", (-23, -22, -17, 0, 15)),
                (f"volta/mma.m8n8k4.f32.f16.f16.f32@{NO_ZEROS}", "floor", (-125, -60, 0, 100)),
                (f"rtx-blackwell/f32.e4m3.e2m1.f32.ue8m0@{NO_ZEROS}", "floor", (-140, -126, -47, 0, 90)),
                (f"{BF16}@zero_c=e-zero,zero_product=absent", "e_zero", (-145, -133, -47, 0, 110)),
                (f"{BF16}@zero_c=absent,zero_product=e-zero", "e_zero", (-145, -133, -47, 0, 110)),
                ("blackwell/block16.f32.e2m1.e2m1.ue4m3@zero_group=e-zero", "group_e_zero", (-100, 0)),
                (CDNA3, "product_limit", (0, 1, 77, 127, 128, 200, 254)),
                (BF16, "fraction_bits", (1, 7, 24, 41, 60)),
                (f"{CDNA3}@{NO_ZEROS}", "late_bits", (5, 24, 31, 40)),
            )
        ),
    ],
)
def test_ladders_tell_a_value_from_the_next_ones(name, parameter, values):
    design = find_design(name)
    for value in values:
        for other in (value - 1, value + 1):
            if (parameter, other) not in (("product_limit", -1), ("fraction_bits", 0)):
                assert told_apart(design, parameter, value, other), (value, other)


@pytest.mark.slow_values("cdna3/v_mfma_f32_32x32x8_bf16@zero_c=absent,zero_product=absent-floor-values2")
@pytest.mark.middle
@pytest.mark.parametrize(
    ("name", "parameter", "values"),
    [
        (f"{BF16}@{NO_ZEROS}", "floor", range(-150, 140)),
        (f"volta/mma.m8n8k4.f32.f16.f16.f32@{NO_ZEROS}", "floor", range(-125, 140)),
        (f"{CDNA3}@{NO_ZEROS}", "floor", range(-149, 140)),
        (CDNA3, "product_limit", set(range(255)) - {128}),
    ],
)
def test_ladders_exclude_every_other_value(name, parameter, values):
    design = find_design(name)
    held = design.settings[parameter]
    rows = ladders(design).batch
    ours = evaluate_batch(design, rows)
    for value in values:
        theirs = evaluate_batch(design.change(**{parameter: value}), rows)
        assert value == held or not equal_patterns(design.d_format, ours, theirs, nan_codes=False).all(), value


@pytest.mark.middle
def test_rows_are_operands_of_the_interface():
    for name in (BF16, "blackwell/block16.f32.e2m1.e2m1.ue4m3", "hopper/mma.m16n8k32.f32.e4m3.e4m3.f32"):
        design = find_design(name)
        rows = ladders(design)
        assert len(rows.batch) == len(rows.kinds) > 500
        assert rows.batch.k == design.k
        some = ladders(design, most=100)
        assert 40 < len(some.batch) == len(some.kinds) <= 100
    assert len(ladders(find_design("turing/mma.m8n8k16.satfinite.s32.s8.u8.s32")).batch) == 0
    assert product_exponents(find_design(BF16)) == range(-252, 255)


def identified(design, seconds=600):
    interface = Interface.of(design)
    axes = default_axes(interface)
    oracle = Oracle(ModelTarget(design), interface)
    return Identifier(
        oracle, axes, solver="bitwuzla", seconds=seconds, seed=0, proofs=False, validation=20_000
    ).identify()


HIDDEN = [
    ("volta/mma.m8n8k4.f32.f16.f16.f32@zero_product=natural", {"zero_product": "natural"}),
    pytest.param("ampere/f16.f16.f16.f16@floor=-17", {"floor": -17}, marks=pytest.mark.slow),
    pytest.param(f"{BF16}@{NO_ZEROS},floor=-47", {"floor": -47}, marks=pytest.mark.slow),
    pytest.param(
        f"{BF16}@zero_c=e-zero,zero_product=absent,e_zero=-47",
        {"zero_c": "e-zero", "zero_product": "absent", "e_zero": -47},
        marks=pytest.mark.slow,
    ),
    pytest.param(f"{CDNA3}@product_limit=77", {"product_limit": 77}, marks=pytest.mark.middle),
    pytest.param(f"{CDNA3}@product_limit=200", {"product_limit": 200}, marks=pytest.mark.slow),
    pytest.param(f"{BF16}@fraction_bits=45", {"fraction_bits": 45}, marks=pytest.mark.middle),
    pytest.param(f"{BF16}@product_shift=-11", {"product_shift": -11}, marks=pytest.mark.slow),
    pytest.param(
        "arm/fdot.m1n1k4.f32.e4m3.e4m3.f32@product_shift=-4",
        {"product_shift": -4, "join": "exact"},
        marks=pytest.mark.slow,
    ),
    pytest.param(
        "blackwell/block16.f32.e2m1.e2m1.ue4m3@zero_group=e-zero,group_e_zero=-47",
        {"zero_group": "e-zero", "group_e_zero": -47},
        marks=pytest.mark.slow,
    ),
    pytest.param(
        f"rtx-blackwell/f32.e4m3.e2m1.f32.ue8m0@{NO_ZEROS},floor=-140", {"floor": -140}, marks=pytest.mark.slow
    ),
]


@pytest.mark.middle
@pytest.mark.slow_values(
    "ampere/mma.m16n8k8.f32.bf16.bf16.f32@fraction_bits=45-held6",
    "cdna3/v_mfma_f32_32x32x8_bf16@product_limit=77-held4",
)
@pytest.mark.parametrize(("name", "held"), HIDDEN)
def test_hidden_integers_are_found_exactly(name, held):
    design = find_design(name)
    outcome = identified(design)
    assert outcome.behaviour is not None
    assert outcome.validated
    assert {n: outcome.behaviour[n] for n in held} == held
    for parameter, finding in outcome.findings.items():
        assert Behaviour.of(design, design.k)[parameter] not in finding.excluded


def test_an_integer_is_found_in_the_whole_of_its_range():
    """Of 250 exponents a floor of -47 is found with some twenty designs, given a ladder."""
    design = find_design(f"{BF16}@{NO_ZEROS},floor=-47")
    interface = Interface.of(design)
    rows = ladders(find_design(BF16), most=600)
    evidence = Evidence(interface, rows.batch, evaluate_batch(design, rows.batch), rows.kinds)
    fit = Fit(evidence, default_axes(interface), Until())
    start = Behaviour.of(find_design(f"{BF16}@{NO_ZEROS}"))
    assert [x["floor"] for x in fit._of_range(start, ("floor",), "floor")] == [-47]


def test_the_shift_of_products_shows_in_the_exponents_of_results():
    interface = Interface.of(find_design(BF16))
    shifted = find_design(f"{BF16}@product_shift=6")
    rows = ladders(shifted, most=300)
    evidence = Evidence(interface, rows.batch, evaluate_batch(shifted, rows.batch), rows.kinds)
    assert 6 in evidence.shift(Behaviour.of(find_design(BF16)))
    assert 6 in evidence.shift(Behaviour.of(find_design(f"{BF16}@product_shift=3")))


def test_a_range_that_is_restricted_is_only_what_is_listed(tmp_path):
    interface = Interface.parse("f32.bf16.bf16.f32", 8)
    axes = default_axes(interface)
    assert axes.ranges["floor"].start == -253
    assert axes.allows("floor", -47)
    assert axes.near("floor", -47)[-3:] == (-48, -47, -46)
    assert axes.near("floor", None) == axes["floor"]
    path = tmp_path / "space.toml"
    path.write_text("floor = [-47, -20]\n")
    restricted = read_axes(path, interface)
    assert "floor" not in restricted.ranges
    assert not restricted.allows("floor", -46)
    assert restricted.near("floor", -47) == (-47, -20)
    assert default_axes(Interface.parse("s32.s8.s8.s32", 16)).ranges == {}


def test_half_of_a_ladder_is_enough_for_a_slow_unit():
    design = find_design(BF16)
    assert np.array_equal(ladders(design, most=10**6).batch.c, ladders(design).batch.c)


@pytest.mark.parametrize("name", ["volta/f16.f16.f16.f16", "hopper/wgmma.f16.f16.f16", "hopper/wgmma.f32.bf16.bf16"])
@pytest.mark.parametrize("other", [-1, 1])
def test_the_lowest_sums_show_the_exponent_of_a_zero_and_a_floor(name, other):
    design = find_design(name)
    rows, e_zero = lowest_sums(design).batch, design.settings["e_zero"]
    absent = design.change(zero_c="absent", zero_product="absent")
    for first, second in (
        (design, design.change(e_zero=e_zero + other)),
        (absent.change(floor=e_zero), absent.change(floor=e_zero + other)),
    ):
        assert (evaluate_batch(first, rows) != evaluate_batch(second, rows)).any()
