"""How a question is answered: by the first strategy that gives a verdict.

These words have one meaning, from the solver to the printed text. A ``Reply`` is what a solver says about one query. A
``Verdict`` is what is known of a claim. The claim may be a formula (``prove``, ``decide``), a lemma (``LemmaVerdict``),
a question (``QuestionVerdict``, or ``Comparison`` for two designs), a property (``PropertyVerdict``) or a statement
about an algorithm (``AlgorithmVerdict``). To decide is to find a verdict. ``decide`` decides one formula, and
``answer`` decides a question.
"""

from __future__ import annotations

from dataclasses import replace

from mmaproof.designs.design import Design, check_askable
from mmaproof.properties.property import QuestionVerdict
from mmaproof.properties.question import Question
from mmaproof.smt.solving.verdict import Cause, Status
from mmaproof.smt.solving.work import worked
from mmaproof.verification.means import Means
from mmaproof.verification.strategies import Case, first_verdict

BUSY = 0.8
"""The share of the CPU seconds below which a limit by the clock is said to have ended a question on a busy machine."""


def answer(question: Question, design: Design, means: Means) -> QuestionVerdict:
    """Answer ``question``. Random operands are shaped for ``design``.

    Each of ``STRATEGIES`` gets the part of ``means.limits.seconds`` that the strategies before it left. So does the
    simplification of a witness, but it gets at least a second. Lemmas are a proof if every one of them is proved and
    the preconditions have a model. A lemma that fails says nothing about the question. Witnesses are simplified, and
    they are confirmed on integers. Raises DesignError for a length that no formula can have, SolversDisagree,
    UnknownSolverError, SolverNotInstalledError, and WitnessDoesNotReplay (an internal error: formula and integers
    disagree).
    """
    check_askable(question.k)
    means = means.begun()
    case = Case(question, design, means, worked(), means.limits)
    try:
        found = first_verdict(case)
    except MemoryError:
        reason = Cause.MEMORY.reason(f"mmaproof itself ran out of it (k = {question.k})")
        return QuestionVerdict(Status.UNKNOWN, case.seconds, reason, origin="nobody", question=question)
    wanted, used = means.limits.seconds, case.seconds
    if found.status is Status.UNKNOWN and means.limits.has_ended and used < BUSY * wanted:
        text = f"{used:.1f} of {wanted:.6g} CPU seconds were used until then: the machine was busy"
        return replace(found, reason=f"{found.reason}; {text}")
    return found
