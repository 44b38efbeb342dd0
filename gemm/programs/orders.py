"""The order in which the sums of parts are added."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import ClassVar, Self

from mmaproof.designs.errors import DesignError


class Kind(StrEnum):
    """How the sums of parts are added."""

    ASCENDING = "ascending"
    """onto what the sum starts from, the first part first"""
    ONWARD = "onward"
    """onto the first part, which starts from what the sum starts from: the first block of k is stored without C being
    read (BLAS with beta = 0), so that no +0 is added to it"""
    DESCENDING = "descending"
    """the last part first"""
    TREE = "tree"
    """neighbours in pairs, then the sums of neighbours, until one is left; one without a neighbour waits"""
    ANY = "any"
    """in whatever order the parts are done, as atomic additions do"""
    STATED = "stated"
    """in the order of ``permutation``"""


@dataclass(frozen=True, slots=True)
class Order:
    """The order in which the sums of parts are added; ``permutation`` is that of a stated order."""

    kind: Kind
    permutation: tuple[int, ...] = ()

    ALLOWED: ClassVar[str] = (
        "ascending, onward, descending, tree, any (of atomic additions), or the parts in order joined by dots, such as "
        "2.0.1"
    )

    def __str__(self) -> str:
        return ".".join(map(str, self.permutation)) if self.kind is Kind.STATED else self.kind.value

    @classmethod
    def parse(cls, text: str) -> Self:
        """Return the order that ``text`` spells; ValueError where it spells none."""
        if re.fullmatch(r"[0-9]{1,4}(\.[0-9]{1,4})*", text):
            return cls.stated([int(x) for x in text.split(".")])
        kind = Kind(text)
        if kind is Kind.STATED:
            raise ValueError(text)
        return cls(kind)

    @classmethod
    def stated(cls, permutation: Sequence[int]) -> Self:
        """Return the order of a permutation; ValueError where it is none."""
        if sorted(permutation) != list(range(len(permutation))):
            raise ValueError(str(permutation))
        return cls(Kind.STATED, tuple(permutation))

    @property
    def starts_in_part(self) -> bool:
        """Whether the first part starts from what the sum starts from; otherwise the parts are added onto that."""
        return self.kind in (Kind.ONWARD, Kind.TREE)

    @property
    def is_open(self) -> bool:
        """Whether the order is not determined."""
        return self.kind is Kind.ANY

    def of(self, count: int) -> Sequence[int]:
        """Return the parts in the order in which they are added, for all orders but a tree.

        Raises DesignError for an order that is not determined, and for a stated order of another number of parts.
        """
        match self.kind:
            case Kind.ASCENDING | Kind.ONWARD | Kind.TREE:
                return range(count)
            case Kind.DESCENDING:
                return range(count - 1, -1, -1)
            case Kind.STATED:
                if len(self.permutation) != count:
                    raise DesignError(
                        f"the order {self} is of {len(self.permutation)} parts, and there are {count} parts"
                    )
                return self.permutation
            case Kind.ANY:
                raise DesignError(
                    "the order of the additions is not determined (any), so the plan has no single result: state an "
                    "order, such as ascending or 2.0.1, or ask `mmaproof gemm check order`"
                )


ASCENDING = Order(Kind.ASCENDING)
