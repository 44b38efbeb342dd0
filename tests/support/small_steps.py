"""Random designs of one step whose numbers have enough exponents to be doubled, moved and stepped over."""

from typing import Any

import numpy as np

from mmaproof.designs.design import Design
from mmaproof.designs.errors import DesignError
from mmaproof.designs.formats import Format, Specials
from mmaproof.designs.parameters import compose
from mmaproof.designs.signature import Signature
from support.small_designs import CONVERSIONS, DRAWN, E3M2, MOST_DRAWS, _format, _value

WIDER = _format("small-e3m1", 3, 1, Specials.IEEE)
PARTNERS: dict[int, Format] = {
    1: _format("small-e2m1-partner", 2, 1, Specials.IEEE),
    2: _format("small-e1m0-partner", 1, 0, Specials.NONE),
}
"""The format of b, by the number of products: all operands together have at most 20 bits."""


def random_step(seed: int, **settings: Any) -> Design:
    """Return a step of one or two products with these settings; the others are drawn."""
    rng = np.random.default_rng(seed)
    for _ in range(MOST_DRAWS):
        length = int(rng.choice((1, 2, 2)))
        rho = str(rng.choice([n for n, x in CONVERSIONS.items() if x.target is E3M2]))
        drawn = {n: _value(rng, n, rho) for n in DRAWN if n == "fraction_bits" or rng.random() < 0.4}
        signature = Signature(WIDER, PARTNERS[length], E3M2, E3M2)
        try:
            chain, step = compose(drawn | settings | {"L": length, "rho": rho})
            return Design("first", f"m1n1k{length}", "any", signature, 1, 1, length, chain, step, "drawn").one_step()
        except DesignError:
            continue
    raise AssertionError(f"no step with {settings} in {MOST_DRAWS} draws")
