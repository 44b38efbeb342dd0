"""`mmaproof report`: answers that commands printed as JSON, as one HTML file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from mmaproof.cli.options import argument, named_design, option
from mmaproof.cli.output import progress, say, size_of


def report(
    files: Annotated[list[Path], argument("FILE...", "What commands printed with --json.")],
    html: Annotated[Path, option("--html FILE", "The file to write.")],
    title: Annotated[str, option("--title TEXT", "The title of the document.")] = "",
) -> None:
    """Write one HTML file of answers: tables that can be sorted, and witnesses that fold open to their pictures.

    The answers are those of matrix, suite, fingerprint, disputes, identify, cover, judge, compare, check, run,
    gemm run, gemm compare and rtl prove. The file needs no other file, no network, and no script to be read. Each
    witness is computed again; one for which this version of the model returns something else is not drawn, and the
    page says so.
    """
    from mmaproof.designs.files import make_way, write_atomically
    from mmaproof.explain.reports.page import read_answer
    from mmaproof.explain.reports.page import report as report_of

    make_way(html, read=files)
    with progress("writing the report"):
        text = report_of([read_answer(path) for path in files], named_design, title)
    write_atomically(html, text)
    say(f"{html}: {size_of(len(text.encode()))}")
