"""The refutations of the lemmas of a bundle. Lemmas that differ only in the names of symbols are refuted once."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field
from typing import Final

from mmaproof.smt.proving.adders import BY_SUMS, prove_sums
from mmaproof.smt.proving.exhaustion import MOST_BITS, try_all_values
from mmaproof.smt.proving.kernel import Stated, up_to_names
from mmaproof.smt.solving.cnf import Asserted, encode_all
from mmaproof.smt.solving.limits import LEAST_SECONDS, Limits, worked
from mmaproof.smt.solving.lrat import Refutation
from mmaproof.smt.solving.query import Query
from mmaproof.smt.solving.refuting import NotRefutedError, Refuter
from mmaproof.smt.solving.sums import SumProof
from mmaproof.smt.solving.verdict import Outcome

BEFORE_TRYING = 3.0
"""Seconds in which a SAT solver refutes a lemma of few bits, before all values are tried."""
TRIED: Final = Refutation((), ())
"""What stands for a refutation where the checker tries all values."""
NOT_WRITTEN = frozenset({"bvudiv", "bvurem", "bvsdiv", "bvsrem", "rotate_left", "rotate_right", "bvcomp"})
"""Operators that bundles do not have."""


@dataclass
class Refutations:
    """What was refuted. All of it shares the limits, which begin with the making of this object."""

    refuter: Refuter
    limits: Limits
    _started: float = field(default_factory=worked)
    _known: dict[str, Refutation | SumProof] = field(default_factory=dict)

    def of(self, query: Query, seconds: float | None = None) -> tuple[Asserted, Refutation | SumProof]:
        """Return the clauses of a conjunction, and their refutation.

        Raises NotRefutedError if there is none within the limits (and within N ``seconds``).
        """
        found = sorted({node.operator for node in query.nodes} & NOT_WRITTEN)
        if found:
            raise NotRefutedError(f"a bundle has no {found[0]}")
        encoded, key = encode_all(query), up_to_names(query)
        if key not in self._known:
            left = self.limits.after(worked() - self._started, "earlier lemmas")
            if seconds is not None:
                left = Limits(max(min(left.seconds, seconds), LEAST_SECONDS), left.memory_bytes)
            self._known[key] = self._refuted(query, encoded, left)
        return encoded, self._known[key]

    def refute(self, stated: Stated, seconds: float | None) -> str:
        """Refute a leaf, as the kernel asks for it. Return who did. Raises NotRefutedError."""
        _, found = self.of(stated.query, seconds)
        if isinstance(found, SumProof):
            return BY_SUMS
        return "all values of its symbols" if found is TRIED else "a clausal proof"

    def _refuted(self, query: Query, encoded: Asserted, limits: Limits) -> Refutation | SumProof:
        """Return lemmas about adders where products are added, else the refutation that a SAT solver finds.

        It is ``TRIED`` where that takes long and all values are few.
        """
        with suppress(NotRefutedError):
            return prove_sums(query)
        read = {abs(x) for clause in encoded.clauses for x in clause}
        few = sum(abs(x) in read for word in encoded.symbols.values() for x in word) <= MOST_BITS
        started = worked()
        try:
            first = Limits(min(limits.seconds, BEFORE_TRYING), limits.memory_bytes) if few else limits
            return self.refuter.refute(encoded.clauses, first)
        except NotRefutedError:
            if not few or limits.seconds <= BEFORE_TRYING:
                raise
        tried = try_all_values(query)
        if tried is not None and tried.outcome is Outcome.UNSAT:
            return TRIED
        return self.refuter.refute(encoded.clauses, limits.after(worked() - started, "trying all values"))
