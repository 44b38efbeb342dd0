"""The model in CUDA C++: the same text passes on the host, compiles for GPUs, and goes with others into a program."""

from pathlib import Path

import pytest
from support.models import MUTATIONS, compiled, mutated, run_in, write

from mmaproof.designs.catalogue import find_design
from mmaproof.generators.models.cuda_model import cuda_files
from mmaproof.generators.models.model import make_model, make_self_test
from mmaproof.smt.algebra.nodes import Op

VOLTA = "volta/mma.m8n8k4.f32.f16.f16.f16"
NVFP4 = "blackwell/tcgen05.mma.m128n8k64.block16.f32.e2m1.e2m1.ue4m3"
DOUBLE = "cpu/vfmadd231pd.m1n1k1.f64.f64.f64.f64"
AS_CPP = ["-std=c++11", "-Wall", "-Wextra", "-Werror", "-Wno-unused-function", "-O0", "-x", "c++"]


def files_of(name, rows=80):
    model = make_model(find_design(name), None, "0")
    return model, cuda_files(model, make_self_test(model, rows, 0))


@pytest.mark.parametrize("name", [VOLTA, DOUBLE, pytest.param(NVFP4, marks=pytest.mark.middle)])
@pytest.mark.parametrize("compiler", ["g++", pytest.param("clang++", marks=pytest.mark.middle)])
def test_the_self_test_passes_on_the_host(tmp_path, name, compiler):
    model, files = files_of(name)
    write(tmp_path, files)
    program = compiled(tmp_path, compiler, AS_CPP, f"{model.name}_test.cu")
    assert run_in(tmp_path, program) == (0, f"PASS: 80 rows as {name}\n")


@pytest.mark.few(1)
@pytest.mark.parametrize("op", [Op.ADD, Op.EQUAL, Op.SELECT, Op.LESS_SIGNED])
def test_an_operation_printed_wrong_fails_the_self_test(tmp_path, op):
    model, files = files_of(VOLTA)
    nodes = [x for x in model.first.nodes if x.op is op]
    header = f"{model.name}.cuh"
    write(tmp_path, files | {header: mutated(files[header], nodes, MUTATIONS[op][0])})
    status, said = run_in(tmp_path, compiled(tmp_path, "g++", [*AS_CPP, "-w"], f"{model.name}_test.cu"))
    assert status == 1
    assert said.startswith("row ")
    assert f"results differ from {VOLTA}" in said


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("name", "architecture"),
    [(VOLTA, "sm_75"), (DOUBLE, "sm_90a"), pytest.param(NVFP4, "sm_90a", marks=pytest.mark.middle)],
)
def test_the_header_compiles_for_gpus(name, architecture):
    pytest.importorskip("cuda.bindings", reason="the package cuda-bindings is not here: nothing can be compiled")
    from mmaproof.hardware_replay.cuda.device import compile_source

    model, files = files_of(name, rows=8)
    cubin = compile_source(files[f"{model.name}.cuh"], architecture, device_int128=128 in model.lanes)
    assert cubin.startswith(b"\x7fELF")
    assert f"{model.name}_rows".encode() in cubin


def test_two_models_share_a_program(tmp_path):
    volta, files = files_of(VOLTA)
    double, others = files_of(DOUBLE)
    both = f'#include "{volta.name}.cuh"\n#include "{double.name}.cuh"\n#include "{volta.name}.cuh"\nint main() {{}}\n'
    for text in (both, both.replace(volta.name, "x").replace(double.name, volta.name).replace('"x', f'"{double.name}')):
        write(tmp_path, files | others | {"both.cu": text})
        assert run_in(tmp_path, compiled(tmp_path, "g++", AS_CPP, "both.cu")) == (0, "")


@pytest.mark.middle
def test_the_kernel_of_the_documents_compiles_for_gpus():
    pytest.importorskip("cuda.bindings", reason="the package cuda-bindings is not here: nothing can be compiled")
    from mmaproof.hardware_replay.cuda.device import compile_source

    model, files = files_of("hopper/wgmma.m64n8k16.f32.f16.f16", rows=8)
    header = f"{model.name}.cuh"
    program = (Path(__file__).parents[3] / "docs" / "examples" / "gemm_on_cuda_model.cu").read_text(encoding="utf-8")
    text = program.replace(f'#include "{header}"', files[header])
    assert text != program
    assert b"gemm" in compile_source(text, "sm_90a")
