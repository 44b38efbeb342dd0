"""The benchmarks run and report; how long anything takes is not a test's business."""

import json
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
from support.native import needs_native

from mmaproof.gemm.programs.algorithms import ALGORITHMS

pytestmark = pytest.mark.middle

FOLDER = Path(__file__).parents[2] / "benchmarks"


def run(script: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(FOLDER / script), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def report(script: str, *arguments: str) -> Any:
    done = run(script, *arguments, "--json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_every_benchmark_is_tried_here() -> None:
    assert sorted(path.name for path in FOLDER.glob("*.py")) == [
        "anchors.py",
        "beside.py",
        "bundles.py",
        "check_native.py",
        "conformance.py",
        "datapath_bench.py",
        "entered_files.py",
        "exported_models.py",
        "gemm.py",
        "identification.py",
        "judging.py",
        "limits.py",
        "machine.py",
        "multipliers.py",
        "native.py",
        "operators.py",
        "published_queries.py",
        "scaled_dot.py",
        "separation.py",
        "staged_proofs.py",
        "strategies.py",
        "text_recordings.py",
        "throughput.py",
        "tolerances.py",
        "unknowns.py",
    ]


def test_machine_says_what_numbers_depend_on() -> None:
    done = run("machine.py")
    assert done.returncode == 0, done.stderr
    assert all(name in done.stdout for name in ("cpu: ", "python: ", "numpy: "))


def test_a_command_enters_no_more_files_than_its_budget() -> None:
    budget = tomllib.loads((FOLDER.parent / "tests/packaging/budgets.toml").read_text(encoding="utf-8"))["entered"]
    done = run("entered_files.py")
    assert done.returncode == 0, done.stderr
    found = {line[:14].strip(): int(line[14:18]) for line in done.stdout.splitlines()}
    assert found.keys() == budget.keys()
    assert {x: n for x, n in found.items() if not 0.5 * budget[x] < n <= budget[x]} == {}


DESIGNS = ("hopper/wgmma.m64n8k16.f32.f16.f16", "volta/mma.m8n8k4.f32.f16.f16.f32")
TINY = ("--rows", "8", "--repeats", "2", "--seconds", "0.001", "--designs", *DESIGNS)


def test_throughput_reports_both_interpretations() -> None:
    found = report("throughput.py", *TINY)
    assert found["baseline"] == "integers"
    assert {"cpu", "python", "numpy"} <= set(found["machine"])
    assert [row["design"] for row in found["rows"]] == list(DESIGNS)
    for row in found["rows"]:
        for interpretation in ("arrays", "integers"):
            assert 1 <= row[interpretation]["rows"] <= 8
            assert row[interpretation]["per_second"] > 0
            assert row[interpretation]["spread"] >= 0
        assert row["ratio"] == row["arrays"]["per_second"] / row["integers"]["per_second"]


def test_throughput_prints_a_row_for_each_design() -> None:
    done = run("throughput.py", *TINY)
    assert done.returncode == 0, done.stderr
    assert [line.split()[0] for line in done.stdout.splitlines()[-2:]] == list(DESIGNS)


@pytest.mark.parametrize("wrong", [("--rows", "0"), ("--designs", "hopper/nothing")])
def test_throughput_refuses_what_it_cannot_measure(wrong: tuple[str, ...]) -> None:
    done = run("throughput.py", *wrong)
    assert done.returncode == 2
    assert "error:" in done.stderr


@needs_native
def test_native_code_is_compared_with_arrays() -> None:
    found = report("native.py", "--repeats", "1", "--sizes", "128", "--designs", DESIGNS[1])
    (row,) = found["families"]
    assert (row["design"], row["k"], row["equal"]) == (DESIGNS[1], 4, True)
    assert min(row[x] for x in ("rows", "rows_arrays", "product", "product_arrays")) > 0
    assert row["rows_warm"] < row["rows_cold"]
    (size,) = found["growth"]
    assert size["side"] == 128
    assert min(size[x] for x in ("cpu", "wall_1", "wall_2")) > 0
    printed = run("native.py", "--repeats", "1", "--sizes", "--designs", DESIGNS[1])
    assert DESIGNS[1] in printed.stdout, printed.stderr
    refused = run("native.py", "--designs", "hopper/nothing")
    assert (refused.returncode, refused.stdout) == (2, "")
    assert "hopper has no instruction" in refused.stderr


def test_exported_models_report_a_speed_for_each_compiler() -> None:
    if shutil.which("gcc") is None:
        pytest.skip("no gcc on this machine (apt-get install gcc)")
    found = report("exported_models.py", "--rows", "128", "--repeats", "1", "--designs", DESIGNS[1])
    assert {"gcc -O2", "gcc -O3 -march=native"} <= {row["compiler"] for row in found["rows"]}
    assert {row["design"] for row in found["rows"]} == {DESIGNS[1]}
    assert all(row["rows"] > 0 and row["tile"] > 0 for row in found["rows"])


def test_exported_models_refuse_what_they_cannot_measure() -> None:
    done = run("exported_models.py", "--designs", "cdna1/v_mfma_f32_32x32x8f16")
    assert done.returncode == 2
    assert "more than 128 bits" in done.stderr


def test_separation_reports_a_verdict_and_a_ratio() -> None:
    found = report("separation.py", "--cases", "fp16-L4", "--solvers", "bitwuzla")
    assert found["fraction_bits"] == [24, 25]
    assert "bitwuzla" in found["machine"]
    (row,) = found["rows"]
    assert (row["case"], row["solver"], row["verdict"], row["ratio"]) == ("fp16-L4", "bitwuzla", "different", 1.0)
    assert row["reason"] is None


def test_separation_reports_a_time_limit_as_unknown() -> None:
    found = report("separation.py", "--cases", "e4m3-L32", "--solvers", "bitwuzla", "z3", "--timeout", "0.05s")
    assert [row["solver"] for row in found["rows"]] == ["bitwuzla", "z3"]
    for row in found["rows"]:
        assert row["verdict"] == "unknown"
        assert row["reason"].startswith("timeout")
        assert row["ratio"] is None


def test_separation_prints_a_row_for_each_solver() -> None:
    done = run("separation.py", "--cases", "fp16-L4", "--solvers", "bitwuzla", "--timeout", "60s")
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1].split()[:3] == ["fp16-L4", "bitwuzla", "different"]


def test_separation_refuses_a_limit_without_meaning() -> None:
    done = run("separation.py", "--timeout", "soon")
    assert done.returncode == 2
    assert "soon" in done.stderr


@pytest.mark.middle
def test_published_queries_report_the_papers_seconds_beside_ours() -> None:
    found = report("published_queries.py", "--rows", "1", "8", "--solvers", "bitwuzla", "--timeout", "60s")
    multiplication, carry = found["rows"]
    assert (multiplication["verdict"], multiplication["published"]) == ("violated", {"z3": 0.55, "cvc5": 0.027})
    assert (carry["verdict"], carry["published"]) == ("holds", {"z3": None, "cvc5": None})
    assert all(row["seconds"] > 0 for row in found["rows"])
    assert multiplication["alone"] > 0


def test_published_queries_report_a_time_limit_as_unknown() -> None:
    found = report("published_queries.py", "--rows", "6", "--solvers", "bitwuzla", "--timeout", "0.05s")
    assert found["rows"][0]["verdict"] == "unknown"
    assert found["rows"][0]["reason"].startswith("timeout")


def test_published_queries_print_a_row_for_each_query() -> None:
    done = run("published_queries.py", "--rows", "1", "--solvers", "bitwuzla")
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1].startswith("exact multiplication")


