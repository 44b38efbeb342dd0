"""What GHDL before version 3 leaves out of its Verilog: the default of a case."""

import shutil
from pathlib import Path

import pytest

from mmaproof.designs.element import Operands
from mmaproof.designs.errors import InputError
from mmaproof.rtl import read_unit
from mmaproof.rtl.elaboration import lacks_default, with_others
from mmaproof.smt.trace import evaluate

VERILOG = """module pick
  (input [1:0] s, input [1:0] t, output [1:0] y);
  reg [1:0] n3_o;
  always @*
    case (s)
      2'b10: n3_o <= 2'b10;
      2'b01: n3_o <= 2'b11;
    endcase
  assign y = n3_o;
endmodule
"""

VHDL_NETLIST = """architecture rtl of Pick is
begin
  with s select n3_o <=
    "10" when "10",
    "11" when "01",
    {default} when others;
end rtl;
"""

UNIT = """library ieee;
use ieee.std_logic_1164.all;
use ieee.std_logic_unsigned.all;
entity unit is
  port (a, b : in std_logic_vector(7 downto 0); c : in std_logic_vector(31 downto 0);
        d : out std_logic_vector(31 downto 0));
end entity;
architecture rtl of unit is
begin
  with a(1 downto 0) select d(15 downto 0) <= x"1111" when "00", x"2222" when "10", x"3333" when others;
  process (b, c) begin
    case b(2 downto 0) is
      when "001" => d(31 downto 16) <= c(15 downto 0);
      when "010" => d(31 downto 16) <= x"5a5a";
      when others => d(31 downto 16) <= c(31 downto 16);
    end case;
  end process;
end architecture;
"""

UNIT_FILE = """sources = ["unit.vhd"]
top = "unit"
[formats]
a = "int8"
b = "int8"
c = "int32"
d = "int32"
[ports]
a = "a"
b = "b"
c = "c"
d = "d"
"""


@pytest.mark.parametrize(
    ("default", "written"), [('"01"', "2'b01"), ('"0X"', "2'b0x"), ("'1'", "1'b1"), ("n7_o", "n7_o"), ('"LH"', "2'b01")]
)
def test_the_default_of_the_vhdl_netlist_is_written(default: str, written: str) -> None:
    lines = with_others(VERILOG, VHDL_NETLIST.format(default=default)).splitlines()
    assert [x.strip() for x in lines if "default" in x] == [f"default: n3_o <= {written};"]
    assert lines.index(f"      default: n3_o <= {written};") == lines.index("    endcase") - 1


def test_a_case_that_has_a_default_stays_as_it_is() -> None:
    whole = VERILOG.replace("    endcase", "      default: n3_o <= 2'b00;\n    endcase")
    assert with_others(whole, "") == whole and not lacks_default(whole) and lacks_default(VERILOG)


@pytest.mark.parametrize("netlist", ["", VHDL_NETLIST.format(default="f(x, 3)"), VHDL_NETLIST.replace("Pick", "other")])
def test_a_default_that_is_not_known_is_refused(netlist: str) -> None:
    with pytest.raises(InputError, match="GHDL writes a case of pick without its default.*n3_o.*GHDL 3"):
        with_others(VERILOG, netlist)


@pytest.mark.skipif(shutil.which("ghdl") is None, reason="GHDL is not installed")
def test_every_value_of_a_case_is_computed_as_the_vhdl_says(tmp_path: Path) -> None:
    (tmp_path / "unit.vhd").write_text(UNIT)
    (tmp_path / "unit.toml").write_text(UNIT_FILE)
    design = read_unit(tmp_path / "unit.toml").design
    low = {0: 0x1111, 2: 0x2222}
    high = {1: 0x9876, 2: 0x5A5A}
    for a in range(4):
        for b in range(8):
            expected = high.get(b, 0xFEDC) << 16 | low.get(a, 0x3333)
            assert evaluate(design, Operands((a,), (b,), 0xFEDC9876)) == expected
