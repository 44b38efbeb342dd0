"""Disputes: every point is settled by a vector or a proof, and vectors are what they say."""

import itertools

import pytest
from reference.designs import reference_result
from support.deciding import proof_if

from mmaproof.designs.catalogue import find_design
from mmaproof.designs.errors import DesignError
from mmaproof.designs.profiles import load_disputes
from mmaproof.generators import disputes
from mmaproof.generators.disputes import disputed_designs, find_disputes
from mmaproof.properties.equivalence import Equivalence
from mmaproof.smt.solving.limits import Limits
from mmaproof.smt.solving.verdict import Status
from mmaproof.verification.compare import Comparison, compare

LIMITS = Limits(60, 4 << 30)


def disputes_of(architecture, keep=lambda design: True):
    for design, names in disputed_designs(architecture):
        if keep(design):
            yield from find_disputes(design, names, solver="bitwuzla", limits=LIMITS)


@pytest.mark.slow
def test_only_sources_about_a_unit_are_named():
    of_volta = {"xie-paper", "mma-sim", "mma-sim-2", "fpy", "khattak-mikaitis"}
    for architecture, sources in (("gaudi2", {"gaudi-model"}), ("volta", of_volta)):
        dispute = next(disputes_of(architecture))
        assert set(dispute.readings) == sources and "default" in dispute.pair
        assert set(dispute.predictions or sources) == sources


def check(dispute):
    design = dispute.design
    if dispute.status is Status.REFUTED:
        first, second = dispute.separated.values()
        assert first != second
        for profile, d in dispute.predictions.items():
            assert reference_result(find_design(f"{design.base_name}@as={profile}"), dispute.witness) == d
    else:
        assert dispute.status is Status.PROVED, (design.name, dispute.point, dispute.reason)


@pytest.mark.slow
def test_volta_is_settled_point_by_point():
    """Its designs whose c and d have one format; those of two formats are of the slow tier."""
    found = list(disputes_of("volta", lambda d: d.c_format is d.d_format))
    for dispute in found:
        check(dispute)
    of_fp16 = {d.point.number for d in found if d.design.d_format.name == "fp16" and d.status is Status.REFUTED}
    assert of_fp16 == {1, 2, 4, 5, 7}
    of_fp32 = {d.point.number: d.status for d in found if d.design.c_format.name == "fp32"}
    # fp16 products never come near fp32's smallest numbers, nor its overflow
    assert of_fp32[1] is of_fp32[6] is of_fp32[7] is Status.PROVED


@pytest.mark.slow
def test_bf16_on_ampere_shows_every_point_that_it_can():
    """The solver is asked for up to half a minute each time, which a busy machine makes more than its limit."""
    found = list(disputes_of("ampere", lambda d: d.a_format.name == "bf16"))
    for dispute in found:
        check(dispute)
    assert {d.point.number for d in found if d.status is Status.REFUTED} == {1, 2, 3, 6, 7}


@pytest.mark.parametrize(
    ("architecture", "points"),
    [
        pytest.param("cdna1", {7, 9}, marks=pytest.mark.middle),
        # profiles that are the same for K = 2 take a minute each to be proved so
        pytest.param("cdna2", {10, 16, 19}, marks=pytest.mark.slow),
        ("rdna3.5", {41}),
    ],
)
def test_amd_points(architecture, points):
    found = list(disputes_of(architecture, lambda d: d.k <= 4))
    for dispute in found:
        check(dispute)
    assert {d.point.number for d in found if d.status is Status.REFUTED} <= points
    assert {9, 10, 41} & {d.point.number for d in found if d.status is Status.REFUTED}


@pytest.mark.slow
@pytest.mark.parametrize(
    "architecture", ["volta", "turing", "ampere", "ada", "hopper", "blackwell", "rtx-blackwell", "cdna3"]
)
def test_every_architecture_is_settled(architecture):
    for dispute in disputes_of(architecture):
        check(dispute)


