"""`mmaproof cover`: the table for a person, one JSON object for a program, and vectors that replay."""

import json

import pytest
from support.commands import only_json

from mmaproof.generators.vectors import read_vectors

INTEGERS = "turing/mma.m8n8k16.s32.s8.s8.s32"
FIELDS = [
    *("design", "complete", "vectors", "wanted_hits", "baseline", "seed", "seconds"),
    *("hit", "not_hit", "unreachable", "unknown", "bins", "assumed"),
]
OF_BIN = ["event", "value", "status", "hits", "baseline_hits", "solver", "certified_by", "reason"]


@pytest.mark.middle
def test_json_and_a_file_that_replays(run, tmp_path):
    path = tmp_path / "v.jsonl"
    status, out, err = run("cover", INTEGERS, "-n", 50, "-o", path, "--json")
    record = only_json(out)
    assert (status, err, list(record)) == (0, "", FIELDS)
    assert (record["design"], record["complete"], record["vectors"]) == (INTEGERS, True, 50)
    assert (record["baseline"], record["seed"], record["wanted_hits"]) == ("normal", 0, 1)
    assert record["hit"] + record["unreachable"] == len(record["bins"])
    tags = [t for v in read_vectors(path).vectors.values() for t in v.tags]
    for x in record["bins"]:
        assert list(x) == OF_BIN
        assert x["hits"] == tags.count(f"{x['event']}: {x['value']}")
    record = only_json(run("replay", path, f"model:{INTEGERS}", "--json")[1])
    assert (record["rows"], record["mismatches"]) == (50, 0)


@pytest.mark.middle
def test_what_is_not_asked_is_noted(run, monkeypatch):
    monkeypatch.setattr("mmaproof.generators.cover.coverage.unasked", lambda *_: "what happens inside")
    status, out, err = run("cover", INTEGERS, "-n", 50, "--json")
    assert (status, err) == (0, "note: not asked: what happens inside\n")
    assert list(only_json(out)) == FIELDS


@pytest.mark.slow
def test_the_same_seed_gives_the_same_file(run, tmp_path):
    texts = []
    for number, seed in enumerate((3, 3, 4)):
        path = tmp_path / f"{number}.jsonl"
        assert run("cover", INTEGERS, "-n", 30, "-o", path, "--seed", seed)[0] == 0
        texts.append([{**json.loads(x), "seed": 0} for x in path.read_text().splitlines()])
    assert texts[0] == texts[1] != texts[2]


@pytest.mark.middle
def test_a_person_gets_a_table(run):
    status, out, err = run("cover", INTEGERS, "-n", 40)
    lines = out.splitlines()
    assert (status, err) == (0, "")
    assert lines[0].startswith(f"40 vectors for {INTEGERS}, seed 0, ")
    assert lines[1].split() == ["event", "bins", "hit", "normal", "reachable", "unreachable", "unknown"]
    rows = [x.rsplit(maxsplit=6) for x in lines[2:] if x[-1:].isdigit()]
    assert [*map(int, rows[-1][1:])] == [sum(int(x[i]) for x in rows[:-1]) for i in range(1, 7)]
    assert rows[-1][0] == "all"
    assert max(map(len, lines)) <= 80


@pytest.mark.middle
def test_what_is_not_hit_is_listed(run, monkeypatch):
    status, out, _ = run("cover", INTEGERS, "-n", 1)
    assert status == 3
    assert "\nreachable, but not hit by so few vectors: raise -n:\n" in out
    monkeypatch.setattr("mmaproof.generators.cover.coverage.aim", lambda *_: None)
    status, out, _ = run("cover", "volta/f32.f16.f16.f32@L=1", "-n", 150, "--timeout", "0.001s")
    assert status == 3
    assert "\nunknown: raise --timeout:\n" in out
    assert "proved unreachable" not in out


@pytest.mark.slow
def test_every_bin_of_a_tensor_core_is_hit_or_unreachable(run):
    status, out, _ = run("cover", "volta/f32.f16.f16.f32", "--json")
    record = only_json(out)
    assert (status, record["unknown"]) == (0, 0)
    assert record["hit"] > 2 * sum(x["baseline_hits"] > 0 for x in record["bins"])
    for x in record["bins"]:
        if x["status"] == "unreachable":
            assert (x["hits"], x["baseline_hits"], x["solver"]["name"], x["reason"]) == (0, 0, "bitwuzla", None)


@pytest.mark.few(3)
@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["volta/x"], "no instruction"),
        ([INTEGERS, "-n", "0"], "-n"),
        ([INTEGERS, "--hits", "0"], "--hits"),
        ([INTEGERS, "--seed", "-1"], "--seed"),
        ([INTEGERS, "--timeout", "soon"], "time limit"),
        ([INTEGERS, "--solver", "yices"], "unknown solver"),
        ([INTEGERS, "-o", "/nowhere/at/all.jsonl"], "cannot be written"),
    ],
)
def test_bad_input_is_one_line_on_stderr_and_status_2(run, arguments, problem):
    status, out, err = run("cover", *arguments)
    assert (status, out, len(err.splitlines())) == (2, "", 1)
    assert problem in err
