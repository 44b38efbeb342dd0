"""The solvers by name: which of them are installed, and with which options each is fast on these queries.

A solver is imported when its ``engine`` is called, and only a solver process calls it.
"""

import importlib.util
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

from mmaproof.smt.solving.engines import BitwuzlaEngine, Engine, PySmtEngine
from mmaproof.smt.solving.errors import SolverNotInstalledError, UnknownSolverError
from mmaproof.smt.solving.verdict import SolverIdentity

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
