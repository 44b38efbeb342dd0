"""The refutations of the lemmas of a bundle. Lemmas that differ only in the names of symbols are refuted once."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from pysmt.fnode import FNode

from mmaproof.smt.proving.exhaustion import MOST_BITS, try_all_values
from mmaproof.smt.solving.cnf import Asserted, encode_all
from mmaproof.smt.solving.limits import LEAST_SECONDS, Limits
from mmaproof.smt.solving.lrat import Refutation
from mmaproof.smt.solving.operators import TRUTH
from mmaproof.smt.solving.query import SYMBOL, Node, Query, node_of
from mmaproof.smt.solving.refuting import NotRefutedError, Refuter
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
    _started: float = field(default_factory=time.monotonic)
    _known: dict[str, Refutation] = field(default_factory=dict)

    def of(self, query: Query, seconds: float | None = None) -> tuple[Asserted, Refutation]:
        """Return the clauses of a conjunction, and their refutation.

        Raises NotRefutedError if there is none within the limits (and within so many ``seconds``).
        """
        found = sorted({node.operator for node in query.nodes} & NOT_WRITTEN)
        if found:
            raise NotRefutedError(f"a bundle has no {found[0]}")
        encoded, key = encode_all(query), up_to_names(query)
        if key not in self._known:
            left = self.limits.after(time.monotonic() - self._started, "earlier lemmas")
            if seconds is not None:
                left = Limits(max(min(left.seconds, seconds), LEAST_SECONDS), left.memory_bytes)
            self._known[key] = self._refuted(query, encoded, left)
        return encoded, self._known[key]

    def _refuted(self, query: Query, encoded: Asserted, limits: Limits) -> Refutation:
        """Return the refutation that a SAT solver finds, or ``TRIED`` where that takes long and all values are few."""
        read = {abs(x) for clause in encoded.clauses for x in clause}
        few = sum(abs(x) in read for word in encoded.symbols.values() for x in word) <= MOST_BITS
        started = time.monotonic()
        try:
            first = Limits(min(limits.seconds, BEFORE_TRYING), limits.memory_bytes) if few else limits
            return self.refuter.refute(encoded.clauses, first)
        except NotRefutedError:
            if not few or limits.seconds <= BEFORE_TRYING:
                raise
        tried = try_all_values(query)
        if tried is not None and tried.outcome is Outcome.UNSAT:
            return TRIED
        return self.refuter.refute(encoded.clauses, limits.after(time.monotonic() - started, "trying all values"))


def conjunction(asserted: Sequence[FNode]) -> Query:
    """Return the query that all truth values hold. Its last node is the conjunction of them."""
    nodes: list[Node] = []
    positions: dict[FNode, int] = {}
    for root in asserted:
        pending = [root]
        while pending:
            node = pending[-1]
            missing = [x for x in node.args() if x not in positions]
            if missing:
                pending.extend(reversed(missing))
                continue
            pending.pop()
            if node not in positions:
                made = node_of(node, nodes, positions)
                positions[node] = len(nodes)
                nodes.append(made)
    return Query((*nodes, Node("and", TRUTH, operands=tuple(positions[x] for x in asserted))))


def up_to_names(query: Query) -> str:
    """Return a text that is the same for queries that differ only in the names of symbols."""
    names = {name: f"x{i}" for i, name in enumerate(query.symbols)}
    return Query(tuple(n._replace(name=names[n.name]) if n.operator == SYMBOL else n for n in query.nodes)).text
