"""Random circuits with registers: what is read as wires, or unrolled, is what they do clock cycle by clock cycle."""

import itertools
import random
import shutil
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from support.clocked_circuits import (
    OPERANDS,
    WIDTH,
    ClockedCircuit,
    Drawn,
    Simulation,
    random_accumulator,
    random_passes,
    random_pipeline,
    with_a_register_more,
)
from support.rtl_units import write_unit

from mmaproof.designs.circuit import Bits, Circuit
from mmaproof.designs.errors import InputError
from mmaproof.hardware_replay.rtl_simulator import simulate
from mmaproof.rtl import pipeline, read_unit, registers
from mmaproof.rtl.netlist import Module, Port, with_constants
from mmaproof.rtl.pipeline import Structure
from mmaproof.rtl.registers import Start, _Unrolling, circuit_of, cut, with_next_values
from mmaproof.smt.algebra.integers import IntegerAlgebra
from mmaproof.smt.evaluate import evaluate_batch
from mmaproof.smt.semantics.netlist_step import run_circuit
from mmaproof.verification.distributions import draw

ALGEBRA = IntegerAlgebra()
MOST_UNKNOWN = 5
"""bits that may have any value, of which all values are tried"""


def tied(drawn: ClockedCircuit) -> Module:
    (on,), (off,) = drawn.inputs["on"], drawn.inputs["off"]
    return with_constants(drawn.module(), {on: "1", off: "0"})


def operands(drawn: ClockedCircuit) -> dict[str, Bits]:
    return {n: drawn.inputs[n] for n in OPERANDS}


def latencies_of(drawn: ClockedCircuit, latency: int) -> dict[str, int]:
    """Return how many registers each operand passes, where one that is not late passes ``latency``."""
    return {n: latency - drawn.skews.get(n, 0) for n in OPERANDS}


def as_wires(drawn: ClockedCircuit, latency: int) -> Circuit:
    """Return a pipeline as a circuit without registers, as units are read. Raises InputError."""
    structure = Structure(tied(drawn), "test", drawn.result.bits, drawn.inputs["clk"][0])
    structure.check_registers(drawn.inputs["clk"][0])
    structure.refuse_feedback()
    pipeline.check_latency(structure, operands(drawn), latencies_of(drawn, latency))
    return circuit_of(structure.module, operands(drawn), structure.result, structure.used)


def is_refused(drawn: ClockedCircuit, latency: int) -> bool:
    """Whether a pipeline does not have this latency."""
    try:
        as_wires(drawn, latency)
    except InputError as problem:
        return "latency" in str(problem)
    return False


def computed(circuit: Circuit, words: dict[str, int], unknown: dict[str, int]) -> int:
    held = {n: ALGEBRA.unsigned(words[n], len(bits)) for n, bits in circuit.inputs.items()}
    chosen = {n: ALGEBRA.unsigned(x, len(circuit.unknown[n])) for n, x in unknown.items()}
    return run_circuit(circuit, ALGEBRA, held, unknown=chosen)["d"].data


def drawn_words(rng: random.Random) -> dict[str, int]:
    return {n: rng.getrandbits(width) for n, width in OPERANDS.items()} | {"clk": 0, "on": 1, "off": 0}


def given(drawn: ClockedCircuit, rows: Sequence[dict[str, int]], start: int) -> dict[str, int]:
    """Return the operands of which the first is given in the clock cycle ``start``, each in its own."""
    # one that comes after d has no path to it
    return {n: rows[min(start + drawn.skews.get(n, 0), len(rows) - 1)][n] for n in OPERANDS}


def streamed(drawn: ClockedCircuit, circuit: Circuit, latency: int, rng: random.Random) -> bool:
    """Whether d is, in each clock cycle, what the circuit computes of the operands of ``latency`` cycles before.

    What is free has any value in each cycle: one of them is to give d.
    """
    simulation = Simulation(drawn, rng)
    settled = sum("Q" in x.outputs for x in drawn.cells)  # at most so long do registers of constants take
    rows = [drawn_words(rng) | {"free": rng.getrandbits(1)} for _ in range(settled + 12)]
    found = [simulation.cycle(row) for row in rows]
    names = list(circuit.unknown)
    every = [dict(zip(names, x, strict=True)) for x in itertools.product((0, 1), repeat=len(names))]
    return all(
        any(computed(circuit, given(drawn, rows, t - latency), unknown) == found[t] for unknown in every)
        for t in range(max(settled, latency), len(rows))
    )


