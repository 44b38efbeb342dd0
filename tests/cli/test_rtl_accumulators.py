"""A register that is c and d: its step is that of a design, and its enable, clear and load do what is claimed."""

from pathlib import Path

import pytest
from support.commands import only_json
from support.own_rtl import UNITS
from support.rtl_units import write_unit

from mmaproof.designs.errors import InputError
from mmaproof.designs.transitions import CLEAR, DRAIN, FIRST, HOLD
from mmaproof.rtl import read_unit
from mmaproof.rtl.meant import read_rtl

pytest.importorskip("pyosys")

PE, MAC, PAIR, DRAINED = "pe_int8", "mac_int8", "pair_int8", "drained_int8"
SIGNED = "signed_magnitude"
FOLDER = UNITS / "accumulator"

MUTANTS = {
    "a clear that is ignored": (PE, "else if (clr) acc <= '0;", "else if (clr && 1'b0) acc <= '0;", ["clear", FIRST]),
    "a clear while it is disabled is ignored": (PE, "else if (clr) acc", "else if (clr && en) acc", [CLEAR]),
    "a clear while it is enabled is ignored": (PE, "else if (clr) acc", "else if (clr && !en) acc", [FIRST]),
    "a clear of the wrong value": (PE, "(clr) acc <= '0;", "(clr) acc <= 32'd1;", [CLEAR, FIRST]),
    "a clear of all bits but one": (PE, "(clr) acc <= '0;", "(clr) acc[30:0] <= '0;", [CLEAR, FIRST]),
    "an enable that is ignored": (PE, "else if (en) acc", "else acc", [HOLD]),
    "an enable that is inverted": (PE, "else if (en) acc", "else if (!en) acc", ["step", HOLD]),
    "the register doubles while it is disabled": (
        PE,
        "else if (en) acc <= acc + 32'(a * b);",
        "else if (en) acc <= acc + 32'(a * b); else acc <= acc << 1;",
        [HOLD],
    ),
    "an unsigned product": (PE, "32'(a * b)", "{16'd0, 16'(a * b)}", ["step"]),
    "a product that is lost": (PE, "acc + 32'(a * b)", "32'(a * b)", ["step"]),
    "a start that loses its products": (MAC, "else if (start) acc <= '0;", "else if (start) acc <= acc;", [CLEAR]),
    "a start that keeps the sum": (MAC, "(start ? 32'sd0 : acc)", "(acc)", [FIRST]),
    "a start from another value": (MAC, "(start ? 32'sd0 : acc)", "(start ? 32'sd1 : acc)", [FIRST]),
    "a drain that waits": (MAC, "if (drain) acc", "if (drain && !valid) acc", ["load 1"]),
    "a drain of another word": (MAC, "acc <= above;", "acc <= above ^ 32'd4;", ["load 0", "load 1"]),
    "carries of the same place": (PAIR, " << 1;", ";", ["step"]),
    "carries that are lost": (PAIR, "acc_s ^ acc_c ^ product", "acc_s ^ product", ["step"]),
    "a clear of one word": (PAIR, "acc_c <= '0;", "acc_c <= acc_c;", [CLEAR, FIRST]),
    "a pair that is read without carries": (PAIR, "acc_s + acc_c;", "acc_s | acc_c;", [DRAIN]),
    "a chain that is handed on with another bit": (DRAINED, "held <= acc;", "held <= acc ^ 20'd4;", [DRAIN]),
    "a chain that is handed on where it is enabled": (DRAINED, "(last) begin", "(last && en) begin", [CLEAR, DRAIN]),
    "a chain that is handed on with a product": (DRAINED, "held <= acc;", "held <= acc + 20'(products);", [DRAIN]),
    "a chain that goes on after it was handed on": (
        DRAINED,
        "acc  <= '0;\n      held <= acc;",
        "held <= acc;",
        [CLEAR, FIRST],
    ),
    "a clear to minus zero": (SIGNED, "<= 9'd0;", "<= 9'h100;", ["view"]),
    "a step to minus zero": (SIGNED, "negative  <= total[7];", "negative  <= total[7] || total == 0;", ["view"]),
    "a magnitude that is not negated": (SIGNED, "total[7] ? -total : total;", "total;", ["step", "view"]),
    "no saturation below": (MAC, "acc <= 32'sh80000000;", "acc <= total[31:0];", ["step"]),
}


