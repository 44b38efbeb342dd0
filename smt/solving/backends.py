"""The solvers by name: which of them are installed, and with which options each is fast on these queries.

A solver is imported when its ``engine`` is called, and only a solver process calls it.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, Final, Protocol

from mmaproof.smt.solving.verdict import SolverIdentity, SolverNotInstalledError, UnknownSolverError

if TYPE_CHECKING:
    from mmaproof.smt.solving.query import Query


class GaveUpError(Exception):
    """A solver gave no answer. The text is its reason."""


class Engine(Protocol):
    """A solver for one query. The constructor loads its library."""

    def decide(self, query: Query) -> Mapping[str, int] | None:
        """Return values of all symbols that satisfy the query, or None if there are none. Raises GaveUpError."""


class PySmtEngine:
    """A solver behind pySMT, in an environment of its own."""

    def __init__(self, load: Callable[[Any], Any], why_unknown: Callable[[Any], str]) -> None:
        from pysmt.environment import Environment  # noqa: PLC0415

        self._environment = Environment()
        self._why_unknown = why_unknown
        self._solver = load(self._environment)

    def decide(self, query: Query) -> Mapping[str, int] | None:
        """Return values of all symbols that satisfy the query, or None. Raises GaveUpError."""
        from pysmt.exceptions import SolverReturnedUnknownResultError  # noqa: PLC0415

        manager = self._environment.formula_manager
        # The formula is asserted and not passed as an assumption, because Z3 is 50 to 90 times slower with an
        # assumption.
        self._solver.add_assertion(query.formula(manager))
        try:
            satisfied = self._solver.solve()
        except SolverReturnedUnknownResultError:
            raise GaveUpError(self._why_unknown(self._solver)) from None
        if not satisfied:
            return None
        return {name: int(self._solver.get_value(manager.get_symbol(name)).constant_value()) for name in query.symbols}


_KINDS: Final = {
    "=>": "IMPLIES",
    "=": "EQUAL",
    "concat": "BV_CONCAT",
    "bvlshr": "BV_SHR",
    "extract": "BV_EXTRACT",
    "rotate_left": "BV_ROLI",
    "rotate_right": "BV_RORI",
    "zero_extend": "BV_ZERO_EXTEND",
    "sign_extend": "BV_SIGN_EXTEND",
}
"""Bitwuzla's kinds of other names than the operators. Indices are SMT-LIB's, the high end of an extraction first."""


def kinds_by_name() -> Mapping[str, Any]:
    """Return Bitwuzla's kinds of the operators of a query."""
    from bitwuzla import Kind  # noqa: PLC0415

    from mmaproof.smt.solving.query import BY_NAME  # noqa: PLC0415

    return {x: getattr(Kind, _KINDS.get(x, x.upper().replace("BV", "BV_"))) for x in BY_NAME}


class BitwuzlaEngine:
    """Bitwuzla, without pySMT.

    Building its terms by way of pySMT takes ten times as long as building them from the query. A lemma is answered in
    so little time that this is most of it.
    """

    def __init__(self) -> None:
        import bitwuzla  # noqa: PLC0415

        self._kinds = kinds_by_name()
        options = bitwuzla.Options()
        options.set(bitwuzla.Option.PRODUCE_MODELS, True)
        # Local search before bit-blasting: with it a witness that separates one fraction bit at 32 products takes 0.3 s
        # instead of 10 s, and a proof takes no longer.
        options.set("bv-solver", "preprop")
        self._results = bitwuzla.Result
        self._terms = bitwuzla.TermManager()
        self._bitwuzla = bitwuzla.Bitwuzla(self._terms, options)

    def decide(self, query: Query) -> Mapping[str, int] | None:
        """Return values of all symbols that satisfy the query, or None. Raises GaveUpError."""
        built: list[Any] = [None] * len(query.nodes)
        try:
            for position in _from_right_to_left(query):
                built[position] = self._term(query, position, built)
            self._bitwuzla.assert_formula(built[-1])
            result = self._bitwuzla.check_sat()
            if result is self._results.UNKNOWN:
                raise GaveUpError("no reason given")
            if result is self._results.UNSAT:
                return None
            return {
                node.name: self._value(built[position])
                for position, node in enumerate(query.nodes)
                if node.operator == "symbol"
            }
        finally:
            # Terms must be freed before their manager.
            built.clear()
            del self._bitwuzla

    def _term(self, query: Query, position: int, built: list[Any]) -> Any:
        node, terms = query.nodes[position], self._terms
        if node.operator == "symbol":
            return terms.mk_const(terms.mk_bv_sort(node.width) if node.width else terms.mk_bool_sort(), node.name)
        if node.operator == "const":
            if not node.width:
                return terms.mk_true() if node.value else terms.mk_false()
            # Base 16 is used because Python limits the length of decimal numbers.
            return terms.mk_bv_value(terms.mk_bv_sort(node.width), f"{node.value:x}", 16)
        operands = [built[operand] for operand in node.operands]
        kind = self._kinds[node.operator]
        return terms.mk_term(kind, operands, list(node.indices)) if node.indices else terms.mk_term(kind, operands)

    def _value(self, symbol: Any) -> int:
        value = self._bitwuzla.get_value(symbol)
        return int(value.value()) if value.sort().is_bool() else int(value.value(16), 16)


