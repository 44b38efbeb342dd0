"""What a certificate covers: the claim where it is one query, and otherwise lemmas, which an argument joins."""

import pytest
from support.commands import only_json

from mmaproof.smt.solving.verdict import BY_KERNEL, JOINED
from mmaproof.verification import strategies

VOLTA, AMPERE = "volta/mma.m8n8k4.f32.f16.f16.f32", "ampere/mma.m16n8k8.f32.f16.f16.f32"
ONE_PIECE, LEMMAS, THEOREM = "the claim in one piece", f"its lemmas, {JOINED}", f"its lemmas, {BY_KERNEL}"
CERTIFIED = ("--certify=proof", "--no-picture", "--timeout", "5m")


@pytest.mark.middle
@pytest.mark.slow_values(
    "check negation-symmetric ampere/mma.m16n8k8.f32.f16.f16.f32-",
    "check scaling cdna3/v_mfma_f32_16x16x16_f16-",
    "compare volta/mma.m8n8k4.f32.f16.f16.f32@L=2 volta/mma.m8n8k4.f32.f16.f16.f32@L=2,adder=carry-save-",
)
@pytest.mark.parametrize(
    ("asked", "covers"),
    [
        (("check", "nan-propagates", VOLTA), ONE_PIECE),
        (("check", "carry-bits", f"{VOLTA}@L=2"), THEOREM),
        pytest.param(("check", "appended-zeros", f"{VOLTA}@L=2"), THEOREM, marks=pytest.mark.slow),
        (("check", "monotone-in-c", f"{VOLTA}@L=2"), LEMMAS),
        (("check", "low-bits-zero", "hopper/wgmma.m64n8k32.f32.e4m3.e4m3@L=1"), ONE_PIECE),
        (("compare", f"{VOLTA}@L=2", f"{VOLTA}@L=2,adder=carry-save"), THEOREM),
        pytest.param(("check", "order-independent", AMPERE), THEOREM, marks=pytest.mark.middle),
        pytest.param(("check", "scaling", "cdna3/v_mfma_f32_16x16x16_f16"), THEOREM, marks=pytest.mark.middle),
        pytest.param(("check", "negation-symmetric", AMPERE), THEOREM, marks=pytest.mark.middle),
    ],
    ids=lambda x: " ".join(x) if isinstance(x, tuple) else "",
)
def test_an_answer_says_what_is_certified(run, tmp_path, monkeypatch, asked, covers):
    if covers != ONE_PIECE:  # the whole question, which is asked in parallel with the lemmas, may not be faster
        monkeypatch.setattr(strategies, "AT_ONCE", 0.0)
        monkeypatch.setattr(strategies, "LEMMAS_ALONE", 1e6)
    page, certified = tmp_path / "answer.html", (*CERTIFIED, "--store", tmp_path / "store.sqlite")
    status, out, _ = run(*asked, *certified, "--json", "--html", page)
    record = only_json(out)
    assert status == 0
    assert record["certified_by"]["name"] == "cadical195+lrat"
    assert record["certificate_covers"] == covers
    assert (JOINED in page.read_text()) == (covers == LEMMAS)
    _, out, _ = run(*asked, *certified)
    text = " ".join(out.split())
    assert "certified by cadical195+lrat" in text
    assert (JOINED in text) == (covers == LEMMAS)
    assert bool(record["lemmas"]) or covers == ONE_PIECE


@pytest.mark.parametrize("asked", [("check", "nan-propagates", VOLTA), ("check", "carry-bits", f"{VOLTA}@L=2")])
def test_nothing_is_covered_without_a_certificate(run, asked):
    record = only_json(run(*asked, "--no-picture", "--json")[1])
    assert (record["certified_by"], record["certificate_covers"]) == (None, None)
    assert JOINED not in run(*asked, "--no-picture")[1]
