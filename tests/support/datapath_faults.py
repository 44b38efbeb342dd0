"""Datapath faults: textual changes of the semantics, run on given operands in a process of their own."""

import os
import pickle
import subprocess
import sys
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from mmaproof.designs.operands import OperandBatch, Patterns

ROOT = Path(__file__).resolve().parents[2]
LIST = ROOT / "tests" / "generators" / "cover" / "faults.toml"
_CHILD = """
import importlib.machinery, pickle, sys

file, old, new, batches = pickle.load(sys.stdin.buffer)
changed = "mmaproof." + file.removesuffix(".py").replace("/", ".")

class Loader(importlib.machinery.SourceFileLoader):
    def get_code(self, name):
        source = self.get_source(name)
        assert source.count(old) == 1, (file, old)
        return compile(source.replace(old, new), self.get_filename(name), "exec")

class Finder:
    @staticmethod
    def find_spec(name, path=None, target=None):
        if name != changed:
            return None
        spec = importlib.machinery.PathFinder.find_spec(name, path)
        spec.loader = Loader(name, spec.origin)
        return spec

if old:
    sys.meta_path.insert(0, Finder)
from mmaproof.designs.catalogue import find_design
from mmaproof.smt.evaluate import evaluate_on_arrays

found = {name: evaluate_on_arrays(find_design(name), batch) for name, batch in batches.items()}
assert not old or changed in sys.modules
sys.stdout.buffer.write(pickle.dumps(found))
"""


@dataclass(frozen=True)
class Fault:
    """A fault of a published kind: in ``file``, the text ``old``, which occurs once, becomes ``new``.

    It is one mutant of each of ``units``. ``missed`` are units of which the vectors are known not to show it, each with
    the reason.
    """

    name: str
    kind: str
    file: str
    old: str
    new: str
    units: tuple[str, ...]
    missed: Mapping[str, str]


def all_faults() -> list[Fault]:
    """Return the faults of the list beside the tests of coverage."""
    with LIST.open("rb") as file:
        listed = tomllib.load(file)
    short = listed["units"]
    return [
        Fault(
            x["name"],
            x["kind"],
            x["file"],
            x["old"],
            x["new"],
            tuple(short[name] for name in x["units"]),
            {short[name]: why for name, why in x.get("missed", {}).items()},
        )
        for x in listed["fault"]
    ]


def results(fault: Fault | None, batches: Mapping[str, OperandBatch]) -> dict[str, Patterns]:
    """Return what designs with a fault return for batches of operands, by name; without, what they return as they are.

    Raises CalledProcessError if the changed semantics fails.
    """
    change = ("", "", "") if fault is None else (fault.file, fault.old, fault.new)
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", _CHILD],
        input=pickle.dumps((*change, dict(batches))),
        stdout=subprocess.PIPE,
        env=os.environ | {"PYTHONPATH": str(ROOT / "src")},
        check=True,
    )
    found: dict[str, Patterns] = pickle.loads(done.stdout)
    return found
