"""A question answered: by the first strategy that gives a verdict.

From the reply of a solver to what is printed, one word means one thing. A ``Reply`` is what a solver says of one query.
A ``Verdict`` is what is known of a claim: of a formula (``prove``, ``decide``), of a lemma (``LemmaVerdict``), of a
question (``QuestionVerdict``, and ``Comparison`` where two designs are compared), of a property (``PropertyVerdict``)
or of an algorithm (``AlgorithmVerdict``). To decide is to find a verdict: ``decide`` does it for one formula,
``answer`` for a question.
"""

from __future__ import annotations

import time

from mmaproof.designs.design import Design, check_askable
from mmaproof.properties.property import QuestionVerdict
from mmaproof.properties.question import Question
from mmaproof.smt.solving.verdict import Cause, Status
from mmaproof.verification.means import Means
from mmaproof.verification.strategies import STRATEGIES, Case


def answer(question: Question, design: Design, means: Means) -> QuestionVerdict:
    """Answer ``question``; random operands are shaped for ``design``.

    Each of ``STRATEGIES`` gets what those before it left of ``means.limits.seconds``, and so does the simplification of
    a witness (a second at least). Lemmas, those of a staged proof too, are a proof if every one of them is proved and
    the preconditions have a model; a lemma that fails says nothing about the question. Witnesses are simplified and
    were confirmed on integers.
    Raises DesignError for a length that no formula can have, WitnessDoesNotReplay (an internal error: formula and
    integer interpretation disagree), SolversDisagree, UnknownSolverError and SolverNotInstalledError.
    """
    check_askable(question.k)
    case = Case(question, design, means, time.monotonic(), means.limits)
    try:
        return next(verdict for strategy in STRATEGIES if (verdict := strategy(case)) is not None)
    except MemoryError:
        reason = Cause.MEMORY.reason(f"mmaproof itself ran out of it (k = {question.k})")
        return QuestionVerdict(Status.UNKNOWN, case.seconds, reason, origin="nobody", question=question)
