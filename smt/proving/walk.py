"""Terms computed from the bottom up; the walk keeps its own stack, so depth is no limit."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from pysmt.fnode import FNode

X = TypeVar("X")


def bottom_up(term: FNode, known: dict[FNode, X], compute: Callable[[FNode, Sequence[X]], X]) -> X:
    """Return what ``compute`` makes of a term and of what it made of its operands; ``known`` keeps all of it."""
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
