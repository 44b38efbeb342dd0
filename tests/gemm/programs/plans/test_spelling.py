"""Plans are spelled, read back, and refused where they say something that cannot be."""

from pathlib import Path

import pytest
from reference.plans import PLANS

from mmaproof.designs.catalogue import find_design
from mmaproof.designs.errors import DesignError, InputError
from mmaproof.designs.formats import FORMATS
from mmaproof.gemm.programs import KEYS, Plan, read_plan
from mmaproof.gemm.programs.spelling import load_presets, rounded_constants

WGMMA = "hopper/wgmma.f32.e4m3.e4m3"


@pytest.mark.few(14)
@pytest.mark.parametrize(
    "text",
    [
        *PLANS,
        f"{WGMMA} | promote=128:fp32:rz",
        f"{WGMMA} | split-k=3:any:bf16 | c=none",
        f"{WGMMA} | promote=128 | promote=512:fp64",
        f"{WGMMA} | out=bf16:rne:flush",
        f"{WGMMA} | out=fp16:rz:flush",
        f"{WGMMA} | promote=128:fp32:rz:flush",
        f"{WGMMA} | split-k=2:tree:fp32:rne:flush",
        f"{WGMMA} | split-k=4:tree:bf16>fp32 | c=last | alpha=1/2048 | out=e4m3:rne",
        "volta/f32.f16.f16.f32 | algorithm=markidis@scale=0 | tile=16 | order=reversed",
        "ampere/mma.m8n8k4.f64.f64.f64.f64 | split-k=2",
    ],
)
def test_name_reads_back(text: str) -> None:
    plan = read_plan(text)
    assert read_plan(plan.name) == plan
    assert read_plan(plan.name).name == plan.name


def test_plan_without_settings_is_the_unit() -> None:
    plan = read_plan(WGMMA)
    assert plan == Plan(find_design(WGMMA))
    assert plan.name == find_design(WGMMA).name
    assert str(plan.schedule(64)) == "v0 = c (fp32)\nv1 = hopper/wgmma.m64n8k32.f32.e4m3.e4m3 (k = 0..63; v0)"


def test_schedule_lists_every_operation() -> None:
    schedule = read_plan("volta/f32.f16.f16.f32 | split-k=2:tree | c=last:fp16 | alpha=2 | out=fp16").schedule(16)
    unit = "volta/mma.m8n8k4.f32.f16.f16.f32"
    assert str(schedule).splitlines() == [
        "v0 = c (fp16)",
        "v1 = +0 (fp32)",
        f"v2 = {unit} (k = 0..7; v1)",
        f"v3 = {unit} (k = 8..15; v1)",
        "v4 = v2 + v3 (fp32, rne)",
        "v5 = v0 to fp32 (rne)",
        "v6 = v4 * 0x40000000 + v5 (fp32, rounded once)",
        "v7 = v6 to fp16 (rne)",
    ]


def test_toml_file_is_the_same_plan(tmp_path: Path) -> None:
    file = tmp_path / "plan.toml"
    file.write_text(f'unit = "{WGMMA}"\npromote = [128, "512:fp64"]\nsplit-k = "4:tree"\nout = "bf16"\n')
    expected = read_plan(f"{WGMMA} | promote=128 | promote=512:fp64 | split-k=4:tree | out=bf16")
    assert read_plan(file) == expected
    assert read_plan(str(file)) == expected
    file.write_text('preset = "cublas/single-pass"\nout = "bf16"\n')
    assert read_plan(file) == read_plan("cublas/single-pass | out=bf16")


@pytest.mark.parametrize(
    ("content", "what"),
    [
        ("promote = 128", "a plan names a unit"),
        ("unit = ", "plan.toml: not TOML: Invalid value"),
        (f'unit = "{WGMMA}"\npromot = 128', "unknown key 'promot'.*did you mean promote"),
        (f'unit = "{WGMMA}"\nalpha = true', "a text or a number"),
        ('unit = "hopper/none"', "no instruction 'none'"),
    ],
)
def test_bad_file_is_refused_with_its_name(tmp_path: Path, content: str, what: str) -> None:
    file = tmp_path / "plan.toml"
    file.write_text(content)
    with pytest.raises(InputError, match=what) as error:
        read_plan(file)
    assert str(error.value).startswith(str(file))
    with pytest.raises(InputError, match="cannot be read"):
        read_plan(tmp_path / "absent.toml")


