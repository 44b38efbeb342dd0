"""`mmaproof matrix`: what a person reads, what a program reads, and what is left behind: nothing."""

import os
import signal
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from support.commands import children_of, only_json, start_until_it_solves
from support.waiting import LONG, wait_until

from mmaproof.designs.catalogue import find_design, load_catalogue
from mmaproof.generators.vectors import read_vectors
from mmaproof.smt.solving.limits import MAX_SECONDS
from mmaproof.smt.trace import evaluate

VOLTA, TURING, AMPERE = (
    f"{x}.f32.f16.f16.f32" for x in ("volta/mma.m8n8k4", "turing/mma.m16n8k8", "ampere/mma.m16n8k16")
)
SUMS = "volta/mma.m8n8k4.f16.f16.f16.f16"
FOUR = ("matrix", VOLTA, TURING, AMPERE, SUMS)


@pytest.fixture
def here(monkeypatch):
    """Questions are answered in this process, which takes less time."""
    monkeypatch.setattr("mmaproof.verification.executors.local_pool", ThreadPoolExecutor)


@pytest.mark.parametrize(
    ("options", "computed", "by_the_clock"),
    [
        (["--timeout", "10s"], 10, 300),
        (["--timeout", "10s", "--work", "3s"], 3, 10),
        (["--timeout", "336h"], MAX_SECONDS, MAX_SECONDS),
    ],
)
def test_a_busy_machine_ends_no_question(run, here, monkeypatch, options, computed, by_the_clock):
    """Each question may compute for so long, and take longer by the clock: load makes no answer unknown."""
    handed = []
    monkeypatch.setattr("mmaproof.verification.matrix.compare", lambda *_, limits, **__: handed.append(limits))
    run("matrix", VOLTA, TURING, *options)
    assert {(x.seconds, x.wall) for x in handed} == {(computed, by_the_clock)}


def test_a_person_reads(run, here):
    status, out, err = run(*FOUR)
    assert (status, err) == (0, "")
    lines = out.splitlines()
    assert lines[1:5] == [
        "1  volta/mma.m8n8k4.f32.f16.f16.f32     ·  ≠  ≠  -",
        "2  turing/mma.m16n8k8.f32.f16.f16.f32   ≠  ·  =  -",
        "3  ampere/mma.m16n8k16.f32.f16.f16.f32  ≠  =  ·  -",
        "4  volta/mma.m8n8k4.f16.f16.f16.f16     -  -  -  ·",
    ]
    assert "fp16 * fp16 + fp32 -> fp32: 3 designs in 2 classes" in lines
    assert "fp16 * fp16 + fp16 -> fp16: 1 design in 1 class" in lines
    assert f"  B  2  {TURING}\n     3  {AMPERE}\n" in out
    assert "  A ≠ B  k = 8: p1 = 0x38ab*0x3483, c = 0xc0000000: 0xbfeaf080 ≠ 0xbfeaf07f" in lines
    assert "3 comparable pairs: 1 equivalent, 2 different, 0 unknown" in lines
    assert lines[-2].startswith("2 questions asked in ")
    assert lines[-2].endswith("; 1 pair equivalent by equal parameters")
    assert lines[-1] == "3 pairs not comparable: 3 where c is of different formats"
    assert max(map(len, lines)) <= 80


def test_a_program_reads(run, here, tmp_path):
    path = tmp_path / "v.jsonl"
    status, out, _ = run(*FOUR, "--json", "-o", path)
    record = only_json(out)
    assert (status, record["designs"]) == (0, [VOLTA, TURING, AMPERE, SUMS])
    assert record["classes"] == [
        {"formats": "fp16 * fp16 + fp32 -> fp32", "classes": [[VOLTA], [TURING, AMPERE]], "transitive": True},
        {"formats": "fp16 * fp16 + fp16 -> fp16", "classes": [[SUMS]], "transitive": True},
    ]
    assert [(x["first"], x["second"], x["k"], x["verdict"]) for x in record["pairs"]] == [
        (VOLTA, TURING, 8, "different"),
        (VOLTA, AMPERE, 16, "different"),
        (TURING, AMPERE, 16, "equivalent"),
    ]
    assert [x["question"] for x in record["pairs"]] == [0, 1, None]
    for pair in record["pairs"][:2]:
        assert list(pair["witness"]["outputs"]) == [pair["first"], pair["second"]]
        assert len(set(pair["witness"]["outputs"].values())) == 2
    assert record["not_comparable"] == {"c is of different formats": 3}
    assert record["questions"] == 2
    vectors = read_vectors(path).vectors
    assert [set(v.outputs) for v in vectors.values()] == [{VOLTA, TURING}, {VOLTA, AMPERE}]
    for vector in vectors.values():
        for name, d in vector.outputs.items():
            assert evaluate(find_design(name), vector.operands) == d


def test_a_vector_of_a_shared_question_holds_what_all_its_designs_return(run, here, tmp_path):
    path = tmp_path / "v.jsonl"
    names = (VOLTA, "turing/mma.m16n8k8.f32.f16.f16.f32", "ampere/mma.m16n8k8.f32.f16.f16.f32")
    assert run("matrix", *names, "-o", path)[0] == 0
    (vector,) = read_vectors(path).vectors.values()
    assert list(vector.outputs) == list(names)


