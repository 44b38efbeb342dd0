"""`mmaproof rtl`: what a person and a program get about a unit, and the exit status."""

import os
import re
import signal
import subprocess
import tomllib
from xml.etree import ElementTree

import pytest
from support.commands import MAIN, alive, children_of, held_to_schema, only_json
from support.small_units import COMBINATIONAL, DESIGN, PIPELINE, WRONG, write_unit
from support.waiting import LONG, wait_until

from mmaproof.rtl import read_unit

pytest.importorskip("pyosys")

OPERANDS = ("--a", "0x2,0xf", "--b", "0x3,0x5", "--c", "0x00000064")


@pytest.fixture(scope="module")
def unit(tmp_path_factory):
    return write_unit(tmp_path_factory.mktemp("unit"))


@pytest.fixture(scope="module")
def wrong(tmp_path_factory):
    return write_unit(tmp_path_factory.mktemp("wrong"), WRONG)


def test_what_was_elaborated_is_shown(run, unit):
    status, out, err = run("show", f"rtl:{unit}")
    assert (status, err) == (0, "")
    lines = out.splitlines()
    assert lines[0] == f"rtl:{unit}: module dot"
    assert "  d = c + 2 products: a int4, b int4, c int32, d int32" in lines
    assert "    input  a, 8 bits" in lines
    assert "  0 register bits" in lines
    record = only_json(run("show", f"rtl:{unit}", "--json")[1])
    assert (record["top"], record["k"], record["kinds"]["$mul"], record["latency"]) == ("dot", 2, 2, 0)
    assert record["ports"]["d"] == {"direction": "output", "bits": 32}


def test_a_unit_runs(run, unit):
    status, out, err = run("rtl", "run", str(unit), *OPERANDS)
    assert (status, out, err) == (0, "0x00000065 = +101\n", "")
    assert only_json(run("rtl", "run", str(unit), *OPERANDS, "--json")[1])["d"] == "0x00000065"


def test_a_right_unit_is_equal(run, unit, tmp_path):
    junit = tmp_path / "result.xml"
    status, out, err = run("rtl", "prove", str(unit), DESIGN, "--k", "2", "--no-search", "--junit", str(junit))
    assert (status, err, out.splitlines()[0]) == (0, "", f"equal: rtl:{unit} and {DESIGN}")
    suite = ElementTree.parse(junit).getroot()
    assert suite.attrib["failures"] == suite.attrib["errors"] == "0"
    assert [x.attrib["name"] for x in suite] == [f"rtl:{unit} is {DESIGN}"]


def test_a_wrong_unit_is_different_and_the_operands_say_where(run, wrong, tmp_path):
    junit, found = tmp_path / "result.xml", tmp_path / "found.jsonl"
    arguments = (str(wrong), DESIGN, "--k", "2", "--junit", str(junit), "-o", str(found))
    status, out, err = run("rtl", "prove", *arguments, "--json")
    record = held_to_schema("rtl prove", out)
    assert (status, err, record["verdict"]) == (1, "", "different")
    assert record["witness"]["a"][1] == "0xb"
    outputs = record["witness"]["outputs"]
    assert outputs[f"rtl:{wrong}"] != outputs[DESIGN]
    assert found.read_text().count("\n") >= 1
    suite = ElementTree.parse(junit).getroot()
    assert suite.attrib["failures"] == "1"
    assert suite[0][0].tag == "failure"
    assert "a = 0x0,0xb" in suite[0][0].text


def test_an_unknown_verdict_is_an_error_of_junit(run, tmp_path):
    path = write_unit(tmp_path, WRONG)
    junit = tmp_path / "result.xml"
    arguments = (
        str(path),
        DESIGN,
        "--k",
        "2",
        "--no-search",
        "--no-store",
        "--work",
        "0.0001s",
        "--junit",
        str(junit),
    )
    status, out, _ = run("rtl", "prove", *arguments)
    assert (status, out.split(":")[0]) == (3, "unknown")
    suite = ElementTree.parse(junit).getroot()
    assert (suite.attrib["errors"], suite[0][0].tag) == ("1", "error")


