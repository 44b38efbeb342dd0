"""A first map of a module: what is not guessed is left to the user, and the file is refused until then."""

import re
import shutil
from pathlib import Path

import pytest

from mmaproof.designs.element import Operands
from mmaproof.designs.errors import InputError
from mmaproof.rtl import RtlUnit, read_unit
from mmaproof.rtl.init import first_map
from mmaproof.smt.trace import evaluate

SOURCE = """module unit(input [7:0] a, b, input [31:0] c, input [2:0] gear, output [31:0] d);
  assign d = gear == 3'd5 ? c : {a, b, c[15:0]};
endmodule
"""


def test_an_input_of_which_nothing_is_known_is_not_tied(tmp_path: Path) -> None:
    source, path = tmp_path / "unit.sv", tmp_path / "unit.toml"
    source.write_text(SOURCE)
    path.write_text(first_map([source], "unit", path, design="turing/mma.m8n8k16.s32.s8.s8.s32"))
    assert '# gear = "3\'d0"' in path.read_text()
    formats = '[formats]\na = "int8"\nb = "int8"\nc = "int32"\nd = "int32"\n\n[ports]'
    path.write_text(path.read_text().replace("[ports]", formats))
    with pytest.raises(InputError, match="input gear .3 bits. is not an operand: map it under"):
        read_unit(path)
    path.write_text(path.read_text().replace("# gear", "gear"))
    assert read_unit(path).report.mapped["tied"] == "gear = 3'd0"


INT = "input signed [7:0] "
STYLES = {
    "a_X0": (["a_X0", "a_X1"], ["b_X0", "b_X1"]),
    "aX0": (["aX0", "aX1"], ["bX0", "bX1"]),
    "a0": (["a0", "a1"], ["b0", "b1"]),
    "a_0": (["a_0", "a_1"], ["b_0", "b_1"]),
    "A0": (["A0", "A1"], ["B0", "B1"]),
    "i_a_0": (["i_a_0", "i_a_1"], ["i_b_0", "i_b_1"]),
    "a0_i": (["a0_i", "a1_i"], ["b0_i", "b1_i"]),
    "in_a0": (["in_a0", "in_a1"], ["in_b0", "in_b1"]),
    "lhs_0": (["lhs_0", "lhs_1"], ["rhs_0", "rhs_1"]),
    "a_lane_0": (["a_lane_0", "a_lane_1"], ["b_lane_0", "b_lane_1"]),
    "src_a_0": (["src_a_0", "src_a_1"], ["src_b_0", "src_b_1"]),
    "io_a_0": (["io_a_0", "io_a_1"], ["io_b_0", "io_b_1"]),
    "x0": (["x0", "x1"], ["w0", "w1"]),
    "vec_a_1": (["vec_a_1", "vec_a_2"], ["vec_b_1", "vec_b_2"]),
    "io_in_a_0": (["io_in_a_0", "io_in_a_1"], ["io_in_b_0", "io_in_b_1"]),
    "lane0_a": (["lane0_a", "lane1_a"], ["lane0_b", "lane1_b"]),
    "data_a0": (["data_a0", "data_a1"], ["data_b0", "data_b1"]),
    "inA0": (["inA0", "inA1"], ["inB0", "inB1"]),
    "s_axis_a_tdata_0": (["s_axis_a_tdata_0", "s_axis_a_tdata_1"], ["s_axis_b_tdata_0", "s_axis_b_tdata_1"]),
}
"""Names of lanes as public sources have them."""


def unit_of(folder: Path, source: str, name: str = "unit.sv") -> RtlUnit:
    """The unit that a first map describes, as it was written."""
    (folder / name).write_text(source)
    path = folder / "unit.toml"
    path.write_text(first_map([folder / name], "unit", path))
    return read_unit(path)


