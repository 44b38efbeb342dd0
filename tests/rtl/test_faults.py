"""Of one-line faults, the first net that is named is at the faulty line or one gate after it, for 32 of 40."""

import re
import tomllib

import pytest
from support.own_rtl import OWN_UNITS, UNITS
from support.rtl_mutants import Mutant

from mmaproof.designs.catalogue import find_design
from mmaproof.designs.element import Operands
from mmaproof.designs.errors import InputError
from mmaproof.rtl import read_unit
from mmaproof.rtl.meant import in_one_pass
from mmaproof.smt.trace import evaluate
from mmaproof.verification.differing_nets import DifferingNet, differing_nets

pytest.importorskip("pyosys")

DESIGNS = {u.path: u.design for u in OWN_UNITS}
FAULTS = {x["name"]: x for x in tomllib.loads((UNITS.parent / "faults.toml").read_text(encoding="utf-8"))["fault"]}
LEAST = 32
QUICK = ("int-unsigned-product", "mac-lanes", "tree-offset-of-c")


def line(place: str) -> str:
    found = re.match(r"(?:.*/)?([^/]+:\d+)", place)
    return "" if found is None else found[1]


def is_near(circuit, net: DifferingNet, at: str, writes: str | None) -> bool:
    """Whether a net is at a line, or a cell at its place reads what a cell of the line returns, or the line writes."""
    if line(net.place) == at or (writes is not None and re.search(rf"(^|\.){writes}$", net.net)):
        return True
    drivers = {bit: x for x in circuit.cells for bits in x.outputs.values() for bit in bits}
    written = set()
    for name, bits in circuit.nets.items():
        if writes is not None and re.search(rf"(^|\.){writes}(\[\d+\])?$", name):
            written.update(bits)
    read = {b for x in circuit.cells if x.source and x.source == net.place for bits in x.inputs.values() for b in bits}
    return not read.isdisjoint(written) or any(line(drivers[b].source) == at for b in read if b in drivers)


@pytest.mark.parametrize("name", [x if x in QUICK else pytest.param(x, marks=pytest.mark.middle) for x in FAULTS])
def test_the_first_net_is_at_the_fault_or_one_gate_after_it(name, tmp_path):
    x = FAULTS[name]
    design = find_design(DESIGNS[x["unit"]])
    mutant = Mutant(name, x["unit"], x["file"], x["old"], x["new"], x["kind"])
    read = read_unit(mutant.write(tmp_path), signature=design.signature)
    claims = {None: (read.design, design)} | {t.key: (t.unit, t.model or design) for t in read.transitions}
    unit, model = claims[x.get("claim")]
    model = in_one_pass(unit, model)
    a, b = (tuple(int(p, 16) for p in x[column].split()) for column in "ab")
    operands = Operands(a, b, int(x["c"], 16))
    assert evaluate(unit, operands) != evaluate(model, operands)
    text = (UNITS / x["unit"]).with_name(x["file"]).read_text(encoding="utf-8")
    at = f"{x['file']}:{text.count(chr(10), 0, text.index(x['old'])) + 1}"
    assert is_near(unit.step.circuit, differing_nets(unit, model, operands)[0], at, x.get("writes")) is x["named"]


def test_most_of_forty_faults_are_named():
    assert len(FAULTS) >= 40 and len({x["kind"] for x in FAULTS.values()}) >= 7
    assert sum(x["named"] for x in FAULTS.values()) >= LEAST


def test_a_wrong_skew_is_refused_with_the_registers_of_its_path(tmp_path):
    path = "streaming/stream_int8.toml"
    mutant = Mutant("skew", path, "column_int8.sv", ".above(sums[i])", ".above(sums[i == 2 ? 1 : i])", "skew")
    with pytest.raises(InputError, match=r"from c\[0\] to d\[0\] has 3 registers.*column_int8.sv:10"):
        read_unit(mutant.write(tmp_path), signature=find_design(DESIGNS[path]).signature)
