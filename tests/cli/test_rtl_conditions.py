"""A verdict says in its first line what it rests on: operands that are held, inputs that are tied, preconditions."""

from pathlib import Path
from xml.etree import ElementTree

import pytest
from support.commands import only_json
from support.rtl_units import LANES, write_unit

from mmaproof.designs.errors import InputError
from mmaproof.rtl import read_unit

pytest.importorskip("pyosys")

DESIGN = "turing/mma.m8n8k32.s32.s4.s4.s32"
FORMATS = '[formats]\na = "int4"\nb = "int4"\nc = "int32"\nd = "int32"\n'

ARRAY = """
module pe(input clk, en, input signed [3:0] a, b, input signed [31:0] above, output logic signed [31:0] below);
  always_ff @(posedge clk) if (en) below <= above + a * b;
endmodule

module unit(input clk, en, input signed [3:0] a0, a1, b0, b1, input signed [31:0] c, output signed [31:0] d);
  logic signed [31:0] first;
  logic signed [3:0] a1q, b1q;
  always_ff @(posedge clk) begin a1q <= a1; b1q <= b1; end
  pe pe0(clk, en, a0, b0, c, first);
  pe pe1(clk, en, a1q, b1q, first, d);
endmodule
"""
"""A column of a systolic array: the operands of the second element arrive one clock cycle later."""
SKEWED = ARRAY.replace("pe pe1(clk, en, a1q,", "pe pe1(clk, en, a1,")
"""The skew of one of them is wrong by one register."""
HELD = '[tied]\nen = 1\n[clock]\nclock = "clk"\ncycles = 3\n'
STREAMED = HELD.replace("cycles = 3", "latency = 2")


EVERY_CYCLE = "a new operand set in every cycle"


def latencies(table: str) -> str:
    return STREAMED.replace("latency = 2", f"latency = {table}")


def unit(folder: Path, source: str, tables: str) -> str:
    return str(write_unit(folder, source, tables=tables, formats=FORMATS, ports=LANES))


@pytest.mark.parametrize("source", [pytest.param(ARRAY, id="right"), pytest.param(SKEWED, id="wrong")])
def test_operands_that_are_held_are_in_the_first_line(run, tmp_path, source):
    path, junit, page = unit(tmp_path, source, HELD), tmp_path / "junit.xml", tmp_path / "page.html"
    when = ["operands are held for 3 clock cycles", "en = 1"]
    arguments = ("rtl", "prove", path, DESIGN, "--k", "2", "--no-search", "--junit", str(junit), "--html", str(page))
    status, out, err = run(*arguments)
    assert (status, err) == (0, "")
    assert out.splitlines()[0] == f"equal when {' and '.join(when)}: rtl:{path} and {DESIGN}"
    assert "with latency in place of cycles, operands need not be held" in " ".join(out.split())
    record = only_json(run(*arguments[:6], "--no-search", "--json")[1])
    assert (record["verdict"], record["when"]) == ("equal-when", when)
    suite = ElementTree.parse(junit).getroot()
    assert (suite.attrib["failures"], suite.attrib["errors"]) == ("0", "0")
    assert suite[0].attrib["name"] == f"rtl:{path} is {DESIGN} when {' and '.join(when)}"
    assert f"equal when {' and '.join(when)}" in page.read_text(encoding="utf-8")


def test_a_skew_is_covered_where_operands_stream(run, tmp_path):
    path = unit(tmp_path, ARRAY, STREAMED)
    status, out, _ = run("rtl", "prove", path, DESIGN, "--k", "2", "--no-search")
    assert (status, out.splitlines()[0]) == (0, f"equal when en = 1 for {EVERY_CYCLE}: rtl:{path} and {DESIGN}")
    status, out, err = run("rtl", "prove", unit(tmp_path, SKEWED, STREAMED), DESIGN, "--k", "2")
    assert (status, out) == (2, "")
    assert "a path from a1[0] to d[0] has 1 register" in err


ROW = ARRAY.replace("a1q, b1q, first, d", "a1, b1, first, d")
"""The same column, whose second element is given one clock cycle later: the skew is outside."""


def test_the_skew_of_an_array_is_a_table(run, tmp_path):
    tables = latencies("{ a = [2, 1], b = [2, 1], c = 2 }")
    path = unit(tmp_path, ROW, tables)
    arguments = ("rtl", "prove", path, DESIGN, "--k", "2", "--no-search")
    status, out, _ = run(*arguments)
    assert (status, out.splitlines()[0]) == (0, f"equal when en = 1 for {EVERY_CYCLE}: rtl:{path} and {DESIGN}")
    assert only_json(run(*arguments, "--json")[1])["covers"] == EVERY_CYCLE
    wrong = ROW.replace("a1, b1, first, d", "a1, b1q, first, d")
    status, out, err = run("rtl", "prove", unit(tmp_path, wrong, tables), DESIGN, "--k", "2")
    assert (status, out) == (2, "")
    assert "latency = 1: a path from b1[0] to d[0] has 2 registers" in err


