"""How commands speak: results to stdout, notes and progress to stderr, one JSON object with --json."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

from rich.console import Console
from rich.text import Text

if TYPE_CHECKING:
    from rich.progress import Progress

X = TypeVar("X")

EXIT_HOLDS = 0
EXIT_REFUTED = 1
EXIT_INPUT = 2
EXIT_UNKNOWN = 3
EXIT_INTERNAL = 70
EXIT_INTERRUPTED = 130
EXIT_BROKEN_PIPE = 141

PROGRESS_AFTER_SECONDS = 2.0


def results() -> Console:
    """Return the console that results go to (made anew, so that a redirected stdout is honoured)."""
    return Console(highlight=False, soft_wrap=False)


def say(text: str) -> None:
    """Print one line of a result, never wrapped."""
    Console(highlight=False, soft_wrap=True).print(Text(text))


def complain(text: str) -> None:
    """Print one line to stderr: an error or a note."""
    Console(stderr=True, highlight=False, soft_wrap=True).print(Text(" ".join(text.split())))


def print_json(record: dict[str, Any]) -> None:
    """Print exactly one JSON object."""
    print(json.dumps(record, indent=2))


def counted(items: Sequence[X], what: str) -> Iterator[X]:
    """Yield ``items`` while a bar on stderr shows how many are done, from two seconds on, if a person looks."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    console = Console(stderr=True)
    if not console.is_terminal:
        yield from items
        return
    columns = (TextColumn(what), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    bar = Progress(*columns, console=console, transient=True)
    task = bar.add_task(what, total=len(items))
    with _after_a_while(bar):
        for item in items:
            yield item
            bar.advance(task)


@contextmanager
def progress(what: str) -> Iterator[None]:
    """Show ``what`` and the elapsed time on stderr while the body runs, from two seconds on, if a person looks."""
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    console = Console(stderr=True)
    if not console.is_terminal:
        yield
        return
    bar = Progress(
        SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn(), console=console, transient=True
    )
    bar.add_task(what, total=None)
    with _after_a_while(bar):
        yield


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
