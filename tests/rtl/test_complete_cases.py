"""A latch or a loop of a case statement is none where its items are proved to be complete; any other one is refused."""

import pytest
from support.rtl_units import HEAD, write_unit

from mmaproof.designs.catalogue import find_design
from mmaproof.designs.circuit import Cell
from mmaproof.designs.element import Operands
from mmaproof.designs.errors import InputError
from mmaproof.rtl import read_unit
from mmaproof.rtl.clock_cycles import KEEPS_NOTHING
from mmaproof.rtl.known_bits import without_keeping
from mmaproof.rtl.netlist import Module
from mmaproof.smt.trace import evaluate
from mmaproof.verification.compare import compare

BOOTH = """module booth(input signed [7:0] a, input [2:0] m, output logic [8:0] p);
  wire none = m == 0 || m == 7, once = m == 1 || m == 2, twice = m == 3, less = m == 5 || m == 6, twice_less = m == 4;
  ALWAYS begin
    case (1'b1)
      none: p = 0;
      once: p = a;
      twice: p = {a, 1'b0};
      less: p = ~{a[7], a};
      twice_less: p = ~{a, 1'b0};
    endcase
    p[8] = ~p[8];
  end
endmodule
module product(input signed [7:0] a, b, output signed [15:0] p);
  wire [8:0] p0, p1, p2, p3;
  booth b0(a, {b[1:0], 1'b0}, p0); booth b1(a, b[3:1], p1); booth b2(a, b[5:3], p2); booth b3(a, b[7:5], p3);
  assign p = p0 + {p1, 2'b0} + {p2, 4'b0} + {p3, 6'b0} + {b[7] & ~&b[6:5], 1'b0, b[5] & ~&b[4:3], 1'b0,
    b[3] & ~&b[2:1], 1'b0, b[1]} - 16'h5500;
endmodule
"""
"""A multiplier of Booth radix 4, with the top bits of its partial products inverted."""

HOT = "wire [3:0] hot = 4'd1 << {a1[0], b1[7]};"
CASE = "case (1'b1) hot[0]: d = a0; hot[1]: d = b0; hot[2]: d = a1; hot[3]: d = c; endcase"
ENABLES = {
    "every pair": ("a0[0] || b0[3] || !(a0[0] | b0[3])", True),
    "a sum": ("{1'b0, a0} + {1'b0, b0} >= {1'b0, a0} || a0 == 0", True),
    "all but one pair": ("{a0, b0} != 16'h5ac3", False),
    "all but one of 2**48": ("{a0, b0, c} != 48'h5ac3_1234_5678", False),
    "an undefined bit": ("a0[0] ? 1'b1 : 1'bx", False),
}
SIZES = {"A_WIDTH": 1, "B_WIDTH": 1, "Y_WIDTH": 1, "A_SIGNED": 0, "B_SIGNED": 0}
DATA = "d = a0 * b0 + a1 * b1 + c;"


def unit(folder, body):
    source = f"module unit({HEAD}, output logic signed [31:0] d);\n{body}\nendmodule\n"
    return read_unit(write_unit(folder, source))


@pytest.mark.few(2)
@pytest.mark.parametrize("always", ["always_comb", "always @(*)", "always_latch"])
def test_complete_items_are_a_multiplexer(always, tmp_path):
    found = unit(tmp_path, f"{HOT}\n{always} {CASE}")
    assert KEEPS_NOTHING in found.report.assumptions
    for low, high, expected in ((0, 0, 2), (1, 0, 4), (0, 1, 3), (1, 1, 9)):
        assert evaluate(found.design, Operands((2, 2 + high), (4, low << 7), 9)) == expected


@pytest.mark.middle
@pytest.mark.parametrize("always", ["always_comb", "always @(*)"])
@pytest.mark.parametrize("fault", [None, ("~{a, 1'b0}", "~{a[7:1], 2'b0}")])
def test_a_product_of_such_items_is_decided(always, fault, tmp_path):
    booth = BOOTH.replace("ALWAYS", always)
    booth = booth if fault is None else booth.replace(*fault)
    ports = "input signed [7:0] a, b, input signed [31:0] c, output signed [31:0] d"
    source = f"{booth}module unit({ports}); wire signed [15:0] p; product m(a, b, p); assign d = p + c; endmodule\n"
    path = write_unit(tmp_path, source, ports='[ports]\na = "a"\nb = "b"\nc = "c"\nd = "d"\n')
    found = compare(read_unit(path).design, find_design("integer/dot1.int32.int8.int8.int32"), k=1)
    assert found.verdict == ("equal" if fault is None else "different"), found.lead


