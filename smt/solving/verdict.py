"""What a solver replies to one query, and the verdict on a claim. Neither is ever a bool.

The words, from here to what is printed: a ``Reply`` has an ``Outcome`` (sat, unsat, unknown) and is about one query; a
``Verdict`` has a ``Status`` (proved, refuted, unknown, vacuous) and is about a claim. Where statuses meet, ``combine``
says what is known of them together, and nothing else does.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Generic, NoReturn, TypeVar


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


_WEAKEST_FIRST = (Status.REFUTED, Status.UNKNOWN, Status.VACUOUS, Status.PROVED)


def combine(statuses: Iterable[Status]) -> Status:
    """Return what is known of several claims together.

    They are PROVED only where each of them is. Otherwise one that is refuted decides, then one that is unknown, then
    one that is vacuous. Raises ValueError where there are none: no claims prove nothing.
    """
    found = set(statuses)
    if not found:
        raise ValueError("no statuses to combine: no claims prove nothing")
    return next(status for status in _WEAKEST_FIRST if status in found)


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
        raise ValueError(f"inconsistent: {what!r}; a witness belongs to refuted, a model to sat, a reason to unknown")


def _require_cause(reason: str | None) -> None:
    if reason is not None and not reason.startswith(tuple(f"{cause.value}:" for cause in Cause)):
        causes = ", ".join(cause.value for cause in Cause)
        raise ValueError(f"reason {reason!r} does not begin with its cause: one of {causes}, then a colon")


@dataclass(frozen=True)
class Reply:
    """What a solver says of one query.

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
        raise TypeError("a reply is no truth value: look at .outcome (sat, unsat or unknown)")


W_co = TypeVar("W_co", covariant=True)


@dataclass(frozen=True)
class Verdict(Generic[W_co]):
    """What was found out about a claim.

    ``witness`` (REFUTED only) violates it: of formulas the model, symbol name -> unsigned value, of questions operands.
    ``reason`` (UNKNOWN only) says why nothing is known; one of solvers begins with a ``Cause``. ``solver`` is who
    answered, None when nobody was asked; ``seconds`` is wall-clock time. ``certified_by`` and ``stored`` are those of
    the reply that decided; see ``Reply``.

    Raises ``ValueError`` when witness or reason do not fit the status.
    """

    status: Status
    seconds: float
    reason: str | None = None
    witness: W_co | None = None
    solver: SolverIdentity | None = None
    certified_by: SolverIdentity | None = None
    stored: float | None = None

    def __post_init__(self) -> None:
        _require_consistent((self.witness is not None) == (self.status is Status.REFUTED), self)
        _require_consistent((self.reason is not None) == (self.status is Status.UNKNOWN), self)

    def __bool__(self) -> NoReturn:
        raise TypeError("a verdict is no truth value: look at .status (proved, refuted, unknown or vacuous)")


Model = Mapping[str, int]
"""A witness of a formula: symbol name -> unsigned value, 0 or 1 for a truth value."""
