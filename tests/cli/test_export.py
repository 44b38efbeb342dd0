"""`mmaproof export`: what it writes is read back."""

import shutil
import subprocess

import pytest
from support.commands import only_json

from mmaproof.designs.catalogue import find_design
from mmaproof.generators.formats.selection import select
from mmaproof.generators.vectors import read_vectors
from mmaproof.hardware_replay.recordings import read_provenance, read_recording

VOLTA = find_design("volta/f32.f16.f16.f32")
TURING = find_design("turing/f32.f16.f16.f32")
NVFP4 = find_design("blackwell/tcgen05.mma.m128n8k64.block16.f32.e2m1.e2m1.ue4m3")
DOUBLE = find_design("ampere/mma.m8n8k4.f64.f64.f64.f64")
INT4 = find_design("turing/mma.m8n8k32.s32.s4.s4.s32")

DRAWN = ("edges", "--rows", 30, "--seed", 5)


def expected(design):
    return select("edges", [design], k=None, rows=30, seed=5, version="0").answers()


def columns(answers):
    """Every pattern of each row: a, b, scales, c, d."""
    batch = answers.batch
    scales = [x.tolist() for x in (batch.scale_a, batch.scale_b) if x is not None]
    parts = [batch.a.tolist(), batch.b.tolist(), *scales, batch.c[:, None].tolist(), answers.d[:, None].tolist()]
    return [[x for part in row for x in part] for row in zip(*parts, strict=True)]


@pytest.mark.middle
def test_vector_lines_of_several_designs(run, tmp_path):
    path = tmp_path / "v.jsonl"
    designs = ("--design", VOLTA.name, "--design", TURING.name)
    status, out, err = run("export", *DRAWN, *designs, "--k", 8, "--format", "jsonl", "-o", path, "--json")
    record = only_json(out)
    assert (status, err, record["rows"], record["designs"]) == (0, "", 30, [VOLTA.name, TURING.name])
    assert record["computed"] == {VOLTA.name: 30, TURING.name: 30}
    vectors = read_vectors(path).vectors.values()
    assert {(v.seed, len(v.outputs)) for v in vectors} == {(5, 2)}
    for design in (VOLTA, TURING):
        assert run("replay", path, f"model:{design.name}")[0] == 0
    # once more gives the same file
    assert run("export", path, "--format", "jsonl", "-o", tmp_path / "w.jsonl")[0] == 0
    assert (tmp_path / "w.jsonl").read_text() == path.read_text()


@pytest.mark.parametrize("decimal", [(), ("--decimal",)])
@pytest.mark.parametrize("ending", ["csv", "tsv", "jsonl"])
@pytest.mark.parametrize("design", [VOLTA, INT4], ids=str)
def test_a_table_is_replayed(run, tmp_path, design, ending, decimal):
    path = tmp_path / f"rows.{ending}"
    status, _, err = run(
        "export", "normal", "--rows", 9, "--design", design.name, "--format", "table", "-o", path, *decimal
    )
    assert (status, err) == (0, "")
    assert ("0x" in path.read_text()) is (not decimal)
    reading = ("--read-as", "numbers") if decimal and design is INT4 else ()
    status, out, err = run("replay", path, f"model:{design.name}", *reading, "--json")
    assert (status, only_json(out)["rows"]) == (0, 9), err


def test_only_a_table_of_text_has_decimals(run, tmp_path):
    asked = ("export", *DRAWN, "--design", VOLTA.name, "--decimal", "-o")
    assert run(*asked, tmp_path / "x.jsonl", "--format", "jsonl")[0] == 2
    status, _, err = run(*asked, tmp_path / "x.npz", "--format", "table")
    assert (status, "leave --decimal out" in err) == (2, True)


