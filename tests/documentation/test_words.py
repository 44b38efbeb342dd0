"""Messages, help and pages are in plain English: turns that a reader stumbles over are not used."""

import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FORBIDDEN = {
    r"(?<![Tt]here )(?<![A-Za-z-])(is|are|was|were) no (?!longer\b)[a-z]": "say 'is not a ...', or 'there is no ...'",
    r"\b[Ss]o many\b(?! that\b)": "say 'a given number of', 'N', or the number",
    r"\b[Ss]omebody('s)?\b(?!_)": "say 'user' ('user RTL'), or 'someone'",
    r"\bthe \w+ of whose\b": "say 'whose'",
    r"\bwhat is (asked|meant|held)\b": "say 'the question', 'the request', or name the thing",
    r"\b(asked|asks|asking|runs?|goes on|begins) beside\b": "say 'in parallel with'",
    r"\b(says?|shows?) what is here\b": "say what is installed, or what the page contains",
    r"\bwhole numbers?\b": "say 'integer'",
    r"\bassumption of everybody\b": "say 'assumed by all sources'",
}
SUFFIXES = ("*.py", "*.md", "*.toml", "*.js", "*.html")
HISTORY = {"CHANGELOG.md", "tests/documentation/test_words.py"}


@pytest.fixture(scope="module")
def texts() -> dict[str, str]:
    listed = subprocess.run(["git", "ls-files", *SUFFIXES], cwd=ROOT, capture_output=True, text=True, check=False)
    if listed.returncode:
        pytest.skip("this is not a checkout, so the tracked files are unknown")
    found = [x for x in listed.stdout.splitlines() if x not in HISTORY and (ROOT / x).is_file()]
    return {x: (ROOT / x).read_text(encoding="utf-8") for x in found}


@pytest.mark.parametrize("turn", FORBIDDEN)
def test_a_turn_is_not_used(texts, turn):
    pattern = re.compile(turn)
    found = [
        f"{name}:{number}: {line.strip()}"
        for name, text in texts.items()
        for number, line in enumerate(text.splitlines(), start=1)
        if pattern.search(line)
    ]
    assert found == [], FORBIDDEN[turn]


@pytest.mark.parametrize(
    ("text", "is_found"),
    [
        ("'x' is no number", True),
        ("there is no number", False),
        ("it is no longer read", False),
        ("after so many steps", True),
        ("so many that nothing is cut", False),
        ("somebody's RTL", True),
        ("a 3 is a whole number", True),
    ],
)
def test_the_turns_are_told_apart(text, is_found):
    assert any(re.search(x, text) for x in FORBIDDEN) == is_found
