"""The unit that is to be identified: it takes batches of operands and returns patterns of d."""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np

from mmaproof.designs.operands import OperandBatch, Patterns
from mmaproof.generators.identify.space import Interface
from mmaproof.hardware_replay.answers import Numbered, Rows
from mmaproof.hardware_replay.target import Target


@dataclass
class Oracle:
    """A target, and what was asked of it so far; ``seconds`` are those it took to answer."""

    target: Target
    interface: Interface
    batches: int = 0
    operands: int = 0
    seconds: float = 0.0
    problem: str | None = None
    unanswered: int = 0
    """rows of the validation that came without an answer"""

    def ask(self, batch: OperandBatch) -> tuple[OperandBatch, Patterns]:
        """Return the rows that were answered, and their d; ``problem`` says why others were not.

        Raises InputError where the target does not take the interface.
        """
        started = time.monotonic()
        rows = self.rows(batch)
        self.target.design_of(rows)
        ran = self.target.run(rows)
        self.seconds += time.monotonic() - started
        self.batches += 1
        self.operands += len(batch)
        self.problem = ran.problem or self.problem
        answered = np.flatnonzero(ran.answered)
        return batch.select(answered), ran.d[answered]

    def rows(self, batch: OperandBatch) -> Rows:
        """Return operands as rows of the interface, meant for no design."""
        return Rows(
            batch=batch,
            formats=self.interface.signature.formats,
            labels=Numbered("row", 1, len(batch)),
            whence="identification",
            scale_format=self.interface.signature.scale,
        )

    @property
    def rate(self) -> float:
        """Rows a second so far."""
        return self.operands / max(self.seconds, 1e-9)
