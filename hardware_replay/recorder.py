"""Recording: rows are run on a target, and its results are kept with their provenance."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from mmaproof.designs.operands import Patterns
from mmaproof.hardware_replay.answers import Answers, Rows
from mmaproof.hardware_replay.provenance import Provenance
from mmaproof.hardware_replay.target import Target


def answered(rows: Rows, d: Patterns, chosen: npt.NDArray[Any], design: str | None) -> Answers:
    """Return the ``chosen`` rows (a mask or indices) with their d, which ``design`` returned."""
    indices = np.arange(len(rows.batch))[chosen]
    return Answers(
        batch=rows.batch.select(indices),
        formats=rows.formats,
        labels=[rows.labels[i] for i in indices.tolist()],
        whence=rows.whence,
        scale_format=rows.scale_format,
        design=design,
        d=d[indices],
    )


def provenance(target: Target, answers: Answers, operands: Mapping[str, Any]) -> Provenance:
    """Return the provenance of what ``target`` has just answered; ``operands`` say how they were made."""
    unit = target.unit
    return Provenance.of(
        answers,
        target=target.name,
        device=unit.device,
        device_version=unit.version,
        driver=unit.driver,
        instruction=answers.design or "",
        operands=operands,
    )
