"""Whether an operation of an algorithm can overflow. Bounds decide it if they suffice, else a solver at one length."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np

from mmaproof.algorithms.algorithm import OPERANDS, Algorithm
from mmaproof.algorithms.arithmetic import Arithmetic
from mmaproof.algorithms.evaluate import trace
from mmaproof.algorithms.numbers import Number, Span
from mmaproof.algorithms.split_gemm import SplitGemm
from mmaproof.designs.catalogue import find_design
from mmaproof.designs.design import Design
from mmaproof.designs.element import Operands
from mmaproof.designs.formats import Format
from mmaproof.designs.operands import Patterns
from mmaproof.properties.gemm.overflow import NoOverflow
from mmaproof.properties.gemm.split import (
    EXPONENTS,
    Splitting,
    Window,
    WordsAreBounded,
    all_finite,
    overflows,
    power_pattern,
)
from mmaproof.properties.preconditions import Exponents, Precondition
from mmaproof.smt.algebra.arrays import ArrayAlgebra
from mmaproof.smt.algebra.integers import IntegerAlgebra
from mmaproof.smt.solving.verdict import Status
from mmaproof.verification.answer import answer
from mmaproof.verification.gemm.bounds import prove_step
from mmaproof.verification.gemm.compare import SHAPED_FOR
from mmaproof.verification.gemm.enclosure import Enclosure, EnclosureArithmetic, NoBoundError, number
from mmaproof.verification.gemm.samples import every_precision, exponents_of
from mmaproof.verification.gemm.verdict import ROUNDS, AlgorithmVerdict, Asked, Shown, Witness

_INTEGERS = IntegerAlgebra()
_ARRAYS = ArrayAlgebra()

LONGEST = 1 << 12
"""The largest length for which the argument by bounds is tried."""


def check_overflow(
    algorithm: Algorithm, unit: Design, k: int | None, where: Sequence[Precondition], asked: Asked
) -> AlgorithmVerdict:
    """Find out whether some number becomes infinite, NaN or clamped for ``k`` elements (by default the unit's K).

    First, bounds on the words of one operand are proved, which hold for any K, and carried through the operations. If a
    bound leaves its format, the search and the solver decide the question at length k.
    """
    question = NoOverflow(algorithm, unit, k=k, where=where)
    proved = _by_bounds(algorithm, unit, question, asked) if isinstance(algorithm, SplitGemm) else None
    if proved is not None:
        return proved
    found = answer(question, find_design(SHAPED_FOR), replace(asked.means, limits=asked.left))
    values = {"k": question.k, "by": found.origin}
    if found.witness is not None:
        conclusion, shown = f"an operation overflows, k = {question.k}", _witness(algorithm, unit, found.witness)
        return asked.verdict(Status.REFUTED, conclusion, values=values, witnesses=(shown,))
    conclusions = {
        Status.PROVED: f"nothing overflows for k = {question.k}",
        Status.VACUOUS: "no operands satisfy the preconditions",
    }
    conclusion = conclusions.get(found.status, "not settled")
    return asked.verdict(found.status, conclusion, values=values, reason=found.reason)


def _by_bounds(algorithm: SplitGemm, unit: Design, question: NoOverflow, asked: Asked) -> AlgorithmVerdict | None:
    """Return the verdict that nothing overflows if it follows from bounds on the words, else None."""
    most: dict[str, tuple[int, ...]] = {}
    for name in "ab":
        found = _word_bounds(Splitting.of(algorithm, unit, name), question, asked)
        if found is None:
            return None
        most[name] = found
    span, why = question.span(OPERANDS), "no operation passes a power of two by more than its number of terms"
    by_spans = partial(_stays_by_spans, algorithm, unit, span, most)
    longest = max(question.k, LONGEST // unit.k * unit.k)
    if not by_spans(longest):
        step = prove_step(unit, solver=asked.means.solving, limits=asked.left)
        longest = _longest(unit, question.k, partial(_stays_by_step, algorithm, unit, span, most)) if step.proved else 0
        if longest:
            why = f"each step is within its a-priori bound, {step.reason}"
            asked.lemmas += step.answer.lemmas if step.answer is not None else ()
        else:
            longest = _longest(unit, question.k, by_spans)
    if not longest:
        return None
    words = {n: ", ".join(f"2^{m}" for m in most[n]) for n in "ab"}
    return asked.verdict(
        Status.PROVED,
        f"nothing overflows, for every K up to {longest} (by bounds)",
        values={"k": question.k, "by": "bounds", "largest_k": longest, "words": {n: list(m) for n, m in most.items()}},
        details=(
            *(f"words of {n} are at most {text}: proved" for n, text in words.items()),
            f"sums follow by bounds: {why}",
            *((f"lengths above {LONGEST} were not tried",) if longest > LONGEST - unit.k else ()),
        ),
    )


def _word_bounds(splitting: Splitting, question: NoOverflow, asked: Asked) -> tuple[int, ...] | None:
    """Return proved exponents of powers of two that the words do not exceed; None if a word can be infinite."""
    low, high = EXPONENTS[0], EXPONENTS[-1]
    for p in question.where:
        if isinstance(p, Exponents):
            low, high = max(low, p.low), min(high, p.high)
    if low > high:
        return None
    patterns = every_precision(asked.means.seed)
    exponents = exponents_of(patterns)
    most = _largest_words(splitting, patterns[(exponents >= low) & (exponents <= high)])
    for _ in range(ROUNDS):
        if most is None:
            return None
        lemma = WordsAreBounded(splitting, most, Window(low, high))
        verdict = asked.prove(lemma)
        if verdict.witness is None:
            return most if verdict.status is Status.PROVED else None
        found = _largest_words(splitting, np.array([lemma.operand(verdict.witness)], dtype=np.uint32))
        most = None if found is None else tuple(map(max, most, found))
    return None


def _largest_words(splitting: Splitting, patterns: Patterns) -> tuple[int, ...] | None:
    """Return for each word the least power of two that it does not exceed; None if something is not finite."""
    fmt, most = splitting.fmt, []
    arithmetic: Arithmetic[Any, Any] = Arithmetic(_ARRAYS, record=True)
    words = splitting.split(arithmetic, _ARRAYS.from_patterns(patterns, OPERANDS.bits))
    if not np.all(all_finite(arithmetic).data):
        return None
    for found in words:
        largest = int(np.max(_ARRAYS.extract(found.word, fmt.bits - 2, 0).data))
        powers = range(fmt.e_min - fmt.fraction_bits, fmt.e_max + 1)
        most.append(next((e for e in powers if power_pattern(fmt, e) >= largest), fmt.e_max + 1))
    return tuple(most)


def _stays_by_spans(
    algorithm: SplitGemm, unit: Design, span: Span, most: Mapping[str, Sequence[int]], length: int
) -> bool:
    """Return whether no sum of ``length`` products can overflow by the spans of the words.

    A number of at most ``2**e`` rounds to at most ``2**e``, which the format holds if e is at most its e_max.
    """
    arithmetic: Arithmetic[int, bool] = Arithmetic(_INTEGERS, record=True)

    def words(name: str, fmt: Format) -> list[list[Number[int]]]:
        zero = _INTEGERS.unsigned(0, fmt.bits)
        return [[Number(fmt, zero, Span(min(span.least, m), m))] * length for m in most[name]]

    c = Number(OPERANDS, _INTEGERS.unsigned(0, OPERANDS.bits), span)
    algorithm.accumulate(arithmetic, unit, words("a", unit.a_format), words("b", unit.b_format), c)
    return all(x.result.span.most <= x.result.fmt.e_max for x in arithmetic.steps)


def _stays_by_step(
    algorithm: SplitGemm, unit: Design, span: Span, most: Mapping[str, Sequence[int]], length: int
) -> bool:
    """Return whether no sum of ``length`` products can overflow if every step is within its a-priori bound."""

    def one(symbol: str, exponent: int) -> Enclosure:
        size = sizes[symbol] = Fraction(2) ** exponent
        return Enclosure({(symbol,): Fraction(1)}, Fraction(0), size)

    sizes: dict[str, Fraction] = {}
    words = [
        [[number(fmt, one(f"{name}{i}", m))] * length for i, m in enumerate(most[name])]
        for name, fmt in (("a", unit.a_format), ("b", unit.b_format))
    ]
    c = number(OPERANDS, one("c", span.most))
    try:
        algorithm.accumulate(EnclosureArithmetic(sizes), unit, words[0], words[1], c)
    except NoBoundError:
        return False
    return True


def _longest(unit: Design, k: int, stays: Callable[[int], bool]) -> int:
    """Return the largest length up to LONGEST for which the bounds suffice; 0 if they do not suffice for k."""
    if not stays(k):
        return 0
    low, high = k, max(k, LONGEST // unit.k * unit.k)
    if stays(high):
        return high
    while high - low > unit.k:
        middle = max((low + high) // 2 // unit.k * unit.k, unit.k)
        if stays(middle):
            low = middle
        else:
            high = middle
    return low


def _witness(algorithm: Algorithm, unit: Design, operands: Operands) -> Witness:
    """Return operands with the first operation that overflows, computed on integers."""
    numbers = [Shown(f"{n}[{i}]", OPERANDS, x) for n in "ab" for i, x in enumerate(getattr(operands, n))]
    numbers.append(Shown("c", OPERANDS, operands.c))
    for step in trace(algorithm, unit, operands).steps:
        fmt, pattern = step.result.fmt, step.result.word.data
        if overflows(_INTEGERS, step).data:
            return Witness(f"{step.label} overflows {fmt.name}", (*numbers, Shown(step.label, fmt, pattern)))
    raise AssertionError("a confirmed witness overflows nowhere")
