"""Signed arithmetic that GHDL 2 synthesises wrongly: it is mended, or the source is refused."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from support.rtl_units import write_unit

from mmaproof.designs.element import Operands
from mmaproof.designs.errors import InputError
from mmaproof.rtl import read_unit
from mmaproof.rtl.elaboration import PROBE, refuse_swapped, swaps_operands, with_signs
from mmaproof.smt.trace import evaluate

needs_ghdl = pytest.mark.skipif(shutil.which("ghdl") is None, reason="GHDL is not installed")

ENTITY = """library ieee; use ieee.std_logic_1164.all; {use}
entity unit is
  port (a0, a1, b0, b1 : in signed(7 downto 0); c : in signed(31 downto 0); d : out signed(31 downto 0));
end;
architecture rtl of unit is
begin
  d <= {d};
end;
"""
NUMERIC = "use ieee.numeric_std.all;"
ARITH = "use ieee.std_logic_arith.all;"
PLACES = [(a, b) for a in (-128, -127, -9, -8, -1, 0, 1, 7, 127) for b in (-128, -8, -3, -1, 1, 2, 4, 127)]


def quotient(a: int, b: int) -> int:
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


@pytest.mark.few(1)
@needs_ghdl
@pytest.mark.parametrize(
    ("use", "d", "wanted"),
    [
        (NUMERIC, "resize(shift_right(a0, to_integer(unsigned(b0(2 downto 0)))), 32)", lambda a, b: a >> (b & 7)),
        (NUMERIC, "resize(a0 sra 3, 32)", lambda a, b: a >> 3),
        (NUMERIC, "signed(resize(shift_right(unsigned(a0), 3), 32))", lambda a, b: (a & 255) >> 3),
        (NUMERIC, "resize(a0, 32) / b0", quotient),
        (NUMERIC, "resize(resize(a0, 32) rem b0, 32)", lambda a, b: a - b * quotient(a, b)),
        (NUMERIC, "resize(resize(a0, 32) mod b0, 32)", lambda a, b: a % b),
        (NUMERIC, "resize(a0 mod 4, 32)", lambda a, b: a % 4),
        (NUMERIC, "resize(to_signed(1, 8) - a0, 32)", lambda a, b: (1 - a + 128) % 256 - 128),
        (ARITH, "shr(c, unsigned(b0(2 downto 0)))", lambda a, b: a >> (b & 7)),
    ],
)
def test_signed_arithmetic(use: str, d: str, wanted: Callable[[int, int], int], tmp_path: Path) -> None:
    unit = read_unit(write_unit(tmp_path, ENTITY.format(use=use, d=d), name="unit.vhd", top="unit"))
    for a, b in PLACES:
        assert (
            evaluate(unit.design, Operands((a & 255, 0), (b & 255, 0), a & 0xFFFFFFFF)) == wanted(a, b) & 0xFFFFFFFF
        ), (a, b)


@pytest.mark.few(1)
@needs_ghdl
@pytest.mark.parametrize("use", [NUMERIC, ARITH])
def test_an_integer_minus_a_signed(use: str, tmp_path: Path) -> None:
    path = write_unit(tmp_path, ENTITY.format(use=use, d="1 - c"), name="unit.vhd", top="unit")
    try:
        unit = read_unit(path)
    except InputError as problem:
        assert "unit.vhd:7:10: GHDL synthesises an integer minus a signed number" in str(problem)
    else:
        assert evaluate(unit.design, Operands((0, 0), (0, 0), 11)) == -10 & 0xFFFFFFFF


def test_verilog_that_is_right_stays() -> None:
    right = "  assign n1 = $signed(a) >>> b;\n  assign n2 = a >> b;\n  assign n3 = a / b; // udiv\n"
    assert with_signs(right) == right
    assert with_signs("  assign n = a / 8'b11; // sdiv\n") == "  assign n = $signed(a) / $signed(8'b11);\n"


def test_probe() -> None:
    assert "1 - probed" in PROBE
    assert not swaps_operands("  assign n2_o = 8'b00000001 - probed;\n")
    assert swaps_operands("  assign n2_o = probed - 8'b00000001;\n")


def test_places_that_are_refused() -> None:
    syntax = (
        '<root><el id="1" implicit_definition="IIR_PREDEFINED_IEEE_NUMERIC_STD_SUB_{kind}"/>'
        '<el file="a.vhd" line="3" col="5"><implementation ref="1"/></el></root>'
    )
    refuse_swapped(syntax.format(kind="SGN_INT"))
    refuse_swapped(syntax.format(kind="NAT_UNS"))
    with pytest.raises(InputError, match=r"^a\.vhd:3:5: GHDL"):
        refuse_swapped(syntax.format(kind="INT_SGN"))
