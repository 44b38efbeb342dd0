"""Infinities and NaNs of a step, decided from the classes of the operands (Xie et al. 2026, section 4.2)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic

from mmaproof.designs.formats import Format
from mmaproof.designs.parameters import NanCode
from mmaproof.smt.algebra.protocol import Algebra, D, T, Truth, Word
from mmaproof.smt.semantics.unpack import Unpacked


@dataclass(frozen=True, slots=True)
class SpecialResult(Generic[T]):
    """Which special value a step returns instead of the converted sum."""

    nan: Truth[T]
    infinite: Truth[T]
    negative: Truth[T]


def special_result(
    algebra: Algebra[D, T], pairs: Sequence[tuple[Unpacked[D, T], Unpacked[D, T]]], c: Unpacked[D, T]
) -> SpecialResult[T]:
    """Return NaN for a NaN operand, infinity times zero, or infinities of both signs; else an infinity's sign."""
    nans, positives, negatives = [c.nan], [], []

    def collect(infinite: Truth[T], negative: Truth[T]) -> None:
        positives.append(algebra.all_of([infinite, algebra.negation(negative)]))
        negatives.append(algebra.all_of([infinite, negative]))

    collect(c.infinite, c.negative)
    for a, b in pairs:
        nans += [a.nan, b.nan, algebra.all_of([a.infinite, b.zero]), algebra.all_of([a.zero, b.infinite])]
        collect(algebra.any_of([a.infinite, b.infinite]), algebra.exclusive_or(a.negative, b.negative))
    positive, negative = algebra.any_of(positives), algebra.any_of(negatives)
    nan = algebra.any_of([*nans, algebra.all_of([positive, negative])])
    return SpecialResult(nan, algebra.any_of([positive, negative]), negative)


def choose_special(
    algebra: Algebra[D, T], fmt: Format, nan_code: NanCode, special: SpecialResult[T], finite: Word[D]
) -> Word[D]:
    """Return ``finite``, or the special value that takes its place."""
    result = finite
    if fmt.infinity is not None:
        minus = algebra.unsigned(fmt.infinity | 1 << fmt.sign_position, fmt.bits)
        infinity = algebra.ite(special.negative, minus, algebra.unsigned(fmt.infinity, fmt.bits))
        result = algebra.ite(special.infinite, infinity, result)
    return algebra.ite(special.nan, algebra.unsigned(nan_code.pattern(fmt), fmt.bits), result)
