"""The net that an answer names, or its cone, has the line of the source that a fault changed."""

import re
from pathlib import Path

import pytest
from support.own_rtl import OWN_UNITS, UNITS
from support.rtl_mutants import MUTANTS, Different, Mutant
from support.rtl_units import COMBINATIONAL, write_unit

from mmaproof.designs.catalogue import find_design
from mmaproof.designs.design import Design
from mmaproof.designs.element import Operands
from mmaproof.rtl import RtlUnit, read_unit
from mmaproof.verification.compare import compare
from mmaproof.verification.differing_nets import DifferingNet, differing_nets

DESIGNS = {u.path: u.design for u in OWN_UNITS}
INT8 = "turing/mma.m8n8k16.s32.s8.s8.s32"

LEAD = ["ties-of-largest", "negative-sum", "one-comparator", "c-truncated", "products-truncated", "one-product"]
LEAD += ["saturation", "never-saturates", "sign-of-zero"]
"""mutants whose line is that of the net"""
CONE = ["sticky-kept", "rounded-alignment", "subnormal-result", "one-leading-zero-node", "sign-of-last-row"]
CONE += ["clamped-distance", "ties-away", "sticky-bit", "second-term-of-largest", "sign-of-largest-sum", "far-path"]
"""mutants whose line is in the cone of the net"""
CUT = {"carry-bit": ("u.total", "sum"), "narrow-integer-sum": ("sum", "sum")}
"""mutants that make a net too narrow: the net, and what it carries too few bits of"""


def mutant(name: str) -> Different:
    return next(x for x in MUTANTS if x.name == name)


def leads(unit: RtlUnit, model: Design, x: Different) -> DifferingNet:
    a, b = (tuple(int(p, 16) for p in column.split()) for column in (x.a, x.b))
    return differing_nets(unit.design, model, Operands(a, b, int(x.c, 16)))[0]


def lead_of(name: str, folder: Path) -> tuple[DifferingNet, str]:
    """The first net of a mutant, and the file and line that it changes."""
    x = mutant(name)
    design = find_design(DESIGNS[x.unit])
    found = leads(read_unit(x.write(folder), signature=design.signature), design, x)
    text = (UNITS / x.unit).with_name(x.file).read_text(encoding="utf-8")
    return found, f"{x.file}:{text.count(chr(10), 0, text.index(x.old)) + 1}"


def line(place: str) -> str:
    found = re.match(r"(?:.*/)?([^/]+:\d+)", place)
    return "" if found is None else found[1]


def quick(names: list[str]) -> list[object]:
    return [x if i == 0 else pytest.param(x, marks=pytest.mark.middle) for i, x in enumerate(names)]


@pytest.mark.slow_values("one-comparator", "ties-of-largest")
@pytest.mark.parametrize("name", quick(LEAD))
def test_the_net_of_a_fault_is_at_its_line(name: str, tmp_path: Path) -> None:
    found, at = lead_of(name, tmp_path)
    assert line(found.place) == at


@pytest.mark.parametrize("name", quick(CONE))
def test_the_cone_of_a_net_has_the_line_of_the_fault(name: str, tmp_path: Path) -> None:
    found, at = lead_of(name, tmp_path)
    assert at in map(line, found.cone) and len(found.cone) <= 12


@pytest.mark.parametrize("name", CUT)
def test_a_net_that_is_too_narrow_is_named(name: str, tmp_path: Path) -> None:
    found, _ = lead_of(name, tmp_path)
    assert (found.net, found.signal) == CUT[name]
    assert re.fullmatch(r"cut to \d+ bits", found.relation)


@pytest.mark.parametrize(
    ("sum_of", "net"),
    [
        ("p0 + p1 + c; wire signed [7:0] p0 = a0 * b0; wire signed [15:0] p1 = a1 * b1", "p0"),
        ("$signed({a0 * b0}) + $signed({a1 * b1}) + c", None),
    ],
)
def test_a_product_of_eight_bits_is_named(sum_of: str, net: str | None, tmp_path: Path) -> None:
    body, *wires = sum_of.split("; ")
    declared = "".join(f"{x};\n" for x in wires)
    source = COMBINATIONAL.replace("assign d = a0 * b0 + a1 * b1 + c;", f"{declared}assign d = {body};")
    unit, design = read_unit(write_unit(tmp_path, source)), find_design(INT8)
    witness = compare(unit.design, design, k=2).witness
    assert witness is not None
    found = differing_nets(unit.design, design, witness)[0]
    assert found.relation == "cut to 8 bits" and found.signal.startswith("product")
    assert line(found.place) == "unit.sv:3" and found.cone == ("unit.sv:3",)
    assert net in (None, found.net)


def test_the_cone_of_a_right_input_ends_there(tmp_path: Path) -> None:
    lines = ["wire signed [7:0] p0 = a0 * b0;", "wire signed [15:0] p1 = a1 * b1;", "assign d = p0 + p1 + c;"]
    source = COMBINATIONAL.replace("assign d = a0 * b0 + a1 * b1 + c;", "\n".join(lines))
    unit = read_unit(write_unit(tmp_path, source))
    found = differing_nets(unit.design, INT8, Operands((2, 0), (100, 0), 0))
    assert [x.net for x in found if x.net in ("p0", "p1", "d")] == ["p0", "d"]
    assert found[-1].cone == ("unit.sv:5", "unit.sv:3")


@pytest.mark.parametrize("amount", ["distance[4:0]", "4'(distance)"])
def test_a_shift_amount_that_is_cut_is_found_at_its_shifter(amount: str, tmp_path: Path) -> None:
    path = "tree/fp16_l4.toml"
    old = "kept = whole >> distance;"
    x = Mutant("cut-amount", path, "dot_tree.sv", old, f"kept = whole >> {amount};", "the distance is cut")
    design = find_design(DESIGNS[path])
    unit = read_unit(x.write(tmp_path), signature=design.signature)
    witness = compare(unit.design, design).witness
    assert witness is not None
    found = differing_nets(unit.design, design, witness)[0]
    text = (UNITS / "tree" / x.file).read_text(encoding="utf-8")
    assert line(found.place) == f"{x.file}:{text.count(chr(10), 0, text.index(old)) + 1}"
    assert re.fullmatch(r"u.g_align\[\d\].kept", found.net)