@pytest.mark.few(2)
@pytest.mark.parametrize("style", STYLES)
def test_lanes_are_found_by_their_names(style: str, tmp_path: Path) -> None:
    a, b = STYLES[style]
    heads = f"{INT}{', '.join(a)}, {INT}{', '.join(b)}, input signed [31:0] c, output logic signed [31:0] d"
    body = f"always_ff @(posedge clk) d <= c + {a[0]} * {b[0]} + 16'sd3 * {a[1]} * {b[1]};"
    unit = unit_of(tmp_path, f"module unit(input clk, {heads});\n{body}\nendmodule\n")
    assert unit.report.mapped["a"] == ", ".join(a) and unit.report.mapped["b"] == ", ".join(b)
    assert [x.name for x in unit.design.formats] == ["int8", "int8", "int32", "int32"]
    assert unit.report.latency == 1
    assert evaluate(unit.design, Operands((2, 1), (5, 0xFF), 100)) == 107


ARRAYS = {
    "input signed [7:0] in_a [1:0], in_b [1:0], input signed [31:0] c": "",
    "input signed [1:0][7:0] in_a, input signed [1:0] [W-1:0] in_b, input signed [31:0] c": "#(parameter int W = 8)",
    "input logic signed [W - 1:0] in_a [N-1:0], in_b [N-1:0], input signed [31:0] c": "#(parameter N = 2, W = 8)",
}


@pytest.mark.parametrize("ports", ARRAYS)
def test_the_elements_of_arrays_are_found_by_their_declaration(ports: str, tmp_path: Path) -> None:
    body = "assign d = c + $signed(in_a[0]) * $signed(in_b[0]) + $signed(in_a[1]) * $signed(in_b[1]);"
    source = f"module unit {ARRAYS[ports]} ({ports}, output signed [31:0] d);\n{body}\nendmodule\n"
    unit = unit_of(tmp_path, source)
    assert [x.name for x in unit.design.formats] == ["int8", "int8", "int32", "int32"]
    assert evaluate(unit.design, Operands((2, 0xFF), (5, 3), 100)) == 107


def test_elements_of_unknown_width_are_not_guessed(tmp_path: Path) -> None:
    source = tmp_path / "unit.sv"
    ports = "input signed [1:0][$clog2(200)-1:0] a, b, input signed [31:0] c, output signed [31:0] d"
    source.write_text(f"module unit({ports});\nassign d = a[0] * b[0] + c;\nendmodule\n")
    text = first_map([source], "unit", tmp_path / "unit.toml")
    assert '# a = "?"  # the width does not tell' in text and 'c = "int32"' in text


def test_other_candidates_are_listed(tmp_path: Path) -> None:
    source = tmp_path / "unit.sv"
    ports = "input aclk, input [7:0] IN1, IN2, a_0_re, input [31:0] c, acc, output [31:0] result, debug"
    source.write_text(f"module unit({ports});\nassign result = IN1 * IN2 + c + acc + a_0_re, debug = c;\nendmodule\n")
    text = first_map([source], "unit", tmp_path / "unit.toml")
    assert (
        '# a = "?"  # no port has such a name: one of IN1 (8 bits), IN2 (8 bits), a_0_re (8 bits), acc (32 bits)?'
        in text
    )
    assert 'c = "c"  # CHECK: or acc (32 bits)?' in text and 'd = "result"  # CHECK: or debug (32 bits)?' in text
    assert 'clock = "aclk"' in text


