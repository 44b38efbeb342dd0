"""How sharp a test is: with what probability it notices a seeded fault, for operands of a distribution."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, inf, log

import numpy as np

from mmaproof.designs.arrays import values_of
from mmaproof.designs.errors import InputError
from mmaproof.gemm.tolerances.assertion import Strength
from mmaproof.gemm.tolerances.errors import ones
from mmaproof.gemm.tolerances.faults import Product, seeded
from mmaproof.gemm.tolerances.statistical import Quantile, draw_operand
from mmaproof.gemm.tolerances.tolerance import Tolerance
from mmaproof.gemm.tolerances.within import errors_of, is_within
from mmaproof.smt.evaluate import equal_patterns

SIDE = 48
"""Rows and columns of a product that is drawn."""
SURE = 0.99


@dataclass(frozen=True, slots=True)
class Caught:
    """How often a test notices a fault.

    ``chance`` is the part of the elements of random products that the test notices by themselves; ``elements`` how many
    independent elements notice the fault with a probability of 0.99, infinite where none did.
    """

    fault: str
    strength: Strength
    chance: float

    @property
    def elements(self) -> float:
        """The independent elements that are needed."""
        if self.chance >= 1:
            return 1
        return inf if self.chance <= 0 else ceil(log(1 - SURE) / log(1 - self.chance))


def sharpness(
    tolerance: Tolerance,
    distribution: str = "normal",
    *,
    products: int = 2,
    quantile: Quantile | None = None,
    seed: int = 0,
) -> list[Caught]:
    """Return for each seeded fault and each strength how often a test of this tolerance notices it.

    ``products`` random products of 48 x 48 elements are drawn from ``distribution``, with c = 0. Tests of the strength
    ``proved`` are left out where nothing is proved, statistical ones where there is no ``quantile``. Raises InputError
    for an unknown distribution, and for a plan whose factors are operands: no distribution of them is known, and a
    fault that loses elements of k needs fewer of them.

    >>> import mmaproof
    >>> found = mmaproof.sharpness(mmaproof.tolerance("hopper/wgmma.f32.f16.f16", 32))
    >>> found[0].fault
    'F = 24'
    """
    if tolerance.plan.has_factors:
        raise InputError(
            f"{tolerance.plan.name}: its factors are operands, and none are drawn: state constants, such as "
            "rescale=64:0.5"
        )
    rng = np.random.default_rng([seed, tolerance.k])
    drawn = [_drawn(tolerance, distribution, rng) for _ in range(products)]
    strengths = [
        Strength.BITS,
        *([Strength.PROVED] if tolerance.proved else []),
        *([Strength.STATISTICAL] if quantile else []),
    ]
    counts: dict[tuple[str, Strength], list[float]] = {}
    for product in drawn:
        given = tolerance.given(product.a, product.b, product.c, *product.scales)
        exact, _ = tolerance.exact_of(given)
        right, fmt = product.d(), tolerance.plan.formats[3]
        bound = tolerance.bound_of(given) if tolerance.proved else None
        size = np.abs(given.a.values) @ np.abs(given.b.values)
        for fault in seeded(product):
            d = fault.run(product)
            error = errors_of(values_of(d, fmt), exact)
            for strength in strengths:
                if strength is Strength.BITS:
                    seen = ~equal_patterns(fmt, d.ravel(), right.ravel()).reshape(d.shape)
                elif strength is Strength.PROVED and bound is not None:
                    seen = ~is_within(tolerance, given, values_of(d, fmt), bound) & np.isfinite(bound)
                else:
                    seen = ~(error <= (inf if quantile is None else quantile.upper) * size)
                counts.setdefault((fault.name, strength), []).append(float(seen.mean()))
    return [Caught(name, strength, float(np.mean(chances))) for (name, strength), chances in counts.items()]


def _drawn(tolerance: Tolerance, distribution: str, rng: np.random.Generator) -> Product:
    plan, k = tolerance.plan, tolerance.k
    a, _ = draw_operand(plan, "a", (SIDE, k), distribution, rng)
    b, _ = draw_operand(plan, "b", (k, SIDE), distribution, rng)
    return Product(plan, a, b, None, ones(plan, SIDE, k, SIDE))
