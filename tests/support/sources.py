"""The production sources, for tests that read them."""

import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
_PACKAGE = ROOT / "src" / "mmaproof"


def production_files() -> list[Path]:
    """Every module of the package, relative to the checkout or to the folder of a source distribution."""
    table = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["setuptools"]["package-dir"]
    folders = sorted({folder.partition("/")[0] for folder in table.values()} - {"src"})
    files = [*_PACKAGE.glob("*.py"), *(file for folder in folders for file in (ROOT / folder).rglob("*.py"))]
    return sorted(file.relative_to(ROOT) for file in files)
