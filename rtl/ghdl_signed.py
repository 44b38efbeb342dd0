"""Signed arithmetic that GHDL synthesises wrongly: restored in its Verilog, or refused.

GHDL 2 writes shifts to the right, quotients and remainders of signed numbers as Verilog computes them for unsigned
ones. The netlist is right, and its Verilog says by ``$signed`` or by a comment which operation it is, so the Verilog is
mended here. GHDL 2 also swaps the operands of an integer minus a signed number. There the netlist itself is wrong, so
a source that has such an operation is refused.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from xml.etree import ElementTree

from mmaproof.designs.errors import InputError

_SHIFT = re.compile(
    r"^(?P<to>\s*assign\s+.+?\s=\s)\$signed\((?P<left>[^()]+)\) >> (?P<right>[^;]+);", flags=re.MULTILINE
)
_DIVISION = re.compile(
    r"^(?P<to>\s*assign\s+.+?\s=\s)(?P<left>[^;]+?) [/%] (?P<right>[^;]+?)\s*;\s*// (?P<kind>sdiv|srem|smod)\b.*$",
    flags=re.MULTILINE,
)

_SWAPPED = re.compile(r"_SUB_INT_(?:SGN|SLV)")
"""An integer minus a number that is signed, of numeric_std, std_logic_arith and std_logic_signed."""

PROBE = """library ieee;
use ieee.numeric_std.all;
entity mmaproof_probe is
  port (probed : in signed(7 downto 0); difference : out signed(7 downto 0));
end entity;
architecture rtl of mmaproof_probe is
begin
  difference <= 1 - probed;
end architecture;
"""
"""An integer minus a signed number: a GHDL that swaps them shows it here."""

_RIGHT_PROBE = re.compile(r"=\s*8'b00000001 - probed\s*;")


def with_signs(verilog: str) -> str:
    """Return the Verilog of a netlist whose signed shifts, quotients and remainders are those of VHDL."""
    shifted = _SHIFT.sub(r"\g<to>$signed(\g<left>) >>> \g<right>;", verilog)
    return _DIVISION.sub(lambda match: match["to"] + _division(match) + ";", shifted)


def swaps_operands(probe: str) -> bool:
    """Return whether the GHDL that wrote the Verilog of ``PROBE`` swaps the operands of an integer minus a signed."""
    return _RIGHT_PROBE.search(probe) is None


def refuse_swapped(syntax: str) -> None:
    """Raise InputError where a source has an integer minus a signed number.

    ``syntax`` is what GHDL's ``--file-to-xml`` says of the sources.
    """
    places = list(dict.fromkeys(_swapped(syntax)))
    if places:
        raise InputError(
            f"{', '.join(places)}: GHDL synthesises an integer minus a signed number with its operands swapped: make "
            "the integer a signed number, as in to_signed(1, 8) - x, or use a GHDL that does not"
        )


def _swapped(syntax: str) -> Iterator[str]:
    try:
        root = ElementTree.fromstring(syntax)
    except ElementTree.ParseError as problem:
        raise InputError(f"what GHDL's --file-to-xml says of the sources is not read: {problem}") from problem
    names = {x.get("id"): x.get("implicit_definition", "") for x in root.iter()}
    for element in root.iter():
        called = element.find("implementation")
        if called is not None and _SWAPPED.search(names.get(called.get("ref"), "")):
            yield f"{element.get('file')}:{element.get('line')}:{element.get('col')}"


def _division(match: re.Match[str]) -> str:
    """Return a signed division. A ``mod`` has the sign of the divisor, Verilog's remainder that of the dividend."""
    left, right = (x if x.startswith("$signed(") else f"$signed({x})" for x in (match["left"], match["right"]))
    if match["kind"] == "sdiv":
        return f"{left} / {right}"
    remainder = f"{left} % {right}"
    if match["kind"] == "srem":
        return remainder
    return f"(({left} < 0) != ({right} < 0) && {remainder} != 0) ? {remainder} + {right} : {remainder}"
