"""Named properties: what an analyst asks of a design, and what was found out."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Protocol

import numpy as np
import numpy.typing as npt

from mmaproof.designs.design import Design
from mmaproof.designs.errors import DesignError
from mmaproof.designs.operands import OperandBatch, Operands
from mmaproof.designs.steps import Guarantee
from mmaproof.properties.question import Question
from mmaproof.properties.run_question import Run, RunQuestion, Scope
from mmaproof.smt.solving.verdict import SolverIdentity, Status, Verdict


@dataclass(frozen=True, slots=True)
class LemmaAnswer:
    """What is known about one lemma; ``certified_by`` and ``stored`` are those of its verdict."""

    name: str
    status: Status
    seconds: float
    solver: SolverIdentity | None
    reason: str | None
    certified_by: SolverIdentity | None = None
    stored: float | None = None
    stage: str = ""
    """the signals that it is about, in a staged proof"""

    @classmethod
    def of(cls, name: str, verdict: Verdict) -> LemmaAnswer:
        """Return the lemma of this name with what its verdict says."""
        v = verdict
        return cls(name, v.status, v.seconds, v.solver, v.reason, v.certified_by, v.stored)


@dataclass(frozen=True)
class Answer:
    """The answer to one question.

    ``witness`` belongs to REFUTED, ``reason`` to UNKNOWN; ``solver`` is who answered, None where the search did;
    ``certified_by`` is who confirmed that nothing refutes the question, None where nobody was asked to; ``origin`` says
    in words where the answer came from. ``lemmas`` are those that were tried; where all of them are proved, they are
    the proof.
    """

    question: Question
    status: Status
    seconds: float
    witness: Operands | None = None
    reason: str | None = None
    solver: SolverIdentity | None = None
    origin: str = ""
    lemmas: tuple[LemmaAnswer, ...] = ()
    certified_by: SolverIdentity | None = None


class Ask(Protocol):
    """How a property has its questions answered, within whatever limits were set."""

    def __call__(self, question: Question, what: str, /) -> Answer:
        """Answer ``question``; ``what`` says in a few words what is asked."""

    def largest(
        self, question: Question, measure: Callable[[OperandBatch], npt.NDArray[np.float64]]
    ) -> tuple[float, Operands]:
        """Return the largest value found of a measure of operands of ``question``, shape (rows,), and where."""


@dataclass(frozen=True)
class Finding:
    """What was found out about a property of a design.

    ``status``: PROVED holds, REFUTED violated, UNKNOWN with its ``reason``, VACUOUS. ``value`` is the answer as a
    number or a word, where the property has one. ``runs`` are those of the witness: they show a violation, or where the
    property holds, that it does not hold a little beyond. ``answers`` are the questions asked on the way.
    """

    status: Status
    value: float | str | None = None
    runs: tuple[Run, ...] = ()
    reason: str | None = None
    answers: Mapping[str, Answer] | None = None


class Property(ABC):
    """A named property of a design."""

    name: ClassVar[str]
    feature: ClassVar[str]
    """a few words for the row of a table"""
    statement: ClassVar[str]
    """what is claimed, in mathematics; unless stated otherwise for all operands of one step"""
    witness: ClassVar[str]
    """what the operands of a violation show"""
    source: ClassVar[str]
    """the published experiment that this generalises: paper and section"""
    specimen: ClassVar[str]
    """a design on which its mutant changes the outcome"""
    rests_on: ClassVar[tuple[Guarantee, ...]] = ()
    """what a step must guarantee for the question to have a meaning"""

    def why_not(self, design: Design) -> str | None:
        """Return why the property cannot be asked of ``design``, None where it can; by default of integer units."""
        if design.d_format.is_integer:
            return INTEGER
        return None if design.guarantees(*self.rests_on) else UNSTATED

    @abstractmethod
    def mutant(self, design: Design) -> Design:
        """Return a design like this one on which the property comes out the other way.

        DesignError where there is none like it.
        """

    @abstractmethod
    def settle(self, design: Design, scope: Scope, ask: Ask) -> Finding:
        """Find out whether ``design`` has the property. Raises DesignError where it cannot be asked."""


class SimpleProperty(Property):
    """A property that is one question."""

    @abstractmethod
    def question(self, design: Design, scope: Scope) -> RunQuestion:
        """Return the question whether ``design`` has the property."""

    def settle(self, design: Design, scope: Scope, ask: Ask) -> Finding:
        """Ask it."""
        question = self.question(design, scope)
        answer = ask(question, self.feature)
        runs = () if answer.witness is None else question.witness_runs(answer.witness)
        return Finding(answer.status, runs=runs, reason=answer.reason, answers={self.feature: answer})


def first_reason(answers: Sequence[Answer]) -> str | None:
    """Return why the first of some answers that is unknown is so."""
    return next((a.reason for a in answers if a.status is Status.UNKNOWN), None)


def is_aligned(design: Design) -> bool:
    """Return whether the design aligns the terms of a step in fused sums."""
    return design.guarantees(Guarantee.ALIGNED_SUMS)


def has_single_sum(design: Design) -> bool:
    """Return whether the terms of a step, c among them, are aligned in one fused sum (T-, ST- and GST-FDPA, FMA)."""
    return design.guarantees(Guarantee.ALIGNED_SUMS, Guarantee.SINGLE_SUM) and not design.adds_c_last


def kept_bits(design: Design) -> int:
    """Return F. Raises DesignError where products are not aligned."""
    if design.step.kept_bits is None:
        raise DesignError(f"{design.name}: its products are not aligned, and no fraction bits of them are kept or lost")
    return design.step.kept_bits


NOT_ALIGNED = "its products and c are not aligned in one fused sum"
INTEGER = "an integer unit: its products and sums are exact integers"
UNSTATED = "its kind of step does not state how it adds its terms and rounds its result"
