"""Comparisons: mutants are told apart, equals are proved, and nothing is claimed that was not earned."""

import re

import pytest
from reference.designs import reference_result
from support.fake_solvers import HANGS
from support.sampling import fp16_design

from mmaproof.designs.catalogue import find_design
from mmaproof.designs.errors import DesignError
from mmaproof.properties.equivalence import Equivalence
from mmaproof.properties.preconditions import parse_precondition
from mmaproof.smt.proving.lemma import decide
from mmaproof.smt.solving.limits import Limits
from mmaproof.smt.solving.portfolio import COMMANDS
from mmaproof.smt.solving.solving import Solving
from mmaproof.smt.solving.verdict import Status, UnknownSolverError, WitnessDoesNotReplay
from mmaproof.verification.compare import DEFAULT_BUDGET, compare
from mmaproof.verification.search import Budget

LIMITS = Limits(120, 4 << 30)
SEARCH_AND_SOLVER = pytest.mark.parametrize("budget", [DEFAULT_BUDGET, None], ids=["search", "no-search"])


def ask(first, second, where=(), **options):
    options = {"solver": "bitwuzla", "limits": LIMITS, **options}
    first, second = (find_design(x) if isinstance(x, str) else x for x in (first, second))
    return compare(first, second, where=[parse_precondition(w) for w in where], **options)


def confirm(answer):
    """The witness is confirmed by the independent reference."""
    assert answer.status is Status.REFUTED
    outputs = [reference_result(d, answer.witness) for d in answer.question.designs]
    assert list(answer.outputs.values()) == outputs
    assert outputs[0] != outputs[1]


VOLTA = "volta/mma.m8n8k4.f32.f16.f16.f32"
MUTANTS = [
    "fraction_bits=24",
    "fraction_bits=22",
    "rho=rne-fp32",
    pytest.param("carry_bits=2", marks=pytest.mark.middle),
    "product_exponent=normalised",
    "alignment=floor",
    "alignment=jam",
    "L=2",
    "zero_product=B",
    pytest.param("zero_c=B,zero_product=B,floor=-20", marks=pytest.mark.middle),
    "zero_product=natural",
    "overflow=B,fraction_bits=22",
    pytest.param("c_subnormal=B,zero_product=B", marks=pytest.mark.middle),
    "nan_code=quiet,fraction_bits=22",
]


@pytest.mark.few(1)
@pytest.mark.slow_values(
    "c_subnormal=B,zero_product=B-no-search",
    "carry_bits=2-no-search",
    "carry_bits=2-search",
    "zero_c=B,zero_product=B,floor=-20-no-search",
)
@SEARCH_AND_SOLVER
@pytest.mark.parametrize("settings", MUTANTS)
def test_mutants_are_told_apart(settings, budget):
    base = f"{VOLTA}@zero_product=B" if settings.startswith("c_subnormal") else VOLTA
    if settings in ("zero_product=B", "c_subnormal=B,zero_product=B"):
        # fp16 products stay above 2^-48 and an fp32 accumulator's subnormals far below: not seen with fp16 operands
        base, settings = (x.replace(VOLTA, "") for x in (base, settings))
        wide = "ampere/m16n8k4.f32.tf32.tf32.f32"
        answer = ask(f"{wide}{base}", f"{wide}@{settings}", budget=budget)
    else:
        answer = ask(base, f"{VOLTA}@{settings}", budget=budget)
    confirm(answer)


@pytest.mark.few(1)
@pytest.mark.parametrize("solver", ["bitwuzla", "cvc5", pytest.param("z3", marks=pytest.mark.middle)])
def test_every_solver_finds_a_witness_and_a_proof(solver):
    confirm(ask(VOLTA, f"{VOLTA}@fraction_bits=22", budget=None, solver=solver))
    same = Equivalence(find_design("hopper/wgmma.f32.f16.f16"), find_design("blackwell/tcgen05.mma.f32.f16.f16"))
    answer = decide(same, Solving(solver).ask, LIMITS)
    assert (answer.status, answer.solver.name) == (Status.PROVED, solver)


@pytest.mark.few(2)
@pytest.mark.parametrize("length", [4, 8, 16, pytest.param(32, marks=pytest.mark.middle)])
def test_one_fraction_bit_is_told_apart_by_the_solver(length):
    confirm(ask(fp16_design(length, fraction_bits=24), fp16_design(length, fraction_bits=25), budget=None))


@pytest.mark.slow
def test_one_fraction_bit_of_e4m3_at_32():
    name = "hopper/wgmma.f32.e4m3.e4m3@rho=rz-fp32"
    confirm(ask(f"{name},fraction_bits=24", f"{name},fraction_bits=25", budget=None))


