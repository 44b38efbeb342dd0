"""A test bench for a unit, as a text of SystemVerilog: it gives rows of operands to the untouched sources.

A row is a word of all inputs of the top module. Every row has a clock cycle of its own. The outputs of a row are read
after as many rising edges as the latency says. A unit of several passes gets as many edges for each row, and a reset
before them if it has one. A register that is an operand is forced to its value, under all of its names, while a row is
run; one that is d, too, is released before the last edge and read after it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from mmaproof.designs.circuit import Bit, Bits
from mmaproof.designs.errors import InputError, TargetUnavailable
from mmaproof.designs.formats import Format
from mmaproof.designs.operands import OperandBatch
from mmaproof.rtl import RtlUnit
from mmaproof.rtl.netlist import Port
from mmaproof.rtl.slices import bits_of, constant_of, is_descending, unpacked_dimensions
from mmaproof.rtl.unit import STEP, steered
from mmaproof.rtl.unit_file import NEXT, REG

BENCH = "mmaproof_bench"
"""The name of the module."""
MODEL = "mmaproof_model"
"""The name of the module that has the model's signals."""
ROWS_FILE = "rows.hex"
EXPECTED_FILE = "expected.hex"
RESULT = "mmaproof "
"""What a line with results begins with; the sources may print lines of their own."""
UNSET = "mmaproof: not set: "
"""What a line begins with that names a register which did not keep what it was forced to."""
_INDENT = "  "
_HIERARCHICAL = re.compile(r"[A-Za-z_]\w*(?:\[\d+\])*(?:\.[A-Za-z_]\w*(?:\[\d+\])*)*")
"""The name of a register in the sources, below the top module."""


@dataclass(frozen=True, slots=True)
class Layout:
    """Which bits of a row are which input, and which bits of the outputs are d. Bits are counted from the lowest.

    A bit of d that is a constant is "0" or "1". Registers that are operands follow the inputs, and those that are d the
    outputs, by their names in the sources.
    """

    inputs: Mapping[str, Bits]
    outputs: Mapping[str, Bits]
    operands: Sequence[tuple[str, int, Sequence[Bits]]]
    """columns of a batch, the width of their format, and the bits of each of their elements"""
    constants: int
    """the bits that are tied or free, at their places in a row"""
    d: Bits
    stored: Mapping[str, Bits] = field(default_factory=dict)
    following: Mapping[str, Bits] = field(default_factory=dict)
    ports: Mapping[str, Port] = field(default_factory=dict)
    """the inputs, with their bits at their places in a row"""
    steering: Bits = ()
    """the bits of the inputs that steer a register"""
    added: Sequence[Bits] = ()
    """further words of which d is the sum"""
    less: int = 0
    """what the row has besides the first word of a c that is a sum"""

    @property
    def row_bits(self) -> int:
        """The number of bits of a row."""
        return len({bit for held in (self.inputs, self.stored) for bits in held.values() for bit in bits})

    def result(self, word: str) -> str:
        """Return d as an expression of the word that has the outputs."""
        return " + ".join(of_word(bits, word) for bits in (self.d, *self.added))

    @property
    def out_bits(self) -> int:
        """The number of bits that are read after a row."""
        return sum(len(bits) for held in (self.outputs, self.following) for bits in held.values())


