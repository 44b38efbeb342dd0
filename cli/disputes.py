"""`mmaproof disputes`: where publications disagree, the vector that settles it on a GPU, or the proof that none can."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from mmaproof.cli import lib
from mmaproof.cli import options as opt
from mmaproof.cli.operands import operand_lines, operands_record
from mmaproof.cli.output import Exit, assumed_names, counted, say, say_assumed, tool_version
from mmaproof.cli.showing import SHOWING, ShowingOptions

STATUS = {"refuted": "separated", "proved": "unobservable", "unknown": "unknown", "vacuous": "unknown"}


@opt.with_backend
@opt.with_options(
    without="search seed jobs picture explain svg figure junit bundle", timeout="20s", timeout_of=opt.PER_QUESTION
)
def disputes(
    architecture: opt.Architecture = None,
    options: opt.SolvingOptions = opt.SOLVING,
    jobs: opt.Processes = None,
    dask: opt.Dask = None,
    showing: ShowingOptions = SHOWING,
) -> int:
    """List the points on which publications disagree, for each design that they concern.

    For each pair of readings: a vector that separates them with what each profile predicts, or "unobservable", which
    is proved. A pair may need several questions. Exit status 3 where some remain unknown.
    """
    if architecture is not None:
        architecture = lib.catalogue.load_catalogue().architecture(architecture)
    limits, solving = options.limits_of_each, options.solving
    showing.ready()
    found: list[lib.disputes.Dispute] = []
    tasks = [
        lib.disputes.Task(design, names, number, solving, limits)
        for design, names in lib.disputes.disputed_designs(architecture)
        for number in range(len(lib.disputes.disputed_points(design)))
    ]
    with opt.executors(dask, jobs, options.solving) as (pool, at_once):
        for dispute in counted(
            lib.executors.in_order(pool, at_once)(lib.disputes.dispute_of, tasks), "disputes", len(tasks)
        ):
            if not showing.json:
                print_dispute(dispute, found[-1] if found else None)
            found.append(dispute)

    def text() -> None:  # each dispute is printed as it comes
        if not found:
            say(f"no open point applies to {'the designs' if architecture is None else architecture}")

    vectors = [dispute_vector(d) for d in found if d.witness is not None]
    showing.show(lambda: disputes_of(found), text, vectors=lambda: vectors)
    return Exit.UNKNOWN if any(STATUS[d.status.value] == "unknown" for d in found) else Exit.HOLDS


def disputes_of(found: Sequence[lib.disputes.Dispute]) -> lib.surveys.DisputesAnswer:
    """Return disputes as an answer."""
    answers = [dispute_answer(x) for x in found]
    return lib.surveys.DisputesAnswer(disputes=answers, assumed=assumed_names(x.design for x in found))


def dispute_answer(dispute: lib.disputes.Dispute) -> lib.surveys.DisputeAnswer:
    """Return a dispute as a part of an answer."""
    design = dispute.design
    shown: dict[str, Any] = {"status": STATUS[dispute.status.value]}
    if dispute.witness is not None:
        d = design.d_format
        outputs, predictions = (
            {n: d.hex(x) for n, x in (held or {}).items()} for held in (dispute.separated, dispute.predictions)
        )
        operands = operands_record(design.formats, dispute.witness, design.scale_format)
        shown |= {
            "context": dispute.context,
            "witness": lib.answer.Witness(**operands, outputs=outputs),
            "predictions": predictions,
        }
    return lib.surveys.DisputeAnswer(
        design=design.name,
        designs=list(dispute.designs),
        point=dispute.point.number,
        title=dispute.point.title,
        readings=dict(dispute.readings),
        pair=list(dispute.pair),
        contexts=list(dispute.contexts),
        reason=dispute.reason,
        **shown,
    )


def print_dispute(dispute: lib.disputes.Dispute, before: lib.disputes.Dispute | None) -> None:
    """Print a dispute for a person; what it shares with the one ``before`` is not repeated."""
    if before is None or before.design != dispute.design:
        say("\n" + ", ".join(dispute.designs))
        say_assumed([dispute.design], "what follows")
        before = None
    if before is None or before.point != dispute.point:
        say(f"  {dispute.point.number}. {dispute.point.title}")
        held: dict[str, list[str]] = {} if "default" in dispute.readings.values() else {"default": ["the catalogue"]}
        for profile, text in dispute.readings.items():
            held.setdefault(text, []).append(profile)
        for text, profiles in held.items():
            say(f"       {text}: {', '.join(profiles)}")
    answer = dispute_answer(dispute)
    pair = " against ".join(dispute.pair)
    if not answer.witness or not answer.predictions:
        reason = (
            f": {dispute.reason}" if dispute.reason else f" in {len(dispute.contexts)} settings of the other points"
        )
        say(f"     {pair}: {answer.status}{reason}")
        return
    say(f"     {pair}: separated with the other points at {dispute.context}")
    for line in operand_lines(answer.witness):
        say(f"       {line}")
    for name, d in answer.witness.outputs.items():
        say(f"       d = {d} on {name}")
    say("       predicted by " + ", ".join(f"{p} {d}" for p, d in answer.predictions.items()))


def dispute_vector(dispute: lib.disputes.Dispute) -> lib.vectors.Vector:
    """Return the separating vector of a dispute for a file: the outputs are what each profile predicts."""
    if dispute.witness is None:
        raise ValueError("there is no witness to write as a vector")
    design = dispute.design
    return lib.vectors.Vector(
        dispute.witness,
        design.formats,
        {f"{design.base_name}@as={profile}": d for profile, d in (dispute.predictions or {}).items()},
        why=f"point {dispute.point.number}: {dispute.point.title}",
        origin=f"disputes, other points at {dispute.context}",
        version=tool_version(),
        scale_format=design.scale_format,
    )
