"""Sources of operands: recordings, vector files, and distributions of random ones."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from mmaproof.designs.design import Design
from mmaproof.designs.errors import InputError
from mmaproof.designs.operands import OperandBatch
from mmaproof.generators.vectors import read_vectors, rows_of
from mmaproof.hardware_replay.answers import Numbered, Rows
from mmaproof.hardware_replay.recordings import read_recording
from mmaproof.verification.distributions import DISTRIBUTIONS, draw

_AT_ONCE = 1 << 16

DEFAULT_ROWS = 1000
"""Random operand sets where no number is given."""

MOST_PRODUCTS = 1 << 27
"""Products of the random operands that are held at a time: those of fp64 take 2 GB."""


def read_rows(source: str, designs: Sequence[Design], *, k: int | None, rows: int | None, seed: int) -> list[Rows]:
    """Return the operands that ``source`` spells: a recording, a vector file, or the name of a distribution.

    Vectors are grouped as ``rows_of`` does. Random operands are for the one design, ``rows`` of them of length ``k``
    (default the instruction's). Raises InputError where the source is malformed, or does not say which operands.
    """
    if source in DISTRIBUTIONS:
        if len(designs) != 1:
            raise InputError(f"{source}: of which formats and length? choose one instruction with --design NAME")
        wanted = DEFAULT_ROWS if rows is None else rows
        length = designs[0].k if k is None else k
        if wanted * length > MOST_PRODUCTS:
            raise InputError(f"{wanted} rows of k = {length} are more than {MOST_PRODUCTS} products: ask for fewer")
        parts = list(generated(designs[0], source, wanted, seed, k))
        batch = OperandBatch.concatenate([x.batch for x in parts])
        return [rows_for(designs[0], batch, parts[0].whence, seed=seed)]
    if k is not None or rows is not None:
        raise InputError(f"--k and --rows are of random operands; {source} holds its own")
    path = Path(source)
    if path.suffix == ".npz":
        return [read_recording(path)]
    if path.suffix != ".jsonl":
        raise InputError(
            f"{source}: a recording ends in .npz, a vector file in .jsonl; "
            f"random operands are {', '.join(DISTRIBUTIONS)}"
        )
    file = read_vectors(path)
    if file.problems:
        raise InputError(file.problems[0])
    return rows_of(file, [x.base_name for x in designs])


def generated(design: Design, distribution: str, rows: int, seed: int, k: int | None = None) -> Iterator[Rows]:
    """Yield ``rows`` operand sets of length ``k`` (default the instruction's) from a distribution, some at a time.

    The same seed gives the same operands. Raises InputError for an unknown distribution.
    """
    rng = np.random.default_rng(seed)
    for first in range(0, rows, _AT_ONCE):
        batch = draw(distribution, design, min(_AT_ONCE, rows - first), design.k if k is None else k, rng)
        yield rows_for(design, batch, f"{distribution} (seed {seed})", first, seed)


def rows_for(design: Design, batch: OperandBatch, whence: str, first: int = 0, seed: int | None = None) -> Rows:
    """Return operands as rows for ``design``, of which ``first`` come before them."""
    return Rows(
        batch=batch,
        formats=design.formats,
        labels=Numbered("row", first + 1, len(batch)),
        whence=whence,
        scale_format=design.scale_format,
        design=design.name,
        seed=seed,
    )
