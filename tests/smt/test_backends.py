"""Which backend computes: what was asked for, or what costs least."""

import logging
import sys

import numpy as np
import pytest
from support.native import needs_native
from support.waiting import LONG

from mmaproof import dot, matmul
from mmaproof.designs.catalogue import find_design
from mmaproof.designs.errors import InputError, TargetUnavailable
from mmaproof.smt import backends
from mmaproof.smt import evaluate as module
from mmaproof.smt.backends import Backend, wanted_backend, wanting
from mmaproof.smt.evaluate import evaluate_batch
from mmaproof.smt.native import compiler, kernels, matrices, paying
from mmaproof.smt.native.lowering import lower
from mmaproof.verification.distributions import draw

VOLTA = find_design("volta/mma.m8n8k4.f32.f16.f16.f32")


@pytest.fixture(autouse=True)
def accounts(monkeypatch):
    monkeypatch.setattr(paying, "_accounts", {})
    monkeypatch.setattr(kernels, "_loaded", {})
    monkeypatch.setattr(matrices, "_loaded", {})
    monkeypatch.delenv("MMAPROOF_BACKEND", raising=False)


@pytest.fixture
def used(monkeypatch) -> list[str]:
    """Which backends computed, in order."""
    calls: list[str] = []

    def watched(name, right):
        return lambda *a, **k: (calls.append(name), right(*a, **k))[1]

    monkeypatch.setattr(module, "evaluate_on_arrays", watched("arrays", module.evaluate_on_arrays))
    monkeypatch.setattr(module, "evaluate", watched("integers", module.evaluate))
    monkeypatch.setattr(kernels, "evaluate_natively", watched("native", kernels.evaluate_natively))
    return calls


def rows(count: int):
    return draw("normal", VOLTA, count, VOLTA.k, np.random.default_rng(0))


@needs_native
@pytest.mark.parametrize("backend", Backend)
def test_the_backend_that_is_wanted_computes(monkeypatch, used, backend):
    expected = evaluate_batch(VOLTA, rows(20), backend=Backend.ARRAYS)
    used.clear()
    assert (evaluate_batch(VOLTA, rows(20), backend=backend) == expected).all()
    assert set(used) == {backend.value}
    used.clear()
    monkeypatch.setenv("MMAPROOF_BACKEND", backend.value)
    assert (evaluate_batch(VOLTA, rows(20)) == expected).all()
    assert set(used) == {backend.value}


@needs_native
@pytest.mark.parametrize("backend", Backend)
def test_products_and_dots_by_every_backend(backend):
    rng = np.random.default_rng(0)
    a, b = rng.standard_normal((3, 8)).astype(np.float16), rng.standard_normal((8, 4)).astype(np.float16)
    expected = matmul(VOLTA, a, b, backend=Backend.ARRAYS)
    assert (matmul(VOLTA, a, b, backend=backend) == expected).all()
    assert (dot(VOLTA, a[:, None], b.T[None], np.float32(0), backend=backend) == expected).all()
    assert (matmul(VOLTA, a, b, backend=backend.value) == expected).all()
    for call in (matmul, lambda *x, backend: dot(VOLTA, a, a, np.float32(0), backend=backend)):
        with pytest.raises(InputError, match="'fast' is not a backend"):
            call(VOLTA, a, b, backend="fast")


@needs_native
def test_dots_and_products_are_computed_by_the_backend_that_is_wanted(used):
    a = np.ones((2, 4), np.float16)
    for backend in (Backend.NATIVE, Backend.INTEGERS):
        used.clear()
        dot(VOLTA, a, a, np.float32(0), backend=backend)
        assert set(used) == {backend.value}
    used.clear()
    matmul(VOLTA, a, a.T, backend=Backend.INTEGERS)
    assert set(used) == {"integers"}


@pytest.mark.few(1)
@needs_native
@pytest.mark.parametrize("backend", Backend)
def test_products_and_dots_with_scales_by_every_backend(backend):
    design = find_design("blackwell/tcgen05.mma.m128n8k64.block16.f32.e2m1.e2m1.ue4m3")
    rng = np.random.default_rng(0)
    a, b = rng.integers(0, 16, (3, 128), dtype=np.uint8), rng.integers(0, 16, (128, 2), dtype=np.uint8)
    scale_a, scale_b = rng.integers(40, 70, (3, 8), dtype=np.uint8), rng.integers(30, 80, (8, 2), dtype=np.uint8)
    c = rng.standard_normal((3, 2)).astype(np.float32)
    expected = matmul(design, a, b, c, scale_a, scale_b, backend=Backend.ARRAYS)
    assert (matmul(design, a, b, c, scale_a, scale_b, backend=backend) == expected).all()
    found = dot(design, a[:, None], b.T[None], c, scale_a[:, None], scale_b.T[None], backend=backend)
    assert (found == expected).all()
    singly = [
        [dot(design, a[i], b[:, j], c[i, j], scale_a[i], scale_b[:, j], backend=Backend.INTEGERS) for j in range(2)]
        for i in range(3)
    ]
    assert (np.array(singly) == expected).all()


def test_an_unknown_backend_is_refused(monkeypatch):
    monkeypatch.setenv("MMAPROOF_BACKEND", "gpu")
    with pytest.raises(InputError, match=r"'gpu' is not a backend: one of integers, arrays, native, or none"):
        wanted_backend()
    with pytest.raises(InputError, match="not a backend"):
        evaluate_batch(VOLTA, rows(1))


