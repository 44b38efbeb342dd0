"""A UNIT.toml as a design: its sources elaborated, its ports mapped to operands."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from mmaproof.designs.circuit import Bits, Circuit
from mmaproof.designs.design import Design
from mmaproof.designs.element import Operands, constant_operands
from mmaproof.designs.errors import InputError
from mmaproof.designs.signature import Signature
from mmaproof.designs.steps import NetlistStep
from mmaproof.designs.transitions import Transition
from mmaproof.rtl.clock_cycles import SETTLED, STEP
from mmaproof.rtl.elaboration import FACTS_ABOUT_X, MEMORY_BYTES, SECONDS, elaborate
from mmaproof.rtl.mapped_ports import check_control, fixed_operands, mapped, signature_of
from mmaproof.rtl.netlist import MOST_CELLS, Module, Port, read_module
from mmaproof.rtl.reading import Reading
from mmaproof.rtl.slices import ascending_ports
from mmaproof.rtl.unit_file import STEERING, UnitFile, read_unit_file
from mmaproof.rtl.views import View, read_views

PRIORITY = "where items of a case statement marked unique or parallel overlap, the first one counts"
_BIT = re.compile(r"(?P<net>.*?)(?:\[(?P<index>\d+)\])?(?: at age \d+)?")


@dataclass(frozen=True, slots=True)
class RtlReport:
    """What was elaborated, and what was assumed on the way."""

    top: str
    elaborator: str
    ports: Mapping[str, tuple[str, int]]
    """direction and width of each port of the top module"""
    mapped: Mapping[str, str]
    """what each port is mapped to: operands, a constant, ``free``, or nothing"""
    cells: int
    """cells that d depends on"""
    kinds: Mapping[str, int]
    """how many there are of each kind"""
    registers: int
    latency: int | None
    unknown: Mapping[str, int]
    """how many bits of each net may have any value; its name says which"""
    assumptions: tuple[str, ...]
    warnings: tuple[str, ...]
    covers: str = ""
    """what a pipeline may be given in each clock cycle; empty if the unit is none"""
    register_names: Mapping[str, int] = field(default_factory=dict)
    """the widths of the module's registers"""


@dataclass(frozen=True, slots=True)
class RtlUnit:
    """A unit that was read: the content of its file, its design, and the report."""

    file: UnitFile
    design: Design
    report: RtlReport
    ports: Mapping[str, Port]
    """the ports of the top module, as they are declared"""
    registers: Mapping[str, Port] = field(default_factory=dict)
    """its registers, by all of their names after elaboration"""
    transitions: tuple[Transition, ...] = ()
    """what is claimed of a register that is c and d, in cycles in which it takes no step"""
    longest: int = 0
    """the registers on the longest path from an operand of a pipeline to d"""
    not_direct: str | None = None
    """why its enable, clear and load do not act in their own clock cycle alone; None if they do"""
    views: Mapping[str, View] = field(default_factory=dict)
    """the views of operands and of d"""
    shows_words: bool = False
    """whether d of the design is 1 where the words of d are those of their number"""
    most_in_flight: int = 0
    """the operand sets of a pipeline with a handshake that were taken, and whose results were not yet, at most"""

    def __repr__(self) -> str:
        return f"<{self.design.name}: module {self.report.top}, {self.report.cells} cells>"

    @property
    def fixed(self) -> dict[str, int]:
        """The pattern of each element of operands that the unit does not have: c is +0 if the file does not say it."""
        return fixed_operands(self.file, self.design.signature)

    @property
    def where(self) -> tuple[str, ...]:
        """The preconditions of every question about it: what operands are that it does not have."""
        return constant_operands(self.fixed)

    def completed(self, operands: Operands) -> Operands:
        """Return operands of the design with the values of those that the unit does not have."""
        fixed, count = self.fixed, len(operands)
        a, b = ((fixed[x],) * count if x in fixed else getattr(operands, x) for x in "ab")
        return replace(operands, a=a, b=b, c=fixed.get("c", operands.c))

    @property
    def circuit(self) -> Circuit:
        """The circuit of its design."""
        if not isinstance(self.design.step, NetlistStep):
            raise TypeError(f"{self.design.name} is not a netlist")
        return self.design.step.circuit


