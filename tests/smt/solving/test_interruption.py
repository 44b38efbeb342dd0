"""However the asking process ends, no solver process stays behind."""

import contextlib
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")

PARENT = """
from pysmt.shortcuts import *
from mmaproof.smt.solving.limits import Limits
from mmaproof.smt.solving.solve import solve
x, y = (BVZExt(Symbol(name, BVType(64)), 64) for name in "xy")
product = Equals(BVMul(x, y), BV(((1 << 64) - 59) * ((1 << 63) - 25), 128))
hard = And(product, BVULT(BV(1, 128), x), BVULT(BV(1, 128), y))
print(solve(hard, [], solver=SOLVER, limits=Limits(600.0, 4 << 30)))
"""


def _state(pid: int) -> tuple[str, int] | None:
    """Return state and parent of a process; None when there is none."""
    with contextlib.suppress(OSError):
        state, parent = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[:2]
        return state, int(parent)
    return None


def _runs(pid: int) -> bool:
    # A process without a parent is a zombie until init takes note, which not every container's does.
    state = _state(pid)
    return state is not None and state[0] != "Z"


def _worker_of(parent: int) -> int | None:
    for directory in Path("/proc").glob("[0-9]*"):
        state = _state(int(directory.name))
        if state is not None and state[1] == parent:
            return int(directory.name)
    return None


def _is_solving(worker: int) -> bool:
    """Return whether the process has loaded the solver and, so, guards itself."""
    with contextlib.suppress(OSError):
        return "bitwuzla.cpython" in Path(f"/proc/{worker}/maps").read_text()
    return False


@pytest.mark.parametrize("when", ["starting", "solving"])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL, signal.SIGTERM])
def test_no_worker_survives_its_parent(when: str, number: signal.Signals) -> None:
    script = PARENT.replace("SOLVER", "'bitwuzla'")
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as parent:
        while (worker := _worker_of(parent.pid)) is None:
            assert parent.poll() is None
        while when == "solving" and not _is_solving(worker):
            assert parent.poll() is None
        os.kill(parent.pid, number)
        output, errors = parent.communicate()
    assert output == b""
    assert (b"KeyboardInterrupt" in errors) == (number is signal.SIGINT)
    if number is signal.SIGINT and when == "solving":
        # The parent killed and reaped it before it ended itself. (One that is being started may outlive it for a
        # moment: it gets no query, and looks for its parent.)
        assert _state(worker) is None
    while _runs(worker):
        time.sleep(0.01)
