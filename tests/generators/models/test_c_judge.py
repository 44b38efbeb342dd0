"""The judge of one unit in C gives the verdicts of the judge in Python, element by element."""

import subprocess

import numpy as np
import pytest

import mmaproof
from mmaproof.designs.catalogue import find_design
from mmaproof.generators.models.c_judge import c_judge
from mmaproof.generators.models.model import make_model

HOPPER = "hopper/wgmma.m64n8k16.f32.f16.f16"
MXFP8 = "blackwell/tcgen05.mma.m128n8k32.block32.f32.e4m3.e4m3.ue8m0"
VOLTA = "volta/mma.m8n8k4.f32.f16.f16.f16"  # d is wider than c
INTEGER = "turing/mma.m8n8k16.s32.s8.s8.s32"
M, N = 5, 7


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    """Return a function that compiles the judge of a design and runs it on the files of a folder."""
    made = {}

    def run(name, folder, *files):
        if name not in made:
            made[name] = tmp_path_factory.mktemp("judge") / "judge"
            source = made[name].with_suffix(".c")
            source.write_text(c_judge(make_model(find_design(name), None, "0")))
            strict = ["-std=c11", "-O1", "-Wall", "-Wextra", "-Wno-unused-function", "-fsanitize=address,undefined"]
            subprocess.run(["cc", *strict, "-o", made[name], source], check=True)
        held = {"env": {"ASAN_OPTIONS": "detect_leaks=0"}, "cwd": folder}  # what main holds, it holds until it ends
        return subprocess.run([made[name], *files], capture_output=True, text=True, check=False, **held)

    return run


def product(name, k, rng):
    """Return patterns of a random product, infinities and NaNs included, and what the unit returns."""
    design = find_design(name)
    a, b, c = (
        rng.integers(0, 1 << fmt.bits, shape, dtype=np.uint64).astype(
            mmaproof.patterns_of(np.zeros(1, np.uint8), fmt).dtype
        )
        for fmt, shape in zip(design.formats, ((M, k), (k, N), (M, N)), strict=False)
    )
    scales = []
    if design.scale_format is not None:
        scales = [rng.integers(100, 150, s).astype(np.uint8) for s in ((M, design.blocks(k)), (design.blocks(k), N))]
    return a, b, c, scales, mmaproof.patterns_of(mmaproof.matmul(name, a, b, c, *scales), design.d_format)


@pytest.mark.parametrize(
    ("name", "k"), [(HOPPER, 16), (HOPPER, 48), (HOPPER, 12), (MXFP8, 96), (VOLTA, 4), (INTEGER, 32)]
)
def test_verdicts_are_those_of_the_judge(program, tmp_path, name, k):
    rng = np.random.default_rng(k)
    a, b, c, scales, d = product(name, k, rng)
    for x, array in zip(("a", "b", "c", "sa", "sb"), (a, b, c, *scales), strict=False):
        np.save(tmp_path / f"{x}.npy", array)
    files = ("a.npy", "b.npy", "d.npy", "c.npy", *(f"{x}.npy" for x in ("sa", "sb")[: len(scales)]))
    given = dict(zip(("scale_a", "scale_b"), scales, strict=False))
    for wrong in (0, 1, 3, M * N):
        other = d.copy()
        places = rng.permutation(M * N)[:wrong]
        other.reshape(-1)[places] ^= other.dtype.type(1) << rng.integers(
            0, find_design(name).d_format.bits, wrong
        ).astype(other.dtype)
        np.save(tmp_path / "d.npy", other)
        told = program(name, tmp_path, *files)
        asked = mmaproof.judge(other, a, b, c, plans=name, explain=False, **given)
        assert told.returncode == (0 if asked.verdict == "exact" else 1), told.stderr
        if not wrong:
            assert told.stdout == f"exact: {name}\n"
            continue
        assert f"other bits: {wrong} of {M * N} elements" in told.stdout
        at = int(places.min())
        digits = find_design(name).d_format.hex_digits
        values = [f"0x{int(x.reshape(-1)[at]):0{digits}x}" for x in (other, d)]
        assert f"first: [{at // N}, {at % N}] is {values[0]}, and the unit returns {values[1]}" in told.stdout


def test_c_may_be_left_out_and_types_of_their_own_are_bits(program, tmp_path):
    rng = np.random.default_rng(0)
    a, b = rng.standard_normal((M, 32)).astype(np.float16), rng.standard_normal((32, N)).astype(np.float16)
    for name, x in (("a", a), ("b", b), ("d", mmaproof.matmul(HOPPER, a, b))):
        np.save(tmp_path / f"{name}.npy", x)
    assert program(HOPPER, tmp_path, "a.npy", "b.npy", "d.npy").returncode == 0


@pytest.mark.parametrize(
    ("name", "array", "text"),
    [
        ("d", np.zeros((M, N), np.float64), "another width"),
        ("d", np.zeros((M, N), ">f4"), "big endian"),
        ("d", np.zeros((N, M), np.float32), "shapes are not"),
        ("d", np.asfortranarray(np.zeros((M, N), np.float32)), "Fortran order"),
        ("d", np.zeros(M, np.float32), "no matrix"),
        ("a", np.zeros((M, 5), np.float16), "shapes are not"),
        ("a", np.zeros((0, 16), np.float16), "no matrix"),
        ("ab", np.zeros((40, 40), np.float16), "not a multiple"),
    ],
)
def test_what_cannot_be_judged_is_refused(program, tmp_path, name, array, text):
    for x, zeros in (
        ("a", np.zeros((M, 16), np.float16)),
        ("b", np.zeros((16, N), np.float16)),
        ("d", np.zeros((M, N), np.float32)),
    ):
        np.save(tmp_path / f"{x}.npy", zeros)
    assert program(HOPPER, tmp_path, "a.npy", "b.npy", "d.npy").returncode == 0
    for x in name:
        np.save(tmp_path / f"{x}.npy", array)
    if name == "ab":
        np.save(tmp_path / "d.npy", np.zeros((40, 40), np.float32))
    told = program(HOPPER, tmp_path, "a.npy", "b.npy", "d.npy")
    assert (told.returncode, told.stdout) == (2, "") and text in told.stderr
    assert program(HOPPER, tmp_path, "a.npy").returncode == 2
    file = tmp_path / "d.npy"
    np.save(file, np.zeros((M, N), np.float32))
    for data in (b"", b"tea", file.read_bytes()[:-1], file.read_bytes() + b"0"):
        file.write_bytes(data)
        assert program(HOPPER, tmp_path, "a.npy", "b.npy", "d.npy").returncode == 2


def test_a_chain_whose_c_is_narrower_than_d_is_refused(program, tmp_path):
    for x, zeros in (
        ("a", np.zeros((M, 8), np.float16)),
        ("b", np.zeros((8, N), np.float16)),
        ("d", np.zeros((M, N), np.float32)),
    ):
        np.save(tmp_path / f"{x}.npy", zeros)
    told = program(VOLTA, tmp_path, "a.npy", "b.npy", "d.npy")
    assert (told.returncode, "is not judged" in told.stderr) == (2, True)
