"""Valid and ready: stalls do not matter to a pipeline, whenever they come.

The control of the pipeline is run from its reset through every state that it can reach, with any value of the inputs
that say "valid" and "ready" in each clock cycle. There are few such states. What an operand is makes no difference
there, so data are terms: an element of the operands of one transfer, or a cell over terms. A cell over terms of two
transfers, or over what no transfer has, is junk. A multiplexer that the control steers is what it selects.

What is checked in every state: a result that is offered is the oldest one that was not taken yet, as the same term that
the pipeline computes where nothing stalls. So none is lost, none comes twice, and they are in order. It is also checked
that each operand set is taken and each result comes, if nobody stalls from then on. The states are finitely many, so
this holds for any number of clock cycles. What is computed where nothing stalls is what is proved elsewhere.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from mmaproof.designs.circuit import Bit, Bits, Cell
from mmaproof.designs.errors import InputError
from mmaproof.rtl.netlist import Module, cone, drivers_of, in_order, input_bits
from mmaproof.rtl.registers import check_controls, registers_of
from mmaproof.smt.algebra.integers import IntegerAlgebra
from mmaproof.smt.semantics.cells import RULES, cell_outputs
from mmaproof.smt.semantics.wires import Wires

Term = tuple[int, int | None]
"""The number of a shape, and the transfer whose operands it is of: 0 is the oldest that is not taken yet, None is of
operands that are held."""
Value = str | Term | None
"""What a bit is: "0", "1", a term, or None, which is junk."""
Values = tuple[Value, ...]

MOST_STATES = 20_000
_ALGEBRA = IntegerAlgebra()
_BITWISE = {"$and", "$or", "$xor", "$xnor"}
_SELECTS = ("$mux", "$_MUX_")
_ANY = {"$reduce_or", "$reduce_bool", "$logic_or"}
_ALL = {"$reduce_and"}


@dataclass(frozen=True, slots=True)
class Ports:
    """The bits of a handshake. One that a side does not have is None: it is always ready."""

    valid_in: Bit
    ready_in: Bit | None
    valid_out: Bit
    ready_out: Bit | None
    reset: Bit
    resets: str
    """the value of the reset that resets"""


@dataclass(frozen=True, slots=True)
class _State:
    """What registers hold, and how many transfers were taken in whose results were not taken yet."""

    held: Values
    in_flight: int


@dataclass(frozen=True, slots=True)
class _Cycle:
    """A clock cycle: what the handshake does, d, and the state after it."""

    takes: bool
    offers: bool
    gives: bool
    d: Values
    after: _State


@dataclass
class _Machine:
    """The part of a module that its results and its handshake depend on, over terms."""

    module: Module
    path: str
    ports: Ports
    operands: Mapping[str, Bits]
    held: Mapping[str, Bits]
    result: Bits
    clock: Bit
    shapes: dict[Any, int] = field(default_factory=dict)
    computed: dict[Any, dict[str, Values]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.registers = registers_of(self.module)
        drivers = drivers_of(self.module)
        start = [*self.result, self.ports.valid_out, *([] if self.ports.ready_in is None else [self.ports.ready_in])]

        def before(number: int) -> list[Bit]:
            register = self.registers.get(number)
            if register is None:
                return list(input_bits(self.module.cells[number]))
            return [*register.d, *(register.loaded or ()), *(bit for bit, _ in register.loads)]

        reached = cone(start, drivers, before)
        self.used = [self.registers[i] for i in sorted(reached & self.registers.keys())]
        for i in sorted(reached - self.registers.keys()):
            if self.module.cells[i].kind not in RULES:
                raise InputError(f"{self.path}: [handshake]: {self.module.cells[i].describe()} is not covered")
        for register in self.used:
            check_controls(register, self.clock, self.path, (self.ports.reset,))
        self.order = [self.module.cells[i] for i in in_order(self.module, drivers, self.registers) if i in reached]
        self.q: Bits = tuple(bit for x in self.used for bit in x.q)

    def shape(self, key: Any) -> int:
        return self.shapes.setdefault(key, len(self.shapes))

    def leaves(self, names: Mapping[str, Bits], transfer: int | None) -> dict[Bit, Value]:
        return {
            bit: (self.shape(("operand", name, i)), transfer)
            for name, bits in names.items()
            for i, bit in enumerate(bits)
        }

    # --- one clock cycle ---------------------------------------------------------------------------------------------

    def nets(self, held: Values, given: Mapping[Bit, Value]) -> dict[Bit, Value]:
        """Return the value of every net, where a net that is not given, and that nothing drives, is junk."""
        nets: dict[Bit, Value] = {"0": "0", "1": "1", **dict(zip(self.q, held, strict=True))}
        nets |= {**self.leaves(self.held, None), **given}
        for cell in self.order:
            inputs = {port: tuple(nets.get(bit) for bit in bits) for port, bits in cell.inputs.items()}
            for port, values in self._outputs(cell, inputs).items():
                nets |= zip(cell.outputs[port], values, strict=True)
        return nets

    def loaded(self, nets: Mapping[Bit, Value]) -> Values:
        """Return what registers hold after an edge of the clock."""
        found: list[Value] = []
        for register in self.used:
            word = [nets.get(bit) for bit in register.d]
            for bit, active in register.loads:
                value = nets.get(bit)
                other: list[Value] = [None] * len(word)
                other = other if register.loaded is None else [nets.get(x) for x in register.loaded]
                if not isinstance(value, str):
                    word = [x if x == y else None for x, y in zip(word, other, strict=True)]
                elif (value == "1") is active:
                    word = other
            found += word
        return tuple(found)

    def reset(self) -> _State:
        """Return the state that a reset leads to, which is active until nothing changes. Raises InputError."""
        held: Values = (None,) * len(self.q)
        for _ in range(len(self.used) + 2):
            after = self.loaded(self.nets(held, {self.ports.reset: self.ports.resets}))
            if after == held:
                return _State(held, 0)
            held = after
        raise InputError(f"{self.path}: [handshake] reset: registers go on changing while the reset is active")

    def cycle(self, state: _State, valid: str, ready: str) -> _Cycle:
        """Return what happens in a clock cycle in which the outside says valid and ready. Raises InputError."""
        ports = self.ports
        given: dict[Bit, Value] = {ports.valid_in: valid, ports.reset: "0" if ports.resets == "1" else "1"}
        given |= {} if ports.ready_out is None else {ports.ready_out: ready}
        nets = self.nets(state.held, given)
        takes = valid == "1" and self._known(nets, ports.ready_in, "in")
        if takes:
            nets = self.nets(state.held, given | self.leaves(self.operands, state.in_flight))
            if not self._known(nets, ports.ready_in, "in"):
                raise InputError(f"{self.path}: [handshake] in: whether the unit is ready depends on operands")
        offers = self._known(nets, ports.valid_out, "out")
        gives = offers and (ready == "1" or ports.ready_out is None)
        d = tuple(nets.get(bit) for bit in self.result)
        after = _State(_older(self.loaded(nets), gives), state.in_flight + takes - gives)
        return _Cycle(takes, offers, gives, d, after)

    def _known(self, nets: Mapping[Bit, Value], bit: Bit | None, side: str) -> bool:
        value = "1" if bit is None else nets.get(bit)
        if not isinstance(value, str):
            raise InputError(
                f"{self.path}: [handshake] {side}: valid or ready depends on operands, on free inputs, or on a "
                "register that the reset does not set"
            )
        return value == "1"

    # --- cells -------------------------------------------------------------------------------------------------------

    def _outputs(self, cell: Cell, inputs: Mapping[str, Values]) -> dict[str, Values]:
        if cell.kind in _SELECTS:
            return (
                {"Y": _chosen(inputs["A"], inputs["B"], inputs["S"][0])}
                if _is_control(inputs["S"])
                else self._any(cell, inputs)
            )
        if cell.kind == "$pmux" and all(isinstance(x, str) for x in inputs["S"]):
            width = len(inputs["A"])
            at = next((i for i, x in enumerate(inputs["S"]) if x == "1"), None)
            return {"Y": inputs["A"] if at is None else inputs["B"][at * width : (at + 1) * width]}
        if cell.kind in _BITWISE and len(inputs["A"]) == len(inputs["B"]) == len(cell.outputs["Y"]):
            pairs = zip(inputs["A"], inputs["B"], strict=True)
            return {"Y": tuple(self._bit(cell.kind, x, y) for x, y in pairs)}
        values = [x for held in inputs.values() for x in held]
        if (cell.kind in _ANY and "1" in values) or (cell.kind in _ALL and "0" in values):
            return {"Y": _number(cell.kind in _ANY, len(cell.outputs["Y"]))}
        if cell.kind == "$logic_and" and any(all(x == "0" for x in held) for held in inputs.values()):
            return {"Y": _number(False, len(cell.outputs["Y"]))}
        return self._any(cell, inputs)

    def _bit(self, kind: str, x: Value, y: Value) -> Value:
        """Return a bit of a cell that computes bit by bit."""
        if y in ("0", "1"):
            x, y = y, x
        if x in ("0", "1") and kind in ("$and", "$or"):
            return y if (x == "1") is (kind == "$and") else x
        if x in ("0", "1") and y in ("0", "1"):
            return "1" if (x != y) is (kind == "$xor") else "0"
        if x == ("0" if kind == "$xor" else "1"):
            return y
        return self._combined(("bit", kind, *(z if isinstance(z, str) else z and z[0] for z in (x, y))), (x, y))

    def _combined(self, key: Any, values: Sequence[Value]) -> Value:
        """Return the term of a shape over some values; junk if one is junk, or if they are of two transfers."""
        transfers = {x[1] for x in values if isinstance(x, tuple)} - {None}
        if None in values or len(transfers) > 1:
            return None
        return self.shape(key), next(iter(transfers), None)

    def _any(self, cell: Cell, inputs: Mapping[str, Values]) -> dict[str, Values]:
        """Return what a cell gives that is an unknown function of its inputs, unless all of them are constants."""
        values = [x for held in inputs.values() for x in held]
        if all(isinstance(x, str) for x in values):
            key = (id(cell), *values)
            if key not in self.computed:
                self.computed[key] = _concrete(cell, inputs)
            return self.computed[key]
        bare = tuple(
            (p, tuple(x if isinstance(x, str) else x and x[0] for x in held)) for p, held in sorted(inputs.items())
        )
        whole = self._combined((cell.kind, tuple(sorted(cell.parameters.items())), bare), values)
        if not isinstance(whole, tuple):
            return {port: (None,) * len(bits) for port, bits in cell.outputs.items()}
        return {
            port: tuple((self.shape(("of", whole[0], port, i)), whole[1]) for i in range(len(bits)))
            for port, bits in cell.outputs.items()
        }


def _is_control(select: Values) -> bool:
    return not isinstance(select[0], tuple)


def _chosen(a: Values, b: Values, select: Value) -> Values:
    if select is None:
        return tuple(x if x == y else None for x, y in zip(a, b, strict=True))
    return b if select == "1" else a


def _number(value: bool, width: int) -> Values:
    return ("1" if value else "0",) + ("0",) * (width - 1)


def _concrete(cell: Cell, inputs: Mapping[str, Values]) -> dict[str, Values]:
    """Return what a cell gives for constants."""
    wires: Wires[Any, Any] = Wires(_ALGEBRA)
    bits: dict[str, Bits] = {p: tuple("1" if x == "1" else "0" for x in held) for p, held in inputs.items()}
    found = cell_outputs(wires, Cell(cell.name, cell.kind, cell.parameters, bits, cell.outputs))
    return {
        port: tuple("1" if wires.word(places).data >> i & 1 else "0" for i in range(len(cell.outputs[port])))
        for port, places in found.items()
    }


def _older(held: Values, gives: bool) -> Values:
    """Return what registers hold as seen from the next transfer, if the oldest one is given: that is junk then."""
    if not gives:
        return held
    return tuple(x if not isinstance(x, tuple) or x[1] is None else (x[0], x[1] - 1) if x[1] else None for x in held)


def check_handshake(
    module: Module,
    path: str,
    ports: Ports,
    operands: Mapping[str, Bits],
    held: Mapping[str, Bits],
    result: Bits,
    latency: int,
    clock: Bit,
) -> tuple[int, int]:
    """Return how many states the control of a pipeline has, in all of which its results are right.

    With it comes the largest number of transfers whose results were not taken yet.

    ``held`` are operands that keep their values. ``latency`` is that of the pipeline where nothing stalls. Raises
    InputError, with the inputs that lead there, where a result is lost, comes twice, out of order or as another
    function of its operands, and where the unit stays without taking operands or offering a result.
    """
    machine = _Machine(module, path, ports, operands, held, result, clock)
    start = machine.reset()
    wanted = _steady(machine, start, latency)
    after: dict[_State, dict[tuple[str, str], _Cycle]] = {}
    came: dict[_State, tuple[_State, str, str] | None] = {start: None}
    waiting = deque([start])
    while waiting:
        state = waiting.popleft()
        after[state] = {}
        for valid in "01":
            for ready in "01" if ports.ready_out is not None else "1":
                found = machine.cycle(state, valid, ready)
                after[state][valid, ready] = found
                problem = _problem(found, state, wanted, len(machine.q))
                if problem is not None:
                    raise InputError(f"{path}: [handshake]: {problem}, {_trace(came, state, valid, ready, ports)}")
                if found.after not in came:
                    came[found.after] = (state, valid, ready)
                    waiting.append(found.after)
                if len(came) > MOST_STATES:
                    raise InputError(f"{path}: [handshake]: the control has more than {MOST_STATES} states")
    for state in after:
        _check_progress(state, after, lambda x: x.gives or not x.after.in_flight, ("0", "1"), path, "gives no result")
        _check_progress(state, after, lambda x: x.takes, ("1", "1"), path, "takes no operands")
    return len(after), max(x.in_flight for x in after)


def _steady(machine: _Machine, start: _State, latency: int) -> Values:
    """Return d where nothing stalls, once the control stays as it is. Raises InputError where it does not."""
    state = start
    for _ in range(latency + len(machine.used) + 2):
        found = machine.cycle(state, "1", "1")
        if found.after == state:
            if not (found.takes and found.gives) or state.in_flight != latency:
                break
            if None in found.d:
                raise InputError(f"{machine.path}: [handshake]: d depends on free inputs or on bits that are undefined")
            return found.d
        state = found.after
    raise InputError(
        f"{machine.path}: [handshake]: with valid and ready in every cycle the unit does not take operands and give a "
        f"result in every cycle, {latency} cycles later"
    )


def _problem(found: _Cycle, state: _State, wanted: Values, most: int) -> str | None:
    """Return what is wrong about a clock cycle; None if nothing is."""
    if found.offers and not state.in_flight + found.takes:
        return "a result is offered that is of no operands"
    if found.offers and found.d != wanted:
        return "what is offered is not the result of the oldest operands that is due"
    return "operands are taken of which no result comes" if found.after.in_flight > most else None


def _trace(
    came: Mapping[_State, tuple[_State, str, str] | None], state: _State, valid: str, ready: str, ports: Ports
) -> str:
    """Return in words the inputs that lead to a clock cycle, and those in it."""
    inputs = [(valid, ready)]
    step = came[state]
    while step is not None:
        inputs.append(step[1:])
        step = came[step[0]]
    valids, readies = ("".join(x) for x in zip(*reversed(inputs), strict=True))
    back = f" and ready = {', '.join(readies)}" if ports.ready_out is not None else ""
    return f"where after a reset valid = {', '.join(valids)}{back} from outside"


def _check_progress(
    state: _State,
    after: Mapping[_State, Mapping[tuple[str, str], _Cycle]],
    is_done: Callable[[_Cycle], bool],
    inputs: tuple[str, str],
    path: str,
    problem: str,
) -> None:
    """Raise InputError where a state is never left by what is to happen, if the inputs stay as they are."""
    for _ in range(len(after) + 1):
        found = after[state][inputs]
        if is_done(found):
            return
        state = found.after
    raise InputError(f"{path}: [handshake]: there is a state in which the unit {problem}, however long one waits")
