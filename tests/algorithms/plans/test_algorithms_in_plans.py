"""An algorithm in a plan is the algorithm itself, and parts of k may each be computed by it."""

import numpy as np
import pytest
from reference.algorithms import add
from support.fp32_operands import random_arrays

from mmaproof.algorithms.catalogue import find_algorithm
from mmaproof.algorithms.evaluate import multiply as multiply_by_algorithm
from mmaproof.algorithms.evaluate import trace as trace_of_algorithm
from mmaproof.algorithms.plans.evaluate import multiply, trace
from mmaproof.designs.catalogue import find_design
from mmaproof.designs.element import Operands
from mmaproof.designs.plans import read_plan

UNIT = "volta/f32.f16.f16.f32"


@pytest.mark.parametrize("name", ["plain", "markidis", "ootomo-yokota@scale=10"])
def test_plan_of_an_algorithm_alone_is_the_algorithm(name: str) -> None:
    plan, algorithm, unit = read_plan(f"{UNIT} | algorithm={name}"), find_algorithm(name), find_design(UNIT)
    a, b, c = random_arrays("moderate", (3, 8, 2), 5)
    assert np.array_equal(multiply(plan, a, b, c), multiply_by_algorithm(algorithm, unit, a, b, c))
    operands = Operands(tuple(a[0].tolist()), tuple(b[:, 0].tolist()), int(c[0, 0]))
    assert trace(plan, operands).d == trace_of_algorithm(algorithm, unit, operands).d


def test_parts_are_computed_by_the_algorithm_and_added() -> None:
    plan = read_plan(f"{UNIT} | algorithm=markidis | split-k=2")
    a, b, c = random_arrays("moderate", (1, 8, 1), 6)
    x, y = a[0].tolist(), b[:, 0].tolist()
    total = int(c[0, 0])
    for ks in (slice(0, 4), slice(4, 8)):
        part = Operands(tuple(x[ks]), tuple(y[ks]), 0)
        total = add(total, trace_of_algorithm(find_algorithm("markidis"), find_design(UNIT), part).d)
    assert trace(plan, Operands(tuple(x), tuple(y), int(c[0, 0]))).d == total
