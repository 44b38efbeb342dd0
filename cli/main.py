"""The command line: `mmaproof COMMAND`. Commands parse, call the library, and print; the logic is elsewhere.

Exit status: 0 proved, equal, passed; 1 refuted, different, failed; 2 usage or input error; 3 unknown, vacuous or not
reachable; 70 an internal error; 130 interrupted.

This module is loaded before anything else and imports little. Once it is loaded, a Ctrl-C is handled as an
interruption.
"""

from __future__ import annotations

import gc
import os
import shlex
import signal
import sys
import traceback
from collections.abc import Callable, Sequence
from typing import Any

from mmaproof.cli.output import Exit, complain, discard, note, notes

Words = list[str]


def renamed(given: Sequence[str]) -> Words:
    """Return a command line as it is typed today; a note on stderr says so where that is another.

    Raises InputError for a command that is none any more.
    """
    for length in (2, 1):
        name, rest = " ".join(given[:length]), list(given[length:])
        if name in GONE:
            from mmaproof.designs.errors import InputError

            raise InputError(f"`mmaproof {name}` is not a command any more: {GONE[name]}")
        if name in RENAMED:
            today = RENAMED[name](rest)
            complain(f"note: `mmaproof {name}` was renamed; use: mmaproof {shlex.join(today)}")
            return today
    return list(given)


def _listed(kind: str) -> Callable[[Words], Words]:
    """Return what lists a kind, or shows one of it where one is named."""

    def today(rest: Words) -> Words:
        named = any(not x.startswith("-") for x in rest)
        return [*(["show"] if named else ["list", kind]), *rest]

    return today


def _of_unit(command: str, *, last: bool = False) -> Callable[[Words], Words]:
    """Return what asks a command about rtl:UNIT.toml; with ``last`` the unit stands after the other argument."""

    def today(rest: Words) -> Words:
        place = next((i for i, x in enumerate(rest) if x.endswith(".toml")), None)
        if place is None:
            return [command, *rest]
        unit = f"rtl:{rest.pop(place)}"
        return [command, *rest, unit] if last else [command, unit, *rest]

    return today


def _decided(rest: Words) -> Words:
    """Return what asks which parameters recordings decide; files were arguments."""
    found: Words = ["evidence", "--decided"]
    for i, x in enumerate(rest):
        is_file = not x.startswith("-") and (i == 0 or rest[i - 1] not in ("-o", "--output"))
        found += ["--recording", x] if is_file else [x]
    return found


# They go away with the next version.
RENAMED: dict[str, Callable[[Words], Words]] = {
    "designs": lambda rest: ["list", *rest],
    "properties": _listed("properties"),
    "gemm algorithms": _listed("algorithms"),
    "gemm plans": _listed("plans"),
    "recordings show": lambda rest: ["show", *rest],
    "recordings decide": _decided,
    "recordings import": lambda rest: ["record", *rest],
    "rtl show": _of_unit("show"),
    "rtl check": _of_unit("check", last=True),
    "rtl identify": _of_unit("identify"),
}
"""An old name -> today's command line, from the words after the name."""
GONE = {
    "completion": "mmaproof --install-completion installs it for your shell",
    "manual": "`mmaproof COMMAND --help` has the same text",
    "prove-native": "a checkout has `make check-native`, Python has mmaproof.prove_native",
    "recordings": "`mmaproof show FILE.npz`, `mmaproof evidence --decided` and `mmaproof record FILE` are",
}
"""An old name -> where the answer is."""


COMPLETING = "_MMAPROOF_COMPLETE"
"""The variable by which a shell asks the parser for completions."""


def main(arguments: list[str] | None = None) -> int:
    """Run the command line on ``arguments`` (default: the process's) and return the exit status."""
    try:
        status = _run(arguments)
    except KeyboardInterrupt:
        status = Exit.INTERRUPTED
    if status == Exit.INTERRUPTED:  # mostly the parser catches a Ctrl-C itself
        complain("interrupted")
    return status


def _run(arguments: list[str] | None) -> int:
    if sys.stdout is None:
        complain("error: cannot write the result: standard output is closed")
        return Exit.INPUT
    given = sys.argv[1:] if arguments is None else arguments
    # what a command imports stays: to look for garbage every 700 objects takes a fifteenth of its start
    gc.set_threshold(20_000, *gc.get_threshold()[1:])
    try:
        from mmaproof.cli.application import application

        given = renamed(given)
        app = application(given[0] if given and COMPLETING not in os.environ else None)
        with notes():
            status = app.parser(args=_with_values(given), prog_name="mmaproof", standalone_mode=False)
        sys.stdout.flush()
    except (BrokenPipeError, SystemExit):
        if COMPLETING in os.environ:  # the parser ends so when a shell has asked it for completions
            return Exit.HOLDS
        # the reader of our output went away (the parser ends with SystemExit then, nothing else does): nothing is
        # left to say, not even at interpreter exit
        discard(sys.stdout)
        return Exit.BROKEN_PIPE
    except Exception as error:
        return _status_of(error, given)
    return status if isinstance(status, int) else Exit.HOLDS


