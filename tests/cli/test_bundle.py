"""`--bundle DIR`: a proved answer is written for the checker, and refused where it cannot be."""

import json

import pytest
from support.bundles import checked
from support.commands import held_to_schema

from mmaproof.properties.library.monotonicity import Monotone
from mmaproof.verification import bundle
from mmaproof.verification.bundle import NoBundleError

VOLTA = "volta/mma.m8n8k4.f32.f16.f16.f32"
FP8 = "hopper/wgmma.f32.e4m3.e4m3@rho=rz-fp32,fraction_bits=12,L=1"
"""The bits are zero after one step from c = 0, and not after a chain."""


def test_a_property_in_one_piece(run, tmp_path):
    folder = tmp_path / "proof"
    status, out, _ = run("check", "nan-propagates", VOLTA, "--bundle", folder)
    assert status == 0
    assert f"bundle: {folder}, 1 lemmas, 1 steps" in " ".join(out.split())
    assert checked(folder)[0] == 0
    manifest = json.loads((folder / "manifest.json").read_text())
    assert manifest["designs"][0]["name"] == VOLTA
    assert manifest["claim"].startswith(f"{VOLTA}: ")


def test_a_property_of_a_proved_and_a_refuted_question(run, tmp_path):
    folder = tmp_path / "proof"
    assert run("check", "carry-bits", f"{VOLTA}@L=2", "--bundle", folder)[0] == 0
    assert checked(folder)[0] == 0
    assert "carry" in json.loads((folder / "manifest.json").read_text())["claim"]


@pytest.fixture
def of_two_questions(run, tmp_path):
    """Runs a command whose answer rests on two proved questions; returns the folder and what ``run`` does."""

    def called(*more):
        folder = tmp_path / "proofs"
        return folder, run("check", "conversion-rounding", VOLTA, "--bundle", folder, "--no-picture", *more)

    return called


@pytest.mark.middle
def test_a_property_of_two_proved_questions_has_two_bundles(of_two_questions):
    folder, (status, out, _) = of_two_questions("--json")
    names = [str(folder / x) for x in "12"]
    assert (status, held_to_schema("check", out)["bundle"]["folders"]) == (0, names)
    assert sorted(str(x) for x in folder.iterdir()) == names
    assert [checked(folder / x)[0] for x in "12"] == [0, 0]
    claims = [json.loads((folder / x / "manifest.json").read_text())["claim"] for x in "12"]
    assert [x.split(" (")[0] for x in claims] == ["RTZ", "truncation"]


@pytest.mark.middle
def test_each_of_two_bundles_is_to_be_checked(of_two_questions):
    folder, (_, out, _) = of_two_questions()
    text = " ".join(out.split())
    assert f"bundles: {folder / '1'}, {folder / '2'}, 2 lemmas, 2 steps" in text
    assert "check each with mmaproof-check" in text


@pytest.mark.middle
def test_no_bundle_is_left_if_that_of_another_question_is_missing(of_two_questions, monkeypatch):
    made, of_one = [], bundle._bundle

    def only_the_first(*given):
        if made:
            raise NoBundleError("the reason")
        made.append(of_one(*given))
        return made[0]

    monkeypatch.setattr(bundle, "_bundle", only_the_first)
    folder, (status, _, err) = of_two_questions()
    assert (status, len(made), folder.exists()) == (3, 1, False)
    assert "though the answer is proved: the reason" in " ".join(err.split())


@pytest.mark.middle
def test_two_designs_in_steps(run, tmp_path, monkeypatch):
    monkeypatch.setattr(bundle, "AT_ONCE", 1e-3)
    folder = tmp_path / "proof"
    status, out, _ = run("compare", VOLTA, f"{VOLTA}@adder=carry-save", "--bundle", folder, "--json")
    record = held_to_schema("compare", out)
    assert status == 0
    assert record["verdict"] == "equivalent"
    assert record["bundle"]["steps"] > record["bundle"]["lemmas"] > 10
    found, said = checked(folder)
    assert found == 0, said


@pytest.mark.slow_values("exchange-symmetric", "order-independent")
@pytest.mark.middle
@pytest.mark.parametrize("asked", ["order-independent", "exchange-symmetric", "negation-symmetric"])
def test_properties_in_steps(run, tmp_path, asked):
    folder = tmp_path / "proof"
    assert run("check", asked, "ampere/mma.m16n8k8.f32.f16.f16.f32", "--bundle", folder)[0] == 0
    found, said = checked(folder)
    assert found == 0, said
    assert "law: " in (folder / "composition.json").read_text()


@pytest.mark.slow
@pytest.mark.parametrize("asked", ["exactness-of-products", "exactness-of-c"])
def test_terms_that_lie_close(run, tmp_path, asked):
    folder = tmp_path / "proof"
    assert run("check", asked, VOLTA, "--bundle", folder, "--timeout", "20m", "--no-picture")[0] == 0
    found, said = checked(folder)
    assert found == 0, said
    assert "nothing is lost" in (folder / "composition.json").read_text()


@pytest.mark.slow
@pytest.mark.parametrize("unit", [VOLTA, "hopper/wgmma.f32.e4m3.e4m3"])
def test_published_bounds_of_errors(run, tmp_path, unit):
    folder = tmp_path / "proof"
    assert run("check", "error-bound", unit, "--bundle", folder, "--timeout", "20m", "--no-picture")[0] == 0
    found, said = checked(folder)
    assert found == 0, said


