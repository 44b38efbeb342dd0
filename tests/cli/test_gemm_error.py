"""`mmaproof gemm error`: what a person reads, what programs read, and what is refused."""

import csv
import io
from fractions import Fraction

import pytest
from support.commands import only_json

from mmaproof.cli.gemm.error import CSV_FIELDS, up
from mmaproof.gemm.tolerances.tolerance import Tolerance
from mmaproof.gemm.tolerances.walk import LossProof

VOLTA, FP8 = "volta/mma.m8n8k4.f32.f16.f16.f32", "hopper/wgmma.m64n8k32.f32.e4m3.e4m3"
BOTH = ("gemm", "error", "plain", "promoted", "--unit", FP8, "--k", "256,32", "--distribution", "positive")


@pytest.fixture
def proved(monkeypatch):
    """Take the proof of one step for granted, which is tested elsewhere."""
    monkeypatch.setattr(Tolerance, "proof", LossProof(True, "granted"))


@pytest.mark.middle
def test_a_person_reads(run):
    """With the proof, which the other tests leave out."""
    status, out, err = run(*BOTH, "--reference", "rounded", "--rows", 4, "--columns", 6)
    assert (status, err) == (0, "")
    lines = out.splitlines()
    assert lines[0].startswith(f"{FP8}, against the exact product of the operands as rounded")
    assert "4 x 6 of 32 x 32, 4 x 6 of 256 x 256" in " ".join(out.split())
    rows = [line.split() for line in lines if line.startswith(("plain", "promoted"))]
    assert [(row[0], row[1]) for row in rows] == [
        ("plain", "32"),
        ("promoted", "32"),
        ("plain", "256"),
        ("promoted", "256"),
    ]
    assert all(len(row) == 8 and float(row[2]) <= float(row[7]) for row in rows)
    assert "proved: 7 lemmas about the steps" in " ".join(out.split())
    tolerances = [line for line in lines if line.startswith("  |d - rounded| <= ")]
    assert tolerances[2].startswith("  |d - rounded| <= 2.9e+00 for |a| <= 1, |b| <= 1, c = 0, K = 256: plain (")
    assert tolerances[3].startswith("  |d - rounded| <= 1.4e+00 for |a| <= 1, |b| <= 1, c = 0, K = 256: promoted (")


@pytest.mark.middle
def test_programs_read(run, proved, tmp_path):
    record = only_json(run(*BOTH, "--json")[1])
    assert (record["unit"], record["distribution"], record["reference"]) == (FP8, "positive", "exact")
    assert record["step"]["proved"]
    assert [(x["algorithm"], x["n"]) for x in record["points"]] == [
        ("plain", 32),
        ("promoted", 32),
        ("plain", 256),
        ("promoted", 256),
    ]
    assert all(0 < x["mean"] <= x["largest"] <= x["bound"] for x in record["points"])
    status, out, _ = run(*BOTH, "--csv", str(tmp_path / "errors.csv"))
    rows = list(csv.DictReader(io.StringIO((tmp_path / "errors.csv").read_text())))
    assert (status, tuple(rows[0])) == (0, CSV_FIELDS)
    assert out.startswith(FP8)
    assert [(x["algorithm"], int(x["n"]), float(x["largest"]), float(x["bound"])) for x in rows] == [
        (x["algorithm"], x["n"], x["largest"], x["bound"]) for x in record["points"]
    ]


def test_a_table_of_latex_has_the_errors(run, tmp_path):
    command = ("gemm", "error", "plain", f"{VOLTA} | split-k=2", "--unit", VOLTA, "--k", "32", "--no-bound")
    (first, second) = only_json(run(*command, "--json", "--tex", tmp_path / "e.tex")[1])["points"]
    assert first["unit"] == second["unit"] == VOLTA
    lines = (tmp_path / "e.tex").read_text().splitlines()
    assert lines[0] == "% unit: plans, distribution: uniform, reference: exact, seed: 0, above: 0.0"
    assert (lines[1], lines[3], lines[-1]) == (r"\begin{tabular}{lrrrrrrrr}", r"\hline", r"\end{tabular}")
    cells = [[x.strip() for x in line.removesuffix(r"\\").split("&")] for line in lines[4:-1]]
    assert [x[:2] for x in cells] == [
        [r"\texttt{plain}", "32"],
        [rf"\texttt{{{VOLTA} \textbar{{}} split-k=2}}", "32"],
    ]
    assert lines[2].startswith("program & $N$ & largest & mean & relative & mean square & Frobenius")
    for row, point in zip(cells, (first, second), strict=True):
        for text, name in zip(row[2:], ("largest", "mean", "relative", "squared", "frobenius"), strict=False):
            digits, _, power = text.strip("$").partition(r" \cdot 10^{")
            assert float(f"{digits}e{power.removesuffix('}') or 0}") == pytest.approx(point[name], rel=0.01)
        assert row[-1] == "--"


def test_tables_say_what_was_left_out_and_above_which_reference(run, tmp_path):
    command = ("gemm", "error", "ampere/m16n8k8.f32.bf16.bf16.f32", "--k", 8, "--rows", 2, "--columns", 2, "--no-bound")
    files = ("--tex", tmp_path / "e.tex", "--csv", tmp_path / "e.csv")
    assert run(*command, "--distribution", "exponents=100..120", "--above", 2, *files)[0] == 0
    lines = (tmp_path / "e.tex").read_text().splitlines()
    assert lines[0].endswith("above: 2.0")
    assert lines[1].endswith("N = 8: 4 elements left out: they or their references are not finite")
    (row,) = csv.DictReader(io.StringIO((tmp_path / "e.csv").read_text()))
    assert (row["above"], row["not_finite"], row["relative_above"]) == ("2.0", "4", "")


