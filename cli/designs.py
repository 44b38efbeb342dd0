"""`mmaproof designs` and `mmaproof show`: what the catalogue holds."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.measure import Measurement
from rich.table import Table

from mmaproof.cli.options import DesignName, Json
from mmaproof.cli.output import print_json, results, say

ALWAYS_SHOWN = ("widening",)
"""Parameters that are shown of every design, of those too whose steps do not have them."""
NARROWEST, WIDEST = 60, 1000
"""Columns that a list of designs takes: on a terminal at least, elsewhere at most."""


def register(app: typer.Typer) -> None:
    """Add the commands to ``app``."""
    app.command("designs")(list_designs)
    app.command("show")(show)


def list_designs(
    architecture: Annotated[
        str | None, typer.Argument(metavar="[ARCHITECTURE]", help="List one architecture only.", show_default=False)
    ] = None,
    json: Json = False,
) -> None:
    """List the catalogue: every design with its K and main parameters."""
    from mmaproof.designs.catalogue import load_catalogue
    from mmaproof.designs.errors import DesignError

    catalogue = load_catalogue()
    if architecture is not None and architecture not in catalogue.architectures:
        raise DesignError(f"unknown architecture {architecture!r}: one of {', '.join(catalogue.architectures)}")
    chosen = [d for d in catalogue.designs.values() if architecture in (None, d.architecture)]
    if json:
        print_json({"designs": [d.record() for d in chosen]})
        return
    table = Table(box=None, pad_edge=False, header_style="bold")
    for heading in ("design", "K", "L", "F", "rho", "family"):
        # on a narrow terminal names of designs are folded and nothing is left out
        table.add_column(
            heading, justify="right" if heading in "KLF" else "left", no_wrap=heading != "design", overflow="fold"
        )
    for d in chosen:
        fraction_bits = str(d.settings.get("fraction_bits", "-"))
        table.add_row(d.name, str(d.k), str(d.step.L), fraction_bits, d.step.rho, d.family)
    console = results()
    width = max(console.width, NARROWEST)
    if not console.is_terminal:
        width = Measurement.get(console, console.options.update(max_width=WIDEST), table).maximum
    results(width).print(table)


def show(design: DesignName, json: Json = False) -> None:
    """Show one design: formats, every parameter with its meaning, widths, and source."""
    from mmaproof.designs.catalogue import find_design, load_catalogue
    from mmaproof.designs.parameters import DEFINITIONS, complete_settings, format_settings
    from mmaproof.smt.semantics.widths import sum_widths

    found = find_design(design)
    if json:
        print_json(found.record())
        return
    title = load_catalogue().architectures[found.architecture]
    say(found.name)
    say(f"  {title.title}{' (' + ', '.join(title.targets) + ')' if title.targets else ''}, family {found.family}")
    say(f"  source: {found.source}")
    say("  formats: " + ", ".join(f"{x} {f.name}" for x, f in zip("abcd", found.formats, strict=True)))
    steps, products = found.k // found.step.L, found.step.L
    say(
        f"  M, N, K: {found.m}, {found.n}, {found.k}: {steps} step{'s' * (steps > 1)} of "
        f"{products} product{'s' * (products > 1)}"
    )
    if found.scale_format is not None:
        say(f"  scales: {found.scale_format.name}, one for each {found.block} elements of a and of b")
    if "carry_bits" in found.settings:
        widths = sum_widths(found)
        wraps = f", wraps: {widths.sufficient_carry_bits} would suffice" if widths.may_wrap else ""
        say(
            f"  sum register: {widths.register} bits = sign + {widths.carry_bits} carry + {widths.integer_bits} integer"
            f" + {widths.fraction_bits} fraction{wraps}"
        )
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    for heading in ("parameter", "value", "meaning", "allowed"):
        table.add_column(heading, overflow="fold")
    names = [name for name in DEFINITIONS if name in found.settings or name in ALWAYS_SHOWN]
    for name, value in format_settings(complete_settings(found.chain, found.step), names).items():
        changed = "*" if name in found.changed else ""
        table.add_row(name + changed, value, DEFINITIONS[name].meaning, DEFINITIONS[name].allowed())
    results().print(table)
    if found.changed:
        say("* changed from the catalogue's row")
