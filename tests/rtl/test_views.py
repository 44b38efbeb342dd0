"""Views: modules of the sources that say what a number is inside a unit."""

from pathlib import Path

import pytest
from support.rtl_units import write_unit

from mmaproof.designs.catalogue import find_design
from mmaproof.designs.element import Operands
from mmaproof.designs.errors import InputError
from mmaproof.hardware_replay.rtl_simulator import run_sources
from mmaproof.rtl import RtlUnit, read_unit
from mmaproof.smt.solving.verdict import Status
from mmaproof.smt.trace import evaluate
from mmaproof.verification.compare import compare

pytest.importorskip("pyosys")
NAME = "integer/dot1.int8.int4.int4.int8"
OFFSET = """
module offset_of(input [3:0] x, output [4:0] y); assign y = {1'b0, x[3], x[2:0]} ^ 5'd8 ^ {x == 0, 4'd0}; endmodule
module number_of(input [9:0] x, output [7:0] y); assign y = x[9:2] - 8'd1; endmodule
module unit(input [4:0] a, input [3:0] b, input [7:0] c, output [7:0] high, output [1:0] low);
  wire signed [3:0] number = a[3:0] ^ 4'd8;
  assign high = number * $signed(b) + $signed(c) + 8'sd1, low = a[4] ? 2'd3 : 2'd0;
endmodule
"""
REGISTERED = OFFSET.replace("[7:0] y); assign y =", "reg [7:0] y); always @(posedge x[0]) y <=", 1)
PORTS = '[ports]\na = "a"\nb = "b"\nc = "c"\nd = ["high", "low"]\n'
VIEW = '[view]\na = "offset_of"\nd = "number_of"\n'


def read(folder: Path, source: str = OFFSET, tables: str = VIEW, ports: str = PORTS) -> RtlUnit:
    path = write_unit(folder, source, keys=f'design = "{NAME}"', formats="", ports=ports, tables=tables)
    return read_unit(path, signature=find_design(NAME).signature)


def test_operands_and_results_go_through_their_views(tmp_path: Path) -> None:
    unit = read(tmp_path)
    assert unit.design.conditions == ("a is what offset_of makes of a number",)
    assert evaluate(unit.design, Operands((3,), (0xE,), 10)) == 4
    assert compare(unit.design, find_design(NAME)).status is Status.PROVED
    ran = run_sources(unit, Operands((3,), (0xE,), 10))
    assert ran.d == 4


@pytest.mark.parametrize(
    ("old", "new"), [("x[9:2] - 8'd1", "x[9:2]"), ("^ 5'd8", "^ 5'd4"), ("number * $signed", "a[3:0] * $signed")]
)
def test_another_view_is_another_unit(old: str, new: str, tmp_path: Path) -> None:
    assert OFFSET.count(old) == 1
    found = compare(read(tmp_path, OFFSET.replace(old, new)).design, find_design(NAME))
    assert found.status is Status.REFUTED


@pytest.mark.parametrize(
    ("source", "tables", "ports", "problem"),
    [
        (OFFSET, VIEW, PORTS.replace('"a"', '"a[3:0]"'), "has 4 bits, and uint5 has 5"),
        (OFFSET, VIEW, PORTS.replace('"low"', '"low[0]"'), "9 bits, and module number_of of .view. has 10"),
        (OFFSET, VIEW.replace("number_of", "offset_of"), PORTS, "10 bits, and module offset_of of .view. has 4"),
        (OFFSET, VIEW.replace("number_of", "nowhere"), PORTS, "nowhere"),
        (OFFSET, VIEW.replace("number_of", "unit"), PORTS, "unit has other ports than one input and one output"),
        (OFFSET, VIEW.replace("number_of", "a b"), PORTS, "is not a name of a module"),
        (OFFSET, VIEW.replace("d =", "e ="), PORTS, "unknown field"),
        (REGISTERED, VIEW, PORTS, "has registers or undefined bits"),
    ],
)
def test_a_view_that_is_wrong_is_refused(source: str, tables: str, ports: str, problem: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=problem):
        read(tmp_path, source, tables, ports)


def test_a_register_needs_both_views(tmp_path: Path) -> None:
    folder = Path(__file__).parent / "units" / "accumulator"
    text = (folder / "signed_magnitude.toml").read_text(encoding="utf-8")
    (tmp_path / "signed_magnitude.sv").write_bytes((folder / "signed_magnitude.sv").read_bytes())
    path = tmp_path / "unit.toml"
    path.write_text(text.replace('d = "to_number"\n', ""))
    with pytest.raises(InputError, match="both c and d need one"):
        read_unit(path, signature=find_design(NAME).signature)
