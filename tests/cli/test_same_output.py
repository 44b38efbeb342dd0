"""One seed gives one output: alone, in several processes, and while others keep the machine busy."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
from support.small_spaces import small_space

PROGRAM = str(Path(sys.executable).with_name("mmaproof"))
VOLTA, TURING = "volta/f32.f16.f16.f32", "turing/f32.f16.f16.f32"
COMMANDS = {
    "suite": ("suite", VOLTA, TURING, "--seed", "3", "--timeout", "10m"),
    "cover": ("cover", VOLTA, "--seed", "3", "--timeout", "10m"),
    "disputes": ("disputes", "cdna1", "--timeout", "10m"),
    "identify": (
        *("identify", f"model:{TURING}", "--interface", "f32.f16.f16.f32", "--k", "8", "--space", "space.toml"),
        *("--validate", "500", "--seed", "3", "--timeout", "10m"),
    ),
}
SECONDS = re.compile(r'"(seconds|work|target_seconds)": [0-9.e+-]+|[0-9.]+ (CPU )?s\b')


def said(command, folder, *more):
    """Return what a command prints and writes, without how long it took; nothing that is stored is looked up."""
    store = ("--store", str(folder / "store.sqlite"))
    asked, written = [PROGRAM, *command, *more, *store], folder / "written.jsonl"
    if command[0] == "identify":
        (folder / "space.toml").write_text(small_space(TURING, fraction_bits=[23, 24, 25]), encoding="utf-8")
        asked.append("--json")
    else:
        asked += ["-o", str(written)]
    done = subprocess.run(asked, capture_output=True, text=True, check=False, cwd=folder)
    assert done.returncode in (0, 1, 3), done.stderr
    text = SECONDS.sub("", done.stdout).replace(str(folder), "")
    return done.returncode, text, written.read_text(encoding="utf-8") if written.exists() else None


def folders(tmp_path, *names):
    for name in names:
        (tmp_path / name).mkdir()
        yield tmp_path / name


@pytest.mark.middle
@pytest.mark.parametrize("name", COMMANDS)
def test_several_processes_give_the_output_of_one(tmp_path, name):
    one, two = folders(tmp_path, "one", "two")
    command = COMMANDS[name]
    alone = said(command, one, "--jobs", "1")
    assert alone[1] and alone == said(command, two, "--jobs", "2")


@pytest.mark.slow
@pytest.mark.parametrize("name", COMMANDS)
def test_a_busy_machine_gives_the_output_of_a_quiet_one(tmp_path, name):
    quiet, busy = folders(tmp_path, "quiet", "busy")
    alone = said(COMMANDS[name], quiet)
    loops = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(4)]
    try:
        beside = said(COMMANDS[name], busy)
    finally:
        for loop in loops:
            loop.kill()
            loop.wait()
    assert alone[1] and alone == beside
