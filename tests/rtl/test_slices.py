"""Slices of ports mean what they mean in Verilog, however the port is declared."""

from pathlib import Path

import pytest
from support.rtl_units import write_unit

from mmaproof.designs.element import Operands
from mmaproof.designs.errors import InputError, TargetUnavailable
from mmaproof.hardware_replay.rtl_bench import layout_of
from mmaproof.rtl import read_unit
from mmaproof.rtl.netlist import Port
from mmaproof.rtl.slices import bits_of
from mmaproof.smt.trace import evaluate

PORTS = {
    "plain": Port("plain", "input", (10, 11, 12, 13)),
    "offset": Port("offset", "input", (20, 21, 22, 23), first=8),
    "ascending": Port("ascending", "input", (30, 31, 32, 33), ascends=True),
    "both": Port("both", "input", (40, 41, 42, 43), first=5, ascends=True),
}


@pytest.mark.parametrize(
    ("text", "bits"),
    [
        ("plain", (10, 11, 12, 13)),
        ("plain[2:1]", (11, 12)),
        ("offset[9:8]", (20, 21)),
        ("offset[11]", (23,)),
        ("ascending", (30, 31, 32, 33)),
        ("ascending[0]", (33,)),
        ("ascending[0:1]", (32, 33)),
        ("both[7:8]", (40, 41)),
        ("{plain[3], offset[8], both[5]}", (43, 20, 13)),
    ],
)
def test_bits_of_a_slice(text: str, bits: tuple[int, ...]) -> None:
    assert bits_of(text, PORTS, "here") == bits


@pytest.mark.parametrize(
    ("text", "declared"),
    [("plain[1:2]", "3:0"), ("offset[3:0]", "11:8"), ("ascending[1:0]", "0:3"), ("both[9]", "5:8")],
)
def test_a_slice_outside_of_the_declared_range_is_refused(text: str, declared: str) -> None:
    with pytest.raises(InputError, match=f"is not within port .* of 4 bits, which are {declared}"):
        bits_of(text, PORTS, "here")


def test_the_declared_range_arrives_from_the_source(tmp_path: Path) -> None:
    (tmp_path / "unit.sv").write_text(
        "module unit(input [0:15] a, input [15:8] b, input [31:0] c, output [31:0] d);\n"
        "  assign d = {8'd0, a[8:15], b[15:8], c[31:24]};\n"
        "endmodule\n"
    )
    (tmp_path / "unit.toml").write_text(
        'sources = ["unit.sv"]\ntop = "unit"\nfree = ["a[0:7]"]\n'
        '[formats]\na = "int8"\nb = "int8"\nc = "int32"\nd = "int32"\n'
        '[ports]\na = ["a[8:15]"]\nb = ["b[15:8]"]\nc = "c"\nd = "d"\n'
    )
    design = read_unit(tmp_path / "unit.toml").design
    assert evaluate(design, Operands((0x12,), (0x34,), 0x56000000)) == 0x00123456


INTERFACES = """
interface lane; logic signed [7:0] a, b; modport given (input a, b); endinterface
module unit (lane.given l [2], lane.given last, input logic signed [31:0] c, output logic signed [31:0] d);
  assign d = c + l[0].a * l[0].b + l[1].a * l[1].b + last.a * last.b;
endmodule
"""


def test_interfaces_of_the_top_are_ports(tmp_path):
    ports = "".join(f'{x} = ["l[0].{x}", "l[1].{x}", "last.{x}"]\n' for x in "ab")
    path = write_unit(tmp_path, INTERFACES, ports=f'[ports]\n{ports}c = "c"\nd = "d"\n')
    unit = read_unit(path)
    operands = Operands((1, 2, 0xFF), (3, 4, 5), 100)
    assert evaluate(unit.design, operands) == 100 + 3 + 8 - 5
    with pytest.raises(TargetUnavailable, match=r"port l\[0\]\.a is that of an interface"):
        layout_of(unit)
