"""The catalogue: complete, found by name, and errors that say where."""

from dataclasses import replace
from importlib.resources import files
from pathlib import Path

import numpy as np
import pytest
from support.published import TABLE_4

from mmaproof.designs.catalogue import FILES, find_design, load_catalogue, read_catalogue
from mmaproof.designs.design import Design
from mmaproof.designs.errors import CatalogueError, DesignError
from mmaproof.smt.evaluate import evaluate_batch
from mmaproof.verification.distributions import draw


def test_every_row_of_table_4_and_nothing_else():
    seen = set()
    for design in load_catalogue().designs.values():
        if design.family != "t-fdpa" or design.is_assumed or "table 4" not in design.source:
            continue
        key = (design.architecture, design.a_format.name, design.d_format.name)
        l_max, fraction_bits, rho = TABLE_4[key]
        p = design.step
        assert (p.L, p.fraction_bits, p.rho) == (min(design.k, l_max), fraction_bits, rho), design.name
        seen.add(key)
    assert seen == set(TABLE_4)


def test_turing_runs_voltas_instruction_as_volta_does():
    volta = [d for d in load_catalogue().designs.values() if d.base_name.startswith("volta/mma.m8n8k4.")]
    assert len(volta) == 3
    for design in volta:
        turing = find_design(f"turing/{design.instruction}")
        assert (turing.signature, turing.chain, turing.step) == (design.signature, design.chain, design.step)
    assert find_design("turing/mma.m16n8k8.f32.f16.f16.f32").step.fraction_bits == 24


@pytest.mark.parametrize("architecture", ["ampere", "ada", "hopper", "blackwell", "rtx-blackwell"])
def test_fp64_rows_are_fma_chains(architecture):
    design = find_design(f"{architecture}/f64.f64.f64.f64")
    assert (design.family, design.step.L, design.step.rho) == ("fma-chain", 1, "rne-fp64")


def test_shapes_with_native_fp8_only_where_the_hardware_has_it():
    for architecture in ("hopper", "blackwell"):
        fp8 = [d for d in load_catalogue().designs.values() if d.architecture == architecture and "e4m3" in d.name]
        assert {d.family for d in fp8 if d.instruction.startswith("mma.")} == {"emulated-fp8"}
        assert "t-fdpa" in {d.family for d in fp8}


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("volta/mma.m8n8k4.f32.f16.f16.f32", "volta/mma.m8n8k4.f32.f16.f16.f32"),
        ("volta/f32.f16.f16.f32", "volta/mma.m8n8k4.f32.f16.f16.f32"),
        ("ampere/f32.f16.f16.f32", "ampere/mma.m16n8k16.f32.f16.f16.f32"),
        ("ampere/m16n8k8.f32.f16.f16.f32", "ampere/mma.m16n8k8.f32.f16.f16.f32"),
        ("hopper/wgmma.f32.e4m3.e4m3", "hopper/wgmma.m64n8k32.f32.e4m3.e4m3"),
        ("blackwell/tcgen05.mma.f32.f16.f16", "blackwell/tcgen05.mma.m64n8k16.f32.f16.f16"),
        ("hopper/wgmma.f32.f16.f16@fraction_bits=24", "hopper/wgmma.m64n8k16.f32.f16.f16@fraction_bits=24"),
        ("hopper/wgmma.f32.f16.f16@zero_c=B, L=8", "hopper/wgmma.m64n8k16.f32.f16.f16@L=8,zero_c=absent"),
    ],
)
def test_names_are_found_and_read_back(text, name):
    design = find_design(text)
    assert design.name == name
    assert find_design(name) == design


def test_ambiguity_lists_the_candidates():
    with pytest.raises(DesignError, match=r"ambiguous.*hopper/mma\.m16n8k16.*hopper/wgmma"):
        find_design("hopper/f32.f16.f16")


