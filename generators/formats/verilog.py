"""Selected rows for a Verilog simulation: a $readmemh file, a SystemVerilog package, and a self-checking test bench.

A self-checking test bench of a unit in RTL: its own sources, and rows with the d that is expected.

``make`` runs it with Icarus Verilog, ``make verilator`` with Verilator, and ``make cocotb`` the same rows with cocotb.
"""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Collection, Mapping
from dataclasses import replace
from pathlib import Path

from mmaproof.designs.errors import InputError
from mmaproof.designs.files import require_new_folder, write_folder
from mmaproof.designs.formats import Format, Specials
from mmaproof.designs.operands import OperandBatch
from mmaproof.generators.formats.selection import Selection, plain
from mmaproof.hardware_replay import rtl_bench
from mmaproof.rtl import RtlUnit
from mmaproof.rtl.elaboration import MEMORY_BYTES, SECONDS, Limits, as_verilog
from mmaproof.rtl.slices import bits_of

_PACKAGE = """\
{about}
// Each line of vectors.hex is a vector_t. Element i of a is a[i*A_BITS +: A_BITS], of b likewise{scale_note}.
package vectors_pkg;
    localparam DESIGN = "{design}";
    localparam int ROWS = {rows};
    localparam int K = {k};
{sizes}
{types}
    typedef struct packed {{
        logic [3:0] held;  // 1; a row that the file does not hold is read as 0
{fields}    }} vector_t;
    localparam int ROW_BITS = $bits(vector_t);

    function automatic logic is_nan(input logic [D_BITS-1:0] x);
        return {is_nan};
    endfunction
endpackage
"""

_TEST_BENCH = """\
{about}
// Compares {whose} with vectors.hex:
// With Icarus:    iverilog -g2012 -o simulation vectors_pkg.sv {unit}.sv testbench.sv && vvp simulation
// With Verilator: verilator --binary --top-module testbench vectors_pkg.sv {unit}.sv testbench.sv && obj_dir/Vtestbench
// The module is combinational, or has d ready SETTLE time units after its operands change:
//   module {unit} (
{ports}
//   );
// -DDUT=NAME if it has another name. While it runs: +vectors=FILE for another place of vectors.hex, +nan_codes for
// NaNs to be equal only if their bits are.
// Status 0 and PASS: every row is equal. Otherwise FAIL, the first rows that differ, and $fatal.
`ifndef DUT
`define DUT {unit}
`endif
module testbench;
    import vectors_pkg::*;
    parameter int SETTLE = 1;
    localparam int SHOWN = 10;

    logic [ROW_BITS-1:0] rows [0:ROWS-1];
    vector_t row;
    logic [D_BITS-1:0] d;
    string file;
    int failures;
    logic same;

    `DUT unit (
{connections}
    );

    initial begin
        if (!$value$plusargs("vectors=%s", file)) file = "vectors.hex";
        for (int i = 0; i < ROWS; i++) rows[i] = '0;
        $readmemh(file, rows);
        failures = 0;
        for (int i = 0; i < ROWS; i++) begin
            row = rows[i];
            if (row.held !== 4'h1 || ^row === 1'bx) $fatal(1, "FAIL: %s holds no row %0d of %0d", file, i + 1, ROWS);
            #SETTLE;
            same = d === row.d;
            if ($test$plusargs("nan_codes") == 0 && is_nan(d) === 1'b1 && is_nan(row.d) === 1'b1) same = 1'b1;
            if (!same) begin
                failures++;
                if (failures <= SHOWN) begin
                    $display("row %0d: d = %h, expected %h", i + 1, d, row.d);
{shown}
                end
            end
        end
        if (failures != 0) $fatal(1, "FAIL: %0d of %0d rows differ from %s", failures, ROWS, DESIGN);
        $display("PASS: %0d rows as %s", ROWS, DESIGN);
        $finish;
    end
endmodule
"""