def layout_of(
    unit: RtlUnit, free: Mapping[str, int] | None = None, control: Mapping[str, bool] | None = None
) -> Layout:
    """Return where the operands of a unit are in a row of its inputs.

    ``free`` has the values of inputs that are free, by the names that the netlist has for them; others are zero.
    ``control`` says whether a register that is c and d is enabled, cleared and loaded; by default it takes a step.
    Raises TargetUnavailable for a register whose name no simulator reads, and for a unit with views.
    """
    ports: dict[str, dict[str, Port]] = {"input": {}, "output": {}}
    for name, port in unit.ports.items():
        held = ports[port.direction]
        first = sum(len(x.bits) for x in held.values())
        held[name] = replace(port, bits=tuple(range(first, first + len(port.bits))))
    file, signature = unit.file, unit.design.signature
    if file.view:
        raise TargetUnavailable("operands that have a view are not written into registers and ports")
    stored, following = (_registers(unit, which, ports[to]) for which, to in ((REG, "input"), (NEXT, "output")))
    values, given, unmapped = {**STEP, **(control or {})}, dict(file.ports), list(file.free)
    if file.control.load_from is not None:
        unmapped.append(file.control.load_from)
        if values["load"]:  # what the register held may be anything
            given["c"] = unmapped.pop()
            unmapped += [file.ports["c"]] if isinstance(file.ports["c"], str) else file.ports["c"]
    added = () if values["load"] else file.added_to_c
    unmapped += added
    formats = {"a": signature.a, "b": signature.b, "c": signature.c, "scale_a": signature.scale}
    formats["scale_b"] = signature.scale
    operands = []
    for name, fmt in formats.items():
        if name in given and fmt is not None:
            elements = _elements(given[name], fmt, ports["input"], result=name == "c")
            operands.append((name, fmt.bits, elements if name != "c" else elements[:1]))
    constants = 0
    steering: Bits = ()
    for role, signal in file.control.signals.items():
        expression, value = steered(signal, values.get(role, False))
        steering += bits_of(expression, ports["input"], f"{file.path}: [control] {role}")
        constants |= _scattered(value, steering[-1:])
    for expression in () if file.handshake is None else file.handshake.given:  # nothing stalls
        constants |= _scattered(1, bits_of(expression, ports["input"], f"{file.path}: [handshake]"))
    for expression, tied in file.tied.items():
        bits = bits_of(expression, ports["input"], f"{file.path}: [tied]")
        constants |= _scattered(constant_of(tied, len(bits), expression), bits)
    for expression in unmapped:
        bits = _nets(bits_of(expression, ports["input"], f"{file.path}: free", result=True))
        names = [f"free {expression}[{i}]" if len(bits) > 1 else f"free {expression}" for i in range(len(bits))]
        constants |= sum((free or {}).get(name, 0) << int(bit) for name, bit in zip(names, bits, strict=True))
        if expression in added:  # a word as a whole
            constants |= _scattered((free or {}).get(f"free {expression}", 0), bits)
    less = sum(
        sum((constants >> int(bit) & 1) << i if isinstance(bit, int) else int(bit) << i for i, bit in enumerate(bits))
        for bits in (bits_of(x, ports["input"], "ports", result=True) for x in added)
    )
    d, *further = _elements(file.ports["d"], signature.d, ports["output"], result=True)
    inputs, outputs = (
        {n: x.bits for n, x in ports[direction].items() if n in unit.ports} for direction in ("input", "output")
    )
    return Layout(inputs, outputs, operands, constants, d, stored, following, ports["input"], steering, further, less)


def _nets(bits: Bits) -> Bits:
    return tuple(bit for bit in bits if isinstance(bit, int))


def _registers(unit: RtlUnit, which: str, ports: dict[str, Port]) -> dict[str, Bits]:
    """Return the bits of registers that are operands or d, by all of their names, and add them to the ports."""
    texts = [x for stated in unit.file.ports.values() for x in ([stated] if isinstance(stated, str) else stated)]
    found: dict[str, Bits] = {}
    names = [n for n in unit.registers if any(re.search(rf"{which}{re.escape(n)}(?![\w.])", x) for x in texts)]
    for name in names:
        register = unit.registers[name]
        first = max((int(bit) + 1 for x in ports.values() for bit in x.bits), default=0)
        bits: Bits = tuple(range(first, first + len(register.bits)))
        ports[f"{which}{name}"] = replace(register, bits=bits)
        aliases = [n for n, x in unit.registers.items() if x.bits == register.bits] if which == REG else [name]
        if any(_HIERARCHICAL.fullmatch(x) is None for x in aliases):
            raise TargetUnavailable(f"register {name} has a name that a simulator does not read")
        found |= dict.fromkeys(aliases, bits)
    return found


def _elements(
    stated: str | Sequence[str], fmt: Format, ports: Mapping[str, Port], *, result: bool = False
) -> list[Bits]:
    if not isinstance(stated, str):
        return [bits_of(x, ports, "ports", result=result) for x in stated]
    bits = bits_of(stated, ports, "ports", result=result)
    return [bits[i : i + fmt.bits] for i in range(0, len(bits), fmt.bits)]