@pytest.mark.few(14)
@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("volta", "has units for f16: write one of them, such as volta/f16"),
        ("", "ARCHITECTURE/INSTRUCTION"),
        ("volta/", "ARCHITECTURE/INSTRUCTION"),
        ("vlta/mma", "did you mean volta"),
        ("volta/f32.f16", "ambiguous"),
        ("volta/f33.f16.f16.f32", "no instruction"),
        ("volta/f32.f16.f16.f3", "no instruction"),
        ("volta/f32.f16.f16.f32@", "not a parameter setting"),
        ("volta/f32.f16.f16.f32@L", "not a parameter setting"),
        ("volta/f32.f16.f16.f32@L=3", "does not divide"),
        ("volta/f32.f16.f16.f32@L=0", "1..1024"),
        ("volta/f32.f16.f16.f32@L=2,L=4", "set twice"),
        ("volta/f32.f16.f16.f32@F=2", "unknown parameter 'F'"),
        ("volta/f32.f16.f16.f32@fraction_bits=1.5", "integer"),
        ("volta/f32.f16.f16.f32@zero_c=E", "minus-126"),
        ("volta/f32.f16.f16.f32@rho=rne-fp16", "rho"),
        ("volta/f32.f16.f16.f32@carry_bits=65", "sufficient"),
        ("volta/mma.m8n8k4.f32.f16.f16.f16@join=ieee", "join = ieee adds c in fp32, and c is fp16"),
        ("volta/mma.m8n8k4.f32.f16.f16.f16@join=ieee-once", "join = ieee-once adds c in fp32, and c is fp16"),
        ("ampere/f32.bf16.bf16.f32@widening=fp16", "a is bf16, which cannot be widened to fp16"),
        ("ampere/mma.m16n8k32.s32.s8.s8.s32@widening=fp16", "widening has no effect"),
    ],
)
def test_bad_names_and_parameters(text, problem):
    with pytest.raises(DesignError, match=problem):
        find_design(text)


def test_changing_a_parameter_changes_no_other():
    base = find_design("hopper/wgmma.f32.f16.f16")
    changed = find_design("hopper/wgmma.f32.f16.f16@fraction_bits=24")
    assert {n for n, _ in base.settings.items() ^ changed.settings.items()} == {"fraction_bits"}


GOOD = """
[architectures]
paper = { title = "Paper", targets = [] }
[families.f]
alignment = "truncate"
[[unit]]
architecture = "paper"
family = "f"
a = ["fp16"]
b = ["fp16"]
c = ["fp32"]
d = "fp32"
L_max = 4
fraction_bits = 23
rho = "rz-fp32"
instructions = ["dot.m1n1k4.{d}.{a}.{b}.{c}"]
source = "here"
"""


