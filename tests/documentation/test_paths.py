"""Modules and folders that the documents name are there."""

import re
import subprocess
from pathlib import Path, PurePosixPath

import pytest

ROOT = Path(__file__).resolve().parents[2]
HISTORY = {"CHANGELOG.md"}
"""Documents that may name what was there once."""
FENCED = re.compile(r"^```.*?^```$", re.DOTALL | re.MULTILINE)
SPAN = re.compile(r"`([^`\n]+)`")
NAMED = re.compile(r"(?<![\w./:*<{-])(?:[\w.*-]+/)*(?:[\w*-]+\.py\b|[\w-]+/(?=`|$))")
"""A module or, with a slash at its end, a folder; ``*`` stands for any part of a name."""
WRITTEN = re.compile(r"<!-- file: (\S+) -->")
"""A file that a document has the reader write."""


@pytest.fixture(scope="module")
def tracked():
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=False)
    if listed.returncode:
        pytest.skip("this is not a checkout, so the tracked files are unknown")
    return [PurePosixPath(x) for x in listed.stdout.splitlines() if (ROOT / x).is_file()]


def missing(text, paths):
    """The modules and folders that a document names in code spans, and that no path is or ends in."""
    named = {x for span in SPAN.findall(FENCED.sub("", text)) for x in NAMED.findall(span)}
    return sorted(x for x in named - set(WRITTEN.findall(text)) if not any(path.match(x) for path in paths))


def test_every_module_that_a_document_names_is_there(tracked):
    documents = [x for x in tracked if x.suffix == ".md" and str(x) not in HISTORY]
    there = tracked + list(dict.fromkeys(folder for x in tracked for folder in x.parents))
    assert {str(x): found for x in documents if (found := missing((ROOT / x).read_text(encoding="utf-8"), there))} == {}


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("`rtl/unit.py`, `unit.py`, `rtl/*it.py` and `rtl/`", []),
        ("`rtl/units.py` and `python unis.py -v`", ["rtl/units.py", "unis.py"]),
        ("`smt/rtl/`", ["smt/rtl/"]),
        ("`nit.py`", ["nit.py"]),
        ("`TARGET/NAME` of `python:kernels:matmul`", []),
        ("<!-- file: result.py -->\n```python\n```\n`python result.py`", []),
        ("```\n`units.py`\n```", []),
    ],
)
def test_what_is_missing_is_found(text, found):
    assert missing(text, [PurePosixPath(x) for x in ("rtl/unit.py", "rtl")]) == found