def bench_files(selection: Selection, unit: str | None = None) -> dict[str, str]:
    """Return the files of a test bench by name: vectors.hex, vectors_pkg.sv and testbench.sv.

    ``unit`` is the name of the module under test, None if it is still to be written. Raises InputError where they are
    not rows of one design and length.
    """
    answers, operands = selection.answers(), selection.vectors[0].operands
    a, b, c, d = answers.formats
    fields = {"a": (a, len(operands)), "b": (b, len(operands))}
    if answers.scale_format is not None:
        fields |= {f"scale_{x}": (answers.scale_format, len(operands.scale_a)) for x in "ab"}
    fields |= {"c": (c, 1), "d": (d, 1)}
    about = "\n".join(f"// {line}" for line in selection.about())
    inputs = [name for name in fields if name != "d"]
    connections = [f".{name}(row.{name})" for name in inputs] + [".d(d)"]
    return {
        "vectors.hex": _hex_file(selection, fields),
        "vectors_pkg.sv": _package(selection, fields, about),
        "testbench.sv": _TEST_BENCH.format(
            about=about,
            whose="a module of yours" if unit is None else f"the module {unit}",
            unit=unit or "dut",
            ports=",\n".join(
                f"//       {'output' if name == 'd' else 'input '} logic [{count * fmt.bits - 1}:0] {name}"
                for name, (fmt, count) in fields.items()
            ),
            connections=",\n".join(f"        {x}" for x in connections),
            shown="\n".join(f'                    $display("  {x} = %h", row.{x});' for x in inputs),
        ),
    }


def _hex_file(selection: Selection, fields: dict[str, tuple[Format, int]]) -> str:
    """Return the rows as hexadecimal numbers: 1, then the fields, element 0 lowest; _ between whole digits."""
    widths = {name: fmt.bits * count for name, (fmt, count) in fields.items()}
    in_digits = all(width % 4 == 0 for width in widths.values())
    lines = [f"// {line}" for line in (*selection.about(), " ".join(["held", *fields]))]
    for v in selection.vectors:
        x = v.operands
        (d,) = v.outputs.values()
        held = {"a": x.a, "b": x.b, "scale_a": x.scale_a, "scale_b": x.scale_b, "c": (x.c,), "d": (d,)}
        packed = {n: sum(p << i * fmt.bits for i, p in enumerate(held[n])) for n, (fmt, _) in fields.items()}
        if in_digits:
            lines.append("_".join(["1", *(f"{packed[n]:0{width // 4}x}" for n, width in widths.items())]))
        else:
            row = 1
            for name, width in widths.items():
                row = row << width | packed[name]
            lines.append(f"{row:x}")
    return "\n".join(lines) + "\n"


def _package(selection: Selection, fields: dict[str, tuple[Format, int]], about: str) -> str:
    formats = {("scale" if n.startswith("scale") else n): fmt for n, (fmt, _) in fields.items()}
    counts = {"a": "K*", "b": "K*", "scale_a": "BLOCKS*", "scale_b": "BLOCKS*"}
    sizes = [f"    localparam int {n.upper()}_BITS = {fmt.bits};  // {fmt.name}" for n, fmt in formats.items()]
    if "scale" in formats:
        sizes.insert(0, f"    localparam int BLOCKS = {fields['scale_a'][1]};")
    return _PACKAGE.format(
        about=about,
        scale_note=", scale i is scale_a[i*SCALE_BITS +: SCALE_BITS]" if "scale" in formats else "",
        design=plain(selection.designs[0]),
        rows=len(selection.vectors),
        k=fields["a"][1],
        sizes="\n".join(sizes),
        types="\n".join(_type(f"{name}_t", fmt) for name, fmt in formats.items()),
        fields="".join(
            f"        logic [{counts.get(n, '')}{'SCALE' if n.startswith('scale') else n.upper()}_BITS-1:0] {n};\n"
            for n in fields
        ),
        is_nan=is_nan(fields["d"][0]),
    )


