"""The commands of docs/export.md about models run as they stand, and print what is written there."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from support.models import need

ROOT = Path(__file__).parents[3]
BLOCK = re.compile(r"```(console|text)\n(.*?)```", re.DOTALL)


def section(title):
    """The blocks of a section: commands, and what they print together."""
    text = (ROOT / "docs" / "export.md").read_text(encoding="utf-8")
    (body,) = re.findall(rf"^## {title}\n(.*?)(?=^## |\Z)", text, re.DOTALL | re.MULTILINE)
    blocks = BLOCK.findall(body)
    assert [kind for kind, _ in blocks] == ["console", "text"] * (len(blocks) // 2)
    commands = [[x.removeprefix("$ ") for x in text.splitlines()] for _, text in blocks[::2]]
    return list(zip(commands, (text for _, text in blocks[1::2]), strict=True))


@pytest.mark.parametrize(
    ("title", "tools"),
    [
        ("c-model", ["cc"]),
        pytest.param("cuda-model", ["g++"], marks=pytest.mark.middle),
        pytest.param("sv-model", ["iverilog", "verilator", "make", "g++"], marks=pytest.mark.middle),
    ],
)
def test_the_commands_print_what_is_written(tmp_path, title, tools):
    for tool in tools:
        need(tool)
    (tmp_path / "docs").symlink_to(ROOT / "docs")
    command = tmp_path / "bin" / "mmaproof"
    command.parent.mkdir()
    call = "from mmaproof.cli.main import run_main; run_main()"
    command.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -c "{call}" "$@"\n')
    command.chmod(0o755)
    environment = os.environ | {"PATH": f"{command.parent}:{os.environ['PATH']}"}
    here, blocks = tmp_path, section(title)
    assert len(blocks) > 1
    for commands, printed in blocks:
        said = ""
        for line in commands:
            if line.startswith("cd "):
                here = (here / line.removeprefix("cd ")).resolve()
                continue
            ended = subprocess.run(
                line, shell=True, cwd=here, env=environment, check=False, capture_output=True, text=True, timeout=600
            )
            assert (ended.returncode, ended.stderr) == (0, ""), line
            said += "" if line.startswith("mmaproof ") else ended.stdout
        assert said == printed
