"""`mmaproof evidence` and `evidence --decided`, and the mark of assumed rows in every answer."""

import json

import pytest

from mmaproof.generators import open_values
from mmaproof.generators.vectors import read_vectors
from mmaproof.properties.equivalence import Equivalence
from mmaproof.properties.property import Joined
from mmaproof.smt.solving.verdict import Status
from mmaproof.verification.compare import Comparison

RUBIN = "rubin/mma.m16n8k8.f32.bf16.bf16.f32"
HOPPER = "hopper/mma.m16n8k8.f32.bf16.bf16.f32"
MARK = f"rests on an assumed row: {RUBIN} (no source describes the unit)"


@pytest.fixture
def no_questions(monkeypatch):
    def compare(first, second, **_):
        return Comparison(Status.PROVED, 0.0, question=Equivalence(first, second), proof=Joined())

    monkeypatch.setattr(open_values, "compare", compare)


@pytest.mark.middle
def test_what_is_open_is_listed_with_its_level(run):
    status, out, _ = run("evidence", "ampere", "--no-vectors")
    assert status == 0
    assert "ampere/mma.m16n8k16.f32.bf16.bf16.f32 and 1 more" in out
    text = " ".join(out.split())
    assert "overflow = infinity: assumed (open point 6: publications disagree); not excluded: largest-finite" in text
    assert "zero_c = e-zero: published (MMA-Sim 2.1.1; docs/evidence.md lists who agrees)" in text
    assert "recorded: fraction_bits, rho" in out


@pytest.mark.middle
def test_vectors_are_written_and_numbered_by_their_lines(run, no_questions, tmp_path):
    path = tmp_path / "volta.jsonl"
    status, out, _ = run("evidence", "volta", "-o", path, "--json")
    record = json.loads(out)
    vectors = read_vectors(path).vectors
    assert (status, record["vectors"], record["file"], record["assumed"]) == (0, len(vectors), str(path), [])
    assert len(record["rows"]) == 2
    seen = set()
    for row in record["rows"]:
        for name, parameter in row["open"].items():
            for other in parameter["others"]:
                seen |= set(other["vectors"])
                assert all(name in vectors[n].tags for n in other["vectors"])
                assert all(row["design"] in vectors[n].outputs for n in other["vectors"])
    assert seen == set(vectors)


@pytest.mark.slow
def test_a_person_is_told_how_to_run_them(run, no_questions, tmp_path):
    path = tmp_path / "volta.jsonl"
    _, out, _ = run("evidence", "volta", "-o", path)
    assert f"mmaproof record TARGET {path} --design DESIGN -o RECORDING.npz" in out
    assert "cannot be told apart (proved): reversed" in out
    status, out, _ = run("record", "model:volta/f16.f16.f16.f16", path, "-o", tmp_path / "volta.npz")
    assert status == 0
    status, out, _ = run(
        "evidence", "--decided", "--recording", tmp_path / "volta.npz", "-o", tmp_path / "evidence.toml"
    )
    assert (status, "decided: " in out) == (0, True)
    assert 'row = "volta/mma.m8n8k4.f16.f16.f16.f16"' in (tmp_path / "evidence.toml").read_text()
    status, out, _ = run("evidence", "volta", "--no-vectors", "--recording", tmp_path / "volta.npz", "--json")
    (row,) = [x for x in json.loads(out)["rows"] if x["row"] == "volta/mma.m8n8k4.f16.f16.f16.f16"]
    assert {"fraction_bits", "L", "nan_code", "negative_zero"} <= set(row["recorded"])


@pytest.mark.slow
def test_a_recording_that_contradicts_the_row_is_noted(run, no_questions, tmp_path):
    path = tmp_path / "volta.jsonl"
    run("evidence", "volta", "-o", path)
    run("record", "model:volta/f16.f16.f16.f16@fraction_bits=22", path, "-o", tmp_path / "other.npz")
    status, out, _ = run("evidence", "--decided", "--recording", tmp_path / "other.npz")
    assert (status, "are not what the catalogue has" in out) == (1, True)
    assert {line.partition("/")[0] for line in out.splitlines() if line[:1] not in " "} == {"volta"}
    _, _, err = run("evidence", "volta", "--no-vectors", "--recording", tmp_path / "other.npz")
    assert "they decide nothing" in err
    _, _, err = run("evidence", "rubin", "--no-vectors", "--recording", tmp_path / "other.npz")
    assert "the recordings are of no row that is listed; they are of volta/" in err


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (("evidence", "vlta"), "unknown architecture 'vlta'"),
        (("evidence", "volta", "--no-vectors", "-o", "x.jsonl"), "leave one of them out"),
        (("evidence", "volta", "--recording", "none.npz"), "none.npz: no such file"),
    ],
)
def test_mistakes(run, arguments, problem):
    status, _, err = run(*arguments)
    assert (status, problem in err) == (2, True)


ZEROS = ",".join(["0x0000"] * 8)


@pytest.mark.few(1)
@pytest.mark.parametrize(
    "arguments",
    [
        ("compare", RUBIN, HOPPER),
        ("run", RUBIN, "--a", ZEROS, "--b", ZEROS, "--c", "0x0"),
        ("check", "products-exact", RUBIN),
        ("matrix", RUBIN, HOPPER),
        ("fingerprint", RUBIN, "--only", "products-exact"),
        ("gemm", "run", "plain", "--unit", RUBIN, "--a", "0x0", "--b", "0x0"),
        ("show", RUBIN),
    ],
)
def test_an_answer_that_rests_on_an_assumed_row_says_so(run, arguments):
    _, out, _ = run(*arguments)
    assert sum(MARK in line for line in out.splitlines()) == 1
    _, out, _ = run(*arguments, "--json")
    record = json.loads(out)
    assert record["assumed"] in ([RUBIN], True)
    described = [HOPPER if x == RUBIN else x for x in arguments]
    _, out, _ = run(*described)
    assert "assumed row" not in out


def test_a_replay_on_an_assumed_model_says_so(run, tmp_path):
    path = tmp_path / "some.npz"
    assert run("record", f"model:{RUBIN}", "normal", "--rows", "3", "-o", path)[0] == 0
    _, out, _ = run("replay", path, f"model:{HOPPER}")
    assert MARK in out
    _, out, _ = run("replay", path, f"model:{HOPPER}", "--json")
    assert json.loads(out)["assumed"] == [RUBIN]


def test_lists_mark_assumed_rows(run):
    _, out, _ = run("list", "rubin")
    assert all(line.split()[-1] == "assumed" for line in out.splitlines()[1:])
    _, out, _ = run("list", "ampere")
    assert {line.split()[-1] for line in out.splitlines()[1:]} >= {"published+recorded", "published", "vendor"}
    _, out, _ = run("list", "rubin", "--json")
    design = json.loads(out)["designs"][0]
    assert design["assumed"] is True
    assert {x["level"] for x in design["evidence"].values()} == {"assumed"}


def test_a_person_sees_the_level_of_each_parameter(run):
    _, out, _ = run("show", "volta/mma.m8n8k4.f32.f16.f16.f32")
    assert "evidence" in out.splitlines()[5] + out.splitlines()[6]
    assert "v100-fp16-fp32.npz (NVIDIA V100)" in " ".join(out.split())
    assert "assumed: overflow: open point 6: publications disagree" in out
