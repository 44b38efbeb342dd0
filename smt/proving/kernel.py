"""The kernel: the one place where theorems are made.

A theorem says that nothing satisfies its *root*, the formula of the counterexamples of a claim. Its proof is what
docs/bundle.md has as logic. Operands are given that satisfy the root. Variables are defined by terms of operands and of
variables that were defined before. Equations are known: the root is true, and each variable is equal to its term. There
is one rule. A *leaf* is a conjunction that nothing satisfies, whatever its symbols are. A step puts terms in the place
of the symbols of a leaf. If all that the leaf asserts but the last is known to hold of these terms, the last is false,
and this is known then. What follows from equations by congruence is known too (``Closure``), and nothing else. If true
is equal to false, no such operands exist: this is the theorem.

A leaf is refuted before it is used, and it remembers who refuted it. Leaves that differ only in the names of symbols
are one leaf.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, NoReturn, Self, final
from weakref import WeakSet

from pysmt.environment import Environment
from pysmt.fnode import FNode

from mmaproof.smt.proving.walk import Substitution, symbols_in
from mmaproof.smt.solving.query import SYMBOL, Query, indices_of, width_of
from mmaproof.smt.solving.refuting import NotRefutedError

_Form = tuple[object, ...]


class NotComposedError(Exception):
    """A step does not follow, or steps do not add up to the claim; the text says where."""


@dataclass(frozen=True)
class Stated:
    """What a leaf asserts: its formulas, their conjunction as a query, and the text of that up to names of symbols.

    ``why`` says what it is for.
    """

    all: tuple[FNode, ...]
    query: Query
    key: str
    why: str

    @classmethod
    def of(cls, formulas: tuple[FNode, ...], why: str) -> Self:
        """Return that these formulas are asserted."""
        query = Query.all_of(formulas)
        return cls(formulas, query, up_to_names(query), why)


Refute = Callable[[Stated, float | None], str]
"""Refutes a leaf, within N seconds if a number is given. It returns who did, and raises NotRefutedError."""


@dataclass(frozen=True)
class Leaf:
    """A conjunction that nothing satisfies, and who refuted it."""

    stated: Stated
    refuted_by: str


@dataclass(frozen=True)
class Step:
    """One use of a leaf, by its number from 0: symbol -> term."""

    leaf: int
    given: Mapping[str, FNode]
    why: str


class Theorem:
    """Nothing satisfies ``root``, by these leaves and steps over these variables. A kernel alone makes it."""

    __slots__ = ("__weakref__", "definitions", "leaves", "root", "steps")
    root: FNode
    definitions: Mapping[FNode, FNode]
    leaves: tuple[Leaf, ...]
    steps: tuple[Step, ...]

    def __init__(self, *_: object) -> None:
        raise TypeError("a theorem is made by a kernel: Kernel.theorem()")

    def __setattr__(self, name: str, _: object) -> NoReturn:
        raise TypeError(f"{name}: a theorem does not change")

    def __reduce__(self) -> NoReturn:
        raise TypeError("a theorem is not copied and not sent: terms belong to an environment")


_MADE: WeakSet[Theorem] = WeakSet()


def is_theorem(x: object) -> bool:
    """Return whether a kernel made this object."""
    return isinstance(x, Theorem) and x in _MADE


@final
class Kernel:
    """A proof on its way: that nothing satisfies ``root``. Leaves are refuted by ``refute``.

    ``go_on`` is called before each step. It raises NotComposedError where the proof has no time left.
    """

    def __init_subclass__(cls) -> NoReturn:
        raise TypeError("a kernel has no subclasses: they could say of anything that it is proved")

    def __init__(
        self, environment: Environment, root: FNode, refute: Refute, go_on: Callable[[], None] = lambda: None
    ) -> None:
        self.environment, self._root, self._refute, self._go_on = environment, root, refute, go_on
        self._leaves: list[Leaf] = []
        self._steps: list[Step] = []
        self._definitions: dict[FNode, FNode] = {}
        self._stated: dict[tuple[FNode, ...], Stated] = {}
        self._refuted_by: dict[str, str] = {}
        self._numbers: dict[str, int] = {}
        self._done: set[tuple[int, tuple[FNode, ...]]] = set()
        self._closure = Closure(environment, symbols_in(root))
        self._closure.hold(root)

    @property
    def root(self) -> FNode:
        """The formula that nothing satisfies, if the proof is completed."""
        return self._root

    @property
    def definitions(self) -> Mapping[FNode, FNode]:
        """What each variable stands for, in the order in which they were defined."""
        return MappingProxyType(self._definitions)

    @property
    def complete(self) -> bool:
        """Whether nothing satisfies the root, by the steps so far."""
        return self._closure.contradictory

    def same(self, x: FNode, y: FNode) -> bool:
        """Return whether two terms are known to be equal."""
        return self._closure.same(x, y)

    def class_of(self, term: FNode) -> int:
        """Return the class of a term: terms that are known to be equal have one. It changes with each step."""
        return self._closure.class_of(term)

    def holds(self, term: FNode) -> bool:
        """Return whether a truth value is known to hold."""
        return self._closure.holds(term)

    def define(self, variable: FNode, definition: FNode) -> None:
        """Define a new variable as a term of operands, and of variables that were defined before.

        Raises NotComposedError if the variable is not new, or the term has other symbols or another sort.
        """
        if not variable.is_symbol() or width_of(variable) != width_of(definition):
            raise NotComposedError(f"{variable}: a variable and its term have different sorts")
        self._closure.declare(variable, definition)
        self._definitions[variable] = definition

    def refute(self, claim: FNode, assumptions: Sequence[FNode], why: str, seconds: float | None = None) -> None:
        """Refute a leaf: the assumptions imply the claim. Whoever uses it later need not wait for that.

        Raises NotComposedError if it is not refuted (within N ``seconds``).
        """
        self._refute_stated(self._as_stated(claim, assumptions, why), seconds)

    def use(
        self,
        claim: FNode,
        assumptions: Sequence[FNode],
        why: str,
        given: Mapping[FNode, FNode] | None = None,
        seconds: float | None = None,
    ) -> None:
        """Use a leaf: the assumptions imply the claim. ``given`` are terms in the place of symbols.

        Raises NotComposedError if the leaf is not refuted (within N ``seconds``), terms do not fit in the place
        of its symbols, or an assumption is not known to hold.
        """
        self._go_on()
        stated = self._as_stated(claim, assumptions, why)
        number = self._numbered(stated, seconds)
        symbols = {name: self.environment.formula_manager.get_symbol(name) for name in stated.query.symbols}
        terms = {name: (given or {}).get(x, x) for name, x in symbols.items()}
        for name, term in terms.items():
            if width_of(symbols[name]) != width_of(term):
                raise NotComposedError(f"{why}: a term in the place of {name} has another sort")
        values = tuple(terms.values())
        if (number, values) in self._done:
            return
        placed = {symbols[name]: term for name, term in terms.items()}
        of = stated.all if given is None else tuple(map(Substitution(self.environment, placed), stated.all))
        for x in of[:-1]:
            if not self._closure.holds(x):
                raise NotComposedError(f"{why}: an assumption is not known to hold: {str(x)[:200]}")
        self._closure.refute(of[-1])
        self._done.add((number, values))
        placed_of = dict(zip(self._leaves[number].stated.query.symbols, values, strict=True))
        self._steps.append(Step(number, MappingProxyType(placed_of), why))

    def theorem(self) -> Theorem:
        """Return the theorem. Raises NotComposedError if the steps do not refute the root."""
        if not self.complete:
            raise NotComposedError("the lemmas do not refute the counterexamples")
        made = object.__new__(Theorem)
        for name, value in (
            ("root", self._root),
            ("definitions", MappingProxyType(dict(self._definitions))),
            ("leaves", tuple(self._leaves)),
            ("steps", tuple(self._steps)),
        ):
            object.__setattr__(made, name, value)
        _MADE.add(made)
        return made

    def _as_stated(self, claim: FNode, assumptions: Sequence[FNode], why: str) -> Stated:
        of = asserted(claim, assumptions, self.environment)
        if of not in self._stated:
            self._stated[of] = Stated.of(of, why)
        return self._stated[of]

    def _numbered(self, stated: Stated, seconds: float | None) -> int:
        if stated.key not in self._numbers:
            by = self._refute_stated(stated, seconds)
            self._numbers[stated.key] = len(self._leaves)
            self._leaves.append(Leaf(stated, by))
        return self._numbers[stated.key]

    def _refute_stated(self, stated: Stated, seconds: float | None) -> str:
        if stated.key not in self._refuted_by:
            try:
                self._refuted_by[stated.key] = self._refute(stated, seconds)
            except NotRefutedError as problem:
                raise NotComposedError(f"{stated.why}: {problem}") from None
        return self._refuted_by[stated.key]


def asserted(claim: FNode, assumptions: Sequence[FNode], environment: Environment) -> tuple[FNode, ...]:
    """Return what a leaf asserts, which nothing satisfies: all that it assumes, and not its claim."""
    assumed = dict.fromkeys(y for x in assumptions for y in conjuncts(x))
    return (*assumed, environment.formula_manager.Not(claim))


def up_to_names(query: Query) -> str:
    """Return a text that is the same for queries that differ only in the names of symbols."""
    names = {name: f"x{i}" for i, name in enumerate(query.symbols)}
    return Query(tuple(n._replace(name=names[n.name]) if n.operator == SYMBOL else n for n in query.nodes)).text


class Closure:
    """Which terms are known to be equal. A truth value that holds is equal to the constant true.

    Terms are over operands and variables alone. Methods raise NotComposedError for terms of other symbols.
    """

    def __init__(self, environment: Environment, operands: Iterable[FNode]) -> None:
        terms: Any = environment.formula_manager
        self._manager = terms
        self._symbols = set(operands)
        for x in self._symbols:
            self._require_own(x)
        self._true, self._false = terms.TRUE(), terms.FALSE()
        self._numbers: dict[FNode, int] = {}
        self._nodes: list[tuple[_Form, list[int]]] = []
        """what each term is apart from its operands, and the numbers of these"""
        self._classes: list[int] = []
        self._members: list[list[int]] = []
        self._users: list[list[int]] = []
        self._forms: dict[_Form, int] = {}

    def declare(self, variable: FNode, definition: FNode) -> None:
        """Take a variable, which was not a symbol before, and note that it is equal to a term of earlier symbols."""
        self._require_own(variable)
        if variable in self._symbols:
            raise NotComposedError(f"{variable} is not a new variable")
        self._number(definition)
        self._symbols.add(variable)
        self.merge(variable, definition)

    def _require_own(self, symbol: FNode) -> None:
        """Raise NotComposedError for a symbol of another environment: in a leaf, symbols of one name are one."""
        if self._manager.symbols.get(symbol.symbol_name()) is not symbol:
            raise NotComposedError(f"{symbol} belongs to another environment")

    def class_of(self, term: FNode) -> int:
        """Return the class of a term. Classes change when terms become equal."""
        return self._classes[self._number(term)]

    def same(self, x: FNode, y: FNode) -> bool:
        """Return whether two terms are known to be equal."""
        return self.class_of(x) == self.class_of(y)

    def _number(self, term: FNode) -> int:
        pending = [] if term in self._numbers else [term]
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
        if node.is_symbol() and node not in self._symbols:
            raise NotComposedError(f"{node} is not an operand, and no variable that is defined")
        number, operands = len(self._nodes), [self._numbers[x] for x in node.args()]
        own = (node.node_type(), tuple(indices_of(node)), width_of(node)) if operands else (node,)
        self._numbers[node] = number
        self._nodes.append((own, operands))
        self._classes.append(number)
        self._members.append([number])
        self._users.append([])
        for x in operands:
            self._users[self._classes[x]].append(number)
        self._merge(number, self._forms.setdefault(self._form(number), number))

    def _form(self, number: int) -> _Form:
        own, operands = self._nodes[number]
        return own, tuple([self._classes[x] for x in operands])

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
