"""The operands that a unit is asked first: masked ones, which show its summation tree, sparse ones, and random ones.

Ladders: rows in which an exponent falls step by step, so that each integer of a design shows where it takes effect.

* The largest exponent of nonzero terms falls below ``floor`` or ``e_zero``: e_max stays there, and bits are lost.
* The distance between two terms grows beyond ``fraction_bits`` or ``late_bits``: from there on the lower term is lost.
* A product reaches ``product_limit``: from there on it is an infinity.

A lost term shows in d if the sum without it is just where rho changes its result: a number of the output format, or the
middle between two. Each rung is asked both ways. An integer is then decided by the rung from which on answers differ,
so that no value has to be tried to be excluded.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache

import numpy as np

from mmaproof.designs.design import Design
from mmaproof.designs.formats import Format
from mmaproof.designs.operands import OperandBatch, Patterns, pattern_dtype
from mmaproof.verification.distributions import DISTRIBUTIONS, draw

MOST_PAIRS = 600
SPARSE_ROWS, DENSE_ROWS = 40, 24
"""Rows of each distribution with few nonzero products, and with all of them."""


@dataclass(frozen=True)
class Probes:
    """Rows to ask, and the kind of each."""

    batch: OperandBatch
    kinds: tuple[str, ...]


def first_probes(design: Design, seed: int) -> Probes:
    """Return the rows of the first batch for units with the formats, scales and K of ``design``."""
    rng = np.random.default_rng(seed)
    parts = {"tree": tree(design), "carry": carry(design), "halves": halves(design, rng)}
    for name in DISTRIBUTIONS:
        parts[f"dense {name}"] = draw(name, design, DENSE_ROWS, design.k, rng)
        parts[f"sparse {name}"] = sparse(design, draw(name, design, SPARSE_ROWS, design.k, rng), rng)
    kinds = tuple(kind for kind, batch in parts.items() for _ in range(len(batch)))
    return Probes(OperandBatch.concatenate(list(parts.values())), kinds)


def plain(design: Design, rows: int) -> OperandBatch:
    """Return operands of zeros, and scales of one."""
    a, b, c, _ = design.formats
    blocks, scale = design.blocks(design.k), design.scale_format
    ones = None if scale is None else np.full((rows, blocks), scale.encode(1), dtype=pattern_dtype(scale))
    shape = (rows, design.k)
    return OperandBatch(
        np.zeros(shape, dtype=pattern_dtype(a)),
        np.zeros(shape, dtype=pattern_dtype(b)),
        np.zeros(rows, dtype=pattern_dtype(c)),
        ones,
        None if ones is None else ones.copy(),
    )


def extremes(design: Design) -> tuple[tuple[int, int], tuple[int, int]] | None:
    """Return patterns of a and b whose product is a large power of two, and of those of the smallest normal one.

    The large one leaves room for the sum of all products in d. None for integer units.
    """
    a, b, c, d = design.formats
    if d.is_integer:
        return None
    margin = design.k.bit_length()
    top = min(a.e_max + b.e_max, min(c.e_max, d.e_max) - margin)
    for_a = min(a.e_max, top - b.e_min)
    low = max(a.e_min + b.e_min, d.e_min - d.fraction_bits + margin)
    small_a = max(a.e_min, low - b.e_max)
    large = power(a, for_a), power(b, top - for_a)
    return large, (power(a, small_a), power(b, low - small_a))


@cache
def power(fmt: Format, exponent: int) -> int:
    """Return the pattern of ``2**exponent``."""
    return fmt.encode(2.0**exponent)


def pairs(k: int) -> list[tuple[int, int]]:
    """Return the pairs (i, j) of products, i < j, that the tree is read from: all, or those at powers of two apart."""
    everything = [(i, j) for i in range(k) for j in range(i + 1, k)]
    if len(everything) <= MOST_PAIRS:
        return everything
    return [(i, j) for i, j in everything if (j - i) & (j - i - 1) == 0]


def tree(design: Design) -> OperandBatch:
    """Return rows in which two products are large and cancel, and every other one is small and the same.

    Small terms that are added before the large ones have cancelled are lost, so d counts those that come after
    (Xie et al. 2026, section 4.1; the masked inputs of FPRev). In the second half one of the two large terms is c.
    """
    found = extremes(design)
    if found is None:
        return plain(design, 0)
    (large_a, large_b), (small_a, small_b) = found
    ij = pairs(design.k)
    batch = plain(design, len(ij) + design.k)
    batch.a[:], batch.b[:] = small_a, small_b
    minus = 1 << design.a_format.sign_position
    for row, (i, j) in enumerate(ij):
        batch.a[row, [i, j]], batch.b[row, [i, j]] = (large_a, large_a | minus), large_b
    c = design.c_format
    exponent = sum(_exponent(f, x) for f, x in zip(design.formats[:2], (large_a, large_b), strict=True))
    for i in range(design.k):
        row = len(ij) + i
        batch.a[row, i], batch.b[row, i] = large_a | minus, large_b
        batch.c[row] = power(c, exponent)
    return batch


def _exponent(fmt: Format, pattern: int) -> int:
    return (pattern >> (fmt.fraction_bits + fmt.ignored_bits)) - fmt.bias


def carry(design: Design) -> OperandBatch:
    """Return rows of the largest sums: the same product many times, with either sign, and c as large or zero."""
    a, b, c, d = design.formats
    batch = plain(design, 0)
    rows = []
    for share in (1, 2, 4):
        for negative in (False, True):
            for with_c in (False, True):
                one = plain(design, 1)
                x, y = (_nearly_two(f) for f in (a, b))
                sign = 1 << a.sign_position if negative and a.signed else 0
                one.a[:, ::share], one.b[:, ::share] = x | sign, y
                if with_c:
                    one.c[:] = _nearly_two(c) | (1 << c.sign_position if negative else 0)
                rows.append(one)
    del d, batch
    return OperandBatch.concatenate(rows)


def _nearly_two(fmt: Format) -> int:
    """Return the largest number below two, or of all where none is as large as one; of integers the largest."""
    if fmt.is_integer:
        return (1 << (fmt.bits - fmt.signed)) - 1
    return min(power(fmt, min(0, fmt.e_max)) | (((1 << fmt.fraction_bits) - 1) << fmt.ignored_bits), fmt.max_finite)


def halves(design: Design, rng: np.random.Generator) -> OperandBatch:
    """Return rows whose first half adds up to something huge, and whose second half to the opposite."""
    a, b, _, _ = design.formats
    if a.is_integer:
        return plain(design, 0)
    batch = plain(design, 8)
    at = rng.integers(0, design.k // 2 or 1, 8)
    for row in range(len(batch)):
        i, j = int(at[row]), (design.k // 2 + int(at[row])) % design.k
        for place, sign in ((i, 0), (j, 1)):
            batch.a[row, place] = (a.max_finite if row % 2 else power(a, a.e_max)) | sign << a.sign_position
            batch.b[row, place] = b.max_finite if row < 4 else power(b, min(b.e_max, 1 + row % 3))
    return batch


def sparse(design: Design, batch: OperandBatch, rng: np.random.Generator) -> OperandBatch:
    """Return the rows with one to three of their products kept, the others 0 * 0; in a third of them c is zero."""
    rows, k = batch.a.shape
    order = rng.permuted(np.tile(np.arange(k), (rows, 1)), axis=1)
    kept = order < rng.integers(1, min(3, k) + 1, rows)[:, None]

    def masked(x: Patterns) -> Patterns:
        return np.where(kept, x, x.dtype.type(0))

    c = np.where(rng.random(rows) < 1 / 3, batch.c.dtype.type(0), batch.c)
    return OperandBatch(masked(batch.a), masked(batch.b), c, batch.scale_a, batch.scale_b)


RUNGS = 160
"""Most steps of a ladder. One that is longer has rungs several exponents apart, where terms have that many bits."""
GAPS = 400
"""Most steps of a ladder of distances."""
SHORT = (5, 10, 15, 20)
"""Distances of the low term of a sum that is subnormal in d, beside F."""
NEAR = 64
"""Distances that are asked at two exponents."""


@dataclass(frozen=True)
class Product:
    """The product ``2**exponent`` times the smallest significands, or with ``full`` the largest; ``negative`` or not.

    ``at`` counts the products of the last step of the first instruction.
    """

    at: int
    exponent: int
    negative: bool = False
    full: bool = False


@dataclass
class _Rows:
    """Rows of one design while they are made; a row whose numbers the formats do not have is left out."""

    design: Design
    kinds: list[str] = field(default_factory=list)
    a: list[tuple[int, ...]] = field(default_factory=list)
    b: list[tuple[int, ...]] = field(default_factory=list)
    c: list[int] = field(default_factory=list)
    scales: tuple[list[tuple[int, ...]], list[tuple[int, ...]]] = field(default_factory=lambda: ([], []))

    def __post_init__(self) -> None:
        step, k = self.design.step, self.design.k
        self.order = self.design.chain.k_order.permutation(k)[k - step.L :]

    def add(self, kind: str, products: Sequence[Product], c: int | None, *, filled: bool = False) -> None:
        """Add a row, if every number of it exists; ``c`` is a pattern, None if there is none.

        The other products are zeros, or if it is ``filled`` the smallest ones: then no zero has an exponent.
        """
        design = self.design
        k, block = design.k, design.block or design.k
        if c is None or any(x.at >= len(self.order) for x in products):
            return
        smallest = [filled << f.ignored_bits for f in design.formats[:2]]
        a, b, scales = [smallest[0]] * k, [smallest[1]] * k, {}
        for first in {self.order[x.at] // block for x in products}:
            inside = [x for x in products if self.order[x.at] // block == first]
            of_block = _scale(design, [x.exponent for x in inside])
            if of_block is None:
                return
            scales[first] = of_block
            for x in inside:
                pair = _elements(design, x.exponent - sum(of_block), full=x.full)
                if pair is None:
                    return
                at = self.order[x.at]
                a[at], b[at] = pair[0] | x.negative << design.a_format.sign_position, pair[1]
        self.kinds.append(kind)
        self.a.append(tuple(a))
        self.b.append(tuple(b))
        self.c.append(c)
        fmt = design.scale_format
        if fmt is not None:
            for side, column in enumerate(self.scales):
                lowest = (fmt.e_min, fmt.e_min)
                column.append(tuple(power(fmt, scales.get(i, lowest)[side]) for i in range(design.blocks(k))))

    def probes(self) -> Probes:
        """Return the rows."""
        if not self.kinds:
            return Probes(plain(self.design, 0), ())
        like = plain(self.design, 1)
        scales: list[Patterns | None] = [None, None]
        if like.scale_a is not None:
            scales = [np.array(x, dtype=like.scale_a.dtype) for x in self.scales]
        batch = OperandBatch(
            np.array(self.a, dtype=like.a.dtype),
            np.array(self.b, dtype=like.b.dtype),
            np.array(self.c, dtype=like.c.dtype),
            *scales,
        )
        return Probes(batch, tuple(self.kinds))


def ladders(design: Design, most: int | None = None) -> Probes:
    """Return the rows for units that may be ``design``, whose F and rho decide where a lost term shows in d.

    The kind of a row names its ladder. Of more than ``most`` rows, some are left out evenly. Integer units have none.
    """
    rows = _Rows(design)
    if not design.d_format.is_integer:
        for make in (_single_terms, _sums, _distances, _large_products):
            make(rows)
    found = rows.probes()
    if most is None or len(found.kinds) <= most:
        return found
    kept = slice(None, None, -(-len(found.kinds) // max(most, 1)))
    return Probes(found.batch.select(kept), found.kinds[kept])


def _single_terms(rows: _Rows) -> None:
    """Add one product, or c, with all bits of its significand set: its low bits go first."""
    design = rows.design
    smallest = 1 << design.c_format.ignored_bits
    for e in _rungs(product_exponents(design), design):
        for filled, c in ((False, 0), (True, 0), (False, smallest), (True, smallest)):
            rows.add("ladder: product", [Product(0, e, full=True)], c, filled=filled)
    for e in _rungs(_exponents(design.c_format), design):
        for filled in (False, True):
            rows.add("ladder: c", [], _full(design.c_format, e), filled=filled)


def _sums(rows: _Rows) -> None:
    """Add a term, the half of d's last place or nothing, and a term that is just kept where the first leads."""
    design = rows.design
    kept = design.step.kept_bits or design.step.conversion.fraction_bits + 2
    lowest = product_exponents(design)
    for e in _rungs(lowest, design):
        # numbers below the smallest normal one have a last place that stays where it is
        others = SHORT if e <= design.d_format.e_min else ()
        for gap in (kept, kept - 1, *others):
            for middle in (False, True):
                _two_terms(rows, "products", e, gap, middle=middle)
        _two_terms(rows, "product, c", e, kept, middle=False)
        _two_terms(rows, "product, c", e, kept, middle=True)
    for e in _rungs(_exponents(design.c_format), design):
        for middle in (False, True):
            _two_terms(rows, "c, product", e, kept, middle=middle)


