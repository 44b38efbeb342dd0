"""Replay: the operands of a source are run on a target and compared with the d that the source holds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from mmaproof.designs.design import Design
from mmaproof.designs.element import Operands
from mmaproof.designs.formats import Format
from mmaproof.hardware_replay.target import Answers, Target
from mmaproof.hardware_replay.targets import ModelTarget, find_target
from mmaproof.smt.evaluate import OpenPoints, equal_patterns
from mmaproof.smt.evaluate import open_points as points_of

_LOOKED_AT = 1000
"""Rows with the fewest operands that are not zero, of which the simplest are shown."""


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
    """Rows run, rows the target could not answer, rows that differ, the simplest of those, and what went wrong.

    Of the rows that do not differ, ``other_nan_codes`` have a NaN of another code than the source holds.
    ``expectations`` has rows run and rows that differ for the name of each design whose d the source holds.
    ``open_points`` has, where they were asked for, those on which the d of each design that was run rest, by its name.
    """

    rows: int
    unanswered: int
    mismatches: int
    examples: tuple[Mismatch, ...]
    problems: tuple[str, ...]
    expectations: Mapping[str, tuple[int, int]]
    other_nan_codes: int = 0
    open_points: tuple[tuple[Design, OpenPoints], ...] = ()


def replay(
    sources: Sequence[Answers],
    target: Target | str,
    *,
    nan_codes: bool = False,
    examples: int = 3,
    open_points: bool = False,
) -> Replay:
    """Run every row of ``sources`` on ``target`` (or the target that a text such as model:DESIGN spells) and compare.

    The examples are the simplest rows that differ: those with the fewest operands that are not zero. Two results are
    equal if both are NaN (with ``nan_codes``: of the same code), or if their bits are the same. With ``open_points``
    the rows are run under the other open readings of a model, too. Raises InputError if formats or lengths do not fit
    the target. Nothing is run then.

    >>> import mmaproof
    >>> from importlib.resources import files
    >>> path = files("mmaproof.hardware_replay") / "recordings" / "intel-xeon-vdpbf16ps.npz"
    >>> rows = mmaproof.read_recording(path)
    >>> found = mmaproof.replay([rows], "model:cpu/vdpbf16ps")
    >>> found.rows, found.mismatches
    (273, 0)
    """
    target = find_target(target) if isinstance(target, str) else target
    designs = [target.design_of(answers) for answers in sources]
    unanswered, other_nan_codes = 0, 0
    shown: list[Mismatch] = []
    problems: list[str] = []
    expectations: dict[str, tuple[int, int]] = {}
    for answers, design in zip(sources, designs, strict=True):
        ran = target.run(answers)
        other, differs = (
            ran.answered & ~equal_patterns(answers.formats[3], ran.d, answers.d, nan_codes=codes)
            for codes in (True, nan_codes)
        )
        other_nan_codes += int((other & ~differs).sum())
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
            for i in _simplest(answers, np.flatnonzero(differs), examples)
        ]
    shown = sorted(shown, key=lambda x: _complexity(x.operands))[:examples]
    rests_on = [
        (design, found)
        for answers, design in zip(sources, designs, strict=True)
        if open_points
        and isinstance(target, ModelTarget)
        and design is not None
        and (found := points_of(design, answers.batch, nan_codes=nan_codes))
    ]
    rows, mismatches = (sum(counts[i] for counts in expectations.values()) for i in (0, 1))
    return Replay(
        rows, unanswered, mismatches, tuple(shown), tuple(problems), expectations, other_nan_codes, tuple(rests_on)
    )


def _simplest(answers: Answers, rows: npt.NDArray[np.intp], count: int) -> list[int]:
    """Return the numbers of the simplest of ``rows``."""
    batch = answers.batch
    nonzero = sum(np.count_nonzero(x[rows], axis=1) for x in (batch.a, batch.b)) + (batch.c[rows] != 0)
    fewest = rows[np.argsort(nonzero, kind="stable")[:_LOOKED_AT]]
    return sorted(fewest.tolist(), key=lambda i: _complexity(batch.row(i)))[:count]


def _complexity(operands: Operands) -> tuple[int, int]:
    """Return how many operands are not zero, and their one bits."""
    patterns = (*operands.a, *operands.b, operands.c)
    return sum(x != 0 for x in patterns), sum(x.bit_count() for x in patterns)
