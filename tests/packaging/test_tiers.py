"""The list of long tests names tests that are there."""

import subprocess
import sys
from pathlib import Path

import pytest
from support.tiers import LONG, left_to_the_slow_tier

ROOT = Path(__file__).parents[2]


@pytest.mark.middle
def test_every_long_test_is_there():
    files = sorted({x.partition("::")[0] for x in LONG})
    command = [sys.executable, "-m", "pytest", "--collect-only", "--quiet", "--slow", "-p", "no:cacheprovider", *files]
    collected = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines()
    assert sorted(LONG - set(collected)) == []


def test_every_long_test_is_listed_once():
    lines = (ROOT / "tests/long.txt").read_text(encoding="utf-8").splitlines()
    assert [x for x in lines if not x.startswith("#")] == sorted(LONG)


def test_a_merge_runs_a_quarter_of_a_sweep_and_three_values_of_a_short_one():
    long, short = [f"tests/test_x.py::test_long[{n}]" for n in range(40)], [f"test_short[{n}]" for n in range(5)]
    out = left_to_the_slow_tier([*long, *short, "test_alone"])
    assert len(out & set(long)) == 30
    assert len(out & set(short)) == 2
    assert "test_alone" not in out
    assert out == left_to_the_slow_tier([*reversed(short), "test_alone", *reversed(long)])
