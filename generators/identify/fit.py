"""Looking for parameters that explain what a unit has answered: from known units on, group by group of parameters."""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from mmaproof.designs.catalogue import load_catalogue
from mmaproof.designs.conversions import RHO
from mmaproof.designs.errors import DesignError, InputError
from mmaproof.designs.parameters import DEFINITIONS, Parameters
from mmaproof.generators.identify.evidence import Evidence
from mmaproof.generators.identify.space import GROUPS, MAKE_UP, STRUCTURE, Axes, Interface, canonical, variants

STARTS = 5
"""Known units from which the search goes on, the best first."""


@dataclass
class Fit:
    """The search for parameters that fit: ``tried`` are all that were held against the evidence."""

    evidence: Evidence
    axes: Axes
    deadline: float
    tried: set[Parameters] = field(default_factory=set)

    def score(self, parameters: Parameters) -> float:
        """Return how well parameters agree with the evidence."""
        self.tried.add(parameters)
        return self.evidence.score(parameters)

    def ranked(self, candidates: Iterable[Parameters]) -> list[Parameters]:
        """Return the candidates, those outside the space moved into it, best first.

        Raises InputError where none of them gives a valid design there.
        """
        found: dict[Parameters, float] = {}
        for candidate in candidates:
            parameters = self._moved_inside(candidate)
            if parameters is not None and parameters not in found:
                found[parameters] = self.score(parameters)
                if self.is_late():
                    break
        if not found:
            raise InputError(
                f"the space has no valid design near any known unit for {self.evidence.interface} at "
                f"k = {self.evidence.interface.k}: check its values, L must divide k"
            )
        return sorted(found, key=lambda x: -found[x])

    def _moved_inside(self, parameters: Parameters) -> Parameters | None:
        """Return parameters with every value that the space has not replaced by the nearest one; None if invalid."""
        changes = {
            name: _nearest(getattr(parameters, name), values)
            for name, values in self.axes.items()
            if getattr(parameters, name) not in values and DEFINITIONS[name].applies(parameters)
        }
        moved = canonical(replace(parameters, **changes), self.evidence.interface.k)
        try:
            self.evidence.interface.design(moved)
        except DesignError:
            return None
        return moved

    def climb(self, start: Parameters) -> Parameters:
        """Return the best parameters that changing one group of them at a time, the most helpful first, leads to."""
        best = start
        while not (self.evidence.fits(best) or self.is_late()):
            found = self._best(best, GROUPS) or self._best(best, tuple(itertools.combinations(STRUCTURE, 2)))
            if found is None:
                break
            best = found
        return best

    def _best(self, parameters: Parameters, groups: tuple[tuple[str, ...], ...]) -> Parameters | None:
        """Return the best of all that differ in one group, None where none is better than ``parameters``."""
        best, score = None, self.score(parameters)
        for names in groups:
            for found in variants(parameters, names, self.axes, self.evidence.interface):
                reached = self.score(found)
                if reached > score:
                    best, score = found, reached
                if (best is found and self.evidence.fits(found)) or self.is_late():
                    return best
        return best

    def alternatives(self, parameters: Parameters) -> Iterator[Parameters]:
        """Yield parameters that fit as well and differ from these in one group only."""
        for names in (*GROUPS, *MAKE_UP):
            for found in variants(parameters, names, self.axes, self.evidence.interface):
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


def known_parameters(interface: Interface) -> Iterator[Parameters]:
    """Yield the parameters of every unit of the catalogue as they would be here, those of this interface first.

    The conversion is one to d with the same rounding, and a step is as long as fits K.
    """
    d = interface.formats[3]
    designs = sorted(load_catalogue().designs.values(), key=lambda x: (not interface.takes(x), x.k != interface.k))
    for p in (x.parameters for x in designs):
        conversions = [name for name, rho in RHO.items() if rho.target is d and rho.rounding is p.conversion.rounding]
        steps = math.gcd(p.L, interface.k)
        for rho in [p.rho] if p.rho in conversions else conversions:
            groups = p.group_size if interface.block is not None else None
            yield canonical(replace(p, rho=rho, L=steps, group_size=groups), interface.k)
