"""What two architectures have in common: a unit of each for the same formats, and in which parameters they differ."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from mmaproof.designs.arithmetic import Arithmetic, differing_parameters
from mmaproof.designs.catalogue import Catalogue
from mmaproof.designs.design import Design
from mmaproof.designs.parameters import DEFINITIONS, complete_settings, format_parameter


@dataclass(frozen=True)
class Pair:
    """A unit of either architecture, of one signature."""

    first: Design
    second: Design

    @property
    def same(self) -> bool:
        """Whether both are one computation."""
        return Arithmetic.of(self.first) == Arithmetic.of(self.second)

    @property
    def differences(self) -> Mapping[str, tuple[str, str]]:
        """The values of each parameter that is not the same."""
        ours, theirs = (complete_settings(x.chain, x.step) for x in (self.first, self.second))
        names = [n for n in DEFINITIONS if n in differing_parameters(self.first, self.second)]
        return {n: (format_parameter(n, ours[n]), format_parameter(n, theirs[n])) for n in names}


def in_common(catalogue: Catalogue, first: str, second: str) -> list[Pair]:
    """Return a pair of units for each signature with one format of a and b that two architectures both have.

    Of several units of an architecture it is the one of its newest kind of instruction (wgmma, tcgen05.mma), and of the
    largest K.
    """
    units = [_units(catalogue, x) for x in (first, second)]
    return [Pair(x, units[1][key]) for key, x in units[0].items() if key in units[1]]


def _units(catalogue: Catalogue, architecture: str) -> dict[object, Design]:
    found: dict[object, Design] = {}
    here = [x for x in catalogue.designs.values() if x.architecture == architecture and x.a_format is x.b_format]
    for design in sorted(here, key=lambda x: (x.instruction.startswith("mma."), -x.k, x.m, x.n)):
        found.setdefault(design.signature, design)
    return found