def test_what_it_is_meant_to_be_has_to_be_said(run, unit):
    status, out, err = run("rtl", "prove", str(unit))
    assert (status, out) == (2, "")
    assert "what is it meant to be?" in err


def test_the_file_may_say_it(run, tmp_path):
    path = write_unit(tmp_path, design=DESIGN)
    assert run("rtl", "prove", str(path), "--k", "2", "--no-search")[0] == 0


def test_properties_are_asked_of_the_netlist(run, unit, wrong, tmp_path):
    assert run("check", "exchange-symmetric", f"rtl:{unit}")[0] == 0
    junit = tmp_path / "result.xml"
    status, out, _ = run("check", "exchange-symmetric", f"rtl:{wrong}", "--json", "--junit", str(junit))
    assert (status, only_json(out)["verdict"]) == (1, "violated")
    assert ElementTree.parse(junit).getroot().attrib["failures"] == "1"


def test_a_first_map_is_read_again(run, tmp_path):
    (tmp_path / "dot.sv").write_text(COMBINATIONAL)
    path = tmp_path / "unit.toml"
    status, out, err = run("rtl", "init", str(tmp_path / "dot.sv"), "--top", "dot", "-o", str(path), "--design", DESIGN)
    assert (status, out) == (0, "")
    assert "check it" in err
    assert run("rtl", "run", str(path), *OPERANDS)[1].splitlines()[0].startswith("0x00000065")
    again = run("rtl", "init", str(tmp_path / "dot.sv"), "--top", "dot", "-o", str(path))
    assert again[0] == 2
    assert "the file exists" in again[2]


def test_a_first_map_has_the_clock_and_what_is_tied(run, tmp_path):
    (tmp_path / "dot.sv").write_text(PIPELINE)
    status, out, _ = run("rtl", "init", str(tmp_path / "dot.sv"), "--top", "dot")
    held = tomllib.loads(out)
    assert status == 0
    assert held["clock"] == {"clock": "clk", "latency": 2}
    assert held["tied"] == {"rst_n": 1}
    assert held["ports"] == {"a": "a", "b": "b", "c": "c", "d": "d"}


BAD = {
    "syntax": (COMBINATIONAL.replace("endmodule", "end"), {}, "dot.sv:"),
    "no module": (COMBINATIONAL, {"top": "dots"}, "dots"),
    "port": (COMBINATIONAL, {"ports": {"a": "x", "b": "b", "c": "c", "d": "d"}}, "there is no port x"),
    "width": (COMBINATIONAL, {"ports": {"a": "a[6:0]", "b": "b", "c": "c", "d": "d"}}, "7 bits"),
    "no file": (COMBINATIONAL, {"sources": ["dots.sv"]}, "there is no file"),
    "key": (COMBINATIONAL, {"soruces": ["dot.sv"]}, "did you mean sources"),
    "loop": (
        COMBINATIONAL.replace("assign d = c + first", "wire [31:0] e;\n  assign e = e ^ c;\n  assign d = e + first"),
        {},
        "combinational loop",
    ),
    "latch": (
        COMBINATIONAL.replace("assign d = c + first + second;", "always_latch if (a[0]) d = c + first + second;"),
        {},
        "latch",
    ),
    "clock": (PIPELINE, {"tied": {"rst_n": 1}}, "clk"),
    "latency": (PIPELINE, {"tied": {"rst_n": 1}, "clock": {"clock": "clk", "latency": 3}}, "registers"),
    "feedback": (
        PIPELINE.replace("sum <= c", "sum <= sum + c"),
        {"tied": {"rst_n": 1}, "clock": {"clock": "clk", "latency": 2}},
        "sum",
    ),
    "memory": (
        PIPELINE.replace("sum <= c;", "held[a[1:0]] <= c;\n    sum <= held[b[1:0]];").replace(
            "  always_ff", "  logic [31:0] held [4];\n  always_ff"
        ),
        {"tied": {"rst_n": 1}, "clock": {"clock": "clk", "latency": 2}},
        "held",
    ),
}


