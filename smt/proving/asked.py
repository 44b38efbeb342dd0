"""The lemmas of a staged proof. Lemmas that differ only in the names of variables are asked once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import assert_never

from pysmt.environment import Environment
from pysmt.fnode import FNode

from mmaproof.smt.proving.journal import Entry, Proved
from mmaproof.smt.proving.kept_lemmas import is_kept, keep
from mmaproof.smt.proving.kernel import Kernel, NotComposedError, Stated, Theorem, asserted
from mmaproof.smt.solving.limits import LEAST_SECONDS, Limits, worked
from mmaproof.smt.solving.prove import Ask
from mmaproof.smt.solving.refuting import NotRefutedError
from mmaproof.smt.solving.verdict import Outcome, Reply, Status, by_whom


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
    theorem: Theorem | None = None
    """what a kernel made of the lemmas, where it could join them"""
    argument: Callable[[Kernel], None] | None = None
    """adds the steps to a kernel whose root are the counterexamples; it raises NotComposedError"""


class OutOfTimeError(Exception):
    """The time limit of a staged proof has passed."""


class Lemmas:
    """The formulas that were asked about. Formulas that differ only in the names of symbols are asked once."""

    def __init__(self, ask: Ask, limits: Limits, started: float, environment: Environment) -> None:
        self._ask, self._limits, self._started = ask, limits, started
        self._asked: dict[str, StagedLemma] = {}
        self._environment = environment
        self._kept = LEAST_SECONDS
        """seconds that are left where a kernel takes no more steps"""
        self.entries: list[Entry] = []
        """what happened in the proof, in order: the lemmas that were proved, and what others note"""
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
        of = asserted(claim, [] if assumption is None else [assumption], self._environment)
        stated = Stated.of(of, f"{stage}: {relation}" if stage else relation)
        known = self._asked.get(stated.key)
        if known is None:
            known = StagedLemma(stage, relation, self._answer(stated, seconds, widened), widened, uses=0)
        self._asked[stated.key] = replace(known, uses=known.uses + 1)
        if known.status is Status.PROVED:
            self.entries.append(Proved(stated.why, claim, assumption))
        return known.status

    def refute(self, stated: Stated, seconds: float | None) -> str:
        """Refute a leaf, as a kernel asks for it: what was asked before has its answer. Return who refuted it.

        Raises NotRefutedError.
        """
        known = self._asked.get(stated.key)
        if known is None:
            try:
                answer = self._answer(stated, self._limits.seconds if seconds is None else seconds)
            except OutOfTimeError:
                raise NotRefutedError(f"no time is left of {self._limits}") from None
            known = self._asked[stated.key] = StagedLemma("", stated.why, answer, 0)
        by = known.reply
        if known.status is not Status.PROVED:
            raise NotRefutedError(by.reason or "something satisfies it")
        return by_whom(by.solver, by.certified_by)

    def go_on(self) -> None:
        """Raise NotComposedError if no time is left, as a kernel asks for it."""
        if self._left().seconds <= self._kept:
            raise NotComposedError(f"no time is left of {self._limits}")

    def joined(self, root: FNode, argument: Callable[[Kernel], None]) -> Theorem | None:
        """Return the theorem that an argument makes, None if a kernel does not take its steps.

        Half of the time that is left is kept for the strategies that follow if this takes longer.
        """
        self._kept = self._left().seconds / 2
        kernel = Kernel(self._environment, root, self.refute, self.go_on)
        try:
            argument(kernel)
            return kernel.theorem()
        except NotComposedError:
            return None

    def _left(self) -> Limits:
        return self._limits.after(worked() - self._started, "earlier lemmas")

    def _answer(self, stated: Stated, seconds: float, widened: int = 0) -> Reply:
        left = self._left()
        if left.seconds <= LEAST_SECONDS:
            raise OutOfTimeError
        terms = self._environment.formula_manager
        violation, symbols = terms.And(stated.all), [terms.get_symbol(x) for x in stated.query.symbols]
        answer = self._ask(violation, symbols, limits=replace(left, seconds=min(seconds, left.seconds)))
        if is_kept():
            stands = {x.symbol_name(): text for x in symbols if (text := self.describe(x)) is not None}
            again = f", {widened} stages wider" if widened else ""
            keep(f"{stated.why}{again}", violation, answer, stands)
        return answer

    def found(self) -> tuple[StagedLemma, ...]:
        """Return the lemmas in the order in which they were first asked."""
        return tuple(self._asked.values())
