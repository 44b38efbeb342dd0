"""The list of long tests names tests that are there."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LONG = [x for x in (ROOT / "tests/long.txt").read_text(encoding="utf-8").splitlines() if not x.startswith("#")]


@pytest.mark.middle
def test_every_long_test_is_there():
    files = sorted({x.partition("::")[0] for x in LONG})
    command = [sys.executable, "-m", "pytest", "--collect-only", "--quiet", "--slow", "-p", "no:cacheprovider", *files]
    collected = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines()
    assert sorted(set(LONG) - set(collected)) == []


def test_every_long_test_is_listed_once():
    assert sorted(LONG) == LONG
    assert len(set(LONG)) == len(LONG)
