"""`mmaproof list algorithms`, `run` and `compare`: what they print, and how they end."""

import json
from fractions import Fraction

import numpy as np
import pytest
from support.commands import only_json

from mmaproof.designs.formats import FORMATS

VOLTA = "volta/mma.m8n8k4.f32.f16.f16.f32"
FP32 = FORMATS["fp32"]


def value_of(pattern):
    return Fraction(float(np.uint32(int(pattern, 16)).view(np.float32)))


def listed(values):
    return ",".join(FP32.hex(FP32.encode(Fraction(x) * Fraction(2) ** e)) for x, e in values)


TABLE_5 = (
    *("--a", listed([("1.0009765625", -8), ("1.326171875", -14), (1, -12), (1, -12)])),
    *("--b", listed([("1.998046875", 7), ("1.4443359375", -7), (1, -12), (1, -12)])),
    *("--c", listed([(1, -24)])),
)


def test_every_algorithm_is_listed_with_its_source(run):
    status, out, _ = run("list", "algorithms", "--json")
    found = {x["name"]: x for x in json.loads(out)["algorithms"]}
    assert status == 0
    assert {"plain", "markidis-a", "markidis", "ootomo-yokota", "3xtf32", "bf16x9", "promoted", "slices"} <= set(found)
    assert found["ootomo-yokota"]["parameters"]["scale"] == "11"
    assert all(x["source"] and x["what"] for x in found.values())
    status, out, _ = run("show", "ootomo-yokota@scale=12")
    assert status == 0
    assert "scale = 12" in out
    assert "an integer 0..24" in " ".join(out.split())


@pytest.mark.parametrize(("name", "d"), [("markidis", "0x3f800001"), ("ootomo-yokota", "0x3f800000")])
def test_table_5_of_valpey_et_al(run, name, d):
    status, out, _ = run("gemm", "run", name, "--unit", VOLTA, *TABLE_5, "--json")
    record = json.loads(out)
    assert (status, record["d"], record["k"]) == (0, d, 4)
    exact = Fraction(record["exact"])
    products = zip(record["a"], record["b"], strict=True)
    value = {x: value_of(x) for x in (*record["a"], *record["b"], record["c"], d)}
    assert exact == sum((value[x] * value[y] for x, y in products), value[record["c"]])
    assert Fraction(record["error"]) == value[d] - exact
    assert record["ulps"] == pytest.approx(float(Fraction(record["error"]) * 2**23))


def test_every_operation_is_explained(run):
    status, out, _ = run(
        "gemm", "run", "ootomo-yokota", "--unit", VOLTA, "--a", "0x3eaaaaab", "--b", "0x3f800001", "--explain"
    )
    lines = out.splitlines()
    assert status == 0
    assert [x for x in lines if x.startswith("unit")] == ["unit  a[0]*b[0]", "unit  a[1]*b[0]", "unit  a[0]*b[1]"]
    assert any(x.startswith("  residual of a0, scaled:") for x in lines)
    # 0x3555 is the nearest fp16 of 0x3eaaaaab; what is left, +11 * 2^-25 less a bit, is scaled by 2^11
    assert any(x.startswith("  a0[0]: 0x3eaaaaab = ") and "-> 0x3555 = " in x for x in lines)
    assert lines[-1].startswith("exact +")
    assert lines[-2].startswith("d = 0x")


def test_operands_that_are_not_finite_have_no_error(run):
    status, out, _ = run("gemm", "run", "plain", "--unit", VOLTA, "--a", "0x7f800000", "--b", "0x3f800000")
    assert (status, out) == (0, "d = 0x7f800000 = +infinity\n")


def compare(run, *arguments):
    status, out, err = run("gemm", "compare", *arguments, "--no-store", "--json")
    assert err == ""
    return status, json.loads(out)


@pytest.mark.middle
@pytest.mark.parametrize("by", ["1", pytest.param("8", marks=pytest.mark.middle)])
@pytest.mark.parametrize("pair", [("ootomo-yokota", "markidis"), ("markidis", "ootomo-yokota")], ids="-".join)
def test_neither_is_the_better_one_on_every_input(run, pair, by):
    arguments = ("--unit", VOLTA, "--k", 4, "--where", "exponents=-15..14", "--by", by)
    status, record = compare(run, *pair, *arguments)
    assert (status, record["verdict"], record["algorithms"]) == (1, "larger", list(pair))
    errors = [abs(Fraction(record["witness"]["errors"][x]["error"])) for x in pair]
    assert errors[0] > 0
    assert errors[0] >= errors[1] * int(by)
    assert record["where"] == ["exponents=-15..14"]
    # what is said of it is what gemm run says
    witness = record["witness"]
    for name in pair:
        given = [x for n in "ab" for x in (f"--{n}", ",".join(witness[n]))]
        _, out, _ = run("gemm", "run", name, "--unit", VOLTA, *given, "--c", witness["c"], "--json")
        again = json.loads(out)
        assert (again["d"], again["exact"]) == (witness["outputs"][name], witness["exact"])


