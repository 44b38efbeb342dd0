"""Graphs of operations are proved to be the terms of their designs, at full length, and what is false is not proved."""

from dataclasses import replace

import pytest
from support.in_this_process import InAnyEnvironment, unanswered
from support.sampling import distinct_designs

from mmaproof.designs.catalogue import find_design
from mmaproof.designs.errors import DesignError
from mmaproof.smt.algebra.code import CodeAlgebra, TooWideError
from mmaproof.smt.algebra.nodes import run
from mmaproof.smt.algebra.words import SignalKind
from mmaproof.smt.native.lowering import lower
from mmaproof.smt.native.terms import Place, record
from mmaproof.smt.proving.native import PlacesDifferError
from mmaproof.smt.solving.limits import Limits
from mmaproof.smt.solving.verdict import Status
from mmaproof.smt.trace import evaluate
from mmaproof.verification.native import DEFAULT_BUDGET, decide_graph, graphs_of, prove_native
from mmaproof.verification.search import Means

LIMITS = Limits(300, 4 << 30)
MEANS = Means(InAnyEnvironment(), LIMITS, None)
"""No search: the proof alone has to find out."""
VOLTA = "volta/f32.f16.f16.f32"

middle = pytest.mark.middle
FAMILIES = [
    VOLTA,
    pytest.param("hopper/wgmma.m64n8k16.f32.f16.f16", marks=middle),
    pytest.param("hopper/wgmma.m64n8k32.f32.e4m3.e4m3", marks=middle),
    pytest.param("hopper/mma.m16n8k16.f64.f64.f64.f64", marks=pytest.mark.slow),
    pytest.param("hopper/mma.m16n8k32.f16.e5m2.e5m2.f16", marks=pytest.mark.slow),
    pytest.param("blackwell/tcgen05.mma.m128n8k32.block32.f32.e4m3.e4m3.ue8m0", marks=middle),
    pytest.param("blackwell/tcgen05.mma.m128n8k64.block16.f32.e2m1.e2m1.ue4m3", marks=middle),
    pytest.param("cdna1/v_mfma_f32_16x16x4f32", marks=middle),
    pytest.param("cdna2/v_mfma_f32_16x16x16f16", marks=pytest.mark.slow),
    pytest.param("cdna3/v_mfma_f32_16x16x16_f16", marks=pytest.mark.slow),
    pytest.param("cdna3/v_mfma_f32_16x16x32_fp8_fp8", marks=pytest.mark.slow),
    "cdna3/v_mfma_i32_16x16x32_i8",
    "cpu/vpdpbusds",
    pytest.param("cpu/vfmadd231ps", marks=pytest.mark.slow),
    pytest.param("cpu/vfmadd231pd", marks=pytest.mark.slow),
    pytest.param("cpu/tdpbf16ps", marks=pytest.mark.slow),
    pytest.param("paper/sequential.m1n1k4.f32.f16.f16.f32", marks=pytest.mark.slow),
    pytest.param("paper/tree.m1n1k4.f32.f16.f16.f32", marks=pytest.mark.slow),
    pytest.param("riscv/bulk.m1n1k4.f32.f16.f16.f32", marks=pytest.mark.slow),
]


@pytest.mark.few(1)
@pytest.mark.slow_values(
    "blackwell/tcgen05.mma.m128n8k32.block32.f32.e4m3.e4m3.ue8m0",
    "blackwell/tcgen05.mma.m128n8k64.block16.f32.e2m1.e2m1.ue4m3",
    "cdna1/v_mfma_f32_16x16x4f32",
    "hopper/wgmma.m64n8k32.f32.e4m3.e4m3",
)
@pytest.mark.parametrize("name", FAMILIES)
def test_one_design_of_each_family_is_proved_at_full_length(name):
    design = find_design(name)
    verdict = prove_native(design, solver=InAnyEnvironment(), limits=LIMITS, budget=None)
    assert verdict.status is Status.PROVED, [x.reason for x in verdict.graphs]
    assert {x.k for x in verdict.graphs} == {design.k}
    assert all(lemma.status is Status.PROVED for x in verdict.graphs for lemma in x.lemmas)


