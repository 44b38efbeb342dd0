"""A register that is c and d: its step is that of a design, and its enable, clear and load do what is claimed."""

from pathlib import Path

import pytest
from support.commands import only_json
from support.own_rtl import UNITS

from mmaproof.designs.transitions import CLEAR, FIRST, HOLD
from mmaproof.rtl import read_unit
from mmaproof.rtl.meant import read_rtl

pytest.importorskip("pyosys")

PE, MAC = "pe_int8", "mac_int8"
FOLDER = UNITS / "accumulator"

MUTANTS = {
    "a clear that is ignored": (PE, "else if (clr) acc <= '0;", "else if (clr && 1'b0) acc <= '0;", ["clear", FIRST]),
    "a clear while it is disabled is ignored": (PE, "else if (clr) acc", "else if (clr && en) acc", [CLEAR]),
    "a clear while it is enabled is ignored": (PE, "else if (clr) acc", "else if (clr && !en) acc", [FIRST]),
    "a clear of the wrong value": (PE, "(clr) acc <= '0;", "(clr) acc <= 32'd1;", [CLEAR, FIRST]),
    "a clear of all bits but one": (PE, "(clr) acc <= '0;", "(clr) acc[30:0] <= '0;", [CLEAR, FIRST]),
    "an enable that is ignored": (PE, "else if (en) acc", "else acc", [HOLD]),
    "an enable that is inverted": (PE, "else if (en) acc", "else if (!en) acc", ["step", HOLD]),
    "the register doubles while it is disabled": (
        PE,
        "else if (en) acc <= acc + 32'(a * b);",
        "else if (en) acc <= acc + 32'(a * b); else acc <= acc << 1;",
        [HOLD],
    ),
    "an unsigned product": (PE, "32'(a * b)", "{16'd0, 16'(a * b)}", ["step"]),
    "a product that is lost": (PE, "acc + 32'(a * b)", "32'(a * b)", ["step"]),
    "a start that loses its products": (MAC, "else if (start) acc <= '0;", "else if (start) acc <= acc;", [CLEAR]),
    "a start that keeps the sum": (MAC, "(start ? 32'sd0 : acc)", "(acc)", [FIRST]),
    "a start from another value": (MAC, "(start ? 32'sd0 : acc)", "(start ? 32'sd1 : acc)", [FIRST]),
    "a drain that waits": (MAC, "if (drain) acc", "if (drain && !valid) acc", ["load 1"]),
    "a drain of another word": (MAC, "acc <= above;", "acc <= above ^ 32'd4;", ["load 0", "load 1"]),
    "no saturation below": (MAC, "acc <= 32'sh80000000;", "acc <= total[31:0];", ["step"]),
}


def mutated(folder: Path, unit: str, old: str, new: str) -> Path:
    """Write a unit in which a text is another, and return the path of its UNIT.toml."""
    source = (FOLDER / f"{unit}.sv").read_text(encoding="utf-8")
    assert source.count(old) == 1
    (folder / f"{unit}.sv").write_text(source.replace(old, new), encoding="utf-8")
    path = folder / f"{unit}.toml"
    path.write_text((FOLDER / f"{unit}.toml").read_text(encoding="utf-8"), encoding="utf-8")
    return path


def verdicts(path, run):
    """Return the exit status, the answer, and the claims with their verdicts."""
    status, out, _ = run("rtl", "prove", str(path), "--json", "--no-store", "--timeout", "2m")
    answer = only_json(out)
    claims = [x.key for x in read_unit(path, signature=read_rtl(path)[1].signature).transitions]
    names = dict.fromkeys(claims)
    found = {"step": answer["step"]} | dict(zip(names, (x["verdict"] for x in answer["register_claims"]), strict=True))
    return status, answer, found


@pytest.mark.parametrize("unit", [PE, pytest.param(MAC, marks=pytest.mark.middle)])
def test_a_register_that_accumulates_is_proved(run, unit):
    status, answer, found = verdicts(FOLDER / f"{unit}.toml", run)
    assert (status, answer["verdict"]) == (0, "equal-when")
    assert set(found.values()) == {"equal"}
    assert answer["induction"].startswith("by induction on clock cycles")


@pytest.mark.parametrize(
    "name", [pytest.param(x, marks=() if i in (0, 5) else (pytest.mark.middle,)) for i, x in enumerate(MUTANTS)]
)
def test_a_wrong_register_is_refuted(run, tmp_path, name):
    unit, old, new, wrong = MUTANTS[name]
    status, answer, found = verdicts(mutated(tmp_path, unit, old, new), run)
    assert [key for key, verdict in found.items() if verdict != "equal"] == wrong
    assert all(found[key] == "different" for key in wrong)
    assert (status, answer["verdict"]) == (1, "different")
    assert "induction on" not in answer["induction"]
