"""Sample fp32 numbers, from which claims are guessed, and windows of exponents in which a claim holds.

The solver proves a claim or finds a number that refutes it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from mmaproof.designs.operands import Patterns
from mmaproof.gemm.answers.verdict import ROUNDS, Asked, unknown
from mmaproof.gemm.programs.algorithm import OPERANDS
from mmaproof.gemm.questions.split import EXPONENTS, OperandLemma, Splitting, SplitValues, Window
from mmaproof.smt.algebra.arrays import ArrayAlgebra
from mmaproof.smt.solving.verdict import Status

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
