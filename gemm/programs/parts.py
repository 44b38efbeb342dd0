"""Rules that divide the elements of k into parts, and the order in which the sums of parts are added.

Parts are those of split-K, stream-K, promotion intervals, interleaves and blocks.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import ClassVar, Self

from mmaproof.designs.errors import DesignError

MOST_PARTS = 1 << 12
"""The most parts that a rule may make."""


class Parts(ABC):
    """A rule that divides a sequence of elements of k into parts. ``str()`` gives the text that ``parse`` reads."""

    ALLOWED: ClassVar[str]

    @classmethod
    @abstractmethod
    def parse(cls, text: str) -> Self:
        """Return the rule that ``text`` spells; ValueError where it spells none."""

    @property
    def most(self) -> int:
        """The most parts that the rule makes of any number of elements."""
        return MOST_PARTS

    @abstractmethod
    def cut(self, length: int, tile: int) -> Sequence[Sequence[int]]:
        """Return the places of each part in a sequence of ``length``, whose tiles have ``tile`` elements.

        Raises DesignError where the rule does not fit the length.
        """

    def divide(self, ks: Sequence[int], tile: int) -> list[tuple[int, ...]]:
        """Return the elements of each part. Raises DesignError where the rule does not fit their number."""
        places = self.cut(len(ks), tile)
        if len(places) > MOST_PARTS:
            raise DesignError(f"{self} makes {len(places)} parts of {len(ks)} elements: at most {MOST_PARTS}")
        return [tuple(ks[i] for i in part) for part in places]


def _ranges(sizes: Sequence[int]) -> list[range]:
    ends = [sum(sizes[: i + 1]) for i in range(len(sizes))]
    return [range(end - size, end) for size, end in zip(sizes, ends, strict=True)]


def _positive(text: str) -> int:
    if not re.fullmatch(r"[1-9][0-9]{0,8}", text):
        raise ValueError(text)
    return int(text)


def _two_positive(text: str) -> tuple[int, int]:
    first, _, second = text.partition("x")
    return _positive(first), _positive(second)


@dataclass(frozen=True, slots=True)
class EqualParts(Parts):
    """``count`` consecutive parts of as many whole tiles each; the last one may have fewer (CUTLASS, split-K)."""

    count: int

    ALLOWED: ClassVar[str] = "a number of parts"

    def __str__(self) -> str:
        return str(self.count)

    @classmethod
    def parse(cls, text: str) -> Self:
        """Return the rule; ValueError for anything but a positive number."""
        return cls(_positive(text))

    @property
    def most(self) -> int:
        """The number of parts."""
        return self.count

    def cut(self, length: int, tile: int) -> Sequence[Sequence[int]]:
        """Return the parts; DesignError if one of them would be empty."""
        tiles = -(-length // tile)
        size = -(-tiles // self.count) * tile
        if size * (self.count - 1) >= length:
            counted = "is 1" if tiles == 1 else f"are {tiles}"
            raise DesignError(
                f"{self.count} parts of k = {length} are too many: of tiles of {tile} there {counted}, "
                f"{size // tile} for each part, and a part would be empty"
            )
        return _ranges([min(size, length - at) for at in range(0, length, size)])


@dataclass(frozen=True, slots=True)
class Blocks(Parts):
    """Consecutive blocks of ``size`` elements; the last one may be shorter."""

    size: int

    ALLOWED: ClassVar[str] = "a number of elements of k"

    def __str__(self) -> str:
        return str(self.size)

    @classmethod
    def parse(cls, text: str) -> Self:
        """Return the rule; ValueError for anything but a positive number."""
        return cls(_positive(text))

    def cut(self, length: int, tile: int) -> Sequence[Sequence[int]]:
        """Return the blocks."""
        return _ranges([min(self.size, length - at) for at in range(0, length, self.size)])


@dataclass(frozen=True, slots=True)
class StatedParts(Parts):
    """Consecutive parts of the stated sizes, which must add up to K, as stream-K gives them to workers."""

    sizes: tuple[int, ...]

    ALLOWED: ClassVar[str] = "the sizes of all parts, joined by dots, such as 96.32"

    def __str__(self) -> str:
        return ".".join(map(str, self.sizes))

    @classmethod
    def parse(cls, text: str) -> Self:
        """Return the rule; ValueError for anything but positive numbers joined by dots."""
        return cls(tuple(map(_positive, text.split("."))))

    @property
    def most(self) -> int:
        """The number of parts."""
        return len(self.sizes)

    def cut(self, length: int, tile: int) -> Sequence[Sequence[int]]:
        """Return the parts; DesignError if they do not add up to ``length``."""
        if sum(self.sizes) != length:
            raise DesignError(f"parts of {self} elements are {sum(self.sizes)} in all, and there are {length}")
        return _ranges(self.sizes)


@dataclass(frozen=True, slots=True)
class Interleaved(Parts):
    """``count`` parts that take turns of ``step`` elements: part i has the turns i, i + count, i + 2 count, ..."""

    count: int
    step: int

    ALLOWED: ClassVar[str] = "COUNTxSTEP: N parts take turns of STEP elements, such as 4x16"

    def __str__(self) -> str:
        return f"{self.count}x{self.step}"

    @classmethod
    def parse(cls, text: str) -> Self:
        """Return the rule; ValueError for anything but two positive numbers joined by x."""
        return cls(*_two_positive(text))

    @property
    def most(self) -> int:
        """The number of parts."""
        return self.count

    def cut(self, length: int, tile: int) -> Sequence[Sequence[int]]:
        """Return the parts; DesignError if one of them would be empty."""
        if (self.count - 1) * self.step >= length:
            raise DesignError(f"{self.count} parts in turns of {self.step} are too many for {length} elements")
        return [[i for i in range(length) if i // self.step % self.count == part] for part in range(self.count)]


@dataclass(frozen=True, slots=True)
class HalvedBlocks(Parts):
    """Consecutive blocks of ``size``; what is left is halved where it is between one block and two (OpenBLAS).

    The half is rounded up to a multiple of ``unroll`` (OpenBLAS, driver/level3/level3.c: min_l, GEMM_Q).
    """

    size: int
    unroll: int

    ALLOWED: ClassVar[str] = "SIZExUNROLL: blocks of SIZE, the last two of about half, in multiples of UNROLL"

    def __str__(self) -> str:
        return f"{self.size}x{self.unroll}"

    @classmethod
    def parse(cls, text: str) -> Self:
        """Return the rule; ValueError for anything but two positive numbers joined by x."""
        return cls(*_two_positive(text))

    def cut(self, length: int, tile: int) -> Sequence[Sequence[int]]:
        """Return the blocks."""
        sizes: list[int] = []
        left = length
        while left:
            size = left
            if left >= 2 * self.size:
                size = self.size
            elif left > self.size:
                size = min(-(-(left // 2) // self.unroll) * self.unroll, left)
            sizes.append(size)
            left -= size
        return _ranges(sizes)


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