def test_profiles_set_the_points_as_the_table_says():
    bf16 = "ampere/f32.bf16.bf16.f32"
    assert find_design(f"{bf16}@as=xie-paper").step.overflow == "largest-finite"
    assert find_design(f"{bf16}@as=mma-sim-2").step == find_design(bf16).step
    first = find_design(f"{bf16}@as=mma-sim").step
    assert (first.zero_c, first.terms.zero_product) == ("minus-126", "operand-minus-126")
    fpy = find_design(f"{bf16}@as=fpy").step
    assert (fpy.zero_c, fpy.terms.zero_product, fpy.e_zero) == ("e-zero", "e-zero", -132)
    km = find_design(f"{bf16}@as=khattak-mikaitis").step
    assert (km.zero_c, km.terms.zero_product, km.floor, km.negative_zero) == ("absent", "absent", -132, "negative")
    assert find_design("volta/f16.f16.f16.f16@as=khattak-mikaitis").step.floor == -19
    assert find_design("volta/f16.f16.f16.f16@as=fpy").step.e_zero == -20
    assert find_design("hopper/wgmma.f16.f16.f16@as=fpy").step.e_zero == -133
    assert find_design("hopper/mma.f16.f16.f16.f16@as=fpy").step.e_zero == -22
    assert find_design("hopper/wgmma.f16.f16.f16@as=khattak-mikaitis").step.floor is None
    assert find_design("cdna3/v_mfma_f32_32x32x8_f16@as=fpy").step.join.late_rounding == "twice"


READINGS = [
    ("cdna2/v_mfma_f32_32x32x2bf16", "minus_zero=kept", "minus_zero=positive"),
    ("cdna2/v_mfma_f32_32x32x2bf16", "zero_product_sign=ieee", "zero_product_sign=plus-zero"),
    ("cdna3/v_mfma_f32_32x32x16_bf8_bf8", "far_c=dropped", "far_c=specials-dropped"),
    *(
        pytest.param(
            "rtx-blackwell/block16.f32.e2m1.e2m1.f32.ue4m3",
            other,
            "zero_group=scale-minus-126",
            marks=pytest.mark.middle,
        )
        for other in ("zero_group=scales", "zero_group=e-zero")
    ),
]


@pytest.mark.middle
@pytest.mark.slow_values("rtx-blackwell/block16.f32.e2m1.e2m1.f32.ue4m3-zero_group=scales-zero_group=scale-minus-126")
@pytest.mark.parametrize(("name", "first", "second"), READINGS)
def test_readings_of_mma_sim_are_told_apart(name, first, second):
    answer = compare(find_design(f"{name}@{first}"), find_design(f"{name}@{second}"), solver="bitwuzla", limits=LIMITS)
    assert answer.status is Status.REFUTED
    for found, d in answer.outputs.items():
        assert reference_result(find_design(found), answer.witness) == d


def test_names_of_profiles_are_read_back():
    design = find_design("ampere/f32.bf16.bf16.f32@as=fpy,fraction_bits=23")
    assert design.name == "ampere/mma.m16n8k16.f32.bf16.bf16.f32@as=fpy,fraction_bits=23"
    assert find_design(design.name) == design
    with pytest.raises(DesignError, match=r"khattak-mikaitis"):
        find_design("ampere/f32.bf16.bf16.f32@as=nobody")


def test_every_reading_of_the_data_file_matches_some_design():
    from mmaproof.designs.catalogue import load_catalogue

    designs = list(load_catalogue().designs.values())
    for reading in load_disputes().readings:
        assert any(reading.matches(d) for d in designs), reading


@pytest.mark.parametrize("contexts", [1, 2, 3])
def test_a_point_is_settled_only_where_it_is_in_every_context(monkeypatch, contexts):
    """One of the comparisons of each point is unknown, whichever it is."""
    design, names = next((x, n) for x, n in disputed_designs("volta") if x.d_format.name == "fp16")
    numbers = itertools.count()

    def compare(first, second, **_):
        unknown = next(numbers) % contexts == contexts - 1
        status, reason = (Status.UNKNOWN, "timeout: made up") if unknown else (Status.PROVED, None)
        return Comparison(status, 0.0, reason, question=Equivalence(first, second), proof=proof_if(status))

    monkeypatch.setattr(disputes, "compare", compare)
    found = list(find_disputes(design, names, solver="bitwuzla", limits=LIMITS))
    assert found
    for dispute in found:
        assert (dispute.status, dispute.reason) == (Status.UNKNOWN, "timeout: made up")
