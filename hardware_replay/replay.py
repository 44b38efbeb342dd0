"""Replay: the operands of a source are run on a target and compared with the d that the source holds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from mmaproof.designs.formats import Format
from mmaproof.designs.operands import Operands
from mmaproof.hardware_replay.answers import Answers
from mmaproof.hardware_replay.targets import Target
from mmaproof.smt.evaluate import equal_patterns


@dataclass(frozen=True, slots=True)
class Mismatch:
    """A row for which the target did not return what the source holds."""

    label: str
    operands: Operands
    formats: tuple[Format, Format, Format, Format]
    expected: int
    returned: int
    scale_format: Format | None = None


@dataclass(frozen=True, slots=True)
class Replay:
    """Rows run, rows the target could not answer, rows that differ, and the first few of those."""

    rows: int
    unanswered: int
    mismatches: int
    examples: tuple[Mismatch, ...]


def replay(sources: Sequence[Answers], target: Target, *, nan_codes: bool = False, examples: int = 3) -> Replay:
    """Run every row of ``sources`` on ``target`` and compare.

    Equal means: both NaN (with ``nan_codes``: the same code), or the same bits. Raises InputError where formats or
    lengths do not fit the target; nothing is run then.
    """
    for answers in sources:
        target.check(answers)
    rows = unanswered = mismatches = 0
    shown: list[Mismatch] = []
    for answers in sources:
        returned, answered = target.run(answers.batch)
        differs = answered & ~equal_patterns(answers.formats[3], returned, answers.d, nan_codes=nan_codes)
        rows += int(answered.sum())
        unanswered += int((~answered).sum())
        mismatches += int(differs.sum())
        shown += [
            Mismatch(
                answers.labels[i],
                answers.batch.row(i),
                answers.formats,
                int(answers.d[i]),
                int(returned[i]),
                answers.scale_format,
            )
            for i in np.flatnonzero(differs)[: examples - len(shown)].tolist()
        ]
    return Replay(rows, unanswered, mismatches, tuple(shown))
