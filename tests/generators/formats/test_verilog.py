"""Test benches run under Icarus Verilog: right modules pass, wrong ones fail, and NaNs are equal by class."""

import dataclasses
import shutil
import subprocess
from pathlib import Path

import pytest

from mmaproof.designs.catalogue import find_design
from mmaproof.designs.element import Operands
from mmaproof.designs.formats import FORMATS
from mmaproof.generators.formats.selection import Selection, select
from mmaproof.generators.formats.verilog import bench_files
from mmaproof.generators.vectors import Vector

INT8 = "turing/mma.m8n8k16.s32.s8.s8.s32"
HALF = "turing/mma.m16n8k8.f16.f16.f16.f16"
NVFP4 = "blackwell/tcgen05.mma.m128n8k64.block16.f32.e2m1.e2m1.ue4m3"
FP6 = "rtx-blackwell/mma.m16n8k32.f32.e3m2.e2m3.f32"

INTEGER_DUT = (Path(__file__).parents[3] / "docs" / "examples" / "int8_dot.sv").read_text(encoding="utf-8")


def rows_of(name, distribution="edges", rows=60, k=None):
    return select(distribution, [find_design(name)], k=k, rows=rows, seed=1, version="0")


def table(selection, change=lambda row, d: d):
    """A module that looks d up: a case for each row, put together here from the patterns of the vectors."""
    widths, cases = {}, {}
    for row, v in enumerate(selection.vectors):
        x, (a, b, c, d), scale = v.operands, v.formats, v.scale_format
        columns = [("a", x.a, a), ("b", x.b, b), ("scale_a", x.scale_a, scale), ("scale_b", x.scale_b, scale)]
        text = ""
        for name, patterns, fmt in (*columns, ("c", (x.c,), c)):
            if patterns:
                text += "".join(f"{p:0{fmt.bits}b}" for p in reversed(patterns))
                widths[name] = fmt.bits * len(patterns)
        (held,) = v.outputs.values()
        cases[text] = f"{d.bits}'d{change(row, held)}"
    ports = "".join(f"input logic [{width - 1}:0] {name}, " for name, width in widths.items())
    lines = "\n".join(f"        {len(text)}'b{text}: d = {d};" for text, d in cases.items())
    return (
        f"module dut ({ports}output logic [{d.bits - 1}:0] d);\n"
        f"    always_comb case ({{{', '.join(widths)}}})\n{lines}\n        default: d = '0;\n    endcase\nendmodule\n"
    )


def simulate(folder, selection, dut, *options, changed=None):
    """Run a test bench with a module; return the exit status and what was printed."""
    if shutil.which("iverilog") is None:
        pytest.skip("no Icarus Verilog on this machine (apt-get install iverilog)")
    for name, text in (bench_files(selection) | {"dut.sv": dut} | (changed or {})).items():
        (folder / name).write_text(text)
    sources = ["vectors_pkg.sv", "dut.sv", "testbench.sv"]
    made = subprocess.run(
        ["iverilog", "-g2012", "-Wall", "-o", "simulation", *sources],
        cwd=folder,
        check=True,
        capture_output=True,
        text=True,
    )
    assert made.stdout + made.stderr == ""
    ran = subprocess.run(["vvp", "simulation", *options], cwd=folder, check=False, capture_output=True, text=True)
    return ran.returncode, ran.stdout


@pytest.mark.parametrize("distribution", ["edges", "uniform-bits"])
def test_an_integer_unit_passes_and_a_wrong_one_fails(tmp_path, distribution):
    rows = rows_of(INT8, distribution)
    assert simulate(tmp_path, rows, INTEGER_DUT) == (0, f"PASS: 60 rows as {INT8}\n")
    status, out = simulate(tmp_path, rows, INTEGER_DUT.replace("b_t y", "logic [7:0] y"))
    assert status != 0
    assert f"of 60 rows differ from {INT8}" in out
    assert "PASS" not in out


@pytest.mark.parametrize(("name", "k"), [(HALF, None), (NVFP4, None), (FP6, None), (FP6, 1), (INT8, None)])
def test_operands_lie_where_the_ports_have_them(tmp_path, name, k):
    rows = rows_of(name, "normal", rows=20, k=k)
    assert simulate(tmp_path, rows, table(rows)) == (0, f"PASS: 20 rows as {name}\n")
    status, out = simulate(tmp_path, rows, table(rows, lambda row, d: d ^ (row == 7)))
    assert status != 0
    assert out.startswith("row 8: d = ")
    assert f"FAIL: 1 of 20 rows differ from {name}" in out


