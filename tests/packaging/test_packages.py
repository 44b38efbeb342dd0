"""pyproject.toml, the folders and the links under src/mmaproof say the same.

A package that pyproject.toml forgets works in an editable installation and is missing from the wheel.
"""

import os
import tomllib
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGE_ROOT = ROOT / "src" / "mmaproof"
# checker/ is a distribution of its own.
NOT_PACKAGED = {"checker", "tests", "notebooks", "benchmarks", "docs", "build", "dist"}
# The only folders whose sub-packages have other names: a folder torch/ would hide the library.
PACKAGE_NAMES = {"pytorch": "torch"}
DATA_SUFFIXES = {".c", ".cpp", ".csv", ".cu", ".json", ".npz", ".ptx", ".smt2", ".toml", ".txt"}


def _setuptools_table() -> dict[str, Any]:
    with (ROOT / "pyproject.toml").open("rb") as file:
        table: dict[str, Any] = tomllib.load(file)["tool"]["setuptools"]
    return table


def _folders() -> list[Path]:
    """Every folder of the repository that may hold packaged files, links not followed."""
    found = []
    for here, below, files in os.walk(ROOT):
        if "pyvenv.cfg" in files:
            below.clear()
            continue
        at_top = Path(here) == ROOT
        below[:] = sorted(
            name
            for name in below
            if not name.startswith(".")
            and name != "__pycache__"
            and not name.endswith(".egg-info")
            and not (at_top and name in NOT_PACKAGED)
        )
        found.append(Path(here))
    return found


def _package_name(folder: Path) -> str:
    if folder == PACKAGE_ROOT:
        return "mmaproof"
    top, *below = folder.relative_to(ROOT).parts
    return ".".join(("mmaproof", PACKAGE_NAMES.get(top, top), *below))


FOLDERS = _folders()
PACKAGES = {_package_name(folder): folder for folder in FOLDERS if (folder / "__init__.py").is_file()}
TOP_FOLDERS = {folder.name for folder in PACKAGES.values() if folder.parent == ROOT}
SETUPTOOLS = _setuptools_table()


def test_walk_found_the_packages() -> None:
    assert {"mmaproof", "mmaproof.designs", "mmaproof.smt.semantics", "mmaproof.cli"} <= PACKAGES.keys()


def test_packages_are_the_folders_with_an_init_file() -> None:
    assert sorted(SETUPTOOLS["packages"]) == sorted(PACKAGES)


def test_package_dir_agrees() -> None:
    expected = {name: folder.relative_to(ROOT).as_posix() for name, folder in PACKAGES.items()}
    assert SETUPTOOLS["package-dir"] == expected


def test_every_folder_with_modules_has_an_init_file() -> None:
    forgotten = [
        folder.relative_to(ROOT).as_posix()
        for folder in FOLDERS
        if folder != ROOT and any(folder.glob("*.py")) and not (folder / "__init__.py").is_file()
    ]
    assert forgotten == []


def test_package_data_covers_every_data_file() -> None:
    covered = SETUPTOOLS["package-data"]
    forgotten = []
    for folder in FOLDERS:
        owner = next((at for at in (folder, *folder.parents) if at in PACKAGES.values()), None)
        if owner is None:
            continue
        for file in folder.iterdir():
            name = file.relative_to(owner).as_posix()
            patterns = covered.get(_package_name(owner), [])
            if file.suffix in DATA_SUFFIXES and not any(fnmatch(name, pattern) for pattern in patterns):
                forgotten.append(file.relative_to(ROOT).as_posix())
    assert forgotten == []


OF_A_CHECKOUT = pytest.mark.skipif(
    (ROOT / "PKG-INFO").is_file(), reason="a source distribution has the folders, and no links to them"
)


@OF_A_CHECKOUT
def test_there_is_one_link_for_each_top_folder() -> None:
    links = {entry.name for entry in PACKAGE_ROOT.iterdir() if entry.is_symlink()}
    assert links == {PACKAGE_NAMES.get(name, name) for name in TOP_FOLDERS}


@OF_A_CHECKOUT
@pytest.mark.parametrize("name", sorted(TOP_FOLDERS))
def test_link_is_relative_and_resolves_to_its_folder(name: str) -> None:
    link = PACKAGE_ROOT / PACKAGE_NAMES.get(name, name)
    assert not link.readlink().is_absolute()
    assert link.resolve() == ROOT / name
