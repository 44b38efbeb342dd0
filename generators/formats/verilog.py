"""Selected rows for a Verilog simulation: a $readmemh file, a SystemVerilog package, and a self-checking test bench."""

from __future__ import annotations

from pathlib import Path

from mmaproof.designs.files import require_new_folder, write_folder
from mmaproof.designs.formats import Format, Specials
from mmaproof.generators.formats.selection import Selection, plain

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
