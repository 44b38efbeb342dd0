"""The number of products of slices that an integer register adds exactly."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from mmaproof.designs.design import Design
from mmaproof.designs.element import Operands
from mmaproof.designs.operands import Patterns
from mmaproof.gemm.answers.split import Integers, dense
from mmaproof.gemm.answers.unit_slices import NotSettledError, exact_sums, shown_value, value_of
from mmaproof.gemm.answers.verdict import ROUNDS, AlgorithmVerdict, Asked, Shown, Witness, unknown
from mmaproof.gemm.programs.algorithm import OPERANDS
from mmaproof.gemm.programs.arithmetic import Arithmetic, Number, Span, exact_value
from mmaproof.gemm.programs.slice_gemm import SliceGemm, Sums
from mmaproof.smt.algebra.arrays import ArrayAlgebra
from mmaproof.smt.algebra.integers import IntegerAlgebra
from mmaproof.smt.algebra.protocol import Algebra, D, T, Truth, Word
from mmaproof.smt.proving.lemma import Input, Lemma
from mmaproof.smt.semantics.patterns import unpack
from mmaproof.smt.solving.verdict import Status
from mmaproof.smt.trace import evaluate


def slices_of(
    algebra: Algebra[D, T], algorithm: SliceGemm, unit: Design, operand: str, x: Word[D], other: Word[D]
) -> list[Word[D]]:
    """Return the slices (signed) of a pattern of fp32 in a row whose largest element is x or ``other``.

    The slices of an element depend on its row only by the exponent of the row, which is that of the largest element. So
    two elements stand for any row.
    """
    row = [Number(OPERANDS, w, Span.of_format(OPERANDS)) for w in (x, other)]
    found = Arithmetic(algebra).slices(algorithm.cut(unit, operand, (0, 1)), row)
    return [_integer(algebra, s[0], algorithm.bits) for s in found.words]


def _integer(algebra: Algebra[D, T], x: Number[D], bits: int) -> Word[D]:
    """Return a slice as a signed integer."""
    if x.fmt.is_integer:
        return algebra.twos_complement(x.word)
    return exact_value(algebra, x, Span(0, bits))[0]


class OfFiniteOperands(Lemma):
    """A statement about operands of fp32 that are finite."""

    def assumption(self, algebra: Algebra[D, T], words: Mapping[str, Word[D]]) -> Truth[T]:
        """Return whether all are finite."""
        values = [unpack(algebra, OPERANDS, words[i.name]) for i in self.inputs]
        return algebra.negation(algebra.any_of([t for v in values for t in (v.infinite, v.nan)]))


class SlicesAreBounded(OfFiniteOperands):
    """The magnitude of slice i of any element of any row is at most ``most[i]``."""

    inputs = (Input("x", OPERANDS.bits), Input("other", OPERANDS.bits))

    def __init__(self, algorithm: SliceGemm, unit: Design, operand: str, most: Sequence[int]) -> None:
        self.algorithm, self.unit, self.operand, self.most = algorithm, unit, operand, tuple(most)
        bounds = ", ".join(f"|{operand}[{i}]| <= {m}" for i, m in enumerate(most))
        self.name = f"{bounds}, whatever the exponent of the row"

    def claim(self, algebra: Algebra[D, T], words: Mapping[str, Word[D]]) -> Truth[T]:
        """Return whether no slice is larger."""
        slices = slices_of(algebra, self.algorithm, self.unit, self.operand, words["x"], words["other"])
        return algebra.negation(
            algebra.any_of(
                [
                    algebra.less(algebra.unsigned(most, s.width), algebra.magnitude(s))
                    for s, most in zip(slices, self.most, strict=True)
                ]
            )
        )


class WeightIsBounded(OfFiniteOperands):
    """The products of the slices of an element of a and one of b that share a register add up to at most ``most``.

    All slices of an element have the same sign, so these products have the same sign too.
    """

    inputs = tuple(Input(n, OPERANDS.bits) for n in ("a", "in_row_of_a", "b", "in_column_of_b"))

    def __init__(
        self, algorithm: SliceGemm, unit: Design, groups: Sequence[Sequence[tuple[int, int]]], most: int
    ) -> None:
        self.algorithm, self.unit, self.most = algorithm, unit, most
        self.groups = tuple(map(tuple, groups))
        self.name = f"one k adds at most {most} to a register, over the products of slices of one weight"

    def claim(self, algebra: Algebra[D, T], words: Mapping[str, Word[D]]) -> Truth[T]:
        """Return whether no group of products exceeds the bound."""
        x, row, y, column = (words[i.name] for i in self.inputs)
        first = [algebra.magnitude(s) for s in slices_of(algebra, self.algorithm, self.unit, "a", x, row)]
        second = [algebra.magnitude(s) for s in slices_of(algebra, self.algorithm, self.unit, "b", y, column)]
        held = []
        for group in self.groups:
            products = [algebra.as_signed(algebra.multiply(first[i], second[j])) for i, j in group]
            width = max(p.width for p in products) + len(products).bit_length()
            total = algebra.narrow_to_unsigned(algebra.bounded_sum(products, width), width - 1)
            limit = algebra.unsigned(self.most, max(width - 1, self.most.bit_length()))
            held.append(algebra.negation(algebra.less(limit, total)))
        return algebra.all_of(held)


_INTEGERS = IntegerAlgebra()
_ARRAYS = ArrayAlgebra()

SHIFTS = 4
"""The samples contain rows whose largest element is up to this many binary places above the element."""
LONGER = 8
"""How many K above the largest exact one are tried to find a sum that is inexact."""
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
    try:
        exact = exact_sums(unit, (algorithm.bits, algorithm.bits), asked)
    except NotSettledError as why:
        return asked.verdict(Status.UNKNOWN, "the sums of the unit are not settled", reason=str(why))
    limit = exact.most
    longest = limit // bound
    wrap = _first_wrap(algorithm, unit, groups, patterns, limit)
    conclusion = f"every integer sum is exact for K up to {longest}"
    if algorithm.interval:
        fits = algorithm.interval <= longest
        conclusion = (
            f"every integer sum is {'exact' if fits else 'not exact'} for any K: interval = {algorithm.interval}"
        )
        conclusion += f", and sums are exact for up to {longest} elements"
    details: tuple[str, ...] = (
        f"slices are at most {most['a'][0]} (a) and {most['b'][0]} (b), one k adds at most {bound}: proved",
        f"{longest} * {bound} <= {limit}; {exact.why}",
        f"K counts elements of the operands: +0 that fills the unit's K = {unit.k} adds nothing",
    )
    values = {"largest_k": longest, "per_k": bound, "slices": {n: list(m) for n, m in most.items()}, "register": limit}
    values["wraps_at"] = None if wrap is None else wrap.k
    if wrap is None:
        details = (*details, f"no inexact sum was found up to K = {longest + LONGER}")
    witnesses = () if wrap is None else (_witness(unit, wrap),)
    return asked.verdict(Status.PROVED, conclusion, values=values, details=details, witnesses=witnesses)


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
) -> Wrap | None:
    """Return the shortest sum of equal products that does not fit and is inexact, as far as a few K are tried.

    The elements are the largest of their rows. The sum before the last instruction fits, so it is exact. The last
    instruction is replayed. It is None if the unit returns all of these sums.
    """
    best = [(*_best_pair(algorithm, unit, g, patterns, patterns), g) for g in groups]
    per_k, x, y, group = max(best, key=lambda found: found[0])
    words = [_INTEGERS.unsigned(p, OPERANDS.bits) for p in (x, y)]
    slices = [slices_of(_INTEGERS, algorithm, unit, n, w, w) for n, w in zip("ab", words, strict=True)]
    factors = [(pair, slices[0][pair[0]].data, slices[1][pair[1]].data) for pair in group]
    for k in range(limit // per_k + 1, limit // per_k + 1 + LONGER):
        total = 0
        for pair, first, second in factors:
            product = first * second
            if not product or total + k * product <= limit:
                total += k * product
                continue
            whole = (limit - total) // (product * unit.k)
            count = min(unit.k, k - whole * unit.k)
            c = total + whole * unit.k * product
            a, b = ((f.encode(v),) * count for v, f in ((first, unit.a_format), (second, unit.b_format)))
            operands = Operands(a, b, unit.c_format.encode(c))
            d, meant = evaluate(unit, operands), c + count * product
            if value_of(unit.d_format, d) != meant:
                return Wrap(x, y, k, pair, operands, meant, d)
            break
    return None


def _witness(unit: Design, wrap: Wrap) -> Witness:
    i, j = wrap.pair
    returned = shown_value(unit.d_format, wrap.d)
    shows = f"K = {wrap.k}: the exact sum {wrap.exact} becomes {returned} in the instruction with these operands"
    operands = wrap.operands
    return Witness(
        shows,
        (
            Shown("every element of a", OPERANDS, wrap.x),
            Shown("every element of b", OPERANDS, wrap.y),
            Shown(f"a[{i}], {len(operands)} times", unit.a_format, operands.a[0]),
            Shown(f"b[{j}], {len(operands)} times", unit.b_format, operands.b[0]),
            Shown("c, the sum so far", unit.c_format, operands.c),
            Shown("d", unit.d_format, wrap.d),
        ),
    )
