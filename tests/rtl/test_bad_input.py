"""What is wrong in sources, in a UNIT.toml or on the way is said, with its place, and nothing is left running."""

import importlib.util
import subprocess
from functools import partial
from pathlib import Path

import pytest
from support.rtl_units import COMBINATIONAL, HEAD, PASSES, write_unit
from support.waiting import wait_until

from mmaproof.designs.errors import InputError, TargetUnavailable
from mmaproof.rtl import elaboration, read_unit


def unit(body: str, ports: str = HEAD) -> str:
    return f"module unit({ports}, output logic signed [31:0] d);\n{body}\nendmodule\n"


@pytest.mark.few(4)
@pytest.mark.parametrize(
    ("source", "message"),
    [
        (unit("assign d = a0 + ;"), r"UNIT.toml: unit.sv:2: expected expression"),
        (unit("helper h(.a(a0), .d(d));"), r"unit.sv:2: unknown module 'helper'"),
        (unit("assign d = nowhere;"), r"unit.sv:2: .*nowhere"),
        ("module other; endmodule", r"'unit' is not a valid top-level module"),
        (unit("always_latch if (a0[0]) d = c;"), r"\$dlatch .*unit.sv:2.*: latches are not covered"),
        (unit("always @* if (a0[0]) d = c;"), r"latches are not covered|latch"),
        (unit("wire [31:0] x = x ^ c; assign d = x;"), r"combinational loop through \$xor .*unit.sv:2"),
        (
            unit("wire x, y; assign x = y & a0[0], y = x | a0[1]; assign d = y;"),
            r"combinational loop through .*\$and.*",
        ),
        (
            unit("assign d = a0[0] ? c : 32'sbz;").replace("logic", "wire"),
            r"\$tribuf .*unit.sv:2.*: tri-state buffers are not covered",
        ),
        (
            unit("wire [31:0] x; assign x = a0[0] ? c : 32'bz, x = a0[1] ? 1 : 32'bz; assign d = x;"),
            "is driven by .* and by",
        ),
        (unit("wire x; assign x = a0[0]; assign x = b0[0]; assign d = x;"), "both a0 and b0"),
    ],
)
def test_what_is_wrong_in_sources(source: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=message):
        read_unit(write_unit(tmp_path, source))


def test_modules_without_content(tmp_path: Path) -> None:
    source = "(* blackbox *) module black(input [31:0] x, output [31:0] y); endmodule\n"
    source += unit("black b(.x(c), .y(d));")
    with pytest.raises(InputError, match=r"black has no content: add its source|blackbox"):
        read_unit(write_unit(tmp_path, source))


CLOCK = '[clock]\nclock = "clk"\nlatency = 1\n'


@pytest.mark.few(3)
@pytest.mark.parametrize(
    ("source", "tables", "message"),
    [
        (unit("always_ff @(posedge clk) d <= c;", f"input clk, {HEAD}"), "", r"input clk .*not an operand"),
        (unit("logic k; always_ff @(posedge a0[0]) d <= c;"), "", r"\$dff .*unit.sv:2.* is a register: state the"),
        (
            unit("always_ff @(posedge clk) d <= d + c;", f"input clk, {HEAD}"),
            CLOCK,
            "feedback loop through .*unit.sv:2",
        ),
        (PASSES, "[tied]\nrst = 0\n" + CLOCK, "feedback loop through .*states cycles"),
        (
            unit(
                "logic [31:0] m [16]; always_ff @(posedge clk) begin m[a0[3:0]] <= c; d <= m[a1[3:0]]; end",
                f"input clk, {HEAD}",
            ),
            CLOCK,
            "feedback loop|memories",
        ),
        (
            unit("always_ff @(posedge clk or posedge a0[0]) if (a0[0]) d <= 0; else d <= c;", f"input clk, {HEAD}"),
            CLOCK,
            "asynchronous reset or load that is not tied",
        ),
        (
            unit("wire g = clk & a0[0]; always_ff @(posedge g) d <= c;", f"input clk, {HEAD}"),
            CLOCK,
            "another clock",
        ),
    ],
)
def test_what_is_wrong_with_clocks(source: str, tables: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=message):
        read_unit(write_unit(tmp_path, source, tables=tables))


