"""The sides of the claim about the error of one step, at their edges."""

import pytest

from mmaproof.designs.conversions import RHO
from mmaproof.smt.algebra.integers import IntegerAlgebra
from mmaproof.smt.semantics.patterns import unpack
from mmaproof.smt.semantics.step_error import Returned, StepError

ALGEBRA = IntegerAlgebra()
SIDES = StepError(RHO["rz-fp32"], kept_bits=23, units=5, above=8, places=300, least=-126)


@pytest.mark.parametrize(("error", "within"), [(0, True), (13, True), (14, False), (-13, True), (-14, False)])
def test_an_error_is_below_units_and_ulp_together(error, within):
    d = unpack(ALGEBRA, SIDES.rho.target, ALGEBRA.unsigned(0x3F800000, 32))
    yes = ALGEBRA.truth(True)
    returned = Returned(yes, ALGEBRA.signed(1000 + error, 12), ALGEBRA.unsigned(4, 3))
    total, bound = ALGEBRA.signed(1000, 12), ALGEBRA.unsigned(10, 4)
    assert SIDES.within(ALGEBRA, d, returned, total, bound).data == within
    apart = Returned(~yes, returned.value, returned.ulp)
    assert not SIDES.within(ALGEBRA, d, apart, total, bound).data


@pytest.mark.parametrize("pattern", [0x7F800000, 0xFF800000, 0x7FC00000])
def test_nothing_is_claimed_of_results_that_are_not_finite(pattern):
    d = unpack(ALGEBRA, SIDES.rho.target, ALGEBRA.unsigned(pattern, 32))
    returned = Returned(ALGEBRA.truth(True), ALGEBRA.signed(100, 8), ALGEBRA.unsigned(1, 1))
    assert SIDES.within(ALGEBRA, d, returned, ALGEBRA.signed(0, 8), ALGEBRA.unsigned(1, 1)).data
