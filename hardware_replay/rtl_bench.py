"""A test bench for a unit, as a text of SystemVerilog: it gives rows of operands to the untouched sources.

A row is a word of all inputs of the top module. Every row has a clock cycle of its own. The outputs of a row are read
after as many rising edges as the latency says. A unit of several passes gets as many edges for each row, and a reset
before them if it has one. A register that is an operand is forced to its value, under all of its names, while a row is
run; one that is d, too, is released before the last edge and read after it. A unit with a handshake gets bubbles and
back-pressure where its results are compared. Modules of views are instantiated, too.
"""

from __future__ import annotations

import random
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from mmaproof.designs.circuit import Bit, Bits
from mmaproof.designs.errors import InputError, TargetUnavailable
from mmaproof.designs.operands import OperandBatch
from mmaproof.rtl import RtlUnit
from mmaproof.rtl.clock_cycles import STEP
from mmaproof.rtl.netlist import Port
from mmaproof.rtl.reading import steered
from mmaproof.rtl.slices import bits_of, constant_of, is_descending, unpacked_dimensions
from mmaproof.rtl.unit_file import NEXT, REG
from mmaproof.rtl.views import View

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
    divided: Sequence[Bits] = ()
    """the words besides the first one of a c that is a sum"""
    free: Bits = ()
    """the bits that may have any value, those of words of c among them"""
    views: Mapping[str, View] = field(default_factory=dict)
    """what makes words of numbers"""
    viewed: Sequence[tuple[View, Bits, Bits]] = ()
    """what modules of the sources make of outputs, as further bits of these: what they read, and what they give"""
    same: tuple[Bits, Bits] | None = None
    """outputs of which it is read whether they are equal, as one bit more"""

    def less(self, constants: int) -> int:
        """Return what a row has besides the first word of a c that is a sum."""
        return sum(
            (bit == "1" if isinstance(bit, str) else constants >> bit & 1) << i
            for bits in self.divided
            for i, bit in enumerate(bits)
        )

    def beside(self, word: str, outputs: str) -> list[str]:
        """Return what computes the further bits of the word that has the ``outputs``, which are another word."""
        lines: list[str] = []
        names: dict[Bits, str] = {}
        for number, (view, given, result) in enumerate(self.viewed):
            (reads, gives), name = view.ports, f"view{number}_{view.ports[1]}"
            read = names[given] if given in names else of_word(given, outputs)
            lines += [
                f"wire [{len(result) - 1}:0] {name};",
                f"{view.module.name} view{number} (.{reads}({read}), .{gives}({name}));",
                f"assign {word}[{int(result[-1])}:{int(result[0])}] = {name};",
            ]
            names[result] = name
        if self.same is not None:
            words, again = self.same
            lines.append(f"assign {word}[{self.out_bits - 1}] = {of_word(words, outputs)} === {names[again]};")
        return lines

    @property
    def row_bits(self) -> int:
        """The number of bits of a row."""
        return len({bit for held in (self.inputs, self.stored) for bits in held.values() for bit in bits})

    def result(self, word: str) -> str:
        """Return d as an expression of the word that has the outputs."""
        return " + ".join(of_word(bits, word) for bits in (self.d, *self.added))

    @property
    def port_bits(self) -> int:
        """The number of bits of outputs, and of registers that are d."""
        return sum(len(bits) for held in (self.outputs, self.following) for bits in held.values())

    @property
    def out_bits(self) -> int:
        """The number of bits that are read after a row."""
        return self.port_bits + sum(len(x) for *_, x in self.viewed) + (self.same is not None)


