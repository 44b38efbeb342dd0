"""A UNIT.toml as a design: its sources elaborated, its ports mapped to operands."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import islice
from pathlib import Path

from mmaproof.designs.circuit import Bit, Bits, Cell, Circuit
from mmaproof.designs.design import Design
from mmaproof.designs.element import Operands, constant_operands
from mmaproof.designs.errors import DesignError, InputError
from mmaproof.designs.formats import Format, find_format
from mmaproof.designs.parameters import Chain
from mmaproof.designs.signature import Signature
from mmaproof.designs.steps import NetlistStep
from mmaproof.designs.transitions import CLEAR, DRAIN, FIRST, HOLD, VIEW, Transition
from mmaproof.rtl.elaboration import FACTS_ABOUT_X, MEMORY_BYTES, SECONDS, elaborate
from mmaproof.rtl.handshake import Ports, check_handshake
from mmaproof.rtl.netlist import MOST_CELLS, Module, Port, read_module, with_constants
from mmaproof.rtl.pipeline import Structure, ages, check_latency, latencies
from mmaproof.rtl.registers import Register, Start, circuit_of, cut, present_values, with_next_values
from mmaproof.rtl.slices import ascending_ports, bits_of, constant_of
from mmaproof.rtl.unit_file import NEXT, REG, UnitFile, read_unit_file
from mmaproof.rtl.views import View, applied, driven, read_views

PRIORITY = "where items of a case statement marked unique or parallel overlap, the first one counts"
SETTLED = "registers that always load a constant have loaded it"
KEEPS_NOTHING = "latches and loops that keep no value, whatever the unit reads, are wires: a solver proved it"
_BIT = re.compile(r"(?P<net>.*?)(?:\[(?P<index>\d+)\])?(?: at age \d+)?")
"""The name of a bit that may have any value, at the first age at which it is read or at a later one."""
WITHOUT_C = "c is +0, because the unit has none"


@dataclass(frozen=True, slots=True)
class RtlReport:
    """What was elaborated, and what was assumed on the way."""

    top: str
    elaborator: str
    ports: Mapping[str, tuple[str, int]]
    """direction and width of each port of the top module"""
    mapped: Mapping[str, str]
    """what each port is mapped to: operands, a constant, ``free``, or nothing"""
    cells: int
    """cells that d depends on"""
    kinds: Mapping[str, int]
    """how many there are of each kind"""
    registers: int
    latency: int | None
    unknown: Mapping[str, int]
    """how many bits of each net may have any value; its name says which"""
    assumptions: tuple[str, ...]
    warnings: tuple[str, ...]
    covers: str = ""
    """what a pipeline may be given in each clock cycle; empty if the unit is none"""
    register_names: Mapping[str, int] = field(default_factory=dict)
    """the widths of the module's registers"""


@dataclass(frozen=True, slots=True)
class RtlUnit:
    """A unit that was read: the content of its file, its design, and the report."""

    file: UnitFile
    design: Design
    report: RtlReport
    ports: Mapping[str, Port]
    """the ports of the top module, as they are declared"""
    registers: Mapping[str, Port] = field(default_factory=dict)
    """its registers, by all of their names after elaboration"""
    transitions: tuple[Transition, ...] = ()
    """what is claimed of a register that is c and d, in cycles in which it takes no step"""
    longest: int = 0
    """the registers on the longest path from an operand of a pipeline to d"""
    not_direct: str | None = None
    """why its enable, clear and load do not act in their own clock cycle alone; None if they do"""
    views: Mapping[str, View] = field(default_factory=dict)
    """the views of operands and of d"""
    shows_words: bool = False
    """whether d of the design is 1 where the words of d are those of their number"""
    most_in_flight: int = 0
    """the operand sets of a pipeline with a handshake that were taken, and whose results were not yet, at most"""

    def __repr__(self) -> str:
        return f"<{self.design.name}: module {self.report.top}, {self.report.cells} cells>"

    @property
    def fixed(self) -> dict[str, int]:
        """The pattern of each element of operands that the unit does not have: c is +0 if the file does not say it."""
        return fixed_operands(self.file, self.design.signature)

    @property
    def where(self) -> tuple[str, ...]:
        """The preconditions of every question about it: what operands are that it does not have."""
        return constant_operands(self.fixed)

    def completed(self, operands: Operands) -> Operands:
        """Return operands of the design with the values of those that the unit does not have."""
        fixed, count = self.fixed, len(operands)
        a, b = ((fixed[x],) * count if x in fixed else getattr(operands, x) for x in "ab")
        return replace(operands, a=a, b=b, c=fixed.get("c", operands.c))

    @property
    def circuit(self) -> Circuit:
        """The circuit of its design."""
        if not isinstance(self.design.step, NetlistStep):
            raise TypeError(f"{self.design.name} is not a netlist")
        return self.design.step.circuit


