"""docs/units.md prints what the designs return."""

import re

import pytest
from support.sources import ROOT

from mmaproof.designs.catalogue import find_design, load_catalogue
from mmaproof.designs.element import Operands
from mmaproof.smt.trace import evaluate

TEXT = (ROOT / "docs/units.md").read_text(encoding="utf-8")
ONE, MINUS_ONE = 0x3F80, 0xBF80
SUMS = [
    Operands((ONE, 0x3380), (ONE, ONE), 0),
    Operands((ONE, ONE), (ONE, ONE), 0x4B800000),
    Operands((ONE, MINUS_ONE), (ONE, ONE), 0x33000001),
    Operands((ONE, MINUS_ONE, 0x3300), (ONE, ONE, ONE), 0),
    Operands((0x0080,), (0x3F00,), 0),
]
ROWS = re.findall(r"^\| `([^`]+/[^`]+)` \| ([0-9a-f |]+) \|$", TEXT, re.MULTILINE)


@pytest.mark.parametrize(("name", "printed"), ROWS, ids=lambda x: x.split("/")[0])
def test_a_row_is_what_the_design_returns(name, printed):
    design = find_design(name)
    assert printed.split(" | ") == [f"{evaluate(design, x):08x}" for x in SUMS]


def test_the_catalogue_is_as_large_as_said():
    said = re.search(r"lists ([0-9]+) designs of ([0-9]+) architectures", TEXT)
    catalogue = load_catalogue()
    assert said is not None
    assert [int(x) for x in said.groups()] == [len(catalogue.designs), len(catalogue.architectures)]
    named = set(re.findall(r"`([a-z0-9.-]+)`", TEXT.partition("## ")[0]))
    assert set(catalogue.architectures) <= named
    assert len(ROWS) == 12
