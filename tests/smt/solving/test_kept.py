"""Kept processes answer as new ones do, only answers to the query that was sent count, and none is left behind."""

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from multiprocessing import get_context
from pathlib import Path

import pytest
from pysmt.environment import Environment
from pysmt.fnode import FNode
from pysmt.formula import FormulaManager
from pysmt.typing import BVType
from support.fake_solvers import runs, solve
from support.waiting import wait_until

from mmaproof.smt.solving import kept
from mmaproof.smt.solving.backends import BACKENDS
from mmaproof.smt.solving.kept import Kept, end_idle_processes
from mmaproof.smt.solving.limits import Limits
from mmaproof.smt.solving.portfolio import COMMANDS, WORKER, Race, racers
from mmaproof.smt.solving.query import Query
from mmaproof.smt.solving.solving import Solving
from mmaproof.smt.solving.verdict import Outcome, Reply

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")

MakeFormula = Callable[[int, int], FNode]


@pytest.fixture(autouse=True)
def nothing_kept() -> Iterator[None]:
    end_idle_processes()
    yield
    end_idle_processes()


def children(parent: int) -> list[int]:
    """The processes below a process that run."""
    found = []
    for directory in Path("/proc").glob("[0-9]*"):
        try:
            fields = (directory / "stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if fields[1] == str(parent) and fields[0] not in "ZX":
            found.append(int(directory.name))
    return found


def kept_process() -> int:
    """The only process that is kept."""
    (process,) = kept._IDLE._all
    return process._process.pid


def copy_of(process: int) -> int:
    (copy,) = wait_until(lambda: children(process))
    return copy


def with_change(change: str) -> Kept:
    """The command of a worker that was changed before it starts."""
    script = (
        "import dataclasses, os, signal, sys, time\n"
        "from mmaproof.smt.solving import backends, kept_worker\n"
        f"{change}\n"
        "kept_worker.main(sys.argv[1:])"
    )
    return Kept((sys.executable, "-P", "-c", script))


def said(answer: Reply) -> tuple[object, ...]:
    return answer.outcome, answer.model, answer.reason


def test_one_process_answers_many_queries(five: FNode, a: FNode, limits: Limits) -> None:
    seen = set()
    for _ in range(3):
        assert Solving().ask(five, [a], limits=limits).model == {"a": 5}
        seen.add((kept_process(), copy_of(kept_process())))
    assert len(seen) == 1


@pytest.mark.middle
@pytest.mark.slow_values("cvc5", "z3")
@pytest.mark.parametrize("solver", ["bitwuzla", *(pytest.param(x, marks=pytest.mark.middle) for x in ("cvc5", "z3"))])
def test_no_query_has_an_influence_on_the_next(make_formula: MakeFormula, limits: Limits, solver: str) -> None:
    formulas = [make_formula(seed, 60) for seed in range(8)]
    symbols = {symbol for formula in formulas for symbol in formula.get_free_variables()}

    def answers() -> Iterator[tuple[object, ...]]:
        for formula in formulas:
            wanted = sorted(symbols & formula.get_free_variables(), key=str)
            yield said(Solving(solver).ask(formula, wanted, limits=limits))

    one_process = list(answers())
    assert one_process == list(answers()), "the other queries came before it"
    of_their_own = []
    for reply in answers():
        of_their_own.append(reply)
        end_idle_processes()
    assert one_process == of_their_own


def test_a_name_may_have_another_width_in_the_next_query(limits: Limits) -> None:
    for width in (3, 8, 3):
        terms = Environment().formula_manager
        x = terms.Symbol("x", BVType(width))
        assert Solving().ask(terms.Equals(x, terms.BV(2, width)), [x], limits=limits).model == {"x": 2}


def test_after_a_time_out_another_process_answers(manager: FormulaManager, five: FNode, limits: Limits) -> None:
    x, y = (manager.BVZExt(manager.Symbol(name, BVType(64)), 64) for name in "xy")
    product = manager.Equals(manager.BVMul(x, y), manager.BV(0xB3406BC44DC2A627 * 0xBC38D756D0055979, 128))
    hard = manager.And(product, manager.BVULT(manager.BV(1, 128), x), manager.BVULT(manager.BV(1, 128), y))
    assert Solving().ask(five, [], limits=limits).outcome is Outcome.SAT
    before = kept_process()
    copy = copy_of(before)
    assert Solving().ask(hard, [], limits=Limits(0.3, 2 << 30)).reason == "timeout: no answer within 0.3 s"
    assert not kept._IDLE._all
    wait_until(lambda: not runs(before) and not runs(copy))
    assert Solving().ask(five, [], limits=limits).outcome is Outcome.SAT


@pytest.mark.parametrize("whom", [kept_process, lambda: copy_of(kept_process())])
def test_one_that_was_killed_while_idle_is_replaced(five: FNode, limits: Limits, whom: Callable[[], int]) -> None:
    assert Solving().ask(five, [], limits=limits).outcome is Outcome.SAT
    killed = kept_process()
    os.kill(whom(), signal.SIGKILL)
    wait_until(lambda: not runs(killed))
    assert Solving().ask(five, [], limits=limits).outcome is Outcome.SAT
    assert kept_process() != killed


@pytest.mark.few(4)
@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ("os.kill(os.getpid(), signal.SIGSEGV)", "solver error: the solver process was ended by SIGSEGV"),
        ("os.kill(os.getpid(), signal.SIGKILL)", "interrupted: the solver process was ended by SIGKILL"),
        ("os.kill(os.getpid(), signal.SIGXCPU)", "timeout: the solver process was ended by SIGXCPU"),
        ("os._exit(3)", "solver error: the solver process ended with exit status 3 without an answer"),
        ("os._exit(0)", "solver error: the solver process wrote no answer but ''"),
        ("sys.stderr.write('std::bad_alloc'); sys.stderr.flush(); os.abort()", "memory: the solver process was ended"),
        ("raise MemoryError", "memory: bitwuzla: no more memory within the limit"),
        ("raise ValueError('x y')", "solver error: bitwuzla: ValueError: x y"),
    ],
)
def test_how_a_copy_ends_is_the_reason(five: FNode, limits: Limits, change: str, reason: str) -> None:
    command = with_change(f"def fail(*x):\n    {change}\nkept_worker._answer = fail")
    answer = solve(five, [], solver="bitwuzla", limits=limits, command=command)
    assert answer.outcome is Outcome.UNKNOWN
    assert str(answer.reason).startswith(reason)
    assert not kept._IDLE._all


