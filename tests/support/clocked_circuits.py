"""Random circuits with registers, and what they do clock cycle by clock cycle: a simulator of a dozen kinds of cells.

A pipeline is drawn with registers at random cuts. Each of its words comes with the numbers of registers on its paths
from operands, as a set, which is counted while it is drawn. A unit of several passes has registers that feed back.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from mmaproof.designs.circuit import Bit, Bits, Cell
from mmaproof.rtl.netlist import Module, Port

OPERANDS = {"a0": 4, "a1": 4, "b0": 4, "b1": 4, "c": 8}
WIDTH = 8
"""bits of a word, and of d"""
Words = Mapping[str, int]

_COMPUTES: Mapping[str, Callable[[Sequence[int], int], int]] = {
    "$and": lambda v, w: v[0] & v[1],
    "$or": lambda v, w: v[0] | v[1],
    "$xor": lambda v, w: v[0] ^ v[1],
    "$not": lambda v, w: ~v[0],
    "$add": lambda v, w: v[0] + v[1],
    "$sub": lambda v, w: v[0] - v[1],
    "$mul": lambda v, w: v[0] * v[1],
    "$eq": lambda v, w: int(v[0] == v[1]),
    "$lt": lambda v, w: int(v[0] < v[1]),
    "$reduce_or": lambda v, w: int(v[0] != 0),
    "$mux": lambda v, w: v[1] if v[2] else v[0],
}
"""the values of A, B and S, and the width of Y"""
_TEXT = {
    **{f"${n}": f"{{a}} {x} {{b}}" for n, x in zip(("and", "or", "xor", "add", "sub", "mul"), "&|^+-*", strict=True)},
    "$not": "~{a}",
    "$eq": "{a} == {b}",
    "$lt": "{a} < {b}",
    "$reduce_or": "|{a}",
    "$mux": "{s} ? {b} : {a}",
}
BINARY = ("$and", "$or", "$xor", "$add", "$sub", "$mul")


@dataclass(frozen=True)
class Drawn:
    """A word, and the numbers of registers on its paths from operands (none: it depends on no operand)."""

    bits: Bits
    counts: frozenset[int] = frozenset()


@dataclass
class ClockedCircuit:
    """A module with a clock, and how it was drawn. ``inputs`` are the nets of its inputs by name, ``result`` is d."""

    inputs: dict[str, Bits] = field(default_factory=dict)
    cells: list[Cell] = field(default_factory=list)
    names: dict[str, Bits] = field(default_factory=dict)
    result: Drawn = field(default_factory=lambda: Drawn(()))
    nets: int = 0
    skews: dict[str, int] = field(default_factory=dict)
    """how many clock cycles later than others an operand is given"""

    def new(self, width: int) -> Bits:
        """Return new nets."""
        found = tuple(range(self.nets, self.nets + width))
        self.nets += width
        return found

    def input(self, name: str, width: int) -> Bits:
        """Add an input."""
        self.inputs[name] = self.new(width)
        return self.inputs[name]

    def cell(self, kind: str, width: int, **inputs: Bits) -> Bits:
        """Add a cell, and return its result."""
        found = self.new(width)
        parameters = {f"{port}_SIGNED": 0 for port in inputs}
        self.cells.append(Cell(f"x{len(self.cells)}", kind, parameters, inputs, {"Y": found}))
        return found

    def register(self, kind: str, q: Bits, d: Bits, parameters: Mapping[str, int], **inputs: Bits) -> None:
        """Add a register."""
        inputs = {"D": d} | ({"CLK": self.inputs["clk"]} | inputs)
        self.cells.append(Cell(f"r{len(self.cells)}", kind, {"CLK_POLARITY": 1} | dict(parameters), inputs, {"Q": q}))

    def verilog(self) -> str:
        """Return the module as text. Every net is a bit of the wire or register of what drives it."""
        names: dict[Bit, str] = {"0": "1'b0", "1": "1'b1"}
        held = {**self.inputs, **self.names} | {x.name: next(iter(x.outputs.values())) for x in self.cells}
        for name, bits in held.items():
            names |= {bit: f"{name}[{i}]" if len(bits) > 1 else name for i, bit in enumerate(bits)}

        def word(bits: Bits) -> str:
            return "{" + ", ".join(names[bit] for bit in reversed(bits)) + "}" if len(bits) > 1 else names[bits[0]]

        inputs = self.inputs.items()
        declared = [f"  wire [{len(bits) - 1}:0] {name};" for name, bits in self.names.items()]
        lines = list[str]()
        for cell in self.cells:
            made = f"[{len(held[cell.name]) - 1}:0] {cell.name}" if len(held[cell.name]) > 1 else cell.name
            if "Q" in cell.outputs:
                declared.append(f"  reg {made};")
                lines.append(_register_text(cell, word))
            else:
                declared.append(f"  wire {made};")
                a, b, s = (word(cell.inputs[port]) if port in cell.inputs else "" for port in "ABS")
                lines.append(f"  assign {cell.name} = {_TEXT[cell.kind].format(a=a, b=b, s=s)};")
        ports = [f"input [{len(bits) - 1}:0] {name}" if len(bits) > 1 else f"input {name}" for name, bits in inputs]
        head = f"module unit({', '.join(ports)}, output [{WIDTH - 1}:0] d);"
        return "\n".join([head, *declared, *lines, f"  assign d = {word(self.result.bits)};", "endmodule", ""])

    def module(self) -> Module:
        """Return the module."""
        ports = {n: Port(n, "input", bits) for n, bits in self.inputs.items()}
        ports["d"] = Port("d", "output", self.result.bits)
        return Module("clocked", ports, tuple(self.cells), self.names, {})


def _register_text(cell: Cell, word: Callable[[Bits], str]) -> str:
    """Return a register as text. Resets and loads without the clock are of constants."""
    loads = f"{cell.name} <= {word(cell.inputs['D'])};"
    controls = {"$adff": "ARST", "$aldff": "ALOAD", "$dffsr": "CLR"}
    if cell.kind not in controls:
        return f"  always @(posedge clk) {loads}"
    port = controls[cell.kind]
    signal, active = word(cell.inputs[port][:1]), cell.parameters[f"{port}_POLARITY"]
    edge, condition = (f"posedge {signal}", signal) if active else (f"negedge {signal}", f"!{signal}")
    value = f"{len(cell.inputs['D'])}'d{cell.parameters.get('ARST_VALUE', 0)}"
    value = word(cell.inputs["AD"]) if cell.kind == "$aldff" else value
    return f"  always @(posedge clk or {edge}) if ({condition}) {cell.name} <= {value}; else {loads}"


def value_of(bits: Bits, nets: Mapping[Bit, int]) -> int:
    """Return the number that some nets carry."""
    return sum(nets[bit] << i for i, bit in enumerate(bits))


class Simulation:
    """A circuit in time. ``state`` gives the bit of each net that a register drives."""

    def __init__(self, circuit: ClockedCircuit, rng: random.Random) -> None:
        self._circuit = circuit
        self._rng = rng
        driven = {bit for cell in circuit.cells for bits in cell.outputs.values() for bit in bits}
        given = {bit for bits in circuit.inputs.values() for bit in bits}
        self.undriven = [n for n in range(circuit.nets) if n not in driven and n not in given]
        self._registers = [x for x in circuit.cells if "Q" in x.outputs]
        self.state: dict[Bit, int] = {bit: rng.getrandbits(1) for x in self._registers for bit in x.outputs["Q"]}
        self.nets: dict[Bit, int] = {}

    def cycle(self, words: Words) -> int:
        """Give the inputs these values, and return d before the next edge of the clock, at which registers load."""
        nets: dict[Bit, int] = {"0": 0, "1": 1}
        nets |= {n: self._rng.getrandbits(1) for n in self.undriven}
        for name, bits in self._circuit.inputs.items():
            nets |= {bit: words[name] >> i & 1 for i, bit in enumerate(bits)}
        # what an active reset or load sets without the clock is only ever set from inputs here
        for cell in self._registers:
            self.state |= _set_without_clock(cell, nets)
        nets |= self.state
        left = [x for x in self._circuit.cells if "Q" not in x.outputs]
        while left:
            ready = [x for x in left if all(bit in nets for bits in x.inputs.values() for bit in bits)]
            for cell in ready:
                values = [value_of(cell.inputs[port], nets) for port in "ABS" if port in cell.inputs]
                y = cell.outputs["Y"]
                nets |= {bit: _COMPUTES[cell.kind](values, len(y)) >> i & 1 for i, bit in enumerate(y)}
            left = [x for x in left if x not in ready]
        self.nets = nets
        loaded = {q: nets[d] for x in self._registers for q, d in zip(x.outputs["Q"], x.inputs["D"], strict=True)}
        for cell in self._registers:
            loaded |= _set_without_clock(cell, nets)
        self.state = loaded
        return value_of(self._circuit.result.bits, nets)


def _set_without_clock(cell: Cell, nets: Mapping[Bit, int]) -> dict[Bit, int]:
    """Return the bits of a register that are set without the clock, and to what."""
    q = cell.outputs["Q"]
    if cell.kind == "$adff" and nets[cell.inputs["ARST"][0]] == cell.parameters["ARST_POLARITY"]:
        return {bit: cell.parameters["ARST_VALUE"] >> i & 1 for i, bit in enumerate(q)}
    if cell.kind == "$aldff" and nets[cell.inputs["ALOAD"][0]] == cell.parameters["ALOAD_POLARITY"]:
        return {bit: nets[d] for bit, d in zip(q, cell.inputs["AD"], strict=True)}
    if cell.kind == "$dffsr":
        found: dict[Bit, int] = {}
        for port, value in (("SET", 1), ("CLR", 0)):
            active = cell.parameters[f"{port}_POLARITY"]
            found |= {bit: value for bit, x in zip(q, cell.inputs[port], strict=True) if nets[x] == active}
        return found
    return {}


class _Drawing:
    """Draws one circuit."""

    def __init__(self, seed: int, is_skewed: bool = False) -> None:
        self.rng = random.Random(seed)
        self.circuit = ClockedCircuit()
        self.words: list[Drawn] = []
        self.circuit.input("clk", 1)
        for name in ("on", "off"):
            self.circuit.input(name, 1)
        for name, width in OPERANDS.items():
            skew = self.circuit.skews[name] = self.rng.randrange(4) if is_skewed else 0
            self.words.append(Drawn(self.circuit.input(name, width), frozenset({skew})))

    def some(self) -> Drawn:
        """Return a word, some of its bits in any order, or more of them."""
        x = self.rng.choice(self.words[-6:] if self.rng.random() < 0.6 else self.words)
        bits = list(x.bits)
        if self.rng.random() < 0.2:
            self.rng.shuffle(bits)
            bits = bits[: self.rng.randint(1, len(bits))]
        bits += [self.rng.choice(("0", "1", bits[-1])) for _ in range(WIDTH - len(bits))]
        return Drawn(tuple(bits[:WIDTH]), x.counts)

    def computed(self, operands: Sequence[Drawn]) -> Drawn:
        """Return a word that a cell or two compute of others."""
        x, y, z = operands
        counts = x.counts | y.counts
        match self.rng.randrange(6):
            case 0:
                of = self.circuit.cell(self.rng.choice(("$eq", "$lt")), 1, A=x.bits, B=y.bits)
                return Drawn(self.circuit.cell("$mux", WIDTH, A=x.bits, B=z.bits, S=of), counts | z.counts)
            case 1:
                of = self.circuit.cell("$reduce_or", 1, A=z.bits[:3])
                return Drawn(self.circuit.cell("$mux", WIDTH, A=x.bits, B=y.bits, S=of), counts | z.counts)
            case 2:
                return Drawn(self.circuit.cell("$not", WIDTH, A=x.bits), x.counts)
            case _:
                return Drawn(self.circuit.cell(self.rng.choice(BINARY), WIDTH, A=x.bits, B=y.bits), counts)

    def delayed(self, x: Drawn) -> Drawn:
        """Return a word one clock cycle later, by registers with an enable or a reset that is tied, or plain ones."""
        split = self.rng.randrange(1, WIDTH) if self.rng.random() < 0.3 else WIDTH
        bits = [self._register(part) for part in (x.bits[:split], x.bits[split:]) if part]
        return Drawn(sum(bits, ()), frozenset(n + 1 for n in x.counts))

    def _register(self, d: Bits) -> Bits:
        circuit, width = self.circuit, len(d)
        q, on, off = circuit.new(width), circuit.inputs["on"], circuit.inputs["off"]
        value = self.rng.getrandbits(width)
        constant: Bits = tuple("1" if value >> i & 1 else "0" for i in range(width))
        low = self.rng.random() < 0.5
        inactive, polarity = (on, 0) if low else (off, 1)
        match self.rng.randrange(8):
            case 0:  # an enable
                circuit.register("$dff", q, circuit.cell("$mux", width, A=q, B=d, S=on), {})
            case 1:  # an enable that is low
                circuit.register("$dff", q, circuit.cell("$mux", width, A=d, B=q, S=off), {})
            case 2:  # an enable that a register delays
                valid = circuit.new(1)
                circuit.register("$dff", valid, on, {})
                circuit.register("$dff", q, circuit.cell("$mux", width, A=q, B=d, S=valid), {})
            case 3:  # a synchronous reset
                circuit.register("$dff", q, circuit.cell("$mux", width, A=d, B=constant, S=off), {})
            case 4:
                circuit.register("$adff", q, d, {"ARST_POLARITY": polarity, "ARST_VALUE": value}, ARST=inactive)
            case 5:
                circuit.register("$aldff", q, d, {"ALOAD_POLARITY": polarity}, ALOAD=inactive, AD=constant)
            case 6:
                tied = {"SET_POLARITY": polarity, "CLR_POLARITY": polarity}
                circuit.register("$dffsr", q, d, tied, SET=inactive * width, CLR=inactive * width)
            case _:
                circuit.register("$dff", q, d, {})
        return q


def random_pipeline(
    seed: int, steps: int = 8, wrong: float = 0.08, is_skewed: bool = False, is_closed: bool = False
) -> ClockedCircuit:
    """Return a random circuit without feedback, once ``on`` is tied to 1 and ``off`` to 0.

    The words that a cell reads are delayed until their paths have as many registers, but for one register of the whole
    word or of one bit, which is left out in N cases (``wrong``). ``free`` is an input that is not an operand, and
    ``open`` a net that nothing drives; of one that ``is_closed`` neither reaches a result. Operands of one that
    ``is_skewed`` are given in different clock cycles, and count as many registers more.
    """
    drawing = _Drawing(seed, is_skewed)
    rng, circuit = drawing.rng, drawing.circuit
    circuit.names["open"] = circuit.new(1)
    others = [Drawn(_padded(circuit.input("free", 1))), Drawn(_padded(circuit.names["open"]))]

    def together(words: Sequence[Drawn]) -> list[Drawn]:
        longest = max((max(x.counts) for x in words if x.counts), default=0)
        found = []
        for word in words:
            short = longest - max(word.counts, default=longest)
            early, late = bool(short) and rng.random() < wrong, word
            for _ in range(short - early):
                late = drawing.delayed(late)
            if early and rng.random() < 0.5:  # one bit alone
                rest = drawing.delayed(late)
                late = Drawn((late.bits[0], *rest.bits[1:]), late.counts | rest.counts)
            found.append(late)
        return found

    for _ in range(steps):
        words = [drawing.some() for _ in range(3)]
        if rng.random() < 0.2 and not is_closed:
            words[rng.randrange(3)] = rng.choice(others)
        made = drawing.computed(together(words))
        for _ in range(rng.choice((0, 0, 1, 2))):
            made = drawing.delayed(made)
        drawing.words.append(made)
    first, second, last = together([*drawing.words[-2:], drawing.some()])
    mixed = circuit.cell("$xor", WIDTH, A=_padded(first.bits), B=_padded(second.bits))
    bits = circuit.cell("$add", WIDTH, A=mixed, B=last.bits)
    circuit.result = Drawn(bits, first.counts | second.counts | last.counts)
    return circuit


def with_a_register_more(circuit: ClockedCircuit, rng: random.Random) -> ClockedCircuit:
    """Return a pipeline with one register more, in front of one input of one of its cells that d depends on."""
    made = replace(circuit, cells=list(circuit.cells), names=dict(circuit.names))
    needed, more = set[Bit](), set(circuit.result.bits)
    while more - needed:
        needed |= more
        more = {y for x in made.cells if not needed.isdisjoint(next(iter(x.outputs.values()))) for y in _read(x)}
    reached = [i for i, x in enumerate(made.cells) if not needed.isdisjoint(next(iter(x.outputs.values())))]
    number = rng.choice([i for i in reached if "A" in made.cells[i].inputs])
    cell = made.cells[number]
    port = rng.choice([x for x in "AB" if any(isinstance(bit, int) for bit in cell.inputs.get(x, ()))])
    q = made.new(len(cell.inputs[port]))
    made.register("$dff", q, cell.inputs[port], {})
    made.cells[number] = replace(cell, inputs={**cell.inputs, port: q})
    return made


def _read(cell: Cell) -> set[Bit]:
    return {bit for port, bits in cell.inputs.items() for bit in bits if port != "CLK"}


def random_accumulator(seed: int) -> ClockedCircuit:
    """Return a random pipeline whose result goes into a register ``acc`` that is read again at once, which is d.

    In some circuits it is read a clock cycle late: it counts a register then. With an asynchronous reset or without.
    """
    circuit = random_pipeline(seed, steps=4, is_skewed=True)
    rng = random.Random(seed)
    q, late = circuit.new(WIDTH), circuit.new(WIDTH)
    circuit.names["acc"] = q
    is_late = rng.random() < 0.3
    if is_late:
        circuit.register("$dff", late, q, {})
    read, result = late if is_late else q, circuit.result.bits
    mixed = circuit.cell(rng.choice(BINARY), WIDTH, A=read, B=result)
    total = circuit.cell("$mux", WIDTH, A=mixed, B=read, S=result[:1])
    if rng.random() < 0.5:
        circuit.register("$dff", q, total, {})
    else:
        reset = circuit.inputs["off"]
        circuit.register("$adff", q, total, {"ARST_POLARITY": 1, "ARST_VALUE": rng.getrandbits(WIDTH)}, ARST=reset)
    # what is read late has passed one register more than the operands of the register itself
    longest = max(circuit.result.counts)
    circuit.result = Drawn(q, circuit.result.counts | {longest + is_late})
    return circuit


def _padded(bits: Bits) -> Bits:
    zero: Bit = "0"
    return bits + (zero,) * (WIDTH - len(bits))


def random_passes(seed: int, registers: int = 3, steps: int = 8) -> ClockedCircuit:
    """Return a random circuit whose registers feed back. ``rst`` resets some of them, with or without the clock."""
    drawing = _Drawing(seed)
    rng, circuit = drawing.rng, drawing.circuit
    reset = circuit.input("rst", 1)
    states = [circuit.new(WIDTH) for _ in range(registers)]
    for i, q in enumerate(states):
        circuit.names[f"state{i}"] = q
        drawing.words.append(Drawn(q, frozenset({0})))
    for _ in range(steps):
        drawing.words.append(drawing.computed([drawing.some() for _ in range(3)]))
    for q in states:
        d, value = drawing.some().bits, rng.getrandbits(WIDTH)
        constant: Bits = tuple("1" if value >> i & 1 else "0" for i in range(WIDTH))
        match rng.randrange(4):
            case 0:
                circuit.register("$dff", q, d, {})
            case 1:
                circuit.register("$adff", q, d, {"ARST_POLARITY": 1, "ARST_VALUE": value}, ARST=reset)
            case _:
                circuit.register("$dff", q, circuit.cell("$mux", WIDTH, A=d, B=constant, S=reset), {})
    circuit.result = drawing.computed([drawing.some(), *drawing.words[-2:]])
    return circuit
