"""One seed and one target have one answer, however fast the target is and however a process orders its sets.

What time did not let it prove is said, and changes neither the nearest design nor what a file of results asks next.
"""

import os
import subprocess
import sys

import numpy as np
import pytest
from support.small_spaces import small_space

from mmaproof.designs.catalogue import find_design
from mmaproof.designs.operands import OperandBatch
from mmaproof.generators.identify import identify
from mmaproof.generators.identify.fit import Fit
from mmaproof.generators.identify.identification import identify as identified
from mmaproof.generators.identify.outcome import ParameterVerdict, neighbour
from mmaproof.generators.identify.probes import first_probes
from mmaproof.hardware_replay.targets import ModelTarget
from mmaproof.smt.evaluate import evaluate_batch

IDENTIFIES = """
import sys, time
from dataclasses import replace
from mmaproof.designs.catalogue import find_design
from mmaproof.generators.identify.identification import identify
from mmaproof.hardware_replay.targets import ModelTarget

class Odd(ModelTarget):
    "A unit that no design describes: the last bit of d depends on two bits of a[0] alone."
    def run(self, rows):
        ran, d = super().run(rows), super().run(rows).d.copy()
        time.sleep(float(sys.argv[1]))
        return replace(ran, d=d ^ (rows.batch.a[:, 0] & 3 == 3).astype(d.dtype))

found = identify(
    Odd(find_design("volta/mma.m8n8k4.f32.f16.f16.f32")), "f32.f16.f16.f32", 4, space=sys.argv[2], proofs=False,
    seconds=600, validation=1000
)
print(found.late, found.tried, found.oracle.operands, found.nearest.as_text())
"""


@pytest.mark.middle
def test_the_nearest_design_is_one(tmp_path):
    names = "fraction_bits", "c_extra_bits", "carry_bits", "zero_c", "zero_product", "zero_sum", "overflow", "nan_code"
    space = tmp_path / "space.toml"
    space.write_text(small_space("volta/mma.m8n8k4.f32.f16.f16.f32", **dict.fromkeys(names)))
    found = []
    for seed, pause in (("1", "0"), ("2", "0.3")):
        done = subprocess.run(
            [sys.executable, "-c", IDENTIFIES, pause, str(space)],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        )
        found.append(done.stdout)
    assert found[0].startswith("False"), found[0]
    assert len(set(found)) == 1


TURING = find_design("turing/mma.m16n8k8.f32.f16.f16.f32")


def test_the_nearest_design_does_not_depend_on_what_was_proved():
    unit = find_design(f"{TURING.name}@fraction_bits=22")
    space = {"fraction_bits": ["22", "23", "24"], "rho": ["rz-fp32"], "L": ["8"], "alignment": ["truncate"]}
    found = identified(ModelTarget(unit), "f32.f16.f16.f32", 8, space=space, proofs=False, validation=1000)
    names = {neighbour(found).text}
    for kind in ("excluded", "unobservable", "undecided"):
        others = {n: (*x.excluded, *x.unobservable, *x.undecided) for n, x in found.findings.items()}
        nothing = {"excluded": (), "unobservable": (), "undecided": (), "row": None}
        found.findings = {
            n: ParameterVerdict(x.value, **{**nothing, kind: others[n]}) for n, x in found.findings.items()
        }
        names.add(neighbour(found).text)
    assert names == {unit.name}


@pytest.mark.few(1)
@pytest.mark.parametrize("target", ["live", "file"])
def test_the_nearest_design_does_not_depend_on_when_time_was_over(monkeypatch, tmp_path, target):
    unit = find_design(f"{TURING.name}@fraction_bits=21,c_extra_bits=1,zero_sum=ieee")
    batch = first_probes(TURING, 3).batch
    np.savez(tmp_path / "rows.npz", a=batch.a, b=batch.b, c=batch.c, d=evaluate_batch(unit, batch))
    ends, names = set(), set()
    for most in (1, 40, 60):
        left = iter(range(most))
        monkeypatch.setattr(Fit, "is_late", lambda _, left=left: next(left, None) is None)
        asked = ModelTarget(unit) if target == "live" else str(tmp_path / "rows.npz")
        found = identified(asked, "f32.f16.f16.f32", 8, proofs=False)
        assert found.behaviour is None and found.late and found.by_clock
        near = neighbour(found)
        ends.add(str(found.nearest.as_text()))
        names.add((near.text, repr(near.disagreements)))
    assert len(ends) > 1, "the search ended at different settings"
    assert len(names) == 1


@pytest.mark.middle
def test_operands_that_a_proof_found_are_asked_next(monkeypatch, tmp_path):
    monkeypatch.setattr(identify, "SEARCHED", 2)  # so a search finds nothing
    (tmp_path / "space.toml").write_text(small_space(TURING.name, zero_sum=["positive", "ieee"]))

    def file(batch):
        np.savez(tmp_path / "rows.npz", a=batch.a, b=batch.b, c=batch.c, d=evaluate_batch(TURING, batch))
        given = {"space": tmp_path / "space.toml", "propose": True, "seconds": 300}
        return identified(str(tmp_path / "rows.npz"), "f32.f16.f16.f32", 8, **given)

    first = first_probes(TURING, 0).batch
    found = file(first)
    assert found.findings["zero_sum"].undecided == ("ieee",)
    other = find_design(f"{TURING.name}@zero_sum=ieee")
    assert (evaluate_batch(TURING, found.proposed) != evaluate_batch(other, found.proposed)).any()
    again = file(OperandBatch.concatenate([first, found.proposed]))
    assert not again.findings["zero_sum"].undecided and not len(again.proposed)
    assert (found.unproved, again.unproved) == (0, 0)
    monkeypatch.setattr(identify, "PROOF_SHARE", 0.0)
    late = file(first)
    assert late.unproved and not len(late.proposed)
