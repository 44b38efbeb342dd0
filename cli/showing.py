"""Where an answer goes: text or JSON, a page, pictures, vectors, a bundle. Each option for it is defined once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from mmaproof.cli.options import Explained, Json, Output, SolvingOptions, named_design, option
from mmaproof.cli.output import Exit, complain, note, print_json, progress, results, say, say_assumed, size_of

if TYPE_CHECKING:
    from mmaproof.designs.design import Design
    from mmaproof.explain import Picture
    from mmaproof.explain.answers.answer import Absent, Answer, Bundle, NoBundle
    from mmaproof.generators.vectors import Vector
    from mmaproof.properties.property import QuestionVerdict


BundleFolder = Annotated[
    Path | None, option("--bundle DIR", "Write the proof of a proved answer into this new folder, for mmaproof-check.")
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

    if folder is None:
        return status, ABSENT
    from mmaproof.explain.answers.answer import Bundle, NoBundle
    from mmaproof.smt.solving.verdict import Status
    from mmaproof.verification.bundle import NoBundleError, write_bundles

    if status != Exit.HOLDS:
        complain(f"note: {folder} is not written: a bundle is of a proved answer")
        return status, None
    try:
        asked = {what: x.question for what, x in answers.items()}
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
                answers[what].theorem,
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


def say_bundle(bundle: Any) -> None:
    """Say where a bundle was written, if one was."""
    folders = getattr(bundle, "folders", None)
    if folders:
        size = f"{bundle.lemmas} lemmas, {bundle.steps} steps, {size_of(bundle.bytes)}"
        what, it = ("bundle", "it") if len(folders) == 1 else ("bundles", "each")
        say(f"  {what}: {', '.join(folders)}, {size}, {bundle.seconds:.1f} s; check {it} with mmaproof-check")


Pictures = Callable[[], Sequence[tuple[str, "Picture"]]]
"""Draws the pictures of an answer, each with a name."""

Picturing = Annotated[bool, option("--picture/--no-picture", "Draw the witness bit by bit.")]
Html = Annotated[Path | None, option("--html FILE", "Write the answer with its picture as one HTML file.")]
Svg = Annotated[Path | None, option("--svg FILE", "Write the picture as a vector graphic (SVG).")]
Figure = Annotated[Path | None, option("--figure FILE", "Write the picture as a .svg, .pdf or .png file.")]
Junit = Annotated[Path | None, option("--junit FILE", "Write the verdict as a test case of JUnit.")]


@dataclass(frozen=True)
class ShowingOptions:
    """Where an answer goes: the options that ``with_options`` gives a command, as they were typed."""

    picture: Picturing = True
    explain: Explained = False
    output: Output = None
    html: Html = None
    svg: Svg = None
    figure: Figure = None
    junit: Junit = None
    bundle: BundleFolder = None
    json: Json = False

    def ready(self, *others: Path | None, read: Sequence[Path] = ()) -> None:
        """Refuse what cannot be written, and remove the files of an earlier run, before anything is decided.

        ``others`` are files that the command writes beside, and ``read`` those that it reads. Raises InputError,
        SolverNotInstalledError where a bundle is wanted and there is no SAT solver that writes proofs.
        """
        from mmaproof.designs.errors import InputError
        from mmaproof.designs.files import make_way, require_writable
        from mmaproof.explain.figure import require_figure

        drawn = [x for x in (self.html, self.svg, self.figure) if x is not None]
        require_bundle(self.bundle, [self.output, self.junit, *others, *drawn])
        if self.figure is not None:
            require_figure(self.figure)
        if self.svg is not None and self.svg.suffix.lower() != ".svg":
            raise InputError(f"--svg {self.svg}: the name of the file ends in .svg; --figure writes .pdf and .png, too")
        for path in drawn:
            require_writable(path)
        make_way(self.output, self.junit, *drawn, read=read)

    def bundled(
        self,
        answers: Mapping[str, QuestionVerdict],
        claim: str,
        designs: Sequence[Design],
        options: SolvingOptions,
        status: int,
        sampled: Design | None = None,
    ) -> tuple[int, Any]:
        """Write the bundle of a proved answer if one is wanted."""
        return bundled(self.bundle, answers, claim, designs, options, status, sampled=sampled)

    def show(
        self,
        answer: Answer | Callable[[], Answer],
        text: Callable[[], None],
        pictures: Pictures = tuple,
        vectors: Callable[[], list[Vector]] = list,
        left_out: tuple[str, str] | None = None,
        what: str = "no vector was found",
        about: Iterable[Design] = (),
    ) -> None:
        """Give the answer out as the options say: ``text`` prints it for a person, ``pictures`` draws it.

        ``answer`` may return it, where it costs something and text is the rule. ``vectors`` go to their file: a note
        says what is ``left_out``, or that ``what``. Below the text stands what of ``about`` is of assumed rows.
        """
        made = answer() if callable(answer) and (self.json or self.html is not None) else answer
        if not callable(made):
            self._draw(made, pictures)
        found = vectors() if self.output is not None else []
        try:
            if self.output is not None and found:
                from mmaproof.generators.vectors import write_vectors

                write_vectors(self.output, found)
        finally:  # a reader of the text that goes away (`| head`) does not lose the file, nor a full disk the text
            if self.json:
                print_json(made)
            else:
                text()
                say_assumed(about, indent="")
                say_bundle(getattr(made, "bundle", None))
        if self.output is not None and left_out:
            complain(f"note: {left_out[0]} not written to {self.output}: {left_out[1]}")
        elif self.output is not None and not found:
            complain(f"note: {self.output} is not written: {what}")

    def _draw(self, answer: Answer, pictures: Pictures) -> None:
        """Write the page and the pictures. Every file is written: where nothing is drawn, it says the answer."""
        if self.html is None and self.svg is None and self.figure is None:
            return
        from mmaproof.designs.files import write_atomically
        from mmaproof.explain import Picture, joined
        from mmaproof.explain.figure import write_figure
        from mmaproof.explain.reports.page import report, title_of

        drawn, title = pictures(), title_of(answer)
        if self.html is not None:
            write_atomically(self.html, report([answer], named_design, pictures=drawn))
        for path in (self.svg, self.figure):
            if path is not None:
                write_figure(path, joined(drawn) if drawn else Picture((), (title,)), title)


SHOWING = ShowingOptions()
"""What a command has without options."""


def draw(pictures: Sequence[tuple[str, Picture]]) -> None:
    """Draw pictures on the terminal."""
    from mmaproof.explain.text import Drawing

    for name, drawn in pictures:
        say(f"\n{name}" if name else "")
        results().print(Drawing(drawn))


def moved(old: str, new: str) -> Callable[[Path | bool | None], None]:
    """Return what refuses an option that has another name here."""

    def refuse(given: Path | bool | None) -> None:
        if given:
            from mmaproof.designs.errors import InputError

            raise InputError(f"{old}: the figure of this command is written with {new} FILE now")

    return refuse