def test_a_catalogue_of_ones_own(tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text(GOOD)
    assert read_catalogue(path).find("paper/f32.f16.f16.f32").k == 4


def test_designs_are_made_when_they_are_asked_for(monkeypatch):
    """Most commands ask for two of a thousand."""
    made = []
    monkeypatch.setattr(Design, "__post_init__", lambda x: made.append(x.base_name))
    catalogue = load_catalogue.__wrapped__()
    assert made == []
    found = catalogue.find("turing/f32.f16.f16.f32")
    assert found.base_name in made
    assert len(made) < 10
    assert catalogue.designs[found.base_name] is found
    assert [x.base_name for x in catalogue.designs.values()] == list(catalogue.designs)


def test_a_catalogue_beside_the_projects(tmp_path, monkeypatch):
    path = tmp_path / "mine.toml"
    path.write_text(GOOD.replace("paper = ", "mine = ").replace('"paper"', '"mine"'))
    monkeypatch.setenv("MMAPROOF_CATALOGUE", str(path))
    load_catalogue.cache_clear()
    try:
        assert find_design("mine/f32.f16.f16.f32").step.L == 4
        assert find_design("volta/f32.f16.f16.f32").step.L == 4
        path.write_text("[[unit]]\n")
        load_catalogue.cache_clear()
        with pytest.raises(CatalogueError, match=r"mine\.toml: unit 1: architecture: is missing"):
            load_catalogue()
    finally:
        monkeypatch.undo()
        load_catalogue.cache_clear()


def test_the_design_of_the_documentation(tmp_path):
    text = (Path(__file__).parents[2] / "docs" / "adding-a-design.md").read_text()
    path = tmp_path / "mine.toml"
    path.write_text(text.partition("```toml\n")[2].partition("```")[0])
    design = next(iter(read_catalogue(path).designs.values()))
    p = design.step
    assert (p.fraction_bits, p.alignment, p.L, design.a_format.name, p.rho) == (30, "jam", 12, "e5m2", "rz-fp32")


@pytest.mark.few(14)
@pytest.mark.parametrize(
    ("old", "new", "field"),
    [
        ("L_max = 4\n", "", "L_max"),
        ("L_max = 4", "L_max = 3", "L_max"),
        ("L_max = 4", 'L_max = "x"', "L_max"),
        ("fraction_bits = 23", "fraction_bits = 0", "fraction_bits"),
        ("fraction_bits = 23", "fractionbits = 23", "fractionbits"),
        ('rho = "rz-fp32"', 'rho = "rz-fp33"', "rho"),
        ('rho = "rz-fp32"', 'rho = "rne-fp16"', "rho"),
        ('a = ["fp16"]', 'a = ["half"]', "a"),
        ('source = "here"\n', "", "source"),
        ('architecture = "paper"', 'architecture = "rock"', "architecture"),
        ('family = "f"', 'family = "g"', "family"),
        ("m1n1k4", "mnk", "instructions"),
        ("{c}", "{e}", "instructions"),
        ('["dot.m1n1k4.{d}.{a}.{b}.{c}"]', '["dot.m1n1k4.x", "dot.m1n1k4.x"]', "instructions"),
        ('["dot.m1n1k4.{d}.{a}.{b}.{c}"]', "3", "instructions"),
        ('["dot.m1n1k4.{d}.{a}.{b}.{c}"]', '"dot.m1n1k4"', "instructions"),
        ('["dot.m1n1k4.{d}.{a}.{b}.{c}"]', "[3]", "instructions"),
        ('["dot.m1n1k4.{d}.{a}.{b}.{c}"]', "[]", "instructions"),
        ("{d}", "{d.x}", "instructions"),
        ("{a}", "{a[0]}", "instructions"),
        ("{a}", "{a!r}", "instructions"),
        ("{a}", "{a", "instructions"),
        ("{a}", "{scale}", "instructions"),
        ("dot.", "dot ", "instructions"),
        ("dot.", "dot@", "instructions"),
        ("m1n1k4", "m1n1k0", "instructions"),
        ("m1n1k4", "m1n1k65540", "instructions"),
        ("m1n1k4", f"m1n1k{'4' * 5000}", "instructions"),
        ('a = ["fp16"]', "a = 3", "a"),
        ('a = ["fp16"]', "a = []", "a"),
        ('a = ["fp16"]', "a = [3]", "a"),
        ('a = ["fp16"]', 'a = ["fp16", "int8"]', "a"),
        ('a = ["fp16"]', 'a = ["e8m0"]', "a"),
        ('c = ["fp32"]', 'c = ["int32"]', "c"),
        ('d = "fp32"', "d = []", "d"),
        ('d = "fp32"', 'd = ["fp32", "fp16"]', "d"),
        ('d = "fp32"', 'd = "int32"', "a"),
        ('rho = "rz-fp32"', "rho = 3", "rho"),
        ('c = ["fp32"]', 'c = ["fp16"]\njoin = "ieee"', "join"),
        ('a = ["fp16"]', 'a = ["bf16"]\nwidening = "fp16"', "widening"),
        ("L_max = 4", "L_max = true", "L_max"),
        ("L_max = 4", "L_max = 0", "L_max"),
        ("L_max = 4", 'L_max = 4\nsummation = "pairwise"\nscale = "e8m0"\nblock = 2', "block"),
        ("L_max = 4", 'L_max = 4\nscale = "e8m0"', "block"),
        ("L_max = 4", 'L_max = 4\nscale = "e8m0"\nblock = 0', "block"),
        ("L_max = 4", 'L_max = 4\nscale = "e8m0"\nblock = true', "block"),
        ("L_max = 4", 'L_max = 4\nscale = "e8m0"\nblock = 3', "block"),
        ("L_max = 4", 'L_max = 4\nscale = "e8m0"\nblock = 4\ngroup_size = 3', "group_size"),
        ("L_max = 4", "L_max = 4\ngroup_size = 2", "group_size"),
        ("L_max = 4", "L_max = 4\nscale = []\nblock = 4", "scale"),
        ("L_max = 4", 'L_max = 4\nscale = "fp32"\nblock = 4', "scale"),
        ("L_max = 4", 'L_max = 4\nscale = "uint8"\nblock = 4', "scale"),
        ("L_max = 4", 'L_max = 4\ntakes_c = "no"', "takes_c"),
        ("L_max = 4", "L_max = 4\nselects_half = 1", "selects_half"),
        ('b = ["fp16"]', 'b = ["fp32"]\nselects_half = true', "selects_half"),
        ("L_max = 4", 'L_max = 4\nk_order = "mod2:0"', "k_order"),
        ('source = "here"', "source = 3", "source"),
        ('architecture = "paper"', 'architecture = ["paper"]', "architecture"),
        ('family = "f"', "family = 3", "family"),
    ],
)
def test_a_bad_row_names_file_row_and_field(tmp_path, old, new, field):
    path = tmp_path / "bad.toml"
    assert old in GOOD
    path.write_text(GOOD.replace(old, new))
    with pytest.raises(CatalogueError, match=rf"bad\.toml: unit 1: {field}: "):
        read_catalogue(path)


@pytest.mark.parametrize(
    ("d", "problem"), [("fp32", ""), ('["fp32"]', ""), ('["fp32", "fp16"]', "2 formats are given")]
)
def test_d_has_one_format_listed_or_not(tmp_path, d, problem):
    path = tmp_path / "one.toml"
    assert 'd = "fp32"' in GOOD
    path.write_text(GOOD.replace('d = "fp32"', f"d = {d}" if d.startswith("[") else f'd = "{d}"'))
    if problem:
        with pytest.raises(CatalogueError, match=rf"unit 1: d: {problem}"):
            read_catalogue(path)
    else:
        assert {x.d_format.name for x in read_catalogue(path).designs.values()} == {"fp32"}


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("alignment =", "alignmnt =", r"families\.f: alignmnt: unknown field .*did you mean alignment"),
        ('"truncate"', '"truncat"', r"families\.f: alignment: .*allowed is"),
        ('alignment = "truncate"', "L_max = []", r"families\.f: L_max: an integer from 1 on is expected, not \[\]"),
        ('alignment = "truncate"', "block = 4", r"families\.f: block: unknown field"),
        ('[families.f]\nalignment = "truncate"', "[families]\nf = 3", r"families\.f: a table is expected, not 3"),
        ("targets = []", "targets = [3]", r"architectures\.paper: targets: a list of texts is expected, not \[3\]"),
        ("targets = []", "target = []", r"architectures\.paper: target: unknown field .*did you mean targets"),
        (", targets = []", "", r"architectures\.paper: targets: is missing"),
        ('title = "Paper"', "title = 3", r"architectures\.paper: title: a text is expected, not 3"),
        ("paper = {", '"pa/per" = {', r"architectures\.pa/per: a name is of letters"),
        ("[architectures]", "[architecture]", "architecture: unknown table: one of architectures, families, unit"),
        ("[[unit]]", "[unit]", r"unit: written \[\[unit\]\], with two brackets"),
    ],
)
def test_what_is_wrong_outside_of_units(tmp_path, old, new, problem):
    path = tmp_path / "bad.toml"
    assert old in GOOD
    path.write_text(GOOD.replace(old, new))
    with pytest.raises(CatalogueError, match=rf"bad\.toml: {problem}"):
        read_catalogue(path)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[[unit",
        "unit = [3]",
        "[architectures]\npaper = 3",
        "architectures = []",
        "families = 3",
        f"unit = {'[' * 5000}",
        f"unit = {'1' * 5000}",
    ],
)
def test_what_is_no_catalogue(tmp_path, text):
    path = tmp_path / "bad.toml"
    path.write_text(text)
    with pytest.raises(CatalogueError, match=r"bad\.toml"):
        read_catalogue(path)


