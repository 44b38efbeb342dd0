"""What the page asks of Python: results and pictures are those of the library, and problems name their field."""

import json
from typing import Any

import pytest
from support.pictures import CATALOGUE, EQUATION_10, TURING, VOLTA

from mmaproof.designs.catalogue import find_design, load_catalogue
from mmaproof.explain import explain
from mmaproof.explain.explorer import session
from mmaproof.explain.figure import picture_html
from mmaproof.smt.trace import evaluate

TYPED = {"a": "-2^13 -.5 -1/4 -0.125", "b": "2^10, 1, 0x3c00, 1", "c": "8388608", "width": 100}


def asked(*units: str, **texts: Any) -> Any:
    return json.loads(session.answer(json.dumps({"units": units, **texts})))


def test_equation_10_on_two_units() -> None:
    answer = asked(VOLTA.name, "turing/f32.f16.f16.f32", **TYPED)
    assert [x["d"]["hex"] for x in answer["units"]] == ["0x00000000", "0xbf000000"]
    assert [x["d"]["bits"] for x in answer["units"]] == ["0" * 32, f"{0xBF000000:032b}"]
    # the eighth product is Turing's: for Volta it makes another step
    assert (answer["k"], answer["problem"]) == (4, None)
    assert answer["html"] == picture_html(explain([VOLTA, TURING], EQUATION_10), 100)


def test_units_of_other_formats_read_the_same_numbers() -> None:
    answer = asked(VOLTA.name, "hopper/wgmma.f32.e4m3.e4m3", a="1.1 2", b="1 1", c="0", width=80)
    volta, hopper = answer["units"]
    assert (volta["a"][0]["hex"], volta["a"][0]["exact"]) == ("0x3c66", False)
    assert (hopper["a"][0]["hex"], hopper["a"][0]["exact"]) == ("0x39", False)
    assert answer["html"].count("<figure") == 2


def test_a_length_that_both_units_take() -> None:
    assert asked(VOLTA.name, TURING.name, a="1 " * 5, b="1", c="0")["k"] == 8
    assert asked(VOLTA.name, a="1 " * 5, b="1", c="0")["k"] == 8
    assert "too many for this page" in asked(VOLTA.name, a="1 " * 2000, b="1", c="0")["problem"]["text"]


def test_scales_that_are_not_given_are_one() -> None:
    name = next(d.name for d in load_catalogue().designs.values() if d.scale_format is not None)
    ones, twos = (asked(name, a="1", b="1", c="0", scale_a=x) for x in ("", "2"))
    assert ones["problem"] is None and twos["problem"] is None
    assert float(int(ones["units"][0]["d"]["hex"], 16)) > 0
    assert ones["units"][0]["d"] != twos["units"][0]["d"]


def test_every_design_answers_what_the_library_computes() -> None:
    for design, operands in CATALOGUE[::23]:
        a, b, c, _ = design.formats
        scale = design.scale_format
        texts = {"a": " ".join(map(a.hex, operands.a)), "b": " ".join(map(b.hex, operands.b)), "c": c.hex(operands.c)}
        if scale is not None:
            texts |= {n: " ".join(map(scale.hex, getattr(operands, n))) for n in ("scale_a", "scale_b")}
        answer = asked(design.name, **texts)
        assert answer["problem"] is None
        assert answer["units"][0]["d"]["hex"] == design.d_format.hex(evaluate(design, operands))


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("h100 fp8", "hopper/wgmma.m64n8k32.f32.e4m3.e4m3"),
        ("e4m3 on hopper", "hopper/wgmma.m64n8k32.f32.e4m3.e4m3"),
        ("MI300X/fp8", "cdna3/v_mfma_f32_32x32x16_fp8_fp8"),
        ("B200", "blackwell/tcgen05.mma.m64n8k32.f32.e4m3.e4m3"),
    ],
)
def test_a_chip_and_a_format_are_units_that_may_be_meant(text: str, named: str) -> None:
    problem = asked(text, a="1")["problem"]
    names = [x["name"] for x in problem["units"]]
    assert problem["field"] == "unit0"
    assert named in names or text == "B200"
    assert len({x.partition("/")[0] for x in names}) == 1
    assert asked("nothing at all", a="1")["problem"]["units"] == []


def test_a_bit_is_changed_as_a_pattern_or_as_a_number() -> None:
    assert session.toggled("fp16", "0x3c00", 0, False) == "0xbc00"
    assert session.toggled("fp16", "0x3c00", 15, True) == "+1025*2^-10"
    assert session.toggled("e4m3", "0x7e", 7, True) == "NaN"
    assert (
        asked(VOLTA.name, a=session.toggled("fp16", "0x3c00", 15, True), b="1")["units"][0]["a"][0]["hex"] == "0x3c01"
    )


