"""The lemmas of a staged proof. Lemmas that differ only in the names of variables are asked once."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import assert_never

from pysmt.environment import Environment
from pysmt.fnode import FNode

from mmaproof.smt.proving.kept_lemmas import is_kept, keep
from mmaproof.smt.proving.kernel import up_to_names
from mmaproof.smt.solving.limits import LEAST_SECONDS, Limits
from mmaproof.smt.solving.prove import Ask, violation_of
from mmaproof.smt.solving.query import Query
from mmaproof.smt.solving.verdict import Outcome, Reply, Status


@dataclass(frozen=True, slots=True)
class StagedLemma:
    """A lemma of a staged proof: the stage of its signals, and the relation between them.

    ``uses`` counts the signals that it serves, because lemmas that differ only in the names of variables are one lemma.
    ``widened`` is the number of stages by which its cut was moved back.
    """

    stage: str
    relation: str
    reply: Reply
    widened: int
    uses: int = 1

    @property
    def status(self) -> Status:
        """PROVED, UNKNOWN or REFUTED. REFUTED means that the relation does not follow from so few stages."""
        match self.reply.outcome:
            case Outcome.UNSAT:
                return Status.PROVED
            case Outcome.SAT:
                return Status.REFUTED
            case Outcome.UNKNOWN:
                return Status.UNKNOWN
            case _:
                assert_never(self.reply.outcome)


@dataclass(frozen=True, slots=True)
class StagedProof:
    """The result of a staged proof: whether the claim is proved, the lemmas, and the reason if it is not proved."""

    proved: bool
    lemmas: tuple[StagedLemma, ...]
    seconds: float
    reason: str | None = None


class OutOfTimeError(Exception):
    """The time limit of a staged proof has passed."""


class Lemmas:
    """The formulas that were asked about. Formulas that differ only in the names of symbols are asked once."""

    def __init__(self, ask: Ask, limits: Limits, started: float, environment: Environment) -> None:
        self._ask, self._limits, self._started = ask, limits, started
        self._asked: dict[str, StagedLemma] = {}
        self._environment = environment
        self.describe: Callable[[FNode], str | None] = lambda _: None
        """Says what a variable stands for, in words, where lemmas are kept as files."""

    def ask(
        self,
        stage: str,
        relation: str,
        claim: FNode,
        assumption: FNode | None,
        *,
        seconds: float,
        widened: int = 0,
    ) -> Status:
        """Ask whether the assumption implies the claim for all values of all symbols.

        Raises ``OutOfTimeError``.
        """
        violation = violation_of(claim, assumption, self._environment)
        key = up_to_names(Query.of(violation))
        known = self._asked.get(key)
        if known is None:
            left = self._limits.after(time.monotonic() - self._started, "earlier lemmas")
            if left.seconds <= LEAST_SECONDS:
                raise OutOfTimeError
            answer = self._ask(violation, (), limits=replace(left, seconds=min(seconds, left.seconds)))
            known = StagedLemma(stage, relation, answer, widened, uses=0)
            if is_kept():
                whose = sorted(self._environment.fvo.get_free_variables(violation), key=lambda x: x.node_id())
                stands = {x.symbol_name(): text for x in whose if (text := self.describe(x)) is not None}
                again = f", {widened} stages wider" if widened else ""
                keep(f"{stage}: {relation}{again}", violation, answer, stands)
        self._asked[key] = replace(known, uses=known.uses + 1)
        return known.status

    def found(self) -> tuple[StagedLemma, ...]:
        """Return the lemmas in the order in which they were first asked."""
        return tuple(self._asked.values())
