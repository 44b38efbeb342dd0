"""The list of long tests names tests that are there."""

import subprocess
import sys
from pathlib import Path

import pytest
from support.tiers import FEW, LONG, left_to_the_middle_tier, left_to_the_slow_tier

ROOT = Path(__file__).parents[2]


@pytest.mark.middle
def test_every_test_that_is_listed_is_there():
    files = sorted({x.partition("::")[0] for x in (*LONG, *FEW)})
    command = [sys.executable, "-m", "pytest", "--collect-only", "--quiet", "--slow", "-p", "no:cacheprovider", *files]
    collected = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines()
    assert sorted(LONG - set(collected)) == []
    assert sorted(FEW.keys() - {x.partition("[")[0] for x in collected}) == []


def test_every_long_test_is_listed_once():
    lines = (ROOT / "tests/long.txt").read_text(encoding="utf-8").splitlines()
    assert [x for x in lines if not x.startswith("#")] == sorted(LONG)


def test_a_merge_runs_an_eighth_of_a_sweep_and_one_value_of_a_short_one():
    long, short = [f"tests/test_x.py::test_long[{n}]" for n in range(40)], [f"test_short[{n}]" for n in range(5)]
    out = left_to_the_slow_tier([*long, *short, "test_alone"])
    assert len(out & set(long)) == 35
    assert len(out & set(short)) == 4
    assert "test_alone" not in out
    assert out == left_to_the_slow_tier([*reversed(short), "test_alone", *reversed(long)])


def test_a_change_runs_as_many_values_as_are_listed(monkeypatch):
    monkeypatch.setitem(FEW, "test_long", 3)
    monkeypatch.setitem(FEW, "test_alone", 0)
    out = left_to_the_middle_tier(
        [*(f"test_long[{n}]" for n in range(9)), "test_alone", "test_other[1]", "test_other[2]"]
    )
    assert len(out) == 7
    assert "test_alone" in out
    assert not any(x.startswith("test_other") for x in out)
