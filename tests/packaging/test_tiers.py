"""The marks that decide when a test runs name values that are there, and leave the tests out that they should."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.tiers import is_slow_value, left_to_the_middle_tier, left_to_the_slow_tier

TESTS = Path(__file__).parents[1]


class Item:
    """A test as the tiers see it: its id, its name and its marks."""

    def __init__(self, nodeid: str, *marks: pytest.Mark) -> None:
        self.nodeid, self.name, self._marks = nodeid, nodeid.rpartition("::")[2], marks

    def iter_markers(self, name: str) -> Iterator[pytest.Mark]:
        return (x for x in self._marks if x.name == name)

    def get_closest_marker(self, name: str) -> pytest.Mark | None:
        return next(self.iter_markers(name), None)


def slow_values() -> Iterator[tuple[str, str]]:
    """Each file and test that has the mark, with a value that it names."""
    for path in sorted(TESTS.rglob("test_*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            for mark in getattr(node, "decorator_list", ()):
                if isinstance(mark, ast.Call) and ast.unparse(mark.func) == "pytest.mark.slow_values":
                    for value in mark.args:
                        yield path.relative_to(TESTS.parent).as_posix(), f"{node.name}[{ast.literal_eval(value)}]"


@pytest.mark.middle
def test_every_value_that_is_marked_is_there():
    marked = [f"{file}::{test}" for file, test in slow_values()]
    files = sorted({x.partition("::")[0] for x in marked})
    command = [sys.executable, "-m", "pytest", "--collect-only", "--quiet", "--slow", "-p", "no:cacheprovider", *files]
    collected = subprocess.run(
        command, cwd=TESTS.parent, capture_output=True, text=True, check=True
    ).stdout.splitlines()
    assert marked
    assert sorted(set(marked) - set(collected)) == []


def test_a_merge_runs_a_sixteenth_of_a_sweep_and_one_value_of_a_short_one():
    long = [Item(f"tests/test_x.py::test_long[{n}]") for n in range(40)]
    short, alone = [Item(f"test_short[{n}]") for n in range(5)], Item("test_alone")
    out = left_to_the_slow_tier([*long, *short, alone])
    assert len(out & set(long)) == 38
    assert len(out & set(short)) == 4
    assert alone not in out
    assert out == left_to_the_slow_tier([*reversed(short), alone, *reversed(long)])


def test_of_a_short_sweep_a_merge_runs_no_more_than_a_change_did():
    long = [Item(f"test_long[{n}]") for n in range(40)]
    short, alone = [Item(f"test_short[{n}]") for n in range(5)], Item("test_alone")
    out = left_to_the_slow_tier([*long, *short, alone], [Item("test_short[5]"), Item("test_long[40]")])
    assert len(out & set(long)) == 38
    assert out >= set(short)
    assert alone not in out


def test_a_change_runs_as_many_values_as_are_marked():
    marked = [Item(f"test_long[{n}]", pytest.mark.few(3).mark) for n in range(9)]
    others = [Item("test_other[1]"), Item("test_other[2]")]
    out = left_to_the_middle_tier([*marked, *others])
    assert len(out) == 6
    assert not out & set(others)


def test_a_slow_value_is_named_in_full():
    mark = pytest.mark.slow_values("a-1", "b").mark
    assert [is_slow_value(Item(f"tests/test_x.py::test_x[{x}]", mark)) for x in ("a-1", "a", "b", "b-1")] == [
        True,
        False,
        True,
        False,
    ]
