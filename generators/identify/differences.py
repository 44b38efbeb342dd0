"""The search for rows on which designs differ from one that fits as well as they do."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from mmaproof.designs.design import Design
from mmaproof.designs.operands import OperandBatch, Patterns
from mmaproof.smt.algebra.nodes import Node
from mmaproof.smt.backends import wanted_backend
from mmaproof.smt.evaluate import equal_patterns, evaluate_batch
from mmaproof.smt.joint import JointDesigns

FIRST_SEARCHED = 2048
"""Rows of a design by itself that are searched first; then twice as many, and so on."""
AT_ONCE = 8192
"""Rows of many designs that are computed together."""


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
    found: list[list[int] | None] = [None] * len(rivals)
    alone = list(range(len(rivals)))
    if rivals and wanted_backend() is None:
        joint = JointDesigns(rivals[0], rows.k)
        nodes: dict[int, Node] = {}
        for i, rival in enumerate(rivals):
            if not is_late() and (node := joint.add(rival)) is not None:
                nodes[i] = node
        alone = [i for i in alone if i not in nodes]
        for i, differences in _of_all(joint, rivals, nodes, rows, ours, count, is_late).items():
            found[i] = differences
    for i in alone:
        if is_late():
            break
        found[i] = _of_one(rivals[i], rows, ours, count)
    return found


def _of_all(
    joint: JointDesigns,
    rivals: Sequence[Design],
    nodes: Mapping[int, Node],
    rows: OperandBatch,
    ours: Patterns,
    count: int,
    is_late: Callable[[], bool],
) -> dict[int, list[int]]:
    """Return the first differences of the rivals that have a node, by their indices, as far as time allows."""
    found: dict[int, list[int]] = {i: [] for i in nodes}
    searched = list(nodes)
    for first in range(0, len(rows), AT_ONCE):
        if not searched or is_late():
            break
        part = rows.select(slice(first, first + AT_ONCE))
        results = joint.results([nodes[i] for i in searched], part)
        for i, result in zip(searched, results, strict=True):
            found[i] += _unequal(rivals[i], result, ours, range(first, first + len(part)))
        searched = [i for i in searched if len(found[i]) < count]
    else:
        searched = []
    return {i: differences[:count] for i, differences in found.items() if i not in searched}


def _of_one(design: Design, rows: OperandBatch, ours: Patterns, count: int) -> list[int]:
    found: list[int] = []
    first, step = 0, FIRST_SEARCHED
    while first < len(rows) and len(found) < count:
        found += differing(design, rows, ours, range(first, min(first + step, len(rows))))
        first, step = first + step, 2 * step
    return found[:count]


def _unequal(design: Design, results: Patterns, ours: Patterns, among: Sequence[int]) -> list[int]:
    at = np.asarray(among)
    same = equal_patterns(design.d_format, results, ours[at], nan_codes=False)
    return [int(x) for x in at[~same]]
