"""A Dask cluster loses no task when workers die or its scheduler is restarted, and what cannot answer is refused."""

import itertools
import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from contextlib import closing, contextmanager, suppress
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from unittest.mock import Mock

import pytest
import yaml
from support.commands import only_json
from support.small_spaces import small_space
from support.waiting import LONG, wait_until

from mmaproof.cli.main import main
from mmaproof.designs.errors import InputError
from mmaproof.smt.solving.solving import Solving
from mmaproof.verification.cluster import _Connection, _OnCluster, cluster
from mmaproof.verification.executors import ClusterNotReachable, finished, in_order

PAUSED = "(__import__('time').sleep(0.3), {})[1]"


class Scheduler:
    """A scheduler and workers of dask, in processes of their own. Workers that end are started again."""

    def __init__(self, folder, paths):
        with closing(socket.socket()) as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.address = f"tcp://127.0.0.1:{self.port}"
        self.folder, self.paths = folder, paths
        self.over = threading.Event()
        self.started = [self._scheduler()]
        self.workers = [self._worker(x) for x in paths]
        self.keeper = threading.Thread(target=self._keep, daemon=True)
        self.keeper.start()

    def _run(self, *words, path=None):
        env = os.environ | ({"PYTHONPATH": str(path)} if path else {})
        command = [sys.executable, "-m", "dask", *words]
        return subprocess.Popen(
            command,
            env=env,
            cwd=self.folder,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            stdin=subprocess.DEVNULL,
        )

    def _scheduler(self):
        return self._run(
            "scheduler",
            "--host",
            "127.0.0.1",
            "--port",
            str(self.port),
            "--no-dashboard",
            "--dashboard-address",
            "127.0.0.1:0",
        )

    def _worker(self, path):
        return self._run(
            *("worker", self.address, "--nthreads", "1", "--no-dashboard", "--no-nanny"),
            *("--local-directory", str(self.folder)),
            path=path,
        )

    def _keep(self):
        while not self.over.wait(0.2):
            for i, path in enumerate(self.paths):
                if self.workers[i].poll() is not None:
                    self.workers[i] = self._worker(path)

    def kill(self, number):
        """Kill a worker."""
        self.workers[number].send_signal(signal.SIGKILL)

    def restart(self):
        """Kill the scheduler, and start another one at the same address."""
        self.started[-1].kill()
        self.started[-1].wait()
        self.started.append(self._scheduler())

    def close(self):
        """End everything."""
        self.over.set()
        self.keeper.join()
        for process in (*self.started, *self.workers):
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()

    @property
    def present(self):
        """How many workers have arrived."""
        from distributed import Client

        with Client(self.address, timeout=LONG, set_as_default=False) as client:
            return len(client.nthreads())


@contextmanager
def running(folder, paths):
    found = Scheduler(folder, paths)
    try:
        wait_until(lambda: found.present == len(paths))
        yield found
    finally:
        found.close()


@pytest.fixture(autouse=True)
def patient(monkeypatch):
    """A busy machine starts a worker late."""
    monkeypatch.setattr("mmaproof.verification.cluster.CONNECT_SECONDS", 30)


@pytest.mark.parametrize("address", ["nonsense", "foo://host:1", "tcp://host:port"])
def test_an_address_that_cannot_be_read(address):
    with (
        pytest.raises(InputError, match=r"is not an address of a dask scheduler such as tcp://HOST:8786"),
        cluster(address),
    ):
        pass


def test_a_cluster_that_is_not_there(monkeypatch):
    monkeypatch.setattr("mmaproof.verification.cluster.CONNECT_SECONDS", 0.3)
    with pytest.raises(ClusterNotReachable, match=r"target not reachable: .* tcp://127\.0\.0\.1:1"):  # noqa: SIM117
        with cluster("tcp://127.0.0.1:1"):
            pass


def test_dask_that_is_not_installed(monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(InputError, match=r"pip install 'mmaproof\[dask\]'"), cluster("tcp://127.0.0.1:1"):
        pass


@pytest.mark.middle
def test_a_killed_worker_and_a_restarted_scheduler_lose_nothing(tmp_path):
    with running(tmp_path, [None, None]) as processes, cluster(processes.address) as (pool, number):
        assert number == 2
        with closing(finished(eval, [PAUSED.format(i) for i in range(12)], pool, 4)) as results:
            found = [next(results)]
            processes.kill(0)
            found.append(next(results))
            processes.restart()
            found += results
    assert sorted(found) == [(i, i) for i in range(12)]


def test_a_task_that_cannot_be_submitted_fails():
    made = SimpleNamespace(status="running", submit=Mock(side_effect=TypeError("cannot be sent")))
    connection = SimpleNamespace(client=made, tasks={}, lock=threading.RLock(), over=threading.Event())
    connection._hand_over = partial(_Connection._hand_over, connection)
    connection.submit = partial(_Connection.submit, connection)
    with pytest.raises(TypeError, match="cannot be sent"):
        _OnCluster(connection).submit(abs, 1).result(timeout=LONG)
    made.status = "closing"  # the next client takes it
    assert not _OnCluster(connection).submit(abs, 1).done()
    assert len(connection.tasks) == 1


@pytest.mark.middle
def test_a_scheduler_that_stays_away_ends_the_work(tmp_path, monkeypatch):
    monkeypatch.setattr("mmaproof.verification.cluster.RETURN_SECONDS", 1)
    with running(tmp_path, [None]) as processes, cluster(processes.address) as (pool, _):
        results = in_order(pool, 2)(eval, [PAUSED.format(i) for i in range(1000)])
        assert next(results) == 0
        monkeypatch.setattr("mmaproof.verification.cluster.CONNECT_SECONDS", 1)
        processes.started[-1].kill()
        with pytest.raises(ClusterNotReachable, match=r"no dask scheduler answers at"):
            list(results)


def another_version(folder):
    """A folder that makes a process believe that it has another version of the package."""
    about = folder / "mmaproof-0.0.1.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: mmaproof\nVersion: 0.0.1\n")
    return r"has mmaproof 0\.0\.1, and .* asks: install mmaproof=="


