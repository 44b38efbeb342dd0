"""VHDL is synthesised by GHDL; units may be of both languages."""

import shutil
from pathlib import Path

import pytest
from support.rtl_units import HEAD, int8_dot, write_unit

from mmaproof.designs.element import Operands
from mmaproof.designs.errors import InputError, TargetUnavailable
from mmaproof.rtl import read_unit
from mmaproof.smt.trace import evaluate

VHDL = """
library ieee; use ieee.std_logic_1164.all; use ieee.numeric_std.all;
entity Dot is
  generic (BIAS : integer := 7);
  port (clk : in std_logic; a0, a1, b0, b1 : in signed(7 downto 0); c : in signed(31 downto 0);
        d : out signed(31 downto 0));
end;
architecture rtl of Dot is
  signal p0, p1 : signed(15 downto 0);
  signal c1 : signed(31 downto 0);
begin
  process (clk) begin
    if rising_edge(clk) then p0 <= a0 * b0; p1 <= a1 * b1; c1 <= c; end if;
  end process;
  d <= resize(p0, 32) + resize(p1, 32) + c1 + BIAS;
end;
"""

needs_ghdl = pytest.mark.skipif(shutil.which("ghdl") is None, reason="GHDL is not installed")


CLOCK = '[clock]\nclock = "clk"\nlatency = 1\n'


@pytest.mark.middle
@needs_ghdl
@pytest.mark.parametrize("bias", [0, 7])
def test_an_entity_as_top(bias: int, tmp_path: Path) -> None:
    keys = f"parameters = {{ BIAS = {bias} }}"
    unit = read_unit(write_unit(tmp_path, VHDL, tables=CLOCK, keys=keys, name="dot.vhd", top="dot"))
    for a, b, c in (((3, 200), (5, 7), 11), ((128, 128), (128, 127), 0)):
        assert evaluate(unit.design, Operands(a, b, c)) == int8_dot(a, b, c + bias)
    assert unit.report.registers == 64 and "p0" in unit.circuit.nets


@pytest.mark.middle
@needs_ghdl
def test_an_entity_in_a_module(tmp_path: Path) -> None:
    (tmp_path / "dot.vhd").write_text(VHDL)
    source = f"""
module unit(input clk, {HEAD}, output signed [31:0] d);
  wire signed [31:0] e;
  Dot inner(.clk(clk), .a0(a0), .a1(a1), .b0(b0), .b1(b1), .c(c), .d(e));
  assign d = e - 7;
endmodule
"""
    path = write_unit(tmp_path, source, tables=CLOCK)
    path.write_text(path.read_text().replace('sources = ["unit.sv"]', 'sources = ["unit.sv", "dot.vhd"]'))
    unit = read_unit(path)
    assert evaluate(unit.design, Operands((3, 200), (5, 7), 11)) == int8_dot((3, 200), (5, 7), 11)
    assert "inner.p0" in unit.circuit.nets


@needs_ghdl
def test_an_error_in_vhdl(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"dot.vhd:9:\d+: no declaration for \"unknown_type\""):
        read_unit(write_unit(tmp_path, VHDL.replace("signed(15", "unknown_type(15"), name="dot.vhd", top="dot"))
    with pytest.raises(InputError, match="there is no entity other; there are dot"):
        read_unit(write_unit(tmp_path, VHDL, name="dot.vhd", top="other"))


def test_without_ghdl(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda name: None)
    with pytest.raises(TargetUnavailable, match="apt-get install ghdl"):
        read_unit(write_unit(tmp_path, VHDL, name="dot.vhd", top="dot"))