def _distances(rows: _Rows) -> None:
    """Add two terms that are further and further apart."""
    design = rows.design
    top = min(product_exponents(design)[-1], design.d_format.e_max - 2)
    of_c = min(design.c_format.e_max, design.d_format.e_max) - 1
    for gap in range(1, GAPS):
        near = gap <= NEAR
        for middle in (False, True):
            for first in {top, min(top, 0)} if near else {top}:
                _two_terms(rows, "products", first, gap, middle=middle, kind="distance")
            _two_terms(rows, "product, c", top, gap, middle=middle, kind="distance")
            for first in {of_c, min(of_c, 0)} if near else {of_c}:
                _two_terms(rows, "c, product", first, gap, middle=middle, kind="distance")


def _two_terms(rows: _Rows, terms: str, e: int, gap: int, *, middle: bool, kind: str = "sum") -> None:
    """Add the rows of a number of d and a term ``gap`` below it, or of the middle of two numbers and such a term.

    The first is made of as many equal terms as reach the last place of d. In the middle of two numbers either sign of
    the low term shows; beside a number, one that takes from it, or one of the same sign where rho rounds away.
    """
    design = rows.design
    rho, d = design.step.conversion, design.d_format
    last = max(e, d.e_min) - rho.fraction_bits
    copies = 1 << max(0, last - e)
    if copies > 16:
        return
    label, beside = f"ladder: {kind} of {terms}", (False, True) if kind == "sum" else (False,)
    c_leads, c_is_low = terms.startswith("c"), terms.endswith("c")
    products = [] if c_leads else [Product(i, e) for i in range(copies)]
    if c_leads and copies > 1:
        return
    if middle:
        products.append(Product(len(products), last - 1))
    leading = _pattern(design.c_format, e) if c_leads else 0
    for negative, filled in itertools.product((True, False), beside):
        if c_is_low:
            low = _pattern(design.c_format, e - gap)
            low = low if low is None else low | negative << design.c_format.sign_position
            rows.add(label, products, low, filled=filled)
        else:
            rows.add(label, [*products, Product(len(products), e - gap, negative)], leading, filled=filled)


