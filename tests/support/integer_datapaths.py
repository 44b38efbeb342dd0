"""Gates of multipliers, dot products and multiply-accumulates of every architecture, flat and without names.

A unit is partial products, a tree that adds them up in columns, and a last adder. Bits are numbers of gates; a gate is
an operator with its operands. ``sv`` writes them as SystemVerilog, ``word`` as terms.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

from pysmt.fnode import FNode

from mmaproof.smt.algebra.terms import TermAlgebra

Gate = tuple[str, tuple[int, ...]]
ZERO, ONE = 0, 1


@dataclass
class Netlist:
    """Gates in order: "0", "1", inputs (with their place in the word of all operands), not, and, or, xor, mux."""

    gates: list[Gate] = field(default_factory=lambda: [("0", ()), ("1", ())])
    outputs: list[int] = field(default_factory=list)

    def add(self, kind: str, *inputs: int) -> int:
        """Return a new gate."""
        self.gates.append((kind, inputs))
        return len(self.gates) - 1

    def input(self, place: int) -> int:
        return self.add("input", place)

    def all_of(self, *bits: int) -> int:
        bits = tuple(b for b in bits if b != ONE)
        if ZERO in bits:
            return ZERO
        return bits[0] if len(bits) == 1 else self.add("and", *bits) if bits else ONE

    def any_of(self, *bits: int) -> int:
        bits = tuple(b for b in bits if b != ZERO)
        if ONE in bits:
            return ONE
        return bits[0] if len(bits) == 1 else self.add("or", *bits) if bits else ZERO

    def inverted(self, x: int) -> int:
        return {ZERO: ONE, ONE: ZERO}.get(x) or (self.add("not", x) if x > 1 else ZERO)

    def xor(self, x: int, y: int) -> int:
        if x in (ZERO, ONE) or y in (ZERO, ONE):
            constant, other = (x, y) if x in (ZERO, ONE) else (y, x)
            return self.inverted(other) if constant else other
        return self.add("xor", x, y)

    def full_adder(self, x: int, y: int, z: int) -> tuple[int, int]:
        p = self.xor(x, y)
        return self.xor(p, z), self.any_of(self.all_of(x, y), self.all_of(p, z))

    def half_adder(self, x: int, y: int) -> tuple[int, int]:
        return self.xor(x, y), self.all_of(x, y)

    def evaluate(self, values: int, mutant: tuple[int, Gate] | None = None) -> int:
        """Return the outputs as a number, for one value of all operands."""
        found: list[int] = []
        for number, gate in enumerate(self.gates):
            kind, inputs = mutant[1] if mutant is not None and mutant[0] == number else gate
            of = [found[i] for i in inputs] if kind != "input" else []
            match kind:
                case "0" | "1":
                    found.append(int(kind))
                case "input":
                    found.append(values >> inputs[0] & 1)
                case "not":
                    found.append(1 - of[0])
                case "and":
                    found.append(int(all(of)))
                case "or":
                    found.append(int(any(of)))
                case "xor":
                    found.append(of[0] ^ of[1])
                case _:
                    found.append(of[2] if of[0] else of[1])
        return sum(found[x] << i for i, x in enumerate(self.outputs))

    def with_gate(self, number: int, gate: Gate) -> Netlist:
        """Return the netlist with another gate in one place."""
        return replace(self, gates=[*self.gates[:number], gate, *self.gates[number + 1 :]])

    def sv(self, ports: Sequence[tuple[str, int]], top: str = "unit") -> str:
        """Return the module: inputs by name and width, in the order of their places, and d."""
        lines = [f"module {top}({', '.join(f'input [{w - 1}:0] {n}' for n, w in ports)}, "]
        lines[0] += f"output [{len(self.outputs) - 1}:0] d);"
        places = [f"{n}[{i}]" for n, w in ports for i in range(w)]
        signs = {"and": " & ", "or": " | ", "xor": " ^ "}
        names = {0: "1'b0", 1: "1'b1"}
        for number, (kind, inputs) in enumerate(self.gates[2:], 2):
            names[number] = places[inputs[0]] if kind == "input" else f"n{number}"
            if kind == "input":
                continue
            of = [names[i] for i in inputs]
            text = f"~{of[0]}" if kind == "not" else f"{of[0]} ? {of[2]} : {of[1]}" if kind == "mux" else ""
            lines.append(f"wire n{number} = {text or signs[kind].join(of)};")
        lines += [f"assign d[{i}] = {names[x]};" for i, x in enumerate(self.outputs)]
        return "\n".join((*lines, "endmodule", ""))

    def mapped(self, folder: Path) -> Netlist:
        """Return the gates of ``synth`` of Yosys, flat and without names."""
        inputs = sum(kind == "input" for kind, _ in self.gates)
        (folder / "unit.v").write_text(self.sv([("x", inputs)]))
        commands = [f"read_verilog -sv {folder / 'unit.v'}", "synth -flatten -top unit", "rename -hide"]
        commands.append(f"write_json {folder / 'unit.json'}")
        run = f"from pyosys import libyosys as y; d = y.Design(); [y.run_pass(c, d) for c in {commands!r}]"
        subprocess.run([sys.executable, "-c", run], check=True, stdout=subprocess.DEVNULL)
        module = json.loads((folder / "unit.json").read_text())["modules"]["unit"]
        found, gates = Netlist(), dict[str | int, int]()
        gates |= {"0": ZERO, "1": ONE} | {bit: found.input(i) for i, bit in enumerate(module["ports"]["x"]["bits"])}
        drivers = {x["connections"]["Y"][0]: x for x in module["cells"].values()}
        pending = list(module["ports"]["d"]["bits"])
        while pending:
            bit = pending[-1]
            of = (
                []
                if bit in gates
                else [drivers[bit]["connections"][p][0] for p in "SAB" if p in drivers[bit]["connections"]]
            )
            missing = [x for x in of if x not in gates]
            pending += missing
            if bit not in gates and not missing:
                gates[bit] = found.cell(drivers[bit]["type"].strip("$_").lower(), [gates[x] for x in of])
            if not missing:
                pending.pop()
        found.outputs = [gates[bit] for bit in module["ports"]["d"]["bits"]]
        return found

    def cell(self, kind: str, inputs: Sequence[int]) -> int:
        """Return a gate of Yosys's library."""
        *others, last = inputs
        if kind in ("andnot", "ornot"):
            return self.add(kind.removesuffix("not"), *others, self.add("not", last))
        if kind in ("nand", "nor", "xnor", "nmux"):
            return self.add("not", self.add({"xnor": "xor", "nmux": "mux"}.get(kind, kind[1:]), *inputs))
        return self.add(kind, *inputs)

    def word(self, algebra: TermAlgebra, operands: FNode) -> FNode:
        """Return the outputs as a word over that of all operands."""
        m: Any = algebra.environment.formula_manager
        found: list[FNode] = []
        for kind, inputs in self.gates:
            of = [found[i] for i in inputs] if kind != "input" else []
            match kind:
                case "0" | "1":
                    found.append(m.BV(int(kind), 1))
                case "input":
                    found.append(m.BVExtract(operands, inputs[0], inputs[0]))
                case "not":
                    found.append(m.BVNot(of[0]))
                case "mux":
                    found.append(m.Ite(m.Equals(of[0], m.BV(1, 1)), of[2], of[1]))
                case _:
                    joined = of[0]
                    for y in of[1:]:
                        joined = {"and": m.BVAnd, "or": m.BVOr, "xor": m.BVXor}[kind](joined, y)
                    found.append(joined)
        word = found[self.outputs[0]]
        for x in self.outputs[1:]:
            word = m.BVConcat(found[x], word)
        return word