@pytest.mark.slow
@pytest.mark.parametrize(
    ("asked", "unit"), [("monotone-in-a", VOLTA), ("monotone-in-c", "volta/mma.m8n8k4.f16.f16.f16.f16")]
)
def test_results_that_do_not_fall(run, tmp_path, asked, unit):
    folder = tmp_path / "proof"
    assert run("check", asked, unit, "--bundle", folder, "--timeout", "20m", "--no-picture")[0] == 0
    found, said = checked(folder)
    assert found == 0, said


@pytest.mark.slow
def test_two_plans(run, tmp_path):
    folder, unit = tmp_path / "proof", "turing/mma.m8n8k16.s32.s8.s8.s32"
    status, out, _ = run("gemm", "compare", unit, f"{unit} | split-k=2", "--bundle", folder, "--json")
    assert status == 0
    assert held_to_schema("gemm compare", out)["bundle"]["lemmas"] >= 1
    found, said = checked(folder)
    assert found == 0, said
    assert "split-k=2" in json.loads((folder / "manifest.json").read_text())["claim"]


def test_errors_have_no_bundle(run, tmp_path):
    folder = tmp_path / "proof"
    status, _, err = run("gemm", "compare", "plain", "markidis", "--unit", VOLTA, "--bundle", folder)
    assert status == 2
    assert "compared bit for bit" in " ".join(err.split())


def test_a_refuted_claim_has_no_bundle(run, tmp_path):
    folder = tmp_path / "proof"
    status, _, err = run("compare", VOLTA, f"{VOLTA}@fraction_bits=20", "--bundle", folder, "--no-picture")
    assert status == 1
    assert "a bundle is of a proved answer" in " ".join(err.split())
    assert not folder.exists()


@pytest.mark.parametrize("json", [False, True])
def test_what_a_bundle_cannot_have_is_refused(run, tmp_path, monkeypatch, json):
    def refuse(*_):
        raise NoBundleError("the reason")

    monkeypatch.setattr(bundle, "write_bundles", refuse)
    folder = tmp_path / "proof"
    status, out, err = run("compare", VOLTA, VOLTA, "--bundle", folder, *(["--json"] if json else []))
    assert status == 3
    assert "though the answer is proved: the reason" in " ".join(err.split())
    assert not folder.exists()
    if json:
        assert held_to_schema("compare", out)["bundle"] == {"refused": "the reason"}


@pytest.mark.middle
def test_the_bundle_of_a_case_that_lemmas_prove_is_of_the_whole_question(run, tmp_path, monkeypatch):
    asked = []

    def refuse(questions, *_):
        asked.extend(question for question, _, _ in questions)
        raise NoBundleError("the reason")

    monkeypatch.setattr(bundle, "write_bundles", refuse)
    assert run("check", "monotone-in-a", VOLTA, "--bundle", tmp_path / "proof")[0] == 3
    assert [isinstance(x, Monotone) for x in asked] == [True]


@pytest.mark.parametrize("inside", ["", "h.html"])
def test_other_files_do_not_go_into_a_bundle(run, tmp_path, inside):
    folder = tmp_path / "proof"
    status, _, err = run("check", "nan-propagates", VOLTA, "--bundle", folder, "--html", folder / inside)
    assert (status, "a bundle has no other files" in " ".join(err.split())) == (2, True)
    assert not folder.exists()


@pytest.mark.middle
def test_a_claim_says_what_it_was_asked_for(run, tmp_path):
    folder = tmp_path / "proof"
    assert run("check", "low-bits-zero", FP8, "--where", "c=0", "--k", "1", "--bundle", folder)[0] == 0
    claim = (folder / "claim.smt2").read_text()
    assert "; asked for k = 1, where c=0\n" in claim
    assert "chain" not in claim + (folder / "manifest.json").read_text().split('"designs"')[0]


def test_a_folder_that_is_not_empty_is_left_alone(run, tmp_path):
    (tmp_path / "file").write_text("")
    status, _, err = run("compare", VOLTA, VOLTA, "--bundle", tmp_path)
    assert status == 2
    assert "name a new folder, or an empty one" in " ".join(err.split())
    assert [x.name for x in tmp_path.iterdir()] == ["file"]


@pytest.mark.parametrize("name", ["file/x", "x" * 300, "a/b/" + "x" * 300])
def test_a_folder_that_cannot_be_made_is_refused_before_the_proof(run, tmp_path, name):
    (tmp_path / "file").write_text("")
    status, out, err = run("check", "nan-propagates", VOLTA, "--bundle", tmp_path / name)
    assert (status, out) == (2, "")
    assert "cannot be written" in err
    assert "name another folder" in err
    assert [x.name for x in tmp_path.iterdir()] == ["file"]


@pytest.mark.middle
def test_of_a_bundle_that_cannot_be_written_nothing_is_left(run, tmp_path, monkeypatch):
    written = []

    def full(path, content):
        written.append(path)
        if len(written) > 2:
            raise OSError(28, "No space left on device", str(path))
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("wb") as file:
            file.write(content)

    monkeypatch.setattr("pathlib.Path.write_bytes", full)
    status, _, err = run("check", "nan-propagates", VOLTA, "--bundle", tmp_path / "a" / "proof")
    assert status == 2
    assert "No space left on device" in err
    assert len(written) == 3
    assert [*(tmp_path / "a").iterdir()] == []
