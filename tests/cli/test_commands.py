"""The command line as a person meets it: what it prints, its exit status, and its errors."""

import contextlib
import os
import re
import signal

import pytest
from reference.designs import reference_result
from support.commands import alive, children_of, only_json, start_until_it_solves
from support.waiting import LONG, wait_until

from mmaproof.designs.catalogue import find_design
from mmaproof.designs.element import Operands

VOLTA = "volta/f32.f16.f16.f32"
TURING = "turing/f32.f16.f16.f32"


def operands_of(witness):
    return Operands(
        tuple(int(x, 16) for x in witness["a"]), tuple(int(x, 16) for x in witness["b"]), int(witness["c"], 16)
    )


def test_compare_different(run):
    status, out, _ = run("compare", VOLTA, TURING, "--json")
    assert status == 1
    record = only_json(out)
    assert record["verdict"] == "different"
    assert record["k"] == 8
    assert record["origin"].startswith("search (seed 0")
    witness = record["witness"]
    assert list(witness["outputs"]) == record["designs"]
    for name, d in witness["outputs"].items():
        assert reference_result(find_design(name), operands_of(witness)) == int(d, 16)
    assert len(set(witness["outputs"].values())) == 2
    assert all(len(x) == 6 for x in witness["a"] + witness["b"])


@pytest.mark.middle
def test_compare_prints_vector_results_and_picture(run):
    status, out, _ = run("compare", VOLTA, TURING)
    assert status == 1
    assert out.startswith("different: ")
    for expected in ("a = 0x", "b = 0x", "c = 0x", "e_max", "F = 23", "F = 24"):
        assert expected in out
    plain = run("compare", VOLTA, TURING, "--no-picture")[1]
    assert "F = 23" not in plain
    results = re.findall(r"^  d = (0x[0-9a-f]{8}) = [+-]\d+ \* 2\^-?\d+ on (.+)$", plain, re.MULTILINE)
    assert [name for _, name in results] == [find_design(name).name for name in (VOLTA, TURING)]
    assert all(f"d = {d} = " in out for d, _ in results)


def test_compare_equivalent(run):
    status, out, _ = run("compare", "hopper/wgmma.f32.f16.f16", "blackwell/tcgen05.mma.f32.f16.f16", "--json")
    record = only_json(out)
    assert (status, record["verdict"], record["solver"]) == (0, "equivalent", None)
    assert record["origin"] == "identity: the same computation"
    assert "witness" not in record
    assert record["reason"] is None


@pytest.mark.middle
def test_compare_vacuous_and_unknown_exit_3(run):
    status, out, _ = run("compare", VOLTA, TURING, "--where", "normal", "--where", "c=0", "--json")
    record = only_json(out)
    assert (status, record["verdict"], record["where"]) == (3, "vacuous", ["normal", "c=0"])
    status, out, _ = run("compare", VOLTA, TURING, "--timeout", "0.01s", "--no-search", "--json")
    record = only_json(out)
    assert (status, record["verdict"]) == (3, "unknown")
    assert record["reason"].startswith("timeout")


def test_compare_writes_a_vector_file_that_replays(run, tmp_path):
    path = tmp_path / "witness.jsonl"
    assert run("compare", VOLTA, TURING, "-o", path)[0] == 1
    assert run("replay", path, f"model:{VOLTA}")[0] == 0
    status, out, _ = run("replay", path, f"model:{TURING}", "--json")
    assert (status, only_json(out)["rows"]) == (0, 1)
    status, out, _ = run("replay", path, f"model:{TURING}", "--expect", VOLTA, "--json")
    record = only_json(out)
    assert (status, record["mismatches"], len(record["examples"])) == (1, 1, 1)
    assert record["examples"][0]["row"] == "line 1"


def test_run(run):
    arguments = (
        "run",
        "hopper/wgmma.f32.f16.f16",
        "--k",
        2,
        "--a",
        "0x3c00,0x4000",
        "--b",
        "0x3c00 0x3C00",
        "--c",
        "0x0",
    )
    assert run(*arguments)[:2] == (0, "0x40400000 = +3 * 2^0\n")
    assert run(*arguments, "--decimal")[:2] == (0, "0x40400000 = 3.0\n")
    status, out, _ = run(*arguments, "--json")
    assert only_json(out) == {
        "design": "hopper/wgmma.m64n8k16.f32.f16.f16",
        "k": 2,
        "a": ["0x3c00", "0x4000"],
        "b": ["0x3c00", "0x3c00"],
        "c": "0x00000000",
        "d": "0x40400000",
        "number": "3.0",
        "open_points": {"results": 1, "looked_at": 1, "changed": 0, "readings": []},
        "assumed": [],
    }
    assert status == 0
    status, out, _ = run(*arguments, "--explain")
    assert status == 0
    assert "0x40400000" in out
    assert max(map(len, out.splitlines())) <= 80