def test_two_tables_are_not_written_into_one_file(run, tmp_path):
    command = ("gemm", "error", "plain", "--unit", VOLTA, "--k", 8, "--rows", 2, "--columns", 2, "--no-bound")
    (tmp_path / "link").symlink_to(tmp_path / "e.csv")
    for other in ("e.csv", "link"):
        status, _, err = run(*command, "--csv", tmp_path / "e.csv", "--tex", tmp_path / other)
        assert status == 2
        assert "two results are to be written there" in err
    assert not (tmp_path / "e.csv").exists()
    assert run(*command, "--csv", "/dev/null", "--tex", "/dev/null")[0] == 0


def test_sizes_of_a_distribution_without_a_largest_are_those_drawn(run, proved):
    command = ("gemm", "error", "plain", "--unit", VOLTA, "--k", 8, "--distribution", "normal")
    (point,) = only_json(run(*command, "--json")[1])["points"]
    assert 1 < point["a"] < 8
    assert f"for |a| <= {point['a']!r}, |b| <= {point['b']!r}, c = 0, K = 8: plain" in run(*command)[1]


@pytest.mark.middle
def test_a_picture_is_drawn(run, proved, tmp_path):
    path = tmp_path / "errors.svg"
    status, _, err = run(*BOTH, "--figure", path)
    assert (status, err) == (0, "")
    assert path.read_text(encoding="utf-8").rstrip().endswith("</svg>")


def test_without_a_bound_there_is_none(run):
    status, out, _ = run("gemm", "error", "plain", "--unit", VOLTA, "--k", "8", "--no-bound")
    assert status == 0
    assert "<=" not in out


def test_an_undecided_step_is_no_bound(run):
    status, out, _ = run(*BOTH[:-3], "32", "--timeout", "0.01s")
    assert status == 3
    assert "is not proved: timeout" in " ".join(out.split())
    assert "|d - exact| <=" not in out


def test_a_unit_whose_step_has_no_bound_says_so(run):
    unit = "rdna3/v_wmma_f16_16x16x16_f16"
    status, out, _ = run("gemm", "error", "plain", "--unit", unit, "--k", "16", "--rows", "2", "--columns", "2")
    assert status == 0
    assert "which exponents a c that keeps extra bits reads is not stated" in " ".join(out.split())
    assert "|d - exact| <=" not in out


def test_what_may_overflow_and_what_is_not_finite_is_said(run, proved):
    names = ("markidis@intermediate=fp16", "--unit", VOLTA, "--k", "64", "--distribution", "ootomo-yokota-1")
    status, out, _ = run("gemm", "error", *names, "--rows", "16", "--columns", "16")
    assert status == 0
    text = " ".join(out.split())
    assert "no bound for markidis@intermediate=fp16, K = 64: a number may overflow" in text
    assert "elements left out: they or their references are not finite" in text


@pytest.mark.parametrize(
    ("changed", "why"),
    [
        (("--k", "0"), "integers from 1"),
        (("--k", "4,,8"), "integers from 1"),
        (("--k", "6"), "not a multiple of it"),
        (("--k", "65540"), "above 65536"),
        (("--distribution", "gauss"), "one of uniform"),
        (("--reference", "fp64"), "one of exact, fp32, rounded"),
        (("--csv", "."), "it is a directory"),
        (("--tex", "."), "it is a directory"),
        (("--figure", "errors.txt"), ".png"),
        (("--unit", "volta/nothing"), "nothing"),
    ],
)
def test_what_makes_no_sense_is_refused(run, changed, why):
    status, out, err = run("gemm", "error", "plain", "--unit", VOLTA, "--k", "8", "--no-bound", *changed)
    assert (status, out) == (2, "")
    assert why in err


def test_tolerances_are_rounded_up():
    assert up(Fraction(1, 3)) == "3.4e-01"
    assert up(Fraction(1, 4)) == "2.5e-01"
    assert up(Fraction(999, 10)) == "1.0e+02"
    assert up(Fraction(1, 1 << 149)) == "1.5e-45"


def test_each_line_has_the_unit_of_its_program(run, tmp_path):
    """Of an algorithm beside a plan nothing else says it."""
    phases = "wormhole/mvmul.phase0.m8n16k16.f32.e8m7.e8m7.f32 | then=phase1"
    named = ("plain", f"{FP8} | c=none", phases)
    command = ("gemm", "error", *named, "--unit", VOLTA, "--k", "32", "--rows", 2, "--columns", 2, "--no-bound")
    assert run(*command, "--csv", tmp_path / "e.csv")[0] == 0
    rows = list(csv.DictReader(io.StringIO((tmp_path / "e.csv").read_text())))
    both = "+".join(f"wormhole/mvmul.phase{x}.m8n16k16.f32.e8m7.e8m7.f32" for x in "01")
    assert {x["algorithm"].split(" |")[0]: x["unit"] for x in rows} == {
        "plain": VOLTA,
        FP8: FP8,
        both.split("+")[0]: both,
    }
