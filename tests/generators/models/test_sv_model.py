"""The SystemVerilog module passes its bench under two simulators and agrees with the model in C; a wrong one fails."""

import pytest
from support.models import MUTATIONS, mutated, need, run_in, write

from mmaproof.designs.catalogue import find_design
from mmaproof.designs.errors import DesignError
from mmaproof.generators.models.model import make_model, make_self_test
from mmaproof.generators.models.sv_model import sv_files
from mmaproof.smt.algebra.nodes import Op
from mmaproof.smt.native.lowering import continued

VOLTA = "volta/mma.m8n8k4.f32.f16.f16.f16"
DOUBLE = "cpu/vfmadd231pd.m1n1k1.f64.f64.f64.f64"
SATURATING = "cpu/vpdpbusds.m1n1k4.s32.u8.s8.s32"
NVFP4 = "blackwell/tcgen05.mma.m128n8k64.block16.f32.e2m1.e2m1.ue4m3"
FP6 = "rtx-blackwell/mma.m16n8k32.f32.e3m2.e2m3.f32"  # elements of 6 bits
FAMILIES = [
    "hopper/wgmma.m64n8k16.f32.f16.f16",
    NVFP4,
    "blackwell/tcgen05.mma.m128n8k32.block32.f32.e5m2.e5m2.ue8m0",
    "hopper/mma.m16n8k32.f16.e5m2.e4m3.f16",
    FP6,
    "turing/mma.m8n8k32.s32.s4.s4.s32",
    "cdna2/v_mfma_f32_16x16x16f16",
    "cdna3/v_mfma_f32_16x16x32_fp8_bf8",
    "riscv/bulk.m1n1k4.f32.f16.f16.f32",
    "paper/sequential.m1n1k4.f32.f16.f16.f32",
    "paper/tree.m1n1k4.f32.f16.f16.f32",
    "ampere/mma.m8n8k4.f64.f64.f64.f64",
    "cpu/tdpbf16ps.m16n16k32.f32.bf16.bf16.f32",
]


def files_of(name, rows=80):
    model = make_model(find_design(name), None, "0")
    return model, sv_files(model, make_self_test(model, rows, 0))


def simulated(folder, model, files):
    """Run the test bench under Icarus, NaNs compared bit by bit; return exit status and what was printed."""
    write(folder, files)
    sources = ("vectors_pkg.sv", f"{model.name}.sv", "testbench.sv")
    assert run_in(folder, need("iverilog"), "-g2012", "-Wall", "-o", "simulation", *sources) == (0, "")
    return run_in(folder, "vvp", "simulation", "+nan_codes")


def verilated(folder, top, *sources):
    """Compile sources with Verilator, without a warning, and run them; return exit status and what was printed."""
    for tool in ("make", "g++"):
        need(tool)
    status, said = run_in(folder, need("verilator"), "--binary", "--top-module", top, *sources)
    assert status == 0, said
    assert "%Warning" not in said
    return run_in(folder, f"obj_dir/V{top}", "+nan_codes")


@pytest.mark.slow_values("cdna3/v_mfma_f32_16x16x32_fp8_bf8", "cpu/tdpbf16ps.m16n16k32.f32.bf16.bf16.f32")
@pytest.mark.parametrize(
    "name", [VOLTA, DOUBLE, SATURATING, *(pytest.param(x, marks=pytest.mark.middle) for x in FAMILIES)]
)
def test_the_module_passes_its_bench(tmp_path, name):
    model, files = files_of(name)
    assert simulated(tmp_path, model, files) == (0, f"PASS: 80 rows as {name}\n")


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("name", "op"),
    [(VOLTA, Op.ADD), (VOLTA, Op.SELECT), (VOLTA, Op.SHIFT_OUT), (SATURATING, Op.SHIFT_RIGHT_SIGNED)]
    + [pytest.param(VOLTA, x, marks=pytest.mark.middle) for x in (Op.EQUAL, Op.LEADING_ZEROS, Op.MAGNITUDE, Op.XOR)],
)
def test_an_operation_printed_wrong_fails_the_bench(tmp_path, name, op):
    model, files = files_of(name)
    nodes = [x for x in model.first.nodes if x.op is op]
    module = f"{model.name}.sv"
    status, said = simulated(tmp_path, model, files | {module: mutated(files[module], nodes, MUTATIONS[op][0])})
    assert status != 0
    assert f"of 80 rows differ from {name}" in said


@pytest.mark.slow_values("cpu/vfmadd231pd.m1n1k1.f64.f64.f64.f64")
@pytest.mark.parametrize(
    "name",
    [pytest.param(DOUBLE, marks=pytest.mark.middle)]
    + [pytest.param(x, marks=pytest.mark.slow) for x in (NVFP4, VOLTA, FP6)],
)
def test_module_and_c_agree_under_verilator(tmp_path, name):
    model, files = files_of(name)
    write(tmp_path, files)
    in_c = (f"{model.name}_dpi.c", f"{model.name}.c")
    hardware = ("vectors_pkg.sv", f"{model.name}.sv")
    status, said = verilated(tmp_path, "dpi_testbench", *hardware, "dpi_testbench.sv", *in_c)
    assert (status, said.splitlines()[0]) == (0, f"PASS: 10000 rows, {model.name} and C agree")
    status, said = verilated(tmp_path, "testbench", *hardware, "testbench.sv")
    assert (status, said.splitlines()[0]) == (0, f"PASS: 80 rows as {name}")
    assert run_in(tmp_path, need("verilator"), "--lint-only", "-Wall", f"{model.name}.sv") == (0, "")


@pytest.mark.slow
def test_a_wrong_module_and_c_disagree(tmp_path):
    model, files = files_of(SATURATING)
    module = f"{model.name}.sv"
    (node,) = [x for x in model.first.nodes if x.op is Op.LESS_SIGNED][-1:]
    write(tmp_path, files | {module: mutated(files[module], [node], MUTATIONS[Op.LESS_SIGNED][0])})
    sources = ("vectors_pkg.sv", module, "dpi_testbench.sv", f"{model.name}_dpi.c", f"{model.name}.c")
    status, said = verilated(tmp_path, "dpi_testbench", *sources)
    assert status != 0
    assert f"rows differ between {model.name} and C" in said
    assert "PASS" not in said


def test_the_module_of_an_instruction_that_follows_takes_the_d_before(tmp_path):
    model, files = files_of(VOLTA)
    following = make_model(continued(model.design), None, "0")
    (module,) = [text for name, text in files.items() if name == f"{model.name}_next.sv"]
    wires = module.partition("lint_off")[2]
    assert (
        wires == sv_files(following, make_self_test(following, 8, 0))[f"{following.name}.sv"].partition("lint_off")[2]
    )
    assert f"module {model.name}_next (" in module
    (tmp_path / "next.sv").write_text(module)
    assert run_in(tmp_path, need("iverilog"), "-g2012", "-Wall", "-o", "simulation", "next.sv") == (0, "")
    assert not [name for name in files_of(SATURATING)[1] if "_next" in name]


def test_words_that_c_does_not_have(tmp_path):
    design = find_design("cdna1/v_mfma_f32_32x32x2bf16")
    with pytest.raises(DesignError, match="use --format sv-model"):
        make_model(design, None, "0")
    model = make_model(design, None, "0", wide=True)
    assert model.is_wide
    files = sv_files(model, make_self_test(model, 80, 0))
    assert sorted(files) == sorted([f"{model.name}.sv", "testbench.sv", "vectors.hex", "vectors_pkg.sv"])
    status, said = simulated(tmp_path, model, files)
    assert status == 0, said
    assert "PASS" in said
