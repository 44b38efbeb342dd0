"""`mmaproof suite`: what a person reads, what a program reads, what is in the file, and when it is not an answer."""

import itertools
import json
from concurrent.futures import ThreadPoolExecutor

import pytest
from support.commands import only_json

from mmaproof.designs.catalogue import find_design
from mmaproof.designs.element import Operands
from mmaproof.generators.vectors import read_vectors
from mmaproof.smt.trace import evaluate

VOLTA, TURING, AMPERE, HOPPER = (
    f"{x}.f32.f16.f16.f32"
    for x in ("volta/mma.m8n8k4", "turing/mma.m16n8k8", "ampere/mma.m16n8k16", "hopper/mma.m16n8k16")
)
ALONE = "volta/mma.m8n8k4.f16.f16.f16.f16"
FIVE = ("suite", VOLTA, TURING, AMPERE, HOPPER, ALONE)
HARD = ("suite", VOLTA, f"{VOLTA}@carry_bits=4", "--timeout", "0.01s")


@pytest.fixture
def here(monkeypatch):
    """Questions are answered in this process, which takes less time."""
    monkeypatch.setattr("mmaproof.verification.executors.local_pool", ThreadPoolExecutor)


@pytest.mark.slow
def test_a_person_reads(run, here):
    status, out, err = run(*FIVE)
    assert (status, err) == (0, "")
    lines = out.splitlines()
    assert lines[:5] == [
        "fp16 * fp16 + fp32 -> fp32: 4 designs in 3 classes, 1 vector",
        f"  A  {VOLTA}",
        f"  B  {TURING}",
        f"     {AMPERE}",
        f"  C  {HOPPER}",
    ]
    assert lines[5].startswith("  vector 1  k = 16: p")
    results = [x.split() for x in lines if x.startswith("    ") and x.split()[0] in "ABC"]
    assert [x[0] for x in results] == ["A", "B", "C"]
    assert len({x[1] for x in results}) == 3
    assert "  minimal: one separates all that are known to differ" in lines
    assert "1 kind of one class: no vector needed" in lines
    assert lines[-1].startswith("1 vector in ")
    assert lines[-1].endswith(" s; 6 comparable pairs: 5 separated, 1 equivalent, 0 left open")


@pytest.mark.slow
def test_a_program_reads_and_the_file_holds_the_same(run, here, tmp_path):
    path = tmp_path / "v.jsonl"
    told = (*FIVE, "--seed", 3, "--json", "--store", tmp_path / "s.sqlite")
    status, out, _ = run(*told, "-o", path)
    record = only_json(out)
    assert (status, record["vectors"], record["left"]) == (0, 1, 0)
    assert record["designs"] == list(FIVE[1:])
    kind, alone = record["kinds"]
    assert kind["classes"] == [[VOLTA], [TURING, AMPERE], [HOPPER]]
    assert (kind["fewest"], kind["left"], alone["vectors"]) == ("minimal", [], [])
    (vector,) = kind["vectors"]
    (held,) = read_vectors(path).vectors.values()
    operands = Operands(*(tuple(int(x, 16) for x in vector[n]) for n in "ab"), int(vector["c"], 16))
    assert (held.operands, held.seed, held.origin) == (operands, 3, vector["origin"])
    assert list(held.outputs) == [VOLTA, TURING, AMPERE, HOPPER]
    assert held.why == f"separates {VOLTA} | {TURING} | {HOPPER}"
    assert len(set(held.outputs.values())) == 3
    for name, d in held.outputs.items():
        assert evaluate(find_design(name), operands) == d == int(vector["outputs"][name], 16)
    # the store is asked first
    (again,) = only_json(run(*told)[1])["kinds"][0]["vectors"]
    assert again == {**vector, "origin": f"the store: {vector['origin']}"}


def test_what_is_unknown_is_status_3_and_named(run, here, tmp_path):
    status, out, err = run(*HARD, "-o", tmp_path / "v.jsonl")
    assert status == 3
    assert f"left open: {VOLTA} and" in out
    assert "1 comparable pair: 0 separated, 0 equivalent, 1 left open" in out
    assert err.endswith("is not written: no vector was found\n")
    assert list(tmp_path.iterdir()) == []
    status, out, _ = run(*HARD, "--json")
    (left,) = only_json(out)["kinds"][0]["left"]
    assert (status, left["first"], left["verdict"], left["reason"][:9]) == (3, VOLTA, "unknown", "timeout: ")


def test_a_failure_of_the_search_leaves_the_pairs_open(run, here, monkeypatch):
    def broken(*_, **__):
        raise ValueError("broken")

    monkeypatch.setattr("mmaproof.generators.suite.breed", broken)
    status, out, _ = run("suite", VOLTA, TURING)
    assert status == 3
    assert "smallest found: asked twice, no vectors came back: ValueError: broken" in out
    assert f"left open: {VOLTA} and" in out


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ([], "no design is named"),
        ([VOLTA, "--architecture", "volt"], "unknown architecture 'volt'"),
        ([VOLTA, TURING, "--timeout", "soon"], "time limit"),
        ([VOLTA, TURING, "-o", "/nowhere/at/all.jsonl"], "cannot be written"),
    ],
)
def test_what_cannot_be_asked(run, arguments, problem):
    status, out, err = run("suite", *arguments)
    assert (status, out) == (2, "")
    assert problem in err


@pytest.mark.slow
def test_the_suite_of_the_whole_catalogue_separates_what_differs_and_nothing_else(run, tmp_path):
    """Verdicts are those of `matrix`, results those of the model on the operands read back from the file."""
    path, store = tmp_path / "all.jsonl", tmp_path / "s.sqlite"
    status, out, _ = run("matrix", "--all", "--timeout", "10m", "--store", store, "--json")
    matrix = json.loads(out)
    assert status == 0
    status, out, _ = run("suite", "--all", "--timeout", "10m", "--store", store, "--json", "-o", path)
    assert (status, json.loads(out)["left"]) == (0, 0)
    vectors = list(read_vectors(path).vectors.values())
    apart = set()
    for vector in vectors:
        d = vector.formats[3]
        results = {}
        for name, held in vector.outputs.items():
            assert evaluate(find_design(name), vector.operands) == held
            results[name] = "NaN" if d.is_nan(held) else held
        apart |= {frozenset(x) for x in itertools.combinations(results, 2) if results[x[0]] != results[x[1]]}
    verdicts = {frozenset((x["first"], x["second"])): x["verdict"] for x in matrix["pairs"]}
    assert apart == {pair for pair, verdict in verdicts.items() if verdict == "different"}
    assert len(apart) > 1000
    assert len(vectors) == len({(v.formats, v.scale_format) for v in vectors})
