"""A model as a combinational module in SystemVerilog, with a test bench for vectors and one that compares it with C.

An assertion that a unit in RTL returns what its model returns, as a module that is bound to the unit's top module.

The model is printed as a combinational module. Shift registers keep operands until the d that they belong to is there;
of a unit with a handshake a queue keeps what the model returns. Words of operands that have a view are read by the
module that reads d, and the assertion is about words that the view of the operand makes of a number.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from mmaproof.designs.circuit import Bits
from mmaproof.designs.design import Design
from mmaproof.designs.errors import InputError
from mmaproof.designs.formats import Format
from mmaproof.generators.formats.verilog import bench_files, is_nan
from mmaproof.generators.models.c_model import c_library, c_type, pointers
from mmaproof.generators.models.model import WORDS, Dialect, Model, SelfTest, make_model
from mmaproof.hardware_replay.rtl_bench import Handshaking, Layout, handshaking, layout_of, of_word
from mmaproof.rtl import RtlUnit
from mmaproof.rtl.clock_cycles import STEP
from mmaproof.rtl.mapped_ports import latency_of
from mmaproof.rtl.meant import in_one_pass
from mmaproof.rtl.slices import bits_of, constant_of
from mmaproof.smt.algebra.nodes import Op
from mmaproof.smt.native.lowering import Lowered

FUNCTIONS = """\
    // the number of zero bits above the highest one bit of x, which is not 0
    function automatic [{top}:0] leading_zeros_{bits}(input [{top}:0] x);
        reg [{top}:0] rest;
        begin
            rest = x;
            leading_zeros_{bits} = {bits}'d0;
{steps}        end
    endfunction
