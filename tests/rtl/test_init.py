"""A first map of a module: what is not guessed is left to the user, and the file is refused until then."""

from pathlib import Path

import pytest

from mmaproof.designs.errors import InputError
from mmaproof.rtl import read_unit
from mmaproof.rtl.init import first_map

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
    with pytest.raises(InputError, match="input gear .3 bits. is no operand: map it under"):
        read_unit(path)
    path.write_text(path.read_text().replace("# gear", "gear"))
    assert read_unit(path).report.mapped["tied"] == "gear = 3'd0"
