"""Matrix products by native code are what arrays compute, bit for bit."""

import dataclasses

import numpy as np
import pytest
from support.native import needs_native
from support.sampling import distinct_designs, first_of_each_family, others_are_slow
from support.variations import VARIED, random_design

from mmaproof import matmul
from mmaproof.designs.catalogue import find_design
from mmaproof.designs.design import Design
from mmaproof.designs.errors import DesignError, InputError
from mmaproof.designs.formats import FORMATS
from mmaproof.designs.operands import array_of, patterns_of
from mmaproof.smt.algebra.code import TooWideError
from mmaproof.smt.backends import Backend
from mmaproof.smt.native import matrices, panels
from mmaproof.smt.native.compiler import MiscompiledError
from mmaproof.smt.native.lowering import lower
from mmaproof.smt.native.matrices import Matrices, is_special, multiply_natively
from mmaproof.verification.distributions import BASIC, draw

pytestmark = needs_native
DESIGNS = distinct_designs()
HOPPER = "hopper/wgmma.f32.f16.f16"
SEEDS = [pytest.param(x, marks=pytest.mark.slow if x else pytest.mark.middle) for x in range(12)]
SHAPES = ((1, 1), (3, 5), (17, 150), (70, 40))


def drawn(design: Design, distribution: str, m: int, n: int, k: int, seed: int = 0) -> Matrices:
    rng = np.random.default_rng(seed)
    rows = draw(distribution, design, max(m, n), k, rng)
    c = draw(distribution, design, m * n, design.k, rng).c.reshape(m, n)
    scales = (None if rows.scale_a is None else rows.scale_a[:m], None if rows.scale_b is None else rows.scale_b[:n].T)
    return Matrices(rows.a[:m], rows.b[:n].T, c, *scales)


def differing(design: Design, given: Matrices, jobs: int = 1) -> int:
    """Elements in which native code and arrays differ; none where the design's numbers are too wide for it."""
    try:
        lower(design)
    except TooWideError:
        return 0
    a, b, c, _ = design.formats
    typed = [array_of(x, fmt) for x, fmt in ((given.a, a), (given.b, b), (given.c, c))]
    if design.scale_format is not None:
        typed += [array_of(np.ascontiguousarray(x), design.scale_format) for x in (given.scale_a, given.scale_b)]
    native, arrays = (
        patterns_of(matmul(design, *typed, backend=x, jobs=jobs), design.d_format)
        for x in (Backend.NATIVE, Backend.ARRAYS)
    )
    return int((native != arrays).sum())


@pytest.mark.middle
@pytest.mark.slow_values("cpu/tdpfp16ps.m16n16k32.f32.f16.f16.f32", "vortex/tfr.wmma.m16n16k64.f32.e4m3.e4m3.f32")
@pytest.mark.parametrize("design", others_are_slow(DESIGNS))
def test_every_arithmetic(design):
    for i, distribution in enumerate(BASIC):
        m, n = SHAPES[i % len(SHAPES)]
        assert differing(design, drawn(design, distribution, m, n, design.k * (1 + i % 3)), jobs=1 + i % 2) == 0


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("family", VARIED)
def test_any_combination_of_parameters(family, seed):
    design = random_design(family, seed)
    for distribution in ("normal", "edges", "with-zeros", "uniform-bits"):
        assert differing(design, drawn(design, distribution, 6, 20, design.k * 2, seed)) == 0


@pytest.mark.middle
@pytest.mark.parametrize("settings", ["", "@chain_infinity=finite"])
def test_infinities_between_instructions(settings):
    design = find_design("ampere/f16.f16.f16.f16" + settings)
    for distribution in ("uniform-bits", "edges"):
        assert differing(design, drawn(design, distribution, 20, 33, design.k * 4)) == 0
    large = Matrices(*(np.full(shape, 0x7800, np.uint16) for shape in ((4, 64), (64, 4))), np.zeros((4, 4), np.uint16))
    assert differing(design, large) == 0