def _large_products(rows: _Rows) -> None:
    """Add products of every magnitude: alone, against an equal one, and against an infinite c."""
    design = rows.design
    exponents = product_exponents(design)
    infinite = design.c_format.infinity
    for e in range(max(exponents[0], -2), exponents[-1] + 1):
        rows.add("ladder: large product", [Product(0, e)], 0)
        rows.add("ladder: large product", [Product(0, e), Product(1, e, negative=True)], 0)
        if infinite is not None:
            rows.add("ladder: large product", [Product(0, e)], infinite | 1 << design.c_format.sign_position)


def lowest_sums(design: Design) -> Probes:
    """Return sums of one or two of the lowest bits that d can show, and one term at each distance below them.

    All other terms are zeros, or the smallest products. So e_max is as low as the unit lets it be, and the exponent of
    a zero and a floor show in the lowest term that is kept. Integer units have none.
    """
    rows = _Rows(design)
    d = design.d_format
    if not d.is_integer:
        last = d.e_min - design.step.conversion.fraction_bits
        for lead, gap in itertools.product(((last,), (last - 1,), (last, last - 1)), range(1, NEAR)):
            products = [Product(i, e) for i, e in enumerate(lead)]
            for negative, filled in itertools.product((True, False), repeat=2):
                low = Product(len(products), lead[-1] - gap, negative)
                rows.add("ladder: lowest sum", [*products, low], 0, filled=filled)
    return rows.probes()


