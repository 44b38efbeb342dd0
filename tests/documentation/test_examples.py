"""Every public function has an example in its help, which runs and prints what is written."""

import doctest
import inspect
import re
import shutil
from pathlib import Path

import pytest

import mmaproof

NEEDS = {"run_sources": "iverilog"}
FUNCTIONS = [x for x in mmaproof.__all__ if inspect.isfunction(getattr(mmaproof, x))]
TUTORIAL = Path(__file__).parents[2] / "docs/tutorials/your-rtl.md"
MAP = """\
sources = ["dot4.sv"]
top = "dot4"
design = "cpu/vpdpbssd.m1n1k4.s32.s8.s8.s32"
ports = { a = "a", b = "b", c = "c", d = "d" }
"""


@pytest.fixture
def tutorial(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The files of the tutorial about RTL, in the current folder."""
    source = re.search(r"```systemverilog\n(.*?)```", TUTORIAL.read_text(encoding="utf-8"), re.DOTALL)
    assert source is not None
    (tmp_path / "dot4.sv").write_text(source[1], encoding="utf-8")
    (tmp_path / "dot4.toml").write_text(MAP, encoding="utf-8")
    monkeypatch.chdir(tmp_path)


def examples_of(name: str) -> doctest.DocTest:
    """Return the example in the help of a function."""
    (found,) = doctest.DocTestFinder(recurse=False).find(getattr(mmaproof, name), name, globs={})
    return found


def test_every_function_has_an_example() -> None:
    assert [x for x in FUNCTIONS if not examples_of(x).examples] == []


@pytest.mark.few(12)
@pytest.mark.usefixtures("tutorial")
@pytest.mark.parametrize("name", FUNCTIONS)
def test_the_example_of_a_function_prints_what_is_written(name: str) -> None:
    if name in NEEDS and shutil.which(NEEDS[name]) is None:
        pytest.skip(f"{NEEDS[name]} is not installed")
    results = doctest.DocTestRunner(verbose=False).run(examples_of(name))
    assert results.failed == 0
