"""Set cover: a small selection of sets whose union is the union of all sets."""

from __future__ import annotations

from collections.abc import Sequence

STEPS = 200_000
"""Sets that are tried, at most, in the search for a smaller cover than the greedy one."""


def set_cover(sets: Sequence[frozenset[int]]) -> list[int]:
    """Return the positions of few sets whose union is that of all of them.

    The greedy choice, each time the set with most of what is missing, is improved by an exhaustive search of bounded
    length: the answer does not depend on the clock. Among equal sets the first is chosen.
    """
    first = {s: i for i, s in reversed(list(enumerate(sets)))}
    # a set within another one is never needed
    useful = [s for s in first if s and not any(s < t for t in first)]
    everything = frozenset().union(*useful)
    best = _greedy(useful, everything)
    steps = [STEPS]
    while len(best) > 1:
        smaller = _within(useful, everything, len(best) - 1, steps)
        if smaller is None:
            break
        best = smaller
    return sorted(first[s] for s in best)


def _greedy(sets: Sequence[frozenset[int]], missing: frozenset[int]) -> list[frozenset[int]]:
    chosen = []
    while missing:
        chosen.append(max(sets, key=lambda s: len(s & missing)))
        missing -= chosen[-1]
    return chosen


def _within(
    sets: Sequence[frozenset[int]], missing: frozenset[int], most: int, steps: list[int]
) -> list[frozenset[int]] | None:
    """Return at most ``most`` sets that hold what is ``missing``; None if there are none, or no steps are left."""
    if not missing:
        return []
    if most * max(len(s & missing) for s in sets) < len(missing):
        return None
    # the element that the fewest sets hold: one of them is chosen
    hardest = min(missing, key=lambda x: sum(x in s for s in sets))
    for s in sorted((s for s in sets if hardest in s), key=lambda s: -len(s & missing)):
        steps[0] -= 1
        if steps[0] <= 0:
            return None
        rest = _within(sets, missing - s, most - 1, steps)
        if rest is not None:
            return [s, *rest]
    return None
