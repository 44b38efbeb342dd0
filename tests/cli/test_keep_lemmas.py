"""``--keep-lemmas`` writes what solvers were asked, with their replies, those that failed first."""

import pytest
from support.fake_solvers import HANGS

from mmaproof.smt.solving.backends import DEFAULT_SOLVER
from mmaproof.smt.solving.portfolio import COMMANDS

SAME = ("volta/f32.f16.f16.f32", "volta/f32.f16.f16.f32@adder=carry-save")


def kept(folder):
    return {x.name: x.read_text() for x in sorted(folder.iterdir())}


def test_lemmas_are_scripts_with_their_replies(run, tmp_path):
    folder = tmp_path / "new" / "lemmas"
    status, _, err = run("compare", *SAME, "--no-store", "--no-search", "--keep-lemmas", folder)
    assert status == 0
    files = kept(folder)
    assert f"lemmas: {folder}, {len(files)} files" in err
    assert {x.partition("-")[0] for x in files} <= {"failed", "met", "proved"}
    assert [x.partition("-")[2] for x in sorted(files, key=lambda x: x.partition("-")[2])] == [
        f"{i:04}.smt2" for i in range(1, len(files) + 1)
    ]
    for name, text in files.items():
        said = text.splitlines()
        assert said[0].startswith("; asked for: ")
        outcome = said[1].split()[1]
        assert (outcome == "unsat") == name.startswith("proved")
        assert f"by {DEFAULT_SOLVER}" in said[1]
        assert "(check-sat)" in text
    assert any("symbols that stand for terms" in x for x in files.values())
    assert any("a compressor keeps the sum" in x for x in files.values())


@pytest.mark.parametrize("name", ["z3", "cvc5"])
def test_another_solver_says_the_same_of_them(run, tmp_path, name):
    folder = tmp_path / "lemmas"
    asked = ("check", "carry-bits", "volta/f32.f16.f16.f32", "--no-store", "--no-search", "--keep-lemmas", folder)
    assert run(*asked)[0] == 0
    files = kept(folder)
    assert any(x.startswith("proved") for x in files)
    assert any(x.startswith("met") for x in files)
    for file, text in files.items():
        expected = "unsat" if file.startswith("proved") else "sat"
        assert answer_of(name, text) == expected, file


def answer_of(name, text):
    """What another solver says of a script."""
    if name == "z3":
        import z3

        solver = z3.Solver()
        solver.from_string(text)
        return str(solver.check())
    import cvc5

    solver = cvc5.Solver()
    parser = cvc5.InputParser(solver)
    parser.setStringInput(cvc5.InputLanguage.SMT_LIB_2_6, text, "lemma")
    said = []
    while not (command := parser.nextCommand()).isNull():
        if "get-value" in str(command):
            break
        said.append(str(command.invoke(solver, parser.getSymbolManager())))
    return "".join(said).strip()


@pytest.mark.middle
def test_lemmas_without_an_answer_come_first(run, tmp_path, monkeypatch):
    folder = tmp_path / "lemmas"
    monkeypatch.setitem(COMMANDS, DEFAULT_SOLVER, HANGS)
    status, out, _ = run("compare", *SAME, "--no-store", "--no-search", "--timeout", "2s", "--keep-lemmas", folder)
    assert status == 3
    assert "unknown" in out
    files = kept(folder)
    assert files
    assert all(x.startswith("failed") for x in files)
    assert all("\n; timeout: " in x for x in files.values())


def test_where_no_solver_was_asked_there_is_no_folder_and_a_note(run, tmp_path):
    folder = tmp_path / "lemmas"
    status, _, err = run("compare", SAME[0], "turing/f32.f16.f16.f32", "--no-store", "--keep-lemmas", folder)
    assert status == 1
    assert "no solver was asked" in err
    assert not folder.exists()


def test_a_folder_that_has_files_is_refused_before_the_work(run, tmp_path):
    (tmp_path / "x").write_text("")
    status, _, err = run("compare", *SAME, "--keep-lemmas", tmp_path)
    assert status == 2
    assert "is there already" in err


def test_a_bundle_has_no_lemmas_in_it(run, tmp_path):
    folder = tmp_path / "proof"
    status, _, err = run("compare", *SAME, "--bundle", folder, "--keep-lemmas", folder / "kept")
    assert status == 2
    assert "write it elsewhere" in err
    assert not folder.exists()
