"""Which nets of a unit are the first to differ from a design on a witness.

A net is held against the named signals of the design on many operands: it may be a signal, plus or minus a constant,
negated, or shifted, or its magnitude, or the lowest bits of any of these. What holds on most operands for which d is
right, where the term is present, is a relation. If it does not hold on the witness, the net may differ there, and what
it should have been is known; so it is if the net has too few bits for what the signal is there. Where a relation has
exceptions elsewhere, it counts only if d is wrong much more often where it fails. A net is *explained* if a relation
holds everywhere. The cone of a net that differs has the cells between it and explained nets: the fault is one of them,
if one net is at fault. Samples suggest all of this and nothing proves it: it explains a witness, which is shown to be
one without it.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from mmaproof.designs.catalogue import find_design
from mmaproof.designs.circuit import Bit, Bits, Cell, Circuit
from mmaproof.designs.design import Design
from mmaproof.designs.element import Operands
from mmaproof.designs.errors import DesignError
from mmaproof.designs.formats import Format
from mmaproof.designs.operands import OperandBatch, Patterns
from mmaproof.designs.steps import NetlistStep
from mmaproof.smt.algebra.arrays import FAST_BITS, ArrayAlgebra
from mmaproof.smt.algebra.protocol import Truth, Word
from mmaproof.smt.algebra.words import Signal, SignalKind
from mmaproof.smt.evaluate import equal_patterns, evaluate_batch
from mmaproof.smt.semantics import OperandWords, dot_product_accumulate
from mmaproof.smt.semantics.netlist_step import run_circuit
from mmaproof.smt.trace import evaluate
from mmaproof.verification.distributions import DISTRIBUTIONS, draw
from mmaproof.verification.repairs import repairs as changes_that_repair

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
FEWEST_RIGHT = 100
"""Samples for which d is right, if relations are to be judged by them alone."""
LEAST_SHARE_OF_RIGHT = 0.9
"""The same of the samples for which d is right, of a net that does not make d right where it is what it should be."""
MOST_SUSPECTS = 40
"""Nets that are held to be what they should, to see whether d is right then."""
MOST_BROKEN = 0.05
"""The share of samples for which d is right that may be wrong then."""
LEAST_NEEDED = 0.9
"""How often d is wrong where a word is too narrow, if that is a fault."""
LEAST_SHARE_OF_A_TRUTH = 0.85
"""The same for truth values, of the samples where it is true and of those where it is not."""
FEWEST_ROWS = 30
"""Samples on which a relation has to hold."""
FEWEST_VALUES = 4
"""A word with fewer values, where a relation holds, suggests nothing."""
LEAST_LIFT, LEAST_WRONG = 2.5, 0.15
"""How much more often d is wrong where a relation fails, and how often, if the relation has exceptions."""
MOST_CONE = 12
"""Lines of a cone that are named."""
MOST_PLACES = 4
"""Places by which a net may be shifted."""

_LINE = re.compile(r".+?:\d+")
"""File and line in the source of a cell."""

Column = npt.NDArray[np.int64]
"""A value for each sample; the last one is that of the witness."""
Truths = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class DifferingNet:
    """A net whose value on a witness is not what the signal of the design says, to which it is related elsewhere."""

    net: str
    place: str
    """file and line of the cell that drives it, where they are known"""
    signal: str
    relation: str
    width: int
    expected: int
    returned: int
    share: float
    """the share of samples on which the relation holds"""
    cone: tuple[str, ...] = ()
    """files and lines of the cells between it and nets that are explained, the nearest first; at most MOST_CONE"""

    def __str__(self) -> str:
        digits = (self.width + 3) // 4
        place = f" ({self.place})" if self.place else ""
        what = ", ".join(x for x in (self.signal, self.relation) if x)
        if self.share < 1:
            what += f"; equal to it on {min(99.9, 100 * self.share):.3g} % of samples"
        values = f"model 0x{self.expected:0{digits}x} ({what}), RTL 0x{self.returned:0{digits}x}"
        return f"net {self.net}{place} differs: {values}"


def differing_nets(
    netlist: Design, model: Design | str, witness: Operands, *, seed: int = 0
) -> tuple[DifferingNet, ...]:
    """Return the nets of a unit that differ from a design on a witness, each after those that it depends on.

    ``netlist`` is the ``design`` of a unit of RTL; ``model`` may be given by name. The last net is d. There are none
    if the witness takes more than one pass of the netlist. ``seed`` is that of the operands on which nets are held
    against signals. Raises DesignError for a ``netlist`` that is none and for an unknown model.

    >>> import mmaproof
    >>> unit, meant = mmaproof.read_rtl("dot4.toml")  # of the tutorial about RTL
    >>> witness = mmaproof.Operands(a=(0xFF, 0, 0, 0), b=(1, 0, 0, 0), c=0)
    >>> print(mmaproof.differing_nets(unit.design, meant, witness)[-1])
    net d (dot4.sv:12.13-12.84) differs: model 0xffffffff (d), RTL 0x0000ffff
    """
    model, step = find_design(model), netlist.step
    if not isinstance(step, NetlistStep):
        raise DesignError(f"{netlist.name} is not a netlist: the design of a unit of RTL is needed")
    circuit = step.circuit
    if len(witness) > netlist.k:
        return ()
    rng = np.random.default_rng(seed)
    given = OperandBatch.of_rows(netlist.formats, [witness])
    parts = [draw(name, model, ROWS, len(witness), rng) for name in DISTRIBUTIONS]
    batch = OperandBatch.concatenate([*parts, _neighbours(model, given, rng), given])
    wanted = evaluate_batch(model, batch)
    same = equal_patterns(netlist.d_format, evaluate_batch(netlist, batch), wanted)
    signals = _Signals()
    dot_product_accumulate(model, signals, _words(signals, model, batch))
    nets = _Nets()
    padded = _words(nets.algebra, netlist, batch.padded(netlist))
    run_circuit(circuit, nets.algebra, _inputs(padded), nets)
    relations, graph = _Relations(signals, ~same, rng), _Graph(circuit)
    suspects: dict[str, tuple[_Fit, DifferingNet]] = {}
    for name, width, column in nets.found:
        found = relations.explain(column, width)
        if found is True:
            graph.explained.update(graph.bits[name])
        elif found is not None and found.signal != str(Signal(SignalKind.D)):
            wide = max(width, found.expected.bit_length())
            shown = (
                found.signal,
                found.relation,
                wide,
                found.expected,
                int(column[-1]),
                1.0 if found.is_cut else found.share,
            )
            place, cone = graph.place(graph.bits[name]), graph.cone(graph.bits[name])
            suspects[name] = found, DifferingNet(name, place, *shown, cone)

    def repairs(name: str, fit: _Fit) -> bool:
        """Return whether d is right on the witness, and is not made wrong elsewhere, where a net is what it should."""
        algebra = ArrayAlgebra()

        def forced(net: str, word: Word[Any]) -> Word[Any]:
            return algebra.from_patterns(fit.column.astype(np.uint64), word.width) if net == name else word

        d = run_circuit(circuit, algebra, _inputs(_words(algebra, netlist, batch.padded(netlist))), forced)["d"]
        right = equal_patterns(netlist.d_format, np.asarray(d.data, dtype=wanted.dtype), wanted)
        return bool(right[-1]) and int((same & ~right).sum()) <= MOST_BROKEN * int(same.sum())

    def chosen(algebra: ArrayAlgebra, rows: npt.NDArray[np.intp]) -> dict[str, Word[Any]]:
        return _inputs(_words(algebra, netlist, batch.padded(netlist).select(rows)))

    repaired: list[DifferingNet] = []
    for repair in changes_that_repair(circuit, chosen, netlist.d_format, wanted, ~same, graph.shown):
        name, change = graph.name(repair.bits), f"{repair.change}, makes d right on all samples"
        place, cone, width = graph.place(repair.bits), graph.cone(repair.cell), len(repair.bits)
        _, like = suspects.get(name, (None, None))
        signal = like.signal if like is not None and like.expected == repair.expected else ""
        repaired = [DifferingNet(name, place, signal, change, width, repair.expected, repair.returned, 1.0, cone)]
        break
    asked = list(suspects.items())[:MOST_SUSPECTS]
    known = [x for name, (fit, x) in asked if fit.is_cut or repairs(name, fit)]
    known = [*repaired, *(x for x in known if x.net not in {y.net for y in repaired})]
    known = known or [x for fit, x in suspects.values() if fit.share >= relations.least_alone]
    expected, returned = (evaluate(x, witness) for x in (model, netlist))
    result = circuit.outputs["d"]
    place, cone = graph.place(result), graph.cone(result)
    return *known, DifferingNet("d", place, "d", "", netlist.d_format.bits, expected, returned, 1.0, cone)


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

    def __init__(self) -> None:
        self.algebra = ArrayAlgebra()
        self.found: list[tuple[str, int, Column]] = []

    def __call__(self, name: str, word: Word[Any]) -> Word[Any]:
        if word.width <= FAST_BITS and np.ndim(word.data):
            self.found.append((name, word.width, np.asarray(word.data, dtype=np.int64)))
        return word


class _Graph:
    """What drives what in a circuit, and which bits are explained."""

    def __init__(self, circuit: Circuit) -> None:
        outputs = [(x, port, bits) for x in circuit.cells for port, bits in x.outputs.items()]
        self._drivers = {bit: x for x, _, bits in outputs for bit in bits}
        named = {x.name if len(x.outputs) == 1 else f"{x.name}.{port}": bits for x, port, bits in outputs}
        self._names = {bits: name for name, bits in reversed(list(circuit.nets.items()))}
        self._d = circuit.outputs["d"]
        self._readers: dict[Bit, list[Cell]] = {}
        for x in circuit.cells:
            for bit in {bit for bits in x.inputs.values() for bit in bits}:
                self._readers.setdefault(bit, []).append(x)
        self.bits: dict[str, Bits] = named | dict(circuit.nets)
        self.explained: set[Bit] = set()

    def name(self, bits: Bits) -> str:
        """Return the name of a net, or of the nearest one of the sources that depends on it."""
        near = self._named(bits)
        return f"{'before ' * (near != bits)}{self._names.get(near, 'd')}"

    def shown(self, bits: Bits) -> Bits:
        """Return the nearest net with a name in the sources, if the line that computes these bits writes it."""
        near = self._named(bits)
        return near if self._line(near) == self._line(bits) else bits

    def _named(self, bits: Bits) -> Bits:
        """Return the nearest net that depends on these bits, or is of them, and has a name in the sources."""
        found, seen = deque([bits]), set(bits)
        while found:
            now = found.popleft()
            if now in self._names:
                return now
            for after in (x for cell in self._readers.get(now[0], ()) for x in cell.outputs.values()):
                if seen.isdisjoint(after):
                    seen.update(after)
                    found.append(after)
        return self._d

    def _line(self, bits: Bits) -> str:
        found = _LINE.match(self.place(bits))
        return "" if found is None else found[0]

    def place(self, bits: Bits) -> str:
        """Return where the first cell that drives some of these bits is."""
        return next((self._drivers[x].source for x in bits if x in self._drivers), "")

    def cone(self, bits: Bits) -> tuple[str, ...]:
        """Return the places of the cells between these bits and those that are explained, the nearest first."""
        found: dict[str, None] = {}
        open_bits, seen = deque(bits), set(bits)
        while open_bits and len(found) < MOST_CONE:
            cell = self._drivers.get(open_bits.popleft())
            if cell is not None:
                line = _LINE.match(cell.source)
                found |= {line[0]: None} if line is not None else {}
                before = {x for read in cell.inputs.values() for x in read} - seen - self.explained
                seen |= before
                open_bits.extend(sorted(before, key=str))
        return tuple(found)


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
    judges: Truths
    """which of them are its judges"""
    column: Column
    """what the net should be on every sample"""
    is_cut: bool = False
    """whether the net is too narrow for what the signal is"""

    @property
    def share(self) -> float:
        """The share of its judges on which it holds."""
        return float(self.holds[self.judges].mean())

    @property
    def is_everywhere(self) -> bool:
        """Whether it holds on all samples."""
        return bool(self.holds.all())

    @property
    def is_needed(self) -> bool:
        """Whether d is wrong wherever it fails, and is right on enough samples to show that."""
        wrong = self.wrong[~self.holds]
        least = LEAST_NEEDED if len(wrong) >= FEWEST_ROWS else 1.0
        return int((~self.wrong).sum()) >= FEWEST_ROWS and (not len(wrong) or float(wrong.mean()) >= least)

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
        right = np.flatnonzero(~wrong[:-1])
        judged = right if len(right) >= FEWEST_RIGHT else np.arange(len(wrong) - 1)
        self.least_alone = LEAST_SHARE if judged is not right else LEAST_SHARE_OF_RIGHT
        self._judges = np.zeros(len(wrong) - 1, dtype=bool)
        self._judges[judged] = True
        present = {x.signal.of: x.values != 0 for x in signals.truths if x.signal.kind is SignalKind.PRESENCE}
        operands = [x for x in signals.words if x.signal.kind is SignalKind.OPERAND_SIGNIFICAND]
        present |= {x.signal.of: x.values != 0 for x in operands}
        self._relations = [
            _Relation(word, sign, places, present.get(word.signal.of, everywhere))
            for word in (*signals.words, *_magnitudes(signals.words))
            for places in range(min(MOST_PLACES, FAST_BITS - (word.width or 1)) + 1)
            for sign in (1, -1)
        ]
        shape = (len(self._relations), len(wrong))
        values = [x.sign * (x.known.values << x.places) for x in self._relations]
        self._values = np.array(values, dtype=np.int64).reshape(shape)
        self._rows = np.array([x.rows for x in self._relations], dtype=bool).reshape(shape)
        self._pairs = rng.choice(judged, (2, PAIRS))
        first, second = self._pairs
        self._counts = self._rows[:, first] & self._rows[:, second]
        self._steps = self._values[:, first] - self._values[:, second]

    def explain(self, column: Column, width: int) -> _Fit | Literal[True] | None:
        """Return what a net should be on the last sample; True if it is explained, None if nothing is known of it."""
        fits = list(self._of_bit(column) if width == 1 else self._of_word(column, width))
        returned = int(column[-1])
        same = [x for x in fits if x.expected == returned and x.share >= fits[0].share / 2]
        if any(x.is_everywhere and not x.is_cut for x in same):
            return True
        cut = next((x for x in fits if x.is_cut), None)
        return cut or (None if same else next((x for x in fits if x.is_telling), None))

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
                    yield _Fit(
                        truth.name,
                        "negated" * negated,
                        expected,
                        holds,
                        wrong,
                        self._judges,
                        (truth.values != 0) ^ negated,
                    )

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
        rows = relation.rows[:-1]
        judges = self._judges[rows]
        if not relation.rows[-1] or not judges.any():
            return None
        constants = (column - self._values[number]) & mask
        values, counts = np.unique(constants[:-1][rows][judges], return_counts=True)
        if counts.max() < max(FEWEST_ROWS, LEAST_SHARE * judges.sum()):
            return None
        constant = int(values[counts.argmax()])
        holds = constants[:-1][rows] == constant
        if len(np.unique(column[:-1][rows][holds])) < FEWEST_VALUES:
            return None
        expected, wrong = (int(self._values[number][-1]) + constant) & mask, self._wrong[:-1][rows]
        should = np.where(relation.rows, (self._values[number] + constant) & mask, column)
        fit = _Fit(relation.known.name, relation.describe(constant, width), expected, holds, wrong, judges, should)
        return self._cut(fit, number, width) if fit.is_everywhere and not constant and relation.sign > 0 else fit

    def _cut(self, fit: _Fit, number: int, width: int) -> _Fit:
        """Return a fit that holds everywhere, or else how the signal is cut to a width that is too small for it."""
        values, rows = self._values[number], self._relations[number].rows
        low = -(1 << width - 1) if bool((values[rows] < 0).any()) else 0
        fits = (values >= low) & (values < low + (1 << width))
        whole = int(values[-1]) % (1 << max(width, int(np.abs(values).max()).bit_length() + (low < 0)))
        cut = replace(fit, relation=f"cut to {width} bits", expected=whole, holds=fits[:-1][rows[:-1]], is_cut=True)
        return fit if fits[-1] or not cut.is_needed else cut


def _magnitudes(words: list[_Known]) -> list[_Known]:
    """Return the magnitudes of the words that have negative values."""
    signed = [x for x in words if bool((x.values < 0).any())]
    return [replace(x, name=f"magnitude of {x.name}", values=np.abs(x.values)) for x in signed]
