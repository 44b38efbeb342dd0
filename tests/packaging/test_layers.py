"""Layers point one way, and solvers are imported in one folder only: read from the sources, nothing runs."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGE_ROOT = "src/mmaproof"

# Folder -> the other folders it may import. The folders of gemm/ are rooms of their own, and two of explain/.
MAY_IMPORT: dict[str, set[str]] = {
    "designs": set(),
    "rtl": {"designs", "smt"},
    "smt": {"designs"},
    "gemm": set(),
    "gemm/programs": {"designs", "smt"},
    "properties": {"designs", "smt", "gemm/programs"},
    "gemm/questions": {"designs", "smt", "gemm/programs", "properties"},
    "hardware_replay": {"designs", "rtl", "smt", "gemm/programs"},
    "verification": {"designs", "smt", "properties", "gemm/questions", "explain"},
    "gemm/answers": {"designs", "smt", "properties", "gemm/programs", "gemm/questions", "verification", "explain"},
    "explain": {"designs", "smt"},
    "explain/explorer": {"designs", "smt", "explain"},
    "generators": {"designs", "smt", "properties", "verification", "hardware_replay", "explain"},
    "gemm/tolerances": {
        *("designs", "smt", "properties", "verification", "hardware_replay", "explain"),
        *("gemm/programs", "gemm/questions", "gemm/answers"),
    },
    "gemm/kernels": {
        *("designs", "smt", "properties", "verification", "hardware_replay", "generators"),
        *("gemm/programs", "gemm/questions", "gemm/answers"),
    },
    "pytorch": {"designs", "gemm/programs", "hardware_replay"},
}
OF_LIBRARIES = {"pytorch"}
MAY_IMPORT["cli"] = set(MAY_IMPORT) - OF_LIBRARIES
# The pages of the documentation are made from everything.
MAY_IMPORT["explain/pages"] = set(MAY_IMPORT) - OF_LIBRARIES
# The package root holds the public API, which is everything but the command line; only the command line may
# ask the root for anything (its version), because anywhere else that would be a circle.
MAY_IMPORT[PACKAGE_ROOT] = set(MAY_IMPORT) - {"cli", "explain/pages", *OF_LIBRARIES}
MAY_IMPORT_ROOT = {"cli", "explain/pages", PACKAGE_ROOT}

# Folders whose sub-package has another name: a folder torch/ would hide the library from who runs in the repository.
PACKAGE_NAMES = {"pytorch": "torch"}
FOLDERS = {name: folder for folder, name in PACKAGE_NAMES.items()}

SOLVER_FOLDER = "smt/solving"
# pySMT's solver modules import the solvers they wrap.
SOLVERS = ("bitwuzla", "cvc5", "z3", "pysat", "pysmt.solvers")

# Inside smt/ the table above says nothing; what is written once must not know who asks about it. smt/proving
# imports the solvers' folder, so it counts as that.
_REACHES_SOLVERS = ("mmaproof.smt.solving", "mmaproof.smt.proving")
NEVER: dict[str, tuple[str, ...]] = {
    "rtl": _REACHES_SOLVERS,
    "hardware_replay": _REACHES_SOLVERS,
    "explain": _REACHES_SOLVERS,
    "explain/explorer": _REACHES_SOLVERS,
    "smt/semantics": _REACHES_SOLVERS,
    "smt/algebra": _REACHES_SOLVERS,
    "smt/native": _REACHES_SOLVERS,
}


def _is_within(name: str, parent: str, separator: str) -> bool:
    return name == parent or name.startswith(parent + separator)


def _imports(tree: ast.AST) -> Iterator[tuple[ast.AST, str]]:
    """Every absolute import with the dotted name it reaches; ``from a import b`` reaches ``a.b``."""
    for node in ast.walk(tree):
        match node:
            case ast.Import(names=names):
                for alias in names:
                    yield node, alias.name
            case ast.ImportFrom(module=str(module), names=names, level=0):
                for alias in names:
                    yield node, f"{module}.{alias.name}"
            case ast.Call(
                func=ast.Name(id="import_module" | "__import__") | ast.Attribute(attr="import_module"),
                args=[ast.Constant(value=str(module)), *_],
            ):
                yield node, module


def _is_banned_form(node: ast.AST) -> str | None:
    match node:
        case ast.ImportFrom(level=level) if level:
            return "relative import"
        case ast.ImportFrom(names=[ast.alias(name="*")]):
            return "import *"
    return None


def _room(parts: list[str]) -> str:
    """The room of a folder, or of a name below the package, that these parts spell."""
    inner = "/".join(parts[:2])
    return inner if inner in MAY_IMPORT else parts[0]


def _complaint(folder: str, name: str) -> str | None:
    """What is wrong with a file in `folder` importing `name`, or None."""
    layer = _room(folder.split("/"))
    top, *rest = name.split(".")
    if top in MAY_IMPORT:
        return f"{name}: folders are imported as mmaproof.{PACKAGE_NAMES.get(top, top)}"
    if top == "mmaproof":
        named = _room([FOLDERS.get(rest[0], rest[0]), *rest[1:]]) if rest else None
        target = named if named in MAY_IMPORT else None
        if target is None and layer not in MAY_IMPORT_ROOT:
            return f"{name}: {layer}/ may not import the package root"
        if target not in {None, layer, *MAY_IMPORT[layer]}:
            return f"{name}: {layer}/ may not import {target}/"
    for part, names in NEVER.items():
        inside = layer == part if part in MAY_IMPORT else _is_within(folder, part, "/")
        if inside and any(_is_within(name, never, ".") for never in names):
            return f"{name}: {part}/ never reaches the solvers"
    is_solver = any(_is_within(name, solver, ".") for solver in SOLVERS)
    if is_solver and not _is_within(folder, SOLVER_FOLDER, "/"):
        return f"{name}: solvers are imported in {SOLVER_FOLDER}/ only"
    return None


def violations(source: str, folder: str) -> list[str]:
    """The complaints about a file with this source in this folder, a path from the repository's root."""
    tree = ast.parse(source)
    banned = [(node, form) for node in ast.walk(tree) if (form := _is_banned_form(node))]
    wrong = [(node, found) for node, name in _imports(tree) if (found := _complaint(folder, name))]
    return [f"line {getattr(node, 'lineno', 0)}: {text}" for node, text in (*banned, *wrong)]


