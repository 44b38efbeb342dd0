"""`mmaproof fingerprint`: designs side by side, and vectors that show what the table says."""

import copy
import signal

import pytest
from support.commands import only_json, start_until_it_solves
from support.fake_properties import BF16, HALF_STEP, Assuming, Never, Undecided, Valued
from support.waiting import LONG

from mmaproof.designs.catalogue import find_design
from mmaproof.generators.vectors import read_vectors
from mmaproof.properties.library import PROPERTIES
from mmaproof.properties.property import PropertyVerdict
from mmaproof.smt.solving.verdict import Status
from mmaproof.smt.trace import evaluate

TINY = "volta/f32.f16.f16.f32@L=2"
HALF = "volta/f16.f16.f16.f16@L=2"
TINIER = "ampere/m16n8k8.f32.bf16.bf16.f32@L=2"
AMPERE = "ampere/m16n8k16.f32.f16.f16.f32"
ORDER = ["--only", "order-independent", "--only", "chain-order-independent"]


@pytest.fixture
def few(monkeypatch):
    """Only properties whose answers are known."""
    known = {n: PROPERTIES[n] for n in ("order-independent", "chain-order-independent")}
    known |= {p.name: p for p in (Never(), Valued())}
    monkeypatch.setattr("mmaproof.properties.library.PROPERTIES", known)


def without_seconds(record):
    found = copy.deepcopy(record)
    for feature in found["features"]:
        for result in feature["results"].values():
            assert result.pop("seconds") >= 0
    return found


@pytest.mark.slow
def test_the_table(run, few):
    status, out, err = run("fingerprint", TINY, BF16, "turing/mma.m8n8k16.s32.s8.s8.s32")
    assert (status, err) == (0, "")
    lines = out.splitlines()
    assert lines[0] == f"A  {find_design(TINY).name}"
    assert [x[:3] for x in lines[:4]] == ["A  ", "B  ", "C  ", ""]
    assert max(map(len, lines)) <= 80
    cells = {x.split()[0]: x.split() for x in lines[5:] if not x.startswith(" ")}
    assert cells["order-independent"][-3:] == ["yes", "yes", "yes"]
    assert cells["chain-order-independent"][-4:] == ["no", "no", "yes", "*"]
    assert cells["never"][-3:] == ["yes", "yes", "-"]
    assert cells["valued"][-4:] == ["2", "8", "-", "*"]
    assert lines[-1] == "* the designs differ"


@pytest.mark.slow
def test_json_is_the_same_for_a_seed(run, few):
    arguments = ("fingerprint", TINY, HALF, *ORDER, "--only", "never", "--json")
    status, out, err = run(*arguments)
    record = only_json(out)
    assert (status, err) == (0, "")
    assert record["designs"] == [find_design(x).name for x in (TINY, HALF)]
    assert [f["property"] for f in record["features"]] == ["order-independent", "chain-order-independent", "never"]
    for feature in record["features"]:
        assert list(feature) == ["property", "feature", "results"]
        assert list(feature["results"]) == record["designs"]
        for result in feature["results"].values():
            assert list(result) == ["verdict", "value", "reason", "seconds", "runs"]
    by_name = {f["property"]: f["results"] for f in record["features"]}
    for name in record["designs"]:
        assert by_name["order-independent"][name]["verdict"] == "holds"
        shown = by_name["order-independent"][name]["runs"]
        assert {x["design"] for x in shown} == {
            f"{name}{',' if '@' in name else '@'}summation=sequential,first=index,truncates=partial-sum"
        }
        assert len({x["d"] for x in shown}) > 1
        assert by_name["chain-order-independent"][name]["verdict"] == "violated"
    not_asked = by_name["never"][record["designs"][1]]
    assert not_asked == {
        "verdict": "not asked",
        "value": None,
        "reason": "its d is not fp32",
        "seconds": 0.0,
        "runs": [],
    }
    assert without_seconds(record) == without_seconds(only_json(run(*arguments)[1]))


@pytest.mark.middle
def test_without_vectors_only_violations_are_shown(run, few):
    plain = only_json(run("fingerprint", TINY, *ORDER, "--no-vectors", "--json")[1])
    assert [bool(f["results"][find_design(TINY).name]["runs"]) for f in plain["features"]] == [False, True]


