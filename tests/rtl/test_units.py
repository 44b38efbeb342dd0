"""Units that are read: every kind of clocking computes what it should, on all interpretations."""

import random
from pathlib import Path

import numpy as np
import pytest
from support.rtl_units import (
    COMBINATIONAL,
    HEAD,
    PASSES,
    PIPELINE,
    PIPELINE_CLOCK,
    PIPELINE_TIED,
    int8_dot,
    write_unit,
)

from mmaproof.designs.design import Design
from mmaproof.designs.element import Operands
from mmaproof.designs.errors import DesignError, InputError
from mmaproof.designs.operands import OperandBatch
from mmaproof.rtl import read_unit
from mmaproof.smt.algebra.integers import IntegerAlgebra
from mmaproof.smt.algebra.terms import TermAlgebra
from mmaproof.smt.evaluate import evaluate_batch
from mmaproof.smt.native.lowering import input_columns, symbols
from mmaproof.smt.proving.staged_lemmas import Samples
from mmaproof.smt.semantics import dot_product_accumulate
from mmaproof.smt.semantics.netlist_step import run_circuit
from mmaproof.smt.solving.limits import Limits
from mmaproof.smt.solving.verdict import Status
from mmaproof.smt.trace import evaluate
from mmaproof.verification.check import check as check_property
from mmaproof.verification.compare import compare


def check(design: Design, rows: int = 40) -> None:
    """Compare a unit of two products of int8 with Python, on all interpretations."""
    rng = random.Random(7)
    a, b = ([(rng.getrandbits(8), rng.getrandbits(8)) for _ in range(rows)] for _ in "ab")
    c = [rng.getrandbits(32) for _ in range(rows)]
    batch = OperandBatch(np.array(a, np.uint8), np.array(b, np.uint8), np.array(c, np.uint32))
    wanted = [int8_dot(x, y, z) for x, y, z in zip(a, b, c, strict=True)]
    for backend in ("integers", "arrays", "native"):
        assert evaluate_batch(design, batch, backend=backend).tolist() == wanted, backend
    algebra = TermAlgebra()
    d = dot_product_accumulate(design, algebra, symbols(algebra, input_columns(design, 2))).d
    names = ("a0", "a1", "b0", "b1", "c")
    samples = [dict(zip(names, (*x, *y, z), strict=True)) for x, y, z in zip(a, b, c, strict=True)]
    assert list(Samples(samples).values(d.data)) == wanted


def test_combinational(tmp_path: Path) -> None:
    unit = read_unit(write_unit(tmp_path, COMBINATIONAL))
    check(unit.design)
    assert unit.design.name == f"rtl:{(tmp_path / 'UNIT.toml').as_posix()}"
    assert unit.report.registers == 0 and unit.report.kinds["$mul"] == 2
    assert unit.report.ports["c"] == ("input", 32)


def test_packed_ports_and_slices(tmp_path: Path) -> None:
    source = """
module unit(input [15:0] a, input [7:0] low, input [3:0] mid, sign, input [31:0] c, output [63:0] out);
  wire signed [7:0] b1 = {sign[3:1], low[3:0], mid[2]};
  assign out[47:16] = $signed(a[7:0]) * $signed(low) + $signed(a[15:8]) * b1 + $signed(c);
  assign {out[63:48], out[15:0]} = 0;
endmodule
"""
    ports = '[ports]\na = "a"\nb = ["low", "{sign[3:1], low[3:0], mid[2]}"]\nc = "c"\nd = "out[47:16]"\n'
    with pytest.raises(InputError, match=r"both b0 and b1"):
        read_unit(write_unit(tmp_path, source, ports=ports, keys='free = ["mid[3]"]'))
    source = source.replace("low[3:0], mid[2]", "mid, sign[0]")
    ports = ports.replace("low[3:0], mid[2]", "mid, sign[0]")
    check(read_unit(write_unit(tmp_path, source, ports=ports)).design)


