"""The integer interpretation against the exact-rational reference, which shares no code with it."""

from collections import Counter

import numpy as np
import pytest
from reference.designs import reference_result
from support.sampling import arithmetic, basic_operands, covering, distinct_designs, fp16_design
from support.variations import VARIED, disagreements, random_design, with_parameters

from mmaproof.designs.catalogue import find_design, load_catalogue
from mmaproof.designs.design import Design
from mmaproof.designs.readings import Alignment, Join, Sticky
from mmaproof.smt.trace import evaluate
from mmaproof.verification.distributions import DISTRIBUTIONS, draw


def differences(design: Design, rows: int, *, integers_of: int | None = None) -> list[str]:
    """Rows of the basic distributions on which reference, integers and arrays are not all the same."""
    batches = basic_operands(design, rows).items()
    return [f"{name} {x}" for name, batch in batches for x in disagreements(design, batch, integers_of=integers_of)]


DESIGNS = distinct_designs()
ROWS = Counter((d.family, d.source) for d in DESIGNS)
"""How many designs stand for one row of a published table: rows of narrow formats have 25 combinations."""
COVERING = set(covering(DESIGNS))


def share_of_row(design: Design) -> int:
    """Operands of a design, so that its row of a table gets 300; 100 at least if it has what others lack."""
    return max(-(-300 // ROWS[design.family, design.source]), 100 if design in COVERING else 0)


@pytest.mark.few(9)
@pytest.mark.parametrize("design", DESIGNS, ids=lambda d: d.name)
def test_every_design_agrees_on_a_few_operands(design):
    assert differences(design, 5) == []


@pytest.mark.middle
@pytest.mark.parametrize("design", DESIGNS, ids=lambda d: d.name)
def test_every_row_agrees_on_300_operands(design):
    assert differences(design, share_of_row(design)) == []


@pytest.mark.middle
def test_no_design_is_without_a_reference():
    """Integers of all designs, in every merge: the sweeps leave fifteen of sixteen designs out, and references too."""
    rows = [(d, batch.row(0)) for d in DESIGNS for batch in basic_operands(d, 5).values()]
    assert [(d.name, x) for d, x in rows if evaluate(d, x) != reference_result(d, x)] == []


@pytest.mark.slow
@pytest.mark.parametrize("design", DESIGNS, ids=lambda d: d.name)
def test_every_design_agrees_on_100000_operands(design):
    """Integers, which take most of the time, of 1,000 rows."""
    assert differences(design, 100_000, integers_of=200) == []


def test_the_designs_left_out_are_the_same_arithmetic():
    kept = {arithmetic(d) for d in DESIGNS}
    assert {arithmetic(d) for d in load_catalogue().designs.values()} == kept


@pytest.mark.few(1)
@pytest.mark.parametrize(
    "seed", [0, *(pytest.param(x, marks=pytest.mark.middle if x < 5 else pytest.mark.slow) for x in range(1, 20))]
)
@pytest.mark.parametrize("family", VARIED)
def test_any_combination_of_parameters_agrees(family, seed):
    rng, design = np.random.default_rng(seed), random_design(family, seed)
    for name in DISTRIBUTIONS:
        assert disagreements(design, draw(name, design, 12, design.k * (1 + seed % 2), rng)) == [], name


@pytest.mark.few(1)
@pytest.mark.parametrize("seed", [0, *(pytest.param(x, marks=pytest.mark.middle) for x in (1, 2))])
@pytest.mark.parametrize("family", [n for n, (_, varied) in VARIED.items() if "alignment" in varied])
def test_terms_rounded_to_nearest_agree(family, seed):
    name = "late_alignment" if "late_alignment" in VARIED[family][1] else "alignment"
    rng, design = np.random.default_rng(seed), random_design(family, seed, **{name: Alignment.NEAREST})
    for distribution in DISTRIBUTIONS:
        assert disagreements(design, draw(distribution, design, 12, design.k, rng)) == [], distribution


@pytest.mark.few(1)
@pytest.mark.parametrize("seed", [0, 1, *(pytest.param(x, marks=pytest.mark.middle) for x in range(2, 12))])
def test_sums_to_which_c_is_added_exactly_agree(seed):
    rng, design = np.random.default_rng(seed), random_design("t-fdpa", seed, join=Join.EXACT, sticky=Sticky.NO)
    design = with_parameters(design, carry_bits=None)
    for name in DISTRIBUTIONS:
        assert disagreements(design, draw(name, design, 12, design.k * (1 + seed % 2), rng)) == [], name


@pytest.mark.few(1)
@pytest.mark.parametrize("k", [1, 3, 12, 16, 48])
def test_lengths_other_than_the_instructions(k):
    design = find_design("ampere/f32.f16.f16.f32")
    for batch in basic_operands(design, 100, k=k).values():
        assert disagreements(design, batch) == []


@pytest.mark.parametrize("length", [4, 8, 16, 32])
def test_one_carry_bit_too_few_is_noticed_by_the_reference(length):
    from mmaproof.designs.element import Operands
    from mmaproof.smt.semantics.datapath import sum_widths

    design = fp16_design(length)
    enough = sum_widths(design).carry_bits
    # every term at its largest, all at the same exponent: the sum that carry bits are counted for
    operands = Operands((0x7BFF,) * length, (0x3BFF,) * length, 0x46FFFFFF)
    full = reference_result(design, operands)
    assert evaluate(design.change(carry_bits=enough), operands) == full
    fewer = design.change(carry_bits=enough - 1)
    assert evaluate(fewer, operands) == reference_result(fewer, operands) != full
