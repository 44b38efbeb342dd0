"""`mmaproof tolerance`: what a person reads, what programs read, and what is refused."""

import re
import signal
import subprocess
import sys

import numpy as np
import pytest
from support.bundles import checked
from support.commands import only_json

import mmaproof
from mmaproof.cli.options import OutOfTime, within
from mmaproof.gemm.programs.named import find_plan
from mmaproof.gemm.tolerances.data import data_tolerance
from mmaproof.gemm.tolerances.statistical import draw_rows
from mmaproof.gemm.tolerances.tolerance import tolerance

FP8 = "hopper/wgmma.f32.e4m3.e4m3"


def test_a_person_reads_what_is_proved_and_two_numbers(run):
    status, out, err = run("tolerance", FP8, "--k", 64, "--where", "exponents=-8..2", "--no-store")
    assert (status, err) == (0, "")
    assert out.splitlines()[0] == "hopper/wgmma.m64n8k32.f32.e4m3.e4m3, k = 64"
    assert "32 products lose less than 33 * 2^-13 2^max(p, e(G)) + 1 * 2^-13 2^e(G)" in out
    assert "6 lemmas proved by bitwuzla" in " ".join(out.split())
    assert "rtol = 0, atol = " in out
    meant = "p: the largest exponent of a product; G: neither c nor the result exceeds it; e(x): the exponent of x"
    assert meant in " ".join(out.split()), "letters of the formula are said, and no others"


def test_the_line_of_data_comes_first(run):
    options = ("--data", "normal(0,1)", "--samples", 4000, "--no-store")
    status, out, err = run("tolerance", FP8, "--k", 64, *options)
    assert (status, err) == (0, "")
    first, second, *_ = out.splitlines()
    for part in (
        "atol = ",
        "is proved for |a| <= ",
        "|sums so far| <= ",
        "bits of products below 2^",
        "(95 % confidence)",
        "largest: ",
    ):
        assert part in first
    assert 'assert_gemm(d, a, b, plan="hopper/wgmma.m64n8k32.f32.e4m3.e4m3", strength="proved")' in first
    assert second == "hopper/wgmma.m64n8k32.f32.e4m3.e4m3, k = 64"
    record = only_json(run("tolerance", FP8, "--k", 64, *options, "--json")[1])["of_data"]
    assert record["largest"] <= record["elements"] <= record["atol"]
    assert record["quantile"]["samples"] == 4000


def test_a_program_reads_the_same(run):
    options = ("--mutants", "--quantile", 0.9, "--samples", 500, "--distribution", "positive", "--json")
    status, out, _ = run("tolerance", FP8, "--k", 32, *options)
    record = only_json(out)
    assert status == 0
    assert record["proved"] is True
    assert {x["status"] for x in record["lemmas"]} == {"proved"}
    assert record["statistical"]["samples"] == 500
    strengths = {(x["fault"], x["strength"]) for x in record["mutants"]}
    assert ("zeros", "proved") in strengths
    assert {y for _, y in strengths} == {"bits", "proved", "statistical"}
    caught = {(x["fault"], x["strength"]): x for x in record["mutants"]}
    assert caught["zeros", "bits"]["chance"] == 1
    assert caught["reversed order of k", "proved"]["elements"] is None


@pytest.mark.middle
def test_a_table_of_faults_says_which_are_below_the_bound(run):
    status, out, _ = run("tolerance", FP8, "--k", 32, "--mutants")
    assert status == 0
    row = next(x for x in out.splitlines() if "reversed order of k" in x and "proved" in x)
    assert "not noticed" in row


def test_where_nothing_is_proved_the_status_is_unknown(run):
    status, out, _ = run("tolerance", "vortex/tfr.wmma.m8n4k8.f32.f16.f16.f32", "--k", 8)
    assert status == 3
    assert "proved: nothing: its kind of step does not state" in out


@pytest.mark.middle
def test_a_range_that_may_overflow_is_said(run):
    status, out, _ = run("tolerance", f"{FP8} | out=fp16", "--k", 64, "--where", "exponents=0..8")
    assert status == 0
    assert "may overflow for exponents up to 8" in " ".join(out.split())


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (("hoper", "--k", 32), "hoper"),
        ((FP8, "--k", 33), "multiple of"),
        ((FP8, "--k", 32, "--where", "small"), "unknown precondition"),
        ((FP8, "--k", 32, "--quantile", 2), "between 0 and 1"),
        ((FP8, "--k", 32, "--mutants", "--distribution", "odd"), "unknown distribution"),
    ],
)
def test_bad_input_is_named(run, arguments, text):
    status, out, err = run("tolerance", *arguments)
    assert (status, out) == (2, "")
    assert text in err


