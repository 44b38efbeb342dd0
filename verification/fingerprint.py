"""Fingerprints: what every property says of a design, and the runs that show it."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from mmaproof.designs.design import Design
from mmaproof.designs.errors import DesignError
from mmaproof.properties.library import find_property
from mmaproof.properties.property import Property
from mmaproof.properties.run_question import Run, Scope
from mmaproof.smt.solving.verdict import Status
from mmaproof.verification.check import Check, check_within, shown_by
from mmaproof.verification.means import Means
from mmaproof.verification.search import Budget

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


@dataclass(frozen=True)
class Task:
    """A property and a design of which it is asked, and how: plain data, so that another process can do it."""

    asked: str
    design: Design
    means: Means
    shown: bool


def feature_of_task(task: Task) -> Feature:
    """Return the feature that a task asks for."""
    return feature_of(find_property(task.asked), task.design, task.means, shown=task.shown)


def designs_differ(features: Iterable[Feature]) -> bool:
    """Return whether designs are known to differ in a property; what is unknown or not asked tells nothing."""
    return len({(f.verdict, f.value) for f in features if f.is_known}) > 1
