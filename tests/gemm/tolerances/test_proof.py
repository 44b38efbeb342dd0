"""What the bound rests on is proved by a solver, lemma by lemma, and a lemma that claims too much is refuted."""

from dataclasses import replace

import pytest

from mmaproof.designs.catalogue import find_design, load_catalogue
from mmaproof.designs.conversions import Rounding
from mmaproof.designs.formats import FORMATS
from mmaproof.designs.steps import Guarantee
from mmaproof.gemm.programs import read_plan
from mmaproof.gemm.tolerances import walk
from mmaproof.gemm.tolerances.walk import prove_loss, prove_operation
from mmaproof.properties import step_loss
from mmaproof.properties.step_loss import (
    FarCutError,
    HighBitsAreKept,
    lemmas_of_loss,
    lemmas_of_operation,
    loss_of,
    rounding_unit,
    why_no_loss,
)
from mmaproof.smt.proving import cuts
from mmaproof.smt.proving.cuts import TermShape
from mmaproof.smt.proving.lemma import decide
from mmaproof.smt.semantics.align import Cut, loses_bits
from mmaproof.smt.semantics.convert import convert
from mmaproof.smt.solving.limits import Limits
from mmaproof.smt.solving.solving import Solving
from mmaproof.smt.solving.verdict import Status

FP8 = "hopper/wgmma.f32.e4m3.e4m3"
LIMITS = Limits(seconds=120, memory_bytes=4 << 30)


def status(lemma) -> Status:
    return decide(lemma, Solving().ask, LIMITS).status


def test_the_loss_of_a_unit_is_proved() -> None:
    found = prove_loss(find_design(FP8))
    assert found.proved
    assert len(found.lemmas) == 6
    assert "bitwuzla" in found.reason


@pytest.mark.slow_values("cdna2/v_mfma_f32_32x32x4bf16", "cpu/tdpbf16ps")
@pytest.mark.middle
@pytest.mark.parametrize("name", ["cpu/tdpbf16ps", "cdna2/v_mfma_f32_32x32x4bf16"])
def test_the_loss_of_rounded_operations_is_proved(name: str) -> None:
    assert prove_loss(find_design(name)).proved


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    [
        "volta/mma.m8n8k4.f32.f16.f16.f16",
        "blackwell/tcgen05.mma.m128n8k32.block32.f32.e4m3.e4m3.ue8m0",
        "blackwell/tcgen05.mma.m128n8k64.block16.f32.e2m1.e2m1.ue4m3",
        "cdna3/v_mfma_f32_16x16x8_xf32",
        "cdna3/v_mfma_f32_16x16x32_fp8_fp8",
        "cpu/vfmadd231ps",
        "cpu/vdpbf16ps",
        "hopper/mma.m16n8k32.f32.e4m3.e4m3.f32",
        "arm/bfdot-ebf",
        "gaudi3/mme.m1n1k2.f32.f16.f16.f32",
    ],
)
def test_the_loss_of_other_kinds_is_proved(name: str) -> None:
    assert prove_loss(find_design(name)).proved


def test_an_unproved_lemma_is_no_proof(monkeypatch: pytest.MonkeyPatch) -> None:
    """A rounding that is claimed to be to nearest, and truncates."""
    design = find_design(FP8)

    def claimed(given):
        lemmas = lemmas_of_loss(given)
        lemmas[-1].nearest = True
        return lemmas

    monkeypatch.setattr(walk, "lemmas_of_loss", claimed)
    found = prove_loss.__wrapped__(design)
    assert not found.proved
    assert not found.undecided
    assert "rho changes the sum" in found.reason
    assert found.lemmas[-1].status is Status.REFUTED


def test_no_time_is_no_proof() -> None:
    found = prove_loss(find_design("cpu/vfmadd231ps"), Solving(), Limits(seconds=0.2, memory_bytes=4 << 30))
    assert (found.proved, found.undecided) == (False, True)


