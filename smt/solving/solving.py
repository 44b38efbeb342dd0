"""How queries are answered: by which solver or solvers, with which certificate, and from which store.

With a certificate a reply that a query is unsatisfiable counts only after another solver or a proof confirmed it.

From a claim to a verdict: whether the precondition can be met, and whether a witness violates the claim.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from pathlib import Path
from typing import Protocol, Self, assert_never

from pysmt.environment import Environment
from pysmt.fnode import FNode

from mmaproof.smt.algebra.terms import default_environment
from mmaproof.smt.solving.backends import BACKENDS, DEFAULT_SOLVER, require_solver
from mmaproof.smt.solving.limits import Limits, add_work, worked
from mmaproof.smt.solving.portfolio import COMMANDS, Attempt, Race, Rival, racers, require_agreement, run_beside
from mmaproof.smt.solving.query import Query, to_smtlib
from mmaproof.smt.solving.refuting import certify_by_proof, require_prover
from mmaproof.smt.solving.store import Store
from mmaproof.smt.solving.verdict import (
    Cause,
    Model,
    Outcome,
    Reply,
    SolverIdentity,
    SolverNotInstalledError,
    Status,
    UnsupportedFormulaError,
    Verdict,
    WitnessDoesNotReplay,
)


class Certify(Enum):
    """What confirms that a query is unsatisfiable."""

    SOLVER = "solver"
    """A second, different solver confirms it."""
    PROOF = "proof"
    """A SAT solver writes a proof, and a checker accepts it."""


def certifiers(first: str, certify: Certify) -> tuple[SolverIdentity, ...]:
    """Return the solvers or the checker that can confirm a reply of the solver ``first``. The first one is asked.

    Raises ``SolverNotInstalledError`` if there is none.
    """
    match certify:
        case Certify.PROOF:
            return (require_prover(),)
        case Certify.SOLVER:
            others = racers(first, len(BACKENDS))[1:]
            if not others:
                raise SolverNotInstalledError(
                    f"no solver besides {first} is installed to certify what it says: pip install cvc5"
                )
            return others
        case _:
            assert_never(certify)


def confirmation(query: Query, first: str, certify: Certify, limits: Limits) -> Reply:
    """Return the reply of the solver or checker that is to confirm what the solver ``first`` says of the query."""
    match certify:
        case Certify.PROOF:
            return certify_by_proof(query, limits)
        case Certify.SOLVER:
            second = certifiers(first, certify)[0]
            return Attempt(query, second, limits, limits.seconds, COMMANDS[second.name]).answer()
        case _:
            assert_never(certify)


def certified(query: Query, answer: Reply, second: Reply) -> Reply:
    """Return the unsat ``answer`` with its certificate, or UNKNOWN if ``second`` is unknown.

    Raises ``SolversDisagree`` if ``second`` is sat.
    """
    require_agreement(query, [answer, second])
    if second.outcome is Outcome.UNSAT:
        return replace(answer, certified_by=second.solver, certificate=second.certificate)
    cause, _, detail = str(second.reason).partition(": ")
    reason = f"{cause}: not certified by {second.solver}: {detail}"
    return Reply(Outcome.UNKNOWN, answer.solver, answer.seconds, reason=reason)


@dataclass(frozen=True, slots=True)
class Solving:
    """A way to answer queries. It is plain data, so that it can be sent to another process.

    ``solver`` is the name of a back end. If ``jobs`` is above 1, N solvers race for each query, and that back end
    is among them. ``certify`` says what has to confirm that a query is unsatisfiable. ``store`` is the file in which
    replies are looked up and kept; None means no file.

    Raises ``ValueError`` if ``jobs`` is below 1.
    """

    solver: str = DEFAULT_SOLVER
    jobs: int = 1
    certify: Certify | None = None
    store: Path | None = None

    def __post_init__(self) -> None:
        if self.jobs < 1:
            raise ValueError(f"jobs = {self.jobs}: at least one solver process is needed")

    @classmethod
    def of(cls, solver: str | Self) -> Solving:
        """Return a way to answer queries. ``solver`` is one already, or it is the name of a solver.

        Raises UnknownSolverError, SolverNotInstalledError, and StoreError if its store cannot be used.
        """
        solving = Solving(solver) if isinstance(solver, str) else solver
        require_solver(solving.solver)
        if solving.certify is not None:
            certifiers(solving.solver, solving.certify)
        if solving.store is not None:
            Store(solving.store).check()
        return solving

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
        """Answer the query of a formula. If it is satisfiable, the model gives the values of ``symbols``.

        The model has exactly these symbols. A symbol that does not occur in the formula is 0. A satisfying assignment
        counts only after the formula was evaluated on it. The time limit begins with the call and is for all solvers
        together. A time-out, an exceeded memory limit, a crash and malformed output give UNKNOWN with a reason. An
        unsatisfiable query that should be certified but is not gives UNKNOWN too. If ``begun`` is about the same query,
        its solvers answer.

        Raises ``UnsupportedFormulaError`` for a formula or symbol outside QF_BV, ``UnknownSolverError``,
        ``SolverNotInstalledError``, ``SolversDisagree``, and ``Overtaken`` if one of ``rivals`` has an answer first.
        An interrupt from the keyboard is passed on after all processes were killed.
        """
        started = worked()
        for symbol in symbols:
            if not (symbol.is_symbol() and (symbol.symbol_type().is_bool_type() or symbol.symbol_type().is_bv_type())):
                raise UnsupportedFormulaError(
                    f"{symbol} is not a symbol of a truth value or bit-vector: no value to ask for"
                )
        answer = self._answer(Query.of(formula), limits, started, rivals, begun)
        held, names = answer.model, [symbol.symbol_name() for symbol in symbols]
        model = None if held is None else {name: held.get(name, 0) for name in names}
        return replace(answer, model=model, seconds=worked() - started)

    def beside(self, formula: FNode, limits: Limits) -> Rival:
        """Begin to answer a query, for a caller that asks others meanwhile. ``Rival.ask`` has the answer.

        Raises what ``ask`` raises about a formula or a solver.
        """
        query, solvers = Query.of(formula), racers(self.solver, self.jobs)
        known = [] if self.store is None else Store(self.store).answers(query)
        served = next((a for a in known if a.solver in solvers), None)
        return Rival(self, Race(query, solvers, limits, limits.seconds), served)

    def _answer(
        self, query: Query, limits: Limits, started: float, rivals: Sequence[Rival], begun: Rival | None
    ) -> Reply:
        """Return the reply to a query, from the store or from solvers. A model has all symbols of the query."""
        solvers = racers(self.solver, self.jobs)
        store = None if self.store is None else Store(self.store)
        known = [] if store is None else store.answers(query)
        served = [a for solver in solvers for a in known if a.solver == solver]
        require_agreement(query, served)
        if served:
            answer = served[0]
        elif begun is not None and begun.query == query:
            answer = begun.reply()
        else:
            answer = run_beside(Race(query, solvers, limits, limits.seconds - (worked() - started)), rivals)
        if store is not None and not served:
            store.keep(query, answer)
        if self.certify is None or answer.outcome is not Outcome.UNSAT:
            return answer
        others = certifiers(answer.solver.name, self.certify)
        second = next((a for a in known if a.solver in others and _is_believed(a, self.certify)), None)
        if second is None:
            left = limits.after(worked() - started, "the first solver")
            second = confirmation(query, answer.solver.name, self.certify, left)
            add_work(second.seconds)
            if store is not None:
                store.keep(query, second)
        return certified(query, answer, second)


def _is_believed(kept: Reply, certify: Certify) -> bool:
    """Return whether a kept reply confirms another one: that of a proof has the hash of what was checked."""
    return certify is not Certify.PROOF or kept.outcome is not Outcome.UNSAT or kept.certificate is not None


_LIMITS = Limits(60, 1 << 30)


def self_test(solver: str) -> str | None:
    """Return what is wrong with an installed solver, in one line; None if it works.

    It is asked for a word of eight bits whose square is 2 modulo 256, which does not exist, and for one whose square is
    1. Raises SolverNotInstalledError and UnknownSolverError.
    """
    terms = default_environment().formula_manager
    x = terms.Symbol("self_test_8", terms.env.type_manager.BVType(8))
    for square, wanted in ((2, Outcome.UNSAT), (1, Outcome.SAT)):
        reply = Solving(solver).ask(terms.Equals(terms.BVMul(x, x), terms.BV(square, 8)), (), limits=_LIMITS)
        if reply.outcome is not wanted:
            said = reply.reason if reply.outcome is Outcome.UNKNOWN else f"it said {reply.outcome.value}"
            return f"x * x = {square} modulo 256 is {wanted.value}: {said}"
    return None


class Ask(Protocol):
    """A function that answers one query: ``Solving.ask``, or something in its place."""

    def __call__(self, formula: FNode, symbols: Sequence[FNode], /, *, limits: Limits) -> Reply:
        """Answer the query as ``Solving.ask`` does."""


def prove(
    claim: FNode,
    *,
    precondition: FNode | None,
    symbols: Sequence[FNode],
    confirm: Callable[[Mapping[str, int]], bool],
    ask: Ask,
    limits: Limits,
    precondition_witnessed: bool = False,
    environment: Environment | None = None,
) -> Verdict[Model]:
    """Decide whether the claim holds for all values of its symbols that meet the precondition.

    The first query is ``precondition and not claim``. If it is unsatisfiable, the second query is the precondition by
    itself: the claim is PROVED if something satisfies it, and VACUOUS otherwise. The second query is left out if
    ``precondition_witnessed`` says that an input is known to meet the precondition.
    A model of the first query is given to ``confirm`` as symbol name -> unsigned value (0 or 1 for a truth value; 0 for
    a symbol that does not occur). ``confirm`` evaluates it without a solver and returns whether it violates the claim.
    The claim is then REFUTED. The time limit is for both queries together. ``environment`` is that of the formulas.

    A variable that is not among ``symbols`` is a word of which nothing is known, and the claim is PROVED for all of its
    values. ``confirm`` takes zero for it; if a model needs another value, the verdict is UNKNOWN.

    Raises ``WitnessDoesNotReplay`` if ``confirm`` returns False though there is no such variable, and what ``ask``
    raises.
    """
    started = worked()
    violation = violation_of(claim, precondition, default_environment() if environment is None else environment)
    answer = ask(violation, symbols, limits=limits)
    if answer.model is not None and not confirm(answer.model):
        others = sorted(set(Query.of(violation).symbols) - {x.symbol_name() for x in symbols})
        if others:
            return _unknown(Cause.UNDEFINED.reason(_needed(others)), worked() - started, answer.solver)
        raise WitnessDoesNotReplay(answer.model, to_smtlib(Query.of(violation)))
    seconds = worked() - started
    match answer.outcome:
        case Outcome.UNKNOWN:
            return _unknown(answer.reason, seconds, answer.solver)
        case Outcome.SAT:
            return Verdict(Status.REFUTED, seconds, witness=answer.model, solver=answer.solver, stored=answer.stored)
        case Outcome.UNSAT:
            if precondition is not None and not precondition_witnessed:
                return _met(precondition, answer, started, ask, limits)
            return _decided(Status.PROVED, seconds, answer)
        case _:
            assert_never(answer.outcome)


def violation_of(claim: FNode, precondition: FNode | None, environment: Environment) -> FNode:
    """Return the formula of a claim's counterexamples: the precondition, and not the claim."""
    violation = environment.formula_manager.Not(claim)
    return violation if precondition is None else environment.formula_manager.And(precondition, violation)