@pytest.mark.parametrize("name", ENABLES)
@pytest.mark.parametrize("shape", ["always_latch if ({}) ", "always_latch if (!({})) ; else ", "always_comb if ({}) "])
def test_only_what_nothing_shuts_is_a_wire(name, shape, tmp_path):
    enable, is_open = ENABLES[name]
    body = shape.format(enable) + DATA
    if is_open:
        assert evaluate(unit(tmp_path, body).design, Operands((2, 3), (5, 7), 1)) == 32
    else:
        with pytest.raises(InputError, match="latches are not covered|a value is kept"):
            unit(tmp_path, body)


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (f"{HOT}\nalways_comb {CASE.replace('hot[2]: d = a1;', '')}", "a value is kept where no branch assigns one"),
        (f"{HOT}\nalways @(*) {CASE.replace('hot[2]', 'hot[1]')}", "latches are not covered|a value is kept"),
        # the value that is kept chooses, and is not seen only because both choices are alike
        (
            "wire x; assign x = x ? c[0] ^ c[1] : c[0] & ~c[1] | ~c[0] & c[1]; assign d = {c[31:1], x};",
            "a combinational loop|a value is kept",
        ),
        # no value of x matters, but what goes through gates may swing
        (
            "wire x, y; assign y = ~x; assign x = ~(y | c[1]) & y ^ c[0]; assign d = {c[31:1], x};",
            "a combinational loop",
        ),
        (
            "logic signed [31:0] e, f;\nalways_latch if (a0 > 3 || a0 < 7) e = b0;\n"
            "always_latch if (a0 > 3 || a0 < 3) f = b1;\nassign d = e + f;",
            r"\$dlatch .*unit.sv:4",
        ),
    ],
)
def test_any_other_loop_is_refused_at_its_place(body, message, tmp_path):
    with pytest.raises(InputError, match=message):
        unit(tmp_path, body)


def test_a_latch_behind_a_register_and_before_one(tmp_path):
    body = """logic signed [31:0] e; logic [1:0] s; logic signed [31:0] q;
always_ff @(posedge clk) begin s <= a0[1:0]; q <= c; d <= e; end
always_latch if (s[0] | ~s[0]) e = q + s;"""
    ports = f"input clk, {HEAD}, output logic signed [31:0] d"
    tables = '[clock]\nclock = "clk"\nlatency = 2\n'
    path = write_unit(tmp_path, f"module unit({ports});\n{body}\nendmodule\n", tables=tables)
    found = read_unit(path)
    assert found.report.latency == 2 and evaluate(found.design, Operands((3, 0), (0, 0), 5)) == 8


@pytest.mark.parametrize("polarity", [0, 1])
def test_the_polarity_of_an_enable_counts(polarity):
    always = Cell("1", "$or", SIZES, {"A": (2,), "B": (3,)}, {"Y": (4,)})
    other = Cell("2", "$not", SIZES, {"A": (2,)}, {"Y": (3,)})
    latch = Cell("3", "$dlatch", {"EN_POLARITY": polarity}, {"D": (5,), "EN": (4,)}, {"Q": (6,)})
    module = Module("m", {}, (always, other, latch), {}, {})
    found = without_keeping(module, {0, 1, 2}, (6,))
    assert (found is module) is (polarity == 0)
    assert found.cells[2].inputs == (latch.inputs if polarity == 0 else {"A": (5,)})


def test_a_net_inside_a_loop_is_seen():
    """What the inner one of two multiplexers gives, while the outer one gives its other input, is what was kept."""
    inner = Cell("1", "$mux", {"WIDTH": 1}, {"A": (6,), "B": (2,), "S": (4,)}, {"Y": (5,)})
    outer = Cell("2", "$mux", {"WIDTH": 1}, {"A": (3,), "B": (5,), "S": (4,)}, {"Y": (6,)})
    of_both = Cell("3", "$and", SIZES, {"A": (5,), "B": (6,)}, {"Y": (7,)})
    alone = Module("m", {}, (inner, outer), {}, {})
    assert without_keeping(alone, set(), (6,)).cells[0].inputs["A"] == ("0",)
    assert without_keeping(alone, set(), (6, 5)) is alone
    both = Module("m", {}, (inner, outer, of_both), {}, {})
    assert without_keeping(both, set(), (7,)) is both
