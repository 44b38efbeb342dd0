"""Random circuits of all cells of Yosys' word-level library as RTLIL, and what Yosys itself computes with them."""

from __future__ import annotations

import json
import random
import re
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

BINARY = ("$and", "$or", "$xor", "$xnor", "$add", "$sub", "$mul")
DIVISION = ("$div", "$mod", "$divfloor", "$modfloor")
UNARY = ("$not", "$pos", "$neg")
SHIFTS = ("$shl", "$sshl", "$shr", "$sshr", "$shift", "$shiftx")
COMPARISONS = ("$eq", "$ne", "$eqx", "$nex", "$lt", "$le", "$gt", "$ge")
REDUCTIONS = ("$reduce_and", "$reduce_or", "$reduce_xor", "$reduce_xnor", "$reduce_bool", "$logic_not")
CONNECTIVES = ("$logic_and", "$logic_or")
CHOICES = ("$mux", "$pmux", "$bmux", "$demux", "$bwmux")
OTHERS = ("$buf", "$bweqx", "$slice", "$concat", "$lut", "$sop", "$alu", "$fa", "$lcu", "$pow")
GATES = {
    "$_BUF_": "A",
    "$_NOT_": "A",
    **dict.fromkeys(("$_AND_", "$_NAND_", "$_OR_", "$_NOR_", "$_XOR_", "$_XNOR_", "$_ANDNOT_", "$_ORNOT_"), "AB"),
    **dict.fromkeys(("$_AOI3_", "$_OAI3_"), "ABC"),
    **dict.fromkeys(("$_AOI4_", "$_OAI4_"), "ABCD"),
    **dict.fromkeys(("$_MUX_", "$_NMUX_"), "ABS"),
    "$_MUX4_": "ABCDST",
    "$_MUX8_": "ABCDEFGHSTU",
    "$_MUX16_": "ABCDEFGHIJKLMNOPSTUV",
}
KINDS = (
    *BINARY,
    *DIVISION,
    *UNARY,
    *SHIFTS,
    *COMPARISONS,
    *REDUCTIONS,
    *CONNECTIVES,
    *CHOICES,
    *OTHERS,
    *GATES,
)

UNDEFINING = (*DIVISION, "$shiftx", "$pmux")
"""Cells whose results may be undefined."""

EXACT = ("$eqx", "$nex", "$bweqx", "$pow")
"""Cells that do not simply hand on undefined bits in Yosys."""

NOT_BY_EVAL = ("$_MUX4_", "$_MUX8_", "$_MUX16_")
"""Yosys computes these by its own models of them."""


@dataclass
class RandomCircuit:
    """A module as RTLIL text, its inputs with their widths, and operands to try."""

    name: str
    inputs: dict[str, int]
    outputs: dict[str, int]
    text: str
    kinds: tuple[str, ...]
    rows: list[dict[str, int]] = field(default_factory=list)
    results: list[dict[str, str]] = field(default_factory=list)
    """what Yosys computes, as bits, the highest first; undefined ones are x"""
    module: dict[str, Any] = field(default_factory=dict)


class _Writer:
    """Adds one random cell after the other."""

    def __init__(self, rng: random.Random, widest: int) -> None:
        self.rng, self.widest = rng, widest
        self.wires: list[tuple[str, int]] = []
        self.lines: list[str] = []
        self.driven: list[tuple[str, int]] = []
        self.undefined: set[str] = set()
        """wires that may have undefined bits"""
        self.read: list[str] = []
        self.readable = self.wires

    def width(self) -> int:
        return self.rng.choice([1, 2, 3, self.rng.randint(1, self.widest)])

    def signal(self, width: int) -> str:
        """Return a random signal of a width: slices of wires and constants."""
        parts, left = [], width
        if self.rng.random() < 0.08:
            return f"{width}'{self.rng.getrandbits(width):0{width}b}"
        while left:
            if self.rng.random() < 0.12:
                count = self.rng.randint(1, left)
                bits = self.rng.choice([0, (1 << count) - 1, self.rng.getrandbits(count)])
                parts.append(f"{count}'{bits:0{count}b}")
            else:
                name, have = self.rng.choice(self.readable)
                self.read.append(name)
                count = self.rng.randint(1, min(left, have)) if self.rng.random() < 0.4 else min(left, have)
                low = self.rng.randint(0, have - count) if self.rng.random() < 0.5 else 0
                part = name if count == have else f"{name} [{low + count - 1}:{low}]"
                parts.append(part)
                if count == have == 1 and left > 1 and self.rng.random() < 0.2:
                    # copies of one bit
                    more = self.rng.randint(1, left - 1)
                    parts += [part] * more
                    count += more
            left -= count
        return parts[0] if len(parts) == 1 else "{ " + " ".join(parts) + " }"

    def cell(self, kind: str, parameters: dict[str, int], inputs: dict[str, int], outputs: dict[str, int]) -> None:
        number = len(self.lines)
        self.read, self.readable = [], self.wires
        if kind in EXACT:
            self.readable = [x for x in self.wires if x[0] not in self.undefined]
        self.lines.append(f"  cell {kind} $c{number}")
        for name, value in parameters.items():
            self.lines.append(f"    parameter \\{name} {value}")
        for port, width in inputs.items():
            self.lines.append(f"    connect \\{port} {self.signal(width)}")
        made = []
        for port, width in outputs.items():
            wire = f"\\w{number}_{port}"
            self.lines.append(f"    connect \\{port} {wire}")
            made.append((wire, width))
        self.lines.append("  end")
        if kind in UNDEFINING or self.undefined.intersection(self.read):
            self.undefined.update(wire for wire, _ in made)
        self.wires += made
        self.driven += made