@pytest.mark.middle
@pytest.mark.parametrize(("kind", "fmt"), [("signed", "int8"), ("unsigned", "uint8")])
@pytest.mark.skipif(shutil.which("ghdl") is None, reason="GHDL is not installed")
def test_numbers_of_vhdl_are_integers(kind: str, fmt: str, tmp_path: Path) -> None:
    source = f"""library ieee; use ieee.std_logic_1164.all; use ieee.numeric_std.all;
entity unit is port(clk : in std_logic;
  A0, A1 : in {kind}(7 downto 0); B0, B1 : in {kind}(7 downto 0); -- lanes
  acc : in {kind}(31 downto 0); res : out {kind}(31 downto 0)); end entity;
architecture rtl of unit is signal p : {kind}(31 downto 0); begin
  process(clk) begin if rising_edge(clk) then p <= resize(A0 * B0, 32) + resize(A1 * B1, 32) + acc; res <= p;
  end if; end process;
end architecture;
"""
    unit = unit_of(tmp_path, source, "unit.vhdl")
    wide = fmt.replace("8", "32")
    assert [x.name for x in unit.design.formats] == [fmt, fmt, wide, wide]
    assert unit.report.latency == 2


@pytest.mark.parametrize(
    ("body", "line"),
    [
        ("always_ff @(posedge clk) begin s <= a0 * b0; d <= s + a0; end", "from a 1 and 2$"),
        ("always_ff @(posedge clk) d <= d + a0 * b0 + c;", "or cycles: a feedback loop through"),
        ("always_ff @(negedge g) s <= a0; always_ff @(posedge clk) d <= s + b0 + c;", "another clock"),
    ],
)
def test_a_latency_that_would_fail_is_not_guessed(body: str, line: str, tmp_path: Path) -> None:
    ports = f"input clk, g, {INT}a0, {INT}b0, input signed [31:0] c, output logic signed [31:0] d"
    source = tmp_path / "unit.sv"
    source.write_text(f"module unit({ports});\nlogic signed [31:0] s;\n{body}\nendmodule\n")
    text = first_map([source], "unit", tmp_path / "unit.toml")
    assert re.search(rf"^# latency = \?  # .*{line}", text, re.MULTILINE), text
    assert not re.search(r"^(latency|cycles) =", text, re.MULTILINE)


def test_a_control_path_is_no_latency(tmp_path: Path) -> None:
    """Registers of a valid signal that goes along longer than the data, and those behind a second output."""
    ports = f"input clk, rst_n, valid, {INT}a0, {INT}b0, input signed [31:0] c, output logic signed [31:0] d"
    body = """logic v1, v2, v3; assign done = v3;
always_ff @(posedge clk or negedge rst_n) if (!rst_n) {v1, v2, v3} <= 0; else {v1, v2, v3} <= {valid, v1, v2};
always_ff @(posedge clk) d <= a0 * b0 + c;"""
    unit = unit_of(tmp_path, f"module unit({ports}, output logic done);\n{body}\nendmodule\n")
    assert unit.report.latency == 1


def test_a_port_of_a_later_stage_is_no_latency(tmp_path: Path) -> None:
    ports = f"input clk, input [1:0] gear, {INT}a0, {INT}b0, input signed [31:0] c, output logic signed [31:0] d"
    body = "logic signed [31:0] s; always_ff @(posedge clk) begin s <= a0 * b0 + c; d <= gear == 2 ? s : 0; end"
    source = tmp_path / "unit.sv"
    source.write_text(f"module unit({ports});\n{body}\nendmodule\n")
    assert re.search(r"^latency = 2 ", first_map([source], "unit", tmp_path / "unit.toml"), re.MULTILINE)


def test_ports_of_one_name_are_not_lost(tmp_path: Path) -> None:
    source = tmp_path / "unit.sv"
    ports = f"{INT}a0, {INT}lhs0, {INT}b0, {INT}a, input signed [31:0] c, output signed [31:0] d"
    source.write_text(f"module unit({ports});\nassign d = a0 * b0 + c + lhs0 + a;\nendmodule\n")
    text = first_map([source], "unit", tmp_path / "unit.toml")
    assert 'a = "a0"' in text and "# lhs0 =" in text and '# a = "8' in text


