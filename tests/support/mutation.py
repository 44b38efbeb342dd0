"""Mutants of the project's own sources: textual changes, and the tests that notice them, run on a copy."""

import ast
import importlib.util
import os
import shutil
import subprocess
import sys
import tomllib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LISTS = ROOT / "tests" / "mutation"
_LEFT_OUT = shutil.ignore_patterns(
    ".*", "docs", "notebooks", "benchmarks", "build", "dist", "shared", "*.egg-info", "node_modules"
)
FAILED = 1
"""The exit status of pytest where tests ran and some failed. Others are for what could not be run."""


@dataclass(frozen=True)
class Mutant:
    """In ``file``, the text ``old``, which occurs once, becomes ``new``.

    ``breaks`` says what goes wrong then. ``killed_by`` are ids of tests of which one fails at least. If there are none,
    the program is ``equivalent``, or it is another one that is as ``sound``: it proves no false claim. That says why.
    """

    name: str
    file: str
    old: str
    new: str
    breaks: str
    killed_by: tuple[str, ...] = ()
    equivalent: str = ""
    sound: str = ""

    def of(self, text: str) -> str:
        """Return the text of its file with the change."""
        return text.replace(self.old, self.new)


def read_mutants(path: Path) -> list[Mutant]:
    """Read a list. Raises TypeError for a mutant with other fields."""
    with path.open("rb") as file:
        listed = tomllib.load(file)["mutant"]
    return [Mutant(**x | {"killed_by": tuple(x.get("killed_by", ()))}) for x in listed]


def all_mutants() -> list[Mutant]:
    """Return the mutants of all lists."""
    return [x for path in sorted(LISTS.glob("*.toml")) for x in read_mutants(path)]


def table(mutants: Sequence[Mutant], folders: Sequence[str]) -> str:
    """Return the table of docs/certificates.md: how many mutants, and which files of tests kill the most."""
    lines = ["| mutants of | killed | equivalent | sound | most of them by |", "|---|---|---|---|---|"]
    for folder in folders:
        some = [x for x in mutants if x.file == folder or x.file.startswith(f"{folder}/")]
        killed = Counter(x.killed_by[0].partition("::")[0] for x in some if x.killed_by)
        most = ", ".join(f"`{name}` ({count})" for name, count in killed.most_common(2))
        lines.append(f"| `{folder}/` | {_counts(some)} | {most} |")
    lines.append(f"| all | {_counts(mutants)} | |")
    return "\n".join(lines)


def _counts(mutants: Sequence[Mutant]) -> str:
    """Return three columns: how many are killed, how many equivalent, and how many sound."""
    of_kinds = zip(*((x.killed_by, x.equivalent, x.sound) for x in mutants), strict=True)
    return " | ".join(str(sum(map(bool, kind))) for kind in of_kinds)


def is_there(test: str) -> bool:
    """Return whether a file has the test with this id, whatever its parameters are."""
    file, _, name = test.partition("[")[0].partition("::")
    path = ROOT / file
    if not path.is_file():
        return False
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return any(isinstance(x, ast.FunctionDef) and x.name == name for x in tree.body)


class Copy:
    """A copy of the sources and the tests, in which one file at a time is changed."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "copy"
        # src/mmaproof links to the folders beside it, so the links of the copy lead to the copy
        shutil.copytree(ROOT, self.folder, symlinks=True, ignore=_LEFT_OUT)

    def run(self, tests: tuple[str, ...]) -> tuple[int, str]:
        """Run tests on the copy. Return the exit status of pytest, and what it said."""
        options = ("-x", "-q", "--slow", "--tb=line", "-p", "no:cacheprovider", "-p", "no:xdist")
        return self._python("-m", "pytest", *options, *tests)

    def run_changed(self, mutant: Mutant) -> tuple[int, str]:
        """Run the tests of a mutant on the copy with its change."""
        path = self.folder / mutant.file
        whole = path.read_text(encoding="utf-8")
        try:
            self._write(path, mutant.of(whole))
            return self.run(mutant.killed_by)
        finally:
            self._write(path, whole)

    def imports(self, file: str) -> Path:
        """Return the file that is imported where a file of the package is meant."""
        module = ".".join(("mmaproof", *Path(file).with_suffix("").parts))
        find = "import importlib.util, sys; print(importlib.util.find_spec(sys.argv[1]).origin)"
        return Path(self._python("-c", find, module)[1].strip()).resolve()

    def _python(self, *arguments: str) -> tuple[int, str]:
        kept = {k: v for k, v in os.environ.items() if not k.startswith(("PYTEST_", "MMAPROOF_", "PYTHON"))}
        environment = kept | {"PYTHONPATH": str(self.folder / "src")}
        done = subprocess.run(
            [sys.executable, *arguments],
            cwd=self.folder,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        return done.returncode, done.stdout

    @staticmethod
    def _write(path: Path, text: str) -> None:
        """Write a file. What Python compiled of it is removed: it may have the same size, and the same second."""
        path.write_text(text, encoding="utf-8")
        Path(importlib.util.cache_from_source(str(path))).unlink(missing_ok=True)