def read_unit(
    path: str | Path,
    *,
    signature: Signature | None = None,
    seconds: float = SECONDS,
    memory_bytes: int = MEMORY_BYTES,
    most_cells: int = MOST_CELLS,
) -> RtlUnit:
    """Return the unit that a UNIT.toml describes.

    ``signature`` is that of the design that it is held against; its formats count where the file has none. Raises
    InputError for what is wrong in the file or in the sources, TargetUnavailable where Yosys is not installed.
    """
    file = read_unit_file(Path(path))
    signature_of_unit = _signature(file, signature)
    netlist = elaborate(file, seconds=seconds, memory_bytes=memory_bytes)
    module = read_module(file.top, netlist, most_cells)
    _check_control(file, signature_of_unit)
    reading = _Reading(file, signature_of_unit, module, most_cells, read_views(file))
    found = reading.variant(STEP)
    circuit, said, covers = found.circuit, list(found.said), found.covers
    most_in_flight = 0
    if file.handshake is not None:
        states, most_in_flight = reading.states_of_control()
        said.append(f"stalls do not matter: proved in all {states} states of the control")
        found = replace(found, held=tuple(x for x in found.held if x != SETTLED))  # it begins with the reset
        covers = f"{covers.removesuffix(' in every cycle')} in every transfer, with any bubbles and back-pressure"
    said += [
        f"{operand} is a whole unpacked port {declared}: packed, its first element is the highest, so k = 0 is the "
        "last one"
        for operand, declared in ascending_ports(file)
    ]
    design = reading.design(found)
    report = RtlReport(
        file.top,
        netlist.elaborator,
        {n: (x.direction, len(x.bits)) for n, x in module.ports.items()},
        _mapped(file, found.tied),
        len(circuit.cells),
        dict(Counter(cell.kind for cell in circuit.cells).most_common()),
        found.registers,
        0 if file.clock is None else file.clock.latency if isinstance(file.clock.latency, int) else None,
        _folded(circuit.unknown),
        (FACTS_ABOUT_X, PRIORITY, *said),
        netlist.warnings,
        covers,
        {n: len(x.bits) for n, x in module.registers.items()},
    )
    claims = reading.transitions() if file.accumulates else ()
    direct = reading.why_not_direct if file.accumulates else None
    return RtlUnit(
        file,
        design,
        report,
        module.ports,
        module.registers,
        claims,
        found.longest,
        direct,
        reading.views,
        most_in_flight=most_in_flight,
    )


def design_of(file: UnitFile, module: Module) -> Design:
    """Return the design that a module is, which was elaborated before, with the ports and formats of ``file``.

    Raises InputError as ``read_unit``.
    """
    reading = _Reading(file, _signature(file, None), module, MOST_CELLS, read_views(file))
    return reading.design(reading.variant(STEP))


@dataclass(frozen=True, slots=True)
class _Variant:
    """A circuit of a unit with some values of the inputs that steer its register."""

    circuit: Circuit
    products: int
    registers: int
    tied: tuple[str, ...]
    said: tuple[str, ...]
    held: tuple[str, ...]
    covers: str
    longest: int


STEP: Mapping[str, bool] = {"enable": True, "clear": False, "load": False}
"""What steers a register while it takes a step."""


