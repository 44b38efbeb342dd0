"""What follows from equations between terms: equal operators of equal operands are equal (congruence closure).

A proof bundle rests on this alone to join its lemmas. The checker of bundles has its own; here it is found out whether
the steps of a bundle suffice, and which are still missing.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pysmt.environment import Environment
from pysmt.fnode import FNode

from mmaproof.smt.solving.query import indices_of, width_of

_Form = tuple[object, ...]


class Closure:
    """Which terms are known to be equal. A truth value that holds is equal to the constant true."""

    def __init__(self, environment: Environment) -> None:
        terms: Any = environment.formula_manager
        self._true, self._false = terms.TRUE(), terms.FALSE()
        self._numbers: dict[FNode, int] = {}
        self._nodes: list[FNode] = []
        self._classes: list[int] = []
        self._members: list[list[int]] = []
        self._users: list[list[int]] = []
        self._forms: dict[_Form, int] = {}

    def class_of(self, term: FNode) -> int:
        """Return the class of a term. Classes change when terms become equal."""
        return self._classes[self._number(term)]

    def same(self, x: FNode, y: FNode) -> bool:
        """Return whether two terms are known to be equal."""
        return self.class_of(x) == self.class_of(y)

    def _number(self, term: FNode) -> int:
        pending = [term]
        while pending:
            node = pending[-1]
            missing = [x for x in node.args() if x not in self._numbers]
            if missing:
                pending += missing
                continue
            pending.pop()
            if node not in self._numbers:
                self._take(node)
        return self._numbers[term]

    def _take(self, node: FNode) -> None:
        number = len(self._nodes)
        self._numbers[node] = number
        self._nodes.append(node)
        self._classes.append(number)
        self._members.append([number])
        self._users.append([])
        for x in node.args():
            self._users[self._classes[self._numbers[x]]].append(number)
        self._merge(number, self._forms.setdefault(self._form(number), number))

    def _form(self, number: int) -> _Form:
        node = self._nodes[number]
        operands = tuple(self._classes[self._numbers[x]] for x in node.args())
        if operands:
            return node.node_type(), tuple(indices_of(node)), operands, width_of(node)
        return (node,)

    def merge(self, x: FNode, y: FNode) -> None:
        """Note that two terms are equal, and what follows from that."""
        self._merge(self._number(x), self._number(y))

    def _merge(self, x: int, y: int) -> None:
        pending = [(x, y)]
        while pending:
            x, y = (self._classes[z] for z in pending.pop())
            if x == y:
                continue
            if len(self._members[x]) + len(self._users[x]) > len(self._members[y]) + len(self._users[y]):
                x, y = y, x
            for z in self._members[x]:
                self._classes[z] = y
            self._members[y] += self._members[x]
            for z in self._users[x]:
                pending.append((z, self._forms.setdefault(self._form(z), z)))
            self._users[y] += self._users[x]
            self._members[x], self._users[x] = [], []

    def hold(self, term: FNode) -> None:
        """Note that a truth value holds."""
        for x in conjuncts(term):
            self.merge(x, self._true)
            if x.is_equals() or x.is_iff():
                self.merge(*x.args())
            elif x.is_not():
                self.merge(x.arg(0), self._false)

    def refute(self, term: FNode) -> None:
        """Note that a truth value does not hold."""
        self.merge(term, self._false)
        if term.is_not():
            self.hold(term.arg(0))

    def holds(self, term: FNode) -> bool:
        """Return whether a truth value is known to hold."""
        return all(self._holds(x) for x in conjuncts(term))

    def _holds(self, x: FNode) -> bool:
        if self.same(x, self._true):
            return True
        if x.is_equals() or x.is_iff():
            return self.same(*x.args())
        return bool(x.is_not()) and self.same(x.arg(0), self._false)

    @property
    def contradictory(self) -> bool:
        """Whether nothing satisfies what was noted."""
        return self.same(self._true, self._false)


def conjuncts(term: FNode) -> Iterator[FNode]:
    """Yield the terms whose conjunction a truth value is."""
    pending = [term]
    while pending:
        x = pending.pop()
        if x.is_and():
            pending += reversed(x.args())
        else:
            yield x
