"""Limits count work: a busy machine changes no slice, and the clock on the wall ends a question only as a whole."""

import os
import re
import signal
import subprocess
import sys
import time

from pysmt.shortcuts import BV, BVMul, BVType, Equals, Symbol

from mmaproof.smt.solving.limits import Limits, Until, add_work, clock_of, worked
from mmaproof.smt.solving.portfolio import COMMANDS
from mmaproof.smt.solving.solving import Solving
from mmaproof.smt.solving.verdict import Outcome, Status
from mmaproof.verification.compare import compare

SPINS = "while True: pass"
SLEEPS = "import time; time.sleep(600)"


def test_a_clock_counts_what_a_process_computes_and_not_what_it_waits():
    with (
        subprocess.Popen([sys.executable, "-c", SPINS]) as spinning,
        subprocess.Popen([sys.executable, "-c", SLEEPS]) as sleeping,
    ):
        of_spinning, of_sleeping = clock_of(spinning.pid), clock_of(sleeping.pid)
        while (computed := of_spinning()) < 0.3:
            time.sleep(0.02)
        spinning.kill()
        sleeping.kill()
    assert of_sleeping() < computed
    assert of_spinning() >= computed, "it stands after the end"


def test_a_clock_counts_what_a_copy_of_the_process_computes():
    copies = "import os, time\nif os.fork():\n    time.sleep(600)\nwhile True: pass"
    with subprocess.Popen([sys.executable, "-c", copies], start_new_session=True) as process:
        clock = clock_of(process.pid)
        while clock() < 0.3:
            time.sleep(0.02)
        os.killpg(process.pid, signal.SIGKILL)


def test_waiting_is_no_work_and_that_of_others_counts():
    began = worked()
    time.sleep(0.3)
    assert worked() - began < 0.3
    add_work(5.0)
    assert worked() - began >= 5.0


def test_a_search_ends_by_its_work_or_by_the_clock():
    assert Until().left > 1e9
    until = Until.after(0.2)
    time.sleep(0.25)
    assert until.left <= 0, "nothing was computed, and the time is over"
    until = Until.after(60)
    add_work(60)
    assert until.left <= 0


def test_a_question_that_has_begun_ends_by_the_clock():
    """A part may have as many CPU seconds as it likes."""
    limits = Limits(600, 4 << 30, wall=0.2).begun()
    assert limits.begun() is limits, "it begins once"
    x, y = Symbol("factor", BVType(40)), Symbol("other", BVType(40))
    began = time.monotonic()
    reply = Solving().ask(Equals(BVMul(x, y), BV(0xC0FFEE_1234567 & (1 << 40) - 1, 40)), [x, y], limits=limits)
    assert reply.outcome is not Outcome.UNSAT
    if reply.outcome is Outcome.UNKNOWN:
        assert time.monotonic() - began >= 0.2
        assert reply.reason is not None
        assert reply.reason.startswith("timeout: no answer within")
    assert limits.after(0.0, "something").seconds < 1 or not limits.has_ended


def test_an_answer_says_when_the_machine_was_busy(monkeypatch):
    """A solver that computes nothing is ended by the clock, and the reason says how little was computed."""
    monkeypatch.setitem(COMMANDS, "bitwuzla", [sys.executable, "-c", SLEEPS])
    answer = compare(
        "hopper/wgmma.f32.f16.f16",
        "hopper/wgmma.f32.f16.f16@fraction_bits=26",
        limits=Limits(600, 4 << 30, wall=1.0),
        budget=None,
    )
    assert answer.status is Status.UNKNOWN
    assert re.search(r"; \d+\.\d of 600 CPU seconds were used until then: the machine was busy$", str(answer.reason))
