"""The signals of a staged proof, and what tells related ones by their values on the samples."""

from __future__ import annotations

from dataclasses import dataclass

from pysmt.fnode import FNode

from mmaproof.smt.algebra.signals import Signal
from mmaproof.smt.proving.samples import Values
from mmaproof.smt.solving.operators import TRUTH


@dataclass(frozen=True, slots=True)
class StagedSignal:
    """An earlier signal: the variable that replaces it, and the term that it stands for."""

    name: Signal
    index: int
    """the number of signals of this name before it in its run"""
    variable: FNode
    definition: FNode
    width: int
    signed: bool
    sign: int
    places: int
    first: int
    """its value on the first sample"""
    fold: int
    """the number of the sum or maximum that it is a part of; every other signal has a negative number of its own"""
    depth: int
    """the length of the longest chain of cuts that ends here"""


def shape_of(numbers: Values, width: int) -> tuple[object, int, int]:
    """Return what all multiples by ±2**n share, and the sign and the power of this one."""
    first = next((x for x in numbers if x), 1)
    if width == TRUTH:
        return (TRUTH, tuple(x ^ numbers[0] for x in numbers)), numbers[0], 0
    places = min(((x & -x).bit_length() - 1 for x in numbers if x), default=0)
    sign = -1 if first < 0 else 1
    return tuple(sign * (x >> places) for x in numbers), sign, places