@pytest.mark.few(14)
@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("promote=128", r"names no unit: .* UNIT \| promote=128"),
        ("hopper/wgmma.f32.e4m3.e4m4", "no instruction"),
        (f"{WGMMA} | promote", "'promote' is not a setting"),
        (f"{WGMMA} | splitk=4", "unknown key 'splitk'"),
        (f"{WGMMA} | tile=32 | tile=64", "tile is given twice"),
        (f"{WGMMA} | unit={WGMMA}", "the unit is given twice"),
        (f"{WGMMA} | promote=0", "promote=0 is not allowed"),
        (f"{WGMMA} | promote=128:fp33", "promote=128:fp33: unknown format 'fp33'"),
        (f"{WGMMA} | split-k=4:up", "split-k=4:up is not allowed"),
        (f"{WGMMA} | split-k=4:tree:fp32:rne:x", "is not allowed"),
        (f"{WGMMA} | rescale=64", "rescale=64 is not allowed"),
        (f"{WGMMA} | alpha=1e9999", "alpha=1e9999 is not allowed"),
        (f"{WGMMA} | c=last | alpha=1e39", "alpha=1e39 is not allowed"),
        (f"{WGMMA} | c=last | alpha=0x7fc00000", "alpha=0x7fc00000 is not allowed"),
        (f"{WGMMA} | c=last | alpha=0x100000000", "is not allowed"),
        (f"{WGMMA} | c=middle", "c=middle is not allowed"),
        (f"{WGMMA} | c=none:fp32", "is not allowed"),
        (f"{WGMMA} | out=fp32:up", "is not allowed"),
        (f"{WGMMA} | tile=48", "tile = 48 is not a multiple of the instruction's K = 32"),
        (f"{WGMMA} | alpha=2", "c=last or c=none"),
        (f"{WGMMA} | c=none | beta=2", "beta and a format of c have no effect"),
        (f"{WGMMA} | promote=32:int32", "adds in integers"),
        (f"{WGMMA} | split-k=4:tree:fp32/bf16", "keeps no running sum: leave out /bf16"),
        (f"{WGMMA} | out=int8", "c and d are floating-point"),
        ("turing/mma.m8n8k16.s32.s8.s8.s32 | promote=32:fp32", "its sums are int32"),
        (f"{WGMMA} | order=mod4:01", "each residue"),
    ],
)
def test_plan_that_cannot_be_is_refused(text: str, what: str) -> None:
    with pytest.raises(InputError, match=what):
        read_plan(text)


@pytest.mark.parametrize(
    ("text", "k", "what"),
    [
        (f"{WGMMA} | tile=64", 96, "k = 96 is not a multiple of the plan's K of a tile, 64: choose 64 or 128"),
        (f"{WGMMA} | promote=48", 96, "a part of 48 elements is not a multiple of the instruction's K = 32"),
        (f"{WGMMA} | promote=16", 64, "a part of 16 elements is shorter than the instruction's K = 32"),
        (f"{WGMMA} | stream-k=32.32", 128, r"stream-k=32.32 does not fit k = 128: .* 64 in all, and there are 128"),
        (f"{WGMMA} | split-k=2:1.0.2", 128, "the order 1.0.2 is of 3 parts, and there are 2"),
        (WGMMA, 0, "k = 0"),
        (WGMMA, 1 << 22, "K from 1 to"),
    ],
)
def test_k_that_does_not_fit_is_refused(text: str, k: int, what: str) -> None:
    with pytest.raises(DesignError, match=what):
        read_plan(text).schedule(k)


def test_below_one_instruction_elements_of_zero_fill_up() -> None:
    assert [x.ks for x in read_plan(WGMMA).schedule(8).calls] == [tuple(range(8))]


@pytest.mark.parametrize("name", load_presets())
def test_preset_can_be_computed_and_has_a_source(name: str) -> None:
    preset, plan = load_presets()[name], read_plan(name)
    assert preset.what
    assert preset.source and preset.library
    assert preset.version or preset.file
    assert plan.preset == name
    assert read_plan(plan.name) == plan


def test_settings_take_the_place_of_those_of_a_preset() -> None:
    plan = read_plan("cublas/single-pass | out=bf16 | unit=ampere/mma.m16n8k16.f32.bf16.bf16.f32")
    assert (plan.unit.architecture, plan.formats[3].name) == ("ampere", "bf16")


def test_every_key_says_what_it_means() -> None:
    for name, key in KEYS.items():
        assert key.meaning, name
        assert key.values, name
        assert key.default, name
        assert key.source, name


@pytest.mark.parametrize(
    ("text", "pattern"),
    [
        ("0.1", 0x3DCCCCCD),
        ("-1/3", 0xBEAAAAAB),
        ("16777217", 0x4B800000),
        ("16777219", 0x4B800002),
        ("3.4028235e38", 0x7F7FFFFF),
        ("1e-45", 0x00000001),
        ("1e-46", 0x00000000),
        ("0x3dcccccd", 0x3DCCCCCD),
        ("0x80000001", 0x80000001),
        ("0.5", 0x3F000000),
    ],
)
def test_a_constant_is_the_nearest_number_of_fp32(text: str, pattern: int) -> None:
    plan = read_plan(f"{WGMMA} | c=last | alpha={text}")
    assert FORMATS["fp32"].encode(plan.epilogue.alpha) == pattern
    assert read_plan(plan.name) == plan


def test_a_constant_that_is_rounded_is_said() -> None:
    exact = [("alpha", "0.5"), ("beta", "0x3dcccccd"), ("rescale", "64:0.75,1"), ("tile", "64")]
    assert rounded_constants(exact) == []
    notes = rounded_constants([("alpha", "0.1"), ("rescale", "64:0.5,1/3")])
    assert [x.partition(":")[0] for x in notes] == ["alpha=0.1", "rescale=1/3"]
    assert "0x3dcccccd" in notes[0]


@pytest.mark.parametrize("beta", ["0", "0.0", ".0"])
def test_an_operator_of_onnx_whose_beta_is_zero_has_no_c(beta):
    assert read_plan(f"cpu/vfmadd231ps | onnx=Gemm:beta={beta}") == read_plan("cpu/vfmadd231ps | c=none")
    assert read_plan("cpu/vfmadd231ps | onnx=Gemm:beta=0.5") != read_plan("cpu/vfmadd231ps | c=none")
