"""`mmaproof show rtl:UNIT.toml`: what was elaborated of a unit, how its ports are mapped, and what was assumed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from mmaproof.cli.output import print_json, progress, say, say_wrapped
from mmaproof.cli.verdicts import say_conditions

if TYPE_CHECKING:
    from mmaproof.designs.design import Design
    from mmaproof.explain.answers.listings import UnitAnswer
    from mmaproof.rtl import RtlUnit

MOST_KINDS = 12
"""Kinds of cells that the text lists."""
MOST_LINES = 6
"""Ports, registers, and nets with undefined bits that the text lists: all of it fits a screen."""
MOST_TEXT = 150
"""Characters of what an operand is mapped to that the text shows."""


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
    _say_some([f"{kind:6} {name}, {_bits(bits)}" for name, (kind, bits) in report.ports.items()], "ports")
    say("  mapped")
    for name, stated in report.mapped.items():
        parts = stated.split(", ")
        is_long = len(stated) > MOST_TEXT and len(parts) > 3
        say_wrapped(f"{parts[0]}, {parts[1]}, ... {parts[-1]}" if is_long else stated, f"    {name} = ")
    kinds = [f"{kind} {count}" for kind, count in report.kinds.items()]
    rest = [f"{len(kinds) - MOST_KINDS} other kinds"] if len(kinds) > MOST_KINDS else []
    say_wrapped(", ".join(kinds[:MOST_KINDS] + rest), f"  {report.cells} cells: ")
    say(
        f"  {report.registers} register bits"
        + (f", latency {report.latency}" if report.registers and report.latency else "")
    )
    _say_some([f"{name}, {_bits(width)}" for name, width in report.register_names.items()], "registers")
    if report.unknown:
        say(f"  {sum(report.unknown.values())} bits may have any value")
        _say_some([f"{name}, {_bits(count)}" for name, count in report.unknown.items()], "nets")
    say_conditions([design])
    for text in report.assumptions:
        say_wrapped(text, "  assumed: ")
    for text in report.warnings:
        say_wrapped(text, "  ")
    say(f"  elaborated by {report.elaborator}")


def _say_some(lines: Sequence[str], what: str) -> None:
    """Print the first lines of a list, and how many there are besides."""
    shown = lines if len(lines) <= MOST_LINES + 1 else lines[:MOST_LINES]
    for line in shown:
        say(f"    {line}")
    if len(shown) < len(lines):
        say(f"    and {len(lines) - len(shown)} more {what}; --json lists them")


def _bits(count: int) -> str:
    return f"{count} bit{'s' * (count != 1)}"


def _scales(design: Design) -> str:
    if design.scale_format is None:
        return ""
    return f", scales {design.scale_format.name} of {design.block} elements each"
