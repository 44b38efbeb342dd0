"""Commands that are wrong: exit status, one line that says what to do, no traceback, and no process that is left."""

import re
import shlex
import subprocess
from pathlib import Path

import numpy as np
import pytest
from support.commands import MAIN
from support.waiting import LONG, wait_until

WORDS = {
    "VOLTA": "volta/f32.f16.f16.f32",
    "TURING": "turing/f32.f16.f16.f32",
    "ONES": "0x3c00,0x3c00,0x3c00,0x3c00",
    "LONG": "l" * 5000,
}
VECTOR = (
    '{"a_format": "fp16", "b_format": "fp16", "c_format": "fp32", "d_format": "fp32", "k": 4, '
    '"a": ["0x3c00", "0x0000", "0x0000", "0x0000"], "b": ["0x3c00", "0x0000", "0x0000", "0x0000"], '
    '"c": "0x00000000", "outputs": {"volta/mma.m8n8k4.f32.f16.f16.f32": "0x3f800000", '
    '"turing/mma.m16n8k8.f32.f16.f16.f32": "0x3f800000"}}\n'
)
FILES = {
    "good.jsonl": VECTOR,
    "half.jsonl": f"{VECTOR}{{\n",
    "broken.jsonl": '{"a": [1}\n',
    "words.jsonl": "[1]\n",
    "empty.jsonl": "",
    "text.txt": "hello\n",
    "broken.json": "{",
    "good.json": "{}",
    "other.json": '{"x": 1}',
    "broken.toml": "[x\n",
    "wrong.toml": "colour = 1\n",
    "unit.sv": "module m(input logic [15:0] x, output logic [15:0] y); assign y = x; endmodule\n",
    "unit.toml": 'top = "m"\nsources = ["unit.sv"]\n',
    "broken.npz": "PK nothing",
    "empty.json": "",
    "list.json": "[]",
    "nan.json": "NaN",
    "deep.json": "[" * 20000,
    "deep.jsonl": "[" * 20000,
    "nul.jsonl": "\0\0\0\n",
    "list.jsonl": VECTOR.replace('"0x00000000"', "[]"),
    "huge.jsonl": VECTOR.replace('"k": 4', '"k": 1e400'),
    "kinds.jsonl": VECTOR.replace('"k": 4', '"k": true'),
    "empty.toml": "",
    "kinds.toml": 'top = 1\nsources = "x"\nunit = 3\nL = {a = nan}\n',
    "deep.toml": "x = " + "[" * 5000,
    "empty.txt": "",
    "empty.sv": "",
    "empty.npz": "",
    "empty.npy": "",
}


def rows():
    """Return the rows of the table: arguments, status, line."""
    text = (Path(__file__).parent / "bad_commands.txt").read_text(encoding="utf-8")
    found = []
    for command, line in re.findall(r"^\$ mmaproof (.*)\n(.*)$", text, re.MULTILINE):
        typed, _, status = command.partition(" # status ")
        found.append(pytest.param(typed, int(status or 2), line, id=typed))
    return found


def words(typed):
    for name, meant in WORDS.items():
        typed = re.sub(rf"\b{name}\b", meant, typed)
    return shlex.split(typed)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Return a folder of files, most of which hold what they should not."""
    place = tmp_path_factory.mktemp("bad")
    (place / "folder").mkdir()
    (place / "folder" / "a").touch()
    for name, text in FILES.items():
        (place / name).write_text(text, encoding="utf-8")
    (place / "folder.npz").mkdir()
    (place / "latin.jsonl").write_bytes(b"\xff\xfe{}")
    (place / "latin.sv").write_bytes(b"module m(\xff\xfe\x00);")
    np.savez(place / "object.npz", a=np.array([{1: 2}], dtype=object))
    np.savez(place / "fields.npz", x=np.zeros(3))
    return place


def content(folder):
    return {x.relative_to(folder): x.read_bytes() for x in folder.rglob("*") if x.is_file()}


@pytest.mark.parametrize(("typed", "status", "line"), rows())
def test_one_line_says_what_to_do(run, folder, monkeypatch, typed, status, line):
    monkeypatch.chdir(folder)
    before = content(folder)
    returned, out, err = run(*words(typed))
    assert (returned, out) == (status, "")
    assert err.count("\n") == 1, err
    assert re.fullmatch(".*".join(re.escape(x) for x in line.split("...")), err.rstrip("\n")), err
    assert content(folder) == before


def test_the_table_has_every_command():
    from typer.main import get_command

    from mmaproof.cli.application import application

    whole = get_command(application())
    grouped = {name: getattr(x, "commands", {}) for name, x in whole.commands.items()}
    known = {f"{name} {inner}".strip() for name, held in grouped.items() for inner in held or [""]}
    typed = [x.id for x in rows()]
    assert len(typed) > 300
    assert len(set(typed)) == len(typed)
    assert [x for x in known if not any(f"{t} ".startswith(f"{x} ") for t in typed)] == []


PROCESSES = {
    "replay good.jsonl 'process:false' --expect VOLTA": (3, "exit status 1 after 0 of 1 answers, line 1 is due"),
    "replay good.jsonl 'process:cat' --expect VOLTA": (3, "'d' is missing or no text: a bit pattern in hexadecimal"),
    "replay good.jsonl 'process:yes' --expect VOLTA": (3, "line 1 of its answers (line 1): "),
    "replay good.jsonl 'process:sleep 1000' --expect VOLTA --timeout 0.2s": (3, "give it more time if it needs longer"),
    "identify process:yes --interface f32.f16.f16.f32 --k 4": (3, "line 1 of its answers (row 1): "),
    "gemm identify process:false --m 1 --n 1 --k 4": (3, "ended with exit status 1: run it by hand to see why"),
    "serve VOLTA": (2, "line 1"),
    "matrix VOLTA": (2, "name two or more designs"),
}


@pytest.mark.middle
@pytest.mark.parametrize(
    "typed", [pytest.param(x, marks=[pytest.mark.middle] if "identify" in x or "yes" in x else []) for x in PROCESSES]
)
def test_no_process_is_left(folder, typed):
    status, text = PROCESSES[typed]
    with subprocess.Popen(
        [*MAIN, *words(typed)],
        cwd=folder,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as process:
        _, err = process.communicate("no header\n", timeout=LONG)
        wait_until(lambda: not family(process.pid))
    assert process.returncode == status, err
    assert (err.count("\n"), text in err, "Traceback" in err) == (1, True, False), err


def family(session):
    """Return the ids of the processes of a session that still run."""
    listed = subprocess.run(["ps", "-o", "pid=,stat=", "-s", str(session)], capture_output=True, text=True, check=False)
    return [x for x in listed.stdout.splitlines() if not x.split()[1].startswith("Z")]