@pytest.mark.parametrize("element", ["a0", "a1", "b0", "b1", "c"])
@pytest.mark.parametrize("change", [-1, 1])
def test_a_number_of_a_table_that_is_wrong_is_refused(tmp_path, element, change):
    numbers = {"a0": 2, "a1": 1, "b0": 2, "b1": 1, "c": 2}
    numbers[element] += change
    a, b = ([numbers[f"{x}0"], numbers[f"{x}1"]] for x in "ab")
    path = unit(tmp_path, ROW, latencies(f"{{ a = {a}, b = {b}, c = {numbers['c']} }}"))
    with pytest.raises(InputError, match=rf"a path from {element}\[0\] to d\[0\]"):
        read_unit(path)


def test_operands_that_alone_are_held_are_in_the_first_line(run, tmp_path):
    path = unit(tmp_path, ROW, latencies('{ a = [2, 1], c = 2 }\nheld = ["b"]'))
    status, out, _ = run("rtl", "prove", path, DESIGN, "--k", "2", "--no-search")
    said = "b is held for 2 clock cycles and en = 1 for a new set of the other operands in every cycle"
    assert (status, out.splitlines()[0]) == (0, f"equal when {said}: rtl:{path} and {DESIGN}")


@pytest.mark.parametrize(
    ("table", "wrong"),
    [
        ("{ a = 2, c = 2 }", "latency: b: how many registers its paths to d have is not stated"),
        ("{ a = 2, b = 2, c = 2, d = 2 }", "unknown field"),
        ("{ a = [2, 1, 0], b = 2, c = 2 }", "3 numbers, and it has 2 elements"),
        ("{ a = -1, b = 2, c = 2 }", "an integer from 0 on"),
        ('2\nheld = ["d"]', "d is not an operand"),
        ('2\nheld = ["a", "b"]\ncycles = 3', "state either latency"),
    ],
)
def test_a_table_that_is_wrong_is_refused(tmp_path, table, wrong):
    with pytest.raises(InputError, match=wrong):
        read_unit(unit(tmp_path, ROW, latencies(table)))


def test_a_unit_without_conditions_is_equal_and_nothing_else(run, tmp_path):
    source = "module unit(input signed [3:0] a0, a1, b0, b1, input signed [31:0] c, output signed [31:0] d);\n"
    path = unit(tmp_path, f"{source}  assign d = a0 * b0 + a1 * b1 + c;\nendmodule\n", "")
    arguments = ("rtl", "prove", path, DESIGN, "--k", "2", "--no-search")
    assert run(*arguments)[1].splitlines()[0] == f"equal: rtl:{path} and {DESIGN}"
    record = only_json(run(*arguments, "--json")[1])
    assert (record["verdict"], record["when"]) == ("equal", [])
    line = run(*arguments, "--where", "c=0x0")[1].splitlines()[0]
    assert line == f"equal when c=0x0: rtl:{path} and {DESIGN}"
    line = run(*arguments[:4], "--k", "1", "--no-search")[1].splitlines()[0]
    assert line.startswith("equal when it is given 1 of its 2 products: ")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("check", "exchange-symmetric", "rtl:{}"), "holds when {}: exchange-symmetric on "),
        (("compare", "rtl:{}", DESIGN, "--k", "2"), "equivalent when {}: "),
        (("matrix", "rtl:{}", f"{DESIGN}@L=2"), "what is said of rtl:"),
    ],
    ids=lambda x: x[0] if isinstance(x, tuple) else "",
)
def test_other_verdicts_say_it_too(run, tmp_path, words, said):
    path = unit(tmp_path, ARRAY, HELD)
    status, out, _ = run(*(x.format(path) for x in words))
    lines = " ".join(out.splitlines()) if words[0] == "compare" else out
    said = said.format("operands are held for 3 clock cycles and en = 1")
    assert status == 0 and (said in out or said in " ".join(lines.split()))
    assert "operands are held for 3 clock cycles" in " ".join(out.split())


def test_results_before_constants_are_loaded_are_not_covered(run, tmp_path):
    ports = "input clk, en, input signed [3:0] a0, a1, b0, b1, input signed [31:0] c, output logic signed [31:0] d"
    body = "logic f; always_ff @(posedge clk) begin f <= 1; d <= f ? a0 * b0 + a1 * b1 + c : 0; end"
    source = f"module unit({ports});\n  {body}\nendmodule\n"
    path = unit(tmp_path, source, STREAMED.replace("latency = 2", "latency = 1"))
    status, out, _ = run("rtl", "prove", path, DESIGN, "--k", "2", "--no-search")
    line = out.splitlines()[0]
    assert (status, line.partition(": ")[0]) == (
        0,
        f"equal when registers that always load a constant have loaded it and en = 1 for {EVERY_CYCLE}",
    )
