"""A line of progress has the stage, the lemmas and the elapsed time within 80 columns."""

import pytest

from mmaproof.cli.output import PROGRESS_WIDTH, in_one_line
from mmaproof.verification.compare import compare
from mmaproof.verification.strategies import STRATEGIES

LONG = "proving rtl:a/folder/with/a/long/name/UNIT.toml equal to hopper/mma.m16n8k16.f32.f16.f16.f32@zero_c=minus-126"


@pytest.mark.parametrize("width", [40, 80, 200])
@pytest.mark.parametrize("what", ["proving", LONG])
def test_a_line_fits(what, width):
    stage = "nets: 1234 lemmas, slowest 12.3 s"
    line = in_one_line(what, stage, width)
    assert len("/ ") + len(line) + len(" 0:00:00") < min(width, PROGRESS_WIDTH)
    assert stage[:24] in line
    assert width < 80 or (line.startswith("proving") and line.endswith(stage))


def test_a_proof_tells_its_stage_and_its_lemmas():
    said = []
    unit = "volta/mma.m8n8k4.f32.f16.f16.f32"
    compare(unit, f"{unit}@summation=sequential", budget=None, solver="bitwuzla", told=said.append)
    counts = [int(x.split(": ")[1].split()[0]) for x in said if "lemmas, slowest" in x]
    assert "identical arithmetic" in said and counts and counts == sorted(counts)
    stages = {strategy.__name__.replace("_", " ") for strategy in STRATEGIES}
    assert {x.partition(":")[0] for x in said} <= stages
