"""The verdict on an algorithm on a unit, and how its lemmas are proved."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from mmaproof.designs.errors import InputError
from mmaproof.designs.formats import Format
from mmaproof.gemm.questions.split import EXPONENTS, Window
from mmaproof.properties.preconditions import Exponents, Precondition
from mmaproof.properties.property import LemmaVerdict
from mmaproof.smt.proving.lemma import Lemma, decide
from mmaproof.smt.solving.limits import Limits, worked
from mmaproof.smt.solving.verdict import Model, Status, Verdict
from mmaproof.verification.search import Means

ROUNDS = 64
"""How often a claim that was guessed from samples is changed after a witness against it."""


@dataclass(frozen=True, slots=True)
class Shown:
    """A number of a witness: what it is, its format, and its pattern."""

    name: str
    fmt: Format
    pattern: int


@dataclass(frozen=True, slots=True)
class Witness:
    """Operands that show something, and the numbers that the algorithm computes from them, on integers."""

    shows: str
    numbers: tuple[Shown, ...]


@dataclass(frozen=True)
class AlgorithmVerdict:
    """The verdict on a question about an algorithm on a unit.

    ``status`` is PROVED (the claim holds, or a value was found and proved), REFUTED with a witness, or UNKNOWN with a
    ``reason``. ``conclusion`` says in a sentence what is known. ``values`` says it as plain data, and ``details`` as
    lines for a person.
    """

    status: Status
    conclusion: str
    values: Mapping[str, Any] = field(default_factory=dict)
    details: tuple[str, ...] = ()
    witnesses: tuple[Witness, ...] = ()
    lemmas: tuple[LemmaVerdict, ...] = ()
    reason: str | None = None


class Asked:
    """Proves lemmas one after the other, within the limits of one answer."""

    def __init__(self, means: Means) -> None:
        self.means = means.begun()
        self.lemmas: list[LemmaVerdict] = []
        self._proved: dict[str, Verdict[Model]] = {}
        self._started = worked()

    @property
    def left(self) -> Limits:
        """The rest of the limits."""
        return self.means.limits.after(worked() - self._started, "earlier questions")

    def prove(self, lemma: Lemma) -> Verdict[Model]:
        """Decide a lemma whose assumption is known to be satisfiable, once for each name.

        A refuted lemma was a guess, so it is not kept among ``lemmas``.
        """
        if lemma.name in self._proved:
            return self._proved[lemma.name]
        verdict = decide(lemma, self.means.solving.ask, self.left, precondition_met=True)
        if verdict.status is not Status.REFUTED:
            self.lemmas.append(LemmaVerdict.of(lemma.name, verdict))
        if verdict.status is Status.PROVED:
            self._proved[lemma.name] = verdict
        return verdict

    def verdict(self, status: Status, conclusion: str, **parts: Any) -> AlgorithmVerdict:
        """Return a verdict that rests on the lemmas proved so far."""
        if status is Status.UNKNOWN and "reason" not in parts:
            parts["reason"] = next((x.reason for x in self.lemmas if x.reason is not None), None)
        return AlgorithmVerdict(status, conclusion, lemmas=tuple(self.lemmas), **parts)


def window_of(where: Sequence[Precondition]) -> Window | None:
    """Return the window that ``--where exponents=LO..HI`` states; None if it is not given.

    Raises InputError for other preconditions, and for a window without fp32 numbers.
    """
    windows = [p for p in where if isinstance(p, Exponents)]
    if len(windows) != len(where) or len(windows) > 1:
        raise InputError("this question is about one operand: one --where exponents=LO..HI is allowed, nothing else")
    if not windows:
        return None
    low, high = max(windows[0].low, EXPONENTS[0]), min(windows[0].high, EXPONENTS[-1])
    if low > high:
        raise InputError(f"{windows[0]}: no fp32 number is there; exponents {EXPONENTS[0]}..{EXPONENTS[-1]} are")
    return Window(low, high)


def unknown(verdict: Verdict[Model]) -> str:
    """Return in words why a verdict does not prove the lemma."""
    return verdict.reason or "the claim was made anew too often"


def listed(values: Sequence[object]) -> str:
    """Return values joined by commas."""
    return ", ".join(map(str, values))
