"""The untouched sources of a unit in a simulator: Icarus Verilog, or Verilator where Icarus does not read them.

A temporary folder has the test bench and what the simulator makes of it. Nothing is written beside the sources.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from mmaproof.designs.design import Design
from mmaproof.designs.element import Operands
from mmaproof.designs.errors import InputError, TargetUnavailable
from mmaproof.designs.operands import OperandBatch, pattern_dtype
from mmaproof.hardware_replay import rtl_bench
from mmaproof.hardware_replay.target import Ran, Rows, Unit
from mmaproof.rtl import RtlUnit
from mmaproof.rtl.elaboration import MEMORY_BYTES, Limits, as_verilog
from mmaproof.rtl.meant import in_one_pass
from mmaproof.smt.trace import evaluate, named_signals

SECONDS = 300.0
"""How long a simulation, its compilation included, may take by default."""

FST = ".fst"
"""What the name of a file of waves ends in that is not VCD."""

_QUICKLY_COMPILED = "VM_PARALLEL_BUILDS=0 OPT_FAST=-O0 OPT_SLOW=-O0 OPT_GLOBAL=-O0"
"""Verilator's own optimisation leaves far less C++ to compile; it is compiled as one file, and not optimised again."""

NONE_INSTALLED = "none is installed: install iverilog (Icarus Verilog) or verilator"


@dataclass(frozen=True, slots=True)
class Simulated:
    """What a simulator returned: d of each row, and the bits of each d that are undefined there (x or z)."""

    d: tuple[int, ...]
    undefined: tuple[int, ...]
    simulator: str


def simulate(
    unit: RtlUnit,
    batch: OperandBatch,
    seconds: float = SECONDS,
    free: Mapping[str, int] | None = None,
    control: Mapping[str, bool] | None = None,
    waves: rtl_bench.Waves | None = None,
) -> Simulated:
    """Return what the sources of a unit return for a batch of operands.

    Inputs that are free are zeros, but for those of which ``free`` has the value. ``control`` says whether a register
    that is c and d is enabled, cleared and loaded; by default it takes a step. ``waves`` are recorded. Of VHDL the
    Verilog that GHDL synthesises is run. Raises TargetUnavailable if no simulator is installed, if none of them reads
    the sources, or if one takes too long.
    """
    tools = [make for tool, make in _TOOLS.items() if shutil.which(tool)]
    if not tools:
        raise TargetUnavailable(NONE_INSTALLED)
    layout = rtl_bench.layout_of(unit, free, control)
    problems = []
    with tempfile.TemporaryDirectory(prefix="mmaproof-bench-") as place:
        folder = Path(place)
        made = replace(unit, file=as_verilog(unit.file, folder, Limits(seconds, MEMORY_BYTES)))
        try:
            bench = rtl_bench.bench_text(made, layout, len(batch), waves=waves)
        except InputError as problem:
            raise TargetUnavailable(str(problem)) from problem
        (folder / "bench.sv").write_text(bench, encoding="utf-8")
        (folder / rtl_bench.ROWS_FILE).write_text(rtl_bench.rows_text(layout, batch), encoding="ascii")
        for make in tools:
            try:
                name, printed = make(made, folder, seconds, waves)
                whole = name if made.file is unit.file else f"{name}, on the Verilog that GHDL makes of VHDL"
                return _read(layout, printed, len(batch), whole)
            except _SimulatorError as failure:
                problems.append(str(failure))
    raise TargetUnavailable("; ".join(problems))


class _SimulatorError(Exception):
    """A simulator does not read the sources, or does not end."""


def _icarus(unit: RtlUnit, folder: Path, seconds: float, waves: rtl_bench.Waves | None) -> tuple[str, str]:
    file = unit.file
    command = ["iverilog", "-g2012", "-s", rtl_bench.BENCH, "-o", "bench.vvp", *_defines(unit)]
    command += [f"-I{(file.folder / x).resolve()}" for x in file.include]
    _run("iverilog", [*command, "bench.sv", *_sources(unit)], folder, seconds)
    fst = ["-fst"] if waves is not None and waves.file.endswith(FST) else []
    return "Icarus Verilog", _run("vvp", ["vvp", "-n", "bench.vvp", *fst], folder, seconds)


