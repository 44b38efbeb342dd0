"""Answers written as pages and figures, and reports of answers: every file says what the command said."""

import json

import pytest
from support.commands import only_json

from mmaproof.cli.output import size_of

VOLTA, TURING = "volta/f32.f16.f16.f32", "turing/f32.f16.f16.f32"
OPERANDS = ["--k", "4", "--a", "0xf000,0xb800,0xb400,0xb000", "--b", "0x6400,0x3c00,0x3c00,0x3c00", "--c", "0x4b000000"]


def test_run_writes_a_page_and_figures(run, tmp_path):
    files = [tmp_path / x for x in ("x.html", "x.svg", "y.svg")]
    options = ["--html", files[0], "--svg", files[1], "--figure", files[2]]
    assert run("run", VOLTA, *OPERANDS, *options) == (0, "0x00000000 = +0\n", "")
    texts = [x.read_text(encoding="utf-8") for x in files]
    assert all("lost by the cut: -7 * 2^-3 of p1..p3" in x for x in texts)
    assert texts[0].startswith("<!DOCTYPE html>") and texts[1] == texts[2]


def test_compare_writes_the_witness_and_a_report_draws_it_again(run, tmp_path):
    page, report, answer = tmp_path / "x.html", tmp_path / "r.html", tmp_path / "x.json"
    status, out, _ = run("compare", VOLTA, TURING, "--json", "--html", page, "--no-store")
    assert status == 1
    d = set(only_json(out)["witness"]["outputs"].values())
    assert len(d) == 2
    assert all(x in page.read_text(encoding="utf-8") for x in d)
    answer.write_text(out, encoding="utf-8")
    status, out, _ = run("report", answer, "--html", report)
    assert (status, out) == (0, f"{report}: {len(report.read_bytes()) / 1e3:.1f} kB\n")
    assert "first difference" in report.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("count", "text"),
    [
        (0, "0 bytes"),
        (999, "999 bytes"),
        (1000, "1.0 kB"),
        (47_321, "47.3 kB"),
        (10**6, "1.0 MB"),
        (2 * 10**9, "2.0 GB"),
    ],
)
def test_sizes_have_a_unit_that_fits(count, text):
    assert size_of(count) == text


def test_an_answer_without_a_witness_replaces_an_older_figure(run, tmp_path):
    figure = tmp_path / "x.svg"
    figure.write_text("an older witness", encoding="utf-8")
    names = ["hopper/wgmma.f32.f16.f16", "blackwell/tcgen05.mma.f32.f16.f16"]
    assert run("compare", *names, "--figure", figure, "--no-store")[0] == 0
    text = figure.read_text(encoding="utf-8")
    assert "equivalent: " in text and "older" not in text


def test_check_and_gemm_run_write_their_runs(run, tmp_path):
    path = tmp_path / "x.html"
    assert run("check", "monotone-in-c", VOLTA, "--html", path, "--no-store")[0] == 1
    assert path.read_text(encoding="utf-8").count("<figure") == 2
    given = ["--unit", VOLTA, "--a", "0x3f800001,0x0,0x0,0x0", "--b", "0x3f800001,0x0,0x0,0x0", "--html", path]
    assert run("gemm", "run", "markidis", *given)[0] == 0
    assert path.read_text(encoding="utf-8").count("<figure") == 4


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["run", VOLTA, *OPERANDS, "--figure", "x.jpg"], "a figure ends in one of .svg, .pdf, .png"),
        (["run", VOLTA, *OPERANDS, "--svg", "x.png"], "--figure writes .pdf and .png, too"),
        (["run", VOLTA, *OPERANDS, "--html", "."], "it is a directory"),
        (["compare", VOLTA, TURING, "--html", "/nowhere/x.html"], "cannot be written"),
        (["gemm", "error", "plain", "--unit", VOLTA, "--k", "8", "-o", "x.png"], "is written with --figure FILE now"),
        (["report", "nothing.json", "--html", "x.html"], "nothing.json: cannot be read"),
    ],
)
def test_bad_files_are_refused_before_any_work(run, tmp_path, monkeypatch, arguments, problem):
    monkeypatch.chdir(tmp_path)
    status, out, err = run(*arguments)
    assert (status, out, len(err.splitlines())) == (2, "", 1)
    assert problem in err
    assert list(tmp_path.iterdir()) == []


def test_a_report_of_something_else_is_refused(run, tmp_path):
    (tmp_path / "x.json").write_text(json.dumps({"designs": []}), encoding="utf-8")
    status, _, err = run("report", tmp_path / "x.json", "--html", tmp_path / "x.html")
    assert status == 2
    assert "not what a command prints with --json; a report is made of matrix, suite" in err
