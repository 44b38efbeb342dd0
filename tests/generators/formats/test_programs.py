"""Programs for machines without Python: the real ones compile; on a stand-in for the runtime, their lines are right."""

import dataclasses
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from mmaproof.designs.catalogue import find_design, load_catalogue
from mmaproof.designs.errors import InputError
from mmaproof.generators.formats.selection import CUDA, program
from mmaproof.generators.vectors import answers_of, read_rows, read_vectors
from mmaproof.hardware_replay.cuda.device import ARCHITECTURES, kernel_of
from mmaproof.hardware_replay.cuda.mma_sync import rejected
from mmaproof.hardware_replay.replay import replay
from mmaproof.hardware_replay.targets import ModelTarget
from mmaproof.smt.evaluate import evaluate_batch

RUNTIME = Path(__file__).with_name("fake_cuda_runtime.h")

# one 32-bit integer accumulator in each lane of the warp and no layout to speak of: a kernel that a host can run
WIDE = "turing/mma.m8n8k16.s32.s8.s8.s32"
HALF = "turing/mma.m16n8k8.f16.f16.f16.f16"
DOUBLE = "ampere/mma.m8n8k4.f64.f64.f64.f64"


def rows_of(name, k=None, rows=20):
    return read_rows("uniform-bits", [find_design(name)], k=k, rows=rows, seed=1)[0]


def run_on_the_host(tmp_path, groups):
    compiler = shutil.which("g++") or shutil.which("c++")
    if compiler is None:
        pytest.skip("no C++ compiler on this machine")
    text = program(groups, CUDA, file="vectors.cu", version="0").replace("<cuda_runtime.h>", f'"{RUNTIME}"')
    (tmp_path / "vectors.cc").write_text(text)
    made = tmp_path / "vectors"
    subprocess.run([compiler, "-Wall", "-Werror", "-o", made, tmp_path / "vectors.cc"], check=True)
    lines = subprocess.run([made], check=True, capture_output=True, text=True).stdout
    (tmp_path / "returned.jsonl").write_text(lines)
    return read_vectors(tmp_path / "returned.jsonl")


def on_host(name, statement):
    """Return the kernel of a design with a body that a host can run once a thread."""
    kernel = kernel_of(find_design(name))
    per_thread = kernel.fragments["d"].words // kernel.threads
    body = f"for (unsigned w = 0; w < {per_thread}; ++w) {{ {statement} }}"
    start = f"const unsigned first = (blockIdx.x * {kernel.threads} + threadIdx.x) * {per_thread};"
    source = (
        f'extern "C" void {kernel.name}(const unsigned *a, const unsigned *b, const unsigned *c, '
        f"const unsigned *scale_a, const unsigned *scale_b, unsigned *d)\n{{ {start} {body} }}\n"
    )
    return dataclasses.replace(kernel, source=source)


@pytest.mark.parametrize("name", [WIDE, HALF, DOUBLE])
def test_what_the_kernel_returns_is_printed_with_its_operands(tmp_path, name):
    # d = c, whatever the layout: elements of one format lie alike in both
    rows = rows_of(name)
    file = run_on_the_host(tmp_path, [(rows, on_host(name, "d[first + w] = c[first + w];"))])
    assert not file.problems
    (answers,) = answers_of(file, [name]).answers
    assert answers.d.tolist() == rows.batch.c.tolist()
    assert answers.batch.a.tolist() == rows.batch.a.tolist()
    assert answers.batch.b.tolist() == rows.batch.b.tolist()


def test_a_chain_hands_d_on(tmp_path):
    rows = rows_of(WIDE, k=48)
    file = run_on_the_host(tmp_path, [(rows, on_host(WIDE, "d[first + w] = c[first + w] + 1;"))])
    (answers,) = answers_of(file, [WIDE]).answers
    assert answers.d.tolist() == [(c + 3) % (1 << 32) for c in rows.batch.c.tolist()]


def test_elements_below_the_k_of_the_instruction_are_zero(tmp_path):
    rows = rows_of(WIDE, k=3)
    file = run_on_the_host(tmp_path, [(rows, on_host(WIDE, "d[first + w] = c[first + w];"))])
    (answers,) = answers_of(file, [WIDE]).answers
    assert answers.batch.a.tolist() == rows.batch.a.tolist()
    assert answers.d.tolist() == rows.batch.c.tolist()


def test_groups_of_several_instructions(tmp_path):
    statement = "d[first + w] = c[first + w];"
    names = [WIDE, HALF]
    file = run_on_the_host(tmp_path, [(rows_of(name), on_host(name, statement)) for name in names])
    assert [len(answers_of(file, [name]).answers[0].batch) for name in names] == [20, 20]


def test_lines_are_checked_by_replay(tmp_path):
    rows = rows_of(HALF)
    expected = evaluate_batch(find_design(HALF), rows.batch)
    file = run_on_the_host(tmp_path, [(rows, on_host(HALF, "d[first + w] = c[first + w];"))])
    report = replay(answers_of(file, [HALF]).answers, ModelTarget(find_design(HALF)))
    differing = int((expected != rows.batch.c).sum())
    assert differing > 0
    # two NaNs of different codes are equal
    assert 0 < report.mismatches <= differing


def test_what_is_no_program():
    kernel = kernel_of(find_design(HALF))
    with pytest.raises(InputError, match="20001 operand sets: a program holds 1 to 20000"):
        program([(rows_of(HALF, rows=20_001), kernel)], CUDA, file="x.cu", version="0")
    ampere = kernel_of(find_design(DOUBLE))
    with pytest.raises(InputError, match="sm_75, sm_80: a program is for one architecture"):
        program([(rows_of(HALF), kernel), (rows_of(DOUBLE), ampere)], CUDA, file="x.cu", version="0")


@pytest.mark.middle
@pytest.mark.parametrize("architecture", [x for x in ARCHITECTURES if x != "volta"])
def test_programs_compile(tmp_path, architecture):
    compiler = shutil.which("nvcc")
    if compiler is None:
        pytest.skip("nvcc is not on this machine (the kernels themselves are compiled with NVRTC by other tests)")
    kinds = {}
    for design in load_catalogue().designs.values():
        # ptxas of CUDA 13.0 does not take this instruction yet, that of the NVRTC of other tests does
        newer = re.fullmatch(r"mma\..*\.block16\..*\.ue8m0", design.instruction)
        if design.architecture == architecture and rejected(design) is None and not newer:
            kinds[design.instruction.split(".")[0], design.d_format, design.scale_format] = design
    groups = [(rows_of(design.name), kernel_of(design)) for design in kinds.values()]
    text = program(groups, CUDA, file="vectors.cu", version="0")
    (tmp_path / "vectors.cu").write_text(text)
    command = text.splitlines()[1].removeprefix("//").split()
    assert command[0] == "nvcc"
    subprocess.run([compiler, *command[1:]], check=True, cwd=tmp_path)
