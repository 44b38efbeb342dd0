"""The reply of a solver to one query, and the verdict on a claim. Neither is ever a bool.

These words have one meaning, from here to the printed text. A ``Reply`` is about one query and has an ``Outcome`` (sat,
unsat, unknown). A ``Verdict`` is about a claim and has a ``Status`` (proved, refuted, unknown, vacuous). Statuses of
several claims are combined by ``combine`` and by nothing else.

The exceptions of this package: one tree, whose leaves are also the built-in exceptions that they resemble.

A solver that times out, runs out of memory or crashes raises nothing. Its reply is unknown, with a reason. Exceptions
are for questions that cannot be asked and for contradictions inside mmaproof.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Generic, NoReturn, TypeVar


class Status(Enum):
    """What is known about a claim."""

    PROVED = "proved"
    """The claim holds for every input that meets the precondition, and some input does."""
    REFUTED = "refuted"
    """A witness violates the claim. Evaluation on integers confirmed that."""
    UNKNOWN = "unknown"
    """Nothing is known. The verdict gives the reason."""
    VACUOUS = "vacuous"
    """No input meets the precondition."""


_WEAKEST_FIRST = (Status.REFUTED, Status.UNKNOWN, Status.VACUOUS, Status.PROVED)


def combine(statuses: Iterable[Status]) -> Status:
    """Return what is known of several claims together.

    Together they are PROVED only if each of them is. Otherwise they are REFUTED if one is, else UNKNOWN if one is, else
    VACUOUS. Raises ValueError if there are no claims, because these would prove nothing.
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
    """The solver gave no answer. The reply gives the reason."""


class Cause(Enum):
    """Why a solver gave no answer. Every reason begins with one of these."""

    TIMEOUT = "timeout"
    """The time limit passed."""
    MEMORY = "memory"
    """The memory limit was reached."""
    SOLVER_ERROR = "solver error"
    """The solver failed, or its reply was wrong or malformed."""
    INTERRUPTED = "interrupted"
    """Something outside ended the solver process."""
    UNDEFINED = "undefined bits"
    """The claim is violated where bits that a netlist leaves undefined have other values than zero."""

    def reason(self, detail: str) -> str:
        """Return the text of a reason: the cause, a colon, and the detail in one line."""
        return f"{self.value}: {' '.join(detail.split())}"


WHOLE, LEMMAS = "the claim in one piece", "its lemmas"
JOINED = "joined by an argument that no certificate covers"
"""What is said wherever lemmas are certified, and neither the claim in one piece nor what joins them."""
BY_KERNEL = "joined by a kernel, step by step"


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
    """What a solver says about one query.

    ``model`` (sat only) gives the unsigned values of the wanted symbols (0 or 1 for a truth value). ``reason`` (unknown
    only) begins with a ``Cause``. ``seconds`` is the wall-clock time of the whole query. ``solver_seconds`` is the part
    that the solver reported for loading and deciding it; None if it reported nothing. ``certified_by`` (unsat only) is
    what confirmed the reply; None if nothing was asked to. ``stored`` is None for a new reply. For a reply from a store
    it is what ``solver_seconds`` was when the reply was new. ``certificate`` (unsat only) is the SHA-256 of the clauses
    and the proof that were checked; None if no proof was.

    Raises ``ValueError`` if model, reason or certificate do not fit the outcome.
    """

    outcome: Outcome
    solver: SolverIdentity
    seconds: float
    model: Mapping[str, int] | None = None
    reason: str | None = None
    solver_seconds: float | None = None
    certified_by: SolverIdentity | None = None
    stored: float | None = None
    certificate: str | None = None

    def __post_init__(self) -> None:
        _require_consistent((self.model is not None) == (self.outcome is Outcome.SAT), self)
        _require_consistent((self.reason is not None) == (self.outcome is Outcome.UNKNOWN), self)
        _require_cause(self.reason)
        if (self.certified_by is not None or self.certificate is not None) and self.outcome is not Outcome.UNSAT:
            raise ValueError(f"inconsistent: {self!r}; only unsat is certified")

    def __bool__(self) -> NoReturn:
        raise TypeError("a reply is not a truth value: look at .outcome (sat, unsat or unknown)")


