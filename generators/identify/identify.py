"""The loop of an identification: answers of the unit exclude designs, and the remaining designs decide what to ask.

A search finds rows on which designs differ from one that fits as well as they do.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from mmaproof.designs.arithmetic import Arithmetic
from mmaproof.designs.catalogue import load_catalogue
from mmaproof.designs.design import Design
from mmaproof.designs.element import Operands
from mmaproof.designs.errors import TargetUnavailable
from mmaproof.designs.formats import Format
from mmaproof.designs.operands import OperandBatch, Patterns
from mmaproof.designs.parameters import DEFINITIONS, format_parameter
from mmaproof.designs.signature import Signature
from mmaproof.generators.identify.evidence import Evidence, Oracle
from mmaproof.generators.identify.fit import STARTS, Fit, known_behaviours
from mmaproof.generators.identify.outcome import Identification, ParameterVerdict
from mmaproof.generators.identify.probes import first_probes, ladders, sparse
from mmaproof.generators.identify.space import Axes, Behaviour, Interface, size, variants
from mmaproof.smt.algebra.nodes import Node
from mmaproof.smt.backends import wanted_backend
from mmaproof.smt.evaluate import CHUNK_ROWS, SharedBatch, equal_patterns, evaluate_batch
from mmaproof.smt.joint import JointDesigns
from mmaproof.smt.solving.limits import LEAST_SECONDS, Limits, Until
from mmaproof.smt.solving.solving import Solving
from mmaproof.smt.solving.verdict import Status
from mmaproof.verification.compare import compare
from mmaproof.verification.distributions import DISTRIBUTIONS, draw
from mmaproof.verification.executors import Runner, here

AT_ONCE = CHUNK_ROWS
"""Rows of all designs that are computed before the next ones."""


def differing(design: Design, rows: OperandBatch, ours: Patterns, among: Sequence[int]) -> list[int]:
    """Return which of the rows ``among`` the design computes otherwise."""
    if not among:
        return []
    at = np.asarray(among)
    return _unequal(design, evaluate_batch(design, rows.select(at)), ours, among)


def first_differences(
    rivals: Sequence[Design], rows: OperandBatch, ours: Patterns, count: int, is_late: Callable[[], bool]
) -> list[list[int] | None]:
    """Return for each rival the first ``count`` rows that it computes otherwise, or all of them where they are fewer.

    It is None for a rival whose rows were not all computed when time was over. Rivals are much alike, so they are
    computed together, as far as their numbers are not too wide for that, unless a backend was chosen.
    """
    joint = JointDesigns(rivals[0], rows.k) if rivals and wanted_backend() is None else None
    nodes: dict[int, Node] = {}
    for i, rival in enumerate(rivals):
        if joint is not None and not is_late() and (node := joint.add(rival)) is not None:
            nodes[i] = node
    found: list[list[int]] = [[] for _ in rivals]
    searched = list(range(len(rivals)))
    for first in range(0, len(rows), AT_ONCE):
        if not searched:
            break
        part = SharedBatch.of(rows.select(slice(first, first + AT_ONCE)))
        at = range(first, first + len(part))
        together = [] if is_late() else [i for i in searched if i in nodes]
        if joint is not None and together:
            results = joint.results([nodes[i] for i in together], part)
            for i, result in zip(together, results, strict=True):
                found[i] += _unequal(rivals[i], result, ours, at)
        for i in searched:
            if is_late():
                return [x[:count] if len(x) >= count else None for x in found]
            if i not in nodes:
                found[i] += _unequal(rivals[i], evaluate_batch(rivals[i], part), ours, at)
        searched = [i for i in searched if len(found[i]) < count]
    return [x[:count] for x in found]


def _unequal(design: Design, results: Patterns, ours: Patterns, among: Sequence[int]) -> list[int]:
    at = np.asarray(among)
    same = equal_patterns(design.d_format, results, ours[at], nan_codes=False)
    return [int(x) for x in at[~same]]


def fitting_interfaces(evidence: Evidence) -> dict[str, tuple[Design, ...]]:
    """Return other interfaces, as text, under which designs of the catalogue return what the unit did in every row.

    Their formats have as many bits as those of the evidence, so that a unit that is told no formats takes the same
    operands.
    """
    found = {}
    for interface in _others(evidence.interface):
        rows = Evidence(interface, evidence.batch, evidence.d, evidence.kinds)
        designs = [x for x in load_catalogue().designs.values() if interface.takes(x)]
        fitting = tuple(x for x in designs if rows.fits(Behaviour.of(x, interface.k)))
        if fitting:
            found[str(interface)] = fitting
    return found


def _others(interface: Interface) -> Iterator[Interface]:
    ours = interface.signature
    for signature in dict.fromkeys(x.signature for x in load_catalogue().designs.values()):
        if signature != ours and _widths(signature) == _widths(ours):
            yield Interface(signature, interface.k)


def _widths(signature: Signature) -> tuple[int | None, ...]:
    """Return the bits of each format, and the size of blocks."""
    scale = None if signature.scale is None else signature.scale.bits
    return (*(f.bits for f in signature.formats), scale, signature.block)


MOST_BATCHES = 12
MOST_LADDERS = 3
"""Designs whose ladders are asked when nothing fits."""
SLOW_RATE = 100.0
"""Rows a second below which a unit is asked only as many rows of ladders as take a tenth of SLOW.

