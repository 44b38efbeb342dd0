"""Matrix products with a known order of additions, as NumPy functions: black boxes for the search for their trees."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy.typing as npt

from mmaproof.designs.formats import FORMATS
from mmaproof.hardware_replay.matrix_targets import FunctionTarget, Product

Matrix = npt.NDArray[Any]
Function = Callable[[Matrix, Matrix], Any]


def product(m: int, n: int, k: int, a: str = "fp32", d: str = "fp32") -> Product:
    return Product(m, n, k, FORMATS[a], FORMATS[a], FORMATS[d])


def black_box(function: Function, name: str = "python:test:function") -> FunctionTarget:
    return FunctionTarget(name, function)


def terms(a: Matrix, b: Matrix) -> Matrix:
    """Return the products, rounded, with k first."""
    found: Matrix = a.T[:, :, None] * b[:, None, :]
    return found


def in_order(values: Sequence[Matrix] | Matrix, order: Iterable[int] | None = None) -> Matrix:
    """Return the sum, one value after the other, from the first one on."""
    places = list(range(len(values)) if order is None else order)
    total = values[places[0]]
    for i in places[1:]:
        total = total + values[i]
    return total


def ascending(a: Matrix, b: Matrix) -> Matrix:
    return in_order(terms(a, b))


def descending(a: Matrix, b: Matrix) -> Matrix:
    return in_order(terms(a, b), range(a.shape[1] - 1, -1, -1))


def pairwise(a: Matrix, b: Matrix) -> Matrix:
    values: list[Matrix] = list(terms(a, b))
    while len(values) > 1:
        values = [in_order(values[i : i + 2]) for i in range(0, len(values), 2)]
    return values[0]


def in_parts(*sizes: int, order: Sequence[int] | None = None) -> Function:
    """Return the product whose parts of k have these sizes, each summed from its first term on."""

    def multiply(a: Matrix, b: Matrix) -> Matrix:
        values, at, sums = terms(a, b), 0, []
        for size in sizes:
            sums.append(in_order(values[at : at + size]))
            at += size
        return in_order(sums, order)

    return multiply


def lanes(count: int) -> Function:
    """Return the product with ``count`` interleaved accumulators, which are added in order."""
    return lambda a, b: in_order([in_order(terms(a, b)[i::count]) for i in range(count)])