def examine_pipeline(seed: int, is_skewed: bool = False) -> str:
    """Read a random pipeline, and return what came of it."""
    drawn = random_pipeline(seed, is_skewed=is_skewed)
    rng, counts = random.Random(seed), drawn.result.counts
    latency = max(counts)
    try:
        circuit = as_wires(drawn, latency)
    except InputError as problem:
        assert len(counts) > 1, f"{seed}: {problem}"
        assert "latency" in str(problem), f"{seed}: {problem}"
        return "refused"
    if len(circuit.unknown) > MOST_UNKNOWN:
        return "too many unknown bits"
    assert streamed(drawn, circuit, latency, rng), f"pipeline {seed} of latency {latency} is not its circuit"
    if latency and len(counts) == 1:
        for other in (latency - 1, latency + 1):
            assert is_refused(drawn, other), f"pipeline {seed} of latency {latency} is read with {other}"
    return "equal latency" if len(counts) == 1 else "unequal where it does not matter"


def examine_pipelines(seeds: range, is_skewed: bool = False) -> Counter[str]:
    return Counter(examine_pipeline(seed, is_skewed) for seed in seeds)


def examine_accumulator(seed: int) -> str:
    """Read a register that is read again as c and d, and return what came of it.

    What it holds in each clock cycle is what the circuit computes of what it held before.
    """
    drawn, rng = random_accumulator(seed), random.Random(seed)
    acc, clock = drawn.names["acc"], drawn.inputs["clk"][0]
    latency = max(x for x in drawn.result.counts)
    module = replace(tied(drawn), registers={"acc": Port("acc", "register", acc)})
    module, following, _ = with_next_values(module, ["next:acc"], "test")
    module, taken = cut(module, set(acc))
    inputs = operands(drawn) | {"acc": acc}
    try:
        structure = Structure(module, "test", following["next:acc"].bits, clock)
        structure.check_registers(clock)
        structure.check_taken(taken, clock)
        structure.refuse_feedback()
        stated = latencies_of(drawn, latency) | {"acc": 0}
        pipeline.check_latency(structure, inputs, stated)
        circuit = circuit_of(structure.module, inputs, structure.result, structure.used)
    except InputError as problem:
        assert len(drawn.result.counts) > 1, f"{seed}: {problem}"
        assert "latency" in str(problem), f"{seed}: {problem}"
        return "refused"
    if len(circuit.unknown) > MOST_UNKNOWN:
        return "too many unknown bits"
    simulation = Simulation(drawn, rng)
    settled = sum("Q" in x.outputs for x in drawn.cells)
    rows = [drawn_words(rng) | {"free": rng.getrandbits(1)} for _ in range(settled + latency + 12)]
    held = [simulation.cycle(row) for row in rows]
    names = list(circuit.unknown)
    every = [dict(zip(names, x, strict=True)) for x in itertools.product((0, 1), repeat=len(names))]
    for t in range(settled + latency, len(rows) - 1):
        words = given(drawn, rows, t - latency) | {"acc": held[t]}
        assert any(computed(circuit, words, unknown) == held[t + 1] for unknown in every), f"accumulator {seed}"
    return "read"


def examine_passes(seed: int) -> int:
    """Compare an unrolled circuit with the simulator; return how many bits of it may have any value."""
    drawn, rng = random_passes(seed), random.Random(seed)
    cycles, is_reset = rng.randint(1, 4), rng.random() < 0.7
    module, reset = tied(drawn), drawn.inputs["rst"]
    if not is_reset:
        module = with_constants(module, {reset[0]: "0"})
    start = Start(cycles, reset, "1") if is_reset else Start(cycles)
    structure = Structure(module, "test", drawn.result.bits, None)
    structure.check_registers(drawn.inputs["clk"][0], reset if is_reset else ())
    inputs = operands(drawn)
    circuit = circuit_of(structure.module, inputs, structure.result, structure.used, start)
    for _ in range(8):
        words = drawn_words(rng)
        simulation = Simulation(drawn, rng)
        initial = dict(simulation.state)
        if is_reset:
            simulation.cycle(words | {"rst": 1})
            initial = {bit: simulation.nets[bit] for bit in initial}
        for _ in range(cycles):
            simulation.cycle(words | {"rst": 0})
        d = simulation.cycle(words | {"rst": 0})
        states = {f"initial {n}[{i}]": initial[bit] for n, bits in drawn.names.items() for i, bit in enumerate(bits)}
        unknown = {n: states[n] for n in circuit.unknown}
        assert computed(circuit, words, unknown) == d, f"passes {seed}, {cycles} cycles, reset: {is_reset}"
    return len(circuit.unknown)


def settled_at(drawn: ClockedCircuit, row: dict[str, int], cycles: int) -> int:
    """Return d once the operands have been held: what the circuit computes, wherever its registers are."""
    simulation = Simulation(drawn, random.Random(0))
    return [simulation.cycle(row) for _ in range(cycles)][-1]


