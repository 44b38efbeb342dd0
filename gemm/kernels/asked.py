"""A target of matrix products as it is asked: one shape, how often, and whether it repeats itself."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from mmaproof.designs.formats import Format
from mmaproof.designs.operands import Patterns
from mmaproof.hardware_replay.matrix_target import MatrixTarget, Product
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
