"""What the public functions of Python return beside comparisons and checks, by name and by object, and bad input."""

from fractions import Fraction

import numpy as np
import pytest
from support.small_units import DESIGN, WRONG, write_unit

import mmaproof
from mmaproof import Budget, Operands, find_algorithm, find_design, find_format, read_plan

VOLTA = "volta/f32.f16.f16.f32"
PLAN = "hopper/wgmma.m64n8k16.f32.bf16.bf16 | split-k=2"
ONE = Operands((0x3C00,) * 4, (0x3C00,) * 4, 0)
ONE_FP32 = Operands((0x3F800001,) * 4, (0x3F800000,) * 4, 0)
UNHURRIED = {"limits": 600, "budget": Budget(rows=1000, seconds=600)}


def test_pictures_take_a_design_or_several_by_name_or_not():
    volta = find_design(VOLTA)
    assert mmaproof.picture(VOLTA, ONE) == mmaproof.picture(volta, ONE) == mmaproof.picture([VOLTA], ONE)
    both = mmaproof.picture([VOLTA, find_design("turing/f32.f16.f16.f32")], ONE)
    assert both.closing
    assert "<figure" in both._repr_html_()


def test_a_fingerprint_has_the_features_that_were_asked():
    found = mmaproof.fingerprint(VOLTA, ["fraction-bits", "nan-code"], **UNHURRIED)
    assert list(found) == ["fraction-bits", "nan-code"]
    assert found["fraction-bits"].value == 23
    assert repr(found["fraction-bits"]).startswith("<holds (23): fraction-bits on volta/")
    again = mmaproof.fingerprint(find_design(VOLTA), [mmaproof.find_property("fraction-bits")], **UNHURRIED)
    assert again["fraction-bits"].value == 23
    others = mmaproof.fingerprint("turing/f32.f16.f16.f32", ["fraction-bits"], **UNHURRIED)
    assert mmaproof.designs_differ([found["fraction-bits"], others["fraction-bits"]])
    assert not mmaproof.designs_differ([found["fraction-bits"], again["fraction-bits"]])


def test_a_violated_feature_is_drawn():
    found = mmaproof.fingerprint(VOLTA, ["sticky-bit"], **UNHURRIED)["sticky-bit"]
    assert found.verdict == "violated"
    assert found.picture().sections
    assert "<figure" in found._repr_html_()
    assert "sticky-bit on volta/" in found._repr_html_()


def test_a_run_of_an_algorithm_says_its_error_and_its_operations():
    run = mmaproof.run_gemm("markidis", ONE_FP32, VOLTA)
    assert run == mmaproof.run_gemm(find_algorithm("markidis"), ONE_FP32, find_design(VOLTA))
    a = np.array([[1 + 2**-23] * 4], dtype=np.float32)
    b = np.ones((4, 1), dtype=np.float32)
    assert run.d == mmaproof.matmul(f"{VOLTA} | algorithm=markidis", a, b).view(np.uint32).item()
    assert run.exact == 4 + Fraction(4, 2**23)
    assert float(run.exact + run.error) == float(np.uint32(run.d).view(np.float32))
    assert any(x.startswith("unit ") for x in run.operations)
    assert repr(run).startswith(f"<markidis on {find_design(VOLTA).name}: d = 0x")
    assert run.picture(call=-1) == run.pictures()[-1][1]
    assert "<figure" in run._repr_html_()
    with pytest.raises(mmaproof.OperandError, match="the unit is called 4 times"):
        run.picture(call=4)


def test_a_run_of_a_plan_takes_its_own_formats():
    operands = Operands((0x3F80,) * 32, (0x3F80,) * 32, 0)
    run = mmaproof.run_gemm(PLAN, operands)
    assert run == mmaproof.run_gemm(read_plan(PLAN), operands)
    assert (run.exact, run.error, run.ulps) == (32, 0, 0)
    assert run.d == find_format("fp32").encode(32.0)


def test_results_that_are_not_finite_have_no_error():
    infinite = mmaproof.run_gemm("plain", Operands((0x7F800000,) * 4, (0x3F800000,) * 4, 0), VOLTA)
    assert infinite.exact is infinite.error is infinite.ulps is None
    assert repr(infinite).endswith("= +infinity>")


@pytest.mark.middle
def test_measured_errors_are_those_of_the_bound():
    found = mmaproof.measure_errors("plain", 16, VOLTA, rows=4, columns=4, limits=600)
    (point,) = found.points
    assert found.step.proved
    assert 0 < point.largest <= point.bound.value
    assert repr(found) == "<errors of plain: k = 16, uniform in (-1, 1), against exact>"
    assert f"<td>{point.plan.label}</td><td>16</td>" in found._repr_html_()
    without = mmaproof.measure_errors(
        [find_algorithm("plain")], [16], find_design(VOLTA), rows=4, columns=4, bound=False
    )
    assert without.step is None
    assert without.points[0].largest == point.largest