def _type(name: str, fmt: Format) -> str:
    """Return the type of a pattern: the fields of a number, the most significant first."""
    if fmt.is_integer:
        return f"    typedef logic {'signed' if fmt.signed else 'unsigned'} [{fmt.bits - 1}:0] {name};"
    sign = {"sign": int(fmt.signed), "ignored_sign": int(fmt.ignored_sign)}
    widths = sign | {"exponent": fmt.exponent_bits, "fraction": fmt.fraction_bits, "ignored": fmt.ignored_bits}
    parts = [f"logic {f'[{n - 1}:0] ' if n > 1 else ''}{field};" for field, n in widths.items() if n]
    return f"    typedef struct packed {{ {' '.join(parts)} }} {name};"


def is_nan(fmt: Format) -> str:
    """Return an expression that says whether x is a NaN of the format; it is unknown where a bit that matters is."""
    everything = (1 << fmt.bits) - 1
    if fmt.nan_is_minus_zero or fmt.specials is Specials.EXTENDED:
        return f"x == {_number(fmt, fmt.quiet_nan or 0)}"
    magnitude = (1 << (fmt.exponent_bits + fmt.fraction_bits)) - 1
    masked = f"(x & {_number(fmt, magnitude << fmt.ignored_bits & everything)})"
    if fmt.infinity is not None:
        return f"{masked} > {_number(fmt, fmt.infinity)}"
    if fmt.quiet_nan is None:
        return f"(x & {_number(fmt, 0)}) != {_number(fmt, 0)}"  # never; a linter wants x to be read
    return f"{masked} == {_number(fmt, fmt.quiet_nan)}"


def _number(fmt: Format, pattern: int) -> str:
    return f"{fmt.bits}'h{fmt.hex(pattern)[2:]}"


def write_texts(path: Path, files: dict[str, str]) -> None:
    """Write files by name into a new folder, all of them or none. Raises InputError where that is not possible."""
    require_new_folder(path)
    write_folder(path, {name: text.encode() for name, text in files.items()})


_MAKEFILE = """\
{about}
SOURCES = {sources}
FLAGS = {flags}

icarus:
	iverilog -g2012 $(FLAGS) -s {bench} -o bench.vvp bench.sv $(SOURCES) && vvp -n bench.vvp

verilator:
	verilator --binary --timing -Wno-fatal $(FLAGS) --top-module {bench} --Mdir made -o bench bench.sv $(SOURCES)
	made/bench

SIM ?= icarus
TOPLEVEL_LANG = verilog
VERILOG_SOURCES = {beside}$(SOURCES)
COMPILE_ARGS = -g2012 $(FLAGS) {parameters}
COCOTB_TOPLEVEL = {top}
COCOTB_TEST_MODULES = test_unit
ifneq (,$(filter cocotb sim results.xml,$(MAKECMDGOALS)))
include $(shell cocotb-config --makefiles)/Makefile.sim
endif
cocotb: sim

.PHONY: icarus verilator cocotb
"""

