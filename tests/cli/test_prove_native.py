"""`mmaproof prove-native`: the answer as a person and as a program get it, and the statuses."""

import pytest
from support.commands import only_json
from support.graph_mutants import mutate, mutations

from mmaproof.designs.catalogue import find_design
from mmaproof.designs.element import Operands
from mmaproof.smt.algebra.nodes import Op
from mmaproof.smt.trace import evaluate
from mmaproof.verification import native

INTEGER = "cpu/vpdpbusd"
FIELDS = [
    *("operands", "c_format", "operations", "verdict", "seconds"),
    *("solver", "certified_by", "certificate_covers", "reason", "origin", "lemmas"),
]


def test_proved(run):
    status, out, _ = run("prove-native", INTEGER)
    assert status == 0
    assert out.startswith("proved: the ")
    assert "for all operands" in out.splitlines()[0]
    assert "asked for k = 4 and c of int32; answered by bitwuzla" in out


def test_json(run):
    status, out, _ = run("prove-native", INTEGER, "--k", "2", "--json")
    record = only_json(out)
    assert status == 0
    assert list(record) == ["verdict", "design", "k", "seconds", "graphs", "assumed"]
    assert (record["verdict"], record["k"]) == ("proved", 2)
    assert [sorted(x) for x in record["graphs"]] == [sorted(FIELDS)]
    assert {x["status"] for x in record["graphs"][0]["lemmas"]} == {"proved"}


def test_explain_lists_the_lemmas_by_stages(run):
    _, out, _ = run("prove-native", INTEGER, "--k", "1", "--explain")
    assert "the operations return d of cpu/vpdpbusd" in out
    assert "── sum" in out


@pytest.fixture
def wrong(monkeypatch):
    """Let the first addition of a graph be a subtraction."""
    true = native.graphs_of

    def graphs(design, length):
        found = true(design, length)
        mutate(found[0], next(x for x in mutations(found[0]) if (x.op, x.what) == (Op.ADD, "taken for subtract")))
        return found

    monkeypatch.setattr(native, "graphs_of", graphs)


@pytest.mark.parametrize("search", ["--search", "--no-search"])
def test_refuted(run, wrong, search):
    status, out, _ = run("prove-native", INTEGER, "--json", search)
    witness = only_json(out)["graphs"][0]["witness"]
    assert status == 1
    a, b = (tuple(int(x, 16) for x in witness[n]) for n in "ab")
    operands = Operands(a, b, int(witness["c"], 16))
    d = evaluate(find_design(INTEGER), operands)
    assert witness["outputs"]["design"] == f"{d:#010x}" != witness["outputs"]["graph"]


def test_refuted_for_a_person(run, wrong):
    status, out, _ = run("prove-native", INTEGER)
    assert status == 1
    assert out.startswith("refuted: the ")
    assert "of the design" in out
    assert "of the operations" in out


def test_unknown_is_no_proof(run):
    status, out, _ = run("prove-native", "volta/f32.f16.f16.f32", "--timeout", "0.05s", "--no-search", "--k", "1")
    assert status == 3
    assert "reason: timeout: " in out


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["cdna1/v_mfma_f32_4x4x4f16"], "is not compiled, it runs on arrays"),
        (["cdna1/nothing"], "nothing"),
        ([INTEGER, "--k", "0"], "1 or more is allowed"),
        ([INTEGER, "--timeout", "soon"], "soon"),
    ],
)
def test_bad_input(run, arguments, said):
    status, out, err = run("prove-native", *arguments)
    assert (status, out) == (2, "")
    assert said in err