@dataclass(frozen=True)
class _Reading:
    """A module that was elaborated, read as a circuit for each value of the inputs that steer its register."""

    file: UnitFile
    signature: Signature
    module: Module
    most_cells: int
    views: Mapping[str, View] = field(default_factory=dict)

    @cached_property
    def raw(self) -> Signature:
        """The formats with words in place of the numbers that have a view."""
        words = {x: _word(self.file, x, view) for x, view in self.views.items()}
        a, b, c, d = (words.get(x, fmt) for x, fmt in zip("abcd", self.signature.formats, strict=True))
        return replace(self.signature, a=a, b=b, c=c, d=d)

    def variant(self, values: Mapping[str, bool], read: str | None = None, is_canonical: bool = False) -> _Variant:
        """Return the circuit where inputs that steer have these values; one that has none may have any value.

        Where the register is loaded, what is loaded is c, and the register may have held anything. With ``read``, d is
        what is read there, and all operands but c are free. With ``is_canonical``, d is 1 where the words of d are
        those that the view of c makes of their number.
        """
        file = self.file if read is None else replace(self.file, ports={**self.file.ports, "d": read})
        module = self.module
        steering = {x: bits for x, bits in self.steering().items() if x in values}
        constants: dict[Bit, Bit] = {}
        said = []
        for role, expression in file.control.signals.items():
            if role in steering:
                name, value = steered(expression, values[role])
                constants[steering[role][0]] = "1" if value else "0"
                since = "" if self.why_not_direct is None else " in all clock cycles"
                said.append(f"{name} = {value}{since}")
        if file.handshake is not None:  # where nothing stalls
            inputs_alone = {n: x for n, x in module.ports.items() if x.direction == "input"}
            constants |= {bit: "1" for x in file.handshake.given for bit in self._one_bit(x, inputs_alone)}
        module, tied = _tied(file, with_constants(module, constants))
        module, next_ports, following = with_next_values(
            module, _texts(file, "d"), str(file.path), self._free_bits(values)
        )
        ports = {n: x for n, x in module.ports.items() if x.direction == "input"} | present_values(module)
        loads = values.get("load", False)
        fresh = module.new_nets()
        inputs, products, stored = _inputs(file, self.raw, module, ports, loads, fresh)
        added = () if loads or "c" in self.views or not file.adds_c else _terms(file, "c", self.signature.c, ports)[1:]
        free: dict[str, Bits] = {f"free {text}": tuple(x for x in bits if isinstance(x, int)) for text, bits in added}
        free |= {f"free {x}": bits_of(x, ports, f"{file.path}: free") for x in file.free}
        if file.control.load_from is not None and not loads:
            where = f"{file.path}: [control] load_from"
            free[f"free {file.control.load_from}"] = bits_of(file.control.load_from, ports, where)
        free |= {
            f"steers: {x}": bits
            for x, bits in self.steering().items()
            if x not in values and bits[0] not in constants and bits[0] not in self._shared(x)
        }
        if read is not None:
            free |= {f"free {n}": bits for n, bits in inputs.items() if n != "c"}
            inputs = {n: bits if n == "c" else tuple(islice(fresh, len(bits))) for n, bits in inputs.items()}
        outputs = {n: x for n, x in module.ports.items() if x.direction == "output"} | next_ports
        kept = () if read is None else self._held_by(next_ports)
        module, taken = cut(module, {bit for bit in (*stored, *kept) if isinstance(bit, int)})
        free |= {"free what it held": kept} if kept else {}
        module, result = self._result(file, module, outputs, fresh, is_canonical)
        if loads:
            free[f"free {' '.join(_texts(file, 'c'))}"] = tuple(bit for bit in stored if bit not in _all_bits(inputs))
        elif added:
            _check_complete(file, module, inputs, free)
            whole: Bits = tuple(islice(fresh, self.signature.c.bits))
            module, others = _summed(module, [bits for _, bits in added], fresh)
            module, inputs = _with(module, "$sub", whole, others, inputs["c"]), {**inputs, "c": whole}
        if not added:
            _check_complete(file, module, inputs, free)
        for operand, view in self.views.items():
            for name, bits in _of(inputs, operand).items() if operand != "d" else ():
                module, inputs = _through(module, view, name, bits, inputs, fresh)
        module = replace(module, unknown=dict(module.unknown) | free)
        circuit, registers, more, held, covers, longest = _circuit(
            file, module, inputs, result, following | taken, self.most_cells, read is not None
        )
        circuit = replace(
            circuit, name=file.path.as_posix(), unknown=_as_words(circuit, [f"free {x}" for x, _ in added])
        )
        return _Variant(circuit, products, registers, (*said, *tied), tuple(more), tuple(held), covers, longest)

    def steering(self) -> dict[str, Bits]:
        """Return the bit of each input that steers the register. Raises InputError for one of several bits."""
        ports = {n: x for n, x in self.module.ports.items() if x.direction == "input"}
        found = {}
        for role, expression in self.file.control.signals.items():
            where = f"{self.file.path}: [control] {role}"
            found[role] = bits_of(expression.removeprefix("!"), ports, where)
            if len(found[role]) != 1:
                raise InputError(f"{where}: {expression} has {len(found[role])} bits, and one is expected")
        own = [bits[0] for role, bits in found.items() if role != "drain"]
        if len(set(own)) < len(own):
            raise InputError(f"{self.file.path}: [control]: one input has two roles: each needs an input of its own")
        return found

    def _one_bit(self, expression: str, ports: Mapping[str, Port]) -> Bits:
        where = f"{self.file.path}: [handshake]"
        bits = bits_of(expression, ports, where)
        if len(bits) != 1:
            raise InputError(f"{where}: {expression} has {len(bits)} bits, and one is expected")
        return bits

    def states_of_control(self) -> tuple[int, int]:
        """Return in how many states of its control the results of a pipeline are right, and the most in flight.

        Raises as check_handshake.
        """
        file, given = self.file, self.file.handshake
        where = f"{file.path}: [handshake]"
        if given is None or file.clock is None or not isinstance(file.clock.latency, int) or file.accumulates:
            raise InputError(f"{where}: is of a pipeline with one latency for all operands, and not of an accumulator")
        if given.reset not in file.tied:
            raise InputError(f"{where} reset: {given.reset} is not tied: tie the value that does not reset")
        left = replace(file, tied={n: x for n, x in file.tied.items() if n != given.reset})
        module, _ = _tied(left, self.module)
        inputs, outputs = (
            {n: x for n, x in module.ports.items() if x.direction == which} for which in ("input", "output")
        )

        def bit(name: str, ports: Mapping[str, Port]) -> Bit:
            return self._one_bit(name, ports)[0]

        ports = Ports(
            bit(given.valid_in, inputs),
            None if given.ready_in is None else bit(given.ready_in, outputs),
            bit(given.valid_out, outputs),
            None if given.ready_out is None else bit(given.ready_out, inputs),
            bit(given.reset, inputs),
            "0" if constant_of(file.tied[given.reset], 1, where) else "1",
        )
        sources = inputs | present_values(module)
        named, _, stored = _inputs(file, self.raw, module, sources, False, module.new_nets())
        if file.adds_c and "c" not in file.view:
            named |= {f"c{i}": bits for i, (_, bits) in enumerate(_terms(file, "c", self.signature.c, sources)) if i}
        stays = [x for x in file.ports if x in file.clock.held or any(REG in text for text in _texts(file, x))]
        held = {n: bits for x in stays for n, bits in _of(named, x).items()}
        moving = {n: bits for n, bits in named.items() if n not in held}
        module, _ = cut(module, {x for x in stored if isinstance(x, int)})
        words = [bits for _, bits in _terms(file, "d", self.signature.d, outputs)] if "d" not in file.view else []
        words = words or [_joined(file, "d", outputs, self.raw.d.bits)]
        result = tuple(bit for bits in words for bit in bits)
        clock = bits_of(file.clock.port, inputs, where)[0]
        return check_handshake(module, str(file.path), ports, moving, held, result, file.clock.latency, clock)

    def _result(
        self, file: UnitFile, module: Module, ports: Mapping[str, Port], fresh: Iterator[int], is_canonical: bool
    ) -> tuple[Module, Bits]:
        """Return the module with what makes d of its words, and d."""
        view = self.views.get("d")
        if view is None or (file is not self.file and not is_canonical):
            return _summed(module, [bits for _, bits in _terms(file, "d", self.signature.d, ports)], fresh)
        words = _joined(file, "d", ports, len(view.given))
        module, d = applied(module, view, words, fresh)
        if is_canonical:
            module, again = applied(module, self.views["c"], d, fresh)
            same = next(fresh)
            return _with(module, "$eq", words, again, (same,)), (same, *self._one[1:])
        if len(d) != self.signature.d.bits:
            raise InputError(f"{file.path}: [view] d: {len(d)} bits, and {self.signature.d.name} has others")
        return module, d

    @property
    def _one(self) -> Bits:
        """1 in as many bits as d has."""
        return tuple("1" if i == 0 else "0" for i in range(self.signature.d.bits))

    def _held_by(self, following: Mapping[str, Port]) -> Bits:
        """Return the bits of registers that are read after the next edge of the clock."""
        return tuple(bit for n in following for bit in self.module.registers[n.removeprefix(NEXT)].bits)

    def _shared(self, role: str) -> Bits:
        """Return the bits of inputs that steer what this role does, in an earlier role."""
        return tuple(bits[0] for x, bits in self.steering().items() if x != role) if role == "drain" else ()

    def _free_bits(self, values: Mapping[str, bool]) -> Bits:
        return tuple(bit for x, bits in self.steering().items() if x not in values for bit in bits)

    def design(self, found: _Variant, suffix: str = "") -> Design:
        """Return a circuit as a design."""
        file = self.file
        fixed = fixed_operands(file, self.signature)
        stated = (f"{name} is {getattr(self.signature, name).hex(fixed[name])}" for name in file.fixed)
        when = (*found.held, *found.tied, *stated, *(() if file.adds_c or "c" in file.fixed else (WITHOUT_C,)))
        circuit = replace(found.circuit, name=found.circuit.name + suffix)
        step = NetlistStep(L=found.products, circuit=circuit, conditions=when)
        return self._named(circuit.name, step, found.products)

    def _named(self, name: str, step: NetlistStep, products: int) -> Design:
        file = self.file
        try:
            return Design("rtl", name, "RTL", self.signature, 1, 1, products, Chain(), step, f"RTL of {file.top}")
        except DesignError as problem:
            raise InputError(f"{file.path}: {problem}") from problem

    def transitions(self) -> tuple[Transition, ...]:
        """Return what is claimed of clock cycles in which the register takes no step, or starts anew."""
        control, c = self.file.control, self.file.ports["c"]
        name = (", " if self.views else " + ").join((c,) if isinstance(c, str) else c).replace(REG, "")
        found = []
        if control.enable is not None:
            values = {"enable": False, "clear": False, "load": False}
            found.append(self._claim(HOLD, f"{name} keeps its value", values, lambda inputs: inputs["c"]))
        if control.clear is not None:
            to = self.cleared
            bits: Bits = tuple("1" if to >> i & 1 else "0" for i in range(self.signature.c.bits))
            text = f"{name} becomes {self.signature.c.hex(to)}"
            if control.enable is not None:
                values = {"enable": False, "clear": True, "load": False}
                found.append(self._claim(CLEAR, text, values, lambda _: bits))
            values = {"enable": True, "clear": True, "load": False}
            first = self._claim(FIRST, text, values, lambda _: bits)
            found.append(first)
            if not _reads(first.unit, "c"):
                when = first.text.removesuffix(text)
                text = f"{when}{name} takes the first step, from {self.signature.c.hex(to)}"
                found.append(replace(first, text=text, model=None, where=(f"c={to:#x}",)))
        if control.load is not None:
            for enabled in (False, True) if control.enable is not None else (True,):
                values = {"enable": enabled, "clear": False, "load": True}
                text = f"{name} becomes {control.load_from}"
                found.append(self._claim(f"load {int(enabled)}", text, values, lambda inputs: inputs["c"]))
        if self.views and self.why_not_direct is None:
            text = f"{name} becomes what {self.file.view['c']} makes of its number"
            found.append(self._claim(VIEW, text, {}, lambda _: self._one, is_canonical=True))
        if control.drain_to is not None:
            drains = {"drain": True} if control.drain is not None else {}
            text = f"{control.drain_to.replace(NEXT, '')} becomes what {name} holds"
            found.append(self._claim(DRAIN, text, drains, lambda inputs: inputs["c"], control.drain_to))
        return tuple(found)

    @property
    def cleared(self) -> int:
        """The pattern that the register has when it was cleared."""
        return constant_of(self.file.control.clear_to, self.signature.c.bits, f"{self.file.path}: [control] clear_to")

    def _claim(
        self,
        key: str,
        text: str,
        values: Mapping[str, bool],
        result: Callable[[Mapping[str, Bits]], Bits],
        read: str | None = None,
        is_canonical: bool = False,
    ) -> Transition:
        found = self.variant(values, read, is_canonical)
        signals = self.file.control.signals
        pairs = (steered(signals[role], x) for role, x in values.items() if role in signals)
        when = ", ".join(f"{name} = {value}" for name, value in pairs)
        unit = self.design(found, f" [{read or 'words' * is_canonical}{' ' * bool(read and when)}{when}]")
        inputs = dict(unit.step.circuit.inputs) if isinstance(unit.step, NetlistStep) else {}
        circuit = Circuit(f"{text}", inputs, {"d": result(inputs)}, (), {}, {})
        model = self._named(circuit.name, NetlistStep(L=found.products, circuit=circuit), found.products)
        since = "" if self.why_not_direct is None and not found.longest else " in all clock cycles"
        whole = f"{f'with {when}{since}: ' * bool(when)}{text}{_later(found.longest) if read else ''}"
        return Transition(key, whole, unit, model, control=values, read=read, longest=found.longest)

    @cached_property
    def why_not_direct(self) -> str | None:
        """Return why an input that steers does not act in its own clock cycle alone; None if each does."""
        try:
            self.variant({})
        except InputError as problem:
            return str(problem)
        return None