def read_unit(
    path: str | Path,
    *,
    signature: Signature | None = None,
    seconds: float = SECONDS,
    memory_bytes: int = MEMORY_BYTES,
    most_cells: int = MOST_CELLS,
) -> RtlUnit:
    """Return the unit that a UNIT.toml describes.

    ``signature`` is that of the design that it is held against; its formats count where the file has none. Raises
    InputError for what is wrong in the file or in the sources, TargetUnavailable where Yosys is not installed.
    """
    file = read_unit_file(Path(path))
    signature_of_unit = signature_of(file, signature)
    netlist = elaborate(file, seconds=seconds, memory_bytes=memory_bytes)
    module = read_module(file.top, netlist, most_cells)
    check_control(file, signature_of_unit)
    reading = Reading(file, signature_of_unit, module, most_cells, read_views(file))
    found = reading.variant(STEP)
    circuit, said, covers = found.circuit, list(found.said), found.covers
    most_in_flight = 0
    if file.handshake is not None:
        states, most_in_flight = reading.states_of_control()
        said.append(f"stalls do not matter: proved in all {states} states of the control")
        found = replace(found, held=tuple(x for x in found.held if x != SETTLED))  # it begins with the reset
        covers = f"{covers.removesuffix(' in every cycle')} in every transfer, with any bubbles and back-pressure"
    said += [
        f"{operand} is a whole unpacked port {declared}: packed, its first element is the highest, so k = 0 is the "
        "last one"
        for operand, declared in ascending_ports(file)
    ]
    design = reading.design(found)
    report = RtlReport(
        file.top,
        netlist.elaborator,
        {n: (x.direction, len(x.bits)) for n, x in module.ports.items()},
        mapped(file, found.tied),
        len(circuit.cells),
        dict(Counter(cell.kind for cell in circuit.cells).most_common()),
        found.registers,
        0 if file.clock is None else file.clock.latency if isinstance(file.clock.latency, int) else None,
        _folded(circuit.unknown),
        (FACTS_ABOUT_X, PRIORITY, *said),
        netlist.warnings,
        covers,
        {n: len(x.bits) for n, x in module.registers.items()},
    )
    claims = reading.transitions() if file.accumulates else ()
    direct = reading.why_not_direct if file.accumulates else None
    if direct is not None and any(map(file.later, STEERING)):
        raise InputError(direct)
    return RtlUnit(
        *(file, design, report, module.ports, module.registers, claims, found.longest, direct, reading.views),
        most_in_flight=most_in_flight,
    )


def design_of(file: UnitFile, module: Module) -> Design:
    """Return the design that a module is, which was elaborated before, with the ports and formats of ``file``.

    Raises InputError as ``read_unit``.
    """
    reading = Reading(file, signature_of(file, None), module, MOST_CELLS, read_views(file))
    return reading.design(reading.variant(STEP))


def _folded(unknown: Mapping[str, Bits]) -> dict[str, int]:
    """Return how many bits of each net have any value, under the name of the net with ranges: ``net[15:8,3:0]``."""
    places: dict[str, Counter[str]] = {}
    for name, bits in unknown.items():
        found = _BIT.fullmatch(name)
        net, index = (name, None) if found is None else (found["net"], found["index"])
        places.setdefault(net, Counter()).update([index or ""] if len(bits) == 1 else map(str, range(len(bits))))
    return {
        f"{net}{_ranges(int(x) for x in held if x)}" + f" at {max(held.values())} ages" * (max(held.values()) > 1): sum(
            held.values()
        )
        for net, held in places.items()
    }


def _ranges(places: Iterable[int]) -> str:
    """Return places as a slice; nothing where there are none."""
    runs: list[list[int]] = []
    for place in sorted(places, reverse=True):
        if runs and runs[-1][-1] == place + 1:
            runs[-1].append(place)
        else:
            runs.append([place])
    texts = [str(x[0]) if len(x) == 1 else f"{x[0]}:{x[-1]}" for x in runs]
    return f"[{','.join(texts)}]" if texts else ""
