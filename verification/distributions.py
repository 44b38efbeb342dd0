"""Random operands: named, seeded distributions of bit patterns.

Every design is checked on ``normal``, ``uniform-bits``, ``edges``, ``with-zeros`` and ``subnormal``. ``aligned`` and
``cancelling`` put the terms of a dot product within reach of each other, because designs differ there. ``ties`` puts
the sum between two numbers of the output format.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import ml_dtypes
import numpy as np

from mmaproof.designs.catalogue import find_design
from mmaproof.designs.conversions import Rounding
from mmaproof.designs.design import Design
from mmaproof.designs.errors import InputError
from mmaproof.designs.formats import FORMATS, Format, Specials
from mmaproof.designs.operands import OperandBatch, Patterns, pattern_dtype, values_of
from mmaproof.designs.readings import NanCode
from mmaproof.smt.evaluate import ARRAYS
from mmaproof.smt.semantics.convert import Rules
from mmaproof.smt.semantics.ieee import convert_number
from mmaproof.smt.semantics.patterns import unpack

_FP64 = FORMATS["fp64"]
_Column = Callable[[Format, tuple[int, ...], np.random.Generator], Patterns]

Draw = Callable[[Design, int, int, np.random.Generator], OperandBatch]
"""design, rows, k, generator -> operands"""


def _column(draw: _Column) -> Draw:
    def batch(design: Design, rows: int, k: int, rng: np.random.Generator) -> OperandBatch:
        a, b, c, _ = design.formats
        scales = [_scales(design, rows, k, rng, draw) for _ in "ab"]
        return OperandBatch(draw(a, (rows, k), rng), draw(b, (rows, k), rng), draw(c, (rows,), rng), *scales)

    return batch


def _scales(
    design: Design, rows: int, k: int, rng: np.random.Generator, draw: _Column | None = None
) -> Patterns | None:
    """Return scales near one in half of the blocks, so that products still meet c, and those of ``draw`` elsewhere."""
    fmt = design.scale_format
    if fmt is None:
        return None
    shape = (rows, design.blocks(k))
    exponents = np.clip(rng.integers(fmt.bias - 2, fmt.bias + 3, shape), 0, (1 << fmt.exponent_bits) - 1)
    near: Patterns = (exponents << fmt.fraction_bits).astype(pattern_dtype(fmt))
    if fmt.fraction_bits:
        near |= rng.integers(0, 1 << fmt.fraction_bits, shape, dtype=near.dtype)
    if draw is None:
        return near
    return np.where(rng.random(shape) < 0.5, near, draw(fmt, shape, rng))


def from_float64(fmt: Format, values: np.ndarray) -> Patterns:
    """Return the patterns of ``values`` rounded to ``fmt``. Ignored bits of tf32 are zero, and integers saturate."""
    if fmt.is_integer:
        low, high = (-(1 << (fmt.bits - 1)), (1 << (fmt.bits - 1)) - 1) if fmt.signed else (0, (1 << fmt.bits) - 1)
        # a float next below 2**63 is the largest that int64 holds
        whole = np.clip(np.rint(values), low, min(high, (1 << 63) - 1024)).astype(np.int64).astype(np.uint64)
        narrow: Patterns = (whole & np.uint64((1 << fmt.bits) - 1)).astype(pattern_dtype(fmt))
        return narrow
    if not fmt.signed:
        values = np.abs(values)
    if fmt.chosen_bias is not None:
        # the same patterns mean the same numbers times a power of two in a format whose bias is the usual one
        layout = (fmt.exponent_bits, fmt.fraction_bits, fmt.specials)
        others = (f for f in FORMATS.values() if f.chosen_bias is None)
        plain = next((f for f in others if (f.exponent_bits, f.fraction_bits, f.specials) == layout), None)
        if plain is None or fmt.zero_field:
            return _nearest(fmt, values)
        return from_float64(plain, values * 2.0 ** (fmt.bias - plain.bias))
    if fmt.ml_dtypes_name is None and fmt.specials is Specials.NONE:
        # a format of IEEE 754 but for its largest exponent, whose infinity is a number here
        sizes = (fmt.exponent_bits, fmt.fraction_bits, fmt.ignored_bits)
        alike = (f for f in FORMATS.values() if (f.exponent_bits, f.fraction_bits, f.ignored_bits) == sizes)
        return from_float64(next(f for f in alike if f.specials is Specials.IEEE), values)
    if fmt.ml_dtypes_name is None:
        return _cut_fp32(fmt, values) if fmt.ignored_bits else _rounded(fmt, values)
    dtype = np.dtype(getattr(ml_dtypes, fmt.ml_dtypes_name, fmt.ml_dtypes_name))
    with np.errstate(over="ignore"):
        patterns: Patterns = values.astype(dtype).view(pattern_dtype(fmt))
    return patterns


def _cut_fp32(fmt: Format, values: np.ndarray) -> Patterns:
    single: Patterns = values.astype(np.float32).view(np.uint32)
    return single & np.uint32(~((1 << fmt.ignored_bits) - 1) & 0xFFFFFFFF)


def _rounded(fmt: Format, values: np.ndarray) -> Patterns:
    """Return the patterns of values rounded to nearest even, as the semantics convert numbers of fp64."""
    rules = Rules.of_format(fmt, Rounding.RNE)
    words = ARRAYS.from_patterns(values.astype(np.float64).view(np.uint64), _FP64.bits)
    found = convert_number(ARRAYS, rules, NanCode.QUIET, unpack(ARRAYS, _FP64, words))
    return np.asarray(found.data).astype(pattern_dtype(fmt))


def _nearest(fmt: Format, values: np.ndarray) -> Patterns:
    """Return the patterns of the finite numbers nearest to ``values``, of a format of up to 16 bits."""
    numbers = values_of(np.arange(1 << fmt.bits, dtype=np.uint32), fmt)
    finite = np.flatnonzero(np.isfinite(numbers))
    patterns = finite[np.argsort(numbers[finite], kind="stable")].astype(pattern_dtype(fmt))
    ordered = numbers[patterns]
    above = np.searchsorted(ordered, values).clip(1, len(ordered) - 1)
    nearer_below = values - ordered[above - 1] < ordered[above] - values
    found: Patterns = patterns[above - nearer_below]
    return found


def assemble(fmt: Format, negative: np.ndarray, field: np.ndarray, fraction: np.ndarray) -> Patterns:
    """Return patterns from sign, exponent field and fraction field."""
    dtype = pattern_dtype(fmt)
    bits = (field.astype(dtype) << dtype.type(fmt.fraction_bits)) | fraction.astype(dtype)
    bits = bits << dtype.type(fmt.ignored_bits)
    patterns: Patterns = bits | (negative.astype(dtype) << dtype.type(fmt.sign_position))
    return patterns


def _normal(fmt: Format, shape: tuple[int, ...], rng: np.random.Generator) -> Patterns:
    # integers: about as wide as the operands of a quantised network
    return from_float64(fmt, rng.standard_normal(shape) * (1 << fmt.bits // 2 if fmt.is_integer else 1))


def _uniform_bits(fmt: Format, shape: tuple[int, ...], rng: np.random.Generator) -> Patterns:
    return rng.integers(0, (1 << fmt.bits) - 1, shape, dtype=pattern_dtype(fmt), endpoint=True)


def edge_patterns(fmt: Format) -> list[int]:
    """Return the positive patterns at boundaries of a format, with zero, infinity and NaNs."""
    if fmt.is_integer:
        top = 1 << (fmt.bits - 1)
        return sorted(x for x in {0, 1, 2, top - 1, top, top + 1, 2 * top - 2, 2 * top - 1} if x < 2 * top)
    if not fmt.fraction_bits:
        return [0, 1, fmt.bias - 1, fmt.bias, fmt.bias + 1, fmt.max_finite - 1, fmt.max_finite, fmt.max_finite + 1]
    low = fmt.ignored_bits
    one = fmt.bias << fmt.fraction_bits
    min_normal = 1 << fmt.fraction_bits
    finite = [0, 1, 2, min_normal - 1, min_normal, min_normal + 1, one - 1, one, one + 1, one + min_normal]
    special = [p for p in (fmt.infinity, fmt.quiet_nan) if p is not None]
    if fmt.signed:
        special.append((1 << fmt.sign_position) - 1)
    largest = fmt.max_finite >> low
    return sorted({p << low for p in [*finite, largest - 1, largest]} | set(special))


def _edges(fmt: Format, shape: tuple[int, ...], rng: np.random.Generator) -> Patterns:
    patterns = rng.choice(np.array(edge_patterns(fmt), dtype=pattern_dtype(fmt)), shape)
    return _with_random_sign(fmt, patterns, rng)


def _with_random_sign(fmt: Format, patterns: Patterns, rng: np.random.Generator) -> Patterns:
    if not fmt.signed:
        return patterns
    sign = rng.integers(0, 2, patterns.shape, dtype=patterns.dtype)
    return patterns ^ (sign << patterns.dtype.type(fmt.sign_position))


def _with_zeros(fmt: Format, shape: tuple[int, ...], rng: np.random.Generator) -> Patterns:
    patterns = np.where(rng.random(shape) < 0.5, _normal(fmt, shape, rng), pattern_dtype(fmt).type(0))
    return _with_random_sign(fmt, patterns, rng)


def _subnormal(fmt: Format, shape: tuple[int, ...], rng: np.random.Generator) -> Patterns:
    if fmt.is_integer:
        return from_float64(fmt, rng.integers(-2, 3, shape).astype(np.float64))
    fields = rng.integers(0, min(4, 1 << fmt.exponent_bits), shape)
    fractions = rng.integers(0, 1 << fmt.fraction_bits, shape)
    return assemble(fmt, rng.integers(0, 2 if fmt.signed else 1, shape), fields, fractions)


def _sparse_fractions(fmt: Format, shape: tuple[int, ...], rng: np.random.Generator) -> np.ndarray:
    """Return fractions with no bit set, one bit, all bits from some bit on, or any bits."""
    f = fmt.fraction_bits
    if f == 0:
        return np.zeros(shape, dtype=np.int64)
    one = np.int64(1) << rng.integers(0, f, shape)
    kinds = rng.integers(0, 4, shape)
    anything = rng.integers(0, 1 << f, shape)
    return np.choose(kinds, [np.zeros(shape, dtype=np.int64), one, (1 << f) - one, anything])


def _around(fmt: Format, exponent: np.ndarray, rng: np.random.Generator, plain: np.ndarray | None = None) -> Patterns:
    """Return numbers with the given exponents, or the nearest that the format has. ``plain`` ones are powers of two.

    Below e_min they are subnormals with the top bit at the exponent.
    """
    field = np.clip(exponent - fmt.e_min + 1, 0, fmt.e_max - fmt.e_min + 1)
    fraction = _sparse_fractions(fmt, exponent.shape, rng)
    if plain is not None:
        fraction = np.where(plain, 0, fraction)
    fraction = np.minimum(fraction, np.where(field == fmt.e_max - fmt.e_min + 1, _top_fraction(fmt), fraction))
    below = np.clip(fmt.e_min - exponent, 0, fmt.fraction_bits)
    subnormal = ((np.int64(1) << fmt.fraction_bits) | fraction) >> below
    fraction = np.where(field == 0, subnormal & ((1 << fmt.fraction_bits) - 1), fraction)
    return assemble(fmt, rng.integers(0, 2 if fmt.signed else 1, exponent.shape), field, fraction)


def _top_fraction(fmt: Format) -> int:
    return (fmt.max_finite >> fmt.ignored_bits) & ((1 << fmt.fraction_bits) - 1)


def kept_bits(design: Design) -> int:
    """Return F; if products are not aligned, the fraction bits that rounding to fp32 keeps."""
    aligned = design.step.kept_bits
    return FORMATS["fp32"].fraction_bits if aligned is None else aligned


def _aligned(design: Design, rows: int, k: int, rng: np.random.Generator) -> OperandBatch:
    """Draw terms whose exponents lie at most about F + 3 below the largest, so that alignment cuts some of them."""
    a, b, c, _ = design.formats
    if c.is_integer:
        return _column(_uniform_bits)(design, rows, k, rng)
    reach = min(kept_bits(design), 60) + 3
    lowest, highest = a.e_min + b.e_min, a.e_max + b.e_max
    top = rng.integers(min(lowest + 1, highest), highest + 1, (rows, 1))
    wanted = np.maximum(top - rng.integers(0, reach, (rows, k)), lowest)
    for_a = np.clip(rng.integers(a.e_min, a.e_max + 1, (rows, k)), wanted - b.e_max, wanted - b.e_min)
    for_c = top[:, 0] - rng.integers(-2, reach, rows)
    batch = OperandBatch(_around(a, for_a, rng), _around(b, wanted - for_a, rng), _around(c, for_c, rng))
    # there are few products, so that the result shows the effect of each
    mask = rng.random((rows, k)) < rng.random((rows, 1))
    nothing = batch.a.dtype.type(0)
    scales = [_scales(design, rows, k, rng) for _ in "ab"]
    return OperandBatch(np.where(mask, batch.a, nothing), batch.b, batch.c, *scales)


def _cancelling(design: Design, rows: int, k: int, rng: np.random.Generator) -> OperandBatch:
    """Draw as ``aligned`` and repeat products with the opposite sign, so that the result shows what was cut."""
    batch = _aligned(design, rows, k, rng)
    partner = rng.permuted(np.tile(np.arange(k), (rows, 1)), axis=1)
    repeated = rng.random((rows, k)) < 0.5
    a = np.where(repeated, np.take_along_axis(batch.a, partner, 1), batch.a)
    b = np.where(repeated, np.take_along_axis(batch.b, partner, 1), batch.b)
    flip = a.dtype.type(1 << design.a_format.sign_position if design.a_format.signed else 0)
    return replace(batch, a=np.where(repeated, a ^ flip, a), b=b)


def _ties(design: Design, rows: int, k: int, rng: np.random.Generator) -> OperandBatch:
    """Draw sums near half a unit in the last place of the output, and a term about as far below e_max as the cut.

    One of c and the products has any magnitude. A power of two lies half a unit below it, and a small product, or c,
    decides whether the result is a tie. Elements of a that take no part are zero, and those of b are arbitrary.
    """
    if design.c_format.is_integer or k < 3:
        return _aligned(design, rows, k, rng)
    a, b, c, d = design.formats
    # of a netlist the conversion is not known
    p = design.step.conversion.fraction_bits if design.step.is_parametric else d.fraction_bits
    lowest, highest = a.e_min + b.e_min - a.fraction_bits - b.fraction_bits, a.e_max + b.e_max
    tiny = max(d.e_min - p - 3, lowest)
    base = rng.integers(tiny, max(min(d.e_min + 12, highest), tiny) + 1, rows)
    from_c = rng.random(rows) < 0.5
    # c may be larger than every product, as long as one product is half a unit of it
    top = np.where(from_c, max(min(c.e_max, highest + p + 1), highest), highest)
    base = np.where(rng.random(rows) < 0.5, base, rng.integers(lowest, top + 1))
    half = np.maximum(base, d.e_min) - p - 1
    small = np.maximum(base, half) - min(kept_bits(design), 60) + rng.integers(-3, 4, rows)
    exponents = np.stack([base, half, small], axis=1)
    slots = rng.permuted(np.tile(np.arange(k), (rows, 1)), axis=1)[:, :3]
    batch = _uniform_operands(design, rows, k, rng)
    least = [f.e_min - f.fraction_bits for f in (a, b)]
    split = rng.integers(least[0], a.e_max + 1, exponents.shape)
    split = np.clip(np.clip(split, exponents - b.e_max, exponents - least[1]), least[0], a.e_max)
    for column, fmt, exponent in ((batch.a, a, split), (batch.b, b, exponents - split)):
        np.put_along_axis(column, slots, _around(fmt, exponent, rng, plain=rng.random(exponents.shape) < 0.8), axis=1)
    small_c = ~from_c & (rng.random(rows) < 0.25)
    none = np.where(from_c, slots[:, 0], np.where(small_c, slots[:, 2], -1))
    batch.a[np.arange(k) == none[:, None]] = 0
    in_c = np.where(small_c, np.maximum(small, c.e_min - c.fraction_bits), base)
    held = _around(c, in_c, rng, plain=small_c & (rng.random(rows) < 0.8))
    accumulator = np.where(small_c | (from_c & (rng.random(rows) < 0.9)), held, batch.c)
    return replace(batch, c=accumulator)


def _uniform_operands(design: Design, rows: int, k: int, rng: np.random.Generator) -> OperandBatch:
    """Return a of zeros, b of finite patterns, c of zeros, scales near one."""
    a, b, c, _ = design.formats
    scales = [_scales(design, rows, k, rng) for _ in "ab"]
    return OperandBatch(
        np.zeros((rows, k), dtype=pattern_dtype(a)),
        _around(b, rng.integers(b.e_min, b.e_max + 1, (rows, k)), rng),
        np.zeros(rows, dtype=pattern_dtype(c)),
        *scales,
    )


COLUMNS: dict[str, _Column] = {
    "normal": _normal,
    "uniform-bits": _uniform_bits,
    "edges": _edges,
    "with-zeros": _with_zeros,
    "subnormal": _subnormal,
}
"""The distributions of the elements of one operand. Every design is checked on them."""

DISTRIBUTIONS: dict[str, Draw] = {
    **{name: _column(draw) for name, draw in COLUMNS.items()},
    "aligned": _aligned,
    "cancelling": _cancelling,
    "ties": _ties,
}

BASIC = tuple(COLUMNS)


def draw(name: str, design: Design, rows: int, k: int, rng: np.random.Generator) -> OperandBatch:
    """Return ``rows`` operand sets of length ``k`` from the distribution ``name``. InputError if unknown."""
    if name not in DISTRIBUTIONS:
        raise InputError(f"unknown distribution {name!r}: one of {', '.join(DISTRIBUTIONS)}")
    return DISTRIBUTIONS[name](design, rows, k, rng)


def random_operands(
    design: Design | str, rows: int, distribution: str = "normal", *, k: int | None = None, seed: int = 0
) -> OperandBatch:
    """Return ``rows`` random sets of operands of ``design``, or of the design of that name, as patterns.

    ``distribution`` is normal, uniform-bits, edges, with-zeros, subnormal, aligned, cancelling or ties.
    ``k`` is the length of the dot products, by default that of the design. The same ``seed`` gives the same operands.
    Raises DesignError for an unknown design or a length that it cannot run, InputError for an unknown
    distribution, and for numbers that are out of range.

    >>> import mmaproof
    >>> mmaproof.random_operands("volta/f32.f16.f16.f32", 3).a.shape
    (3, 4)
    """
    design = find_design(design)
    for name, value, least in (("rows", rows, 1), ("k", design.k if k is None else k, 1), ("seed", seed, 0)):
        if isinstance(value, bool) or not isinstance(value, int) or value < least:
            raise InputError(f"{name} = {value!r}: an integer from {least} on is needed")
    length = design.k if k is None else k
    design.padded_length(length)
    return draw(distribution, design, rows, length, np.random.default_rng(seed))
