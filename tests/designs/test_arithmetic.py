"""When two designs are the same computation, and when only their chains of steps are alike."""

from dataclasses import replace

import numpy as np
import pytest

from mmaproof.designs.arithmetic import differing_parameters, same_arithmetic, same_chain
from mmaproof.designs.catalogue import find_design
from mmaproof.designs.element import Operands
from mmaproof.smt.evaluate import evaluate_batch
from mmaproof.smt.trace import evaluate
from mmaproof.verification.distributions import draw

EIGHT, SIXTEEN = "ampere/m16n8k8.f32.f16.f16.f32", "ampere/m16n8k16.f32.f16.f16.f32"
"""The same steps of eight products, one and two of them in an instruction."""
BF16 = "ampere/m16n8k8.f32.bf16.bf16.f32"


@pytest.mark.parametrize(
    ("first", "second", "length", "chain", "arithmetic"),
    [
        (EIGHT, SIXTEEN, 16, True, True),
        (EIGHT, SIXTEEN, 32, True, True),
        # the instruction of sixteen is filled up with zeros
        (EIGHT, SIXTEEN, 8, False, False),
        (EIGHT, SIXTEEN, 24, False, False),
        (SIXTEEN, EIGHT, 24, False, False),
        # what an instruction does with its products, or with c, ends with it
        (f"{EIGHT}@k_order=reversed", f"{SIXTEEN}@k_order=reversed", 16, False, False),
        (f"{SIXTEEN}@k_order=reversed", f"{SIXTEEN}@k_order=reversed", 16, True, True),
        (f"{EIGHT}@k_order=reversed", EIGHT, 16, False, False),
        (f"{EIGHT}@join=ieee-once", f"{SIXTEEN}@join=ieee-once", 16, False, False),
        (f"{EIGHT}@join=ieee-once", SIXTEEN, 16, False, False),
        (f"{SIXTEEN}@join=ieee-once", EIGHT, 16, False, False),
        (f"{SIXTEEN}@join=ieee-once", SIXTEEN, 16, True, False),
        (f"{EIGHT}@L=4", EIGHT, 16, False, False),
        (EIGHT, BF16, 16, False, False),
        (EIGHT, f"{SIXTEEN}@zero_c=absent", 16, True, False),
        (EIGHT, f"{EIGHT}@chain_infinity=finite", 16, True, False),
        (EIGHT, f"{EIGHT}@fraction_bits=22", 8, True, False),
    ],
)
def test_what_is_the_same(first, second, length, chain, arithmetic):
    pair = find_design(first), find_design(second)
    assert same_chain(*pair, length) is chain
    assert same_arithmetic(*pair, length) is arithmetic
    if arithmetic:
        for name in ("aligned", "cancelling", "edges"):
            batch = draw(name, pair[0], 200, length, np.random.default_rng(0))
            assert (evaluate_batch(pair[0], batch) == evaluate_batch(pair[1], batch)).all()


@pytest.mark.parametrize("settings", ["L=4", "k_order=reversed", "zero_c=absent", "fraction_bits=22", "join=ieee"])
def test_what_differs(settings):
    assert differing_parameters(find_design(EIGHT), find_design(f"{EIGHT}@{settings}")) == {settings.partition("=")[0]}
    assert differing_parameters(find_design(EIGHT), find_design(SIXTEEN)) == set()


def test_clearing_minus_zero_where_it_enters_an_instruction_makes_k_matter():
    four = find_design("cdna2/v_mfma_f32_32x32x4bf16@minus_zero=positive")
    two = replace(four, k=2)
    assert not same_arithmetic(two, four, 4)
    # a step returns -0, which the next one reads as -0 inside an instruction and as +0 at the start of one
    a, b = (0x8080, 0xBF80, 0x8080, 0x8080), (0, 0x8080, 0x0080, 0x8000)
    found = [evaluate(x, Operands(a, b, 0x80800001)) for x in (two, four)]
    assert found == [0, 0x80000000]
