"""`mmaproof check`: the answer as a person and as a program get it, and the runs that show it."""

import signal

import pytest
from support.commands import only_json, start_until_it_solves
from support.fake_properties import BF16, HALF_STEP, Assuming, Never, Undecided, Valued
from support.waiting import LONG

from mmaproof.designs.catalogue import find_design
from mmaproof.designs.element import Operands
from mmaproof.properties.library import PROPERTIES
from mmaproof.smt.trace import evaluate

TINY = "volta/f32.f16.f16.f32@L=2"
CHAIN = "ampere/m16n8k16.f32.f16.f16.f32"
SCALED = "blackwell/block16.f32.e2m1.e2m1.ue4m3"
FIELDS = {
    *("verdict", "when", "property", "design", "k", "where", "seconds", "origin"),
    *("solver", "certified_by", "certificate_covers", "reason", "value", "witness", "lemmas", "questions", "assumed"),
}


@pytest.fixture
def fakes(monkeypatch):
    for fake in (Never(), Assuming(), Valued(), Undecided()):
        monkeypatch.setitem(PROPERTIES, fake.name, fake)


def operands_of(record):
    columns = [tuple(int(x, 16) for x in record.get(n, ())) for n in ("a", "b", "scale_a", "scale_b")]
    return Operands(columns[0], columns[1], int(record["c"], 16), *columns[2:])


def replayed(record):
    """What the integer interpretation returns for a run of --json."""
    design = find_design(record["design"])
    return evaluate(design.one_step() if "step" in record else design, operands_of(record))


@pytest.mark.middle
def test_holds(run):
    status, out, err = run("check", "order-independent", TINY, "--json")
    record = only_json(out)
    assert (status, err, set(record)) == (0, "", FIELDS)
    assert (record["verdict"], record["property"], record["k"]) == ("holds", "order-independent", 2)
    assert record["design"] == find_design(TINY).name
    assert (record["where"], record["witness"], record["reason"], record["value"]) == ([], None, None, None)
    assert record["solver"]["name"] == "bitwuzla"
    assert record["lemmas"]
    for lemma in record["lemmas"]:
        assert list(lemma) == ["name", "stage", "status", "seconds", "solver", "certified_by"]
        assert (lemma["status"], lemma["solver"]) == ("proved", record["solver"])
    (question,) = record["questions"]
    assert (list(question), question["verdict"]) == (["what", "verdict", "origin"], "holds")
    status, out, _ = run("check", "order-independent", TINY, "--explain")
    assert (status, out.splitlines()[0]) == (0, f"holds: order-independent on {record['design']}")
    for lemma in record["lemmas"]:
        assert f"{lemma['name']}  [bitwuzla " in out


@pytest.mark.slow
def test_operands_of_a_bound_that_holds_are_those_of_the_largest_error(run):
    _, out, _ = run("check", "error-bound", TINY)
    assert out.startswith("holds: error-bound")
    assert "operands with the largest error found" in out and "error is at least the bound" not in out
    _, out, _ = run("check", "error-bound", f"{TINY},carry_bits=0")
    assert out.startswith("violated: error-bound") and "operands for which the error is at least the bound" in out


@pytest.mark.middle
def test_violated(run):
    status, out, _ = run("check", "chain-order-independent", CHAIN, "--json")
    record = only_json(out)
    assert (status, record["verdict"], record["k"], record["solver"]) == (1, "violated", 16, None)
    assert list(record["witness"]) == ["runs", "value"]
    runs = record["witness"]["runs"]
    assert len({x["d"] for x in runs}) == 2
    for x in runs:
        assert sorted(x) == ["a", "b", "c", "d", "design"]
        assert all(len(p) == 6 for p in (*x["a"], *x["b"]))
        assert (len(x["a"]), len(x["c"]), len(x["d"])) == (16, 10, 10)
        assert replayed(x) == int(x["d"], 16)
    first, second = runs
    assert (first["a"], first["c"]) == (second["a"][::-1], second["c"])


