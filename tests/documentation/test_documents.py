"""Every command and every program of README.md and docs/ runs, and prints what is written below it."""

import difflib
import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from support.documents import DOCUMENTS, ROOT, SEARCHED, Example, agrees, examples

FOR_A_MERGE = (
    "README.md",
    "docs/export.md",
    "docs/plans.md",
    "docs/public-cases.md",
    "docs/rtl.md",
    "docs/targets.md",
    "docs/tutorials/",
)
"""Documents whose examples run before a merge. Those of the others are of the slow tier."""
SHARED = ("docs", "hardware_replay", "notebooks", "checker", "tests")
"""Folders of the checkout that documents name."""


class Shell:
    """Runs the commands of one document, one after the other, in one folder."""

    def __init__(self, folder: Path):
        bin_ = folder / "bin"
        bin_.mkdir()
        call = "from mmaproof.cli.main import run_main; run_main()"
        (bin_ / "mmaproof").write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -c "{call}" "$@"\n')
        (bin_ / "mmaproof").chmod(0o755)
        self.home = self.here = folder / "work"
        self.here.mkdir()
        for name in SHARED:
            (self.here / name).symlink_to(ROOT / name)
        self.programs = ""
        self.environment = os.environ | {"PATH": f"{bin_}:{SEARCHED}", "COLUMNS": "100", "MMAPROOF_STORE": ""}

    def run(self, line: str) -> tuple[int, str, str]:
        """Run a line of a document; return its exit status, and what it wrote to stdout and stderr."""
        first, *rest = shlex.split(line)
        if first == "cd":
            self.here = (self.here / rest[0]).resolve()
            return 0, "", ""
        if first == "export":
            name, _, value = rest[0].partition("=")
            self.environment[name] = value
            return 0, "", ""
        done = subprocess.run(
            ["bash", "-c", line], cwd=self.here, env=self.environment, capture_output=True, text=True, check=False
        )
        return done.returncode, done.stdout, done.stderr

    def problems(self, example: Example) -> list[str]:
        """Run an example; return what is not as the document has it."""
        for name in example.files:
            shutil.copy(ROOT / name, self.here)
        if example.name is not None:
            (self.here / example.name).write_text(example.body)
            return []
        if example.language == "python":
            self.programs += example.body
            done = subprocess.run(
                [sys.executable, "-c", self.programs],
                cwd=self.here,
                env=self.environment,
                capture_output=True,
                text=True,
                check=False,
            )
            return [] if done.returncode == 0 else [f"line {example.number}: {done.stderr}"]
        found = []
        for command, wanted in zip(example.commands, example.statuses, strict=True):
            status, out, err = self.run(command.line)
            if status != wanted:
                found.append(f"line {example.number}: {command.line}: exit status {status}, not {wanted}\n{err or out}")
            elif command.printed is not None and not agrees(command.printed, out or err):
                texts = [x.splitlines() for x in (command.printed, out or err)]
                diff = difflib.unified_diff(*texts, "written", "printed", lineterm="")
                found.append(f"line {example.number}: {command.line}\n" + "\n".join(diff))
        return found


@pytest.mark.slow_values("docs/export.md-short")
@pytest.mark.parametrize(
    ("document", "is_slow"),
    [
        pytest.param(document, is_slow, id=f"{name}-{'long' if is_slow else 'short'}", marks=getattr(pytest.mark, tier))
        for document, name in ((x, str(x.relative_to(ROOT))) for x in DOCUMENTS)
        for is_slow, tier in ((False, "middle" if name.startswith(FOR_A_MERGE) else "slow"), (True, "slow"))
        if any(x.not_run is None and x.is_slow is is_slow for x in examples(document))
    ],
)
def test_what_is_written_is_printed(tmp_path, document, is_slow):
    shell = Shell(tmp_path)
    problems, lacking = [], set()
    for example in examples(document):
        if example.not_run is not None or (example.is_slow and not is_slow):
            continue
        if example.lacks():
            lacking.update(example.lacks())
            continue
        problems += shell.problems(example)
    assert not problems, "\n\n".join(problems)
    if lacking:
        pytest.skip(f"not all ran: {', '.join(sorted(lacking))} are missing")
