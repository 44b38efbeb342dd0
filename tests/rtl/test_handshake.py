"""Valid and ready: what is read as a pipeline whose stalls do not matter gives each result once, whatever stalls.

A bench in a simulator with random stalls, which knows nothing of the reading, decides the same about faults of it.
"""

import random
import shutil
import subprocess
from pathlib import Path

import pytest
from support.own_rtl import UNITS

from mmaproof.designs.catalogue import find_design
from mmaproof.designs.errors import InputError
from mmaproof.rtl import RtlUnit, read_unit
from mmaproof.rtl.handshake import _Machine

pytest.importorskip("pyosys")
FOLDER = UNITS / "streaming"
SUM = "c_p + 24'(p0) + 24'(p1)"
FAULTS = {
    "always ready": ("assign ready_o = take_p;", "assign ready_o = 1'b1;"),
    "never ready": ("assign ready_o = take_p;", "assign ready_o = 1'b0;"),
    "the buffer is lost": ("valid_s <= full || valid_p;", "valid_s <= valid_p;"),
    "the buffer stays full": ("full    <= 1'b0;\n      end else if", "full    <= full;\n      end else if"),
    "the buffer is not noted": ("full <= 1'b1;", "full <= 1'b0;"),
    "the buffer is written while it is full": ("if (ready_s) kept", "kept"),
    "the buffer has another value": (f"if (ready_s) kept <= {SUM}", f"if (ready_s) kept <= {SUM} + 24'd1"),
    "the sum goes on while it is offered": ("if (ready_i || !valid_s) sum", "sum"),
    "the newest comes first": ("full ? kept :", "full && !valid_p ? kept :"),
    "products go on in a stall": ("if (take_p) begin\n      p0", "begin\n      p0"),
    "c goes on in a stall": ("      c_p <= c;\n    end", "    end\n  always_ff @(posedge clk) c_p <= c;"),
    "c stays in a stall of the second stage": ("c_p <= c;", "if (ready_i) c_p <= c;"),
    "valid goes on in a stall": ("else if (take_p) valid_p", "else valid_p"),
    "a bubble is a result": ("else if (take_p) valid_p <= valid_i;", "else if (take_p) valid_p <= 1'b1;"),
    "a result for two": ("valid_s <= full || valid_p;", "valid_s <= full || valid_p && !valid_s;"),
    "valid without reset": (
        "always_ff @(posedge clk or negedge rst_n)\n    if (!rst_n) valid_p <= 1'b0;\n    else if",
        "always_ff @(posedge clk)\n    if",
    ),
    "a reset to full": ("full    <= 1'b0;\n      valid_s", "full    <= 1'b1;\n      valid_s"),
    "ready of operands": ("assign ready_o = take_p;", "assign ready_o = take_p && a[0];"),
    "valid of a result": ("assign valid_o = valid_s;", "assign valid_o = valid_s && sum[0];"),
    "taken without ready": ("if (ready_i || !valid_s) begin", "if (1'b1) begin"),
}
RIGHT = {
    "as it is": ("assign d = sum;", "assign d = sum;"),
    "the buffer keeps the first": ("if (ready_s) kept", "if (!full) kept"),
    "the first stage waits for the second": ("!valid_p || ready_s", "ready_s"),
    "the sum is not kept without a result": ("if (ready_i || !valid_s) sum", "if (!(valid_s && !ready_i)) sum"),
    "offered from the buffer": ("sum <= full ? kept :", "sum <= full == 1'b1 ? kept :"),
}