def test_published_queries_refuse_a_limit_without_meaning() -> None:
    done = run("published_queries.py", "--timeout", "soon")
    assert done.returncode == 2
    assert "soon" in done.stderr


@pytest.mark.slow
def test_staged_proofs_reports_the_ratio_to_one_piece() -> None:
    found = report("staged_proofs.py", "--cases", "reversed fp16-L4", "--timeout", "8s")
    (row,) = found["rows"]
    assert row["staged"]["proved"]
    assert row["one_piece"]["verdict"] in ("proved", "unknown")
    assert row["ratio"] == row["one_piece"]["seconds"] / row["staged"]["seconds"]
    assert row["is_lower_bound"] is (row["one_piece"]["verdict"] == "unknown")


@pytest.mark.slow
def test_identification_says_what_was_found() -> None:
    (row,) = report("identification.py", "--designs", "turing/mma.m8n8k16.s32.s8.s8.s32", "--seconds", "5")["rows"]
    assert row["found"]
    assert (row["wrong"], row["nearest"]) == (0, None)
    assert 0 < row["batches"] <= 12


SMALL = ("--k", "32", "--rows", "4", "--columns", "4")


@pytest.mark.slow
def test_gemm_reports_every_algorithm_against_plain_and_numpy() -> None:
    found = report("gemm.py", *SMALL)
    assert {"cpu", "python", "numpy"} <= set(found["machine"])
    assert [row["algorithm"] for row in found["algorithms"]] == list(ALGORITHMS)
    plain = found["algorithms"][0]["per_millisecond"]
    for row in found["algorithms"]:
        assert row["per_millisecond"] > 0
        assert row["ratio"] == row["per_millisecond"] / plain
        assert row["ratio_to_numpy"] == row["per_millisecond"] / found["numpy"]["per_millisecond"]


