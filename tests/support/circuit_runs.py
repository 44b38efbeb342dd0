"""A circuit run by each interpretation, as numbers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from mmaproof.designs.circuit import Circuit
from mmaproof.rtl.elaboration import Netlist
from mmaproof.rtl.netlist import read_module
from mmaproof.rtl.registers import circuit_of
from mmaproof.smt.algebra.arrays import ArrayAlgebra
from mmaproof.smt.algebra.code import CodeAlgebra, TooWideError
from mmaproof.smt.algebra.integers import IntegerAlgebra
from mmaproof.smt.algebra.nodes import run
from mmaproof.smt.algebra.protocol import Word
from mmaproof.smt.algebra.terms import TermAlgebra
from mmaproof.smt.proving.staged_lemmas import Samples
from mmaproof.smt.semantics.netlist_step import run_circuit
from support.random_circuits import RandomCircuit

Rows = Sequence[Mapping[str, int]]
Results = list[dict[str, int]]


class IntegersInParts(IntegerAlgebra):
    """Integers that want words of five bits, so that what is done in parts is done in many."""

    @property
    def handy_width(self) -> int:
        """Five bits."""
        return 5


class TermsInParts(TermAlgebra):
    """Terms that want words of three bits."""

    @property
    def handy_width(self) -> int:
        """Three bits."""
        return 3


def on_integers(circuit: Circuit, rows: Rows, algebra: IntegerAlgebra | None = None) -> Results:
    """Return the outputs for each row, computed on integers."""
    algebra = IntegerAlgebra() if algebra is None else algebra
    found = []
    for row in rows:
        words = {n: algebra.unsigned(row[n], len(bits)) for n, bits in circuit.inputs.items()}
        found.append({n: word.data for n, word in run_circuit(circuit, algebra, words).items()})
    return found


def in_parts(circuit: Circuit, rows: Rows) -> Results:
    """Return the outputs for each row, computed on integers in words of a few bits."""
    return on_integers(circuit, rows, IntegersInParts())


def on_arrays(circuit: Circuit, rows: Rows) -> Results:
    """Return the outputs for each row, computed on arrays."""
    algebra = ArrayAlgebra()
    words = {
        n: algebra.from_patterns(np.array([row[n] for row in rows], dtype=object), len(bits))
        for n, bits in circuit.inputs.items()
    }
    found = {n: word.data for n, word in run_circuit(circuit, algebra, words).items()}
    return [{n: int(x if np.ndim(x) == 0 else x[i]) for n, x in found.items()} for i in range(len(rows))]


def on_graph(circuit: Circuit, rows: Rows) -> Results | None:
    """Return the outputs for each row, computed by machine operations; None where a word is too wide for them."""
    algebra = CodeAlgebra()
    try:
        words = {n: algebra.symbol(n, len(bits)) for n, bits in circuit.inputs.items()}
        found = run_circuit(circuit, algebra, words)
    except TooWideError:
        return None
    names = list(found)
    nodes = [found[n].data.node for n in names]
    return [dict(zip(names, run(nodes, row), strict=True)) for row in rows]


def terms_of(circuit: Circuit, algebra: TermAlgebra | None = None) -> dict[str, Word[object]]:
    """Return the outputs as terms over variables with the names of the inputs."""
    algebra = TermAlgebra() if algebra is None else algebra
    words = {n: algebra.symbol(f"{circuit.name}.{n}", len(bits)) for n, bits in circuit.inputs.items()}
    return dict(run_circuit(circuit, algebra, words))


def on_terms(circuit: Circuit, rows: Rows) -> Results:
    """Return the outputs for each row, by evaluating terms; words that may have any value are zero."""
    found = terms_of(circuit)
    samples = Samples([{f"{circuit.name}.{n}": x for n, x in row.items()} for row in rows])
    values = {n: samples.values(word.data) for n, word in found.items()}
    return [{n: x[i] for n, x in values.items()} for i in range(len(rows))]


INTERPRETATIONS: Mapping[str, Callable[[Circuit, Rows], Results | None]] = {
    "integers": on_integers,
    "integers in parts": in_parts,
    "arrays": on_arrays,
    "machine operations": on_graph,
    "terms": on_terms,
}


def circuit_as_read(random: RandomCircuit) -> Circuit:
    """Return the circuit that is read from what Yosys wrote, with one output ``d`` of all outputs."""
    module = read_module(random.name, Netlist(random.module, (), "Yosys"))
    inputs = {n: module.ports[n].bits for n in random.inputs}
    result = tuple(bit for n in random.outputs for bit in module.ports[n].bits)
    return circuit_of(module, inputs, result)


def differences(random: RandomCircuit, found: Results) -> tuple[int, list[str]]:
    """Return how many bits were compared with Yosys' own, and what differs."""
    compared, wrong = 0, []
    for row, expected in zip(found, random.results, strict=True):
        bits = row["d"]
        for name, width in random.outputs.items():
            for position, bit in enumerate(reversed(expected[name])):
                if bit in "01":
                    compared += 1
                    if str(bits >> position & 1) != bit:
                        wrong.append(f"{random.name}: {name}[{position}] is {bit}")
            bits >>= width
    return compared, wrong