@pytest.mark.middle
def test_the_solver_alone_finds_a_witness(run):
    status, record = compare(run, "plain", "markidis", "--unit", VOLTA, "--k", 1, "--where", "c=0", "--no-search")
    assert (status, record["verdict"]) == (1, "larger")
    assert record["solver"]["name"] == "bitwuzla"


@pytest.mark.middle
def test_what_never_has_the_larger_error_is_proved(run):
    # the same words in the same sums: only c = 0 joins elsewhere
    same = ("ootomo-yokota", "ootomo-yokota@schedule=gemm")
    status, record = compare(run, *same, "--unit", VOLTA, "--k", 1, "--where", "exponents=-3..3")
    assert (status, record["verdict"]) == (0, "never larger")
    status, record = compare(run, *same, "--unit", VOLTA, "--k", 1, "--where", "normal", "--where", "c=0")
    assert (status, record["verdict"]) == (3, "vacuous")


@pytest.mark.middle
def test_each_algorithm_may_have_a_unit_of_its_own(run, tmp_path):
    tf32, fp16 = "ampere/mma.m16n8k4.f32.tf32.tf32.f32", "ampere/mma.m16n8k8.f32.f16.f16.f32"
    file = tmp_path / "witness.jsonl"
    status, record = compare(
        run, "3xtf32", "ootomo-yokota", "--unit", tf32, "--second-unit", fp16, "--where", "exponents=-2..2", "-o", file
    )
    assert (status, record["units"], record["k"]) == (1, [tf32, fp16], 8)
    (line,) = file.read_text().splitlines()
    assert json.loads(line)["outputs"] == {
        f"3xtf32 on {tf32}": record["witness"]["outputs"]["3xtf32"],
        f"ootomo-yokota on {fp16}": record["witness"]["outputs"]["ootomo-yokota"],
    }


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["compare", "markidis", "nothing", "--unit", VOLTA], "unknown algorithm 'nothing': one of plain, markidis-a"),
        (["compare", "markidis", "3xtf32", "--unit", VOLTA], "its operands are fp16, and tf32 is meant"),
        (["compare", "markidis", "plain", "--unit", VOLTA, "--by", "0"], "a number of at least 1 is needed"),
        (["compare", "markidis", "plain", "--unit", VOLTA, "--k", "6"], "k = 6 is above the K = 4"),
        (["compare", "markidis@scale=1", "plain", "--unit", VOLTA], "accumulators=separate"),
        (["run", "plain", "--unit", VOLTA, "--a", "0x1", "--b", "0x1,0x2"], "a has 1 elements and b has 2"),
        (["run", "plain", "--unit", VOLTA, "--a", "0x100000000", "--b", "0x1"], "too wide for fp32"),
        (["run", "residues", "--unit", VOLTA, "--a", "0x1", "--b", "0x1"], "int8 is meant"),
    ],
)
def test_what_cannot_be_asked_is_an_error(run, arguments, text):
    status, out, err = run("gemm", *arguments)
    assert (status, out) == (2, "")
    assert text in err


@pytest.mark.middle
def test_little_that_a_floor_makes_much_of_is_not_bounded_by_its_terms(run):
    """Jammed far below the floor, every sum is much larger than its terms: their sum was once taken for a bound."""
    unit = f"{VOLTA}@floor=52,alignment=jam,L=1"
    options = ("--unit", unit, "--k", 1, "--where", "exponents=0..1", "--no-search")
    status, record = compare(run, "markidis", "plain", *options)
    assert (status, record["verdict"]) == (1, "larger")


TF32_UNIT = "ampere/mma.m16n8k8.f32.tf32.tf32.f32"


def test_the_command_compares_them_by_errors_and_says_so(run) -> None:
    status, out, _ = run("gemm", "compare", "3xtf32", f"{TF32_UNIT} | split-k=2", "--json")
    found = only_json(out)
    assert (status, found["verdict"]) == (1, "larger")
    assert (found["algorithms"], found["units"]) == (["3xtf32", f"{TF32_UNIT} | split-k=2"], [TF32_UNIT] * 2)
    status, out, _ = run("gemm", "compare", f"{TF32_UNIT} | algorithm=3xtf32", "3xtf32", "--json")
    assert (status, only_json(out)["verdict"]) == (0, "equivalent")
