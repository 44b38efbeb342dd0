"""A module that was elaborated as circuits: one for a step, one for each claim about a register, and its control."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import islice

from mmaproof.designs.circuit import Bit, Bits, Cell, Circuit
from mmaproof.designs.design import Design
from mmaproof.designs.errors import DesignError, InputError
from mmaproof.designs.parameters import Chain
from mmaproof.designs.signature import Signature
from mmaproof.designs.steps import NetlistStep
from mmaproof.designs.transitions import CLEAR, DRAIN, FIRST, HOLD, VIEW, Transition
from mmaproof.rtl.clock_cycles import STEP, circuit_in_time
from mmaproof.rtl.handshake import Ports, check_handshake
from mmaproof.rtl.mapped_ports import (
    all_bits,
    check_complete,
    elements_among,
    fixed_operands,
    format_of_words,
    joined_words,
    nets_of_operands,
    with_tied,
    words_of,
)
from mmaproof.rtl.netlist import Module, Port, with_constants
from mmaproof.rtl.registers import cut, present_values, with_next_values
from mmaproof.rtl.slices import bits_of, constant_of, one_bit
from mmaproof.rtl.unit_file import NEXT, REG, UnitFile
from mmaproof.rtl.views import View, applied, driven

WITHOUT_C = "c is +0, because the unit has none"
_WORD = {"A_SIGNED": 0, "B_SIGNED": 0}


@dataclass(frozen=True, slots=True)
class Variant:
    """A circuit of a unit with some values of the inputs that steer its register."""

    circuit: Circuit
    products: int
    registers: int
    tied: tuple[str, ...]
    said: tuple[str, ...]
    held: tuple[str, ...]
    covers: str
    longest: int


@dataclass(frozen=True)
class Reading:
    """A module that was elaborated, read as a circuit for each value of the inputs that steer its register."""

    file: UnitFile
    signature: Signature
    module: Module
    most_cells: int
    views: Mapping[str, View] = field(default_factory=dict)

    @cached_property
    def raw(self) -> Signature:
        """The formats with words in place of the numbers that have a view."""
        words = {x: format_of_words(self.file, x, view) for x, view in self.views.items()}
        a, b, c, d = (words.get(x, fmt) for x, fmt in zip("abcd", self.signature.formats, strict=True))
        return replace(self.signature, a=a, b=b, c=c, d=d)

    def variant(self, values: Mapping[str, bool], read: str | None = None, is_canonical: bool = False) -> Variant:
        """Return the circuit where inputs that steer have these values; one that has none may have any value.

        Where the register is loaded, what is loaded is c, and the register may have held anything. With ``read``, d is
        what is read there, and all operands but c are free. With ``is_canonical``, d is 1 where the words of d are
        those that the view of c makes of their number.
        """
        file = self.file if read is None else replace(self.file, ports={**self.file.ports, "d": read})
        module = self.module
        steering = self.steering()
        constants: dict[Bit, Bit] = {}
        said = []
        for role, expression in file.control.signals.items():
            if role in values:
                name, value = steered(expression, values[role])
                constants[steering[role]] = "1" if value else "0"
                since = "" if self.why_not_direct is None else " in all clock cycles"
                said.append(f"{name} = {value}{since}")
        if file.handshake is not None:  # where nothing stalls
            where = f"{file.path}: [handshake]"
            constants |= {one_bit(x, module.facing("input"), where): "1" for x in file.handshake.given}
        module, tied = with_tied(file, with_constants(module, constants))
        module, next_ports, following = with_next_values(
            module, file.texts("d"), str(file.path), {bit for x, bit in steering.items() if x not in values}
        )
        ports = module.facing("input") | present_values(module)
        loads = values.get("load", False)
        fresh = module.new_nets()
        inputs, products, stored = nets_of_operands(file, self.raw, module, ports, loads, fresh)
        added = (
            () if loads or "c" in self.views or not file.adds_c else words_of(file, "c", self.signature.c, ports)[1:]
        )
        free: dict[str, Bits] = {f"free {text}": tuple(x for x in bits if isinstance(x, int)) for text, bits in added}
        free |= {f"free {x}": bits_of(x, ports, f"{file.path}: free") for x in file.free}
        if file.control.load_from is not None and not loads:
            where = f"{file.path}: [control] load_from"
            free[f"free {file.control.load_from}"] = bits_of(file.control.load_from, ports, where)
        roles = {bit for x, bit in steering.items() if x != "drain"}  # an input that drains may have another role
        free |= {
            f"steers: {x}": (bit,)
            for x, bit in steering.items()
            if x not in values and bit not in constants and (x != "drain" or bit not in roles)
        }
        if read is not None:
            free |= {f"free {n}": bits for n, bits in inputs.items() if n != "c"}
            inputs = {n: bits if n == "c" else tuple(islice(fresh, len(bits))) for n, bits in inputs.items()}
        outputs = module.facing("output") | next_ports
        kept: Bits = ()
        if read is not None:
            kept = tuple(bit for n in next_ports for bit in self.module.registers[n.removeprefix(NEXT)].bits)
        module, taken = cut(module, {bit for bit in (*stored, *kept) if isinstance(bit, int)})
        free |= {"free what it held": kept} if kept else {}
        module, result = self._result(file, module, outputs, fresh, is_canonical)
        if loads:
            free[f"free {' '.join(file.texts('c'))}"] = tuple(bit for bit in stored if bit not in all_bits(inputs))
        check_complete(file, module, inputs, free)
        if added:
            whole: Bits = tuple(islice(fresh, self.signature.c.bits))
            module, others = _summed(module, [bits for _, bits in added], fresh)
            module, inputs = _with(module, "$sub", whole, others, inputs["c"]), {**inputs, "c": whole}
        for operand, view in self.views.items():
            for name, bits in elements_among(inputs, operand).items() if operand != "d" else ():
                module, read_by_view = driven(module, view, bits, fresh)
                inputs = {**inputs, name: read_by_view}
        module = replace(module, unknown=dict(module.unknown) | free)
        circuit, registers, more, held, covers, longest = circuit_in_time(
            file, module, inputs, result, following | taken, self.most_cells, read is not None
        )
        circuit = replace(
            circuit, name=file.path.as_posix(), unknown=_as_words(circuit, [f"free {x}" for x, _ in added])
        )
        return Variant(circuit, products, registers, (*said, *tied), tuple(more), tuple(held), covers, longest)

    def steering(self) -> dict[str, Bit]:
        """Return the bit of each input that steers the register. Raises InputError for one of several bits."""
        ports, found = self.module.facing("input"), {}
        for role, expression in self.file.control.signals.items():
            where = f"{self.file.path}: [control] {role}"
            found[role] = one_bit(expression.removeprefix("!"), ports, where)
        own = [bit for role, bit in found.items() if role != "drain"]
        if len(set(own)) < len(own):
            raise InputError(f"{self.file.path}: [control]: one input has two roles: each needs an input of its own")
        return found

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
        module, _ = with_tied(left, self.module)
        inputs, outputs = map(module.facing, ("input", "output"))
        ports = Ports(
            one_bit(given.valid_in, inputs, where),
            None if given.ready_in is None else one_bit(given.ready_in, outputs, where),
            one_bit(given.valid_out, outputs, where),
            None if given.ready_out is None else one_bit(given.ready_out, inputs, where),
            one_bit(given.reset, inputs, where),
            "0" if constant_of(file.tied[given.reset], 1, where) else "1",
        )
        sources = inputs | present_values(module)
        named, _, stored = nets_of_operands(file, self.raw, module, sources, False, module.new_nets())
        if file.adds_c and "c" not in file.view:
            named |= {f"c{i}": bits for i, (_, bits) in enumerate(words_of(file, "c", self.signature.c, sources)) if i}
        stays = [x for x in file.ports if x in file.clock.held or file.is_register(x)]
        held = {n: bits for x in stays for n, bits in elements_among(named, x).items()}
        moving = {n: bits for n, bits in named.items() if n not in held}
        module, _ = cut(module, {x for x in stored if isinstance(x, int)})
        words = [bits for _, bits in words_of(file, "d", self.signature.d, outputs)] if "d" not in file.view else []
        words = words or [joined_words(file, "d", outputs, self.raw.d.bits)]
        result = tuple(bit for bits in words for bit in bits)
        clock = one_bit(file.clock.port, inputs, where)
        return check_handshake(module, str(file.path), ports, moving, held, result, file.clock.latency, clock)

    def _result(
        self, file: UnitFile, module: Module, ports: Mapping[str, Port], fresh: Iterator[int], is_canonical: bool
    ) -> tuple[Module, Bits]:
        """Return the module with what makes d of its words, and d."""
        view = self.views.get("d")
        if view is None or (file is not self.file and not is_canonical):
            return _summed(module, [bits for _, bits in words_of(file, "d", self.signature.d, ports)], fresh)
        words = joined_words(file, "d", ports, len(view.given))
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

    def design(self, found: Variant, suffix: str = "") -> Design:
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
        control = self.file.control
        name = (", " if self.views else " + ").join(self.file.texts("c")).replace(REG, "")
        found = []
        if control.enable is not None:
            values = {**STEP, "enable": False}
            found.append(self._claim(HOLD, f"{name} keeps its value", values, lambda inputs: inputs["c"]))
        if control.clear is not None:
            to = self.cleared
            bits: Bits = tuple("1" if to >> i & 1 else "0" for i in range(self.signature.c.bits))
            text = f"{name} becomes {self.signature.c.hex(to)}"
            if control.enable is not None:
                values = {**STEP, "enable": False, "clear": True}
                if control.clear_needs_enable:
                    found.append(self._claim(CLEAR, f"{name} keeps its value", values, lambda inputs: inputs["c"]))
                else:
                    found.append(self._claim(CLEAR, text, values, lambda _: bits))
            first = self._claim(FIRST, text, {**STEP, "clear": True}, lambda _: bits)
            found.append(first)
            if not _reads(first.unit, "c"):
                when = first.text.removesuffix(text)
                text = f"{when}{name} takes the first step, from {self.signature.c.hex(to)}"
                found.append(replace(first, text=text, model=None, where=(f"c={to:#x}",)))
        if control.load is not None:
            for enabled in (False, True) if control.enable is not None else (True,):
                values, text = {**STEP, "enable": enabled, "load": True}, f"{name} becomes {control.load_from}"
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
        pairs = ((*steered(signals[role], x), self.file.later(role)) for role, x in values.items() if role in signals)
        ages = ("", " a clock cycle before")
        when = ", ".join(f"{n} = {x}{ages[k] if k < 2 else f' {k} clock cycles before'}" for n, x, k in pairs)
        unit = self.design(found, f" [{read or 'words' * is_canonical}{' ' * bool(read and when)}{when}]")
        inputs = dict(unit.step.circuit.inputs) if isinstance(unit.step, NetlistStep) else {}
        circuit = Circuit(f"{text}", inputs, {"d": result(inputs)}, (), {}, {})
        model = self._named(circuit.name, NetlistStep(L=found.products, circuit=circuit), found.products)
        since = "" if self.why_not_direct is None and not found.longest else " in all clock cycles"
        later = f", {found.longest} clock cycle{'s' * (found.longest != 1)} later" if found.longest and read else ""
        whole = f"{f'with {when}{since}: ' * bool(when)}{text}{later}"
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


def _reads(unit: Design, operand: str) -> bool:
    """Return whether d of a netlist may depend on an operand."""
    step = unit.step
    if not isinstance(step, NetlistStep):
        return True
    read = {bit for cell in step.circuit.cells for bits in cell.inputs.values() for bit in bits}
    return not read.union(step.circuit.outputs["d"]).isdisjoint(step.circuit.inputs[operand])


def _as_words(circuit: Circuit, names: Iterable[str]) -> dict[str, Bits]:
    """Return the bits that may have any value, those of some words as one: sums of words are found more easily."""
    found = dict(circuit.unknown)
    for name in names:
        bits = [x for x in found if x.startswith(f"{name}[")]
        if not any("at age" in x for x in bits):
            ordered = sorted(bits, key=lambda x: int(x.removeprefix(f"{name}[").rstrip("]")))
            found |= {name: tuple(bit for x in ordered for bit in found.pop(x))} if bits else {}
    return found


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