@pytest.mark.parametrize("below", [24, 25])
def test_a_c_is_dropped_only_where_it_is_below_one_unit(below: int) -> None:
    shape = TermShape(24, (1 << 24) - 1, 23, 9, 10)
    assert status(FarCutError(shape, Cut(24), below, 10)) is Status.PROVED
    assert status(FarCutError(shape, Cut(24), below - 3, 10)) is Status.REFUTED


def test_a_product_without_low_bits_loses_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    shape = TermShape(8, 225, 6, 9, 10)
    assert status(HighBitsAreKept("products", shape, Cut(25))) is Status.PROVED
    # an adder that keeps one bit less
    monkeypatch.setattr(step_loss, "loses_bits", lambda x, t, e, cut: loses_bits(x, t, e, Cut(cut.fraction_bits - 1)))
    assert status(HighBitsAreKept("products", shape, Cut(25))) is Status.REFUTED


@pytest.mark.parametrize(
    ("name", "of_c", "of_products", "rests"),
    [
        (FP8, 0, 0, 1),
        ("volta/f32.f16.f16.f32", 1, 0, 1),
        ("blackwell/tcgen05.mma.m64n8k32.f32.e4m3.e4m3", 1, 0, 1),
        ("riscv/bulk.m1n1k4.f32.bf16.bf16.f32", 0, 0, 0),
        ("cdna3/v_mfma_f32_16x16x8_xf32", 1, 0, 0),
    ],
)
def test_what_loses_nothing_is_asked_where_it_is_used(name: str, of_c: int, of_products: int, rests: int) -> None:
    design = find_design(name)
    names, loss = [x.name for x in lemmas_of_loss(design)], loss_of(design)
    assert sum("lose nothing" in x for x in names) == of_c + of_products
    assert sum("is its whole part" in x for x in names) == rests
    assert (loss.cut_is_rest, loss.cut_bits is not None) == (rests > 0, rests + of_products > 0)


def test_flushing_is_part_of_what_a_conversion_loses(monkeypatch: pytest.MonkeyPatch) -> None:
    design = find_design("cdna2/v_mfma_f32_32x32x4bf16")

    def of_product():
        (found,) = [x for x in lemmas_of_loss(design) if "a product" in x.name]
        return found

    assert status(of_product()) is Status.PROVED
    unaware = of_product()
    unaware.rules = replace(unaware.rules, flushes=False)

    def flushing(algebra, rules, *given):
        return convert(algebra, replace(rules, flushes=True), *given)

    monkeypatch.setattr(cuts, "convert", flushing)
    assert status(unaware) is Status.REFUTED


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("rdna3/v_wmma_f32_16x16x16_f16", "extra bits"),
        ("vortex/tfr.wmma.m8n4k8.f32.f16.f16.f32", "does not state"),
        ("paper/sequential.m1n1k4.f32.f16.f16.f32", "does not state"),
        ("arm/fdot.m1n1k2.f16.e5m2.e5m2.f16", "does not state"),
        ("volta/f32.f16.f16.f32@carry_bits=0", "wrap"),
        ("volta/f32.f16.f16.f32@alignment=complement", "inverts"),
    ],
)
def test_what_is_not_stated_is_not_assumed(name: str, reason: str) -> None:
    found = prove_loss(find_design(name))
    assert not found.proved
    assert reason in found.reason
    with pytest.raises(ValueError, match=reason):
        loss_of(find_design(name))


@pytest.mark.middle
def test_most_of_the_catalogue_has_a_loss() -> None:
    designs = load_catalogue().designs.values()
    known = [x for x in designs if why_no_loss(x) is None]
    assert len(known) > 0.9 * len(designs)
    for design in known:
        assert design.d_format.is_integer or loss_of(design).rounded_c > 0


