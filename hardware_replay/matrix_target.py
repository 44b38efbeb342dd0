"""What a target of matrix products is: something that multiplies matrices of one shape and says what it is.

A target of ``target.py`` runs dot products; the kernel of a library can only be asked for whole matrices, and may
choose another way for each shape.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from mmaproof.designs.errors import InputError
from mmaproof.designs.formats import Format
from mmaproof.designs.operands import Patterns

LARGEST = 1 << 14
"""The most rows, columns or elements of k that are asked for."""


@dataclass(frozen=True)
class Product:
    """What is asked: ``d = a @ b`` of (m, k) and (k, n), and the formats of a, b and d.

    With ``scale``, each ``block`` elements of a row of a and of a column of b are times a scale of that format.
    """

    m: int
    n: int
    k: int
    a: Format
    b: Format
    d: Format
    scale: Format | None = None
    block: int | None = None

    def __post_init__(self) -> None:
        for name, size in (("m", self.m), ("n", self.n), ("k", self.k)):
            if not 1 <= size <= LARGEST:
                raise InputError(f"{name} = {size} is out of range: 1..{LARGEST}")
        if self.a.is_integer is not self.d.is_integer or self.b.is_integer is not self.d.is_integer:
            raise InputError(f"{self.formats}: integers and floating-point numbers do not mix")

    @property
    def formats(self) -> str:
        """The formats as names of instructions have them, d first."""
        return ".".join(f.isa_name for f in (self.d, self.a, self.b, self.scale) if f is not None)

    @property
    def shape(self) -> str:
        """M x n x k."""
        return f"{self.m} x {self.n} x {self.k}"


class MatrixTarget(Protocol):
    """Something that multiplies matrices."""

    @property
    def name(self) -> str:
        """How it is spelled, in one line."""

    def multiply(self, product: Product, a: Patterns, b: Patterns) -> Patterns:
        """Return the patterns of ``a @ b``, both given as patterns.

        Raises InputError where what comes back is not such a matrix, TargetUnavailable where nothing does.
        """