def test_parameters_defines_and_includes(tmp_path: Path) -> None:
    (tmp_path / "my headers").mkdir()
    (tmp_path / "my headers" / "sum.svh").write_text("`define SUM(x, y) ((x) + (y))\n")
    source = f"""
`include "sum.svh"
module unit #(parameter int BIAS = 1, parameter int TWICE = 0) ({HEAD}, output signed [31:0] d);
`ifdef GOOD
  assign d = `SUM(a0 * b0 + a1 * b1, c) + BIAS * TWICE + `GOOD;
`endif
endmodule
"""
    keys = 'include = ["my headers"]\ndefines = { GOOD = 0 }\nparameters = { BIAS = 3, TWICE = "0" }\n'
    check(read_unit(write_unit(tmp_path, source, keys=keys)).design)


def test_pipeline(tmp_path: Path) -> None:
    unit = read_unit(write_unit(tmp_path, PIPELINE, tables=PIPELINE_TIED + PIPELINE_CLOCK))
    check(unit.design)
    assert unit.report.latency == 3
    assert unit.report.registers == 16 + 16 + 32 + 17 + 32 + 32
    assert not unit.report.unknown
    assert "s" in unit.circuit.nets


def test_a_free_input_of_a_pipeline_is_another_one_at_each_age(tmp_path: Path) -> None:
    source = f"""
module unit(input clk, input k, {HEAD}, output logic signed [31:0] d);
  logic signed [31:0] s; logic k1;
  always_ff @(posedge clk) begin s <= a0 * b0 + a1 * b1 + c; k1 <= k; d <= (k ^ k1) ? 32'd0 : s; end
endmodule
"""
    clock = '[clock]\nclock = "clk"\nlatency = 2\n'
    unit = read_unit(write_unit(tmp_path, source, tables=clock, keys='free = ["k"]'))
    assert unit.report.unknown == {"free k at 2 ages": 2}
    check(unit.design)
    words = {"a0": 1, "a1": 0, "b0": 1, "b1": 0, "c": 0}
    algebra = IntegerAlgebra()
    held = {n: algebra.unsigned(x, len(unit.circuit.inputs[n])) for n, x in words.items()}
    found = [
        run_circuit(unit.circuit, algebra, held, unknown={"free k": algebra.unsigned(x, 1)})["d"].data for x in (0, 1)
    ]
    assert found == [1, 0]


@pytest.mark.few(2)
@pytest.mark.parametrize(
    ("change", "clock", "message"),
    [
        (("", ""), "latency = 2", r"has 3 registers: .*p0"),
        (("", ""), "latency = 4", r"has 3 registers"),
        (("c2 <= c1", "c2 <= c"), "latency = 3", r"path from c\[0\] to d\[0\] has 2 registers: .*c2"),
        (("s + c2", "s + c2 + d"), "latency = 3", r"feedback loop through \$dff .*unit.sv:\d+"),
        (("posedge clk) begin\n    if (valid)", "negedge clk) begin\n    if (valid)"), "latency = 3", "falling edge"),
        (("posedge clk) if", "posedge mode[0]) if"), "latency = 3", "another clock"),
    ],
)
def test_pipelines_that_are_not_what_is_stated(
    change: tuple[str, str], clock: str, message: str, tmp_path: Path
) -> None:
    source = PIPELINE.replace(*change) if change[0] else PIPELINE
    assert source != PIPELINE or not change[0]
    tables = f'{PIPELINE_TIED}[clock]\nclock = "clk"\n{clock}\n'
    with pytest.raises(InputError, match=message):
        read_unit(write_unit(tmp_path, source, tables=tables))


@pytest.mark.few(2)
@pytest.mark.parametrize(
    ("tied", "message"),
    [
        ("[tied]\nrst_n = 1\nmode = 2\n", "input valid .* is not an operand"),
        ("[tied]\nrst_n = 0\nvalid = 1\nmode = 2\n", "held in reset"),
        ("[tied]\nvalid = 1\nmode = 2\n", "input rst_n"),
        ("[tied]\nrst_n = 1\nvalid = 1\nmode = 4\n", r"mode: 4 does not fit 2 bits"),
        ('[tied]\nrst_n = 1\nvalid = 1\nmode = "3\'b001"\n', "does not have the 2 bits"),
        ("[tied]\nrst_n = 1\nvalid = 1\nmod = 2\n", r"no port mod .*did you mean mode"),
    ],
)
def test_ports_that_are_not_tied(tied: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=message):
        read_unit(write_unit(tmp_path, PIPELINE, tables=tied + PIPELINE_CLOCK))


