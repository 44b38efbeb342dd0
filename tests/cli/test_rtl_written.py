"""The files in which a witness is looked at: waves, test benches, assertions. Simulators run them."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from support.own_rtl import UNITS
from support.rtl_units import PIPELINE, PIPELINE_CLOCK, PIPELINE_TIED, write_unit

pytest.importorskip("pyosys")
needs_icarus = pytest.mark.skipif(shutil.which("iverilog") is None, reason="Icarus Verilog is not installed")
needs_verilator = pytest.mark.skipif(shutil.which("verilator") is None, reason="Verilator is not installed")

INT8 = 'design = "turing/mma.m8n8k16.s32.s8.s8.s32@L=2"\n'
ACCUMULATOR = UNITS / "accumulator"
FURTHER = {
    "pair_int8": (ACCUMULATOR, " | (acc_c & product)", ""),
    "signed_magnitude": (ACCUMULATOR, ": magnitude) + product", ": magnitude) - product"),
    "elastic_int8": (UNITS / "streaming", "sum <= full ? kept : c_p +", "sum <= full ? kept : c_p -"),
}
"""A carry-save pair, words with a view, and a pipeline with valid and ready: the folder, and a fault as two texts."""


def pipeline(folder: Path, old: str = "", new: str = "") -> Path:
    assert not old or PIPELINE.count(old) == 1
    source = PIPELINE.replace(old, new) if old else PIPELINE
    return write_unit(folder, source, keys=INT8, tables=PIPELINE_TIED + PIPELINE_CLOCK)


def accumulator(folder: Path, old: str = "", new: str = "") -> Path:
    """The PE with a text changed."""
    folder.mkdir()
    text = (ACCUMULATOR / "pe_int8.sv").read_text(encoding="utf-8")
    assert not old or text.count(old) == 1
    (folder / "pe_int8.sv").write_text(text.replace(old, new) if old else text, encoding="utf-8")
    shutil.copy(ACCUMULATOR / "pe_int8.toml", folder)
    return folder / "pe_int8.toml"


def further(folder: Path, name: str, is_right: bool) -> Path:
    """One of these units, right or with its fault. Of the pipeline the buffer has it too: stalls do not matter."""
    place, old, new = FURTHER[name]
    folder.mkdir()
    text = (place / f"{name}.sv").read_text(encoding="utf-8")
    assert text.count(old) == 1
    text = text if is_right else text.replace(old, new).replace("kept <= c_p +", "kept <= c_p -")
    (folder / f"{name}.sv").write_text(text, encoding="utf-8")
    shutil.copy(place / f"{name}.toml", folder)
    return folder / f"{name}.toml"


def prove(run, path: Path, *options: str) -> tuple[int, str, str]:
    return run("rtl", "prove", str(path), "--no-store", "--no-picture", *options)


def make(folder: Path, target: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["make", target], cwd=folder, capture_output=True, text=True, check=False)


def values_of(waves: Path, name: str) -> list[set[int]]:
    """The values that each signal of this name has in a file of waves, without those that are unknown."""
    text = waves.read_text(encoding="utf-8")
    codes = re.findall(rf"\$var \w+ +\d+ (\S+) {name}(?: \[\d+:\d+\])? \$end", text)
    return [{int(x, 2) for x in re.findall(rf"^b([01]+) {re.escape(c)}$", text, re.MULTILINE)} for c in codes]


@needs_icarus
def test_waves_have_the_unit_and_the_model(run, tmp_path):
    path = pipeline(tmp_path / "unit", "s <= p0 + p1", "s <= p0 - p1")
    waves = tmp_path / "witness.vcd"
    status, out, _ = prove(run, path, "--vcd", str(waves))
    assert status == 1
    wrong, right = (int(x, 16) for x in re.findall(r"^  d = 0x(\w+) = ", out, re.MULTILINE))
    found = values_of(waves, "d")
    assert any(wrong in x and right not in x for x in found) and {right} in found
    assert values_of(waves, "product_2") != [] and values_of(waves, "p0") != []


@needs_icarus
def test_waves_of_a_register_show_the_claim_that_fails(run, tmp_path):
    path = accumulator(tmp_path / "unit", "else if (en) acc", "else acc")
    waves = tmp_path / "witness.vcd"
    assert prove(run, path, "--vcd", str(waves))[0] == 1
    text = waves.read_text(encoding="utf-8")
    (enable,) = set(re.findall(r"\$var \w+ +1 (\S+) en \$end", text))
    assert f"\n0{enable}\n" in text and f"\n1{enable}\n" not in text


def test_without_a_witness_there_are_no_waves(run, tmp_path):
    path, waves = accumulator(tmp_path / "unit"), tmp_path / "witness.vcd"
    status, _, err = prove(run, path, "--vcd", str(waves))
    assert status == 0
    assert f"{waves} is not written: there is no witness" in err and not waves.exists()


@needs_icarus
@pytest.mark.parametrize("make_unit", [pipeline, accumulator])
def test_a_bench_of_the_witness_fails_until_the_fault_is_mended(run, tmp_path, make_unit):
    old, new = ("s <= p0 + p1", "s <= p0 - p1") if make_unit is pipeline else ("acc + 32'(a * b)", "acc - 32'(a * b)")
    path = make_unit(tmp_path / "unit", old, new)
    bench = tmp_path / "bench"
    assert prove(run, path, "--bench", str(bench))[0] == 1
    done = make(bench, "icarus")
    assert done.returncode != 0 and "FAIL: 1 of 1 rows differ" in done.stdout
    source = next((tmp_path / "unit").glob("*.sv"))
    source.write_text(source.read_text().replace(new, old))
    done = make(bench, "icarus")
    assert done.returncode == 0 and "PASS: 1 rows" in done.stdout


@needs_icarus
@pytest.mark.parametrize("name", FURTHER)
def test_a_bench_of_words_views_and_stalls_fails_for_the_fault_only(run, tmp_path, name):
    path, bench, waves = further(tmp_path / "unit", name, False), tmp_path / "bench", tmp_path / "witness.vcd"
    status, out, _ = prove(run, path, "--bench", str(bench), "--vcd", str(waves))
    assert status == 1 and "replayed on the sources in" in out
    assert "$enddefinitions" in waves.read_text(encoding="utf-8")
    assert "FAIL: 1 of 1 rows differ" in make(bench, "icarus").stdout
    right, rows = further(tmp_path / "right", name, True), tmp_path / "rows"
    assert prove(run, right, "--bench", str(rows))[0] == 0
    assert "PASS: 1000 rows" in make(rows, "icarus").stdout
    (tmp_path / "right" / f"{name}.sv").write_text((tmp_path / "unit" / f"{name}.sv").read_text())
    assert "rows differ" in make(rows, "icarus").stdout  # c is divided at random, and stalls come at random


@needs_icarus
def test_a_bench_finds_a_buffer_that_is_lost(run, tmp_path):
    right, rows = further(tmp_path / "right", "elastic_int8", True), tmp_path / "rows"
    assert prove(run, right, "--bench", str(rows))[0] == 0
    source = tmp_path / "right" / "elastic_int8.sv"
    source.write_text(source.read_text().replace("sum <= full ? kept :", "sum <="))
    assert make(rows, "icarus").returncode != 0


@needs_icarus
def test_words_that_are_not_canonical_are_replayed(run, tmp_path):
    path = further(tmp_path / "unit", "signed_magnitude", True)
    source = path.with_suffix(".sv")
    text = source.read_text()
    source.write_text(text.replace("negative  <= total[7];", "negative  <= total[7] || total == 0;"))
    bench = tmp_path / "bench"
    status, out, _ = prove(run, path, "--bench", str(bench))
    assert status == 1 and "replayed on the sources in Icarus Verilog: d = 0x00" in out
    assert "FAIL: 1 of 1 rows differ" in make(bench, "icarus").stdout


@needs_icarus
def test_a_bench_has_the_rows_of_a_suite(run, tmp_path):
    path, bench = accumulator(tmp_path / "unit"), tmp_path / "bench"
    assert prove(run, path, "--bench", str(bench), "--suite", "edges")[0] == 0
    done = make(bench, "icarus")
    assert done.returncode == 0 and "PASS: 1000 rows" in done.stdout
    source = tmp_path / "unit" / "pe_int8.sv"
    source.write_text(source.read_text().replace("acc + 32'(a * b)", "acc - 32'(a * b)"))
    done = make(bench, "icarus")
    assert done.returncode != 0 and "rows differ" in done.stdout


def test_a_suite_without_a_bench_is_refused(run, tmp_path):
    status, _, err = prove(run, accumulator(tmp_path / "unit"), "--suite", "edges")
    assert status == 2 and "--bench FOLDER" in err


@pytest.mark.slow
@needs_icarus
@pytest.mark.parametrize("is_right", [True, False])
@pytest.mark.parametrize("name", FURTHER)
def test_cocotb_runs_words_views_and_stalls(run, tmp_path, name, is_right):
    pytest.importorskip("cocotb")
    path, bench = further(tmp_path / "unit", name, is_right), tmp_path / "bench"
    assert prove(run, path, "--bench", str(bench))[0] == (0 if is_right else 1)
    make(bench, "cocotb")
    assert ("rows differ" in (bench / "results.xml").read_text()) is not is_right


@pytest.mark.slow
@needs_icarus
def test_cocotb_runs_the_bench(run, tmp_path):
    pytest.importorskip("cocotb")
    path, bench = accumulator(tmp_path / "unit", "acc + 32'(a * b)", "acc - 32'(a * b)"), tmp_path / "bench"
    assert prove(run, path, "--bench", str(bench))[0] == 1
    assert "failures" not in make(bench, "cocotb").stderr
    assert "1 rows differ" in (bench / "results.xml").read_text()


@pytest.mark.middle
@needs_verilator
@pytest.mark.parametrize(("made", "is_right"), [("pipeline", True), ("pipeline", False), ("pe", True), ("pe", False)])
def test_an_assertion_holds_of_the_unit_and_not_of_a_wrong_one(run, tmp_path, made, is_right):
    if made == "pipeline":
        path = pipeline(tmp_path / "unit", *(() if is_right else ("s <= p0 + p1", "s <= p0 - p1")))
        top, ports = "unit", "valid, mode, a0, a1, b0, b1, c"
        driven = "rst_n = 1; valid = 1; mode = 2; a0 = $random; a1 = $random; b0 = $random; b1 = $random; c = $random;"
        declared = "reg rst_n, valid; reg [1:0] mode; reg [7:0] a0, a1, b0, b1; reg [31:0] c;"
        ports = "rst_n, valid, mode, a0, a1, b0, b1, c"
    else:
        path = accumulator(tmp_path / "unit", *(() if is_right else ("acc + 32'(a * b)", "acc - 32'(a * b)")))
        top, ports = "pe_int8", "rst_n, clr, en, a, b"
        driven = "rst_n = i > 2; clr = $random; en = $random; a = $random; b = $random;"
        declared = "reg rst_n, clr, en; reg [7:0] a, b;"
    ran = asserted(run, tmp_path, path, top, declared, ports, driven)
    assert ("d_is_that_of_the_model" in ran) is not is_right


def asserted(run, folder: Path, path: Path, top: str, declared: str, ports: str, driven: str) -> str:
    """What Verilator prints of a unit with its assertion, of which the inputs are driven."""
    written = folder / "sva"
    prove(run, path, "--sva", str(written))
    connected = ", ".join(f".{x}({x})" for x in ports.split(", "))
    (folder / "bench.sv").write_text(
        f"module bench; reg clk = 0; integer i; {declared} {top} unit (.clk(clk), {connected});\n"
        f"initial begin for (i = 0; i < 100; i = i + 1) begin #1 {driven} #1 clk = 1; #1 clk = 0; end $finish; end\n"
        "endmodule\n"
    )
    command = ["verilator", "--binary", "--timing", "--assert", "-Wno-fatal", "--top-module", "bench", "--Mdir", "made"]
    command += ["-MAKEFLAGS", "VM_PARALLEL_BUILDS=0 OPT_FAST=-O0", "-o", "bench", "bench.sv"]
    command += [str(next(path.parent.glob("*.sv"))), *map(str, written.glob("*.sv"))]
    built = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stderr
    ran = subprocess.run([folder / "made" / "bench"], cwd=folder, capture_output=True, text=True, check=False)
    return ran.stdout + ran.stderr


@pytest.mark.middle
@needs_verilator
@pytest.mark.parametrize("is_right", [True, False])
@pytest.mark.parametrize("name", FURTHER)
def test_an_assertion_of_words_views_and_stalls_holds_of_the_unit_only(run, tmp_path, name, is_right):
    path = further(tmp_path / "unit", name, is_right)
    if name == "elastic_int8":
        declared = "reg rst_n, valid_i, ready_i; reg [15:0] a, b; reg [23:0] c;"
        ports, driven = "rst_n, valid_i, ready_i, a, b, c", "rst_n = i > 3; valid_i = $random; ready_i = $random;"
        driven += " a = $random; b = $random; c = $random;"
    else:
        declared = f"reg clr, en; reg [{7 if name == 'pair_int8' else 3}:0] a, b;"
        ports, driven = "clr, en, a, b", "clr = i < 2 || $random % 8 == 0; en = $random; a = $random; b = $random;"
    ran = asserted(run, tmp_path, path, name, declared, ports, driven)
    assert ("d_is_that_of_the_model" in ran) is not is_right