_COCOTB = '''\
"""{about}"""

import random
import re

import cocotb
from cocotb.handle import Deposit, Force, Release
from cocotb.triggers import Timer

CLOCK = {clock!r}
EDGES = {edges}  # rising edges until d is there
CYCLES_FROM_RESET = {reset!r}  # the reset and its active value, of a unit of several passes
ARRAYS = {arrays!r}  # unpacked ports: how many elements, and whether the leftmost has the largest index
PORTS = {ports!r}  # where each input is in a row: lowest bit and width
STORED = {stored!r}  # the same of registers
WORDS = {words!r}  # bits of the words of which d is the sum, the highest first: (output, bit), or a constant
UNIT = {unit!r}  # the unit in the top module; empty if it is the top module
RESET = {reset_first!r}  # of a pipeline with a handshake: the bit of its reset in a row, and the edges it is given
HANDSHAKE = {handshake!r}  # valid and ready of operands and of d: a bit of a row or (output, bit); None without ready
ONE_BY_ONE = {one_by_one}  # whether operands are taken when all results are there
MOST_EDGES = {most_edges}
FOLLOWS = {follows}  # whether d is what a register holds after one more edge


def is_nan(x):
    return {is_nan}


def read(name):
    with open(name) as file:
        return [int(line, 16) for line in file if line.strip()]


def part(row, place):
    low, width = place
    return row >> low & (1 << width) - 1


def handle(dut, name):
    found = dut
    for step in re.findall(r"\\w+", name):
        found = found[int(step)] if step.isdigit() else getattr(found, step)
    return found


def set_row(dut, row):
    unit = handle(dut, UNIT)
    for name, place in PORTS.items():
        if name != CLOCK:
            set_input(unit, name, part(row, place))


def set_input(dut, name, value):
    if name not in ARRAYS:
        getattr(dut, name).value = value
        return
    count, descends = ARRAYS[name]
    width = PORTS[name][1] // count
    for i in range(count):
        getattr(dut, name)[i].value = value >> (i if descends else count - 1 - i) * width & (1 << width) - 1


async def edge(dut):
    clock = getattr(handle(dut, UNIT), CLOCK)
    await Timer(1, "ns")
    clock.value = 1
    await Timer(1, "ns")
    clock.value = 0
    await Timer(1, "ns")


def bit(dut, place):
    if isinstance(place, str):
        return place
    name, index = place
    text = str(handle(dut, name).value)
    return text[len(text) - 1 - index]


def wrong(dut, number, expected):
    """Return whether d of a row is not what is expected."""
    texts = ["".join(bit(dut, place) for place in word) for word in WORDS]
    d = sum(int(x, 2) for x in texts) % (1 << len(WORDS[0])) if set("".join(texts)) <= set("01") else None
    if d == expected or (d is not None and is_nan(d) and is_nan(expected)):
        return False
    dut._log.error(f"row {{number}}: d = {{' + '.join(texts)}}, expected {{expected:0{digits}b}}")
    return True


def with_bit(row, place, value):
    return row if place is None else row & ~(1 << place) | value << place


async def transfers(dut, rows, expected):
    """Offer rows with bubbles, and take results with back-pressure."""
    valid_in, ready_in, valid_out, ready_out = HANDSHAKE
    draw, taken, given, offered, failures = random.Random(0), 0, 0, False, 0
    for _ in range(MOST_EDGES):
        row = rows[min(given if ONE_BY_ONE else taken, len(rows) - 1)]
        offered = taken < len(rows) and (not ONE_BY_ONE or taken == given) and (offered or draw.random() < 0.75)
        ready = ready_out is None or draw.random() < 0.75
        set_row(dut, with_bit(with_bit(row, valid_in, offered), ready_out, ready))
        for name, place in STORED.items():
            handle(dut, name).value = Force(part(row, place))
        await Timer(1, "ns")
        takes = offered and (ready_in is None or bit(dut, ready_in) == "1")
        if ready and bit(dut, valid_out) == "1":
            failures += wrong(dut, given + 1, expected[given])
            given += 1
        taken += takes
        offered = offered and not takes
        await edge(dut)
        if given == len(rows):
            return failures
    dut._log.error(f"{{given}} of {{len(rows)}} results came")
    return failures + len(rows) - given


@cocotb.test()
async def returns_what_is_expected(dut):
    failures = 0
    if CLOCK:
        getattr(handle(dut, UNIT), CLOCK).value = 0
    if RESET:
        place, edges = RESET
        set_row(dut, read("{rows}")[0] ^ (1 << place))
        for _ in range(edges):
            await edge(dut)
        failures = await transfers(dut, read("{rows}"), read("{expected}"))
        assert not failures, f"{{failures}} rows differ"
        return
    for number, (row, expected) in enumerate(zip(read("{rows}"), read("{expected}"), strict=True), 1):
        set_row(dut, row)
        for name, place in STORED.items():
            handle(dut, name).value = (Deposit if FOLLOWS else Force)(part(row, place))
        await Timer(1, "ns")
        if CYCLES_FROM_RESET:
            name, active = CYCLES_FROM_RESET
            getattr(handle(dut, UNIT), name).value = active
            await edge(dut)
            getattr(handle(dut, UNIT), name).value = 1 - active
        for _ in range(EDGES):
            await edge(dut)
        if FOLLOWS:
            for name, place in STORED.items():
                handle(dut, name).value = Deposit(part(row, place))
            await edge(dut)
        failures += wrong(dut, number, expected)
        if not FOLLOWS:
            for name in STORED:
                handle(dut, name).value = Release()
    assert not failures, f"{{failures}} rows differ"
'''


