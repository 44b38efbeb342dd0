"""Which tests a change, and which a merge, does without. The marks stand at the tests."""

from collections.abc import Callable, Iterable
from zlib import crc32

import pytest


def is_slow_value(item: pytest.Item) -> bool:
    """Return whether the marks of a test name the value that it is run with as a slow one."""
    values = item.name.partition("[")[2].removesuffix("]")
    return any(values in mark.args for mark in item.iter_markers("slow_values"))


def left_to_the_middle_tier(items: Iterable[pytest.Item]) -> set[pytest.Item]:
    """Of the quick values of each parametrized test, those that a change does without."""
    return _left_out(items, lambda item, count: mark.args[0] if (mark := item.get_closest_marker("few")) else count)


def left_to_the_slow_tier(items: Iterable[pytest.Item], quick: Iterable[pytest.Item] = ()) -> set[pytest.Item]:
    """Of the middle values of each parametrized test, those that a merge does without: fifteen of sixteen.

    One value of each test runs at least, which may be one of the quick ones.
    """
    tried = {_test_of(x) for x in quick}
    return _left_out(items, lambda item, count: max(_test_of(item) not in tried, count // 16))


def _test_of(item: pytest.Item) -> str:
    return item.nodeid.partition("[")[0]


def _left_out(items: Iterable[pytest.Item], kept: Callable[[pytest.Item, int], int]) -> set[pytest.Item]:
    """Leave out all values of a test but as many as are kept. Their ids decide which, so on every machine alike."""
    sweeps: dict[str, list[pytest.Item]] = {}
    for one in items:
        sweeps.setdefault(_test_of(one), []).append(one)
    out: set[pytest.Item] = set()
    for values in sweeps.values():
        values.sort(key=lambda x: crc32(x.nodeid.encode()))
        out.update(values[kept(values[0], len(values)) :])
    return out