@pytest.mark.parametrize(
    "change",
    [
        "bitwuzla = backends.BACKENDS['bitwuzla']\n"
        "backends.BACKENDS['bitwuzla'] = dataclasses.replace(bitwuzla, queries_of_a_process=1)",
        "kept_worker._MOST_GROWTH_BYTES = -(1 << 40)",
    ],
)
def test_a_copy_that_answered_enough_or_has_grown_is_replaced(
    five: FNode, a: FNode, limits: Limits, monkeypatch: pytest.MonkeyPatch, change: str
) -> None:
    monkeypatch.setitem(COMMANDS, "bitwuzla", with_change(change))
    seen = []
    for _ in range(3):
        assert Solving().ask(five, [a], limits=limits).model == {"a": 5}
        before = seen[-1][1] if seen else 0
        wait_until(lambda before=before: children(kept_process()) not in ([], [before]))  # type: ignore[misc]
        seen.append((kept_process(), copy_of(kept_process())))
    assert len({process for process, _ in seen}) == 1
    assert len({copy for _, copy in seen}) == 3


UNSAT = json.dumps({"status": "unsat", "seconds": 0.5})
READ = (
    "import os, struct, sys, time\n"
    "def read():\n"
    "    number, length, *_ = struct.unpack('<4Q', sys.stdin.buffer.read(32))\n"
    "    sys.stdin.buffer.read(length)\n"
    "    return number\n"
    "def say(text):\n"
    "    os.write(1, text.encode())\n"
    f"unsat = {UNSAT!r}\n"
)


@pytest.mark.few(1)
@pytest.mark.parametrize(
    "script",
    [
        "read(); say(f'{unsat}\\n')",
        "say(f'{read() + 1} {unsat}\\n')",
        "n = read(); say(f'{n} {unsat}\\n{n} {unsat}\\n')",
        "say(f'{read()}{unsat}\\n')",
        "say(f'{read()}  {unsat[:-1]}\\n')",
        "say(f'{read()} {unsat}')",
        "say(f'{read()} \\n')",
    ],
)
def test_only_one_line_with_the_number_of_the_query_is_an_answer(five: FNode, limits: Limits, script: str) -> None:
    command = Kept((sys.executable, "-c", READ + script))
    answer = solve(five, [], solver="bitwuzla", limits=limits, command=command)
    assert answer.outcome is Outcome.UNKNOWN
    assert str(answer.reason).startswith("solver error: ")
    assert not kept._IDLE._all
    right = Kept((sys.executable, "-c", f"{READ}say(f'{{read()}} {{unsat}}\\n'); time.sleep(600)"))
    assert solve(five, [], solver="bitwuzla", limits=limits, command=right).outcome is Outcome.UNSAT


