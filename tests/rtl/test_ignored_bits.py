"""Formats with ignored bits: a unit may have ports without them."""

from pathlib import Path

import pytest

from mmaproof.designs.element import Operands
from mmaproof.designs.errors import InputError
from mmaproof.rtl import read_unit
from mmaproof.smt.trace import evaluate

SOURCE = """module unit(input [37:0] a, input [37:0] b, input [31:0] c, output [31:0] d);
  assign d = {a[37:19] ^ b[18:0], 13'd0} ^ c;
endmodule
"""

UNIT_FILE = """sources = ["unit.sv"]
top = "unit"
free = ["b[37:19]", "a[18:0]"]
[formats]
a = "tf32"
b = "tf32"
c = "fp32"
d = "fp32"
[ports]
a = ["a[37:A]"]
b = ["b[18:0]"]
c = "c"
d = "d"
"""


def _unit(folder: Path, low: str) -> Path:
    (folder / "unit.sv").write_text(SOURCE)
    (folder / "unit.toml").write_text(UNIT_FILE.replace("A]", f"{low}]"))
    return folder / "unit.toml"


def test_tf32_is_mapped_to_ports_of_19_bits(tmp_path: Path) -> None:
    """The 13 bits below are ignored: whatever they are, the upper 19 arrive."""
    design = read_unit(_unit(tmp_path, "19")).design
    for low in (0, 0x1FFF, 0x0AAA):
        operands = Operands((0x3F802000 | low,), (0xC0004000 | low,), 1)
        assert evaluate(design, operands) == 0x3F802000 ^ 0xC0004000 ^ 1


def test_another_width_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"\[ports\] a\[0\]: a\[37:20\] has 18 bits, and tf32 has 32 \(19 without"):
        read_unit(_unit(tmp_path, "20"))
