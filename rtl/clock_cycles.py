"""A unit over its clock cycles: its registers are wires, or it is unrolled, and what that says of its operands."""

from __future__ import annotations

from collections.abc import Mapping

from mmaproof.designs.circuit import Bits, Circuit
from mmaproof.designs.errors import InputError
from mmaproof.rtl.mapped_ports import all_bits, elements_among, latency_of
from mmaproof.rtl.netlist import Module, Port
from mmaproof.rtl.pipeline import Structure, ages, check_latency, latencies
from mmaproof.rtl.registers import Register, Start, circuit_of
from mmaproof.rtl.slices import bits_of, one_bit
from mmaproof.rtl.unit_file import REG, UnitFile

SETTLED = "registers that always load a constant have loaded it"
KEEPS_NOTHING = "latches and loops that keep no value, whatever the unit reads, are wires: a solver proved it"
STEP: Mapping[str, bool] = {"enable": True, "clear": False, "load": False}
"""What steers a register while it takes a step."""


def circuit_in_time(
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
    ports = module.facing("input")
    net = None if clock is None else one_bit(clock.port, ports, f"{path}: [clock] clock")
    start = start_of(file, ports)
    structure = Structure(module, path, result, net if start is None else None)
    structure.check_registers(net, () if start is None else start.nets)
    said, covers, longest = [KEEPS_NOTHING] if structure.opened else [], "", 0
    held = ["c is what a register holds, and d what it holds after a clock cycle"] if file.accumulates else []
    held += [f"{x} is what {name} makes of a number" for x, name in file.view.items() if x != "d"]
    held += [
        f"{operand} is what a register holds ({', '.join(file.texts(operand)).replace(REG, '')})"
        for operand in file.ports
        if file.is_register(operand) and not (file.accumulates and operand == "c")
    ]
    structure.check_taken(taken, net)
    if start is None:
        structure.refuse_feedback()
        latency = latency_of(file, inputs) if not reads_c else {"c": _only_latency(structure, inputs["c"])}
        others = module.unknown if file.accumulates else {}
        latency |= {n: file.later(x) for x in STEP if (n := f"steers: {x}") in others}
        check_latency(structure, {**inputs, **others}, latency)
        if clock is not None:
            said.append(f"{_in_words(latency)}; they are treated as wires")
            long = [
                f"{operand} is held for {cycles} clock cycles"
                for operand in clock.held
                if (cycles := ages(structure, elements_among(inputs, operand))) > 1
            ]
            held += long
            longest = max(latencies(structure, tuple(all_bits(inputs))), default=0)
            if structure.used:
                covers = f"a new {'set of the other operands' if long else 'operand set'} in every cycle"
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
    count = sum(len(x.q) for x in (*structure.used.values(), *taken.values()))
    return circuit, count, said, held, covers, longest


def _only_latency(structure: Structure, operand: Bits) -> int:
    """Return the number of registers on all paths from c to the result. Raises InputError if there are several."""
    found = sorted(latencies(structure, operand)) or [0]
    if len(found) > 1:
        numbers = " and ".join(map(str, found))
        raise InputError(f"{structure.path}: [control] drain_to: paths from the register have {numbers} registers")
    return found[0]


def _in_words(latency: Mapping[str, int]) -> str:
    """Return how many registers the paths of inputs have; elements that follow each other are taken together."""
    first, *others = set(latency.values()) or {0}
    if others:
        return f"registers on every path to d: {', '.join(f'{name} {number}' for name, number in latency.items())}"
    return f"every path from an operand to d has {first} register{'' if first == 1 else 's'}"


def start_of(file: UnitFile, ports: Mapping[str, Port]) -> Start | None:
    """Return how a unit of several passes starts; None for any other unit."""
    clock = file.clock
    if clock is None or clock.cycles is None:
        return None
    if clock.reset is None:
        return Start(clock.cycles)
    nets = bits_of(clock.reset, ports, f"{file.path}: [clock] reset")
    return Start(clock.cycles, nets, "1" if clock.reset_value else "0")
