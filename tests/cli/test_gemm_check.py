"""`mmaproof gemm check`: the answer as a person and as a program get it, and its exit status."""

import pytest
from support.commands import only_json

from mmaproof.designs.catalogue import find_design
from mmaproof.gemm.answers.compare import PLAN_QUESTIONS
from mmaproof.gemm.tolerances.check import QUESTIONS

UNIT = "volta/mma.m8n8k4.f32.f16.f16.f32"
INTEGERS = "turing/mma.m8n8k16.s32.s8.s8.s32"
FIELDS = [
    *("verdict", "question", "algorithm", "unit", "where", "seconds"),
    *("conclusion", "values", "witnesses", "reason", "lemmas", "assumed"),
]


def test_without_a_question_they_are_listed(run):
    status, out, err = run("gemm", "check")
    assert (status, err) == (0, "")
    assert [line.split()[0] for line in out.splitlines() if line[:1].strip()] == [*QUESTIONS, *PLAN_QUESTIONS]
    assert only_json(run("gemm", "check", "--json")[1]) == {"questions": QUESTIONS | PLAN_QUESTIONS}


def test_a_program_reads(run):
    status, out, err = run("gemm", "check", "split", "plain", "--unit", UNIT, "--json")
    record = only_json(out)
    assert (status, err, sorted(record)) == (0, "", sorted(FIELDS))
    assert (record["verdict"], record["question"], record["algorithm"]) == ("holds", "split", "plain")
    assert (record["unit"], record["where"], record["reason"]) == (find_design(UNIT).name, [], None)
    best = record["values"]["ab"]["exact"][0]
    assert best == {"bits": 11, "low": -14, "high": 15}
    assert {x["status"] for x in record["lemmas"]} == {"proved"}
    for witness in record["witnesses"]:
        assert list(witness) == ["shows", "numbers"]
        assert [(n["name"], n["format"]) for n in witness["numbers"]] == [("x", "fp32"), ("x[0]", "fp16")]
        assert [len(n["pattern"]) for n in witness["numbers"]] == [10, 6]


@pytest.mark.parametrize(("low", "status", "verdict"), [(-14, 0, "holds"), (-15, 1, "violated")])
def test_a_person_reads_what_a_stated_window_comes_to(run, low, status, verdict):
    window = f"exponents={low}..15"
    found, out, _ = run("gemm", "check", "split", "plain", "--unit", UNIT, "--where", window, "--explain")
    lines = out.splitlines()
    assert (found, lines[0]) == (status, f"{verdict}: split of plain on {UNIT}")
    assert f"\n  where {window}; " in out
    assert "                    11   -14..15" in lines
    assert (f"  not exact: 11 significant bits, exponent in {low}..15:" in lines) is (status == 1)
    assert "x is the sum of its words (1 of fp16) in every window of the table  [bitwuzla" in out


@pytest.mark.parametrize(("below", "status"), [(10, 0), (11, 1)])
def test_a_stated_bound(run, below, status):
    """Each operand is rounded by 2**-11 of itself at most, their product by 2**-10."""
    arguments = ("--where", "exponents=0..3", "--below", below, "--json")
    found, out, _ = run("gemm", "check", "dropped", "plain", "--unit", UNIT, *arguments)
    record = only_json(out)
    assert (found, record["values"]["places"], record["values"]["below"]) == (status, 10, below)
    assert [n["name"] for n in record["witnesses"][0]["numbers"]] == ["a", "a[0]", "b", "b[0]"]


def test_no_answer_within_the_limit(run):
    status, out, _ = run("gemm", "check", "split", "plain", "--unit", UNIT, "--timeout", "0.01s")
    assert status == 3
    assert out.startswith("unknown: split of plain")
    assert "  reason: timeout" in out


def test_integer_sums(run):
    status, out, _ = run("gemm", "check", "slices", "slices", "--unit", INTEGERS)
    assert status == 0
    assert "every integer sum is exact for K up to 133144" in out


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (("split",), "one ALGORITHM is missing"),
        (("split", "plain"), "--unit DESIGN is missing"),
        (("exact", "plain", "--unit", UNIT), "unknown question 'exact': one of split, overflow"),
        (("split", "plain", "--unit", UNIT, "--below", "3"), "--below means nothing to split: it is for dropped"),
        (("slices", "plain", "--unit", UNIT), "slices cannot be asked of plain: it is about slices"),
        (("split", "plain", "--unit", UNIT, "--where", "normal"), "one --where exponents=LO..HI is allowed"),
        (("split", "plain", "--unit", INTEGERS), "does not run on"),
    ],
)
def test_what_cannot_be_asked(run, arguments, problem):
    status, out, err = run("gemm", "check", *arguments)
    assert (status, out) == (2, "")
    assert problem in err