@pytest.mark.few(7)
@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("a0", "a9"), r"\[ports\] a\[0\]: there is no port a9; there are c, a0"),
        (('"a0", "a1"', '"a0[6:0]", "a1"'), r"a0\[6:0\] has 7 bits, and int8 has 8"),
        (('"a0", "a1"', '"a0[8:1]", "a1"'), r"not within port a0 of 8 bits, which are 7:0"),
        (('"a0", "a1"', '"a0"'), r"\[ports\] b: 2 elements of int8, and 1 are expected"),
        (('"a0", "a1"', '"a0", "a0"'), r"both a0 and a1"),
        (('"a0", "a1"', '"a0", "a 1"'), r"no port, slice or concatenation"),
        (('d = "d"', 'd = "c"'), r"no port c.*there are d|did you mean"),
        (('d = "d"', ""), r"\[ports\] d: which port"),
        (('d = "d"', 'd = "d"\ne = "d"'), r"\[ports\] e: unknown field"),
        (('d = "d"', "d = 3"), r"\[ports\] d: a text is expected, not 3"),
        (('d = "int32"', 'd = "int33"'), r"\[formats\] d: unknown format 'int33'"),
        (('d = "int32"', 'd = "fp32"'), r"integers and floating-point numbers do not mix"),
        (('d = "int32"', ""), r"\[formats\] d: its format is not stated"),
        (("top =", "topp ="), r"topp: unknown field \(did you mean top"),
        (("top =", "top = 3 #"), r"top: a text is expected"),
        (('sources = ["unit.sv"]', "sources = []"), r"sources: at least one file"),
        (('sources = ["unit.sv"]', 'sources = ["unit.c"]'), r"unit.c: files of Verilog"),
        (('sources = ["unit.sv"]', 'sources = ["none.sv"]'), r"sources: there is no file .*none.sv"),
        (("top =", 'include = ["nowhere"]\ntop ='), r"include: there is no folder .*nowhere"),
        (("top =", "top = "), None),
        (("top =", "block = 0\ntop ="), r"block: an integer from 1 on"),
        (("top =", 'free = ["a0[0]"]\ntop ='), r"both a0 and free a0\[0\]"),
        (("[ports]", '[clock]\nclock = "clk"\n[ports]'), r"\[clock\] latency: state either latency"),
        (("[ports]", "[clock]\nlatency = 1\n[ports]"), r"\[clock\] clock: the name of the clock port"),
        (("[ports]", '[clock]\nclock = "c"\nlatency = 1\n[ports]'), r"has 32 bits, and one is expected"),
        (("[ports]", "[ports"), r"UNIT.toml: .*line"),
    ],
)
def test_what_is_wrong_in_the_unit_file(change: tuple[str, str], message: str | None, tmp_path: Path) -> None:
    path = write_unit(tmp_path, COMBINATIONAL)
    text = path.read_text()
    assert change[0] in text
    path.write_text(text.replace(*change))
    if message is None:
        read_unit(path)
        return
    with pytest.raises(InputError, match=message) as caught:
        read_unit(path)
    assert str(path) in str(caught.value)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"UNIT.toml: cannot be read: No such file"):
        read_unit(tmp_path / "UNIT.toml")
    (tmp_path / "UNIT.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(InputError, match="not UTF-8"):
        read_unit(tmp_path / "UNIT.toml")


def test_too_many_cells(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="has 4 cells, and at most 3 are taken: a proof about N"):
        read_unit(write_unit(tmp_path, COMBINATIONAL), most_cells=3)
    clock = '[clock]\nclock = "clk"\ncycles = 40\nreset = "rst"\nreset_value = 1\n'
    with pytest.raises(InputError, match="more than 50 cells over all clock cycles"):
        read_unit(write_unit(tmp_path, PASSES, tables=clock), most_cells=50)


def test_far_too_many_cells_are_not_optimised(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    passes = [x.replace(str(elaboration.MOST_FLAT_CELLS), "3") for x in elaboration._PASSES]
    monkeypatch.setattr(elaboration, "_PASSES", passes)
    with pytest.raises(InputError, match=r"unit has 5 cells, and more than 3 are not even optimised: .* smaller unit"):
        read_unit(write_unit(tmp_path, COMBINATIONAL))


def test_inout_ports_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="port x is inout"):
        read_unit(write_unit(tmp_path, unit("assign d = c;", f"inout x, {HEAD}")))


# --- elaboration that does not end --------------------------------------------------------------------------

_SLEEPING = """
import os, subprocess, sys, time
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
with open("pids", "w") as file:
    file.write(f"{os.getpid()} {child.pid}")
os.replace("pids", "running")
time.sleep(60)
"""


def _has_ended(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except FileNotFoundError:
        return True


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks for processes in /proc")
@pytest.mark.parametrize("how", ["time", "interrupt"])
def test_nothing_is_left_running(how: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write_unit(tmp_path, COMBINATIONAL)
    monkeypatch.setattr(elaboration, "_CHILD", _SLEEPING)
    running, original = tmp_path / "running", subprocess.Popen.communicate

    def communicate(self, input=None, timeout=None):
        if timeout is None:
            return original(self, input)
        wait_until(running.exists)
        if how == "interrupt":
            raise KeyboardInterrupt
        return original(self, input, 0.01)

    monkeypatch.setattr(subprocess.Popen, "communicate", communicate)
    with pytest.raises(KeyboardInterrupt if how == "interrupt" else InputError, match=None):
        read_unit(path, seconds=5)
    for pid in map(int, running.read_text().split()):
        wait_until(partial(_has_ended, pid))


def test_too_little_memory(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="elaboration takes more than 40 MiB"):
        read_unit(write_unit(tmp_path, COMBINATIONAL), memory_bytes=40 << 20)


def test_without_yosys(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(TargetUnavailable, match=r"pip install 'mmaproof\[rtl\]'"):
        read_unit(write_unit(tmp_path, COMBINATIONAL))