def test_a_missing_catalogue(tmp_path):
    with pytest.raises(CatalogueError, match="none.toml"):
        read_catalogue(tmp_path / "none.toml")


@pytest.mark.middle
def test_records_rebuild_the_design():
    for design in load_catalogue().designs.values():
        record = design.record()
        settings = ",".join(f"{n}={'none' if v is None else v}" for n, v in record["parameters"].items())
        found = find_design(f"{record['name']}@{settings}")
        assert (found.chain, found.step) == (design.chain, design.step)


def test_every_file_of_the_project_is_read():
    folder = Path(str(files("mmaproof.designs") / "data" / "catalogue"))
    assert sorted(FILES) == sorted(x.stem for x in folder.iterdir())


def test_c_and_d_may_have_the_format_of_an_accumulator_inside():
    """Hopper's sums of FP8 products have 13 fraction bits of fp32; the register that holds them has 22 bits."""
    base = find_design("hopper/wgmma.m64n8k32.f32.e4m3.e4m3")
    design = find_design(f"{base.name}@accumulator=e8m13")
    assert [x.name for x in design.formats] == ["e4m3", "e4m3", "e8m13", "e8m13"]
    assert design.name == f"{base.name}@accumulator=e8m13" and find_design(design.name) == design != base
    changed = design.change(fraction_bits=14)
    assert find_design(changed.name) == changed
    batch = draw("edges", design, 200, 32, np.random.default_rng(5))
    wide = replace(batch, c=batch.c.astype(np.uint32) << 10)
    assert (evaluate_batch(base, wide) >> 10 == evaluate_batch(design, batch)).all()


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("ampere/mma.m16n8k16.s32.s8.s8.s32@accumulator=e8m13", "numbers that are rounded once"),
        ("hopper/wgmma.m64n8k32.f32.e4m3.e4m3@accumulator=int20", "numbers that are rounded once"),
        ("hopper/wgmma.m64n8k32.f32.e4m3.e4m3@accumulator=e8m99", "unknown format"),
    ],
)
def test_other_formats_of_accumulators_are_refused(name, problem):
    with pytest.raises(DesignError, match=problem):
        find_design(name)