"""

_STEP = """\
            if (rest[{top}:{low}] == {half}'d0) begin
                leading_zeros_{bits} = leading_zeros_{bits} + {bits}'d{half};
                rest = rest << {half};
            end
"""


def leading_zeros(bits: int) -> str:
    """Return the function that counts the leading zeros of a word of ``bits``."""
    halves = [bits >> i for i in range(1, bits.bit_length())]
    steps = "".join(_STEP.format(bits=bits, top=bits - 1, low=bits - half, half=half) for half in halves)
    return FUNCTIONS.format(bits=bits, top=bits - 1, steps=steps)


def constant(value: int, bits: int) -> str:
    """Return a constant of N bits."""
    return f"{bits}'h{value:x}"


def _zero_extended(x: str, of: int, to: int) -> str:
    return x if of == to else f"{{{constant(0, to - of)}, {x}}}"


SYSTEM_VERILOG = Dialect(
    constant,
    signed=lambda x, bits: f"$signed({x})",
    input=lambda node, element: (f"word_{node.name}", _zero_extended(element, node.width, node.bits)),
    declare=lambda name, word, bits: f"wire {f'[{bits - 1}:0] ' if bits > 1 else ''}{name} = {word};",
    further=lambda of, to: {
        "more": f"{to - of}",
        "zeros": constant(0, to - of),
        "top": f"{of - 1}",
        "last": f"{to - 1}",
    },
    operations={
        Op.SHIFT_OUT: "{x} >> {y}",
        Op.SHIFT_RIGHT_SIGNED: "{sx} >>> {y}",
        Op.MAGNITUDE: "{x}[{top}] ? -{x} : {x}",
        Op.LEADING_ZEROS: "leading_zeros_{of}({x})",
        Op.SELECT: "{x} ? {y} : {z}",
        Op.ZERO_EXTEND: "{{{zeros}, {x}}}",
        Op.SIGN_EXTEND: "{{{{{more}{{{x}[{top}]}}}}, {x}}}",
        Op.TRUNCATE: "{x}[{last}:0]",
    },
)
"""Every operation stands alone in its declaration, so that no width or sign of another one reaches it."""


_MODULE = """\
// {about}
//
// Combinational, without a clock, and synthesizable: each wire is one operation of the graph that mmaproof has for the
// design. Words are of 1{lanes} bits; synthesis removes the bits of a word that are constant.
// Element i of a is a[i*{a_bits} +: {a_bits}]{others}.
module {name} (
{ports}
);
{functions}
    /* verilator lint_off UNUSEDSIGNAL */  // words are wider than what is used of them
{wires}
    /* verilator lint_on UNUSEDSIGNAL */

    assign d = {d};
endmodule
"""

_DPI_BENCH = """\
// {about}
//
// Compares the module {name} with the model in C on random operands: bits of the vectors, changed at random.
// $ verilator --binary --top-module dpi_testbench vectors_pkg.sv {name}.sv dpi_testbench.sv {name}_dpi.c {name}.c
// $ obj_dir/Vdpi_testbench
// While it runs: +rows=N for N operand sets (10000), +vectors=FILE for another place of vectors.hex.
// Status 0 and PASS: every d is equal, bit for bit. Otherwise FAIL, the first rows that differ, and $fatal.
module dpi_testbench;
    import vectors_pkg::*;
    import "DPI-C" function void {name}_dpi(
{imported}
    );
    localparam int SHOWN = 10;

    logic [ROW_BITS-1:0] rows [0:ROWS-1];
    vector_t row;
    bit [ROW_BITS-1:0] bits, mask;
    logic [D_BITS-1:0] d;
    bit [D_BITS-1:0] d_of_c;
    string file;
    int count, failures;

    {name} unit (
{connections}
    );

    // a word in which one bit of 2**(one_of) is set
    function automatic bit [ROW_BITS-1:0] random(input int one_of);
        bit [ROW_BITS+31:0] word;
        random = '1;
        for (int n = 0; n < one_of; n++) begin
            for (int i = 0; i < ROW_BITS; i += 32) word[i +: 32] = $urandom;
            random = random & word[ROW_BITS-1:0];
        end
    endfunction

    initial begin
        if (!$value$plusargs("vectors=%s", file)) file = "vectors.hex";
        if (!$value$plusargs("rows=%d", count)) count = 10000;
        for (int i = 0; i < ROWS; i++) rows[i] = '0;
        $readmemh(file, rows);
        failures = 0;
        for (int i = 0; i < count; i++) begin
            mask = random(1 + i % 8);
            bits = rows[$urandom_range(ROWS - 1)];
            if (bits[ROW_BITS-1 -: 4] != 4'h1) $fatal(1, "FAIL: %s holds fewer than %0d rows", file, ROWS);
            row = bits ^ mask;
            #1;
            {name}_dpi({given}, d_of_c);
            if (d !== d_of_c) begin
                failures++;
                if (failures <= SHOWN) begin
                    $display("d = %h of the module, %h of C", d, d_of_c);
{shown}
                end
            end
        end
        if (failures != 0) $fatal(1, "FAIL: %0d of %0d rows differ between {name} and C", failures, count);
        $display("PASS: %0d rows, {name} and C agree", count);
        $finish;
    end
endmodule
"""

_DPI = """\
/* {about}
 *
 * The model in C as dpi_testbench.sv calls it: operands are packed vectors.
 */
#include "{name}.h"
#include "svdpi.h"

static uint64_t element(const svBitVecVal *packed, size_t index, size_t width)
{{
    uint64_t word = 0;
    for (size_t bit = 0; bit < width; bit++) {{
        const size_t at = index * width + bit;
        word |= (uint64_t)(packed[at / 32] >> at % 32 & 1u) << bit;
    }}
    return word;
}}

#ifdef __cplusplus
extern "C"
#endif
void {name}_dpi({parameters}, svBitVecVal *d)
{{
{unpacked}
    const uint64_t result = {name}_dot({given});
    d[0] = (svBitVecVal)result;
{high}}}
"""


@dataclass(frozen=True)
class _Port:
    """A port of the module."""

    name: str
    format: Format
    count: int

    @property
    def bits(self) -> int:
        return self.format.bits * self.count


def sv_files(model: Model, test: SelfTest) -> dict[str, str]:
    """Return the module, the test bench with its vectors, and the second bench with the model in C, by file name.

    A model with words that C does not have has no second bench.
    """
    name = model.name
    following = {} if model.later is model.first else {f"{name}_next.sv": _module(model, model.later, f"{name}_next")}
    return {
        f"{name}.sv": sv_module(model),
        **following,
        **bench_files(test.selection, unit=name),
        **({} if model.is_wide else _against_c(model)),
    }


def _against_c(model: Model) -> dict[str, str]:
    """Return the bench that compares the module with the model in C, and that model."""
    return {"dpi_testbench.sv": _dpi_bench(model), f"{model.name}_dpi.c": _dpi(model), **c_library(model)}


def _ports(lowered: Lowered) -> list[_Port]:
    """Return the inputs in the order of the test bench: a, b, scales, c."""
    ports = {x.name: _Port(WORDS.get(x.name, x.name), x.format, len(x.inputs)) for x in lowered.columns}
    return [ports[x] for x in ("a", "b", "sa", "sb", "c") if x in ports]


def sv_module(model: Model) -> str:
    """Return a design as a combinational module, of the model's name."""
    return _module(model, model.first, model.name)


def _module(model: Model, lowered: Lowered, name: str) -> str:
    inputs, d = _ports(lowered), model.design.d_format
    ports = [f"    input  logic [{x.bits - 1}:0] {x.name}," for x in inputs]
    elements = {
        element: "c" if x.name == "c" else f"{WORDS.get(x.name, x.name)}[{i * x.format.bits} +: {x.format.bits}]"
        for x in lowered.columns
        for i, element in enumerate(x.inputs)
    }
    wires, result = SYSTEM_VERILOG.written(lowered.d, elements)
    counted = sorted({node.operands[0].bits for node in lowered.nodes if node.op is Op.LEADING_ZEROS})
    lanes = sorted({node.bits for node in lowered.nodes} - {1})
    scale = model.design.scale_format
    of_scales = "" if scale is None else f"; scale i is scale_a[i*{scale.bits} +: {scale.bits}]"
    following = (
        "" if lowered is model.first else "\n// An instruction that follows in a chain: c is the d of the one before."
    )
    return _MODULE.format(
        about="\n// ".join(model.about()) + following,
        name=name,
        lanes="".join(f", {x}" for x in lanes[:-1]) + f" and {lanes[-1]}",
        a_bits=model.design.a_format.bits,
        others=f", of b likewise{of_scales}",
        ports="\n".join([*ports, f"    output logic [{d.bits - 1}:0] d"]),
        functions="\n".join(leading_zeros(bits) for bits in counted),
        wires="\n".join(f"    {x}" for x in wires),
        d=result if lowered.d.bits == d.bits else f"{result}[{d.bits - 1}:0]",
    )


def _dpi_bench(model: Model) -> str:
    inputs, d = _ports(model.first), model.design.d_format
    imported = [f"        input bit [{x.bits - 1}:0] {x.name}" for x in inputs]
    connections = [f"        .{x.name}(row.{x.name})" for x in inputs] + ["        .d(d)"]
    return _DPI_BENCH.format(
        about="\n// ".join(model.about()),
        name=model.name,
        imported=",\n".join([*imported, f"        output bit [{d.bits - 1}:0] d"]),
        connections=",\n".join(connections),
        given=", ".join(f"row.{x.name}" for x in inputs),
        shown="\n".join(f'                    $display("  {x.name} = %h", row.{x.name});' for x in inputs),
    )


def _dpi(model: Model) -> str:
    unpacked = []
    for x in _ports(model.first):
        kind = c_type(x.format)
        unpacked.append(f"    {kind} {x.name}_[{x.count}];")
        unpacked.append(f"    for (size_t i = 0; i < {x.count}; i++)")
        unpacked.append(f"        {x.name}_[i] = ({kind})element({x.name}, i, {x.format.bits});")
    return _DPI.format(
        about="\n * ".join(model.about()),
        name=model.name,
        parameters=", ".join(f"const svBitVecVal *{x.name}" for x in _ports(model.first)),
        unpacked="\n".join(unpacked),
        given=", ".join("c_[0]" if p.name == "c" else f"{p.name}_" for p in pointers(model.first)),
        high="    d[1] = (svBitVecVal)(result >> 32);\n" if model.design.d_format.bits > 32 else "",
    )


CHECK = "mmaproof_check"
"""The name of the module that is bound."""

_ASSERTION = """\
// {about}
// {top}: d is that of {design}{since}.
// Read it with the sources of {top} and with {model}.sv.
module {check} (
    input logic clk,
    input logic [{row_high}:0] row,  // the inputs, and registers that are operands
    input logic [{out_high}:0] out   // the outputs, and registers that are d
);
    function automatic logic is_nan(input logic [{d_high}:0] x);
        return {is_nan};
    endfunction

    // the row of this cycle, and those before it
    logic [{row_high}:0] past [0:{longest}];
    logic [{longest}:0] known = '0;
    always_comb past[0] = row;
    always_ff @(posedge clk) begin
        for (int i = 1; i <= {longest}; i++) past[i] <= past[i-1];
        known <= {known};
    end

    // the inputs that are tied or held
    logic applies;
    always_comb begin
        applies = {first_known};
        for (int i = 0; i <= {longest}; i++) applies &= (past[i] & {tied_mask}) == {tied};
        for (int i = 1; i <= {longest}; i++) applies &= ((past[i] ^ row) & {held_mask}) == '0;
        applies &= (row & {now_mask}) == {now};
        {words_of_numbers}
    end

    logic [{d_high}:0] expected, d;
    wire [{seen_high}:0] seen;
    assign seen[{out_high}:0] = out;
    assign d = {d};
{beside}
    {model} model (
{connections}
    );

    function automatic logic same(input logic [{d_high}:0] x, input logic [{d_high}:0] y);
        return x == y || (is_nan(x) && is_nan(y));
    endfunction
{assertion}
endmodule

bind {top} {check} {check} (
    .clk({clock}),
    .row({{>>{{{row}}}}}),
    .out({{>>{{{out}}}}})
);
"""

_NEXT = """\
    d_is_that_of_the_model: assert property (@(posedge clk) applies |=> same(d, $past(expected)));"""
_NOW = """\
    d_is_that_of_the_model: assert property (@(posedge clk) applies |-> same(d, expected));"""
_WITHOUT_CLOCK = """\
    always_comb if (applies) d_is_that_of_the_model: assert final (same(d, expected));"""
_QUEUE = """\

    // what is due for the operands that were taken since the reset, if the unit was used as it is to be since then
    logic [{d_high}:0] queue [0:{queue_high}];
    logic [31:0] taken = '0, given = '0;
    logic is_used_so = '0;
    wire takes = {takes}, gives = {gives};
    wire [{d_high}:0] due = taken == given ? expected : queue[given % {queue_length}];
    always_ff @(posedge clk) begin
        if (row[{reset}] == 1'b{resets}) begin
            taken <= '0;
            given <= '0;
            is_used_so <= '1;
        end else begin
            is_used_so <= is_used_so && applies;
            if (takes) queue[taken % {queue_length}] <= expected;
            taken <= taken + 32'(takes);
            given <= given + 32'(gives);
        end
    end
    d_is_that_of_the_model: assert property (@(posedge clk) is_used_so && applies && gives |-> same(d, due));
    d_is_of_operands: assert property (@(posedge clk) is_used_so && applies && gives |-> taken != given || takes);"""


def assertion_files(unit: RtlUnit, meant: Design, version: str) -> dict[str, str]:
    """Return the model and the module with the assertion, by file name.

    Raises InputError for a unit of several passes, for one of VHDL, and for an operand whose view no module is known
    to read; TargetUnavailable for a register whose name the sources do not have.
    """
    file = unit.file
    clock = file.clock
    if clock is not None and clock.cycles is not None:
        raise InputError(
            f"{file.path}: an assertion is of a pipeline, and the unit has cycles: it takes several passes"
        )
    if any(not x.endswith((".v", ".sv")) for x in file.sources):
        raise InputError(f"{file.path}: an assertion is bound to a module of Verilog, and the unit has other sources")
    layout = layout_of(unit)
    design = in_one_pass(unit.design, meant)
    model = make_model(design, unit.design.k, version, wide=True)
    return {f"{model.name}.sv": sv_module(model), f"{CHECK}.sv": _assertion(unit, model, layout)}


def _assertion(unit: RtlUnit, model: Model, layout: Layout) -> str:
    file, clock = unit.file, unit.file.clock
    latency, longest = latency_of(file, unit.circuit.inputs), unit.longest if unit.file.clock is not None else 0
    at = handshaking(unit, layout)
    if at is not None:  # the model reads operands when they are taken
        latency, longest = dict.fromkeys(latency, 0), 0
    row, out = layout.row_bits, layout.port_bits
    tied: dict[int, int] = {}
    for expression, value in file.tied.items():
        bits = bits_of(expression, layout.ports, str(file.path))
        number = constant_of(value, len(bits), expression)
        tied |= {int(bit): number >> i & 1 for i, bit in enumerate(bits)}
    now = {int(bit): layout.constants >> int(bit) & 1 for bit in layout.steering}
    if unit.not_direct is not None or any(map(file.later, STEP)):
        tied, now = tied | now, {}
    columns: dict[str, list[str]] = {}
    held: set[int] = set()
    beside = layout.beside("seen", "out")
    numbers: list[str] = []
    for name, width, elements in layout.operands:
        short = {"scale_a": "sa", "scale_b": "sb"}.get(name, name)
        for i, bits in enumerate(elements):
            element = short if name == "c" else f"{short}{i}"
            if element not in latency:
                held |= {int(bit) for bit in bits}
            zeros: Bits = tuple("0" for _ in range(width - len(bits)))
            given = of_word((*zeros, *bits), f"past[{latency.get(element, 0)}]")
            if name == "c" and layout.divided:
                given = " + ".join([given, *(of_word(x, "past[0]") for x in layout.divided)])
            if name in layout.views:
                beside += _read_back(unit, name, element, given)
                numbers.append(f"words_{element} == {given}")
                given = f"number_{element}"
            columns.setdefault(name, []).append(given)
    for name, value in unit.fixed.items():
        fmt, count = getattr(model.design.signature, name), 1 if name == "c" else unit.design.k
        columns[name] = [f"{fmt.bits}'h{value:x}"] * count
    connections = [f"        .{name}({_concatenated(elements)})," for name, elements in columns.items()]
    d = model.design.d_format
    registers: dict[Bits, str] = {}  # each under its first name, in the order of their bits
    for name, bits in layout.stored.items():
        registers.setdefault(bits, name)
    read_row = [*layout.inputs, *registers.values()]
    return _ASSERTION.format(
        about=f"by mmaproof {model.version}",
        top=file.top,
        design=model.design.name,
        since=f", {longest} clock cycles after the operands" if longest else "",
        model=model.name,
        check=CHECK,
        row_high=row - 1,
        out_high=out - 1,
        d_high=d.bits - 1,
        is_nan=is_nan(d),
        longest=longest,
        known="{known, 1'b1}" if longest else "1'b1",
        first_known=f"known[{longest - 1}]" if longest else "1'b1",
        tied_mask=_mask(tied, row),
        tied=_number(tied, row),
        held_mask=_mask(held, row),
        now_mask=_mask(now, row),
        now=_number(now, row),
        d=layout.result("seen"),
        seen_high=layout.out_bits - 1,
        beside="\n".join(f"    {line}" for line in beside),
        words_of_numbers=" ".join(f"applies &= {x};" for x in numbers),
        connections="\n".join([*connections, "        .d(expected)"]),
        assertion=_assertion_text(unit, layout, at),
        clock="1'b0" if clock is None else clock.port,
        row=", ".join(reversed(read_row)),
        out=", ".join(reversed([*layout.outputs, *layout.following])),
    )


def _concatenated(elements: Sequence[str]) -> str:
    return elements[0] if len(elements) == 1 else f"{{{', '.join(reversed(elements))}}}"


def _assertion_text(unit: RtlUnit, layout: Layout, at: Handshaking | None) -> str:
    """Return the assertion, with what it needs of a handshake."""
    handshake = unit.file.handshake
    if at is None or handshake is None:
        return _NEXT if layout.following else _NOW if unit.file.clock is not None else _WITHOUT_CLOCK
    (reset,) = bits_of(handshake.reset, layout.ports, str(unit.file.path))
    return _QUEUE.format(
        d_high=unit.design.d_format.bits - 1,
        queue_high=unit.most_in_flight,
        queue_length=unit.most_in_flight + 1,
        takes=f"row[{at.valid_in}]" + ("" if at.ready_in is None else f" && out[{at.ready_in}]"),
        gives=f"out[{at.valid_out}]" + ("" if at.ready_out is None else f" && row[{at.ready_out}]"),
        reset=reset,
        resets=1 - constant_of(unit.file.tied[handshake.reset], 1, str(unit.file.path)),
    )


def _read_back(unit: RtlUnit, operand: str, element: str, words: str) -> list[str]:
    """Return what computes the number of an element that has a view, and the words of that number.

    Raises InputError where the module that reads d does not read such words.
    """
    makes, reads = unit.views[operand], unit.views.get("d")
    if reads is None or (len(reads.given), len(reads.result)) != (len(makes.result), len(makes.given)):
        raise InputError(
            f"{unit.file.path}: no assertion is written: {operand} has a view, and none of d reads words of "
            f"{len(makes.result)} bits as numbers of {len(makes.given)}"
        )
    number, again = f"number_{element}", f"words_{element}"
    lines = [f"wire [{len(makes.given) - 1}:0] {number};", f"wire [{len(makes.result) - 1}:0] {again};"]
    for view, given, result in ((reads, words, number), (makes, number, again)):
        (given_port, result_port), name = view.ports, view.module.name
        lines.append(f"{name} {name}_{element}(.{given_port}({given}), .{result_port}({result}));")
    return lines


def _mask(bits: Iterable[int], width: int) -> str:
    return f"{width}'h{sum(1 << bit for bit in bits):x}"


def _number(values: dict[int, int], width: int) -> str:
    return f"{width}'h{sum(1 << bit for bit, value in values.items() if value):x}"