@pytest.mark.middle
def test_a_recording_of_the_model(run, tmp_path):
    path = tmp_path / "r.npz"
    assert run("export", *DRAWN, "--design", NVFP4.name, "--format", "npz", "-o", path)[0] == 0
    assert columns(read_recording(path)) == columns(expected(NVFP4))
    about = read_provenance(path)
    assert (about.target, about.design, about.operands["seed"]) == (f"model:{NVFP4.name}", NVFP4.name, 5)
    assert run("replay", path, f"model:{NVFP4.name}")[0] == 0
    assert f"target: model:{NVFP4.name}" in run("show", path)[1]


def test_a_recording_of_what_somebody_else_returned_names_no_target(run, tmp_path):
    vectors, path = tmp_path / "v.jsonl", tmp_path / "r.npz"
    assert run("compare", VOLTA.name, TURING.name, "-o", vectors)[0] == 1
    status, _, err = run("export", vectors, "--format", "npz", "--design", TURING.name, "-o", path)
    assert (status, err) == (0, "")
    about = read_provenance(path)
    assert (about.target, about.design) == ("", TURING.name)
    assert about.operands["expected"] == f"expected d of {TURING.name}: 1 from {vectors}"


@pytest.mark.parametrize("design", [VOLTA, NVFP4, DOUBLE, INT4], ids=lambda x: x.name)
def test_lines_of_testfloat(run, tmp_path, design):
    path = tmp_path / "t.txt"
    assert run("export", *DRAWN, "--design", design.name, "--format", "testfloat", "-o", path)[0] == 0
    lines = path.read_text().splitlines()
    comments = [x for x in lines if x.startswith("#")]
    assert lines[: len(comments)] == comments
    assert f"# expected d of {design.name}: 30 computed by the model" in comments
    rows = [x.split(" ") for x in lines[len(comments) :]]
    assert [[int(x, 16) for x in row] for row in rows] == columns(expected(design))
    blocks = design.blocks(design.k)
    formats = [design.a_format] * design.k + [design.b_format] * design.k
    formats += [design.scale_format] * 2 * blocks + [design.c_format, design.d_format]
    assert {tuple(map(len, row)) for row in rows} == {tuple(fmt.hex_digits for fmt in formats)}


@pytest.mark.few(2)
@pytest.mark.parametrize("design", [VOLTA, NVFP4, DOUBLE, INT4], ids=lambda x: x.name)
def test_a_c_header(run, tmp_path, design):
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        pytest.skip("no C compiler on this machine")
    header = tmp_path / "8-bit.h"
    assert run("export", *DRAWN, "--design", design.name, "--format", "c", "-o", header)[0] == 0
    wanted = expected(design)
    arrays = ["a", "b", "scale_a", "scale_b", "c", "d"] if design.scale_format else ["a", "b", "c", "d"]
    sizes = {"a": "K", "b": "K", "scale_a": "BLOCKS", "scale_b": "BLOCKS"}
    prefix = "vectors_8_bit"
    prints = []
    for name in arrays:
        inner = f"{prefix.upper()}_{sizes[name]}" if name in sizes else "1"
        element = f"{prefix}_{name}[i]" + ("[j]" if name in sizes else "")
        prints.append(f'for (int j = 0; j < {inner}; ++j) printf("%llx ", (unsigned long long){element});')
    names = "%s %s %s %s %s", ", ".join(f"{prefix.upper()}_{x}" for x in ("DESIGN", *(f"{y}_FORMAT" for y in "ABCD")))
    (tmp_path / "main.c").write_text(
        f'#include "8-bit.h"\n#include "8-bit.h"\n#include <stdio.h>\nint main(void) {{\n'
        f'printf("{names[0]}\\n", {names[1]});\n'
        f'for (int i = 0; i < {prefix.upper()}_ROWS; ++i) {{ {" ".join(prints)} printf("\\n"); }}\nreturn 0; }}\n'
    )
    flags = ["-std=c99", "-Wall", "-Wextra", "-pedantic", "-Werror"]
    subprocess.run([compiler, *flags, "-o", tmp_path / "main", tmp_path / "main.c"], check=True)
    first, *lines = subprocess.run([tmp_path / "main"], check=True, capture_output=True, text=True).stdout.splitlines()
    assert first.split() == [design.name, *(fmt.name for fmt in wanted.formats)]
    assert [[int(x, 16) for x in line.split()] for line in lines] == columns(wanted)


