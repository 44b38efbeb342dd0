"""Classes of designs that return the same results, derived from the verdicts on all pairs."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from mmaproof.designs.design import Design
from mmaproof.designs.element import Operands
from mmaproof.designs.signature import Signature
from mmaproof.smt.solving.verdict import Status
from mmaproof.verification.compare import Comparison
from mmaproof.verification.matrix import PairVerdict, comparable_groups

Class = tuple[Design, ...]


@dataclass(frozen=True)
class Group:
    """Designs that are comparable with each other, the verdict on each pair (by the two names), and their classes.

    A class holds designs that are proved equivalent to exactly the same designs. So every pair inside it is proved, at
    its own length. A design that is equivalent to one design of another class is equivalent to all of that class.
    """

    signature: Signature
    designs: Sequence[Design]
    answers: Mapping[frozenset[str], PairVerdict]
    classes: Sequence[Class]

    def between(self, first: Class, second: Class) -> list[PairVerdict]:
        """Return the verdicts on the pairs with one design in each of two classes."""
        return [self.answers[frozenset((x.name, y.name))] for x, y in itertools.product(first, second)]

    def verdict(self, first: Class, second: Class) -> str:
        """Return "different" if some pair of the two classes is, else "unknown" if some pair is, else "equivalent"."""
        verdicts = {a.comparison.verdict for a in self.between(first, second)}
        return next(v for v in ("different", "unknown", "equivalent") if v in verdicts)

    def not_transitive(self) -> Iterator[tuple[PairVerdict, PairVerdict, PairVerdict]]:
        """Yield the verdicts on three designs of which two pairs are equivalent and the third is not known to be.

        That is possible because each pair is compared at its own length. Any three classes give at most one example.
        """
        for y in self.classes:
            equal = [x for x in self.classes if x is not y and self._of_first(x, y).status is Status.PROVED]
            for x, z in itertools.combinations(equal, 2):
                if self._of_first(x, z).status is not Status.PROVED:
                    yield self._of_first(x, y), self._of_first(y, z), self._of_first(x, z)

    def _of_first(self, first: Class, second: Class) -> PairVerdict:
        return self.answers[frozenset((first[0].name, second[0].name))]


def groups_of(designs: Sequence[Design], answers: Iterable[PairVerdict]) -> list[Group]:
    """Return the designs grouped by comparability. ``answers`` are the verdicts on all pairs, in any order."""
    known = {frozenset(a.names): a for a in answers}
    found = []
    for signature, members in comparable_groups(designs).items():
        classes: dict[frozenset[str], list[Design]] = {}
        for x in members:
            equal = {y.name for y in members if _equivalent(known, x, y)}
            classes.setdefault(frozenset(equal), []).append(x)
        pairs = [frozenset((x.name, y.name)) for x, y in itertools.combinations(members, 2)]
        found.append(Group(signature, members, {p: known[p] for p in pairs}, [tuple(c) for c in classes.values()]))
    return found


def _equivalent(known: Mapping[frozenset[str], PairVerdict], x: Design, y: Design) -> bool:
    return x is y or known[frozenset((x.name, y.name))].status is Status.PROVED


def simplest_difference(answers: Iterable[PairVerdict]) -> Comparison | None:
    """Return the first comparison whose witness has the fewest nonzero products; None if there is no witness."""
    found = [(a.comparison, a.comparison.witness) for a in answers]
    return min(((c, w) for c, w in found if w is not None), key=lambda x: _products(x[1]), default=(None, None))[0]


def _products(witness: Operands) -> int:
    return sum(1 for a, b in zip(witness.a, witness.b, strict=True) if a or b)