def test_nans_are_equal_by_class_unless_told_otherwise(tmp_path):
    rows = rows_of(HALF)
    fmt = FORMATS["fp16"]
    nans = sum(fmt.is_nan(d) for v in rows.vectors for d in v.outputs.values())
    assert 0 < nans < 60
    dut = table(rows, lambda _, d: 0xFC01 if fmt.is_nan(d) else d)
    assert simulate(tmp_path, rows, dut)[0] == 0
    status, out = simulate(tmp_path, rows, dut, "+nan_codes")
    assert status != 0
    assert f"FAIL: {nans} of 60 rows differ" in out
    # a number where a NaN is expected, a NaN where a number is, and unknown bits
    for wrong in (lambda _, d: 0x7C00 if fmt.is_nan(d) else d, lambda _, d: d if fmt.is_nan(d) else 0x7E00):
        assert simulate(tmp_path, rows, table(rows, wrong))[0] != 0
    assert simulate(tmp_path, rows, table(rows).replace("16'd", "16'bx | 16'd"))[0] != 0


def test_rows_that_are_missing_fail(tmp_path):
    rows = rows_of(HALF, rows=5)
    short = "\n".join(bench_files(rows)["vectors.hex"].splitlines()[:-1])
    status, out = simulate(tmp_path, rows, table(rows), changed={"vectors.hex": short})
    assert status != 0
    assert "FAIL: vectors.hex holds no row 5 of 5" in out
    assert simulate(tmp_path, rows, table(rows), "+vectors=none.hex")[0] != 0


@pytest.mark.few(5)
@pytest.mark.parametrize("fmt", [x for x in FORMATS.values() if x.bits <= 16], ids=lambda x: x.name)
def test_nans_of_every_format(tmp_path, fmt):
    half = FORMATS["fp16"]
    vector = Vector(Operands((0,), (0,), 0), (half, half, half, fmt), {"a simulator": 0})
    bench = """
module testbench;
    int i;
    initial for (i = 0; i < 1 << vectors_pkg::D_BITS; i++) if (vectors_pkg::is_nan(i)) $display("%0d", i);
endmodule
"""
    selection = Selection((vector,), "here", {}, "0")
    status, out = simulate(tmp_path, selection, "", changed={"testbench.sv": bench})
    assert status == 0
    assert [int(x) for x in out.split()] == [x for x in range(1 << fmt.bits) if fmt.is_nan(x)]


@pytest.mark.parametrize("name", [INT8, NVFP4, FP6])
def test_verilator_has_no_complaint(tmp_path, name):
    rows = rows_of(name, rows=3)
    dut = INTEGER_DUT if name == INT8 else table(rows)
    verilate(tmp_path, rows, dut, "--lint-only", "--timing", "-Wall", "-Wno-DECLFILENAME")


@pytest.mark.slow
def test_verilator_runs_it(tmp_path):
    rows = rows_of(HALF, "normal", rows=5)
    verilate(tmp_path, rows, table(rows), "--binary")
    (tmp_path / "short.hex").write_text("\n".join(bench_files(rows)["vectors.hex"].splitlines()[:-1]))
    (tmp_path / "wrong.hex").write_text(bench_files(rows)["vectors.hex"].rstrip()[:-4] + "7c00\n")
    passes = {}
    for file in ("vectors.hex", "short.hex", "none.hex", "wrong.hex"):
        command = [tmp_path / "obj_dir" / "Vtestbench", f"+vectors={file}"]
        ran = subprocess.run(command, cwd=tmp_path, check=False, capture_output=True, text=True)
        passes[file] = (ran.returncode == 0, "PASS" in ran.stdout)
    assert passes == {"vectors.hex": (True, True)} | dict.fromkeys(
        ["short.hex", "none.hex", "wrong.hex"], (False, False)
    )


def verilate(folder, rows, dut, *options):
    if shutil.which("verilator") is None:
        pytest.skip("no Verilator on this machine (apt-get install verilator)")
    for file, text in (bench_files(rows) | {"dut.sv": dut}).items():
        (folder / file).write_text(text)
    command = ["verilator", *options, "--top-module", "testbench", "vectors_pkg.sv", "dut.sv", "testbench.sv"]
    ran = subprocess.run(command, cwd=folder, check=False, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr


def test_names_cannot_leave_a_comment_or_a_string(tmp_path):
    rows = rows_of(HALF, rows=2)
    name = 'a"); $finish; //\n\\'
    vectors = tuple(dataclasses.replace(v, outputs={name: d}) for v in rows.vectors for d in v.outputs.values())
    selection = dataclasses.replace(rows, vectors=vectors, whence="x\n*/ `include \\")
    assert simulate(tmp_path, selection, table(rows))[1] == "PASS: 2 rows as a_); $finish; //__\n"
