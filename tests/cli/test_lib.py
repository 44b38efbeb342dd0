"""What commands use of the library is there under its name, and is loaded when it is used."""

import subprocess
import sys

import pytest
from support.waiting import LONG

from mmaproof.cli import lib

NAMES = {
    "compare": "mmaproof.verification.compare",
    "gemm_compare": "mmaproof.gemm.answers.compare",
    "formats": "mmaproof.designs.formats",
    "gemm_errors": "mmaproof.gemm.tolerances.errors",
    "explain": "mmaproof.explain",
}


@pytest.mark.parametrize("name", NAMES)
def test_a_name_is_the_module_of_its_home(name):
    assert getattr(lib, name).__name__ == NAMES[name]


def test_another_name_is_none():
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        _ = lib.nothing


def test_nothing_is_loaded_before_it_is_used():
    script = """
import sys
from mmaproof.cli import lib
before = {"mmaproof.designs.catalogue", "mmaproof.verification.compare", "numpy"} & sys.modules.keys()
lib.catalogue.load_catalogue
print(sorted(before), "mmaproof.designs.catalogue" in sys.modules, "mmaproof.verification.compare" in sys.modules)
"""
    ended = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=LONG, check=False)
    assert ended.stdout.split("\n")[0] == "[] True False", ended.stderr


def test_kinds_of_answers_are_made_when_one_is():
    """What asks for the schema of a kind gets that of its parts, too, though none was made before."""
    script = """
from mmaproof.explain.answers.answer import Solver, schema_of
from mmaproof.explain.answers.verdicts import PlanRun, RegisterClaim
kinds = Solver, PlanRun, RegisterClaim
before = [x for x in kinds if "__dataclass_fields__" in vars(x)]
solver = Solver(name="z3", version="4")
alone = [x.__name__ for x in kinds if "__dataclass_fields__" in vars(x)]
print(before, alone, solver == Solver(name="z3", version="4"), "claim" in schema_of(RegisterClaim, "x")["properties"])
"""
    ended = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=LONG, check=False)
    assert ended.stdout.split("\n")[0] == "[] ['Solver'] True True", ended.stderr
