"""`mmaproof identify`: questions, output, and the exit statuses."""

import pytest
from support.commands import only_json
from support.small_spaces import small_space as small_space_of

from mmaproof.designs.catalogue import find_design
from mmaproof.generators.identify import identify

TURING = find_design("turing/f32.f16.f16.f32")
ASKED = ("--interface", "f32.f16.f16.f32", "--k", "8", "--no-store")


@pytest.fixture
def small_space(tmp_path):
    """A space with two parameters that are not known: what is left to prove takes seconds."""
    path = tmp_path / "space.toml"
    path.write_text(small_space_of(TURING.name, fraction_bits=[22, 23, 24, 25], L=None))
    return path


@pytest.mark.middle
def test_a_unit_is_identified(run, small_space, monkeypatch):
    # what cannot be told apart is proved, however slow the machine is
    monkeypatch.setattr(identify, "PROOF_SECONDS", 100.0)
    asked = (f"model:{TURING.name}", *ASKED, "--space", small_space, "--timeout", "10m")
    status, out, err = run("identify", *asked, "--json")
    record = only_json(out)
    assert (status, err) == (0, "")
    assert TURING.name in record["matches"]
    assert (record["parameters"]["fraction_bits"], record["parameters"]["L"]) == ("24", "8")
    assert (record["unobservable"], record["undecided"]) == ({}, {})
    assert record["validated"] == 100_000
    assert 0 < record["batches"] <= 12
    assert record["decided_by"]["fraction_bits"]["d"].startswith("0x")
    status, out, _ = run("identify", *asked)
    assert status == 0
    assert f"is {TURING.name}" in out
    assert "fraction_bits = 24" in out


@pytest.mark.slow
def test_a_unit_that_is_known_but_for_one_parameter(run, small_space):
    unit = f"model:{TURING.name}@fraction_bits=22"
    asked = (unit, *ASKED, "--space", small_space, "--validate", "1000")
    status, out, _ = run("identify", *asked, "--json")
    record = only_json(out)
    assert (status, record["matches"]) == (0, [])
    near = record["neighbour"]
    assert (near["design"], near["changes"]) == (TURING.name, {"fraction_bits": "22"})
    finite, special = near["disagreements"].values()
    assert 0 < finite["wrong"] < finite["rows"]
    assert special["rows"] > 0
    assert finite["rows"] + special["rows"] == record["operands"]
    assert not any(x["wrong"] for x in record["disagreements"].values()), "what was found agrees with everything"
    status, out, _ = run("identify", *asked)
    assert f"  nearest: {TURING.name}@fraction_bits=22\n" in out
    assert "rows disagree with it" in " ".join(out.split())
    assert f"\n{TURING.name}\n" in out, "the simplest row is drawn on the nearest design"


@pytest.mark.middle
def test_a_unit_outside_the_space_is_said_to_be_none(run, small_space):
    volta = f"model:{TURING.name}@fraction_bits=19"
    status, out, err = run("identify", volta, *ASKED, "--space", small_space, "--json")
    record = only_json(out)
    assert (status, err) == (1, "")
    assert (record["identified"], record["matches"]) == (False, [])
    assert record["contradiction"]["d"].startswith("0x")
    assert record["nearest"]["L"] == "8"
    status, out, _ = run("identify", volta, *ASKED, "--space", small_space)
    assert status == 1
    assert "no design was found that agrees" in out
    assert "returned, " in out
    assert "with finite operands" in out
    # the one of two generations that has more of the rows
    assert "  nearest: hopper/mma.m16n8k8.f32.f16.f16.f32@fraction_bits=22\n" in out


def test_time_that_runs_out_is_no_answer(run, small_space):
    unknown = f"model:{TURING.name}@fraction_bits=19"
    status, out, _ = run("identify", unknown, *ASKED, "--space", small_space, "--timeout", "0.001s", "--json")
    record = only_json(out)
    assert (status, record["identified"], record["late"]) == (3, False, True)
    status, out, _ = run("identify", unknown, *ASKED, "--space", small_space, "--timeout", "0.001s")
    text = " ".join(out.split())
    assert status == 3
    assert "time ran out before a design was found" in text
    assert "ended by the clock after 1 of at most 12 batches and" in text
    assert "another run may end at another setting" in text
    assert f" nearest: {TURING.name} " in text


