"""RTL as a target: the netlist and the sources in a simulator return the same, whatever the shapes of the ports."""

import shutil

import numpy as np
import pytest
from support.small_units import COMBINATIONAL, UNPACKED, WRONG, write_unit

from mmaproof.designs.catalogue import find_design
from mmaproof.designs.element import Operands
from mmaproof.designs.errors import InputError, TargetUnavailable
from mmaproof.generators.vectors import read_rows
from mmaproof.hardware_replay import rtl_simulator
from mmaproof.hardware_replay.rtl_bench import layout_of, rows_text
from mmaproof.hardware_replay.rtl_simulator import SourcesDisagree, run_sources, simulate
from mmaproof.hardware_replay.targets import find_target
from mmaproof.rtl import read_unit
from mmaproof.smt.evaluate import evaluate_batch
from mmaproof.smt.trace import evaluate

pytest.importorskip("pyosys")
needs_icarus = pytest.mark.skipif(shutil.which("iverilog") is None, reason="Icarus Verilog is not installed")
needs_verilator = pytest.mark.skipif(shutil.which("verilator") is None, reason="Verilator is not installed")

SHAPES = {
    "packed": (COMBINATIONAL, {}),
    "unpacked": (UNPACKED, {}),
    "lanes reversed": (COMBINATIONAL, {"ports": {"a": ["a[7:4]", "a[3:0]"], "b": "b", "c": "c", "d": "d"}}),
    "bits joined": (
        COMBINATIONAL,
        {"ports": {"a": ["{a[7], a[2:0]}", "{a[3], a[6:4]}"], "b": "b", "c": "{c[0], c[31:1]}", "d": "d"}},
    ),
    "tied": (
        COMBINATIONAL.replace("input logic [7:0] a", "input logic [2:0] mode, input logic [7:0] a").replace(
            "d = c + first", "d = (mode == 3'd5 ? c : 0) + first"
        ),
        {"tied": {"mode": "3'b101"}},
    ),
    "ranges that are declared otherwise": (
        COMBINATIONAL.replace("[7:0] a", "[0:7] a").replace("[7:0] b", "[15:8] b"),
        {"ports": {"a": ["a[4:7]", "a[0:3]"], "b": ["b[11:8]", "b[15:12]"], "c": "c", "d": "d"}},
    ),
    "a macro of synthesis": (
        COMBINATIONAL.replace(
            "assign d = c + first + second;",
            "`ifdef SYNTHESIS\n assign d = c + first + second;\n`else\n assign d = c;\n`endif",
        ),
        {},
    ),
    "lines of its own": (
        COMBINATIONAL.replace("endmodule", 'always @(a) $display("%b", a);\nendmodule'),
        {},
    ),
    "ports without ignored bits": (
        "module dot (input [18:0] a, input [18:0] b, input [31:0] c, output [31:0] d);\n"
        "  assign d = {a ^ b, 13'd5} + c;\nendmodule\n",
        {
            "formats": {"a": "tf32", "b": "tf32", "c": "fp32", "d": "fp32"},
            "ports": {"a": ["a"], "b": ["b"], "c": "c", "d": "d"},
        },
    ),
}


@pytest.mark.few(1)
@pytest.mark.parametrize("shape", SHAPES)
@needs_icarus
def test_netlist_and_sources_return_the_same(shape, tmp_path):
    source, changes = SHAPES[shape]
    unit = read_unit(write_unit(tmp_path, source, **changes))
    batch = read_rows("uniform-bits", (unit.design,), k=None, rows=200, seed=0)[0].batch
    ran = simulate(unit, batch)
    assert ran.undefined == (0,) * 200
    assert list(ran.d) == evaluate_batch(unit.design, batch).tolist()


