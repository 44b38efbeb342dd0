"""A latch that tied inputs keep open is a wire; any other one is refused, and it is said what would open it."""

from pathlib import Path

import pytest
from support.rtl_units import HEAD, write_unit

from mmaproof.designs.circuit import Cell
from mmaproof.designs.element import Operands
from mmaproof.designs.errors import InputError
from mmaproof.rtl import RtlUnit, read_unit
from mmaproof.rtl.registers import opens
from mmaproof.smt.trace import evaluate

LATCH = "always_latch if (en) d = a0 * b0 + a1 * b1 + c;"
LOW = LATCH.replace("(en)", "(!en)")
RESET = "always_latch if (rst) d = 0; else if (en) d = a0 * b0 + a1 * b1 + c;"
DERIVED = LATCH.replace("(en)", "(en & ~rst)")
BRANCH = "always_comb if (en) d = a0 * b0 + a1 * b1 + c;"
LATER = f"logic [31:0] e; {LATCH.replace('d =', 'e =')} always_comb if (en) d = e;"
CLOCKED = "always_latch if (clk & en) d = a0 * b0 + a1 * b1 + c;"


def unit(folder: Path, body: str, **tied: int) -> RtlUnit:
    ports = "".join(f"input {x}, " for x in ("en", "rst", "clk"))
    source = f"module unit({ports}{HEAD}, output logic signed [31:0] d);\n{body}\nendmodule\n"
    free = [x for x in ("en", "rst", "clk") if x not in tied]
    keys = f"free = {free}"
    tables = "[tied]\n" + "".join(f"{name} = {value}\n" for name, value in tied.items())
    return read_unit(write_unit(folder, source, keys=keys, tables=tables))


@pytest.mark.parametrize(
    ("body", "tied"),
    [
        (LATCH, {"en": 1}),
        (LOW, {"en": 0}),
        (RESET, {"en": 1, "rst": 0}),
        (DERIVED, {"en": 1, "rst": 0}),
        (BRANCH, {"en": 1}),
        (LATER, {"en": 1}),
    ],
)
def test_a_latch_that_is_kept_open_is_a_wire(body: str, tied: dict[str, int], tmp_path: Path) -> None:
    found = unit(tmp_path, body, **tied)
    assert evaluate(found.design, Operands((2, 3), (5, 7), 1)) == 32
    assert not found.report.registers and set(found.design.conditions) == {f"{n} = {x}" for n, x in tied.items()}


@pytest.mark.parametrize(
    ("body", "tied", "message"),
    [
        (LATCH, {"en": 0}, r"\$dlatch .*unit.sv:2.*keeps this latch shut: tie the value of its enable that opens it"),
        (LOW, {"en": 1}, "keeps this latch shut"),
        (RESET, {"rst": 0}, "latches are not covered, unless what is tied keeps them open"),
        (RESET, {"en": 0, "rst": 0}, "keeps this latch shut"),
        (BRANCH, {"en": 0}, "a value is kept where no branch assigns one"),
        (CLOCKED, {"en": 1}, "latches are not covered, unless what is tied keeps them open"),
    ],
)
def test_any_other_latch_is_refused(body: str, tied: dict[str, int], message: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=message):
        unit(tmp_path, body, **tied)


@pytest.mark.parametrize(
    ("kind", "controls", "expected"),
    [
        ("$dlatch", {"EN": 1}, True),
        ("$dlatch", {"EN": 0}, False),
        ("$dlatch", {"EN": None}, None),
        ("$adlatch", {"EN": 1, "ARST": 0}, True),
        ("$adlatch", {"EN": 1, "ARST": 1}, None),
        ("$adlatch", {"EN": 1, "ARST": None}, None),
        ("$dlatchsr", {"EN": 1, "SET": 0, "CLR": 0}, True),
        ("$dlatchsr", {"EN": 1, "SET": 0, "CLR": None}, None),
        ("$sr", {"SET": 0, "CLR": 0}, None),
    ],
)
@pytest.mark.parametrize("polarity", [1, 0])
def test_every_control_of_a_latch_counts(
    kind: str, controls: dict[str, int | None], expected: bool | None, polarity: int
) -> None:
    inputs = {port: (number,) for number, port in enumerate(controls)}
    cell = Cell("latch", kind, {f"{port}_POLARITY": polarity for port in controls}, {"D": (9,), **inputs}, {"Q": (8,)})
    values = {number: None if x is None else x == polarity for number, x in enumerate(controls.values())}
    assert opens(cell, lambda bit: values[bit]) is expected  # type: ignore[index]