@pytest.mark.few(1)
@pytest.mark.parametrize("what", BAD)
def test_what_is_wrong_is_said_in_one_line(run, tmp_path, what):
    source, changes, said = BAD[what]
    path = write_unit(tmp_path, source, **changes)
    status, out, err = run("rtl", "prove", str(path), DESIGN)
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert said in err


def test_too_many_cells_are_refused_with_what_to_do(run, unit, monkeypatch):
    monkeypatch.setitem(read_unit.__kwdefaults__, "most_cells", 3)
    status, out, err = run("rtl", "prove", str(unit), DESIGN)
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert "at most 3 are taken" in err


def test_a_ctrl_c_during_elaboration_leaves_nothing_running(tmp_path):
    path = write_unit(tmp_path, COMBINATIONAL.replace("[31:0] d);", '[31:0] d);\n  `include "slow.svh"\n'))
    os.mkfifo(tmp_path / "slow.svh")
    process = subprocess.Popen(
        [*MAIN, "show", f"rtl:{path}"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        children = wait_until(lambda: children_of(process.pid))
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=LONG)
    finally:
        process.kill()
    assert (process.returncode, out, err) == (130, "", "interrupted\n")
    wait_until(lambda: not any(map(alive, children)))


def test_without_yosys_it_says_what_to_install(run, unit, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "pyosys", None)
    status, out, err = run("show", f"rtl:{unit}")
    assert (status, out) == (3, "")
    assert "mmaproof[rtl]" in err


def test_what_a_unit_is_meant_to_be_is_covered_and_run_on_it(run, tmp_path):
    path = write_unit(tmp_path, WRONG.replace("-4'sd5", "4'sd0"), design=f"{DESIGN}@L=2")
    status, out, _ = run("cover", f"rtl:{path}", "-n", "5", "--timeout", "1s", "--json")
    assert status in (0, 3)
    assert only_json(out)["wrong"] == 0
    other = write_unit(tmp_path, WRONG.replace("(y == -4'sd5) ? 0 :", "1 +"), design=f"{DESIGN}@L=2")
    status, out, _ = run("cover", f"rtl:{other}", "-n", "5", "--timeout", "1s")
    assert status == 1
    assert "returns something else for 5 of 5 vectors" in out


@pytest.mark.middle
def test_units_are_designs_of_other_commands(run, unit, wrong):
    assert run("compare", f"rtl:{unit}", f"rtl:{wrong}")[0] == 1
    assert run("run", f"rtl:{unit}", *OPERANDS)[1] == "0x00000065 = +101\n"
    status, out, _ = run("suite", f"rtl:{unit}", f"rtl:{wrong}", "--json", "--jobs", "1")
    assert (status, len(only_json(out)["kinds"])) == (0, 1)


@pytest.mark.middle
def test_what_design_a_unit_is(run, unit):
    status, out, _ = run("identify", f"rtl:{unit}", "--json", "--timeout", "120s")
    record = only_json(out)
    assert (status, record["identified"], record["interface"], record["k"]) == (0, True, "s32.s4.s4.s32", 2)
    assert record["proof"]["verdict"] == "equivalent"
    assert record["parameters"]["integer_overflow"] == "wrap"


def test_the_first_net_that_differs_is_named(run, wrong):
    status, out, _ = run("rtl", "prove", str(wrong), DESIGN, "--k", "2", "--no-picture", "--no-simulate")
    assert status == 1
    assert re.search(r"^  net second \(dot.sv:\d+.*\) differs: model 0x", out, re.MULTILINE)
    out = run("rtl", "prove", str(wrong), DESIGN, "--k", "2", "--json", "--no-simulate")[1]
    nets = held_to_schema("rtl prove", out)["witness"]["nets"]
    assert re.match(r".*dot.sv:\d+", nets[0]["cone"][0])
    assert (nets[0]["net"], nets[0]["rtl"], nets[-1]["net"]) == ("second", "0x00000000", "d")


@pytest.mark.middle
def test_a_witness_has_values_of_unknown_bits(run, tmp_path):
    source = COMBINATIONAL.replace("assign d = c", "logic [31:0] nothing; assign d = (c == 77 ? nothing : 0) ^ c")
    source = source.replace("^ c + first + second", "^ (c + first + second)")
    arguments = ("rtl", "prove", str(write_unit(tmp_path, source)), DESIGN, "--k", "2", "--no-search", "--no-picture")
    status, out, err = run(*arguments)
    assert (status, err) == (1, "") and "  where x of $mux" in out
    witness = held_to_schema("rtl prove", run(*arguments, "--json")[1])["witness"]
    assert next(iter(witness["unknown_bits"])).startswith("x of $mux")


def test_a_witness_has_values_of_free_inputs_which_the_simulator_takes(run, tmp_path):
    source = COMBINATIONAL.replace("assign d = c", "assign d = (c == 77 && mode == 5 ? 1 : 0) + c")
    source = source.replace("module dot (", "module dot (input [2:0] mode, ")
    path = write_unit(tmp_path, source)
    path.write_text('free = ["mode"]\n' + path.read_text())
    arguments = ("rtl", "prove", str(path), DESIGN, "--k", "2", "--no-search", "--no-picture")
    status, out, err = run(*arguments)
    assert (status, err) == (1, "")
    assert "  where free mode[0] = 1, free mode[2] = 1, all other bits" in out
    assert "depends on undefined bits" not in " ".join(out.split())
    witness = held_to_schema("rtl prove", run(*arguments, "--json")[1])["witness"]
    assert witness["unknown_bits"] == {"free mode[0]": "1", "free mode[2]": "1"}
    assert witness["simulator"]["d"] in (witness["outputs"][f"rtl:{path}"], None)


@pytest.mark.parametrize("fmt", ["e8m0", "ue4m3"])
def test_a_result_that_no_design_has_is_refused(run, tmp_path, fmt):
    source = "module dot(input [7:0] a, b, input [31:0] c, output [7:0] d); assign d = c + a * b;\n"
    formats = {"a": "e4m3", "b": "e4m3", "c": "fp32", "d": fmt}
    path = write_unit(tmp_path, f"{source}endmodule\n", formats=formats)
    status, out, err = run("identify", f"rtl:{path}")
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert f"d is {fmt}, to which no design rounds: nothing can be identified" in err


def test_undefined_bits_are_shown_net_by_net(run, tmp_path):
    parts = "".join(f"  wire [15:0] part{i}; assign part{i}[7:4] = c[3:0];\n" for i in range(30))
    sums = "".join(f" ^ {{part{i}, part{i}}}" for i in range(30))
    source = COMBINATIONAL.replace("assign d = c", f"assign d = c{sums}").replace(
        "  assign first", f"{parts}  assign first"
    )
    path = write_unit(tmp_path, source)
    status, out, _ = run("show", f"rtl:{path}")
    lines = out.splitlines()
    start = lines.index("  360 bits may have any value")
    shown = lines[start + 1 : start + 8]
    assert (status, len(shown)) == (0, 7)
    assert all(x.endswith("[15:8,3:0], 12 bits") for x in shown[:-1]), shown
    assert "more nets; --json lists them" in shown[-1]
    unknown = only_json(run("show", f"rtl:{path}", "--json")[1])["unknown"]
    assert sum(unknown.values()) == 360 and len(unknown) == 6 + int(shown[-1].split()[1])