@pytest.mark.slow
@needs_verilator
def test_verilator_runs_what_icarus_does_not_read(tmp_path, monkeypatch):
    unit = read_unit(write_unit(tmp_path, UNPACKED))
    batch = read_rows("uniform-bits", (unit.design,), k=None, rows=50, seed=0)[0].batch
    monkeypatch.setattr(rtl_simulator, "_icarus", _does_not_read)
    monkeypatch.setitem(rtl_simulator._TOOLS, "iverilog", _does_not_read)
    ran = simulate(unit, batch)
    assert ran.simulator == "Verilator"
    assert list(ran.d) == evaluate_batch(unit.design, batch).tolist()


def _does_not_read(*_):
    raise rtl_simulator._SimulatorError("iverilog: sorry")


@needs_icarus
def test_a_chain_of_passes_is_run_pass_by_pass(tmp_path):
    unit = read_unit(write_unit(tmp_path))
    operands = Operands((1, 2, 3, 0xF), (5, 6, 7, 8), 100)
    expected = evaluate(unit.design, operands)
    assert expected == 100 + 5 + 12 + 21 + 8
    assert run_sources(unit, operands, expected).d == expected


@needs_icarus
def test_sources_that_are_not_their_netlist_are_an_internal_error(tmp_path):
    unit = read_unit(write_unit(tmp_path))
    (tmp_path / "dot.sv").write_text(WRONG)
    operands = Operands((0, 0xB), (0, 1), 0)
    with pytest.raises(SourcesDisagree, match="0x00000000"):
        run_sources(unit, operands, evaluate(unit.design, operands))


def test_without_a_simulator_it_says_so(tmp_path, monkeypatch):
    unit = read_unit(write_unit(tmp_path))
    monkeypatch.setenv("PATH", str(tmp_path))
    ran = run_sources(unit, Operands((0, 1), (0, 1), 0), 1)
    assert (ran.d, ran.reason) == (None, "none is installed: install iverilog (Icarus Verilog) or verilator")
    with pytest.raises(TargetUnavailable):
        simulate(unit, read_rows("uniform-bits", (unit.design,), k=None, rows=1, seed=0)[0].batch)


@needs_icarus
def test_undefined_bits_of_d_are_reported(tmp_path):
    unit = read_unit(write_unit(tmp_path, COMBINATIONAL.replace("d = c +", "d = (a == 0 ? 32'bx : c) +")))
    ran = run_sources(unit, Operands((0, 0), (0, 0), 0), 0)
    assert ran.undefined == 0xFFFFFFFF


@pytest.mark.few(1)
@pytest.mark.parametrize("kind", ["rtl", pytest.param("rtl-simulator", marks=needs_icarus)])
def test_rows_are_replayed(kind, tmp_path):
    path = write_unit(tmp_path, WRONG)
    target = find_target(f"{kind}:{path}")
    assert target.name == f"{kind}:{path}"
    rows = read_rows("uniform-bits", target.designs, k=None, rows=3000, seed=0)[0]
    wanted = evaluate_batch(read_unit(write_unit(_folder(tmp_path))).design, rows.batch)
    differ = int((wanted != target.run(rows).d).sum())
    assert 0 < differ == int(((rows.batch.a[:, 1] == 0xB) & (rows.batch.b[:, 1] != 0)).sum())

    other = read_rows("uniform-bits", (find_design("volta/mma.m8n8k4.f32.f16.f16.f32"),), k=None, rows=3, seed=0)[0]
    with pytest.raises(InputError, match="format mismatch"):
        target.design_of(other)


def _folder(tmp_path):
    (tmp_path / "right").mkdir()
    return tmp_path / "right"


def test_rows_hold_every_operand_once(tmp_path):
    unit = read_unit(write_unit(tmp_path))
    layout = layout_of(unit)
    places = [int(bit) for _, _, elements in layout.operands for bits in elements for bit in bits]
    assert sorted(places) == list(range(layout.row_bits))
    batch = read_rows("uniform-bits", (unit.design,), k=None, rows=5, seed=0)[0].batch
    lines = rows_text(layout, batch).splitlines()
    assert [int(x, 16) & 0xF for x in lines] == batch.a[:, 0].tolist()
    assert np.array([int(x, 16) >> 16 for x in lines]).tolist() == batch.c.tolist()
