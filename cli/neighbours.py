"""The nearest design of the catalogue, as `mmaproof identify` shows it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from mmaproof.cli.operands import operand_lines, operands_record
from mmaproof.cli.output import results, say, say_wrapped

if TYPE_CHECKING:
    from mmaproof.explain.answers.surveys import Disagreements, Nearest
    from mmaproof.generators.identify.neighbour import Disagreement, Neighbour
    from mmaproof.generators.identify.outcome import Identification


def neighbour_of(found: Neighbour) -> Nearest:
    """Return the nearest design as a part of an answer."""
    from mmaproof.explain.answers.surveys import Nearest

    disagreements = disagreements_of(found.disagreements)
    return Nearest.taken(found, design=found.design.name, disagreements=disagreements)


def disagreements_of(held: Mapping[str, Disagreement]) -> dict[str, Disagreements]:
    """Return how many rows disagree as a part of an answer, by class of operands."""
    from mmaproof.explain.answers.surveys import Disagreements

    return {name: Disagreements.taken(x) for name, x in held.items()}


def disagreements_text(held: Mapping[str, Disagreement]) -> str:
    """Return how many rows disagree for a person, by class of operands."""
    wrong, rows = sum(x.wrong for x in held.values()), sum(x.rows for x in held.values())
    classes = ", ".join(f"{x.wrong} of {x.rows} with {name}" for name, x in held.items() if x.rows)
    return f"{wrong} of {rows} rows disagree with it: {classes}"


def print_neighbour(outcome: Identification, found: Neighbour) -> None:
    """Print the nearest design, how many rows disagree with it, and the simplest of those bit by bit."""
    from mmaproof.explain import explain
    from mmaproof.explain.text import Drawing

    say(f"  nearest: {found.text}")
    say_wrapped(f"{found.design.name}: {disagreements_text(found.disagreements)}", "  ")
    simplest = next((x.simplest for x in found.disagreements.values() if x.simplest is not None), None)
    if simplest is None:
        return
    signature = outcome.evidence.interface.signature
    operands, d = outcome.evidence.row(simplest)
    for line in operand_lines(operands_record(signature.formats, operands, signature.scale)):
        say(f"    {line}")
    say(f"    d = {signature.d.hex(d)} returned by the unit; the nearest design:")
    say("")
    results().print(Drawing(explain([found.design], operands)))
    say("")
