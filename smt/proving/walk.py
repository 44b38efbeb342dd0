"""Walks over terms from the bottom up. They have their own stacks, so terms may be of any depth."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from pysmt.environment import Environment
from pysmt.fnode import FNode

X = TypeVar("X")


def bottom_up(term: FNode, known: dict[FNode, X], compute: Callable[[FNode, Sequence[X]], X]) -> X:
    """Return what ``compute`` returns for a term and the results of its operands. ``known`` keeps all results."""
    pending = [term]
    while pending:
        node = pending[-1]
        if node in known:
            pending.pop()
            continue
        missing = [x for x in node.args() if x not in known]
        if missing:
            pending.extend(missing)
            continue
        pending.pop()
        known[node] = compute(node, [known[x] for x in node.args()])
    return known[term]


def symbols_in(term: FNode) -> set[FNode]:
    """Return the symbols of a term. pySMT's own walk keeps a set for each node, which is too much for long terms."""
    known, pending = {term}, [term]
    while pending:
        new = [x for x in pending.pop().args() if x not in known]
        known.update(new)
        pending += new
    return {x for x in known if x.is_symbol()}


class Substitution:
    """Puts terms in the place of others. Results are kept for further terms, and nothing below such a place is read.

    pySMT's own walks through all of a term each time, and makes every node of it again.
    """

    def __init__(self, environment: Environment, places: Mapping[FNode, FNode]) -> None:
        self._environment = environment
        self._known = dict(places)

    def __call__(self, term: FNode) -> FNode:
        """Return a term with others in the places of its parts."""
        return bottom_up(term, self._known, lambda node, operands: rebuilt(self._environment, node, operands))


def rebuilt(environment: Environment, node: FNode, operands: Sequence[FNode]) -> FNode:
    """Return a node over other operands. What is negated twice is not negated."""
    if all(x is y for x, y in zip(node.args(), operands, strict=True)):
        return node
    terms: Any = environment.formula_manager
    made: FNode = (
        terms.Not(*operands)
        if node.is_not()
        else terms.create_node(node.node_type(), tuple(operands), node._content.payload)
    )
    return made


def substituted(environment: Environment, term: FNode, places: Mapping[FNode, FNode]) -> FNode:
    """Return a term with others in the places of its parts."""
    return Substitution(environment, places)(term)
