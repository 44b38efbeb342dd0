"""What the parameters of a row rest on: as stated, as recorded, or assumed."""

import pytest

from mmaproof.designs.catalogue import find_design, load_catalogue, read_catalogue
from mmaproof.designs.design import Evidence, Level
from mmaproof.designs.errors import CatalogueError, DesignError
from mmaproof.designs.open_points import STRUCTURE, RecordedRow, levels_of, load_recorded, parse_recorded
from mmaproof.designs.profiles import load_disputes

AMPERE = "ampere/mma.m16n8k16.f32.bf16.bf16.f32"

CATALOGUE = """
[architectures]
mine = { title = "Mine", targets = [] }
yours = { title = "Yours", targets = [], assumed_like = "mine" }
[families.f]
evidence = "published: a paper"
evidence_of = { nan_code = "assumed: not stated" }
[[unit]]
architecture = "mine"
family = "f"
a = ["fp16"]
b = ["fp16"]
c = ["fp16", "fp32"]
d = "fp32"
L_max = 4
fraction_bits = 23
rho = "rz-fp32"
instructions = ["dot.m1n1k4.{d}.{a}.{b}.{c}"]
source = "table 1"
"""


def read(tmp_path, *changes):
    text = CATALOGUE
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    path = tmp_path / "mine.toml"
    path.write_text(text)
    return read_catalogue(path)


def test_a_family_of_another_catalogue_lends_parameters_and_no_evidence(tmp_path):
    families, unit = CATALOGUE.index("[families"), CATALOGUE.index("[[unit]]")
    (tmp_path / "families").mkdir()
    (tmp_path / "families" / "f.toml").write_text(CATALOGUE[families:unit])
    (tmp_path / "mine.toml").write_text(CATALOGUE[:families] + CATALOGUE[unit:])
    catalogue = read_catalogue(tmp_path / "families" / "f.toml", tmp_path / "mine.toml")
    found = catalogue.find("mine/f32.f16.f16.f32")
    assert found.evidence.whole is None and not found.evidence.parameters


def test_every_row_of_the_project_states_what_it_rests_on():
    """A row, or its family, has `evidence`: vendor, published or assumed."""
    silent = sorted({d.evidence.row for d in load_catalogue().designs.values() if d.evidence.whole is None})
    assert silent == []


@pytest.mark.middle
def test_every_parameter_of_every_design_has_a_level_with_a_source():
    for design in load_catalogue().designs.values():
        levels = levels_of(design)
        assert set(levels) == set(design.settings) - set(STRUCTURE)
        assert all(x.source for x in levels.values()), design.name
        if design.is_assumed:
            assert {x.level for x in levels.values()} == {Level.ASSUMED}


@pytest.mark.parametrize(
    ("name", "parameter", "level", "source"),
    [
        (AMPERE, "fraction_bits", Level.RECORDED, "a100-bf16-fp32"),
        (AMPERE, "L", Level.RECORDED, "mmascope-ampere-bf16"),
        ("ada/mma.m16n8k16.f32.bf16.bf16.f32", "L", Level.PUBLISHED, "recordings do not exclude 16"),
        (AMPERE, "zero_c", Level.PUBLISHED, "MMA-Sim 2.1.1"),
        (AMPERE, "e_zero", Level.PUBLISHED, "MMA-Sim 2.1.1"),
        (AMPERE, "carry_bits", Level.ASSUMED, "open point 13"),
        ("rdna3/v_dot2_f32_f16.m1n1k2", "carry_bits", Level.VENDOR, "gfx11_dot2"),
        (AMPERE, "nan_code", Level.RECORDED, "mmascope-ampere-bf16"),
        ("ada/mma.m16n8k16.f32.bf16.bf16.f32", "nan_code", Level.PUBLISHED, "table 4"),
        ("rdna3/v_dot2_f32_f16.m1n1k2", "alignment", Level.RECORDED, "amd-gfx1100-v_dot2_f32_f16"),
        (f"{AMPERE}@fraction_bits=23", "fraction_bits", Level.ASSUMED, "changed"),
        (f"{AMPERE}@as=khattak-mikaitis", "zero_c", Level.PUBLISHED, "khattak-mikaitis"),
        ("cdna1/v_mfma_f32_32x32x8f16", "zero_c", Level.PUBLISHED, "table 6"),
        ("cdna3/v_mfma_f32_32x32x8_f16", "nan_code", Level.ASSUMED, "AMD"),
        ("cdna3/v_mfma_f32_32x32x8_f16", "late_rounding", Level.ASSUMED, "open point 11"),
        ("turing/mma.m8n8k16.s32.s8.s8.s32", "rho", Level.VENDOR, "PTX ISA"),
        ("rubin/mma.m16n8k16.f32.bf16.bf16.f32", "fraction_bits", Level.ASSUMED, "as blackwell/"),
    ],
)
def test_levels(name, parameter, level, source):
    found = levels_of(find_design(name))[parameter]
    assert found.level is level
    assert source in found.source