def product_exponents(design: Design) -> range:
    """Return the exponents of products of normal numbers, times scales."""
    a, b, _, _ = design.formats
    low, high = a.e_min + b.e_min, a.e_max + b.e_max
    fmt = design.scale_format
    if fmt is not None:
        low, high = low + 2 * fmt.e_min, high + 2 * fmt.e_max
    return range(low, high + 1)


def _exponents(fmt: Format) -> range:
    return range(fmt.e_min, fmt.e_max + 1)


def _rungs(exponents: range, design: Design) -> list[int]:
    """Return the exponents that are asked, all about the smallest numbers of d, from the highest down."""
    d = design.d_format
    apart = max(1, -(-len(exponents) // RUNGS))
    lowest = d.e_min - d.fraction_bits
    near = [e for e in range(lowest - 8, d.e_min + 3) if e in exponents]
    return sorted({*exponents[::apart], exponents[-1], *near}, reverse=True)


def _pattern(fmt: Format, exponent: int) -> int | None:
    """Return the pattern of ``2**exponent``, None where the format does not have it."""
    if not fmt.e_min - fmt.fraction_bits <= exponent <= fmt.e_max:
        return None
    return power(fmt, exponent)


def _full(fmt: Format, exponent: int) -> int:
    """Return the largest number of an exponent."""
    return min(power(fmt, exponent) | ((1 << fmt.fraction_bits) - 1) << fmt.ignored_bits, fmt.max_finite)


def _elements(design: Design, exponent: int, *, full: bool) -> tuple[int, int] | None:
    """Return patterns of a and b with this exponent of their product, both normal where that is possible."""
    a, b, _, _ = design.formats
    found = _shares(exponent, (a.e_min, a.e_max), (b.e_min, b.e_max))
    if found is not None:
        of_a, of_b = found
        return (_full(a, of_a), _full(b, of_b)) if full else (power(a, of_a), power(b, of_b))
    found = _shares(exponent, (a.e_min - a.fraction_bits, a.e_max), (b.e_min - b.fraction_bits, b.e_max))
    if found is None or full:
        return None
    return power(a, found[0]), power(b, found[1])


def _scale(design: Design, exponents: Sequence[int]) -> tuple[int, int] | None:
    """Return the exponents of the two scales of a block that let it hold products of these exponents; 0 without scales.

    The highest product gets its exponent from the scales, as far as they and the other products allow.
    """
    a, b, _, _ = design.formats
    fmt = design.scale_format
    if fmt is None:
        return 0, 0
    high, low = max(exponents), min(exponents)
    lowest = a.e_min + b.e_min - (a.fraction_bits + b.fraction_bits if low < high else 0)
    wanted = max(min(high, low - lowest), high - a.e_max - b.e_max)
    ends = (fmt.e_min, fmt.e_max)
    return _shares(min(max(wanted, 2 * fmt.e_min), 2 * fmt.e_max), ends, ends)


def _shares(total: int, first: tuple[int, int], second: tuple[int, int]) -> tuple[int, int] | None:
    """Return two numbers in these ranges (ends included) with this sum, as near each other as may be."""
    low, high = max(first[0], total - second[1]), min(first[1], total - second[0])
    if low > high:
        return None
    share = min(max(total // 2, low), high)
    return share, total - share
