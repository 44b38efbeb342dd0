"""`mmaproof serve`: a design as a process that runs operands."""

from __future__ import annotations

import sys

import typer

from mmaproof.cli.options import DesignName
from mmaproof.cli.output import EXIT_BROKEN_PIPE, EXIT_HOLDS


def register(app: typer.Typer) -> None:
    """Add the command to ``app``."""
    app.command("serve")(serve)


def serve(design: DesignName) -> int:
    """Answer operands on stdin with d on stdout, one JSON object a line, as process:COMMAND expects of a target.

    Exit status 0 at the end of the input; 2 after a line that is malformed or does not fit the design.
    """
    from mmaproof.designs.catalogue import find_design
    from mmaproof.designs.errors import InputError
    from mmaproof.hardware_replay.serving import serve as answer

    if sys.stdin is None or sys.stdout is None:
        raise InputError("serve reads stdin and writes stdout: one of them is closed")
    try:
        answer(find_design(design), sys.stdin.fileno(), sys.stdout.fileno())
    except BrokenPipeError:  # the client went away; typer would make it status 1
        return EXIT_BROKEN_PIPE
    return EXIT_HOLDS