def steered(signal: str, is_active: bool) -> tuple[str, int]:
    """Return the port of a signal that steers, and its value where it is active or not."""
    return signal.removeprefix("!").strip(), int(is_active is not signal.startswith("!"))


def _later(registers: int) -> str:
    return f", {registers} clock cycle{'s' * (registers != 1)} later" if registers else ""


def _reads(unit: Design, operand: str) -> bool:
    """Return whether d of a netlist may depend on an operand."""
    step = unit.step
    if not isinstance(step, NetlistStep):
        return True
    read = {bit for cell in step.circuit.cells for bits in cell.inputs.values() for bit in bits}
    return not read.union(step.circuit.outputs["d"]).isdisjoint(step.circuit.inputs[operand])


def _texts(file: UnitFile, key: str) -> tuple[str, ...]:
    stated = file.ports[key]
    return (stated,) if isinstance(stated, str) else stated


def _all_bits(inputs: Mapping[str, Bits]) -> set[Bit]:
    return {bit for bits in inputs.values() for bit in bits}


def _check_control(file: UnitFile, signature: Signature) -> None:
    """Raise InputError where registers are operands of a unit of several passes, or nothing is there to be steered."""
    texts = [text for key in file.ports for text in _texts(file, key)]
    uses = any(REG in x or NEXT in x for x in texts)
    if uses and (file.clock is None or file.clock.cycles is not None):
        raise InputError(f"{file.path}: [clock]: the clock of a register that is c or d, and no cycles, is expected")
    if (file.control.signals or file.control.drain_to) and not file.accumulates:
        raise InputError(
            f'{file.path}: [control]: is of a register that is both c and d: c = "{REG}NAME" and d = "{NEXT}NAME"'
        )
    if file.accumulates and file.view and (set(file.view) & set("cd") != set("cd") or file.control.load):
        raise InputError(
            f"{file.path}: [view]: of a register that is c and d both c and d need one, and it has no load"
        )
    if file.accumulates and signature.c != signature.d:
        raise InputError(
            f"{file.path}: [formats] d: {signature.d.name}, and c, which is the same register, {signature.c.name}"
        )


