"""`mmaproof list`: what there is by name: designs, properties, algorithms and plans."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Annotated, Any

from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

from mmaproof.cli import lib
from mmaproof.cli import options as opt
from mmaproof.cli.output import MARK, print_json, results, say, say_table, say_wrapped
from mmaproof.cli.show import algorithm_of, design_of, property_of
from mmaproof.designs.errors import InputError

NARROWEST, WIDEST = 60, 1000
"""Columns that a list of designs takes: on a terminal at least, elsewhere at most."""
LEAST_TEXT = 40
"""Columns for statement and source together."""
_WAYS = re.compile(r"(\d{1,6})-way (\S+)")
"""What people call a unit of their own: the number of products, and their format."""


def listing(
    kind: Annotated[
        str,
        opt.argument(
            "[KIND]",
            "designs, properties, algorithms or plans; the name of an architecture lists its designs.",
            autocompletion=opt.complete_kinds,
        ),
    ] = "designs",
    architecture: opt.Architecture = None,
    of: Annotated[str | None, opt.option("--architecture NAME", "The same: h100, b200, mi300x, ...")] = None,
    formats: Annotated[
        str | None, opt.option("--formats LIST", "Only designs with a and b in these formats: e4m3, fp8, or e4m3,e5m2.")
    ] = None,
    k: Annotated[int | None, opt.option("--k N", "Only designs of this K.", min=1)] = None,
    like: Annotated[
        str | None,
        opt.option(
            "--like UNIT",
            "Only designs like a unit of your own: of the same formats, such as f32.bf16.bf16.f32, or with as many "
            "products in a step or an instruction: 4-way bf16.",
        ),
    ] = None,
    json: opt.Json = False,
) -> None:
    """List what can be named: designs of the catalogue, properties, algorithms, or presets and keys of plans.

    Of each design its K, its main parameters, and what its row rests on: vendor, published or assumed, with +recorded
    where recordings decide parameters of the row. `mmaproof show NAME` shows everything about one.
    """
    if kind not in (DESIGNS, *KINDS) and architecture is None:
        kind, architecture = DESIGNS, kind
    if architecture is not None and of is not None:
        raise InputError(f"--architecture {of}: {architecture} is named already: leave one of them out")
    place = of if architecture is None else architecture
    if kind in KINDS:
        given = {"": place, "--formats ": formats, "--k ": k, "--like ": like}
        if odd := [f"{x}{value}" for x, value in given.items() if value is not None]:
            raise InputError(f"{kind} are of no architecture, format or length: leave {odd[0]} out")
        answer, text = KINDS[kind]()
    elif kind == DESIGNS:
        answer, text = designs(place, formats, k, like)
    else:
        raise InputError(f"unknown kind {kind!r}: one of {', '.join((DESIGNS, *KINDS))}")
    if json:
        print_json(answer)
    else:
        text()


def designs(
    architecture: str | None, formats: str | None, k: int | None, like: str | None
) -> tuple[lib.listings.Designs, Callable[[], None]]:
    """Return the designs as an answer, and what prints them. Raises DesignError for an unknown architecture."""
    catalogue = lib.catalogue.load_catalogue()
    if architecture is not None:
        architecture = catalogue.architecture(architecture)
    chosen = [d for d in catalogue.designs.values() if architecture in (None, d.architecture) and k in (None, d.k)]
    if formats is not None:
        chosen = lib.names.of_formats(chosen, formats)
    if like is not None and (ways := _WAYS.fullmatch(like)) is not None:
        chosen = [d for d in lib.names.of_formats(chosen, ways[2]) if int(ways[1]) in (d.k, d.step.L)]
    elif like is not None:
        signature = lib.signature.Signature.parse(like)
        chosen = [d for d in chosen if d.signature == signature]
    return lib.listings.Designs(designs=[design_of(d) for d in chosen]), lambda: print_designs(chosen)


def properties() -> tuple[lib.listings.Properties, Callable[[], None]]:
    """Return the properties as an answer, and what prints them."""
    chosen = list(lib.library.PROPERTIES.values())
    return lib.listings.Properties(properties=[property_of(x) for x in chosen]), lambda: print_properties(chosen)


def algorithms() -> tuple[lib.listings.Algorithms, Callable[[], None]]:
    """Return the algorithms as an answer, and what prints them."""
    found = lib.algorithms.ALGORITHMS.values()
    answer = lib.listings.Algorithms(algorithms=[algorithm_of(x) for x in found])
    return answer, lambda: print_table(
        ("algorithm", "what it is", "source"), [(x.name, x.what, x.source) for x in found]
    )


def plans() -> tuple[lib.listings.Presets, Callable[[], None]]:
    """Return the presets and keys of plans as an answer, and what prints them."""
    found = lib.spelling.load_presets().values()
    answer = lib.listings.Presets(
        presets=[
            lib.listings.Preset.taken(
                x, version=x.version or None, file=x.file or None, plan=lib.programs.read_plan(x.name).name
            )
            for x in found
        ],
        keys={name: lib.listings.Key.taken(x) for name, x in lib.programs.KEYS.items()},
    )

    def text() -> None:
        print_table(("preset", "what it is", "source"), [(x.name, x.what, x.rests_on) for x in found])
        say("\nKeys of a plan, in the order of the data: UNIT | key=value | key=value")
        for name, key in lib.programs.KEYS.items():
            say_wrapped(f"{key.meaning}: {key.values} (without it: {key.default})", f"  {name:<10} ")

    return answer, text


DESIGNS = "designs"
KINDS: dict[str, Callable[[], tuple[Any, Callable[[], None]]]] = {
    "properties": properties,
    "algorithms": algorithms,
    "plans": plans,
}
"""What is listed, beside designs."""


def print_designs(chosen: Sequence[lib.design.Design]) -> None:
    """Print designs for a person. On a narrow terminal their names are folded, and nothing is left out."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    for heading in ("design", "K", "L", "F", "rho", "family", "evidence"):
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


def evidence_word(design: lib.design.Design) -> str:
    """Return in a word what the row of a design rests on: its level, and whether recordings decide some of it."""
    stated = design.evidence.whole
    word = MARK if design.is_assumed else "-" if stated is None else stated.level.value
    recorded = lib.open_points.load_recorded().get(design.evidence.row)
    return f"{word}+recorded" if recorded is not None and recorded.refuted else word


def print_properties(chosen: Sequence[lib.property.Property]) -> None:
    """Print properties for a person. Nothing is cut off on a narrow terminal."""
    name = max(len(p.name) for p in chosen)
    rest = max(results().width - name - 4, LEAST_TEXT)
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 1, 0))
    for heading, width in (("name", name), ("statement", rest * 3 // 5), ("source", rest - rest * 3 // 5)):
        table.add_column(heading, width=width)
    for p in chosen:
        table.add_row(*map(Text, (p.name, p.statement, p.source)))
    say_table(table, name + 4 + rest)


def print_table(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print a table whose first column has names, which are never broken."""
    table = Table(box=None, pad_edge=False)
    for place, heading in enumerate(headings):
        table.add_column(heading, no_wrap=place == 0)
    for row in rows:
        table.add_row(*map(Text, row))
    say_table(table)
