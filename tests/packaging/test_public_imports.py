"""Notebooks, and the programs of README and docs/, import the public interface and nothing else of mmaproof."""

import ast
import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.documents import DOCUMENTS, ROOT, examples

import mmaproof

LIBRARIES = {"mmaproof.torch", "mmaproof.torch.triton"}
"""What is public in another library's name."""
PUBLIC_MODULES = {"mmaproof", *LIBRARIES}

INSIDE = {
    # How a property is added to the library: it is written with the rooms that CONTRIBUTING.md names.
    "docs/properties.md": {
        "mmaproof.properties.property",
        "mmaproof.properties.question",
        "mmaproof.smt.semantics",
        "mmaproof.smt.semantics.patterns",
    },
    # How the files of a refutation are kept, of a query that only the inside of a proof has.
    "docs/certificates.md": {"mmaproof.smt.solving.refuting"},
}
"""What else a document may import, and why."""

NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
PROGRAMS = sorted((ROOT / "docs").rglob("*.py"))


def sources(path: Path) -> Iterator[str]:
    """Give the programs of a file: the cells of a notebook together, the blocks of a document, or the file."""
    text = path.read_text(encoding="utf-8")
    match path.suffix:
        case ".ipynb":
            cells = json.loads(text)["cells"]
            yield "\n".join("".join(x["source"]) for x in cells if x["cell_type"] == "code")
        case ".md":
            yield from (x.body for x in examples(path) if x.language == "python")
        case _:
            yield text


def reached(source: str) -> Iterator[str]:
    """Give what a program takes out of mmaproof, with dots: modules that it imports, and names of modules."""
    modules = {}
    tree = ast.parse(source)
    for node in ast.walk(tree):
        match node:
            case ast.Import(names=names):
                for alias in names:
                    if alias.name.partition(".")[0] == "mmaproof":
                        yield alias.name
                        modules[alias.asname or "mmaproof"] = alias.name if alias.asname else "mmaproof"
            case ast.ImportFrom(module=str(module), names=names) if module.partition(".")[0] == "mmaproof":
                yield from (f"{module}.{alias.name}" for alias in names)
    for node in ast.walk(tree):
        match node:
            case ast.Attribute(value=ast.Name(id=name), attr=attribute) if name in modules:
                yield f"{modules[name]}.{attribute}"


def inside(source: str, allowed: set[str] = frozenset()) -> list[str]:
    """Return what a program takes that is neither public nor allowed here."""
    public = PUBLIC_MODULES | {f"mmaproof.{x}" for x in mmaproof.__all__}
    return sorted(
        {
            x
            for x in reached(source)
            if x not in public and x.rpartition(".")[0] not in LIBRARIES and not {x, x.rpartition(".")[0]} & allowed
        }
    )


@pytest.mark.parametrize(
    "path", [*NOTEBOOKS, *DOCUMENTS, *PROGRAMS], ids=lambda x: x.relative_to(ROOT).as_posix().replace("/", "-")
)
def test_only_the_public_interface_is_imported(path):
    allowed = INSIDE.get(path.relative_to(ROOT).as_posix(), set())
    found = [name for source in sources(path) for name in inside(source, allowed)]
    assert not found, "write this with what mmaproof.__all__ offers, or add it there"


def test_what_is_allowed_is_still_needed():
    for name, modules in INSIDE.items():
        taken = {x.rpartition(".")[0] for source in sources(ROOT / name) for x in reached(source)}
        assert modules <= taken, name


@pytest.mark.parametrize(
    "source",
    [
        "from mmaproof.explain import explain",
        "import mmaproof.smt.evaluate",
        "import mmaproof.explain as e",
        "import mmaproof as m\nm.designs.errors.DesignError",
        "import mmaproof\nmmaproof.gemm.tolerances.sharpness",
        "from mmaproof import smt",
        "def late():\n    from mmaproof.cli.main import main",
    ],
)
def test_the_inside_is_noticed(source):
    assert inside(source)


@pytest.mark.parametrize(
    "source",
    [
        "from mmaproof import compare, Limits",
        "import mmaproof\nmmaproof.compare('x', 'y').witness",
        "import numpy as np\nnp.smt",
        "from mmaproof.torch import emulating, matmul",
        "import mmaproof.torch\nmmaproof.torch.matmul",
    ],
)
def test_the_public_interface_is_let_through(source):
    assert not inside(source)
