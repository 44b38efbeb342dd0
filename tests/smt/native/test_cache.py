"""Compiled code in the cache is checked, not trusted; without a usable folder everything still works."""

import dataclasses
import hashlib
import json
import logging
import os
import subprocess
import sys

import numpy as np
import pytest
from support.native import needs_native
from support.sampling import distinct_designs
from support.waiting import LONG

from mmaproof.designs.catalogue import find_design
from mmaproof.designs.operands import OperandBatch
from mmaproof.designs.parameters import complete_settings
from mmaproof.smt import backends
from mmaproof.smt.backends import Backend
from mmaproof.smt.evaluate import evaluate_batch
from mmaproof.smt.native import compiler, kernels, matrices
from mmaproof.verification.distributions import draw

pytestmark = needs_native
VOLTA = find_design("volta/mma.m8n8k4.f32.f16.f16.f32")
BATCH = draw("normal", VOLTA, 50, VOLTA.k, np.random.default_rng(0))
EXPECTED = evaluate_batch(VOLTA, BATCH, backend=Backend.ARRAYS)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("MMAPROOF_CACHE", str(tmp_path / "code"))
    fresh(monkeypatch)
    return tmp_path / "code"


def fresh(monkeypatch):
    """As in a new process."""
    monkeypatch.setattr(kernels, "_loaded", {})
    monkeypatch.setattr(matrices, "_loaded", {})
    monkeypatch.setattr(backends, "_noted", set())


@pytest.fixture
def compiled(monkeypatch):
    """How often something was compiled."""
    calls = []
    right = compiler.compile_object
    monkeypatch.setattr(compiler, "compile_object", lambda *a, **k: (calls.append(1), right(*a, **k))[1])
    return calls


def run() -> bool:
    return bool((evaluate_batch(VOLTA, BATCH, backend=Backend.NATIVE) == EXPECTED).all())


def test_code_is_compiled_once_and_found_by_the_next_process(folder, compiled, monkeypatch):
    assert run()
    assert run()
    fresh(monkeypatch)
    assert run()
    assert len(compiled) == 1
    (file,) = folder.iterdir()
    assert folder.stat().st_mode & 0o077 == 0
    assert file.suffix == ".o"


def forged(content: bytes, head: bytes) -> bytes:
    """A file with another head, and a checksum that fits it."""
    start = len(compiler._MAGIC)
    text = head + b"\n" + content[start + 32 :].partition(b"\n")[2]
    return content[:start] + hashlib.sha256(text).digest() + text


