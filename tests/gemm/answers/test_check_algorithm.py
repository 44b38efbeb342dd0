"""Overflow, integer sums and exact operands: known answers, witnesses recomputed, and mutants."""

from dataclasses import replace

import numpy as np
import pytest
from support.deciding import decide
from support.gemm_asked import asked

from mmaproof.designs.catalogue import find_design
from mmaproof.designs.element import Operands
from mmaproof.designs.errors import DesignError, InputError
from mmaproof.gemm.answers import exact_operands
from mmaproof.gemm.answers.exact_operands import ComesDownTo, ZerosAddNothing, check_exact_operands
from mmaproof.gemm.answers.slices import SlicesAreBounded, WeightIsBounded, check_slices
from mmaproof.gemm.programs import Plan
from mmaproof.gemm.programs.algorithms import find_algorithm
from mmaproof.gemm.programs.arithmetic import Arithmetic
from mmaproof.gemm.questions.finite_operands import NoOverflow
from mmaproof.gemm.questions.split import Window
from mmaproof.gemm.tolerances.check import LONGEST, check_algorithm, check_overflow
from mmaproof.properties.preconditions import Exponents
from mmaproof.smt.solving.verdict import Status
from mmaproof.smt.trace import evaluate

VOLTA = find_design("volta/mma.m8n8k4.f32.f16.f16.f32")
INTEGERS = find_design("turing/mma.m8n8k16.s32.s8.s8.s32")
MARKIDIS, OOTOMO, PLAIN = (find_algorithm(n) for n in ("markidis", "ootomo-yokota", "plain"))
SLICES = find_algorithm("slices")


def patterns(witness):
    return {n.name: n.pattern for n in witness.numbers}


def float_of(pattern):
    return float(np.array([pattern], dtype=np.uint32).view(np.float32)[0])


# --- overflow --------------------------------------------------------------------------------------------------------


@pytest.mark.slow_values("algorithm0-14")
@pytest.mark.middle
@pytest.mark.parametrize(
    ("algorithm", "high"),
    [pytest.param(MARKIDIS, 14, marks=pytest.mark.middle), (find_algorithm("plain@rounding=rz"), 15)],
)
def test_below_the_largest_number_nothing_overflows(algorithm, high):
    """65504 is the largest number of fp16; what is truncated never exceeds it."""
    found = check_overflow(Plan(VOLTA, algorithm), None, [Exponents(-14, high)], asked())
    assert (found.status, found.values["by"], found.values["largest_k"]) == (Status.PROVED, "bounds", LONGEST)
    assert found.values["words"]["a"][0] == high + 1


@pytest.mark.few(1)
@pytest.mark.parametrize(("high", "status"), [(7, Status.PROVED), (8, Status.REFUTED)])
def test_what_a_format_without_infinities_clamps_is_an_overflow(high, status):
    unit = find_design("hopper/wgmma.m64n8k32.f32.e4m3.e4m3")
    found = check_algorithm("overflow", find_algorithm("plain"), unit, where=[Exponents(-5, high)]).finding
    assert found.status is status
    if status is Status.REFUTED:
        (shown,) = [n for n in found.witnesses[0].numbers if n.fmt.name == "e4m3"]
        assert shown.pattern & 0x7F == 0x7E


@pytest.mark.parametrize("algorithm", [PLAIN, OOTOMO])
def test_rounding_overflows_within_the_last_half_unit(algorithm):
    """Numbers below 2**16, the bound that their exponents give, become infinite from 65520 on."""
    where = [Exponents(15, 15)]
    found = check_overflow(Plan(VOLTA, algorithm), None, where, asked())
    assert found.status is Status.REFUTED
    (witness,) = found.witnesses
    shown = patterns(witness)
    *_, (label, result) = shown.items()
    assert label in witness.shows
    assert result & 0x7FFF == 0x7C00
    columns = [tuple(shown[f"{n}[{i}]"] for i in range(4)) for n in "ab"]
    assert max(abs(float_of(x)) for column in columns for x in column) >= 65520
    assert NoOverflow(Plan(VOLTA, algorithm), where=where).is_refuted_by(Operands(*columns, shown["c"]))


