"""Programs that read RTL, as child processes that end in time, with their errors as the user's."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from mmaproof.designs.errors import InputError
from mmaproof.rtl.unit_file import UnitFile


@dataclass(frozen=True, slots=True)
class Printed:
    """What a program printed: its output, and its messages."""

    output: str
    messages: str

    @property
    def log(self) -> str:
        """Both."""
        return f"{self.messages}\n{self.output}"


@dataclass(frozen=True, slots=True)
class Limits:
    """How long a program may take, and how much memory."""

    seconds: float
    memory_bytes: int


def run_tool(
    command: Sequence[str], unit: UnitFile, limits: Limits, environment: Mapping[str, str] | None = None
) -> Printed:
    """Run a program in the unit's folder and return what it printed. It has ended when this returns or raises.

    Raises InputError with the program's errors where it fails, and where it takes too long or too much memory.
    """
    child = subprocess.Popen(
        command,
        cwd=unit.folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
        start_new_session=True,
    )
    try:
        printed = Printed(*child.communicate(timeout=limits.seconds))
    except subprocess.TimeoutExpired as problem:
        raise InputError(
            f"{unit.path}: elaboration takes longer than {limits.seconds:g} s: give a smaller unit as top module"
        ) from problem
    finally:
        _end(child)
    log = printed.log
    if child.returncode:
        errors = _errors(log)
        if child.returncode == -signal.SIGKILL or any(text in log for text in _OUT_OF_MEMORY):
            raise InputError(f"{unit.path}: elaboration takes more than {limits.memory_bytes >> 20} MiB of memory")
        too_many = _TOO_MANY.search(log)
        if too_many:
            raise InputError(
                f"{unit.path}: {unit.top} has {too_many[1]} cells, and more than {too_many[2]} are not even optimised: "
                "a proof of that size would not end; give a smaller unit as top module"
            )
        if errors:
            raise InputError(f"{unit.path}: " + "; ".join(errors))
        if child.returncode < 0:
            raise InputError(
                f"{unit.path}: the tool that elaborates crashed (signal {-child.returncode}) after: {last_lines(log)}; "
                "very deep logic does that: give a smaller unit as top module"
            )
        raise InputError(f"{unit.path}: elaboration ended with status {child.returncode}: {last_lines(log)}")
    return printed


def _end(child: subprocess.Popen[str]) -> None:
    """End a child that still runs, and whatever it has started."""
    if child.poll() is not None:
        return
    if hasattr(os, "killpg"):
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(child.pid, signal.SIGKILL)
    else:
        child.kill()
    child.communicate()


_OUT_OF_MEMORY = ("bad_alloc", "MemoryError", "failed to map segment", "annot allocate memory")
_TOO_MANY = re.compile(r"Assertion failed: selection contains (\d+) elements, more than the maximum number (\d+)")
_WHERE = r"(?P<where>\S.*?:\d+(?::\d+)?)"
_ERROR = re.compile(rf"(?:{_WHERE}: ?)?(?:ERROR|error): ?(?P<what>.*)")
_ERROR_OF_GHDL = re.compile(rf"{_WHERE}:(?! ?(?i:warning|note):) ?(?:error: ?)?(?P<what>.*)")
_NOT_SAYING = ("Design elaboration failed; see full log for details", "Bad command")
_MOST_ERRORS = 5


def _errors(log: str) -> list[str]:
    found = []
    for line in log.splitlines():
        match = _ERROR.fullmatch(line.strip()) or _ERROR_OF_GHDL.fullmatch(line.strip())
        if match and match["what"] not in _NOT_SAYING:
            found.append(f"{match['where']}: {match['what']}" if match["where"] else match["what"])
    more = [f"and {len(found) - _MOST_ERRORS} more errors"] if len(found) > _MOST_ERRORS else []
    return found[:_MOST_ERRORS] + more


def last_lines(log: str) -> str:
    """Return the end of what a program printed, in one line."""
    return " ".join(log.split("\n")[-4:]).strip() or "no message"
