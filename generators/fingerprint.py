"""Fingerprints: what every property says of a design, and the vectors that show it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from mmaproof.designs.design import Design
from mmaproof.designs.errors import DesignError, InputError
from mmaproof.designs.operands import Operands
from mmaproof.generators.answer import Means
from mmaproof.generators.check import Check, check_within, shown_by
from mmaproof.generators.search import Budget
from mmaproof.generators.vectors import Vector
from mmaproof.properties.property import Property
from mmaproof.properties.run_question import Run, Scope
from mmaproof.smt.evaluate import evaluate
from mmaproof.smt.solving.verdict import Status

SEARCH = Budget(rows=100_000, seconds=math.inf)
"""The search of a fingerprint ends by its rows, so that a seed gives the same answers on a slower machine."""

NOT_ASKED = "not asked"


@dataclass(frozen=True)
class Feature:
    """What a property says of a design.

    ``done`` is None where it cannot be asked. ``reason`` says why not, or why the answer is unknown; ``runs`` show the
    answer as far as any were found.
    """

    asked: Property
    design: Design
    done: Check | None
    reason: str | None
    runs: tuple[Run, ...] = ()

    @property
    def verdict(self) -> str:
        """The answer in the word of the command line."""
        return NOT_ASKED if self.done is None else self.done.verdict

    @property
    def value(self) -> float | str | None:
        """The answer as a number or a word, where the property has one."""
        return None if self.done is None else self.done.finding.value

    @property
    def is_known(self) -> bool:
        """Whether the design is known to have the property or known not to have it."""
        return self.done is not None and self.done.finding.status in (Status.PROVED, Status.REFUTED)

    @property
    def is_unknown(self) -> bool:
        """Whether more time might give an answer: not where no operands meet what the property assumes."""
        return self.done is not None and self.done.finding.status is Status.UNKNOWN


def feature_of(asked: Property, design: Design, means: Means, *, shown: bool) -> Feature:
    """Ask a property of a design, within ``means``; with ``shown``, also look for runs that show the answer.

    A property that holds is shown by what refutes its mutant. Raises what ``answer`` raises.
    """
    reason = asked.why_not(design)
    if reason is not None:
        return Feature(asked, design, None, reason)
    try:
        done = check_within(asked, design, Scope(seed=means.seed), means)
    except DesignError as error:
        return Feature(asked, design, None, str(error))
    return Feature(asked, design, done, done.finding.reason, shown_by(done, means) if shown else done.finding.runs)


def designs_differ(features: Iterable[Feature]) -> bool:
    """Return whether designs are known to differ in a property; what is unknown or not asked tells nothing."""
    return len({(f.verdict, f.value) for f in features if f.is_known}) > 1


def vectors_of(feature: Feature, designs: Sequence[Design], *, origin: str, version: str) -> list[Vector]:
    """Return the runs that show a feature as vectors, one for each set of operands.

    The outputs are those of the run, and of each of ``designs`` that takes the formats and the length. Runs of one step
    are left out where no instruction returns their d.
    """
    found: dict[tuple[Any, ...], Vector] = {}
    for run in feature.runs:
        given = run.design
        key = (run.operands, given.formats, given.scale_format)
        if not run.whole or key in found:
            continue
        same = [r for r in feature.runs if r.whole and (r.operands, r.design.formats, r.design.scale_format) == key]
        outputs = {r.design.name: r.d for r in same}
        outputs |= {d.name: evaluate(d, run.operands) for d in designs if _takes(d, given, run.operands)}
        found[key] = Vector(run.operands, given.formats, outputs, _why(feature), origin, version, given.scale_format)
    return list(found.values())


def _takes(design: Design, other: Design, operands: Operands) -> bool:
    """Return whether ``design`` takes operands of ``other``: the same formats, and a length that it has."""
    if design.signature != other.signature:
        return False
    try:
        operands.check(design)
    except InputError:
        return False
    return True


def _why(feature: Feature) -> str:
    against = "" if feature.done is None or feature.done.finding.runs else ", shown against its mutant"
    value = "" if feature.value is None else f" ({feature.value})"
    return f"{feature.asked.name}: {feature.verdict}{value} for {feature.design.name}{against}"