def test_a_test_bench_in_a_new_folder(run, tmp_path):
    folder = tmp_path / "bench"
    arguments = ("export", *DRAWN, "--design", VOLTA.name, "--format", "readmemh", "-o", folder)
    assert run(*arguments)[0] == 0
    assert sorted(x.name for x in tmp_path.rglob("*")) == ["bench", "testbench.sv", "vectors.hex", "vectors_pkg.sv"]
    lines = [x for x in (folder / "vectors.hex").read_text().splitlines() if not x.startswith("//")]
    wanted = expected(VOLTA)
    assert [int(x.split("_")[-1], 16) for x in lines] == wanted.d.tolist()
    before = {x: x.read_text() for x in folder.iterdir()}
    status, _, err = run(*arguments)
    assert (status, "name a new folder, or an empty one" in " ".join(err.split())) == (2, True)
    assert {x: x.read_text() for x in folder.iterdir()} == before


def test_a_test_bench_is_written_whole_or_not_at_all(run, tmp_path, monkeypatch):
    from mmaproof.generators.formats import verilog

    monkeypatch.setattr(verilog, "bench_files", lambda _: {"a": "text", "a/b": "text"})
    arguments = ("export", *DRAWN, "--design", VOLTA.name, "--format", "readmemh", "-o", tmp_path / "bench")
    status, _, err = run(*arguments)
    assert (status, "cannot be written" in err) == (2, True)
    assert not list(tmp_path.iterdir())


def test_a_query_is_that_of_two_designs(run, tmp_path):
    path = tmp_path / "q.smt2"
    arguments = ("--format", "smt2", "-o", path, "--k", 4, "--where", "finite", "--ignore-zero-signs", "--json")
    status, out, _ = run("export", VOLTA.name, TURING.name, *arguments)
    record = only_json(out)
    assert (status, record["k"], record["where"]) == (0, 4, ["finite"])
    assert record["designs"] == [VOLTA.name, TURING.name]
    text = path.read_text()
    assert "; asked for k = 4, where finite\n" in text
    assert "; +0 and -0 are equal\n" in text
    assert "a3_fp16" in text
    assert "a4_fp16" not in text


def test_a_program_of_random_operands(run, tmp_path):
    path = tmp_path / "p.cu"
    status, out, _ = run("export", *DRAWN, "--design", VOLTA.name, "--format", "cuda", "-o", path)
    assert (status, out) == (0, f"{path}: 30 operand sets for {VOLTA.name}\n")
    assert "Runs 30 operand sets" in path.read_text()


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["edges", "--format", "c"], "choose one instruction with --design"),
        (["nothing", "--format", "c"], "random operands are normal"),
        (["edges", "normal", "--format", "c", "--design", VOLTA.name], "2 sources: c is of one"),
        (["edges", "--format", "c", "--design", VOLTA.name, "--design", TURING.name, "--k", "8"], "choose one with"),
        (["edges", "--format", "c", "--design", VOLTA.name, "--design", NVFP4.name], "format mismatch"),
        (["edges", "--format", "npz", "--design", VOLTA.name, "--where", "finite"], "are of smt2"),
        ([VOLTA.name, "--format", "smt2"], "two designs are equivalent, and 1 is given"),
        ([VOLTA.name, NVFP4.name, "--format", "smt2"], "are not comparable"),
        ([VOLTA.name, TURING.name, "--format", "smt2", "--rows", "3"], "leave --design and --rows out"),
        (["edges", "--format", "cuda", "--design", VOLTA.name, "--design", TURING.name], "--design is given 2 times"),
        (["edges", "--format", "hip", "--design", VOLTA.name], "is not an instruction that --format hip runs"),
    ],
)
def test_bad_input_is_refused_and_nothing_written(run, tmp_path, arguments, text):
    status, out, err = run("export", *arguments, "-o", tmp_path / "x")
    assert (status, out) == (2, "")
    assert text in err
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("form", ["jsonl", "npz", "readmemh", "c", "testfloat", "smt2", "cuda"])
def test_what_cannot_be_written_is_refused(run, tmp_path, form):
    source = [VOLTA.name, TURING.name] if form == "smt2" else [*DRAWN, "--design", VOLTA.name]
    if form == "readmemh":  # it makes the folders for its own
        (tmp_path / "none").touch()
    status, out, err = run("export", *source, "--format", form, "-o", tmp_path / "none" / "x")
    assert (status, out, "cannot be written" in err) == (2, "", True)