_BESIDE = """\
// {top} with the modules of its views beside it, for cocotb, which sets the inputs of the unit.
module {module};
{declared}
endmodule
"""
_BESIDE_FILE = "with_views.sv"
_BESIDE_MODULE = "mmaproof_with_views"


def write_unit_bench(
    unit: RtlUnit,
    selection: Selection,
    folder: Path,
    *,
    free: Mapping[str, int] | None = None,
    control: Mapping[str, bool] | None = None,
    seed: int | None = None,
) -> None:
    """Write a test bench to a new folder.

    ``free`` and ``control`` are those of ``simulate``. With a ``seed`` inputs that are free, and the words of which c
    is the sum, are random in each row. Sources are named relative to the folder; of VHDL the Verilog of GHDL is among
    the files. Raises InputError for rows of other formats or of another length than the unit's, and TargetUnavailable
    for what no bench sets.
    """
    design = unit.design
    answers = selection.answers()
    if answers.formats != design.formats or answers.batch.k > design.k:
        raise InputError(
            f"{unit.file.path}: a bench of it has rows of its formats with at most {design.k} products, and "
            f"{selection.whence} has k = {answers.batch.k}"
        )
    layout = rtl_bench.layout_of(unit, free, control)
    batch = answers.batch.padded(design)
    about = "\n".join(f"// {line}" for line in selection.about())
    with tempfile.TemporaryDirectory(prefix="mmaproof-bench-") as place:
        file = as_verilog(unit.file, Path(place), Limits(SECONDS, MEMORY_BYTES))
        verilog = {
            Path(x).name: Path(x).read_text(encoding="utf-8") for x in set(file.sources) - set(unit.file.sources)
        }
    made = replace(unit, file=file)
    fmt = design.d_format
    bench = rtl_bench.bench_text(made, layout, len(batch), is_nan=is_nan(fmt))
    expected = "".join(f"{fmt.hex(int(d))[2:]}\n" for d in answers.d)
    files = {
        "bench.sv": f"{about}\n{bench}",
        rtl_bench.ROWS_FILE: rtl_bench.rows_text(layout, batch, seed),
        rtl_bench.EXPECTED_FILE: expected,
        **verilog,
        **({_BESIDE_FILE: _with_views(made, layout)} if layout.viewed else {}),
        "Makefile": _makefile(made, folder, verilog, about.replace("//", "#"), bool(layout.viewed)),
        "test_unit.py": _cocotb(made, layout, batch, about.replace("// ", "")),
    }
    write_folder(folder, {name: text.encode() for name, text in files.items()})


def _with_views(unit: RtlUnit, layout: rtl_bench.Layout) -> str:
    """Return a module that has the unit, with inputs that nothing drives, and its views."""
    parameters = ", ".join(f".{name}({value})" for name, value in unit.file.parameters.items())
    lines = [
        f"wire [{layout.port_bits - 1}:0] ports;",
        f"wire [{layout.out_bits - 1}:0] out;",
        f"assign out[{layout.port_bits - 1}:0] = ports;",
        f"{unit.file.top} {f'#({parameters}) ' * bool(parameters)}unit ();",
        *(
            f"assign ports[{int(bits[-1])}:{int(bits[0])}] = unit.{name};"
            for name, bits in {**layout.outputs, **layout.following}.items()
        ),
        *layout.beside("out", "ports"),
    ]
    return _BESIDE.format(top=unit.file.top, module=_BESIDE_MODULE, declared="\n".join(f"    {x}" for x in lines))


