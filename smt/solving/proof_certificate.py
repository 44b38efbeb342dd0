"""Certification by proof: a query becomes clauses, and a checked proof shows that they are unsatisfiable.

A SAT solver writes the proof. Neither it nor any SMT solver is trusted. The trusted modules are ``cnf`` and ``gates``,
which write the clauses, and ``lrat.check``, which checks the proof.
"""

import hashlib
import importlib.util
import sys
from pathlib import Path
from typing import Final

from mmaproof.smt.solving.attempt import Attempt
from mmaproof.smt.solving.errors import SolverNotInstalledError
from mmaproof.smt.solving.limits import Limits
from mmaproof.smt.solving.lrat import SAT_SOLVER
from mmaproof.smt.solving.query import Query
from mmaproof.smt.solving.verdict import Reply, SolverIdentity

# ``process`` explains -P.
_WORKER: Final = (sys.executable, "-P", "-m", "mmaproof.smt.solving.proof_worker")


def require_prover() -> SolverIdentity:
    """Return the identity of the SAT solver and the checker, with the versions of their packages.

    Raises ``SolverNotInstalledError`` if the package of the SAT solver is missing.
    """
    from importlib.metadata import version  # noqa: PLC0415

    if importlib.util.find_spec("pysat") is None:
        raise SolverNotInstalledError(
            "a proof is written by a SAT solver, and no Python package 'pysat' is here: pip install 'mmaproof[proofs]'"
        )
    return SolverIdentity(f"{SAT_SOLVER}+lrat", f"python-sat {version('python-sat')}, mmaproof {version('mmaproof')}")


def certify_by_proof(query: Query, limits: Limits, *, keep: Path | None = None) -> Reply:
    """Find out whether a query is unsatisfiable, by a checked proof.

    The reply is UNSAT only if the proof holds. SAT comes with the values of all symbols, on which the query was
    evaluated. A time-out, an exceeded memory limit, a crash and a proof that does not hold give UNKNOWN with a reason.
    ``keep`` is a folder in which other checkers find the clauses (HASH.cnf, DIMACS) and the proof (HASH.lrat, LRAT as
    text) of an unsatisfiable query, even if the proof does not hold. HASH is the beginning of the SHA-256 of the
    query's text.

    Raises ``SolverNotInstalledError``, and ``OSError`` if the folder cannot be made.
    """
    prover = require_prover()
    stem = ""
    if keep is not None:
        keep.mkdir(parents=True, exist_ok=True)
        stem = str(keep.absolute() / hashlib.sha256(query.text.encode()).hexdigest()[:16])
    return Attempt(query, prover, limits, limits.seconds, (*_WORKER, stem)).answer()