def test_what_is_wanted_holds_for_a_while(monkeypatch):
    monkeypatch.setenv("MMAPROOF_BACKEND", "arrays")
    with wanting("integers"):
        assert wanted_backend() is Backend.INTEGERS
        with wanting(None):
            assert wanted_backend() is Backend.INTEGERS
    assert wanted_backend() is Backend.ARRAYS
    with pytest.raises(InputError, match="backend = 'gpu'"), wanting("gpu"):
        pass


def test_without_llvmlite_arrays_compute_and_native_code_says_what_to_install(monkeypatch, used):
    monkeypatch.setattr(compiler, "missing", lambda: "llvmlite is not installed: pip install 'mmaproof[native]'")
    monkeypatch.setattr(paying, "missing", compiler.missing)
    compiler._llvm.cache_clear()
    compiler.processor.cache_clear()
    evaluate_batch(VOLTA, rows(100_000))
    assert set(used) == {"arrays"}
    with pytest.raises(TargetUnavailable, match=r"pip install 'mmaproof\[native\]'"):
        evaluate_batch(VOLTA, rows(10), backend=Backend.NATIVE)
    assert matmul(VOLTA, np.zeros((2, 4), np.float16), np.zeros((4, 2), np.float16)).shape == (2, 2)


@needs_native
def test_few_rows_are_not_worth_a_compilation_and_many_are(used):
    evaluate_batch(VOLTA, rows(100))
    assert set(used) == {"arrays"}
    used.clear()
    evaluate_batch(VOLTA, rows(2_000_000))
    assert used[-1] == "native"


@needs_native
def test_what_arrays_took_so_far_counts(used, monkeypatch):
    monkeypatch.setattr(paying, "compile_seconds", lambda nodes: 0.02)
    monkeypatch.setattr(paying, "LOAD_SECONDS", 0.0)
    monkeypatch.setenv("MMAPROOF_CACHE", "")
    for _ in range(1000):
        evaluate_batch(VOLTA, rows(500))
        if "native" in used:
            break
    assert used[0] == "arrays"
    assert used[-1] == "native"
    used.clear()
    evaluate_batch(VOLTA, rows(1))
    assert used == ["native"]


@needs_native
@pytest.mark.parametrize("on_arrays", [0, 1, 3, 9])
def test_native_code_takes_over_the_rows_that_are_left(used, monkeypatch, on_arrays):
    asked = []
    monkeypatch.setattr(module, "CHUNK_ROWS", 100)
    monkeypatch.setattr(paying, "pays", lambda _, length, rows: (asked.append(rows), len(asked) > on_arrays)[1])
    batch = rows(450)
    expected = evaluate_batch(VOLTA, batch, backend=Backend.ARRAYS)
    used.clear()
    assert (evaluate_batch(VOLTA, batch) == expected).all()
    assert used == ["arrays"] * min(on_arrays, 5) + ["native"] * (on_arrays < 5)
    assert asked == [450, 350, 250, 150, 50][: on_arrays + 1]


@needs_native
def test_a_design_without_native_code_is_not_tried_again(monkeypatch, used):
    design = find_design("cdna1/v_mfma_f32_32x32x8f16")
    batch = draw("normal", design, 300, design.k, np.random.default_rng(0))
    monkeypatch.setattr(paying, "FIRST_GUESS", 1.0)
    expected = evaluate_batch(design, batch, backend=Backend.ARRAYS)
    used.clear()
    lowered = []
    monkeypatch.setattr(paying, "lower", lambda *a, **k: (lowered.append(1), lower(*a, **k))[1])
    for _ in range(2):
        assert (evaluate_batch(design, batch) == expected).all()
    assert (used, lowered) == (["arrays", "arrays"], [1])
    with pytest.raises(
        InputError, match="has no native code: a number needs .* more than 128 bits: leave the backend open"
    ):
        evaluate_batch(design, batch, backend=Backend.NATIVE)


@needs_native
def test_where_the_environment_wants_native_code_arrays_compute_what_has_none_and_a_note_says_so(monkeypatch, caplog):
    design = find_design("cdna1/v_mfma_f32_32x32x8f16")
    batch = draw("normal", design, 30, design.k, np.random.default_rng(0))
    monkeypatch.setenv("MMAPROOF_BACKEND", "native")
    monkeypatch.setattr(backends, "_noted", set())
    with caplog.at_level(logging.WARNING, "mmaproof"):
        for _ in range(2):
            assert (evaluate_batch(design, batch) == evaluate_batch(design, batch, backend="arrays")).all()
        zeros = np.zeros((2, 8), np.float16)
        assert (matmul(design, zeros, zeros.T) == 0).all()
        assert dot(design, zeros[0], zeros[0], np.float32(0)) == 0
    assert [r.getMessage() for r in caplog.records] == [
        f"note: {design.name} has no native code: a number needs 278 bits, and there are no words of more than 128 "
        "bits; arrays compute it"
    ]


@pytest.mark.middle
@needs_native
def test_llvm_is_loaded_only_where_it_may_pay():
    script = (
        "import sys, numpy as np\n"
        "from mmaproof import evaluate_batch, find_design\n"
        "from mmaproof.verification.distributions import draw\n"
        "d = find_design('volta/mma.m8n8k4.f32.f16.f16.f32')\n"
        "evaluate_batch(d, draw('normal', d, 50, 4, np.random.default_rng(0)))\n"
        "sys.exit('llvmlite.binding' in sys.modules)\n"
    )
    import subprocess

    assert subprocess.run([sys.executable, "-c", script], timeout=LONG, check=False).returncode == 0