@pytest.mark.slow
def test_written_differently_and_equal():
    """More carry bits than suffice change nothing, however many."""
    for carry_bits in (3, 4, 9):
        assert ask(VOLTA, f"{VOLTA}@carry_bits={carry_bits}").status is Status.PROVED


def test_the_question_changes_with_the_precondition():
    other = f"{VOLTA}@negative_zero=B"
    assert ask(VOLTA, other, where=["positive"]).status is Status.PROVED
    wide = "ampere/m16n8k4.f32.tf32.tf32.f32"
    confirm(ask(wide, f"{wide}@overflow=B"))
    assert ask(wide, f"{wide}@overflow=B", where=["exponents=-14..15"]).status is Status.PROVED


def test_a_difference_out_of_reach_is_no_difference():
    """Where the accumulator is near overflow, fp16 products lie below its last bit: rho never overflows."""
    assert ask(VOLTA, f"{VOLTA}@overflow=B").status is Status.PROVED


def test_nan_codes_count_only_when_asked():
    other = f"{VOLTA}@nan_code=quiet"
    assert ask(VOLTA, other).status is Status.PROVED
    assert ask(VOLTA, other, nan_codes=True).status is Status.REFUTED


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("where", "budget"),
    [
        (["normal", "c=0"], None),
        (["positive", "exponents=50..60"], DEFAULT_BUDGET),
        pytest.param(["normal", "c=0"], DEFAULT_BUDGET, marks=pytest.mark.middle),
        pytest.param(["positive", "c=0"], None, marks=pytest.mark.middle),
        pytest.param(["positive", "c=0"], DEFAULT_BUDGET, marks=pytest.mark.middle),
        pytest.param(["normal", "exponents=100..120"], None, marks=pytest.mark.middle),
        pytest.param(["normal", "exponents=100..120"], DEFAULT_BUDGET, marks=pytest.mark.middle),
        pytest.param(["positive", "exponents=50..60"], None, marks=pytest.mark.middle),
    ],
)
def test_an_unsatisfiable_precondition_is_vacuous(where, budget):
    for second in (VOLTA, f"{VOLTA}@fraction_bits=22"):
        assert ask(VOLTA, second, where=where, budget=budget).status is Status.VACUOUS


@pytest.mark.few(1)
@SEARCH_AND_SOLVER
@pytest.mark.parametrize(
    "where", [["finite"], ["positive"], ["normal"], ["c=0"], ["exponents=-3..3"], ["normal", "exponents=15..15"]]
)
def test_witnesses_satisfy_the_preconditions(where, budget):
    answer = ask(VOLTA, f"{VOLTA}@fraction_bits=21", where=where, budget=budget)
    confirm(answer)
    assert answer.question.is_refuted_by(answer.witness)


def test_a_timeout_is_unknown():
    answer = ask(VOLTA, "turing/f32.f16.f16.f32", budget=None, limits=Limits(0.01, 4 << 30))
    assert answer.status is Status.UNKNOWN
    assert answer.reason.startswith("timeout")


def test_a_timeout_names_the_limit_that_was_set(monkeypatch):
    monkeypatch.setitem(COMMANDS, "bitwuzla", HANGS)
    base = "hopper/wgmma.f32.f16.f16@alignment=floor"
    answer = ask(base, f"{base},carry_bits=6", limits=Limits(1.5, 4 << 30))
    assert answer.status is Status.UNKNOWN
    assert re.match(r"timeout: no answer within 1\.5 s, of which \d\.\d\d s went into the search", answer.reason)


@pytest.mark.slow
def test_the_limit_is_for_the_simplification_too():
    answer = ask(VOLTA, f"{VOLTA}@fraction_bits=24", k=384, limits=Limits(0.5, 4 << 30))
    confirm(answer)
    # a second of it at least, and no step of it takes long
    assert answer.seconds < 10


def test_memory_that_runs_out_in_the_search_is_unknown(monkeypatch):
    def full(*_, **__):
        raise MemoryError

    monkeypatch.setattr("mmaproof.verification.strategies.search", full)
    answer = ask(VOLTA, f"{VOLTA}@fraction_bits=24")
    assert (answer.status, answer.reason) == (Status.UNKNOWN, "memory: mmaproof itself ran out of it (k = 4)")


def test_a_length_that_no_formula_can_have_is_refused():
    with pytest.raises(DesignError, match="k = 65540 is above 65536"):
        ask(VOLTA, f"{VOLTA}@fraction_bits=24", k=65540)


