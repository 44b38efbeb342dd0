"""The targets, and how they are spelled."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from mmaproof.designs.catalogue import find_design
from mmaproof.designs.design import Design
from mmaproof.designs.errors import DesignError, InputError, OperandError
from mmaproof.designs.operands import OperandBatch, Patterns, array_of, patterns_of
from mmaproof.hardware_replay.arm_cpu import ARM_INSTRUCTIONS, find_arm_instruction
from mmaproof.hardware_replay.cpu import find_cpu_instruction
from mmaproof.hardware_replay.cuda.device import open_device
from mmaproof.hardware_replay.process import DEADLINE, ProcessTarget
from mmaproof.hardware_replay.recordings import is_recording, read_provenance
from mmaproof.hardware_replay.rtl_simulator import SimulatorTarget
from mmaproof.hardware_replay.tables.reading import NOTHING_SAID, Wanted, read_answers
from mmaproof.hardware_replay.tables.recognise import STDIN, are_there
from mmaproof.hardware_replay.target import Answers, Ran, Rows, Target, Unit, listed
from mmaproof.rtl import RtlUnit
from mmaproof.rtl.meant import read_rtl, read_whole
from mmaproof.smt.evaluate import evaluate_batch

Function = Callable[..., npt.ArrayLike]
"""a (rows, k), b (rows, k), c (rows,), and scales (rows, blocks) of a and of b where there are some -> d (rows,)"""


@dataclass(frozen=True)
class FunctionTarget:
    """A function of Python. It is called with arrays of the types that ``array_dtype`` names for the formats."""

    function: Function

    @property
    def name(self) -> str:
        """``function:`` and its name."""
        return f"function:{getattr(self.function, '__name__', type(self.function).__name__)}"

    @property
    def unit(self) -> Unit:
        """The function."""
        return Unit(self.name)

    @property
    def designs(self) -> tuple[Design, ...]:
        """None: nothing is known of it."""
        return ()

    def design_of(self, rows: Rows) -> Design | None:
        """Return that the design is not known."""
        return None

    def run(self, rows: Rows) -> Ran:
        """Return d of every row. Raises OperandError for a result of another type or shape than that of d."""
        batch, scale = rows.batch, rows.scale_format
        given: list[npt.NDArray[Any]] = [
            array_of(x, f) for x, f in zip((batch.a, batch.b, batch.c), rows.formats, strict=False)
        ]
        if scale is not None:
            given += [array_of(x, scale) for x in (batch.scale_a, batch.scale_b) if x is not None]
        try:
            d: Patterns = patterns_of(self.function(*given), rows.formats[3])
        except OperandError as problem:
            raise OperandError(f"{self.name} returned {problem}") from problem
        if d.shape != (len(batch),):
            raise OperandError(f"{self.name} returned an array of shape {d.shape}: ({len(batch)},) is needed")
        return Ran.all(d)


@dataclass(frozen=True)
class RtlTarget:
    """The netlist of a unit. Undefined bits and free inputs are zeros.

    Rows have the constants of the operands that the unit does not have.
    """

    read: RtlUnit

    @property
    def name(self) -> str:
        """``rtl:`` and the file."""
        return self.read.design.name

    @property
    def unit(self) -> Unit:
        """The module, and what elaborated it."""
        return Unit(f"RTL of {self.read.report.top}", self.read.report.elaborator)

    @property
    def designs(self) -> tuple[Design, ...]:
        """The netlist as a design."""
        return (self.read.design,)

    def design_of(self, rows: Rows) -> Design:
        """Return the netlist as a design; InputError on a format mismatch or a length that it cannot run."""
        rows.check_formats(self.read.design)
        for name, fmt in zip("abc", self.read.design.formats[:3], strict=True):
            if name in self.read.fixed and (getattr(rows.batch, name) != self.read.fixed[name]).any():
                only = fmt.hex(self.read.fixed[name])
                raise InputError(f"{self.name}: the unit has no {name}: give it rows with {name} = {only} alone")
        return self.read.design

    def run(self, rows: Rows) -> Ran:
        """Return d of every row."""
        return Ran.all(evaluate_batch(self.design_of(rows), rows.batch))


@dataclass(frozen=True)
class ModelTarget:
    """A design of the catalogue, in the array interpretation."""

    model: Design

    @property
    def name(self) -> str:
        """``model:`` and the design's full name."""
        return f"model:{self.model.name}"

    @property
    def unit(self) -> Unit:
        """The model, in the version of this tool."""
        return Unit(f"model of {self.model.name}", f"mmaproof {version('mmaproof')}")

    @property
    def designs(self) -> tuple[Design, ...]:
        """The design."""
        return (self.model,)

    def design_of(self, rows: Rows) -> Design:
        """Return the design; InputError on a format mismatch or a length that it cannot run."""
        rows.check_formats(self.model)
        return self.model

    def run(self, rows: Rows) -> Ran:
        """Return d of every row."""
        return Ran.all(evaluate_batch(self.model, rows.batch))