def layout_of(
    unit: RtlUnit, free: Mapping[str, int] | None = None, control: Mapping[str, bool] | None = None
) -> Layout:
    """Return where the operands of a unit are in a row of its inputs.

    ``free`` has the values of inputs that are free, by the names that the netlist has for them; others are zero.
    ``control`` says whether a register that is c and d is enabled, cleared and loaded; by default it takes a step.
    Raises TargetUnavailable for a register whose name no simulator reads, and for a port of an interface.
    """
    ports: dict[str, dict[str, Port]] = {"input": {}, "output": {}}
    for name, port in unit.ports.items():
        if "." in name:
            raise TargetUnavailable(
                f"port {name} is that of an interface: a simulator needs a module around {unit.file.top}"
            )
        held = ports[port.direction]
        first = sum(len(x.bits) for x in held.values())
        held[name] = replace(port, bits=tuple(range(first, first + len(port.bits))))
    file, signature = unit.file, unit.design.signature
    stored, following = (_registers(unit, which, ports[to]) for which, to in ((REG, "input"), (NEXT, "output")))
    values, given, unmapped = {**STEP, **(control or {})}, dict(file.ports), list(file.free)
    if file.control.load_from is not None:
        unmapped.append(file.control.load_from)
        if values["load"]:  # what the register held may be anything
            given["c"] = unmapped.pop()
            unmapped += [file.ports["c"]] if isinstance(file.ports["c"], str) else file.ports["c"]
    added = () if values["load"] or "c" in file.view else file.added_to_c
    unmapped += added
    formats = {"a": signature.a, "b": signature.b, "c": signature.c, "scale_a": signature.scale}
    formats["scale_b"] = signature.scale
    operands = []
    for name, fmt in formats.items():
        if name in given and fmt is not None:
            width = len(unit.views[name].result) if name in file.view else fmt.bits
            elements = _elements(given[name], width, ports["input"], result=name == "c")
            if name == "c":
                elements = [_joined(elements)] if name in file.view else elements[:1]
            operands.append((name, width, elements))
    steering = tuple(
        bit
        for role, signal in file.control.signals.items()
        for bit in bits_of(signal.removeprefix("!").strip(), ports["input"], f"{file.path}: [control] {role}")
    )
    constants = _stated(unit, values, ports["input"])
    left: Bits = ()
    for expression in unmapped:
        bits = _nets(bits_of(expression, ports["input"], f"{file.path}: free", result=True))
        left += bits
        names = [f"free {expression}[{i}]" if len(bits) > 1 else f"free {expression}" for i in range(len(bits))]
        constants |= sum((free or {}).get(name, 0) << int(bit) for name, bit in zip(names, bits, strict=True))
        if expression in added:  # a word as a whole
            constants |= _scattered((free or {}).get(f"free {expression}", 0), bits)
    divided = [bits_of(x, ports["input"], "ports", result=True) for x in added]
    inputs, outputs = (
        {n: x.bits for n, x in ports[direction].items() if n in unit.ports} for direction in ("input", "output")
    )
    d, *further = _elements(file.ports["d"], signature.d.bits, ports["output"], result=True)
    found = Layout(
        inputs,
        outputs,
        operands,
        constants,
        d,
        stored,
        following,
        ports["input"],
        steering,
        further,
        divided,
        left,
        {n: x for n, x in unit.views.items() if n != "d"},
    )
    return _through_view(unit, found) if "d" in file.view else found


def _stated(unit: RtlUnit, values: Mapping[str, bool], ports: Mapping[str, Port]) -> int:
    """Return the bits of a row that are tied, that steer a register, and that let a pipeline go on."""
    file, stated = unit.file, []
    for role, signal in file.control.signals.items():
        expression, value = steered(signal, values.get(role, False))
        stated.append((value, bits_of(expression, ports, f"{file.path}: [control] {role}")))
    for expression in () if file.handshake is None else file.handshake.given:  # nothing stalls
        stated.append((1, bits_of(expression, ports, f"{file.path}: [handshake]")))
    for expression, tied in file.tied.items():
        bits = bits_of(expression, ports, f"{file.path}: [tied]")
        stated.append((constant_of(tied, len(bits), expression), bits))
    constants = 0
    for value, bits in stated:
        constants |= _scattered(value, bits)
    return constants