def test_a_command_that_computes_beyond_its_limit_is_ended(run, monkeypatch):
    monkeypatch.setattr("mmaproof.cli.options._GRACE", 0.0)
    status, out, err = run("tolerance", FP8, "--k", 1048576, "--quantile", 0.9, "--timeout", "0.5s")
    assert (status, out) == (3, "")
    said = "unknown: not answered within 0.5s, and there is no part of an answer; "
    assert re.fullmatch(said + r"\d\.\d CPU seconds were used", err.splitlines()[-1])


def test_a_limit_that_is_kept_leaves_nothing_behind(run):
    before = signal.getsignal(signal.SIGALRM)
    assert run("tolerance", FP8, "--k", 64)[0] == 0
    assert signal.getsignal(signal.SIGALRM) is before
    assert signal.getitimer(signal.ITIMER_REAL)[0] == 0


def test_a_command_that_waits_is_ended(monkeypatch):
    """A target that does not answer and a solver that does not end are waited for as long as the limit says."""
    monkeypatch.setattr("mmaproof.cli.options._GRACE", 0.0)
    with pytest.raises(OutOfTime), within(0.2):
        subprocess.run([sys.executable, "-c", "import time; time.sleep(60)"], check=True)


@pytest.mark.middle
def test_how_much_two_units_can_differ_is_one_line(run):
    first, second = "hopper/wgmma.f32.f16.f16", "ampere/m16n8k16.f32.f16.f16.f32"
    asked = ("tolerance", first, second, "--k", 64, "--data", "normal(0,1)", "--samples", 2000)
    status, out, err = run(*asked)
    line = out.splitlines()[0]
    assert (status, err) == (0, "") and "ampere/mma.m16n8k16.f32.f16.f16.f32 differ: at most " in line
    record = only_json(run(*asked, "--json")[1])
    held = record["difference"]
    # both are within their bounds of one exact result
    bounds = [data_tolerance(tolerance(x, 64), "normal(0,1)", samples=2000) for x in (first, second)]
    assert held["most"] >= sum(x.atol for x in bounds) * 0.999
    assert 0 < held["largest"] <= sum(x.largest for x in bounds) <= held["most"]
    rng = np.random.default_rng([0, 64])
    batch = draw_rows(find_plan(first), 2000, 64, "normal(0,1)", rng)
    d, e = (mmaproof.dot(x, batch.a, batch.b, np.zeros(2000, np.float32)).astype(float) for x in (first, second))
    assert (held["largest"], held["equal"]) == (np.abs(d - e).max(), (d == e).mean())


@pytest.mark.parametrize(
    ("given", "text"),
    [
        (("hopper/wgmma.f32.bf16.bf16", "--data", "normal"), "takes fp16 and fp16"),
        (("turing/f32.f16.f16.f32",), "--data says of which operands"),
        (("turing/f32.f16.f16.f32", "--data", "normal", "--where", "positive"), "without other questions"),
        (("turing/f32.f16.f16.f32", "volta/f32.f16.f16.f32", "--data", "normal"), "3 plans"),
    ],
)
def test_what_is_no_question_about_two_units_is_refused(run, given, text):
    status, _, err = run("tolerance", "ampere/m16n8k16.f32.f16.f16.f32", *given, "--k", 64)
    assert (status, text in err) == (2, True), err


def test_a_bundle_is_of_operands_with_maxima(run, tmp_path):
    status, _, err = run("tolerance", FP8, "--k", 64, "--bundle", tmp_path / "bound")
    assert status == 2
    assert "--bundle is of one plan, for all operands of --where exponents=LO..HI" in " ".join(err.split())


@pytest.mark.parametrize(
    ("plan", "reason"),
    [
        ("ampere/mma.m16n8k32.s32.s8.s8.s32", "its sums are exact integers"),
        ("ampere/mma.m16n8k32.s32.s8.s8.s32 | split-k=2:any", "its order of additions is not determined"),
    ],
)
def test_what_is_not_derived_has_no_bundle(run, tmp_path, plan, reason):
    folder = tmp_path / "bound"
    status, out, err = run("tolerance", plan, "--k", 64, "--where", "exponents=0..2", "--bundle", folder, "--json")
    assert status == 3
    assert reason in only_json(out)["bundle"]["refused"]
    assert reason in " ".join(err.split())
    assert not folder.exists()


@pytest.mark.middle
def test_a_bound_is_written_and_checked(run, tmp_path):
    folder = tmp_path / "bound"
    options = ("--where", "exponents=-8..2", "--bundle", folder)
    status, out, _ = run("tolerance", "volta/mma.m8n8k4.f32.f16.f16.f32", "--k", 64, *options, "--json")
    record = only_json(out)
    assert status == 0
    assert record["bundle"]["lemmas"] == 4
    assert record["derived"] == pytest.approx(record["two_numbers"]["atol"], rel=1e-9)
    status, said = checked(folder)
    assert status == 0, said
    assert f"the error is at most {record['derived']} " in said
