"""The search for parameters that explain the answers of a unit. It starts at known units and changes groups in turn."""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from mmaproof.designs.catalogue import load_catalogue
from mmaproof.designs.conversions import RHO
from mmaproof.designs.errors import DesignError, InputError
from mmaproof.generators.identify.behaviour import Behaviour
from mmaproof.generators.identify.evidence import Evidence
from mmaproof.generators.identify.space import GROUPS, MAKE_UP, STRUCTURE, Axes, Interface, variants

STARTS = 5
"""Known units from which the search goes on, the best first."""


@dataclass
class Fit:
    """The search for parameters that fit: ``tried`` are all that were held against the evidence."""

    evidence: Evidence
    axes: Axes
    deadline: float
    tried: set[Behaviour] = field(default_factory=set)

    def score(self, behaviour: Behaviour) -> float:
        """Return how well a behaviour agrees with the evidence."""
        self.tried.add(behaviour)
        return self.evidence.score(behaviour)

    def ranked(self, candidates: Iterable[Behaviour]) -> list[Behaviour]:
        """Return the candidates, those outside the space moved into it, best first.

        Raises InputError where none of them gives a valid design there.
        """
        found: dict[Behaviour, float] = {}
        for candidate in candidates:
            behaviour = self._moved_inside(candidate)
            if behaviour is not None and behaviour not in found:
                found[behaviour] = self.score(behaviour)
                if self.is_late():
                    break
        if not found:
            raise InputError(
                f"the space has no valid design near any known unit for {self.evidence.interface} at "
                f"k = {self.evidence.interface.k}: check its values, L must divide k"
            )
        return sorted(found, key=lambda x: -found[x])

    def _moved_inside(self, behaviour: Behaviour) -> Behaviour | None:
        """Return ``behaviour`` with the nearest value of the space for each that is outside it; None if invalid."""
        changes = {
            name: _nearest(behaviour[name], values)
            for name, values in self.axes.items()
            if name in behaviour.settings and behaviour[name] not in values
        }
        moved = behaviour.change(**changes).at_length(self.evidence.interface.k)
        try:
            self.evidence.interface.design(moved)
        except DesignError:
            return None
        return moved

    def climb(self, start: Behaviour) -> Behaviour:
        """Return the best that changing one group of parameters at a time, the most helpful first, leads to."""
        best = start
        while not (self.evidence.fits(best) or self.is_late()):
            found = self._best(best, GROUPS) or self._best(best, tuple(itertools.combinations(STRUCTURE, 2)))
            if found is None:
                break
            best = found
        return best

    def _best(self, behaviour: Behaviour, groups: tuple[tuple[str, ...], ...]) -> Behaviour | None:
        """Return the best of all that differ in one group, None where none is better than ``behaviour``."""
        best, score = None, self.score(behaviour)
        for names in groups:
            for found in variants(behaviour, names, self.axes, self.evidence.interface):
                reached = self.score(found)
                if reached > score:
                    best, score = found, reached
                if (best is found and self.evidence.fits(found)) or self.is_late():
                    return best
        return best

    def alternatives(self, behaviour: Behaviour) -> Iterator[Behaviour]:
        """Yield behaviours that fit as well and differ from this one in one group only."""
        for names in (*GROUPS, *MAKE_UP):
            for found in variants(behaviour, names, self.axes, self.evidence.interface):
                self.tried.add(found)
                if self.evidence.fits(found):
                    yield found
                if self.is_late():
                    return

    def is_late(self) -> bool:
        """Return whether the time is over."""
        return time.monotonic() > self.deadline


def _nearest(value: Any, values: Sequence[Any]) -> Any:
    """Return the value of an axis that is nearest to an integer; the first one where it is none."""
    numbers = [x for x in values if isinstance(x, int)]
    return min(numbers, key=lambda x: abs(x - value)) if isinstance(value, int) and numbers else values[0]


def known_behaviours(interface: Interface) -> Iterator[Behaviour]:
    """Yield how every unit of the catalogue would compute here, those of this interface first.

    The conversion is one to d with the same rounding, and a step is as long as fits K.
    """
    d = interface.signature.d
    designs = sorted(load_catalogue().designs.values(), key=lambda x: (not interface.takes(x), x.k != interface.k))
    for step, behaviour in ((x.step, Behaviour.of(x)) for x in designs):
        conversions = [x for x, rho in RHO.items() if rho.target is d and rho.rounding is step.conversion.rounding]
        changes: dict[str, Any] = {"L": math.gcd(step.L, interface.k)}
        if interface.signature.block is None:
            changes["group_size"] = None
        for rho in [step.rho] if step.rho in conversions else conversions:
            yield behaviour.change(rho=rho, **changes).at_length(interface.k)