@pytest.mark.slow_values(
    "cdna2/v_mfma_f32_16x16x16f16-4",
    "cdna3/v_mfma_f32_16x16x16_f16-4",
    "cdna3/v_mfma_f32_16x16x32_fp8_fp8-4",
    "cpu/tdpbf16ps@L=2-2",
    "hopper/mma.m16n8k32.f16.e5m2.e5m2.f16-4",
    "paper/sequential.m1n1k4.f32.f16.f16.f32@L=2-2",
    "paper/tree.m1n1k4.f32.f16.f16.f32-2",
    "riscv/bulk.m1n1k4.f32.f16.f16.f32-2",
)
@middle
@pytest.mark.parametrize(
    ("name", "k"),
    [
        ("hopper/mma.m16n8k32.f16.e5m2.e5m2.f16", 4),
        ("cdna2/v_mfma_f32_16x16x16f16", 4),
        ("cdna3/v_mfma_f32_16x16x16_f16", 4),
        ("cdna3/v_mfma_f32_16x16x32_fp8_fp8", 4),
        ("cpu/tdpbf16ps@L=2", 2),
        ("paper/sequential.m1n1k4.f32.f16.f16.f32@L=2", 2),
        ("paper/tree.m1n1k4.f32.f16.f16.f32", 2),
        ("riscv/bulk.m1n1k4.f32.f16.f16.f32", 2),
    ],
)
def test_families_whose_whole_proofs_take_long_are_proved_at_few_products(name, k):
    assert decide_graph(record(find_design(name), k), MEANS).status is Status.PROVED


@pytest.mark.slow
@pytest.mark.parametrize("design", distinct_designs(), ids=lambda x: x.name)
def test_every_arithmetic_of_the_catalogue_is_proved_at_full_length(design):
    try:
        lower(design)
    except TooWideError:
        pytest.skip("runs on arrays")
    verdict = prove_native(design, solver=InAnyEnvironment(), limits=LIMITS, budget=None)
    assert verdict.status is Status.PROVED, [x.reason for x in verdict.graphs]


@pytest.mark.slow_values("volta/f32.f16.f16.f32@adder=carry-save", "volta/f32.f16.f16.f32@comparator=chain")
@middle
@pytest.mark.parametrize("name", ["volta/f32.f16.f16.f32@adder=carry-save", "volta/f32.f16.f16.f32@comparator=chain"])
def test_other_orders_of_sums_and_maxima(name):
    assert decide_graph(record(find_design(name)), MEANS).status is Status.PROVED


@pytest.mark.slow_values("1", "8")
@pytest.mark.parametrize("k", [1, pytest.param(8, marks=middle)])
def test_more_steps_than_one_and_a_padded_one(k):
    assert decide_graph(record(find_design(VOLTA), k), MEANS).status is Status.PROVED


def test_integers_have_one_graph_and_floats_have_two():
    assert len(graphs_of(find_design("cdna3/v_mfma_i32_16x16x32_i8"), 32)) == 1
    assert [x.lowered.finite for x in graphs_of(find_design(VOLTA), 4)] == [False, True]


def test_a_chain_whose_c_and_d_differ_in_format_has_graphs_of_its_own():
    design = find_design("volta/mma.m8n8k4.f32.f16.f16.f16")
    graphs = [x.lowered for x in graphs_of(design, 4)]
    assert [(x.design.c_format.name, x.finite) for x in graphs] == [
        ("fp16", False),
        ("fp16", True),
        ("fp32", False),
        ("fp32", True),
    ]


# --- what is assumed ------------------------------------------------------------------------------------------------


@pytest.mark.slow_values("None", "budget1")
@pytest.mark.parametrize("budget", [None, DEFAULT_BUDGET])
def test_the_graph_for_finite_operands_is_not_proved_for_all_operands(budget):
    """Otherwise the precondition would have no part in the proof, or would be false for all operands."""
    recorded = record(find_design(VOLTA), 1, finite=True)
    assert decide_graph(recorded, MEANS).status is Status.PROVED
    all_operands = replace(recorded, lowered=replace(recorded.lowered, finite=False))
    verdict = decide_graph(all_operands, replace(MEANS, budget=budget))
    assert verdict.status is Status.REFUTED
    replays(verdict, all_operands)


