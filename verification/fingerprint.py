"""Fingerprints: the verdict of every property on a design, and the runs that show it."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from mmaproof.designs.catalogue import find_design
from mmaproof.designs.design import Design
from mmaproof.designs.errors import DesignError
from mmaproof.explain import Picture, joined
from mmaproof.explain.html import answer_html
from mmaproof.properties import library
from mmaproof.properties.library import find_property
from mmaproof.properties.property import Property
from mmaproof.properties.run_question import Run, Scope
from mmaproof.smt.solving.backends import DEFAULT_SOLVER
from mmaproof.smt.solving.limits import Limits
from mmaproof.smt.solving.solving import Solving
from mmaproof.smt.solving.verdict import Status
from mmaproof.verification.check import Check, check_within, pictures_of_runs, shown_by
from mmaproof.verification.search import Budget, Means

SEARCH = Budget(rows=100_000, seconds=math.inf)
"""A limit of rows and not of time ends the search, so that a seed gives the same answers on a slower machine."""

NOT_ASKED = "not asked"

SECONDS = 20.0
"""The time limit for each property of each design."""


@dataclass(frozen=True)
class Feature:
    """The verdict of a property on a design.

    ``done`` is None if the property cannot be asked. ``reason`` says why it cannot, or why the verdict is unknown.
    ``runs`` show the verdict, if any were found.
    """

    asked: Property
    design: Design
    done: Check | None
    reason: str | None
    runs: tuple[Run, ...] = ()

    @property
    def verdict(self) -> str:
        """The verdict as the command line prints it."""
        return NOT_ASKED if self.done is None else self.done.verdict

    @property
    def value(self) -> float | str | None:
        """The value of the property, a number or a word; None if it has none."""
        return None if self.done is None else self.done.finding.value

    def __repr__(self) -> str:
        value = "" if self.value is None else f" ({self.value})"
        return f"<{self.verdict}{value}: {self.asked.name} on {self.design.name}>"

    def picture(self) -> Picture | None:
        """Return the picture of the runs that show the verdict; None if there are none."""
        return joined(pictures_of_runs(self.runs)) if self.runs else None

    def _repr_html_(self) -> str:
        value = "" if self.value is None else f"{self.asked.feature}: {self.value}"
        lines = [f"{self.verdict}: {self.asked.name} on {self.design.name}", self.asked.statement, value]
        return answer_html([*lines, self.reason or ""], pictures_of_runs(self.runs))

    @property
    def is_known(self) -> bool:
        """Whether it is known that the design has the property, or that it does not."""
        return self.done is not None and self.done.finding.status in (Status.PROVED, Status.REFUTED)

    @property
    def is_unknown(self) -> bool:
        """Whether more time might give a verdict. It cannot if no operands meet the property's assumptions."""
        return self.done is not None and self.done.finding.status is Status.UNKNOWN


def fingerprint(
    design: Design | str,
    only: Collection[Property | str] = (),
    *,
    solver: str | Solving = DEFAULT_SOLVER,
    limits: Limits | float = SECONDS,
    budget: Budget | None = SEARCH,
    seed: int = 0,
    shown: bool = False,
) -> dict[str, Feature]:
    """Return what each property says of ``design`` (or of the design of that name), by the names of the properties.

    ``only`` has the properties that are asked; without it all are. ``limits``, or a number of seconds, are for each of
    them. ``budget`` None switches the search off. A feature that is violated has the runs that show it; with ``shown``
    runs are looked for that show one that holds, too. ``designs_differ`` compares features of several designs. Raises
    DesignError for an unknown design, InputError for an unknown property, and what ``check`` raises about solvers.

    >>> import mmaproof
    >>> list(mmaproof.fingerprint("volta/f32.f16.f16.f32", ["products-exact"]))
    ['products-exact']
    """
    wanted = {(find_property(x) if isinstance(x, str) else x).name for x in only}
    means = Means(Solving.of(solver), Limits.of(limits), budget, seed)
    tasks = tasks_of([find_design(design)], wanted, means, shown=shown)
    return {task.asked: feature_of_task(task) for task in tasks}


def feature_of(asked: Property, design: Design, means: Means, *, shown: bool) -> Feature:
    """Check a property of a design within ``means``. With ``shown``, also look for runs that show the verdict.

    A witness against the mutant shows a property that holds. Raises what ``answer`` raises.
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
    """A property, a design and the means of the check. It is plain data, so that another process can run it."""

    asked: str
    design: Design
    means: Means
    shown: bool


def tasks_of(designs: Sequence[Design], only: Collection[str], means: Means, *, shown: bool) -> list[Task]:
    """Return a task for each property, in the order of the library, and each design; ``only`` has names, or nothing."""
    return [Task(name, d, means, shown) for name in library.PROPERTIES if not only or name in only for d in designs]


def feature_of_task(task: Task) -> Feature:
    """Return the feature that ``task`` describes."""
    return feature_of(find_property(task.asked), task.design, task.means, shown=task.shown)


def designs_differ(features: Iterable[Feature]) -> bool:
    """Return whether designs are known to differ in a property. Unknown verdicts and missing ones do not count.

    >>> import mmaproof
    >>> units, asked = ("volta/f32.f16.f16.f32", "turing/f32.f16.f16.f32"), "products-exact"
    >>> mmaproof.designs_differ([mmaproof.fingerprint(x, [asked])[asked] for x in units])
    False
    """
    return len({(f.verdict, f.value) for f in features if f.is_known}) > 1
