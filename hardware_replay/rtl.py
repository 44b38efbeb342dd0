"""A target that is user RTL: the netlist that Yosys makes of a UNIT.toml, run on arrays or as native code."""

from __future__ import annotations

from dataclasses import dataclass

from mmaproof.designs.design import Design
from mmaproof.hardware_replay.answers import Rows
from mmaproof.hardware_replay.target import Ran, Unit
from mmaproof.rtl import RtlUnit
from mmaproof.smt.evaluate import evaluate_batch


@dataclass(frozen=True)
class RtlTarget:
    """The netlist of a unit. Undefined bits and free inputs are zeros."""

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
        return self.read.design

    def run(self, rows: Rows) -> Ran:
        """Return d of every row."""
        return Ran.all(evaluate_batch(self.read.design, rows.batch))
