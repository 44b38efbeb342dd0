"""The folder of the explorer: the same sources each time, only what is needed, and only the Pyodide that is known."""

import io
import json
import subprocess
import sys
import zipfile
from importlib.resources import files
from pathlib import Path

import pytest
from support.waiting import LONG

import mmaproof.explain.explorer
from mmaproof.designs.catalogue import find_design
from mmaproof.designs.element import Operands
from mmaproof.designs.errors import InputError
from mmaproof.explain.explorer.build import build, is_built, runtime_of, sources
from mmaproof.smt.trace import evaluate

SCRIPT = """
import json, sys
for name in ("numpy", "pysmt", "rich", "typer", "ml_dtypes"):
    sys.modules[name] = None
sys.path.insert(0, sys.argv[1])
from mmaproof.explain.explorer import session
asked = {"units": ["volta/f32.f16.f16.f32"], "a": "1 2", "b": "3 4", "c": "0.5"}
print(json.loads(session.answer(json.dumps(asked)))["units"][0]["d"]["value"])
"""


def test_sources_alone_answer(tmp_path: Path) -> None:
    with zipfile.ZipFile(io.BytesIO(sources())) as archive:
        archive.extractall(tmp_path)
    command = [sys.executable, "-I", "-S", "-c", SCRIPT, str(tmp_path)]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=LONG, check=False, stdin=subprocess.DEVNULL)
    assert (ended.stderr, ended.stdout.strip()) == ("", "+23 * 2^-1")


def test_sources_are_the_same_each_time_and_hold_no_solver() -> None:
    data = sources()
    assert data == sources()
    names = zipfile.ZipFile(io.BytesIO(data)).namelist()
    assert not [x for x in names if "/solving/" in x or "/proving/" in x or "__pycache__" in x]


def test_another_archive_of_pyodide_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="its SHA-512 is another one"):
        runtime_of(b"something else")
    with pytest.raises(InputError, match="cannot be read"):
        build(tmp_path / "site", tmp_path / "nothing.tgz")
    assert not (tmp_path / "site").exists()


def test_a_runtime_that_is_there_stays_and_sources_are_renewed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "mmaproof.explain.explorer.build.archive_of_npm", lambda: pytest.fail("nothing is to be fetched")
    )
    monkeypatch.setattr("mmaproof.explain.explorer.build.runtime_of", lambda _: {"pyodide.mjs": b"x"})
    (tmp_path / "some.tgz").write_bytes(b"")
    build(tmp_path, tmp_path / "some.tgz")
    assert is_built(tmp_path)
    (tmp_path / "mmaproof.zip").write_bytes(b"older")
    assert not is_built(tmp_path)
    build(tmp_path)
    assert is_built(tmp_path)
    (tmp_path / "pyodide" / "integrity.txt").unlink()
    assert not is_built(tmp_path)


def test_npm_that_is_missing_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(InputError, match="npm is not installed"):
        build(tmp_path)


def test_every_example_tells_its_units_apart() -> None:
    examples = json.loads((files(mmaproof.explain.explorer) / "data" / "examples.json").read_text(encoding="utf-8"))
    assert len(examples) > 100
    for x in examples[::17]:
        first, second = map(find_design, x["units"])
        a, b, c, _ = first.formats
        columns = [["0x0"] * x["k"], ["0x0"] * x["k"]]
        for k, pair in x["p"].items():
            columns[0][int(k)], columns[1][int(k)] = pair
        scales = [
            tuple(map(first.scale_format.parse, x[n].split(","))) if first.scale_format is not None else ()
            for n in ("scale_a", "scale_b")
        ]
        operands = Operands(tuple(map(a.parse, columns[0])), tuple(map(b.parse, columns[1])), c.parse(x["c"]), *scales)
        assert evaluate(first, operands) != evaluate(second, operands), x
