"""However the asking process ends, no solver process stays behind."""

import contextlib
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from support.fake_solvers import runs
from support.waiting import wait_until

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")

PARENT = """
from pysmt.shortcuts import *
from mmaproof.smt.solving.limits import Limits
from mmaproof.smt.solving.solving import Solving
x, y = (BVZExt(Symbol(name, BVType(64)), 64) for name in "xy")
product = Equals(BVMul(x, y), BV(0xB3406BC44DC2A627 * 0xBC38D756D0055979, 128))
hard = And(product, BVULT(BV(1, 128), x), BVULT(BV(1, 128), y))
print(Solving(SOLVER).ask(hard, [], limits=Limits(600.0, 4 << 30)))
"""


def _status(pid: int) -> list[str]:
    """Return the fields of /proc/PID/stat from the state on (proc_pid_stat(5)); none when there is no process."""
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return []


def _child_of(parent: int) -> int | None:
    for directory in Path("/proc").glob("[0-9]*"):
        if _status(int(directory.name))[1:2] == [str(parent)]:
            return int(directory.name)
    return None


def _is_solving(copy: int | None) -> bool:
    """Return whether the process has used more CPU time than starting and reading the query takes."""
    ticks = 0 if copy is None else sum(map(int, _status(copy)[11:13]))
    return ticks > os.sysconf("SC_CLK_TCK")


@pytest.mark.slow_values("15-solving", "9-solving")
@pytest.mark.middle
@pytest.mark.parametrize("when", ["starting", "solving"])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL, signal.SIGTERM])
def test_no_worker_survives_its_parent(when: str, number: signal.Signals) -> None:
    script = PARENT.replace("SOLVER", "'bitwuzla'")
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as parent:
        while (worker := _child_of(parent.pid)) is None:
            assert parent.poll() is None
        while when == "solving" and not _is_solving(_child_of(worker)):
            assert parent.poll() is None
        copy = _child_of(worker)
        os.kill(parent.pid, number)
        output, errors = parent.communicate()
    assert output == b""
    assert (b"KeyboardInterrupt" in errors) == (number is signal.SIGINT)
    if number is signal.SIGINT and when == "solving":
        # The parent killed and reaped it before it ended itself. (One that is being started may outlive it for a
        # moment: it gets no query, and looks for its parent.)
        assert _status(worker) == []
    # A process without a parent is a zombie until init takes note, which not every container's does.
    wait_until(lambda: not runs(worker) and (copy is None or not runs(copy)))
