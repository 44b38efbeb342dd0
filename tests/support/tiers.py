"""Which tests a merge does without."""

from collections.abc import Iterable
from pathlib import Path
from zlib import crc32

LONG = frozenset(
    x
    for x in (Path(__file__).parents[1] / "long.txt").read_text(encoding="utf-8").splitlines()
    if not x.startswith("#")
)
"""The ids of tests that take too long for a merge."""


def left_to_the_slow_tier(ids: Iterable[str]) -> set[str]:
    """Of the middle values of each parametrized test, those that a merge does without: three of four.

    The ids decide which, so the choice is the same on every machine. Three values of each test run at least.
    """
    sweeps: dict[str, list[str]] = {}
    for one in ids:
        sweeps.setdefault(one.partition("[")[0], []).append(one)
    out: set[str] = set()
    for values in sweeps.values():
        values.sort(key=lambda x: crc32(x.encode()))
        out.update(values[max(3, len(values) // 4) :])
    return out
