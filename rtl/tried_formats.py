"""Which formats the ports of a unit may have, found by trying: widths do not tell fp16 from bf16, or e4m3 from int8.

For each combination of formats that has the widths, operand sets are made whose exact result is a number of d's format.
Nothing is rounded there, so every unit that adds products up returns that number, whatever its accumulator does. A
combination fits if the netlist returns it for all of these sets, and in part if it does for some: a unit with a fault,
or one whose products are too narrow. That is a guess and no proof: a person checks it, and ``mmaproof identify``
decides.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache, lru_cache
from itertools import islice, product
from operator import mul
from random import Random
from typing import Any, Final, NamedTuple

import numpy as np

from mmaproof.designs.errors import InputError
from mmaproof.designs.formats import FORMATS, Format, find_format
from mmaproof.designs.operands import OperandBatch, Patterns, pattern_dtype
from mmaproof.rtl.netlist import Module
from mmaproof.rtl.unit import design_of
from mmaproof.rtl.unit_file import UnitFile
from mmaproof.smt.evaluate import evaluate_batch

SETS: Final = 24
"""operand sets for each combination of formats"""
_LEAST: Final = SETS // 4
"""formats are not guessed from fewer sums"""
_TRIES: Final = 40
_WIDEST: Final = 64
_NARROW: Final = 4
"""bits of the elements of every other set of integers: their products fit in a product that is too narrow, too"""


@dataclass(frozen=True, slots=True)
class _Set:
    """The patterns of one operand set, and of what its products and c add up to."""

    a: tuple[int, ...]
    b: tuple[int, ...]
    c: int
    d: int


class Fitting(NamedTuple):
    """The combinations of formats of a, b, c and d for which a netlist ``returned`` most of the ``SETS`` sums.

    The most usual ones come first. There are none where too few sums were returned for a guess.
    """

    formats: Sequence[dict[str, str]] = ()
    returned: int = 0


def formats_that_fit(
    file: UnitFile, module: Module, widths: Mapping[str, int], adding: Format | None = None
) -> Fitting:
    """Return the formats of a, b, c and d that fit the netlist best.

    ``file`` maps the ports; its formats are not read. ``widths`` are the bits of a, b, c and d, all elements together,
    without c where the unit has none. ``adding`` is the format of all of them where the unit adds two numbers: its b
    is the constant 1. Nothing is tried, and nothing fits, where the unit cannot be read yet, and where an element or c
    or d is wider than 64 bits.
    """
    listed = {len(x) for x in (file.ports.get("a"), file.ports.get("b")) if isinstance(x, tuple)}
    common = math.gcd(widths["a"], widths["b"])
    if len(listed) > 1 or any(common % x for x in listed):
        return Fitting()
    # an element of every combination is one or more of these
    count = listed.pop() if listed else common // 2 if common % 2 == 0 and adding is None else 1
    counts = [count] if isinstance(file.ports["a"], tuple) else [x for x in range(1, count + 1) if count % x == 0]
    words = {n: widths[n] // count if n in "ab" else widths[n] for n in widths}
    if not all(2 <= x <= _WIDEST for x in words.values()):
        return Fitting()
    try:
        design = design_of(replace(file, formats={n: f"uint{x}" for n, x in words.items()}, design=None), module)
    except InputError:
        return Fitting()
    tried = [(x, _sets(x, n, adding is not None)) for n in counts for x in _combinations(widths, n, adding)]
    tried = [(x, sets) for x, sets in tried if len(sets) == SETS]
    every = [x for _, sets in tried for x in sets]
    if not every:
        return Fitting()
    a = _elements([_word(x.a, widths["a"]) for x in every], words["a"], count, design.a_format)
    b = _elements([_word(x.b, widths["b"]) for x in every], words["b"], count, design.b_format)
    c = np.array([x.c for x in every], pattern_dtype(design.c_format))
    seen = evaluate_batch(design, OperandBatch(a, b, c)).tolist()
    agrees = [x.d == y for x, y in zip(every, seen, strict=True)]
    returned = [sum(agrees[i * SETS : (i + 1) * SETS]) for i in range(len(tried))]
    most = max(returned)
    if most < _LEAST:
        return Fitting()
    best = (formats for (formats, _), sums in zip(tried, returned, strict=True) if sums == most)
    return Fitting([{n: x.name for n, x in formats.items()} for formats in best], most)


def _word(elements: Sequence[int], width: int) -> int:
    each = width // len(elements)
    return sum(x << (i * each) for i, x in enumerate(elements))


def _elements(words: Sequence[int], width: int, count: int, fmt: Format) -> Patterns:
    mask = (1 << width) - 1
    return np.array([[x >> (i * width) & mask for i in range(count)] for x in words], pattern_dtype(fmt))


def _combinations(widths: Mapping[str, int], products: int, only: Format | None) -> Iterator[dict[str, Format]]:
    """Yield formats of elements, c and d that have these widths: c has the format of d where it is as wide."""
    if only is not None:
        yield dict.fromkeys("abcd", only)
        return
    bits = {n: x // products if n in "ab" else x for n, x in widths.items()}
    of = {n: formats_of_width(x) for n, x in bits.items()}
    for d, a, b in product(of["d"], of["a"], of["b"]):
        for c in [d] if bits.get("c", bits["d"]) == bits["d"] else of["c"]:
            signs = d.signed or not (a.signed or b.signed)
            if len({x.is_integer for x in (a, b, c, d)}) == 1 and signs:
                yield {"a": a, "b": b, **({"c": c} if "c" in widths else {}), "d": d}


def formats_of_width(width: int) -> list[Format]:
    """Return the formats of a width that numbers with a sign have, and unsigned integers."""
    floats = [x for x in FORMATS.values() if x.bits == width and not x.is_integer and x.signed]
    return floats + ([find_format(f"{x}{width}") for x in ("int", "uint")] if 2 <= width <= _WIDEST else [])


def _sets(formats: Mapping[str, Format], products: int, adds: bool) -> list[_Set]:
    """Return as many operand sets as are tried; fewer where too few have a result that d's format holds."""
    found: list[_Set] = []
    if not formats["d"].is_integer:
        drawn = range(len(_small_numbers(products, "c" in formats, adds)))
        rows = ({n: _patterns(x, n, i, products, "c" in formats, adds) for n, x in formats.items()} for i in drawn)
        return list(islice(_encoded(rows), SETS))
    random = Random(products)
    for bits in (_WIDEST, _NARROW):
        numbers = (_integers(formats, products, bits, adds, random) for _ in range(_TRIES * SETS))
        rows = ({n: _encode(x, formats[n]) for n, x in each.items()} for each in numbers)
        found += islice(_encoded(rows), SETS // 2)
    return found


_Numbers = dict[str, tuple[Fraction, ...]]
"""The numbers of a, b, c and d: of c and d one, and none of c where the unit has none."""


def _with_sum(a: Sequence[Fraction], b: Sequence[Fraction], c: Sequence[Fraction], adds: bool) -> _Numbers:
    b = [Fraction(1)] if adds else b
    numbers = {"a": tuple(a), "b": tuple(b), "d": (sum(map(mul, a, b), sum(c, Fraction(0))),)}
    return {**numbers, "c": tuple(c)} if c else numbers


def _integers(formats: Mapping[str, Format], products: int, bits: int, adds: bool, random: Random) -> _Numbers:
    """Return any integers; elements have at most ``bits`` bits."""

    def drawn(fmt: Format, width: int) -> Fraction:
        return Fraction(random.randrange(-(1 << (width - 1)) if fmt.signed else 0, 1 << (width - fmt.signed)))

    a, b = ([drawn(formats[n], min(formats[n].bits, bits)) for _ in range(products)] for n in "ab")
    c = [drawn(formats["c"], random.randrange(2, formats["c"].bits + 1))] if "c" in formats else []
    return _with_sum(a, b, c, adds)


@cache
def _small_numbers(products: int, has_c: bool, adds: bool) -> tuple[_Numbers, ...]:
    """Return numbers near 1 in one or two places of a and b, zeros in the others, and c, whose sum is not zero."""
    random = Random(products)
    found = []
    for _ in range(_TRIES * SETS):
        a, b = ([Fraction(0)] * products for _ in "ab")
        for i in random.sample(range(products), min(products, random.choice((1, 2)))):
            a[i], b[i] = (random.choice((-1, 1)) * Fraction(random.choice((1, 2, 3, 4)), 2) for _ in "ab")
        c = [Fraction(random.choice((0, 1, -1, 2, -2)), random.choice((1, 4)))] if has_c else []
        found.append(_with_sum(a, b, c, adds))
    return tuple(x for x in found if x["d"][0])


@lru_cache(1 << 16)
def _patterns(fmt: Format, operand: str, index: int, *drawn: Any) -> tuple[int, ...] | None:
    """Return the patterns of an operand of ``_small_numbers(*drawn)``, which many combinations of formats share."""
    return _encode(_small_numbers(*drawn)[index][operand], fmt)


def _encode(numbers: Sequence[Fraction], fmt: Format) -> tuple[int, ...] | None:
    """Return the patterns of numbers; None if the format does not have them all."""
    try:
        return tuple(map(fmt.encode, numbers))
    except InputError:
        return None


def _encoded(rows: Iterable[Mapping[str, tuple[int, ...] | None]]) -> Iterator[_Set]:
    """Yield the sets of the rows whose numbers all have patterns."""
    for row in rows:
        a, b, c, d = row["a"], row["b"], row.get("c", (0,)), row["d"]
        if a is not None and b is not None and c is not None and d is not None:
            yield _Set(a, b, c[0], d[0])
