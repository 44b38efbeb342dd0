"""`mmaproof compare`: are two designs equivalent, and if not, on what input do they differ."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mmaproof.cli import lib, verdicts
from mmaproof.cli import options as opt
from mmaproof.cli import output as out
from mmaproof.cli.showing import SHOWING, ShowingOptions, draw
from mmaproof.designs.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence


_WIDE = 200
"""Columns of the table of two architectures."""


@opt.with_backend
@opt.with_options(without="junit", keeps=True)
def compare(
    first: opt.DesignName,
    second: opt.DesignName,
    question: opt.QuestionOptions = opt.QUESTION,
    options: opt.SolvingOptions = opt.SOLVING,
    showing: ShowingOptions = SHOWING,
) -> int:
    """Decide whether two designs return equal results for all operands.

    Two architectures or products (h100 b200) are compared by their parameters: a table has a row for each format that
    both have. Exit status 0: equivalent (proved), or a table; 1: different (a vector is shown); 3: unknown or vacuous,
    or proved in a way that --bundle cannot write.
    """
    if (places := _places(first, second)) is not None:
        return compare_places(*places, showing)
    designs = opt.named_design(first), opt.named_design(second)
    given = {**options.means, **question.of_comparison()}
    showing.ready(options.keep_lemmas)
    with out.progress(f"comparing {designs[0].name} and {designs[1].name}") as told:
        done = lib.compare.compare(*designs, **given, told=told)
    claim = f"{designs[0].name} and {designs[1].name} return equal d for all operands"
    claim = verdicts.with_conditions(claim, verdicts.conditions_of(designs))
    status, bundle = showing.bundled({claim: done}, claim, designs, options, out.EXIT_STATUS[done.verdict])
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
    if any("/" in x or ":" in x for x in (first, second)):
        return None
    found = [lib.catalogue.load_catalogue().place(x) for x in (first, second)]
    return None if found[0] is None or found[1] is None else (found[0], found[1])


def compare_places(first: str, second: str, showing: ShowingOptions) -> int:
    """Print a table with a row for each format that two architectures have, and in what their units differ."""
    drawn = {"-o": showing.output, "--svg": showing.svg, "--figure": showing.figure, "--bundle": showing.bundle}
    if odd := [x for x, given in drawn.items() if given is not None]:
        raise InputError(
            f"{odd[0]}: {first} and {second} are compared by a table: name two designs, such as those in it"
        )
    showing.ready()
    pairs = lib.arithmetic.in_common(lib.catalogue.load_catalogue(), first, second)
    if not pairs:
        raise InputError(f"{first} and {second} have no formats in common: list them with mmaproof list NAME")
    answer = lib.surveys.PlacesCompared(
        architectures=[first, second],
        pairs=[
            lib.surveys.InCommon(
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
    return out.Exit.HOLDS


def _print_places(first: str, second: str, pairs: Sequence[lib.arithmetic.Pair]) -> None:
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
    out.say_table(table, _WIDE)
    if other := next((x for x in pairs if not x.same), None):
        out.say(f"operands on which two of them differ: mmaproof compare {other.first.name} {other.second.name}")
    out.say_assumed([y for x in pairs for y in (x.first, x.second)], "one of these units or more")


def pictures_of(done: lib.compare.Comparison) -> list[tuple[str, lib.explain.Picture]]:
    """Return the picture of the witness, if there is one."""
    picture = done.picture()
    return [] if picture is None else [("", picture)]


def compared(done: lib.compare.Comparison, bundle: Any) -> lib.verdicts.Compared:
    """Return the answer, with the open points that change it."""
    designs, witness = done.question.designs, None
    if done.witness is not None:
        witness = lib.verdicts.RestingWitness(
            **differing_fields(done),
            open_points={name: lib.answer.RestsOn.of(x) for name, x in done.open_points.items()},
            holds_under_every_reading=done.holds_under_every_reading,
        )
    return lib.verdicts.Compared(
        **verdicts.conditional(done.verdict, verdicts.conditions_of(designs)),
        designs=[x.name for x in designs],
        **verdicts.asked(done.question),
        **verdicts.decided(done),
        witness=witness or lib.answer.ABSENT,
        assumed=out.assumed_names(designs),
        bundle=bundle,
    )


def differing_fields(done: lib.compare.Comparison) -> dict[str, Any]:
    """Return the witness of a comparison as fields."""
    d = done.question.designs[0].d_format
    return {
        **verdicts.witness_fields(done.question, done.witness, done.outputs, d),
        "difference": verdicts.difference(d, list(done.outputs.values())),
        "unknown_bits": {name: f"{value:x}" for name, value in done.unknown.items()} or lib.answer.ABSENT,
    }


def witness_vector(done: lib.compare.Comparison) -> lib.vectors.Vector:
    """Return the witness of a comparison as a vector for a file."""
    if done.witness is None:
        raise ValueError("there is no witness to write as a vector")
    first, second = done.question.designs
    return lib.vectors.Vector(
        done.witness,
        first.formats,
        done.outputs,
        scale_format=first.scale_format,
        why=f"distinguishes {first.name} from {second.name}",
        origin=done.origin,
        version=out.tool_version(),
    )


def print_comparison(
    done: lib.compare.Comparison, answer: lib.verdicts.Compared, showing: ShowingOptions = SHOWING
) -> None:
    """Print the answer for a person."""
    designs = done.question.designs
    out.say_wrapped(" and ".join(answer.designs), f"{verdicts.in_words(answer)}: ")
    verdicts.say_decided(
        answer, designs, "d = " + " = ".join(f"d of {x}" for x in answer.designs), whole=showing.explain
    )
    if done.witness is None or not answer.witness:
        return
    bits = [f"where the unknown bits {name} are {value:x}" for name, value in done.unknown.items()]
    verdicts.say_witness(answer.witness, designs[0].d_format, bits)
    for name, found in done.open_points.items():
        out.say_open_points(found, name)
    if done.holds_under_every_reading is False:
        out.say("  no witness was found that holds under every reading of these points")
    if not done.multiplies and done.witness.c:
        out.say("  all products are zero: --where c=0 asks for a witness with c = 0")
    if showing.picture:
        draw(pictures_of(done))