def _files(folder: str) -> list[Path]:
    top = ROOT / folder
    return sorted(top.glob("*.py") if folder == PACKAGE_ROOT else top.rglob("*.py"))


def _existing_folders() -> list[str]:
    """The package root and every top-level folder of the package, whether the table knows it or not."""
    links = (FOLDERS.get(entry.name, entry.name) for entry in (ROOT / PACKAGE_ROOT).iterdir() if entry.is_symlink())
    return [PACKAGE_ROOT, *sorted(links)]


@pytest.mark.few(2)
@pytest.mark.parametrize("folder", _existing_folders())
def test_folder_imports_only_what_it_may(folder: str) -> None:
    assert folder in MAY_IMPORT, f"{folder}/ is new: say in MAY_IMPORT what it may import"
    files = _files(folder)
    assert files
    found = [
        f"{file.relative_to(ROOT)}: {complaint}"
        for file in files
        for complaint in violations(file.read_text(encoding="utf-8"), file.parent.relative_to(ROOT).as_posix())
    ]
    assert found == []


@pytest.mark.few(14)
@pytest.mark.parametrize(
    ("folder", "source"),
    [
        ("designs", "from mmaproof.smt.algebra import Algebra"),
        ("designs", "import mmaproof.smt"),
        ("designs", "from mmaproof import smt"),
        ("designs", "from mmaproof import __version__"),
        ("designs", "import mmaproof"),
        ("smt/algebra", "from mmaproof.properties import symmetry"),
        ("smt/algebra", "from mmaproof.smt.solving import Verdict"),
        ("smt/semantics", "from mmaproof.smt import solving"),
        ("smt/semantics", "import mmaproof.smt.proving.lemmas"),
        ("smt/proving", "from mmaproof.generators import suite"),
        ("properties", "from mmaproof.gemm import answers"),
        ("gemm/programs", "from mmaproof.gemm.answers import bounds"),
        ("gemm/questions", "from mmaproof.verification.strategies import answer"),
        ("verification", "from mmaproof.gemm.answers import compare"),
        ("hardware_replay", "from mmaproof.gemm.questions import split"),
        ("properties", "from mmaproof.hardware_replay import targets"),
        ("gemm/programs", "from mmaproof.properties import symmetry"),
        ("gemm/programs", "import mmaproof.cli.main as main"),
        ("hardware_replay", "from mmaproof.smt.solving import Verdict"),
        ("hardware_replay", "from mmaproof.smt.solving.verdict import Verdict"),
        ("hardware_replay", "from mmaproof.smt import solving"),
        ("hardware_replay", "import mmaproof.smt.solving"),
        ("hardware_replay", "from mmaproof.generators import files"),
        ("hardware_replay/cuda", "from mmaproof.smt import semantics, solving"),
        ("generators", "from mmaproof.cli import output"),
        ("explain", "from mmaproof.properties import question"),
        ("explain", "from mmaproof.smt.solving import Verdict"),
        ("hardware_replay", "from mmaproof.explain import explain"),
        ("properties", "from mmaproof.verification import search"),
        ("verification", "from mmaproof.generators import suite"),
        ("gemm/answers", "from mmaproof.hardware_replay import targets"),
        ("src/mmaproof", "from mmaproof.cli.main import main"),
        ("src/mmaproof", "import mmaproof.torch"),
        ("pytorch", "from mmaproof.verification import search"),
        ("pytorch", "from mmaproof.smt.semantics import dot_product_accumulate"),
        ("cli", "from mmaproof.torch import matmul"),
        ("hardware_replay", "import mmaproof.torch.context"),
        ("pytorch", "import pytorch.context"),
        # solvers outside smt/solving
        ("smt", "import z3"),
        ("smt/algebra", "import bitwuzla"),
        ("smt/semantics", "import cvc5.pythonic"),
        ("smt/proving", "from bitwuzla import TermManager"),
        ("smt/solving_helpers", "import z3"),
        ("cli", "from z3 import Solver as S"),
        ("cli", "def late() -> None:\n    import cvc5"),
        ("cli", "import importlib\nimportlib.import_module('z3')"),
        ("generators", "from importlib import import_module\nimport_module('bitwuzla')"),
        ("generators", "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import bitwuzla"),
        ("properties", "from pysmt.solvers.z3 import Z3Solver"),
        # forms
        ("designs", "from . import formats"),
        ("smt/solving", "from .verdict import Verdict"),
        ("cli", "from ..designs import formats"),
        ("cli", "from mmaproof.designs.formats import *"),
        ("properties", "from math import *"),
        ("designs", "import smt.algebra"),
        ("generators", "from designs.formats import Format"),
    ],
)
def test_planted_violation_is_found(folder: str, source: str) -> None:
    assert len(violations(source, folder)) == 1