def _through_view(unit: RtlUnit, found: Layout) -> Layout:
    """Return a layout whose d is what the view makes of its words."""
    view, words, end = unit.views["d"], _joined((found.d, *found.added)), found.port_bits
    number: Bits = tuple(range(end, end + len(view.result)))
    read = replace(found, d=number, added=(), viewed=[(view, words, number)])
    if not unit.shows_words:
        return read
    end += len(number)
    again: Bits = tuple(range(end, end + len(words)))
    zeros: Bits = tuple("0" for _ in number[1:])
    viewed = [*read.viewed, (unit.views["c"], number, again)]
    return replace(read, d=(end + len(words), *zeros), viewed=viewed, same=(words, again))


def _joined(words: Sequence[Bits]) -> Bits:
    """Return the bits of words of which the first is the highest."""
    return tuple(bit for bits in reversed(words) for bit in bits)


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
    stated: str | Sequence[str], width: int, ports: Mapping[str, Port], *, result: bool = False
) -> list[Bits]:
    if not isinstance(stated, str):
        return [bits_of(x, ports, "ports", result=result) for x in stated]
    bits = bits_of(stated, ports, "ports", result=result)
    return [bits[i : i + width] for i in range(0, len(bits), width)]


def _scattered(value: int, bits: Bits) -> int:
    return sum(1 << int(place) for i, place in enumerate(bits) if value >> i & 1)


def rows_text(layout: Layout, batch: OperandBatch, seed: int | None = None) -> str:
    """Return the rows of a batch in hexadecimal, one in a line.

    With a ``seed`` what may have any value is random in each row: inputs that are free, and the words that are c.
    """
    draw = None if seed is None else random.Random(seed)
    columns: list[tuple[Sequence[Bits], list[list[int]]]] = []
    for name, width, elements in layout.operands:
        # the unit may have no ports for the ignored bits of a format, which are its lowest
        values = getattr(batch, name).reshape(len(batch), -1)
        if name in layout.views:
            values = [layout.views[name].of_values(row) for row in values.tolist()]
        else:
            values = (values >> (width - len(elements[0]))).tolist()
        columns.append((elements, values))
    digits = (layout.row_bits + 3) // 4
    lines = []
    for i in range(len(batch)):
        row = layout.constants
        if draw is not None:
            row |= _scattered(draw.getrandbits(len(layout.free) or 1), layout.free)
        less = layout.less(row)
        for (name, width, _), (elements, values) in zip(layout.operands, columns, strict=True):
            for bits, value in zip(elements, values[i], strict=True):
                left = (value - less) % (1 << width) if name == "c" and layout.divided else value
                row |= left << int(bits[0]) if _is_run(bits) else _scattered(left, bits)
        lines.append(f"{row:0{digits}x}")
    return "\n".join(lines) + "\n"


def _is_run(bits: Bits) -> bool:
    return all(bits[i] == int(bits[0]) + i for i in range(len(bits)))


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
    for kind, ports in (("row", layout.inputs), ("ports", layout.outputs)):
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
    read = [f"assign ports[{int(b[-1])}:{int(b[0])}] = unit.{name};" for name, b in layout.following.items()]
    read += [f"assign out[{layout.port_bits - 1}:0] = ports;", *layout.beside("out", "ports")]
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
                f"wire [{layout.port_bits - 1}:0] ports;",
                f"wire [{layout.out_bits - 1}:0] out;",
                "reg clock;",
                "integer i, edges, taken, given;",
                "reg offered;",
                *declarations,
                instance,
                *read,
                *checked,
                *model,
                "initial begin",
                f'{_INDENT}$readmemh("{ROWS_FILE}", rows);',
                *(_INDENT + x for x in recorded),
                f"{_INDENT}clock = 0;",
                *(_INDENT + x for x in _stimulus(unit, layout, rows, shown, waves is not None, is_nan is not None)),
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


