"""Integer steps whose pairs of products are held in a register that saturates, as vpmaddubsw has it."""

import pytest

from mmaproof.designs.catalogue import find_design
from mmaproof.designs.element import Operands
from mmaproof.designs.errors import DesignError
from mmaproof.designs.steps import Guarantee
from mmaproof.smt.solving.verdict import Status
from mmaproof.smt.trace import evaluate
from mmaproof.verification.compare import compare

SEQUENCE = "cpu/vpmaddubsw-vpmaddwd-vpaddd"


def test_a_pair_saturates_before_c_is_added():
    design = find_design(SEQUENCE)
    assert evaluate(design, Operands((0x7F, 0xFE, 0, 0), (0x7F, 0x7F, 0, 0), 0x7FFFFFFE)) == 0x80007FFD
    exact = find_design(f"{SEQUENCE}@intermediate_bits=none")
    assert evaluate(exact, Operands((0x7F, 0xFE, 0, 0), (0x7F, 0x7F, 0, 0), 0x7FFFFFFE)) == 0x8000BD01


def test_nothing_is_assumed_of_a_step_whose_pairs_saturate():
    assert find_design(SEQUENCE).step.guarantees == frozenset()
    assert find_design("cpu/vpmaddwd-vpaddd").guarantees(Guarantee.WRAPS_MODULO)


def test_a_pair_needs_two_products():
    with pytest.raises(DesignError, match="L = 1 is odd"):
        find_design(f"{SEQUENCE}@L=1")


@pytest.mark.parametrize(
    ("bits", "status"), [(16, Status.REFUTED), (17, Status.PROVED), (15, Status.REFUTED), (64, Status.PROVED)]
)
def test_seventeen_bits_hold_any_pair(bits, status):
    """A pair is at most 2 * 255 * 127, and at least -2 * 255 * 128: the solver finds no difference from 17 bits on."""
    pairs = find_design(f"{SEQUENCE}@intermediate_bits={bits}") if bits != 16 else find_design(SEQUENCE)
    assert compare(pairs, find_design("cpu/vpdpbusd"), budget=None).status is status