@pytest.mark.slow
def test_many_additions_outside_rest_on_the_bound_of_a_step():
    found = check_overflow(Plan(VOLTA, OOTOMO), 8, [Exponents(-14, 14)], asked())
    assert (found.status, found.values["largest_k"]) == (Status.PROVED, LONGEST)
    assert any("cutting" in x.name for x in found.lemmas)


# --- integer sums ----------------------------------------------------------------------------------------------------


@pytest.mark.few(2)
@pytest.mark.parametrize(
    ("algorithm", "unit", "longest", "wrapped"),
    [
        (SLICES, INTEGERS, (2**31 - 1) // 127**2, True),
        (SLICES, find_design("turing/mma.m8n8k16.satfinite.s32.s8.s8.s32"), (2**31 - 1) // 127**2, False),
        (find_algorithm("slices@bits=6"), INTEGERS, (2**31 - 1) // 63**2, True),
        (find_algorithm("slices@slices=2,sums=weight"), INTEGERS, (2**31 - 1) // (2 * 127**2), True),
    ],
)
def test_the_longest_exact_sum(algorithm, unit, longest, wrapped):
    found = check_slices(algorithm, unit, asked())
    assert (found.status, found.values["largest_k"], found.values["wraps_at"]) == (Status.PROVED, longest, longest + 1)
    (witness,) = found.witnesses
    (_, x), (_, y), (a_label, a), (_, b), (_, c), (_, d) = patterns(witness).items()
    assert x == y
    times = int(a_label.split()[1])
    exact = c + times * a * b
    assert exact > 2**31 - 1
    assert d == (exact % 2**32 if wrapped else 2**31 - 1)


def test_slices_that_share_a_register_and_cannot_all_be_full():
    """24 bits fill three slices of 7 and three bits of the fourth: 2*127*127 + 2*127*112 for one k."""
    found = check_slices(find_algorithm("slices@sums=weight"), INTEGERS, asked())
    assert (found.values["per_k"], found.values["wraps_at"]) == (60706, (2**31 - 1) // 60706 + 1)
    assert 2 * 127 * 127 + 2 * 127 * 112 == 60706


def test_bounds_of_slices_that_are_too_small_are_refuted():
    assert decide(SlicesAreBounded(SLICES, INTEGERS, "b", (127, 127, 127, 126))) is Status.REFUTED
    assert decide(WeightIsBounded(SLICES, INTEGERS, [[(0, 1), (1, 0)]], 2 * 127**2 - 1)) is Status.REFUTED


# --- operands that the format holds ----------------------------------------------------------------------------------


@pytest.fixture
def briefly(monkeypatch):
    monkeypatch.setattr(exact_operands, "DIRECT_SECONDS", 1.0)


@pytest.mark.middle
@pytest.mark.slow_values("algorithm0-4-unit(a0..a3, b0..b3, c)-False")
@pytest.mark.usefixtures("briefly")
@pytest.mark.parametrize(
    ("algorithm", "k", "equals", "sign_lost"),
    [
        (MARKIDIS, 4, "unit(a0..a3, b0..b3, c)", False),
        (OOTOMO, 4, "RN(c + unit(a0..a3, b0..b3, +0))", True),
        pytest.param(
            OOTOMO, 8, "RN(RN(c + unit(a0..a3, b0..b3, +0)) + unit(a4..a7, b4..b7, +0))", True, marks=pytest.mark.slow
        ),
    ],
)
def test_only_where_c_is_added_differs(algorithm, k, equals, sign_lost):
    found = check_exact_operands(Plan(VOLTA, algorithm), algorithm, k, asked())
    assert found.status is Status.PROVED
    assert (found.values["equals"], found.values["up_to_zero_sign"]) == (equals, sign_lost)
    if sign_lost:
        # the accumulators that products of residuals go to start from +0, whatever c is
        assert (found.values["range"], found.witnesses) == ([{"bits": 24, "low": -149, "high": 127}], ())
        return
    # a zero reads the exponent -126, b up to 15: what lies 23 bits below their sum is kept
    assert {x["low"] - x["bits"] + 1 for x in found.values["range"]} == {-126 + 15 - 23}
    assert found.values["negative_zero"] is False
    (beyond,) = found.witnesses
    shown = patterns(beyond)
    columns = [tuple(shown[f"{n}[{i}]"] for i in range(4)) for n in "ab"]
    assert evaluate(VOLTA, Operands(*columns, shown["c"])) == shown["d"] != shown["c"]
    assert (float_of(shown["c"]) / 2.0**-134) % 1


def test_the_range_of_c_follows_the_unit():
    """A wider window of aligned terms keeps more of c; what is beyond the range is refuted."""
    lifted = find_design(f"{VOLTA.name}@zero_c=A,zero_product=A")
    assert decide(ZerosAddNothing(VOLTA, "a", [Window(-111, 127)])) is Status.PROVED
    assert decide(ZerosAddNothing(lifted, "b", [Window(-112, -112)])) is Status.REFUTED
    wider = VOLTA.change(fraction_bits=25)
    assert decide(ZerosAddNothing(wider, "b", [Window(-112, -112)])) is Status.PROVED
    assert decide(ZerosAddNothing(VOLTA, "a", (), only=1 << 31)) is Status.REFUTED


def test_an_algorithm_that_comes_down_to_something_else_is_refuted():
    """Ootomo and Yokota's sum outside is not the one inside the unit."""

    def inside(arithmetic, a, b, c):
        return arithmetic.call("", VOLTA, a, b, c)

    plan = Plan(VOLTA, OOTOMO)
    question = ComesDownTo(plan, inside, [Window(-100, 100)], k=4, negative_zero=False, up_to_zero_sign=True)
    # 1 + 3 * 2**-25: inside the unit the product is cut off, outside it the sum is rounded up to 1 + 2**-23
    assert question.is_refuted_by(Operands((0x0600, 0, 0, 0), (0x1400, 0, 0, 0), 0x3F800000))


@pytest.mark.usefixtures("briefly")
def test_residuals_that_do_not_vanish_are_shown(monkeypatch):
    """No word is taken away before the next is made."""
    monkeypatch.setattr(Arithmetic, "subtract", lambda self, label, x, y: x)
    found = check_exact_operands(Plan(VOLTA, MARKIDIS), MARKIDIS, None, asked())
    assert found.status is Status.REFUTED
    assert "a word of a is not" in found.witnesses[0].shows


# --- what can be asked of what ---------------------------------------------------------------------------------------


def test_questions_that_mean_nothing():
    with pytest.raises(InputError, match="unknown question"):
        check_algorithm("exact", OOTOMO, VOLTA)
    with pytest.raises(InputError, match="--k means nothing to split"):
        check_algorithm("split", OOTOMO, VOLTA, k=4)
    with pytest.raises(DesignError, match="slices cannot be asked of ootomo-yokota"):
        check_algorithm("slices", OOTOMO, VOLTA)
    with pytest.raises(DesignError, match="dropped cannot be asked of slices"):
        check_algorithm("dropped", SLICES, INTEGERS)
    with pytest.raises(DesignError, match="does not run on"):
        check_algorithm("split", OOTOMO, INTEGERS)
    with pytest.raises(DesignError, match="accumulate in fp32"):
        check_algorithm("exact-operands", PLAIN, find_design("volta/mma.m8n8k4.f16.f16.f16.f16"))


def test_a_limit_that_passes_leaves_the_question_open():
    means = asked()
    means.means = replace(means.means, limits=replace(means.means.limits, seconds=0.002))
    found = check_slices(SLICES, INTEGERS, means)
    assert found.status is Status.UNKNOWN
    assert found.reason.startswith("timeout")