@pytest.mark.middle
def test_run_with_scales(run):
    status, out, _ = run("run", NVFP4, "--k", 16, *SCALED, "0x38", "--scale-b", "0x40", "--json")
    record = only_json(out)
    assert (status, record["d"], record["scale_b"]) == (0, "0x42000000", ["0x40"])
    status, out, _ = run("run", NVFP4, "--k", 16, *SCALED, "0x7f", "--scale-b", "0x40")
    assert (status, out) == (0, "0x7fffffff = NaN\n")


@pytest.mark.middle
def test_designs_and_show(run):
    status, out, _ = run("list", "--json")
    designs = only_json(out)["designs"]
    assert status == 0
    assert len(designs) > 100
    for field in ("name", "architecture", "instruction", "a_format", "d_format", "k", "parameters", "source"):
        assert all(field in d for d in designs)
    status, out, _ = run("list", "volta")
    assert status == 0
    assert "volta/mma.m8n8k4.f32.f16.f16.f32" in out
    assert "turing" not in out
    status, out, _ = run("show", "hopper/wgmma.f32.e4m3.e4m3@fraction_bits=14")
    assert status == 0
    for expected in ("fraction_bits*", "14", "rz-e8m13", "table 4", "5 carry"):
        assert expected in out


@pytest.mark.middle
def test_version_doctor_and_help(run):
    status, out, _ = run("--version")
    assert (status, out.split()[0]) == (0, "mmaproof")
    status, out, _ = run("doctor", "--json")
    assert status == 0
    assert set(only_json(out)["solvers"]) == {"bitwuzla", "cvc5", "z3"}
    assert run("doctor")[0] == 0
    status, out, _ = run("--help")
    assert status == 0
    assert "replay" in out


FOUR = "0x0,0x0,0x0,0x0"
SIXTEEN = ",".join(["0x2"] * 16)
NVFP4 = "blackwell/block16.f32.e2m1.e2m1.ue4m3"
SCALED = ("--a", SIXTEEN, "--b", SIXTEEN, "--c", "0x0", "--scale-a")
BAD_INPUT = [
    (["compare", "volta/x", TURING], "no instruction"),
    (["compare", VOLTA, "hopper/f32.f16.f16"], "ambiguous"),
    (["compare", VOLTA, "volta/f32.f16.f16.f16"], "not comparable"),
    (["compare", VOLTA, TURING, "--k", "9"], "multiple"),
    (["compare", VOLTA, TURING, "--k", "0"], "--k"),
    (["compare", VOLTA, TURING, "--k", "65544"], "k = 65544 is above 65536: a formula"),
    (["check", "order-independent", VOLTA, "--k", "1000000000000"], "is above 65536"),
    (["compare", VOLTA, TURING, "--where", "even"], "unknown precondition"),
    (["compare", VOLTA, TURING, "--timeout", "soon"], "time limit"),
    (["compare", VOLTA, TURING, "--memory", "4"], "memory limit"),
    (["compare", VOLTA, TURING, "--solver", "yices"], "unknown solver"),
    (["compare", VOLTA], "Missing argument"),
    (["compare", f"{VOLTA}@fraction_bits=5001", TURING], "fraction_bits"),
    (["compare", VOLTA, TURING, "-o", "/nowhere/at/all.jsonl"], "cannot be written"),
    (["run", VOLTA, "--a", FOUR, "--b", FOUR, "--c", "0x100000000"], "too wide"),
    (["run", VOLTA, "--a", "0x0,0x10000,0x0,0x0", "--b", FOUR, "--c", "0x0"], r"a[1]: 0x10000 is too wide"),
    (["run", VOLTA, "--a", "0x0", "--b", FOUR, "--c", "0x0"], "add --k 1"),
    (["run", VOLTA, "--a", FOUR, "--b", FOUR, "--c", "0x0,0x0"], "one pattern"),
    (["run", VOLTA, "--a", FOUR, "--b", FOUR, "--c", "1.5"], "hexadecimal"),
    (["run", VOLTA, "--a", "", "--b", FOUR, "--c", "0x0"], "0 elements"),
    (["run", VOLTA, "--k", "6", "--a", FOUR, "--b", FOUR, "--c", "0x0"], "multiple"),
    (["run", VOLTA, "--a", FOUR, "--b", FOUR, "--c", "0x0", "--scale-a", "0x38"], "has no scales"),
    (["run", NVFP4, "--k", "16", "--a", SIXTEEN, "--b", SIXTEEN, "--c", "0x0"], "add --scale-a with 1 ue4m3 pattern,"),
    (["run", NVFP4, "--k", "16", *SCALED, "0x38,0x38", "--scale-b", "0x38"], "scale-a has 2 elements"),
    (["run", VOLTA, "--a", "0x0,,0x0,0x0", "--b", FOUR, "--c", "0x0"], "a[1]: empty"),
    (["run", VOLTA, "--a", FOUR, "--b", "0x0,0x0,0x0,0x0,", "--c", "0x0"], "b[4]: empty"),
    (["run", VOLTA, "--a", FOUR, "--b", FOUR, "--c", " ,0x0"], "c[0]: empty"),
    (["run", NVFP4, "--k", "10", *SCALED, "0x38", "--scale-b", "0x38"], "not a multiple of the 16 elements"),
    (["compare", f"{VOLTA}@zero_c=E", TURING], "minus-126"),
    (["compare", f"{VOLTA}@late_bits=30", TURING], "has no effect"),
    (["compare", f"{VOLTA}@as=nobody", TURING], "unknown profile"),
    (["compare", NVFP4, "blackwell/block16.f32.e2m1.e2m1.ue8m0"], "not comparable"),
    (["disputes", "nothing"], "unknown architecture"),
    (["show", "nothing"], "ARCHITECTURE/INSTRUCTION"),
    (["list", "nothing"], "unknown architecture"),
    (["replay", "none.npz", f"model:{VOLTA}"], "No such file"),
    (["replay", "none.txt", f"model:{VOLTA}"], "No such file"),
    (["replay", "none.jsonl", f"model:{VOLTA}"], "No such file"),
    (["replay", "none.npz", "gpu:0"], "unknown target"),
    (["frobnicate"], "frobnicate"),
    (["compare", VOLTA, TURING, "--frobnicate"], "frobnicate"),
]