def _with_values(arguments: list[str]) -> list[str]:
    """Return the arguments with the value that ``--certify`` alone stands for: the parser would take the next one."""
    return ["--certify=solver" if x == "--certify" else x for x in arguments]


def _status_of(error: Exception, given: list[str]) -> int:
    """Print what ``error`` says of the arguments ``given``, and return the exit status that it means."""
    from mmaproof.designs.errors import DesignError, MmaproofError, TargetUnavailable
    from mmaproof.smt.solving.verdict import LimitError, SolverNotInstalledError, StoreError, UnknownSolverError

    if type(error).__name__ == "Abort":  # the parser's, after a Ctrl-C, and after any EOFError too
        if not isinstance(error.__cause__, EOFError):
            return Exit.INTERRUPTED
        error = error.__cause__
    status = Exit.INPUT
    if hasattr(error, "format_message"):  # a usage error of the parser
        from mmaproof.cli.application import application

        complain(f"error: {usage_message(error, application().parser, given)}")
    elif isinstance(error, TargetUnavailable | SolverNotInstalledError):
        complain(f"error: {error}")
        status = Exit.UNKNOWN
    elif isinstance(error, DesignError) and len(error.choices) > 1:
        note("\n  ".join([f"error: {error.problem}; write one of:", *error.choices]))
    elif isinstance(error, MmaproofError | LimitError | StoreError | UnknownSolverError):
        complain(f"error: {error}")
    elif isinstance(error, OSError) and error.filename is None:  # a file has a name, standard output has none
        discard(sys.stdout)
        complain(f"error: cannot write the result: {error.strerror}")
    elif isinstance(error, OSError) and any(str(error.filename) in x for x in given):  # a file that the user named
        complain(f"error: {_short(str(error.filename))}: {error.strerror}")
    elif isinstance(error, MemoryError):
        complain("memory: mmaproof itself ran out of it, no result")
        status = Exit.UNKNOWN
    else:
        if "MMAPROOF_TRACEBACK" in os.environ:
            traceback.print_exception(error)
        complain(
            f"internal error: {type(error).__name__}: {error} "
            f"(this is a defect of mmaproof, no result; set MMAPROOF_TRACEBACK=1 to see where)"
        )
        status = Exit.INTERNAL
    return status


def _short(name: str, most: int = 80) -> str:
    return name if len(name) <= most else f"{name[:most]}... ({len(name)} characters)"


def run_main() -> None:
    """Entry point of the installed command. If it is told to end, it ends what it started, as after a Ctrl-C."""
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is signal.SIG_DFL:
            signal.signal(number, signal.default_int_handler)
    sys.exit(main())


def usage_message(error: Any, command: Any, given: Sequence[str]) -> str:
    """Return one line for a person about a usage error of the parser, and where to read on.

    ``command`` is the whole application and ``given`` its arguments: some errors do not know where they came up.
    """
    text = error.format_message()
    faults = getattr(error.__cause__, "errors", None)
    if faults is not None and getattr(error, "param", None) is not None:
        names = max(error.param.opts, key=len)
        where = names if names.startswith("-") else (error.param.metavar or error.param.name).strip("[]")
        text = f"{where}: {_fault(faults()[0])}"
    path = _path(command, given) if error.ctx is None else error.ctx.command_path
    return f"{text} (see: {path} --help)"


def _path(command: Any, given: Sequence[str]) -> str:
    """Return the command that the first arguments name, with all that it is part of."""
    path = ["mmaproof"]
    for word in given:
        command = getattr(command, "commands", {}).get(word)
        if command is None:
            break
        path.append(word)
    return " ".join(path)


def _fault(fault: dict[str, Any]) -> str:
    """Return what is wrong with a value, in the words of this program and not in those of the library that checks."""
    given, limits = fault["input"], fault.get("ctx", {})
    match fault["type"]:
        case "int_parsing" | "int_type" | "int_from_float" | "int_parsing_size":
            return f"{given!r} is not an integer"
        case "float_parsing" | "float_type":
            return f"{given!r} is not a number"
        case "greater_than_equal":
            return f"{given!r} is too small: {limits['ge']} or more is allowed"
        case "less_than_equal":
            return f"{given!r} is too large: {limits['le']} or less is allowed"
        case _:
            return str(fault["msg"]).removeprefix("Value error, ").removesuffix(".")


if __name__ == "__main__":
    run_main()
