"""Small units of RTL, written into a folder with their UNIT.toml."""

from __future__ import annotations

from pathlib import Path

INTEGER_FORMATS = '[formats]\na = "int8"\nb = "int8"\nc = "int32"\nd = "int32"\n'
PORTS = '[ports]\na = "a"\nb = "b"\nc = "c"\nd = "d"\n'

HEAD = "input signed [7:0] a0, a1, b0, b1, input signed [31:0] c"
"""ports of two products of int8"""

LANES = '[ports]\na = ["a0", "a1"]\nb = ["b0", "b1"]\nc = "c"\nd = "d"\n'


def write_unit(
    folder: Path,
    source: str,
    *,
    keys: str = "",
    tables: str = "",
    ports: str = LANES,
    formats: str = INTEGER_FORMATS,
    name: str = "unit.sv",
    top: str = "unit",
) -> Path:
    """Write a source and a UNIT.toml, and return the path of the latter."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(source, encoding="utf-8")
    path = folder / "UNIT.toml"
    path.write_text(f'sources = ["{name}"]\ntop = "{top}"\n{keys}\n{formats}{ports}{tables}', encoding="utf-8")
    return path


COMBINATIONAL = f"""
module unit({HEAD}, output signed [31:0] d);
  assign d = a0 * b0 + a1 * b1 + c;
endmodule
"""

PIPELINE = f"""
module unit(input clk, rst_n, valid, input [1:0] mode, {HEAD}, output logic signed [31:0] d, output logic ready);
  logic signed [15:0] p0, p1;
  logic signed [31:0] c1, c2;
  logic signed [16:0] s;
  logic v1, v2;
  always_ff @(posedge clk or negedge rst_n)
    if (!rst_n) begin v1 <= 0; v2 <= 0; p0 <= 0; end
    else begin v1 <= valid; v2 <= v1; if (valid) p0 <= a0 * b0; end
  always_ff @(posedge clk) if (!rst_n) p1 <= 0; else if (valid) p1 <= a1 * b1;
  always_ff @(posedge clk) begin
    if (valid) c1 <= c;
    if (v1) begin s <= p0 + p1; c2 <= c1; end
    if (v2) d <= mode == 2'd2 ? s + c2 : 32'sd0;
    ready <= v2;
  end
endmodule
"""
"""Three registers on each path, with enables that follow valid, an asynchronous and a synchronous reset."""

PIPELINE_TIED = '[tied]\nrst_n = 1\nvalid = 1\nmode = "2\'b10"\n'
PIPELINE_CLOCK = '[clock]\nclock = "clk"\nlatency = 3\n'

PASSES = f"""
module unit(input clk, rst, {HEAD}, output signed [31:0] d);
  logic [1:0] count;
  logic signed [31:0] sum;
  wire signed [7:0] x = count[0] ? a1 : a0;
  wire signed [7:0] y = count[0] ? b1 : b0;
  always_ff @(posedge clk)
    if (rst) begin count <= 0; sum <= 0; end
    else if (count != 2) begin count <= count + 1; sum <= sum + x * y; end
  assign d = sum + c;
endmodule
"""
"""One product in each pass."""


def int8_dot(a: tuple[int, int], b: tuple[int, int], c: int) -> int:
    """Return c + a0*b0 + a1*b1 of patterns of int8 and int32, as a pattern."""
    values = [x - 256 if x > 127 else x for x in (*a, *b)]
    return (values[0] * values[2] + values[1] * values[3] + c) % (1 << 32)
