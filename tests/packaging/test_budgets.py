"""The size of each room has a budget: `budgets.toml`, raised only by a commit that says why."""

import ast
import subprocess
import tomllib
from collections import Counter
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
BUDGETS = tomllib.loads((Path(__file__).parent / "budgets.toml").read_text(encoding="utf-8"))


def _sources() -> list[Path]:
    listed = subprocess.run(["git", "ls-files", "*.py"], cwd=ROOT, capture_output=True, text=True, check=False)
    if listed.returncode:
        pytest.skip("this is not a checkout, so the tracked files are unknown")
    names = [Path(x) for x in listed.stdout.splitlines() if (ROOT / x).is_file()]
    return [x for x in names if x.parts[0] not in ("tests", "benchmarks", "docs", "notebooks")]


def _room(path: Path) -> str:
    """Return the longest entry of the budget that holds the file."""
    above = [str(x) for x in path.parents]
    return next((x for x in above if x in BUDGETS["rooms"]), str(path.parent))


@pytest.fixture(scope="module")
def lines() -> dict[Path, list[str]]:
    return {x: (ROOT / x).read_text(encoding="utf-8").splitlines() for x in _sources()}


def test_each_room_keeps_to_its_lines(lines):
    used: Counter[str] = Counter()
    for path, text in lines.items():
        used[_room(path)] += len(text)
    over = {room: (n, BUDGETS["rooms"].get(room, 0)) for room, n in used.items() if n > BUDGETS["rooms"].get(room, 0)}
    assert over == {}, "lines used, and the budget of the room"
    # a budget may be rounded up to tens
    unused = {room: (used[room], n) for room, n in BUDGETS["rooms"].items() if used[room] < 0.9 * n - 10}
    assert unused == {}, "lower the budget of a room that has become smaller"


def test_the_whole_keeps_to_its_lines_files_and_imports(lines):
    whole = BUDGETS["whole"]
    texts = [x for text in lines.values() for x in text]
    imports = sum(x.startswith(("import ", "from ")) for x in texts)
    assert len(texts) <= whole["lines"]
    assert len(lines) <= whole["files"]
    assert imports <= whole["imports"] * len(texts)


def test_no_folder_holds_more_files_than_one_looks_through(lines):
    files = Counter(str(x.parent) for x in lines)
    assert {
        x: n for x, n in files.items() if n > BUDGETS["folders"].get(x, BUDGETS["whole"]["files_of_a_folder"])
    } == {}


def _long_functions(text: str, most: int) -> list[str]:
    """Return the functions whose bodies have more lines than that; signature and docstring are not counted."""
    found = []
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef):
            body = node.body[1:] if ast.get_docstring(node) is not None else node.body
            if body and (node.end_lineno or 0) - body[0].lineno >= most:
                found.append(node.name)
    return found


def test_functions_of_the_command_line_are_short(lines):
    most = BUDGETS["whole"]["lines_of_a_command"]
    texts = {x: "\n".join(text) for x, text in lines.items() if x.parts[0] == "cli"}
    assert {str(x): found for x, text in texts.items() if (found := _long_functions(text, most))} == {}


def test_a_long_function_is_found():
    body = '"""Text."""\n' + "".join(f"    x{i} = {i}\n" for i in range(5))
    text = f"def f():\n    {body}\nclass C:\n    def g(self): pass\n"
    assert (_long_functions(text, 4), _long_functions(text, 5)) == (["f"], [])