@pytest.mark.slow
def test_a_person_gets_runs_to_repeat_and_pictures(run):
    status, out, _ = run("check", "chain-order-independent", CHAIN)
    assert status == 1
    assert max(map(len, out.partition("\nrun 1\n")[2].splitlines())) <= 80
    plain = run("check", "chain-order-independent", CHAIN, "--no-picture")[1]
    assert plain.startswith("violated: chain-order-independent on ampere/mma.m16n8k16.f32.f16.f16.f32\n")
    assert "the same products in two orders, with different results:\n" in plain
    assert ("e_max" in out, "e_max" in plain, "run 2\n" in out) == (True, False, True)
    lines = [x.strip() for x in plain.splitlines()]
    for number in (1, 2):
        at = lines.index(f"{number}. ampere/mma.m16n8k16.f32.f16.f16.f32")
        given = [y for x in lines[at + 1 : at + 4] for y in (f"--{x[0]}", x[4:])]
        printed = run("run", CHAIN, *given)[1]
        assert lines[at + 4] == f"d = {printed.strip()}"


def test_a_length_and_a_shorter_run(run):
    status, out, _ = run("check", "chain-order-independent", CHAIN, "--k", 12, "--no-picture")
    assert status == 1
    assert "1. ampere/mma.m16n8k16.f32.f16.f16.f32 with --k 12\n" in out
    assert "asked for k = 12;" in out


@pytest.mark.middle
def test_preconditions(run):
    status, out, _ = run(
        "check", "chain-order-independent", TINY, "--where", "finite", "--where", "exponents=-2..2", "--json"
    )
    record = only_json(out)
    assert (status, record["where"]) == (1, ["finite", "exponents=-2..2"])
    status, out, _ = run("check", "chain-order-independent", TINY, "--where", "normal", "--where", "c=0", "--json")
    assert (status, only_json(out)["verdict"]) == (3, "vacuous")


def test_vacuous_and_unknown(run, fakes):
    status, out, _ = run("check", "assuming", TINY)
    assert (status, out.splitlines()[-1]) == (3, "  no operands satisfy the preconditions")
    status, out, _ = run("check", "undecided", TINY)
    assert (status, out.splitlines()[-1]) == (3, "  reason: timeout: made up")
    record = only_json(run("check", "undecided", TINY, "--json")[1])
    assert (record["verdict"], record["reason"]) == ("unknown", "timeout: made up")
    assert (record["questions"], record["solver"], record["k"]) == ([], None, 2)
    status, out, _ = run("check", "chain-order-independent", CHAIN, "--no-search", "--timeout", "0.01s", "--json")
    record = only_json(out)
    assert (status, record["verdict"], record["reason"].split(":")[0]) == (3, "unknown", "timeout")


@pytest.mark.middle
def test_a_value_several_questions_and_one_picture_of_equal_operands(run, fakes):
    status, out, _ = run("check", "valued", BF16, "--json")
    record = only_json(out)
    assert (status, record["verdict"], record["value"], record["witness"]["value"]) == (0, "holds", 8, 8)
    assert [x["verdict"] for x in record["questions"]] == ["holds", "violated"]
    assert {x["d"] for x in record["witness"]["runs"]} == {"0x3f800000"}
    out = run("check", "valued", BF16)[1]
    assert "  a value: 8\n" in out
    assert "answered by 2 questions" in out
    assert "    d is never 0x80000000: holds by bitwuzla" in out
    assert "\nrun 1, run 2\nA  " in out


def test_a_step_that_no_instruction_returns_is_marked(run, fakes, tmp_path):
    path = tmp_path / "v.jsonl"
    status, out, err = run("check", "never", HALF_STEP, "--json", "-o", path)
    runs = only_json(out)["witness"]["runs"]
    assert status == 1
    for x in runs:
        assert (x["step"], x["d"], replayed(x), len(x["a"])) == (True, "0x80000000", 0x80000000, 8)
        assert evaluate(find_design(x["design"]), operands_of(x)) == 0
    assert not path.exists()
    assert [x.startswith("note: ") for x in err.splitlines()] == [True, True]
    assert "2 of 2 runs are not written" in err
    out = run("check", "never", HALF_STEP)[1]
    assert "1. one step of ampere" in out
    assert "the other steps of the instruction would change it" in out
    assert "step 1 of" not in out.partition("\nrun 1")[2], "drawn is the step"


