"""The command line: `mmaproof COMMAND`. Commands parse, call the library, and print; the logic is elsewhere.

Exit status: 0 proved, equal, passed; 1 refuted, different, failed; 2 usage or input error; 3 unknown, vacuous or
not reachable; 70 an internal error; 130 interrupted.
"""

from __future__ import annotations

import os
import sys
import traceback
from typing import Annotated

import typer

from mmaproof.cli import compare, designs, disputes, doctor, replay, run, serve
from mmaproof.cli.output import (
    EXIT_BROKEN_PIPE,
    EXIT_HOLDS,
    EXIT_INPUT,
    EXIT_INTERNAL,
    EXIT_INTERRUPTED,
    EXIT_UNKNOWN,
    complain,
)
from mmaproof.cli.version import tool_version

app = typer.Typer(
    name="mmaproof",
    help="Formal model and test generator for the matrix-multiply-accumulate units of GPUs.",
    epilog=(
        "Exit status: 0 proved, equal, passed; 1 refuted, different, failed; 2 usage or input error; "
        "3 unknown (time, memory), vacuous or not reachable; 70 internal error; 130 interrupted."
    ),
    no_args_is_help=True,
    rich_markup_mode=None,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
for module in (designs, run, compare, replay, disputes, serve, doctor):
    module.register(app)


def _print_version(value: bool) -> None:
    if value:
        print(f"mmaproof {tool_version()}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    pass


def main(arguments: list[str] | None = None) -> int:
    """Run the command line on ``arguments`` (default: the process's) and return the exit status."""
    try:
        status = app(args=arguments, prog_name="mmaproof", standalone_mode=False)
        sys.stdout.flush()
    except KeyboardInterrupt:
        complain("interrupted")
        return EXIT_INTERRUPTED
    except (BrokenPipeError, SystemExit):
        # the reader of our output went away (the parser ends with SystemExit then, nothing else does): nothing is
        # left to say, not even at interpreter exit
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return EXIT_BROKEN_PIPE
    except Exception as error:
        return _status_of(error)
    if status == EXIT_INTERRUPTED:  # the parser catches a Ctrl-C itself
        complain("interrupted")
    return status if isinstance(status, int) else EXIT_HOLDS


def _status_of(error: Exception) -> int:
    """Print one line about ``error`` and return the exit status that it means."""
    from mmaproof.designs.errors import MmaproofError
    from mmaproof.smt.solving.errors import LimitError, SolverNotInstalledError, UnknownSolverError

    if isinstance(error, typer.Abort):
        complain("interrupted")
        return EXIT_INTERRUPTED
    if hasattr(error, "format_message"):  # a usage error of typer's parser
        complain(f"error: {error.format_message()} (see: mmaproof --help)")
        return EXIT_INPUT
    if isinstance(error, MmaproofError | LimitError | UnknownSolverError):
        complain(f"error: {error}")
        return EXIT_INPUT
    if isinstance(error, SolverNotInstalledError):
        complain(f"error: {error}")
        return EXIT_UNKNOWN
    if "MMAPROOF_TRACEBACK" in os.environ:
        traceback.print_exception(error)
    complain(
        f"internal error: {type(error).__name__}: {error} "
        f"(this is a defect of mmaproof, no result; set MMAPROOF_TRACEBACK=1 to see where)"
    )
    return EXIT_INTERNAL


def run_main() -> None:
    """Entry point of the installed command."""
    sys.exit(main())


if __name__ == "__main__":
    run_main()
