"""A match over a closed set says what it does with every member, and raises where there is another one.

What is proved, asked or answered must not be decided by a default that a new member falls into.
"""

import ast
from pathlib import Path

import pytest

import mmaproof

FOLDERS = ("smt/algebra", "smt/proving", "smt/solving")
"""Where every match is closed."""


def matches(folder):
    for path in sorted((Path(mmaproof.__file__).parent / folder).resolve().rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Match):
                yield f"{path.name}:{node.lineno}", node


def is_closed(match):
    """Return whether the last case takes everything that is left and raises; guards leave things to what follows."""
    *_, last = match.cases
    if any(case.guard for case in match.cases):
        return True
    takes_all = isinstance(last.pattern, ast.MatchAs) and last.pattern.pattern is None
    end = last.body[-1]
    never = isinstance(end, ast.Expr) and isinstance(end.value, ast.Call) and ast.unparse(end.value.func)
    return takes_all and (isinstance(end, ast.Raise) or never == "assert_never")


@pytest.mark.few(1)
@pytest.mark.parametrize("folder", FOLDERS)
def test_every_match_is_closed(folder):
    assert [where for where, match in matches(folder) if not is_closed(match)] == []


@pytest.mark.parametrize(
    ("cases", "closed"),
    [
        ("case 1: return 2", False),
        ("case 1: return 2\n    case _: return 3", False),
        ("case 1: return 2\n    case _: raise ValueError", True),
        ("case 1: return 2\n    case _: assert_never(x)", True),
    ],
)
def test_a_default_is_found_out(cases, closed):
    (match,) = (x for x in ast.walk(ast.parse(f"match x:\n    {cases}")) if isinstance(x, ast.Match))
    assert is_closed(match) is closed
