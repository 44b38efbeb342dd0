"""Sample fp32 numbers, from which claims are guessed. The solver proves a claim or finds a number that refutes it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from mmaproof.designs.operands import Patterns
from mmaproof.gemm.programs.algorithm import OPERANDS
from mmaproof.gemm.questions.split import EXPONENTS, Splitting, SplitValues
from mmaproof.smt.algebra.arrays import ArrayAlgebra

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