def _from_right_to_left(query: Query) -> Iterator[int]:
    """Yield the positions of nodes after their operands, the last operand first, as pySMT walks formulas.

    Models depend on the order in which terms are made.
    """
    seen = bytearray(len(query.nodes))
    pending = [len(query.nodes) - 1]
    while pending:
        position = pending.pop()
        if position < 0:
            yield ~position
        elif not seen[position]:
            seen[position] = 1
            pending.append(~position)
            pending.extend(query.nodes[position].operands)


DEFAULT_SOLVER: Final = "bitwuzla"
UNKNOWN_VERSION: Final = "of unknown version"


@dataclass(frozen=True)
class Backend:
    """One solver: its Python package, and how a solver process uses it.

    ``engine()`` imports it and returns what decides one query. ``queries_of_a_process`` is how many queries one process
    answers. It is above 1 only for a library that has no state outside a solver, so that no query has an influence on
    the next.
    """

    name: str
    module: str
    distribution: str
    engine: Callable[[], Engine]
    queries_of_a_process: int = 1


@dataclass(frozen=True)
class Availability:
    """Whether a solver is installed: its version, or the reason why it is missing. One of the two is None."""

    name: str
    version: str | None
    missing: str | None


# The imports below are inside functions on purpose: a solver process loads the one solver that it needs.
def _load_cvc5(environment: Any) -> Any:
    from pysmt.logics import QF_BV  # noqa: PLC0415
    from pysmt.solvers.cvcfive import CVC5Solver  # noqa: PLC0415

    # Eager bit-blasting answers in seconds what the default, lazy bit-blasting, did not answer in a minute. It needs
    # the logic by name and a solver that is not incremental.
    options = {"bitblast": "eager"}
    return CVC5Solver(environment, QF_BV, incremental=False, solver_options=options)


def _load_z3(environment: Any) -> Any:
    from pysmt.logics import QF_BV  # noqa: PLC0415
    from pysmt.solvers.z3 import Z3Solver  # noqa: PLC0415

    # Given the logic, pySMT takes Z3's bit-vector tactic. Z3's general solver is 50 to 90 times slower here.
    return Z3Solver(environment, QF_BV)


BACKENDS: Final[Mapping[str, Backend]] = {
    backend.name: backend
    for backend in (
        Backend("bitwuzla", "bitwuzla", "bitwuzla", BitwuzlaEngine, queries_of_a_process=500),
        Backend("cvc5", "cvc5", "cvc5", lambda: PySmtEngine(_load_cvc5, lambda solver: "no reason given")),
        Backend("z3", "z3", "z3-solver", lambda: PySmtEngine(_load_z3, lambda solver: str(solver.z3.reason_unknown()))),
    )
}


def available_solvers() -> dict[str, Availability]:
    """Return for the name of every back end its version or the reason why it is missing. None is imported."""
    return {name: _availability(backend) for name, backend in BACKENDS.items()}


def require_solver(name: str) -> SolverIdentity:
    """Return the identity of an installed solver.

    Raises ``UnknownSolverError`` if the name is not that of a back end, and ``SolverNotInstalledError`` if the back end
    is not installed.
    """
    backend = BACKENDS.get(name)
    if backend is None:
        raise UnknownSolverError(
            f"unknown solver {name!r}: allowed are {', '.join(BACKENDS)}; installed: {_installed()}"
        )
    availability = _availability(backend)
    if availability.version is None:
        raise SolverNotInstalledError(
            f"solver {name!r} is not available: {availability.missing}; installed: {_installed()}"
        )
    return SolverIdentity(name, availability.version)


def _availability(backend: Backend) -> Availability:
    if importlib.util.find_spec(backend.module) is None:
        reason = f"no Python package {backend.module!r}: pip install {backend.distribution}"
        return Availability(backend.name, None, reason)
    return Availability(backend.name, _version(backend.distribution), None)


@cache
def _version(distribution: str) -> str:
    """Return the version of an installed distribution. Reading it takes as long as answering a small query."""
    # This import takes 30 ms. A solver process never asks for a version.
    from importlib.metadata import PackageNotFoundError, version  # noqa: PLC0415

    try:
        return version(distribution)
    except PackageNotFoundError:
        # It can be imported but was not installed by a package manager. Only the library knows its version.
        return UNKNOWN_VERSION


def _installed() -> str:
    present = [f"{a.name} {a.version}" for a in available_solvers().values() if a.version is not None]
    return ", ".join(present) or "none"
