"""A walk over terms from the bottom up. It has its own stack, so terms may be of any depth."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from pysmt.fnode import FNode

X = TypeVar("X")


def bottom_up(term: FNode, known: dict[FNode, X], compute: Callable[[FNode, Sequence[X]], X]) -> X:
    """Return what ``compute`` returns for a term and the results of its operands. ``known`` keeps all results."""
    pending = [term]
    while pending:
        node = pending[-1]
        missing = [x for x in node.args() if x not in known]
        if missing:
            pending.extend(missing)
            continue
        pending.pop()
        if node not in known:
            known[node] = compute(node, [known[x] for x in node.args()])
    return known[term]