def _scattered(value: int, bits: Bits) -> int:
    return sum(1 << int(place) for i, place in enumerate(bits) if value >> i & 1)


def rows_text(layout: Layout, batch: OperandBatch) -> str:
    """Return the rows of a batch in hexadecimal, one in a line."""
    digits = (layout.row_bits + 3) // 4
    octets = (digits + 1) // 2
    constants = np.frombuffer(layout.constants.to_bytes(octets, "little"), dtype=np.uint8)
    held = np.tile(np.unpackbits(constants, bitorder="little"), (len(batch), 1))
    for name, width, elements in layout.operands:
        # the unit may have no ports for the ignored bits of a format, which are its lowest
        values = getattr(batch, name).reshape(len(batch), -1).astype(np.uint64) >> np.uint64(width - len(elements[0]))
        if name == "c" and layout.less:
            values = values - np.uint64(layout.less % (1 << 64)) & np.uint64((1 << width) - 1)
        for bits, column in zip(elements, values.T, strict=True):
            places = np.array([int(bit) for bit in bits])
            held[:, places] |= (column[:, np.newaxis] >> np.arange(len(bits), dtype=np.uint64) & np.uint64(1)).astype(
                np.uint8
            )
    text = np.packbits(held[:, ::-1], axis=1).tobytes().hex()
    return "".join(f"{text[end - digits : end]}\n" for end in range(2 * octets, len(text) + 1, 2 * octets))


@dataclass(frozen=True, slots=True)
class Waves:
    """What a simulator records: into which file, and the signals of the model for each row, by name.

    Of each signal there is the number of its bits and its pattern.
    """

    file: str
    model: Sequence[Mapping[str, tuple[int, int]]]

    def module(self) -> list[str]:
        """Return the module of the model's signals, in which each has its value for the row that is run."""
        names: dict[str, str] = {}
        for signal in self.model[0]:
            name = re.sub(r"\W+", "_", signal).strip("_")
            name = f"{name}_" if name in ("or", "and", "not", "row") or name[:1].isdigit() else name
            names[signal] = name if name not in names.values() else f"{name}_{len(names)}"
        lines = [f"reg [{width - 1}:0] {names[signal]};" for signal, (width, _) in self.model[0].items()]
        lines += ["always @(row) case (row)"]
        for i, row in enumerate(self.model):
            values = (f"{names[signal]} = {width}'h{x:x};" for signal, (width, x) in row.items())
            lines += [f"{i}: begin", *values, "end"]
        return [f"module {MODEL} (input wire [31:0] row);", *(_INDENT + x for x in lines), "endcase", "endmodule"]


def bench_text(
    unit: RtlUnit, layout: Layout, rows: int, *, waves: Waves | None = None, is_nan: str | None = None
) -> str:
    """Return the test bench. It prints the outputs of each row in binary, one row in a line.

    With ``is_nan``, an expression that says whether x is a NaN, it compares d with the rows of a file instead.
    """
    connections, declarations = [], []
    clock = None if unit.file.clock is None else unit.file.clock.port
    for kind, ports in (("row", layout.inputs), ("out", layout.outputs)):
        for name, bits in ports.items():
            if name == clock:
                connections.append(f".{name}(clock)")
                continue
            run = f"{kind}[{int(bits[-1])}:{int(bits[0])}]"
            array = unpacked_array(unit, name, len(bits))
            if array is not None:
                declarations += _array(kind, name, bits, array)
                run = f"{kind}_{name}"
            connections.append(f".{name}({run})")
    parameters = ", ".join(f".{name}({value})" for name, value in unit.file.parameters.items())
    instance = f"{unit.file.top} {f'#({parameters}) ' * bool(parameters)}unit ({', '.join(connections)});"
    read = [f"assign out[{int(b[-1])}:{int(b[0])}] = unit.{name};" for name, b in layout.following.items()]
    checked, ending = ([], []) if is_nan is None else _checks(layout, rows, is_nan)
    shown = f'$display("{RESULT}%b", out);' if is_nan is None else "check({});"
    recorded = [] if waves is None else [f'$dumpfile("{waves.file}");', f"$dumpvars(0, {BENCH});"]
    model = [] if waves is None else [f"wire [{len(layout.d) - 1}:0] d = {layout.result('out')};", f"{MODEL} model(i);"]
    lines = [
        "`timescale 1ns / 1ps",
        f"module {BENCH};",
        *(
            _INDENT + line
            for line in (
                f"reg [{layout.row_bits - 1}:0] rows [0:{rows - 1}];",
                f"reg [{layout.row_bits - 1}:0] row;",
                f"wire [{layout.out_bits - 1}:0] out;",
                "reg clock;",
                "integer i, edges;",
                *declarations,
                instance,
                *read,
                *checked,
                *model,
                "initial begin",
                f'{_INDENT}$readmemh("{ROWS_FILE}", rows);',
                *(_INDENT + x for x in recorded),
                f"{_INDENT}clock = 0;",
                *(_INDENT + x for x in _stimulus(unit, layout, rows, shown, waves is not None)),
                *(_INDENT + x for x in ending),
                f"{_INDENT}$finish;",
                "end",
            )
        ),
        "endmodule",
        *(() if waves is None else waves.module()),
    ]
    return "\n".join(lines) + "\n"


