"""The commands as a whole: how many there are, how help groups them, and what shells complete."""

import os
import re
import subprocess

import pytest
from support.commands import MAIN
from typer.main import get_command

from mmaproof.cli.application import TASKS, application
from mmaproof.designs.catalogue import load_catalogue
from mmaproof.gemm.programs.algorithms import ALGORITHMS
from mmaproof.properties.library import PROPERTIES

MOST = 32
VOLTA = [x for x in load_catalogue().designs if x.startswith("volta/")]


def leaves(command, path=""):
    """The commands that do something, with all words that call them."""
    below = getattr(command, "commands", {})
    if not below:
        yield path.strip()
    for name, x in below.items():
        yield from leaves(x, f"{path} {name}")


def test_there_are_few_commands():
    found = [*leaves(get_command(application()))]
    assert len(found) == len(set(found)) <= MOST


def test_help_lists_every_command_at_its_task(run):
    status, out, _ = run("--help")
    assert status == 0
    parts = re.split(r"^(\S.*):$", out, flags=re.MULTILINE)
    held = {
        task: re.findall(r"^  (\S+)  ", text, re.MULTILINE) for task, text in zip(parts[1::2], parts[2::2], strict=True)
    }
    assert {task: held[task] for task in TASKS} == {task: list(names) for task, names in TASKS.items()}
    assert list(held) == ["Options", *TASKS]
    assert max(map(len, out.splitlines())) <= 80
    assert "..." not in out.partition("Compare and prove")[2], "no first sentence is cut"


def test_help_of_a_group_lists_its_commands(run):
    for name, group in get_command(application()).commands.items():
        if hasattr(group, "commands"):
            found = re.findall(r"^  ([a-z]+)  ", run(name, "--help")[1].partition("\nCommands:\n")[2], re.MULTILINE)
            assert found == list(group.commands)


COMPLETED = [
    (["com"], {"compare"}),
    (["gemm", "ch"], {"check"}),
    (["compare", "--no-se"], {"--no-search"}),
    (["compare", "volta/"], set(VOLTA)),
    (["compare", VOLTA[0], "volta/"], set(VOLTA)),
    (["check", "monotone"], {x for x in PROPERTIES if x.startswith("monotone")}),
    (["list", "vol"], {"volta"}),
    (["list", "pla"], {"plans"}),
    (["show", "3xtf"], {x for x in ALGORITHMS if x.startswith("3xtf")}),
    (["rtl", "prove", "--timeo"], {"--timeout"}),
]


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("words", "wanted"), COMPLETED, ids=lambda x: " ".join(sorted(x) if isinstance(x, set) else x)[:40]
)
def test_a_shell_gets_completions(words, wanted):
    asked = {"_MMAPROOF_COMPLETE": "complete_bash", "COMP_WORDS": " ".join(["mmaproof", *words])}
    environment = {**os.environ, **asked, "COMP_CWORD": str(len(words))}
    done = subprocess.run(MAIN, env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert set(done.stdout.split()) == wanted
