"""The widths modulo which sums are taken apart and put together, as the operations on forms are called."""

from collections.abc import Callable, Collection, Iterable
from itertools import pairwise

import pytest

from mmaproof.smt.proving.linear import Form

Step = tuple[int, int]
"""A width, and one that is not smaller to which a sum is extended or from which it is cut."""


def widths_of_forms(monkeypatch: pytest.MonkeyPatch) -> set[Step]:
    """Return the steps by which forms with words are added, multiplied, cut or moved from now on."""
    seen: set[Step] = set()

    def noted(method: str, widths: Callable[..., Iterable[int]]) -> None:
        right = getattr(Form, method)

        def wrapped(self: Form, *x: object) -> Form:
            if self.terms:
                seen.update(steps_between(*widths(self, *x)))
            found: Form = right(self, *x)
            return found

        monkeypatch.setattr(Form, method, wrapped)

    noted("plus", lambda form, other: [form.width])
    noted("times", lambda form, factor: [form.width] if factor != 1 else [])
    noted("cut", lambda form, width: [form.width, width])
    noted("shifted", lambda form, places, width: [form.width, width])
    return seen


def steps_between(*widths: int) -> set[Step]:
    """Return the steps from each of some widths to the next one, and one from each to itself."""
    found = sorted(set(widths))
    return {*((x, x) for x in found), *pairwise(found)}


def not_joined(seen: Collection[Step], noted: Collection[Step]) -> set[Step]:
    """Return the steps that are not chain of steps that were noted."""
    return {(low, high) for low, high in seen if high not in _reached(low, noted) or (high, high) not in noted}


def _reached(low: int, noted: Collection[Step]) -> set[int]:
    found = {low} if (low, low) in noted else set()
    while more := {wide for narrow, wide in noted if narrow in found} - found:
        found |= more
    return found
