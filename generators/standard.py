"""The standard recording of a unit: the operands that each of its instructions runs, compared with the model.

The operands are random ones from the distributions that every design is checked on, adversarial ones (within reach of
the alignment, cancelling, ties), vectors that settle disputes among publications, and vectors that show the properties
for which a published query exists.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from mmaproof.designs.design import Design
from mmaproof.designs.element import Operands
from mmaproof.designs.errors import InputError
from mmaproof.designs.operands import OperandBatch, pattern_dtype
from mmaproof.generators.disputes import disputed_designs, find_disputes
from mmaproof.generators.vectors import Vector, generated, rows_for
from mmaproof.hardware_replay.recordings import answered
from mmaproof.hardware_replay.target import Answers, Target
from mmaproof.properties.library import PROPERTIES
from mmaproof.smt.evaluate import equal_patterns, evaluate_batch
from mmaproof.smt.trace import evaluate
from mmaproof.verification.check import Feature, feature_of
from mmaproof.verification.distributions import BASIC
from mmaproof.verification.search import Means


def vectors_of(feature: Feature, designs: Sequence[Design], *, origin: str, version: str) -> list[Vector]:
    """Return the runs that show a feature as vectors, one for each set of operands.

    The outputs are those of the run, and of each of ``designs`` that takes the formats and the length. Runs of one step
    are left out where no instruction returns their d.
    """
    found: dict[tuple[Any, ...], Vector] = {}
    for run in feature.runs:
        given = run.design
        key = (run.operands, given.formats, given.scale_format)
        if not run.whole or key in found:
            continue
        same = [r for r in feature.runs if r.whole and (r.operands, r.design.formats, r.design.scale_format) == key]
        outputs = {r.design.name: r.d for r in same}
        outputs |= {d.name: evaluate(d, run.operands) for d in designs if _takes(d, given, run.operands)}
        found[key] = Vector(run.operands, given.formats, outputs, _why(feature), origin, version, given.scale_format)
    return list(found.values())


def _takes(design: Design, other: Design, operands: Operands) -> bool:
    """Return whether ``design`` takes operands of ``other``: the same formats, and a length that it has."""
    if design.signature != other.signature:
        return False
    try:
        operands.check(design)
    except InputError:
        return False
    return True


def _why(feature: Feature) -> str:
    against = "" if feature.done is None or feature.done.finding.runs else ", shown against its mutant"
    value = "" if feature.value is None else f" ({feature.value})"
    return f"{feature.asked.name}: {feature.verdict}{value} for {feature.design.name}{against}"


ADVERSARIAL = ("aligned", "cancelling", "ties")
"""Terms about as far apart as the alignment reaches, the same with products that cancel, sums next to a tie."""

ROWS = 1_000_000
"""Operand sets of the basic distributions together; the adversarial ones have a tenth of that."""

KEPT = 500
"""Rows of each distribution that a recording keeps, and as many of those that differ from the model."""

PUBLISHED = tuple(p for p in PROPERTIES.values() if "Valpey" in p.source)
"""The properties for which Valpey et al. 2025 have a query."""


@dataclass
class Tally:
    """What came of the rows of one distribution.

    ``differ`` counts rows whose d is not equal to the model's, ``nan_codes`` those that are equal but for the code of a
    NaN. ``digest`` is the SHA-256 of the patterns of d, little-endian, of all answered rows in their order.
    """

    distribution: str
    rows: int = 0
    unanswered: int = 0
    differ: int = 0
    nan_codes: int = 0
    digest: str = ""
    problems: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Sampled:
    """What came of random operands on one design, and the rows that are kept of them."""

    design: Design
    tallies: tuple[Tally, ...]
    kept: Answers


def sample(target: Target, design: Design, rows: int = ROWS, seed: int = 0) -> Sampled:
    """Run random operands on ``target`` as ``design``, and compare with the model.

    Rows that were not answered are counted, and what went wrong is kept.
    """
    tallies, kept = [], []
    for names, share in ((BASIC, -(-rows // len(BASIC))), (ADVERSARIAL, -(-rows // 10 // len(ADVERSARIAL)))):
        for name in names:
            tally, some = _run(target, design, name, share, seed)
            tallies.append(tally)
            kept += some
    return Sampled(design, tuple(tallies), _joined(kept))


def _run(target: Target, design: Design, distribution: str, rows: int, seed: int) -> tuple[Tally, list[Answers]]:
    tally, digest, kept = Tally(distribution), hashlib.sha256(), []
    wanted, wanted_differing = KEPT, KEPT
    for part in generated(design, distribution, rows, seed):
        ran = target.run(part)
        model = evaluate_batch(design, part.batch)
        same_bits, same = (equal_patterns(design.d_format, ran.d, model, nan_codes=x) for x in (True, False))
        differs = ran.answered & ~same
        tally.rows += int(ran.answered.sum())
        tally.unanswered += int((~ran.answered).sum())
        tally.differ += int(differs.sum())
        tally.nan_codes += int((ran.answered & same & ~same_bits).sum())
        tally.problems += [] if ran.problem is None else [ran.problem]
        digest.update(ran.d[ran.answered].astype(ran.d.dtype.newbyteorder("<")).tobytes())
        chosen = np.union1d(np.flatnonzero(ran.answered)[:wanted], np.flatnonzero(differs)[:wanted_differing])
        wanted, wanted_differing = max(wanted - len(part.batch), 0), max(wanted_differing - int(differs.sum()), 0)
        kept.append(answered(part, ran.d, chosen, design.name))
    tally.digest = digest.hexdigest()
    return tally, kept


def _joined(parts: Sequence[Answers]) -> Answers:
    """Return rows for one design as one, each labelled with whence it is."""
    batch = OperandBatch.concatenate([x.batch for x in parts])
    labels = [f"{x.whence}, {label}" for x in parts for label in x.labels]
    return replace(parts[0], batch=batch, d=np.concatenate([x.d for x in parts]), labels=labels)


@dataclass(frozen=True)
class Probe:
    """Operands of ``design`` that a question was about, and what is predicted for them: who -> d."""

    design: Design
    operands: Operands
    why: str
    predictions: Mapping[str, int]


@dataclass(frozen=True)
class Probed:
    """A probe that a unit answered with ``d``: who predicted it, and who did not."""

    probe: Probe
    d: int

    @property
    def right(self) -> list[str]:
        """Who predicted d."""
        return [who for who, d in self.probe.predictions.items() if self._is(d)]

    @property
    def wrong(self) -> list[str]:
        """Who predicted something else."""
        return [who for who, d in self.probe.predictions.items() if not self._is(d)]

    def _is(self, d: int) -> bool:
        dtype = pattern_dtype(self.probe.design.d_format)
        returned, predicted = (np.array([x], dtype=dtype) for x in (self.d, d))
        return bool(equal_patterns(self.probe.design.d_format, returned, predicted, nan_codes=False)[0])

    def vector(self, version: str) -> Vector:
        """Return what was returned as a vector."""
        probe = self.probe
        predicted = ", ".join(f"{who} {probe.design.d_format.hex(d)}" for who, d in probe.predictions.items())
        return Vector(
            probe.operands,
            probe.design.formats,
            {probe.design.name: self.d},
            why=probe.why,
            origin=f"recorded; predicted: {predicted}",
            version=version,
            scale_format=probe.design.scale_format,
        )


def probes(designs: Sequence[Design], means: Means) -> Iterator[Probe]:
    """Yield the vectors of all disputes about ``designs``, then those that show each published property of them.

    One design stands for all of its arithmetic.
    """
    for design, names in disputed_designs(None):
        mine = [x for x in designs if x.base_name in names]
        if not mine:
            continue
        asked = design if design.base_name in {x.base_name for x in mine} else mine[0]
        for dispute in find_disputes(asked, names, solver=means.solving, limits=means.limits):
            if dispute.witness is not None and dispute.predictions is not None:
                why = f"point {dispute.point.number}: {dispute.point.title}"
                yield Probe(asked, dispute.witness, why, dispute.predictions)
    arithmetics: dict[tuple[Any, ...], Design] = {}
    for design in sorted(designs, key=lambda x: x.k):
        arithmetics.setdefault((design.signature, design.chain, design.step), design)
    for design in arithmetics.values():
        for published in PUBLISHED:
            feature = feature_of(published, design, means, shown=True)
            for vector in vectors_of(feature, [design], origin="", version=""):
                if design.name in vector.outputs:
                    yield Probe(design, vector.operands, vector.why, {"model": vector.outputs[design.name]})


def ask_target(target: Target, probe: Probe) -> Probed | str:
    """Return what ``target`` returns for a probe, or why it returns nothing."""
    batch = OperandBatch.of_rows(probe.design.formats, [probe.operands])
    ran = target.run(rows_for(probe.design, batch, probe.why))
    return Probed(probe, int(ran.d[0])) if ran.answered[0] else ran.problem or "not answered"