@dataclass(frozen=True)
class RecordingTarget:
    """A recording, or operands and results in files of any kind: answers the operands that it holds, and no others."""

    source: str
    wanted: Wanted = NOTHING_SAID
    more: tuple[str, ...] = ()
    """files of further rows"""

    @cached_property
    def answers(self) -> Answers:
        """The rows that it holds, those of further files after them.

        Raises InputError where a file is malformed, does not say what it holds, or has other formats or another k.
        """
        held = read_answers(self.source, self.wanted)
        return held.joined([read_answers(x, self.wanted.like(held)) for x in self.more])

    @property
    def name(self) -> str:
        """``recording:`` and the file."""
        return f"recording:{self.source}"

    @property
    def unit(self) -> Unit:
        """What the recording is of."""
        if not is_recording(Path(self.source)):
            return Unit("", "", "")
        about = read_provenance(Path(self.source))
        return Unit(about.device, about.device_version, about.driver)

    @property
    def designs(self) -> tuple[Design, ...]:
        """The design that it is a recording of; none where the catalogue does not know it."""
        try:
            return (find_design(self.answers.design or ""),)
        except DesignError:
            return ()

    def design_of(self, rows: Rows) -> Design | None:
        """Return what the recording is of, None where that is not known; InputError on other formats or another k."""
        given, held = (dict(zip((*"abcd", "scales"), x.all_formats, strict=True)) for x in (rows, self.answers))
        for x in given:
            if given[x] is not held[x]:
                names = [f.name if f else "absent" for f in (given[x], held[x])]
                raise InputError(f"format mismatch: {x} is {names[0]} in {rows.whence} and {names[1]} in {self.name}")
        if rows.batch.k != self.answers.batch.k:
            raise InputError(f"{self.name} holds rows of k = {self.answers.batch.k}, not {rows.batch.k}")
        return self.designs[0] if self.designs else None

    def run(self, rows: Rows) -> Ran:
        """Return the recorded d of each row that is held."""
        held = {self.answers.batch.key(i): i for i in range(len(self.answers.batch))}
        found = [held.get(rows.batch.key(i)) for i in range(len(rows.batch))]
        answered = np.array([i is not None for i in found], dtype=bool)
        return Ran(self.answers.d[[i or 0 for i in found]], answered)


@dataclass(frozen=True)
class InstructionTarget:
    """The instructions of a device: each row is run on the one that it names, or on the only one that takes it."""

    name: str
    unit: Unit
    designs: tuple[Design, ...]
    run_on: Callable[[Design, OperandBatch], Patterns]
    """Returns d of operands whose k is a multiple of that of the design, one of ``designs``."""

    def design_of(self, rows: Rows) -> Design:
        """Return the instruction; InputError where none takes the rows, or several do and they name none."""
        by_name = {design.name: design for design in self.designs}
        # what is expected may be a reading of the instruction, NAME@...: it is the instruction that runs
        named = by_name.get((rows.design or "").partition("@")[0])
        if named is not None:
            rows.check_formats(named)
            return named
        fitting = [design for design in self.designs if rows.are_for(design)]
        if len(fitting) == 1:
            return fitting[0]
        a, b, c, d = (fmt.name for fmt in rows.formats)
        asked = f"{a} * {b} + {c} -> {d} of k = {rows.batch.k} in {rows.whence}"
        if fitting:
            raise InputError(
                f"several instructions of {self.name} take {asked}: {', '.join(x.name for x in fitting)}: "
                f"choose one with --design NAME"
            )
        raise InputError(f"no instruction of {self.name} takes {asked}: it has {listed(x.name for x in self.designs)}")

    def only(self, design: Design) -> InstructionTarget:
        """Return this target with one instruction; InputError where it has no such one."""
        if design not in self.designs:
            raise InputError(
                f"{self.name} has no instruction {design.name}: it has {listed(x.name for x in self.designs)}"
            )
        return replace(self, designs=(design,))

    def run(self, rows: Rows) -> Ran:
        """Return d of every row; k below the instruction's is padded with +0 (scales with 1)."""
        design = self.design_of(rows)
        return Ran.all(self.run_on(design, rows.batch.padded(design)))