@pytest.mark.slow
def test_runs_are_written_as_vectors_that_replay(run, tmp_path):
    path = tmp_path / "v.jsonl"
    assert run("check", "chain-order-independent", CHAIN, "-o", path, "--no-picture")[0] == 1
    status, out, _ = run("replay", path, f"model:{CHAIN}", "--json")
    record = only_json(out)
    assert (status, record["rows"], record["mismatches"]) == (0, 2, 0)
    assert '"why": "chain-order-independent: violated for ampere' in path.read_text()
    before = path.read_text()
    status, _, err = run("check", "order-independent", TINY, "-o", path)
    assert (status, path.read_text()) == (0, before)
    assert err == f"note: {path} is not written: no runs were found\n"


@pytest.mark.middle
def test_the_same_seed_gives_the_same_witness(run):
    witnesses = [
        only_json(run("check", "chain-order-independent", TINY, "--json", "--seed", seed)[1])["witness"]
        for seed in (3, 3, 4)
    ]
    assert witnesses[0] == witnesses[1] != witnesses[2]


@pytest.mark.few(6)
@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["order-independant", TINY], "did you mean order-independent"),
        (["", TINY], "unknown property ''"),
        (["chain", TINY], "did you mean chain-order-independent"),
        (["order-independent"], "Missing argument"),
        (["order-independent", "volta/x"], "no instruction"),
        (["order-independent", TINY, TINY], "unexpected"),
        (["order-independent", f"{TINY},rho=up"], "rho"),
        (["order-independent", "volta/f32.f16.f16.f32@L=1"], "cannot be asked of volta/mma"),
        (["chain-order-independent", SCALED], "tied to scales"),
        (["order-independent", CHAIN, "--k", "16"], "a step of L = 8: see chain-order-independent"),
        (["chain-order-independent", CHAIN, "--k", "17"], "multiple"),
        (["order-independent", TINY, "--k", "0"], "--k"),
        (["order-independent", TINY, "--where", "even"], "unknown precondition"),
        (["order-independent", "turing/mma.m8n8k16.s32.s8.s8.s32", "--where", "finite"], "integer unit"),
        (["order-independent", TINY, "--timeout", "soon"], "time limit"),
        (["order-independent", TINY, "--timeout", "0"], "time limit"),
        (["order-independent", TINY, "--memory", "4"], "memory limit"),
        (["order-independent", TINY, "--solver", "yices"], "unknown solver"),
        (["order-independent", TINY, "--seed", "-1"], "--seed"),
        (["order-independent", TINY, "-o", "/nowhere/at/all.jsonl"], "cannot be written"),
        (["order-independent", TINY, "-o", "/tmp"], "it is a directory"),
        (["order-independent", TINY, "--nan-codes"], "--nan-codes"),
    ],
)
def test_bad_input_is_one_line_on_stderr_and_status_2(run, arguments, problem):
    status, out, err = run("check", *arguments)
    assert (status, out, len(err.splitlines())) == (2, "", 1)
    assert problem in err


@pytest.mark.middle
def test_interruption_is_no_verdict(tmp_path):
    path = tmp_path / "v.jsonl"
    hard = ["chain-order-independent", CHAIN, "--no-search", "--solver", "z3", "--timeout", "10m", "-o", str(path)]
    process, _ = start_until_it_solves("check", *hard)
    process.send_signal(signal.SIGINT)
    assert process.communicate(timeout=LONG) == ("", "interrupted\n")
    assert process.returncode == 130
    assert list(tmp_path.iterdir()) == []
