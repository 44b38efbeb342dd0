"""Targets: things that run operands. A target says what it is, and which rows it could answer."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import numpy as np
import numpy.typing as npt

from mmaproof.designs.catalogue import find_design
from mmaproof.designs.design import Design
from mmaproof.designs.errors import InputError
from mmaproof.designs.operands import OperandBatch, Patterns
from mmaproof.hardware_replay.answers import Answers
from mmaproof.hardware_replay.recordings import read_recording
from mmaproof.smt.evaluate import evaluate_batch


class Target(Protocol):
    """Something that runs operands."""

    @property
    def name(self) -> str:
        """What it is, in one line."""

    @property
    def design(self) -> Design | None:
        """The design it is known to be, None where that is not known."""

    def check(self, answers: Answers) -> None:
        """Raise InputError where rows of these formats and this length cannot be run."""

    def run(self, batch: OperandBatch) -> tuple[Patterns, npt.NDArray[np.bool_]]:
        """Return d of each row, and which rows were answered at all."""


@dataclass(frozen=True)
class ModelTarget:
    """A design of the catalogue, in the array interpretation."""

    model: Design

    @property
    def name(self) -> str:
        """``model:`` and the design's full name."""
        return f"model:{self.model.name}"

    @property
    def design(self) -> Design:
        """The design."""
        return self.model

    def check(self, answers: Answers) -> None:
        """Raise InputError on a format mismatch or a length that the design cannot run."""
        answers.check_formats(self.model)
        self.model.padded_length(answers.batch.k)

    def run(self, batch: OperandBatch) -> tuple[Patterns, npt.NDArray[np.bool_]]:
        """Return d of every row."""
        return evaluate_batch(self.model, batch), np.ones(len(batch), dtype=bool)


@dataclass(frozen=True)
class RecordingTarget:
    """A recording: answers the operands that it holds, and no others."""

    answers: Answers

    @property
    def name(self) -> str:
        """``recording:`` and whence it is."""
        return f"recording:{self.answers.whence}"

    @property
    def design(self) -> None:
        """Unknown: a recording is of silicon."""
        return

    def check(self, answers: Answers) -> None:
        """Raise InputError on a format mismatch or another k."""
        for x, held, wanted in zip("abcd", self.answers.formats, answers.formats, strict=True):
            if held is not wanted:
                raise InputError(
                    f"format mismatch: {x} is {wanted.name} in {answers.whence} and {held.name} in {self.name}"
                )
        if answers.batch.k != self.answers.batch.k:
            raise InputError(f"{self.name} holds rows of k = {self.answers.batch.k}, not {answers.batch.k}")

    def run(self, batch: OperandBatch) -> tuple[Patterns, npt.NDArray[np.bool_]]:
        """Return the recorded d of each row that is held."""
        held = {_key(self.answers.batch, i): i for i in range(len(self.answers.batch))}
        found = [held.get(_key(batch, i)) for i in range(len(batch))]
        answered = np.array([i is not None for i in found], dtype=bool)
        return self.answers.d[[i or 0 for i in found]], answered


def _key(batch: OperandBatch, row: int) -> tuple[bytes, ...]:
    columns = (batch.a, batch.b, batch.c, batch.scale_a, batch.scale_b)
    return tuple(b"" if x is None else x[row].tobytes() for x in columns)


_KINDS: dict[str, tuple[str, Callable[[str], Target]]] = {
    "model": ("DESIGN", lambda text: ModelTarget(find_design(text))),
    "recording": ("FILE", lambda text: RecordingTarget(read_recording(Path(text)))),
}


def find_target(text: str) -> Target:
    """Return the target that ``text`` spells. Raises InputError for an unknown kind or a bad name."""
    kind, colon, name = text.partition(":")
    if kind not in _KINDS or not colon or not name:
        allowed = ", ".join(f"{k}:{what}" for k, (what, _) in _KINDS.items())
        raise InputError(f"unknown target {text!r}: one of {allowed}")
    return _KINDS[kind][1](name)