def test_an_infinity_that_the_next_instruction_hides():
    design = find_design("ampere/f16.f16.f16.f16@chain_infinity=finite")
    a, b = np.zeros((2, 3 * design.k), np.uint16), np.full((3 * design.k, 2), 0x3C00, np.uint16)
    a[:, : design.k] = 0x7800  # overflows
    a[1, design.k] = 0xFC00
    given = Matrices(a, b, np.zeros((2, 2), np.uint16))
    assert differing(design, given) == 0
    assert multiply_natively(design, given).tolist() == [[0x7C00] * 2, [0xFC00] * 2]


def test_c_of_another_format_than_d():
    design = find_design("volta/mma.m8n8k4.f32.f16.f16.f16")
    assert design.c_format is not design.d_format
    for distribution in BASIC:
        assert differing(design, drawn(design, distribution, 20, 18, design.k * 3)) == 0


@pytest.mark.middle
@pytest.mark.parametrize("name", [HOPPER, "ue4m3", "ue8m0"])
def test_products_shorter_than_an_instruction(name):
    design = find_design(name if "/" in name else f"blackwell/tcgen05.mma.m128n8k64.block16.f32.e2m1.e2m1.{name}")
    for k in {design.block or 1, design.k // 2}:
        for distribution in BASIC:
            assert differing(design, drawn(design, distribution, 5, 9, k)) == 0


@pytest.mark.parametrize("seed", [0, *(pytest.param(x, marks=pytest.mark.middle) for x in range(1, 8))])
def test_infinities_and_nans_here_and_there(seed):
    rng = np.random.default_rng(seed)
    design = first_of_each_family(DESIGNS)[seed % 8]
    given = drawn(design, "normal", 150, 200, design.k * 3, seed)
    for operand, fmt in ((given.a, design.a_format), (given.b, design.b_format)):
        special = fmt.infinity if fmt.infinity is not None else fmt.quiet_nan
        if special is not None:
            operand[rng.integers(len(operand), size=3), rng.integers(operand.shape[1], size=3)] = special
    assert differing(design, given, jobs=1 + seed % 3) == 0


@pytest.mark.few(1)
@pytest.mark.parametrize("side", ["a", "b"])
@pytest.mark.parametrize(
    ("name", "nan"),
    [
        ("blackwell/tcgen05.mma.m128n8k64.block16.f32.e2m1.e2m1.ue4m3", 0x7F),
        ("blackwell/tcgen05.mma.m128n8k64.block16.f32.e2m1.e2m1.ue4m3", 0xFF),
        ("blackwell/tcgen05.mma.m128n8k64.block16.f32.e2m1.e2m1.ue8m0", 0xFF),
    ],
)
def test_a_scale_that_is_a_nan(name, nan, side):
    design = find_design(name)
    given = drawn(design, "normal", 80, 40, 2 * design.k)
    given = dataclasses.replace(given, scale_a=given.scale_a & 0x7B, scale_b=given.scale_b & 0x7B)
    (given.scale_a if side == "a" else given.scale_b)[-1, -1] = nan
    assert differing(design, given) == 0
    is_nan = np.zeros((80, 40), dtype=bool)
    is_nan[(-1 if side == "a" else slice(None)), (-1 if side == "b" else slice(None))] = True
    d = multiply_natively(design, given)
    assert ([[design.d_format.is_nan(x) for x in row] for row in d.tolist()] == is_nan).all()


@pytest.mark.few(1)
@pytest.mark.parametrize("side", ["a", "b"])
@pytest.mark.parametrize("formats", ["e5m2.e4m3", "e4m3.e5m2"])
def test_specials_of_two_formats(formats, side):
    design = find_design(f"hopper/wgmma.f32.{formats}")
    given = drawn(design, "normal", 70, 40, design.k)
    (given.a if side == "a" else given.b)[-1, -1] = {"e5m2": 0x7C, "e4m3": 0x7F}[formats.split(".")["ab".index(side)]]
    assert differing(design, given) == 0


@pytest.mark.middle
@pytest.mark.parametrize("where", ["nowhere", "a row", "a column", "both"])
def test_each_kernel_takes_what_is_its_own(monkeypatch, where):
    design = find_design(HOPPER)
    given = drawn(design, "normal", 200, 300, 64)
    if where in ("a row", "both"):
        given.a[130, 40] = 0x7C00
    if where in ("a column", "both"):
        given.b[3, 290] = 0x7E01
    assert differing(design, given) == 0
    used = []
    right = matrices.panel_kernel
    monkeypatch.setattr(
        matrices, "panel_kernel", lambda d, finite, few: (used.append(finite), right(d, finite, few))[1]
    )
    multiply_natively(design, given)
    assert set(used) == ({True} if where == "nowhere" else {True, False})


@pytest.mark.slow_values("cpu/tdpbf16ps.m16n16k32.f32.bf16.bf16.f32")
@pytest.mark.few(3)
@pytest.mark.parametrize("design", first_of_each_family(DESIGNS), ids=lambda x: x.name)
def test_few_rows_of_a_large_matrix(monkeypatch, design):
    """Their kernel unpacks b for each row, and every thread has its own columns, which are not copied."""
    monkeypatch.setattr(matrices, "LARGE", 1)
    monkeypatch.setattr(matrices, "SHARED", 1)
    kernels = []
    right = matrices.panel_kernel
    monkeypatch.setattr(matrices, "panel_kernel", lambda *x: (kernels.append(x[2]), right(*x))[1])
    for distribution in BASIC:
        for m, n in ((1, 1), (3, 70), (32, 33)):
            for jobs in (1, 3):
                assert differing(design, drawn(design, distribution, m, n, 2 * design.k), jobs) == 0
    assert set(kernels) <= {True}
    assert differing(design, drawn(design, "normal", 33, 20, design.k)) == 0
    assert set(kernels) <= {True, False}
    assert not kernels or len(set(kernels)) == 2


@pytest.mark.few(3)
@pytest.mark.parametrize("at", [0, 15, 16, 31, 47])
@pytest.mark.parametrize("side", ["a", "b"])
def test_specials_at_the_ends_of_panels_and_runs(monkeypatch, side, at):
    monkeypatch.setattr(matrices, "WIDEST_PANEL", 16)
    monkeypatch.setattr(matrices, "RUN_ROWS", 16)
    design = find_design(HOPPER)
    given = drawn(design, "normal", 48, 48, design.k)
    if side == "a":
        given.a[at, 3] = 0x7C00
    else:
        given.b[3, at] = 0x7C00
    for jobs in (1, 3):
        assert differing(design, given, jobs) == 0


@pytest.mark.parametrize("m", [1, matrices.FEW_ROWS, matrices.FEW_ROWS + 1])
def test_few_rows(monkeypatch, m):
    """They take one panel of all columns, with infinities and NaNs here and there, and are cut into parts."""
    design = find_design(HOPPER)
    given = drawn(design, "with-zeros", m, 300, design.k * 3)
    given.b[1, 290], given.b[20, 3], given.a[m - 1, 40] = 0x7C00, 0x7E01, 0xFC00
    for at_once in (matrices.FEW_ROWS_BYTES, 1):
        monkeypatch.setattr(matrices, "FEW_ROWS_BYTES", at_once)
        for jobs in (1, 2):
            assert differing(design, given, jobs) == 0


def test_work_is_shared_by_threads_and_cut_into_parts(monkeypatch):
    design = find_design(HOPPER)
    given = drawn(design, "with-zeros", 300, 290, 128)
    whole = multiply_natively(design, given)
    monkeypatch.setattr(matrices, "UNPACKED_BYTES", 1)
    monkeypatch.setattr(matrices, "PANEL_BYTES", 1)
    for jobs in (1, 2, 5):
        assert (multiply_natively(design, given, jobs) == whole).all()


@pytest.mark.parametrize("shape", [(0, 4), (4, 0), (0, 0)])
def test_empty_products(shape):
    design = find_design(HOPPER)
    m, n = shape
    d = matmul(design, np.zeros((m, 16), np.float16), np.zeros((16, n), np.float16), backend=Backend.NATIVE)
    assert d.shape == shape


@pytest.mark.parametrize("side", [40, 48])
def test_operands_may_lie_anywhere_in_memory(side):
    rng = np.random.default_rng(0)
    a, b = (rng.standard_normal((side, 32)).astype(np.float16) for _ in "ab")
    c = rng.standard_normal((side, side)).astype(np.float32)
    for operands in ((a[::-1], b.T, c.T), (np.asfortranarray(a), b.T[:, ::-1], c[::-1, ::-1])):
        expected = matmul(HOPPER, *(x.copy() for x in operands), backend=Backend.ARRAYS)
        assert (matmul(HOPPER, *operands, backend=Backend.NATIVE) == expected).all()


def test_operands_are_left_as_they_are():
    design = find_design(HOPPER)
    given = drawn(design, "normal", 32, 48, design.k * 2)
    operands = [np.ascontiguousarray(x) for x in (given.a, given.b, given.c)]
    before = [x.copy() for x in operands]
    multiply_natively(design, Matrices(*operands))
    assert all((x == y).all() for x, y in zip(operands, before, strict=True))


def test_bad_input():
    a = np.zeros((4, 32), np.float16)
    for backend in (Backend.NATIVE, Backend.ARRAYS):
        for jobs in (0, 1.5, None, "2"):
            with pytest.raises(InputError, match=f"jobs = {jobs!r}: a number of threads"):
                matmul(HOPPER, a, a.T, jobs=jobs, backend=backend)
        with pytest.raises(InputError, match="a: a masked array"):
            matmul(HOPPER, np.ma.masked_array(a), a.T, backend=backend)
        with pytest.raises(DesignError, match="multiple of"):
            matmul(HOPPER, a[:, :17], a.T[:17], backend=backend)
        with pytest.raises(InputError, match="float32"):
            matmul(HOPPER, a.astype(np.float32), a.T, backend=backend)
    wide = np.zeros((4, 8), np.float16)
    with pytest.raises(InputError, match="more than 128 bits: leave the backend open"):
        matmul("cdna1/v_mfma_f32_32x32x8f16", wide, wide.T, backend=Backend.NATIVE)
    assert (matmul("cdna1/v_mfma_f32_32x32x8f16", wide, wide.T) == 0).all()


@pytest.mark.parametrize(
    "fmt", [f for f in FORMATS.values() if f.bits <= 16 and not f.is_integer], ids=lambda f: f.name
)
def test_specials_are_infinities_and_nans(fmt):
    patterns = np.arange(1 << fmt.bits).astype(np.uint16 if fmt.bits > 8 else np.uint8)
    infinities = {fmt.infinity, None if fmt.infinity is None else fmt.infinity | 1 << fmt.sign_position}
    expected = [fmt.is_nan(x) or x in infinities for x in patterns.tolist()]
    assert is_special(fmt, patterns).tolist() == expected


def test_code_that_is_wrong_is_found_before_it_is_used(monkeypatch):
    monkeypatch.setattr(panels, "OF_B", ("b",))
    monkeypatch.setattr(matrices, "_loaded", {})
    monkeypatch.setenv("MMAPROOF_CACHE", "")
    right = panels._read
    monkeypatch.setattr(panels, "_read", lambda w, n, x: right(w, n, w.splat(1, 8 * panels.kept_bytes(n))))
    design = find_design(HOPPER)
    with pytest.raises(MiscompiledError, match="matrices"):
        multiply_natively(design, drawn(design, "normal", 4, 4, 16))


@pytest.mark.parametrize("name", [HOPPER, "ampere/mma.m16n8k16.s32.s8.s8.s32", "volta/mma.m8n8k4.f32.f16.f16.f16"])
def test_a_product_leaves_the_kernel_that_the_next_one_needs(monkeypatch, tmp_path, name):
    monkeypatch.setattr(matrices, "_loaded", {})
    monkeypatch.setenv("MMAPROOF_CACHE", str(tmp_path))
    design = find_design(name)
    assert not matrices.is_loaded(design)
    assert not matrices.is_kept(design)
    multiply_natively(design, drawn(design, "normal", 4, 4, design.k * 2))
    assert matrices.is_loaded(design)
    assert matrices.is_kept(design)
