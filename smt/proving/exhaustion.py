"""Claims decided by trying all values of their symbols, where these are few bits.

A query becomes the circuit that ``--certify=proof`` proves statements about, and the circuit is evaluated for all
values. A SAT solver needs minutes to prove that two multipliers of 11 by 11 bits are equal; they have 2**22 inputs,
which takes a tenth of a second here. Only bits that the query depends on are counted.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from typing import Final

from pysmt.environment import Environment
from pysmt.fnode import FNode

from mmaproof.smt.algebra.terms import default_environment
from mmaproof.smt.proving.bit_parallel import Cone, CountedGates, TooManyGatesError, satisfying
from mmaproof.smt.proving.word_enumeration import enumerate_words
from mmaproof.smt.solving.cnf import circuit_of
from mmaproof.smt.solving.errors import WitnessDoesNotReplay
from mmaproof.smt.solving.limits import Limits, worked
from mmaproof.smt.solving.portfolio import require_agreement
from mmaproof.smt.solving.prove import Ask, violation_of
from mmaproof.smt.solving.query import SYMBOL, Query
from mmaproof.smt.solving.smtlib import to_smtlib
from mmaproof.smt.solving.solving import Certify, Solving, certified
from mmaproof.smt.solving.verdict import Outcome, Reply, SolverIdentity

MOST_BITS: Final = 24
MOST_WORK: Final = 1 << 32
"""operations on words of 64 assignments, which take two to four seconds"""
MOST_GATES: Final = 20_000
"""The circuit is built in a fraction of a second."""
CHEAP_WORK: Final = 1 << 24
CHEAP_GATES: Final = 1_000
"""Together with CHEAP_WORK, what takes about 20 ms."""
FEW_GATES: Final = 200
EASY_SECONDS: Final = 0.5
"""what a solver has for a query before all values are tried"""


def decide_by_exhaustion(
    claim: FNode,
    assumption: FNode | None = None,
    most_bits: int = MOST_BITS,
    *,
    most_work: int = MOST_WORK,
    environment: Environment | None = None,
) -> Reply | None:
    """Find out whether the assumption implies the claim for all values of all symbols, by trying them.

    UNSAT means that it does, as in the reply of a solver to the query for a counterexample. SAT comes with the values
    of all symbols of the counterexample, on which the query was evaluated as integers. None: there are more than
    ``most_bits`` bits, or the circuit takes more than ``most_work`` operations on words.

    Raises ``UnsupportedFormulaError`` for a formula outside QF_BV, and ``WitnessDoesNotReplay`` if circuit and
    evaluation disagree, which is an internal error.
    """
    violation = violation_of(claim, assumption, default_environment() if environment is None else environment)
    return try_all_values(Query.of(violation), most_bits, most_work)


def try_all_values(
    query: Query, most_bits: int = MOST_BITS, most_work: int = MOST_WORK, most_gates: int = MOST_GATES
) -> Reply | None:
    """Answer a query by trying all values, as ``decide_by_exhaustion`` does."""
    started = worked()
    bits = _bits_at_most(query)
    # of more bits, what few gates decide before any value is tried
    gates = CountedGates(min(most_gates, most_work >> max(0, bits - 6) if bits <= most_bits else FEW_GATES))
    try:
        root, symbols = circuit_of(query, gates)
    except TooManyGatesError:
        return None
    cone = Cone.of(root, gates)
    if len(cone.inputs) > most_bits or cone.operations << max(0, len(cone.inputs) - 6) > most_work:
        return None
    values = next(satisfying(cone), None)
    outcome, model = Outcome.UNSAT, None
    if values is not None:
        # A bit that the query does not depend on is zero.
        model = {
            name: sum(values.get(literal, False) << i for i, literal in enumerate(word))
            for name, word in symbols.items()
        }
        outcome = Outcome.SAT
        if not query.evaluate(model):
            raise WitnessDoesNotReplay(model, to_smtlib(query))
    seconds = worked() - started
    return Reply(outcome, exhaustion(), seconds, model, solver_seconds=seconds)


def small_ones_first(solving: Solving, of_solvers: Ask | None = None) -> Ask:
    """Return a way to answer queries: by trying all values where that is cheap, else by ``solving``.

    ``of_solvers`` is how ``solving`` is asked, if not by ``Solving.ask``.

    A query of few bits that is not cheap goes to ``solving`` for a moment first, because a solver decides many of these
    by rewriting. Where ``solving`` certifies, what was found to be unsatisfiable counts only if it is confirmed: by
    trying all values a second way for ``Certify.SOLVER``, and by a solver and its proof for ``Certify.PROOF``.
    """
    of_solvers = solving.ask if of_solvers is None else of_solvers

    def ask(formula: FNode, symbols: Sequence[FNode], /, *, limits: Limits) -> Reply:
        started = worked()
        query = Query.of(formula)
        tried = try_all_values(query, most_work=CHEAP_WORK, most_gates=CHEAP_GATES)
        if tried is None and _bits_at_most(query) <= MOST_BITS and limits.seconds > EASY_SECONDS:
            asked = of_solvers(formula, symbols, limits=replace(limits, seconds=EASY_SECONDS))
            if asked.outcome is not Outcome.UNKNOWN:
                return asked
            tried = try_all_values(query)
        if tried is not None and tried.outcome is Outcome.UNSAT and solving.certify is Certify.SOLVER:
            second = enumerate_words(query)
            if second is not None:
                return replace(certified(query, tried, second), seconds=worked() - started)
        left = limits.after(worked() - started, "trying all values")
        if tried is None:
            return of_solvers(formula, symbols, limits=left)
        if tried.outcome is Outcome.UNSAT and solving.certify is not None:
            asked = of_solvers(formula, symbols, limits=left)
            require_agreement(query, [tried, asked])
            return asked
        if tried.model is None:
            return tried
        names = [symbol.symbol_name() for symbol in symbols]
        return replace(tried, model={name: tried.model.get(name, 0) for name in names})

    return ask


@cache
def exhaustion() -> SolverIdentity:
    """Return who answers, with the version of this package."""
    from importlib.metadata import version  # noqa: PLC0415

    return SolverIdentity("exhaustion", version("mmaproof"))


def _bits_at_most(query: Query) -> int:
    """Return a bound on the bits that a query depends on. Of a symbol that is only cut up, those are its parts."""
    used: dict[int, int] = {i: 0 for i, node in enumerate(query.nodes) if node.operator == SYMBOL}
    for node in query.nodes:
        for operand in node.operands:
            if operand in used:
                width = max(1, query.nodes[operand].width)
                high, low = node.indices if node.operator == "extract" else (width - 1, 0)
                used[operand] |= (1 << (high + 1)) - (1 << low)
    return sum(bits.bit_count() for bits in used.values()) + (len(query.nodes) == 1)
