"""`--backend` says what computes many rows; the answer is the same whatever does."""

import json
import os
import re

import pytest
from support.commands import only_json
from support.native import needs_native

from mmaproof.designs.catalogue import find_design
from mmaproof.smt import backends
from mmaproof.smt.backends import Backend
from mmaproof.smt.native import compiler

VOLTA = "volta/f32.f16.f16.f32"
COMMANDS = {
    "replay": ("rows.npz", f"model:{VOLTA}"),
    "record": (f"model:{VOLTA}", "normal", "--rows", "50", "-o", "again.npz"),
    "export": ("normal", "--design", VOLTA, "--rows", "5", "--format", "c", "-o", "rows.h"),
    "compare": (VOLTA, "turing/f32.f16.f16.f32"),
    "check": ("order-independent", VOLTA),
    "matrix": (VOLTA, f"{VOLTA}@fraction_bits=22"),
    "gemm error": ("plain", "--unit", VOLTA, "--k", "16", "--no-bound"),
}


@pytest.fixture
def recorded(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert run("record", f"model:{VOLTA}", "normal", "--rows", "200", "-o", "rows.npz")[0] == 0


def without_seconds(record):
    if isinstance(record, dict):
        return {k: without_seconds(x) for k, x in record.items() if k not in {"seconds", "recorded", "created"}}
    if isinstance(record, list):
        return [without_seconds(x) for x in record]
    return re.sub(r"[0-9.]+ s\b", "", record) if isinstance(record, str) else record


@pytest.mark.few(1)
@pytest.mark.slow_values("check")
@needs_native
@pytest.mark.usefixtures("recorded")
@pytest.mark.parametrize(
    "command", [pytest.param(x, marks=pytest.mark.middle) if x in ("check", "matrix") else x for x in COMMANDS]
)
def test_the_answer_is_the_same(run, command):
    answers = []
    for backend in Backend:
        status, out, err = run(*command.split(), *COMMANDS[command], "--backend", backend.value, "--json")
        assert status in (0, 1), err
        answers.append((status, json.dumps(without_seconds(only_json(out)), sort_keys=True)))
    assert len(set(answers)) == 1
    assert "MMAPROOF_BACKEND" not in os.environ


@pytest.mark.usefixtures("recorded")
def test_an_unknown_backend_is_refused(run):
    status, out, err = run("replay", "rows.npz", f"model:{VOLTA}", "--backend", "gpu")
    assert (status, out) == (2, "")
    assert "backend = 'gpu' is not a backend: one of integers, arrays, native" in err


@needs_native
def test_a_design_without_native_code_runs_on_arrays_and_a_note_says_so(run, tmp_path, monkeypatch, caplog):
    design = "cdna1/v_mfma_f32_32x32x8f16"
    monkeypatch.setattr(backends, "_noted", set())
    arguments = ("record", f"model:{design}", "normal", "--rows", "5", "-o", tmp_path / "r.npz")
    assert run(*arguments, "--backend", "native")[0] == 0
    assert f"note: {find_design(design).name} has no native code" in caplog.text


@pytest.mark.few(3)
@pytest.mark.usefixtures("recorded")
@pytest.mark.parametrize("command", COMMANDS)
def test_without_llvmlite_every_command_says_what_to_install(run, monkeypatch, command):
    monkeypatch.setattr(compiler, "missing", lambda: "llvmlite is not installed: pip install 'mmaproof[native]'")
    status, out, err = run(*command.split(), *COMMANDS[command], "--backend", "native")
    assert (status, out) == (3, "")
    assert "pip install 'mmaproof[native]'" in err
    monkeypatch.setenv("MMAPROOF_BACKEND", "native")
    assert run(*command.split(), *COMMANDS[command])[0] == 3


def test_doctor_says_which_backends_there_are(run, monkeypatch):
    record = only_json(run("doctor", "--json")[1])
    assert set(record["backends"]) == {"chosen", *Backend}
    assert record["backends"]["chosen"] == "the fastest for the request"
    monkeypatch.setenv("MMAPROOF_BACKEND", "arrays")
    assert only_json(run("doctor", "--json")[1])["backends"]["chosen"] == "arrays (MMAPROOF_BACKEND)"


def test_doctor_says_what_to_install(run, monkeypatch):
    monkeypatch.setattr(compiler, "missing", lambda: "llvmlite is not installed: pip install 'mmaproof[native]'")
    status, out, _ = run("doctor", "--json")
    assert status == 0
    assert only_json(out)["backends"]["native"] == (
        "missing: llvmlite is not installed: pip install 'mmaproof[native]'"
    )
