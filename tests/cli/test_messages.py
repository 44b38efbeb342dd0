"""What is said of a command line that is wrong: what was wrong, what is allowed, where to read on."""

import pytest

from mmaproof.designs.catalogue import load_catalogue
from mmaproof.designs.errors import did_you_mean
from mmaproof.designs.names import PRODUCTS, architecture_of

VOLTA = "volta/f32.f16.f16.f32"

REFUSED = [
    (["compare", VOLTA], "Missing argument 'DESIGN'. (see: mmaproof compare --help)"),
    (["compare", VOLTA, VOLTA, "--k", "x"], "--k: 'x' is not an integer (see: mmaproof compare --help)"),
    (["compare", VOLTA, VOLTA, "--k", "1.5"], "--k: '1.5' is not an integer (see: mmaproof compare --help)"),
    (
        ["compare", VOLTA, VOLTA, "--k", "0"],
        "--k: '0' is too small: 1 or more is allowed (see: mmaproof compare --help)",
    ),
    (
        ["cover", VOLTA, "-n", "99999"],
        "-n: '99999' is too large: 10000 or less is allowed (see: mmaproof cover --help)",
    ),
    (
        ["tolerance", VOLTA, "--k", "4", "--confidence", "z"],
        "--confidence: 'z' is not a number (see: mmaproof tolerance --help)",
    ),
    (["gemm", "run", "plain"], "(see: mmaproof gemm run --help)"),
    (["rtl", "shoow"], "(see: mmaproof rtl --help)"),
    (["no-such"], "(see: mmaproof --help)"),
    (
        ["serve", "nope"],
        "not a design name: write ARCHITECTURE/INSTRUCTION; list them with: mmaproof list designs",
    ),
    (["serve", "/tmp"], "'/tmp' is not a design name"),
    (["matrix", "--architecture", "hoper"], "(did you mean hopper?)"),
    (["compare", VOLTA, VOLTA, "--simplify", "long"], "time limit 'long' cannot be read"),
]


@pytest.mark.parametrize(("arguments", "text"), REFUSED, ids=[" ".join(x) for x, _ in REFUSED])
def test_one_line_says_what_is_wrong(run, arguments, text):
    status, out, err = run(*arguments)
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert text in err
    assert "Input should" not in err


@pytest.mark.parametrize(
    "arguments",
    [["rtl", "prove", "--no-store"], ["report", "--html", "x.html"]],
)
def test_a_folder_is_no_file(run, tmp_path, monkeypatch, arguments):
    monkeypatch.chdir(tmp_path)
    status, out, err = run(*arguments, tmp_path)
    assert (status, out) == (2, "")
    assert "it is a folder; name a file in it" in err


@pytest.mark.parametrize("folder", ["v.jsonl", "r.npz"])
def test_a_folder_with_the_name_of_a_file_is_none(run, tmp_path, folder):
    (tmp_path / folder).mkdir()
    status, _, err = run("replay", tmp_path / folder, f"model:{VOLTA}")
    assert (status, "it is a folder; name a file in it" in err) == (2, True)


def test_only_close_names_are_suggested():
    assert did_you_mean("hoper", ["hopper", "paper", "volta"]) == " (did you mean hopper?)"
    assert did_you_mean("nope", ["nan-code", "scaling"]) == ""


@pytest.mark.parametrize(
    ("named", "meant"),
    [
        ("h100/wgmma.f32.f16.f16", "hopper"),
        ("rtx-4090/f32.f16.f16.f32", "ada"),
        ("RTX4090/f32.f16.f16.f32", "ada"),
        ("NVIDIA_A100/m16n8k16.f32.f16.f16.f32", "ampere"),
        ("gb200/tcgen05.f32.f16.f16", "blackwell"),
        ("sm_70/f32.f16.f16.f32", "volta"),
    ],
)
def test_names_that_people_use_are_resolved_aloud(run, named, meant):
    status, out, err = run("show", named)
    assert (status, out.split("/")[0]) == (0, meant)
    assert err == f"note: {named.partition('/')[0]} is read as {meant}\n"


def test_architectures_are_resolved_too(run):
    status, out, err = run("list", "mi300x")
    assert (status, err) == (0, "note: mi300x is read as cdna3\n")
    assert "cdna3/" in out


def test_every_product_is_of_an_architecture_and_of_one():
    known = load_catalogue().architectures
    assert set(PRODUCTS) <= set(known)
    names = [x for held in PRODUCTS.values() for x in held]
    assert len(names) == len(set(names))
    assert not set(names) & set(known)
    assert architecture_of("rtx-3090", {n: x.targets for n, x in known.items()}) is None


@pytest.mark.middle
def test_a_matrix_of_different_designs_gives_0(run):
    arguments = [VOLTA, "turing/f32.f16.f16.f32", "--no-store"]
    assert run("matrix", *arguments)[0] == 0
    assert "also where designs differ" in " ".join(run("matrix", "--help")[1].split())


@pytest.mark.few(2)
@pytest.mark.parametrize(
    "arguments",
    [
        ["list", "volta"],
        ["show", VOLTA],
        ["list", "properties"],
        ["matrix", VOLTA, "turing/f32.f16.f16.f32", "--no-store"],
        ["list", "algorithms"],
        ["list", "plans"],
        ["doctor"],
    ],
)
def test_lines_of_tables_end_where_their_text_ends(run, arguments):
    out = run(*arguments)[1]
    assert len(out.splitlines()) > 3
    assert [x for x in out.splitlines() if x != x.rstrip()] == []
