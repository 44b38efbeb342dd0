"""The pytest plugin in a pytest of its own: the report is written, needs nothing else, and says what failed."""

import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from mmaproof.gemm.tolerances.assertion import Outcome, Strength, assert_gemm, observers
from mmaproof.gemm.tolerances.report import page
from mmaproof.hardware_replay.emulation import matmul

TESTS = """
import numpy as np
import pytest
from mmaproof import assert_gemm, matmul
UNIT = "hopper/wgmma.f32.e4m3.e4m3"
RNG = np.random.default_rng(0)
A, B = (RNG.integers(0, 64, s, dtype=np.uint8) for s in ((4, 64), (64, 5)))
def test_right():
    assert_gemm(matmul(UNIT, A, B), A, B, plan=UNIT, strength="proved")
def test_wrong():
    with pytest.raises(AssertionError):
        assert_gemm(matmul(UNIT, A, B) * np.float32(2), A, B, plan=UNIT, strength="bits")
"""


def run(folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    (folder / "test_products.py").write_text(TESTS)
    environment = os.environ | {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "mmaproof.gemm.tolerances.plugin",
        "-c",
        os.devnull,
        *options,
        ".",
    ]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


@pytest.mark.slow
def test_a_report_of_a_session(tmp_path: Path) -> None:
    done = run(tmp_path, "--mmaproof-report=products.html")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "2 products in products.html" in done.stdout
    text = (tmp_path / "products.html").read_text()
    assert "2 matrix products, 1 of them not as asserted" in text
    assert "test_products.py::test_right" in text
    assert "test_products.py::test_wrong" in text
    assert text.count("<svg") == 2
    assert not re.search(r"(src|href)=|https?://", text.replace("http://www.w3.org/2000/svg", ""))


@pytest.mark.middle
def test_the_option_wants_html(tmp_path: Path) -> None:
    done = run(tmp_path, "--mmaproof-report=products.pdf")
    assert done.returncode == 4
    assert "ends in .html" in done.stdout + done.stderr


def outcome(**changes) -> Outcome:
    some = np.array([1e-3, 0.0, np.inf])
    values = {
        "plan": "a <plan>",
        "k": 8,
        "shape": (1, 3),
        "strength": Strength.PROVED,
        "errors": some,
        "bounds": np.array([1e-2, 1e-2, np.inf]),
        "failing": np.array([False, False, True]),
        "count": 1,
        "unchecked": 0,
        "text": "row 0: <b>",
    }
    return Outcome(**(values | changes))


def test_a_page_escapes_what_it_shows_and_draws_what_has_a_bound() -> None:
    text = page([("test_x[<i>]", outcome())])
    assert "a &lt;plan&gt;" in text
    assert "row 0: &lt;b&gt;" in text
    assert "test_x[&lt;i&gt;]" in text
    assert text.count("<circle") == 2
    assert "nan" not in text


def test_a_page_of_bits_draws_errors_by_element() -> None:
    text = page([("t", outcome(strength=Strength.BITS, bounds=np.zeros(3), text="", count=0))])
    assert text.count("<circle") == 3
    assert "all elements pass" in text


def test_a_page_without_bounds_says_so() -> None:
    text = page([("t", outcome(bounds=np.full(3, np.nan)))])
    assert "No element has a bound" in text
    assert "0 matrix products" in page([])


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("strength", "c", "checked"),
    [("proved", np.nan, 3), ("proved", 3.4028234e38, 3), ("statistical", np.inf, 3), ("bits", np.nan, 4)],
)
def test_elements_that_were_left_out_do_not_pass(strength: str, c: float, checked: int) -> None:
    """An element with an operand that is not a number, or that may overflow, has no bound."""
    unit, seen = "hopper/wgmma.m64n8k16.f32.f16.f16", []
    a, b, start = np.full((2, 16), 30000.0, np.float16), np.ones((16, 2), np.float16), np.zeros((2, 2), np.float32)
    start[0, 1] = c
    d = matmul(unit, a, b, start)
    observers.append(seen.append)
    try:
        assert_gemm(d, a, b, start, plan=unit, strength=strength, unchecked="allow")
    finally:
        observers.remove(seen.append)
    text = page([("test", *seen)])
    assert seen[0].unchecked == 4 - checked
    assert ("all elements pass" in text) == (checked == 4)
    assert (f"{checked} elements pass, {4 - checked} have no bound and were not checked" in text) == (checked < 4)
