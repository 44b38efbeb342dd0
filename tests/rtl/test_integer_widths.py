"""Integers of any width from 2 to 64 bits: in names of designs, in UNIT.toml, and as registers that accumulate."""

import pytest
from support.integer_datapaths import Datapath
from support.rtl_units import write_unit

from mmaproof.designs.catalogue import find_design
from mmaproof.designs.element import Operands
from mmaproof.designs.errors import DesignError, InputError
from mmaproof.designs.formats import FORMATS, find_format
from mmaproof.properties.preconditions import parse_precondition
from mmaproof.rtl import read_unit
from mmaproof.smt.trace import evaluate
from mmaproof.verification.compare import compare

REGISTER = """
module unit (input logic clk, clr, en, input logic signed [7:0] a, b, output logic signed [19:0] acc);
  always_ff @(posedge clk) if (clr) acc <= '0; else if (en) acc <= acc + 20'(a * b);
endmodule
"""
TABLES = '[clock]\nclock = "clk"\n[control]\nenable = "en"\nclear = "clr"\n'
OF_REGISTER = '[ports]\na = "a"\nb = "b"\nc = "reg:acc"\nd = "next:acc"\n'
SATURATES = """
module unit (input logic signed [3:0][7:0] a, b, input logic signed [15:0] c, output logic signed [15:0] d);
  logic signed [19:0] t;
  always_comb begin t = 20'(c); for (int i = 0; i < 4; i++) t += 20'($signed(a[i]) * $signed(b[i])); end
  assign d = t > 20'sd32767 ? 16'sd32767 : t < -20'sd32768 ? -16'sd32768 : t[15:0];
endmodule
"""
WIDE = """
module unit (input logic signed [1:0][15:0] a, b, input logic signed [39:0] c, output logic signed [43:0] d);
  assign d = 44'(c) + 44'($signed(a[0]) * $signed(b[0])) + 44'($signed(a[1]) * $signed(b[1]));
endmodule
"""
PORTS = '[ports]\na = "a"\nb = "b"\nc = "c"\nd = "d"\n'
C_EXTENDED = "integer/dot2.int44.int16.int16.int40"


def read(folder, source, design, **more):
    meant = find_design(design)
    path = write_unit(folder, source, keys=f'design = "{design}"', formats="", **{"ports": PORTS, **more})
    return read_unit(path, signature=meant.signature), meant


@pytest.mark.parametrize("name", ["int20", "s20", "uint7", "int2", "int64", "u64"])
def test_a_width_is_a_format(name):
    fmt = find_format(name)
    assert fmt.is_integer and fmt is FORMATS[fmt.name] and fmt.bits == int(name.strip("uints"))
    assert fmt.signed is not name.startswith("u")


@pytest.mark.parametrize("d", ["int8", "int4", "uint8", "uint16", "int7"])
def test_a_register_may_have_a_format_of_elements(d):
    assert find_design(f"integer/dot1.{d}.int3.int3.{d}").d_format is find_format(d)


@pytest.mark.parametrize("name", ["int1", "int65", "uint0", "int", "intx", "us8", "int08"])
def test_other_widths_are_none(name):
    with pytest.raises(InputError, match="intN or uintN with N from 2 to 64"):
        find_format(name)


@pytest.mark.parametrize(
    "name", ["dot4", "dot0.int20.int8.int8.int20", "dot4.int65.int8.int8.int20", "dot2.fp16.fp16.fp16.fp16"]
)
def test_a_name_that_says_no_unit_is_refused(name):
    with pytest.raises(DesignError, match="64"):
        find_design(f"integer/{name}")


def test_a_unit_wraps_or_saturates_in_its_width():
    unit = "integer/dot2.int20.int8.int8.int20"
    operands = Operands((0x7F, 0x7F), (0x7F, 0x7F), 0x7FFFF)
    assert evaluate(unit, operands) == (0x7FFFF + 2 * 127 * 127) % (1 << 20)
    assert evaluate(f"{unit}@integer_overflow=saturate", operands) == 0x7FFFF
    assert find_design(find_design("integer/dot2.s20.s8.s8.s20").name).signature == find_design(unit).signature


@pytest.mark.parametrize(("old", "new"), [("", ""), ("20'(a * b)", "20'($unsigned(a) * $unsigned(b))")])
def test_a_register_of_twenty_bits(tmp_path, old, new):
    source = REGISTER.replace(old, new) if old else REGISTER
    unit, meant = read(tmp_path, source, "integer/dot1.int20.int8.int8.int20", ports=OF_REGISTER, tables=TABLES)
    assert compare(unit.design, meant).verdict == ("different" if old else "equivalent")
    assert [compare(x.unit, x.model or meant).verdict for x in unit.transitions[:3]] == ["equivalent"] * 3


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("source", "design", "old", "new"),
    [
        (SATURATES, "integer/dot4.int16.int8.int8.int16@integer_overflow=saturate", "> 20'sd32767", "> 20'sd32766 + 2"),
        (SATURATES, "integer/dot4.int16.int8.int8.int16@integer_overflow=saturate", "-16'sd32768", "-16'sd32767"),
        (WIDE, C_EXTENDED, "44'(c)", "{4'd0, c}"),
        (WIDE, C_EXTENDED, "44'($signed(a[0]) * $signed(b[0]))", "44'({$signed(a[0]) * $signed(b[0])})"),
    ],
)
def test_a_result_of_another_width(tmp_path, source, design, old, new):
    unit, meant = read(tmp_path / "right", source, design)
    assert compare(unit.design, meant).verdict == "equivalent"
    assert source.count(old) == 1
    wrong, _ = read(tmp_path / "wrong", source.replace(old, new), design)
    assert compare(wrong.design, meant).verdict == "different"


@pytest.mark.few(2)
@pytest.mark.parametrize("signed", [False, True])
@pytest.mark.parametrize(("tree", "adder"), [("wallace", "brent-kung"), ("dadda", "kogge-stone"), ("array", "ripple")])
def test_gates_without_c_are_proved_whose_result_is_wider_than_the_sum(tmp_path, tree, adder, signed):
    gates = Datapath("booth4", tree, adder, 8, signed, count=4, result=32)
    kind, ports = "int" if signed else "uint", '[ports]\na = "a"\nb = "b"\nd = "d"\n'
    right = gates.netlist()
    wrong = right.with_gate(right.outputs[20], ("not", (2,)))
    for number, netlist in enumerate((right, wrong)):
        (folder := tmp_path / str(number)).mkdir()
        source = netlist.sv([("a", 32), ("b", 32)])
        unit, meant = read(folder, source, f"integer/dot4.{kind}32.{kind}8.{kind}8.{kind}32", ports=ports)
        found = compare(unit.design, meant, where=[parse_precondition("c=0x0")])
        assert found.verdict == ("different" if number else "equivalent")
        assert number or [x.name for x in found.lemmas] == ["the sum of its adders"]
