"""What the parts of a datapath are called: products, groups of them, partial sums, and what is added to them."""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple


class Element(NamedTuple):
    """An element of a or b."""

    column: str
    k: int

    def __str__(self) -> str:
        return f"{self.column}{self.k}"


class Product(NamedTuple):
    """The product of the elements at ``k``."""

    k: int

    def __str__(self) -> str:
        return f"p{self.k}"


class Part(NamedTuple):
    """A part of the product of the elements at ``k``: of the high or the low bits of either significand."""

    k: int
    of_a: str
    of_b: str

    def __str__(self) -> str:
        return f"p{self.k}.{self.of_a}{self.of_b}"

    @classmethod
    def all_of(cls, k: int) -> tuple[Part, ...]:
        """Return the four parts of one product, the largest first."""
        return tuple(cls(k, x, y) for x in "hl" for y in "hl")


class Group(NamedTuple):
    """The exact sum of the products at ``ks``, scaled."""

    ks: tuple[int, ...]

    def __str__(self) -> str:
        return f"p{self.ks[0]}..p{self.ks[-1]}"


class Partial(Enum):
    """A sum inside a step."""

    EVEN = "even"
    """of the products of even index"""
    ODD = "odd"
    """of those of odd index"""
    FIRST = "first-half"
    """of the products of the first half of the step"""
    SECOND = "second-half"
    """of those of the second half"""
    PRODUCTS = "products"
    """of all products"""
    WHOLE = "sum"
    """what is converted"""

    def __str__(self) -> str:
        return self.value


class Addend(Enum):
    """What is added to products, or to another number."""

    C = "c"
    """the accumulator"""
    X = "x"
    """the first number of an addition"""
    Y = "y"
    """the second one"""

    def __str__(self) -> str:
        return self.value


class RoundedSum(NamedTuple):
    """A sum of numbers that is a number of the output format itself."""

    parts: tuple[Label, ...]

    def __str__(self) -> str:
        return "+".join(map(str, self.parts))


Label = Product | Part | Group | Partial | Addend | RoundedSum


def is_of_products(label: object) -> bool:
    """Return whether a term is a product, a part of one, or a scaled group of some."""
    return isinstance(label, Product | Part | Group)