MODELS = {
    "c-model": [".c", ".h", "_test.c"],
    "cuda-model": [".cuh", "_test.cu"],
    "sv-model": [".c", ".h", ".sv", "_dpi.c"],
}
BENCHES = ["dpi_testbench.sv", "testbench.sv", "vectors.hex", "vectors_pkg.sv"]


@pytest.mark.few(1)
@pytest.mark.parametrize("form", MODELS)
def test_a_model_in_a_new_folder(run, tmp_path, form):
    folder = tmp_path / "model"
    arguments = ("export", VOLTA.name, "--format", form, "--rows", 16, "-o", folder)
    status, out, err = run(*arguments, "--json")
    record, name = only_json(out), "volta_mma_m8n8k4_f32_f16_f16_f32"
    files = sorted([f"{name}{x}" for x in MODELS[form]] + (BENCHES if form == "sv-model" else []))
    assert (status, err, record["files"], record["rows"]) == (0, "", files, 16)
    assert (record["design"], record["k"], record["name"]) == (VOLTA.name, 4, name)
    assert sorted(x.name for x in folder.iterdir()) == files
    before = {x: x.read_text() for x in folder.iterdir()}
    status, _, err = run(*arguments)
    assert (status, "name a new folder, or an empty one" in " ".join(err.split())) == (2, True)
    assert {x: x.read_text() for x in folder.iterdir()} == before


@pytest.mark.few(5)
@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((VOLTA.name, TURING.name), "2 sources: c-model is of one design"),
        ((VOLTA.name, "--design", TURING.name), "leave --design out"),
        ((VOLTA.name, "--where", "finite"), "c-model has no use for them"),
        ((VOLTA.name, "--nan-codes"), "c-model has no use for them"),
        ((VOLTA.name, "--k", 6), "not a multiple of it: choose 4 or 8"),
        ((VOLTA.name, "--k", 4096), "choose a smaller --k"),
        ((VOLTA.name, "--rows", 20_001), "a self-test holds 1 to 20000"),
        ((NVFP4.name, "--k", 8), "not a multiple of the 16 elements that share a scale"),
        (("cdna1/v_mfma_f32_32x32x8f16",), "has sums of more than 128 bits"),
        (("normal",), "design"),
        (("volta/nothing",), "volta"),
    ],
)
def test_a_model_that_is_refused_leaves_nothing_behind(run, tmp_path, arguments, said):
    status, out, err = run("export", *arguments, "--format", "c-model", "-o", tmp_path / "model")
    assert (status, out, said in err) == (2, "", True), err
    assert not list(tmp_path.iterdir())


def test_the_judge_of_a_design_is_one_file(run, tmp_path):
    file = tmp_path / "judge.c"
    status, out, err = run("export", "hopper/wgmma.f32.f16.f16", "--format", "c-judge", "-o", file)
    assert (status, err, "cc -std=c11 -O2 -o judge judge.c" in out) == (0, "", True)
    assert "int main(" in file.read_text(encoding="utf-8")
    status, _, err = run("export", "hopper/wgmma.f32.f16.f16", "--format", "c-judge", "-o", file, "--rows", 3)
    assert (status, "leave --rows out" in err) == (2, True)