def replays(verdict, recorded):
    """The witness shows another d, or an operation without meaning."""
    operands = verdict.witness
    assert verdict.of_design == evaluate(verdict.design, operands)
    names = [name for x in recorded.lowered.columns for name in x.inputs]
    patterns = [*operands.a, *operands.b, operands.c, *operands.scale_a, *operands.scale_b]
    if verdict.undefined is None:
        assert run([recorded.lowered.d], dict(zip(names, patterns, strict=True))) == [verdict.of_graph]
        assert verdict.of_graph != verdict.of_design


def with_bounds(kind, tighter):
    """The code interpretation as it would be if the bounds of a signal were others."""
    true = CodeAlgebra.signal

    def signal(self, name, x, bounds=None):
        return true(self, name, x, bounds if bounds is None or name.kind is not kind else tighter(*bounds))

    return signal


@pytest.mark.slow_values(
    "hopper/wgmma.m64n8k16.f32.f16.f16-SignalKind.ALIGNED", "hopper/wgmma.m64n8k16.f32.f16.f16-SignalKind.SUM"
)
@pytest.mark.parametrize(
    ("name", "kind"),
    [
        # 16 products and c need 33 bits: half of the bound fits a lane of 32
        ("hopper/wgmma.m64n8k16.f32.f16.f16", SignalKind.ALIGNED),
        pytest.param("hopper/wgmma.m64n8k16.f32.f16.f16", SignalKind.SUM, marks=middle),
    ],
)
def test_a_bound_that_is_too_tight_by_a_bit_is_found(name, kind, monkeypatch):
    monkeypatch.setattr(CodeAlgebra, "signal", with_bounds(kind, lambda low, high: (low // 2, high // 2)))
    recorded = record(find_design(name))
    verdict = decide_graph(recorded, MEANS)
    assert verdict.status is Status.REFUTED, verdict.reason
    replays(verdict, recorded)


@pytest.mark.slow
def test_a_bound_that_is_too_tight_by_one_is_not_believed(monkeypatch):
    """No operation depends on it here. So the graph is proved, and the bound is not."""
    monkeypatch.setattr(CodeAlgebra, "signal", with_bounds(SignalKind.SIGNIFICAND, lambda low, high: (low, high - 1)))
    verdict = decide_graph(record(find_design(VOLTA), 1), MEANS)
    assert verdict.status is Status.PROVED
    assert not any(x.stage == "significand of p0" and "interval" in x.name for x in verdict.lemmas)


# --- what is not proved ---------------------------------------------------------------------------------------------


class Silent(InAnyEnvironment):
    """A solver that answers nothing."""

    def ask(self, formula, symbols, /, *, limits, rivals=(), begun=None):
        return unanswered()


def test_without_answers_nothing_is_proved():
    verdict = decide_graph(record(find_design(VOLTA), 1), replace(MEANS, solving=Silent()))
    assert verdict.status is Status.UNKNOWN
    assert "not proved" in verdict.reason


def test_a_proof_ends_with_its_time():
    verdict = decide_graph(record(find_design(VOLTA)), replace(MEANS, limits=Limits(0.05, 4 << 30)))
    assert verdict.status is Status.UNKNOWN
    assert verdict.reason.startswith("timeout: ")


@pytest.mark.slow
def test_places_of_another_lowering_are_an_internal_error():
    recorded = record(find_design(VOLTA), 1)
    fewer, others = recorded.places[:-1], [Place("nothing", x.values, x.truth) for x in recorded.places]
    for places in (fewer, others):
        with pytest.raises(PlacesDifferError):
            decide_graph(replace(recorded, places=places), MEANS)


def test_a_design_that_is_not_compiled_is_refused():
    with pytest.raises(DesignError, match=r"cdna1/.* is not compiled, it runs on arrays: .* more than 128 bits"):
        prove_native(find_design("cdna1/v_mfma_f32_4x4x4f16"))