def test_a_register_that_feeds_back_is_c_and_d(tmp_path: Path) -> None:
    """One that only keeps its value while it is not enabled is none, and what is chosen before it is added is."""
    source = tmp_path / "pe.sv"
    source.write_text(
        "module unit(input clk, clr, en, input signed [7:0] act_i, weight_i, output signed [31:0] psum_o);\n"
        "  logic signed [7:0] act_q, kept;\n  logic signed [31:0] acc;\n  assign psum_o = acc;\n"
        "  always_ff @(posedge clk) begin\n    act_q <= act_i;\n    if (en) kept <= act_i;\n"
        "    if (en || clr) acc <= (clr ? 32'sd0 : acc) + act_q * weight_i;\n  end\nendmodule\n"
    )
    text = first_map([source], "unit", tmp_path / "unit.toml")
    assert 'c = "reg:acc"' in text and 'd = "next:acc"' in text
    assert '[control]\nclear = "clr"  # CHECK\nenable = "en"  # CHECK\n' in text
    assert "latency = { a = 1, b = 0 }  # CHECK" in text
    (tmp_path / "unit.toml").write_text(text)
    unit = read_unit(tmp_path / "unit.toml")
    assert unit.file.accumulates and unit.not_direct is None
    operands = Operands(a=(0x02,), b=(0xFD,), c=0x00000010)
    assert evaluate(unit.design, operands) == 0x0A


PACKAGE = """package p;
  typedef logic signed [7:0] elem_t;
  typedef struct packed { logic valid; elem_t [1:0] a; logic signed [1:0][7:0] b; logic signed [23:0] c; } in_t;
  typedef struct packed { logic ready; struct_t rest; } nested_t;
endpackage
"""
FIELDS = """module product(input signed [7:0] a, b, output signed [15:0] p); assign p = a * b; endmodule
module unit(input clk_i, rst_ni, input p::in_t op_i, output logic signed [23:0] res_o);
  logic signed [15:0] p0, p1; logic signed [23:0] s;
  product first(.a(op_i.a[0]), .b(op_i.b[0]), .p(p0)), second (.a(op_i.a[1]), .b(op_i.b[1]), .p(p1));
  always_ff @(posedge clk_i) begin s <= $signed(op_i.c) + p0; res_o <= s + p1; end
endmodule
"""


def test_fields_skews_and_the_top_are_found(tmp_path: Path) -> None:
    """A structure's fields are operands, and elements that are given in different cycles have their latencies."""
    (tmp_path / "unit.sv").write_text(
        PACKAGE.replace("  typedef struct packed { logic ready; struct_t rest; } nested_t;\n", "") + FIELDS
    )
    text = first_map([tmp_path / "unit.sv"], None, tmp_path / "unit.toml")
    assert "# input op_i[56] = valid, 1 bits\n# input op_i[55:40] = a, 16 bits" in text
    assert 'free = ["op_i[56]"]' in text and 'top = "unit"' in text
    assert '# design = "integer/dot2.int24.int8.int8.int24"' in text
    assert "latency = { a = [2, 1], b = [2, 1], c = 2 }" in text
    (tmp_path / "unit.toml").write_text(text)
    unit = read_unit(tmp_path / "unit.toml")
    assert evaluate(unit.design, Operands((2, 0xFF), (5, 3), 100)) == 107


@pytest.mark.parametrize(
    ("declared", "used"),
    [
        ("logic [7:0] a, b;", False),
        ("logic [W-1:0] a; logic [7:0] b;", True),
        ("logic [$clog2(200)-1:0] a, b;", False),
        ("logic [3:0] a; logic [11:0] b;", True),
        ("enum logic [7:0] {X, Y} a; logic [7:0] b;", False),
    ],
)
def test_fields_whose_widths_the_text_does_not_tell_are_left(declared: str, used: bool, tmp_path: Path) -> None:
    """Several names in one declaration, calls and enumerations are not read; the port stays one that nobody guesses."""
    source = "module unit #(parameter W = 8) (input i_t op_i, input [31:0] c, output [31:0] d);\n"
    source += "  assign d = op_i.a * op_i.b + c;\nendmodule\n"
    (tmp_path / "unit.sv").write_text(f"localparam W = 8; typedef struct packed {{ {declared} }} i_t;\n{source}")
    text = first_map([tmp_path / "unit.sv"], None, tmp_path / "unit.toml")
    assert ('b = "op_i[' in text) is used
    assert ("# op_i = " in text) is not used


