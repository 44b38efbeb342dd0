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
from mmaproof.explain.reports.page import code, read_answer, report, table

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
    "when": [],
    "designs": [VOLTA.name, TURING.name],
    "k": 8,
    "where": ["finite"],
    "seconds": 0.5,
    "solver": SOLVER,
    "certified_by": None,
    "certificate_covers": None,
    "reason": None,
    "origin": "search",
    "lemmas": [LEMMA],
    "witness": {
        **WITNESS,
        "difference": {"absolute": "1/8388608", "ulps": 1.0},
        "open_points": {},
        "holds_under_every_reading": True,
    },
    "assumed": [],
}
RUN = {"design": VOLTA.name, **{x: WITNESS[x] for x in "abc"}, "d": "0xbfeaf080"}
DIFFERING = {**WITNESS, "difference": None}
PAIR = {
    **{k: v for k, v in COMPARED.items() if k not in ("designs", "where", "assumed")},
    **{"first": VOLTA.name, "second": TURING.name, "question": 1, "witness": DIFFERING},
}
RESTS_ON: dict[str, Any] = {"results": 1, "looked_at": 1, "changed": 0, "readings": []}
NET = {
    **{"net": "u.sum", "place": None, "cone": [], "signal": "sum", "relation": None},
    **{"share": 0.9, "width": 2, "model": "0x1", "rtl": "0x2"},
}
KINDS: dict[str, dict[str, Any]] = {
    "compare": COMPARED,
    "run": {**RUN, "k": 8, "number": "1.0", "open_points": RESTS_ON, "assumed": []},
    "check": {
        **{k: v for k, v in COMPARED.items() if k not in ("designs", "witness")},
        "verdict": "violated",
        "property": "monotone-in-c",
        "design": VOLTA.name,
        "value": None,
        "questions": [],
        "witness": {"runs": [RUN, RUN], "value": None},
    },
    "rtl prove": {
        **{k: v for k, v in COMPARED.items() if k != "designs"},
        "unit": "rtl:gone.toml",
        "design": TURING.name,
        **{"cells": 1, "registers": 0, "latency": 0, "unknown_bits": {}, "assumptions": []},
        "witness": {
            **DIFFERING,
            "outputs": {"rtl:gone.toml": "0xbfeaf080", TURING.name: "0xbfeaf07f"},
            "simulator": {"name": "Icarus Verilog", "d": "0xbfeaf080", "undefined": "0x00000000", "reason": None},
            "nets": [NET],
        },
    },
    "matrix": {
        "designs": [VOLTA.name, TURING.name],
        "classes": [{"formats": "fp16", "classes": [[VOLTA.name], [TURING.name]], "transitive": True}],
        "pairs": [PAIR],
        "not_comparable": {},
        "questions": 1,
        "seconds": 1.0,
        "assumed": [],
    },
    "suite": {
        "designs": [VOLTA.name, TURING.name],
        "kinds": [
            {
                "formats": "fp16",
                "classes": [[VOLTA.name], [TURING.name]],
                "vectors": [{"k": 8, **WITNESS, "origin": "search"}],
                "fewest": "fewest",
                "reason": "one vector",
                "left": [{"first": VOLTA.name, "second": TURING.name, "k": 8, "verdict": "unknown", "reason": None}],
            }
        ],
        "vectors": 1,
        "left": 0,
        "seconds": 1.0,
        "assumed": [],
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
        "assumed": [],
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
        ],
        "assumed": [],
    },
    "identify": {
        "target": "process:x",
        "interface": "f32.f16.f16.f32",
        "k": 8,
        "identified": True,
        "late": False,
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
        **{"other_interfaces": {}, "nan_codes": [], "neighbour": None, "disagreements": {}, "space": 1, "tried": 1},
        **{"seconds": 1.0, "unanswered": 0, "unproved": 0, "proof": None, "assumed": []},
    },
    "judge": {
        "verdict": "outside",
        "plans": [VOLTA.name, TURING.name],
        **{"k": 8, "shape": [4, 3], "rows": 2, "exact": [TURING.name], "rests_on": "an element", "assumed": []},
        "parts": [{"where": "rows 0..1", "plan": VOLTA.name, "elements": 6}],
        "element": {
            **{"row": 3, "column": 2, "pattern": "0x00000001", "value": "1e-45", "exact": 2.5, "bound": 0.125},
        },
        "fits": ["row 3: zeros <here>"],
        "missed": {"0.5": 0.25},
    },
    "cover": {
        "design": VOLTA.name,
        "complete": True,
        "vectors": 10,
        "baseline": "uniform",
        "seed": 0,
        "seconds": 1.0,
        **{"wanted_hits": 1, "hit": 1, "not_hit": 0, "unreachable": 0, "unknown": 0, "assumed": []},
        "bins": [
            {
                **{"event": "shift", "value": "3", "status": "hit", "hits": 2, "baseline_hits": 0},
                **{"solver": None, "certified_by": None, "reason": None},
            }
        ],
    },
}


@pytest.fixture
def read(tmp_path: Path) -> Callable[[Any], Any]:
    """What is read of a file that holds an answer."""

    def answer(record: Any) -> Any:
        path = tmp_path / "file.json"
        path.write_text(json.dumps(record), encoding="utf-8")
        return read_answer(path)

    return answer


@pytest.fixture
def page(read: Callable[[Any], Any]) -> Callable[[Any], str]:
    return lambda record: report([read(record)], find_design)


