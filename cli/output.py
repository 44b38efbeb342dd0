"""How commands speak: results to stdout, notes and progress to stderr, one JSON object with --json."""

from __future__ import annotations

import logging
import os
import sys
import textwrap
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence, Sized
from contextlib import contextmanager, suppress
from enum import IntEnum
from typing import TYPE_CHECKING, TextIO, TypeVar

from mmaproof.cli import lib

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress
    from rich.table import Table


X = TypeVar("X")


class Exit(IntEnum):
    """The exit statuses."""

    HOLDS = 0
    REFUTED = 1
    INPUT = 2
    UNKNOWN = 3
    INTERNAL = 70
    INTERRUPTED = 130
    BROKEN_PIPE = 141


EXIT_STATUS: dict[str, int] = {
    **dict.fromkeys(("equal", "equivalent", "holds", "never larger"), Exit.HOLDS),
    **dict.fromkeys(("different", "violated", "larger"), Exit.REFUTED),
    **dict.fromkeys(("unknown", "vacuous"), Exit.UNKNOWN),
}
"""Verdict -> exit status of a command that asks one question."""

PROGRESS_AFTER_SECONDS = 2.0


def results(width: int | None = None) -> Console:
    """Return the console that results go to (made anew, so that a redirected stdout is honoured)."""
    from rich.console import Console

    return Console(highlight=False, soft_wrap=False, width=width)


def say_table(table: Table, width: int | None = None) -> None:
    """Print a table of a result. Its lines end where their text ends, without the blanks up to the column's width."""
    console = results(width)
    with console.capture() as held:
        console.print(table)
    print("\n".join(line.rstrip() for line in held.get().splitlines()))


def size_of(count: int) -> str:
    """Return a number of bytes in the unit in which it has one to three digits before the point."""
    for unit, size in (("GB", 10**9), ("MB", 10**6), ("kB", 10**3)):
        if count >= size:
            return f"{count / size:.1f} {unit}"
    return f"{count} bytes"


def say(text: str) -> None:
    """Print one line of a result, never wrapped."""
    from rich.console import Console
    from rich.text import Text

    Console(highlight=False, soft_wrap=True).print(Text(text))


def say_wrapped(text: str, label: str) -> None:
    """Print a text after ``label``, with its other lines below its first. Words (names of designs too) stay whole."""
    width, indent = results().width, " " * len(label)
    for line in textwrap.wrap(
        text, width, initial_indent=label, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
    ):
        say(line)


def say_asked(asked: Sequence[str], by: str | None, seconds: float) -> None:
    """Print what was asked for, what answered (if anything had to be asked), and how long all of it took."""
    answered = f"answered by {by}, " if by else ""
    say_wrapped(f"asked for {', '.join(asked)}; {answered}{seconds:.2f} s in all", "  ")


def complain(text: str) -> None:
    """Print one line to stderr: an error or a note."""
    note(" ".join(text.split()))


def note(text: str) -> None:
    """Print text to stderr as it is. If it cannot be written, nobody can be told."""
    if sys.stderr is not None:
        try:
            print(text, file=sys.stderr, flush=True)
        except OSError:
            discard(sys.stderr)


@contextmanager
def notes() -> Iterator[None]:
    """Print what the library logs while the body runs to stderr, each line once."""
    logger, handler = logging.getLogger("mmaproof"), _Notes(logging.WARNING)
    logger.addHandler(handler)
    try:
        yield
    finally:
        logger.removeHandler(handler)


class _Notes(logging.Handler):
    """Prints each message once."""

    def __init__(self, level: int) -> None:
        super().__init__(level)
        self._said: set[str] = set()

    def emit(self, record: logging.LogRecord) -> None:
        text = record.getMessage()
        if text not in self._said:
            self._said.add(text)
            complain(text)


def discard(stream: TextIO) -> None:
    """Discard what a standard stream still holds and whatever is written to it later, even at interpreter exit."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def print_json(answer: object) -> None:
    """Print an answer as exactly one JSON object."""
    print(lib.answer.as_json(answer))


def assumed_names(designs: Iterable[lib.design.Design]) -> list[str]:
    """Return the names of the designs whose row of the catalogue is assumed, each once."""
    return list(dict.fromkeys(x.name for x in designs if x.is_assumed))


def counted(items: Iterable[X], what: str, total: int | None = None) -> Iterator[X]:
    """Yield ``items`` while a bar on stderr shows how many are done, after two seconds and if a person looks.

    ``total`` is how many there are, for items that come one by one.
    """
    from rich.console import Console

    console = Console(stderr=True)
    if not console.is_terminal:
        yield from items
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn(what), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    bar = Progress(*columns, console=console, transient=True)
    task = bar.add_task(what, total=len(items) if isinstance(items, Sized) else total)
    with _after_a_while(bar):
        for item in items:
            yield item
            bar.advance(task)


@contextmanager
def progress(what: str) -> Iterator[Callable[[str], None]]:
    """Show ``what`` and the elapsed time on stderr while the body runs, after two seconds and if a person looks.

    The body may call what it is given, with what it does from then on.
    """
    from rich.console import Console

    console = Console(stderr=True)
    if not console.is_terminal:
        yield lambda _: None
        return
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    bar = Progress(
        SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn(), console=console, transient=True
    )
    task = bar.add_task(in_one_line(what, "...", console.width), total=None)
    with _after_a_while(bar):
        yield lambda text: bar.update(task, description=in_one_line(what, text, console.width))


PROGRESS_WIDTH = 80
"""Columns that a line of progress takes at most."""


def in_one_line(what: str, text: str, width: int) -> str:
    """Return what is done, and its stage, for a line with the elapsed time: what is done is cut, if anything is."""
    left = min(width, PROGRESS_WIDTH) - len("/ ") - len(" 0:00:00") - 1
    room = left - len(": ") - len(text)
    if len(what) > room:
        what = what[: max(0, room - 3)] + "..."
    return f"{what}: {text}"[:left]


@contextmanager
def _after_a_while(bar: Progress) -> Iterator[None]:
    timer = threading.Timer(PROGRESS_AFTER_SECONDS, bar.start)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        timer.join()
        bar.stop()


def tool_version() -> str:
    """Return the version of the installed package."""
    from importlib.metadata import version

    return version("mmaproof")


MARK = "assumed"
"""The word that marks an assumed row in tables."""
FEW = 4
"""Up to N assumed rows are named; more are counted by architecture."""


def say_assumed(designs: Iterable[lib.design.Design], what: str = "this answer", indent: str = "  ") -> None:
    """Print, in one line, that ``what`` rests on assumed rows, where one of ``designs`` is of such a row."""
    assumed = [x for x in designs if x.is_assumed]
    names = assumed_names(assumed)
    if not names:
        return
    held = names
    if len(names) > FEW:
        of = dict.fromkeys(x.partition("/")[0] for x in names)
        held = [f"{len(names)} of {', '.join(of)}"]
    rows = "an assumed row" if len(names) == 1 else "assumed rows"
    reasons = dict.fromkeys(x.evidence.whole.source if x.evidence.whole else "" for x in assumed)
    why = "; ".join(reason or "no source describes the unit" for reason in reasons)
    say(f"{indent}assumed: {what} rests on {rows}: {', '.join(held)} ({why})")


def say_open_points(found: lib.evaluate.OpenPoints, of: str = "") -> None:
    """Print, in one line, the open points that change a result, ``of`` a design that is named; nothing if none does."""
    if found:
        say(f"  rests on: {found}{of and f' ({of})'}")
