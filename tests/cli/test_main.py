"""How a command ends if its output, its memory or its time to start is taken away."""

import builtins
import subprocess
import sys

import pytest
from support.commands import MAIN
from support.waiting import LONG

from mmaproof.cli.main import main
from mmaproof.smt import trace as evaluation

VOLTA = "volta/f32.f16.f16.f32"
FOUR = "0x0,0x0,0x0,0x0"


def shell(redirected, *arguments):
    command = f'exec "$@" {redirected}'
    return subprocess.run(
        ["sh", "-c", command, "sh", *MAIN, *arguments], capture_output=True, text=True, timeout=LONG, check=False
    )


def test_without_arguments_the_help_is_printed_as_it_is():
    ended = shell("")
    assert (ended.returncode, ended.stdout) == (2, "")
    assert ended.stderr == shell("", "--help").stdout
    assert len(ended.stderr.splitlines()) > 10


@pytest.mark.few(1)
@pytest.mark.parametrize("arguments", [["list", "--json"], ["list"], ["--help"], ["--version"]])
@pytest.mark.parametrize(
    ("redirected", "problem"),
    [(">&-", "standard output is closed"), (">/dev/full", "No space left on device"), ("1</dev/null", "Bad file")],
)
def test_a_stdout_that_cannot_be_written(redirected, problem, arguments):
    ended = shell(redirected, *arguments)
    assert (ended.returncode, ended.stdout) == (2, "")
    assert ended.stderr.startswith(f"error: cannot write the result: {problem}")
    assert len(ended.stderr.splitlines()) == 1


@pytest.mark.middle
@pytest.mark.parametrize("redirected", ["2>&-", "2>/dev/full", "2</dev/null"])
def test_a_stderr_that_cannot_be_written_changes_no_status(redirected):
    assert shell(redirected, "list", "nothing").returncode == 2
    assert shell(redirected, "--frobnicate").returncode == 2
    assert shell(redirected, "list", "volta").returncode == 0
    assert shell(f">/dev/full {redirected}", "list", "volta").returncode == 2


def test_memory_that_runs_out_is_unknown(run, monkeypatch):
    def full(*_):
        raise MemoryError

    monkeypatch.setattr(evaluation, "evaluate", full)
    status, out, err = run("run", VOLTA, "--a", FOUR, "--b", FOUR, "--c", "0x0")
    assert (status, out) == (3, "")
    assert err.startswith("memory: ")


def test_an_interruption_while_commands_are_loaded(monkeypatch, capsys):
    load = builtins.__import__

    def interrupted(name, *rest):
        if name == "mmaproof.cli.application":
            raise KeyboardInterrupt
        return load(name, *rest)

    monkeypatch.setattr(builtins, "__import__", interrupted)
    assert main(["list"]) == 130
    assert capsys.readouterr() == ("", "interrupted\n")


def test_little_is_loaded_before_an_interruption_is_one():
    script = "import sys, mmaproof.cli.main; print({'typer', 'rich', 'numpy'} & set(sys.modules))"
    ended = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=LONG)
    assert ended.stdout == "set()\n"