@pytest.mark.middle
def test_many_designs_are_shortened(run, here, monkeypatch):
    monkeypatch.setattr("mmaproof.cli.matrix_text.FEW", 3)
    out = run("matrix", VOLTA, f"{VOLTA}@fraction_bits=22", TURING, "ampere/m16n8k8.f32.f16.f16.f32")[1]
    assert out.splitlines()[:7] == [
        "",
        "A ≠ B  k = length: products p that are not 0*0, c: d of A ≠ d of B",
        "",
        "fp16 * fp16 + fp32 -> fp32: 4 designs in 3 classes",
        f"  A  {VOLTA}",
        f"  B  {VOLTA}@fraction_bits=22",
        "  C  {turing,ampere}/mma.m16n8k8.f32.f16.f16.f32",
    ]


def test_architectures(run, here):
    record = only_json(run("matrix", "--architecture", "volta", TURING, "--json")[1])
    volta = [x for x in load_catalogue().designs if x.startswith("volta/")]
    assert (record["designs"], len(volta) >= 2) == ([*volta, TURING], True)


def test_unknown_is_status_3_and_says_why(run, here):
    hard = ("matrix", VOLTA, f"{VOLTA}@carry_bits=4", "--timeout", "0.01s")
    status, out, _ = run(*hard)
    assert status == 3
    assert f"unknown\n  {VOLTA} and" in out
    assert "timeout: " in out
    status, out, _ = run(*hard, "--json")
    assert (status, only_json(out)["pairs"][0]["reason"][:9]) == (3, "timeout: ")


@pytest.mark.middle
@pytest.mark.parametrize("suffix", ["png", "SVG", "pdf"])
def test_a_picture(run, here, tmp_path, suffix):
    path = tmp_path / f"p.{suffix}"
    assert run(*FOUR, "--figure", path)[0] == 0
    start = {"png": b"\x89PNG", "SVG": b"<?xml", "pdf": b"%PDF"}[suffix]
    assert path.read_bytes().startswith(start)


def test_nothing_to_draw_or_to_write_is_said(run, here, tmp_path):
    status, _, err = run("matrix", TURING, AMPERE, "--figure", tmp_path / "p.png", "-o", tmp_path / "v.jsonl")
    assert (status, list(tmp_path.iterdir())) == (0, [])
    assert [line.rpartition("/")[2] for line in err.splitlines()] == [
        "v.jsonl is not written: no vector was found",
        "p.png is not drawn: no two comparable designs are in different classes",
    ]


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ([], "no design is named: name two or more designs, or choose --architecture NAME or --all"),
        ([VOLTA], "is named: name two or more designs"),
        ([VOLTA, "volta/f32.f16.f16.f32"], "is named: name two or more designs"),
        ([VOLTA, "volta/x"], "no instruction"),
        (["--architecture", "volt"], "unknown architecture 'volt'"),
        ([VOLTA, TURING, "--solver", "yices"], "unknown solver"),
        ([VOLTA, TURING, "--timeout", "soon"], "time limit"),
        ([VOLTA, TURING, "--jobs", "0"], "--jobs"),
        ([VOLTA, TURING, "--jobs", "2", "--dask", "tcp://127.0.0.1:1"], "leave it out with --dask"),
        ([VOLTA, TURING, "--dask", "nonsense"], "not an address of a dask scheduler"),
        ([VOLTA, TURING, "--figure", "p.jpg"], "a figure ends in one of .svg, .pdf, .png"),
        ([VOLTA, TURING, "--figure", "/nowhere/p.png"], "cannot be written"),
        ([VOLTA, TURING, "--picture", "p.png"], "is written with --figure FILE now"),
        ([VOLTA, TURING, "-o", "/nowhere/at/all.jsonl"], "cannot be written"),
    ],
)
def test_bad_input_is_one_line_on_stderr_and_status_2(run, arguments, problem):
    status, out, err = run("matrix", *arguments)
    assert (status, out, len(err.splitlines())) == (2, "", 1)
    assert problem in err


@pytest.mark.parametrize(
    ("module", "option", "extra"),
    [("matplotlib", "--figure=p.png", "pictures"), ("distributed", "--dask=a:1", "dask")],
)
def test_an_extra_that_is_not_installed_is_named(run, monkeypatch, module, option, extra):
    monkeypatch.setitem(sys.modules, module, None)
    status, out, err = run("matrix", VOLTA, TURING, option)
    assert (status, out) == (2, "")
    assert f"pip install 'mmaproof[{extra}]'" in err


def test_a_cluster_that_is_not_reachable_is_status_3(run, monkeypatch):
    monkeypatch.setattr("mmaproof.verification.cluster.CONNECT_SECONDS", 0.3)
    status, out, err = run("matrix", VOLTA, TURING, "--dask", "tcp://127.0.0.1:1")
    assert (status, out) == (3, "")
    assert err.startswith("error: target not reachable: no dask scheduler answers at tcp://127.0.0.1:1")


@pytest.mark.middle
def test_interruption_ends_every_process(tmp_path):
    path = tmp_path / "v.jsonl"
    hard = "hopper/wgmma.f32.f16.f16@alignment=floor"
    options = ["--solver", "z3", "--timeout", "10m", "--jobs", "1", "-o", str(path)]
    process, _ = start_until_it_solves("matrix", hard, f"{hard},carry_bits=6", *options)
    solvers = wait_until(lambda: [s for worker in children_of(process.pid) for s in children_of(worker)])
    family = [*children_of(process.pid), *solvers]
    for pid in [*family, process.pid]:  # as a terminal does
        os.kill(pid, signal.SIGINT)
    assert process.communicate(timeout=LONG) == ("", "interrupted\n")
    assert process.returncode == 130
    wait_until(lambda: not any(Path(f"/proc/{pid}/exe").exists() for pid in family))
    assert list(tmp_path.iterdir()) == []
