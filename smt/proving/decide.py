"""How a statement is decided: a solver gets its formula, and the statement checks the witness."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Protocol

from pysmt.fnode import FNode

from mmaproof.smt.proving.kept_lemmas import keep
from mmaproof.smt.proving.lemma import Formula, Lemma
from mmaproof.smt.solving.limits import Limits, worked
from mmaproof.smt.solving.prove import Ask, prove
from mmaproof.smt.solving.verdict import Model, Reply, Verdict


class Statement(Protocol):
    """What a solver can be asked: a question or a lemma."""

    @property
    def formula(self) -> Formula:
        """The statement as formulas."""

    def confirm(self, model: Mapping[str, int]) -> bool:
        """Return whether a solver's model of the formula violates the statement, computed on integers."""


def decide(statement: Statement, ask: Ask, limits: Limits, *, precondition_met: bool = False) -> Verdict[Model]:
    """Find out whether ``statement`` holds. The seconds of the verdict include the building of the formula.

    Raises what ``prove`` raises.
    """
    started = worked()
    formula = statement.formula
    who = statement.name if isinstance(statement, Lemma) else "the question in one piece"

    def kept(asked: FNode, symbols: Sequence[FNode], /, *, limits: Limits) -> Reply:
        reply = ask(asked, symbols, limits=limits)
        keep(who, asked, reply, is_precondition=asked is formula.precondition)
        return reply

    verdict = prove(
        formula.claim,
        precondition=formula.precondition,
        symbols=formula.symbols,
        environment=formula.environment,
        confirm=statement.confirm,
        ask=kept,
        limits=limits.after(worked() - started, "the formula"),
        precondition_witnessed=precondition_met,
    )
    return replace(verdict, seconds=worked() - started)