def test_a_row_states_more_than_its_family(tmp_path):
    design = read(tmp_path).find("mine/f32.f16.f16.f32")
    levels = levels_of(design)
    assert levels["rho"] == Evidence(Level.PUBLISHED, "a paper")
    assert levels["nan_code"] == Evidence(Level.ASSUMED, "not stated")
    stated = 'source = "table 1"\nevidence = "vendor"\nevidence_of = { L = "assumed" }'
    levels = levels_of(read(tmp_path, ('source = "table 1"', stated)).find("mine/f32.f16.f16.f32"))
    assert levels["rho"] == Evidence(Level.VENDOR, "table 1")
    assert levels["L"] == Evidence(Level.ASSUMED, "table 1")
    assert levels["nan_code"].level is Level.ASSUMED


def test_a_row_that_states_nothing_is_not_marked_but_all_of_it_is_assumed(tmp_path):
    design = read(tmp_path, ('evidence = "published: a paper"\n', "")).find("mine/f32.f16.f16.f32")
    assert not design.is_assumed
    assert {x.level for x in levels_of(design).values()} == {Level.ASSUMED}


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ('"published: a paper"', '"vendor:"', r"families\.f: evidence: 'vendor:' names no source"),
        ('"published: a paper"', '"recorded"', r"families\.f: evidence: 'recorded' states no level.*not stated"),
        ('"published: a paper"', '"probably"', r"families\.f: evidence: .*one of vendor, published, assumed"),
        ("{ nan_code =", "{ nan_cod =", r"families\.f: evidence_of: nan_cod: unknown parameter"),
        ('"assumed: not stated"', "3", r"families\.f: evidence_of: .* is not a table of texts"),
        (
            'assumed_like = "mine"',
            'assumed_like = "ours"',
            r"architectures\.yours: assumed_like: 'ours' has no rows",
        ),
        ('assumed_like = "mine"', 'assumed_like = "yours"', r"assumed_like: 'yours' has no rows"),
    ],
)
def test_what_is_wrong_is_said(tmp_path, old, new, problem):
    with pytest.raises(CatalogueError, match=problem):
        read(tmp_path, (old, new))


def test_an_architecture_with_rows_of_its_own_cannot_take_over_the_same(tmp_path):
    row = CATALOGUE[CATALOGUE.index("[[unit]]") :]
    path = tmp_path / "mine.toml"
    path.write_text(CATALOGUE + row.replace('architecture = "mine"', 'architecture = "yours"'))
    with pytest.raises(CatalogueError, match="listed too: yours has rows of its own"):
        read_catalogue(path)


@pytest.mark.middle
@pytest.mark.parametrize(
    ("name", "like", "target"),
    [
        ("blackwell-ultra", "blackwell", "sm_103"),
        ("gb10", "rtx-blackwell", "sm_121"),
        ("rubin", "blackwell", None),
    ],
)
def test_an_assumed_architecture_is_what_it_is_assumed_to_be(name, like, target):
    known = load_catalogue()
    assert target is None or target in known.architectures[name].targets
    theirs = {d.instruction: d for d in known.designs.values() if d.architecture == like}
    ours = {d.instruction: d for d in known.designs.values() if d.architecture == name}
    lacks = known.architectures[name].lacks
    assert list(ours) == [x for x in theirs if not x.startswith(lacks)]
    assert bool(lacks) is (len(ours) < len(theirs))
    disputes = load_disputes()
    for instruction, design in ours.items():
        other = theirs[instruction]
        assert design.is_assumed
        assert (design.chain, design.step, design.signature) == (other.chain, other.step, other.signature)
        for profile in disputes.profiles:
            assert disputes.apply(design, profile).step == disputes.apply(other, profile).step


def test_recordings_are_of_rows_of_the_catalogue():
    rows = {d.evidence.row: d for d in load_catalogue().designs.values()}
    for row, recorded in load_recorded().items():
        assert set(recorded.refuted) | set(recorded.left) <= set(rows[row].settings)
        assert not set(recorded.refuted) & set(recorded.left)
        assert all(recorded.refuted.values())


def test_recordings_together_exclude_what_each_of_them_does():
    first = RecordedRow("x/y", ("one",), 10, {"L": 3}, {"rho": ("a", "b"), "floor": ("1", "2")})
    second = RecordedRow("x/y", ("two",), 10, {"join": 2}, {"rho": ("b", "c"), "floor": ("3",), "L": ("4",)})
    both = first.merged(second)
    assert (both.rows, both.recordings) == (20, ("one", "two"))
    assert both.refuted == {"L": 3, "join": 2, "floor": 1}
    assert both.left == {"rho": ("b",)}
    assert second.merged(first).refuted == both.refuted


def test_a_file_of_recorded_evidence_is_read():
    text = '[[row]]\nrow = "x/y"\nrecordings = ["one"]\nrows = 10\n[row.refuted]\nL = 3\n[row.left]\nrho = ["a"]\n'
    assert parse_recorded(text) == {"x/y": RecordedRow("x/y", ("one",), 10, {"L": 3}, {"rho": ("a",)})}


def test_a_level_is_parsed():
    assert Evidence.parse("vendor") == Evidence(Level.VENDOR, "")
    assert Evidence.parse("assumed: a: b") == Evidence(Level.ASSUMED, "a: b")
    with pytest.raises(DesignError, match="found by mmaproof"):
        Evidence.parse("recorded: I saw it")
