"""Integer steps on elements of one bit, as mma with .b1 counts them."""

import numpy as np
import pytest
from reference.designs import reference_result

from mmaproof.designs.catalogue import find_design, load_catalogue
from mmaproof.designs.element import Operands
from mmaproof.designs.errors import DesignError
from mmaproof.designs.steps import Guarantee
from mmaproof.smt.evaluate import evaluate_batch
from mmaproof.smt.solving.verdict import Status
from mmaproof.smt.trace import evaluate
from mmaproof.verification.compare import compare
from mmaproof.verification.distributions import draw

XOR, AND = (f"ampere/mma.m8n8k128.s32.b1.b1.s32.{x}.popc" for x in ("xor", "and"))
ROWS = [x for x in load_catalogue().designs.values() if x.a_format.name == "uint1"]


@pytest.mark.parametrize(("name", "d"), [(XOR, 5 + 2), (AND, 5 + 1)])
def test_two_bits(name, d):
    assert evaluate(find_design(name), Operands((1, 0, 1), (1, 1, 0), 5)) == d


@pytest.mark.few(2)
@pytest.mark.parametrize("design", ROWS, ids=lambda x: x.name)
def test_rows_count_as_the_reference_does(design):
    batch = draw("uniform-bits", design, 200, design.k, np.random.default_rng(3))
    assert evaluate_batch(design, batch).tolist() == [reference_result(design, batch.row(i)) for i in range(len(batch))]


def test_differing_bits_are_not_the_common_ones():
    xor, conjunction = find_design(XOR), find_design(AND)
    assert compare(xor, conjunction, budget=None).status is Status.REFUTED
    assert compare(xor.change(element_product="times"), conjunction, budget=None).status is Status.PROVED
    assert compare(xor, find_design(XOR.replace("ampere", "turing")), budget=None).status is Status.PROVED


def test_numbers_have_no_differing_bits():
    with pytest.raises(DesignError, match="xor is of elements of one bit, not of int8 and int8"):
        find_design("hopper/wgmma.m64n8k32.s32.s8.s8@element_product=xor")
    assert find_design(XOR).step.guarantees == frozenset()
    assert find_design(AND).guarantees(Guarantee.WRAPS_MODULO)


@pytest.mark.parametrize("architecture", ["blackwell-ultra", "rubin"])
def test_an_architecture_without_an_instruction_takes_over_no_row_of_it(architecture):
    """ptxas of CUDA 13.5 rejects .kind::i8 for sm_103a and sm_107a."""
    names = [x.instruction for x in load_catalogue().designs.values() if x.architecture == architecture]
    assert names
    assert not [x for x in names if x.startswith("tcgen05") and ".s32." in x]