def test_an_unknown_solver_is_refused_even_where_the_search_would_do():
    with pytest.raises(UnknownSolverError):
        ask(VOLTA, f"{VOLTA}@fraction_bits=22", solver="yices")


def test_a_witness_that_does_not_replay_is_an_internal_error(monkeypatch):
    monkeypatch.setattr(Equivalence, "is_refuted_by", lambda self, operands: False)
    with pytest.raises(WitnessDoesNotReplay):
        ask(VOLTA, f"{VOLTA}@fraction_bits=22", budget=None)


@pytest.mark.middle
def test_the_search_is_seeded():
    first, second = (ask(VOLTA, f"{VOLTA}@fraction_bits=22", seed=7) for _ in range(2))
    assert first.witness == second.witness
    assert first.origin.split(" s)")[0].rsplit(",", 1)[0] == second.origin.split(" s)")[0].rsplit(",", 1)[0]


def test_an_empty_budget_leaves_the_answer_to_the_solver():
    answer = ask(VOLTA, f"{VOLTA}@fraction_bits=22", budget=Budget(rows=0))
    confirm(answer)
    assert answer.solver.name == "bitwuzla"


def test_witnesses_are_simple():
    answer = ask(VOLTA, f"{VOLTA}@fraction_bits=22", budget=None)
    assert sum(x != 0 for x in answer.witness.a) <= 3


@pytest.mark.middle
@pytest.mark.slow_values(
    "blackwell/block16.f32.e2m1.e2m1.ue4m3-blackwell/block16.f32.e2m1.e2m1.ue4m3@fraction_bits=30",
    "cdna2/v_mfma_f32_32x32x4bf16-cdna2/v_mfma_f32_32x32x4bf16@L=4",
    "cdna3/v_mfma_f32_4x4x4_16b_f16-cdna3/v_mfma_f32_4x4x4_16b_f16@late_rounding=B",
    "hopper/mma.f32.e4m3.e4m3.f32-hopper/wgmma.f32.e4m3.e4m3",
)
@pytest.mark.parametrize(
    ("first", "second"),
    [
        # FP8 as mma.sync emulates it, and the native unit
        pytest.param("hopper/mma.f32.e4m3.e4m3.f32", "hopper/wgmma.f32.e4m3.e4m3", marks=pytest.mark.middle),
        # the two published readings of CDNA1, and those of CDNA2
        ("cdna1/v_mfma_f32_4x4x4f16", "cdna1/v_mfma_f32_4x4x4f16@as=mma-sim"),
        pytest.param("cdna1/v_mfma_f32_4x4x2bf16", "cdna1/v_mfma_f32_4x4x2bf16@as=mma-sim", marks=pytest.mark.middle),
        pytest.param("cdna2/v_mfma_f32_32x32x4bf16", "cdna2/v_mfma_f32_32x32x4bf16@L=4", marks=pytest.mark.middle),
        # a design of one family against one of another
        ("volta/f32.f16.f16.f32", "paper/tree.m1n1k4.f32.f16.f16.f32"),
        pytest.param(
            "cdna3/v_mfma_f32_4x4x4_16b_f16", "cdna3/v_mfma_f32_4x4x4_16b_f16@late_rounding=B", marks=pytest.mark.middle
        ),
        pytest.param(
            "blackwell/block16.f32.e2m1.e2m1.ue4m3",
            "blackwell/block16.f32.e2m1.e2m1.ue4m3@fraction_bits=30",
            marks=pytest.mark.middle,
        ),
        ("ampere/mma.m16n8k32.s32.s4.s4.s32", "ampere/mma.m16n8k32.satfinite.s32.s4.s4.s32"),
    ],
)
def test_families_are_told_apart_by_the_solver(first, second):
    confirm(ask(first, second, budget=None))


def test_scales_are_part_of_the_comparison():
    answer = ask("blackwell/block16.f32.e2m1.e2m1.ue4m3", "rtx-blackwell/block16.f32.e2m1.e2m1.f32.ue4m3", budget=None)
    assert answer.status is Status.PROVED
    with pytest.raises(DesignError, match="scales are ue4m3 in one, e8m0 in the other"):
        ask("blackwell/block16.f32.e2m1.e2m1.ue4m3", "blackwell/block16.f32.e2m1.e2m1.ue8m0")


def test_a_length_that_fits_no_chain_of_both_proposes_one_that_does():
    with pytest.raises(DesignError, match=r"choose 504 or 512$"):
        compare("volta/f32.f16.f16.f32", "turing/f32.f16.f16.f32", k=510)
    with pytest.raises(DesignError, match=r"choose 16$"):
        compare("volta/f32.f16.f16.f32", "ampere/m16n8k16.f32.f16.f16.f32", k=6)