def test_gemm_prints_a_row_for_each_algorithm() -> None:
    done = run("gemm.py", *SMALL, "--algorithms", "slices", "markidis@intermediate=fp16")
    assert done.returncode == 0, done.stderr
    assert [line.split()[0] for line in done.stdout.splitlines()[-2:]] == ["slices", "markidis@intermediate=fp16"]


@pytest.mark.parametrize("wrong", [("--k", "0"), ("--k", "33"), ("--algorithms", "nothing")])
def test_gemm_refuses_what_it_cannot_measure(wrong: tuple[str, ...]) -> None:
    done = run("gemm.py", *wrong)
    assert done.returncode == 2
    assert "error:" in done.stderr


@pytest.mark.slow
def test_tolerances_counts_results_outside_their_bounds() -> None:
    done = run("tolerances.py", "--outputs", "4", "--minutes", "0.2")
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1].endswith("results were compared with their bounds, 0 of them were outside")
    assert "cpu/tdpbf16ps" in done.stdout


def test_unknowns_asks_once_and_says_what_was_answered(tmp_path: Path) -> None:
    answers = tmp_path / "answers.jsonl"
    question = (str(answers), "--only", "scaling", "--like", DESIGNS[1])
    found = report("unknowns.py", *question)
    assert (found["properties"], found["unknown"]) == ({"scaling": {"holds": 1}}, [])
    written = answers.read_text(encoding="utf-8")
    assert json.loads(written)["design"] == DESIGNS[1]
    assert report("unknowns.py", *question)["properties"] == found["properties"]
    assert answers.read_text(encoding="utf-8") == written


def test_strategies_are_timed_together_and_alone() -> None:
    found = report("strategies.py", "--cases", "fp16-L4", "--every", "1000000", "--busy", "1")
    assert (found["busy"], found["baseline"]) == (1, "the best single strategy")
    assert {x["verdict"] for x in found["rows"]} <= {"equivalent", "different"}
    for row in found["rows"]:
        assert row["seconds"]["one_piece"] is None or row["seconds"]["one_piece"] > 0
        assert row["ratio"] >= 1


def test_anchors_say_what_is_lost() -> None:
    work = report("anchors.py", "--small", "--repeats", "1")["work"]
    assert all(x["seconds"] > 0 for x in work)
    assert [x for x in work if "anchor" in x] == work[:3]
    assert all(x["met"] is (x.get("clock", x["seconds"]) <= x["goal"]) for x in work if x["goal"] is not None)
    assert {x["met"] for x in work} <= {True, False, None}


def test_judging_reports_verdicts_beside_products() -> None:
    products = report("judging.py", "--small", "--repeats", "1")["products"]
    assert [x["rows"] for x in products] == [1, 4]
    assert all(x[name] > 0 for x in products for name in ("exact", "within", "matmul"))
    assert products[1]["missed"]["0.5"] < products[1]["missed"]["0.1"] < 1


EQUAL_SUMS = """(declare-const x (_ BitVec 4))
(declare-const y (_ BitVec 4))
(declare-const s (_ BitVec 1))
(assert (or (distinct (bvadd x y) (bvadd y x)) (distinct (ite (= s #b1) x y) (ite (= s #b0) y {last}))))
(check-sat)
"""


@pytest.mark.parametrize(("last", "said"), [("x", "unsat"), ("y", "sat")])
def test_files_of_datapath_bench_are_solved_by_parts(last: str, said: str, tmp_path: Path) -> None:
    folder = tmp_path / "benchmarks" / "Sum" / "smtlib"
    folder.mkdir(parents=True)
    (folder / "Sum.smt2").write_text(EQUAL_SUMS.format(last=last), encoding="ascii")
    (found,) = report("datapath_bench.py", str(tmp_path))["files"]
    assert (found["alone"], found["ours"].split()[0]) == (said, said)
    printed = run("datapath_bench.py", str(tmp_path))
    solved = int(said == "unsat")
    assert f"solved of 1: {solved} in 60 CPU s each, Bitwuzla alone {solved} in 10 CPU s each" in printed.stdout


