"""Reports: what the JSON of a command says is on the page, witnesses are computed again, and bad files are named."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support.pictures import TURING, VOLTA

from mmaproof.designs.catalogue import find_design
from mmaproof.designs.design import Design
from mmaproof.designs.errors import InputError, TargetUnavailable
from mmaproof.explain.reports.kinds import report
from mmaproof.explain.reports.record import Record, read_record

WITNESS = {
    "a": ["0x0000", "0x38ab", *["0x0000"] * 6],
    "b": ["0x0000", "0x3483", *["0x0000"] * 6],
    "c": "0xc0000000",
    "outputs": {VOLTA.name: "0xbfeaf080", TURING.name: "0xbfeaf07f"},
}
SOLVER = {"name": "bitwuzla", "version": "0.9.1"}
LEMMA = {"name": "x & <y>", "stage": None, "status": "proved", "seconds": 0.1, "solver": SOLVER, "certified_by": None}
COMPARED: dict[str, Any] = {
    "verdict": "different",
    "designs": [VOLTA.name, TURING.name],
    "k": 8,
    "where": ["finite"],
    "seconds": 0.5,
    "solver": SOLVER,
    "certified_by": None,
    "reason": None,
    "origin": "search",
    "lemmas": [LEMMA],
    "witness": WITNESS,
}
RUN = {"design": VOLTA.name, **{x: WITNESS[x] for x in "abc"}, "d": "0xbfeaf080"}
PAIR = {**{k: v for k, v in COMPARED.items() if k != "designs"}, "first": VOLTA.name, "second": TURING.name}
KINDS: dict[str, dict[str, Any]] = {
    "compare": COMPARED,
    "run": {**RUN, "k": 8},
    "check": {
        **{k: v for k, v in COMPARED.items() if k not in ("designs", "witness")},
        "property": "monotone-in-c",
        "design": VOLTA.name,
        "value": None,
        "witness": {"runs": [RUN, RUN], "value": None},
    },
    "rtl prove": {
        **{k: v for k, v in COMPARED.items() if k != "designs"},
        "unit": "rtl:gone.toml",
        "design": TURING.name,
        "witness": {
            **WITNESS,
            "outputs": {"rtl:gone.toml": "0xbfeaf080", TURING.name: "0xbfeaf07f"},
            "simulator": {"name": "Icarus Verilog", "d": "0xbfeaf080", "undefined": "0x00000000", "reason": None},
            "nets": [{"net": "u.sum", "signal": "sum", "share": 0.9, "model": "0x1", "rtl": "0x2"}],
        },
    },
    "matrix": {
        "designs": [VOLTA.name, TURING.name],
        "classes": [{"formats": "fp16", "classes": [[VOLTA.name], [TURING.name]], "transitive": True}],
        "pairs": [PAIR],
        "not_comparable": {},
        "questions": 1,
        "seconds": 1.0,
    },
    "suite": {
        "designs": [VOLTA.name, TURING.name],
        "kinds": [
            {
                "formats": "fp16",
                "classes": [[VOLTA.name], [TURING.name]],
                "vectors": [{"k": 8, **WITNESS, "origin": "search"}],
                "left": [{"first": VOLTA.name, "second": TURING.name, "reason": None}],
            }
        ],
        "vectors": 1,
        "left": 0,
        "seconds": 1.0,
    },
    "fingerprint": {
        "designs": [VOLTA.name],
        "features": [
            {
                "property": "monotone-in-c",
                "feature": "d does not fall",
                "results": {
                    VOLTA.name: {"verdict": "violated", "value": 3, "reason": None, "seconds": 1.0, "runs": [RUN]}
                },
            }
        ],
    },
    "disputes": {
        "disputes": [
            {
                "design": VOLTA.name,
                "designs": [VOLTA.name],
                "point": 3,
                "title": "zeros",
                "readings": {"default": "x", "A": "y"},
                "pair": ["default", "A"],
                "status": "separated",
                "contexts": ["default"],
                "reason": None,
                "context": "default",
                "witness": WITNESS,
                "predictions": {"default": "0xbfeaf080", "A": "0xbfeaf07f"},
            }
        ]
    },
    "identify": {
        "target": "process:x",
        "interface": "f32.f16.f16.f32",
        "k": 8,
        "identified": True,
        "matches": [TURING.name],
        "fitting": [],
        "parameters": {"fraction_bits": "24"},
        "unobservable": {"fraction_bits": ["25"]},
        "undecided": {},
        "decided_by": {"fraction_bits": {**{x: WITNESS[x] for x in "abc"}, "d": "0xbfeaf07f"}},
        "operands": 10,
        "batches": 1,
        "validated": 100,
        "nearest": None,
        "problem": None,
        "contradiction": None,
    },
    "cover": {
        "design": VOLTA.name,
        "complete": True,
        "vectors": 10,
        "baseline": "uniform",
        "seed": 0,
        "seconds": 1.0,
        "bins": [{"event": "shift", "value": "3", "status": "hit", "hits": 2, "baseline_hits": 0}],
    },
}


def page(record: dict[str, Any]) -> str:
    return report([Record(record, "file.json")], find_design)


@pytest.mark.parametrize("kind", KINDS)
def test_a_page_needs_nothing_else_and_draws_what_it_can(kind: str) -> None:
    found = page(KINDS[kind])
    assert not re.search(r"<(link|img|iframe|object)|src=|href=|url\(|@import", found)
    assert "default-src 'none'" in found
    assert found.count("<figure") == {"check": 2, "cover": 0}.get(kind, 1)
    assert "no picture" not in found or kind == "rtl prove"
    assert found.count("<details") == found.count("</details>")


def test_witness_and_lemmas_of_a_comparison() -> None:
    found = page(COMPARED)
    assert "0x38ab * 0x3483" in found
    assert "first difference: step 1, p1 keeps bit 2^-23 in B and loses it in A" in found
    assert "x &amp; &lt;y&gt;" in found and "<y>" not in found


def test_a_unit_whose_file_is_gone_is_said_and_the_design_is_drawn() -> None:
    found = page(KINDS["rtl prove"])
    assert "no picture: rtl:gone.toml" in found
    assert "u.sum" in found and "Icarus Verilog: d = 0xbfeaf080" in found


def test_a_unit_that_cannot_be_read_here_is_said() -> None:
    def find(name: str) -> Design:
        if name.startswith("rtl:"):
            raise TargetUnavailable("Yosys is not installed")
        return find_design(name)

    found = report([Record(KINDS["rtl prove"], "file.json")], find)
    assert "no picture: rtl:gone.toml: Yosys is not installed" in found


def test_a_result_that_the_model_does_not_return_is_not_drawn() -> None:
    wrong = {**WITNESS, "outputs": {VOLTA.name: "0x00000000", TURING.name: "0xbfeaf07f"}}
    found = page({**COMPARED, "witness": wrong})
    assert "this version of the model returns 0xbfeaf080, not 0x00000000" in found
    assert "<h4" in found and f"{VOLTA.name}</h4>" not in found


def test_several_answers_make_one_page() -> None:
    records = [Record(x, "f") for x in KINDS.values()]
    found = report(records, find_design, "all of them")
    assert "<title>all of them</title>" in found
    assert found.count("<section><h2") == len(KINDS)


def without(record: Any, name: str) -> Any:
    if isinstance(record, dict):
        return {k: without(v, name) for k, v in record.items() if k != name}
    return [without(x, name) for x in record] if isinstance(record, list) else record


DAMAGES: list[Callable[[Any], Any]] = [
    lambda record: dict.fromkeys(record),
    lambda record: dict.fromkeys(record, 1),
    lambda record: dict.fromkeys(record, "x"),
    lambda record: {k: [1] for k in record},
    lambda record: {k: [{}] for k in record},
    lambda record: {k: {} for k in record},
    *((lambda record, n=n: without(record, n)) for n in ("a", "c", "outputs", "classes", "first", "k", "vectors")),
]


@pytest.mark.parametrize("kind", KINDS)
def test_damaged_records_are_named_or_drawn_without_what_is_missing(kind: str) -> None:
    for damage in DAMAGES:
        try:
            page(damage(KINDS[kind]))
        except InputError as problem:
            assert "file.json" in str(problem)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("{", "not JSON"),
        ("[]", "not a JSON object"),
        ("{}", "not what a command prints with --json"),
        ('{"pairs": [], "classes": 3, "designs": []}', "'classes' is something else"),
        ("\ud800", "not JSON"),
    ],
)
def test_other_files_are_refused(tmp_path: Path, text: str, problem: str) -> None:
    path = tmp_path / "x.json"
    path.write_bytes(text.encode("utf-8", "surrogatepass"))
    with pytest.raises(InputError, match=re.escape(str(path))) as raised:
        report([read_record(path)], find_design)
    assert problem in str(raised.value)


def test_records_are_what_commands_print(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    path.write_text(json.dumps(COMPARED), encoding="utf-8")
    assert read_record(path).texts("designs") == [VOLTA.name, TURING.name]
