"""A register that accumulates: what its enable, clear and load do, and what follows for several clock cycles."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby

from mmaproof.designs.design import Design
from mmaproof.designs.transitions import CLEAR, FIRST, HOLD, Transition
from mmaproof.smt.solving.verdict import Status
from mmaproof.verification.compare import Comparison


@dataclass(frozen=True, slots=True)
class Answered:
    """A claim about a clock cycle, and the answer to it. ``alternatives`` are how many others were refuted before."""

    claim: Transition
    answer: Comparison
    alternatives: int = 0


def answer_transitions(
    claims: Iterable[Transition], meant: Design, ask: Callable[[Transition, Design], Comparison]
) -> tuple[Answered, ...]:
    """Return an answer for each key of ``claims``: the first alternative that is proved, else the first not refuted.

    ``ask`` decides whether the unit of a claim returns what a design returns, for all operands and bit by bit.
    """
    found = []
    for _, group in groupby(claims, key=lambda x: x.key):
        answered: list[Answered] = []
        for claim in group:
            answer = ask(claim, claim.model or meant)
            answered.append(Answered(claim, answer, len(answered)))
            if answer.status is Status.PROVED:
                break
        order = (Status.PROVED, Status.UNKNOWN, Status.VACUOUS, Status.REFUTED)
        found.append(min(answered, key=lambda x: order.index(x.answer.status)))
    return tuple(found)


def whole_status(step: Comparison, answered: Sequence[Answered]) -> Status:
    """Return the status of a step and of all claims beside it: all are proved, or one is refuted, or one is open."""
    statuses = [step.status, *(x.answer.status for x in answered)]
    if step.status is Status.VACUOUS:
        return Status.VACUOUS
    if Status.REFUTED in statuses:
        return Status.REFUTED
    return Status.PROVED if all(x is Status.PROVED for x in statuses) else Status.UNKNOWN


def why_no_induction(step: Comparison, answered: Sequence[Answered], not_direct: str | None) -> str | None:
    """Return why nothing follows for several clock cycles; None where a chain of steps does, by induction on them.

    The base is that the register has the value of the start after a clear, or takes its first step from there: a claim
    of the key CLEAR or FIRST. The step is that an enabled cycle takes a step of the design, for every value that the
    register may hold; so nothing may be said of the operands. With an enable a third case is left, in which the
    register keeps its value. Each is about a cycle of its own only if what steers the register acts in its own cycle.
    """
    question = step.question
    if whole_status(step, answered) is not Status.PROVED:
        return "not all of this is proved"
    if question.where or not question.zero_signs:
        return "the step is proved for some operands, or without the signs of zeros"
    if question.designs[1].signature.c.quiet_nan is not None and not question.nan_codes:
        return "two NaNs were treated as equal, and a step may tell them apart: ask with --nan-codes"
    if question.k != question.designs[0].k:
        return "one step is not what was asked"
    keys = {x.claim.key for x in answered}
    if not keys & {CLEAR, FIRST}:
        return "no clear is stated under [control]"
    return not_direct


def has_first_step(answered: Sequence[Answered]) -> bool:
    """Return whether a clear of an enabled register takes its first step, from the value of the start."""
    return any(x.claim.key == FIRST and x.claim.model is None for x in answered)


def holds_while_disabled(answered: Sequence[Answered]) -> bool:
    """Return whether one of the claims is that the register keeps its value."""
    return any(x.claim.key == HOLD for x in answered)
