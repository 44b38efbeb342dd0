"""`mmaproof compare`: are two designs equivalent, and if not, on what input do they differ."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mmaproof.cli.options import (
    QUESTION,
    SOLVING,
    DesignName,
    QuestionOptions,
    SolvingOptions,
    named_design,
    with_backend,
    with_options,
)
from mmaproof.cli.output import (
    EXIT_STATUS,
    Exit,
    assumed_names,
    progress,
    say,
    say_assumed,
    say_open_points,
    say_table,
    say_wrapped,
    tool_version,
)
from mmaproof.cli.showing import SHOWING, ShowingOptions, draw
from mmaproof.cli.verdicts import (
    asked,
    conditional,
    conditions_of,
    decided,
    difference,
    in_words,
    say_decided,
    say_witness,
    with_conditions,
    witness_fields,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mmaproof.designs.arithmetic import Pair
    from mmaproof.explain import Picture
    from mmaproof.explain.answers.verdicts import Compared
    from mmaproof.generators.vectors import Vector
    from mmaproof.verification.compare import Comparison


_WIDE = 200
"""Columns of the table of two architectures."""


@with_backend
@with_options(without="junit", keeps=True)
def compare(
    first: DesignName,
    second: DesignName,
    question: QuestionOptions = QUESTION,
    options: SolvingOptions = SOLVING,
    showing: ShowingOptions = SHOWING,
) -> int:
    """Decide whether two designs return equal results for all operands.

    Two architectures or products (h100 b200) are compared by their parameters: a table has a row for each format that
    both have. Exit status 0: equivalent (proved), or a table; 1: different (a vector is shown); 3: unknown or vacuous,
    or proved in a way that --bundle cannot write.
    """
    from mmaproof.verification.compare import compare as decide

    if (places := _places(first, second)) is not None:
        return compare_places(*places, showing)
    designs = named_design(first), named_design(second)
    given = {**options.means, **question.of_comparison()}
    showing.ready(options.keep_lemmas)
    with progress(f"comparing {designs[0].name} and {designs[1].name}") as told:
        done = decide(*designs, **given, told=told)
    claim = f"{designs[0].name} and {designs[1].name} return equal d for all operands"
    claim = with_conditions(claim, conditions_of(designs))
    status, bundle = showing.bundled({claim: done}, claim, designs, options, EXIT_STATUS[done.verdict])
    answer = compared(done, bundle)
    showing.show(
        answer,
        lambda: print_comparison(done, answer, showing),
        lambda: pictures_of(done),
        lambda: [] if done.witness is None else [witness_vector(done)],
    )
    return status


def _places(first: str, second: str) -> tuple[str, str] | None:
    """Return the architectures that both names are of, None if they are not."""
    from mmaproof.designs.catalogue import load_catalogue

    if any("/" in x or ":" in x for x in (first, second)):
        return None
    found = [load_catalogue().place(x) for x in (first, second)]
    return None if found[0] is None or found[1] is None else (found[0], found[1])


def compare_places(first: str, second: str, showing: ShowingOptions) -> int:
    """Print a table with a row for each format that two architectures have, and in what their units differ."""
    from mmaproof.designs.arithmetic import in_common
    from mmaproof.designs.catalogue import load_catalogue
    from mmaproof.designs.errors import InputError
    from mmaproof.explain.answers.surveys import InCommon, PlacesCompared

    drawn = {"-o": showing.output, "--svg": showing.svg, "--figure": showing.figure, "--bundle": showing.bundle}
    if odd := [x for x, given in drawn.items() if given is not None]:
        raise InputError(
            f"{odd[0]}: {first} and {second} are compared by a table: name two designs, such as those in it"
        )
    showing.ready()
    pairs = in_common(load_catalogue(), first, second)
    if not pairs:
        raise InputError(f"{first} and {second} have no formats in common: list them with mmaproof list NAME")
    answer = PlacesCompared(
        architectures=[first, second],
        pairs=[
            InCommon(
                interface=x.first.signature.interface,
                designs=[x.first.name, x.second.name],
                k=[x.first.k, x.second.k],
                same=x.same,
                differences={name: list(values) for name, values in x.differences.items()},
            )
            for x in pairs
        ],
    )
    showing.show(answer, lambda: _print_places(first, second, pairs))
    return Exit.HOLDS


def _print_places(first: str, second: str, pairs: Sequence[Pair]) -> None:
    from rich.table import Table

    table = Table(box=None, pad_edge=False, header_style="bold")
    for heading in ("a, b", "d", f"{first}, K", f"{second}, K", "parameters"):
        table.add_column(heading, overflow="fold")
    for x in pairs:
        units = [f"{y.instruction}, {y.k}" for y in (x.first, x.second)]
        differ = ", ".join(f"{name} {y[0]} / {y[1]}" for name, y in x.differences.items())
        scale = f" ({x.first.scale_format.name})" if x.first.scale_format else ""
        formats = x.first.a_format.name + scale, x.first.d_format.name
        table.add_row(*formats, *units, differ or ("the same arithmetic" if x.same else "the same, but not K"))
    say_table(table, _WIDE)
    if other := next((x for x in pairs if not x.same), None):
        say(f"operands on which two of them differ: mmaproof compare {other.first.name} {other.second.name}")
    say_assumed([y for x in pairs for y in (x.first, x.second)], "one of these units or more")


def pictures_of(done: Comparison) -> list[tuple[str, Picture]]:
    """Return the picture of the witness, if there is one."""
    picture = done.picture()
    return [] if picture is None else [("", picture)]


def compared(done: Comparison, bundle: Any) -> Compared:
    """Return the answer, with the open points that change it."""
    from mmaproof.explain.answers.answer import ABSENT, RestsOn
    from mmaproof.explain.answers.verdicts import Compared, RestingWitness

    designs, witness = done.question.designs, None
    if done.witness is not None:
        witness = RestingWitness(
            **differing_fields(done),
            open_points={name: RestsOn.of(x) for name, x in done.open_points.items()},
            holds_under_every_reading=done.holds_under_every_reading,
        )
    return Compared(
        **conditional(done.verdict, conditions_of(designs)),
        designs=[x.name for x in designs],
        **asked(done.question),
        **decided(done),
        witness=witness or ABSENT,
        assumed=assumed_names(designs),
        bundle=bundle,
    )


def differing_fields(done: Comparison) -> dict[str, Any]:
    """Return the witness of a comparison as fields."""
    from mmaproof.explain.answers.answer import ABSENT

    d = done.question.designs[0].d_format
    return {
        **witness_fields(done.question, done.witness, done.outputs, d),
        "difference": difference(d, list(done.outputs.values())),
        "unknown_bits": {name: f"{value:x}" for name, value in done.unknown.items()} or ABSENT,
    }


def witness_vector(done: Comparison) -> Vector:
    """Return the witness of a comparison as a vector for a file."""
    from mmaproof.generators.vectors import Vector

    if done.witness is None:
        raise ValueError("there is no witness to write as a vector")
    first, second = done.question.designs
    return Vector(
        done.witness,
        first.formats,
        done.outputs,
        scale_format=first.scale_format,
        why=f"distinguishes {first.name} from {second.name}",
        origin=done.origin,
        version=tool_version(),
    )


def print_comparison(done: Comparison, answer: Compared, showing: ShowingOptions = SHOWING) -> None:
    """Print the answer for a person."""
    designs = done.question.designs
    say_wrapped(" and ".join(answer.designs), f"{in_words(answer)}: ")
    say_decided(answer, designs, "d = " + " = ".join(f"d of {x}" for x in answer.designs), whole=showing.explain)
    if done.witness is None or not answer.witness:
        return
    bits = [f"where the unknown bits {name} are {value:x}" for name, value in done.unknown.items()]
    say_witness(answer.witness, designs[0].d_format, bits)
    for name, found in done.open_points.items():
        say_open_points(found, name)
    if done.holds_under_every_reading is False:
        say("  no witness was found that holds under every reading of these points")
    if not done.multiplies and done.witness.c:
        say("  all products are zero: --where c=0 asks for a witness with c = 0")
    if showing.picture:
        draw(pictures_of(done))
