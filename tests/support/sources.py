"""The production sources, for tests that read them."""

from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
_PACKAGE = ROOT / "src" / "mmaproof"


def production_files() -> list[Path]:
    """Every module of the package, relative to the checkout."""
    folders = [entry.resolve() for entry in _PACKAGE.iterdir() if entry.is_symlink()]
    files = [*_PACKAGE.glob("*.py"), *(file for folder in folders for file in folder.rglob("*.py"))]
    return sorted(file.relative_to(ROOT) for file in files)