def without_solver(folder):
    """A folder in which the package of a solver cannot be imported."""
    (folder / "bitwuzla.py").write_text("raise ImportError('taken away')\n")
    return r"cannot decide anything: .*bitwuzla"


@pytest.mark.middle
@pytest.mark.parametrize("unfit", [another_version, without_solver])
def test_a_worker_that_cannot_answer_is_refused(tmp_path, unfit):
    folder = tmp_path / "path"
    folder.mkdir()
    reason = unfit(folder)
    with (
        running(tmp_path, [None, folder]) as processes,
        pytest.raises(ClusterNotReachable, match=reason),
        cluster(processes.address, Solving()),
    ):
        pass


@pytest.mark.middle
def test_a_cluster_gives_the_answers_of_one_process(capsys, tmp_path):
    """With one seed, whatever the order in which its tasks end."""
    small = tmp_path / "space.toml"
    small.write_text(small_space("turing/f32.f16.f16.f32", fraction_bits=[23, 24, 25]), encoding="utf-8")
    asked = "--interface", "f32.f16.f16.f32", "--k", "8", "--space", str(small), "--validate", "500"
    designs = "volta/f32.f16.f16.f32@L=1", "turing/f32.f16.f16.f32@L=1"
    commands = (
        ("suite", *designs, "--seed", "3"),
        ("cover", designs[0], "--seed", "3"),
        ("disputes", "cdna1"),
        ("identify", "model:turing/f32.f16.f16.f32", *asked, "--seed", "3"),
    )

    def answer(command, *where):
        status = main([*command, "--json", "--no-store", "--timeout", "10m", *where])
        return status, answers(only_json(capsys.readouterr().out))

    with running(tmp_path, [None, None]) as processes:
        for command in commands:
            assert answer(command, "--dask", processes.address) == answer(command, "--jobs", "1"), command[0]


EIGHT = ("volta", "turing", "ampere")
"""Architectures with 1,959 comparable pairs, a tenth of those of ``matrix --all``: minutes where that takes an hour."""
KILLED = {
    "matrix": ["matrix", *(x for name in EIGHT for x in ("--architecture", name))],
    "identify": [
        *("identify", "model:volta/f32.f16.f16.f32", "--interface", "fp32.fp16.fp16.fp32"),
        *("--k", "4", "--timeout", "1h"),
    ],
}


@pytest.mark.slow
@pytest.mark.parametrize("command", KILLED.values(), ids=KILLED)
def test_the_same_answers_while_workers_are_killed(capsys, tmp_path, command):
    """A worker dies every ten seconds, and the scheduler once. MMAPROOF_WHOLE_MATRIX asks about all pairs instead."""
    if command[0] == "matrix" and "MMAPROOF_WHOLE_MATRIX" in os.environ:
        command = ["matrix", "--all"]

    def answer(*where):
        main([*command, "--json", "--no-store", *where])
        return only_json(capsys.readouterr().out)

    alone = answer("--jobs", "2")
    if command[0] == "matrix":
        assert {x["verdict"] for x in alone["pairs"]} == {"equivalent", "different"}
    killed = []
    with running(tmp_path, [None] * 4) as processes:
        over = threading.Event()

        def disturb():
            for i in itertools.count():
                if over.wait(10):
                    return
                if i == 2:
                    processes.restart()
                else:
                    processes.kill(i % 4)
                killed.append(i)

        threading.Thread(target=disturb, daemon=True).start()
        began = time.monotonic()
        together = answer("--dask", processes.address)
        over.set()
        seconds = time.monotonic() - began
    (tmp_path / "seconds.json").write_text(json.dumps({"seconds": seconds, "killed": len(killed)}))
    assert answers(together) == answers(alone)
    assert len(killed) > 2, "the scheduler was not restarted: the answers came too soon"


def answers(found):
    """Everything but what depends on when an answer came."""
    if isinstance(found, dict):
        return {n: answers(x) for n, x in found.items() if n not in {"seconds", "origin", "lemmas", "solver"}}
    return [answers(x) for x in found] if isinstance(found, list) else found


@pytest.mark.middle
def test_the_files_of_the_documentation_start_what_there_is():
    folder = Path(__file__).parents[2] / "docs" / "examples"
    assert subprocess.run(["bash", "-n", folder / "slurm.sh"], check=False).returncode == 0
    manifests = list(yaml.safe_load_all((folder / "kubernetes.yaml").read_text()))
    assert [x["kind"] for x in manifests] == ["Service", "Deployment", "Deployment"]
    service, *deployments = manifests
    containers = [x["spec"]["template"]["spec"]["containers"][0]["command"] for x in deployments]
    address = f"tcp://{service['metadata']['name']}:{service['spec']['ports'][0]['port']}"
    assert address in containers[1]
    assert service["spec"]["selector"] == deployments[0]["spec"]["template"]["metadata"]["labels"]
    lines = [x.strip() for x in (folder / "slurm.sh").read_text().splitlines()]
    commands = [x.rstrip("&").split("--local")[0].split() for x in lines if x.startswith("python -m dask")]
    for words in (*containers, *commands):
        kind, given = words[3], {x for x in words if x.startswith("--")}
        text = subprocess.run(
            [sys.executable, *words[1:4], "--help"], capture_output=True, text=True, check=True
        ).stdout
        assert given <= set(re.findall(r"--[\w-]+", text)), kind