def _met(precondition: FNode, proof: Reply, started: float, ask: Ask, limits: Limits) -> Verdict[Model]:
    """Return the verdict on a claim that nothing violates: PROVED if something meets its precondition, else VACUOUS."""
    spent = worked() - started
    left = limits.after(spent, "the claim")
    if spent >= limits.seconds:
        return _unknown(Cause.TIMEOUT.reason(f"no answer within {left}"), spent, proof.solver)
    answer = ask(precondition, (), limits=left)
    seconds = worked() - started
    match answer.outcome:
        case Outcome.UNKNOWN:
            return _unknown(f"{answer.reason} (is the precondition satisfiable?)", seconds, answer.solver)
        case Outcome.SAT:
            return _decided(Status.PROVED, seconds, proof)
        case Outcome.UNSAT:
            return _decided(Status.VACUOUS, seconds, answer)
        case _:
            assert_never(answer.outcome)


def _decided(status: Status, seconds: float, unsat: Reply) -> Verdict[Model]:
    """Return the verdict that follows from an unsatisfiable query."""
    return Verdict(status, seconds, solver=unsat.solver, certified_by=unsat.certified_by, stored=unsat.stored)


def _needed(names: Sequence[str]) -> str:
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    return f"the claim is violated for some values of {', '.join(names[:3])}{more}, and not for zeros"


def _unknown(reason: str | None, seconds: float, solver: SolverIdentity) -> Verdict[Model]:
    return Verdict(Status.UNKNOWN, seconds, reason=reason, solver=solver)
