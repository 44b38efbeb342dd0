"""`-o`: an output that cannot be written is noticed before the work, and nothing is written without a vector."""

import pytest

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