def test_an_enable_that_is_free_makes_a_register_feed_back(tmp_path: Path) -> None:
    tables = '[tied]\nrst_n = 1\nmode = 2\n[clock]\nclock = "clk"\nlatency = 3\n'
    with pytest.raises(InputError, match="feedback loop"):
        read_unit(write_unit(tmp_path, PIPELINE, tables=tables, keys='free = ["valid"]'))


@pytest.mark.few(1)
@pytest.mark.parametrize("reset", ["posedge clk)", "posedge clk or posedge rst)"])
def test_passes_from_a_reset(reset: str, tmp_path: Path) -> None:
    source = PASSES.replace("posedge clk)", reset)
    for cycles in (2, 3):
        clock = f'[clock]\nclock = "clk"\ncycles = {cycles}\nreset = "rst"\nreset_value = 1\n'
        unit = read_unit(write_unit(tmp_path, source, tables=clock))
        check(unit.design)
        assert unit.report.latency is None
    clock = '[clock]\nclock = "clk"\ncycles = 1\nreset = "rst"\nreset_value = 1\n'
    one = read_unit(write_unit(tmp_path, source, tables=clock)).design
    assert evaluate(one, Operands((2, 3), (5, 7), 1)) == 11


def test_passes_from_unknown_registers(tmp_path: Path) -> None:
    clock = '[clock]\nclock = "clk"\ncycles = 2\n'
    unit = read_unit(write_unit(tmp_path, PASSES, tables=f"[tied]\nrst = 0\n{clock}"))
    assert {x.partition("[")[0] for x in unit.report.unknown} == {"initial count", "initial sum"}
    assert sum(unit.report.unknown.values()) == 34


def test_a_chain_of_passes_takes_d_for_c(tmp_path: Path) -> None:
    design = read_unit(write_unit(tmp_path, COMBINATIONAL)).design
    first = evaluate(design, Operands((2, 3), (5, 7), 1))
    assert evaluate(design, Operands((2, 3, 4, 255), (5, 7, 9, 2), 1)) == int8_dot((4, 255), (9, 2), first)
    assert evaluate(design, Operands((2,), (5,), 1)) == 11


def test_a_chain_needs_one_format(tmp_path: Path) -> None:
    source = "module unit(input [15:0] a, b, c, output [31:0] d); assign d = {a & b, c}; endmodule"
    formats = '[formats]\na = "fp16"\nb = "fp16"\nc = "fp16"\nd = "fp32"\n'
    ports = '[ports]\na = "a"\nb = "b"\nc = "c"\nd = "d"\n'
    design = read_unit(write_unit(tmp_path, source, formats=formats, ports=ports)).design
    assert evaluate(design, Operands((3,), (2,), 7)) == 2 << 16 | 7
    with pytest.raises(DesignError, match="not a c"):
        evaluate(design, Operands((3, 3), (2, 2), 7))


def test_scales(tmp_path: Path) -> None:
    source = """
module unit(input [31:0] a, b, input [15:0] sa, input [7:0] sb0, sb1, input [31:0] c, output [31:0] d);
  assign d = {sa[15:8] ^ sb1, sa[7:0] ^ sb0, c[15:0]} ^ {16'b0, a[31:24], b[7:0]};
endmodule
"""
    formats = 'block = 2\n[formats]\na = "e4m3"\nb = "e4m3"\nc = "fp32"\nd = "fp32"\nscale = "e8m0"\n'
    ports = '[ports]\na = "a"\nb = "b"\nc = "c"\nd = "d"\nscale_a = "sa"\nscale_b = ["sb0", "sb1"]\n'
    design = read_unit(write_unit(tmp_path, source, formats=formats, ports=ports)).design
    assert (design.k, design.block) == (4, 2)
    operands = Operands((1, 2, 3, 4), (5, 6, 7, 8), 0x1234, (0x11, 0x22), (0x33, 0x44))
    assert evaluate(design, operands) == 0x66221234 ^ 0x0405


def test_a_netlist_has_no_parameters(tmp_path: Path) -> None:
    design = read_unit(write_unit(tmp_path, COMBINATIONAL)).design
    with pytest.raises(DesignError, match="no parameters"):
        design.change(rho="rne-fp32")
    with pytest.raises(DesignError, match="no parameters"):
        design.under_profile("x", {})
    assert design.record()["parameters"] == {}
    assert not design.step.guarantees
    assert design.one_step() == design


