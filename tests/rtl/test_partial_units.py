"""Units without an accumulator or without the upper bits of d, and the order of the elements of unpacked ports."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from support.rtl_units import HEAD, INTEGER_FORMATS, write_unit

from mmaproof.cli.main import main
from mmaproof.cli.options import named_design
from mmaproof.designs.element import Operands
from mmaproof.designs.errors import InputError
from mmaproof.designs.operands import OperandBatch
from mmaproof.generators.identify.evidence import Oracle
from mmaproof.generators.identify.space import Interface
from mmaproof.hardware_replay.rtl_simulator import run_sources
from mmaproof.hardware_replay.targets import find_target
from mmaproof.rtl import read_unit
from mmaproof.rtl.netlist import Port
from mmaproof.rtl.slices import bits_of
from mmaproof.smt.trace import evaluate

INT8 = "ampere/mma.m16n8k16.s32.s8.s8.s32"
PRODUCTS = "input signed [7:0] a0, a1, b0, b1"
WITHOUT_C = f"module unit({PRODUCTS}, output signed [23:0] d);\n  assign d = a0 * b0 + a1 * b1;\nendmodule\n"
PORTS = '[ports]\na = ["a0", "a1"]\nb = ["b0", "b1"]\nd = "{{8{d[23]}}, d}"\n'
OPERANDS = Operands((2, 0xFF), (3, 7), 0)
"""of which d is -1"""


def without_c(folder: Path, source: str = WITHOUT_C) -> Path:
    return write_unit(folder, source, ports=PORTS, formats=INTEGER_FORMATS.replace('c = "int32"\n', ""))


@pytest.mark.middle
def test_a_unit_without_c_is_proved_where_c_is_zero(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = without_c(tmp_path)
    assert main(["rtl", "prove", str(path), INT8, "--k", "2", "--no-search"]) == 0
    assert "where c=0x0" in capsys.readouterr().out
    wrong = without_c(tmp_path / "wrong", WITHOUT_C.replace("a1 * b1", "(a1 ^ 8'd1) * b1"))
    assert main(["rtl", "prove", str(wrong), INT8, "--k", "2"]) == 1
    assert "c = 0x00000000" in capsys.readouterr().out


@pytest.mark.middle
def test_a_unit_without_c_is_nothing_else_than_a_unit(tmp_path: Path) -> None:
    path = without_c(tmp_path)
    assert evaluate(read_unit(path).design, OPERANDS) == 0xFFFFFFFF
    assert run_sources(read_unit(path), OPERANDS, 0xFFFFFFFF).d in (0xFFFFFFFF, None)
    assert main(["compare", f"rtl:{path}", INT8, "--k", "2"]) == 2
    with pytest.raises(InputError, match=r"the unit has no c: `mmaproof rtl`, identify and replay take it"):
        named_design(f"rtl:{path}")
    command = ["rtl", "run", str(path), "--a", "0x2,0xff", "--b", "0x3,0x7", "--c"]
    assert (main([*command, "0x0"]), main([*command, "0x1"])) == (0, 2)


@pytest.mark.middle
def test_a_unit_without_c_is_identified_where_c_is_zero(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = without_c(tmp_path)
    assert main(["identify", f"rtl:{path}", "--json", "--timeout", "120"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["where"] == ["c=0x0"] and answer["proof"]["verdict"] == "equivalent-when"
    # what c alone tells apart is not observable: this unit cannot overflow
    assert "saturate" in answer["unobservable"]["integer_overflow"]
    target = find_target(f"rtl:{path}")
    rows = Oracle(target, Interface.parse("s32.s8.s8.s32", 2)).rows
    batch = OperandBatch.of_rows(read_unit(path).design.formats, [replace(OPERANDS, c=1)])
    with pytest.raises(InputError, match=r"the unit has no c: give it rows with c = 0x00000000 alone"):
        target.run(rows(batch))


TIMES_THREE = """module unit(input signed [7:0] a0, a1, input signed [31:0] c, output signed [31:0] d);
  assign d = c + 3 * a0 + 3 * a1;
