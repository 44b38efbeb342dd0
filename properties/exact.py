"""The exact sum of a step, as a design: every term kept whole, added exactly, converted once."""

from __future__ import annotations

from typing import Any

from mmaproof.designs.design import Design
from mmaproof.designs.readings import (
    Alignment,
    Grouping,
    Join,
    ProductExponent,
    Subnormals,
    Summation,
    Widening,
    ZeroC,
    ZeroGroup,
    ZeroProduct,
)


def exact_twin(design: Design, fraction_bits: int | None = None) -> Design:
    """Return a design that returns rho of the exact ``c + sum_k a_k*b_k``, with the conversion rho of ``design``.

    ``fraction_bits`` are by default so many that the smallest part of any term is kept beside the largest term; fewer
    are exact where the terms lie close enough to each other. Integer units are their own twins.
    """
    if design.d_format.is_integer:
        return design
    p = design.parameters
    wanted: dict[str, Any] = {
        "summation": Summation.FUSED,
        "alignment": Alignment.TRUNCATE,
        "fraction_bits": whole_range(design) if fraction_bits is None else fraction_bits,
        "grouping": Grouping.ALL,
        "join": Join.FUSED,
        "product_exponent": ProductExponent.SUMMED,
        "product_limit": None,
        "carry_bits": None,
        "floor": None,
        "zero_c": ZeroC.ABSENT,
        "subnormals": Subnormals.KEPT,
        "widening": Widening.NONE,
    }
    if p.group_size is None:
        wanted["zero_product"] = ZeroProduct.ABSENT
    else:
        wanted["zero_group"] = ZeroGroup.ABSENT
    return design.change(**{n: x for n, x in wanted.items() if x != getattr(p, n)})


def whole_range(design: Design) -> int:
    """Return the distance from the largest exponent that a term has to the lowest bit of any term.

    No nonzero term of a step lies so far below e_max.
    """
    a, b, c, d = design.formats
    highest, lowest = a.e_max + b.e_max, a.e_min - a.fraction_bits + b.e_min - b.fraction_bits
    if design.parameters.group_size is not None:
        # the exponent of a group is that of its scales; its products lie about it
        highest = 0
    scale = design.scale_format
    if scale is not None:
        highest += 2 * scale.e_max
        lowest += 2 * (scale.e_min - scale.fraction_bits)
    # along a chain c is the d of the step before
    return max(highest, c.e_max, d.e_max) - min(lowest, c.e_min - c.fraction_bits, d.e_min - d.fraction_bits)
