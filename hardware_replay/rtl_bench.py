"""A test bench for a unit, as a text of SystemVerilog: it gives rows of operands to the untouched sources.

A row is a word of all inputs of the top module. Every row has a clock cycle of its own. The outputs of a row are read
after as many rising edges as the latency says. A unit of several passes gets as many edges for each row, and a reset
before them if it has one.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from mmaproof.designs.circuit import Bits
from mmaproof.designs.errors import InputError, TargetUnavailable
from mmaproof.designs.formats import Format
from mmaproof.designs.operands import OperandBatch
from mmaproof.rtl import RtlUnit
from mmaproof.rtl.netlist import Port
from mmaproof.rtl.slices import bits_of, constant_of
from mmaproof.rtl.unit_file import NEXT, REG
from mmaproof.rtl.unpacked import is_descending, unpacked_dimensions

BENCH = "mmaproof_bench"
"""The name of the module."""
ROWS_FILE = "rows.hex"
RESULT = "mmaproof "
"""What a line with results begins with; the sources may print lines of their own."""
_INDENT = "  "


@dataclass(frozen=True, slots=True)
class Layout:
    """Which bits of a row are which input, and which bits of the outputs are d. Bits are counted from the lowest.

    A bit of d that is a constant is "0" or "1".
    """

    inputs: Mapping[str, Bits]
    outputs: Mapping[str, Bits]
    operands: Sequence[tuple[str, int, Sequence[Bits]]]
    """columns of a batch, the width of their format, and the bits of each of their elements"""
    constants: int
    """the bits that are tied or free, at their places in a row"""
    d: Bits

    @property
    def row_bits(self) -> int:
        """The number of bits of a row."""
        return sum(map(len, self.inputs.values()))


def layout_of(unit: RtlUnit, free: Mapping[str, int] | None = None) -> Layout:
    """Return where the operands of a unit are in a row of its inputs.

    ``free`` has the values of inputs that are free, by the names that the netlist has for them; others are zero.
    """
    ports: dict[str, dict[str, Port]] = {"input": {}, "output": {}}
    for name, port in unit.ports.items():
        held = ports[port.direction]
        first = sum(len(x.bits) for x in held.values())
        held[name] = replace(port, bits=tuple(range(first, first + len(port.bits))))
    file, signature = unit.file, unit.design.signature
    for stated in file.ports.values():
        if any(REG in x or NEXT in x for x in ([stated] if isinstance(stated, str) else stated)):
            raise TargetUnavailable("an operand is a register, which a test bench does not set")
    formats = {"a": signature.a, "b": signature.b, "c": signature.c, "scale_a": signature.scale}
    formats["scale_b"] = signature.scale
    operands = []
    for name, fmt in formats.items():
        if name in file.ports and fmt is not None:
            operands.append((name, fmt.bits, _elements(file.ports[name], fmt, ports["input"])))
    constants = 0
    for expression, value in file.tied.items():
        bits = bits_of(expression, ports["input"], f"{file.path}: [tied]")
        constants |= _scattered(constant_of(value, len(bits), expression), bits)
    for expression in file.free:
        bits = bits_of(expression, ports["input"], f"{file.path}: free")
        names = [f"free {expression}[{i}]" if len(bits) > 1 else f"free {expression}" for i in range(len(bits))]
        constants |= sum((free or {}).get(name, 0) << int(bit) for name, bit in zip(names, bits, strict=True))
    d = _elements(file.ports["d"], signature.d, ports["output"], result=True)[0]
    inputs, outputs = ({n: x.bits for n, x in ports[direction].items()} for direction in ("input", "output"))
    return Layout(inputs, outputs, operands, constants, d)


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
    columns: list[tuple[Sequence[Bits], list[list[int]]]] = []
    for name, width, elements in layout.operands:
        # the unit may have no ports for the ignored bits of a format, which are its lowest
        values = getattr(batch, name).reshape(len(batch), -1) >> (width - len(elements[0]))
        columns.append((elements, values.tolist()))
    digits = (layout.row_bits + 3) // 4
    lines = []
    for i in range(len(batch)):
        row = layout.constants
        for elements, values in columns:
            for bits, value in zip(elements, values[i], strict=True):
                row |= value << int(bits[0]) if _is_run(bits) else _scattered(value, bits)
        lines.append(f"{row:0{digits}x}")
    return "\n".join(lines) + "\n"


def _is_run(bits: Bits) -> bool:
    return all(bits[i] == int(bits[0]) + i for i in range(len(bits)))


def bench_text(unit: RtlUnit, layout: Layout, rows: int) -> str:
    """Return the test bench. It prints the outputs of each row in binary, one row in a line."""
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
    width = sum(map(len, layout.outputs.values()))
    lines = [
        "`timescale 1ns / 1ps",
        f"module {BENCH};",
        *(
            _INDENT + line
            for line in (
                f"reg [{layout.row_bits - 1}:0] rows [0:{rows - 1}];",
                f"reg [{layout.row_bits - 1}:0] row;",
                f"wire [{width - 1}:0] out;",
                "reg clock;",
                "integer i, edges;",
                *declarations,
                instance,
                "initial begin",
                f'{_INDENT}$readmemh("{ROWS_FILE}", rows);',
                f"{_INDENT}clock = 0;",
                *(_INDENT + x for x in _stimulus(unit, layout, rows)),
                f"{_INDENT}$finish;",
                "end",
            )
        ),
        "endmodule",
    ]
    return "\n".join(lines) + "\n"


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


def _stimulus(unit: RtlUnit, layout: Layout, rows: int) -> list[str]:
    clock = unit.file.clock
    show = f'$display("{RESULT}%b", out);'
    edge = "#1 clock = 1; #1 clock = 0;"
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
    if not isinstance(clock.latency, int) or clock.held:  # a row stays until every path has taken it
        edges = f"for (edges = 0; edges < {unit.longest}; edges = edges + 1) begin {edge} end #1"
        body = ["row = rows[i]; #1", edges, show]
        return [f"for (i = 0; i < {rows}; i = i + 1) begin", *(_INDENT + x for x in body), "end"]
    latency = clock.latency
    if latency == 0:
        return [f"for (i = 0; i < {rows}; i = i + 1) begin", f"{_INDENT}row = rows[i]; #1 {show} {edge}", "end"]
    return [
        f"for (i = 0; i < {rows + latency - 1}; i = i + 1) begin",
        f"{_INDENT}row = rows[i < {rows} ? i : {rows - 1}];",
        f"{_INDENT}#1 clock = 1; #1",
        f"{_INDENT}if (i >= {latency - 1}) {show}",
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
