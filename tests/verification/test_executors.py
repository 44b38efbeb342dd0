"""Many tasks on executors: none is lost, whatever dies, and nothing runs on afterwards."""

import itertools
import multiprocessing
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from contextlib import closing, nullcontext
from functools import partial

import pytest
from support.commands import alive
from support.waiting import wait_until

from mmaproof.verification.executors import (
    TaskLost,
    finished,
    here,
    in_order,
    local_pool,
)

TWO = partial(local_pool, 2)
DIES = "__import__('os')._exit(9)"


def sleeping(marker):
    """A task that leaves its process id in a file and sleeps."""
    return f"open({str(marker)!r}, 'w').write(str(__import__('os').getpid())), __import__('time').sleep(600)"


def dies_once(marker):
    """A task whose process dies the first time."""
    path = f"__import__('pathlib').Path({str(marker)!r})"
    return f"'again' if {path}.exists() else ({path}.touch(), {DIES})"


@pytest.mark.middle
def test_a_process_that_dies_takes_no_other_task_along():
    found = dict(finished(eval, [*map(str, range(4)), DIES, *map(str, range(5, 9))], TWO, 3))
    assert found.pop(4).startswith("BrokenProcessPool: ")
    assert found == {i: i for i in (0, 1, 2, 3, 5, 6, 7, 8)}


def test_a_task_whose_process_died_is_done_once_more(tmp_path):
    # the only one that dies: another that breaks the executor first would leave it one attempt, its fatal one
    found = dict(finished(eval, ["0", dies_once(tmp_path / "died"), "2"], TWO, 2))
    assert found == {0: 0, 1: "again", 2: 2}


def test_what_a_task_raises_is_said():
    with closing(finished(eval, ["1", "1/0", "3"], partial(ThreadPoolExecutor, 1), 1)) as results:
        assert dict(results) == {0: 1, 1: "ZeroDivisionError: division by zero", 2: 3}


def test_so_many_at_a_time_and_no_more():
    handed_out = []

    class Watching(Executor):
        def submit(self, function, task):
            handed_out.append(task)
            future = Future()
            future.set_result(function(task))
            return future

    results = finished(int, ["0", "1", "2", "3", "4"], Watching, 2)
    assert next(results) in {(0, 0), (1, 1)}
    assert handed_out == ["0", "1"]
    assert len(list(results)) == 4


def test_an_executor_that_takes_no_task_is_a_reason():
    class Full(Executor):
        def submit(self, function, task):
            raise OSError("no more processes")

    assert list(finished(int, ["1"], Full, 1)) == [(0, "OSError: no more processes")]


def test_closing_ends_what_runs(tmp_path):
    marker = tmp_path / "pid"
    with closing(finished(eval, ["1", sleeping(marker)], TWO, 2)) as results:
        assert next(results) == (0, 1)
        pid = wait_until(lambda: marker.exists() and int(marker.read_text() or 0))
        assert alive(pid)
    assert not alive(pid)
    assert multiprocessing.active_children() == []


def test_processes_die_with_the_one_that_started_them(tmp_path):
    marker = tmp_path / "pid"
    parent = multiprocessing.get_context("spawn").Process(target=exec, args=(PARENT.format(sleeping(marker)),))
    parent.start()
    pid = wait_until(lambda: marker.exists() and int(marker.read_text() or 0))
    parent.kill()
    parent.join()
    wait_until(lambda: not alive(pid))


PARENT = """
from functools import partial
from types import SimpleNamespace
from mmaproof.verification.executors import finished, local_pool
list(finished(eval, [{!r}], partial(local_pool, 1), 1))
"""


class Backwards(Executor):
    """An executor whose first task ends last."""

    def __init__(self):
        self.first = None

    def submit(self, function, task):
        future = Future()
        if self.first is None:
            self.first = future, function, task
        else:
            future.set_result(function(task))
            held, later, first = self.first
            if not held.done():
                held.set_result(later(first))
        return future


def test_what_comes_back_is_in_the_order_of_the_tasks():
    run = in_order(lambda: nullcontext(Backwards()), 3)
    assert list(run(abs, [-3, -1, 2])) == list(here(abs, [-3, -1, 2])) == [3, 1, 2]


def test_a_task_of_which_nothing_comes_back_ends_the_work():
    run = in_order(partial(ThreadPoolExecutor, 2), 2)
    with pytest.raises(TaskLost, match="asked twice, no answer came back: ZeroDivisionError"):
        list(run(partial(divmod, 1), [1, 0]))


def test_a_process_of_another_version_is_not_asked(monkeypatch):
    versions = itertools.chain(["1"], itertools.repeat("2"))
    monkeypatch.setattr("mmaproof.verification.executors.running_version", lambda: next(versions))
    with pytest.raises(TaskLost, match="was asked has mmaproof 2, the one that asks 1"):
        list(in_order(partial(ThreadPoolExecutor, 1), 1)(abs, [1]))