@pytest.mark.parametrize(
    ("folder", "source"),
    [
        ("designs", "import math\nfrom mmaproof.designs.formats import Format"),
        ("smt/algebra", "from mmaproof.designs.formats import Format\nimport pysmt.shortcuts"),
        ("smt/semantics", "from mmaproof.smt.algebra.protocol import Algebra"),
        ("smt/solving", "import bitwuzla, cvc5, z3\nfrom pysmt.solvers.solver import Solver"),
        ("smt/solving/bitwuzla", "import bitwuzla"),
        ("smt/proving", "from mmaproof.smt.solving import Verdict"),
        ("properties", "from mmaproof.smt.solving import Verdict\nfrom mmaproof.designs import formats"),
        ("gemm/programs", "from mmaproof.smt import semantics"),
        ("hardware_replay", "from mmaproof.smt.semantics import dot_product_accumulate"),
        ("verification", "from mmaproof import properties, explain"),
        ("generators", "from mmaproof import hardware_replay, verification, properties"),
        ("generators", "import z3_like_name"),
        ("cli", "from mmaproof import __version__\nfrom mmaproof.generators import suite"),
        ("src/mmaproof", "from mmaproof.smt.solving import Verdict"),
        ("pytorch", "import torch\nfrom mmaproof.torch.dtypes import dtype_of"),
        ("pytorch", "from mmaproof.hardware_replay.emulation import matmul"),
    ],
)
def test_what_is_allowed_is_not_reported(folder: str, source: str) -> None:
    assert violations(source, folder) == []


def test_complaint_names_the_line_and_the_rule() -> None:
    found = violations("import math\n\nimport z3\n", "cli")
    assert found == ["line 3: z3: solvers are imported in smt/solving/ only"]
