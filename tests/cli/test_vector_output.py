"""`-o`: an output that cannot be written is noticed before the work, and nothing is written without a vector."""

import shlex
from pathlib import Path

import pytest
from support.documents import ROOT

from mmaproof import cli as commands
from mmaproof.cli.output import Exit
from mmaproof.explain.pages.commands import commands as described
from mmaproof.generators import disputes as disputing
from mmaproof.verification import compare as comparing

VOLTA = "volta/f32.f16.f16.f32"
TURING = "turing/f32.f16.f16.f32"


@pytest.mark.parametrize("arguments", [["compare", VOLTA, TURING], ["disputes", "volta"]])
def test_what_cannot_be_written_is_refused_before_the_work(run, monkeypatch, tmp_path, arguments):
    for module, name in ((comparing, "compare"), (disputing, "find_disputes")):
        monkeypatch.setattr(module, name, lambda *_, **__: pytest.fail("the work was begun"))
    status, out, err = run(*arguments, "-o", tmp_path / "none" / "v.jsonl")
    assert (status, out) == (2, "")
    assert "none/v.jsonl: cannot be written" in err


@pytest.mark.parametrize(
    ("arguments", "expected"), [(["compare", VOLTA, VOLTA, "--no-search"], 0), (["disputes", "paper"], 0)]
)
def test_without_a_vector_nothing_is_written(run, tmp_path, arguments, expected):
    path = tmp_path / "v.jsonl"
    status, _, err = run(*arguments, "-o", path)
    assert (status, err) == (expected, f"note: {path} is not written: no vector was found\n")
    assert not path.exists()


def test_the_file_is_written_though_nobody_reads_the_text(run, monkeypatch, tmp_path):
    """`mmaproof compare A B -o FILE | head` ends with the pipe, before all of the text is written."""

    def closed(*_, **__):
        raise BrokenPipeError

    monkeypatch.setattr("mmaproof.cli.compare.print_comparison", closed)
    status, _, _ = run("compare", VOLTA, TURING, "-o", tmp_path / "v.jsonl", "--no-store")
    assert status == Exit.BROKEN_PIPE
    assert "volta/" in (tmp_path / "v.jsonl").read_text()


def test_no_open_point_is_said(run):
    assert run("disputes", "paper") == (0, "no open point applies to paper\n", "")


LEAVING = [
    (["compare", VOLTA, VOLTA, "--no-search"], "vectors"),
    (["compare", VOLTA, VOLTA, "--no-search", "--timeout", "1s"], "vectors"),
    (["disputes", "paper"], "vectors"),
    (["matrix", VOLTA, VOLTA.replace("f16.f32", "f16.f32@fraction_bits=23"), "--no-store"], "vectors"),
    (["record", "process:/bin/false", "normal", "--design", VOLTA, "--rows", "1"], "recording.npz"),
]


@pytest.mark.parametrize(("arguments", "name"), LEAVING)
def test_a_file_of_an_earlier_run_does_not_stay(run, tmp_path, arguments, name):
    stale = tmp_path / name
    stale.write_text("stale")
    status, _, err = run(*arguments, "-o", stale)
    assert status != 2, err
    assert not stale.exists() or stale.read_bytes() != b"stale"


def test_a_refused_command_and_an_interrupted_one(run, monkeypatch, tmp_path):
    stale = tmp_path / "v.jsonl"
    stale.write_text("stale")
    assert run("compare", VOLTA, TURING, "--timeout", "never", "-o", stale)[0] == 2
    assert run("compare", VOLTA, TURING, "--where", "never", "-o", stale)[0] == 2
    assert stale.read_text() == "stale", "nothing was begun"

    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(comparing, "compare", interrupted)
    assert run("compare", VOLTA, TURING, "-o", stale, "--html", tmp_path / "v.html")[0] == 130
    assert not stale.exists()


def test_what_is_read_is_not_removed(run, tmp_path):
    recording = tmp_path / "r.npz"
    assert run("record", f"model:{VOLTA}", "normal", "--rows", "3", "-o", recording)[0] == 0
    before = recording.read_bytes()
    status, _, err = run("record", f"model:{VOLTA}", recording, "-o", recording)
    assert (status, recording.read_bytes()) == (2, before)
    assert err.endswith("r.npz: this file is read: name another one to be written\n")


def test_every_command_makes_way():
    """A command that writes a file removes what is there first; the one exception reads what it replaces."""
    rooms = Path(commands.__file__).parent
    asking = {x.name for x in rooms.rglob("*.py") if "require_writable(" in x.read_text()}
    assert asking == {"init.py", "showing.py", "record.py", "prove.py"}


SUFFIXES = {
    "-o": ".jsonl",
    "--html": ".html",
    "--svg": ".svg",
    "--figure": ".png",
    "--csv": ".csv",
    "--tex": ".tex",
    "--junit": ".xml",
}
"""Options that write a file, and how its name may end."""
UNIT = ROOT / "tests" / "rtl" / "units" / "integer" / "s8_wrap.toml"
CALLS = {
    "evidence": ["evidence", "volta"],
    "export": ["export", "v.jsonl", "--format", "npz"],
    "gemm error": ["gemm", "error", "plain", "--unit", VOLTA, "--k", "8", "--no-bound"],
    "record": ["record", f"model:{VOLTA}", "normal", "--rows", "1"],
    "report": ["report", "v.json"],
    "rtl init": ["rtl", "init", UNIT.with_name("dot_int8.sv"), "--top", "dot_int8"],
    "rtl prove": ["rtl", "prove", UNIT],
}
"""Calls of the commands whose schema names none that does without files of its own."""


def writers():
    for command in described():
        for option in command.command.options:
            if name := next((x for x in option.names if x in SUFFIXES), ""):
                yield pytest.param(command, option, name, id=f"{command.words} {name}")


@pytest.mark.parametrize(("command", "option", "name"), [*writers()])
def test_every_option_that_writes_takes_a_file_and_refuses_a_folder_before_the_work(
    run, tmp_path, monkeypatch, command, option, name
):
    assert option.metavar, "its value is the file, in every command"
    call = CALLS.get(command.words) or shlex.split(command.example["calls"][0].removeprefix("slow: "))
    monkeypatch.chdir(tmp_path)
    if "v.jsonl" in call:
        assert run("compare", VOLTA, TURING, "-o", "v.jsonl")[0] == 1
    if "v.json" in call:
        Path("v.json").write_text(run("run", VOLTA, "--k", 1, "--a", 1, "--b", 1, "--c", 0, "--json")[1])
    folder = tmp_path / f"folder{'.npz' if command.words == 'record' else SUFFIXES[name]}"
    folder.mkdir()
    status, out, err = run(*call, name, folder)
    assert (status, out) == (2, ""), err
    assert "it is a directory; name a file in it" in err
    assert list(folder.iterdir()) == []