def test_two_netlists_are_never_confused(tmp_path: Path) -> None:
    path = write_unit(tmp_path, COMBINATIONAL)
    first = read_unit(path).design
    write_unit(tmp_path, COMBINATIONAL.replace("+ c", "- c"))
    second = read_unit(path).design
    assert first.name == second.name
    assert first != second and hash(first) != hash(second)
    batch = OperandBatch(np.array([[1, 2]], np.uint8), np.array([[3, 4]], np.uint8), np.array([5], np.uint32))
    for backend in ("arrays", "native"):
        assert [int(evaluate_batch(x, batch, backend=backend)[0]) for x in (first, second)] == [16, 6]


def test_nets_can_be_replaced(tmp_path: Path) -> None:
    source = f"""
module unit({HEAD}, output signed [31:0] d);
  wire signed [16:0] products = a0 * b0 + a1 * b1;
  wire [7:0] half = products[11:4];
  assign d = products + c + half;
endmodule
"""
    circuit = read_unit(write_unit(tmp_path, source)).circuit
    algebra, seen = IntegerAlgebra(), []

    def on_net(name, word):
        seen.append(name)
        return algebra.unsigned(0x30, word.width) if name == "products" else word

    words = {n: algebra.unsigned(1, len(bits)) for n, bits in circuit.inputs.items()}
    assert run_circuit(circuit, algebra, words, on_net)["d"].data == 0x30 + 1 + 3
    assert {"products", "half", "a0", "d"} <= set(seen)
    assert len(seen) == len(set(seen))
    assert run_circuit(circuit, algebra, words)["d"].data == 2 + 1


def test_ports_wider_than_a_machine_word(tmp_path: Path) -> None:
    source = """
module unit(input [255:0] a, b, input [31:0] c, output [31:0] d);
  wire [255:0] moved = (a ^ b) >> c[7:0];
  wire [255:0] sum = a + b;
  assign d = moved[31:0] ^ sum[255:224] ^ {31'b0, a < b} ^ {31'b0, &(a | b)};
endmodule
"""
    formats = '[formats]\na = "fp16"\nb = "fp16"\nc = "fp32"\nd = "fp32"\n'
    ports = '[ports]\na = "a"\nb = "b"\nc = "c"\nd = "d"\n'
    design = read_unit(write_unit(tmp_path, source, formats=formats, ports=ports)).design
    rng = np.random.default_rng(3)
    a, b = (rng.integers(0, 1 << 16, (50, 16), dtype=np.uint16) for _ in "ab")
    batch = OperandBatch(a, b, rng.integers(0, 1 << 32, 50, dtype=np.uint32))
    wanted = evaluate_batch(design, batch, backend="integers").tolist()
    x, y, z = (sum(int(v) << 16 * i for i, v in enumerate(row)) for row in (a[0], b[0], [batch.c[0]]))
    top = ((x + y) >> 224) & 0xFFFFFFFF
    assert wanted[0] == ((x ^ y) >> (z & 255)) & 0xFFFFFFFF ^ top ^ (x < y)
    for backend in ("arrays", "native"):
        assert evaluate_batch(design, batch, backend=backend).tolist() == wanted


def test_undefined_bits_are_unknown(tmp_path: Path) -> None:
    source = f"""
module unit({HEAD}, output logic signed [31:0] d);
  logic [31:0] nowhere;
  always_comb case (a0[1:0]) 0: d = 32'd5; 1: d = 32'bx; default: d = nowhere ^ c; endcase
endmodule
"""
    report = read_unit(write_unit(tmp_path, source)).report
    assert sum(report.unknown.values()) == 64, report.unknown


def test_tables_are_covered(tmp_path: Path) -> None:
    source = f"""
module unit({HEAD}, output signed [31:0] d);
  logic [7:0] table_of [0:15];
  initial for (int i = 0; i < 16; i++) table_of[i] = i * i;
  localparam logic [7:0] OTHER [4] = '{{8'd3, 8'd1, 8'd4, 8'd9}};
  assign d = table_of[a0[3:0]] + OTHER[a1[1:0]];
endmodule
"""
    design = read_unit(write_unit(tmp_path, source)).design
    for x, y in ((3, 0), (15, 3), (0, 1)):
        assert evaluate(design, Operands((x, y), (0, 0), 0)) == x * x + (3, 1, 4, 9)[y]


