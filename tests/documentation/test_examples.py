"""Every public function has an example in its help, which runs and prints what is written."""

import doctest
import inspect

import pytest

import mmaproof

NEED_RTL = {"differing_nets", "read_rtl", "run_sources"}
"""Functions of user RTL, whose examples need files: the tutorial of RTL has them."""
FUNCTIONS = [x for x in mmaproof.__all__ if inspect.isfunction(getattr(mmaproof, x)) and x not in NEED_RTL]


@pytest.mark.few(12)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_the_example_of_a_function_prints_what_is_written(name: str) -> None:
    function = getattr(mmaproof, name)
    (found,) = doctest.DocTestFinder(recurse=False).find(function, name, globs={})
    assert found.examples, f"{name} has no example"
    results = doctest.DocTestRunner(verbose=False).run(found)
    assert results.failed == 0
