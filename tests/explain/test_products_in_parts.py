"""The picture of a step that cuts the parts of products one by one."""

from fractions import Fraction

from support.pictures import steps

from mmaproof.designs.catalogue import find_design
from mmaproof.designs.element import Operands
from mmaproof.explain import explain
from mmaproof.explain.values import names
from mmaproof.explain.words import products_of
from mmaproof.smt.semantics.datapath import Part, Product

DESIGN = find_design("gaudi3/f32.f16.f16.f32")
OPERANDS = Operands((0x3FF1, 0x0003), (0x3C55, 0x3500), 0x31000001)


def test_the_parts_of_a_product_add_up_to_it() -> None:
    (step,) = steps(DESIGN, OPERANDS)
    for k in range(2):
        parts = Part.all_of(k, DESIGN.step.terms)
        assert sum((step.terms[part] for part in parts), Fraction(0)) == step.products[Product(k)]
        assert [products_of(part) for part in parts] == [(k,)] * 4


def test_the_picture_names_the_parts() -> None:
    ((block,),) = explain([DESIGN], OPERANDS).sections
    assert [row.label for row in block.rows[:6]] == ["p0.hh", "p0.hl", "p0.lh", "p0.ll", "p1.hh", "c"]
    assert "p0.hl: the high bits (h) of a[0] times the low 8 bits (l) of b[0], and so on" in block.before
    assert "p1.hl, p1.lh, p1.ll: +0 (exponent -25)" in block.before
    assert block.heading.startswith("e_max = 0 (p0), F = 24")


def test_the_picture_names_three_parts() -> None:
    design = find_design("gaudi3/f32.f32.f32.f32")
    ((block,),) = explain([design], Operands((0x3F8FFFFF,), (0x3F8FFFFF,), 0x3F800000)).sections
    assert [row.label for row in block.rows[:10]] == [f"p0.{x}{y}" for x in "hml" for y in "hml"] + ["c"]
    assert any(line.endswith("and so on; m: the 8 bits between them") for line in block.before)


def test_a_product_stands_in_the_place_of_all_of_its_parts() -> None:
    three = find_design("gaudi3/f32.f32.f32.f32").step.terms
    whole = Part.all_of(1, three)
    assert names([Product(0), *whole]) == "p0, p1"
    assert names(whole[1:]).startswith("p1.hm, p1.hl") and names([*whole[:8], Product(2)]).endswith("p1.lm, p2")
