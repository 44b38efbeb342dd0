"""What was decided once is decided still: a list of questions with their verdicts, ``verdicts.toml``."""

import json
import shlex
import tomllib
from pathlib import Path

import pytest
from pysmt.shortcuts import BV, BVUGT, And, BVMul, BVType, BVUDiv, BVZExt, NotEquals, Symbol

from mmaproof.cli.main import main
from mmaproof.smt.solving.limits import Limits, worked
from mmaproof.smt.solving.solving import Solving
from mmaproof.smt.solving.verdict import Outcome

LIST = tomllib.loads(Path(__file__).with_name("verdicts.toml").read_text(encoding="utf-8"))
QUESTIONS = LIST["question"]
QUICK, MIDDLE = 0.3, 1.5
"""CPU seconds up to which a question is asked at every change, and up to which some are asked before a merge."""
BUDGET = ("--work", "60s", "--timeout", "30m")
"""The work of the default limits: what decides. Beside other programs it takes longer than by the clock."""
RUNS = 3
STARTING = 1.5
"""CPU seconds above twice the work that a question may take: what is imported and loaded first counts."""
ALWAYS = ("check monotone-in-c", "compare hopper/wgmma.f32.e4m3.e4m3@fraction_bits=34")
"""Questions that were lost once: they are asked at every change, up to ``MIDDLE``."""


def _tier(question):
    if question["work"] <= QUICK or (question["ask"].startswith(ALWAYS) and question["work"] <= MIDDLE):
        return ()
    return pytest.mark.middle if question["work"] <= MIDDLE else pytest.mark.slow


def pace():
    """Return how many times as long as on the machine of the list the same work takes here and now, at least 1."""
    x, y = (Symbol(name, BVType(10)) for name in ("dividend", "divisor"))
    wide, narrow = BVZExt(x, 10), BVZExt(y, 10)
    exceeds = And(NotEquals(y, BV(0, 10)), BVUGT(BVMul(BVUDiv(wide, narrow), narrow), wide))
    began = worked()
    assert Solving().ask(exceeds, [x], limits=Limits(60, 4 << 30)).outcome is Outcome.UNSAT
    return max(1.0, (worked() - began) / LIST["pace"])


@pytest.mark.few(40)
@pytest.mark.parametrize("question", [pytest.param(x, id=x["ask"], marks=_tier(x)) for x in QUESTIONS])
def test_a_verdict_is_kept(question, capsys):
    """A run that took too much is repeated: the first one loads and compiles, and another program may be in the way."""
    for _ in range(RUNS):
        began = worked()
        status = main([*shlex.split(question["ask"]), "--no-store", "--json", *BUDGET])
        used = worked() - began
        answer = json.loads(capsys.readouterr().out)
        assert (answer["verdict"], status) == (question["verdict"], 0 if question["verdict"] in PROVED else 1)
        assert answer.get("value") == question.get("value")
        twice = 2 * question["work"]
        if used <= twice + STARTING or used <= twice * pace() + STARTING:
            return
    pytest.fail(f"{used:.1f} CPU seconds; {question['work']} are listed")


PROVED = ("holds", "equivalent")


def test_the_list_has_each_question_once_and_enough_of_every_kind():
    asked = [x["ask"] for x in QUESTIONS]
    assert len(set(asked)) == len(asked) >= 400
    assert {x["verdict"] for x in QUESTIONS} == {*PROVED, "violated", "different"}
    assert {x.split()[0] for x in asked} >= {"check", "compare", "gemm"}
    assert all(set(x) <= {"ask", "verdict", "value", "work"} and x["work"] > 0 for x in QUESTIONS)