def _folded(unknown: Mapping[str, Bits]) -> dict[str, int]:
    """Return how many bits of each net have any value, under the name of the net with ranges: ``net[15:8,3:0]``."""
    places: dict[str, Counter[str]] = {}
    for name, bits in unknown.items():
        found = _BIT.fullmatch(name)
        net, index = (name, None) if found is None else (found["net"], found["index"])
        places.setdefault(net, Counter()).update([index or ""] if len(bits) == 1 else map(str, range(len(bits))))
    return {
        f"{net}{_ranges(int(x) for x in held if x)}" + f" at {max(held.values())} ages" * (max(held.values()) > 1): sum(
            held.values()
        )
        for net, held in places.items()
    }


def _ranges(places: Iterable[int]) -> str:
    """Return places as a slice; nothing where there are none."""
    runs: list[list[int]] = []
    for place in sorted(places, reverse=True):
        if runs and runs[-1][-1] == place + 1:
            runs[-1].append(place)
        else:
            runs.append([place])
    texts = [str(x[0]) if len(x) == 1 else f"{x[0]}:{x[-1]}" for x in runs]
    return f"[{','.join(texts)}]" if texts else ""


def _signature(file: UnitFile, given: Signature | None) -> Signature:
    """Return the formats of the file, and those of ``given`` where it has none."""
    found: dict[str, Format] = {}
    for name in "abcd":
        if name in file.formats:
            found[name] = _format(file, name)
        elif name == "d" and "c" in file.formats and file.accumulates:
            found[name] = found["c"]
        elif given is not None:
            found[name] = getattr(given, name)
        elif name == "c" and not file.adds_c and "d" in file.formats:
            found[name] = _format(file, "d")
        else:
            raise InputError(f"{file.path}: [formats] {name}: its format is not stated, and no design is given")
    has_scales = "scale_a" in file.ports
    scale = _format(file, "scale") if "scale" in file.formats else (given.scale if given else None)
    block = file.block or (given.block if given else None)
    if has_scales and (scale is None or block is None):
        raise InputError(f"{file.path}: scales need a format ([formats] scale) and a block length (block)")
    if not has_scales and scale is not None:
        raise InputError(f"{file.path}: [ports]: there are scales: state scale_a and scale_b")
    block = block if has_scales else None
    signature = Signature(found["a"], found["b"], found["c"], found["d"], scale, block)
    for key, misfit in signature.misfits():
        raise InputError(f"{file.path}: [formats] {key}: {misfit}")
    return signature


def fixed_operands(file: UnitFile, signature: Signature) -> dict[str, int]:
    """Return the pattern of each element of operands that the unit does not have.

    Raises InputError for a constant that is not one of the operand's format.
    """
    found = {} if file.adds_c or "c" in file.fixed else {"c": 0}
    for name, text in file.fixed.items():
        found[name] = constant_of(text, getattr(signature, name).bits, f"{file.path}: [ports] {name}")
    return found


def _format(file: UnitFile, name: str) -> Format:
    try:
        return find_format(file.formats[name])
    except InputError as problem:
        raise InputError(f"{file.path}: [formats] {name}: {problem}") from problem