def test_elements_that_are_left_out_of_errors_are_counted() -> None:
    found = mmaproof.measure_errors("plain", 16, VOLTA, rows=4, columns=4, distribution="exponents=15..17", bound=False)
    (point,) = found.points
    assert point.not_finite > 0
    assert f"<td>{point.not_finite}</td></tr></table>" in found._repr_html_()


def test_errors_of_plans_are_against_rounded_operands():
    found = mmaproof.measure_errors(PLAN, [32], rows=2, columns=2, bound=False)
    assert found.reference == "rounded"
    assert found.points[0].n == 32


@pytest.mark.middle
def test_an_algorithm_is_checked_by_name():
    done = mmaproof.check_algorithm("exact-operands", "markidis", VOLTA, limits=600)
    assert done.verdict == "holds"
    assert repr(done) == f"<holds: exact-operands of markidis on {find_design(VOLTA).name}>"
    assert done.finding.conclusion[:20] in done._repr_html_()


def test_random_operands_are_patterns_of_the_design():
    batch = mmaproof.random_operands(VOLTA, 5, "edges", k=8, seed=3)
    assert batch.a.shape == batch.b.shape == (5, 8)
    assert batch.c.shape == (5,)
    assert np.array_equal(batch.a, mmaproof.random_operands(find_design(VOLTA), 5, "edges", k=8, seed=3).a)
    assert not np.array_equal(batch.a, mmaproof.random_operands(VOLTA, 5, "edges", k=8, seed=4).a)


def test_equal_patterns_take_the_name_of_a_format():
    nans = np.array([0x7E00, 0x3C00], dtype=np.uint16), np.array([0x7E01, 0x3C00], dtype=np.uint16)
    assert mmaproof.equal_patterns("fp16", *nans).tolist() == [True, True]
    assert mmaproof.equal_patterns(find_format("fp16"), *nans, nan_codes=True).tolist() == [False, True]


@pytest.mark.middle
def test_faults_are_noticed_by_the_bits():
    caught = mmaproof.sharpness(mmaproof.tolerance(VOLTA, 16, limits=600), "positive", products=1)
    assert all(x.chance > 0 for x in caught if x.strength == "bits")


def test_numbers_and_texts_stand_for_limits_and_preconditions():
    given = mmaproof.compare(VOLTA, "turing/f32.f16.f16.f32", k=8, limits=600, where="exponents=-2..2")
    meant = mmaproof.compare(
        VOLTA,
        "turing/f32.f16.f16.f32",
        k=8,
        limits=mmaproof.Limits(600, 4 << 30),
        where=[mmaproof.parse_precondition("exponents=-2..2")],
    )
    assert given.question.where == meant.question.where
    assert given.verdict == meant.verdict == "different"


def unit(a, b, c):
    return mmaproof.dot(VOLTA, a, b, c)


@pytest.mark.middle
def test_a_function_is_identified():
    narrow = {"summation": ["fused"], "fraction_bits": [22, 23, 24], "rho": ["rz-fp32"]}
    found = mmaproof.identify(unit, "f32.f16.f16.f32", 4, space=narrow, seconds=600, proofs=False, validation=500)
    assert find_design(VOLTA) in found.matches
    assert found.findings["fraction_bits"].value == 23
    assert repr(found).startswith(f"<function:unit: {found.matches[0].name}")
    operands, d = found.deciding("fraction_bits")
    assert mmaproof.evaluate(VOLTA, operands) == d
    assert found.picture().sections
    left = found.evidence.remaining()
    assert left.shape == (len(found.evidence) + 1,)
    assert (left[:-1] >= left[1:]).all()
    assert 1 <= left[-1] <= left[0]
    with pytest.raises(mmaproof.InputError, match="unknown parameter 'F': one of "):
        found.deciding("F")