def mutated(folder: Path, unit: str, old: str, new: str) -> Path:
    """Write a unit in which a text is another, and return the path of its UNIT.toml."""
    source = (FOLDER / f"{unit}.sv").read_text(encoding="utf-8")
    assert source.count(old) == 1
    (folder / f"{unit}.sv").write_text(source.replace(old, new), encoding="utf-8")
    path = folder / f"{unit}.toml"
    path.write_text((FOLDER / f"{unit}.toml").read_text(encoding="utf-8"), encoding="utf-8")
    return path


def verdicts(path, run):
    """Return the exit status, the answer, and the claims with their verdicts."""
    status, out, _ = run("rtl", "prove", str(path), "--json", "--no-store", "--timeout", "2m")
    answer = only_json(out)
    claims = [x.key for x in read_unit(path, signature=read_rtl(path)[1].signature).transitions]
    names = dict.fromkeys(claims)
    found = {"step": answer["step"]} | dict(zip(names, (x["verdict"] for x in answer["register_claims"]), strict=True))
    return status, answer, found


@pytest.mark.parametrize(
    "unit", [PE, DRAINED, *(pytest.param(x, marks=pytest.mark.middle) for x in (MAC, PAIR, SIGNED))]
)
def test_a_register_that_accumulates_is_proved(run, unit):
    status, answer, found = verdicts(FOLDER / f"{unit}.toml", run)
    assert (status, answer["verdict"]) == (0, "equal-when")
    assert set(found.values()) == {"equal"}
    assert answer["induction"].startswith("by induction on clock cycles")


@pytest.mark.parametrize(
    "name", [pytest.param(x, marks=() if i in (0, 5) else (pytest.mark.middle,)) for i, x in enumerate(MUTANTS)]
)
def test_a_wrong_register_is_refuted(run, tmp_path, name):
    unit, old, new, wrong = MUTANTS[name]
    status, answer, found = verdicts(mutated(tmp_path, unit, old, new), run)
    assert [key for key, verdict in found.items() if verdict != "equal"] == wrong
    assert all(found[key] == "different" for key in wrong)
    assert (status, answer["verdict"]) == (1, "different")
    assert "induction on" not in answer["induction"]


@pytest.mark.parametrize(
    ("old", "new", "wrong"),
    [
        pytest.param("assign sum = acc;", "assign sum = acc;", [], id="right"),
        pytest.param("if (!rst_n) acc <= '0;", "if (!rst_n) acc <= 32'h8000;", [CLEAR, FIRST], id="other value"),
        pytest.param("else if (en) acc", "else if (en && !b[7]) acc", ["step"], id="some operands"),
    ],
)
def test_a_clear_may_be_an_asynchronous_reset(run, tmp_path, old, new, wrong):
    path = mutated(tmp_path, PE, old, new)
    text = path.read_text(encoding="utf-8").replace("rst_n = 1", "clr = 0").replace('"clr"', '"!rst_n"')
    path.write_text(text, encoding="utf-8")
    status, answer, found = verdicts(path, run)
    assert [key for key, verdict in found.items() if verdict != "equal"] == wrong
    assert status == bool(wrong)
    assert answer["induction"].startswith("one clock cycle only" if wrong else "by induction")


def test_an_enable_that_a_register_delays_is_about_one_cycle_only(run, tmp_path):
    """Registers before the sum keep their values, too: what a disabled cycle does depends on others."""
    path = mutated(tmp_path, MAC, "    a_q <= a;\n    b_q <= b;", "    if (valid) a_q <= a;\n    b_q <= b;")
    status, answer, _ = verdicts(path, run)
    assert (status, answer["verdict"]) == (0, "equal-when")
    assert "valid = 1 in all clock cycles" in answer["when"]
    assert answer["induction"].startswith("one clock cycle only") and "a feedback loop through" in answer["induction"]


LATER = """
module unit (input logic clk, clr, en, input logic signed [7:0] a, b, output logic signed [31:0] d);
  logic signed [15:0] p; logic en_q, clr_q; logic signed [31:0] acc;
  always_ff @(posedge clk) begin
    p <= a * b; en_q <= en; clr_q <= clr;
    if (clr_q) acc <= '0; else if (en_q) acc <= acc + 32'(p);
  end
  assign d = acc;
endmodule
"""
OF_LATER = """
[clock]
clock = "clk"
latency = { a = 1, b = 1, enable = 1, clear = 1 }
[control]
enable = "en"
clear = "clr"
"""


