"""A unit of few bits whose bounds are derived, proved and checked in a second."""

from types import ModuleType

import pytest

from mmaproof.designs.conversions import RHO, Conversion, Rounding
from mmaproof.designs.design import Design
from mmaproof.designs.formats import Format, Specials
from mmaproof.designs.parameters import compose
from mmaproof.designs.signature import Signature
from mmaproof.gemm.tolerances import derivation
from mmaproof.smt.bundles import stated
from support.bundles import load_checker
from support.small_designs import ELEMENTS

ELEMENT = next(f for f in ELEMENTS if f.name == "small-e2m1-ieee")
TARGET = Format("small-e4m3", "small-e4m3", None, 4, 3, Specials.IEEE, "small")
SHORTER = Format("small-e4m2", "small-e4m2", None, 4, 2, Specials.IEEE, "small")
"""What a result is converted to."""
FORMATS = (ELEMENT, TARGET, SHORTER)
KINDS = {
    "truncated": (Rounding.RZ, 3, 4),
    "nearest": (Rounding.RNE, 3, 4),
    "short": (Rounding.RZ, 2, 4),
    "coarse": (Rounding.RZ, 3, 2),
}
"""How a sum is converted: the rounding, the fraction bits that are kept, and those that terms are cut to."""


def use_small_unit(patch: pytest.MonkeyPatch, kind: str = "truncated") -> Design:
    """A unit of steps of two products, as long as the patch holds; its formats may be those of derivations."""
    rounding, bits, cut = KINDS[kind]
    patch.setitem(RHO, "rne-fp16", Conversion(rounding, TARGET, bits))
    chain, step = compose({"L": 2, "rho": "rne-fp16", "fraction_bits": cut})
    patch.setattr(stated, "FORMATS", {f.name: f for f in FORMATS})
    patch.setattr(derivation, "NAMED", tuple(f.name for f in FORMATS))
    signature = Signature(ELEMENT, ELEMENT, TARGET, TARGET)
    return Design(f"small-{kind}", "m1n1k2", "any", signature, 1, 1, 2, chain, step, "made up")


def checker_of_small_formats() -> ModuleType:
    """The checker as a module that knows the formats of the unit, too."""
    checker = load_checker()
    for f in FORMATS:
        checker.FORMATS[f.name] = f.exponent_bits, f.fraction_bits, f.ignored_bits, f.bias, f.max_finite
    return checker
