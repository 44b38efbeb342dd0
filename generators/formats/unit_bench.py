"""A self-checking test bench of a unit in RTL: its own sources, and rows with the d that is expected.

``make`` runs it with Icarus Verilog, ``make verilator`` with Verilator, and ``make cocotb`` the same rows with cocotb.
"""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Collection
from dataclasses import replace
from pathlib import Path

from mmaproof.designs.errors import InputError
from mmaproof.designs.files import write_folder
from mmaproof.designs.operands import OperandBatch
from mmaproof.generators.formats.selection import Selection
from mmaproof.generators.formats.verilog import is_nan
from mmaproof.hardware_replay.rtl_bench import (
    BENCH,
    EXPECTED_FILE,
    ROWS_FILE,
    Layout,
    bench_text,
    layout_of,
    rows_text,
    unpacked_array,
)
from mmaproof.rtl import RtlUnit
from mmaproof.rtl.elaboration import MEMORY_BYTES, SECONDS
from mmaproof.rtl.tools import Limits
from mmaproof.rtl.vhdl import as_verilog

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
VERILOG_SOURCES = $(SOURCES)
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
RESULT = {result!r}  # bits of d, the highest first: (output, bit), or a constant
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


def set_input(dut, name, value):
    if name not in ARRAYS:
        getattr(dut, name).value = value
        return
    count, descends = ARRAYS[name]
    width = PORTS[name][1] // count
    for i in range(count):
        getattr(dut, name)[i].value = value >> (i if descends else count - 1 - i) * width & (1 << width) - 1


async def edge(dut):
    clock = getattr(dut, CLOCK)
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


@cocotb.test()
async def returns_what_is_expected(dut):
    failures = 0
    if CLOCK:
        getattr(dut, CLOCK).value = 0
    for number, (row, expected) in enumerate(zip(read("{rows}"), read("{expected}"), strict=True), 1):
        for name, place in PORTS.items():
            if name != CLOCK:
                set_input(dut, name, part(row, place))
        for name, place in STORED.items():
            handle(dut, name).value = (Deposit if FOLLOWS else Force)(part(row, place))
        await Timer(1, "ns")
        if CYCLES_FROM_RESET:
            name, active = CYCLES_FROM_RESET
            getattr(dut, name).value = active
            await edge(dut)
            getattr(dut, name).value = 1 - active
        for _ in range(EDGES):
            await edge(dut)
        if FOLLOWS:
            for name, place in STORED.items():
                handle(dut, name).value = Deposit(part(row, place))
            await edge(dut)
        text = "".join(bit(dut, place) for place in RESULT)
        d = int(text, 2) if set(text) <= set("01") else None
        if d != expected and not (d is not None and is_nan(d) and is_nan(expected)):
            failures += 1
            dut._log.error(f"row {{number}}: d = {{text}}, expected {{expected:0{digits}b}}")
        if not FOLLOWS:
            for name in STORED:
                handle(dut, name).value = Release()
    assert not failures, f"{{failures}} rows differ"
'''


def unit_bench(unit: RtlUnit, selection: Selection, folder: Path) -> dict[str, str]:
    """Return the files of a test bench that is written to ``folder``, by name.

    Sources are named relative to the folder; of VHDL the Verilog of GHDL is among the files. Raises InputError for rows
    of other formats or of another length than the unit's, and TargetUnavailable for what no bench sets.
    """
    design = unit.design
    answers = selection.answers()
    if answers.formats != design.formats or answers.batch.k > design.k:
        raise InputError(
            f"{unit.file.path}: a bench of it has rows of its formats with at most {design.k} products, and "
            f"{selection.whence} has k = {answers.batch.k}"
        )
    layout = layout_of(unit)
    if layout.added or unit.file.handshake is not None:
        what = "d is a sum of words" if layout.added else "there is a handshake"
        raise InputError(f"{unit.file.path}: no bench is written where {what}")
    batch = answers.batch.padded(design)
    about = "\n".join(f"// {line}" for line in selection.about())
    with tempfile.TemporaryDirectory(prefix="mmaproof-bench-") as place:
        file = as_verilog(unit.file, Path(place), Limits(SECONDS, MEMORY_BYTES))
        verilog = {
            Path(x).name: Path(x).read_text(encoding="utf-8") for x in set(file.sources) - set(unit.file.sources)
        }
    made = replace(unit, file=file)
    fmt = design.d_format
    bench = bench_text(made, layout, len(batch), is_nan=is_nan(fmt))
    expected = "".join(f"{fmt.hex(int(d))[2:]}\n" for d in answers.d)
    return {
        "bench.sv": f"{about}\n{bench}",
        ROWS_FILE: rows_text(layout, batch),
        EXPECTED_FILE: expected,
        **verilog,
        "Makefile": _makefile(made, folder, verilog, about.replace("//", "#")),
        "test_unit.py": _cocotb(made, layout, batch, about.replace("// ", "")),
    }


def write_unit_bench(unit: RtlUnit, selection: Selection, folder: Path) -> list[str]:
    """Write a test bench to a new folder; return the names of its files. Raises as ``unit_bench``."""
    files = unit_bench(unit, selection, folder)
    write_folder(folder, {name: text.encode() for name, text in files.items()})
    return list(files)


def _makefile(unit: RtlUnit, folder: Path, written: Collection[str], about: str) -> str:
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
        bench=BENCH,
        top=file.top,
        parameters=" ".join(f"-P{file.top}.{name}={value}" for name, value in file.parameters.items()),
    )


def _cocotb(unit: RtlUnit, layout: Layout, batch: OperandBatch, about: str) -> str:
    clock, fmt = unit.file.clock, unit.design.d_format
    cycles = 0 if clock is None else unit.longest if clock.cycles is None else clock.cycles
    places = {name: (int(bits[0]), len(bits)) for name, bits in layout.inputs.items()}
    arrays = {name: x for name, (_, width) in places.items() if (x := unpacked_array(unit, name, width)) is not None}
    read = {**layout.outputs, **layout.following}
    at = {bit: (name, i) for name, bits in read.items() for i, bit in enumerate(bits)}
    held = next((n for n, bits in layout.outputs.items() if unpacked_array(unit, n, len(bits)) is not None), None)
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
        stored={name: (int(bits[0]), len(bits)) for name, bits in layout.stored.items()},
        result=[bit if isinstance(bit, str) else at[bit] for bit in reversed(layout.d)],
        follows=bool(layout.following),
        is_nan=_python_nan(is_nan(fmt)),
        rows=ROWS_FILE,
        expected=EXPECTED_FILE,
        digits=fmt.bits,
    )


def _python_nan(verilog: str) -> str:
    """Return an expression of Verilog over x and constants as one of Python."""
    return re.sub(r"\d+'h([0-9a-f_]+)", r"0x\1", verilog)
