"""A circuit, cell by cell, over the algebra; and a step that is one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

from mmaproof.designs.circuit import Bits, Circuit
from mmaproof.designs.design import Design
from mmaproof.designs.errors import DesignError
from mmaproof.designs.steps import NetlistStep
from mmaproof.smt.algebra.protocol import Algebra, D, T, Word
from mmaproof.smt.semantics.cells import cell_outputs
from mmaproof.smt.semantics.datapath import StepPath
from mmaproof.smt.semantics.signals import StepSignals
from mmaproof.smt.semantics.specials import SpecialResult
from mmaproof.smt.semantics.wires import Wires

OnNet = Callable[[str, Word[Any]], Word[Any]]
"""Takes the name of a net or of a cell and its word, and returns the word that stands for it from now on."""

_WIRING = frozenset({"$buf", "$pos", "$slice", "$concat"})
"""Cells that compute nothing."""


def run_circuit(
    circuit: Circuit,
    algebra: Algebra[D, T],
    inputs: Mapping[str, Word[D]],
    on_net: OnNet | None = None,
    *,
    unknown: Mapping[str, Word[D]] | None = None,
    run: str = "",
) -> dict[str, Word[D]]:
    """Return the output words of a circuit, by name.

    ``inputs`` has a word for each input. ``unknown`` has words for bits that may have any value, by name; of those that
    are missing, ``algebra.unknown`` gives the words, under the name with the prefix ``run``.

    ``on_net`` is called with the word of every public net once all of its bits are known (bits of one net that has
    several names only once, under the first of them), and with the output of every cell that no public net names,
    under the name of the cell (and its port, where it has several). It is not called for constants and for wiring. The
    word that it returns replaces these bits in everything that comes after.

    Raises InputError for a cell that is not covered.
    """
    wires: Wires[D, T] = Wires(algebra)
    for name, bits in circuit.inputs.items():
        wires.connect_word(bits, inputs[name])
    for name, bits in circuit.unknown.items():
        given = None if unknown is None else unknown.get(name)
        wires.connect_word(bits, algebra.unknown(run + name, len(bits)) if given is None else given)
    names, completed = _schedule(circuit) if on_net is not None else ({}, {})
    if on_net is not None:
        for name in completed.get(-1, ()):
            _replace(wires, circuit.nets[name], name, on_net)
    for number, cell in enumerate(circuit.cells):
        found = cell_outputs(wires, cell)
        for port, bits in cell.outputs.items():
            wires.connect(bits, found[port])
        if on_net is not None:
            for port, bits in cell.outputs.items():
                plain = cell.name if len(cell.outputs) == 1 else f"{cell.name}.{port}"
                if cell.kind not in _WIRING or bits in names:
                    _replace(wires, bits, names.get(bits, plain), on_net)
            for name in completed.get(number, ()):
                _replace(wires, circuit.nets[name], name, on_net)
    return {name: wires.word(wires.places(bits)) for name, bits in circuit.outputs.items()}


def _replace(wires: Wires[Any, Any], bits: Bits, name: str, on_net: OnNet) -> None:
    places = wires.places(bits)
    if wires.known_number(places) is not None:
        return
    word = wires.word(places)
    new = on_net(name, word)
    if new is not word:
        wires.connect_word(bits, new)


@lru_cache(maxsize=64)
def _schedule(circuit: Circuit) -> tuple[dict[Bits, str], dict[int, list[str]]]:
    """Return the names of cells' outputs that are public nets, and the other nets that each cell completes.

    Nets that no cell drives are under -1.
    """
    last: dict[object, int] = {"0": -1, "1": -1}
    for bits in (*circuit.inputs.values(), *circuit.unknown.values()):
        last |= dict.fromkeys(bits, -1)
    outputs: set[Bits] = set()
    for number, cell in enumerate(circuit.cells):
        for bits in cell.outputs.values():
            outputs.add(bits)
            last |= dict.fromkeys(bits, number)
    names: dict[Bits, str] = {}
    completed: dict[int, list[str]] = {}
    seen: set[Bits] = set()
    for name, bits in circuit.nets.items():
        if bits in seen or not bits or any(bit not in last for bit in bits):
            continue
        seen.add(bits)
        if bits in outputs:
            names[bits] = name
        else:
            completed.setdefault(max(last[bit] for bit in bits), []).append(name)
    return names, completed


def netlist_step(
    design: Design, step: NetlistStep, algebra: Algebra[D, T], path: StepPath, words: Mapping[str, Word[D]]
) -> StepSignals[D, T]:
    """Return the signals of one pass: d, and no others.

    Raises DesignError where the d of one pass is the c of the next and their formats differ.
    """
    if path.c.format_in(design) is not design.c_format:
        raise DesignError(
            f"{design.name} takes {step.L} products at once, and its d ({design.d_format.name}) is not a c "
            f"({design.c_format.name}) for the next ones: choose k = {step.L} or less"
        )
    d = run_circuit(step.circuit, algebra, words, algebra.on_net, run=f"{path.ks[0]}.")["d"]
    no = algebra.truth(False)
    return StepSignals(path, (), (), d, no, SpecialResult(no, no, no), d)