@pytest.mark.few(12)
@pytest.mark.parametrize(("arguments", "problem"), BAD_INPUT, ids=[" ".join(a)[:60] for a, _ in BAD_INPUT])
def test_bad_input_is_one_line_on_stderr_and_status_2(run, arguments, problem):
    status, out, err = run(*arguments)
    assert status == 2
    assert out == ""
    assert problem in err
    assert len(err.splitlines()) == 1
    assert "Traceback" not in err


def test_a_bad_line_of_a_vector_file(run, tmp_path):
    path = tmp_path / "v.jsonl"
    assert run("compare", VOLTA, TURING, "-o", path)[0] == 1
    path.write_text(path.read_text() + "{broken\n")
    status, out, err = run("replay", path, f"model:{VOLTA}", "--json")
    assert (status, out) == (2, "")
    assert "v.jsonl:2: not JSON" in err


@pytest.mark.parametrize("error", [ZeroDivisionError, EOFError])
def test_an_internal_error_is_no_result(run, monkeypatch, error):
    """The parser takes an EOFError for the end of what a person types."""
    import mmaproof.smt.trace as evaluation

    def broken(*_):
        raise error("of all things")

    monkeypatch.setattr(evaluation, "evaluate", broken)
    status, out, err = run("run", VOLTA, "--a", FOUR, "--b", FOUR, "--c", "0x0")
    assert (status, out) == (70, "")
    assert f"internal error: {error.__name__}: of all things" in err
    assert len(err.strip().splitlines()) == 1


HARD = [
    "hopper/wgmma.f32.f16.f16@alignment=floor",
    "hopper/wgmma.f32.f16.f16@alignment=floor,carry_bits=6",
    "--no-search",
]


HARD_FOR_Z3 = ["compare", *HARD, "--timeout", "10m", "--solver", "z3"]


@pytest.mark.middle
def test_interruption_ends_the_solver_and_is_no_verdict():
    process, workers = start_until_it_solves(*HARD_FOR_Z3)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=LONG)
    assert (process.returncode, out) == (130, "")
    assert err == "interrupted\n"
    wait_until(lambda: not any(map(alive, workers)))


@pytest.mark.middle
def test_a_killed_solver_is_unknown():
    process, workers = start_until_it_solves(*HARD_FOR_Z3, "--json")
    # those of the lemmas that are tried when the question in one piece has no answer, too
    while process.poll() is None:
        for worker in workers:
            with contextlib.suppress(ProcessLookupError):
                os.kill(worker, signal.SIGKILL)
        workers = children_of(process.pid)
    out, err = process.communicate(timeout=LONG)
    record = only_json(out)
    assert (process.returncode, record["verdict"], err) == (3, "unknown", "")
    assert record["reason"].split(":")[0] in ("interrupted", "solver error", "memory")