@pytest.mark.parametrize(
    ("old", "new", "wrong"),
    [
        ("", "", None),
        ("else if (en_q) acc", "else acc", [HOLD]),
        ("if (clr_q)", "if (clr_q && en_q)", [CLEAR]),
        ("32'(p)", "{16'd0, p}", ["step"]),
        ("else if (en_q)", "else if (en)", "enable.* has 0 registers"),
        ("if (clr_q)", "if (clr)", "clear.* has 0 registers"),
        ("p <= a * b; en_q <= en;", "p <= a * b; en_q <= en_r; en_r <= en;", "enable.* has 2 registers"),
        ("p <= a * b;", "if (en) p <= a * b;", "feedback"),
        ("32'(p)", "32'(a * b)", "a0.* has 0 registers"),
    ],
)
def test_an_accumulation_in_a_later_cycle_than_the_product(run, tmp_path, old, new, wrong):
    """What steers is given with the operands: the register takes its step in the next cycle."""
    source = LATER.replace("en_q, clr_q", "en_q, en_r, clr_q") if "en_r" in new else LATER
    registers = '[ports]\na = "a"\nb = "b"\nc = "reg:acc"\nd = "next:acc"\n'
    design = 'design = "integer/dot1.int32.int8.int8.int32"'
    path = write_unit(tmp_path, source.replace(old, new), keys=design, formats="", ports=registers, tables=OF_LATER)
    if isinstance(wrong, str):
        with pytest.raises(InputError, match=wrong):
            read_rtl(path)
        return
    status, answer, found = verdicts(path, run)
    assert status == (0 if wrong is None else 1)
    assert {x for x, verdict in found.items() if verdict == "different"} == set(wrong or ())
    later = "operands and what steers count as many clock cycles before as they have registers"
    assert (later in answer["induction"]) is (wrong is None)


FIRST_OF_A_CHAIN = """
module unit (input logic clk, first, valid, input logic signed [7:0] a, b, output logic signed [31:0] acc);
  always_ff @(posedge clk) if (valid) acc <= (first ? 32'sd0 : acc) + a * b;
endmodule
"""
OF_FIRST = '[clock]\nclock = "clk"\n[control]\nenable = "valid"\nclear = "first"\nclear_needs_enable = true\n'


@pytest.mark.parametrize(
    ("old", "new", "wrong"),
    [
        ("", "", None),
        ("if (valid)", "if (valid || first)", [CLEAR]),
        ("32'sd0", "32'sd1", [FIRST]),
        ("if (valid) acc", "if (first && !valid) acc <= 0; else if (valid) acc", [CLEAR]),
    ],
)
def test_a_clear_that_needs_the_enable(run, tmp_path, old, new, wrong):
    design, registers = (
        'design = "integer/dot1.int32.int8.int8.int32"',
        '[ports]\na = "a"\nb = "b"\nc = "reg:acc"\nd = "next:acc"\n',
    )
    source = FIRST_OF_A_CHAIN.replace(old, new)
    path = write_unit(tmp_path, source, keys=design, formats="", ports=registers, tables=OF_FIRST)
    status, answer, found = verdicts(path, run)
    assert status == (0 if wrong is None else 1)
    assert {x for x, verdict in found.items() if verdict == "different"} == set(wrong or ())
    assert answer["induction"].startswith("by induction on clock cycles: after an enabled clear") is (wrong is None)
    without = write_unit(tmp_path / "plain", source, keys=design, formats="", ports=registers, tables=OF_FIRST[:-26])
    assert (verdicts(without, run)[0] == 0) is (wrong == [CLEAR] and "<= 0" in new)


def test_a_later_control_that_is_not_there_is_refused(tmp_path):
    tables = OF_LATER.replace('clear = "clr"', "")
    registers = '[ports]\na = "a"\nb = "b"\nc = "reg:acc"\nd = "next:acc"\n'
    path = write_unit(tmp_path, LATER, keys='free = ["clr"]', ports=registers, tables=tables)
    with pytest.raises(InputError, match=r"latency: clear: \[control\] has no clear"):
        read_unit(path)


