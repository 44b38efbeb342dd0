"""Whatever record a design accepts, its semantics can be computed: nothing is noticed only when it is run."""

import numpy as np
import pytest

from mmaproof.designs.conversions import RHO
from mmaproof.designs.design import Design
from mmaproof.designs.errors import DesignError
from mmaproof.designs.formats import FORMATS
from mmaproof.designs.parameters import DEFINITIONS, compose
from mmaproof.designs.readings import KOrder
from mmaproof.designs.signature import Signature
from mmaproof.designs.steps.step import IntegerRange
from mmaproof.smt.evaluate import evaluate_batch
from mmaproof.smt.trace import evaluate
from mmaproof.verification.distributions import draw

K, ROWS = 8, 4


def values(name):
    held = DEFINITIONS[name].values
    if isinstance(held, IntegerRange):
        within = [x for x in (held.low, 0, 1, 2, 3, 8, 24, 60) if held.low <= x <= held.high]
        return within + ([None] if held.otherwise else [])
    if held is KOrder:
        return [KOrder(x) for x in ("reversed", "mod4:01/23", "mod2:1/0")]
    return list(held)


def random_design(rng):
    """A design of formats and parameters that need not fit together; DesignError where they do not."""
    formats = list(FORMATS.values())
    a, b, c = (formats[i] for i in rng.integers(len(formats), size=3))
    rho = str(rng.choice(list(RHO)))
    chosen = {n: values(n)[rng.integers(len(values(n)))] for n in DEFINITIONS if rng.random() < 0.15}
    chosen |= {"rho": rho, "L": int(rng.choice([1, 2, 4, 8]))}
    scale, block = None, None
    if rng.random() < 0.3:
        scale, block = formats[rng.integers(len(formats))], int(rng.choice([2, 4, 8]))
    d = RHO[rho].target
    chain, step = compose(chosen)
    return Design("x", "m1n1k8", "any", Signature(a, b, c, d, scale, block), 1, 1, K, chain, step, "nowhere")


@pytest.mark.few(14)
@pytest.mark.parametrize("seed", range(40))
def test_every_accepted_design_runs(seed):
    rng = np.random.default_rng(seed)
    while True:
        try:
            design = random_design(rng)
            break
        except DesignError as error:
            assert error.field in {*DEFINITIONS, "L_max", "a", "b", "c", "scale", "block"}, error
    for name in ("edges", "uniform-bits"):
        batch = draw(name, design, ROWS, K, rng)
        assert evaluate_batch(design, batch).tolist() == [evaluate(design, batch.row(i)) for i in range(ROWS)], design
