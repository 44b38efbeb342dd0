"""Files in which engineers look at a witness: waves, a self-checking test bench, an assertion for their own tools."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from mmaproof.cli.options import option
from mmaproof.cli.output import complain, progress, tool_version

if TYPE_CHECKING:
    from mmaproof.designs.design import Design
    from mmaproof.designs.element import Operands
    from mmaproof.generators.vectors import Vector
    from mmaproof.rtl import RtlUnit


@dataclass(frozen=True)
class WrittenOptions:
    """Which of these files are written: the options that ``with_options`` gives a command, as they were typed."""

    vcd: Annotated[
        Path | None,
        option("--vcd FILE", "Record the witness on the sources, beside the model's signals (.vcd, .fst)."),
    ] = None
    bench: Annotated[
        Path | None,
        option("--bench FOLDER", "Write a self-checking test bench (Verilog, cocotb) of the witness, or of --suite."),
    ] = None
    suite: Annotated[
        str | None,
        option("--suite SOURCE", "Rows of the bench: a vector file, a recording, or a distribution of operands."),
    ] = None
    sva: Annotated[
        Path | None,
        option("--sva FOLDER", "Write an assertion with the model, as a module that is bound to the unit."),
    ] = None

    def ready(self) -> None:
        """Refuse what cannot be written. Raises InputError."""
        from mmaproof.designs.errors import InputError
        from mmaproof.designs.files import require_new_folder, require_writable

        if self.vcd is not None:
            require_writable(self.vcd)
        for folder in (self.bench, self.sva):
            if folder is not None:
                require_new_folder(folder)
        if self.suite is not None and self.bench is None:
            raise InputError(f"--suite {self.suite}: says what rows a test bench has: give --bench FOLDER too")

    def write_assertion(self, unit: RtlUnit, meant: Design) -> None:
        """Write the assertion, if it is wanted."""
        if self.sva is None:
            return
        from mmaproof.generators.formats.verilog import write_texts
        from mmaproof.generators.models.sv_assertion import assertion_files

        write_texts(self.sva, assertion_files(unit, meant, tool_version()))

    def write_waves(
        self,
        unit: RtlUnit,
        model: Design,
        witness: Operands | None,
        free: Mapping[str, int],
        control: Mapping[str, bool] | None,
    ) -> None:
        """Write waves of a witness; None is there if nothing differs. A note says why nothing is written."""
        if self.vcd is None:
            return
        if witness is None:
            complain(f"note: {self.vcd} is not written: there is no witness")
            return
        from mmaproof.designs.errors import TargetUnavailable
        from mmaproof.hardware_replay.rtl_simulator import record_waves

        with progress("recording the witness"):
            try:
                record_waves(unit, model, witness, self.vcd, free=free, control=control)
            except TargetUnavailable as problem:
                complain(f"note: {self.vcd} is not written: {problem}")

    def write_bench(self, unit: RtlUnit, meant: Design, witness: Vector | None, seed: int) -> None:
        """Write the bench, if it is wanted: of a suite, else of the witness, else of random operands."""
        if self.bench is None:
            return
        from mmaproof.designs.errors import InputError
        from mmaproof.generators.formats.selection import Selection, select
        from mmaproof.generators.formats.unit_bench import write_unit_bench
        from mmaproof.rtl.meant import in_one_pass
        from mmaproof.smt.trace import evaluate

        model = in_one_pass(unit.design, meant)
        if self.suite is None and witness is not None:
            expected = {model.name: evaluate(model, witness.operands)}
            selection = Selection((replace(witness, outputs=expected),), "the witness", {}, tool_version())
        else:
            rows = 1000 if self.suite is None else None
            selection = select(
                self.suite or "uniform-bits", [model], k=unit.design.k, rows=rows, seed=seed, version=tool_version()
            )
        if not unit.file.adds_c:
            vectors = [replace(x, operands=replace(x.operands, c=0)) for x in selection.vectors]
            vectors = [replace(x, outputs={model.name: evaluate(model, x.operands)}) for x in vectors]
            selection = replace(selection, vectors=tuple(vectors))
        try:
            write_unit_bench(unit, selection, self.bench)
        except InputError as problem:
            complain(f"note: {self.bench} is not written: {problem}")


WRITTEN = WrittenOptions()
"""What is written without options: nothing."""