Columns = list[list[int]]

# --- partial products ---------------------------------------------------------------------------------------------


def simple(n: Netlist, a: Sequence[int], b: Sequence[int], columns: Columns, signed: bool) -> None:
    """One row for each bit of b. Signed: Baugh and Wooley, with inverted bits and ones in place of signs."""
    last = (len(a) - 1, len(b) - 1)
    for i, x in enumerate(a):
        for j, y in enumerate(b):
            bit = n.all_of(x, y)
            if signed and (i == last[0]) != (j == last[1]):
                bit = n.inverted(bit)
            _put(columns, i + j, bit)
    if signed:
        for place in (last[0], last[1], sum(last) + 1):
            _put(columns, place, ONE)
        if last[0] + last[1] + 2 < len(columns):
            for place in range(sum(last) + 2, len(columns)):
                _put(columns, place, ONE)


def booth(n: Netlist, a: Sequence[int], b: Sequence[int], columns: Columns, signed: bool, radix: int = 4) -> None:
    """Booth's recoding of b, radix 2 or 4; signs are extended by inverted bits and ones."""
    a, b = list(a), list(b)
    if not signed:
        a, b = [*a, ZERO], [*b, ZERO]
    step = radix // 2
    if len(b) % step:
        b.append(b[-1] if signed else ZERO)
    below = ZERO
    for j in range(0, len(b), step):
        if radix == 4:
            low, high = b[j], b[j + 1]
            one = n.xor(low, below)
            two = n.any_of(n.all_of(high, n.inverted(low), n.inverted(below)), n.all_of(n.inverted(high), low, below))
            negative, below = high, high
        else:
            one, two, negative = n.xor(b[j], below), ZERO, b[j]
            below = b[j]
        row = []
        for i in range(len(a) + 1):
            x = a[i] if i < len(a) else a[-1]
            before = a[i - 1] if i else ZERO
            chosen = n.any_of(n.all_of(one, x), n.all_of(two, before))
            row.append(n.xor(negative, chosen))
        for i, bit in enumerate(row[:-1]):
            _put(columns, j + i, bit)
        _put(columns, j + len(row) - 1, n.inverted(row[-1]))
        for place in range(j + len(row) - 1, len(columns)):
            _put(columns, place, ONE)
        _put(columns, j, negative)


