"""What `mmaproof matrix` and its store do when they are killed, when the disk is full, and when locks do not reach."""

import json
import os
import random
import resource
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterable
from functools import partial
from pathlib import Path

import pytest
from pysmt.environment import get_env
from pysmt.typing import BVType
from support.commands import MAIN, alive, children_of
from support.waiting import LONG, wait_until

from mmaproof.generators.vectors import read_vectors
from mmaproof.smt.solving.query import Query
from mmaproof.smt.solving.store import Store
from mmaproof.smt.solving.verdict import Outcome

WRITER = """
import sqlite3, sys
from pathlib import Path
from pysmt.shortcuts import BV, Equals, Symbol
from pysmt.typing import BVType
from mmaproof.smt.solving import store
from mmaproof.generators.vectors import read_vectors
from mmaproof.smt.solving.query import Query
from mmaproof.smt.solving.verdict import Outcome, Reply, SolverIdentity
real = sqlite3.connect
store.sqlite3.connect = lambda path, **more: real(f"file:{path}?nolock=1", uri=True, **more)
path = Path(sys.argv[1])
for n in range(100):
    outcome = (Outcome.SAT, Outcome.UNSAT)[n % 2]
    formula = Equals(Symbol("a", BVType(16)), BV(n, 16))
    reply = Reply(outcome, SolverIdentity("made up", "1"), 0.1, {"a": n} if outcome is Outcome.SAT else None)
    store.Store(path).keep(Query.of(formula), reply)
"""


def start(folder: Path, architectures: Iterable[str], *options: str) -> subprocess.Popen[str]:
    """Ask about all pairs of some architectures, with a store in this folder."""
    command = [
        *MAIN,
        "matrix",
        *(x for name in architectures for x in ("--architecture", name)),
        "--store",
        str(folder / "s.sqlite"),
        "--jobs",
        "2",
        "--timeout",
        "10m",
        *options,
    ]
    environment = {**os.environ, "TMPDIR": str(folder)}
    pipe = subprocess.PIPE
    return subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True, cwd=folder, env=environment)


def verdicts(out: str) -> dict[tuple[str, str], str]:
    return {(x["first"], x["second"]): x["verdict"] for x in json.loads(out)["pairs"]}


def held(folder: Path) -> int:
    """How many answers, witnesses and proofs are kept."""
    path = folder / "s.sqlite"
    if not path.exists():
        return 0
    kept, witnesses, proofs = Store(path).contents()
    return sum(x.answers for x in kept) + witnesses + proofs


def family(pid: int) -> list[int]:
    """The processes that a process started, and those that these did."""
    return [x for child in children_of(pid) for x in (child, *family(child))]


@pytest.mark.parametrize(
    ("times", "architectures"),
    [
        pytest.param(2, ("volta", "turing"), marks=pytest.mark.middle),
        pytest.param(100, ("volta", "turing", "ampere"), marks=pytest.mark.slow),
    ],
)
def test_killed_at_any_moment_nothing_is_lost_but_what_runs(tmp_path, times, architectures):
    rng = random.Random(times)
    began = time.monotonic()
    with start(tmp_path, architectures, "--json") as undisturbed:
        expected = verdicts(undisturbed.communicate()[0])
    assert set(expected.values()) == {"equivalent", "different"}
    whole = time.monotonic() - began
    killed = completed = 0
    folder = tmp_path / "0"
    while killed < times:
        folder.mkdir(exist_ok=True)
        with start(folder, architectures, "--json", "-o", "found.jsonl") as running:
            wait_until(lambda: children_of(running.pid) or running.poll() is not None)
            try:
                out, _ = running.communicate(timeout=rng.uniform(0, whole))
            except subprocess.TimeoutExpired:
                before, started = held(folder), family(running.pid)
                running.send_signal(signal.SIGKILL)
                running.communicate()
                wait_until(lambda started=started: not any(map(alive, started)))
                killed += 1
                assert held(folder) >= before
                if (folder / "found.jsonl").exists():  # it had just ended
                    assert not read_vectors(folder / "found.jsonl").problems
                with sqlite3.connect(folder / "s.sqlite") as connection:
                    assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
            else:
                assert verdicts(out) == expected
                completed += 1
                folder = tmp_path / str(completed)
    with start(folder, architectures, "--json") as last:
        assert verdicts(last.communicate(timeout=LONG)[0]) == expected


def ended(*arguments: str, file_bytes: int = -1) -> subprocess.CompletedProcess[str]:
    """Run a command that may write no file beyond N bytes; -1 is any number."""
    limit = partial(resource.setrlimit, resource.RLIMIT_FSIZE, (file_bytes, file_bytes))
    # Python itself would leave compiled modules half written
    command, environment = [*MAIN, *arguments], {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}
    return subprocess.run(command, capture_output=True, text=True, preexec_fn=limit, check=False, env=environment)


@pytest.mark.slow
def test_a_full_disk_changes_no_answer(tmp_path, monkeypatch):
    """What the system says of a file that may not grow is as good as a full disk."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.delenv("MMAPROOF_STORE", raising=False)
    asked = ("check", "order-independent", "volta/mma.m8n8k4.f32.f16.f16.f32", "--json")
    answer = ended(*asked, file_bytes=100)
    assert (answer.returncode, json.loads(answer.stdout)["verdict"]) == (0, "holds")
    notes = answer.stderr.splitlines()
    assert notes
    assert all(x.startswith("note: ") for x in notes)
    again = ended(*asked)
    assert (again.returncode, again.stderr, json.loads(again.stdout)["verdict"]) == (0, "", "holds")


@pytest.mark.middle
def test_a_full_disk_leaves_no_half_written_file(tmp_path):
    path = tmp_path / "found.jsonl"
    units = ("volta/mma.m8n8k4.f32.f16.f16.f32", "ampere/mma.m16n8k16.f32.f16.f16.f32")
    answer = ended("compare", *units, "--no-store", "-o", str(path), file_bytes=100)
    assert answer.returncode == 2
    assert answer.stderr.startswith("error: ")
    assert list(tmp_path.iterdir()) == []


def test_locks_that_do_not_reach_another_machine_change_no_answer(tmp_path):
    """Two machines write to a folder whose file system has no locks: what is found is right, or nothing is."""
    path = tmp_path / "s.sqlite"
    Store(path).check()
    writers = [subprocess.Popen([sys.executable, "-c", WRITER, str(path)]) for _ in range(3)]
    assert [x.wait(LONG) for x in writers] == [0] * 3
    manager = get_env().formula_manager
    for n in range(100):
        formula = manager.Equals(manager.Symbol("a", BVType(16)), manager.BV(n, 16))
        for reply in Store(path).answers(Query.of(formula)):
            assert (reply.outcome, reply.model) == ((Outcome.UNSAT, None) if n % 2 else (Outcome.SAT, {"a": n}))
