"""When the words of a split add up to the operand, and how large the difference is otherwise.

Sample fp32 numbers, from which claims are guessed, and windows of exponents in which a claim holds.

The solver proves a claim or finds a number that refutes it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from mmaproof.designs.design import Design
from mmaproof.designs.operands import Patterns
from mmaproof.gemm.answers.verdict import (
    ROUNDS,
    AlgorithmVerdict,
    Asked,
    Shown,
    Witness,
    listed,
    unknown,
    window_of,
)
from mmaproof.gemm.programs.algorithm import OPERANDS
from mmaproof.gemm.programs.split_gemm import SplitGemm
from mmaproof.gemm.questions.split import (
    EXPONENTS,
    OperandLemma,
    Part,
    PartIsBounded,
    SplitIsExact,
    Splitting,
    SplitValues,
    Window,
)
from mmaproof.properties.preconditions import Precondition
from mmaproof.smt.algebra.arrays import ArrayAlgebra
from mmaproof.smt.algebra.integers import IntegerAlgebra
from mmaproof.smt.solving.verdict import Status, combine

_ARRAYS = ArrayAlgebra()
Integers = npt.NDArray[np.int64]

PRECISION = OPERANDS.precision
EACH = 6
"""Random significands for each exponent and number of significant bits."""
DENSE = 1 << 13
"""The number of smallest significands that are tried, because a relative error is largest there."""


def every_precision(seed: int, each: int = EACH) -> Patterns:
    """Return numbers of every exponent with 1 to 24 significant bits. Some are random, some are runs of ones."""
    rng = np.random.default_rng(seed)
    significands = []
    for bits in range(1, PRECISION + 1):
        top, one = 1 << (PRECISION - 1), 1 << (PRECISION - bits)
        random = rng.integers(0, 1 << (bits - 1), each) * one
        significands.append(top | random | one)
        significands.append(np.array([top | one, (1 << PRECISION) - one]))
    return _patterns(np.concatenate(significands), EXPONENTS)


def dense(exponents: Iterable[int], seed: int) -> Patterns:
    """Return many numbers of a few exponents: the smallest significands, the largest, and random ones."""
    rng = np.random.default_rng(seed)
    low = np.arange(DENSE) + (1 << (PRECISION - 1))
    high = (1 << PRECISION) - 1 - np.arange(DENSE // 8)
    random = rng.integers(1 << (PRECISION - 1), 1 << PRECISION, DENSE // 2)
    return _patterns(np.concatenate([low, high, random]), exponents)


def _patterns(significands: Integers, exponents: Iterable[int]) -> Patterns:
    """Return the patterns of all 24-bit significands at all exponents, as far as fp32 holds them exactly."""
    found = []
    for exponent in exponents:
        below = max(OPERANDS.e_min - exponent, 0)
        held = significands[significands % (1 << below) == 0] >> below
        field = max(exponent, OPERANDS.e_min) - OPERANDS.e_min
        found.append((field << OPERANDS.fraction_bits) + held)
    return np.unique(np.concatenate(found)).astype(np.uint32)


def exponents_of(patterns: Patterns) -> Integers:
    """Return floor(log2|x|) of nonzero finite patterns."""
    exponents: Integers = (np.frexp(patterns.view(np.float32).astype(np.float64))[1] - 1).astype(np.int64)
    return exponents


def significant_bits(patterns: Patterns) -> Integers:
    """Return the numbers of significant bits of nonzero finite numbers."""
    fractions = np.abs(np.frexp(patterns.view(np.float32).astype(np.float64))[0])
    significands = (fractions * (1 << PRECISION)).astype(np.int64)
    lowest = significands & -significands
    return PRECISION - bit_lengths(lowest) + 1


def bit_lengths(x: Integers) -> Integers:
    """Return the bit lengths of integers below 2**53."""
    lengths: Integers = np.frexp(x.astype(np.float64))[1].astype(np.int64)
    return lengths


def split_values(splitting: Splitting, patterns: Patterns) -> SplitValues[Any, Any]:
    """Return the values of splits, on arrays."""
    return SplitValues.of(_ARRAYS, splitting, _ARRAYS.from_patterns(patterns, OPERANDS.bits))


def broadcast(data: Any, patterns: Patterns) -> npt.NDArray[Any]:
    """Return data of the array interpretation as an array with one element for each pattern."""
    return np.broadcast_to(data, patterns.shape)


class Precisions:
    """For each exponent, the number with the fewest significant bits that is known to violate a statement."""

    def __init__(self) -> None:
        self.failing: dict[int, tuple[int, int]] = {}
        """exponent -> significant bits and pattern"""

    def add(self, patterns: Patterns) -> None:
        """Add numbers that violate the statement."""
        columns = (exponents_of(patterns), significant_bits(patterns), patterns)
        for exponent, bits, pattern in zip(*(x.tolist() for x in columns), strict=True):
            known = self.failing.get(exponent)
            if known is None or bits < known[0]:
                self.failing[exponent] = (bits, pattern)

    def bits(self, exponent: int) -> int:
        """Return the most significant bits up to which no number at this exponent is known to violate it."""
        return self.failing[exponent][0] - 1 if exponent in self.failing else OPERANDS.precision

    def windows(self, bits: int) -> list[Window]:
        """Return the longest windows in which no number of ``bits`` significant bits is known to violate it."""
        found: list[Window] = []
        for exponent in EXPONENTS:
            if self.bits(exponent) < bits:
                continue
            if found and found[-1].high == exponent - 1:
                found[-1] = Window(found[-1].low, exponent, bits)
            else:
                found.append(Window(exponent, exponent, bits))
        return found

    def table(self) -> list[Window]:
        """Return the windows for 24, 23, ... 1 bits, without those that lie in a window of more bits."""
        found: list[Window] = []
        for bits in range(OPERANDS.precision, 0, -1):
            for window in self.windows(bits):
                if not any(w.low <= window.low and window.high <= w.high for w in found):
                    found.append(window)
        return found

    def prove(self, asked: Asked, lemma_of: Callable[[Sequence[Window]], OperandLemma]) -> tuple[list[Window], str]:
        """Return the table after proving its windows together, or an empty table and why they are not proved.

        Each witness makes the windows smaller. So the proved windows are maximal: beyond each of them there is a number
        that violates the statement.
        """
        for _ in range(ROUNDS):
            windows = self.table()
            if not windows:
                return [], ""
            lemma = lemma_of(windows)
            verdict = asked.prove(lemma)
            if verdict.status is Status.PROVED:
                return windows, ""
            if verdict.witness is None:
                break
            self.add(np.array([lemma.operand(verdict.witness)], dtype=np.uint32))
        return [], unknown(verdict)


_INTEGERS = IntegerAlgebra()

EXACT = 99
"""Stands for the exponent of a bound if there is no error."""
NONE = -1
"""Stands for it if a word is not finite, or differs from x by more than |x|."""


@dataclass(frozen=True)
class RelativeBound:
    """``|x - sum of words| <= 2**-places |x|`` in a window. If ``places`` is EXACT, there is no error.

    ``beyond`` is a number that violates a bound half as large; None if there is no error.
    """

    window: Window
    places: int
    beyond: int | None


def check_split(algorithm: SplitGemm, unit: Design, where: Sequence[Precondition], asked: Asked) -> AlgorithmVerdict:
    """Find the windows of exponents in which the split of an operand is exact, and a bound on its relative error.

    If the operands are split into different numbers of words, both are examined. With ``where``, the question is
    whether all numbers in its window are split exactly that have as many significant bits as are ever split exactly.
    """
    given = window_of(where)
    splittings = {n: Splitting.of(algorithm, unit, n) for n in "ab"}
    names = {"ab": splittings["a"]} if splittings["a"] == splittings["b"] else splittings
    parts = [_check_one(name, splitting, given, asked) for name, splitting in names.items()]
    return asked.verdict(
        combine(p.status for p in parts),
        "; ".join(p.conclusion for p in parts),
        values={name: dict(p.values) for name, p in zip(names, parts, strict=True)},
        details=tuple(line for p in parts for line in p.details),
        witnesses=tuple(w for p in parts for w in p.witnesses),
        reason=next((p.reason for p in parts if p.reason is not None), None),
    )


def _check_one(name: str, splitting: Splitting, given: Window | None, asked: Asked) -> AlgorithmVerdict:
    """Return the verdict on one operand, or on both if they are split alike. It does not contain the lemmas."""
    words = "1 word" if splitting.count == 1 else f"{splitting.count} words"
    flushed = ", of which the unit reads subnormal ones as zero" if splitting.flushes else ""
    label = f"operand {' and '.join(name)}, {words} of {splitting.fmt.name}{flushed}"
    known = Precisions()
    patterns = every_precision(asked.means.seed)
    known.add(patterns[~_is_exact(splitting, patterns)])
    table, problem = known.prove(asked, partial(SplitIsExact, splitting))
    bound, why = relative_bound(splitting, given, asked)
    if bound is None or problem:
        return AlgorithmVerdict(Status.UNKNOWN, f"{label}: not settled", reason=problem or why)
    rows = [known.windows(n) for n in range(OPERANDS.precision, 0, -1)]
    witnesses = _beyond(splitting, known, table) if table else []
    if bound.beyond is not None:
        shows = "no bound holds" if bound.places == NONE else f"2^-{bound.places + 1} |x| is exceeded"
        witnesses.append(split_witness(splitting, bound.beyond, shows))
    best = table[0] if table else None
    stated = best.bits if best else OPERANDS.precision
    failing = None if given is None else _failing_in(known, given, stated)
    if failing is not None:
        shows = f"not exact: {stated} significant bits, exponent in {given}"
        witnesses.insert(0, split_witness(splitting, failing, shows))
    exact = f"exact for {best.bits} significant bits and exponents {best}" if best else "nowhere exact"
    return AlgorithmVerdict(
        Status.PROVED if failing is None else Status.REFUTED,
        f"{label}: {exact}" + ("" if failing is None else f", but not {stated} bits everywhere in {given}"),
        values={
            "words": splitting.count,
            "exact": [{"bits": w.bits, "low": w.low, "high": w.high} for row in rows for w in row],
            "relative_error": {
                "low": bound.window.low,
                "high": bound.window.high,
                "places": None if bound.places in (EXACT, NONE) else bound.places,
                "exact": bound.places == EXACT,
            },
        },
        details=(f"{label}:", *_table_lines(rows), f"    {_bound_text(bound)}"),
        witnesses=tuple(witnesses),
    )


def relative_bound(splitting: Splitting, window: Window | None, asked: Asked) -> tuple[RelativeBound | None, str]:
    """Return the proved bound on the relative error, or None and why there is none.

    The default window is the longest one with the smallest bound that holds at a normal exponent.
    """
    patterns = every_precision(asked.means.seed)
    exponents, places = exponents_of(patterns), _places(splitting, patterns)
    for _ in range(ROUNDS):
        found = window or _best_window(exponents, places)
        inside = (exponents >= found.low) & (exponents <= found.high)
        worst = int(np.argmin(np.where(inside, places, EXACT + 1)))
        most = int(places[worst])
        if most == NONE:
            return RelativeBound(found, NONE, int(patterns[worst])), ""
        least = Fraction(0) if most == EXACT else Fraction(1, 1 << most)
        lemma = PartIsBounded(splitting, Part(splitting.count - 1, True), least, found)
        verdict = asked.prove(lemma)
        if verdict.status is Status.PROVED:
            return RelativeBound(found, most, None if most == EXACT else int(patterns[worst])), ""
        if verdict.witness is None:
            break
        more = np.array([lemma.operand(verdict.witness)], dtype=np.uint32)
        patterns = np.concatenate([patterns, more])
        exponents = np.concatenate([exponents, exponents_of(more)])
        places = np.concatenate([places, _places(splitting, more)])
    return None, unknown(verdict)


def split_witness(splitting: Splitting, pattern: int, shows: str) -> Witness:
    """Return an operand with its words, computed on integers."""
    words = splitting.words(_INTEGERS, _INTEGERS.unsigned(pattern, OPERANDS.bits))
    numbers = [Shown("x", OPERANDS, pattern)]
    numbers += [Shown(f"x[{i}]", n.fmt, n.word.data) for i, n in enumerate(words)]
    return Witness(shows, tuple(numbers))


def _is_exact(splitting: Splitting, patterns: Patterns) -> Any:
    values = split_values(splitting, patterns)
    rest = values.rest(_ARRAYS, splitting.count).data
    return broadcast((rest == 0) & _ARRAYS.all_of(values.sound).data, patterns)


def _places(splitting: Splitting, patterns: Patterns) -> Integers:
    """Return for each number the largest p with ``|x - sum of words| <= 2**-p |x|``, EXACT or NONE."""
    values = split_values(splitting, patterns)
    error = np.abs(broadcast(values.rest(_ARRAYS, splitting.count).data, patterns))
    sound = broadcast(_ARRAYS.all_of(values.sound).data, patterns)
    size = np.abs(broadcast(values.operand.data, patterns))
    up = np.maximum(bit_lengths(size) - bit_lengths(error), 0)
    places = np.where((error << up) > size, up - 1, up)
    return np.where(sound & (places >= 0), np.where(error == 0, EXACT, places), NONE)


def _best_window(exponents: Integers, places: Integers) -> Window:
    """Return the longest window with the largest bound that a normal exponent has."""
    least = {e: int(places[exponents == e].min()) for e in EXPONENTS}
    most = max(least[e] for e in EXPONENTS if e >= OPERANDS.e_min)
    runs: list[list[int]] = []
    for e in EXPONENTS:
        if least[e] >= most:
            if runs and runs[-1][-1] == e - 1:
                runs[-1].append(e)
            else:
                runs.append([e])
    longest = max(runs, key=len)
    return Window(longest[0], longest[-1])


def _failing_in(known: Precisions, window: Window, bits: int) -> int | None:
    """Return a number in the window with N significant bits that is not split exactly, or None."""
    inside = range(window.low, window.high + 1)
    return next((known.failing[e][1] for e in inside if known.bits(e) < bits), None)


def _beyond(splitting: Splitting, known: Precisions, table: Sequence[Window]) -> list[Witness]:
    """Return witnesses that the windows of the first row are maximal, and that no row can be above it."""
    bits = table[0].bits
    shown = []
    if bits < OPERANDS.precision:
        inside = range(table[0].low, table[0].high + 1)
        found = [known.failing[e][1] for e in inside if known.failing.get(e, (0, 0))[0] == bits + 1]
        shown.append((found, f"{bits + 1} significant bits, exponent within {table[0]}"))
    shown += [
        ([known.failing[e][1]] if e in known.failing else [], f"exponent {e}, just {where} {w}")
        for w in table
        if w.bits == bits
        for e, where in ((w.low - 1, "below"), (w.high + 1, "above"))
    ]
    return [split_witness(splitting, found[0], f"not exact: {what}") for found, what in shown if found]


def _table_lines(rows: Sequence[Sequence[Window]]) -> list[str]:
    """Return the lines of the table: significant bits, and windows in which such numbers are split exactly."""
    lines = ["    significant bits   exact for floor(log2|x|) in"]
    best = next((row[0].bits for row in rows if row), 0)
    if best < OPERANDS.precision:
        lines.append(f"    {f'above {best}':>16}   no exponent")
    lines += [f"    {row[0].bits:>16}   {listed(row)}" for row in rows if row]
    return lines


def _bound_text(bound: RelativeBound) -> str:
    where = f"for exponents {bound.window}"
    if bound.places == EXACT:
        return f"x = sum of words {where}: no error"
    if bound.places == NONE:
        return f"no bound on the relative error {where}"
    return f"|x - sum of words| <= 2^-{bound.places} |x| {where}, and 2^-{bound.places + 1} |x| is exceeded there"
