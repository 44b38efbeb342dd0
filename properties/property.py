"""Named properties: what an analyst asks of a design, and the verdicts."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Protocol

import numpy as np
import numpy.typing as npt

from mmaproof.designs.design import Design
from mmaproof.designs.element import Operands
from mmaproof.designs.errors import DesignError
from mmaproof.designs.operands import OperandBatch
from mmaproof.designs.steps import Guarantee
from mmaproof.properties.question import Question, Run, RunQuestion, Scope
from mmaproof.smt.proving.kernel import Theorem, is_theorem
from mmaproof.smt.solving.verdict import Model, Status, Verdict


@dataclass(frozen=True, kw_only=True)
class LemmaVerdict(Verdict[Model]):
    """The verdict on one lemma."""

    name: str
    stage: str = ""
    """the signals that it is about, in a staged proof"""

    @classmethod
    def of(cls, name: str, verdict: Verdict[Model]) -> LemmaVerdict:
        """Return the verdict on the lemma of this name."""
        v = verdict
        return cls(v.status, v.seconds, v.reason, v.witness, v.solver, v.certified_by, v.stored, name=name)


@dataclass(frozen=True)
class Joined:
    """What a proof without a theorem rests on: an argument that no certificate covers. It may join proved lemmas."""


@dataclass(frozen=True)
class Recalled:
    """A proof of which only the verdict is here: it was stored, or made in another process."""


Proof = Theorem | Joined | Recalled
"""Why a proved question holds."""


@dataclass(frozen=True, kw_only=True)
class QuestionVerdict(Verdict[Operands]):
    """The verdict on one question.

    ``solver`` is None if no solver was needed. ``origin`` says in words where the verdict came from. ``lemmas`` are
    those that were tried. If all of them are proved, they are the proof. ``proof`` (PROVED only) is the theorem of the
    question that a kernel made, or says that there is none. ``unknown`` are bits of a netlist that may have any value,
    with the values that make the operands a witness: with zeros they are none.

    Raises ``ValueError`` if a proved verdict has no proof or another verdict has one, and for a theorem that no kernel
    made or that is of another question.
    """

    question: Question
    origin: str = ""
    lemmas: tuple[LemmaVerdict, ...] = ()
    unknown: Mapping[str, int] = field(default_factory=dict)
    proof: Proof | None = field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        if (self.proof is not None) != (self.status is Status.PROVED):
            raise ValueError(
                f"{self.status}: what is proved has a proof, a theorem or what stands for one; nothing else"
            )
        if isinstance(self.proof, (Joined, Recalled, type(None))):
            return
        if not is_theorem(self.proof):
            raise ValueError(f"{self.proof!r} is not a theorem: a kernel makes them")
        if self.proof.root is not self.question.formula.violation:
            raise ValueError("the theorem is of another question")

    @property
    def theorem(self) -> Theorem | None:
        """The theorem of the question; None where there is none, or another process has it."""
        return self.proof if isinstance(self.proof, Theorem) else None

    def __getstate__(self) -> dict[str, Any]:
        """Return what is sent to another process, without a theorem, whose terms belong to this process."""
        return {**vars(self), "proof": self.proof if self.theorem is None else Recalled()}


class Ask(Protocol):
    """A function that answers the questions of a property within the limits that were set."""

    def __call__(self, question: Question, what: str, /) -> QuestionVerdict:
        """Answer ``question``. ``what`` describes the question in a few words."""

    def largest(
        self, question: Question, measure: Callable[[OperandBatch], npt.NDArray[np.float64]]
    ) -> tuple[float, Operands]:
        """Return the largest value found of ``measure`` over operands of ``question``, and these operands.

        ``measure`` takes a batch and returns an array of shape (rows,).
        """


@dataclass(frozen=True)
class PropertyVerdict:
    """The verdict on a property of a design, which may rest on the verdicts on several questions.

    ``status`` is PROVED if the property holds, REFUTED if it is violated, UNKNOWN with a ``reason``, or VACUOUS.
    ``value`` is a number or a word for properties that have one. ``runs`` are those of the witness. They show a
    violation. If the property holds, they show that it does not hold a little beyond. ``answers`` are the verdicts on
    the questions.
    """

    status: Status
    value: float | str | None = None
    runs: tuple[Run, ...] = ()
    reason: str | None = None
    answers: Mapping[str, QuestionVerdict] | None = None


class Property(ABC):
    """A named property of a design."""

    name: ClassVar[str]
    feature: ClassVar[str]
    """a few words for the row of a table"""
    statement: ClassVar[str]
    """what is claimed, in mathematics, and no more than the questions ask; it is for all operands of one step unless
    stated otherwise"""
    witness: ClassVar[str]
    """what the operands of a violation show"""
    limit: ClassVar[str | None] = None
    """what the operands show that come with a property that holds; None if it is what those of a violation show"""
    source: ClassVar[str]
    """the published experiment that this generalises: paper and section"""
    specimen: ClassVar[str]
    """a design whose mutant gets the opposite verdict"""
    rests_on: ClassVar[tuple[Guarantee, ...]] = ()
    """what a step must guarantee for the question to have a meaning"""

    def why_not(self, design: Design) -> str | None:
        """Return why the property cannot be asked of ``design``; None if it can. The default refuses integer units."""
        if design.d_format.is_integer:
            return INTEGER
        return None if design.guarantees(*self.rests_on) else UNSTATED

    def shown_by(self, status: Status) -> str:
        """Return what the operands of a verdict with this status show."""
        return self.limit if status is Status.PROVED and self.limit is not None else self.witness

    @abstractmethod
    def mutant(self, design: Design) -> Design:
        """Return a design like this one on which the property comes out the other way.

        Raises DesignError if there is none.
        """

    @abstractmethod
    def settle(self, design: Design, scope: Scope, ask: Ask) -> PropertyVerdict:
        """Find out whether ``design`` has the property. Raises DesignError if it cannot be asked."""


class SimpleProperty(Property):
    """A property that is one question."""

    @abstractmethod
    def question(self, design: Design, scope: Scope) -> RunQuestion:
        """Return the question whether ``design`` has the property."""

    def settle(self, design: Design, scope: Scope, ask: Ask) -> PropertyVerdict:
        """Ask the question and return its verdict as that on the property."""
        question = self.question(design, scope)
        answer = ask(question, self.feature)
        runs = () if answer.witness is None else question.witness_runs(answer.witness)
        return PropertyVerdict(answer.status, runs=runs, reason=answer.reason, answers={self.feature: answer})


def first_reason(answers: Sequence[QuestionVerdict]) -> str | None:
    """Return the reason of the first unknown verdict; None if none is unknown."""
    return next((a.reason for a in answers if a.status is Status.UNKNOWN), None)


def is_aligned(design: Design) -> bool:
    """Return whether the design aligns the terms of a step in fused sums."""
    return design.guarantees(Guarantee.ALIGNED_SUMS)


def has_single_sum(design: Design) -> bool:
    """Return whether the terms of a step, c among them, are aligned in one fused sum (T-, ST- and GST-FDPA, FMA)."""
    return design.guarantees(Guarantee.ALIGNED_SUMS, Guarantee.SINGLE_SUM) and not design.adds_c_last


def kept_bits(design: Design) -> int:
    """Return F. Raises DesignError if products are not aligned."""
    if design.step.kept_bits is None:
        raise DesignError(f"{design.name}: its products are not aligned, and no fraction bits of them are kept or lost")
    return design.step.kept_bits


def why_not_aligned(design: Design) -> str:
    """Return why no question about one fused sum can be asked: there is none, or the step states nothing of sums."""
    return NOT_ALIGNED if design.step.guarantees else UNSTATED


NOT_ALIGNED = "its products and c are not aligned in one fused sum"
INTEGER = "an integer unit: its products and sums are exact integers"
UNSTATED = "its kind of step does not state how it adds its terms and rounds its result"
