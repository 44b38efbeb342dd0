"""`mmaproof gemm identify`: what is printed, and the exit status, for kernels that are found, are none, or fail."""

import json

import numpy as np
import pytest

from mmaproof.gemm.programs import read_plan
from mmaproof.gemm.programs.evaluate import multiply_plan

FMA = "cpu/vfmadd231ps.m1n1k1.f32.f32.f32.f32"
MODULE = """
import numpy as np

from mmaproof.gemm.programs import read_plan

CALLS = []


def of(text):
    plan = read_plan(text)
    return lambda a, b: multiply_plan(plan, a.view(np.uint32), b.view(np.uint32)).view(np.float32)


promoted = of("cpu/vfmadd231ps | promote=8")
plain = of("cpu/vfmadd231ps")


def rounded(a, b):
    products = ((a[:, k, None] * b[None, k]).astype(np.float16) for k in range(a.shape[1]))
    return sum((x.astype(np.float32) for x in products), np.zeros((len(a), b.shape[1]), np.float32))


def sometimes(a, b):
    CALLS.append(1)
    return (rounded if len(CALLS) % 2 else plain)(a, b)


def raises(a, b):
    raise RuntimeError("no kernel")


def doubles(a, b):
    return a.astype(float) @ b
"""
SHAPE = ["--m", "8", "--n", "8", "--k", "16"]


@pytest.fixture(autouse=True)
def module(tmp_path, monkeypatch):
    (tmp_path / "kernels_of_a_test.py").write_text(MODULE)
    monkeypatch.syspath_prepend(str(tmp_path))


def identify(run, name, *options):
    return run("gemm", "identify", f"python:kernels_of_a_test:{name}", *SHAPE, "--validate", "500", *options)


@pytest.mark.slow
def test_a_kernel_that_is_found(run):
    status, output, _ = identify(run, "promoted")
    assert status == 0
    assert "8 x 8 x 16, f32.f32.f32" in output
    assert "adds k = 0..7 + (8..15)" in output
    assert f"is {FMA} | promote=8" in " ".join(output.split())
    assert "outputs of fresh operands" in output


@pytest.mark.slow
def test_a_kernel_that_is_found_as_json(run):
    status, output, _ = identify(run, "promoted", "--json")
    record = json.loads(output)
    assert (status, record["identified"]) == (0, True)
    (finding,) = record["findings"]
    assert finding["plan"] == f"{FMA} | promote=8"
    assert finding["tree"] == "0..7 + (8..15)"


def test_a_kernel_that_is_no_plan(run):
    status, output, _ = identify(run, "rounded")
    assert status == 1
    assert "adds k = 0..15" in output
    assert "no plan was found that agrees" in output
    assert "the nearest: " in output
    assert "returned, " in output


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("name", "status", "message"),
    [
        ("sometimes", 3, "answers the same operands differently"),
        ("raises", 3, "raised RuntimeError: no kernel"),
        ("doubles", 2, "an array of float64 is not of the format fp32"),
        ("nothing", 2, "has no nothing"),
    ],
)
def test_kernels_that_fail(run, name, status, message):
    found, _, errors = identify(run, name)
    assert found == status
    assert message in " ".join(errors.split())


@pytest.mark.slow
def test_a_recorded_product(run, tmp_path):
    import kernels_of_a_test

    rng = np.random.default_rng(0)
    a, b = (rng.standard_normal(shape).astype(np.float32) for shape in ((8, 32), (32, 8)))
    names = [str(tmp_path / f"{x}.npy") for x in "abd"]
    for name, x in zip(names, (a, b, kernels_of_a_test.plain(a, b)), strict=True):
        np.save(name, x)
    status, output, _ = run("gemm", "identify", f"files:{','.join(names)}", "--timeout", "3s")
    assert status == 3
    assert f"reproduces every element: {FMA}" in " ".join(output.split())
    status, _, errors = run("gemm", "identify", f"files:{','.join(names)}", "--m", "9")
    assert status == 2
    assert "of m = 8, not 9: leave --m out" in " ".join(errors.split())


def test_a_recorded_product_with_scales(run, tmp_path):
    plan, rng = read_plan("blackwell/tcgen05.mma.block32.f32.e4m3.e4m3.ue8m0"), np.random.default_rng(0)
    a, b = (rng.integers(0, 64, shape).astype(np.uint8) for shape in ((4, 64), (64, 6)))
    scales = [rng.integers(124, 130, shape).astype(np.uint8) for shape in ((4, 2), (2, 6))]
    d = multiply_plan(plan, a, b, scale_a=scales[0], scale_b=scales[1]).view(np.float32)
    names = [str(tmp_path / f"{x}.npy") for x in ("a", "b", "d", "scale_a", "scale_b")]
    for name, x in zip(names, (a, b, d, *scales), strict=True):
        np.save(name, x)
    swapped = [str(tmp_path / f"{x}.npy") for x in "pq"]
    for name, x in zip(swapped, reversed(scales), strict=True):
        np.save(name, x)
    interface = "--interface", "f32.e4m3.e4m3.ue8m0"
    given = "--plan", plan.name, "--timeout", "3s"
    status, output, _ = run("gemm", "identify", f"files:{','.join(names)}", *interface, *given)
    assert status == 3
    assert f"reproduces every element: {plan.name}" in " ".join(output.split())
    for target, options, message in (
        (names[:3], interface, "has no scales of ue8m0"),
        (names, ("--interface", "f32.e4m3.e4m3"), "name their format as well"),
        (names[:4], interface, "files:A.npy,B.npy,D.npy is needed"),
        ([*names[:3], *swapped], interface, "(4, blocks) and (blocks, 6) needed"),
    ):
        status, _, errors = run("gemm", "identify", f"files:{','.join(target)}", *options)
        assert status == 2
        assert message in " ".join(errors.split())


def test_the_types_of_a_file_are_its_formats(run, tmp_path):
    plan, rng = read_plan("hopper/wgmma.f32.f16.f16 | split-k=2"), np.random.default_rng(0)
    a, b = (rng.normal(size=shape).astype(np.float16) for shape in ((4, 64), (64, 6)))
    d = multiply_plan(plan, a.view(np.uint16), b.view(np.uint16)).view(np.float32)
    np.savez(tmp_path / "product.npz", a=a, b=b, d=d)
    given = "--plan", plan.name, "--timeout", "3s"
    status, output, _ = run("gemm", "identify", str(tmp_path / "product.npz"), *given)
    assert (status, "f32.f16.f16" in output) == (3, True)
    assert f"reproduces every element: {plan.name}" in " ".join(output.split())


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ([], "give --m, --n and --k"),
        ([*SHAPE, "--interface", "f32.f32"], "formats of D, A and B"),
        ([*SHAPE, "--interface", "f32.e4m3.e4m3.ue8m0"], "record a product with its scales"),
        ([*SHAPE, "--interface", "f32.f99.f32"], "unknown format 'f99'"),
        ([*SHAPE, "--interface", "f32.s8.s8"], "integers and floating-point numbers do not mix"),
        ([*SHAPE, "--plan", "nothing"], "nothing"),
    ],
)
def test_bad_input(run, options, message):
    status, _, errors = run("gemm", "identify", "python:numpy:matmul", *options)
    assert status == 2
    assert message in " ".join(errors.split())
