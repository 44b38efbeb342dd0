"""How a property of a design is checked, with limits for all of its questions together.

Fingerprints: the verdict of every property on a design, and the runs that show it.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from mmaproof.designs.catalogue import find_design
from mmaproof.designs.design import Design
from mmaproof.designs.element import Operands
from mmaproof.designs.errors import DesignError
from mmaproof.designs.formats import Format
from mmaproof.designs.operands import OperandBatch
from mmaproof.explain import Picture, explain, joined
from mmaproof.explain.figure import answer_html
from mmaproof.properties import library
from mmaproof.properties.library import find_property
from mmaproof.properties.preconditions import Conditions, Precondition, preconditions_of
from mmaproof.properties.property import Property, PropertyVerdict, QuestionVerdict
from mmaproof.properties.question import Question, Run, RunQuestion, Scope
from mmaproof.smt.solving.backends import DEFAULT_SOLVER
from mmaproof.smt.solving.limits import Limits, worked
from mmaproof.smt.solving.solving import Solving
from mmaproof.smt.solving.verdict import BY_KERNEL, JOINED, Cause, SolverIdentity, Status
from mmaproof.verification.compare import DEFAULT_BUDGET, DEFAULT_LIMITS, compare
from mmaproof.verification.distributions import DISTRIBUTIONS, draw
from mmaproof.verification.search import SIMPLIFYING, Budget, Means, steer
from mmaproof.verification.strategies import answer

Measure = Callable[[OperandBatch], npt.NDArray[np.float64]]

ROWS = 128
GENERATIONS = 40
PARENTS = 8


def largest(question: Question, design: Design, measure: Measure, seed: int) -> tuple[float, Operands]:
    """Return the largest value of ``measure`` found over operands of ``question``, and the operands.

    Random rows of every distribution come first. Then, in each generation, bits of the best rows are flipped or
    elements replaced, and rows with larger values take their place. A seed always gives the same result.
    """
    rng = np.random.default_rng(seed)
    batch = OperandBatch.concatenate(
        [steer(draw(name, design, ROWS, question.k, rng), question, rng) for name in DISTRIBUTIONS]
    )
    best, values = _best(batch, measure(batch))
    for _ in range(GENERATIONS):
        children = _changed(best.select(rng.integers(0, len(best), ROWS)), question.formats, rng)
        best, values = _best(OperandBatch.concatenate([best, children]), np.concatenate([values, measure(children)]))
    return float(values[0]), best.row(0)


def _best(pool: OperandBatch, values: npt.NDArray[np.float64]) -> tuple[OperandBatch, npt.NDArray[np.float64]]:
    """Return the few rows with the largest values, the largest first."""
    order = np.argsort(-values, kind="stable")[:PARENTS]
    return pool.select(order), values[order]


def _changed(batch: OperandBatch, formats: tuple[Format, Format, Format], rng: np.random.Generator) -> OperandBatch:
    """Return the rows with a few bits flipped. In half of them one product is also repeated elsewhere.

    A product that is large or loses bits often does so in every place.
    """
    columns = [batch.a.copy(), batch.b.copy(), batch.c[:, np.newaxis].copy()]
    rows = np.arange(len(batch))
    repeated = (rng.random(columns[0].shape) < 0.5) & (rows % 2 == 0)[:, np.newaxis]
    source = rng.integers(0, batch.k, len(batch))
    for column in columns[:2]:
        np.copyto(column, column[rows, source][:, np.newaxis], where=repeated)
    for _ in range(int(rng.integers(1, 4))):
        which = rng.integers(0, 3, len(batch))
        for i, (column, fmt) in enumerate(zip(columns, formats, strict=True)):
            chosen = rows[which == i]
            places = rng.integers(0, column.shape[1], len(chosen))
            flipped = np.left_shift(1, rng.integers(fmt.ignored_bits, fmt.bits, len(chosen))).astype(column.dtype)
            column[chosen, places] ^= flipped
    return OperandBatch(columns[0], columns[1], columns[2][:, 0], batch.scale_a, batch.scale_b)


_LEAST_FIRST = (JOINED, BY_KERNEL, "")
WORDS = {
    Status.PROVED: "holds",
    Status.REFUTED: "violated",
    Status.UNKNOWN: "unknown",
    Status.VACUOUS: "vacuous",
}


@dataclass(frozen=True)
class Check:
    """A property, the design that it was asked of, the result, and the seconds that it took."""

    asked: Property
    design: Design
    scope: Scope
    finding: PropertyVerdict
    seconds: float

    @property
    def verdict(self) -> str:
        """The verdict as the command line prints it."""
        return WORDS[self.finding.status]

    @property
    def answers(self) -> Sequence[QuestionVerdict]:
        """The verdicts on the questions that were asked, in order."""
        return tuple((self.finding.answers or {}).values())

    @property
    def k(self) -> int:
        """Length of the dot products in the questions."""
        asked = [a.question.k for a in self.answers]
        return asked[0] if asked else self.scope.k or self.design.step.L

    @property
    def claimed(self) -> str:
        """What the verdict is about, in mathematics."""
        return self.asked.statement

    def __repr__(self) -> str:
        return f"<{self.verdict}: {self.asked.name} on {self.design.name}, k = {self.k}>"

    def pictures(self) -> list[tuple[str, Picture]]:
        """Return the pictures of the runs with their numbers; neighbours on the same operands are drawn together."""
        return pictures_of_runs(self.finding.runs)

    def picture(self) -> Picture | None:
        """Return the picture of all runs that show the verdict; None if there are none."""
        return joined(self.pictures()) if self.finding.runs else None

    def _repr_html_(self) -> str:
        value = "" if self.finding.value is None else f"{self.asked.feature}: {self.finding.value}"
        lines = [f"{self.verdict}: {self.asked.name} on {self.design.name}", self.claimed, value]
        return answer_html([*lines, self.finding.reason or ""], self.pictures())

    @property
    def solver(self) -> SolverIdentity | None:
        """The solver that answered; None if none was needed."""
        return next((a.solver for a in self.answers if a.solver is not None), None)

    @property
    def certified_by(self) -> SolverIdentity | None:
        """What confirmed the replies of solvers; None if nothing did."""
        return next((a.certified_by for a in self.answers if a.certified_by is not None), None)

    @property
    def certificate_covers(self) -> str | None:
        """What was certified of the claim, in words: the least that was of one of the questions; None if nothing."""
        certified = [a for a in self.answers if a.certificate_covers is not None]
        return next((a.certificate_covers for a in sorted(certified, key=lambda a: _LEAST_FIRST.index(a.joined))), None)


def pictures_of_runs(runs: Sequence[Run]) -> list[tuple[str, Picture]]:
    """Return the pictures of runs with their numbers; neighbours on the same operands are drawn together."""
    found = []
    numbered = list(enumerate(runs, start=1))
    for _, group in itertools.groupby(numbered, key=lambda x: (x[1].operands, x[1].whole, x[1].design.formats)):
        together = list(group)
        name = ", ".join(f"run {number}" for number, _ in together) if len(runs) > 1 else ""
        designs = [run.design if run.whole else run.design.one_step() for _, run in together]
        found.append((name, explain(designs, together[0][1].operands)))
    return found


def check(
    asked: Property | str,
    design: Design | str,
    *,
    solver: str | Solving = DEFAULT_SOLVER,
    limits: Limits | float = DEFAULT_LIMITS,
    k: int | None = None,
    where: Conditions = (),
    budget: Budget | None = DEFAULT_BUDGET,
    seed: int = 0,
    simplifying: float = SIMPLIFYING,
    told: Callable[[str], None] | None = None,
) -> Check:
    """Find out whether ``design`` has a property. Both may be given by name. ``budget`` None switches the search off.

    Without ``k`` the question is about one step, unless the property is about chains. ``limits``, or a
    number of seconds, are for all questions. ``where`` are conditions as the option ``--where`` spells them. Runs that
    show something are simplified for at most ``simplifying`` seconds each, of which ``told`` is told.
    Raises InputError if no property has the name, UnknownSolverError, SolverNotInstalledError, StoreError, and what
    ``check_within`` raises.

    >>> import mmaproof
    >>> str(mmaproof.check("products-exact", "volta/f32.f16.f16.f32").verdict)
    'holds'
    """
    found, design = find_property(asked) if isinstance(asked, str) else asked, find_design(design)
    means = Means(Solving.of(solver), Limits.of(limits), budget, seed, simplifying=simplifying, told=told)
    return check_within(found, design, Scope(k, preconditions_of(where), seed), means)


def check_within(asked: Property, design: Design, scope: Scope, means: Means) -> Check:
    """Find out whether ``design`` has a property. ``means.limits`` are for all of its questions together.

    Raises DesignError if the property cannot be asked of the design, and what ``answer`` raises.
    """
    reason = asked.why_not(design)
    if reason is not None:
        raise DesignError(f"{asked.name} cannot be asked of {design.name}: {reason}")
    started, means = worked(), means.begun()
    finding = asked.settle(design, scope, _Asker(design, means, started))
    return Check(asked, design, scope, finding, worked() - started)


@dataclass(frozen=True)
class _Asker:
    """Answers the questions of one check. All of them share the limits."""

    design: Design
    means: Means
    started: float

    def __call__(self, question: Question, what: str, /) -> QuestionVerdict:
        """Answer a question within the time that is left; without any, what was found before is the answer."""
        left = self.means.limits.after(worked() - self.started, "earlier questions")
        if left.has_ended:
            reason = Cause.TIMEOUT.reason(f"no answer within {left}")
            return QuestionVerdict(Status.UNKNOWN, 0.0, reason, origin="nobody", question=question)
        return answer(question, self._run_by(question), replace(self.means, limits=left))

    def largest(self, question: Question, measure: Measure) -> tuple[float, Operands]:
        """Look for the largest value of a measure."""
        return largest(question, self._run_by(question), measure, self.means.seed)

    def _run_by(self, question: Question) -> Design:
        """Return what random operands are shaped for: in one step, scales may be of fewer elements."""
        return question.asked(self.design) if isinstance(question, RunQuestion) else self.design


def shown_by(done: Check, means: Means) -> tuple[Run, ...]:
    """Return runs that show the verdict: those of the witness, or of a witness against the property's mutant.

    There are none if no witness was found within the limits.
    """
    if done.finding.runs or done.finding.status is not Status.PROVED:
        return done.finding.runs
    try:
        mutant = done.asked.mutant(done.design)
        other = check_within(done.asked, mutant, done.scope, means)
    except DesignError:
        return ()
    return other.finding.runs


DIRECT = 0.25
"""The share of the time in which the netlist itself is asked, if there is a design that it may be."""


def check_netlist(
    asked: Property,
    netlist: Design,
    meant: Design | None,
    *,
    solver: str | Solving = DEFAULT_SOLVER,
    limits: Limits = DEFAULT_LIMITS,
    k: int | None = None,
    where: Sequence[Precondition] = (),
    budget: Budget | None = DEFAULT_BUDGET,
    seed: int = 0,
    simplifying: float = SIMPLIFYING,
    told: Callable[[str], None] | None = None,
) -> Check:
    """Find out whether a netlist has a property. ``meant`` is a design that one pass of it may be equal to.

    Only proofs are taken over from the design, and only after a proof that both return the same bits, NaN codes too.
    ``simplifying`` and ``told`` are as in ``check``. Raises as ``check`` and ``compare``.

    What can be asked of a netlist is about d alone. If a netlist returns the same bits as a design for all operands,
    both have the same of these properties, as far as they are about one pass.
    """
    started = worked()
    if meant is not None and (meant.signature, meant.k) != (netlist.signature, netlist.k):
        meant = None
    alone = limits if meant is None else replace(limits, seconds=DIRECT * limits.seconds)
    given: dict[str, Any] = {"solver": solver, "k": k, "where": where, "budget": budget, "seed": seed}
    shown: dict[str, Any] = {"simplifying": simplifying, "told": told}
    direct = check(asked, netlist, limits=alone, **given, **shown)
    if meant is None or direct.finding.status is not Status.UNKNOWN or direct.k > netlist.k:
        return direct

    def left() -> Limits:
        return limits.after(worked() - started, "earlier questions")

    equal = compare(netlist, meant, solver=solver, limits=left(), nan_codes=True, k=netlist.k, budget=budget, seed=seed)
    if equal.status is not Status.PROVED:
        return direct
    other = check(asked, meant, limits=left(), **given, **shown)
    if other.finding.status is not Status.PROVED or other.k != direct.k:
        return direct
    answers = {f"{netlist.name} returns the bits that {meant.name} returns": equal, **(other.finding.answers or {})}
    return Check(asked, netlist, other.scope, replace(other.finding, answers=answers), worked() - started)


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