def decide_pipeline(seed: int, is_wrong: bool) -> str:
    """Say whether a random pipeline takes new operands in every cycle, as it is read and as it is simulated.

    One that ``is_wrong`` has a register more on one path. What it computes is found with operands that are held.
    """
    rng = random.Random(seed)
    drawn = random_pipeline(seed, wrong=0, is_closed=True)
    (latency,) = drawn.result.counts
    drawn = with_a_register_more(drawn, rng) if is_wrong else drawn
    settled = sum("Q" in x.outputs for x in drawn.cells) + 1
    rows = [drawn_words(rng) | {"free": 0} for _ in range(settled + latency + 12)]
    simulation = Simulation(drawn, rng)
    found = [simulation.cycle(row) for row in rows]
    wanted = {t: settled_at(drawn, rows[t - latency], settled + latency) for t in range(settled + latency, len(rows))}
    streams = all(found[t] == d for t, d in wanted.items())
    try:
        circuit = as_wires(drawn, latency)
    except InputError as problem:
        assert "latency" in str(problem), f"{seed}: {problem}"
        return "refused" if not streams else "refused for a path that does not matter"
    assert all(computed(circuit, rows[t - latency], {}) == d for t, d in wanted.items()), (
        f"pipeline {seed} is read wrongly"
    )
    assert streams, f"pipeline {seed} is read, and gives other results where operands change"
    return "read"


def decide_pipelines(seeds: range) -> Counter[str]:
    right = Counter(decide_pipeline(seed, False) for seed in seeds)
    assert set(right) == {"read"}, right
    return Counter(decide_pipeline(seed, True) for seed in seeds)


def test_a_pipeline_with_a_register_more_is_decided_as_its_simulation_is() -> None:
    found = decide_pipelines(range(5000, 5004))
    assert found["refused"] >= 2, found


@pytest.mark.middle
def test_pipelines_with_a_register_more_are_decided_as_their_simulations_are() -> None:
    found = decide_pipelines(range(5020, 5028))
    assert found["refused"] > 2, found


@pytest.mark.slow
def test_all_pipelines_with_a_register_more_are_decided_as_their_simulations_are() -> None:
    """500 circuits, half of them wrong by one register: none is read that gives other results in some cycle."""
    found = decide_pipelines(range(5100, 5350))
    assert found["refused"] > 125 and found["refused for a path that does not matter"] < 40, found


@pytest.mark.middle
def test_a_pipeline_is_what_it_does_in_time() -> None:
    found = examine_pipelines(range(40))
    assert found["equal latency"] > 15 and found["refused"] > 5, found


def test_a_skewed_pipeline_is_what_it_does_in_time() -> None:
    found = examine_pipelines(range(1000, 1040), is_skewed=True)
    assert found["equal latency"] > 15 and found["refused"] > 5, found


def test_an_accumulator_is_what_it_does_in_time() -> None:
    found = Counter(map(examine_accumulator, range(60)))
    assert found["read"] > 15 and found["refused"] > 10, found


def test_passes_are_what_they_do_in_time() -> None:
    found = [examine_passes(seed) for seed in range(40)]
    assert found.count(0) > 5 and max(found) >= WIDTH, found


def test_a_carry_out_of_an_early_bit_is_a_path() -> None:
    """The lowest bit of a sum is not read, and comes a clock cycle early: the others have its carry."""
    drawn = ClockedCircuit()
    for name, width in {"clk": 1, "on": 1, "off": 1, **OPERANDS}.items():
        drawn.input(name, width)
    a, b = drawn.new(4), drawn.new(4)
    drawn.register("$dff", a, drawn.inputs["a0"], {})
    drawn.register("$dff", b, drawn.inputs["b0"], {})
    early = drawn.cell("$add", 4, A=(drawn.inputs["a0"][0], *a[1:]), B=b)
    drawn.result = Drawn(("0", *early[1:], *("0",) * 4), frozenset({0, 1}))
    assert is_refused(drawn, 1)
    even = drawn.cell("$add", 4, A=a, B=b)
    drawn.result = Drawn(("0", *even[1:], *("0",) * 4), frozenset({1}))
    assert streamed(drawn, as_wires(drawn, 1), 1, random.Random(1))


FORMATS = '[formats]\na = "int4"\nb = "int4"\nc = "int8"\nd = "int8"\n'


