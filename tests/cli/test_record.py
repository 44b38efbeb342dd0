"""`mmaproof record`: what is written, and what is said of rows that were not answered."""

import json
import sys

import pytest
from support.commands import only_json

from mmaproof.designs.catalogue import find_design
from mmaproof.generators.vectors import read_rows, read_vectors
from mmaproof.hardware_replay.recordings import read_provenance, read_recording
from mmaproof.smt.evaluate import evaluate_batch

VOLTA = find_design("volta/f32.f16.f16.f32")
TURING = find_design("turing/f32.f16.f16.f32")
NVFP4 = find_design("blackwell/tcgen05.mma.m128n8k64.block16.f32.e2m1.e2m1.ue4m3")


@pytest.mark.middle
@pytest.mark.parametrize("design", [VOLTA, NVFP4])
def test_random_operands_with_their_provenance(run, tmp_path, design):
    path = tmp_path / "r.npz"
    status, out, err = run("record", f"model:{design.name}", "edges", "-o", path, "--rows", 50, "--seed", 3, "--json")
    assert (status, err) == (0, "")
    record = only_json(out)
    assert (record["rows"], record["unanswered"], record["file"]) == (50, 0, str(path))
    answers, about = read_recording(path), read_provenance(path)
    operands = read_rows("edges", [design], k=None, rows=50, seed=3)[0]
    assert answers.batch.a.tolist() == operands.batch.a.tolist()
    assert answers.d.tolist() == evaluate_batch(design, operands.batch).tolist()
    assert (about.target, about.design, about.operands["seed"]) == (f"model:{design.name}", design.name, 3)
    assert about.device_version.startswith("mmaproof ")
    assert run("replay", path, f"model:{design.name}")[0] == 0


def test_a_recording_is_a_source_again(run, tmp_path):
    run("record", f"model:{VOLTA.name}", "normal", "-o", tmp_path / "v.npz", "--k", 8)
    status, _, _ = run("record", f"model:{TURING.name}", tmp_path / "v.npz", "-o", tmp_path / "t.npz")
    assert status == 0
    status, out, _ = run("replay", tmp_path / "v.npz", f"recording:{tmp_path / 't.npz'}", "--json")
    record = only_json(out)
    assert (status, record["rows"]) == (1, 1000)
    assert 0 < record["mismatches"] < 1000


def test_both_designs_of_a_mismatch_are_drawn(run, tmp_path):
    run("record", f"model:{VOLTA.name}", "normal", "-o", tmp_path / "v.npz", "--k", 8)
    status, out, _ = run("replay", tmp_path / "v.npz", f"model:{TURING.name}")
    assert status == 1
    assert f"A  {VOLTA.name}" in out
    assert f"B  {TURING.name}" in out


def test_vectors_of_one_instruction_are_a_source(run, tmp_path):
    vectors = tmp_path / "v.jsonl"
    assert run("compare", VOLTA.name, TURING.name, "-o", vectors)[0] == 1
    status, out, _ = run("record", f"model:{TURING.name}", vectors, "-o", tmp_path / "t.npz")
    assert (status, out.split(": ")[1][:6]) == (0, "1 rows")
    assert read_recording(tmp_path / "t.npz").design == TURING.name


def test_what_was_answered_before_a_crash_is_kept(run, tmp_path):
    script = tmp_path / "simulator.py"
    script.write_text(
        "import sys\n"
        "sys.stdin.readline()\n"
        "for i in range(3):\n"
        "    sys.stdin.readline()\n"
        '    print(\'{"d": "0x0000000%d"}\' % i, flush=True)\n'
        "sys.exit(9)\n"
    )
    path = tmp_path / "r.npz"
    command = f"process:{sys.executable} {script}"
    status, out, err = run("record", command, "normal", "--design", VOLTA.name, "-o", path, "--rows", 10, "--json")
    record = only_json(out)
    assert (status, record["rows"], record["unanswered"]) == (3, 3, 7)
    assert "exit status 9" in err
    assert read_recording(path).d.tolist() == [0, 1, 2]


def test_nothing_is_written_where_nothing_was_answered(run, tmp_path):
    path = tmp_path / "r.npz"
    status, _, err = run("record", "process:false", "normal", "--design", VOLTA.name, "-o", path)
    assert (status, path.exists()) == (3, False)
    assert "no row was answered" in err


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["normal"], "name a file"),
        (["-o", "r"], "either a SOURCE of operands or --standard"),
        (["normal", "--standard", "-o", "r"], "either a SOURCE of operands or --standard"),
        (["--standard", "-o", "r", "--k", "8"], "leave --k out"),
        (["nothing", "-o", "r.npz"], "random operands are normal"),
        (["normal", "-o", "missing/r.npz"], "cannot be written"),
        (["normal", "-o", "r.npz", "--design", "hopper/wgmma.f32.e4m3.e4m3"], "format mismatch: a is e4m3"),
    ],
)
def test_bad_input_is_refused(run, tmp_path, monkeypatch, arguments, text):
    monkeypatch.chdir(tmp_path)
    status, out, err = run("record", f"model:{VOLTA.name}", *arguments)
    assert (status, out) == (2, "")
    assert text in err
    assert not list(tmp_path.iterdir())


@pytest.mark.slow
def test_the_standard_recording(run, tmp_path):
    folder = tmp_path / "volta"
    status, out, err = run("record", f"model:{VOLTA.name}", "--standard", "-o", folder, "--rows", 1000, "--json")
    assert status == 0, err
    summary = only_json(out)
    assert summary == json.loads((folder / "summary.json").read_text())
    (instruction,) = summary["instructions"]
    assert sum(x["rows"] for x in instruction["distributions"]) == 5 * 200 + 3 * 34
    assert not any(x["differ"] or x["nan_codes"] or x["unanswered"] for x in instruction["distributions"])
    answers = read_recording(folder / instruction["file"])
    assert answers.d.tolist() == evaluate_batch(VOLTA, answers.batch).tolist()
    points = [x for x in summary["questions"] if x["why"].startswith("point ")]
    assert points
    assert all("xie-paper" in x["right"] for x in points)
    queries = [x for x in summary["questions"] if x not in points]
    assert len({x["why"].split(":")[0] for x in queries}) > 5
    assert all(x["right"] == ["model"] for x in queries)
    assert len(read_vectors(folder / "questions.jsonl").vectors) == len(summary["questions"])
    assert run("replay", folder / "questions.jsonl", f"model:{VOLTA.name}")[0] == 0
    assert summary["problems"] == []
    status, _, err = run("record", f"model:{VOLTA.name}", "--standard", "-o", folder)
    assert (status, "is not empty" in err) == (2, True)
