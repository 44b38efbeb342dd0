"""Which nets of a unit are the first to differ from a design on a witness.

A net is held against the named signals of the design: on samples on which both return the same d, it may be a signal,
plus or minus a constant, negated, or shifted, or its magnitude, everywhere or where a term is present. If that is so on
all of the samples, and on the witness no more, the net differs there, and what it should have been is known. Samples
suggest these relations and nothing proves them: they explain a witness, which is shown to be one without them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from mmaproof.designs.circuit import Circuit
from mmaproof.designs.design import Design
from mmaproof.designs.operands import OperandBatch, Operands, Patterns
from mmaproof.smt.algebra.arrays import FAST_BITS, ArrayAlgebra
from mmaproof.smt.algebra.protocol import Truth, Word
from mmaproof.smt.algebra.signals import Signal, SignalKind
from mmaproof.smt.evaluate import equal_patterns, evaluate_batch
from mmaproof.smt.semantics import OperandWords, dot_product_accumulate
from mmaproof.smt.semantics.netlist_step import run_circuit
from mmaproof.verification.distributions import DISTRIBUTIONS, draw

ROWS = 60
"""Samples from each distribution."""
NEIGHBOURS = 400
"""Samples that differ from the witness in a few bits."""
FEWEST_AGREEING = 40
"""With fewer samples on which both return the same d, nothing is suggested."""
FEWEST_VALUES = 4
"""A word with fewer values, where a relation is looked for, suggests nothing."""
FEWEST_OF_A_TRUTH = 6
"""So many samples on which it is true, and as many on which it is not, suggest what a truth value is."""
MOST_PLACES = 8
"""Places by which a net may be shifted."""

Column = npt.NDArray[np.int64]
"""A value for each sample; the last one is that of the witness."""


@dataclass(frozen=True, slots=True)
class DifferingNet:
    """A net whose value on a witness is not what the signal of the design says, to which it is related elsewhere."""

    net: str
    place: str
    """file and line, where they are known and the net has no name of its own"""
    signal: str
    relation: str
    width: int
    expected: int
    returned: int

    def __str__(self) -> str:
        digits = (self.width + 3) // 4
        place = f" ({self.place})" if self.place else ""
        what = f"{self.signal}{', ' * bool(self.relation)}{self.relation}"
        return f"net {self.net}{place} differs: model 0x{self.expected:0{digits}x} ({what}), RTL 0x{self.returned:0{digits}x}"


def differing_nets(
    netlist: Design, circuit: Circuit, model: Design, witness: Operands, *, seed: int = 0
) -> tuple[DifferingNet, ...]:
    """Return the nets that differ on a witness, in an order in which each comes after those that it depends on.

    There are none if nothing is known of any net, and if the witness takes more than one pass of the netlist.
    """
    if len(witness) > netlist.k:
        return ()
    rng = np.random.default_rng(seed)
    given = OperandBatch.of_rows(netlist.formats, [witness])
    parts = [draw(name, model, ROWS, len(witness), rng) for name in DISTRIBUTIONS]
    batch = OperandBatch.concatenate([*parts, _neighbours(model, given, rng), given])
    same = equal_patterns(netlist.d_format, evaluate_batch(netlist, batch), evaluate_batch(model, batch))
    agrees = np.append(same[:-1], False)
    if int(agrees.sum()) < FEWEST_AGREEING:
        return ()
    signals = _Signals()
    dot_product_accumulate(model, signals, _words(signals, batch))
    nets = _Nets(circuit)
    padded = _words(nets.algebra, batch.padded(netlist))
    run_circuit(circuit, nets.algebra, _inputs(padded), nets)
    relations = _Relations(signals, agrees, sorted({width for _, width, _ in nets.found if width > 1}))
    found = (relations.explain(nets, name, width, column) for name, width, column in nets.found)
    return tuple(x for x in found if x is not None)


def _neighbours(design: Design, given: OperandBatch, rng: np.random.Generator) -> OperandBatch:
    """Return copies of one row, in each of which a few bits are flipped, or some elements are zero."""

    def changed(x: Patterns, bits: int) -> Patterns:
        many = np.repeat(x, NEIGHBOURS, axis=0)
        flips = rng.random(many.shape) < 0.3
        masks = (np.uint64(1) << rng.integers(0, bits, many.shape).astype(np.uint64)).astype(many.dtype)
        many = np.where(flips, many ^ masks, many)
        zeros = (rng.random(many.shape) < 0.15) & (rng.random((NEIGHBOURS, *[1] * (many.ndim - 1))) < 0.5)
        return np.where(zeros, many.dtype.type(0), many)

    a, b, c, _ = design.formats
    scale = design.scale_format
    scales = [None if x is None or scale is None else changed(x, scale.bits) for x in (given.scale_a, given.scale_b)]
    return OperandBatch(changed(given.a, a.bits), changed(given.b, b.bits), changed(given.c, c.bits), *scales)


def _words(algebra: ArrayAlgebra, batch: OperandBatch) -> OperandWords[Any]:
    def words(x: Patterns | None) -> list[Word[Any]]:
        return [] if x is None else [algebra.from_patterns(column, 8 * x.itemsize) for column in x.T]

    return OperandWords(
        words(batch.a), words(batch.b), words(batch.c[:, None])[0], words(batch.scale_a), words(batch.scale_b)
    )


def _inputs(words: OperandWords[Any]) -> dict[str, Word[Any]]:
    named = {"a": words.a, "b": words.b, "sa": words.scale_a, "sb": words.scale_b}
    return {"c": words.c} | {f"{name}{i}": x for name, column in named.items() for i, x in enumerate(column)}


@dataclass(frozen=True, slots=True)
class _Known:
    """A signal of the design: its name, which term it is of, and its values. ``width`` is None for a truth value."""

    signal: Signal
    name: str
    width: int | None
    values: Column


class _Signals(ArrayAlgebra):
    """Arrays that keep the named signals."""

    def __init__(self) -> None:
        super().__init__()
        self.words: list[_Known] = []
        self.truths: list[_Known] = []
        self._names: dict[str, int] = {}

    def _name(self, signal: Signal) -> str:
        text = str(signal)
        self._names[text] = self._names.get(text, 0) + 1
        return text if self._names[text] == 1 else f"{text} ({self._names[text]})"

    def signal(self, name: Signal, x: Word[Any], bounds: tuple[int, int] | None = None) -> Word[Any]:
        """Keep the word."""
        if x.width <= FAST_BITS and np.ndim(x.data):
            self.words.append(_Known(name, self._name(name), x.width, np.asarray(x.data, dtype=np.int64)))
        return x

    def signal_truth(self, name: Signal, x: Truth[Any], observable: Any = None) -> Truth[Any]:
        """Keep the truth value."""
        if np.ndim(x.data):
            self.truths.append(_Known(name, self._name(name), None, np.asarray(x.data, dtype=np.int64)))
        return x


class _Nets:
    """Keeps the nets of a circuit, in the order in which they are computed; nets that are too wide are left out."""

    def __init__(self, circuit: Circuit) -> None:
        self.algebra = ArrayAlgebra()
        self.found: list[tuple[str, int, Column]] = []
        self.places = {x.name: x.source for x in circuit.cells}

    def __call__(self, name: str, word: Word[Any]) -> Word[Any]:
        if word.width <= FAST_BITS and np.ndim(word.data):
            self.found.append((name, word.width, np.asarray(word.data, dtype=np.int64)))
        return word


@dataclass(frozen=True, slots=True)
class _Relation:
    """Of the net, which is ``sign * signal << places`` plus a constant."""

    known: _Known
    sign: int
    places: int

    def of(self, width: int) -> Column:
        """Return the values without the constant."""
        return (self.sign * (self.known.values << self.places)) & ((1 << width) - 1)

    def describe(self, constant: int, width: int) -> str:
        """Return the relation in words; empty for equality."""
        texts = ["negated"] * (self.sign < 0) + [f"shifted by {self.places}"] * (self.places > 0)
        signed = constant - (1 << width) if constant >> (width - 1) else constant
        texts += [f"{'plus' if signed > 0 else 'minus'} {abs(signed)}"] * (signed != 0)
        return ", ".join(texts)


class _Relations:
    """The signals by their differences from a first sample, modulo powers of two: everywhere, and where present."""

    def __init__(self, signals: _Signals, agrees: npt.NDArray[np.bool_], widths: list[int]) -> None:
        self._truths = signals.truths
        self._agrees = agrees
        words = [*signals.words, *_magnitudes(signals.words)]
        present = {x.signal.of: x for x in signals.truths if x.signal.kind is SignalKind.PRESENCE}
        self._scopes = [_Scope(agrees, words, widths, "")]
        for of, truth in present.items():
            rows = agrees & (truth.values != 0)
            if truth.values[-1] and rows.sum() >= FEWEST_AGREEING and not np.array_equal(rows, agrees):
                own = [x for x in words if x.signal.of == of]
                self._scopes.append(_Scope(rows, own, widths, f"where {of} is present"))

    def explain(self, nets: _Nets, name: str, width: int, column: Column) -> DifferingNet | None:
        """Return how a net differs on the last sample; None if it does not, or if nothing is known of it."""
        first: DifferingNet | None = None
        for signal, relation, expected in self._of_bit(column) if width == 1 else self._of_word(column, width):
            if expected == int(column[-1]):
                return None
            plain = DifferingNet(name, nets.places.get(name, ""), signal, relation, width, expected, int(column[-1]))
            first = plain if first is None else first
        return first

    def _of_bit(self, column: Column) -> Iterator[tuple[str, str, int]]:
        held = column[self._agrees]
        if min(int(held.sum()), len(held) - int(held.sum())) < FEWEST_OF_A_TRUTH:
            return
        for truth in self._truths:
            values = truth.values[self._agrees]
            for negated in (0, 1):
                if np.array_equal(values ^ negated, held):
                    yield truth.name, "negated" * negated, int(truth.values[-1]) ^ negated

    def _of_word(self, column: Column, width: int) -> Iterator[tuple[str, str, int]]:
        for scope in self._scopes:
            yield from scope.of_word(column, width)


class _Scope:
    """Signals as they are on some of the samples."""

    def __init__(self, rows: npt.NDArray[np.bool_], words: list[_Known], widths: list[int], where: str) -> None:
        self._rows, self._where = rows, where
        self._index: dict[tuple[int, bytes], list[_Relation]] = {}
        for width in widths:
            for word in words:
                for relation in _relations(word, width):
                    values = relation.of(width)[rows]
                    self._index.setdefault((width, _differences(values, width)), []).append(relation)

    def of_word(self, column: Column, width: int) -> Iterator[tuple[str, str, int]]:
        """Yield what a net may be: signal, relation, and the value that it should have on the last sample."""
        held = column[self._rows]
        if len(np.unique(held)) < FEWEST_VALUES:
            return
        mask = (1 << width) - 1
        for relation in self._index.get((width, _differences(held, width)), ()):
            values = relation.of(width)
            constant = int(held[0] - values[self._rows][0]) & mask
            text = ", ".join(x for x in (relation.describe(constant, width), self._where) if x)
            yield relation.known.name, text, (int(values[-1]) + constant) & mask


def _differences(values: Column, width: int) -> bytes:
    return ((values - values[0]) & ((1 << width) - 1)).tobytes()


def _magnitudes(words: list[_Known]) -> list[_Known]:
    """Return the magnitudes of the words that have negative values."""
    signed = [x for x in words if bool((x.values < 0).any())]
    return [replace(x, name=f"magnitude of {x.name}", values=np.abs(x.values)) for x in signed]


def _relations(word: _Known, width: int) -> Iterator[_Relation]:
    room = FAST_BITS - (word.width or 1)
    for places in range(min(MOST_PLACES, width, room) + 1):
        for sign in (1, -1):
            yield _Relation(word, sign, places)


def as_record(x: DifferingNet) -> Mapping[str, Any]:
    """Return a net as JSON data."""
    digits = (x.width + 3) // 4
    return {
        "net": x.net,
        "place": x.place or None,
        "signal": x.signal,
        "relation": x.relation or None,
        "width": x.width,
        "model": f"0x{x.expected:0{digits}x}",
        "rtl": f"0x{x.returned:0{digits}x}",
    }