@pytest.mark.slow
def test_vectors_hold_what_every_design_returns(run, few, tmp_path):
    path = tmp_path / "v.jsonl"
    names = [TINY, "ampere/m16n8k8.f32.f16.f16.f32@L=2", "volta/f32.f16.f16.f32@L=2,fraction_bits=20", TINIER]
    assert run("fingerprint", *names, *ORDER, "-o", path)[0] == 0
    file = read_vectors(path)
    assert file.problems == []
    takers = [find_design(x) for x in names[:3]]
    for vector in file.vectors.values():
        assert vector.origin == "fingerprint (seed 0)"
        for name, d in vector.outputs.items():
            assert evaluate(find_design(name), vector.operands) == d
        if vector.formats == takers[0].formats:
            assert {d.name for d in takers} <= set(vector.outputs)
        else:
            assert find_design(TINIER).name in vector.outputs
    whys = {v.why for v in file.vectors.values()}
    assert f"chain-order-independent: violated for {takers[1].name}" in whys
    assert f"order-independent: holds for {takers[0].name}, shown against its mutant" in whys
    for name in names[:3]:
        status, out, _ = run("replay", path, f"model:{name}", "--json")
        assert (status, only_json(out)["mismatches"]) == (0, 0)


def test_steps_are_no_vectors(run, few, tmp_path):
    path = tmp_path / "v.jsonl"
    status, _, err = run("fingerprint", HALF_STEP, "--only", "never", "-o", path)
    assert (status, path.exists()) == (0, False)
    assert err == f"note: {path} is not written: no vector was found\n"


@pytest.mark.middle
def test_unknown_is_status_3(run, few, monkeypatch):
    from mmaproof.properties import library

    monkeypatch.setitem(library.PROPERTIES, "undecided", Undecided())
    status, out, _ = run("fingerprint", TINY, "--only", "undecided", "--only", "never")
    assert status == 3
    assert [x.split()[-1] for x in out.splitlines()[-2:]] == ["yes", "unknown"]
    monkeypatch.setitem(library.PROPERTIES, "assuming", Assuming())
    status, out, _ = run("fingerprint", TINY, "--only", "assuming")
    assert (status, out.split()[-1]) == (0, "vacuous")
    record = only_json(run("fingerprint", TINY, "--only", "undecided", "--json")[1])
    (feature,) = record["features"]
    assert feature["results"][find_design(TINY).name]["reason"] == "timeout: made up"


def test_a_narrow_table_cuts_nothing_off(run, few, monkeypatch):
    monkeypatch.setenv("COLUMNS", "40")
    designs = [f"volta/f32.f16.f16.f32@L=1,fraction_bits={f}" for f in range(10, 18)]
    names = ["order-independent", "valued"]
    monkeypatch.setattr(Valued, "settle", lambda *_: PropertyVerdict(Status.PROVED, "seven-teen, twenty"))
    out = run("fingerprint", *designs, *(x for n in names for x in ("--only", n)))[1]
    assert "…" not in out
    table = out.partition("\n\n")[2].split()
    assert (table.count("-"), table.count("seven-teen,"), table.count("twenty")) == (8, 8, 8)
    assert all(name in table for name in names)


def test_a_design_given_twice_is_one_column(run, few):
    out = run("fingerprint", TINY, find_design(TINY).name, "--only", "never")[1]
    assert out.splitlines()[1] == ""


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ([], "Missing argument"),
        (["volta/x"], "no instruction"),
        ([TINY, "--only", "chain"], "unknown property 'chain' (did you mean"),
        ([TINY, "--timeout", "soon"], "time limit"),
        ([TINY, "--memory", "4"], "memory limit"),
        ([TINY, "--solver", "yices"], "unknown solver"),
        ([TINY, "--seed", "-1"], "--seed"),
        ([TINY, "-o", "/nowhere/at/all.jsonl"], "cannot be written"),
        ([TINY, "-o", "/tmp"], "it is a directory"),
        ([TINY, "-o", "v.jsonl", "--no-vectors"], "--no-vectors"),
    ],
)
def test_bad_input_is_one_line_on_stderr_and_status_2(run, few, arguments, problem):
    status, out, err = run("fingerprint", *arguments)
    assert (status, out, len(err.splitlines())) == (2, "", 1)
    assert problem in err


@pytest.mark.slow
def test_interruption_leaves_nothing(tmp_path):
    path = tmp_path / "v.jsonl"
    designs = [TINY, AMPERE, "hopper/wgmma.f32.f16.f16"]
    process, _ = start_until_it_solves("fingerprint", *designs, *ORDER, "--solver", "z3", "-o", str(path))
    process.send_signal(signal.SIGINT)
    assert process.communicate(timeout=LONG) == ("", "interrupted\n")
    assert process.returncode == 130
    assert list(tmp_path.iterdir()) == []
