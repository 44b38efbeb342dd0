"""`mmaproof rtl run`: one dot product on the netlist of a unit."""

from __future__ import annotations

from typing import Annotated, Any

from mmaproof.cli import lib
from mmaproof.cli import options as opt
from mmaproof.cli.operands import OperandOptions, operands_record
from mmaproof.cli.output import Exit, progress, say
from mmaproof.cli.showing import ShowingOptions
from mmaproof.designs.errors import InputError, TargetUnavailable


@opt.with_options()
def run(
    path: opt.UnitPath,
    given: OperandOptions,
    simulate: Annotated[
        bool, opt.option("--simulate", "Run the sources in Icarus or Verilator, too, and compare.")
    ] = False,
    json: opt.Json = False,
) -> int:
    """Compute d = c + sum a[k]*b[k] as the netlist of a unit does."""
    with progress(f"elaborating {path}"):
        unit, meant = lib.meant.read_rtl(path)
    design = unit.design
    operands = given.of(design, takes_c=unit.file.adds_c)
    for name, value in unit.fixed.items():
        if {operands.c} - {0, value} if name == "c" else set(getattr(operands, name)) - {value}:
            omit = "omit --c, or give" if name == "c" else "give"
            raise InputError(f"{path}: the unit has no {name} input: {omit} --{name} {value:#x}")
    operands = unit.completed(operands)
    d = {"d": lib.trace.evaluate(design, operands)}
    if meant is not None and meant.formats == design.formats:
        d["model"] = lib.trace.evaluate(lib.meant.in_one_pass(design, meant), operands)
    if simulate:
        ran = lib.rtl_simulator.run_sources(unit, operands, d["d"])
        if ran.d is None:
            raise TargetUnavailable(f"not run in a simulator: {ran.reason}")
        d["simulated"] = ran.d
    fmt = design.d_format
    returned: dict[str, Any] = {name: fmt.hex(x) for name, x in d.items()}
    operands_given = operands_record(design.formats, operands, design.scale_format)
    answer = lib.verdicts.NetlistRun(unit=design.name, k=len(operands), **operands_given, **returned)
    who = {"d": design.name, "model": "" if meant is None else meant.name, "simulated": "the sources in the simulator"}

    def text() -> None:
        for name, x in d.items():
            say(f"{fmt.hex(x)} = {lib.values.pattern_value(fmt, x)}" + (f" on {who[name]}" if len(d) > 1 else ""))

    ShowingOptions(json=json).show(answer, text)
    return Exit.HOLDS