def _table(value: int, width: int) -> Any:
    return f"{width}'{value:0{width}b}"


def _add_cell(w: _Writer, kind: str) -> None:  # noqa: PLR0912, PLR0915
    rng, a, b, y = w.rng, w.width(), w.width(), w.width()
    if kind in BINARY + DIVISION + COMPARISONS + CONNECTIVES + SHIFTS:
        a_signed, b_signed = rng.getrandbits(1), rng.getrandbits(1)
        if kind in SHIFTS:
            b = min(b, rng.choice([2, 3, 4, 6, w.widest]))
            b_signed = b_signed if kind in ("$shift", "$shiftx") else 0
            a_signed = 0 if kind == "$shiftx" else a_signed
        else:
            b_signed = b_signed if kind in CONNECTIVES else a_signed
        if kind in DIVISION:
            a, b = min(a, 12), min(b, 12)
        if kind == "$mul":
            a, b, y = min(a, 24), min(b, 24), min(y, 48)
        w.cell(
            kind,
            {"A_SIGNED": a_signed, "B_SIGNED": b_signed, "A_WIDTH": a, "B_WIDTH": b, "Y_WIDTH": y},
            {"A": a, "B": b},
            {"Y": y},
        )
    elif kind in UNARY + REDUCTIONS:
        w.cell(kind, {"A_SIGNED": rng.getrandbits(1), "A_WIDTH": a, "Y_WIDTH": y}, {"A": a}, {"Y": y})
    elif kind == "$buf":
        w.cell(kind, {"WIDTH": a}, {"A": a}, {"Y": a})
    elif kind == "$mux":
        w.cell(kind, {"WIDTH": a}, {"A": a, "B": a, "S": 1}, {"Y": a})
    elif kind in ("$bwmux", "$bweqx"):
        w.cell(kind, {"WIDTH": a}, {"A": a, "B": a} | ({"S": a} if kind == "$bwmux" else {}), {"Y": a})
    elif kind == "$pmux":
        s = rng.randint(1, 4)
        w.cell(kind, {"WIDTH": a, "S_WIDTH": s}, {"A": a, "B": a * s, "S": s}, {"Y": a})
    elif kind == "$bmux":
        s = rng.randint(1, 3)
        w.cell(kind, {"WIDTH": a, "S_WIDTH": s}, {"A": a << s, "S": s}, {"Y": a})
    elif kind == "$demux":
        s = rng.randint(1, 3)
        a = min(a, 8)
        w.cell(kind, {"WIDTH": a, "S_WIDTH": s}, {"A": a, "S": s}, {"Y": a << s})
    elif kind == "$slice":
        y = rng.randint(1, a)
        w.cell(kind, {"OFFSET": rng.randint(0, a - y), "A_WIDTH": a, "Y_WIDTH": y}, {"A": a}, {"Y": y})
    elif kind == "$concat":
        w.cell(kind, {"A_WIDTH": a, "B_WIDTH": b}, {"A": a, "B": b}, {"Y": a + b})
    elif kind == "$lut":
        s = rng.randint(1, 4)
        w.cell(kind, {"WIDTH": s, "LUT": _table(rng.getrandbits(1 << s), 1 << s)}, {"A": s}, {"Y": 1})
    elif kind == "$sop":
        s, depth = rng.randint(1, 4), rng.randint(1, 3)
        pairs = [rng.choice([0, 1, 2]) for _ in range(s * depth)]
        table = sum(pair << 2 * i for i, pair in enumerate(pairs))
        bits = 2 * s * depth
        w.cell(kind, {"WIDTH": s, "DEPTH": depth, "TABLE": _table(table, bits)}, {"A": s}, {"Y": 1})
    elif kind == "$alu":
        signed = rng.getrandbits(1)
        w.cell(
            kind,
            {"A_SIGNED": signed, "B_SIGNED": signed, "A_WIDTH": a, "B_WIDTH": b, "Y_WIDTH": y},
            {"A": a, "B": b, "CI": 1, "BI": 1},
            {"X": y, "Y": y, "CO": y},
        )
    elif kind == "$fa":
        w.cell(kind, {"WIDTH": a}, {"A": a, "B": a, "C": a}, {"X": a, "Y": a})
    elif kind == "$lcu":
        w.cell(kind, {"WIDTH": a}, {"P": a, "G": a, "CI": 1}, {"CO": a})
    elif kind == "$pow":
        _add_power(w, min(a, 12), min(y, 24))
    else:
        w.cell(kind, {}, dict.fromkeys(GATES[kind], 1), {"Y": 1})


