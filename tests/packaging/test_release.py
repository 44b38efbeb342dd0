"""What a release states in several files is the same in all of them, and its source distribution is complete."""

import re
import subprocess
import tomllib
from fnmatch import fnmatch
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def test_every_file_has_the_same_version_and_date():
    version = PROJECT["version"]
    checker = tomllib.loads((ROOT / "checker/pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
    cited = dict(re.findall(r"^(version|date-released): (.+)$", (ROOT / "CITATION.cff").read_text(), re.MULTILINE))
    heads = re.findall(
        r"^## \[(.+?)\](?: - (\S+))?$", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE
    )
    assert heads[0] == ("Unreleased", "")
    assert heads[1] == (version, cited["date-released"])
    assert {checker, cited["version"]} == {version}


def test_classifiers_name_the_least_python():
    least = PROJECT["requires-python"].removeprefix(">=")
    named = [x.rpartition(" ")[2] for x in PROJECT["classifiers"] if "Python :: 3." in x]
    assert named[0] == least
    assert named == [f"3.{11 + i}" for i in range(len(named))]


def test_the_source_distribution_names_every_folder_that_is_no_package():
    """Folders of packages are in it by pyproject.toml; the others need a line in MANIFEST.in."""
    try:
        files = subprocess.run(
            ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=True,
        ).stdout.splitlines()
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("this is not a checkout: nobody says which files there are")
    lines = [x.split() for x in (ROOT / "MANIFEST.in").read_text().splitlines() if x and not x.startswith("#")]
    grafted = {name for command, *names in lines if command == "graft" for name in names}
    included = {name for command, *names in lines if command == "include" for name in names}
    packages = {name.partition("/")[0] for name in ROOT_PACKAGES}
    by_themselves = {"pyproject.toml", "README.md", "LICENSE", "MANIFEST.in"}
    of_a_checkout = (".gitignore", ".pre-commit-config.yaml", ".github/*")
    left_out = [
        x
        for x in files
        if x.partition("/")[0] not in grafted | packages
        and x not in included | by_themselves
        and not any(fnmatch(x, pattern) for pattern in of_a_checkout)
    ]
    assert left_out == []


ROOT_PACKAGES = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["setuptools"][
    "package-dir"
].values()
