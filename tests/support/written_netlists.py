"""Netlists written from designs: the terms of a design as cells, rewritten at random, and with one cell changed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from pysmt import operators as op
from pysmt.environment import Environment
from pysmt.fnode import FNode

from mmaproof.designs.circuit import Bit, Bits, Cell, Circuit
from mmaproof.designs.design import Design
from mmaproof.designs.errors import DesignError
from mmaproof.designs.parameters import Chain
from mmaproof.designs.steps import NetlistStep
from mmaproof.smt.algebra.protocol import Word
from mmaproof.smt.algebra.terms import TermAlgebra
from mmaproof.smt.proving.walk import bottom_up
from mmaproof.smt.semantics import OperandWords, dot_product_accumulate
from mmaproof.smt.solving.query import width_of

BINARY = {
    op.BV_ADD: "$add",
    op.BV_SUB: "$sub",
    op.BV_MUL: "$mul",
    op.BV_AND: "$and",
    op.BV_OR: "$or",
    op.BV_XOR: "$xor",
    op.BV_LSHL: "$shl",
    op.BV_LSHR: "$shr",
    op.BV_ASHR: "$sshr",
    op.AND: "$and",
    op.OR: "$or",
    op.EQUALS: "$eq",
    op.IFF: "$xnor",
    op.BV_COMP: "$eq",
    op.BV_ULT: "$lt",
    op.BV_ULE: "$le",
    op.BV_SLT: "$lt",
    op.BV_SLE: "$le",
}
UNARY = {op.BV_NOT: "$not", op.NOT: "$not", op.BV_NEG: "$neg"}
SIGNED = frozenset({op.BV_SLT, op.BV_SLE, op.BV_ASHR})
COMMUTES = frozenset({"$add", "$mul", "$and", "$or", "$xor", "$eq", "$xnor"})
OTHERS = {
    "$add": ("$or", "$xor", "$sub"),
    "$sub": ("$xor", "$add"),
    "$mul": ("$and", "$add"),
    "$and": ("$or", "$xor"),
    "$or": ("$xor", "$add", "$and"),
    "$xor": ("$or", "$xnor"),
    "$xnor": ("$or", "$xor"),
    "$shl": ("$shr",),
    "$shr": ("$sshr", "$shl"),
    "$sshr": ("$shr",),
    "$eq": ("$le", "$ge", "$ne"),
    "$lt": ("$le", "$ne"),
    "$le": ("$lt", "$ge"),
    "$not": ("$pos",),
    "$neg": ("$not", "$pos"),
}


@dataclass
class Writer:
    """Writes terms as cells. Where ``rng`` is given, it chooses among ways to write the same."""

    rng: np.random.Generator | None
    cells: list[Cell] = field(default_factory=list)
    nets: int = 0

    def new(self, width: int) -> Bits:
        """Return new nets."""
        found = tuple(range(self.nets, self.nets + width))
        self.nets += width
        return found

    def chance(self, of: float) -> bool:
        """Return True in N cases."""
        return self.rng is not None and bool(self.rng.random() < of)

    def cell(self, kind: str, width: int, *, signed: bool = False, **inputs: Bits) -> Bits:
        """Write a cell, and return its result."""
        found = self.new(width)
        parameters = {f"{port}_SIGNED": int(signed) for port in inputs}
        self.cells.append(Cell(f"cell{len(self.cells)}", kind, parameters, inputs, {"Y": found}))
        return found

    def extended(self, x: Bits, width: int, signed: bool) -> Bits:
        """Return a word in more bits."""
        return x + (x[-1] if signed else "0",) * (width - len(x))

    def added(self, x: Bits, y: Bits) -> Bits:
        """Write a sum."""
        width = len(x)
        if self.chance(0.2) and width > 1:  # in a wider word, of which the lower bits are kept
            signed, more = self.chance(0.5), width + 2
            wide = self.cell("$add", more, A=self.extended(x, more, signed), B=self.extended(y, more, signed))
            return wide[:width]
        if self.chance(0.15):  # x - ~y - 1
            return self.cell(
                "$sub", width, A=self.cell("$sub", width, A=x, B=self.not_(y)), B=self.extended(("1",), width, False)
            )
        if self.chance(0.15):  # (x ^ y) + 2 * (x & y)
            carry = self.cell("$and", width, A=x, B=y)
            return self.cell("$add", width, A=self.cell("$xor", width, A=x, B=y), B=("0", *carry[:-1]))
        return self.cell("$add", width, A=x, B=y)

    def not_(self, x: Bits) -> Bits:
        """Write a complement."""
        return self.cell("$not", len(x), A=x)

    def compressed(self, x: Bits, y: Bits, z: Bits) -> Bits:
        """Write the sum of three words by a carry-save adder."""
        width = len(x)
        total, carry = self.new(width), self.new(width)
        self.cells.append(Cell(f"cell{len(self.cells)}", "$fa", {}, {"A": x, "B": y, "C": z}, {"X": carry, "Y": total}))
        return self.added(total, ("0", *carry[:-1]))

    def write(self, node: FNode, operands: Sequence[Bits]) -> Bits:
        """Write the cell of a node, if it needs one."""
        kind, width = node.node_type(), max(1, width_of(node))
        if node.is_constant():
            value = int(node.constant_value())
            return tuple("1" if value >> i & 1 else "0" for i in range(width))
        match kind:
            case op.BV_CONCAT:
                return operands[1] + operands[0]
            case op.BV_EXTRACT:
                return operands[0][node.bv_extract_start() : node.bv_extract_end() + 1]
            case op.BV_ZEXT | op.BV_SEXT:
                return self.extended(operands[0], width, kind == op.BV_SEXT)
            case _:
                return self._operation(kind, width, operands)

    def _operation(self, kind: int, width: int, operands: Sequence[Bits]) -> Bits:
        if kind == op.ITE:
            select, yes, no = operands
            if self.chance(0.3):
                return self.cell("$mux", width, A=yes, B=no, S=self.not_(select))
            return self.cell("$mux", width, A=no, B=yes, S=select)
        if kind in UNARY:
            return self.cell(UNARY[kind], width, A=operands[0])
        if kind == op.IMPLIES:
            return self.cell("$or", 1, A=self.not_(operands[0]), B=operands[1])
        xs = list(operands)
        if self.rng is not None and BINARY[kind] in COMMUTES:
            xs = [xs[i] for i in self.rng.permutation(len(xs))]
        found = xs[0]
        for x in xs[1:]:
            if kind == op.BV_ADD:
                found = self.added(found, x)
            else:
                found = self.cell(BINARY[kind], width, signed=kind in SIGNED, A=found, B=x)
        return found


def sums_apart(term: FNode, environment: Environment) -> dict[FNode, list[FNode]]:
    """Return the words that each sum of a term adds, where sums inside are added nowhere else."""
    uses: dict[FNode, int] = {}
    nodes = {term: term}
    pending = [term]
    while pending:
        for x in pending.pop().args():
            uses[x] = uses.get(x, 0) + 1
            if x not in nodes:
                nodes[x] = x
                pending.append(x)
    found: dict[FNode, list[FNode]] = {}
    for node in nodes:
        if node.is_bv_add():
            words: list[FNode] = []
            of = list(node.args())
            while of:
                x = of.pop()
                if x.is_bv_add() and uses[x] == 1:
                    of += x.args()
                else:
                    words.append(x)
            found[node] = words
    return found


def netlist_of(design: Design, seed: int | None = None) -> Design:
    """Return a netlist of one instruction of a design. A seed rewrites it: it remains equal for all operands."""
    environment = Environment()
    algebra = TermAlgebra(environment)
    a, b, c, _ = design.formats

    def words(name: str, count: int, bits: int) -> list[Word[FNode]]:
        return [algebra.symbol(f"{name}{i}", bits) for i in range(count)]

    operands = OperandWords(words("a", design.k, a.bits), words("b", design.k, b.bits), algebra.symbol("c", c.bits))
    term = dot_product_accumulate(design, algebra, operands).d.data
    rng = None if seed is None else np.random.default_rng(seed)
    writer = Writer(rng)
    inputs = {w.data.symbol_name(): writer.new(w.width) for w in (*operands.a, *operands.b, operands.c)}
    sums = {} if rng is None else sums_apart(term, environment)
    known: dict[FNode, Bits] = {w.data: inputs[w.data.symbol_name()] for w in (*operands.a, *operands.b, operands.c)}

    def compute(node: FNode, of: Sequence[Bits]) -> Bits:
        words = sums.get(node)
        if words is None or rng is None or len(words) < 3 or not writer.chance(0.8):
            return writer.write(node, of)
        bits = [bottom_up(x, known, compute) for x in words]
        bits = [bits[i] for i in rng.permutation(len(bits))]
        while len(bits) > 2 and writer.chance(0.6):
            bits = [*bits[3:], writer.compressed(*bits[:3])]
        found = bits[0]
        for x in bits[1:]:
            found = writer.added(found, x)
        return found

    d = bottom_up(term, known, compute)
    needed = _needed(writer.cells, d)
    circuit = Circuit(f"netlist{seed}", inputs, {"d": d}, needed, {}, {})
    return of_circuit(design, circuit)


def of_circuit(design: Design, circuit: Circuit) -> Design:
    """Return a circuit as a design of the same operands as another."""
    step = NetlistStep(L=design.k, circuit=circuit)
    return Design("rtl", circuit.name, "RTL", design.signature, 1, 1, design.k, Chain(), step, "written by a test")


def _needed(cells: Sequence[Cell], d: Bits) -> tuple[Cell, ...]:
    wanted: set[Bit] = set(d)
    kept = []
    for cell in reversed(cells):
        if any(bit in wanted for bits in cell.outputs.values() for bit in bits):
            kept.append(cell)
            wanted |= {bit for bits in cell.inputs.values() for bit in bits}
    return tuple(reversed(kept))


def changed(netlist: Design, seed: int) -> Design:
    """Return a netlist with one cell changed: its kind, its signs, one bit of an input, or two inputs exchanged."""
    if not isinstance(netlist.step, NetlistStep):
        raise TypeError("no netlist")
    circuit, rng = netlist.step.circuit, np.random.default_rng(seed)
    while True:
        place = int(rng.integers(len(circuit.cells)))
        cell = _changed(circuit.cells[place], circuit, place, rng)
        if cell is not None:
            cells = (*circuit.cells[:place], cell, *circuit.cells[place + 1 :])
            try:
                return of_circuit(netlist, replace(circuit, name=f"{circuit.name}-{seed}", cells=cells))
            except DesignError:
                continue


def _changed(cell: Cell, circuit: Circuit, place: int, rng: np.random.Generator) -> Cell | None:
    inputs = dict(cell.inputs)
    match int(rng.integers(4)):
        case 0 if cell.kind in OTHERS:
            return replace(cell, kind=str(rng.choice(OTHERS[cell.kind])))
        case 1 if any(cell.parameters.values()):
            return replace(cell, parameters=dict.fromkeys(cell.parameters, 0))
        case 1 if cell.kind in ("$lt", "$le", "$shr"):
            return replace(cell, parameters=dict.fromkeys(cell.parameters, 1))
        case 2:
            port = str(rng.choice(sorted(inputs)))
            bits = list(inputs[port])
            earlier: list[Bit] = ["0", "1", *(x for c in circuit.cells[:place] for y in c.outputs.values() for x in y)]
            earlier += [x for y in circuit.inputs.values() for x in y]
            position = int(rng.integers(len(bits)))
            bits[position] = earlier[int(rng.integers(2 if rng.random() < 0.4 else len(earlier)))]
            return replace(cell, inputs=inputs | {port: tuple(bits)}) if tuple(bits) != inputs[port] else None
        case 3 if len(inputs.get("A", ())) == len(inputs.get("B", ())) and cell.kind not in COMMUTES:
            return replace(cell, inputs=inputs | {"A": inputs["B"], "B": inputs["A"]})
    return None