endmodule
"""
FIXED = '[ports]\na = ["a0", "a1"]\nb = "8\'d3"\nc = "c"\nd = "d"\n'


@pytest.mark.middle
def test_an_operand_that_a_unit_does_not_have_is_a_constant(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = write_unit(tmp_path, TIMES_THREE, ports=FIXED)
    assert read_unit(path).where == ("b=0x3",)
    assert read_unit(path).completed(Operands((1, 2), (0, 0), 5)) == Operands((1, 2), (3, 3), 5)
    assert main(["rtl", "prove", str(path), INT8, "--k", "2", "--no-search"]) == 0
    assert "when b is 0x03" in " ".join(capsys.readouterr().out.split())
    wrong = write_unit(tmp_path / "wrong", TIMES_THREE.replace("3 * a1", "2 * a1"), ports=FIXED)
    assert main(["rtl", "prove", str(wrong), INT8, "--k", "2"]) == 1
    assert "b = 0x03,0x03" in capsys.readouterr().out
    command = ["rtl", "run", str(path), "--a", "0x1,0x2", "--c", "0x0", "--b"]
    assert (main([*command, "0x3,0x3"]), main([*command, "0x3,0x4"])) == (0, 2)
    assert run_sources(read_unit(path), Operands((1, 2), (3, 3), 5), 14).d in (14, None)
    with pytest.raises(InputError, match="the unit has no b"):
        named_design(f"rtl:{path}")


def test_constants_that_fit_no_operand_are_refused(tmp_path: Path) -> None:
    for ports, why in (
        (FIXED.replace("8'd3", "9'd3"), "does not have the 8 bits"),
        (FIXED.replace('["a0", "a1"]', '"8\'d1"'), "a and b cannot both be constants"),
    ):
        with pytest.raises(InputError, match=why):
            read_unit(write_unit(tmp_path, TIMES_THREE, ports=ports))


RESULTS = {"d": Port("d", "output", (10, 11, 12))}


@pytest.mark.parametrize(
    ("text", "bits"),
    [
        ("{2'b10, d}", (10, 11, 12, "0", "1")),
        ("{{2{d[2]}}, d}", (10, 11, 12, 12, 12)),
        ("{{2{d[2], 1'b0}}, d[1]}", (11, "0", 12, "0", 12)),
    ],
)
def test_a_result_is_made_wider(text: str, bits: tuple[int | str, ...]) -> None:
    assert bits_of(text, RESULTS, "here", result=True) == bits
    with pytest.raises(InputError, match="not a port, slice or concatenation"):
        bits_of(text, RESULTS, "here")


@pytest.mark.parametrize(
    ("declared", "ascends"),
    [("[0:1]", True), ("[2]", True), ("[1:0]", False)],
)
def test_a_whole_unpacked_port_that_ascends_is_said_to(declared: str, ascends: bool, tmp_path: Path) -> None:
    source = f"""
module unit(
    input signed [7:0] a {declared}, b [1:0], input signed [31:0] c, output signed [31:0] d);
  assign d = a[0] + 2 * a[1] + 3 * b[0] + 4 * b[1] + c;
endmodule
"""
    ports = '[ports]\na = "a"\nb = "b"\nc = "c"\nd = "d"\n'
    unit = read_unit(write_unit(tmp_path, source, ports=ports))
    said = [x for x in unit.report.assumptions if "unpacked" in x]
    assert said == (
        [f"a is a whole unpacked port {declared}: packed, its first element is the highest, so k = 0 is the last one"]
        if ascends
        else []
    )
    assert evaluate(unit.design, Operands((1, 0), (0, 1), 0)) == (2 if ascends else 1) + 4


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("always_comb begin if (a0[0]) d = c; end", "a value is kept where no branch assigns one: latches"),
        ("wire [31:0] x = x ^ c; assign d = x;", "a combinational loop through"),
    ],
)
def test_a_branch_that_assigns_nothing_is_a_latch(body: str, message: str, tmp_path: Path) -> None:
    source = f"module unit({HEAD}, output logic signed [31:0] d);\n{body}\nendmodule\n"
    with pytest.raises(InputError, match=message):
        read_unit(write_unit(tmp_path, source))