BENCH = """`timescale 1ns / 1ps
module bench;
  reg clk = 0, rst_n = 0, valid_i = 0, ready_i = 0; wire ready_o, valid_o;
  reg [15:0] a, b; reg [23:0] c; wire [23:0] d;
  elastic_int8 unit(.*);
  reg [23:0] due [0:4095]; integer taken = 0, given = 0, i, seed = SEED, wrong = 0, stalls;
  initial begin
    #1 clk = 1; #1 clk = 0; #1 rst_n = 1;
    for (i = 0; i < 2000; i = i + 1) begin
      stalls = i / 250;
      valid_i = i < 1900 && $urandom(seed) % 8 >= stalls % 5; ready_i = i >= 1900 || $urandom(seed) % 8 >= stalls % 7;
      a = $urandom(seed); b = $urandom(seed); c = $urandom(seed);
      #1;
      if (ready_o === 1'bx || valid_o === 1'bx) wrong = wrong + 1;
      if (valid_i && ready_o) begin
        due[taken] = $signed(c) + $signed(a[7:0]) * $signed(b[7:0]) + $signed(a[15:8]) * $signed(b[15:8]);
        taken = taken + 1;
      end
      if (valid_o && (given >= taken || d !== due[given])) wrong = wrong + 1;
      if (valid_o && ready_i) given = given + 1;
      clk = 1; #1 clk = 0; #1;
    end
    $display("%s", wrong == 0 && given == taken && taken > 500 ? "right" : "wrong");
    $finish;
  end
endmodule
"""


def written(folder: Path, old: str, new: str) -> Path:
    text = (FOLDER / "elastic_int8.sv").read_text(encoding="utf-8")
    assert text.count(old) == 1, old
    (folder / "elastic_int8.sv").write_text(text.replace(old, new), encoding="utf-8")
    shutil.copy(FOLDER / "elastic_int8.toml", folder)
    return folder / "elastic_int8.toml"


def read(path: Path) -> RtlUnit:
    return read_unit(path, signature=find_design("integer/dot2.int24.int8.int8.int24").signature)


def is_right_in_time(folder: Path) -> bool:
    """Whether a simulator with random stalls gives each result once and in order."""
    (folder / "bench.sv").write_text(BENCH.replace("SEED", str(random.Random(str(folder.name)).getrandbits(30))))
    command = ["iverilog", "-g2012", "-s", "bench", "-o", "bench.vvp", "bench.sv", "elastic_int8.sv"]
    subprocess.run(command, cwd=folder, check=True, capture_output=True)
    run = subprocess.run(["vvp", "-n", "bench.vvp"], cwd=folder, check=True, capture_output=True, text=True, timeout=60)
    return run.stdout.strip() == "right"


needs_icarus = pytest.mark.skipif(shutil.which("iverilog") is None, reason="Icarus Verilog is not installed")


@needs_icarus
@pytest.mark.few(2)
@pytest.mark.parametrize("name", RIGHT)
def test_stalls_do_not_matter(name: str, tmp_path: Path) -> None:
    unit = read(written(tmp_path, *RIGHT[name]))
    assert is_right_in_time(tmp_path)
    assert unit.report.covers == "a new operand set in every transfer, with any bubbles and back-pressure"
    assert any(x.startswith("stalls do not matter: proved in all") for x in unit.report.assumptions)
    assert unit.design.conditions == ("rst_n = 1",)


def test_a_cell_over_two_transfers_is_junk() -> None:
    machine = object.__new__(_Machine)
    machine.shapes = {}
    assert machine._combined("f", [(7, 1), (8, 1), "0", (9, None)]) == (0, 1)
    assert machine._combined("f", [(7, 1), (8, 0)]) is None and machine._combined("f", [(7, 1), None]) is None


def test_a_result_of_what_is_free_is_refused(tmp_path: Path) -> None:
    path = written(tmp_path, "p0  <= $signed(a[7:0])", "p0  <= {15'd0, extra} ^ $signed(a[7:0])")
    source = path.with_suffix(".sv")
    source.write_text(source.read_text().replace("input  logic               valid_i,", "input  logic valid_i, extra,"))
    path.write_text(path.read_text().replace("tied =", 'free = ["extra"]\ntied ='))
    with pytest.raises(InputError, match="d depends on free inputs or on bits that are undefined"):
        read(path)


@needs_icarus
@pytest.mark.few(4)
@pytest.mark.parametrize("name", FAULTS)
def test_a_stall_that_matters_is_refused(name: str, tmp_path: Path) -> None:
    path = written(tmp_path, *FAULTS[name])
    assert not is_right_in_time(tmp_path)
    with pytest.raises(InputError, match="handshake|feedback loop"):
        read(path)
