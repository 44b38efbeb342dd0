"""What a solver answers to one query, and what that means for a claim. Neither is ever a bool."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import NoReturn


class Status(Enum):
    """What is known about a claim."""

    PROVED = "proved"
    """It holds for every input which meets the precondition, and some input does."""
    REFUTED = "refuted"
    """A witness violates it, and did so again when evaluated concretely."""
    UNKNOWN = "unknown"
    """Nothing is known; the verdict gives the reason."""
    VACUOUS = "vacuous"
    """No input meets the precondition."""


class Outcome(Enum):
    """What a solver says about the satisfiability of one query."""

    SAT = "sat"
    """Some assignment satisfies it."""
    UNSAT = "unsat"
    """No assignment satisfies it."""
    UNKNOWN = "unknown"
    """The solver gave no answer; the reason is given."""


class Cause(Enum):
    """Why there is no answer: how every reason begins."""

    TIMEOUT = "timeout"
    """The time limit passed."""
    MEMORY = "memory"
    """The memory limit was reached."""
    SOLVER_ERROR = "solver error"
    """The solver failed, or what it said cannot be believed."""
    INTERRUPTED = "interrupted"
    """Someone or something else ended the solver process."""

    def reason(self, detail: str) -> str:
        """Return the reason text: the cause, a colon, the detail in one line."""
        return f"{self.value}: {' '.join(detail.split())}"


@dataclass(frozen=True)
class SolverIdentity:
    """A solver by name and version."""

    name: str
    version: str

    def __str__(self) -> str:
        return f"{self.name} {self.version}"


def _require_consistent(condition: bool, what: object) -> None:
    if not condition:
        raise ValueError(f"inconsistent: {what!r}; a model belongs to a witness only, a reason to unknown only")


def _require_cause(reason: str | None) -> None:
    if reason is not None and not reason.startswith(tuple(f"{cause.value}:" for cause in Cause)):
        causes = ", ".join(cause.value for cause in Cause)
        raise ValueError(f"reason {reason!r} does not begin with its cause: one of {causes}, then a colon")


@dataclass(frozen=True)
class Answer:
    """The answer to one query.

    ``model`` (sat only) gives the wanted symbols' values, unsigned, 0 or 1 for a truth value. ``reason``
    (unknown only) begins with a ``Cause``. ``seconds`` is wall-clock time with everything in it;
    ``solver_seconds`` is the part the solver reported for loading and deciding the query, None when it did not.
    ``certified_by`` (unsat only) is who confirmed it, None when nobody was asked to. ``stored`` is for an answer
    from a store what ``solver_seconds`` was when it was new, None for one that is new.

    Raises ``ValueError`` when model, reason or certificate do not fit the outcome.
    """

    outcome: Outcome
    solver: SolverIdentity
    seconds: float
    model: Mapping[str, int] | None = None
    reason: str | None = None
    solver_seconds: float | None = None
    certified_by: SolverIdentity | None = None
    stored: float | None = None

    def __post_init__(self) -> None:
        _require_consistent((self.model is not None) == (self.outcome is Outcome.SAT), self)
        _require_consistent((self.reason is not None) == (self.outcome is Outcome.UNKNOWN), self)
        _require_cause(self.reason)
        if self.certified_by is not None and self.outcome is not Outcome.UNSAT:
            raise ValueError(f"inconsistent: {self!r}; only unsat is certified")

    def __bool__(self) -> NoReturn:
        raise TypeError("an answer is no truth value: look at .outcome (sat, unsat or unknown)")


@dataclass(frozen=True)
class Verdict:
    """What was found out about a claim.

    ``reason`` (UNKNOWN only) begins with a ``Cause``; ``model`` (REFUTED only) is the witness, symbol name ->
    unsigned value; ``solver`` is who answered, None when nobody was asked; ``seconds`` is wall-clock time.
    ``certified_by`` and ``stored`` are those of the answer that decided; see ``Answer``.

    Raises ``ValueError`` when model or reason do not fit the status.
    """

    status: Status
    seconds: float
    reason: str | None = None
    model: Mapping[str, int] | None = None
    solver: SolverIdentity | None = None
    certified_by: SolverIdentity | None = None
    stored: float | None = None

    def __post_init__(self) -> None:
        _require_consistent((self.model is not None) == (self.status is Status.REFUTED), self)
        _require_consistent((self.reason is not None) == (self.status is Status.UNKNOWN), self)
        _require_cause(self.reason)

    def __bool__(self) -> NoReturn:
        raise TypeError("a verdict is no truth value: look at .status (proved, refuted, unknown or vacuous)")
