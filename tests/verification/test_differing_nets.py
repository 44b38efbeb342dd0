"""The first net that differs is the one that a mutant breaks; nets that are right elsewhere and here are not named."""

import pytest
from support.small_units import COMBINATIONAL, DESIGN, WRONG, write_unit

from mmaproof.designs.element import Operands
from mmaproof.rtl import read_unit
from mmaproof.smt.trace import evaluate
from mmaproof.verification.differing_nets import differing_nets

pytest.importorskip("pyosys")

WITNESS = Operands((3, 0xB), (2, 6), 7)


def nets_of(folder, source, witness=WITNESS):
    unit = read_unit(write_unit(folder, source))
    return differing_nets(unit.design, DESIGN, witness), unit


def test_the_net_of_the_lost_product_is_named_with_both_values(tmp_path):
    found, unit = nets_of(tmp_path, WRONG)
    first = found[0]
    assert (first.net, first.width, first.returned) == ("second", 32, 0)
    assert first.expected == (-30) & 0xFFFFFFFF
    assert "product" in first.signal
    assert "net second (dot.sv:8.19-8.44) differs: model 0xffffffe2 (product" in str(first)
    assert (found[-1].net, found[-1].returned) == ("d", evaluate(unit.design, WITNESS))


@pytest.mark.parametrize(
    ("old", "new", "net"),
    [
        ("first = x * u", "first = (x == 3) ? 1 : x * u", "first"),
        ("d = c + first + second", "d = c + first + second + 1", "d"),
    ],
)
def test_what_is_right_before_it_is_not_named(tmp_path, old, new, net):
    found, _ = nets_of(tmp_path, COMBINATIONAL.replace(old, new))
    assert found[0].net == net


def test_of_a_right_unit_nothing_but_d_is_named(tmp_path):
    found, _ = nets_of(tmp_path, COMBINATIONAL)
    assert [x.net for x in found] == ["d"]
    assert found[0].expected == found[0].returned


def test_a_witness_of_several_passes_is_not_explained(tmp_path):
    found, _ = nets_of(tmp_path, WRONG, Operands((1,) * 4, (1,) * 4, 0))
    assert found == ()
