"""The design of the catalogue that a unit is most like, and the rows in which the two disagree."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from mmaproof.designs.catalogue import load_catalogue
from mmaproof.designs.design import Design
from mmaproof.designs.errors import DesignError
from mmaproof.designs.parameters import DEFINITIONS, format_parameter
from mmaproof.generators.identify.behaviour import Behaviour
from mmaproof.generators.identify.evidence import Evidence
from mmaproof.generators.identify.outcome import Identification
from mmaproof.properties.meant import meant_rows
from mmaproof.properties.preconditions import parse_precondition


@dataclass(frozen=True, slots=True)
class Disagreement:
    """How many rows of a class of operands there are, how many are wrong, and the simplest of those."""

    rows: int
    wrong: int
    simplest: int | None


@dataclass(frozen=True, slots=True)
class Neighbour:
    """The nearest design, what is to be changed in it, and the rows that the unit answers otherwise, by class."""

    design: Design
    changes: Mapping[str, str]
    disagreements: Mapping[str, Disagreement]

    @property
    def text(self) -> str:
        """What the unit is, as far as is known, as the name of a design: NAME@parameter=value,...."""
        changes = ",".join(f"{name}={value}" for name, value in self.changes.items())
        return f"{self.design.name}{'@' * bool(changes)}{changes}"


def neighbour(outcome: Identification) -> Neighbour | None:
    """Return the design of the catalogue with the fewest other parameters than what was found.

    None if no design has these formats. A value that is proved to make no difference, or that fits as well, is no
    other one. Among equals, the design is taken that agrees with the unit best.
    """
    evidence, behaviour = outcome.evidence, outcome.behaviour or outcome.nearest
    interface = evidence.interface
    found = []
    for design in load_catalogue().designs.values():
        if interface.takes(design):
            here = Behaviour.of(design, interface.k)
            found.append((_changes(outcome, here, behaviour), design, here))
    if not found:
        return None
    fewest = min(len(changes) for changes, _, _ in found)
    near = [x for x in found if len(x[0]) == fewest]
    changes, design, here = max(near, key=lambda x: evidence.score(x[2]))
    if not changes and not evidence.fits(here):
        changes = _fewest_changes(evidence, here, behaviour)
    return Neighbour(design, changes, disagreements(evidence, here))


def _fewest_changes(evidence: Evidence, here: Behaviour, behaviour: Behaviour) -> dict[str, str]:
    """Return parameters of ``behaviour`` that are to be set in ``here``: one or two if these agree with every row.

    Each value may fit as well as another by itself, and the values of a design not together.
    """
    names = [x for x in DEFINITIONS if x != "nan_code" and here[x] != behaviour[x]]
    for some in (*combinations(names, 1), *combinations(names, 2)):
        with suppress(DesignError):
            if evidence.fits(here.change(**{x: behaviour[x] for x in some})):
                return {x: format_parameter(x, behaviour[x]) for x in some}
    return {x: format_parameter(x, behaviour[x]) for x in names}


def disagreements(evidence: Evidence, behaviour: Behaviour) -> dict[str, Disagreement]:
    """Return how well a behaviour agrees with rows of finite operands, and with those of others."""
    wrong = ~evidence.agrees(behaviour)
    formats, batch = evidence.interface.signature.formats, evidence.batch
    finite = np.ones(len(batch), bool)
    if not formats[0].is_integer:
        finite = meant_rows(formats, batch, [parse_precondition("finite")])
    found = {}
    for name, rows in (("finite operands", finite), ("infinities and NaNs", ~finite)):
        numbers = np.flatnonzero(rows & wrong)
        simplest = int(numbers[np.argmin(evidence.nonzero_products[numbers])]) if len(numbers) else None
        found[name] = Disagreement(int(rows.sum()), len(numbers), simplest)
    return found


def _changes(outcome: Identification, here: Behaviour, behaviour: Behaviour) -> dict[str, str]:
    changes = {}
    for name in DEFINITIONS:
        finding = outcome.findings.get(name)
        as_well = () if finding is None else (*finding.unobservable, *finding.undecided)
        if name != "nan_code" and here[name] != behaviour[name] and here[name] not in as_well:
            changes[name] = format_parameter(name, behaviour[name])
    return changes
