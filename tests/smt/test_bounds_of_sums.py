"""The bounds that widths follow from hold of every cut and every sum: none is a unit short, and none is lax."""

import itertools
from dataclasses import replace

import pytest

from mmaproof.designs.readings import Adder, Alignment
from mmaproof.smt.algebra.integers import IntegerAlgebra, InvariantError
from mmaproof.smt.algebra.protocol import Word
from mmaproof.smt.algebra.words import Signal, SignalKind
from mmaproof.smt.semantics.align import Cut, align
from mmaproof.smt.semantics.datapath import Addend, Partial, SumPath
from mmaproof.smt.semantics.fused_sum import fused_sum
from mmaproof.smt.semantics.terms import Term

CHECKED = IntegerAlgebra(checks=True)


def term(significand, negative, *, exponent=0, fraction_bits=0, largest=3, opposes=None):
    """A term of two bits, or of more."""
    return Term(
        fraction_bits,
        CHECKED.truth(negative),
        CHECKED.signed(exponent, 6),
        CHECKED.unsigned(significand, max(largest.bit_length(), 2)),
        CHECKED.truth(True),
        largest,
        None if opposes is None else CHECKED.truth(opposes),
    )


@pytest.mark.parametrize("alignment", Alignment)
def test_no_cut_exceeds_its_bound_and_some_reach_it(alignment):
    """All terms of up to three bits: whatever is lost of them, and however far they are moved down."""
    opposing = (False, True) if alignment is Alignment.COMPLEMENT else (None,)
    reached = 0
    for largest, fraction_bits, kept in itertools.product((5, 6, 7), range(4), range(4)):
        cut = Cut(kept, alignment)
        magnitudes = [
            abs(align(CHECKED, x, CHECKED.signed(distance, 6), cut).data)
            for significand, negative, distance in itertools.product(range(largest + 1), (False, True), range(5))
            for opposes in opposing
            for x in [term(significand, negative, fraction_bits=fraction_bits, largest=largest, opposes=opposes)]
        ]
        bound = cut.bound(largest, fraction_bits)
        assert max(magnitudes) <= bound, (largest, fraction_bits, kept)
        reached += max(magnitudes) == bound
    assert reached > 5


@pytest.mark.parametrize("adder", Adder)
@pytest.mark.parametrize("register", [2, 3, 4, 5])
def test_a_register_that_wraps_has_bounds_that_it_reaches(register, adder):
    """The least number of a register is further from zero than the largest one: of four bits it is -8."""
    path = SumPath(Partial.WHOLE, (Addend.X, Addend.Y), (Cut(0), Cut(0)), register=register, adder=adder)
    totals = set()
    for x, y in itertools.product(itertools.product(range(4), (False, True)), repeat=2):
        found = fused_sum(CHECKED, path, [term(*x), term(*y)])
        totals.add(found.total.data)
        assert abs(found.total.data) <= found.largest
        assert found.as_term().valid().data
    wraps = register < 4
    assert min(totals) == (-(1 << (register - 1)) if wraps else -6)
    assert max(totals) == ((1 << (register - 1)) - 1 if wraps else 6)
    assert found.largest == (1 << (register - 1) if wraps else 6)


def test_the_bound_of_a_sum_counts_each_term_in_the_units_of_the_sum():
    """A term that is cut coarser is moved up, and its bound with it."""
    path = SumPath(Partial.WHOLE, (Addend.X, Addend.Y), (Cut(0), Cut(2)))
    found = fused_sum(CHECKED, path, [term(3, False), term(3, False)])
    assert (found.total.data, found.largest, found.fraction_bits) == (24, 24, 2)
    least = fused_sum(CHECKED, path, [term(3, True), term(3, True)])
    assert [least.total.data, *(x.data for x in least.aligned)] == [-24, -12, -12]


@pytest.mark.parametrize("value", [-4, 4])
def test_a_signal_outside_its_bounds_is_an_error(value):
    word = Word(value, 5, True, CHECKED)
    assert CHECKED.signal(Signal(SignalKind.SUM), word, (-4, 4)).data == value
    for bounds in ((-4, 3), (-3, 4)):
        if not bounds[0] <= value <= bounds[1]:
            with pytest.raises(InvariantError, match="is not within"):
                CHECKED.signal(Signal(SignalKind.SUM), word, bounds)


def test_an_invariant_that_does_not_hold_is_an_error_where_it_is_computed():
    good, bad = term(2, False, largest=2), term(3, False, largest=2)
    CHECKED.check(good, good.valid)
    with pytest.raises(InvariantError, match="does not hold"):
        CHECKED.check(bad, bad.valid)
    IntegerAlgebra().check(bad, bad.valid)


def test_a_term_is_valid_only_as_later_stages_rely_on_it():
    e_max = CHECKED.signed(2, 6)
    assert term(3, True, exponent=2).valid_at(e_max).data
    assert not term(3, True, exponent=3).valid_at(e_max).data
    assert not term(3, True, largest=2).valid().data
    absent = term(0, False)
    for significand in (0, 1):
        x = Term(0, absent.negative, absent.exponent, CHECKED.unsigned(significand, 2), CHECKED.truth(False), 3)
        assert x.valid().data == (not significand)


@pytest.mark.parametrize("present", [(True, True), (True, False), (False, True), (False, False)])
def test_a_sum_is_present_where_one_of_its_terms_is(present):
    path = SumPath(Partial.WHOLE, (Addend.X, Addend.Y), (Cut(0), Cut(0)))
    terms = [replace(term(2 * is_present, False), present=CHECKED.truth(is_present)) for is_present in present]
    found = fused_sum(CHECKED, path, terms)
    assert (found.present.data, found.as_term().present.data) == (any(present), any(present))
    assert found.total.data == 2 * sum(present)