def _stimulus(unit: RtlUnit, layout: Layout, rows: int, shown: str, stays: bool, stalls: bool) -> list[str]:
    """Return what runs the rows; ``shown`` is done for each, with its number. Each ``stays`` until d is there.

    A unit with a handshake is given bubbles and back-pressure if it ``stalls``.
    """
    handshake = unit.file.handshake
    if handshake is None:
        return _rows(unit, layout, rows, shown, stays)
    (bit,) = bits_of(handshake.reset, layout.ports, "ports")
    flipped = f"row[{bit}] = !row[{bit}];"
    edges = f"for (edges = 0; edges < {unit.longest + 1}; edges = edges + 1) begin {_EDGE} end"
    run = _transfers(unit, layout, rows, shown) if stalls else _rows(unit, layout, rows, shown, stays)
    return [f"row = rows[0]; {flipped} {edges} {flipped} #1", *run]


@dataclass(frozen=True, slots=True)
class Handshaking:
    """Bits of rows and of outputs that say valid and ready; None where a side has no ready."""

    valid_in: int
    ready_in: int | None
    valid_out: int
    ready_out: int | None
    one_by_one: bool
    """whether operands are taken when all results are there: some are held"""

    def most_edges(self, rows: int, longest: int) -> int:
        """Return how many clock cycles are enough for rows of which a quarter stalls on either side."""
        return 100 + 16 * rows * ((longest if self.one_by_one else 0) + 1)


def handshaking(unit: RtlUnit, layout: Layout) -> Handshaking | None:
    """Return where the handshake of a unit is in rows and outputs; None if it has none."""
    file, given = unit.file, unit.file.handshake
    if given is None or file.clock is None:
        return None
    outputs = {n: replace(unit.ports[n], bits=bits) for n, bits in layout.outputs.items()}

    def place(expression: str | None, ports: Mapping[str, Port]) -> int | None:
        if expression is None:
            return None
        (bit,) = bits_of(expression, ports, f"{file.path}: [handshake]")
        return int(bit)

    valid_in, valid_out = (place(x, ports) for x, ports in ((given.valid_in, layout.ports), (given.valid_out, outputs)))
    if valid_in is None or valid_out is None:
        return None
    one_by_one = bool(file.clock.held or layout.stored)
    ready_in, ready_out = place(given.ready_in, outputs), place(given.ready_out, layout.ports)
    return Handshaking(valid_in, ready_in, valid_out, ready_out, one_by_one)


def _transfers(unit: RtlUnit, layout: Layout, rows: int, shown: str) -> list[str]:
    """Return what offers rows with bubbles, and takes results with back-pressure."""
    at = handshaking(unit, layout)
    if at is None:
        return []
    waits = " && taken == given" if at.one_by_one else ""
    takes = "offered" if at.ready_in is None else f"offered && out[{at.ready_in}] === 1'b1"
    gives = f"out[{at.valid_out}] === 1'b1" + (f" && row[{at.ready_out}]" if at.ready_out is not None else "")
    stored = {name: f"row[{int(bits[-1])}:{int(bits[0])}]" for name, bits in layout.stored.items()}
    body = [
        f"row = rows[taken < {rows} ? {'given' if at.one_by_one else 'taken'} : {rows - 1}];",
        f"offered = taken < {rows}{waits} && (offered || ($random & 3) != 0);",
        f"row[{at.valid_in}] = offered;",
        *([] if at.ready_out is None else [f"row[{at.ready_out}] = ($random & 3) != 0;"]),
        "#1",
        *(f"force unit.{name} = {run};" for name, run in stored.items()),
        *(["#1"] if stored else []),
        f"if ({gives}) begin {shown.format('given')} given = given + 1; end",
        f"if ({takes}) begin taken = taken + 1; offered = 0; end",
        _EDGE,
    ]
    most = at.most_edges(rows, unit.longest)
    return [
        "taken = 0; given = 0; offered = 0;",
        f"for (edges = 0; edges < {most} && given < {rows}; edges = edges + 1) begin",
        *(_INDENT + x for x in body),
        "end",
        f'if (given != {rows}) $fatal(1, "FAIL: %0d of {rows} results came", given);',
    ]


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
