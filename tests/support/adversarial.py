"""Operands that make a unit lose as much as it can: terms just below what is kept, cancellations, ends of ranges."""

from fractions import Fraction

import numpy as np

from mmaproof.designs.design import Design
from mmaproof.designs.formats import Format
from mmaproof.designs.operands import OperandBatch, Patterns, pattern_dtype, values_of


def ones(fmt: Format, exponents: np.ndarray, negative: np.ndarray, drop: np.ndarray) -> Patterns:
    """Return numbers of these exponents whose fraction bits are all ones but for ``drop`` of the lowest."""
    exponents = np.clip(exponents, fmt.e_min, fmt.e_max - 1)
    fraction = ((1 << fmt.fraction_bits) - 1) >> drop << drop
    bits = ((exponents + fmt.bias) << fmt.fraction_bits) | fraction
    found = (bits << fmt.ignored_bits) | np.where(negative, 1 << fmt.sign_position, 0)
    patterns: Patterns = found.astype(pattern_dtype(fmt))
    return patterns


def losing(design: Design, rows: int, k: int, rng: np.random.Generator) -> OperandBatch:
    """Return rows whose products lie about F below the largest term: each loses nearly one unit of the alignment.

    Signs are equal, random, or cancel the largest terms. Some rows are near the ends of the formats' ranges.
    """
    a, b, c, _ = design.formats
    reach = min(design.step.kept_bits or 24, 40) + 4
    shape = rows, k
    top = rng.choice([0, 0, 0, a.e_max + b.e_max - 2, a.e_min + b.e_min + 3], (rows, 1))
    exponents = top - rng.choice([0, 1, reach - 6, reach - 5, reach - 4, reach - 3, reach - 2], shape)
    exponents[:, 0] = top[:, 0]
    of_a = np.clip(exponents // 2, a.e_min, a.e_max - 1)
    kinds = rng.integers(0, 3, (rows, 1))
    signs = np.where(kinds == 0, False, rng.integers(0, 2, shape).astype(bool))
    signs = np.where((kinds == 2) & (np.arange(k) % 2 == 1), ~np.roll(signs, 1, axis=1), signs)
    drops = [rng.integers(0, f.fraction_bits + 1, shape) for f in (a, b)]
    of_c = top[:, 0] + rng.choice([0, 1, -reach + 4, 3], rows)
    start = ones(c, of_c, rng.integers(0, 2, rows).astype(bool), rng.integers(0, 3, rows))
    start = np.where(rng.random(rows) < 0.2, start.dtype.type(0), start)
    scales: list[Patterns | None] = [None, None]
    if design.scale_format is not None:
        fmt = design.scale_format
        count = rows, design.blocks(k)
        one = rng.integers(fmt.bias - 3, fmt.bias + 4, (rows, 1)) << fmt.fraction_bits
        scales = [np.broadcast_to(one, count).astype(pattern_dtype(fmt)) for _ in "ab"]
    no = np.zeros(shape, dtype=bool)
    return OperandBatch(ones(a, of_a, signs, drops[0]), ones(b, exponents - of_a, no, drops[1]), start, *scales)


def constant(design: Design, rows: int, k: int, rng: np.random.Generator) -> OperandBatch:
    """Return rows whose products are all the same and positive, about F below c, so that errors add up."""
    a, b, c, _ = design.formats
    reach = min(design.step.kept_bits or 24, 40)
    of_products = rng.integers(-reach - 2, 3, rows)
    columns = []
    for fmt, exponent in ((a, of_products // 2), (b, of_products - of_products // 2)):
        field = np.clip(exponent, fmt.e_min, fmt.e_max - 1) + fmt.bias
        bits = (field << fmt.fraction_bits) | rng.integers(0, 1 << fmt.fraction_bits, rows)
        column = (bits << fmt.ignored_bits).astype(pattern_dtype(fmt))
        columns.append(np.ascontiguousarray(np.broadcast_to(column[:, None], (rows, k))))
    start = ((c.bias << c.fraction_bits) | rng.integers(0, 1 << c.fraction_bits, rows)).astype(pattern_dtype(c))
    scales: list[Patterns | None] = [None, None]
    if design.scale_format is not None:
        fmt = design.scale_format
        field = fmt.bias - rng.integers(0, min(9, fmt.bias), (rows, 1)) << fmt.fraction_bits
        scales = [np.broadcast_to(field, (rows, design.blocks(k))).astype(pattern_dtype(fmt)) for _ in "ab"]
    return OperandBatch(columns[0], columns[1], np.where(rng.random(rows) < 0.3, start.dtype.type(0), start), *scales)


def exact_sums(design: Design, batch: OperandBatch) -> list[Fraction | None]:
    """Return ``c + sum a*b`` of each row, exactly; None where an operand is an infinity or a NaN."""
    a, b = values_of(batch.a, design.a_format), values_of(batch.b, design.b_format)
    scales = [np.ones_like(a), np.ones_like(b)]
    if design.scale_format is not None and batch.scale_a is not None and batch.scale_b is not None:
        block = design.block or 1
        scales = [np.repeat(values_of(x, design.scale_format), block, axis=1) for x in (batch.scale_a, batch.scale_b)]
    c = values_of(batch.c, design.c_format)
    found: list[Fraction | None] = []
    for row in zip(a, b, *scales, c, strict=True):
        if not all(np.isfinite(x).all() for x in row):
            found.append(None)
            continue
        products = (Fraction(x) * Fraction(y) * Fraction(s) * Fraction(t) for x, y, s, t in zip(*row[:4], strict=True))
        found.append(sum(products, Fraction(row[4])))
    return found