def _tied(file: UnitFile, module: Module) -> tuple[Module, list[str]]:
    """Return the module with the tied ports as constants, and what was tied."""
    ports = {n: x for n, x in module.ports.items() if x.direction == "input"}
    constants: dict[Bit, Bit] = {}
    said = []
    for expression, value in file.tied.items():
        where = f"{file.path}: [tied] {expression}"
        bits = bits_of(expression, ports, where)
        number = constant_of(value, len(bits), where)
        for position, bit in enumerate(bits):
            if bit in constants or isinstance(bit, str):
                raise InputError(f"{where}: these bits are tied twice, or steer a register and are tied")
            constants[bit] = "1" if number >> position & 1 else "0"
        said.append(f"{expression} = {value}")
    return with_constants(module, constants), said


def _elements(file: UnitFile, key: str, fmt: Format, ports: Mapping[str, Port], count: int | None) -> list[Bits]:
    """Return the bits of each element of an operand, the lowest first."""
    stated, is_d = file.ports[key], key == "d"
    where = f"{file.path}: [ports] {key}"
    if isinstance(stated, str):
        bits = bits_of(stated, ports, where, result=is_d)
        if len(bits) % fmt.bits or not bits:
            raise InputError(f"{where}: {stated} has {len(bits)} bits, and {fmt.name} has {fmt.bits}")
        found = [bits[i : i + fmt.bits] for i in range(0, len(bits), fmt.bits)]
    else:
        found = [bits_of(x, ports, f"{where}[{i}]", result=is_d) for i, x in enumerate(stated)]
        for i, bits in enumerate(found):
            if len(bits) not in (fmt.bits, fmt.bits - fmt.ignored_bits):
                others = f" ({fmt.bits - fmt.ignored_bits} without those ignored)" if fmt.ignored_bits else ""
                raise InputError(
                    f"{where}[{i}]: {stated[i]} has {len(bits)} bits, and {fmt.name} has {fmt.bits}{others}"
                )
    if count is not None and len(found) != count:
        raise InputError(f"{where}: {len(found)} elements of {fmt.name}, and {count} are expected")
    return found


