"""The script behind `make check-native`: its verdicts, and its exit statuses."""

import json

import check_native
import pytest
from support.graph_mutants import mutate, mutations

from mmaproof.designs.catalogue import find_design
from mmaproof.designs.element import Operands
from mmaproof.smt.algebra.nodes import Op
from mmaproof.smt.trace import evaluate
from mmaproof.verification import native

INTEGER = "cpu/vpdpbusd"


@pytest.fixture
def run(monkeypatch, capsys):
    def call(*arguments):
        monkeypatch.setattr("sys.argv", ["check_native.py", *arguments])
        try:
            status = check_native.main()
        except SystemExit as stop:
            status = stop.code
        out, err = capsys.readouterr()
        return status, out, err

    return call


def test_proved(run):
    status, out, _ = run(INTEGER, "--k", "2", "--json")
    (graph,) = json.loads(out)["graphs"]
    assert (status, graph["verdict"], graph["k"], graph["operands"]) == (0, "proved", 2, "all")
    assert set(graph["lemmas"]) == {"proved"}


@pytest.fixture
def wrong(monkeypatch):
    """Let the first addition of a graph be a subtraction."""
    true = native.graphs_of

    def graphs(design, length):
        found = true(design, length)
        mutate(found[0], next(x for x in mutations(found[0]) if (x.op, x.what) == (Op.ADD, "taken for subtract")))
        return found

    monkeypatch.setattr(native, "graphs_of", graphs)


def test_refuted(run, wrong):
    status, out, _ = run(INTEGER, "--json")
    witness = json.loads(out)["graphs"][0]["witness"]
    assert status == 1
    a, b = (tuple(int(x, 16) for x in witness[n]) for n in "ab")
    d = evaluate(find_design(INTEGER), Operands(a, b, int(witness["c"], 16)))
    assert witness["outputs"]["design"] == f"{d:#010x}" != witness["outputs"]["graph"]


def test_unknown_is_no_proof(run):
    status, out, _ = run("volta/f32.f16.f16.f32", "--timeout", "0.01s", "--k", "1")
    assert status == 3
    assert out.startswith("unknown: the ")
    assert '  reason: "timeout: ' in out


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["cdna1/v_mfma_f32_4x4x4f16"], "is not compiled, it runs on arrays"),
        (["cdna1/nothing"], "nothing"),
        ([INTEGER, "--k", "0"], "k"),
        ([INTEGER, "--timeout", "soon"], "soon"),
    ],
)
def test_bad_input(run, arguments, said):
    status, out, err = run(*arguments)
    assert (status, out) == (2, "")
    assert said in err