def test_what_is_said_of_a_register(run):
    status, out, _ = run("rtl", "prove", str(FOLDER / f"{PE}.toml"), "--no-store")
    words = " ".join(out.split())
    assert status == 0
    assert words.startswith("equal when c is what a register holds, and d what it holds after a clock cycle and en = 1")
    assert "equal: with en = 0, clr = 0: acc keeps its value" in words
    assert "by induction on clock cycles: after a clear and n enabled cycles without one" in words
    assert "acc, 32 bits" in run("rtl", "show", str(FOLDER / f"{PE}.toml"))[1]


def test_of_some_operands_nothing_follows_for_several_cycles(run):
    status, out, _ = run("rtl", "prove", str(FOLDER / f"{PE}.toml"), "--no-store", "--where", "c=0x0")
    assert status == 0
    assert "one clock cycle only: the step is proved for some operands" in " ".join(out.split())


@pytest.mark.parametrize("edge", ["posedge start", "negedge clk"])
def test_a_register_of_another_clock_is_refused(tmp_path, edge):
    """Also one that is d alone: what it holds after an edge of the stated clock is not what it is given."""
    source = "module unit(input clk, start, input signed [7:0] a, b, input signed [31:0] c, output signed [31:0] d);\n"
    source += f"  logic signed [31:0] q; logic signed [15:0] p;\n  always_ff @({edge}) q <= p + c;\n"
    (tmp_path / "unit.sv").write_text(f"{source}  always_ff @(posedge clk) p <= a * b; assign d = q;\nendmodule\n")
    path = tmp_path / "unit.toml"
    path.write_text(
        'sources = ["unit.sv"]\ntop = "unit"\nfree = ["start"]\n[formats]\na = "int8"\nb = "int8"\nc = "int32"\n'
        'd = "int32"\n[ports]\na = "a"\nb = "b"\nc = "c"\nd = "next:q"\n'
        '[clock]\nclock = "clk"\nlatency = { a = 1, b = 1, c = 0 }\n'
    )
    with pytest.raises(InputError, match="another clock|another edge"):
        read_unit(path)
    (tmp_path / "unit.sv").write_text((tmp_path / "unit.sv").read_text().replace(edge, "posedge clk"))
    assert read_unit(path).design.k == 1


@pytest.mark.parametrize(
    ("old", "new", "wrong"),
    [
        ('"next:acc"', '"next:sum"', "is of a register that is both c and d"),
        ('"next:acc"', '"sum"', "is of a register that is both c and d"),
        ('"reg:acc"\nd = "next:acc"', '"reg:accu"\nd = "next:accu"', "there is no register reg:accu"),
        ('"reg:acc"\nd = "next:acc"', '"reg:acc[15:0]"\nd = "next:acc[15:0]"', "has 16 bits"),
        ('"next:acc"', '"next:acc[15:0]"', "is of a register that is both c and d"),
        ('enable = "en"', 'enable = "clr"', "one input has two roles"),
        ('enable = "en"', 'enable = "a"', "a has 8 bits, and one is expected"),
        ("tied = { rst_n = 1 }", "tied = { rst_n = 1, en = 1 }", "these bits are tied twice, or steer a register"),
        ("tied = { rst_n = 1 }", "", "asynchronous reset or load that is not tied"),
        ('clock = "clk"', 'clock = "clk"\ncycles = 2', "and no cycles"),
        ('clock = "clk"', 'clock = "en"', "input clk .1 bit. is not an operand"),
        ('clear = "clr"', 'clear = "clr"\nclear_to = -1', "a number, or a text"),
        ('clear = "clr"', 'clear = "clr"\nload = "clr"', "load and load_from"),
        ('clear = "clr"', 'clear = "clr"\ndrain = "en"', "drain_to, which is where the register is read"),
        ('clear = "clr"', 'clear = "clr"\ndrain_to = "a_next"', "a_next has 8 bits, and int32 has 32"),
        ('"reg:acc"\nd = "next:acc"', '["reg:acc", "reg:a_next"]\nd = ["next:acc", "next:a_next"]', "has 8 bits"),
        ('clear = "clr"', 'clear = "clr"\nload = "a[0]"\nload_from = "b"', "one of its bits is tied"),
    ],
)
def test_a_map_of_a_register_that_is_wrong_is_refused(tmp_path, old, new, wrong):
    path = mutated(tmp_path, PE, "assign sum = acc;", "assign sum = acc;")
    text = path.read_text(encoding="utf-8")
    assert text.count(old) == 1
    path.write_text(text.replace(old, new), encoding="utf-8")
    with pytest.raises(InputError, match=wrong):
        read_rtl(path)
