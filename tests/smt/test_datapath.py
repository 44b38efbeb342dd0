"""The datapath of designs, written out: products and c of each step, and the terms, cuts and widths of its sums."""

import pytest

from mmaproof.designs.catalogue import find_design
from mmaproof.designs.readings import Alignment
from mmaproof.smt.semantics.align import Cut
from mmaproof.smt.semantics.datapath import OPERAND, ZERO, Addend, Group, Partial, Product, Source, datapath, sum_widths

CHAIN = "ampere/m16n8k16.f32.f16.f16.f32"
CDNA3 = "cdna3/v_mfma_f32_32x32x8_f16"
MXFP4 = "blackwell/block16.f32.e2m1.e2m1.ue4m3"


@pytest.mark.parametrize(
    ("settings", "length", "steps"),
    [
        ("L=8", 16, [(range(8), OPERAND, None), (range(8, 16), Source(0), None)]),
        ("L=8", 5, [(range(8), OPERAND, None), (range(8, 16), Source(0), None)]),
        ("L=16", 32, [(range(16), OPERAND, None), (range(16, 32), Source(0), None)]),
        ("L=8,k_order=reversed", 16, [(range(15, 7, -1), OPERAND, None), (range(7, -1, -1), Source(0), None)]),
        ("L=8,join=ieee", 16, [(range(8), ZERO, OPERAND), (range(8, 16), ZERO, Source(0))]),
        ("L=8,join=ieee-once", 16, [(range(8), ZERO, None), (range(8, 16), Source(0), OPERAND)]),
        ("L=16,join=ieee-once", 32, [(range(16), ZERO, OPERAND), (range(16, 32), ZERO, Source(0))]),
        ("summation=sequential,L=8", 16, [(range(8), OPERAND, None), (range(8, 16), Source(0), None)]),
    ],
)
def test_which_products_and_which_c_enter_which_step(settings, length, steps):
    paths = datapath(find_design(f"{CHAIN}@{settings}"), length)
    assert [(path.ks, path.c, path.added_last) for path in paths] == [(tuple(ks), *rest) for ks, *rest in steps]
    assert all(path.terms == tuple(map(Product, path.ks)) for path in paths)


def sums_of(name):
    """The one step of a design, and its sums: label, terms, cuts, least e_max, register."""
    design = find_design(name)
    (path,) = datapath(design.one_step(), design.step.L)
    return path, [(x.label, x.terms, x.cuts, x.floor, x.register) for x in path.sums]


def test_one_sum_of_all_terms():
    name = f"{CHAIN}@L=2,fraction_bits=24,floor=-100,carry_bits=3"
    register = sum_widths(find_design(name)).register
    terms, cut = (Product(0), Product(1), Addend.C), Cut(24, Alignment.TRUNCATE)
    path, sums = sums_of(name)
    assert sums == [(Partial.WHOLE, terms, (cut,) * 3, -100, register)]
    assert register is not None
    assert (path.far_c_dropped, path.rounds_again) == (None, None)


def test_products_without_c():
    _, sums = sums_of(f"{CHAIN}@L=2,join=ieee,floor=-100")
    assert [(label, floor) for label, *_, floor, _ in sums] == [(Partial.WHOLE, -100)]


@pytest.mark.parametrize(
    ("settings", "first", "dropped", "again"),
    [
        ("far_c=rounded", 31, None, None),
        ("far_c=dropped", 31, 24, None),
        ("late_rounding=twice,far_c=rounded", 32, None, 31),
    ],
)
def test_c_that_joins_rounded_down(settings, first, dropped, again):
    late = "join=round-down,late_bits=31,late_alignment=floor,fraction_bits=24,floor=-100,carry_bits=3"
    path, (products, joined) = sums_of(f"{CHAIN}@L=2,{late},{settings}")
    cut = Cut(24, Alignment.TRUNCATE)
    assert products[:4] == (Partial.PRODUCTS, (Product(0), Product(1)), (cut, cut), -100)
    assert products[4] is not None
    down = Cut(first, Alignment.FLOOR), Cut(24, Alignment.FLOOR)
    assert joined == (Partial.WHOLE, (Partial.PRODUCTS, Addend.C), down, None, None)
    assert (path.far_c_dropped, path.rounds_again) == (dropped, again)


@pytest.mark.parametrize("late", [True, False])
def test_even_and_odd_products(late):
    join = "join=round-down,late_bits=31,late_alignment=floor" if late else "join=fused"
    _, sums = sums_of(f"{CHAIN}@L=4,grouping=even-odd,fraction_bits=24,floor=-100,carry_bits=3,{join}")
    cut, down = Cut(24, Alignment.TRUNCATE), Cut(24, Alignment.FLOOR)
    halves = [(Partial.EVEN, (Product(0), Product(2))), (Partial.ODD, (Product(1), Product(3)))]
    assert [x[:4] for x in sums[:2]] == [(*half, (cut, cut), -100) for half in halves]
    assert all(x[4] is not None for x in sums[:2])
    both = (Partial.EVEN, Partial.ODD)
    if late:
        assert sums[2] == (Partial.PRODUCTS, both, (down, down), -100, None)
        assert sums[3][:2] == (Partial.WHOLE, (Partial.PRODUCTS, Addend.C))
    else:
        assert sums[2:] == [(Partial.WHOLE, (*both, Addend.C), (cut,) * 3, -100, None)]


def test_groups_of_products():
    design = find_design(MXFP4)
    path = datapath(design, design.k)[0]
    size = design.step.group_size
    assert path.terms == tuple(Group(path.ks[i : i + size]) for i in range(0, design.step.L, size))
    assert path.sums[0].terms == (*path.terms, Addend.C)
