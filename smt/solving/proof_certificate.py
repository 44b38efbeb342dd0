"""Certification by proof: an unsatisfiable query is turned into clauses, and a checked proof shows that they are.

A SAT solver writes the proof; it is not trusted, and neither is any SMT solver. Trusted are ``cnf`` and ``gates``,
which write the clauses, and ``drup``, which checks the proof.
"""

import hashlib
import importlib.util
import sys
import time
from pathlib import Path
from typing import Final

from mmaproof.smt.solving.attempt import Attempt
from mmaproof.smt.solving.errors import SolverNotInstalledError
from mmaproof.smt.solving.limits import Limits
from mmaproof.smt.solving.proof_worker import SAT_SOLVER
from mmaproof.smt.solving.query import Query
from mmaproof.smt.solving.verdict import Reply, SolverIdentity

# -P: see ``process``.
_WORKER: Final = (sys.executable, "-P", "-m", "mmaproof.smt.solving.proof_worker")


def require_prover() -> SolverIdentity:
    """Return who certifies: the SAT solver and the checker, by the versions of the packages that they are part of.

    Raises ``SolverNotInstalledError`` when the package of the SAT solver is missing.
    """
    from importlib.metadata import version  # noqa: PLC0415

    if importlib.util.find_spec("pysat") is None:
        raise SolverNotInstalledError(
            "a proof is written by a SAT solver, and no Python package 'pysat' is here: pip install 'mmaproof[proofs]'"
        )
    return SolverIdentity(f"{SAT_SOLVER}+drup", f"python-sat {version('python-sat')}, mmaproof {version('mmaproof')}")


def certify_by_proof(query: Query, limits: Limits, *, keep: Path | None = None) -> Reply:
    """Find out whether a query is unsatisfiable, by a proof that is checked.

    UNSAT only when the proof holds. SAT comes with the values of all symbols of the query, on which it was evaluated.
    Time-outs, memory, crashes and proofs that do not hold are UNKNOWN with a reason. Where it is unsatisfiable,
    ``keep`` is a folder for the clauses (HASH.cnf, DIMACS) and the proof (HASH.drat, DRAT as text), also one that does
    not hold, for other checkers; HASH is the beginning of the SHA-256 of the query's text.

    Raises ``SolverNotInstalledError``, and ``OSError`` when the folder cannot be made.
    """
    started = time.monotonic()
    prover = require_prover()
    stem = ""
    if keep is not None:
        keep.mkdir(parents=True, exist_ok=True)
        stem = str(keep.absolute() / hashlib.sha256(query.text.encode()).hexdigest()[:16])
    return Attempt(query, prover, limits, started + limits.seconds, (*_WORKER, stem)).answer()