def _add_power(w: _Writer, a: int, y: int) -> None:
    signal = w.signal
    exponent = w.rng.randint(0, 5)
    queue: list[Callable[[int], str]] = [signal, lambda width: f"4'{exponent:04b}"]
    w.signal = lambda width: queue.pop(0)(width)  # type: ignore[method-assign]
    signed = w.rng.getrandbits(1)
    parameters = {"A_SIGNED": signed, "B_SIGNED": signed, "A_WIDTH": a, "B_WIDTH": 4, "Y_WIDTH": y}
    w.cell("$pow", parameters, {"A": a, "B": 4}, {"Y": y})
    w.signal = signal  # type: ignore[method-assign]


def random_circuit(seed: int, *, cells: int = 12, widest: int = 40, first: str | None = None) -> RandomCircuit:
    """Return a circuit of random cells, the first of which is of the kind ``first``."""
    rng = random.Random(seed)
    w = _Writer(rng, widest)
    inputs = {f"in{i}": w.width() for i in range(rng.randint(2, 5))}
    w.wires = [(f"\\{name}", width) for name, width in inputs.items()]
    kinds = [first or rng.choice(KINDS), *(rng.choice(KINDS) for _ in range(cells - 1))]
    for kind in kinds:
        _add_cell(w, kind)
    lines = [f"module \\m{seed}"]
    for port, (name, width) in enumerate(inputs.items()):
        lines.append(f"  wire width {width} input {port + 1} \\{name}")
    outputs = {}
    for port, (wire, width) in enumerate(w.driven):
        lines.append(f"  wire width {width} output {port + 1 + len(inputs)} {wire}")
        outputs[wire[1:]] = width
    text = "\n".join([*lines, *w.lines, "end"]) + "\n"
    circuit = RandomCircuit(f"m{seed}", inputs, outputs, text, tuple(kinds))
    for _ in range(8):
        row = {name: _value(rng, width) for name, width in inputs.items()}
        circuit.rows.append(row)
    return circuit


def _value(rng: random.Random, width: int) -> int:
    ones = (1 << width) - 1
    return rng.choice([rng.getrandbits(width), rng.getrandbits(width), 0, ones, 1 & ones, 1 << (width - 1)])


_CHILD = """
import sys
from pyosys import libyosys
design = libyosys.Design()
for command in sys.stdin.read().splitlines():
    libyosys.run_pass(command, design)
"""


def with_yosys(circuits: Sequence[RandomCircuit], folder: Path) -> None:
    """Let Yosys read all circuits, compute their rows and write them as JSON, in one process."""
    source, output = folder / "circuits.il", folder / "circuits.json"
    source.write_text("".join(c.text for c in circuits))
    wide_choices = " ".join(f"*/t:{kind}" for kind in NOT_BY_EVAL)
    commands = [f"read_rtlil {source}", f"write_json {output}", f"techmap -map +/simcells.v {wide_choices}"]
    for c in circuits:
        shown = " ".join(f"-show \\{name}" for name in c.outputs)
        for row in c.rows:
            sets = " ".join(f"-set \\{n} {c.inputs[n]}'b{x:0{c.inputs[n]}b}" for n, x in row.items())
            commands += [f"log row {c.name}", f"cd {c.name}", f"eval {sets} {shown}", "cd .."]
    done = subprocess.run(
        [sys.executable, "-c", _CHILD], input="\n".join(commands), capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise RuntimeError(done.stdout[-2000:] + done.stderr[-2000:])
    held = json.loads(output.read_text())["modules"]
    by_name = {c.name: c for c in circuits}
    current: RandomCircuit | None = None
    for line in done.stdout.splitlines():
        if found := re.fullmatch(r"row (\S+)", line.strip()):
            current = by_name[found[1]]
            current.results.append({})
        elif (found := re.match(r"Eval result: \\(\S+) = (?:\d+'([01xz]+)|(-?\d+))\.", line)) and current is not None:
            name = found[1]
            current.results[-1][name] = found[2] or f"{int(found[3]):0{current.outputs[name]}b}"
    for c in circuits:
        c.module = held[c.name]
