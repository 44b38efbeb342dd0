"""Bundles of small questions, made once: proofs in steps, with and without a precondition, and one in one piece."""

import pytest
from support.bundles import small_design, written
from support.small_designs import use_small_formats

from mmaproof.properties.equivalence import Equivalence
from mmaproof.properties.library import find_property
from mmaproof.properties.library.error_bound import WithinBound
from mmaproof.properties.library.exactness import WithinSpread
from mmaproof.properties.preconditions import parse_precondition
from mmaproof.properties.question import Scope
from mmaproof.verification import bundle

CHANGED = {
    "reversed": ({"k_order": "reversed"}, ()),
    "where": ({"adder": "B"}, ("finite",)),
    "in turn": ({"summation": "sequential"}, ()),
    "piece": ({"fraction_bits": 4}, ("c=0",)),
}


ERROR = {"zero_c": "natural", "zero_product": "natural"}
"""The readings by which no largest exponent lies below the exponents of d."""

SPREADS = (1, 1)
"""How far below e_max products, and c, may lie so that three fraction bits keep every bit."""


@pytest.fixture(
    scope="session",
    params=[
        *("reversed", "where", "piece"),
        *(pytest.param(x, marks=pytest.mark.middle) for x in ("in turn", "error", "negated", "close", "rises")),
    ],
)
def made(request, tmp_path_factory):
    """A bundle that is right: its folder, and what was reported of it."""
    folder = tmp_path_factory.mktemp("bundles") / request.param
    with pytest.MonkeyPatch.context() as patch:
        use_small_formats(patch)
        if request.param != "piece":
            patch.setattr(bundle, "AT_ONCE", 1e-3)
        if request.param == "error":
            design = small_design(2, **ERROR)
            return folder, written(WithinBound(design, Scope()), design, folder)
        if request.param in ("negated", "close"):
            design = small_design(2)
            negated = find_property("negation-symmetric").question(design, Scope())
            question = negated if request.param == "negated" else WithinSpread(design, Scope(), *SPREADS)
            return folder, written(question, design, folder)
        if request.param == "rises":
            design = small_design(1)
            return folder, written(find_property("monotone-in-c").question(design, Scope()), design, folder)
        changes, where = CHANGED[request.param]
        length = 1 if request.param == "piece" else 2
        first, second = small_design(length), small_design(length, **changes)
        question = Equivalence(first, second, where=[parse_precondition(x) for x in where])
        return folder, written(question, first, folder)