def test_without_a_top_the_candidates_are_listed(tmp_path: Path) -> None:
    source = tmp_path / "two.sv"
    source.write_text(
        "module inner(output y); assign y = 1; endmodule\nmodule one(output y); inner #() i(y); endmodule\n"
        "module two; endmodule\n"
    )
    with pytest.raises(InputError, match="--top: one of one, two"):
        first_map([source], None, tmp_path / "unit.toml")


@pytest.mark.skipif(shutil.which("ghdl") is None, reason="GHDL is not installed")
def test_an_entity_that_another_has_inside_is_not_the_top(tmp_path: Path) -> None:
    source = tmp_path / "two.vhdl"
    source.write_text(
        "entity inner is port(a : in bit; y : out bit); end entity;\narchitecture x of inner is begin y <= a; end;\n"
        "entity outer is port(a : in bit; d : out bit); end entity;\n"
        "architecture x of outer is begin i : entity work.inner port map(a, d); end;\n"
    )
    assert 'top = "outer"' in first_map([source], None, tmp_path / "unit.toml")


def test_operands_that_are_held_are_left_to_the_user(tmp_path: Path) -> None:
    ports = f"input clk, {INT}a0, {INT}a1, {INT}b, input signed [31:0] c, output logic signed [31:0] d"
    body = "logic signed [31:0] s; always_ff @(posedge clk) begin s <= a0 * b + c; d <= s + a1 * b; end"
    source = tmp_path / "unit.sv"
    source.write_text(f"module unit({ports});\n{body}\nendmodule\n")
    text = first_map([source], "unit", tmp_path / "unit.toml")
    assert "# latency = ?  # registers on paths to d: from b 1 and 2" in text
    assert '# held = ["b"]' in text and "# latency = { a = [2, 1], c = 2 }" in text


TRIED = {
    # packed unsigned bytes: their widths suggest fp16
    "uint8 uint8 int32 int32": (
        "input [31:0] x, w, psum, output logic [31:0] y",
        "integer i;\nalways_comb begin y = psum; for (i = 0; i < 4; i++) y = y + x[8*i +: 8] * w[8*i +: 8]; end",
    ),
    # unsigned by signed, as activations and weights are
    "uint8 int8 int24 int24": (
        "input [7:0] a, input [7:0] b, input [23:0] c, output [23:0] d",
        "wire signed [16:0] p = $signed({1'b0, a}) * $signed(b);\nassign d = c + {{7{p[16]}}, p};",
    ),
    # bf16, normal numbers alone, a product in fp32 and no c
    "bf16 bf16 fp32": (
        "input [15:0] a, b, output [31:0] d",
        "wire [15:0] m = {1'b1, a[6:0]} * {1'b1, b[6:0]};\nwire [9:0] e = a[14:7] + b[14:7] - 10'd127 + m[15];\n"
        "assign d = {a[15] ^ b[15], e[7:0], m[15] ? {m[14:0], 8'b0} : {m[13:0], 9'b0}};",
    ),
    # names that say nothing, and no c
    "int8 int8 int18": (
        "input signed [3:0][7:0] first, second, output logic signed [17:0] dot",
        "integer i;\nalways_comb begin dot = 0;\n"
        "for (i = 0; i < 4; i++) dot = dot + $signed(first[i]) * $signed(second[i]); end",
    ),
}
"""Formats of units whose widths and names do not tell them, and the ports and bodies of these."""


