"""`mmaproof compare`: are two designs equivalent, and if not, on what input do they differ."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from mmaproof.cli.assumed import say_assumed, say_open_points
from mmaproof.cli.bundle import BundleFolder, bundled, require_bundle, say_bundle
from mmaproof.cli.conditions import conditional, conditions_of, in_words, with_conditions
from mmaproof.cli.differences import difference
from mmaproof.cli.explain import lemma_record, print_lemmas
from mmaproof.cli.operands import operand_lines, operands_record
from mmaproof.cli.options import (
    SOLVING,
    Explained,
    Json,
    Length,
    NanCodes,
    Output,
    Simplify,
    SolvingOptions,
    Where,
    ZeroSigns,
    with_backend,
    with_solving,
)
from mmaproof.cli.output import (
    EXIT_HOLDS,
    EXIT_REFUTED,
    EXIT_UNKNOWN,
    complain,
    print_json,
    progress,
    results,
    say,
    say_asked,
    say_wrapped,
    solver_record,
)
from mmaproof.cli.pictures import Figure, Html, PictureFiles, Svg
from mmaproof.cli.version import tool_version

if TYPE_CHECKING:
    from mmaproof.explain import Picture
    from mmaproof.generators.vectors import Vector
    from mmaproof.verification.compare import Comparison

EXIT_STATUS = {
    "equivalent": EXIT_HOLDS,
    "different": EXIT_REFUTED,
    "unknown": EXIT_UNKNOWN,
    "vacuous": EXIT_UNKNOWN,
}


def register(app: typer.Typer) -> None:
    """Add the command to ``app``."""
    app.command("compare")(with_backend(compare))


@with_solving(keeps=True)
def compare(
    first: Annotated[str, typer.Argument(metavar="DESIGN", show_default=False)],
    second: Annotated[str, typer.Argument(metavar="DESIGN", show_default=False)],
    k: Length = None,
    where: Where = None,
    nan_codes: NanCodes = False,
    ignore_zero_signs: ZeroSigns = False,
    options: SolvingOptions = SOLVING,
    simplify: Simplify = "5s",
    picture: Annotated[bool, typer.Option("--picture/--no-picture", help="Draw the witness bit by bit.")] = True,
    explained: Explained = False,
    output: Output = None,
    html: Html = None,
    svg: Svg = None,
    figure: Figure = None,
    bundle: BundleFolder = None,
    json: Json = False,
) -> int:
    """Decide whether two designs return equal results for all operands.

    Exit status 0: equivalent (proved); 1: different (a vector is shown); 3: unknown or vacuous, or proved in a way
    that --bundle cannot write.
    """
    from mmaproof.designs.files import make_way
    from mmaproof.generators.vectors import write_vectors
    from mmaproof.properties.preconditions import parse_precondition
    from mmaproof.rtl.meant import named_design
    from mmaproof.smt.solving.limits import parse_seconds
    from mmaproof.verification.compare import compare as decide

    designs = named_design(first), named_design(second)
    files = PictureFiles(html, svg, figure)
    require_bundle(bundle, [output, options.keep_lemmas, *files.paths])
    files.require()
    solving, limits, simplifying = options.solving, options.limits, parse_seconds(simplify)
    meant = [parse_precondition(w) for w in where or ()]
    make_way(output, *files.paths)
    with progress(f"comparing {designs[0].name} and {designs[1].name}") as told:
        answer = decide(
            *designs,
            solver=solving,
            limits=limits,
            k=k,
            where=meant,
            nan_codes=nan_codes,
            zero_signs=not ignore_zero_signs,
            budget=options.budget,
            seed=options.seed,
            simplifying=simplifying,
            told=told,
        )
    claim = f"{designs[0].name} and {designs[1].name} return equal d for all operands"
    claim = with_conditions(claim, conditions_of(designs))
    status, record = bundled(bundle, {claim: answer}, claim, designs, options, EXIT_STATUS[answer.verdict])
    record = {**comparison_record(answer, rests_on=True), **record}
    files.write(record, lambda: pictures_of(answer))
    if json:
        print_json(record, designs)
    else:
        print_comparison(answer, picture, explained)
        say_bundle(record)
    if output is not None and answer.witness is not None:
        write_vectors(output, [witness_vector(answer)])
    elif output is not None:
        complain(f"note: {output} is not written: no vector was found")
    return status


def pictures_of(answer: Comparison) -> list[tuple[str, Picture]]:
    """Return the picture of the witness, if there is one."""
    picture = answer.picture()
    return [] if picture is None else [("", picture)]


def comparison_record(answer: Comparison, *, rests_on: bool = False) -> dict[str, Any]:
    """Return the answer as the JSON object of the command-line contract, with the open points that change it."""
    question = answer.question
    d = question.designs[0].d_format
    record: dict[str, Any] = {
        **conditional(answer.verdict, conditions_of(question.designs)),
        "designs": [x.name for x in question.designs],
        "k": question.k,
        "where": [str(p) for p in question.where],
        "seconds": round(answer.seconds, 3),
        "solver": solver_record(answer.solver),
        "certified_by": solver_record(answer.certified_by),
        "certificate_covers": answer.certificate_covers,
        "reason": answer.reason,
        "origin": answer.origin,
        "lemmas": [lemma_record(x) for x in answer.lemmas],
    }
    if answer.witness is not None:
        outputs = answer.outputs
        record["witness"] = {
            **operands_record(question.formats, answer.witness, question.scale_format),
            "outputs": {name: d.hex(x) for name, x in outputs.items()},
        }
        apart = difference(d, list(outputs.values()))
        record["witness"]["difference"] = None if apart is None else apart.record()
        if rests_on:
            record["witness"]["open_points"] = {name: x.record() for name, x in answer.open_points.items()}
            record["witness"]["holds_under_every_reading"] = answer.holds_under_every_reading
        if answer.unknown:
            record["witness"]["unknown_bits"] = {name: f"{value:x}" for name, value in answer.unknown.items()}
    return record


def witness_vector(answer: Comparison) -> Vector:
    """Return the witness of a comparison as a vector for a file."""
    from mmaproof.generators.vectors import Vector

    if answer.witness is None:
        raise ValueError("there is no witness to write as a vector")
    first, second = answer.question.designs
    return Vector(
        answer.witness,
        first.formats,
        answer.outputs,
        scale_format=first.scale_format,
        why=f"distinguishes {first.name} from {second.name}",
        origin=answer.origin,
        version=tool_version(),
    )


def print_comparison(answer: Comparison, picture: bool, explained: bool = False) -> None:
    """Print the answer for a person."""
    question = answer.question
    verdict = in_words(answer.verdict, conditions_of(question.designs))
    say_wrapped(f"{' and '.join(d.name for d in question.designs)}", f"{verdict}: ")
    asked = [f"k = {question.k}", *(f"where {p}" for p in question.where)]
    say_asked(asked, answer.origin, answer.seconds)
    say_assumed(question.designs)
    print_lemmas(answer.lemmas, "d = " + " = ".join(f"d of {d.name}" for d in question.designs), whole=explained)
    if answer.reason is not None:
        say(f"  reason: {answer.reason}")
    if answer.verdict == "vacuous":
        say("  no operands satisfy the preconditions")
    if answer.witness is None:
        return
    from mmaproof.explain.text import Drawing
    from mmaproof.explain.values import pattern_value

    record = operands_record(question.formats, answer.witness, question.scale_format)
    for line in operand_lines(record):
        say(f"  {line}")
    for name, value in answer.unknown.items():
        say(f"  where the unknown bits {name} are {value:x}")
    for design in question.designs:
        fmt, d = design.d_format, answer.outputs[design.name]
        say(f"  d = {fmt.hex(d)} = {pattern_value(fmt, d)} on {design.name}")
    apart = difference(question.designs[0].d_format, list(answer.outputs.values()))
    if apart is not None:
        say(f"  they {apart.words}")
    for name, found in answer.open_points.items():
        say_open_points(found, name)
    if answer.holds_under_every_reading is False:
        say("  no witness was found that holds under every reading of these points")
    if not answer.multiplies and answer.witness.c:
        say("  all products are zero: --where c=0 asks for a witness with c = 0")
    if picture:
        say("")
        for _, drawn in pictures_of(answer):
            results().print(Drawing(drawn))