def test_what_is_copied_is_what_was_asked() -> None:
    name = next(d.name for d in load_catalogue().designs.values() if d.scale_format is not None)
    answer = asked(name, a="1 -2", b="3", c="0x3", scale_a="2")
    found: dict[str, Any] = {}
    exec(answer["copies"]["Python"], found)
    assert found["d"] == int(answer["units"][0]["d"]["hex"], 16)
    vector = json.loads(answer["copies"]["JSON"])
    assert (vector["c"], vector["outputs"]) == ("0x00000003", {name: answer["units"][0]["d"]["hex"]})


def test_parameters_say_what_they_may_be_and_what_was_changed() -> None:
    (unit,) = asked("volta/f32.f16.f16.f32@fraction_bits=20", **TYPED)["units"]
    held = {x["name"]: x for x in unit["parameters"]}
    assert (held["fraction_bits"]["value"], held["fraction_bits"]["catalogue"]) == ("20", "23")
    assert (held["fraction_bits"]["choices"], held["rho"]["choices"][0]) == (None, "rz-fp32")
    assert unit["base"] == VOLTA.base_name
    # each value that is offered can be set, or is refused with a reason
    for name, parameter in held.items():
        for choice in (parameter["choices"] or [])[:3]:
            answer = asked(f"{VOLTA.base_name}@{name}={choice}", **TYPED)
            assert answer["problem"] is None or answer["problem"]["field"] == "unit0"


@pytest.mark.parametrize(
    ("units", "texts", "field", "text"),
    [
        (["volta/x"], {}, "unit0", "no instruction"),
        ([VOLTA.name, "volta/f32.f16.f16.f32@fraction_bits=x"], {}, "unit1", "fraction_bits"),
        ([VOLTA.name], {"a": "1 z"}, "a", "a[1]: 'z' is not a number"),
        ([VOLTA.name], {"c": "1 2"}, "c", "c: one number, not 2"),
        ([VOLTA.name], {"a": "1e99999"}, "a", "1e99999: no format has a number of this size"),
        ([VOLTA.name], {"a": "0x12345"}, "a", "0x12345 is too wide for fp16"),
        ([VOLTA.name], {"a": " ".join(["1"] * 1025)}, "a", "1025 products are too many"),
        (["hopper/wgmma.f32.e4m3.e4m3"], {"a": "2^10"}, "a", "1024 is too large for e4m3: at most 448 (0x7e)"),
        (["hopper/wgmma.f32.e4m3.e4m3"], {"a": "-1e999"}, "a", "is too large for e4m3"),
        (["hopper/wgmma.f32.e4m3.e4m3"], {"a": "inf"}, "a", "e4m3 has no infinity"),
        (["blackwell/block32.f32.e4m3.e4m3.ue8m0"], {"scale_a": "1 1"}, "scale_a", "2 elements, and 1 are read"),
        (["rtl:unit/UNIT.toml"], {}, "unit0", "is a file: this page has the units of the catalogue"),
        (["disclosure:unit.json"], {}, "unit0", "is a file"),
        (["volta"], {}, "unit0", "has units for f16: write one of them"),
        (["x" * 5000], {}, "unit0", f"{'x' * 100}...' is not a design name"),
        (["volta/" + "x" * 5000], {}, "unit0", f"{'x' * 100}...'"),
        ([f"{VOLTA.name}@" + "x" * 5000], {}, "unit0", f"{'x' * 100}...'"),
        ([VOLTA.name], {"c": "z"}, "c", "c: 'z' is not a number"),
    ],
)
def test_problems_name_their_field(units: list[str], texts: dict[str, str], field: str, text: str) -> None:
    problem = asked(*units, **texts)["problem"]
    assert problem["field"] == field
    assert text in problem["text"]
    # a page is not a place for the advice to run a command
    assert "mmaproof" not in problem["text"]
    assert len(problem["text"]) < 1000


def test_numbers_beyond_all_are_infinities_where_a_format_has_them() -> None:
    (unit,) = asked(VOLTA.name, a="1e999", b="-1", c="-2^1999")["units"]
    assert (unit["a"][0]["hex"], unit["c"][0]["hex"], unit["d"]["hex"]) == ("0x7c00", "0xff800000", "0xff800000")
    assert not unit["a"][0]["exact"]


def test_units_are_those_of_the_catalogue() -> None:
    listed = [name for x in json.loads(session.units()) for name in x["units"]]
    assert sorted(listed) == sorted(load_catalogue().designs)
    assert find_design(listed[0]).name == listed[0]