def of_word(bits: Bits, word: str) -> str:
    """Return an expression for bits, the lowest first, of a word and of constants."""
    runs: list[list[Bit]] = []
    for bit in reversed(bits):
        if runs and isinstance(bit, int) and runs[-1][-1] == bit + 1:
            runs[-1].append(bit)
        else:
            runs.append([bit])
    texts = [f"1'b{run[0]}" if isinstance(run[0], str) else f"{word}[{run[0]}:{run[-1]}]" for run in runs]
    return f"{{{', '.join(texts)}}}"


def _checks(layout: Layout, rows: int, is_nan: str) -> tuple[list[str], list[str]]:
    """Return what compares d with what is expected: the declarations, and the end."""
    width = len(layout.d)
    declared = [
        f"reg [{width - 1}:0] expected [0:{rows - 1}];",
        f"wire [{width - 1}:0] d = {layout.result('out')};",
        "integer failures = 0;",
        f"function is_nan(input [{width - 1}:0] x);",
        f"{_INDENT}is_nan = {is_nan};",
        "endfunction",
        "task check(input integer number);",
        f"{_INDENT}if (d !== expected[number] && !(is_nan(d) === 1'b1 && is_nan(expected[number]) === 1'b1)) begin",
        f"{_INDENT * 2}failures = failures + 1;",
        f'{_INDENT * 2}if (failures <= 10) $display("row %0d: d = %h, expected %h", number + 1, d, expected[number]);',
        f"{_INDENT}end",
        "endtask",
        f'initial $readmemh("{EXPECTED_FILE}", expected);',
    ]
    end = [
        f'if (failures != 0) $fatal(1, "FAIL: %0d of {rows} rows differ", failures);',
        f'$display("PASS: {rows} rows");',
    ]
    return declared, end


def _array(kind: str, name: str, bits: Bits, array: UnpackedArray) -> list[str]:
    """Return the wires of an unpacked port. Its leftmost element has the highest bits, as Yosys counts them."""
    count = array.elements
    width = len(bits) // count
    bounds = f"{count - 1}:0" if array.is_descending else f"0:{count - 1}"
    lines = [f"wire [{width - 1}:0] {kind}_{name} [{bounds}];"]
    for i in range(count):
        low = int(bits[0]) + (i if array.is_descending else count - 1 - i) * width
        sides = [f"{kind}_{name}[{i}]", f"{kind}[{low + width - 1}:{low}]"]
        left, right = sides if kind == "row" else reversed(sides)
        lines.append(f"assign {left} = {right};")
    return lines


_EDGE = "#1 clock = 1; #1 clock = 0;"


