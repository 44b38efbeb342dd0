"""`--dask`: the same answers as without it, whatever the order in which tasks end; one executor for long commands."""

from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from multiprocessing import get_context

import pytest
from support.commands import only_json

from mmaproof.designs.element import Operands
from mmaproof.verification.matrix import compared

VOLTA, TURING = "volta/f32.f16.f16.f32@L=1", "turing/f32.f16.f16.f32@L=1"
ANOTHER = "volta/f32.f16.f16.f32@L=1,fraction_bits=24"
SECONDS = ("seconds", "origin")
"""What says how long something took."""


@pytest.fixture
def cluster(monkeypatch):
    """Two processes that stand for a cluster: what is sent to them must be plain data."""
    asked = []

    @contextmanager
    def stand_in(address, solving):
        asked.append(address)
        context = get_context("fork")
        yield lambda: ProcessPoolExecutor(2, mp_context=context), 2

    monkeypatch.setattr("mmaproof.verification.cluster.cluster", stand_in)
    return asked


def without_times(found):
    if isinstance(found, dict):
        return {n: without_times(x) for n, x in found.items() if n not in SECONDS}
    return [without_times(x) for x in found] if isinstance(found, list) else found


@pytest.mark.slow_values("matrix")
@pytest.mark.middle
@pytest.mark.parametrize(
    "command",
    [
        ["matrix", VOLTA, TURING, "volta/f16.f16.f16.f16"],
        pytest.param(["suite", VOLTA, TURING], marks=pytest.mark.middle),
        pytest.param(["cover", "volta/f16.f16.f16.f16@L=1", "-n", "4", "--timeout", "1s"], marks=pytest.mark.middle),
        pytest.param(
            ["fingerprint", VOLTA, TURING, "--only", "order-independent", "--only", "carry-bits"],
            marks=pytest.mark.middle,
        ),
        ["gemm", "error", "plain", "markidis", "--unit", "volta/f32.f16.f16.f32", "--k", "4,8", "--no-bound"],
        ["disputes", "paper"],
    ],
    ids=lambda x: x[0],
)
def test_the_same_answers_on_a_cluster(run, cluster, command):
    alone, together = (run(*command, "--json", "--no-store", *more) for more in ((), ("--dask", "tcp://there:8786")))
    assert cluster == ["tcp://there:8786"]
    assert together[0] == alone[0]
    assert without_times(only_json(together[1])) == without_times(only_json(alone[1]))


@pytest.mark.parametrize(("where", "verdict"), [(["--dask", "tcp://there:8786"], "unknown"), ([], "different")])
def test_witnesses_from_other_machines_are_evaluated_again(run, cluster, monkeypatch, where, verdict):
    monkeypatch.setattr("mmaproof.verification.executors.local_pool", lambda jobs: ThreadPoolExecutor(jobs))
    monkeypatch.setattr("mmaproof.verification.matrix.compared", found_elsewhere)
    found = only_json(run("matrix", VOLTA, ANOTHER, "--json", "--no-store", *where)[1])
    assert [x["verdict"] for x in found["pairs"]] == [verdict]


def found_elsewhere(task):
    """The answer of a process that takes zeros for a witness."""
    return replace(compared(task), witness=Operands((0,) * 4, (0,) * 4, 0))


@pytest.mark.middle
@pytest.mark.parametrize(
    "command", [["cover", VOLTA], ["disputes", "volta"], ["fingerprint", VOLTA], ["suite", VOLTA, TURING]]
)
def test_a_cluster_that_is_not_there_is_status_3(run, monkeypatch, command):
    monkeypatch.setattr("mmaproof.verification.cluster.CONNECT_SECONDS", 0.5)
    status, out, err = run(*command, "--no-store", "--dask", "tcp://127.0.0.1:1")
    assert (status, out) == (3, "")
    assert err.startswith("error: target not reachable: no dask scheduler answers at tcp://127.0.0.1:1")
