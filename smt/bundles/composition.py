"""The steps of a bundle: which lemma is used, with which terms in the place of its symbols.

A lemma is proved of all values of its symbols, so it holds of any terms. Lemmas that differ only in the names of
symbols are one lemma. ``Composition`` notes what follows from each step, as the checker will, so it is known whether
the steps refute the counterexamples of the claim.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pysmt.environment import Environment
from pysmt.fnode import FNode

from mmaproof.smt.bundles.closure import Closure, conjuncts
from mmaproof.smt.bundles.refutations import conjunction, up_to_names
from mmaproof.smt.solving.query import Query


class NotComposedError(Exception):
    """Lemmas do not add up to the claim in a way that a bundle can say; the text says where."""


@dataclass(frozen=True)
class Used:
    """A lemma: its symbols (name -> width), what it asserts, which nothing satisfies, and what it is for."""

    symbols: Mapping[str, int]
    asserted: tuple[FNode, ...]
    query: Query
    """the conjunction of what is asserted"""
    why: str


@dataclass(frozen=True)
class Step:
    """One use of a lemma, by its number from 0: symbol -> term."""

    lemma: int
    given: Mapping[str, FNode]
    why: str


@dataclass
class Composition:
    """The lemmas and steps that refute ``root``, the formula of counterexamples, and the variables that they define."""

    environment: Environment
    root: FNode
    lemmas: list[Used] = field(default_factory=list)
    steps: list[Step] = field(default_factory=list)
    definitions: dict[FNode, FNode] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._terms: Any = self.environment.formula_manager
        self._known: dict[str, int] = {}
        self._done: set[tuple[int, tuple[FNode, ...]]] = set()
        self.closure = Closure(self.environment)
        self.closure.hold(self.root)

    @property
    def complete(self) -> bool:
        """Whether the steps refute the counterexamples."""
        return self.closure.contradictory

    def define(self, variable: FNode, definition: FNode) -> None:
        """Define a variable as a term of operands and variables that were defined before."""
        self.definitions[variable] = definition
        self.closure.merge(variable, definition)

    def use(
        self, claim: FNode, assumptions: Sequence[FNode], why: str, given: Mapping[FNode, FNode] | None = None
    ) -> None:
        """Use a lemma: the assumptions imply the claim. ``given`` are terms in the place of symbols.

        Raises NotComposedError if an assumption is not known to hold.
        """
        stated = asserted(claim, assumptions, self.environment)
        number = self._numbered(stated, why)
        names = conjunction(stated).symbols
        terms = {name: self._terms.get_symbol(name) for name in names}
        if given is not None:
            terms = {name: given.get(x, x) for name, x in terms.items()}
        values = tuple(terms.values())
        if (number, values) in self._done:
            return
        of = [x if given is None else self.environment.substituter.substitute(x, given) for x in stated]
        for x in of[:-1]:
            if not self.closure.holds(x):
                raise NotComposedError(f"{why}: an assumption is not known to hold: {str(x)[:200]}")
        self._done.add((number, values))
        self.closure.refute(of[-1])
        own = self.lemmas[number].symbols
        self.steps.append(Step(number, dict(zip(own, values, strict=True)), why))

    def _numbered(self, asserted: tuple[FNode, ...], why: str) -> int:
        query = conjunction(asserted)
        key = up_to_names(query)
        if key not in self._known:
            self._known[key] = len(self.lemmas)
            self.lemmas.append(Used(query.symbols, asserted, query, why))
        return self._known[key]


def asserted(claim: FNode, assumptions: Sequence[FNode], environment: Environment) -> tuple[FNode, ...]:
    """Return what a lemma asserts, which nothing satisfies: all that it assumes, and not its claim."""
    assumed = dict.fromkeys(y for x in assumptions for y in conjuncts(x))
    return (*assumed, environment.formula_manager.Not(claim))
