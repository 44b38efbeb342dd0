"""The option `--bundle`: a proved answer as a folder that `mmaproof-check` checks without mmaproof."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mmaproof.cli.options import SolvingOptions
from mmaproof.cli.output import EXIT_HOLDS, EXIT_UNKNOWN, complain, note, progress, say

if TYPE_CHECKING:
    from mmaproof.designs.design import Design
    from mmaproof.properties.property import QuestionVerdict

BundleFolder = Annotated[
    Path | None,
    typer.Option(
        "--bundle",
        metavar="DIR",
        help="Prove a proved answer once more, and write the proof into this new folder, for mmaproof-check.",
        show_default=False,
    ),
]


def require_bundle(folder: Path | None) -> None:
    """Raise what would keep a bundle from being written, before anything is decided.

    That is InputError for a folder that is not empty, and SolverNotInstalledError where no SAT solver is installed that
    writes proofs.
    """
    from mmaproof.smt.solving.proof_certificate import require_prover
    from mmaproof.verification.bundle import require_new_folder

    if folder is not None:
        require_new_folder(folder)
        require_prover()


def bundled(
    folder: Path | None,
    answers: Mapping[str, QuestionVerdict],
    claim: str,
    designs: Sequence[Design],
    options: SolvingOptions,
    status: int,
    *,
    sampled: Design | None = None,
) -> tuple[int, dict[str, Any]]:
    """Write the bundle of a proved answer. Return the exit status and what the JSON object says of the bundle.

    The status is that of the answer, or 3 where a proved answer cannot be put into a bundle. ``answers`` are the
    verdicts on the questions behind it, by what they ask. The one that is proved is written; the others are refuted by
    witnesses. ``claim`` says in words what is proved, and ``designs`` are those that it is about. Samples
    are operands of ``sampled``, by default of the first one.
    """
    from mmaproof.properties.library.special_case import SpecialCase
    from mmaproof.smt.solving.verdict import Status
    from mmaproof.verification.bundle import NoBundleError, write_bundle

    if folder is None:
        return status, {}
    if status != EXIT_HOLDS:
        complain(f"note: {folder} is not written: a bundle is of a proved answer")
        return status, {"bundle": None}
    try:
        proved = [(what, x.question) for what, x in answers.items() if x.status is Status.PROVED]
        if len(proved) != 1:
            raise NoBundleError(
                f"the answer rests on {len(proved)} proved questions, and a bundle has the proof of one"
            )
        ((what, question),) = proved
        if len(answers) == 1 and isinstance(question, SpecialCase):
            question = question.general  # the lemmas that proved the case are those of the whole question
        about = {
            "claim": claim if len(answers) == 1 else f"{what} (a part of the answer to {claim})",
            "k": question.k,
            "where": [str(p) for p in question.where],
            "designs": [{**d.record(), "evidence": str(d.evidence.row)} for d in designs],
        }
        with progress("proving it once more, for the bundle"):
            of = designs[0] if sampled is None else sampled
            done = write_bundle(question, of, about, folder, options.solving, options.limits, options.seed)
    except NoBundleError as problem:
        note(f"no bundle is written to {folder}, though the answer is proved: {problem}")
        return EXIT_UNKNOWN, {"bundle": {"refused": str(problem)}}
    record = {
        "folder": str(folder),
        "lemmas": done.lemmas,
        "steps": done.steps,
        "bytes": done.size,
        "seconds": round(done.seconds, 3),
    }
    return status, {"bundle": record}


def say_bundle(record: Mapping[str, Any]) -> None:
    """Say where a bundle was written."""
    bundle = record.get("bundle")
    if bundle and "folder" in bundle:
        size = f"{bundle['lemmas']} lemmas, {bundle['steps']} steps, {bundle['bytes'] / 1e6:.1f} MB"
        say(f"  bundle: {bundle['folder']}, {size}, {bundle['seconds']:.1f} s; check it with mmaproof-check")