@pytest.mark.parametrize("kind", KINDS)
def test_a_page_needs_nothing_else_and_draws_what_it_can(page: Callable[[Any], str], kind: str) -> None:
    found = page(KINDS[kind])
    assert not re.search(r"<(link|img|iframe|object)|src=|href=|url\(|@import", found)
    assert "default-src 'none'" in found
    assert found.count("<figure") == {"check": 2, "cover": 0, "judge": 0}.get(kind, 1)
    assert "no picture" not in found or kind == "rtl prove"
    assert found.count("<details") == found.count("</details>")


def test_witness_and_lemmas_of_a_comparison(page: Callable[[Any], str]) -> None:
    found = page(COMPARED)
    assert "0x38ab * 0x3483" in found
    assert "first difference: step 1, p1 keeps bit 2^-23 in B and loses it in A" in found
    assert "x &amp; &lt;y&gt;" in found and "<y>" not in found


def test_what_a_judge_says_is_on_its_page(page: Callable[[Any], str]) -> None:
    found = page(KINDS["judge"])
    for text in (
        "outside",
        "2 of 4 rows of 3 elements, k = 8",
        "rows 0..1",
        "0x00000001",
        "zeros &lt;here&gt;",
        "0.25",
    ):
        assert text in found
    assert "Farthest" not in page({**KINDS["judge"], "element": None})


def test_a_unit_whose_file_is_gone_is_said_and_the_design_is_drawn(page: Callable[[Any], str]) -> None:
    found = page(KINDS["rtl prove"])
    assert "no picture: rtl:gone.toml" in found
    assert "u.sum" in found and "Icarus Verilog: d = 0xbfeaf080" in found


def test_a_page_about_rtl_says_where_nets_are_driven_and_what_is_assumed(page: Callable[[Any], str]) -> None:
    nets = [{**NET, "place": "dot.sv:13", "cone": ["dot.sv:9", "dot.sv:11"]}]
    record = {**KINDS["rtl prove"], "assumptions": ["one", "two"]}
    found = page({**record, "witness": {**record["witness"], "nets": nets}})
    assert "<dd>one; two</dd>" in found
    assert "<td>dot.sv:13</td>" in found and "<td>dot.sv:9, dot.sv:11</td>" in found


def test_a_unit_that_cannot_be_read_here_is_said(read: Callable[[Any], Any]) -> None:
    def find(name: str) -> Design:
        if name.startswith("rtl:"):
            raise TargetUnavailable("Yosys is not installed")
        return find_design(name)

    found = report([read(KINDS["rtl prove"])], find)
    assert "no picture: rtl:gone.toml: Yosys is not installed" in found


def test_a_result_that_the_model_does_not_return_is_not_drawn(page: Callable[[Any], str]) -> None:
    wrong = {**WITNESS, "outputs": {VOLTA.name: "0x00000000", TURING.name: "0xbfeaf07f"}}
    found = page({**COMPARED, "witness": {**COMPARED["witness"], **wrong}})
    assert "this version of the model returns 0xbfeaf080, not 0x00000000" in found
    assert "<h4" in found and f"{VOLTA.name}</h4>" not in found


def test_several_answers_make_one_page(read: Callable[[Any], Any]) -> None:
    records = [read(x) for x in KINDS.values()]
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
def test_damaged_answers_are_refused_with_the_name_of_their_file(page: Callable[[Any], str], kind: str) -> None:
    for damage in DAMAGES:
        damaged = damage(KINDS[kind])
        if damaged != KINDS[kind]:
            with pytest.raises(InputError, match=r"file\.json: "):
                page(damaged)


def test_what_is_wrong_in_an_answer_is_said_with_its_place(page: Callable[[Any], str]) -> None:
    with pytest.raises(InputError, match=r"file\.json: lemmas\[0\]\.seconds: input should be a valid number"):
        page({**COMPARED, "lemmas": [{**LEMMA, "seconds": "long"}]})


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("{", "not JSON"),
        ("[]", "not a JSON object"),
        ("{}", "not what a command prints with --json"),
        ('{"pairs": [], "classes": 3, "designs": []}', "not what a command prints with --json"),
        ("\ud800", "not JSON"),
    ],
)
def test_other_files_are_refused(tmp_path: Path, text: str, problem: str) -> None:
    path = tmp_path / "x.json"
    path.write_bytes(text.encode("utf-8", "surrogatepass"))
    with pytest.raises(InputError, match=re.escape(str(path))) as raised:
        read_answer(path)
    assert problem in str(raised.value)


def test_records_are_what_commands_print(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    path.write_text(json.dumps(COMPARED), encoding="utf-8")
    assert read_answer(path).designs == [VOLTA.name, TURING.name]


def test_the_nearest_unit_is_a_name_that_commands_take(page: Callable[[Any], str]) -> None:
    near = {"design": TURING.name, "changes": {"fraction_bits": "22", "rho": "rz-fp32"}}
    near["disagreements"] = {"finite operands": {"rows": 9, "wrong": 2}, "infinities and NaNs": {"rows": 0, "wrong": 0}}
    text = page({**KINDS["identify"], "matches": [], "neighbour": near})
    assert f"<code>{TURING.name}@fraction_bits=22,rho=rz-fp32</code>" in text
    assert f"of {TURING.name}: 2 of 9 with finite operands" in text.replace("<wbr>", "")
    assert "infinities" not in text
    late = page({**KINDS["identify"], "matches": [], "parameters": {}, "late": True})
    assert "another run may end at another nearest setting" in late and "another run" not in text


def test_names_in_tables_may_break_and_are_copied_whole() -> None:
    cells = table("x", ["design", "share"], [[TURING.name, 0.25], [code(TURING.name), "1.5 of 2.5"]])
    assert "turing/<wbr>mma.<wbr>m16n8k8.<wbr>f32" in cells
    assert f"<code>{TURING.name}</code>" in cells, "code breaks anywhere"
    assert "<td>0.25</td>" in cells and "1.5 of 2.5" in cells