def _inputs(
    file: UnitFile,
    signature: Signature,
    module: Module,
    ports: Mapping[str, Port],
    loads: bool,
    unread: Iterator[int],
) -> tuple[dict[str, Bits], int, Bits]:
    """Return the nets of every operand by its name, how many products there are, and the bits of registers.

    Where c ``loads``, it is what is loaded. ``unread`` are nets that nothing reads. Of a c that is a sum of words there
    is the first one.
    """
    if {"a", "b"} <= file.fixed.keys():
        raise InputError(f"{file.path}: [ports] a: a and b cannot both be constants")
    of = {"a": signature.a, "b": signature.b}
    columns: dict[str, list[Bits]] = {}
    for key in sorted(of, key=lambda x: x in file.fixed):
        count = len(next(iter(columns.values()))) if columns else None
        columns[key] = (
            [tuple(islice(unread, of[key].bits)) for _ in range(count or 0)]
            if key in file.fixed
            else _elements(file, key, of[key], ports, count)
        )
    a, b = columns["a"], columns["b"]
    found = {f"a{i}": _whole(bits, signature.a, unread) for i, bits in enumerate(a)}
    found |= {f"b{i}": _whole(bits, signature.b, unread) for i, bits in enumerate(b)}
    terms = [x for _, x in _terms(file, "c", signature.c, ports)] if file.adds_c and "c" not in file.view else []
    terms = [_joined(file, "c", ports, signature.c.bits)] if "c" in file.view else terms
    found["c"] = terms[0] if terms else tuple(islice(unread, signature.c.bits))
    if signature.scale is not None and signature.block is not None:
        if len(a) % signature.block:
            raise InputError(f"{file.path}: block: {signature.block} does not divide the {len(a)} products")
        for key, short in (("scale_a", "sa"), ("scale_b", "sb")):
            scales = _elements(file, key, signature.scale, ports, len(a) // signature.block)
            found |= {f"{short}{i}": bits for i, bits in enumerate(scales)}
    registers = {bit for x in module.registers.values() for bit in x.bits}
    fixed_operands(file, signature)
    stored = tuple(bit for bits in (*found.values(), *terms[1:]) for bit in bits if bit in registers)
    if loads and file.control.load_from is not None:
        where = f"{file.path}: [control] load_from"
        found["c"] = bits_of(file.control.load_from, ports, where)
        if len(found["c"]) != signature.c.bits:
            raise InputError(f"{where}: {len(found['c'])} bits, and {signature.c.name} has {signature.c.bits}")
    return found, len(a), stored


def _terms(file: UnitFile, key: str, fmt: Format, ports: Mapping[str, Port]) -> list[tuple[str, Bits]]:
    """Return the words of which c or d is the sum, by what they are called; that is itself if it is one word.

    Of c the first has no constants: what the others may hold is free, and it is what is left of c then.
    """
    texts = _texts(file, key) if key in file.ports else ()
    if len(texts) == 1:
        return [(texts[0], _elements(file, key, fmt, ports, 1)[0])]
    where = f"{file.path}: [ports] {key}"
    if not fmt.is_integer:
        raise InputError(f"{where}: {len(texts)} words, whose sum is an integer, and {fmt.name} is none: one is needed")
    found = [(x, bits_of(x, ports, f"{where}[{i}]", result=True)) for i, x in enumerate(texts)]
    for i, (text, bits) in enumerate(found):
        if len(bits) != fmt.bits:
            raise InputError(f"{where}[{i}]: {text} has {len(bits)} bits, and {fmt.name} has {fmt.bits}")
        if key == "c" and not i and any(isinstance(bit, str) for bit in bits):
            raise InputError(f"{where}[0]: {text}: the first word of a sum has no constants: put it after another")
    return found


def _as_words(circuit: Circuit, names: Iterable[str]) -> dict[str, Bits]:
    """Return the bits that may have any value, those of some words as one: sums of words are found more easily."""
    found = dict(circuit.unknown)
    for name in names:
        bits = [x for x in found if x.startswith(f"{name}[")]
        if all(_BIT.fullmatch(x) and "at age" not in x for x in bits):
            ordered = sorted(bits, key=lambda x: int(x.removeprefix(f"{name}[").rstrip("]")))
            found |= {name: tuple(bit for x in ordered for bit in found.pop(x))} if bits else {}
    return found


def _word(file: UnitFile, operand: str, view: View) -> Format:
    """Return the format of the words that stand for an operand."""
    words = view.given if operand == "d" else view.result
    if not 2 <= len(words) <= 64:
        raise InputError(f"{file.path}: [view] {operand}: words of {len(words)} bits, and from 2 to 64 are covered")
    return find_format(f"uint{len(words)}")


def _joined(file: UnitFile, key: str, ports: Mapping[str, Port], width: int) -> Bits:
    """Return the bits of the words of an operand, of which the first is the highest. Raises InputError."""
    where = f"{file.path}: [ports] {key}"
    parts = [bits_of(x, ports, where, result=key == "d") for x in _texts(file, key)]
    found: Bits = tuple(bit for bits in reversed(parts) for bit in bits)
    if len(found) != width:
        raise InputError(f"{where}: {len(found)} bits, and module {file.view[key]} of [view] has {width}")
    return found


def _through(
    module: Module, view: View, name: str, words: Bits, inputs: Mapping[str, Bits], fresh: Iterator[int]
) -> tuple[Module, dict[str, Bits]]:
    module, given = driven(module, view, words, fresh)
    return module, {**inputs, name: given}


_WORD = {"A_SIGNED": 0, "B_SIGNED": 0}


def _with(module: Module, kind: str, a: Bits, b: Bits, y: Bits) -> Module:
    """Return the module with one more cell, which adds or subtracts words of one width."""
    sizes = {"A_WIDTH": len(a), "B_WIDTH": len(b), "Y_WIDTH": len(y)}
    cell = Cell(f"{kind[1:]} of words {len(module.cells)}", kind, _WORD | sizes, {"A": a, "B": b}, {"Y": y})
    return replace(module, cells=(*module.cells, cell))


def _summed(module: Module, words: Sequence[Bits], fresh: Iterator[int]) -> tuple[Module, Bits]:
    """Return the module with what adds up words, modulo 2**width, and the sum."""
    total = words[0]
    for word in words[1:]:
        y: Bits = tuple(islice(fresh, len(word)))
        module, total = _with(module, "$add", total, word, y), y
    return module, total


def _whole(bits: Bits, fmt: Format, unread: Iterator[int]) -> Bits:
    """Return an element with nets that nothing reads for the ignored bits that the unit has no ports for."""
    return (*islice(unread, fmt.bits - len(bits)), *bits)


def _check_complete(file: UnitFile, module: Module, inputs: Mapping[str, Bits], free: Mapping[str, Bits]) -> None:
    """Raise InputError where a bit has two roles, or an input none."""
    roles: dict[Bit, str] = {}
    for name, bits in (*inputs.items(), *free.items()):
        for bit in bits:
            if isinstance(bit, str):
                raise InputError(f"{file.path}: {name}: one of its bits is tied")
            if bit in roles:
                raise InputError(f"{file.path}: a bit of a port is both {roles[bit]} and {name}")
            roles[bit] = name
    clock = () if file.clock is None else (file.clock.port, file.clock.reset)
    for port in module.ports.values():
        missing = [i for i, bit in enumerate(port.bits) if isinstance(bit, int) and bit not in roles]
        if port.direction == "input" and port.name not in clock and missing:
            what = port.name if len(missing) == len(port.bits) else f"{port.name}[{port.index(missing[0])}]"
            raise InputError(
                f"{file.path}: input {what} ({len(port.bits)} bit{'s' * (len(port.bits) != 1)}) is not an operand: "
                "map it under [ports], tie it under [tied], or list it as free, if it must not matter"
            )


def _circuit(
    file: UnitFile,
    module: Module,
    inputs: Mapping[str, Bits],
    result: Bits,
    taken: Mapping[int, Register],
    most_cells: int,
    reads_c: bool,
) -> tuple[Circuit, int, list[str], list[str], str, int]:
    """Return the circuit of a unit, how many register bits it had, what is said of its clock, and on what it depends.

    That is a condition for its users: operands that are held. ``taken`` are registers that are operands. Where it only
    ``reads_c``, any one number of registers is between c and the result. Last comes what a pipeline may be given in
    each clock cycle, and the registers on its longest path.
    """
    clock, path = file.clock, str(file.path)
    ports = {n: x for n, x in module.ports.items() if x.direction == "input"}
    net = None if clock is None else bits_of(clock.port, ports, f"{path}: [clock] clock")
    if clock is not None and net is not None and len(net) != 1:
        raise InputError(f"{path}: [clock] clock: {clock.port} has {len(net)} bits, and one is expected")
    start = _start(file, ports)
    structure = Structure(module, path, result, net[0] if net is not None and start is None else None)
    structure.check_registers(None if net is None else net[0], () if start is None else start.nets)
    said, covers, longest = [], "", 0
    held = ["c is what a register holds, and d what it holds after a clock cycle"] if file.accumulates else []
    held += [f"{x} is what {name} makes of a number" for x, name in file.view.items() if x != "d"]
    held += [
        f"{operand} is what a register holds ({', '.join(_texts(file, operand)).replace(REG, '')})"
        for operand in file.ports
        if any(REG in x for x in _texts(file, operand)) and not (file.accumulates and operand == "c")
    ]
    said += [KEEPS_NOTHING] if structure.opened else []
    structure.check_taken(taken, None if net is None else net[0])
    if start is None:
        structure.refuse_feedback()
        latency = latency_of(file, inputs) if not reads_c else {"c": _only_latency(structure, inputs["c"])}
        if file.accumulates:
            latency |= {n: 0 for n in module.unknown if n in _STEERING}
            check_latency(structure, {**inputs, **module.unknown}, latency)
        else:
            check_latency(structure, inputs, latency)
        if clock is not None:
            said.append(f"{_in_words(latency)}; they are treated as wires")
            long = [
                f"{operand} is held for {cycles} clock cycles"
                for operand in clock.held
                if (cycles := ages(structure, _of(inputs, operand))) > 1
            ]
            held += long
            longest = max(latencies(structure, tuple(_all_bits(inputs))), default=0)
            if structure.used:
                others = "set of the other operands" if long else "operand set"
                covers = f"a new {others} in every cycle"
        if structure.settles:
            held.append(SETTLED)
    else:
        reset = None if clock is None else clock.reset
        said.append(f"{start.age} clock cycles are unrolled, from {'any state' if reset is None else 'the reset'}")
        since = "" if reset is None else f" from the reset {reset} on"
        held.append(f"operands are held for {start.age} clock cycle{'s' * (start.age != 1)}{since}")
        if not structure.feeds_back:
            said.append("no register feeds back: with latency in place of cycles, operands need not be held")
    circuit = circuit_of(structure.module, inputs, structure.result, structure.used, start, most_cells)
    count = sum(len(x.q) for x in structure.used.values()) + sum(len(x.q) for x in taken.values())
    return circuit, count, said, held, covers, longest


def _only_latency(structure: Structure, operand: Bits) -> int:
    """Return the number of registers on all paths from c to the result. Raises InputError if there are several."""
    found = sorted(latencies(structure, operand)) or [0]
    if len(found) > 1:
        numbers = " and ".join(map(str, found))
        raise InputError(f"{structure.path}: [control] drain_to: paths from the register have {numbers} registers")
    return found[0]


_STEERING = frozenset(f"steers: {x}" for x in STEP)
_SHORT = {"scale_a": "sa", "scale_b": "sb"}


def _of(inputs: Mapping[str, Bits], operand: str) -> dict[str, Bits]:
    """Return the elements of an operand among the inputs, in order."""
    name = re.compile(rf"{_SHORT.get(operand, operand)}\d*")
    return {n: bits for n, bits in inputs.items() if name.fullmatch(n)}


def latency_of(file: UnitFile, inputs: Mapping[str, Bits]) -> dict[str, int]:
    """Return how many registers each input is to have on its paths to d; none for those that are held.

    An operand that is a register has none. Raises InputError where a table of the file leaves an operand out.
    """
    clock = file.clock
    stated = 0 if clock is None or clock.latency is None else clock.latency
    found: dict[str, int] = {}
    for operand in file.ports:
        if operand == "d" or (clock is not None and operand in clock.held):
            continue
        names = _of(inputs, operand)
        where = f"{file.path}: [clock] latency: {operand}"
        is_register = any(REG in text for text in _texts(file, operand))
        if not isinstance(stated, int) and operand in stated:
            each = stated[operand]
        elif is_register:
            each = 0
        elif isinstance(stated, int):
            each = stated
        else:
            raise InputError(f"{where}: how many registers its paths to d have is not stated, and it is not held")
        if isinstance(each, tuple) and len(each) != len(names):
            raise InputError(f"{where}: {len(each)} numbers, and it has {len(names)} elements")
        found |= dict.fromkeys(names, each) if isinstance(each, int) else dict(zip(names, each, strict=True))
    return found


def _in_words(latency: Mapping[str, int]) -> str:
    """Return how many registers the paths of inputs have; elements that follow each other are taken together."""
    numbers = set(latency.values())
    if len(numbers) <= 1:
        number = next(iter(numbers), 0)
        return f"every path from an operand to d has {number} register{'' if number == 1 else 's'}"
    texts = [f"{name} {number}" for name, number in latency.items()]
    return f"registers on every path to d: {', '.join(texts)}"


def _start(file: UnitFile, ports: Mapping[str, Port]) -> Start | None:
    """Return how a unit of several passes starts; None for any other unit."""
    clock = file.clock
    if clock is None or clock.cycles is None:
        return None
    if clock.reset is None:
        return Start(clock.cycles)
    nets = bits_of(clock.reset, ports, f"{file.path}: [clock] reset")
    return Start(clock.cycles, nets, "1" if clock.reset_value else "0")


def _mapped(file: UnitFile, tied: Sequence[str]) -> dict[str, str]:
    """Return what the file says about ports, as a text for each."""
    found = {}
    for operand, stated in file.ports.items():
        found[operand] = stated if isinstance(stated, str) else ", ".join(stated)
    return found | ({"tied": ", ".join(tied)} if tied else {}) | ({"free": ", ".join(file.free)} if file.free else {})
