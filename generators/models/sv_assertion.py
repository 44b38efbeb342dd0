"""An assertion that a unit in RTL returns what its model returns, as a module that is bound to the unit's top module.

The model is printed as a combinational module. Shift registers keep operands until the d that they belong to is there.
"""

from __future__ import annotations

from collections.abc import Iterable

from mmaproof.designs.circuit import Bits
from mmaproof.designs.design import Design
from mmaproof.designs.errors import InputError
from mmaproof.generators.formats.verilog import is_nan
from mmaproof.generators.models.model import Model, make_model
from mmaproof.generators.models.sv_model import sv_module
from mmaproof.hardware_replay.rtl_bench import Layout, layout_of, of_word
from mmaproof.rtl import RtlUnit
from mmaproof.rtl.meant import in_one_pass
from mmaproof.rtl.slices import bits_of, constant_of
from mmaproof.rtl.unit import latency_of

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
    end

    logic [{d_high}:0] expected, d;
    assign d = {d};
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


def assertion_files(unit: RtlUnit, meant: Design, version: str) -> dict[str, str]:
    """Return the model and the module with the assertion, by file name.

    Raises InputError for a unit of several passes and for one of VHDL, TargetUnavailable for a register whose name the
    sources do not have.
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
    if layout.added or file.handshake is not None:
        what = "d is a sum of words" if layout.added else "there is a handshake"
        raise InputError(f"{file.path}: no assertion is written where {what}")
    design = in_one_pass(unit.design, meant)
    model = make_model(design, unit.design.k, version, wide=True)
    return {f"{model.name}.sv": sv_module(model), f"{CHECK}.sv": _assertion(unit, model, layout)}


def _assertion(unit: RtlUnit, model: Model, layout: Layout) -> str:
    file, clock = unit.file, unit.file.clock
    latency, longest = latency_of(file, unit.circuit.inputs), unit.longest if unit.file.clock is not None else 0
    row, out = layout.row_bits, layout.out_bits
    tied: dict[int, int] = {}
    for expression, value in file.tied.items():
        bits = bits_of(expression, layout.ports, str(file.path))
        number = constant_of(value, len(bits), expression)
        tied |= {int(bit): number >> i & 1 for i, bit in enumerate(bits)}
    now = {int(bit): layout.constants >> int(bit) & 1 for bit in layout.steering}
    if unit.not_direct is not None:
        tied, now = tied | now, {}
    columns: dict[str, list[tuple[Bits, int]]] = {}
    held: set[int] = set()
    for name, width, elements in layout.operands:
        short = {"scale_a": "sa", "scale_b": "sb"}.get(name, name)
        for i, bits in enumerate(elements):
            element = short if name == "c" else f"{short}{i}"
            if element not in latency:
                held |= {int(bit) for bit in bits}
            zeros: Bits = tuple("0" for _ in range(width - len(bits)))
            filled = (*zeros, *bits)
            columns.setdefault(name, []).append((filled, latency.get(element, 0)))
    for name, value in unit.fixed.items():
        fmt, count = getattr(model.design.signature, name), 1 if name == "c" else unit.design.k
        columns[name] = [(tuple("1" if value >> i & 1 else "0" for i in range(fmt.bits)), 0)] * count
    connections = [
        f"        .{name}({{{', '.join(of_word(bits, f'past[{n}]') for bits, n in reversed(elements))}}}),"
        for name, elements in columns.items()
    ]
    d = model.design.d_format
    registers = {bits: name for name, bits in reversed(list(layout.stored.items()))}
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
        d=of_word(layout.d, "out"),
        connections="\n".join([*connections, "        .d(expected)"]),
        assertion=_NEXT if layout.following else _NOW if clock is not None else _WITHOUT_CLOCK,
        clock="1'b0" if clock is None else clock.port,
        row=", ".join(reversed(read_row)),
        out=", ".join(reversed([*layout.outputs, *layout.following])),
    )


def _mask(bits: Iterable[int], width: int) -> str:
    return f"{width}'h{sum(1 << bit for bit in bits):x}"


def _number(values: dict[int, int], width: int) -> str:
    return f"{width}'h{sum(1 << bit for bit, value in values.items() if value):x}"