@pytest.mark.parametrize("script", ["conformance.py", "datapath_bench.py"])
def test_what_is_not_on_the_machine_is_named(script: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("DATAPATHBENCH", "FPGEN", "TESTFLOAT_GEN"):
        monkeypatch.delenv(name, raising=False)
    done = run(script)
    assert done.returncode == 0
    assert "not run: name" in done.stderr


FPGEN = """Floating point tests: Multiply-Add
b32*+ =0 -1.6ED946P-25 +1.5FC4B1P81 +1.55955EP85 -> +1.55955EP85 x
b32*+ =0 +0.7FFFFFP-126 -1.7FFFFFP127 -Inf -> -Inf
b32*+ > +1.000000P0 +1.000000P0 +0.000001P-126 -> {up} x
b32*+ =0 i +Zero +Inf Q -> # i
b32*+ < +1.000000P0 -1.000000P0 +1.000000P0 -> -Zero
b32+ =0 +1.000000P0 +1.000000P0 -> +1.000000P1
"""


@pytest.mark.parametrize(("up", "differ"), [("+1.000001P0", 0), ("+1.000000P0", 1)])
def test_a_wrong_vector_of_fpgen_is_found(up: str, differ: int, tmp_path: Path) -> None:
    (tmp_path / "x.fptest").write_text(FPGEN.format(up=up), encoding="ascii")
    done = run("conformance.py", "--fpgen", str(tmp_path), "--json")
    found = json.loads(done.stdout)
    assert done.returncode == differ
    assert {x["rho"]: x["differ"] for x in found["rows"]} == {"rne-fp32": 0, "rtp-fp32": differ, "rtn-fp32": 0}
    assert {x["rho"]: x["rows"] for x in found["rows"]} == {"rne-fp32": 2, "rtp-fp32": 1, "rtn-fp32": 1}
    assert found["trapped"] == 1


def test_a_line_of_fpgen_that_is_not_understood_is_no_pass(tmp_path: Path) -> None:
    (tmp_path / "x.fptest").write_text("b32*+ =0 +1.0P0 +1.000000P0 +Zero -> +1.000000P0\n", encoding="ascii")
    done = run("conformance.py", "--fpgen", str(tmp_path))
    assert done.returncode == 1
    assert "is not a number of FPgen" in done.stderr


def test_multipliers_are_asked_of_all_that_are_there() -> None:
    found = report("multipliers.py", "--units", "8x8 simple dadda", "--ways", "ours", "bitwuzla", "--timeout", "1")
    (row,) = found["rows"]
    assert (row["answers"]["ours"][0], row["answers"]["bitwuzla"][0]) == ("equal", "no answer")
    assert row["answers"]["bitwuzla"][1] >= row["answers"]["ours"][1] > 0


@pytest.mark.middle
def test_every_architecture_is_in_the_table_of_multipliers() -> None:
    found = report("multipliers.py", "--architectures", "2")
    assert found["units"] == 168 and len(found["architectures"]) == 12
    assert all(unknown == 0 for row in found["architectures"].values() for _, unknown in row["2"])


@pytest.mark.slow
def test_a_scaled_dot_product_is_asked_both_ways() -> None:
    (row,) = report("scaled_dot.py", "--products", "2", "--timeout", "2", "--alone", "1")["rows"]
    assert row["ours"].split(",")[0] in ("equivalent", "unknown", "no answer")
    assert row["alone"] == "no answer"


@pytest.mark.slow
def test_a_bundle_is_written_and_checked() -> None:
    (row,) = report("bundles.py", "--rows", "2")["rows"]
    assert min(row[x] for x in ("proof", "with_bundle", "checker", "bytes")) > 0


@pytest.mark.middle
def test_an_operator_is_a_row_whether_it_is_proved_or_not() -> None:
    (row,) = report("operators.py", "--units", "fmul/fp32_booth", "--timeout", "2s")["rows"]
    assert row["verdict"] in ("equivalent", "unknown")
    assert (row["unit"], row["goal"]) == ("fmul/fp32_booth", 10)
    assert row["seconds"] > 0