def _stimulus(unit: RtlUnit, layout: Layout, rows: int, shown: str, stays: bool) -> list[str]:
    """Return what runs the rows; ``shown`` is done for each, with its number. Each ``stays`` until d is there."""
    handshake = unit.file.handshake
    if handshake is None:
        return _rows(unit, layout, rows, shown, stays)
    (bit,) = bits_of(handshake.reset, layout.ports, "ports")
    flipped = f"row[{bit}] = !row[{bit}];"
    return [f"row = rows[0]; {flipped} {_EDGE} {flipped} #1", *_rows(unit, layout, rows, shown, stays)]


def _rows(unit: RtlUnit, layout: Layout, rows: int, shown: str, stays: bool) -> list[str]:
    clock = unit.file.clock
    show, edge = shown.format("i"), _EDGE
    if clock is None:
        return [f"for (i = 0; i < {rows}; i = i + 1) begin", f"{_INDENT}row = rows[i]; #1 {show}", "end"]
    if clock.cycles is not None:
        passes = [f"for (edges = 0; edges < {clock.cycles}; edges = edges + 1) begin {edge} end #1"]
        reset = []
        if clock.reset is not None and clock.reset_value is not None:
            place = int(layout.inputs[clock.reset][0])
            reset = [f"row[{place}] = {clock.reset_value}; {edge} row[{place}] = {1 - clock.reset_value};"]
        body = ["row = rows[i];", *reset, *passes, show]
        return [f"for (i = 0; i < {rows}; i = i + 1) begin", *(_INDENT + x for x in body), "end"]
    if (
        not isinstance(clock.latency, int) or clock.held or layout.stored or stays
    ):  # a row stays until every path has taken it
        edges = f"for (edges = 0; edges < {unit.longest}; edges = edges + 1) begin {edge} end #1"
        runs = {name: f"row[{int(bits[-1])}:{int(bits[0])}]" for name, bits in layout.stored.items()}
        body = ["row = rows[i]; #1", *(f"force unit.{name} = {run};" for name, run in runs.items()), f"#1 {edges}"]
        if layout.following:
            body += [f"release unit.{name};" for name in runs]
            body += ["#1"]
            body += [f'if (unit.{name} !== {run}) $display("{UNSET}{name}");' for name, run in runs.items()]
            body += [f"{edge} #1"]
        body += [show, *(f"release unit.{name};" for name in runs if not layout.following)]
        return [f"for (i = 0; i < {rows}; i = i + 1) begin", *(_INDENT + x for x in body), "end"]
    latency = clock.latency
    if latency == 0:
        return [f"for (i = 0; i < {rows}; i = i + 1) begin", f"{_INDENT}row = rows[i]; #1 {show} {edge}", "end"]
    return [
        f"for (i = 0; i < {rows + latency - 1}; i = i + 1) begin",
        f"{_INDENT}row = rows[i < {rows} ? i : {rows - 1}];",
        f"{_INDENT}#1 clock = 1; #1",
        f"{_INDENT}if (i >= {latency - 1}) {shown.format(f'i - {latency - 1}')}",
        f"{_INDENT}clock = 0;",
        "end",
    ]


@dataclass(frozen=True, slots=True)
class UnpackedArray:
    """The elements of an unpacked port, and whether the leftmost of them has the largest index, as in ``[3:0]``."""

    elements: int
    is_descending: bool


def unpacked_array(unit: RtlUnit, port: str, width: int) -> UnpackedArray | None:
    """Return how an unpacked port of the top module is declared; None if the port is packed.

    Raises InputError for an unpacked port that is not a row of operands.
    """
    dimensions = unpacked_dimensions(unit.file.folder, unit.file.sources, unit.file.top, port)
    if not dimensions:
        return None
    descends = is_descending(dimensions[0])
    signature = unit.design.signature
    formats = {"a": signature.a, "b": signature.b, "c": signature.c, "d": signature.d}
    formats |= {} if signature.scale is None else {"scale_a": signature.scale, "scale_b": signature.scale}
    for operand, stated in unit.file.ports.items():
        text = stated if isinstance(stated, str) else ", ".join(stated)
        named = re.search(rf"\b{re.escape(port)}\b", text) is not None
        if named and width % formats[operand].bits == 0 and len(dimensions) == 1 and descends is not None:
            return UnpackedArray(width // formats[operand].bits, descends)
    raise InputError(
        f"port {port} is an unpacked array that is not a list of operands: no test bench is written for it"
    )