DAMAGES = {
    "no record": lambda x: forged(x, b"{"),
    "another record": lambda x: forged(x, b"[1, 2]"),
    "a record without a key": lambda x: forged(x, b'{"sizes": {"lanes": 16}, "checked": []}'),
    "a record without rows": lambda x: forged(x, b'{"key": "x", "sizes": [], "checked": null}'),
    "cut": lambda x: x[: len(x) // 2],
    "empty": lambda x: b"",
    "a bit of the code": lambda x: x[:-200] + bytes([x[-200] ^ 1]) + x[-199:],
    "a bit of the head": lambda x: x[:60] + bytes([x[60] ^ 1]) + x[61:],
    "no such file format": lambda x: b"ELF" + x,
    "of another version": lambda x: x.replace(b"native code 1", b"native code 0"),
}


@pytest.mark.few(3)
@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_file_is_rebuilt(folder, compiled, monkeypatch, damage):
    assert run()
    (file,) = folder.iterdir()
    whole = file.read_bytes()
    file.write_bytes(DAMAGES[damage](whole))
    fresh(monkeypatch)
    assert run()
    assert len(compiled) == 2
    assert len(file.read_bytes()) == len(whole)


def test_code_of_another_design_in_the_place_of_this_one_is_rebuilt(folder, compiled, monkeypatch):
    turing = find_design("turing/mma.m16n8k8.f32.f16.f16.f32")
    evaluate_batch(turing, draw("normal", turing, 5, 8, np.random.default_rng(0)), backend=Backend.NATIVE)
    (other,) = folder.iterdir()
    content = other.read_bytes()
    other.unlink()
    assert run()
    (file,) = folder.iterdir()
    file.write_bytes(content)
    assert compiler.find(kernels.key_of(VOLTA, VOLTA.k)) is None
    fresh(monkeypatch)
    assert run()
    assert len(compiled) == 3


def test_whole_code_that_returns_something_else_is_rebuilt(folder, compiled, monkeypatch):
    assert run()
    key = kernels.key_of(VOLTA, VOLTA.k)
    entry = compiler.find(key)
    wrong = (*entry.checked[:-1], entry.checked[-1] ^ 1)
    compiler.keep(key, compiler.Entry(entry.compiled, entry.sizes, wrong))
    fresh(monkeypatch)
    assert run()
    assert len(compiled) == 2
    assert compiler.find(key) == entry


def test_another_cpu_or_other_sources_are_another_key(monkeypatch):
    key = kernels.key_of(VOLTA, VOLTA.k)
    assert key == kernels.key_of(find_design("volta/mma.m8n8k4.f32.f16.f16.f32"), 4)
    assert key != kernels.key_of(VOLTA, 3)
    assert key != kernels.key_of(VOLTA.change(fraction_bits=22), 4)
    with monkeypatch.context() as m:
        m.setattr(compiler, "digest_of_sources", lambda *_: "other")
        assert key != kernels.key_of(VOLTA, VOLTA.k)
    with monkeypatch.context() as m:
        m.setattr(compiler, "_processor_key", lambda: ("other",))
        assert key != kernels.key_of(VOLTA, VOLTA.k)
    assert key == kernels.key_of(VOLTA, VOLTA.k)


def test_every_arithmetic_has_a_key_of_its_own():
    designs = distinct_designs()
    assert len({kernels.key_of(x, 1) for x in designs}) == len(designs)
    for design in designs[::40]:
        assert (
            json.loads(kernels.key_of(design, 1))["settings"].keys()
            == complete_settings(design.chain, design.step).keys()
        )
    scaled = find_design("blackwell/tcgen05.mma.m128n8k64.block16.f32.e2m1.e2m1.ue8m0")
    other = dataclasses.replace(scaled, signature=dataclasses.replace(scaled.signature, block=32))
    assert kernels.key_of(scaled, 64) != kernels.key_of(other, 64)
    assert kernels.key_of(VOLTA, 4) != kernels.key_of(dataclasses.replace(VOLTA, k=8), 4)
    assert kernels.key_of(VOLTA, VOLTA.k) != matrices.key_of(VOLTA, False) != matrices.key_of(VOLTA, True)


@pytest.mark.middle
def test_every_source_that_decides_what_is_compiled_is_in_the_key():
    script = (
        "import sys\n"
        "from mmaproof.designs.catalogue import find_design\n"
        "from mmaproof.smt.native.lowering import lower\n"
        "lower(find_design('volta/f32.f16.f16.f32'))\n"
        "lower(find_design('cpu/vfmadd231pd'), fused_multiply_add=True)\n"
        "others = {'mmaproof.smt', 'mmaproof.late'}  # what is imported when\n"
        "print(*(x for x in sys.modules if x.startswith('mmaproof.') and x not in others))\n"
    )
    loaded = subprocess.run([sys.executable, "-c", script], timeout=LONG, check=True, capture_output=True, text=True)
    folders = tuple(f"mmaproof.{x.replace('/', '.')}" for x in compiler._ROOTS)
    assert [x for x in loaded.stdout.split() if not x.startswith(folders)] == []


def test_a_folder_that_cannot_be_written_gives_one_note_and_the_same_results(tmp_path, monkeypatch, compiled, caplog):
    fresh(monkeypatch)
    (tmp_path / "file").write_text("no folder")
    monkeypatch.setenv("MMAPROOF_CACHE", str(tmp_path / "file" / "code"))
    with caplog.at_level(logging.WARNING, "mmaproof"):
        for _ in range(2):
            monkeypatch.setattr(kernels, "_loaded", {})
            assert run()
    assert len(compiled) == 2
    assert len([r for r in caplog.records if "not kept" in r.getMessage()]) == 1


def test_a_full_disk_leaves_nothing_half_written(folder, monkeypatch, caplog):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(compiler, "write_atomically", full)
    with caplog.at_level(logging.WARNING, "mmaproof"):
        assert run()
    assert "No space left" in caplog.text
    assert list(folder.iterdir()) == []


def test_nothing_is_kept_where_the_variable_is_empty(monkeypatch, compiled):
    fresh(monkeypatch)
    monkeypatch.setenv("MMAPROOF_CACHE", "")
    assert run()
    fresh(monkeypatch)
    assert run()
    assert len(compiled) == 2
    assert compiler.folder() is None


def test_old_files_make_room(folder, monkeypatch):
    monkeypatch.setattr(compiler, "MOST_FILES", 4)
    for i in range(9):
        compiler.keep(f"key {i}", compiler.Entry(b"", {}, ()))
        assert len(list(folder.iterdir())) <= 4
    assert compiler.find("key 8") is not None


def test_the_oldest_files_go(folder, monkeypatch):
    monkeypatch.setattr(compiler, "MOST_FILES", 4)
    for i in range(4):
        compiler.keep(f"key {i}", compiler.Entry(b"", {}, ()))
        os.utime(compiler._file(f"key {i}"), (i, i))
    compiler.keep("key 4", compiler.Entry(b"", {}, ()))
    assert [i for i in range(5) if compiler.has(f"key {i}")] == [2, 3, 4]


def test_a_kernel_of_the_cache_is_for_any_number_of_rows(folder):
    assert run()
    none = OperandBatch(BATCH.a[:0], BATCH.b[:0], BATCH.c[:0])
    assert len(evaluate_batch(VOLTA, none, backend=Backend.NATIVE)) == 0


@pytest.mark.skipif(not hasattr(os, "getuid"), reason="owners and modes of files are of POSIX systems")
def test_code_in_a_folder_that_others_may_write_to_is_not_run(folder, compiled, monkeypatch, caplog):
    assert run()
    folder.chmod(0o777)
    fresh(monkeypatch)
    with caplog.at_level(logging.WARNING, "mmaproof"):
        assert run()
        assert run()
    assert len(compiled) == 2
    assert [r.getMessage().count("not this user's alone") for r in caplog.records] == [1]


def test_a_file_in_the_place_of_the_folder_and_a_home_that_is_spelled(tmp_path, monkeypatch):
    fresh(monkeypatch)
    (tmp_path / "file").write_text("no folder")
    monkeypatch.setenv("MMAPROOF_CACHE", str(tmp_path / "file"))
    assert compiler.folder() is None
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("MMAPROOF_CACHE", "~/code")
    assert compiler.folder() == tmp_path / "code"
