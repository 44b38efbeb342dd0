"""Distributions reach what they promise."""

import dataclasses

import numpy as np
import pytest

from mmaproof.designs.catalogue import find_design
from mmaproof.designs.errors import InputError
from mmaproof.designs.formats import FORMATS, find_format
from mmaproof.properties.equivalence import Equivalence
from mmaproof.properties.preconditions import parse_precondition
from mmaproof.verification.distributions import DISTRIBUTIONS, draw, edge_patterns, from_float64
from mmaproof.verification.search import steer

NAMES = [
    "ampere/f32.bf16.bf16.f32",
    "hopper/wgmma.f16.e4m3.e5m2",
    "ampere/f64.f64.f64.f64",
    "hopper/wgmma.f32.tf32.tf32",
    "paper/fma-p3109",
]


@pytest.mark.few(14)
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("distribution", DISTRIBUTIONS)
@pytest.mark.parametrize("c", ["", "binary8p1se"])
def test_operands_fit_the_design_and_the_seed_decides(name, distribution, c):
    """``c``, where it is said, is a format whose numbers have no fraction."""
    design = find_design(name)
    if c:
        changed = dataclasses.replace(design.signature, c=find_format(c))
        design = dataclasses.replace(design, signature=changed)
    first, second = (draw(distribution, design, 50, design.k, np.random.default_rng(3)) for _ in range(2))
    first.check(design)
    for x, y in ((first.a, second.a), (first.b, second.b), (first.c, second.c)):
        assert np.array_equal(x, y)


@pytest.mark.few(14)
@pytest.mark.parametrize("fmt", FORMATS.values(), ids=lambda f: f.name)
def test_edges_hold_zero_subnormals_the_largest_and_the_specials(fmt):
    edges = edge_patterns(fmt)
    low = fmt.ignored_bits
    for pattern in (0, 1 << low, fmt.max_finite, fmt.quiet_nan, fmt.infinity):
        assert pattern is None or pattern in edges
    assert all(0 <= p < 1 << fmt.bits for p in edges)


def test_rounding_to_tf32_leaves_the_ignored_bits_zero():
    patterns = from_float64(FORMATS["tf32"], np.array([1 / 3, -0.1]))
    assert not (patterns & 0x1FFF).any()


@pytest.mark.few(14)
@pytest.mark.parametrize("distribution", DISTRIBUTIONS)
@pytest.mark.parametrize(
    "where",
    [["finite"], ["positive"], ["normal"], ["c=0"], ["exponents=-3..3"], ["normal", "positive", "exponents=2..4"]],
)
def test_steering_meets_the_precondition_on_many_rows(distribution, where):
    design = find_design("volta/f32.f16.f16.f32")
    question = Equivalence(design, design, where=[parse_precondition(w) for w in where])
    rng = np.random.default_rng(0)
    batch = steer(draw(distribution, design, 400, 4, rng), question, rng)
    assert question.examine(batch)[0].mean() > 0.2


def test_an_unknown_distribution():
    with pytest.raises(InputError, match="uniform-bits"):
        draw("gauss", find_design("volta/f32.f16.f16.f32"), 1, 4, np.random.default_rng(0))
