"""A target of matrix products as it is asked: one shape, how often, and whether it repeats itself.

Operands of the matrix products that a plan is compared on with a target. ``KINDS`` says what each kind is for.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from mmaproof.designs.formats import Format
from mmaproof.designs.operands import Patterns
from mmaproof.hardware_replay.matrix_targets import MatrixTarget, Product
from mmaproof.smt.evaluate import equal_patterns
from mmaproof.verification.distributions import from_float64


class DiffersEachTime(Exception):  # noqa: N818 - says what happened
    """A target does not return the same product for the same operands. The text says where."""


@dataclass
class Asked:
    """A target of one product, and how often it was asked."""

    target: MatrixTarget
    product: Product
    calls: int = 0

    def multiply(self, a: Patterns, b: Patterns) -> Patterns:
        """Return the patterns of ``a @ b``."""
        self.calls += 1
        return self.target.multiply(self.product, a, b)

    def require_the_same(self, times: int, seed: int, seconds: float = math.inf) -> None:
        """Ask for the same random product several times, until time runs out; DiffersEachTime where it differs."""
        a, b = near_one(self.product, np.random.default_rng(seed))
        self.require_again(a, b, self.multiply(a, b), times - 1, seconds)

    def require_again(self, a: Patterns, b: Patterns, d: Patterns, times: int = 1, seconds: float = math.inf) -> None:
        """Ask again for a product that was ``d``, at least once; DiffersEachTime where it is another one now."""
        product, until, different = self.product, time.monotonic() + seconds, []
        asked = 0
        while asked < times and (not asked or time.monotonic() <= until):
            again = self.multiply(a, b)
            asked += 1
            if not equal_elements(product.d, d, again).all():
                different.append(again)
        if different:
            again = different[0]
            same = equal_elements(product.d, d, again)
            row, column = (int(x) for x in np.argwhere(~same)[0])
            before, after = (product.d.hex(int(x[row, column])) for x in (d, again))
            raise DiffersEachTime(
                f"{self.target.name} answers the same operands differently: d[{row}, {column}] is {before}, and "
                f"{after} when it is asked again; {int((~same).sum())} of {same.size} elements differ, and "
                f"{len(different)} of {asked} more answers to these operands do; a kernel whose threads add in any "
                "order (atomic additions) has no one plan: run it with one thread"
            )


def equal_elements(fmt: Format, x: Patterns, y: Patterns) -> npt.NDArray[np.bool_]:
    """Return which elements of two matrices are the same, NaNs whatever their codes."""
    return equal_patterns(fmt, x.ravel(), y.ravel(), nan_codes=False).reshape(x.shape)


def near_one(product: Product, rng: np.random.Generator) -> tuple[Patterns, Patterns]:
    """Return random operands whose sums are rounded: normally distributed numbers, integers about half as wide."""

    def drawn(fmt_bits: int, is_integer: bool, shape: tuple[int, int]) -> np.ndarray:
        return rng.standard_normal(shape) * (1 << fmt_bits // 2 if is_integer else 1)

    return (
        from_float64(product.a, drawn(product.a.bits, product.a.is_integer, (product.m, product.k))),
        from_float64(product.b, drawn(product.b.bits, product.b.is_integer, (product.k, product.n))),
    )


MIXED = "mixed"
"""The kind of operands whose rows and columns are of all kinds in turn."""
_Floats = npt.NDArray[np.float64]
_Draw = Callable[[Product, np.random.Generator], tuple[_Floats, _Floats]]


def draw_product(kind: str, product: Product, rng: np.random.Generator) -> tuple[Patterns, Patterns]:
    """Return a and b of a kind, or of all kinds (``MIXED``), as patterns of their formats."""
    if product.d.is_integer:
        return _integers(product.a, (product.m, product.k), rng), _integers(product.b, (product.k, product.n), rng)
    a, b = _mixed(product, rng) if kind == MIXED else KINDS[kind](product, rng)
    return _encoded(product.a, a), _encoded(product.b, b)


def kinds_for(product: Product) -> tuple[str, ...]:
    """Return the kinds of operands that a target of these formats is asked about, in turn."""
    return ("normal",) if product.d.is_integer else ("normal", MIXED, "spread", MIXED, MIXED)


def _mixed(product: Product, rng: np.random.Generator) -> tuple[_Floats, _Floats]:
    """Return rows and columns of all kinds in turn, so that every kind of row meets every kind of column."""
    drawn = [draw(product, rng) for draw in KINDS.values()]
    first = rng.integers(len(drawn), size=2)
    a = np.stack([drawn[(first[0] + i) % len(drawn)][0][i] for i in range(product.m)])
    b = np.stack([drawn[(first[1] + j) % len(drawn)][1][:, j] for j in range(product.n)], axis=1)
    return a, b


def _integers(fmt: Format, shape: tuple[int, int], rng: np.random.Generator) -> Patterns:
    top = 1 << fmt.bits
    return from_float64(fmt, rng.integers(0, top, shape).astype(np.float64) - (top // 2 if fmt.signed else 0))


def _encoded(fmt: Format, values: _Floats) -> Patterns:
    largest = float(fmt.largest)
    finite = np.isfinite(values)
    return from_float64(fmt, np.where(finite, np.clip(values, -largest, largest), values))


def _normal(shape: tuple[int, int], rng: np.random.Generator) -> _Floats:
    return rng.standard_normal(shape)


def _spread(fmt: Format, rng: np.random.Generator, shape: tuple[int, int], bits: int) -> _Floats:
    """Return numbers whose exponents are spread over N binades, around that of one, as far as the format has them."""
    low, high = max(fmt.e_min, -bits), min(fmt.e_max, bits)
    return np.ldexp(_normal(shape, rng), rng.integers(low, high + 1, shape))


def _normal_product(product: Product, rng: np.random.Generator) -> tuple[_Floats, _Floats]:
    return _normal((product.m, product.k), rng), _normal((product.k, product.n), rng)


def _spread_product(product: Product, rng: np.random.Generator) -> tuple[_Floats, _Floats]:
    a = _spread(product.a, rng, (product.m, product.k), 12)
    return a, _spread(product.b, rng, (product.k, product.n), 12)


def _one_sign(product: Product, rng: np.random.Generator) -> tuple[_Floats, _Floats]:
    a, b = _normal_product(product, rng)
    return np.abs(a), np.abs(b)


def _sparse(product: Product, rng: np.random.Generator) -> tuple[_Floats, _Floats]:
    a, b = _spread_product(product, rng)
    kept = rng.random(a.shape) < 3 / product.k
    return np.where(kept, a, np.copysign(0.0, a)), b


def _zeros(product: Product, rng: np.random.Generator) -> tuple[_Floats, _Floats]:
    a, b = _normal_product(product, rng)
    # some rows have one sign throughout, so that every product of a row and a column may be -0
    a[::2] = -np.abs(a[::2])
    b[:, ::2] = np.abs(b[:, ::2])
    return np.copysign(0.0, a), b


def _tiny(product: Product, rng: np.random.Generator) -> tuple[_Floats, _Floats]:
    """Return products about the smallest normal numbers of a, b or d, whichever can be reached."""
    a, b = _normal_product(product, rng)
    wanted = product.d.e_min - 2
    of_a = max(product.a.e_min - 2, min(wanted, 0))
    return np.ldexp(a, of_a), np.ldexp(b, max(wanted - of_a, product.b.e_min))


def _vanishing(product: Product, rng: np.random.Generator) -> tuple[_Floats, _Floats]:
    """Return products as small as a and b can make them, of one sign in some rows and columns."""
    a, b = _normal_product(product, rng)
    a[::2], b[:, ::2] = -np.abs(a[::2]), np.abs(b[:, ::2])
    return np.ldexp(a, product.a.e_min + 2), np.ldexp(b, product.b.e_min + 2)


def _flushed(product: Product, rng: np.random.Generator) -> tuple[_Floats, _Floats]:
    """Return products whose sums are negative and half the smallest normal number of d, after each 2, 4, ... of them.

    A unit that flushes such a sum makes -0 of it, in each part of k.
    """
    least = max(product.d.e_min, product.a.e_min + product.b.e_min)
    of_a = max(product.a.e_min, min(least, 0))
    runs = 1 << rng.integers(5, size=(product.m, 1))
    places = np.arange(product.k)
    a = np.where(places // runs % 2, 1.0, -1.5)
    a[places >= product.k // (2 * runs) * (2 * runs)] = 0.0
    return np.ldexp(a, of_a), np.full((product.k, product.n), np.ldexp(1.0, least - of_a))


def _huge(product: Product, rng: np.random.Generator) -> tuple[_Floats, _Floats]:
    """Return products about the largest numbers of d, as far as they can be reached."""
    a, b = _normal_product(product, rng)
    wanted = product.d.e_max - product.k.bit_length() // 2
    of_a = min(product.a.e_max - 2, wanted)
    return np.ldexp(a, of_a), np.ldexp(b, min(wanted - of_a, product.b.e_max - 2))


def _specials(product: Product, rng: np.random.Generator) -> tuple[_Floats, _Floats]:
    """Return an infinity or a NaN in every second row and column."""
    a, b = _normal_product(product, rng)
    for matrix, fmt in ((a, product.a), (b.T, product.b)):
        values = [x for x, has in ((np.inf, fmt.infinity), (-np.inf, fmt.infinity), (np.nan, fmt.quiet_nan)) if has]
        for row in range(0, len(matrix), 2):
            if values:
                matrix[row, rng.integers(product.k)] = rng.choice(values)
    return a, b


KINDS: dict[str, _Draw] = {
    "normal": _normal_product,  # rounding of every sum
    "spread": _spread_product,  # bits that are cut off in alignment
    "one sign": _one_sign,  # sums that grow: carries, and truncation against rounding
    "sparse": _sparse,  # single terms, and zeros of both signs
    "tiny": _tiny,  # subnormal operands and results
    "vanishing": _vanishing,  # sums that become zeros: their signs
    "flushed": _flushed,  # -0 from subnormal sums that are flushed
    "huge": _huge,  # overflow
    "specials": _specials,  # infinities and NaNs
    "zeros": _zeros,  # what a sum starts from: -0 + -0 is -0, and +0 + -0 is not
}
"""Kinds of operands by name."""
