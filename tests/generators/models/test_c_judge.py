"""The judge of one unit in C gives the verdicts of the judge in Python, element by element."""

import os
import shutil
import subprocess

import numpy as np
import pytest

import mmaproof
from mmaproof.designs.catalogue import find_design
from mmaproof.designs.errors import DesignError
from mmaproof.designs.operands import pattern_dtype
from mmaproof.gemm.programs import JoinsC
from mmaproof.gemm.programs.named import find_plan
from mmaproof.generators.models.judges import js_judge, make_judge
from mmaproof.verification.distributions import from_float64

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
            source.write_text(make_judge(find_plan(name), None, "0")[1])
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
    ("name", "k"), [(HOPPER, 16), (HOPPER, 48), (HOPPER, 12), (MXFP8, 96), (VOLTA, 4), (VOLTA, 12), (INTEGER, 32)]
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


PLANS = [
    (f"{HOPPER} | split-k=2", 96),
    (f"{HOPPER} | promote=32 | out=bf16", 80),
    (f"{HOPPER} | split-k=3:descending | out=fp16:rz", 144),
    (f"{HOPPER} | sliced-k=2x16:tree:fp16 | out=bf16:rne:flush", 128),
    (f"{HOPPER} | tile=64 | order=mod4:01/23 | alpha=1/3 | beta=-2 | c=last", 128),
    ("cpu/vfmadd231ps | blocks=8x4", 20),
    ("turing/mma.m8n8k16.s32.s8.s8.s32 | split-k=2", 64),
    ("hopper/wgmma.f32.e4m3.e4m3 | promote=64 | c=none", 160),
]
needs_wasm = pytest.mark.skipif(
    not all(map(shutil.which, ("clang", "wasm-ld", "node"))), reason="clang, lld or node is not installed"
)


def run(*command, folder):
    environment = {**os.environ, "ASAN_OPTIONS": "detect_leaks=0"}  # what main holds, it holds until it ends
    told = map(str, command)
    return subprocess.run(list(told), capture_output=True, text=True, check=False, cwd=folder, env=environment)


def compiled(plan, k, folder, *, wasm):
    """Write the judge of a plan into a folder and compile it; return commands that run it, in C and in WebAssembly."""
    _, text = make_judge(plan, None if plan.is_unit else k, "0")
    (folder / "judge.c").write_text(text)
    strict = ["-std=c11", "-O1", "-Wall", "-Wextra", "-Werror", "-Wno-unused-function", "-fsanitize=address,undefined"]
    made = run("cc", *strict, "-o", "judge", "judge.c", folder=folder)
    assert made.returncode == 0, made.stderr
    commands = [(folder / "judge",)]
    if wasm:
        said = text.split("   clang ")[1].split("FILE.c")[0]  # as the file itself says it
        made = run("clang", *said.replace("*", "").replace("\\", "").split(), "judge.c", folder=folder)
        assert made.returncode == 0, made.stderr
        (folder / "judge.mjs").write_text(js_judge(plan.name, plan.formats[3].hex_digits, is_unit=plan.is_unit))
        commands.append(("node", "judge.mjs", "judge.wasm"))
    return commands


def agreed(plan, k, folder, rng, *, wasm):
    """Compare the judges in C and WebAssembly with each other and with Python's on results that are right and wrong."""
    commands = compiled(plan, k, folder, wasm=wasm)
    wide = [pattern_dtype(x) for x in plan.formats]
    reads_c = plan.epilogue.c is not JoinsC.NONE
    for special in (False, True):
        held = []
        for fmt, dtype, shape in zip(plan.formats, wide, ((M, k), (k, N), (M, N)), strict=False):
            patterns = rng.integers(0, 1 << fmt.bits, shape, dtype=np.uint64).astype(dtype)
            held.append(patterns if special or fmt.is_integer else from_float64(fmt, rng.standard_normal(shape)))
        a, b, c = held
        scales = []
        if plan.scale_format is not None:
            blocks = plan.unit.blocks(k)
            scales = [rng.integers(100, 150, s).astype(np.uint8) for s in ((M, blocks), (blocks, N))]
        start = c if reads_c else None
        d = mmaproof.patterns_of(mmaproof.matmul(plan, a, b, start, *scales), plan.formats[3])
        names = ["a", "b", "d", *(["c"] if reads_c else []), *(("sa", "sb") if scales else ())]
        for wrong in (0, 1, 7):
            other = d.copy()
            places = rng.permutation(M * N)[:wrong]
            other.reshape(-1)[places] ^= other.dtype.type(1)
            for name, x in zip(names, [a, b, other, *([c] if reads_c else []), *scales], strict=True):
                np.save(folder / f"{name}.npy", x)
            given = dict(zip(("scale_a", "scale_b"), scales, strict=False))
            asked = mmaproof.judge(other, a, b, start, plans=plan, explain=False, **given)
            told = [run(*command, *(f"{x}.npy" for x in names), folder=folder) for command in commands]
            assert {x.returncode for x in told} == {int(asked.verdict != "exact")} == {int(wrong > 0)}, told
            assert len({x.stdout for x in told}) == 1 and not any(x.stderr for x in told), told
            assert (f"other bits: {wrong} of {M * N} elements" in told[0].stdout) == (wrong > 0)


@pytest.mark.few(3)
@pytest.mark.parametrize(("text", "k"), PLANS)
def test_judges_of_plans_agree_in_c_and_python(tmp_path, text, k):
    agreed(find_plan(text), k, tmp_path, np.random.default_rng(k), wasm=False)


@needs_wasm
@pytest.mark.few(2)
@pytest.mark.parametrize(("text", "k"), [*PLANS, (HOPPER, 48), (HOPPER, 12), (MXFP8, 96), (INTEGER, 32)])
def test_judges_in_webassembly_agree_with_both(tmp_path, text, k):
    plan = find_plan(text)
    agreed(plan, k, tmp_path, np.random.default_rng(k), wasm=True)


@pytest.mark.parametrize(
    ("text", "k", "match"),
    [
        (f"{HOPPER} | split-k=2", None, "give --k"),
        (f"{HOPPER} | split-k=2:any", 64, "not determined"),
        ("ampere/mma.m16n8k8.f32.tf32.tf32.f32 | algorithm=3xtf32", 64, "splits its operands"),
        (f"{HOPPER} | rescale=32:operand", 64, "factors"),
    ],
)
def test_plans_that_are_not_printed_say_why(text, k, match):
    with pytest.raises(DesignError, match=match):
        make_judge(find_plan(text), k, "0")
