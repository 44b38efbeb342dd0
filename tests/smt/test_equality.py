"""Two results are equal where they have the same bits, are both NaN, or are zeros whose signs do not count."""

import itertools

import pytest
from reference.formats import decode

from mmaproof.designs.formats import FORMATS
from mmaproof.smt.algebra.integers import IntegerAlgebra
from mmaproof.smt.semantics import equal_results
from mmaproof.smt.semantics.patterns import same_number

INTEGERS = IntegerAlgebra()


@pytest.mark.parametrize("name", ["e5m2", "e4m3", "e4m3fnuz"])
@pytest.mark.parametrize(("nan_codes", "zero_signs"), [*itertools.product([False, True], repeat=2)])
def test_results_are_equal_as_their_numbers_are(name, nan_codes, zero_signs):
    fmt = FORMATS[name]
    kinds = {x: decode(x, name) for x in range(1 << fmt.bits)}
    odd = [x for x, y in kinds.items() if y.kind in ("nan", "inf") or not y.magnitude]
    chosen = [*odd, *range(1, 1 << fmt.bits, 37)]
    for x, y in itertools.product(chosen, repeat=2):
        a, b = kinds[x], kinds[y]
        both_nan = a.kind == b.kind == "nan"
        both_zero = all(z.kind not in ("nan", "inf") and not z.magnitude for z in (a, b))
        expected = x == y or (both_nan and not nan_codes) or (both_zero and not zero_signs)
        words = (INTEGERS.unsigned(z, fmt.bits) for z in (x, y))
        found = equal_results(INTEGERS, fmt, *words, nan_codes=nan_codes, zero_signs=zero_signs)
        assert found.data == expected, (x, y)
        if not (nan_codes or zero_signs):
            words = (INTEGERS.unsigned(z, fmt.bits) for z in (x, y))
            assert same_number(INTEGERS, fmt, *words).data == expected, (x, y)