@pytest.mark.few(2)
@pytest.mark.parametrize("formats", TRIED)
def test_formats_are_found_by_trying(formats: str, tmp_path: Path) -> None:
    ports, body = TRIED[formats]
    unit = unit_of(tmp_path, f"module unit({ports});\n{body}\nendmodule\n")
    names = [x.name for x in unit.design.formats]
    assert formats.split() == (names if unit.file.adds_c else [*names[:2], names[3]])


ADDERS = {
    "int16": ("input [15:0] x, y, output [15:0] s", "assign s = x + y;"),
    # numbers near 1 alone: an addition of magnitudes, aligned at the larger exponent and renormalised
    "fp16": (
        "input [15:0] x, y, output [15:0] s",
        "wire signed [44:0] v = (x[15] ? -1 : 1) * ($signed({34'b0, |x[14:10], x[9:0]}) <<< x[14:10]);\n"
        "wire signed [44:0] w = (y[15] ? -1 : 1) * ($signed({34'b0, |y[14:10], y[9:0]}) <<< y[14:10]);\n"
        "wire signed [44:0] t = v + w;\nwire [44:0] m = t[44] ? -t : t;\ninteger i;\nreg [5:0] p;\n"
        "always_comb begin p = 0; for (i = 0; i < 45; i++) if (m[i]) p = i; end\n"
        "wire [44:0] n = m << (6'd44 - p);\nassign s = {t[44], p[4:0] - 5'd10, n[43:34]};",
    ),
}
"""The format of units that add two numbers, with their ports and bodies."""


@pytest.mark.parametrize("fmt", ADDERS)
def test_a_unit_that_adds_two_numbers_has_a_product_with_1(fmt: str, tmp_path: Path) -> None:
    ports, body = ADDERS[fmt]
    unit = unit_of(tmp_path, f"module unit({ports});\n{body}\nendmodule\n")
    assert {x.name for x in unit.design.formats} == {fmt}
    assert (unit.file.ports["a"], unit.file.ports["c"]) == ("x", "y")
    assert unit.file.fixed["b"].endswith(("h1", "h3c00"))


def test_formats_that_fit_in_part_are_a_guess(tmp_path: Path) -> None:
    source, path = tmp_path / "unit.sv", tmp_path / "unit.toml"
    source.write_text(
        "module unit(input [7:0] a, b, input [15:0] c, output [15:0] d);\nwire [7:0] p = a * b;\nassign d = c + p;\n"
        "endmodule\n"
    )
    text = first_map([source], "unit", path)
    assert re.search(r"returned the sum of products of \d+ of 24 operand sets", text) and 'a = "uint8"\n' in text


def test_a_file_that_is_not_found_is_the_only_error(tmp_path: Path) -> None:
    source = tmp_path / "unit.v"
    source.write_text('`include "gone.vh"\nmodule unit(output [`WIDTH-1:0] d);\nassign d = `ZERO;\nendmodule\n')
    with pytest.raises(
        InputError, match=r"unit\.v:1: the included file gone\.vh was not found; include .*-I FOLDER"
    ) as found:
        first_map([source], "unit", tmp_path / "unit.toml")
    assert "WIDTH" not in str(found.value)


def test_where_no_formats_fit_widths_are_all_that_is_said(tmp_path: Path) -> None:
    source, path = tmp_path / "unit.sv", tmp_path / "unit.toml"
    source.write_text(
        "module unit(input [7:0] a, b, input [31:0] c, output [31:0] d);\nassign d = c - a * b;\nendmodule\n"
    )
    text = first_map([source], "unit", path)
    assert "widths do not tell formats apart" in text and "that need no rounding" not in text


def test_formats_that_all_fit_are_listed(tmp_path: Path) -> None:
    source, path = tmp_path / "unit.sv", tmp_path / "unit.toml"
    source.write_text(
        "module unit(input [7:0] a, b, input [31:0] c, output [31:0] d);\nassign d = c + a * b;\nendmodule\n"
    )
    text = first_map([source], "unit", path)
    assert 'd = "int32"  # or uint32' in text and 'a = "uint8"\n' in text
