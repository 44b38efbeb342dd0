"""How queries are answered: by which solver, and by what around it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

from pysmt.fnode import FNode

from mmaproof.smt.solving.backends import DEFAULT_SOLVER, require_solver
from mmaproof.smt.solving.limits import Limits
from mmaproof.smt.solving.solve import solve
from mmaproof.smt.solving.verdict import Answer


@dataclass(frozen=True, slots=True)
class Solving:
    """A way to answer queries: ``solver`` is the name of a back end. Plain data, so that another process can do it."""

    solver: str = DEFAULT_SOLVER

    @classmethod
    def of(cls, solver: str | Self) -> Solving:
        """Return a way to answer queries, given as such or as the name of its solver.

        Raises UnknownSolverError and SolverNotInstalledError.
        """
        solving = Solving(solver) if isinstance(solver, str) else solver
        require_solver(solving.solver)
        return solving

    def ask(self, formula: FNode, symbols: Sequence[FNode], /, *, limits: Limits) -> Answer:
        """Answer the query; see ``solve``."""
        return solve(formula, symbols, solver=self.solver, limits=limits)
