"""An algorithm in a plan is the algorithm itself, and parts of k may each be computed by it."""

import numpy as np
import pytest
from reference.algorithms import add, reference_algorithm
from support.fp32_operands import random_arrays

from mmaproof.designs.catalogue import find_design
from mmaproof.designs.element import Operands
from mmaproof.gemm.programs import read_plan
from mmaproof.gemm.programs.algorithms import find_algorithm
from mmaproof.gemm.programs.evaluate import multiply, multiply_plan, trace

UNIT = "volta/f32.f16.f16.f32"


@pytest.mark.parametrize("name", ["plain", "markidis", "ootomo-yokota@scale=10"])
def test_plan_of_an_algorithm_alone_is_the_algorithm(name: str) -> None:
    plan, algorithm, unit = read_plan(f"{UNIT} | algorithm={name}"), find_algorithm(name), find_design(UNIT)
    a, b, c = random_arrays("moderate", (3, 8, 2), 5)
    d = multiply_plan(plan, a, b, c)
    assert np.array_equal(d, multiply(algorithm, unit, a, b, c))
    operands = Operands(tuple(a[0].tolist()), tuple(b[:, 0].tolist()), int(c[0, 0]))
    assert trace(plan, operands).d == d[0, 0] == reference_algorithm(algorithm, unit, operands)
    assert (plan.label, plan.title) == (name, f"{name} on {unit.name}")


def test_parts_are_computed_by_the_algorithm_and_added() -> None:
    plan = read_plan(f"{UNIT} | algorithm=markidis | split-k=2")
    a, b, c = random_arrays("moderate", (1, 8, 1), 6)
    x, y = a[0].tolist(), b[:, 0].tolist()
    total = int(c[0, 0])
    for ks in (slice(0, 4), slice(4, 8)):
        part = Operands(tuple(x[ks]), tuple(y[ks]), 0)
        total = add(total, reference_algorithm(find_algorithm("markidis"), find_design(UNIT), part))
    assert trace(plan, Operands(tuple(x), tuple(y), int(c[0, 0]))).d == total
