"""Which tests a change, and which a merge, does without."""

from collections.abc import Callable, Iterable
from pathlib import Path
from zlib import crc32

_TESTS = Path(__file__).parents[1]


def _lines(name: str) -> list[str]:
    return [x for x in (_TESTS / name).read_text(encoding="utf-8").splitlines() if not x.startswith("#")]


LONG = frozenset(_lines("long.txt"))
"""The ids of tests that take too long for a merge."""
FEW = {test: int(count) for count, test in (x.split(" ", 1) for x in _lines("quick.txt"))}
"""How many values of a parametrized test a change runs, where these are not all of them."""


def left_to_the_middle_tier(ids: Iterable[str]) -> set[str]:
    """Of the quick values of each parametrized test, those that a change does without."""
    return _left_out(ids, lambda test, count: FEW.get(test, count))


def left_to_the_slow_tier(ids: Iterable[str]) -> set[str]:
    """Of the middle values of each parametrized test, those that a merge does without: seven of eight.

    One value of each test runs at least.
    """
    return _left_out(ids, lambda test, count: max(1, count // 8))


def _left_out(ids: Iterable[str], kept: Callable[[str, int], int]) -> set[str]:
    """Leave out all values of a test but as many as are kept. Their ids decide which, so on every machine alike."""
    sweeps: dict[str, list[str]] = {}
    for one in ids:
        sweeps.setdefault(one.partition("[")[0], []).append(one)
    out: set[str] = set()
    for test, values in sweeps.items():
        values.sort(key=lambda x: crc32(x.encode()))
        out.update(values[kept(test, len(values)) :])
    return out
