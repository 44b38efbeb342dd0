"""Replay: the operands of a source are run on a target and compared with the d that the source holds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from mmaproof.designs.design import Design
from mmaproof.designs.formats import Format
from mmaproof.designs.operands import Operands
from mmaproof.hardware_replay.answers import Answers
from mmaproof.hardware_replay.target import Target
from mmaproof.smt.evaluate import equal_patterns


@dataclass(frozen=True, slots=True)
class Mismatch:
    """A row for which the target did not return what the source holds.

    ``expected_of`` is the name of the design whose d the source holds, and ``returned_by`` is the design that was run.
    Either is None if it is not known.
    """

    label: str
    operands: Operands
    formats: tuple[Format, Format, Format, Format]
    expected: int
    returned: int
    scale_format: Format | None = None
    expected_of: str | None = None
    returned_by: Design | None = None


@dataclass(frozen=True, slots=True)
class Replay:
    """Rows run, rows the target could not answer, rows that differ, the first few of those, and what went wrong.

    ``expectations`` has rows run and rows that differ for the name of each design whose d the source holds.
    """

    rows: int
    unanswered: int
    mismatches: int
    examples: tuple[Mismatch, ...]
    problems: tuple[str, ...]
    expectations: Mapping[str, tuple[int, int]]


def replay(sources: Sequence[Answers], target: Target, *, nan_codes: bool = False, examples: int = 3) -> Replay:
    """Run every row of ``sources`` on ``target`` and compare.

    Two results are equal if both are NaN (with ``nan_codes``: of the same code), or if their bits are the same. Raises
    InputError if formats or lengths do not fit the target. Nothing is run then.
    """
    designs = [target.design_of(answers) for answers in sources]
    unanswered = 0
    shown: list[Mismatch] = []
    problems: list[str] = []
    expectations: dict[str, tuple[int, int]] = {}
    for answers, design in zip(sources, designs, strict=True):
        ran = target.run(answers)
        differs = ran.answered & ~equal_patterns(answers.formats[3], ran.d, answers.d, nan_codes=nan_codes)
        unanswered += int((~ran.answered).sum())
        before = expectations.get(answers.design or "", (0, 0))
        counts = int(ran.answered.sum()), int(differs.sum())
        expectations[answers.design or ""] = (before[0] + counts[0], before[1] + counts[1])
        problems += [] if ran.problem is None else [ran.problem]
        shown += [
            Mismatch(
                answers.labels[i],
                answers.batch.row(i),
                answers.formats,
                int(answers.d[i]),
                int(ran.d[i]),
                answers.scale_format,
                answers.design,
                design,
            )
            for i in np.flatnonzero(differs)[: examples - len(shown)].tolist()
        ]
    rows, mismatches = (sum(counts[i] for counts in expectations.values()) for i in (0, 1))
    return Replay(rows, unanswered, mismatches, tuple(shown), tuple(problems), expectations)
