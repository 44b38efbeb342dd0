"""`mmaproof report`: answers that commands printed as JSON, as one HTML file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from mmaproof.cli import lib
from mmaproof.cli import options as opt
from mmaproof.cli.output import progress, say, size_of


def report(
    files: Annotated[list[Path], opt.argument("FILE...", "What commands printed with --json.")],
    html: Annotated[Path, opt.option("--html FILE", "The file to write.")],
    title: Annotated[str, opt.option("--title TEXT", "The title of the document.")] = "",
) -> None:
    """Write one HTML file of answers: tables that can be sorted, and witnesses that fold open to their pictures.

    The answers are those of matrix, suite, fingerprint, disputes, identify, cover, judge, compare, check, run,
    gemm run, gemm compare and rtl prove. The file needs no other file, no network, and no script to be read. Each
    witness is computed again; one for which this version of the model returns something else is not drawn, and the
    page says so.
    """
    lib.files.make_way(html, read=files)
    with progress("writing the report"):
        text = lib.page.report([lib.page.read_answer(path) for path in files], opt.named_design, title)
    lib.files.write_atomically(html, text)
    say(f"{html}: {size_of(len(text.encode()))}")
