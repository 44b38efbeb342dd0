"""Bundles of small questions, made once: proofs in steps, with and without a precondition, and one in one piece."""

import pytest
from support.bundles import small_design, written
from support.small_designs import use_small_formats

from mmaproof.properties.equivalence import Equivalence
from mmaproof.properties.preconditions import parse_precondition
from mmaproof.verification import bundle

CHANGED = {
    "reversed": ({"k_order": "reversed"}, ()),
    "where": ({"adder": "B"}, ("finite",)),
    "in turn": ({"summation": "sequential"}, ()),
    "piece": ({"fraction_bits": 4}, ("c=0",)),
}


@pytest.fixture(scope="session", params=["reversed", "where", "in turn", "piece"])
def made(request, tmp_path_factory):
    """A bundle that is right: its folder, and what was reported of it."""
    changes, where = CHANGED[request.param]
    folder = tmp_path_factory.mktemp("bundles") / request.param
    with pytest.MonkeyPatch.context() as patch:
        use_small_formats(patch)
        length = 1 if request.param == "piece" else 2
        first, second = small_design(length), small_design(length, **changes)
        if request.param != "piece":
            patch.setattr(bundle, "AT_ONCE", 1e-3)
        question = Equivalence(first, second, where=[parse_precondition(x) for x in where])
        return folder, written(question, first, folder)