def _makefile(unit: RtlUnit, folder: Path, written: Collection[str], about: str, has_views: bool) -> str:
    file = unit.file

    def relative(path: str) -> str:
        if Path(path).is_absolute() and Path(path).name in written:
            return Path(path).name
        return Path(os.path.relpath((file.folder / path).resolve(), folder.resolve())).as_posix()

    defines = {"SYNTHESIS": "1"} | dict(file.defines)
    flags = [f"-D{name}={value}" if value else f"-D{name}" for name, value in defines.items()]
    flags += [f"-I{relative(x)}" for x in file.include]
    return _MAKEFILE.format(
        about=about,
        sources=" ".join(map(relative, file.sources)),
        flags=" ".join(flags),
        bench=rtl_bench.BENCH,
        top=_BESIDE_MODULE if has_views else file.top,
        beside=f"{_BESIDE_FILE} " * has_views,
        parameters=" ".join(f"-P{file.top}.{name}={value}" for name, value in file.parameters.items() if not has_views),
    )


def _cocotb(unit: RtlUnit, layout: rtl_bench.Layout, batch: OperandBatch, about: str) -> str:
    clock, fmt = unit.file.clock, unit.design.d_format
    cycles = 0 if clock is None else unit.longest if clock.cycles is None else clock.cycles
    places = {name: (int(bits[0]), len(bits)) for name, bits in layout.inputs.items()}
    arrays = {
        name: x for name, (_, width) in places.items() if (x := rtl_bench.unpacked_array(unit, name, width)) is not None
    }
    read = {**layout.outputs, **layout.following}
    inside, at_handshake = "unit" if layout.viewed else "", rtl_bench.handshaking(unit, layout)
    at = {bit: (f"{inside}.{name}".lstrip("."), i) for name, bits in read.items() for i, bit in enumerate(bits)}
    at |= {bit: ("out", bit) for *_, bits in layout.viewed for bit in bits if isinstance(bit, int)}
    at |= {layout.out_bits - 1: ("out", layout.out_bits - 1)} if layout.same is not None else {}
    handshake, reset_first = None, None
    if at_handshake is not None and unit.file.handshake is not None:
        ready = None if at_handshake.ready_in is None else at[at_handshake.ready_in]
        handshake = (at_handshake.valid_in, ready, at[at_handshake.valid_out], at_handshake.ready_out)
        (place,) = bits_of(unit.file.handshake.reset, layout.ports, "ports")
        reset_first = (place, unit.longest + 1)
    held = next(
        (n for n, bits in layout.outputs.items() if rtl_bench.unpacked_array(unit, n, len(bits)) is not None), None
    )
    if held is not None:
        raise InputError(f"output {held} is an unpacked array, which the bench for cocotb does not read")
    reset = None if clock is None or clock.cycles is None or clock.reset is None else (clock.reset, clock.reset_value)
    return _COCOTB.format(
        about=about,
        clock=None if clock is None else clock.port,
        edges=cycles,
        reset=reset,
        arrays={name: (x.elements, x.is_descending) for name, x in arrays.items()},
        ports=places,
        stored={f"{inside}.{name}".lstrip("."): (int(b[0]), len(b)) for name, b in layout.stored.items()},
        words=[
            [bit if isinstance(bit, str) else at[bit] for bit in reversed(word)] for word in (layout.d, *layout.added)
        ],
        unit=inside,
        reset_first=reset_first,
        handshake=handshake,
        one_by_one=at_handshake is not None and at_handshake.one_by_one,
        most_edges=0 if at_handshake is None else at_handshake.most_edges(len(batch), unit.longest),
        follows=bool(layout.following),
        is_nan=re.sub(r"\d+'h([0-9a-f_]+)", r"0x\1", is_nan(fmt)),  # constants of Verilog as those of Python
        rows=rtl_bench.ROWS_FILE,
        expected=rtl_bench.EXPECTED_FILE,
        digits=fmt.bits,
    )