def _verilator(unit: RtlUnit, folder: Path, seconds: float, waves: rtl_bench.Waves | None) -> tuple[str, str]:
    file = unit.file
    command = ["verilator", "--binary", "--timing", "-Wno-fatal", "-Wno-lint", "-Wno-style", *_defines(unit)]
    command += [f"-I{(file.folder / x).resolve()}" for x in file.include]
    command += [
        "-MAKEFLAGS",
        _QUICKLY_COMPILED,
        "--top-module",
        rtl_bench.BENCH,
        "--Mdir",
        "made",
        "-o",
        "bench",
        "bench.sv",
    ]
    command += _sources(unit)
    command += [] if waves is None else ["--trace-fst" if waves.file.endswith(FST) else "--trace"]
    _run("verilator", command, folder, seconds)
    return "Verilator", _run("verilator", [str(folder / "made" / "bench")], folder, seconds)


_TOOLS = {"iverilog": _icarus, "verilator": _verilator}


def _defines(unit: RtlUnit) -> list[str]:
    """Return the macros of the unit, and SYNTHESIS, which Yosys defines too: the same text is simulated."""
    defines = {"SYNTHESIS": "1"} | dict(unit.file.defines)
    return [f"-D{name}={value}" if value else f"-D{name}" for name, value in defines.items()]


def _sources(unit: RtlUnit) -> list[str]:
    return [str((unit.file.folder / x).resolve()) for x in unit.file.sources]


def _run(tool: str, command: Sequence[str], folder: Path, seconds: float) -> str:
    """Return what a program prints. It has ended afterwards, and so has whatever it has started."""
    process = subprocess.Popen(
        command,
        cwd=folder,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        start_new_session=True,
    )
    try:
        printed, _ = process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired as problem:
        raise _SimulatorError(f"{tool} takes longer than {seconds:g} s") from problem
    finally:
        if process.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
    if process.returncode:
        lines = [x for x in printed.splitlines() if x.strip()]
        wrong = next((x for x in lines if "error" in x.lower()), lines[0] if lines else "no message")
        raise _SimulatorError(f"{tool} ended with status {process.returncode}: {wrong.strip()}")
    return printed


def _read(layout: rtl_bench.Layout, printed: str, rows: int, simulator: str) -> Simulated:
    unset = next((x.removeprefix(rtl_bench.UNSET) for x in printed.splitlines() if x.startswith(rtl_bench.UNSET)), None)
    if unset is not None:
        raise _SimulatorError(f"{simulator} does not keep register {unset} at the value that it is set to")
    lines = [x.removeprefix(rtl_bench.RESULT).strip() for x in printed.splitlines() if x.startswith(rtl_bench.RESULT)]
    if len(lines) != rows:
        raise _SimulatorError(f"{simulator} printed {len(lines)} rows, and {rows} are expected")
    values, undefined = [], []
    for line in lines:
        bits = line[::-1].lower()
        total, lost = 0, 0
        for word in (layout.d, *layout.added):
            d = [place if isinstance(place, str) else bits[place] for place in word]
            total += sum(1 << i for i, bit in enumerate(d) if bit == "1")
            lost |= sum(1 << i for i, bit in enumerate(d) if bit in "xz")
        whole = (1 << len(layout.d)) - 1
        values.append(total & whole)
        # a sum is undefined from the lowest undefined bit of a word on
        undefined.append(lost if not layout.added or not lost else whole & -(lost & -lost))
    return Simulated(tuple(values), tuple(undefined), simulator)


@dataclass(frozen=True, slots=True)
class SourceRun:
    """One set of operands on the untouched sources: their d, or why they were not run."""

    d: int | None
    undefined: int
    """bits of d that are x or z in the simulator; they are 0 in ``d``"""
    simulator: str
    reason: str | None = None


class SourcesDisagree(RuntimeError):  # noqa: N818 - named for what happened
    """The sources in the simulator return something else than the netlist of them, which has no undefined bits."""


