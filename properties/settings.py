"""Designs with some parameters changed. The values are given as a user types them.

A design that computes the exact sum of a step: every term is kept whole, added exactly, and converted once.
"""

from __future__ import annotations

from mmaproof.designs.design import Design
from mmaproof.designs.errors import DesignError
from mmaproof.designs.parameters import complete_settings, parse_parameter
from mmaproof.designs.steps import Guarantee


def has_value(design: Design, name: str, text: str) -> bool:
    """Return whether a parameter has this value.

    A parameter without an effect has the value that the step implies, or its default.
    """
    return bool(complete_settings(design.chain, design.step)[name] == parse_parameter(name, text))


def changed_to(design: Design, **settings: str) -> Design:
    """Return the design with these values. Parameters that have them already are not named as changed.

    Raises DesignError if a parameter has another value and no effect.
    """
    return design.change(**{name: text for name, text in settings.items() if not has_value(design, name, text)})


def with_other_value(design: Design, name: str, *texts: str) -> Design:
    """Return the design with the first value that the parameter does not have. Raises DesignError as above."""
    return design.change(**{name: next(text for text in texts if not has_value(design, name, text))})


_EXACT = (
    *(Guarantee.ALIGNED_SUMS, Guarantee.SINGLE_SUM, Guarantee.TRUNCATED_TERMS, Guarantee.EXACT_SUM),
    *(Guarantee.SUMMED_EXPONENTS, Guarantee.FINITE_PRODUCTS, Guarantee.ABSENT_ZEROS, Guarantee.NO_FLOOR),
    *(Guarantee.UNCHANGED_OPERANDS, Guarantee.SUBNORMAL_RESULTS, Guarantee.CONVERTED_BY_RHO),
)
"""The guarantees by which a step returns rho of the exact sum of its terms if no cut loses a bit."""


def exact_twin(design: Design, fraction_bits: int | None = None) -> Design:
    """Return a design that returns rho of the exact ``c + sum_k a_k*b_k``, with the conversion rho of ``design``.

    By default there are enough ``fraction_bits`` to keep the smallest part of any term beside the largest term. Fewer
    are exact if the terms lie close enough to each other. Integer units are their own twins. Raises DesignError if the
    step does not guarantee that it converts by rho.
    """
    if design.guarantees(Guarantee.EXACT_INTEGERS):
        return design
    if not design.guarantees(Guarantee.CONVERTED_BY_RHO):
        raise DesignError(f"{design.name}: its kind of step does not state that it converts its result by rho")
    bits = whole_range(design) if fraction_bits is None else fraction_bits
    settings = {
        "summation": "fused",
        "alignment": "truncate",
        "fraction_bits": str(bits),
        "grouping": "all",
        "join": "fused",
        "product_exponent": "summed",
        "product_limit": "none",
        "carry_bits": "sufficient",
        "floor": "none",
        "zero_c": "absent",
        "subnormals": "kept",
        "widening": "none",
        "low_bits": "none",
        "zero_product" if design.step.group_size is None else "zero_group": "absent",
    }
    twin = changed_to(design, **settings)
    if not twin.guarantees(*_EXACT) or twin.adds_c_last:
        raise DesignError(f"{twin.name}: its step does not guarantee that it adds exactly")
    return twin


def whole_range(design: Design) -> int:
    """Return the distance from the largest exponent that a term has to the lowest bit of any term.

    No nonzero term of a step lies so far below e_max.
    """
    highest, lowest = places_of_terms(design)
    return highest - lowest


def places_of_terms(design: Design) -> tuple[int, int]:
    """Return the largest exponent that a term or a result has, and the exponent of the lowest bit of any of them."""
    a, b, c, d = design.formats
    highest, lowest = a.e_max + b.e_max, a.e_min - a.fraction_bits + b.e_min - b.fraction_bits
    if design.step.group_size is not None:
        # the exponent of a group is that of its scales; its products lie about it
        highest = 0
    scale = design.scale_format
    if scale is not None:
        highest += 2 * scale.e_max
        lowest += 2 * (scale.e_min - scale.fraction_bits)
    # in a chain, c is the d of the step before
    return max(highest, c.e_max, d.e_max), min(lowest, c.e_min - c.fraction_bits, d.e_min - d.fraction_bits)