def by_whom(solver: SolverIdentity | None, certified_by: SolverIdentity | None) -> str:
    """Return in words who answered, and who confirmed it."""
    return str(solver) if certified_by is None else f"{solver} and {certified_by}"


W_co = TypeVar("W_co", covariant=True)


@dataclass(frozen=True)
class Verdict(Generic[W_co]):
    """What is known of a claim.

    ``witness`` (REFUTED only) violates the claim. For a formula it is the model (symbol name -> unsigned value), and
    for a question it is operands. ``reason`` (UNKNOWN only) says why nothing is known. A solver's reason begins with a
    ``Cause``. ``solver`` is the solver that answered; None if none was asked. ``seconds`` is wall-clock time.
    ``certified_by`` and ``stored`` are those of the reply that decided the claim. ``joined`` says how
    the claim follows from proved lemmas, if it was not asked in one piece.

    Raises ``ValueError`` if witness or reason do not fit the status.
    """

    status: Status
    seconds: float
    reason: str | None = None
    witness: W_co | None = None
    solver: SolverIdentity | None = None
    certified_by: SolverIdentity | None = None
    stored: float | None = None
    joined: str = ""

    def __post_init__(self) -> None:
        _require_consistent((self.witness is not None) == (self.status is Status.REFUTED), self)
        _require_consistent((self.reason is not None) == (self.status is Status.UNKNOWN), self)

    @property
    def certificate_covers(self) -> str | None:
        """What was certified, in words: the claim in one piece, or lemmas. None if nothing was."""
        if self.certified_by is None:
            return None
        return f"{LEMMAS}, {self.joined}" if self.joined else WHOLE

    def __bool__(self) -> NoReturn:
        raise TypeError("a verdict is not a truth value: look at .status (proved, refuted, unknown or vacuous)")


Model = Mapping[str, int]
"""A witness of a formula: symbol name -> unsigned value, 0 or 1 for a truth value."""


class SolvingError(Exception):
    """Base of everything that ``mmaproof.smt.solving`` raises."""


class LimitError(SolvingError, ValueError):
    """A time or memory limit that cannot be read or is out of range."""


class UnknownSolverError(SolvingError, ValueError):
    """A solver name that is not one of the back ends."""


class SolverNotInstalledError(SolvingError, RuntimeError):
    """A back end whose Python package is missing."""


class UnsupportedFormulaError(SolvingError, ValueError):
    """A formula outside quantifier-free bit-vector logic (QF_BV), or one that is not a truth value."""


class MalformedQueryError(SolvingError, ValueError):
    """A text that is not a query in canonical form."""


class MalformedReplyError(SolvingError, ValueError):
    """A solver process wrote something that is not a reply."""


class StoreError(SolvingError, ValueError):
    """A file that cannot be used as a store of replies."""


class SolversDisagree(SolvingError, RuntimeError):  # noqa: N818 - named for what happened
    """One solver says that a query is sat and another says that it is unsat. One of them is wrong.

    Attributes: ``answers`` (what each of them said, in words) and ``files`` (the query as SMT-LIB 2 scripts, if kept).
    """

    def __init__(self, answers: Sequence[str], files: Sequence[str], problem: str | None) -> None:
        kept = f"the query is kept in {' and '.join(files)}" if problem is None else f"the query is lost: {problem}"
        super().__init__(f"{' and '.join(answers)} to the same query, so nothing is known; {kept}")
        self.answers = tuple(answers)
        self.files = tuple(files)


class ProofRejectedError(SolvingError, ValueError):
    """A text is not a proof, or a proof does not show what it should."""


class WitnessDoesNotReplay(SolvingError, RuntimeError):  # noqa: N818 - named for what happened
    """A witness of the formula is not a violation when it is evaluated on integers. Formula and evaluation disagree.

    Attributes: ``model`` (symbol name -> value) and ``query`` (the query as an SMT-LIB 2 script).
    """

    def __init__(self, model: Mapping[str, int], query: str) -> None:
        values = ", ".join(f"{name}={value:#x}" for name, value in model.items())
        super().__init__(
            f"internal error: the witness {values} satisfies the formula but is not a violation when evaluated "
            "concretely; the formula and the concrete evaluation disagree (the attribute `query` holds the "
            "formula as SMT-LIB)"
        )
        self.model = dict(model)
        self.query = query
