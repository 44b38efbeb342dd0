"""What printed models are tested with: operands of every distribution, and d as the integer interpretation has it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mmaproof.designs.design import Design
from mmaproof.designs.element import Operands
from mmaproof.designs.errors import InputError
from mmaproof.designs.operands import OperandBatch
from mmaproof.generators.formats.selection import Selection
from mmaproof.generators.models.model import Model
from mmaproof.generators.vectors import Vector
from mmaproof.smt.native.lowering import continued
from mmaproof.smt.trace import evaluate
from mmaproof.verification.distributions import DISTRIBUTIONS, draw

ROWS = 400
"""Rows of a self-test, if nobody says how many."""
MOST_ROWS = 20_000
"""The most rows: a program contains them as text, and compilers are slow with larger texts."""

_FEW_EDGES = "normal, with few edges"

_TILE_ROWS, _TILE_COLUMNS, _TILE_INSTRUCTIONS = 2, 3, 2


@dataclass(frozen=True)
class Tile:
    """A matrix product: ``a`` and ``scale_a`` by row, ``b`` and ``scale_b`` by column, ``c`` and ``d`` row by row."""

    instructions: int
    rows: tuple[Operands, ...]
    columns: tuple[Operands, ...]
    c: tuple[int, ...]
    d: tuple[int, ...]


@dataclass(frozen=True)
class SelfTest:
    """Rows with the expected d, and tiles."""

    selection: Selection
    tiles: tuple[Tile, ...]


def make_self_test(model: Model, rows: int, seed: int) -> SelfTest:
    """Return ``rows`` vectors for a model, and a tile from each distribution.

    Half of the vectors are normal but for a few extreme operands, and the others are as many of each distribution.

    Raises InputError for more rows than MOST_ROWS.
    """
    if not 0 < rows <= MOST_ROWS:
        raise InputError(f"{rows} rows: a self-test holds 1 to {MOST_ROWS}")
    rng = np.random.default_rng(seed)
    design, vectors = model.design, []
    names = list(DISTRIBUTIONS)
    counts = {_FEW_EDGES: rows // 2} | {x: len(range(i, rows - rows // 2, len(names))) for i, x in enumerate(names)}
    for name, count in counts.items():
        batch = _few_edges(model, count, rng) if name == _FEW_EDGES else draw(name, design, count, model.k, rng)
        for operands in map(batch.row, range(count)):
            d = {design.name: evaluate(design, operands)}
            vectors.append(
                Vector(operands, design.formats, d, origin=name, scale_format=design.scale_format, seed=seed)
            )
    whence = f"every distribution (seed {seed})"
    selection = Selection(tuple(vectors), whence, {design.name: rows}, model.version)
    return SelfTest(selection, tuple(_tile(model, name, rng) for name in DISTRIBUTIONS))


def _few_edges(model: Model, rows: int, rng: np.random.Generator) -> OperandBatch:
    """Return normal operands, of which about one of a, one of b, and c in some rows, are special or extreme.

    With more of them in a row, one NaN or infinity hides what the unit does with the others.
    """
    normal, edges = (draw(x, model.design, rows, model.k, rng) for x in ("normal", "edges"))

    shares = {"a": 1 / model.k, "b": 1 / model.k, "c": 0.3, "scale_a": 0.5 / max(model.blocks, 1)}
    shares["scale_b"] = shares["scale_a"]
    columns: dict[str, Any] = {}
    for name, share in shares.items():
        usual, extreme = getattr(normal, name), getattr(edges, name)
        columns[name] = None if usual is None else np.where(rng.random(usual.shape) < share, extreme, usual)
    return OperandBatch(**columns)


def _tile(model: Model, distribution: str, rng: np.random.Generator) -> Tile:
    """Return a tile whose rows of a and columns of b are drawn from a distribution."""
    instructions, design = _TILE_INSTRUCTIONS if model.chains else 1, model.design
    drawn = [
        OperandBatch.concatenate([draw(distribution, design, count, model.k, rng) for _ in range(instructions)])
        for count in (_TILE_ROWS, _TILE_COLUMNS)
    ]
    # every row of a and every column of b: the operands of its instructions, in order
    rows, columns = (
        [[batch.row(s * count + i) for s in range(instructions)] for i in range(count)]
        for batch, count in zip(drawn, (_TILE_ROWS, _TILE_COLUMNS), strict=True)
    )
    some = draw(distribution, design, _TILE_ROWS * _TILE_COLUMNS, model.k, rng)
    c = tuple(some.c.tolist())
    pairs = [(row, column) for row in rows for column in columns]
    d = tuple(_chain(design, row, column, start) for (row, column), start in zip(pairs, c, strict=True))
    return Tile(instructions, tuple(map(_joined, rows)), tuple(map(_joined, columns)), c, d)


def _chain(design: Design, row: Sequence[Operands], column: Sequence[Operands], c: int) -> int:
    """Return d of a chain of instructions that take a from ``row`` and b from ``column``."""
    following = continued(design)
    for step, (of_a, of_b) in enumerate(zip(row, column, strict=True)):
        operands = replace(of_a, b=of_b.b, scale_b=of_b.scale_b, c=c)
        c = evaluate(following if step else design, operands)
    return c


def _joined(parts: Sequence[Operands]) -> Operands:
    """Return operands that lie one after another."""
    a, b, scale_a, scale_b = (
        tuple(x for part in parts for x in getattr(part, name)) for name in ("a", "b", "scale_a", "scale_b")
    )
    return Operands(a, b, 0, scale_a, scale_b)
