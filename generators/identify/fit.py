"""The search for parameters that explain the answers of a unit. It starts at known units and changes groups in turn."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from mmaproof.designs.catalogue import load_catalogue
from mmaproof.designs.conversions import RHO, conversions_to
from mmaproof.designs.errors import DesignError, InputError
from mmaproof.designs.parameters import DEFINITIONS, parse_parameter
from mmaproof.generators.identify.evidence import Evidence
from mmaproof.generators.identify.space import GROUPS, MAKE_UP, STRUCTURE, Axes, Behaviour, Interface, variants
from mmaproof.smt.solving.limits import Until

STARTS = 5
"""Known units from which the search goes on, the best first."""
COARSE = 40
"""Most values of a range of integers that are tried before those near the best of them."""
REFINED = 2
"""Settings of the other parameters of a group for which the values near the best are tried."""


@dataclass
class Fit:
    """The search for parameters that fit: ``tried`` are all that were held against the evidence, in that order.

    Of those that agree equally well the first one tried is the nearest, so that one seed has one answer. Time may end
    the search, and then the result says so.

    With ``wide`` it takes integers from the whole of their ranges, which ladders in the evidence must show.
    """

    evidence: Evidence
    axes: Axes
    until: Until
    tried: dict[Behaviour, None] = field(default_factory=dict)
    wide: bool = False

    def score(self, behaviour: Behaviour) -> float:
        """Return how well a behaviour agrees with the evidence."""
        self.tried.setdefault(behaviour)
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
            if name in behaviour.settings and not self.axes.allows(name, behaviour[name])
        }
        moved = behaviour.change(**changes).at_length(self.evidence.interface.k)
        try:
            self.evidence.interface.design(moved)
        except DesignError:
            return None
        return moved

    def climb(self, start: Behaviour, *, in_pairs: bool = False) -> Behaviour:
        """Return the best that changing one group of parameters at a time, the most helpful first, leads to.

        With ``in_pairs`` two parameters of the structure are changed together where no group leads further.
        """
        best = start
        while not (self.evidence.fits(best) or self.is_late()):
            found = self._of_ranges(best) if self.wide else None
            if found is None or not self.evidence.fits(found):
                found = max(filter(None, (found, self._best(best, GROUPS))), key=self.score, default=None)
            if found is None and in_pairs:
                found = self._best(best, tuple(itertools.combinations(STRUCTURE, 2)))
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

    def shifted(self, behaviour: Behaviour) -> Behaviour | None:
        """Return a known unit that fits with its products shifted as the exponents of results say, None without one."""
        if "product_shift" not in self.axes.ranges or "product_shift" not in behaviour.settings:
            return None
        for shift in self.evidence.shift(behaviour):
            if shift and self.axes.allows("product_shift", shift):
                known = (x for x in known_behaviours(self.evidence.interface) if "product_shift" in x.settings)
                for found in dict.fromkeys(x.change(product_shift=shift) for x in known):
                    if self._moved_inside(found) == found and self.evidence.fits(found):
                        self.tried.setdefault(found)
                        return found
                    if self.is_late():
                        return None
        return None

    def simplified(self, behaviour: Behaviour) -> Behaviour:
        """Return the behaviour with every parameter at its default that fits as well so, given those before it."""
        for name in reversed([*behaviour.settings]):
            found = behaviour.change(**{name: DEFINITIONS[name].default})
            try:
                if self.evidence.fits(found):
                    behaviour = found
            except DesignError:
                continue
        self.tried.setdefault(behaviour)
        return behaviour

    def _of_ranges(self, behaviour: Behaviour) -> Behaviour | None:
        """Return the best that has one integer from anywhere in its range, None where none is better."""
        best, score = None, self.score(behaviour)
        for names in sorted(GROUPS, key=len):
            for name in (x for x in names if x in self.axes.ranges):
                for found in self._of_range(behaviour, names, name):
                    if (reached := self.score(found)) > score:
                        best, score = found, reached
                if (best is not None and self.evidence.fits(best)) or self.is_late():
                    return best
        return best

    def _of_range(self, behaviour: Behaviour, names: tuple[str, ...], name: str) -> Iterator[Behaviour]:
        """Yield behaviours with the integers of a range that agree best, the other parameters of its group varied.

        Values that are far apart are tried first, then those near the best. The further a value is from that of the
        unit, the more rungs of a ladder it gets wrong.
        """
        others = tuple(x for x in names if x != name)
        varied = variants(behaviour, others, self.axes, self.evidence.interface) if others else ()
        values = self.axes.ranges[name]
        apart = 4 ** max(0, math.ceil(math.log(max(len(values), 1) / COARSE, 4)))
        found: list[dict[int, tuple[float, Behaviour]]] = []
        for base in (behaviour, *varied):
            if name in base.settings and not self.is_late():
                coarse = self.evidence.shift(base) if name == "product_shift" else [*values[::apart], *values[-1:]]
                found.append(self._scores(base, name, coarse))
        found = sorted(filter(None, found), key=lambda x: -max(score for score, _ in x.values()))
        for reached in found[:REFINED]:
            yield self._refined(name, reached, 1 if name == "product_shift" else apart)

    def _refined(self, name: str, reached: dict[int, tuple[float, Behaviour]], apart: int) -> Behaviour:
        """Return the best of a range, of which values ``apart`` from each other were tried."""
        values, tried = self.axes.ranges[name], dict(reached)
        while apart > 1 and not self.is_late():
            best, apart = _most_promising(tried), apart // 4
            near = {x + i * apart for x in best for i in range(-3, 4)} - tried.keys()
            tried |= self._scores(tried[best[0]][1], name, sorted(x for x in near if x in values))
        return max(tried.values(), key=lambda x: x[0])[1]

    def _scores(self, base: Behaviour, name: str, values: Iterable[int]) -> dict[int, tuple[float, Behaviour]]:
        """Return how well ``base`` agrees with values of one parameter, those left out that give no valid design."""
        reached: dict[int, tuple[float, Behaviour]] = {}
        for value in values:
            try:
                found = base.change(**{name: value})
                reached[value] = (self.evidence.score(found), found)
            except DesignError:
                continue
        return reached

    def alternatives(self, behaviour: Behaviour) -> Iterator[Behaviour]:
        """Yield behaviours that fit as well and differ from this one in one group only."""
        varied = (variants(behaviour, x, self.axes, self.evidence.interface) for x in (*GROUPS, *MAKE_UP))
        for found in itertools.chain(filter(self.allows, _exchanged(behaviour)), *varied):
            self.tried.setdefault(found)
            if self.evidence.fits(found):
                yield found
            if self.is_late():
                return

    def allows(self, behaviour: Behaviour) -> bool:
        """Return whether a behaviour is of the space; codes of NaN do not matter."""
        names = [x for x in self.axes if x in behaviour.settings and x != "nan_code"]
        return all(self.axes.allows(x, behaviour[x]) for x in names)

    def is_late(self) -> bool:
        """Return whether the time is over."""
        return self.until.left <= 0


def _most_promising(reached: Mapping[int, tuple[float, Behaviour]]) -> list[int]:
    """Return two values that agree best; of equals those next to a value that agrees otherwise, where others lie."""
    values = sorted(reached)
    turns = {x for pair in itertools.pairwise(values) if reached[pair[0]][0] != reached[pair[1]][0] for x in pair}
    return sorted(values, key=lambda x: (-reached[x][0], x not in turns))[:2]


def _exchanged(behaviour: Behaviour) -> Iterator[Behaviour]:
    """Yield behaviours with a floor where zeros read e_zero, and with zeros that read e_zero where there is a floor."""
    held, names = behaviour.settings, ("zero_c", "zero_product")

    def zeros(reading: str) -> dict[str, Any]:
        return {name: parse_parameter(name, reading) for name in names}

    if "floor" in held and any(held.get(name) == "e-zero" for name in names):
        yield behaviour.change(floor=held["e_zero"], **zeros("absent"))
    elif held.get("floor") is not None and "zero_product" in held:
        yield behaviour.change(floor=None, e_zero=held["floor"], **zeros("e-zero"))


def _nearest(value: Any, values: Sequence[Any]) -> Any:
    """Return the value of an axis that is nearest to an integer; the first one where it is none."""
    numbers = [x for x in values if isinstance(x, int)]
    return min(numbers, key=lambda x: abs(x - value)) if isinstance(value, int) and numbers else values[0]


def known_behaviours(interface: Interface) -> Iterator[Behaviour]:
    """Yield how every unit of the catalogue would compute here, those of this interface first.

    The conversion is one to d with the same rounding, and a step is as long as fits K. Raises InputError for a format
    of d that no conversion gives.
    """
    d = interface.signature.d
    possible = conversions_to(d)
    if not possible:
        raise InputError(
            f"{interface}: d is {d.name}, to which no design rounds: nothing can be identified; a property of any unit "
            "can be checked"
        )
    designs = sorted(load_catalogue().designs.values(), key=lambda x: (not interface.takes(x), x.k != interface.k))
    for step, behaviour in ((x.step, Behaviour.of(x)) for x in designs):
        conversions = [x for x in possible if RHO[x].rounding is step.conversion.rounding]
        changes: dict[str, Any] = {"L": math.gcd(step.L, interface.k)}
        if interface.signature.block is None:
            changes["group_size"] = None
        for rho in [step.rho] if step.rho in conversions else conversions:
            yield behaviour.change(rho=rho, **changes).at_length(interface.k)
