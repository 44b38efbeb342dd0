"""The number of products of slices that an integer register adds exactly."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from mmaproof.algorithms.algorithm import OPERANDS
from mmaproof.algorithms.slice_gemm import SliceGemm, Sums
from mmaproof.designs.design import Design
from mmaproof.designs.operands import Operands, Patterns
from mmaproof.properties.gemm.slices import SlicesAreBounded, WeightIsBounded, slices_of
from mmaproof.smt.algebra.arrays import ArrayAlgebra
from mmaproof.smt.algebra.integers import IntegerAlgebra
from mmaproof.smt.evaluate import evaluate
from mmaproof.smt.proving.lemma import Lemma
from mmaproof.smt.semantics.integer_step import read_integer
from mmaproof.smt.solving.verdict import Status
from mmaproof.verification.gemm.samples import Integers, dense
from mmaproof.verification.gemm.verdict import ROUNDS, AlgorithmVerdict, Asked, Shown, Witness, unknown

_INTEGERS = IntegerAlgebra()
_ARRAYS = ArrayAlgebra()

SHIFTS = 4
"""The samples contain rows whose largest element is up to this many binary places above the element."""
PAIRED = 1500
"""The number of elements of each operand that are paired with each other."""


@dataclass(frozen=True)
class Wrap:
    """A sum that does not fit the register: its elements, the products of slices, and the last instruction."""

    x: int
    y: int
    k: int
    pair: tuple[int, int]
    operands: Operands
    exact: int
    d: int


def check_slices(algorithm: SliceGemm, unit: Design, asked: Asked) -> AlgorithmVerdict:
    """Find the largest K for which every integer sum is exact, and operands for which a longer sum is not."""
    groups = [[p] for p in algorithm.pairs]
    if algorithm.sums is Sums.WEIGHT:
        weights = sorted({i + j for i, j in algorithm.pairs})
        groups = [[(i, j) for i, j in algorithm.pairs if i + j == w] for w in weights]
    patterns = dense([0], asked.means.seed)
    rows = [np.full_like(patterns, OPERANDS.encode(2**n)) for n in range(SHIFTS)]
    most, problem = _slice_bounds(algorithm, unit, patterns, rows, asked)
    if most is None:
        return asked.verdict(Status.UNKNOWN, "the magnitude of a slice is not settled", reason=problem)
    if algorithm.sums is Sums.PRODUCT:
        bound: int | None = max(most["a"][i] * most["b"][j] for i, j in algorithm.pairs)
    else:
        bound, problem = _weight_bound(algorithm, unit, groups, patterns, rows, asked)
    if not bound:
        return asked.verdict(Status.UNKNOWN, "what one k adds to a register is not settled", reason=problem)
    limit = (1 << (unit.d_format.bits - 1)) - 1
    longest = limit // bound
    wrap = _first_wrap(algorithm, unit, groups, patterns, limit)
    conclusion = f"every integer sum is exact for K up to {longest}"
    details = (
        f"slices are at most {most['a'][0]} (a) and {most['b'][0]} (b), one k adds at most {bound}: proved",
        f"{longest} * {bound} <= {limit} = 2^{unit.d_format.bits - 1} - 1, the register of {unit.name}",
        f"K counts elements of the operands: +0 that fills the unit's K = {unit.k} adds nothing",
    )
    values = {"largest_k": longest, "per_k": bound, "slices": {n: list(m) for n, m in most.items()}, "register": limit}
    values["wraps_at"] = wrap.k
    witness = _witness(unit, wrap)
    return asked.verdict(Status.PROVED, conclusion, values=values, details=details, witnesses=(witness,))


def _slice_bounds(
    algorithm: SliceGemm, unit: Design, patterns: Patterns, rows: Sequence[Patterns], asked: Asked
) -> tuple[dict[str, tuple[int, ...]] | None, str]:
    """Return the proved bounds on the slices of a and of b, or None and why there are none."""
    bounds: dict[str, tuple[int, ...]] = {}
    for name in "ab":
        most = np.max([_slices(algorithm, unit, name, patterns, row).max(axis=1) for row in rows], axis=0)
        for _ in range(ROUNDS):
            lemma = SlicesAreBounded(algorithm, unit, name, [int(m) for m in most])
            verdict = asked.prove(lemma)
            if verdict.witness is None:
                break
            x, other = _operands(lemma, verdict.witness)
            most = np.maximum(most, _slices(algorithm, unit, name, x, other).max(axis=1))
        if verdict.status is not Status.PROVED:
            return None, unknown(verdict)
        bounds[name] = tuple(lemma.most)
    return bounds, ""


def _weight_bound(
    algorithm: SliceGemm,
    unit: Design,
    groups: Sequence[Sequence[tuple[int, int]]],
    patterns: Patterns,
    rows: Sequence[Patterns],
    asked: Asked,
) -> tuple[int | None, str]:
    """Return the proved bound on what one k adds to a register, or None and why there is none."""
    most = 0
    for group in groups:
        for row in rows:
            most = max(most, _best_pair(algorithm, unit, group, patterns, row)[0])
    for _ in range(ROUNDS):
        lemma = WeightIsBounded(algorithm, unit, groups, most)
        verdict = asked.prove(lemma)
        if verdict.witness is None:
            break
        x, row, y, column = _operands(lemma, verdict.witness)
        first, second = _slices(algorithm, unit, "a", x, row), _slices(algorithm, unit, "b", y, column)
        most = max(most, *(int(sum(first[i] * second[j] for i, j in g)[0]) for g in groups))
    return (most, "") if verdict.status is Status.PROVED else (None, unknown(verdict))


def _operands(lemma: Lemma, model: Mapping[str, int]) -> list[Patterns]:
    """Return the operands that a model assigns, as arrays of one pattern."""
    return [np.array([model[s.symbol_name()]], dtype=np.uint32) for s in lemma.formula.symbols]


def _slices(algorithm: SliceGemm, unit: Design, name: str, x: Patterns, row: Patterns) -> Integers:
    """Return magnitudes of slices, shape (slices, rows)."""
    words = [_ARRAYS.from_patterns(p, OPERANDS.bits) for p in (x, row)]
    found = slices_of(_ARRAYS, algorithm, unit, name, words[0], words[1])
    magnitudes: Integers = np.abs(np.array([np.broadcast_to(s.data, x.shape) for s in found], dtype=np.int64))
    return magnitudes


def _best_pair(
    algorithm: SliceGemm, unit: Design, group: Sequence[tuple[int, int]], patterns: Patterns, row: Patterns
) -> tuple[int, int, int]:
    """Return the largest sum that was found of a group's products, and the elements of a and b that give it."""
    slices = {n: _slices(algorithm, unit, n, patterns, row) for n in "ab"}
    order = {n: np.argsort(-s.sum(axis=0), kind="stable")[:PAIRED] for n, s in slices.items()}
    a, b = (slices[n][:, order[n]] for n in "ab")
    rows, columns = ([x[pair[side]] for pair in group] for side, x in enumerate((a, b)))
    sums = np.array(rows).T @ np.array(columns)
    i, j = np.unravel_index(int(np.argmax(sums)), sums.shape)
    return int(sums[i, j]), int(patterns[order["a"][i]]), int(patterns[order["b"][j]])