def _put(columns: Columns, place: int, bit: int) -> None:
    """Put a bit into a column. Ones are added up at once, so a column has one of them at most."""
    if place >= len(columns) or bit == ZERO:
        return
    if bit == ONE and ONE in columns[place]:
        columns[place].remove(ONE)
        _put(columns, place + 1, ONE)
    else:
        columns[place].append(bit)


PRODUCTS: Mapping[str, Callable[..., None]] = {
    "simple": simple,
    "booth2": partial(booth, radix=2),
    "booth4": partial(booth, radix=4),
}

# --- trees --------------------------------------------------------------------------------------------------------


def array(n: Netlist, columns: Columns) -> Columns:
    """Add one more row at a time to two rows."""
    height = max(map(len, columns))
    rows = [[c[i] if i < len(c) else ZERO for c in columns] for i in range(height)]
    while len(rows) > 2:
        x, y, z, *rest = rows
        added, carries = [], [ZERO]
        for bits in zip(x, y, z, strict=True):
            s, c = n.full_adder(*sorted(bits, reverse=True))
            added.append(s)
            carries.append(c)
        rows = [added, carries[: len(columns)], *rest]
    return [[r[i] for r in rows if r[i] != ZERO] for i in range(len(columns))]


def wallace(n: Netlist, columns: Columns) -> Columns:
    """Add as many bits as there are, in every step."""
    while max(map(len, columns)) > 2:
        found: Columns = [[] for _ in columns]
        for i, column in enumerate(columns):
            bits = list(column)
            while len(bits) >= 2:
                count = min(len(bits), 3)
                adder = n.full_adder if count == 3 else n.half_adder
                s, c = adder(*bits[:count])
                del bits[:count]
                found[i].append(s)
                if i + 1 < len(columns):
                    found[i + 1].append(c)
            found[i] += bits
        columns = [[b for b in c if b != ZERO] for c in found]
    return columns


