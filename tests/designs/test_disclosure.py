"""Disclosures: a file says all there is to say of a unit, and nothing that it does not say is assumed."""

import json
from copy import deepcopy
from functools import cache

import pytest
from support.sampling import covering

from mmaproof.designs.catalogue import find_design, load_catalogue
from mmaproof.designs.design import DISCLOSED, Level
from mmaproof.designs.disclosure import disclose, read_disclosure
from mmaproof.designs.element import Operands
from mmaproof.designs.errors import InputError
from mmaproof.designs.open_points import levels_of
from mmaproof.smt.evaluate import evaluate

FOUR = "riscv/vfwbdota.vv.m1n8k4.f32.bf16.bf16.f32"
OPERANDS = Operands((0x8080, 0xC000, 0, 0), (0x0040, 0xBF80, 0, 0), 0)
"""A small product is subtracted from 2: the fraction bits of the aligned terms decide the last bit."""
COVERING = [
    *(d.name for d in covering(list(load_catalogue().designs.values()))),
    "volta/mma.m8n8k4.f32.f16.f16.f32@fraction_bits=24",
    "hopper/mma.m16n8k16.f32.f16.f16.f32@as=mma-sim,zero_product=absent",
]
OTHERS = [name for name in load_catalogue().designs if name not in COVERING]


def read(tmp_path, held):
    path = tmp_path / "unit.json"
    path.write_text(held if isinstance(held, str) else json.dumps(held), encoding="utf-8")
    return read_disclosure(path)


def meaning(design):
    return design.signature, design.m, design.n, design.k, design.chain, design.step


@pytest.mark.parametrize("names", [COVERING, pytest.param(OTHERS, marks=pytest.mark.middle)], ids=["some", "all"])
def test_a_design_is_its_disclosure_whatever_it_is_called(tmp_path, names):
    assert len(names) > 50
    for name in names:
        design = find_design(name)
        held = disclose(design)
        assert read(tmp_path, held) == design
        strange = read(tmp_path, held | {"name": "someone's unit"})
        assert meaning(strange) == meaning(design)
        assert strange.name == strange.base_name == f"{DISCLOSED}:{tmp_path / 'unit.json'}"
        assert find_design(strange.name) == strange
        assert disclose(strange)["parameters"] == held["parameters"]


def test_a_name_of_the_catalogue_is_no_excuse(tmp_path):
    held = disclose(find_design(FOUR))
    held["parameters"]["fraction_bits"] = 23
    other = read(tmp_path, held)
    assert other.architecture == DISCLOSED
    assert other.settings["fraction_bits"] == 23
    assert [evaluate(x, OPERANDS) for x in (other, find_design(FOUR))] == [0x3FFFFFFE, 0x3FFFFFFF]
    assert find_design(f"{other.name}@fraction_bits=25").settings == find_design(FOUR).settings


@cache
def held_four():
    return disclose(find_design(FOUR))


def test_each_parameter_must_be_stated(tmp_path):
    held = held_four()
    for name in held["parameters"]:
        less = deepcopy(held)
        del less["parameters"][name]
        with pytest.raises(InputError, match=r"unit\.json: (parameters|evidence)\.\w+: "):
            read(tmp_path, less)
    del (less := deepcopy(held))["parameters"]["zero_sum"], less["parameters"]["sticky"]
    with pytest.raises(
        InputError, match=r"parameters\.sticky: is missing, and so are zero_sum; what is not stated is not"
    ):
        read(tmp_path, less)
    for name in held["evidence"]:
        less = deepcopy(held)
        del less["evidence"][name]
        with pytest.raises(InputError, match=rf"evidence\.{name}: is missing"):
            read(tmp_path, less)


def test_each_field_must_be_there_and_no_other(tmp_path):
    for name in held_four():
        less = {x: value for x, value in held_four().items() if x != name}
        with pytest.raises(InputError, match=rf"{name}: is missing"):
            read(tmp_path, less)
    with pytest.raises(InputError, match=r"formatz: unknown field \(did you mean formats\?\)"):
        read(tmp_path, held_four() | {"formatz": 1})


def changed(place, value):
    held = deepcopy(held_four())
    inner = held
    *way, last = place.split(".")
    for name in way:
        inner = inner[name]
    inner[last] = value
    return held


