"""On a machine with an NVIDIA GPU: every instruction of the catalogue that it has, against its design."""

import json

import pytest

from mmaproof.cli.main import main
from mmaproof.designs.errors import TargetUnavailable
from mmaproof.generators.standard import sample
from mmaproof.hardware_replay.targets import find_target


@pytest.fixture(scope="module")
def gpu():
    try:
        return find_target("cuda")
    except TargetUnavailable as error:
        pytest.skip(f"no GPU to run on: {error}")


def test_every_instruction_returns_what_its_design_says(gpu):
    differing = {}
    for design in gpu.designs:
        done = sample(gpu, design, rows=20_000)
        assert not any(x.unanswered for x in done.tallies), design.name
        counts = {x.distribution: x.differ for x in done.tallies if x.differ}
        if counts:
            differing[design.name] = counts
    assert not differing


@pytest.mark.slow
def test_the_standard_recording(gpu, tmp_path):
    assert main(["record", gpu.name, "--standard", "-o", str(tmp_path / "made")]) == 0
    summary = json.loads((tmp_path / "made" / "summary.json").read_text())
    assert len(summary["instructions"]) == len(gpu.designs)
    assert not any(x["differ"] for done in summary["instructions"] for x in done["distributions"])