def test_a_recording_answers_nothing_new(run, tmp_path, small_space):
    run("record", f"model:{TURING.name}", "normal", "-o", tmp_path / "r.npz", "--rows", 300)
    status, out, _ = run("identify", f"recording:{tmp_path / 'r.npz'}", "--space", small_space, "--no-store", "--json")
    record = only_json(out)
    assert (status, record["batches"], record["validated"]) == (3, 0, 0)
    # it only fits: nothing that was not asked is known
    assert (record["identified"], record["matches"]) == (False, [])
    assert TURING.name in record["fitting"]


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["--interface", "f32.f16", "--k", "8"], "interface 'f32.f16'"),
        (["--interface", "f32.e4m3.e4m3.f32", "--k", "8"], "format mismatch"),
        ([*ASKED, "--space", "missing.toml"], "missing.toml"),
    ],
)
def test_bad_input(run, arguments, text):
    status, out, err = run("identify", f"model:{TURING.name}", *arguments)
    assert (status, out) == (2, "")
    assert text in err


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["--k", "8"], "--interface D.A.B.C and --k N are required"),
        (["--interface", "f32.f16.f16.f32"], "and --k N"),
    ],
)
def test_of_a_process_formats_and_length_are_to_be_said(run, arguments, text):
    status, out, err = run("identify", "process:cat", *arguments)
    assert (status, out) == (2, "")
    assert text in err


def test_of_a_model_formats_and_length_are_known(run, small_space):
    status, out, _ = run("identify", f"model:{TURING.name}", "--space", small_space, "--no-proofs", "--json")
    record = only_json(out)
    assert record["k"] == TURING.k and TURING.name in (*record["matches"], *record["fitting"])
    assert status == 0 and record["validated"]


def test_a_process_that_ends_is_unknown(run):
    status, out, err = run("identify", "process:false", *ASKED)
    assert (status, out) == (3, "")
    assert "exit status 1" in err


def test_the_rows_of_the_validation(run, small_space):
    asked = ("identify", f"model:{TURING.name}", *ASKED, "--space", small_space, "--no-proofs", "--json")
    status, out, _ = run(*asked, "--validate", "1234")
    assert (status, only_json(out)["validated"]) == (0, 1234)
    status, out, err = run(*asked, "--validate", "0")
    assert (status, out) == (2, "")
    assert "--validate" in err


@pytest.mark.slow
def test_the_rounds_of_who_has_a_chip_with_a_design_in_its_place(run, small_space, tmp_path, monkeypatch):
    """docs/units.md: operands, results of the chip, what is left open, and again; the last round has nothing to ask."""
    monkeypatch.chdir(tmp_path)
    chip = f"model:{TURING.name}"
    status, _, err = run("suite", TURING.name, "ampere/mma.m16n8k8.f32.f16.f16.f32@fraction_bits=25", "-o", "ask.jsonl")
    assert (status, err) == (0, "")
    assert run("record", chip, "ask.jsonl", "-o", "answers.npz")[0] == 0
    more, left = [], []
    for number in range(1, 6):
        asked = (
            "answers.npz",
            *more,
            *ASKED,
            "--space",
            small_space,
            "--timeout",
            "2m",
            "--next",
            f"ask-{number}.jsonl",
        )
        _, out, _ = run("identify", *asked)
        left.append(out)
        if not (tmp_path / f"ask-{number}.jsonl").exists():
            break
        assert run("record", chip, f"ask-{number}.jsonl", "-o", f"answers-{number}.npz")[0] == 0
        more += ["--more", f"answers-{number}.npz"]
    assert more, "one vector leaves more than one design"
    assert TURING.name in left[-1]
    assert "fraction_bits = 24\n" in left[-1]
    assert "fraction_bits = 24\n" not in left[0]