@pytest.mark.parametrize(
    ("place", "value", "said"),
    [
        ("mmaproof_disclosure", 2, "version 2 is not read here: 1 is"),
        ("mmaproof_disclosure", True, "version True is not read here"),
        ("name", "", "a text is expected"),
        ("name", "two\nlines", "one line of text"),
        ("source", None, "a text is expected"),
        ("k", 0, "an integer from 1 on is expected, not 0"),
        ("k", 4.0, "an integer"),
        ("k", True, "an integer"),
        ("k", 1 << 20, "out of range"),
        ("k", 3, "K = 3"),
        ("formats", [], "formats: an object is expected"),
        ("formats.a", "bfloat", "unknown format"),
        ("formats.a", "float16", "float16|unknown format"),
        ("formats.a", "int8", "integers and floating-point numbers do not mix"),
        ("formats.e", "fp32", "unknown field"),
        ("scales", {"format": "e8m0"}, "scales.block: is missing"),
        ("scales", {"format": "e8m0", "block": 3}, "block"),
        ("parameters", {}, "parameters.L: is missing, and so are"),
        ("parameters.fraction_bits", "25", "'25' is written 25 here"),
        ("parameters.fraction_bits", 25.0, "a number or a text is expected"),
        ("parameters.fraction_bits", 6000, "allowed is an integer 1..5000"),
        ("parameters.fraction_bits", True, "a number or a text is expected"),
        ("parameters.alignment", "C", "'C' is written \"jam\" here"),
        ("parameters.alignment", "JAM", "'JAM' is written \"jam\" here"),
        ("parameters.alignment", "cut", "allowed is A = truncate"),
        ("parameters.carry_bit", 3, r"unknown parameter \(did you mean carry_bits\?\)"),
        ("parameters.late_bits", 31, "it has no effect with the other parameters"),
        ("parameters.summation", "pairwise", "it has no effect with the other parameters|is missing"),
        ("evidence.L", "hearsay", "states no level of evidence"),
        ("evidence.adder", "vendor", "on which no result depends"),
    ],
)
def test_what_is_wrong_is_named(tmp_path, place, value, said):
    with pytest.raises(InputError, match=said) as problem:
        read(tmp_path, changed(place, value))
    assert str(problem.value).startswith(str(tmp_path / "unit.json"))
    assert "\n" not in str(problem.value)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "not a disclosure"),
        ("{", "not a disclosure"),
        ("[]", "not a JSON object"),
        ("null", "not a JSON object"),
        ("[" * 100_000, "not a disclosure"),
        ('{"k": 1, "k": 2}', "'k' is given twice"),
        ('{"k": ' + "1" * 5000 + "}", "not a disclosure"),
    ],
)
def test_what_is_no_disclosure_is_refused(tmp_path, text, said):
    with pytest.raises(InputError, match=said):
        read(tmp_path, text)


def test_files_that_cannot_be_read(tmp_path):
    with pytest.raises(InputError, match="No such file"):
        find_design(f"disclosure:{tmp_path / 'none.json'}")
    with pytest.raises(InputError, match="it is a folder"):
        find_design(f"disclosure:{tmp_path}")
    (tmp_path / "unit.json").write_bytes(b"\xff")
    with pytest.raises(InputError, match="not a disclosure"):
        read_disclosure(tmp_path / "unit.json")


def test_a_file_that_names_itself_ends(tmp_path):
    path = tmp_path / "unit.json"
    held = held_four() | {"name": f"disclosure:{path}"}
    assert read(tmp_path, held).name == f"disclosure:{path}"


def test_evidence_of_a_file_is_what_the_file_says(tmp_path):
    held = changed("evidence.fraction_bits", "recorded: our chip")
    held["name"] = "ours"
    design = read(tmp_path, held)
    levels = levels_of(design)
    assert levels["fraction_bits"].level is Level.PUBLISHED
    assert levels["fraction_bits"].source == "recorded, as the file says: our chip"
    assert levels["L"].level is Level.VENDOR
    assert levels_of(design.change(fraction_bits=24))["fraction_bits"].level is Level.ASSUMED
    with pytest.raises(InputError, match="no profile says anything about it"):
        find_design(f"{design.name}@as=mma-sim")
