"""One query, one answer: the formula goes to a solver process with limits, and what comes back is checked."""

import time
from collections.abc import Mapping, Sequence

from pysmt.fnode import FNode

from mmaproof.smt.solving.backends import require_solver
from mmaproof.smt.solving.errors import MalformedReplyError, UnsupportedFormulaError
from mmaproof.smt.solving.limits import Limits
from mmaproof.smt.solving.process import WORKER, Ended, SolverProcess, reason_of_death
from mmaproof.smt.solving.protocol import Reply, decode
from mmaproof.smt.solving.query import Query
from mmaproof.smt.solving.verdict import Answer, Cause, Outcome


def solve(
    formula: FNode,
    symbols: Sequence[FNode],
    *,
    solver: str,
    limits: Limits,
    command: Sequence[str] = WORKER,
) -> Answer:
    """Ask whether a formula of QF_BV is satisfiable, and for the values of some symbols if it is.

    The model has exactly these symbols; one that does not occur in the formula is 0. A satisfying assignment is
    believed only after the formula was evaluated on it. The time limit begins with the call. Time-outs, memory,
    crashes and nonsense are UNKNOWN with a reason. ``command`` starts the solver process.

    Raises ``UnsupportedFormulaError`` for a formula or symbol outside QF_BV, ``UnknownSolverError`` and
    ``SolverNotInstalledError``. An interrupt from the keyboard is passed on after the process was killed.
    """
    started = time.monotonic()
    identity = require_solver(solver)
    for symbol in symbols:
        if not (symbol.is_symbol() and (symbol.symbol_type().is_bool_type() or symbol.symbol_type().is_bv_type())):
            raise UnsupportedFormulaError(f"{symbol} is no symbol of a truth value or bit-vector: no value to ask for")
    query = Query.of(formula)
    deadline = started + limits.seconds
    reply = _ask(query, solver, limits, deadline, command)
    seconds = time.monotonic() - started
    model = None if reply.model is None else _wanted(reply.model, symbols)
    return Answer(reply.outcome, identity, seconds, model, reply.reason, reply.seconds)


def _ask(query: Query, solver: str, limits: Limits, deadline: float, command: Sequence[str]) -> Reply:
    text = query.text
    timeout = _unknown(Cause.TIMEOUT, f"no answer within {limits}")
    if time.monotonic() >= deadline:
        return timeout
    try:
        with SolverProcess(command, solver, limits) as process:
            ended = process.finish(text, deadline - time.monotonic())
    except OSError as problem:
        return _unknown(Cause.SOLVER_ERROR, f"the solver process does not start: {problem}")
    return timeout if ended is None else _checked(ended, query, solver, limits)


def _checked(ended: Ended, query: Query, solver: str, limits: Limits) -> Reply:
    """Return what an ended process found out, as far as it can be believed."""
    if ended.returncode != 0:
        return Reply(Outcome.UNKNOWN, reason=reason_of_death(ended, limits))
    try:
        reply = decode(ended.output, query.symbols)
    except MalformedReplyError as problem:
        return _unknown(Cause.SOLVER_ERROR, str(problem))
    if reply.model is not None and not query.evaluate(reply.model):
        return _unknown(Cause.SOLVER_ERROR, f"the values that {solver} gave do not satisfy the query")
    return reply


def _unknown(cause: Cause, detail: str) -> Reply:
    return Reply(Outcome.UNKNOWN, reason=cause.reason(detail))


def _wanted(model: Mapping[str, int], symbols: Sequence[FNode]) -> dict[str, int]:
    return {symbol.symbol_name(): model.get(symbol.symbol_name(), 0) for symbol in symbols}
