"""How a property of a design is checked, with limits for all of its questions together."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from mmaproof.designs.catalogue import find_design
from mmaproof.designs.design import Design
from mmaproof.designs.element import Operands
from mmaproof.designs.errors import DesignError
from mmaproof.explain import Picture, explain, joined
from mmaproof.explain.html import answer_html
from mmaproof.properties.library import find_property
from mmaproof.properties.preconditions import Conditions, preconditions_of
from mmaproof.properties.property import Property, PropertyVerdict, QuestionVerdict
from mmaproof.properties.question import Question
from mmaproof.properties.run_question import Run, Scope
from mmaproof.smt.solving.backends import DEFAULT_SOLVER
from mmaproof.smt.solving.limits import Limits
from mmaproof.smt.solving.solving import Solving
from mmaproof.smt.solving.verdict import BY_KERNEL, JOINED, SolverIdentity, Status
from mmaproof.verification.answer import answer
from mmaproof.verification.compare import DEFAULT_BUDGET, DEFAULT_LIMITS
from mmaproof.verification.largest import Measure, largest
from mmaproof.verification.means import SIMPLIFYING, Means
from mmaproof.verification.search import Budget

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
        return self.asked.claimed(self.design, self.scope)

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
    started = time.monotonic()
    finding = asked.settle(design, scope, _Asker(design, means, started))
    return Check(asked, design, scope, finding, time.monotonic() - started)


@dataclass(frozen=True)
class _Asker:
    """Answers the questions of one check. All of them share the limits."""

    design: Design
    means: Means
    started: float

    def __call__(self, question: Question, what: str, /) -> QuestionVerdict:
        """Answer a question within the time that is left."""
        left = self.means.limits.after(time.monotonic() - self.started, "earlier questions")
        return answer(question, self.design, replace(self.means, limits=left))

    def largest(self, question: Question, measure: Measure) -> tuple[float, Operands]:
        """Look for the largest value of a measure."""
        return largest(question, self.design, measure, self.means.seed)


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
