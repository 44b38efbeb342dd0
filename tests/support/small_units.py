"""Small units for tests of what handles RTL: c plus two products of int4, in a few shapes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

DESIGN = "turing/mma.m8n8k32.s32.s4.s4.s32"
"""What the units are for k = 2."""

COMBINATIONAL = """
module dot (input logic [7:0] a, input logic [7:0] b, input logic [31:0] c, output logic [31:0] d);
  logic signed [3:0] x, y, u, v;
  logic signed [31:0] first, second;
  assign {y, x} = a;
  assign {v, u} = b;
  assign first = x * u;
  assign second = y * v;
  assign d = c + first + second;
endmodule
"""

WRONG = COMBINATIONAL.replace("assign second = y * v;", "assign second = (y == -4'sd5) ? 0 : y * v;")
"""One product is lost for one value."""

PIPELINE = """
module dot (input clk, input rst_n, input logic [7:0] a, input logic [7:0] b, input logic [31:0] c,
            output logic [31:0] d);
  logic signed [3:0] x, y, u, v;
  logic signed [31:0] first, second, sum;
  assign {y, x} = a;
  assign {v, u} = b;
  always_ff @(posedge clk) begin
    first <= x * u;
    second <= y * v;
    sum <= c;
    d <= sum + first + second;
  end
endmodule
"""

UNPACKED = """
module dot (input logic signed [3:0] a [2], input logic signed [3:0] b [1:0], input logic [31:0] c,
            output logic [31:0] d);
  logic signed [31:0] first, second;
  assign first = a[0] * b[0];
  assign second = a[1] * b[1];
  assign d = c + first + second;
endmodule
"""

MAP: dict[str, Any] = {
    "sources": ["dot.sv"],
    "top": "dot",
    "formats": {"a": "int4", "b": "int4", "c": "int32", "d": "int32"},
    "ports": {"a": "a", "b": "b", "c": "c", "d": "d"},
}


def write_unit(folder: Path, source: str = COMBINATIONAL, **changes: Any) -> Path:
    """Write a source and its UNIT.toml; return the latter."""
    (folder / "dot.sv").write_text(source)
    path = folder / "unit.toml"
    path.write_text(_toml({**MAP, **changes}))
    return path


def _toml(table: dict[str, Any]) -> str:
    """Return a table as TOML: texts, numbers and lists as JSON writes them, tables at the end."""
    plain = [f"{key} = {json.dumps(x)}\n" for key, x in table.items() if not isinstance(x, dict)]
    tables = [f"\n[{key}]\n{_toml(x)}" for key, x in table.items() if isinstance(x, dict)]
    return "".join(plain + tables)