def dadda(n: Netlist, columns: Columns) -> Columns:
    """Add as few bits as reach the next height of 2, 3, 4, 6, 9 and so on."""
    heights = [2]
    while heights[-1] < max(map(len, columns)):
        heights.append(heights[-1] * 3 // 2)
    columns = [list(c) for c in columns]
    for height in reversed(heights):
        for i, bits in enumerate(columns):
            while len(bits) > height:
                count = 2 if len(bits) == height + 1 else 3
                adder = n.full_adder if count == 3 else n.half_adder
                s, c = adder(*bits[:count])
                del bits[:count]
                bits.append(s)
                if i + 1 < len(columns):
                    columns[i + 1].append(c)
    return columns


def counters(n: Netlist, columns: Columns) -> Columns:
    """Add seven bits at once to three, and the rest as Dadda does."""
    columns = [list(c) for c in columns]
    for i, bits in enumerate(columns):
        while len(bits) >= 7:
            (s1, c1), (s2, c2) = n.full_adder(*bits[:3]), n.full_adder(*bits[3:6])
            s, c3 = n.full_adder(s1, s2, bits[6])
            two, four = n.full_adder(c1, c2, c3)
            del bits[:7]
            bits.append(s)
            for place, bit in ((i + 1, two), (i + 2, four)):
                if place < len(columns):
                    columns[place].append(bit)
    return dadda(n, columns)


TREES: Mapping[str, Callable[[Netlist, Columns], Columns]] = {
    "array": array,
    "wallace": wallace,
    "dadda": dadda,
    "counters": counters,
}

# --- last adders --------------------------------------------------------------------------------------------------

Pair = tuple[int, int]


def _prefix(n: Netlist, spans: Callable[[int], list[list[tuple[int, int]]]]) -> Callable[[list[Pair]], list[int]]:
    """Return an adder that joins pairs of generate and propagate level by level, as ``spans`` says."""

    def carries(pairs: list[Pair]) -> list[int]:
        pairs = list(pairs)
        for level in spans(len(pairs)):
            old = list(pairs)
            for high, low in level:
                g, p = old[high]
                h, q = old[low]
                pairs[high] = (n.any_of(g, n.all_of(p, h)), n.all_of(p, q))
        return [g for g, _ in pairs]

    return carries


def kogge_stone(width: int) -> list[list[tuple[int, int]]]:
    return [[(i, i - d) for i in range(d, width)] for d in _powers(width)]


def ladner_fischer(width: int) -> list[list[tuple[int, int]]]:
    return [[(i, i // d * d - 1) for i in range(width) if i // d % 2] for d in _powers(width)]


def brent_kung(width: int) -> list[list[tuple[int, int]]]:
    up = [[(i, i - d) for i in range(2 * d - 1, width, 2 * d)] for d in _powers(width)]
    down = [[(i, i - d) for i in range(3 * d - 1, width, 2 * d)] for d in reversed(_powers(width))]
    return [*up, *down]


def han_carlson(width: int) -> list[list[tuple[int, int]]]:
    odd = [[(i, i - 1) for i in range(1, width, 2)]]
    odd += [[(i, i - d) for i in range(1, width, 2) if i > d] for d in _powers(width)[1:]]
    return [*odd, [(i, i - 1) for i in range(2, width, 2)]]


def _powers(width: int) -> list[int]:
    return [1 << i for i in range((width - 1).bit_length())]


def lookahead(n: Netlist, pairs: list[Pair], block: int = 4) -> list[int]:
    """Carries of blocks of four, each from all generates and propagates of its block, ripple between blocks."""
    found, into = [], ZERO
    for first in range(0, len(pairs), block):
        part = pairs[first : first + block]
        for i in range(len(part)):
            terms = [part[i][0]]
            for j in range(i):
                terms.append(n.all_of(part[j][0], *(p for _, p in part[j + 1 : i + 1])))
            terms.append(n.all_of(into, *(p for _, p in part[: i + 1])))
            found.append(n.any_of(*terms))
        into = found[-1]
    return found


def entered(n: Netlist, pairs: list[Pair], block: int = 4) -> list[int]:
    """Carries of blocks of four. What enters a block is joined to each position before what the block generates."""
    found, into = [], ZERO
    for first in range(0, len(pairs), block):
        below: Pair = (ZERO, ONE)
        for g, p in pairs[first : first + block]:
            passed = n.all_of(p, below[1])
            found.append(n.any_of(n.all_of(p, below[0]), n.any_of(g, n.all_of(passed, into))))
            below = (n.any_of(g, n.all_of(p, below[0])), passed)
        into = found[-1]
    return found


def ripple(n: Netlist, pairs: list[Pair]) -> list[int]:
    found, into = [], ZERO
    for g, p in pairs:
        into = n.any_of(g, n.all_of(p, into))
        found.append(into)
    return found


ADDERS: Mapping[str, Callable[[Netlist], Callable[[list[Pair]], list[int]]]] = {
    "ripple": lambda n: lambda pairs: ripple(n, pairs),
    "lookahead": lambda n: lambda pairs: lookahead(n, pairs),
    "entered": lambda n: lambda pairs: entered(n, pairs),
    "kogge-stone": lambda n: _prefix(n, kogge_stone),
    "brent-kung": lambda n: _prefix(n, brent_kung),
    "ladner-fischer": lambda n: _prefix(n, ladner_fischer),
    "han-carlson": lambda n: _prefix(n, han_carlson),
}


def add_up(n: Netlist, columns: Columns, tree: str, adder: str) -> list[int]:
    """Return the sum of columns, one bit for each."""
    columns = TREES[tree](n, columns)
    pairs: list[Pair] = []
    for c in columns:
        x, y = (*c, ZERO, ZERO)[:2]
        pairs.append((n.all_of(x, y), n.xor(x, y)))
    carries = ADDERS[adder](n)(pairs)
    return [n.xor(p, c) for (_, p), c in zip(pairs, [ZERO, *carries], strict=False)]


@dataclass(frozen=True)
class Datapath:
    """A unit: ``c`` (of the width of d, if it is wanted) and products of ``width`` bits each, modulo 2^``result``."""

    products: str
    tree: str
    adder: str
    width: int
    signed: bool = True
    count: int = 1
    result: int = 0
    with_c: bool = False

    @property
    def bits(self) -> int:
        """The bits of d."""
        return self.result or 2 * self.width

    @property
    def operand_bits(self) -> int:
        """The bits of all operands: a, b and c."""
        return 2 * self.count * self.width + (self.bits if self.with_c else 0)

    def netlist(self) -> Netlist:
        """Return the gates."""
        n, columns = self._columns()
        n.outputs = add_up(n, columns, self.tree, self.adder)
        return n

    def saved(self) -> Netlist:
        """Return the gates without the last adder: the two words that it adds, the second one above the first."""
        n, columns = self._columns()
        pairs = [(*c, ZERO, ZERO) for c in TREES[self.tree](n, columns)]
        n.outputs = [p[i] for i in (0, 1) for p in pairs]
        return n

    def _columns(self) -> tuple[Netlist, Columns]:
        n = Netlist()
        bits = [n.input(i) for i in range(self.operand_bits)]
        columns: Columns = [[] for _ in range(self.bits)]
        half = self.count * self.width
        for k in range(self.count):
            a = bits[k * self.width : (k + 1) * self.width]
            b = bits[half + k * self.width : half + (k + 1) * self.width]
            PRODUCTS[self.products](n, a, b, columns, self.signed)
        if self.with_c:
            for i, x in enumerate(bits[2 * half :]):
                _put(columns, i, x)
        return n, columns

    def value(self, operands: int) -> int:
        """Return d of one value of all operands, computed on integers."""
        half, mask = self.count * self.width, (1 << self.width) - 1

        def number(x: int) -> int:
            return x - (1 << self.width) if self.signed and x >> (self.width - 1) else x

        total = operands >> 2 * half if self.with_c else 0
        for k in range(self.count):
            a, b = operands >> k * self.width & mask, operands >> half + k * self.width & mask
            total += number(a) * number(b)
        return total % (1 << self.bits)

    def model(self, algebra: TermAlgebra, operands: FNode) -> FNode:
        """Return d as a term of products and sums."""
        m: Any = algebra.environment.formula_manager
        half, wide = self.count * self.width, max(self.bits, 2 * self.width)

        def number(low: int) -> FNode:
            part = m.BVExtract(operands, low, low + self.width - 1)
            return (m.BVSExt if self.signed else m.BVZExt)(part, wide - self.width)

        total = m.BV(0, wide)
        for k in range(self.count):
            total = m.BVAdd(total, m.BVMul(number(k * self.width), number(half + k * self.width)))
        total = m.BVExtract(total, 0, self.bits - 1)
        if self.with_c:
            total = m.BVAdd(total, m.BVExtract(operands, 2 * half, self.operand_bits - 1))
        return total


def architectures(*widths: int) -> Iterator[Datapath]:
    """Yield a multiplier of every scheme of products, tree, last adder, width and sign."""
    for products, tree, width, signed, adder in product(PRODUCTS, TREES, widths, (False, True), ADDERS):
        yield Datapath(products, tree, adder, width, signed)
