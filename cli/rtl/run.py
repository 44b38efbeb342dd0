"""`mmaproof rtl run`: one dot product on the netlist of a unit."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from mmaproof.cli.operands import operands_record, parse_operands
from mmaproof.cli.options import Json
from mmaproof.cli.output import print_json, progress, say
from mmaproof.cli.rtl.options import UnitPath


def run(
    path: UnitPath,
    a: Annotated[str, typer.Option("--a", metavar="LIST", help="Elements of a in hexadecimal: 0x3c00,0x0000,...")],
    b: Annotated[str, typer.Option("--b", metavar="LIST", help="Elements of b, likewise.")],
    c: Annotated[str, typer.Option("--c", metavar="NUMBER", help="The accumulator.")],
    scale_a: Annotated[
        str | None, typer.Option("--scale-a", metavar="LIST", help="Scales of the blocks of a, if it has scales.")
    ] = None,
    scale_b: Annotated[str | None, typer.Option("--scale-b", metavar="LIST", help="Those of b.")] = None,
    simulate: Annotated[
        bool, typer.Option("--simulate", help="Run the sources in Icarus or Verilator, too, and compare.")
    ] = False,
    json: Json = False,
) -> None:
    """Compute d = c + sum a[k]*b[k] as the netlist of a unit does."""
    from mmaproof.designs.errors import InputError
    from mmaproof.explain.answers.netlists import NetlistRun
    from mmaproof.explain.values import pattern_value
    from mmaproof.rtl.meant import in_one_pass, read_rtl
    from mmaproof.smt.trace import evaluate

    with progress(f"elaborating {path}"):
        unit, meant = read_rtl(path)
    design = unit.design
    operands = parse_operands(design, a, b, c, None, scale_a, scale_b)
    if not unit.file.adds_c and operands.c:
        raise InputError(f"{path}: the unit has no c: --c 0x0 is what it is given")
    d = {"d": evaluate(design, operands)}
    if meant is not None and meant.formats == design.formats:
        d["model"] = evaluate(in_one_pass(design, meant), operands)
    if simulate:
        from mmaproof.designs.errors import TargetUnavailable
        from mmaproof.hardware_replay.rtl_simulator import run_sources

        ran = run_sources(unit, operands, d["d"])
        if ran.d is None:
            raise TargetUnavailable(f"not run in a simulator: {ran.reason}")
        d["simulated"] = ran.d
    fmt = design.d_format
    if json:
        results: dict[str, Any] = {name: fmt.hex(x) for name, x in d.items()}
        print_json(
            NetlistRun(
                unit=design.name,
                k=len(operands),
                **operands_record(design.formats, operands, design.scale_format),
                **results,
            )
        )
        return
    who = {"d": design.name, "model": "" if meant is None else meant.name, "simulated": "the sources in the simulator"}
    for name, x in d.items():
        say(f"{fmt.hex(x)} = {pattern_value(fmt, x)}" + (f" on {who[name]}" if len(d) > 1 else ""))
