"""The order over k in which the products of an instruction enter its steps."""

from __future__ import annotations

import re
from dataclasses import dataclass

from mmaproof.designs.errors import DesignError


@dataclass(frozen=True, slots=True)
class KOrder:
    """An order of products that a text describes.

    ``text`` is ``consecutive``, ``reversed``, or groups of residues. For example, ``mod4:01/23`` takes the k with k mod
    4 in {0, 1} first and then the k with k mod 4 in {2, 3}, each group in rising order. Residues are hexadecimal
    digits.
    """

    text: str

    ALLOWED = "consecutive, reversed, or groups of residues such as mod4:01/23"

    def __post_init__(self) -> None:
        self.permutation(self._period())

    def __str__(self) -> str:
        return self.text

    def _period(self) -> int:
        spelled = re.fullmatch(r"mod([1-9]|1[0-6]):[0-9a-f]+(/[0-9a-f]+)*", self.text)
        if spelled is None and self.text not in ("consecutive", "reversed"):
            raise DesignError(f"k_order {self.text!r}: allowed is {self.ALLOWED}")
        return int(spelled[1]) if spelled else 1

    def permutation(self, length: int) -> list[int]:
        """Return the k in the order in which they are taken. Raises DesignError if the residues are not a partition."""
        if self.text == "consecutive":
            return list(range(length))
        if self.text == "reversed":
            return list(reversed(range(length)))
        period, groups = self._period(), self.text.partition(":")[2].split("/")
        residues = [int(r, 16) for group in groups for r in group]
        if sorted(residues) != list(range(period)):
            raise DesignError(f"k_order {self.text!r}: each residue 0..{period - 1} must occur once")
        return [k for group in groups for k in range(length) if f"{k % period:x}" in group]


CONSECUTIVE = KOrder("consecutive")
