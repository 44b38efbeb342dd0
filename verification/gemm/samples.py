"""fp32 numbers to guess claims from: the solver then proves these, or adds the number that refutes one."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from mmaproof.algorithms.algorithm import OPERANDS
from mmaproof.designs.operands import Patterns
from mmaproof.properties.gemm.split import EXPONENTS, Splitting, SplitValues
from mmaproof.smt.algebra.arrays import ArrayAlgebra

_ARRAYS = ArrayAlgebra()
Integers = npt.NDArray[np.int64]

PRECISION = OPERANDS.precision
EACH = 6
"""Random significands for each number of significant bits, and exponent."""
DENSE = 1 << 13
"""Significands from the smallest one up: where a relative error is largest."""


def every_precision(seed: int, each: int = EACH) -> Patterns:
    """Return numbers of every exponent with 1 to 24 significant bits: random ones, and the longest runs of ones."""
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
    """Return every significand of 24 bits at every exponent as a pattern, those that fp32 holds exactly."""
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
    """Return how many significant bits nonzero finite numbers have."""
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
    """Return data of the array interpretation with one element for each pattern."""
    return np.broadcast_to(data, patterns.shape)
