"""`mmaproof properties`: what can be asked of a design."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table
from rich.text import Text

from mmaproof.cli.options import Json
from mmaproof.cli.output import print_json, results, say, say_table, say_wrapped

if TYPE_CHECKING:
    from mmaproof.explain.answers.listings import PropertyAnswer
    from mmaproof.properties.property import Property


LEAST_TEXT = 40
"""Columns for statement and source together."""


def register(app: typer.Typer) -> None:
    """Add the command to ``app``."""
    app.command("properties")(properties)


def properties(
    name: Annotated[
        str | None, typer.Argument(metavar="[NAME]", help="Show one property with all its parts.", show_default=False)
    ] = None,
    json: Json = False,
) -> None:
    """List the properties that `check` and `fingerprint` ask of designs: name, statement and published source.

    With NAME: also what a witness means, the designs it is asked of, a specimen, and the specimen's mutant, a design on
    which the property comes out the other way.
    """
    from mmaproof.properties.library import PROPERTIES, find_property

    chosen = list(PROPERTIES.values()) if name is None else [find_property(name)]
    if json:
        from mmaproof.explain.answers.listings import Properties

        print_json(Properties(properties=[property_of(p) for p in chosen]))
    elif name is None:
        print_table(chosen)
    else:
        print_property(chosen[0])


def print_table(chosen: Sequence[Property]) -> None:
    """Print properties for a person. Nothing is cut off on a narrow terminal."""
    name = max(len(p.name) for p in chosen)
    rest = max(results().width - name - 4, LEAST_TEXT)
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 1, 0))
    for heading, width in (("name", name), ("statement", rest * 3 // 5), ("source", rest - rest * 3 // 5)):
        table.add_column(heading, width=width)
    for p in chosen:
        table.add_row(*map(Text, (p.name, p.claimed(), p.source)))
    say_table(table, name + 4 + rest)


def property_of(asked: Property) -> PropertyAnswer:
    """Return a property as a part of an answer."""
    from mmaproof.designs.catalogue import find_design
    from mmaproof.explain.answers.listings import PropertyAnswer

    specimen = find_design(asked.specimen)
    names = {"specimen": specimen.name, "mutant": asked.mutant(specimen).name}
    return PropertyAnswer.taken(asked, statement=asked.claimed(), **names)


def print_property(asked: Property) -> None:
    """Print everything about a property for a person."""
    from mmaproof.explain.answers.answer import plain

    record = plain(property_of(asked))
    say(record.pop("name"))
    for label, text in [*record.items(), *(("asked of", text) for text in _asked_of(asked))]:
        say_wrapped(text, f"  {label:<9}  ")


def _asked_of(asked: Property) -> list[str]:
    """Return how many designs of the catalogue the property is asked of, and why it is not asked of the others."""
    from mmaproof.designs.catalogue import load_catalogue

    reasons = Counter(asked.why_not(d) for d in load_catalogue().designs.values())
    askable, total = reasons.pop(None, 0), len(load_catalogue().designs)
    return [
        f"{askable} of the {total} designs of the catalogue",
        *(f"not {count}: {reason}" for reason, count in reasons.most_common()),
    ]