Any faster unit is asked all of them, so that what is found does not depend on the load of the machine.
"""
LADDER_ROWS = 300
"""Rows of ladders that become evidence, about: where answers turn, and as many between."""
SEARCHED = 4096
"""Rows of each distribution among which those that separate two designs are looked for."""
EACH = 3
"""Rows that are asked for each design that is to be told apart."""
VALIDATION = 100_000
SLOW = 30.0
"""Seconds that the validation may take, and half of those that are left: of a slow unit it has fewer rows.

Where a number of rows was asked for, it may take all that are left.
"""
PRODUCTS_AT_ONCE = 1 << 20
"""Products of the validation that are drawn at a time: some 100 MB with everything that they are made of."""
PROOF_SECONDS = 10.0
PROOF_SHARE = 0.9
"""The share of the time after which no proof runs any more. The rest is for the report."""
REPORT_SECONDS = 1.5
"""Seconds that the report takes: of a short limit half is left to it."""
_Pair = tuple[Design, Design, Limits]
"""Two designs that are to be related, and what that may take."""


class Identifier:
    """One identification: of ``oracle`` within ``axes``, in about ``seconds``.

    Without ``proofs`` nothing is proved: what agrees with everything is undecided. ``validation`` is the number of rows
    of the final validation; by default as many of VALIDATION as SLOW seconds allow. To ``propose`` is to look for
    operands that a recorded unit is to be run on next. ``told`` is told each stage, ``run`` runs proofs.
    """

    def __init__(
        self,
        oracle: Oracle,
        axes: Axes,
        *,
        solver: str | Solving,
        seconds: float,
        seed: int,
        proofs: bool = True,
        validation: int | None = None,
        propose: bool = False,
        told: Callable[[str], None] | None = None,
        run: Runner = here,
    ) -> None:
        self.run = run
        self.propose, self.told = propose, told or (lambda _: None)
        self.oracle, self.axes, self.seed = oracle, axes, seed
        self.solving = Solving.of(solver)
        self.interface = oracle.interface
        self.started, self.until = time.monotonic(), Until.after(seconds)
        self.reserved = max((1 - PROOF_SHARE) * seconds, min(REPORT_SECONDS, seconds / 2))
        self.rng = np.random.default_rng(seed)
        self.proofs, self.validation = proofs, validation
        self.validated, self.gave_up, self.cut_short = 0, False, False
        self.first_rows = 0
        self.other_interfaces: Mapping[str, tuple[Design, ...]] = {}
        self._alike: set[frozenset[Behaviour]] = set()
        self._related: dict[frozenset[Behaviour], bool] = {}
        self._unproved: set[frozenset[Behaviour]] = set()
        self._witnesses: list[Operands] = []
        any_known = next(iter(known_behaviours(self.interface)))
        self.any_design = self.interface.design(any_known)

    def identify(self, recorded: Evidence | None = None) -> Identification:
        """Ask, decide, ask again; ``recorded`` are the rows of a unit that answers no others."""
        evidence = recorded
        if evidence is None:
            self.told("asking the first operands")
            probes = first_probes(self.any_design, self.seed)
            batch, d = self.oracle.ask(probes.batch)
            if not len(batch):
                raise TargetUnavailable(self.oracle.problem or f"{self.oracle.target.name} answered nothing")
            evidence = Evidence(self.interface, batch, d, probes.kinds[: len(batch)])
        self.first_rows = len(evidence)
        self.told(f"fitting designs to {len(evidence.batch)} rows")
        fit = Fit(evidence, self.axes, self.until.before(min(self.reserved, REPORT_SECONDS)))
        starts = fit.ranked(known_behaviours(self.interface))
        best = self._fitting(fit, starts[:STARTS], ask=recorded is None)
        for _ in range(2 * MOST_BATCHES):
            if best is None or recorded is not None:
                break
            self.told(f"{len(evidence.batch)} rows asked, telling apart the designs that are left")
            if not (self._separates(fit, best) or self._is_refuted(fit, best) or self._is_split(fit, best)):
                break
            if not evidence.fits(best):
                best = self._fitting(fit, [best, *starts[:STARTS]], ask=True)
        else:
            self.gave_up, best = True, None
        nearest = best or max(fit.tried, key=evidence.score)
        if best is None and not self.gave_up and evidence.fits(nearest):
            best, self.validated = nearest, 0
        if best is None and recorded is None and not fit.is_late():
            self._ask_again(evidence, evidence.contradiction(nearest))
        # operands that a search finds spare the proofs that would look for some
        separating = self._separating(fit, best) if self.propose and recorded is not None and best else None
        self.told("reporting what is decided")
        outcome = self._outcome(fit, best, nearest)
        if self.propose and recorded is not None:
            outcome.proposed = self._proposed(fit, best, nearest, separating)
        outcome.unproved = len(self._unproved)
        return outcome

    def _proposed(
        self, fit: Fit, best: Behaviour | None, nearest: Behaviour, separating: OperandBatch | None
    ) -> OperandBatch:
        """Return operands that a recorded unit is to be run on next; none are left where nothing is open.

        They are those of the first batch that it was not run on yet, and those on which designs that fit differ:
        ``separating`` ones, and all that the solver has found, for the report too.
        """
        design = self.interface.design(best or nearest)
        parts = [first_probes(self.any_design, self.seed).batch]
        if best is not None:
            parts += [] if separating is None else [separating]
            self._splitting(fit, best)
            if self._witnesses:
                parts.append(OperandBatch.of_rows(self.interface.signature.formats, self._witnesses))
        else:
            rows = ladders(design, most=None).batch
            parts.append(rows.select(np.unique(np.linspace(0, len(rows) - 1, LADDER_ROWS).astype(np.intp))))
        return _new_rows(OperandBatch.concatenate(parts), fit.evidence.batch)

    def _ask_again(self, evidence: Evidence, row: int | None) -> None:
        """Ask for a row that nothing explains twice more: a unit that contradicts itself cannot be identified."""
        if row is None:
            return
        operands, d = evidence.row(row)
        answered, again = self.oracle.ask(evidence.batch.select(np.array([row, row])))
        fmt = self.interface.signature.d
        before = np.full(len(again), d, dtype=again.dtype)
        if len(answered) and not equal_patterns(fmt, again, before, nan_codes=False).all():
            given = ", ".join(fmt.hex(int(x)) for x in (d, *again))
            self.oracle.problem = (
                f"{self.oracle.target.name} answers the same operands differently: {given} for "
                f"a = {_hex(self.interface.signature.a, operands.a)}, "
                f"b = {_hex(self.interface.signature.b, operands.b)}, "
                f"c = {self.interface.signature.c.hex(operands.c)}"
            )

    def _fitting(self, fit: Fit, starts: Sequence[Behaviour], *, ask: bool) -> Behaviour | None:
        """Return a behaviour that fits all evidence, from the starts on; None where none were found.

        What is wrong with the nearest is rather an integer than the structure, so integers come first. Nothing is
        searched if designs agree with everything under other formats.
        """
        reached = fit.climb(starts[0])
        if fit.evidence.fits(reached):
            return reached
        if fit.is_late():
            return None
        self.other_interfaces = fitting_interfaces(fit.evidence)
        if self.other_interfaces:
            return None
        found = fit.shifted(reached) or self._widened(fit, ask=ask)
        for start in () if found else starts:
            reached = fit.climb(start, in_pairs=True)
            if fit.evidence.fits(reached):
                return reached
            if fit.is_late():
                return None
        return found or self._widened(fit, ask=ask)

    def _widened(self, fit: Fit, *, ask: bool) -> Behaviour | None:
        """Return a behaviour that fits and has integers from anywhere in their ranges; None where none was found.

        The search goes on from the nearest one, once its ladders were asked, as long as that brings it nearer.
        """
        if not self.axes.ranges:
            return None
        fit.wide = True
        for _ in range(MOST_LADDERS):
            nearest = max(fit.tried, key=fit.evidence.score)
            if fit.is_late() or (ask and not self._climbs_ladders(fit, nearest)):
                break
            reached = fit.climb(nearest)
            if fit.evidence.fits(reached):
                fit.wide = False
                return fit.simplified(reached)
            if fit.evidence.score(reached) <= fit.evidence.score(nearest):
                break
        fit.wide = False
        return None

    def _climbs_ladders(self, fit: Fit, nearest: Behaviour) -> bool:
        """Ask the ladders of a design; return whether the unit answered.

        Of many rows those become evidence where answers begin or cease to be what the design returns, and some between.
        """
        if self.oracle.batches >= MOST_BATCHES:
            return False
        design = self.interface.design(nearest)
        rows = ladders(design, most=_rows_of_ladders(self.oracle))
        answered, d = self.oracle.ask(rows.batch)
        same = fit.evidence.same(design, answered, d)
        turns = np.flatnonzero(same[1:] != same[:-1])[:LADDER_ROWS]
        between = np.linspace(0, len(same) - 1, min(len(same), LADDER_ROWS)).astype(np.intp)
        chosen = np.unique(np.concatenate([turns, turns + 1, between]))
        for kind in dict.fromkeys(rows.kinds):
            of_kind = chosen[[rows.kinds[i] == kind for i in chosen]]
            if len(of_kind):
                fit.evidence.add(answered.select(of_kind), d[of_kind], kind)
        return bool(len(chosen))

    def _rivals(self, fit: Fit, best: Behaviour) -> Iterator[Behaviour]:
        """Yield other behaviours that fit: those of known units, and what one group of parameters leads to."""
        known = [p for p in fit.tried if p != best and fit.evidence.fits(p)]
        yield from known
        yield from (p for p in fit.alternatives(best) if p not in known)

    def _separates(self, fit: Fit, best: Behaviour) -> bool:
        """Ask for rows on which designs that fit differ; return whether there were any, and the target answered."""
        rows = None if self.oracle.batches >= MOST_BATCHES else self._separating(fit, best)
        return rows is not None and self._ask(fit.evidence, rows, "separating")

    def _separating(self, fit: Fit, best: Behaviour) -> OperandBatch | None:
        """Return rows on which designs that fit differ; None where a search found none.

        Designs that a search did not tell apart are not searched again.
        """
        rows = self._searched()
        ours = evaluate_batch(self.interface.design(best), rows)
        rivals = [x for x in self._rivals(fit, best) if _pair(best, x) not in self._alike]
        designs = [self.interface.design(x) for x in rivals]
        chosen: list[int] = []
        first = first_differences(designs, rows, ours, EACH, fit.is_late)
        for rival, design, differences in zip(rivals, designs, first, strict=True):
            if differences is None:
                continue
            if not differences:
                self._alike.add(_pair(best, rival))
                continue
            self._related[_pair(best, rival)] = False
            # rows that were chosen for others are few, and tell most rivals apart too
            if len(differing(design, rows, ours, chosen)) < EACH:
                chosen = sorted({*chosen, *differences})
        return rows.select(np.array(chosen)) if chosen else None

    def _is_split(self, fit: Fit, best: Behaviour) -> bool:
        """Ask for operands on which the solver found that designs differ; return whether ``best`` was wrong."""
        batch = None if self.oracle.batches >= MOST_BATCHES else self._splitting(fit, best)
        return batch is not None and self._ask(fit.evidence, batch, "solver") and not fit.evidence.fits(best)

    def _splitting(self, fit: Fit, best: Behaviour) -> OperandBatch | None:
        """Return operands, found by the solver, on which designs that fit differ; None without any.

        What is proved to be the same is remembered.
        """
        if not self.proofs:
            return None
        chosen = self._relate(best, self._open(fit, best))
        return OperandBatch.of_rows(self.interface.signature.formats, chosen) if chosen else None

    def _open(self, fit: Fit, best: Behaviour) -> list[Behaviour]:
        """Return other behaviours that fit: those of the catalogue first, then those with the fewest changes."""
        known = {Behaviour.of(x, self.interface.k) for x in load_catalogue().designs.values()}
        fitting = [p for p in fit.tried if p != best and fit.allows(p) and fit.evidence.fits(p)]
        return sorted(fitting, key=lambda p: (p not in known, sum(p[n] != best[n] for n in self.axes)))

    def _ask(self, evidence: Evidence, batch: OperandBatch, kind: str) -> bool:
        """Add the answers to a batch to the evidence; return whether there were any."""
        answered, d = self.oracle.ask(batch)
        if len(answered):
            evidence.add(answered, d, kind)
        return bool(len(answered))

    def _searched(self) -> OperandBatch:
        """Return random rows of every distribution, as they are and with few products."""
        parts = []
        for name in DISTRIBUTIONS:
            batch = draw(name, self.any_design, SEARCHED, self.interface.k, self.rng)
            half = SEARCHED // 2
            parts += [batch.select(slice(half)), sparse(self.any_design, batch.select(slice(half, None)), self.rng)]
        return OperandBatch.concatenate(parts).with_constants(self.oracle.fixed)

    def _is_refuted(self, fit: Fit, best: Behaviour) -> bool:
        """Validate on ladders and many more rows; where some differ, add a few to the evidence, and return that.

        A slow unit is asked as many as it answers in the time that there is. Rows are drawn and compared some at a
        time. What the unit is asked here is not counted.
        """
        design = self.interface.design(best)
        wanted, until = VALIDATION, Until.after(min(SLOW, self.until.left / 2))
        if self.validation is not None:
            wanted, until = self.validation, self.until
        most = max(VALIDATION // len(DISTRIBUTIONS), min(wanted // len(DISTRIBUTIONS), PRODUCTS_AT_ONCE // design.k))
        asked = replace(self.oracle)
        share = wanted // len(DISTRIBUTIONS)
        allowed = _rows_of_ladders(asked)
        drawn = ladders(design, most=share if allowed is None else min(allowed, share)).batch
        self.validated, names = 0, itertools.cycle(DISTRIBUTIONS)
        while self.validated < wanted and (left := until.left) > 0:
            if not len(drawn):
                drawn = draw(next(names), design, most, self.interface.k, self.rng)
            rows = min(wanted - self.validated, most, max(int(asked.rate * left), 1))
            batch, drawn = drawn.select(slice(rows)), drawn.select(slice(rows, None))
            answered, d = asked.ask(batch)
            self.oracle.problem = self.oracle.problem or asked.problem
            self.oracle.unanswered += len(batch) - len(answered)
            if not len(answered):
                return False
            self.validated += len(answered)
            differs = np.flatnonzero(~fit.evidence.same(design, answered, d))
            if len(differs):
                fit.evidence.add(answered.select(differs[:32]), d[differs[:32]], "validation")
                self.oracle.batches = min(self.oracle.batches + 1, MOST_BATCHES)
                self.oracle.operands += len(batch)
                self.validated = 0
                return True
        self.cut_short = self.validation is not None and self.validated < wanted
        return False

    def _outcome(self, fit: Fit, behaviour: Behaviour | None, nearest: Behaviour) -> Identification:
        outcome = Identification(
            self.oracle,
            fit.evidence,
            behaviour,
            nearest,
            fit.evidence.contradiction(nearest),
            size(self.axes, nearest),
            len(fit.tried),
            validated=self.validated if behaviour is not None else 0,
            first_rows=self.first_rows,
            late=self.cut_short if behaviour is not None else self.gave_up or fit.is_late(),
            by_clock=behaviour is None and fit.is_late(),
        )
        outcome.nan_codes = fit.evidence.nan_codes()
        if behaviour is None:
            outcome.other_interfaces = self.other_interfaces
        if behaviour is not None:
            codes = {x: fit.evidence.has_nan_codes(behaviour.change(nan_code=x)) for x in self.axes["nan_code"]}
            right, wrong = (tuple(x for x, fits in codes.items() if fits is y) for y in (True, False))
            if right and outcome.nan_codes:
                outcome.behaviour = behaviour = behaviour.change(nan_code=right[0])
                outcome.findings["nan_code"] = ParameterVerdict(right[0], wrong, (), right[1:], None)
            known, same = self._known(fit.evidence, behaviour)
            varied = {name: self._varied(fit, behaviour, name) for name in self._asked(behaviour)}
            alike = [at for x, at in known.items() if x not in same]
            self._relate(behaviour, [*alike, *(x for found in varied.values() for x, row in found if row is None)])
            outcome.matches = tuple(x for x, at in known.items() if x in same or self._is_proved_equal(behaviour, at))
            outcome.fitting = tuple(x for x in known if x not in outcome.matches)
            if not self.validated:
                outcome.matches, outcome.fitting = (), (*outcome.matches, *outcome.fitting)
            outcome.findings |= {n: self._finding(fit, behaviour, n, found) for n, found in varied.items()}
            self._add_joint_values(fit, behaviour, outcome.findings)
        outcome.seconds = time.monotonic() - self.started
        return outcome

    def _asked(self, behaviour: Behaviour) -> list[str]:
        return [n for n in self.axes if n in behaviour.settings and n != "nan_code"]

    def _known(self, evidence: Evidence, behaviour: Behaviour) -> tuple[dict[Design, Behaviour], set[Design]]:
        """Return the designs of the catalogue that fit, and which of them are the same arithmetic as ``behaviour``."""
        found, same = dict[Design, Behaviour](), set[Design]()
        ours = Arithmetic.of(self.interface.design(behaviour))
        for design in load_catalogue().designs.values():
            if self.interface.takes(design):
                at = Behaviour.of(design, self.interface.k).change(nan_code=behaviour["nan_code"])
                if Arithmetic.of(self.interface.design(at)) == ours:
                    same.add(design)
                if design in same or evidence.fits(at):
                    found[design] = at
        return found, same

    def _is_proved_equal(self, first: Behaviour, second: Behaviour) -> bool:
        return self._related.get(_pair(first, second), False)

    def _relate(self, first: Behaviour, others: Sequence[Behaviour]) -> list[Operands]:
        """Find out which of the others equal a design, as long as there is time; return operands on which some differ.

        What was found out is remembered.
        """
        if not self.proofs:
            return []
        pairs = {_pair(first, x): x for x in others}
        asked = [x for pair, x in pairs.items() if pair not in self._related]
        ours, witnesses = self.interface.design(first), []
        tasks = _Tasks(len(asked), lambda i: (ours, self.interface.design(asked[i]), self._proof_limits()))
        answers = self.run(partial(_related, self.solving, self.oracle.where), tasks)
        self._unproved |= pairs.keys() - self._related.keys()
        for other in asked:
            if self.until.left <= self.reserved:
                break
            is_proved, witness = next(answers)
            self._related[_pair(first, other)] = is_proved
            if witness is not None:
                witnesses.append(witness)
                self._witnesses.append(witness)
            if is_proved or witness is not None or self.until.left > self.reserved:
                self._unproved.discard(_pair(first, other))
        return witnesses

    def _proof_limits(self) -> Limits:
        """Return the limits of one proof: its seconds are of computing, and the clock ends it with the whole alone."""
        seconds, wall = min(PROOF_SECONDS, self.until.left - self.reserved), self.until.wall - time.monotonic()
        return Limits(max(seconds, LEAST_SECONDS), 4 << 30, wall=max(wall - self.reserved, LEAST_SECONDS))

    def _add_joint_values(self, fit: Fit, behaviour: Behaviour, findings: dict[str, ParameterVerdict]) -> None:
        """Add the values that parameters have in settings that fit as well and differ in several of them.

        A value that was excluded by itself is undecided where another parameter makes up for it.
        """
        for other in self._open(fit, behaviour):
            if self._is_proved_equal(behaviour, other):
                continue
            for name, finding in findings.items():
                value = other[name] if name != "nan_code" else finding.value
                if value != finding.value and value not in (*finding.unobservable, *finding.undecided):
                    excluded = tuple(x for x in finding.excluded if x != value)
                    findings[name] = replace(finding, excluded=excluded, undecided=(*finding.undecided, value))

    def _varied(self, fit: Fit, behaviour: Behaviour, name: str) -> list[tuple[Behaviour, int | None]]:
        """Return the behaviours with other values of a parameter, and a row that contradicts each; None: it fits."""
        found = variants(behaviour, (name,), self.axes, self.interface)
        return [(x, fit.evidence.contradiction(x)) for x in found]

    def _finding(
        self, fit: Fit, behaviour: Behaviour, name: str, found: Sequence[tuple[Behaviour, int | None]]
    ) -> ParameterVerdict:
        """Return the verdict on a parameter while the others keep their values."""
        excluded = {x[name]: row for x, row in found if row is not None}
        fitting = [x for x, row in found if row is None]
        unobservable = tuple(x[name] for x in fitting if self._is_proved_equal(behaviour, x))
        undecided = tuple(x[name] for x in fitting if not self._is_proved_equal(behaviour, x))
        products = fit.evidence.nonzero_products
        row = min(excluded.values(), key=lambda x: int(products[x]), default=None)
        return ParameterVerdict(behaviour[name], tuple(excluded), unobservable, undecided, row)


def _pair(first: Behaviour, second: Behaviour) -> frozenset[Behaviour]:
    """Return two behaviours as a key: NaNs are equal whatever their codes."""
    return frozenset(x.change(nan_code=DEFINITIONS["nan_code"].default) for x in (first, second))


@dataclass(frozen=True)
class _Tasks(Sequence[_Pair]):
    """Tasks that are made when they are wanted: what time they have depends on the ones before."""

    number: int
    made: Callable[[int], _Pair]

    def __len__(self) -> int:
        """Return how many there are."""
        return self.number

    def __getitem__(self, index: Any) -> Any:
        """Return one of them."""
        if not 0 <= index < self.number:
            raise IndexError(index)
        return self.made(index)


def _related(solving: Solving, where: tuple[str, ...], pair: _Pair) -> tuple[bool, Operands | None]:
    """Return whether two designs are proved equal, and operands on which they differ. It is done in any process."""
    *designs, limits = pair
    answer = compare(*designs, solver=solving, limits=limits, where=where, budget=None)
    return answer.status is Status.PROVED, answer.witness


def _rows_of_ladders(oracle: Oracle) -> int | None:
    """Return how many rows of ladders a slow unit is asked, in a tenth of SLOW; None: all, the unit is not slow."""
    return None if oracle.rate >= SLOW_RATE else max(int(oracle.rate * SLOW / 10), 100)


def _new_rows(batch: OperandBatch, known: OperandBatch) -> OperandBatch:
    """Return the rows that are not among those known, each once."""
    seen = {known.key(i) for i in range(len(known))}
    fresh = {batch.key(i): i for i in reversed(range(len(batch)))}
    return batch.select(np.array(sorted(i for key, i in fresh.items() if key not in seen), dtype=np.intp))


def _hex(fmt: Format, patterns: tuple[int, ...]) -> str:
    return ",".join(fmt.hex(x) for x in patterns)


def spelled(name: str, values: Iterable[Any]) -> str:
    """Return values of a parameter as text."""
    return ", ".join(format_parameter(name, x) for x in values)
