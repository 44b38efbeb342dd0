"""What no recording excludes, row by row, and vectors that do once a unit has run them.

A vector separates the design of a row from designs in which one parameter has another value, and from the readings of
open points that set several. Most are found among random operands and ladders. The rest are asked of ``compare``, which
also proves that some cannot be told apart.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from mmaproof.designs.arithmetic import differing_parameters, repeats_one_step
from mmaproof.designs.catalogue import load_catalogue
from mmaproof.designs.design import Design, Evidence, Level
from mmaproof.designs.element import Operands
from mmaproof.designs.errors import DesignError
from mmaproof.designs.open_points import OpenReading, RecordedRow, levels_of, open_readings
from mmaproof.designs.operands import OperandBatch, Patterns
from mmaproof.designs.parameters import format_parameter
from mmaproof.designs.profiles import load_disputes
from mmaproof.generators.identify.probes import first_probes, ladders, lowest_sums, plain, sparse
from mmaproof.generators.suite import set_cover
from mmaproof.generators.vectors import Vector
from mmaproof.hardware_replay.decided import Alternative, alternatives
from mmaproof.smt.evaluate import SharedBatch, equal_patterns, evaluate_on_arrays
from mmaproof.smt.solving.limits import Limits, Until, worked
from mmaproof.smt.solving.solving import Solving
from mmaproof.smt.solving.verdict import Status
from mmaproof.verification.compare import Comparison, compare
from mmaproof.verification.distributions import DISTRIBUTIONS, draw
from mmaproof.verification.search import Budget

ROWS = 64
"""Random operand sets of each distribution, and of those with few products, that are tried before questions."""
RUNGS = 1_000
"""Rows in which exponents fall step by step, at most."""
SEARCH = Budget(rows=20_000, seconds=0.5)
"""The search before a solver is asked about one value."""
SHARE = 5
"""A question takes at most this part of the time for a row, so that one that is hard leaves some for the others."""

_OF_CHAINS = ("L", "k_order", "chain_infinity")
"""Parameters that show in a chain of steps and not in a step."""


@dataclass(frozen=True)
class Task:
    """A row of the catalogue, and the means to find its vectors. It is plain data for another process.

    ``design`` stands for the row, whose designs are ``names``. ``recorded`` is what recordings say of it.
    ``limits`` hold for all questions about the row. Without ``vectors`` none are looked for.
    """

    design: Design
    names: tuple[str, ...]
    recorded: RecordedRow | None
    solving: Solving
    limits: Limits
    version: str
    seed: int = 0
    vectors: bool = True


@dataclass(frozen=True)
class OpenValue:
    """A value that a parameter might have instead of the row's, as far as recordings say.

    ``vectors`` are the numbers of those that separate it, from 0. If there are none, ``same`` says that none exists at
    this length, which is proved, and otherwise ``reason`` says why nothing is known. ``under`` are settings of other
    parameters without which it has no effect, as text.
    """

    text: str
    under: str = ""
    vectors: tuple[int, ...] = ()
    same: bool = False
    reason: str | None = None


@dataclass(frozen=True)
class OpenParameter:
    """A parameter of a row that no recording decides: its value as text, the evidence, and what else it may be."""

    name: str
    value: str
    evidence: Evidence
    values: tuple[OpenValue, ...]


@dataclass(frozen=True)
class OpenRow:
    """What no recording decides of a row, and the parameters that recordings do decide, with the evidence.

    ``readings`` are those of open points that no recording excludes, each with what separates the row from it.
    """

    task: Task
    recorded: Mapping[str, Evidence]
    parameters: tuple[OpenParameter, ...]
    readings: tuple[tuple[OpenReading, OpenValue], ...]
    vectors: tuple[Vector, ...]


@dataclass(frozen=True)
class _Pair:
    """Two designs to be separated: that of the row, under settings that show the difference, and another one.

    The other one has settings besides, ``excluded`` as text, which are those of the parameters ``names``.
    """

    names: tuple[str, ...]
    excluded: str
    first: Design
    second: Design
    under: str = ""

    @property
    def nan_codes(self) -> bool:
        """Whether NaNs of different codes are different."""
        return self.names == ("nan_code",)

    def separated_by(self, computed: Mapping[Design, Patterns]) -> npt.NDArray[np.bool_]:
        """Return which rows separate the value, given what designs return for them."""
        first, second = computed[self.first], computed[self.second]
        return ~equal_patterns(self.first.d_format, first, second, nan_codes=self.nan_codes)

    def is_separated_by(self, operands: Sequence[Operands]) -> bool:
        """Return whether any of some operands separate them."""
        if not operands:
            return False
        batch = OperandBatch.of_rows(self.first.formats, operands)
        return bool(self.separated_by(_computed(_designs([self]), batch)).any())


def _computed(designs: Iterable[Design], batch: OperandBatch) -> dict[Design, Patterns]:
    """Return what each design returns for every row."""
    shared = SharedBatch.of(batch)
    return {x: evaluate_on_arrays(x, shared) for x in dict.fromkeys(designs)}


def _designs(pairs: Iterable[_Pair]) -> Iterator[Design]:
    """Yield the designs of pairs."""
    return (x for pair in pairs for x in (pair.first, pair.second))


def tasks(
    architecture: str | None,
    recorded: Mapping[str, RecordedRow],
    *,
    solving: Solving,
    limits: Limits,
    version: str,
    seed: int = 0,
    vectors: bool = True,
) -> list[Task]:
    """Return a task for each row of the catalogue, or of one architecture. The longest instruction stands for a row."""
    rows: dict[str, list[Design]] = {}
    for design in load_catalogue().designs.values():
        if architecture in (None, design.architecture):
            rows.setdefault(design.evidence.row, []).append(design)
    return [
        Task(
            max(held, key=lambda d: d.k),
            tuple(d.name for d in held),
            recorded.get(row),
            solving,
            limits,
            version,
            seed,
            vectors,
        )
        for row, held in rows.items()
    ]


def open_row(task: Task) -> OpenRow:
    """Return what no recording decides of the row of a task, with vectors that would."""
    levels = levels_of(task.design, task.recorded)
    left = [(name, x) for name, held in levels.items() for x in _left(task, name, held)]
    readings = [x for x in open_readings(task.design) if _is_left(task, x, levels)]
    # what nobody states is asked first
    pairs = [
        *(_Pair(tuple(x.texts), _spelled(x.texts), task.design, x.design) for x in readings),
        *(_pair(task.design, x) for _, x in left),
    ]
    assumed = [True] * len(readings) + [levels[name].level is Level.ASSUMED for name, _ in left]
    operands: list[Operands] = []
    without: dict[int, OpenValue] = {}
    if task.vectors and pairs:
        operands, missing = _among_random_operands(task, pairs)
        without = _asked_in_turn(task, pairs, sorted(missing, key=lambda i: not assumed[i]), operands)
    computed = {}
    apart: list[npt.NDArray[np.bool_]] = []
    if operands:
        batch = OperandBatch.of_rows(task.design.formats, operands)
        computed = _computed([task.design, *_designs(pairs)], batch)
        apart = [x.separated_by(computed) for x in pairs]
    by = [tuple(np.flatnonzero(x).tolist()) for x in apart] or [()] * len(pairs)
    found = [replace(without.get(i, OpenValue("")), vectors=x) for i, x in enumerate(by)]
    values: dict[str, list[OpenValue]] = {}
    for (name, other), pair, x in zip(left, pairs[len(readings) :], found[len(readings) :], strict=True):
        values.setdefault(name, []).append(replace(x, text=other.text, under=pair.under))
    return OpenRow(
        task,
        {name: x for name, x in levels.items() if x.level is Level.RECORDED},
        tuple(
            OpenParameter(name, format_parameter(name, task.design.settings[name]), x, tuple(values.get(name, ())))
            for name, x in levels.items()
            if x.level is not Level.RECORDED
        ),
        tuple((x, replace(y, text=x.words)) for x, y in zip(readings, found[: len(readings)], strict=True)),
        tuple(
            _vector(task, x, [p for p, held in zip(pairs, by, strict=True) if n in held], computed, n)
            for n, x in enumerate(operands)
        ),
    )


def _left(task: Task, name: str, held: Evidence) -> list[Alternative]:
    """Return the other values of a parameter that no recording excludes."""
    if held.level is Level.RECORDED:
        return []
    left = None if task.recorded is None else task.recorded.left.get(name)
    return [x for x in alternatives(task.design, name) if left is None or x.text in left]


def _is_left(task: Task, reading: OpenReading, levels: Mapping[str, Evidence]) -> bool:
    """Return whether the recordings of a task exclude none of the values that a reading sets."""
    left = {} if task.recorded is None else task.recorded.left
    own = task.design.settings
    others = {n: x for n, x in reading.texts.items() if n in own and x != format_parameter(n, own[n])}
    return all(levels[n].level is not Level.RECORDED and x in left.get(n, (x,)) for n, x in others.items())


def _spelled(settings: Mapping[str, str]) -> str:
    """Return settings as text."""
    return ", ".join(f"{name} = {x}" for name, x in settings.items())


def _pair(design: Design, other: Alternative) -> _Pair:
    """Return the pair to be separated: under the settings that an open point needs to show, if there are any."""
    names, excluded = (other.parameter,), f"{other.parameter} = {other.text}"
    for point in load_disputes().points:
        if other.parameter in point.parameters and point.jointly:
            try:
                first, second = (x.change(**point.jointly) for x in (design, other.design))
            except DesignError:
                continue
            return _Pair(names, excluded, first, second, _spelled(point.jointly))
    return _Pair(names, excluded, design, other.design)


def _among_random_operands(task: Task, pairs: Sequence[_Pair]) -> tuple[list[Operands], list[int]]:
    """Return few random operand sets that separate what any of those drawn does, and the pairs that are left."""
    batch = _operands(task)
    computed = _computed(_designs(pairs), batch)
    apart = np.stack([x.separated_by(computed) for x in pairs], axis=1)
    sets: dict[frozenset[int], int] = {}
    for row, separated in enumerate(apart):
        sets.setdefault(frozenset(np.flatnonzero(separated).tolist()), row)
    held = [x for x in sets if x]
    missing = np.flatnonzero(~apart.any(axis=0)).tolist()
    return [batch.row(sets[held[i]]) for i in set_cover(held)] if held else [], missing


def _operands(task: Task) -> OperandBatch:
    """Return the rows that a unit is identified with, and random ones of every distribution, with few products too."""
    design, rng = task.design, np.random.default_rng(task.seed)
    drawn = [draw(name, design, ROWS, design.k, rng) for name in DISTRIBUTIONS]
    parts = [*drawn, *(sparse(design, x, rng) for x in drawn)]
    parts += [first_probes(design, task.seed).batch, ladders(design, RUNGS).batch, lowest_sums(design).batch]
    parts.append(_negative_zeros(design))
    return OperandBatch.concatenate([x for x in parts if len(x)])


def _negative_zeros(design: Design) -> OperandBatch:
    """Return a row in which c and every product are -0; none for integer units."""
    batch = plain(design, 0 if design.d_format.is_integer else 1)
    if len(batch):
        batch.a[:], batch.c[:] = 1 << design.a_format.sign_position, 1 << design.c_format.sign_position
    return batch


def _asked_in_turn(
    task: Task, pairs: Sequence[_Pair], missing: Sequence[int], operands: list[Operands]
) -> dict[int, OpenValue]:
    """Ask about each pair that none of ``operands`` separates, as what is found joins them.

    Return what is known of those that are left, by number. A design that is proved equal to the row's takes its place
    where it has more in common with the other one: a reading of several points is asked about one of them at a time.
    """
    ends = Until(worked() + task.limits.seconds)
    known: dict[tuple[Design, Design, bool], OpenValue] = {}
    equal = [task.design]
    before = len(operands)
    left = {}
    for i in missing:
        pair = pairs[i]
        key = pair.first, pair.second, pair.nan_codes
        if pair.is_separated_by(operands[before:]):
            continue
        if key not in known:
            asked = pair
            if pair.first == task.design and not pair.nan_codes:
                asked = _in_steps(task, pair, equal, ends)
            answer = _asked(task, asked, ends)
            if isinstance(answer, Operands):
                operands.append(answer)
                continue
            known[key] = answer
            if answer.same and asked is not pair:
                equal.append(pair.second)
        left[i] = known[key]
    return left


def _in_steps(task: Task, pair: _Pair, equal: list[Design], ends: Until) -> _Pair:
    """Return the pair with the design of ``equal`` that has most in common with the second one as the first.

    Where they differ in several parameters, each is asked about by itself, and what is proved equal joins ``equal``.
    """
    first = min(equal, key=lambda x: len(differing_parameters(x, pair.second)))
    for name in sorted(differing_parameters(first, pair.second)):
        if len(differing_parameters(first, pair.second)) == 1:
            break
        try:
            between = first.change(**{name: pair.second.settings[name]})
        except (DesignError, KeyError):  # the value needs another one, or is none of the second's
            continue
        answer = _asked(task, replace(pair, first=first, second=between), ends)
        if isinstance(answer, OpenValue) and answer.same:
            equal.append(between)
            first = between
    return replace(pair, first=first)


def _asked(task: Task, pair: _Pair, ends: Until) -> Operands | OpenValue:
    """Return operands that separate a pair, or what is known of it without any. No question is asked after ``ends``.

    The question is about one step where a longer instruction of the row is a chain of such steps: steps that are equal
    for all operands make equal chains. A witness is filled up with zeros, and counts if it separates the long ones too.
    """
    seconds = min(ends.left, task.limits.seconds / SHARE)
    if seconds <= 0:
        return OpenValue("", reason="not asked: the time for the row was over")
    limits = replace(task.limits, seconds=seconds)
    short = None if set(pair.names) & set(_OF_CHAINS) else _shortest(task)
    if short is not None:
        first, second = (replace(x, instruction=short.instruction, k=short.k) for x in (pair.first, pair.second))
        answer = _compared(task, pair, first, second, limits)
        if answer.witness is None:
            return OpenValue("", same=answer.status is Status.PROVED, reason=answer.reason)
        zeros = (0,) * (task.design.k - short.k)
        filled = Operands(answer.witness.a + zeros, answer.witness.b + zeros, answer.witness.c)
        if pair.is_separated_by([filled]):
            return filled
    answer = _compared(task, pair, pair.first, pair.second, limits)
    if answer.witness is not None:
        return answer.witness
    return OpenValue("", same=answer.status is Status.PROVED, reason=answer.reason)


def _shortest(task: Task) -> Design | None:
    """Return an instruction of the row that is every step of the chain that the task's design is; None if none is."""
    whole, known = task.design, load_catalogue().designs
    if not repeats_one_step(whole, whole.k):
        return None
    for design in (known[name] for name in task.names):
        same = (design.signature, design.chain, design.step) == (whole.signature, whole.chain, whole.step)
        if same and design.block is None and design.k == design.step.L < whole.k:
            return design
    return None


def _compared(task: Task, pair: _Pair, first: Design, second: Design, limits: Limits) -> Comparison:
    return compare(
        first,
        second,
        solver=task.solving,
        limits=limits,
        nan_codes=pair.nan_codes,
        budget=SEARCH,
        seed=task.seed,
        preferring=0,
    )


def _vector(
    task: Task, operands: Operands, pairs: Sequence[_Pair], computed: Mapping[Design, Patterns], number: int
) -> Vector:
    """Return operands as a vector with what the row's design returns, and each of those that it is told from."""
    return Vector(
        operands,
        task.design.formats,
        {x.name: int(computed[x][number]) for x in (task.design, *_designs(pairs))},
        why=f"separates {task.design.name} from {'; '.join(dict.fromkeys(x.excluded for x in pairs))}",
        origin=f"evidence (seed {task.seed})",
        version=task.version,
        scale_format=task.design.scale_format,
        tags=tuple(dict.fromkeys(name for x in pairs for name in x.names)),
    )
