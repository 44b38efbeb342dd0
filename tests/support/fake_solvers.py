"""Processes that stand for solvers, and what tests see of processes."""

import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from unittest.mock import patch

from pysmt.fnode import FNode

from mmaproof.smt.solving.kept import Kept, end_idle_processes
from mmaproof.smt.solving.limits import Limits
from mmaproof.smt.solving.portfolio import COMMANDS, WORKER
from mmaproof.smt.solving.solving import Solving
from mmaproof.smt.solving.verdict import Reply


def fake(script: str) -> list[str]:
    """The command of a process that reads the query and then runs ``script``."""
    return [sys.executable, "-c", f"import json, os, resource, signal, sys, time\nsys.stdin.read()\n{script}"]


def says(outcome: str, **values: str) -> list[str]:
    """The command of a process that gives one answer."""
    model = {"model": values} if outcome == "sat" else {}
    return fake(f"print({json.dumps({'status': outcome, 'seconds': 0.5, **model})!r})")


def solve(
    formula: FNode, symbols: Sequence[FNode], *, solver: str, limits: Limits, command: Sequence[str] | Kept = WORKER
) -> Reply:
    """Ask one solver, whose process ``command`` starts."""
    with patch.dict(COMMANDS, {solver: command}):
        return Solving(solver).ask(formula, symbols, limits=limits)


HANGS = fake("time.sleep(600)")
CRASHES = fake("os.kill(os.getpid(), signal.SIGSEGV)")
EATS_MEMORY = fake("resource.setrlimit(resource.RLIMIT_AS, (1 << 28, 1 << 28))\n[bytes(1 << 24) for _ in iter(int, 1)]")
TALKS = fake("print('sat, I think')")


def _state_and_parent(pid: int) -> tuple[str, int] | None:
    """What /proc/PID/stat says after the name, which is in parentheses; None where there is no process."""
    try:
        state, parent = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[:2]
    except OSError:
        return None
    return state, int(parent)


def runs(pid: int) -> bool:
    """Whether a process is there and no zombie."""
    found = _state_and_parent(pid)
    return found is not None and found[0] not in "ZX"


def running_children(pid: int) -> set[int]:
    """The ids of the processes below ``pid`` that still run; those of multiprocessing and idle ones are not meant."""
    if pid == os.getpid():
        end_idle_processes()
    listed = [int(x.name) for x in Path("/proc").glob("[0-9]*")]
    found = {x for x in listed if (_state_and_parent(x) or ("", 0))[1] == pid and runs(x)}
    return {x for x in found if b"resource_tracker" not in _command(x)}


def _command(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""