BAD = {
    "picture": (lambda: mmaproof.picture("vlta/x", ONE), "unknown architecture 'vlta'"),
    "picture operands": (lambda: mmaproof.picture(VOLTA, Operands((1,), (1, 2), 0)), "a has 1"),
    "fingerprint design": (lambda: mmaproof.fingerprint("vlta/x"), "unknown architecture"),
    "fingerprint property": (lambda: mmaproof.fingerprint(VOLTA, ["sticky"]), "unknown property 'sticky'"),
    "fingerprint limits": (lambda: mmaproof.fingerprint(VOLTA, limits=0), "time limit 0.0 s is out of range"),
    "limits": (lambda: mmaproof.compare(VOLTA, VOLTA, limits="5s"), "time limit '5s' is not a number"),
    "where": (lambda: mmaproof.compare(VOLTA, VOLTA, where="exponent"), "unknown precondition 'exponent'"),
    "where number": (lambda: mmaproof.check("nan-code", VOLTA, where=3), "where = 3"),
    "run unit": (lambda: mmaproof.run_gemm("markidis", ONE_FP32), "the unit that it calls is missing"),
    "run plan": (lambda: mmaproof.run_gemm(PLAN, ONE, VOLTA), "is a plan, which names its unit"),
    "run name": (lambda: mmaproof.run_gemm("markids", ONE_FP32, VOLTA), "unknown algorithm 'markids'"),
    "run what": (lambda: mmaproof.run_gemm(3, ONE_FP32, VOLTA), "3: an algorithm, a plan, or the name"),
    "run factors": (lambda: mmaproof.run_gemm("plain", ONE_FP32, VOLTA, factors=[1]), "takes no factors"),
    "run scales": (lambda: mmaproof.run_gemm(PLAN, Operands((0,), (0,), 0, (1,))), "has no scales"),
    "errors name": (lambda: mmaproof.measure_errors("markids", 16, VOLTA), "unknown algorithm"),
    "errors none": (lambda: mmaproof.measure_errors([], 16, VOLTA), "at least one algorithm or plan"),
    "errors both": (lambda: mmaproof.measure_errors(["plain"], 16), "the unit that it calls is missing"),
    "errors size": (lambda: mmaproof.measure_errors("plain", 0, VOLTA), "sizes = [0]: integers from 1 on"),
    "errors rows": (lambda: mmaproof.measure_errors("plain", 16, VOLTA, rows=1.5), "rows = [1.5]"),
    "errors reference": (lambda: mmaproof.measure_errors("plain", 16, VOLTA, reference="x"), "one of exact, fp32"),
    "errors fp32": (lambda: mmaproof.measure_errors(PLAN, 32, reference="fp32"), "plans are compared with the exact"),
    "errors distribution": (
        lambda: mmaproof.measure_errors("plain", 16, VOLTA, distribution="x"),
        "unknown distribution",
    ),
    "check question": (lambda: mmaproof.check_algorithm("splt", "plain", VOLTA), "unknown question 'splt'"),
    "check name": (lambda: mmaproof.check_algorithm("split", "markids", VOLTA), "unknown algorithm"),
    "check where": (lambda: mmaproof.check_algorithm("split", "markidis", VOLTA, where=["x"]), "unknown precondition"),
    "operands": (lambda: mmaproof.random_operands(VOLTA, 5, "gaussian"), "unknown distribution 'gaussian'"),
    "operands rows": (lambda: mmaproof.random_operands(VOLTA, 0), "rows = 0: an integer from 1 on"),
    "operands k": (lambda: mmaproof.random_operands(VOLTA, 1, k=6), "6"),
    "format": (lambda: mmaproof.equal_patterns("fp17", [], []), "unknown format 'fp17'"),
    "sharpness": (lambda: mmaproof.sharpness(mmaproof.tolerance(VOLTA, 16), "x"), "unknown distribution 'x'"),
    "identify target": (lambda: mmaproof.identify("modl:x", "f32.f16.f16.f32", 4), "unknown target 'modl:x'"),
    "identify object": (lambda: mmaproof.identify(3, "f32.f16.f16.f32", 4), "target 3: a target, the text"),
    "identify interface": (lambda: mmaproof.identify(unit), "--interface D.A.B.C and --k N are required"),
    "identify space": (
        lambda: mmaproof.identify(unit, "f32.f16.f16.f32", 4, space={"F": [23]}),
        "space: unknown parameter 'F'",
    ),
    "identify values": (
        lambda: mmaproof.identify(unit, "f32.f16.f16.f32", 4, space={"fraction_bits": [None]}),
        "space: parameter fraction_bits",
    ),
    "identify seconds": (lambda: mmaproof.identify(unit, "f32.f16.f16.f32", 4, seconds=-1), "out of range"),
    "identify type": (
        lambda: mmaproof.identify(lambda a, b, c: c.astype(np.float64), "f32.f16.f16.f32", 4),
        "returned an array of float64 is not of the format fp32",
    ),
    "identify shape": (
        lambda: mmaproof.identify(lambda a, b, c: c[:1], "f32.f16.f16.f32", 4),
        "returned an array of shape (1,)",
    ),
    "nets": (lambda: mmaproof.differing_nets(find_design(VOLTA), VOLTA, ONE), "is not a netlist"),
    "rtl": (lambda: mmaproof.read_rtl("nowhere.toml"), "nowhere.toml"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input_is_said_in_a_line(name):
    call, said = BAD[name]
    with pytest.raises((mmaproof.MmaproofError, ValueError)) as found:
        call()
    text = str(found.value)
    assert said in text
    assert "\n" not in text


def test_a_unit_of_rtl_is_read_run_and_followed_net_by_net(tmp_path):
    pytest.importorskip("pyosys", reason="Yosys is not installed: pip install 'mmaproof[rtl]'")
    read, meant = mmaproof.read_rtl(write_unit(tmp_path, WRONG), DESIGN)
    assert meant == find_design(DESIGN)
    assert repr(read) == f"<{read.design.name}: module dot, {read.report.cells} cells>"
    witness = Operands((3, 0xB), (2, 6), 7)
    nets = mmaproof.differing_nets(read.design, meant, witness)
    assert nets == mmaproof.differing_nets(read.design, DESIGN, witness)
    assert nets[0].net == "second"
    assert nets[-1].returned == mmaproof.evaluate(read.design, witness)
    ran = mmaproof.run_sources(read, witness)
    assert ran.d == nets[-1].returned if ran.reason is None else "install" in ran.reason