def test_what_is_said_without_a_question_is_no_answer(
    five: FNode, limits: Limits, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """It answers the first query, and the second one before that is sent."""
    said = tmp_path / "said"
    both = f"say(f'{{read()}} {{unsat}}\\n'); time.sleep(0.2); say(f'2 {{unsat}}\\n'); os.mkdir({str(said)!r})"
    script = f"{READ}{both}; time.sleep(600)"
    monkeypatch.setitem(COMMANDS, "bitwuzla", Kept((sys.executable, "-c", script)))
    assert Solving().ask(five, [], limits=limits).outcome is Outcome.UNSAT
    first = kept_process()
    wait_until(said.exists)
    assert Solving().ask(five, [], limits=limits).outcome is Outcome.UNSAT
    assert kept_process() != first
    end_idle_processes()
    # Nor is what is said before the whole query was read.
    hasty = Kept((sys.executable, "-c", f"{READ}say(f'1 {{unsat}}\\n'); time.sleep(600)"))
    terms = Environment().formula_manager
    large = terms.And([terms.Symbol(f"{'x' * 1000}{n}") for n in range(300)])
    answer = solve(large, [], solver="bitwuzla", limits=limits, command=hasty)
    assert str(answer.reason).startswith("solver error: the solver process wrote no answer but")


def test_an_answer_that_is_not_believed_ends_the_process(five: FNode, limits: Limits) -> None:
    wrong = json.dumps({"status": "sat", "seconds": 0.5, "model": {"a": "0x06"}})
    command = Kept((sys.executable, "-c", f"{READ}say(f'{{read()}} ' + {wrong!r} + '\\n'); time.sleep(600)"))
    answer = solve(five, [], solver="bitwuzla", limits=limits, command=command)
    assert answer.reason == "solver error: the values that bitwuzla gave do not satisfy the query"
    assert not kept._IDLE._all


def test_a_race_leaves_the_winner_and_no_busy_process(five: FNode, limits: Limits) -> None:
    query, solvers = Query.of(five), racers("bitwuzla", 3)
    for _ in range(2):
        assert Race(query, solvers, limits, 60).run().outcome is Outcome.SAT
        assert sorted(map(id, kept._IDLE._all)) == sorted(map(id, kept._IDLE._idle))
        assert kept._IDLE._all
        assert all(process.is_well for process in kept._IDLE._all)


def test_threads_do_not_share_a_process_and_few_stay(
    five: FNode, limits: Limits, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A process outlives the thread that started it."""
    monkeypatch.setattr(kept, "_MOST_IDLE", 2)
    outcomes: list[Outcome] = []
    for _ in range(2):
        asking = [
            threading.Thread(target=lambda: outcomes.append(Solving().ask(five, [], limits=limits).outcome))
            for _ in range(3)
        ]
        for thread in asking:
            thread.start()
        for thread in asking:
            thread.join()
        assert 1 <= len(kept._IDLE._idle) <= 2
    assert outcomes == [Outcome.SAT] * 6


def _ask_again(five_is: int) -> tuple[int, int]:
    terms = Environment().formula_manager
    x = terms.Symbol("a", BVType(8))
    inherited = len(kept._IDLE._all)
    model = Solving().ask(terms.Equals(x, terms.BV(five_is, 8)), [x], limits=Limits(60.0, 2 << 30)).model
    return inherited, (model or {"a": -1})["a"]


def test_a_forked_process_does_not_share_its_parents(five: FNode, a: FNode, limits: Limits) -> None:
    assert Solving().ask(five, [a], limits=limits).model == {"a": 5}
    process = kept_process()
    with get_context("fork").Pool(2) as pool:
        assert pool.map(_ask_again, [6, 7, 8], chunksize=1)[0] == (0, 6)
    assert Solving().ask(five, [a], limits=limits).model == {"a": 5}
    assert kept_process() == process


SCRIPT = """
import atexit, os, signal, sys, time
from pysmt.shortcuts import *
from mmaproof.smt.solving import kept
atexit.register(lambda: print(len(kept._IDLE._all)))
from mmaproof.smt.solving.limits import Limits
from mmaproof.smt.solving.solving import Solving
Solving().ask(Equals(Symbol("a", BVType(8)), BV(5, 8)), [], limits=Limits(60.0, 2 << 30))
print(kept._IDLE._all[0]._process.pid, flush=True)
"""


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("end", "status"),
    [
        ("", 0),
        ("raise KeyboardInterrupt", -signal.SIGINT),
        ("os.kill(os.getpid(), signal.SIGKILL)", -signal.SIGKILL),
        ("os._exit(0)", 0),
        # A process that still has the pipes: only the number of the parent tells.
        (
            "held, kept._IDLE._all = kept._IDLE._all, []\n"
            "os.fork() or (os.closerange(0, 3), time.sleep(20)); os.kill(os.getpid(), signal.SIGKILL)",
            -signal.SIGKILL,
        ),
    ],
)
def test_idle_processes_end_with_their_parent(end: str, status: int) -> None:
    command = [sys.executable, "-W", "error", "-c", SCRIPT + end]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as parent:
        output, errors = parent.communicate()
        worker, *left = map(int, output.split())
    assert parent.returncode == status
    assert "Warning" not in errors
    # A process that ends by itself ends them before.
    assert left == ([] if "os." in end else [0])
    wait_until(lambda: not runs(worker), 10.0)


@pytest.mark.middle
def test_the_cpu_time_of_earlier_queries_does_not_count() -> None:
    script = (
        "import resource, time\n"
        "from mmaproof.smt.solving.protocol import limit_cpu\n"
        "while time.process_time() < 1.1: sum(range(10**5))\n"
        "limit_cpu(5)\n"
        "print(resource.getrlimit(resource.RLIMIT_CPU)[0])"
    )
    assert int(subprocess.check_output([sys.executable, "-c", script])) >= 6


def test_the_commands_are_of_processes_that_are_kept() -> None:
    assert set(COMMANDS.values()) == {WORKER}
    assert {name for name, backend in BACKENDS.items() if backend.queries_of_a_process > 1} == {"bitwuzla"}
