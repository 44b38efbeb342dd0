"""The command line starts without loading a solver, NumPy or LLVM: `--help` and completion stay quick."""

import subprocess
import sys

import pytest
from support.waiting import LONG

SCRIPT = """
import sys
from mmaproof.cli.main import main

sys.argv = ["mmaproof", *sys.argv[1:]]
try:
    status = main()
except SystemExit as stop:
    status = stop.code
heavy = {"bitwuzla", "cvc5", "z3", "pysmt", "numpy", "llvmlite", "pydantic", "rich.progress"}
loaded = sorted(heavy & sys.modules.keys())
print("loaded:", *loaded, file=sys.stderr)
sys.exit(status)
"""


@pytest.mark.few(1)
@pytest.mark.parametrize("option", ["--help", "--version"])
def test_option_answers_without_loading_a_solver_or_numpy(option: str) -> None:
    ended = subprocess.run(
        [sys.executable, "-c", SCRIPT, option],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=LONG,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.strip()
    assert ended.stderr.splitlines()[-1] == "loaded:", ended.stderr


def test_a_comparison_that_a_search_answers_loads_no_solver() -> None:
    """Nor what reads and writes JSON: names of designs and of other texts are not read, and a text is printed."""
    words = ["compare", "volta/f32.f16.f16.f32", "turing/f32.f16.f16.f32", "--no-store"]
    ended = subprocess.run(
        [sys.executable, "-c", SCRIPT, *words], capture_output=True, text=True, timeout=LONG, check=False
    )
    assert (ended.returncode, ended.stderr.splitlines()[-1]) == (1, "loaded: numpy pysmt"), ended.stderr


@pytest.mark.middle
def test_z3_answers_though_pysmt_was_loaded_without_it() -> None:
    words = ["compare", "volta/f32.f16.f16.f32", "turing/f32.f16.f16.f32", "--no-store", "--no-search"]
    ended = subprocess.run(
        [sys.executable, "-c", SCRIPT, *words, "--solver", "z3"],
        capture_output=True,
        text=True,
        timeout=LONG,
        check=False,
    )
    assert ended.returncode == 1, ended.stderr
    assert "answered by z3" in ended.stdout


def test_a_comparison_loads_neither_the_properties_nor_the_proofs_of_netlists() -> None:
    """A witness is found without them, so the strategies that need them import them."""
    needless = ["mmaproof.properties.library", "mmaproof.smt.proving.net_sweep", "mmaproof.smt.proving.adders"]
    script = f"import sys, mmaproof.verification.compare; print(*sorted(set({needless}) & sys.modules.keys()))"
    ended = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=LONG, check=False)
    assert (ended.returncode, ended.stdout.split()) == (0, []), ended.stderr