def test_one_step_is_as_the_property_error_bound_has_it() -> None:
    """(L + 1) 2^(e_max - F), and an ulp or half of one."""
    for design in load_catalogue().designs.values():
        if design.guarantees(Guarantee.SINGLE_SUM) and not design.adds_c_last and why_no_loss(design) is None:
            loss, step = loss_of(design), design.step
            count = (step.L // (step.group_size or 1)) * (step.cut_terms // step.L) + 1
            # a c that is cut only where a product has a larger exponent counts as one of the products
            assert (loss.of_c + loss.of_products) * (1 << step.kept_bits) == count
            assert loss.of_products * (1 << step.kept_bits) in (0, 1)
            assert loss.rounded_c == rounding_unit(step.conversion.rounding, step.conversion.fraction_bits)
            assert not (loss.of_sums or loss.rounded_sums)


@pytest.mark.parametrize("kind", [pytest.param("conversion", marks=pytest.mark.middle), "product"])
def test_an_operation_outside_a_unit_is_proved(kind: str) -> None:
    source = FORMATS["fp32" if kind == "conversion" else "bf16"]
    assert prove_operation(kind, FORMATS["bf16"], source, Rounding.RNE).proved


def test_an_operation_is_called_as_the_schedule_has_it() -> None:
    with pytest.raises(ValueError, match="square root"):
        lemmas_of_operation("square root", FORMATS["fp32"], FORMATS["fp32"], Rounding.RNE)


@pytest.mark.middle
def test_clamping_is_no_error_of_rounding() -> None:
    """Results that a unit clamps have no bound, so what it makes of them is not a part of the lemma."""
    design = find_design(f"{FP8}@overflow=largest-finite")
    assert status(lemmas_of_loss(design)[-1]) is Status.PROVED
    rounding = lemmas_of_loss(design)[-1]
    rounding.rules = replace(rounding.rules, overflow=design.step.overflow)
    assert status(rounding) is Status.REFUTED


def test_the_lemmas_of_later_steps_are_asked_where_c_changes_its_format() -> None:
    names = [x.name for x in lemmas_of_loss(find_design("volta/mma.m8n8k4.f32.f16.f16.f16"))]
    assert len(names) == len(set(names)) == 14
    assert sum("later steps" in x for x in names) == 7


@pytest.mark.few(1)
@pytest.mark.parametrize(("fmt", "rounding"), [("e4m3", Rounding.RNE), ("bf16", Rounding.RTP), ("e2m1", Rounding.RTN)])
def test_a_conversion_is_proved_up_to_the_largest_number(fmt: str, rounding: Rounding) -> None:
    """A format without infinities, and a directed rounding, return the largest number for what lies above it."""
    lemma, unaware = (lemmas_of_operation("conversion", FORMATS[fmt], FORMATS["fp32"], rounding)[0] for _ in range(2))
    assert "up to the largest number" in lemma.name
    assert status(lemma) is Status.PROVED
    unaware.up_to_largest = False
    assert status(unaware) is Status.REFUTED


@pytest.mark.parametrize("rounding", [Rounding.RTP, Rounding.RZ, Rounding.RTO])
def test_only_a_rounding_to_nearest_loses_half_an_ulp_at_most(rounding: Rounding) -> None:
    (lemma,) = lemmas_of_operation("conversion", FORMATS["bf16"], FORMATS["fp16"], rounding)
    lemma.nearest = True
    assert status(lemma) is Status.REFUTED


def test_what_is_not_proved_ends_the_proof_of_a_schedule(monkeypatch):
    monkeypatch.setattr(walk, "prove_loss", lambda *_: walk.LossProof(False, "no time", undecided=True))
    monkeypatch.setattr(walk, "prove_operation", lambda *_: pytest.fail("it is asked"))
    found = walk.prove_schedule(read_plan("volta/f32.f16.f16.f32 | split-k=2").schedule(8))
    assert (found.proved, found.undecided) == (False, True)
    assert found.reason == "of volta/mma.m8n8k4.f32.f16.f16.f32: no time"
