"""Bitwuzla without processes, which would take longer than the queries, of which some tests ask thousands."""

import contextlib
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from pysmt.environment import Environment
from pysmt.exceptions import SolverReturnedUnknownResultError
from pysmt.fnode import FNode
from pysmt.logics import QF_BV

from mmaproof.smt.algebra.terms import default_environment
from mmaproof.smt.solving.backends import require_solver
from mmaproof.smt.solving.limits import LEAST_SECONDS, Limits
from mmaproof.smt.solving.portfolio import Rival
from mmaproof.smt.solving.query import Query
from mmaproof.smt.solving.solving import Solving
from mmaproof.smt.solving.verdict import Cause, Outcome, Reply
from support.bitwuzla_solver import BitwuzlaSolver

MOST_SECONDS = 0.5
"""What a query may take; nearly all take milliseconds."""
BITWUZLA = require_solver("bitwuzla")


ASSERTING = threading.Lock()
"""pySMT's solvers ask for the type of what is asserted, of one checker that all threads share."""


def symbols_of(formula: FNode) -> list[FNode]:
    seen, pending = {formula}, [formula]
    while pending:
        new = set(pending.pop().args()) - seen
        seen |= new
        pending.extend(new)
    return sorted((x for x in seen if x.is_symbol()), key=FNode.symbol_name)


class InTurn(Rival):
    """A query in place of a rival that waits for processes: it is asked when someone waits, and when it is asked."""

    def __init__(self, solving: Solving, formula: FNode, limits: Limits) -> None:
        self._asked, self._formula, self._limits = solving, formula, limits
        self._answered: Reply | None = None

    @property
    def has_answer(self) -> bool:
        return self._answered is not None

    def wait(self, seconds: float) -> bool:
        limits = replace(self._limits, seconds=min(seconds, self._limits.seconds))
        reply = self._asked.ask(self._formula, symbols_of(self._formula), limits=limits)
        self._answered = reply if reply.outcome is not Outcome.UNKNOWN else None
        return self.has_answer

    def ask(self, formula: FNode, symbols: Sequence[FNode], /, *, limits: Limits) -> Reply:
        if self._answered is None or formula is not self._formula:
            return self._asked.ask(formula, symbols, limits=limits)
        held = self._answered.model
        return replace(
            self._answered,
            model=None if held is None else {x.symbol_name(): held.get(x.symbol_name(), 0) for x in symbols},
        )

    @contextlib.contextmanager
    def interrupting(self, stop: Callable[[], None]) -> Iterator[None]:
        yield

    def end(self) -> None:
        pass


class InThisProcess(Solving):
    """Solving in the process of the test."""

    def beside(self, formula: FNode, limits: Limits) -> Rival:
        return InTurn(self, formula, limits)

    def ask(
        self,
        formula: FNode,
        symbols: Sequence[FNode],
        /,
        *,
        limits: Limits,
        rivals: Sequence[Rival] = (),
        begun: Rival | None = None,
    ) -> Reply:
        started = time.monotonic()
        if limits.seconds <= LEAST_SECONDS:
            return unanswered()
        options = {"time-limit-per": int(min(limits.seconds, MOST_SECONDS) * 1000)}
        with BitwuzlaSolver(default_environment(), QF_BV, solver_options=options) as engine:
            with ASSERTING:
                engine.add_assertion(formula)
            try:
                satisfiable = engine.solve()
                model = {x.symbol_name(): int(engine.get_value(x).constant_value()) for x in symbols if satisfiable}
            except SolverReturnedUnknownResultError:
                return unanswered()
        seconds = time.monotonic() - started
        return Reply(Outcome.SAT, BITWUZLA, seconds, model) if satisfiable else Reply(Outcome.UNSAT, BITWUZLA, seconds)


class InAnyEnvironment(Solving):
    """Solving in the process of the test, of formulas of whatever environment. Queries may take as long as they may."""

    def beside(self, formula: FNode, limits: Limits) -> Rival:
        return InTurn(self, formula, limits)

    def ask(
        self,
        formula: FNode,
        symbols: Sequence[FNode],
        /,
        *,
        limits: Limits,
        rivals: Sequence[Rival] = (),
        begun: Rival | None = None,
    ) -> Reply:
        started, environment = time.monotonic(), Environment()
        if limits.seconds <= LEAST_SECONDS:
            return unanswered()
        query = Query.of(formula).formula(environment.formula_manager)
        options = {"time-limit-per": int(limits.seconds * 1000)}
        with BitwuzlaSolver(environment, QF_BV, solver_options=options) as engine:
            with ASSERTING:
                engine.add_assertion(query)
            try:
                satisfiable = engine.solve()
                known = environment.fvo.get_free_variables(query) if satisfiable else ()
                held = {x.symbol_name(): int(engine.get_value(x).constant_value()) for x in known}
            except SolverReturnedUnknownResultError:
                return unanswered()
        seconds = time.monotonic() - started
        if not satisfiable:
            return Reply(Outcome.UNSAT, BITWUZLA, seconds)
        return Reply(Outcome.SAT, BITWUZLA, seconds, {x.symbol_name(): held.get(x.symbol_name(), 0) for x in symbols})


def unanswered() -> Reply:
    return Reply(Outcome.UNKNOWN, BITWUZLA, 0.0, reason=Cause.TIMEOUT.reason("no answer in time"))
