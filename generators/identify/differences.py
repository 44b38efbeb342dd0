"""The search for rows on which designs differ from one that fits as well as they do."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from mmaproof.designs.design import Design
from mmaproof.designs.operands import OperandBatch, Patterns
from mmaproof.smt.algebra.nodes import Node
from mmaproof.smt.backends import wanted_backend
from mmaproof.smt.evaluate import CHUNK_ROWS, SharedBatch, equal_patterns, evaluate_batch
from mmaproof.smt.joint import JointDesigns

AT_ONCE = CHUNK_ROWS
"""Rows of all designs that are computed before the next ones."""


def differing(design: Design, rows: OperandBatch, ours: Patterns, among: Sequence[int]) -> list[int]:
    """Return which of the rows ``among`` the design computes otherwise."""
    if not among:
        return []
    at = np.asarray(among)
    return _unequal(design, evaluate_batch(design, rows.select(at)), ours, among)


def first_differences(
    rivals: Sequence[Design], rows: OperandBatch, ours: Patterns, count: int, is_late: Callable[[], bool]
) -> list[list[int] | None]:
    """Return for each rival the first ``count`` rows that it computes otherwise, or all of them where they are fewer.

    It is None for a rival whose rows were not all computed when time was over. Rivals are much alike, so they are
    computed together, as far as their numbers are not too wide for that, unless a backend was chosen.
    """
    joint = JointDesigns(rivals[0], rows.k) if rivals and wanted_backend() is None else None
    nodes: dict[int, Node] = {}
    for i, rival in enumerate(rivals):
        if joint is not None and not is_late() and (node := joint.add(rival)) is not None:
            nodes[i] = node
    found: list[list[int]] = [[] for _ in rivals]
    searched = list(range(len(rivals)))
    for first in range(0, len(rows), AT_ONCE):
        if not searched:
            break
        part = SharedBatch.of(rows.select(slice(first, first + AT_ONCE)))
        at = range(first, first + len(part))
        together = [] if is_late() else [i for i in searched if i in nodes]
        if joint is not None and together:
            results = joint.results([nodes[i] for i in together], part)
            for i, result in zip(together, results, strict=True):
                found[i] += _unequal(rivals[i], result, ours, at)
        for i in searched:
            if is_late():
                return [x[:count] if len(x) >= count else None for x in found]
            if i not in nodes:
                found[i] += _unequal(rivals[i], evaluate_batch(rivals[i], part), ours, at)
        searched = [i for i in searched if len(found[i]) < count]
    return [x[:count] for x in found]


def _unequal(design: Design, results: Patterns, ours: Patterns, among: Sequence[int]) -> list[int]:
    at = np.asarray(among)
    same = equal_patterns(design.d_format, results, ours[at], nan_codes=False)
    return [int(x) for x in at[~same]]
