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


Label = Product | Group | Partial | Addend | RoundedSum


def is_of_products(label: Label) -> bool:
    """Return whether a term is a product or a scaled group of some."""
    return isinstance(label, Product | Group)
