"""Where an answer goes: text or JSON, a page, pictures, vectors, a bundle. Each option for it is defined once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from mmaproof.cli import lib
from mmaproof.cli import options as opt
from mmaproof.cli.output import Exit, complain, note, print_json, progress, results, say, say_assumed, size_of
from mmaproof.designs.errors import InputError

BundleFolder = Annotated[
    Path | None,
    opt.option("--bundle DIR", "Write the proof of a proved answer into this new folder, for mmaproof-check."),
]


def require_bundle(folder: Path | None, others: Sequence[Path | None] = ()) -> None:
    """Raise what would keep a bundle from being written, before anything is decided.

    That is InputError for a folder that is not empty or that other files are to be written into, and
    SolverNotInstalledError where no SAT solver is installed that writes proofs.
    """
    if folder is not None:
        inside = [x for x in others if x is not None and x.absolute().is_relative_to(folder.absolute())]
        if inside:
            raise InputError(f"{inside[0]}: a bundle has no other files; write it elsewhere than into {folder}")
        lib.files.require_new_folder(folder)
        lib.refuting.require_prover()


def bundled(
    folder: Path | None,
    answers: Mapping[str, lib.property.QuestionVerdict],
    claim: str,
    designs: Sequence[lib.design.Design],
    options: opt.SolvingOptions,
    status: int,
    *,
    sampled: lib.design.Design | None = None,
) -> tuple[int, lib.answer.Bundle | lib.answer.NoBundle | lib.answer.Absent | None]:
    """Write the bundle of a proved answer. Return the exit status and what the answer says of the bundle.

    The status is that of the answer, or 3 where a proved answer cannot be put into a bundle. ``answers`` are the
    verdicts on the questions behind it, by what they ask. Each that is proved is written; the others are refuted by
    witnesses. ``claim`` says in words what is proved, and ``designs`` are those that it is about. Samples
    are operands of ``sampled``, by default of the first one.
    """
    if folder is None:
        return status, lib.answer.ABSENT

    if status != Exit.HOLDS:
        complain(f"note: {folder} is not written: a bundle is of a proved answer")
        return status, None
    try:
        asked = {what: x.question for what, x in answers.items()}
        keys = {what: question.key or what for what, question in asked.items()}
        proved = {keys[what]: what for what, x in answers.items() if x.status is lib.verdict.Status.PROVED}
        if not proved:
            raise lib.bundle.NoBundleError("it rests on witnesses alone, which need no bundle")
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
            done = lib.bundle.write_bundles(questions, of, folder, options.solving, options.limits, options.seed)
    except lib.bundle.NoBundleError as problem:
        note(f"no bundle is written to {folder}, though the answer is proved: {problem}")
        return Exit.UNKNOWN, lib.answer.NoBundle(refused=str(problem))
    folders = [str(x) for x in done.folders]
    return status, lib.answer.Bundle.taken(done, folder=str(folder), folders=folders, bytes=done.size)


def say_bundle(bundle: Any) -> None:
    """Say where a bundle was written, if one was."""
    folders = getattr(bundle, "folders", None)
    if folders:
        size = f"{bundle.lemmas} lemmas, {bundle.steps} steps, {size_of(bundle.bytes)}"
        what, it = ("bundle", "it") if len(folders) == 1 else ("bundles", "each")
        say(f"  {what}: {', '.join(folders)}, {size}, {bundle.seconds:.1f} s; check {it} with mmaproof-check")


Pictures = Callable[[], Sequence[tuple[str, "lib.explain.Picture"]]]
"""Draws the pictures of an answer, each with a name."""

Picturing = Annotated[bool, opt.option("--picture/--no-picture", "Draw the witness bit by bit.")]
Html = Annotated[Path | None, opt.option("--html FILE", "Write the answer with its picture as one HTML file.")]
Svg = Annotated[Path | None, opt.option("--svg FILE", "Write the picture as a vector graphic (SVG).")]
Figure = Annotated[Path | None, opt.option("--figure FILE", "Write the picture as a .svg, .pdf or .png file.")]
Junit = Annotated[Path | None, opt.option("--junit FILE", "Write the verdict as a test case of JUnit.")]


@dataclass(frozen=True)
class ShowingOptions:
    """Where an answer goes: the options that ``with_options`` gives a command, as they were typed."""

    picture: Picturing = True
    explain: opt.Explained = False
    output: opt.Output = None
    html: Html = None
    svg: Svg = None
    figure: Figure = None
    junit: Junit = None
    bundle: BundleFolder = None
    json: opt.Json = False

    def ready(self, *others: Path | None, read: Sequence[Path] = ()) -> None:
        """Refuse what cannot be written, and remove the files of an earlier run, before anything is decided.

        ``others`` are files that the command writes beside, and ``read`` those that it reads. Raises InputError,
        SolverNotInstalledError where a bundle is wanted and there is no SAT solver that writes proofs.
        """
        drawn = [x for x in (self.html, self.svg, self.figure) if x is not None]
        require_bundle(self.bundle, [self.output, self.junit, *others, *drawn])
        if self.figure is not None:
            lib.figure.require_figure(self.figure)
        if self.svg is not None and self.svg.suffix.lower() != ".svg":
            raise InputError(f"--svg {self.svg}: the name of the file ends in .svg; --figure writes .pdf and .png, too")
        for path in drawn:
            lib.files.require_writable(path)
        lib.files.make_way(self.output, self.junit, *drawn, read=read)

    def bundled(
        self,
        answers: Mapping[str, lib.property.QuestionVerdict],
        claim: str,
        designs: Sequence[lib.design.Design],
        options: opt.SolvingOptions,
        status: int,
        sampled: lib.design.Design | None = None,
    ) -> tuple[int, Any]:
        """Write the bundle of a proved answer if one is wanted."""
        return bundled(self.bundle, answers, claim, designs, options, status, sampled=sampled)

    def show(
        self,
        answer: lib.answer.Answer | Callable[[], lib.answer.Answer],
        text: Callable[[], None],
        pictures: Pictures = tuple,
        vectors: Callable[[], list[lib.vectors.Vector]] = list,
        left_out: tuple[str, str] | None = None,
        what: str = "no vector was found",
        about: Iterable[lib.design.Design] = (),
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
                lib.vectors.write_vectors(self.output, found)
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

    def _draw(self, answer: lib.answer.Answer, pictures: Pictures) -> None:
        """Write the page and the pictures. Every file is written: where nothing is drawn, it says the answer."""
        if self.html is None and self.svg is None and self.figure is None:
            return

        drawn, title = pictures(), lib.page.title_of(answer)
        if self.html is not None:
            lib.files.write_atomically(self.html, lib.page.report([answer], opt.named_design, pictures=drawn))
        for path in (self.svg, self.figure):
            if path is not None:
                lib.figure.write_figure(
                    path, lib.explain.joined(drawn) if drawn else lib.explain.Picture((), (title,)), title
                )


SHOWING = ShowingOptions()
"""What a command has without options."""


def draw(pictures: Sequence[tuple[str, lib.explain.Picture]]) -> None:
    """Draw pictures on the terminal."""
    for name, drawn in pictures:
        say(f"\n{name}" if name else "")
        results().print(lib.text.Drawing(drawn))


def moved(old: str, new: str) -> Callable[[Path | bool | None], None]:
    """Return what refuses an option that has another name here."""

    def refuse(given: Path | bool | None) -> None:
        if given:
            raise InputError(f"{old}: the figure of this command is written with {new} FILE now")

    return refuse