def run_sources(
    unit: RtlUnit,
    operands: Operands,
    netlist_d: int | None = None,
    seconds: float = SECONDS,
    *,
    free: Mapping[str, int] | None = None,
    control: Mapping[str, bool] | None = None,
) -> SourceRun:
    """Return what the untouched sources of a unit return for ``operands`` in a simulator, or why they were not run.

    ``netlist_d`` is the pattern that the netlist returns, by default with zeros for bits that may have any value.
    Inputs that are free are zeros, but for those of which ``free`` has the value. The simulator, its compilation
    included, may take ``seconds``. ``control`` is that of ``simulate``; the unit's design is the netlist with it.

    A dot product that is longer than a pass is a chain of passes, in each of which c is the d before it. Raises
    SourcesDisagree if nothing is undefined and the simulator returns another d: the netlist is not the sources then.
    Raises OperandError where the operands do not fit the unit.

    >>> import mmaproof
    >>> unit, _ = mmaproof.read_rtl("dot4.toml")  # of the tutorial about RTL
    >>> ran = mmaproof.run_sources(unit, mmaproof.Operands(a=(0xFF, 0, 0, 0), b=(1, 0, 0, 0), c=0))
    >>> hex(ran.d), ran.simulator
    ('0xffff', 'Icarus Verilog')
    """
    design = unit.design
    expected = evaluate(design, operands) if netlist_d is None else netlist_d
    batch = OperandBatch.of_rows(design.formats, [operands]).padded(design)
    c, undefined, simulator = operands.c, 0, ""
    try:
        for first in range(0, batch.k, design.k):
            found = simulate(unit, _pass(batch, design, first, c), seconds, free, control)
            c, undefined, simulator = found.d[0], undefined | found.undefined[0], found.simulator
    except TargetUnavailable as problem:
        return SourceRun(None, 0, "", str(problem))
    fmt = design.d_format
    if not undefined and not any(not x.startswith("free ") for x in unit.circuit.unknown) and c != expected:
        raise SourcesDisagree(
            f"{simulator} returns {fmt.hex(c)} for the sources of {design.name}, and the netlist of them "
            f"{fmt.hex(expected)}"
        )
    return SourceRun(c, undefined, simulator)


def record_waves(
    unit: RtlUnit,
    model: Design,
    operands: Operands,
    path: Path,
    *,
    free: Mapping[str, int] | None = None,
    control: Mapping[str, bool] | None = None,
) -> str:
    """Record the signals of the untouched sources for ``operands``, with those of ``model`` beside them.

    Return the name of the simulator. A file whose name ends in .fst has that format, any other one is VCD. Each pass of
    the unit takes its c from the model. Raises as ``simulate``.
    """
    design, c, rows = unit.design, operands.c, []
    model = in_one_pass(design, model)
    batch = OperandBatch.of_rows(design.formats, [operands]).padded(design)
    signals = []
    for first in range(0, batch.k, design.k):
        rows.append(_pass(batch, design, first, c))
        given = rows[-1].row(0)
        signals.append(named_signals(model, given))
        c = evaluate(model, given)
    return simulate(
        unit, OperandBatch.concatenate(rows), SECONDS, free, control, rtl_bench.Waves(str(path.resolve()), signals)
    ).simulator


def _pass(batch: OperandBatch, design: Design, first: int, c: int) -> OperandBatch:
    last = first + design.k
    scales = []
    for x in (batch.scale_a, batch.scale_b):
        block = design.block or 1
        scales.append(None if x is None else x[:, first // block : last // block])
    given = np.array([c], dtype=batch.c.dtype)
    return OperandBatch(batch.a[:, first:last], batch.b[:, first:last], given, *scales)


@dataclass(frozen=True)
class SimulatorTarget:
    """The sources of a unit in a simulator. A row whose d has undefined bits there is not answered."""

    read: RtlUnit

    @property
    def name(self) -> str:
        """``rtl-simulator:`` and the file."""
        return f"rtl-simulator:{self.read.design.instruction}"

    @property
    def unit(self) -> Unit:
        """The module."""
        return Unit(f"RTL of {self.read.report.top}, simulated")

    @property
    def designs(self) -> tuple[Design, ...]:
        """The netlist as a design."""
        return (self.read.design,)

    def design_of(self, rows: Rows) -> Design:
        """Return the netlist as a design. Raises InputError for other formats, or for a length that is not its K."""
        rows.check_formats(self.read.design)
        if rows.batch.k > self.read.design.k:
            raise InputError(f"{self.name} takes {self.read.design.k} products at once, and not {rows.batch.k}")
        return self.read.design

    def run(self, rows: Rows) -> Ran:
        """Return d of every row; k below the unit's is padded with +0 (scales with 1)."""
        design = self.design_of(rows)
        found = simulate(self.read, rows.batch.padded(design))
        d = np.array(found.d, dtype=pattern_dtype(design.d_format))
        answered = np.array([x == 0 for x in found.undefined], dtype=bool)
        problem = None if answered.all() else f"{self.name}: {(~answered).sum()} rows have undefined bits in d"
        return Ran(d, answered, problem)
