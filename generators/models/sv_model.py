"""A model as a combinational module in SystemVerilog, with a test bench for vectors and one that compares it with C."""

from __future__ import annotations

from dataclasses import dataclass

from mmaproof.designs.formats import Format
from mmaproof.generators.formats.verilog import bench_files
from mmaproof.generators.models.c_model import c_library
from mmaproof.generators.models.c_statements import c_type, pointers
from mmaproof.generators.models.model import WORDS, Dialect, Model
from mmaproof.generators.models.self_test import SelfTest
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
