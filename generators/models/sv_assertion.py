"""An assertion that a unit in RTL returns what its model returns, as a module that is bound to the unit's top module.

The model is printed as a combinational module. Shift registers keep operands until the d that they belong to is there;
of a unit with a handshake a queue keeps what the model returns. Words of operands that have a view are read by the
module that reads d, and the assertion is about words that the view of the operand makes of a number.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from mmaproof.designs.circuit import Bits
from mmaproof.designs.design import Design
from mmaproof.designs.errors import InputError
from mmaproof.generators.formats.verilog import is_nan
from mmaproof.generators.models.model import Model, make_model
from mmaproof.generators.models.sv_model import sv_module
from mmaproof.hardware_replay.rtl_bench import Handshaking, Layout, handshaking, layout_of, of_word
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
    if unit.not_direct is not None:
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