def find_target(
    text: str,
    timeout: float | None = None,
    design: str | None = None,
    wanted: Wanted = NOTHING_SAID,
    more: Sequence[str] = (),
) -> Target:
    """Return the target that ``text`` spells. The name of a file alone is a recording, too.

    ``wanted`` says of files what they do not say themselves, and ``more`` are files of further rows of a recording.
    ``timeout`` is the silence in seconds that a process may keep; ``design`` names the one instruction of a CPU or GPU
    that is meant. Raises InputError for an unknown kind or a bad name, TargetUnavailable for one that is not on this
    machine.

    >>> import mmaproof
    >>> mmaproof.find_target("model:volta/f32.f16.f16.f32").name
    'model:volta/mma.m8n8k4.f32.f16.f16.f32'
    """
    kind, colon, name = text.partition(":")
    if (kind == "recording" and name) or (kind not in _KINDS and (text == STDIN or are_there(text))):
        return _recording(text.removeprefix("recording:"), wanted, tuple(more))
    if more:
        raise InputError(f"{more[0]}: further rows are those of a file, and {text} can be asked itself: leave them out")
    if kind not in _KINDS or (not name and (colon or not _KINDS[kind].alone)):
        allowed = ", ".join(f"{k}{x.spelling}" for k, x in _KINDS.items())
        raise InputError(f"unknown target {text!r}: one of {allowed}")
    target = _KINDS[kind].find(name, timeout)
    if design is None:
        return target
    if not isinstance(target, InstructionTarget):
        raise InputError(
            f"--design {design}: chooses among the instructions of a CPU or GPU; {target.name} has no choice"
        )
    return target.only(find_design(design))


@dataclass(frozen=True)
class _Kind:
    """What follows the kind of a target in its spelling, and how it is found by that and a timeout."""

    spelling: str
    find: Callable[[str, float | None], Target]
    alone: bool = False
    """whether the kind may stand alone"""


def _recording(source: str, wanted: Wanted = NOTHING_SAID, more: tuple[str, ...] = ()) -> Target:
    target = RecordingTarget(source, wanted, more)
    _ = target.answers  # a file that cannot be read is not a target
    return target


def _process(command: str, timeout: float | None) -> Target:
    return ProcessTarget(command, DEADLINE if timeout is None else timeout)


def _cpu(name: str, _: float | None) -> Target:
    found = find_arm_instruction(name) if name in ARM_INSTRUCTIONS else find_cpu_instruction(name)
    return InstructionTarget(f"cpu:{found.name}", found.about, found.designs, found.run)


def _cuda(number: str, _: float | None) -> Target:
    device = open_device(number)
    return InstructionTarget(f"cuda:{device.number}", Unit(*device.about), device.designs, device.run)


_KINDS = {
    "model": _Kind(":DESIGN", lambda name, _: ModelTarget(find_design(name))),
    "recording": _Kind(":FILE", lambda name, _: _recording(name)),
    "process": _Kind(":COMMAND", _process),
    "cpu": _Kind(":INSTRUCTION", _cpu),
    "cuda": _Kind("[:N]", _cuda, alone=True),
    "rtl": _Kind(":UNIT.toml", lambda name, _: RtlTarget(read_rtl(name)[0])),
    "rtl-simulator": _Kind(":UNIT.toml", lambda name, _: SimulatorTarget(read_whole(name)[0])),
}
