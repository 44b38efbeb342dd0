"""The option `--bundle`: a proved answer as a folder that `mmaproof-check` checks without mmaproof."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from mmaproof.cli.options import SolvingOptions, option
from mmaproof.cli.output import Exit, complain, note, progress, say, size_of

if TYPE_CHECKING:
    from mmaproof.designs.design import Design
    from mmaproof.explain.answers.answer import Absent
    from mmaproof.explain.answers.parts import Bundle, NoBundle
    from mmaproof.properties.property import QuestionVerdict
    from mmaproof.properties.question import Question

BundleFolder = Annotated[
    Path | None,
    option("--bundle DIR", "Write the proof of a proved answer into this new folder, for mmaproof-check."),
]


def require_bundle(folder: Path | None, others: Sequence[Path | None] = ()) -> None:
    """Raise what would keep a bundle from being written, before anything is decided.

    That is InputError for a folder that is not empty or that other files are to be written into, and
    SolverNotInstalledError where no SAT solver is installed that writes proofs.
    """
    from mmaproof.designs.errors import InputError
    from mmaproof.designs.files import require_new_folder
    from mmaproof.smt.solving.refuting import require_prover

    if folder is not None:
        inside = [x for x in others if x is not None and x.absolute().is_relative_to(folder.absolute())]
        if inside:
            raise InputError(f"{inside[0]}: a bundle has no other files; write it elsewhere than into {folder}")
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
) -> tuple[int, Bundle | NoBundle | Absent | None]:
    """Write the bundle of a proved answer. Return the exit status and what the answer says of the bundle.

    The status is that of the answer, or 3 where a proved answer cannot be put into a bundle. ``answers`` are the
    verdicts on the questions behind it, by what they ask. Each that is proved is written; the others are refuted by
    witnesses. ``claim`` says in words what is proved, and ``designs`` are those that it is about. Samples
    are operands of ``sampled``, by default of the first one.
    """
    from mmaproof.explain.answers.answer import ABSENT
    from mmaproof.explain.answers.parts import Bundle, NoBundle
    from mmaproof.smt.solving.verdict import Status
    from mmaproof.verification.bundle import NoBundleError, write_bundles

    if folder is None:
        return status, ABSENT
    if status != Exit.HOLDS:
        complain(f"note: {folder} is not written: a bundle is of a proved answer")
        return status, None
    try:
        # lemmas that prove a special case are those of the whole question, which is asked by itself where they fail
        asked = {what: _whole(x.question) for what, x in answers.items()}
        keys = {what: question.key or what for what, question in asked.items()}
        proved = {keys[what]: what for what, x in answers.items() if x.status is Status.PROVED}
        if not proved:
            raise NoBundleError("it rests on witnesses alone, which need no bundle")
        is_whole = len(set(keys.values())) == 1
        questions = [
            (
                asked[what],
                {
                    "claim": claim if is_whole else f"{what} (a part of the answer to {claim})",
                    "k": asked[what].k,
                    "where": [str(p) for p in asked[what].where],
                    "designs": [{**d.record(), "evidence": str(d.evidence.row)} for d in designs],
                },
                answers[what].theorem if asked[what] is answers[what].question else None,
            )
            for what in proved.values()
        ]
        with progress("writing the bundle"):
            of = designs[0] if sampled is None else sampled
            done = write_bundles(questions, of, folder, options.solving, options.limits, options.seed)
    except NoBundleError as problem:
        note(f"no bundle is written to {folder}, though the answer is proved: {problem}")
        return Exit.UNKNOWN, NoBundle(refused=str(problem))
    folders = [str(x) for x in done.folders]
    return status, Bundle.taken(done, folder=str(folder), folders=folders, bytes=done.size)


def _whole(question: Question) -> Question:
    from mmaproof.properties.library.special_case import SpecialCase

    return question.general if isinstance(question, SpecialCase) else question


def say_bundle(bundle: Any) -> None:
    """Say where a bundle was written, if one was."""
    folders = getattr(bundle, "folders", None)
    if folders:
        size = f"{bundle.lemmas} lemmas, {bundle.steps} steps, {size_of(bundle.bytes)}"
        what, it = ("bundle", "it") if len(folders) == 1 else ("bundles", "each")
        say(f"  {what}: {', '.join(folders)}, {size}, {bundle.seconds:.1f} s; check {it} with mmaproof-check")
