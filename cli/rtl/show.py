"""`mmaproof show rtl:UNIT.toml`: what was elaborated of a unit, how its ports are mapped, and what was assumed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mmaproof.cli.output import print_json, progress, say, say_wrapped
from mmaproof.cli.verdicts import say_conditions

if TYPE_CHECKING:
    from mmaproof.designs.design import Design
    from mmaproof.explain.answers.listings import UnitAnswer
    from mmaproof.rtl import RtlUnit

MOST_KINDS = 12
"""Kinds of cells that the text lists."""
MOST_REGISTERS = 20
"""Registers that the text lists."""
MOST_UNKNOWN = 20
"""Nets with undefined bits that the text lists."""


def show_unit(path: str, json: bool) -> None:
    """Elaborate a unit, and print what came out: ports, cells, registers, latency, and what was assumed."""
    from mmaproof.rtl.meant import read_rtl

    with progress(f"elaborating {path}"):
        unit, meant = read_rtl(path)
    if json:
        print_json(unit_of(unit, meant))
    else:
        print_unit(unit, meant)


def unit_of(unit: RtlUnit, meant: Design | None) -> UnitAnswer:
    """Return a unit as an answer."""
    from mmaproof.explain.answers.listings import Port, UnitAnswer

    design = unit.design
    return UnitAnswer.taken(
        unit.report,
        unit=design.name,
        design=None if meant is None else meant.name,
        **{f"{x}_format": fmt.name for x, fmt in zip("abcd", design.formats, strict=True)},
        scale_format=None if design.scale_format is None else design.scale_format.name,
        block=design.block,
        k=design.k,
        ports={n: Port(direction=direction, bits=bits) for n, (direction, bits) in unit.report.ports.items()},
        when=design.conditions,
    )


def print_unit(unit: RtlUnit, meant: Design | None) -> None:
    """Print what is known of a unit for a person."""
    report, design = unit.report, unit.design
    a, b, c, d = (fmt.name for fmt in design.formats)
    say(f"{design.name}: module {report.top}")
    say(f"  d = c + {design.k} products: a {a}, b {b}, c {c}, d {d}{_scales(design)}")
    if meant is not None:
        say(f"  meant to be {meant.name}")
    say("  ports")
    for name, (direction, bits) in report.ports.items():
        say(f"    {direction:6} {name}, {bits} bit{'s' * (bits != 1)}")
    say("  mapped")
    for name, stated in report.mapped.items():
        say_wrapped(stated, f"    {name} = ")
    kinds = [f"{kind} {count}" for kind, count in report.kinds.items()]
    rest = [f"{len(kinds) - MOST_KINDS} other kinds"] if len(kinds) > MOST_KINDS else []
    say_wrapped(", ".join(kinds[:MOST_KINDS] + rest), f"  {report.cells} cells: ")
    say(
        f"  {report.registers} register bits"
        + (f", latency {report.latency}" if report.registers and report.latency else "")
    )
    for name, width in list(report.register_names.items())[:MOST_REGISTERS]:
        say(f"    {name}, {width} bit{'s' * (width != 1)}")
    if len(report.register_names) > MOST_REGISTERS:
        say(f"    and {len(report.register_names) - MOST_REGISTERS} more registers; --json lists them")
    if report.unknown:
        say(f"  {sum(report.unknown.values())} bits may have any value")
        for name, count in list(report.unknown.items())[:MOST_UNKNOWN]:
            say(f"    {name}, {count} bit{'s' * (count != 1)}")
        if len(report.unknown) > MOST_UNKNOWN:
            say(f"    and {len(report.unknown) - MOST_UNKNOWN} more nets; --json lists them")
    say_conditions([design])
    for text in report.assumptions:
        say_wrapped(text, "  assumed: ")
    for text in report.warnings:
        say_wrapped(text, "  ")
    say(f"  elaborated by {report.elaborator}")


def _scales(design: Design) -> str:
    if design.scale_format is None:
        return ""
    return f", scales {design.scale_format.name} of {design.block} elements each"
