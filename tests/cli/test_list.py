"""`mmaproof list designs`: every column is there, however wide the output is."""

import pytest
from support.commands import only_json

from mmaproof.cli import listing
from mmaproof.designs.catalogue import find_design, load_catalogue

LONGEST = "rtx-blackwell/mma.m16n8k64.block16.f32.e2m1.e2m1.f32.ue4m3"


@pytest.mark.middle
def test_a_pipe_gets_every_column_of_every_design_in_one_line(run):
    status, out, _ = run("list")
    heading, *rows = out.splitlines()
    assert (status, heading.split()) == (0, ["design", "K", "L", "F", "rho", "family", "evidence"])
    assert [row.split()[0] for row in rows] == list(load_catalogue().designs)
    assert {len(row.split()) for row in rows} == {7}
    assert [LONGEST, "64", "64", "35", "rz-fp32", "gst-fdpa", "published"] in [row.split() for row in rows]


@pytest.mark.few(1)
@pytest.mark.parametrize("width", [20, 60, 80, 200])
def test_a_terminal_gets_every_column(run, monkeypatch, width):
    from rich.console import Console

    def terminal(given=None):
        return Console(force_terminal=True, no_color=True, highlight=False, width=given or width)

    monkeypatch.setattr(listing, "results", terminal)
    _, out, _ = run("list", "rtx-blackwell")
    lines = out.splitlines()
    for word in ("K", "L", "F", "rho", "family", "evidence"):
        assert word in lines[0]
    assert "…" not in out
    assert any("gst-fdpa" in line.split() for line in lines)
    assert LONGEST.replace("/", "") in "".join(line.split()[0] for line in lines).replace("/", "")


def test_designs_are_chosen_by_formats_architecture_and_k(run):
    status, out, _ = run("list", "--formats", "e4m3", "--architecture", "hopper", "--k", "32", "--json")
    found = only_json(out)["designs"]
    assert status == 0
    assert {x["name"] for x in found} >= {"hopper/wgmma.m64n8k32.f32.e4m3.e4m3"}
    kinds = {(x["architecture"], x["a_format"], x["b_format"], x["k"]) for x in found}
    assert kinds == {("hopper", "e4m3", "e4m3", 32)}
    mixed = only_json(run("list", "hopper", "--formats", "e5m2,e4m3", "--json")[1])["designs"]
    assert {(x["a_format"], x["b_format"]) for x in mixed} == {("e5m2", "e4m3")}
    assert run("list", "--formats", "tea")[0] == 2


def test_designs_are_those_like_a_unit_of_ones_own(run):
    status, out, _ = run("list", "--like", "f32.bf16.bf16.f32", "--json")
    found = only_json(out)["designs"]
    kinds = {tuple(x[f"{y}_format"] for y in "abcd") for x in found}
    assert (status, kinds, {x["scale_format"] for x in found}) == (0, {("bf16", "bf16", "fp32", "fp32")}, {None})
    assert {"hopper/wgmma.m64n8k16.f32.bf16.bf16", "arm/bfdot.m1n1k2.f32.bf16.bf16.f32"} & {x["name"] for x in found}
    status, out, _ = run("list", "--like", "4-way bf16", "--json")
    found = only_json(out)["designs"]
    assert {(x["a_format"], x["b_format"]) for x in found} == {("bf16", "bf16")}
    assert status == 0 and {"cdna1/v_mfma_f32_32x32x4bf16"} <= {x["name"] for x in found}
    assert all(4 in (find_design(x["name"]).k, find_design(x["name"]).step.L) for x in found)
    assert run("list", "--like", "4-way tea")[0] == 2
    status, _, err = run("list", "--like", "f32.bf16")
    assert (status, "formats of D, A, B and C" in err) == (2, True)
    assert run("list", "plans", "--like", "f32.bf16.bf16.f32")[0] == 2


def test_the_length_is_not_a_parameter(run):
    status, _, err = run("show", "hopper/wgmma.f32.bf16.bf16@K=4")
    assert (status, "L=4" in err, "--k 4" in err) == (2, True, True)


def test_two_products_are_compared_by_a_table(run, tmp_path):
    status, out, err = run("compare", "H100", "b200")
    assert status == 0
    rows = {tuple(x.split()[:2]): x for x in out.splitlines()}
    assert "fraction_bits" in rows["e4m3", "fp32"]
    assert rows["fp16", "fp32"].endswith("the same arithmetic")
    assert "H100 is read as hopper" in err or "h100 is read as hopper" in err
    record = only_json(run("compare", "h100", "b200", "--json")[1])
    assert record["architectures"] == ["hopper", "blackwell"]
    (fp8,) = (x for x in record["pairs"] if x["interface"] == "f32.e4m3.e4m3.f32")
    assert (fp8["same"], fp8["differences"]["fraction_bits"]) == (False, ["13", "25"])
    out = run("compare", "h100", "b200")[1]
    assert "differ: mmaproof compare hopper/wgmma.m64n8k32.f32.e4m3.e4m3 blackwell/tcgen05.mma" in out, (
        "what to ask next"
    )
    assert run("compare", "h100", "b200", "--svg", "x.svg")[0] == 2
    page = tmp_path / "x.html"
    assert run("compare", "h100", "b200", "--html", page)[0] == 0
    assert "fraction_bits 13 / 25" in page.read_text()
    assert run("compare", "h100", "nothing")[0] == 2


def test_what_is_meant_by_a_product_or_a_mnemonic_is_shown(run):
    for name, says in (("h100", "'h100' has units for tf32"), ("e4m3 on hopper", "'e4m3 on hopper' is ambiguous")):
        status, _, err = run("show", name)
        assert status == 2 and says in err
    meant = run("compare", "h100/e4m3", "b200/e4m3")[2].splitlines()
    assert meant[1] == "error: 'h100/e4m3' is ambiguous; write one of:"
    assert "  hopper/wgmma.m64n8k32.f32.e4m3.e4m3 (wgmma, e4m3 x e4m3 to f32, plain)" in meant[2:], "a line for each"
    assert len(meant) == 6
    status, out, _ = run("show", "v_mfma_f32_16x16x8_xf32")
    assert status == 0 and out.startswith("cdna3/v_mfma_f32_16x16x8_xf32")
    assert "is not a name: write" in run("show", "nothing-of-the-kind")[2]
