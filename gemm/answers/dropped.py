"""The loss of an algorithm: products of words that it does not compute, and words that it does not have."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from mmaproof.designs.design import Design
from mmaproof.designs.errors import InputError
from mmaproof.designs.operands import Patterns
from mmaproof.gemm.answers.split import NONE, broadcast, dense, relative_bound, split_values, split_witness
from mmaproof.gemm.answers.verdict import ROUNDS, AlgorithmVerdict, Asked, Shown, Witness, unknown, window_of
from mmaproof.gemm.programs.algorithm import OPERANDS
from mmaproof.gemm.programs.arithmetic import Number, Span, exact_value
from mmaproof.gemm.programs.split_gemm import SplitGemm
from mmaproof.gemm.questions.split import Part, PartIsBounded, Splitting, Window
from mmaproof.properties.preconditions import Precondition
from mmaproof.smt.algebra.arrays import ArrayAlgebra
from mmaproof.smt.algebra.integers import IntegerAlgebra
from mmaproof.smt.solving.verdict import Status

_ARRAYS = ArrayAlgebra()
_INTEGERS = IntegerAlgebra()

BOUND_BITS = 14
"""Bits of the constants in lemmas. So a bound on a part of an operand is too large by at most 2**-13 of itself."""
PARENTS = 20
"""The number of operands of each kind that are paired in the search for a large error."""


LEFT_OUT = "|a*b - the products of words that are kept|"


@dataclass(frozen=True)
class Pair:
    """Two operands, and the part of their product that is left out, relative to the product."""

    a: int
    b: int
    error: Fraction


def check_dropped(
    algorithm: SplitGemm, unit: Design, where: Sequence[Precondition], below: int | None, asked: Asked
) -> AlgorithmVerdict:
    """Find the largest q with ``|a*b - kept products of words| <= 2**-q |a*b|``, or decide whether ``below`` is one.

    a and b are nonzero numbers of the window that ``where`` states. Without a window they are of the one in which the
    splits of both have the smallest relative errors.
    """
    splittings = {n: Splitting.of(algorithm, unit, n) for n in "ab"}
    given = window_of(where)
    window, problem = (given, "") if given else _default_window(splittings, asked)
    if window is None:
        return asked.verdict(Status.UNKNOWN, "the window of exponents is not settled", reason=problem)
    bounds: dict[str, dict[Part, Fraction]] = {}
    for name, splitting in splittings.items():
        found = _bounds(splitting, window, asked)
        if isinstance(found, AlgorithmVerdict):
            return found
        bounds[name] = found
    total = _composed(algorithm, splittings, bounds)
    worst = _worst_pair(algorithm, splittings, window, asked.means.seed)
    places = _places(total) if total else None
    proved = f"{LEFT_OUT} = 0" if places is None else f"{LEFT_OUT} <= 2^-{places} |a*b|"
    status, conclusion, reason = Status.PROVED, proved, None
    if below is not None:
        conclusion = f"{LEFT_OUT} <= 2^-{below} |a*b|"
        if worst.error > Fraction(1, 1 << below):
            status = Status.REFUTED
        elif total > Fraction(1, 1 << below):
            status = Status.UNKNOWN
            reason = f"2^-{places} is proved, and nothing was found beyond {float(worst.error):.6g}"
    return asked.verdict(
        status,
        conclusion,
        values={
            "exponents": {"low": window.low, "high": window.high},
            "places": places,
            "bound": str(total),
            "largest_found": str(worst.error),
            "below": below,
        },
        details=(
            f"a and b nonzero with floor(log2|x|) in {window}",
            f"composed from lemmas: {proved}; the bound itself is {float(total):.6g} |a*b|",
            f"largest found: {float(worst.error):.6g} |a*b|",
        ),
        witnesses=() if not worst.error else (_pair_witness(splittings, worst),),
        reason=reason,
    )


def _bounds(splitting: Splitting, window: Window, asked: Asked) -> dict[Part, Fraction] | AlgorithmVerdict:
    """Return proved bounds on the parts of an operand, relative to it, or a verdict that says why there are none."""
    bounds: dict[Part, Fraction] = {}
    for part in _parts(splitting):
        bound, failing, problem = _part_bound(splitting, part, window, asked)
        if failing is not None:
            shown = split_witness(splitting, failing, f"{part} is not a number, or more than |x|")
            return asked.verdict(Status.REFUTED, f"no bound holds for exponents {window}", witnesses=(shown,))
        if bound is None:
            return asked.verdict(Status.UNKNOWN, f"no bound on {part} is proved", reason=problem)
        bounds[part] = bound
    return bounds


def _default_window(splittings: Mapping[str, Splitting], asked: Asked) -> tuple[Window | None, str]:
    """Return the exponents for which the splits of both operands have their smallest relative errors."""
    low, high = -(1 << 15), 1 << 15
    for splitting in dict.fromkeys(splittings.values()):
        bound, problem = relative_bound(splitting, None, asked)
        if bound is None or bound.places == NONE:
            return None, problem or "a word is not finite at any exponent: state a window with --where"
        low, high = max(low, bound.window.low), min(high, bound.window.high)
    if low > high:
        raise InputError("a and b are split best at different exponents: state a window with --where exponents=LO..HI")
    return Window(low, high), ""


def _parts(splitting: Splitting) -> list[Part]:
    """Return the parts to be bounded: the rest after all words, the rest after the first, and every other word."""
    parts = [Part(i, True) for i in sorted({0, splitting.count - 1})]
    return parts + [Part(i, False) for i in range(1, splitting.count)]


def _part_bound(
    splitting: Splitting, part: Part, window: Window, asked: Asked
) -> tuple[Fraction | None, int | None, str]:
    """Return a proved bound relative to |x|, or a number for which |x| is not a bound, or why there is neither."""
    middle = (window.low + window.high) // 2
    patterns = dense(sorted({window.low, min(window.low + 1, window.high), middle, window.high}), asked.means.seed)
    largest, failing = _largest(splitting, part, patterns)
    for _ in range(ROUNDS):
        if failing is not None:
            return None, failing, ""
        bound = _rounded_up(largest)
        lemma = PartIsBounded(splitting, part, bound, window)
        verdict = asked.prove(lemma)
        if verdict.status is Status.PROVED:
            return bound, None, ""
        if verdict.witness is None:
            break
        more, failing = _largest(splitting, part, np.array([lemma.operand(verdict.witness)], dtype=np.uint32))
        largest = max(largest, more)
    return None, None, unknown(verdict)


def _largest(splitting: Splitting, part: Part, patterns: Patterns) -> tuple[Fraction, int | None]:
    """Return the largest value of a part relative to its operand, and a number for which it has no value up to 1."""
    values = split_values(splitting, patterns)
    magnitude, sound = part.value(_ARRAYS, values)
    size = np.abs(broadcast(values.operand.data, patterns))
    found = broadcast(magnitude.data, patterns)
    bad = np.flatnonzero(~broadcast(sound.data, patterns) | (found > size))
    at = int(np.argmax(found / size))
    return Fraction(int(found[at]), int(size[at])), int(patterns[bad[0]]) if len(bad) else None


def _rounded_up(ratio: Fraction) -> Fraction:
    """Return ``ratio`` rounded up to ``BOUND_BITS`` bits, at most 1."""
    if not ratio:
        return ratio
    scale = Fraction(1 << (BOUND_BITS + _places(ratio)))
    return Fraction(-(-ratio * scale // 1)) / scale


def _places(bound: Fraction) -> int:
    """Return the largest p with ``bound <= 2**-p``."""
    places = bound.denominator.bit_length() - bound.numerator.bit_length()
    while bound > Fraction(1, 1) / (Fraction(2) ** places):
        places -= 1
    while bound <= Fraction(1, 1) / (Fraction(2) ** (places + 1)):
        places += 1
    return places


def _composed(
    algorithm: SplitGemm, splittings: Mapping[str, Splitting], bounds: Mapping[str, Mapping[Part, Fraction]]
) -> Fraction:
    """Return the bound on the whole loss that follows from the bounds on parts.

    Let A and B be the sums of the words of a and b. Then ``|ab - AB| <= |a| |b - B| + |a - A| |B|`` and
    ``|B| <= |b| + |b - B|``. The products of words that are not kept are added to that. The first word is at most
    ``|x| + |x - x[0]|``.
    """
    (rest_a, words_a), (rest_b, words_b) = (_bounds_of(splittings[n], bounds[n]) for n in "ab")
    total = rest_b + rest_a * (1 + rest_b)
    kept = set(algorithm.products.pairs)
    for i, first in enumerate(words_a):
        for j, second in enumerate(words_b):
            if (i, j) not in kept:
                total += first * second
    return total


def _bounds_of(splitting: Splitting, bounds: Mapping[Part, Fraction]) -> tuple[Fraction, list[Fraction]]:
    """Return the bound on the rest after all words, and the bound on each word."""
    words = [1 + bounds[Part(0, True)], *(bounds[Part(i, False)] for i in range(1, splitting.count))]
    return bounds[Part(splitting.count - 1, True)], words


def _worst_pair(algorithm: SplitGemm, splittings: Mapping[str, Splitting], window: Window, seed: int) -> Pair:
    """Return the pair with the largest error among the operands with the largest parts."""
    middle = (window.low + window.high) // 2
    candidates = {n: _candidates(s, dense([middle], seed)) for n, s in splittings.items()}
    words = {n: [(x, *_exact_words(splittings[n], x)) for x in xs] for n, xs in candidates.items()}
    best = Pair(0, 0, Fraction(-1))
    for x, a, of_a in words["a"]:
        for y, b, of_b in words["b"]:
            kept = sum((of_a[i] * of_b[j] for i, j in algorithm.products.pairs), Fraction(0))
            error = abs(a * b - kept) / abs(a * b)
            if error > best.error:
                best = Pair(x, y, error)
    return best


def _candidates(splitting: Splitting, patterns: Patterns) -> list[int]:
    """Return operands with the largest parts, in either direction."""
    values = split_values(splitting, patterns)
    size = np.abs(broadcast(values.operand.data, patterns))
    found: list[int] = []
    signed = [values.rest(_ARRAYS, splitting.count), *values.words[1:]]
    for x in signed:
        order = np.argsort(broadcast(x.data, patterns) / size, kind="stable")
        found += [int(p) for p in patterns[np.concatenate([order[: PARENTS // 2], order[-PARENTS // 2 :]])]]
    return sorted(set(found))


def _exact_words(splitting: Splitting, pattern: int) -> tuple[Fraction, list[Fraction]]:
    """Return an operand and its words, scaled back, exactly; computed on integers."""
    x = _INTEGERS.unsigned(pattern, OPERANDS.bits)
    words = [_exact(n) * splitting.scaled_back(i) for i, n in enumerate(splitting.read_words(_INTEGERS, x))]
    return _exact(Number(OPERANDS, x, Span.of_format(OPERANDS))), words


def _exact(x: Number[int]) -> Fraction:
    span = Span.of_format(x.fmt)
    return exact_value(_INTEGERS, x, span)[0].data * Fraction(2) ** span.least


def _pair_witness(splittings: Mapping[str, Splitting], pair: Pair) -> Witness:
    """Return two operands and their words, and the bound that their error exceeds."""
    numbers = [
        Shown(n.name.replace("x", name), n.fmt, n.pattern)
        for name, pattern in (("a", pair.a), ("b", pair.b))
        for n in split_witness(splittings[name], pattern, "").numbers
    ]
    shows = f"2^-{_places(pair.error) + 1} |a*b| is exceeded: {float(pair.error):.6g} |a*b|"
    return Witness(shows, tuple(numbers))
