"""Nothing that production code decides rests on an ``assert``: ``python -O`` removes them all."""

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest
from support.sources import ROOT, production_files

VERDICTS = Path(__file__).with_name("verdicts_without_asserts.py")


def _asserts(source: str) -> list[int]:
    return [node.lineno for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Assert)]


@pytest.mark.middle
def test_no_production_module_asserts() -> None:
    files = production_files()
    assert len(files) > 200
    assert [(str(f), line) for f in files for line in _asserts((ROOT / f).read_text(encoding="utf-8"))] == []


def test_an_assert_would_be_found() -> None:
    assert _asserts("def f(x):\n    if x:\n        assert x > 1\n") == [3]


@pytest.mark.middle
def test_verdicts_are_the_same_without_asserts() -> None:
    """The script checks verdicts itself, because an assert in it would be removed as well."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(ROOT / "tests")])}
    done = subprocess.run(
        [sys.executable, "-O", str(VERDICTS)], env=environment, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "asserts are removed: every verdict is as expected\n"