def test_of_overlapping_items_of_a_unique_case_the_first_one_counts(tmp_path: Path) -> None:
    source = f"""
module unit({HEAD}, output logic [31:0] d);
  always_comb unique case (1'b1)
    a0[0]: d = 1;
    a0[1]: d = 2;
    a0[2]: d = 4;
  endcase
endmodule
"""
    unit = read_unit(write_unit(tmp_path, source))
    found = [evaluate(unit.design, Operands((x, 0), (0, 0), 0)) for x in range(1, 8)]
    assert found == [1, 2, 1, 4, 1, 2, 1]
    assert sum(unit.report.unknown.values()) == 32 or unit.report.unknown == {}


def test_questions_about_netlists(tmp_path: Path) -> None:
    first = read_unit(write_unit(tmp_path / "first", COMBINATIONAL)).design
    other = read_unit(write_unit(tmp_path / "other", COMBINATIONAL.replace("a0 * b0 +", "a0 * b0 -"))).design
    same = read_unit(write_unit(tmp_path / "same", COMBINATIONAL.replace("a0 * b0 + a1 * b1", "a1 * b1 + a0 * b0")))
    limits = Limits(20, 4 << 30)
    assert compare(first, other, k=2, limits=limits).status is Status.REFUTED
    assert compare(first, same.design, k=2, limits=limits).status is Status.PROVED
    with pytest.raises(DesignError, match="cannot be asked"):
        check_property("products-exact", first)
    with pytest.raises(DesignError, match="not a multiple of it"):
        evaluate(first, Operands((1, 2, 3), (1, 2, 3), 0))


def test_undefined_bits_count_only_where_they_matter(tmp_path: Path) -> None:
    defined = read_unit(write_unit(tmp_path / "defined", COMBINATIONAL)).design
    sources = {True: "logic k; ", False: "logic k; wire u = k; "}
    for matters, held in sources.items():
        wrong = "k" if matters else "u & a0[0] & b0[0] & ~a0[0]"
        source = COMBINATIONAL.replace("assign d =", f"{held}assign d = $signed({{1'b0, {wrong}}}) +")
        unit = read_unit(write_unit(tmp_path / str(matters), source))
        assert sum(unit.report.unknown.values()) == 1
        found = compare(defined, unit.design, k=2, limits=Limits(30, 4 << 30))
        assert found.status is (Status.REFUTED if matters else Status.PROVED)
        assert [*found.unknown.values()] == [1] * matters


@pytest.mark.few(2)
@pytest.mark.parametrize(
    ("process", "tied", "message"),
    [
        ("posedge clk or posedge r) if (r) en <= 0; else en <= 1", "r = 1", "held in reset"),
        ("posedge clk or posedge r) if (r) en <= 0; else en <= 1", "", "asynchronous reset"),
        ("posedge r) en <= 1", "r = 0", "another clock"),
        ("posedge clk or posedge r) if (r) en <= 0; else en <= 1", "r = 0", None),
    ],
)
def test_a_register_that_loads_a_constant_is_one_only_where_it_loads(
    process: str, tied: str, message: str | None, tmp_path: Path
) -> None:
    source = f"""
module unit(input clk, r, {HEAD}, output logic signed [31:0] d);
  logic en;
  always_ff @({process};
  always_ff @(posedge clk) d <= en ? a0 * b0 + a1 * b1 + c : 32'sd0;
endmodule
"""
    tables = f'[tied]\n{tied}\n[clock]\nclock = "clk"\nlatency = 1\n'
    path = write_unit(tmp_path, source, tables=tables, keys="" if tied else 'free = ["r"]')
    if message is None:
        check(read_unit(path).design)
    else:
        with pytest.raises(InputError, match=message):
            read_unit(path)


def test_a_pipeline_is_what_it_computes_of_operands_that_are_held(tmp_path: Path) -> None:
    for cycles in (3, 5):
        tables = f'{PIPELINE_TIED}[clock]\nclock = "clk"\ncycles = {cycles}\n'
        check(read_unit(write_unit(tmp_path, PIPELINE, tables=tables)).design)
    tables = f'{PIPELINE_TIED}[clock]\nclock = "clk"\ncycles = 2\n'
    with pytest.raises(AssertionError):
        check(read_unit(write_unit(tmp_path, PIPELINE, tables=tables)).design)