def _first_wrap(
    algorithm: SliceGemm, unit: Design, groups: Sequence[Sequence[tuple[int, int]]], patterns: Patterns, limit: int
) -> Wrap:
    """Return the shortest sum of equal products that does not fit. The elements are the largest of their rows.

    The sum before the last instruction fits the register, so it is exact. The last instruction is replayed.
    """
    best = [(*_best_pair(algorithm, unit, g, patterns, patterns), g) for g in groups]
    per_k, x, y, group = max(best, key=lambda found: found[0])
    k = limit // per_k + 1
    words = [_INTEGERS.unsigned(p, OPERANDS.bits) for p in (x, y)]
    first, second = (slices_of(_INTEGERS, algorithm, unit, n, w, w) for n, w in zip("ab", words, strict=True))
    total = 0
    for i, j in group:
        product = first[i].data * second[j].data
        if product and total + k * product > limit:
            whole = (limit - total) // (product * unit.k)
            count = min(unit.k, k - whole * unit.k)
            a, b = (
                (w.data & ((1 << f.bits) - 1),) * count
                for w, f in ((first[i], unit.a_format), (second[j], unit.b_format))
            )
            operands = Operands(a, b, total + whole * unit.k * product)
            d = read_integer(_INTEGERS, unit.d_format, _INTEGERS.unsigned(evaluate(unit, operands), unit.d_format.bits))
            return Wrap(x, y, k, (i, j), operands, operands.c + count * product, d.data)
        total += k * product
    raise AssertionError("a sum beyond the register was expected")


def _witness(unit: Design, wrap: Wrap) -> Witness:
    i, j = wrap.pair
    shows = f"K = {wrap.k}: the exact sum {wrap.exact} becomes {wrap.d} in the instruction with these operands"
    operands = wrap.operands
    return Witness(
        shows,
        (
            Shown("every element of a", OPERANDS, wrap.x),
            Shown("every element of b", OPERANDS, wrap.y),
            Shown(f"a[{i}], {len(operands)} times", unit.a_format, operands.a[0]),
            Shown(f"b[{j}], {len(operands)} times", unit.b_format, operands.b[0]),
            Shown("c, the sum so far", unit.c_format, operands.c),
            Shown("d", unit.d_format, wrap.d & ((1 << unit.d_format.bits) - 1)),
        ),
    )
