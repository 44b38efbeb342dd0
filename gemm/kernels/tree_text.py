"""A summation tree as one line of text.

``0..7`` is a chain: each term is added to the sum of those before it. ``0..30:2`` is a chain of every second term,
``0..31 by 16`` one of 16 terms at once. ``{0 3 4}`` are terms that are added at once. Sums in parentheses are made
apart. All is added from the left to the right.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from mmaproof.gemm.kernels.tree import Tree, least, leaves, renumbered

SHOWN = 3
"""Parts that are alike and follow each other are shown up to this number, and counted beyond."""
LISTED = 24
"""Terms in no regular order that are listed."""
_Group = Sequence[Tree]


def text_of(tree: Tree) -> str:
    """Return the tree as text."""
    if isinstance(tree, int):
        return str(tree)
    return " + ".join(_segments(_separate(tree.groups)))


def _separate(groups: Sequence[_Group]) -> list[_Group]:
    """Return the groups of a spine with a first pair of terms as two terms, one added to the other."""
    first = groups[0]
    if len(first) == 2 and (len(groups) == 1 or len(groups[1]) == 1):
        return [first[:1], first[1:], *groups[1:]]
    return list(groups)


def _segments(groups: list[_Group]) -> list[str]:
    """Return the summands: runs of terms, and sums that are made apart."""
    parts: list[str] = []
    at = 0
    while at < len(groups):
        if _is_of_leaves(groups[at]) and len(groups[at]) == 1:
            end = _end(groups, at, lambda x: len(x) == 1 and _is_of_leaves(x))
            parts.append(_terms([least(x[0]) for x in groups[at:end]]))
        else:
            end = _end_of_alike(groups, at)
            parts += _alike(groups[at:end])
        at = end
    return parts


def _is_of_leaves(group: _Group) -> bool:
    return all(isinstance(x, int) for x in group)


def _end(groups: Sequence[_Group], at: int, fits: Callable[[_Group], bool]) -> int:
    while at < len(groups) and fits(groups[at]):
        at += 1
    return at


def _terms(ks: list[int]) -> str:
    """Return terms that are added one after the other: ranges where they are in one, or all."""
    texts = []
    at = 0
    while at < len(ks):
        end = at + 1
        while end + 1 < len(ks) and ks[end + 1] - ks[end] == ks[at + 1] - ks[at]:
            end += 1
        if at + 1 < len(ks) and end - at >= 2:
            texts.append(_range(ks[at : end + 1]))
            at = end + 1
        else:
            texts.append(str(ks[at]))
            at += 1
    if len(texts) > LISTED:
        texts[LISTED:] = [f"... ({len(ks)} terms in all)"]
    return " ".join(texts)


def _range(ks: Sequence[int]) -> str:
    step = ks[1] - ks[0]
    return f"{ks[0]}..{ks[-1]}" + ("" if step == 1 else f":{step}")


def _alike(groups: Sequence[_Group]) -> list[str]:
    """Return groups that are each the one before, shifted."""
    ks = [leaves_of(x) for x in groups]
    at_once = len(groups[0])
    if (
        len(groups) > 1
        and all(map(_is_of_leaves, groups))
        and [k for x in ks for k in x] == list(range(ks[0][0], ks[-1][-1] + 1))
    ):
        return [f"{ks[0][0]}..{ks[-1][-1]} by {at_once}"]
    if len(groups) <= SHOWN:
        return [_group(x) for x in groups]
    shift = min(ks[1]) - min(ks[0])
    return [f"{_group(groups[0])} and {len(groups) - 1} more like it, each {shift} further"]


def _group(group: _Group) -> str:
    ks = leaves_of(group)
    if _is_of_leaves(group):
        return (
            "{" + (_range(ks) if len(ks) > 3 and ks == list(range(ks[0], ks[-1] + 1)) else " ".join(map(str, ks))) + "}"
        )
    if len(group) == 1:
        return f"({text_of(group[0])})"
    return "{" + " ".join(str(x) if isinstance(x, int) else f"({text_of(x)})" for x in group) + "}"


def leaves_of(group: _Group) -> list[int]:
    """Return the leaves of a group, in the order of the record."""
    return [k for x in group for k in leaves(x)]


def _end_of_alike(groups: Sequence[_Group], at: int) -> int:
    """Return the end of the groups that are each the one before, shifted by the same number."""
    shift = None
    end = at + 1
    while end < len(groups) and len(groups[end]) == len(groups[at]):
        away = min(leaves_of(groups[end])) - min(leaves_of(groups[end - 1]))
        if (shift is not None and away != shift) or not _is_shifted(groups[end - 1], groups[end], away):
            break
        shift, end = away, end + 1
    return end


def _is_shifted(first: _Group, second: _Group, by: int) -> bool:
    ks = range(by, by + 1 + max(leaves_of(first)))
    return by > 0 and all(renumbered(x, ks) == y for x, y in zip(first, second, strict=True))
