"""`-o`: an output that cannot be written is noticed before the work, and nothing is written without a vector."""

from pathlib import Path

import pytest

from mmaproof import cli as commands
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
    assert asking == {"init.py", "pictures.py", "recordings.py"}
