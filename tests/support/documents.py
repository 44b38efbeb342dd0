"""The examples of the documents: commands, what they print, and files that they read, as Markdown has them.

A fenced block ``console`` has commands behind ``$``. What they print stands below them, or alone in the fenced block
``text`` that follows. A fenced block ``python`` is a program that goes on where the one before it in the document
ends. The line above a block may be a comment of Markdown with what its text does not say:

``<!-- example: status=0,1 slow needs=iverilog files=tests/rtl/x.sv -->``
    the exit statuses of its commands (0 otherwise), whether it is of the slow tier, the tools it needs, and files of
    the checkout that it finds in the folder where it runs
``<!-- file: NAME -->``
    the block is this file
``<!-- not run: REASON -->``
    nobody runs it
"""

import os
import re
import shutil
import sys
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
BLOCK = re.compile(
    r"^(?:<!-- (?P<note>[^\n]*) -->\n)?```(?P<language>\w+)\n(?P<body>.*?)^```$", re.DOTALL | re.MULTILINE
)
SEARCHED = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
"""Where commands of the documents are looked for: packages of Python bring some."""
NO_FACTS = re.compile(r"\b\d[\d,.]*(?=\s+(?:s|min|lemmas?|proved|operand sets?|bytes)\b)|(?<=\bbitwuzla )\d[\d.]*\d")
"""Times, how much work an answer took, and the release of the solver: another machine has others."""


@dataclass
class Command:
    """A command, and the text that is printed according to the document; None: the document does not say."""

    line: str
    printed: str | None = None


@dataclass
class Example:
    """A block of a document. ``number`` is its line."""

    number: int
    language: str
    body: str
    commands: list[Command] = field(default_factory=list)
    statuses: tuple[int, ...] = ()
    is_slow: bool = False
    needs: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    name: str | None = None
    not_run: str | None = None

    def lacks(self) -> list[str]:
        """The tools that are missing on this machine."""
        return [x for x in self.needs if shutil.which(x, path=SEARCHED) is None]


def _annotate(example: Example, note: str) -> None:
    kind, _, text = note.partition(": ")
    if kind == "not run":
        example.not_run = text
    elif kind == "file":
        example.name = text
    elif kind == "example":
        for word in text.split():
            key, _, value = word.partition("=")
            if key == "status":
                example.statuses = tuple(map(int, value.split(",")))
            elif key == "needs":
                example.needs = tuple(value.split(","))
            elif key == "files":
                example.files = tuple(value.split(","))
            elif word == "slow":
                example.is_slow = True
            else:
                raise ValueError(f"line {example.number}: {word!r} is not a note on an example")


def _commands(body: str) -> list[Command]:
    commands: list[Command] = []
    printed: list[str] = []
    lines = iter(body.splitlines())
    for line in lines:
        if line.startswith("$ "):
            if commands:
                commands[-1].printed = "\n".join(printed) or None
            printed, whole = [], line.removeprefix("$ ")
            while whole.endswith("\\"):
                whole = whole.removesuffix("\\") + next(lines).strip()
            commands.append(Command(whole))
        elif not commands:
            raise ValueError(f"a console begins with a command, not with {line!r}")
        else:
            printed.append(line)
    commands[-1].printed = "\n".join(printed) or None
    return commands


def examples(document: Path) -> list[Example]:
    """Return the examples of a document, in its order: consoles with what they print, programs, files."""
    text = document.read_text(encoding="utf-8")
    found: list[Example] = []
    before: Example | None = None
    end = 0
    for match in BLOCK.finditer(text):
        example = Example(text.count("\n", 0, match.start()) + 1, match["language"], match["body"])
        if match["note"]:
            _annotate(example, match["note"])
        if example.language == "console":
            example.commands = _commands(example.body)
            example.statuses = example.statuses or (0,) * len(example.commands)
        elif example.language == "text" and before is not None and not text[end : match.start()].strip():
            before.commands[-1].printed = example.body.rstrip("\n")
        before = example if example.language == "console" and example.commands[-1].printed is None else None
        end = match.end()
        if example.language in ("console", "python") or example.name:
            found.append(example)
    return found


def facts(text: str) -> list[str]:
    """Return the words of a text, without times and without what depends on the width of the terminal."""
    return NO_FACTS.sub("N", text).split()


def agrees(written: str, printed: str) -> bool:
    """Whether a program printed what is written; ``...`` stands for what the document leaves out."""
    parts = [re.escape(" ".join(facts(x))) for x in written.split("...")]
    return re.fullmatch(" ?.*?".join(parts), " ".join(facts(printed)), re.DOTALL) is not None
