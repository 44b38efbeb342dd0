"""Which nets of a unit are the first to differ from a design on a witness.

A net is held against the named signals of the design on many operands: it may be a signal, plus or minus a constant,
negated, or shifted, or its magnitude. What holds on most operands where the term is present is a relation. If it does
not hold on the witness, the net may differ there, and what it should have been is known. Where a relation has
exceptions elsewhere, it counts only if d is wrong much more often where it fails. Samples suggest all of this and
nothing proves it: it explains a witness, which is shown to be one without it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from mmaproof.designs.catalogue import find_design
from mmaproof.designs.circuit import Circuit
from mmaproof.designs.design import Design
from mmaproof.designs.element import Operands
from mmaproof.designs.errors import DesignError
from mmaproof.designs.formats import Format
from mmaproof.designs.operands import OperandBatch, Patterns
from mmaproof.designs.steps import NetlistStep
from mmaproof.smt.algebra.arrays import FAST_BITS, ArrayAlgebra
from mmaproof.smt.algebra.protocol import Truth, Word
from mmaproof.smt.algebra.signals import Signal, SignalKind
from mmaproof.smt.evaluate import equal_patterns, evaluate_batch
from mmaproof.smt.semantics import OperandWords, dot_product_accumulate
from mmaproof.smt.semantics.netlist_step import run_circuit
from mmaproof.smt.trace import evaluate
from mmaproof.verification.distributions import DISTRIBUTIONS, draw

ROWS = 60
"""Samples from each distribution."""
NEIGHBOURS = 400
"""Samples that differ from the witness in a few bits."""
PAIRS = 48
"""Pairs of samples whose differences suggest relations."""
LEAST_VOTES = 0.25
"""The share of these pairs that a relation has to fit."""
CANDIDATES = 8
"""Relations of a net that are looked at on all samples."""
LEAST_SHARE = 0.55
"""The share of samples on which a relation of a word has to hold."""
LEAST_SHARE_OF_A_TRUTH = 0.85
"""The same for truth values, of the samples where it is true and of those where it is not."""
FEWEST_ROWS = 30
"""Samples on which a relation has to hold."""
FEWEST_VALUES = 4
"""A word with fewer values, where a relation holds, suggests nothing."""
LEAST_LIFT, LEAST_WRONG = 2.5, 0.15
"""How much more often d is wrong where a relation fails, and how often, if the relation has exceptions."""
MOST_PLACES = 4
"""Places by which a net may be shifted."""

Column = npt.NDArray[np.int64]
"""A value for each sample; the last one is that of the witness."""
Truths = npt.NDArray[np.bool_]


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
    share: float
    """the share of samples on which the relation holds"""

    def __str__(self) -> str:
        digits = (self.width + 3) // 4
        place = f" ({self.place})" if self.place else ""
        what = ", ".join(x for x in (self.signal, self.relation) if x)
        if self.share < 1:
            what += f"; elsewhere so on {min(99.9, 100 * self.share):.3g} % of samples"
        values = f"model 0x{self.expected:0{digits}x} ({what}), RTL 0x{self.returned:0{digits}x}"
        return f"net {self.net}{place} differs: {values}"


def differing_nets(
    netlist: Design, model: Design | str, witness: Operands, *, seed: int = 0
) -> tuple[DifferingNet, ...]:
    """Return the nets of a unit that differ from a design on a witness, each after those that it depends on.

    ``netlist`` is the ``design`` of a unit of RTL; ``model`` may be given by name. The last net is d. There are none
    if the witness takes more than one pass of the netlist. ``seed`` is that of the operands on which nets are held
    against signals. Raises DesignError for a ``netlist`` that is none and for an unknown model.
    """
    model, step = find_design(model), netlist.step
    if not isinstance(step, NetlistStep):
        raise DesignError(f"{netlist.name} is no netlist: the design of a unit of RTL is needed")
    circuit = step.circuit
    if len(witness) > netlist.k:
        return ()
    rng = np.random.default_rng(seed)
    given = OperandBatch.of_rows(netlist.formats, [witness])
    parts = [draw(name, model, ROWS, len(witness), rng) for name in DISTRIBUTIONS]
    batch = OperandBatch.concatenate([*parts, _neighbours(model, given, rng), given])
    same = equal_patterns(netlist.d_format, evaluate_batch(netlist, batch), evaluate_batch(model, batch))
    signals = _Signals()
    dot_product_accumulate(model, signals, _words(signals, model, batch))
    nets = _Nets(circuit)
    padded = _words(nets.algebra, netlist, batch.padded(netlist))
    run_circuit(circuit, nets.algebra, _inputs(padded), nets)
    relations = _Relations(signals, ~same, rng)
    found = (relations.explain(nets, name, width, column) for name, width, column in nets.found)
    known = [x for x in found if x is not None and x.signal != str(Signal(SignalKind.D))]
    expected, returned = (evaluate(x, witness) for x in (model, netlist))
    return *known, DifferingNet("d", "", "d", "", netlist.d_format.bits, expected, returned, 1.0)


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


def _words(algebra: ArrayAlgebra, design: Design, batch: OperandBatch) -> OperandWords[Any]:
    def words(x: Patterns | None, fmt: Format | None) -> list[Word[Any]]:
        return [] if x is None or fmt is None else [algebra.from_patterns(column, fmt.bits) for column in x.T]

    a, b, c, _ = design.formats
    scales = [words(x, design.scale_format) for x in (batch.scale_a, batch.scale_b)]
    return OperandWords(words(batch.a, a), words(batch.b, b), words(batch.c[:, None], c)[0], *scales)


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
    """Of the net, which is ``sign * signal << places`` plus a constant where the term of the signal is present."""

    known: _Known
    sign: int
    places: int
    rows: Truths

    def describe(self, constant: int, width: int) -> str:
        """Return the relation in words; empty for equality."""
        texts = ["negated"] * (self.sign < 0) + [f"shifted by {self.places}"] * (self.places > 0)
        signed = constant - (1 << width) if constant >> (width - 1) else constant
        texts += [f"{'plus' if signed > 0 else 'minus'} {abs(signed)}"] * (signed != 0)
        return ", ".join(texts)


@dataclass(frozen=True, slots=True)
class _Fit:
    """A relation of one net: what the net should have been on the witness, and where the relation holds."""

    signal: str
    relation: str
    expected: int
    holds: Truths
    """on the samples that count; the witness is none of them"""
    wrong: Truths
    """whether d is wrong on these samples"""

    @property
    def share(self) -> float:
        """The share of samples on which it holds."""
        return float(self.holds.mean())

    @property
    def is_telling(self) -> bool:
        """Whether d is wrong much more often where it fails, if it fails anywhere but on the witness."""
        fails = ~self.holds
        if not (fails & ~self.wrong).any():
            return True
        inside, outside = float(self.wrong[fails].mean()), float(self.wrong[self.holds].mean())
        return inside >= LEAST_WRONG and inside >= LEAST_LIFT * outside


class _Relations:
    """What nets may be: the signals, negated and shifted, as one array of a row for each."""

    def __init__(self, signals: _Signals, wrong: Truths, rng: np.random.Generator) -> None:
        self._truths, self._wrong = signals.truths, wrong
        everywhere = np.ones(len(wrong), dtype=bool)
        present = {x.signal.of: x.values != 0 for x in signals.truths if x.signal.kind is SignalKind.PRESENCE}
        operands = [x for x in signals.words if x.signal.kind is SignalKind.OPERAND_SIGNIFICAND]
        present |= {x.signal.of: x.values != 0 for x in operands}
        self._relations = [
            _Relation(word, sign, places, present.get(word.signal.of, everywhere))
            for word in (*signals.words, *_magnitudes(signals.words))
            for places in range(min(MOST_PLACES, FAST_BITS - (word.width or 1)) + 1)
            for sign in (1, -1)
        ]
        self._values = np.array([x.sign * (x.known.values << x.places) for x in self._relations], dtype=np.int64)
        self._rows = np.array([x.rows for x in self._relations], dtype=bool)
        self._pairs = rng.integers(0, len(wrong) - 1, (2, PAIRS))
        first, second = self._pairs
        self._counts = self._rows[:, first] & self._rows[:, second]
        self._steps = self._values[:, first] - self._values[:, second]

    def explain(self, nets: _Nets, name: str, width: int, column: Column) -> DifferingNet | None:
        """Return how a net differs on the last sample; None if it does not, or if nothing is known of it."""
        fits = list(self._of_bit(column) if width == 1 else self._of_word(column, width))
        returned = int(column[-1])
        if not fits or any(x.expected == returned for x in fits if x.share >= fits[0].share / 2):
            return None
        telling = next((x for x in fits if x.is_telling), None)
        if telling is None:
            return None
        place = nets.places.get(name, "")
        return DifferingNet(
            name, place, telling.signal, telling.relation, width, telling.expected, returned, telling.share
        )

    def _of_bit(self, column: Column) -> Iterator[_Fit]:
        held, wrong = column[:-1] != 0, self._wrong[:-1]
        if min(int(held.sum()), int((~held).sum())) < FEWEST_ROWS:
            return
        for truth in self._truths:
            values = truth.values[:-1] != 0
            for negated in (False, True):
                holds = (values ^ negated) == held
                if min(holds[held].mean(), holds[~held].mean()) >= LEAST_SHARE_OF_A_TRUTH:
                    expected = int(truth.values[-1]) ^ negated
                    yield _Fit(truth.name, "negated" * negated, expected, holds, wrong)

    def _of_word(self, column: Column, width: int) -> Iterator[_Fit]:
        """Yield the relations of a word, that which holds on most samples first."""
        mask = (1 << width) - 1
        first, second = self._pairs
        step = (column[first] - column[second]) & mask
        counts = self._counts & (step != 0)
        votes = (counts & (self._steps & mask == step)).sum(axis=1)
        likely = votes >= np.maximum(LEAST_VOTES * counts.sum(axis=1), 2)
        best = sorted(np.flatnonzero(likely).tolist(), key=lambda i: -int(votes[i]))[:CANDIDATES]
        fits = [fit for i in best if (fit := self._fit(i, column, width)) is not None]
        yield from sorted(fits, key=lambda x: -x.share)

    def _fit(self, number: int, column: Column, width: int) -> _Fit | None:
        relation, mask = self._relations[number], (1 << width) - 1
        if not relation.rows[-1]:
            return None
        rows = relation.rows[:-1]
        constants = (column - self._values[number]) & mask
        values, counts = np.unique(constants[:-1][rows], return_counts=True)
        if counts.max() < max(FEWEST_ROWS, LEAST_SHARE * rows.sum()):
            return None
        constant = int(values[counts.argmax()])
        holds = constants[:-1][rows] == constant
        if len(np.unique(column[:-1][rows][holds])) < FEWEST_VALUES:
            return None
        expected = (int(self._values[number][-1]) + constant) & mask
        return _Fit(relation.known.name, relation.describe(constant, width), expected, holds, self._wrong[:-1][rows])


def _magnitudes(words: list[_Known]) -> list[_Known]:
    """Return the magnitudes of the words that have negative values."""
    signed = [x for x in words if bool((x.values < 0).any())]
    return [replace(x, name=f"magnitude of {x.name}", values=np.abs(x.values)) for x in signed]
