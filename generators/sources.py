"""Sources of operands: recordings, vector files, and distributions of random ones."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from mmaproof.designs.design import Design
from mmaproof.designs.errors import InputError
from mmaproof.designs.operands import OperandBatch
from mmaproof.generators.vectors import is_vector_file, read_vectors, rows_of
from mmaproof.hardware_replay.answers import Numbered, Rows
from mmaproof.hardware_replay.tables.reading import Wanted, read_operands
from mmaproof.hardware_replay.tables.recognise import STDIN, files_of
from mmaproof.verification.distributions import DISTRIBUTIONS, draw

_AT_ONCE = 1 << 16

DEFAULT_ROWS = 1000
"""Random operand sets where no number is given."""

MOST_PRODUCTS = 1 << 27
"""Products of the random operands that are held at a time: those of fp64 take 2 GB."""


def read_rows(source: str, designs: Sequence[Design], *, k: int | None, rows: int | None, seed: int) -> list[Rows]:
    """Return the operands that ``source`` spells: a vector file, a recording, another file, or a distribution.

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
    if not is_vector_file(source):
        if source != STDIN and not Path(files_of(source)[0]).exists():
            raise InputError(f"{source}: no such file; random operands are {', '.join(DISTRIBUTIONS)}")
        known = designs[0].signature if len(designs) == 1 else None
        return [read_operands(source, Wanted(known))]
    file = read_vectors(Path(source))
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
