"""Plans on the command line: listed, shown, run, compared, checked and measured."""

import json
from pathlib import Path

import pytest
from support.commands import only_json

from mmaproof.gemm.programs import KEYS, read_plan
from mmaproof.gemm.programs.spelling import load_presets, load_selections

V = "volta/f32.f16.f16.f32"


def test_presets_and_keys_are_listed(run):
    status, out, err = run("list", "plans", "--json")
    record = only_json(out)
    assert (status, err) == (0, "")
    assert [x["name"] for x in record["presets"]] == list(load_presets())
    assert list(record["keys"]) == list(KEYS)
    status, out, _ = run("list", "plans")
    assert status == 0
    assert "split-k" in out


def test_operations_of_a_plan_are_shown(run):
    status, out, err = run("show", "deepgemm/fp8")
    assert (status, err) == (0, "")
    assert "operations for K = 256:" in out
    assert "v4 = v2 + v3 (fp32, rne)" in out
    record = only_json(run("show", f"{V} | split-k=2:any", "--k", "8", "--json")[1])
    assert record["formats"] == {"a": "fp16", "b": "fp16", "c": "fp32", "d": "fp32"}
    assert len(record["operations"]) == len(read_plan(f"{V} | split-k=2").schedule(8).operations)


def test_one_element_is_computed_with_its_exact_result(run):
    a, b = "0x3c00,0x3c00,0x3c00,0x3c00,0x1400,0x0,0x0,0x0", ",".join(["0x3c00"] * 8)
    arguments = ("--a", a, "--b", b)
    status, out, err = run("gemm", "run", f"{V} | split-k=2 | c=none | out=bf16", *arguments, "--json")
    record = only_json(out)
    assert (status, err) == (0, "")
    assert record["d"] == "0x4080"
    assert (record["exact"], record["error"]) == ("4097/1024", "-1/1024")
    status, out, _ = run("gemm", "run", f"{V} | split-k=2 | c=none | out=bf16", *arguments, "--explain")
    assert status == 0
    assert "outside" in out
    assert "ulp of bf16" in out


def test_two_plans_are_compared_bit_by_bit(run, tmp_path: Path):
    status, out, err = run("gemm", "compare", f"{V} | tile=8", f"{V} | tile=16")
    assert (status, err) == (0, "")
    assert out.startswith("equivalent: ")
    vectors = tmp_path / "witness.jsonl"
    status, out, _ = run("gemm", "compare", V, f"{V} | split-k=2", "--json", "-o", str(vectors))
    record = only_json(out)
    assert (status, record["verdict"], record["k"]) == (1, "different", 8)
    assert len(set(record["witness"]["outputs"].values())) == 2
    assert json.loads(vectors.read_text().splitlines()[0])["a"] == record["witness"]["a"]


def test_algorithm_with_a_unit_is_compared_with_a_plan(run):
    status, out, _ = run("gemm", "compare", "plain", f"{V} | algorithm=plain | tile=8", "--unit", V, "--k", "8")
    assert (status, out.split(":")[0]) == (0, "equivalent")


def test_errors_of_plans_are_compared(run):
    status, out, err = run("gemm", "compare", V, f"{V} | split-k=2", "--errors", "--json")
    record = only_json(out)
    assert (status, err, record["verdict"]) == (1, "", "larger")


def test_questions_about_plans(run):
    status, out, err = run("gemm", "check", "order", f"{V} | split-k=2:any | c=none")
    assert (status, err) == (0, "")
    assert "all orders of 2 parts give the same bits" in out
    status, out, _ = run("gemm", "check", "order", f"{V} | split-k=2:any", "--json")
    record = only_json(out)
    assert (status, record["verdict"]) == (1, "violated")
    assert record["comparisons"][-1]["witness"]
    status, out, _ = run("gemm", "check", "batch-invariance", "selection/larger-tiles")
    assert (status, out.split(":")[0]) == (0, "holds")


@pytest.mark.parametrize("name", load_selections())
def test_plans_of_a_selection_can_be_compared(name):
    selection = load_selections()[name]
    assert selection.what
    assert selection.source
    plans = [read_plan(x) for _, x in selection.plans]
    assert len({x.formats for x in plans}) == 1
    assert len(plans) > 1


@pytest.mark.slow
def test_errors_of_plans_are_measured(run):
    status, out, err = run(
        "gemm", "error", V, f"{V} | split-k=2 | out=fp16", "--k", "64", "--rows", "4", "--columns", "4", "--json"
    )
    record = only_json(out)
    assert (status, err) == (0, "")
    assert [x["algorithm"] for x in record["points"]] == [
        read_plan(V).name,
        read_plan(f"{V} | split-k=2 | out=fp16").name,
    ]
    assert record["points"][0]["relative"] < record["points"][1]["relative"] < 2**-9


@pytest.mark.few(4)
@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (("run", "hopper/none | out=bf16", "--a", "0x0", "--b", "0x0"), "hopper has no instruction"),
        (("run", V, "--unit", V, "--a", "0x0", "--b", "0x0"), "leave out --unit"),
        (("run", "plain", "--a", "0x0", "--b", "0x0"), "--unit DESIGN"),
        (("run", f"{V} | promote=4", "--a", "0x0", "--b", "0x0"), "k = 1 is not a multiple"),
        (("compare", V, f"{V} | out=fp16"), "d is fp32 in one, fp16 in the other"),
        (("compare", V, "plain"), "plain is an algorithm, and the unit that it calls is missing"),
        (("compare", V, f"{V} | alpha=2 | c=last", "--errors"), "scales its sum"),
        (("check", "order"), "a PLAN is missing"),
        (("check", "order", V), "every order of additions is determined"),
        (("check", "batch-invariance", V), "two plans or more"),
        (("error", V, "--k", "64", "--reference", "fp32"), "plans are compared with the exact product"),
        (("error", f"{V} | tile=48", "--k", "64"), "not a multiple of the plan's K of a tile"),
    ],
)
def test_what_cannot_be_asked(run, arguments, problem):
    status, out, err = run("gemm", *arguments)
    assert (status, out) == (2, "")
    assert problem in err