def read_from_text(seed: int, folder: Path) -> str:
    """Write a pipeline as Verilog, read it, and compare it with the simulator here and with the one of the tool."""
    drawn = random_pipeline(seed)
    counts = drawn.result.counts
    latency = max(counts)
    clock = f'[tied]\non = 1\noff = 0\n[clock]\nclock = "clk"\nlatency = {latency}\n'
    path = write_unit(folder / str(seed), drawn.verilog(), keys='free = ["free"]', formats=FORMATS, tables=clock)
    try:
        unit = read_unit(path)
    except InputError as problem:
        assert "latency" in str(problem) and len(counts) > 1, f"{seed}: {problem}"
        return "refused"
    if len(unit.circuit.unknown) > MOST_UNKNOWN:
        return "too many unknown bits"
    assert streamed(drawn, unit.circuit, latency, random.Random(seed)), f"pipeline {seed} as text is not its circuit"
    if shutil.which("iverilog") is not None and not unit.circuit.unknown:
        batch = draw("uniform-bits", unit.design, 20, 2, np.random.default_rng(seed))
        found, wanted = simulate(unit, batch), evaluate_batch(unit.design, batch).tolist()
        same = [d == e for d, e, x in zip(found.d, wanted, found.undefined, strict=True) if not x]
        assert all(same) and len(same) > 10, seed  # a register of a constant is undefined for a clock cycle
    return "read"


@pytest.mark.parametrize("seed", [0, 1])
def test_a_pipeline_as_text_is_what_it_does_in_time(seed: int, tmp_path: Path) -> None:
    assert read_from_text(seed, tmp_path) == "read"


@pytest.mark.slow
def test_pipelines_as_text_are_what_they_do_in_time(tmp_path: Path) -> None:
    found = Counter(read_from_text(seed, tmp_path) for seed in range(500, 520))
    assert found["read"] >= 8 and found["refused"] >= 2, found


@pytest.mark.slow
def test_many_circuits_are_what_they_do_in_time() -> None:
    found = examine_pipelines(range(100, 250))
    assert found["equal latency"] > 60 and found["refused"] > 30, found
    assert sum(examine_passes(seed) > 0 for seed in range(100, 250)) > 50
    skewed = examine_pipelines(range(2000, 2300), is_skewed=True)
    assert skewed["equal latency"] > 100 and skewed["refused"] > 60, skewed
    accumulators = Counter(map(examine_accumulator, range(100, 400)))
    assert accumulators["read"] > 80 and accumulators["refused"] > 60, accumulators


# --- mutants ------------------------------------------------------------------------------------------------


def _no_latency(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pipeline, "check_latency", lambda *x: None)


def _longest_path_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    right = pipeline._register_counts

    def counts(structure: Structure, names: dict[object, str]) -> dict[object, int]:
        return {bit: 1 << (x.bit_length() - 1) if x else 0 for bit, x in right(structure, names).items()}  # type: ignore[arg-type]

    monkeypatch.setattr(pipeline, "_register_counts", counts)


def _sources_of_the_first_port(monkeypatch: pytest.MonkeyPatch) -> None:
    right = pipeline._sources
    monkeypatch.setattr(pipeline, "_sources", lambda cell, port, at: list(right(cell, port, at))[:1])


def _one_value_of_what_is_free(monkeypatch: pytest.MonkeyPatch) -> None:
    right = _Unrolling.source

    def source(self: _Unrolling, bit: object, age: int) -> object:
        found = right(self, bit, age)  # type: ignore[arg-type]
        undriven = isinstance(found, tuple) and found[0] not in self.drivers and found[0] not in self.operands
        return (found[0], 0) if undriven and isinstance(found, tuple) else found

    monkeypatch.setattr(_Unrolling, "source", source)


def _polarity_is_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registers, "_active", lambda cell, port: (cell.inputs[port][0], True))


def _a_cycle_too_few(monkeypatch: pytest.MonkeyPatch) -> None:
    right = Start.__init__
    monkeypatch.setattr(Start, "__init__", lambda self, age, *x: right(self, age - 1, *x))


def _reset_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Start, "other", property(lambda self: self.value))


def _never_reset(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_Unrolling, "_resets", lambda self, register: False)


def _reset_to_the_complement(monkeypatch: pytest.MonkeyPatch) -> None:
    right = registers._constant
    monkeypatch.setattr(registers, "_constant", lambda value, width: right(~value, width))


@pytest.mark.few(1)
@pytest.mark.parametrize(
    "mutant",
    [_no_latency, _longest_path_alone, _sources_of_the_first_port, _one_value_of_what_is_free, _polarity_is_lost],
)
def test_what_is_wrong_about_pipelines_is_seen(
    mutant: Callable[[pytest.MonkeyPatch], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    mutant(monkeypatch)
    with pytest.raises(AssertionError):
        examine_pipelines(range(60))


@pytest.mark.parametrize("mutant", [_a_cycle_too_few, _reset_for_ever, _never_reset, _reset_to_the_complement])
def test_what_is_wrong_about_passes_is_seen(
    mutant: Callable[[pytest.MonkeyPatch], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    mutant(monkeypatch)
    with pytest.raises((AssertionError, KeyError)):
        for seed in range(40):
            examine_passes(seed)
