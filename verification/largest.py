"""A search for the largest value of a measure: random operands, then small changes to the best of them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from mmaproof.designs.design import Design
from mmaproof.designs.element import Operands
from mmaproof.designs.formats import Format
from mmaproof.designs.operands import OperandBatch
from mmaproof.properties.question import Question
from mmaproof.verification.distributions import DISTRIBUTIONS, draw
from mmaproof.verification.search import steer

Measure = Callable[[OperandBatch], npt.NDArray[np.float64]]

ROWS = 128
GENERATIONS = 40
PARENTS = 8


def largest(question: Question, design: Design, measure: Measure, seed: int) -> tuple[float, Operands]:
    """Return the largest value of ``measure`` found over operands of ``question``, and the operands.

    Random rows of every distribution come first. Then, in each generation, bits of the best rows are flipped or
    elements replaced, and rows with larger values take their place. A seed always gives the same result.
    """
    rng = np.random.default_rng(seed)
    batch = OperandBatch.concatenate(
        [steer(draw(name, design, ROWS, question.k, rng), question, rng) for name in DISTRIBUTIONS]
    )
    best, values = _best(batch, measure(batch))
    for _ in range(GENERATIONS):
        children = _changed(best.select(rng.integers(0, len(best), ROWS)), question.formats, rng)
        best, values = _best(OperandBatch.concatenate([best, children]), np.concatenate([values, measure(children)]))
    return float(values[0]), best.row(0)


def _best(pool: OperandBatch, values: npt.NDArray[np.float64]) -> tuple[OperandBatch, npt.NDArray[np.float64]]:
    """Return the few rows with the largest values, the largest first."""
    order = np.argsort(-values, kind="stable")[:PARENTS]
    return pool.select(order), values[order]


def _changed(batch: OperandBatch, formats: tuple[Format, Format, Format], rng: np.random.Generator) -> OperandBatch:
    """Return the rows with a few bits flipped. In half of them one product is also repeated elsewhere.

    A product that is large or loses bits often does so in every place.
    """
    columns = [batch.a.copy(), batch.b.copy(), batch.c[:, np.newaxis].copy()]
    rows = np.arange(len(batch))
    repeated = (rng.random(columns[0].shape) < 0.5) & (rows % 2 == 0)[:, np.newaxis]
    source = rng.integers(0, batch.k, len(batch))
    for column in columns[:2]:
        np.copyto(column, column[rows, source][:, np.newaxis], where=repeated)
    for _ in range(int(rng.integers(1, 4))):
        which = rng.integers(0, 3, len(batch))
        for i, (column, fmt) in enumerate(zip(columns, formats, strict=True)):
            chosen = rows[which == i]
            places = rng.integers(0, column.shape[1], len(chosen))
            flipped = np.left_shift(1, rng.integers(fmt.ignored_bits, fmt.bits, len(chosen))).astype(column.dtype)
            column[chosen, places] ^= flipped
    return OperandBatch(columns[0], columns[1], columns[2][:, 0], batch.scale_a, batch.scale_b)
