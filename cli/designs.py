"""`mmaproof designs` and `mmaproof show`: what the catalogue holds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer
from rich.measure import Measurement
from rich.table import Table

from mmaproof.cli.assumed import MARK, say_assumed
from mmaproof.cli.options import DesignName, Json
from mmaproof.cli.output import print_json, results, say, say_table, say_wrapped

if TYPE_CHECKING:
    from mmaproof.designs.design import Design
    from mmaproof.designs.evidence import Evidence
    from mmaproof.explain.answers.listings import DesignAnswer

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
    of: Annotated[
        str | None,
        typer.Option("--architecture", metavar="NAME", help="The same: h100, b200, mi300x, ...", show_default=False),
    ] = None,
    formats: Annotated[
        str | None,
        typer.Option(
            "--formats",
            metavar="LIST",
            help="Only designs with a and b in these formats: e4m3, fp8, or e4m3,e5m2.",
            show_default=False,
        ),
    ] = None,
    k: Annotated[
        int | None, typer.Option("--k", metavar="N", min=1, help="Only designs of this K.", show_default=False)
    ] = None,
    json: Json = False,
) -> None:
    """List the catalogue: every design with its K, its main parameters, and what its row rests on.

    The last column is vendor, published or assumed, with +recorded where recordings decide parameters of the row.
    """
    from mmaproof.designs.catalogue import load_catalogue
    from mmaproof.designs.errors import InputError
    from mmaproof.designs.names import of_formats

    catalogue = load_catalogue()
    if architecture is not None and of is not None:
        raise InputError(f"--architecture {of}: {architecture} is named already: leave one of them out")
    place = of if architecture is None else architecture
    if place is not None:
        place = catalogue.architecture(place)
    chosen = [d for d in catalogue.designs.values() if place in (None, d.architecture) and k in (None, d.k)]
    if formats is not None:
        chosen = of_formats(chosen, formats)
    if json:
        from mmaproof.explain.answers.listings import Designs

        print_json(Designs(designs=[design_of(d) for d in chosen]))
        return
    table = Table(box=None, pad_edge=False, header_style="bold")
    for heading in ("design", "K", "L", "F", "rho", "family", "evidence"):
        # on a narrow terminal names of designs are folded and nothing is left out
        table.add_column(
            heading, justify="right" if heading in "KLF" else "left", no_wrap=heading != "design", overflow="fold"
        )
    for d in chosen:
        fraction_bits = str(d.settings.get("fraction_bits", "-"))
        table.add_row(d.name, str(d.k), str(d.step.L), fraction_bits, d.step.rho, d.family, evidence_word(d))
    console = results()
    width = max(console.width, NARROWEST)
    if not console.is_terminal:
        width = Measurement.get(console, console.options.update(max_width=WIDEST), table).maximum
    say_table(table, width)


def show(
    design: DesignName,
    json: Json = False,
    disclosure: Annotated[
        bool,
        typer.Option(
            "--disclosure", help="Print the complete description of the unit as JSON; disclosure:FILE reads it back."
        ),
    ] = False,
) -> None:
    """Show one design: formats, widths, source, and every parameter with its meaning and what its value rests on."""
    from mmaproof.designs.catalogue import find_design, load_catalogue
    from mmaproof.designs.disclosure import disclose
    from mmaproof.designs.levels import levels_of
    from mmaproof.designs.parameters import DEFINITIONS, complete_settings, format_settings
    from mmaproof.smt.semantics.widths import sum_widths

    found = find_design(design)
    if json:
        print_json(design_of(found))
        return
    if disclosure:
        print_json(disclose(found))
        return
    say(found.name)
    title = load_catalogue().architectures.get(found.architecture)
    if title is not None:
        say(f"  {title.title}{' (' + ', '.join(title.targets) + ')' if title.targets else ''}, family {found.family}")
    say(f"  source: {found.source}")
    say_assumed([found], "everything about it")
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
    for heading in ("parameter", "value", "evidence", "meaning", "allowed"):
        table.add_column(heading, overflow="fold")
    names = [name for name in DEFINITIONS if name in found.settings or name in ALWAYS_SHOWN]
    levels = levels_of(found)
    for name, value in format_settings(complete_settings(found.chain, found.step), names).items():
        changed = "*" if name in found.changed else ""
        level = levels[name].level.value if name in levels else "-"
        table.add_row(name + changed, value, level, DEFINITIONS[name].meaning, DEFINITIONS[name].allowed())
    say_table(table)
    if found.changed:
        say("* changed from the catalogue's row")
    print_evidence(levels)


def design_of(design: Design) -> DesignAnswer:
    """Return a design as an answer, with the evidence for each parameter and whether its row is assumed."""
    from mmaproof.designs.levels import levels_of
    from mmaproof.explain.answers.listings import DesignAnswer, Stated

    evidence = {name: Stated.taken(x) for name, x in levels_of(design).items()}
    return DesignAnswer(**design.record(), assumed=design.is_assumed, evidence=evidence)


def evidence_word(design: Design) -> str:
    """Return in a word what the row of a design rests on: its level, and whether recordings decide some of it."""
    from mmaproof.designs.levels import load_recorded

    stated = design.evidence.whole
    word = MARK if design.is_assumed else "-" if stated is None else stated.level.value
    recorded = load_recorded().get(design.evidence.row)
    return f"{word}+recorded" if recorded is not None and recorded.refuted else word


def print_evidence(levels: dict[str, Evidence]) -> None:
    """Print what the levels of a table of parameters are: parameters of the same evidence together."""
    from mmaproof.designs.evidence import Level

    order = list(Level)
    held: dict[Evidence, list[str]] = {}
    for name, evidence in levels.items():
        held.setdefault(evidence, []).append(name)
    for evidence, names in sorted(held.items(), key=lambda x: order.index(x[0].level)):
        say_wrapped(f"{', '.join(names)}: {evidence.source}", f"{evidence.level.value}: ")
