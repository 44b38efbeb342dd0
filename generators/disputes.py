"""Disputes: for each point on which profiles differ, a vector that separates the readings, or a proof of none."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from mmaproof.designs.catalogue import load_catalogue
from mmaproof.designs.design import Design
from mmaproof.designs.element import Operands
from mmaproof.designs.parameters import complete_settings, compose, format_parameter, parse_parameter
from mmaproof.designs.profiles import Point, load_disputes
from mmaproof.smt.solving.limits import Limits
from mmaproof.smt.solving.solving import Solving
from mmaproof.smt.solving.verdict import Status
from mmaproof.smt.trace import evaluate
from mmaproof.verification.compare import compare
from mmaproof.verification.search import Budget

SEARCH = Budget(rows=30_000, seconds=1.0)


@dataclass(frozen=True)
class Dispute:
    """One point in one design, for two readings that profiles hold.

    ``designs`` are the names of all instructions of the catalogue with this arithmetic; ``readings`` maps each profile
    whose source is about the unit to its settings as text.

    If ``status`` is REFUTED, ``witness`` separates the readings, with the other points set as in ``context``, and
    ``predictions`` is what each profile as a whole returns for it. If it is PROVED, the readings cannot be told apart
    in any of ``contexts``. If it is UNKNOWN, ``reason`` says why.
    """

    design: Design
    designs: tuple[str, ...]
    point: Point
    readings: Mapping[str, str]
    pair: tuple[str, str]
    """the two readings that this is about"""
    status: Status
    contexts: tuple[str, ...]
    context: str = ""
    witness: Operands | None = None
    separated: Mapping[str, int] | None = None
    """design name (the context with either reading) -> d"""
    predictions: Mapping[str, int] | None = None
    """profile -> d"""
    reason: str | None = None


def disputed_designs(architecture: str | None) -> list[tuple[Design, tuple[str, ...]]]:
    """Return one design for each arithmetic that profiles dispute, with the names of all that share it.

    Designs that differ only in K have the same arithmetic. The design with the fewest steps stands for them.
    """
    groups: dict[tuple[Any, ...], list[Design]] = {}
    for design in load_catalogue().designs.values():
        if architecture in (None, design.architecture):
            under = [load_disputes().apply(design, p) for p in load_disputes().profiles]
            key = (design.architecture, design.signature, *((d.chain, d.step) for d in (design, *under)))
            groups.setdefault(key, []).append(design)
    found = []
    for group in groups.values():
        chosen = min(group, key=lambda d: (d.k, d.m, d.n))
        if _differing_points(chosen):
            found.append((chosen, tuple(d.base_name for d in group)))
    return found


def _settings(design: Design, point: Point) -> dict[str, dict[str, Any]]:
    """Return what each profile about the unit sets for a point."""
    disputes = load_disputes()
    return {p: disputes.settings(design, p, point.number) for p in disputes.sources(design)}


def _distinct(by_profile: Mapping[str, dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the readings of profiles, and the catalogue's own, which no profile may hold."""
    distinct: list[dict[str, Any]] = [] if {} in by_profile.values() else [{}]
    for settings in by_profile.values():
        if settings not in distinct:
            distinct.append(settings)
    return distinct


def _differing_points(design: Design) -> list[Point]:
    return [p for p in load_disputes().points if len(_distinct(_settings(design, p))) > 1]


Readings = tuple[dict[str, Any], dict[str, Any]]
"""What two readings of a point set."""


def disputed_points(design: Design) -> list[tuple[Point, Readings]]:
    """Return what is disputed of a design: for each point, each pair of readings that profiles hold."""
    return [
        (point, pair)
        for point in _differing_points(design)
        for pair in itertools.combinations(_distinct(_settings(design, point)), 2)
    ]


@dataclass(frozen=True)
class Task:
    """One of the disputed points of a design, and the means to settle it. It is data for another process."""

    design: Design
    names: tuple[str, ...]
    number: int
    """which one of ``disputed_points``"""
    solving: Solving
    limits: Limits


def dispute_of(task: Task) -> Dispute:
    """Return the dispute of a task."""
    point, pair = disputed_points(task.design)[task.number]
    return _settle(task.design, task.names, point, pair, task.solving, task.limits)


def find_disputes(
    design: Design, names: tuple[str, ...], *, solver: str | Solving, limits: Limits
) -> Iterator[Dispute]:
    """Yield the disputes of one design: for each point, each pair of readings that profiles hold.

    ``limits`` are for each question; a point may need several.
    """
    for point, pair in disputed_points(design):
        yield _settle(design, names, point, pair, Solving.of(solver), limits)


def _text(settings: Mapping[str, Any]) -> str:
    return ",".join(f"{n}={format_parameter(n, v)}" for n, v in settings.items()) or "default"


def _contexts(design: Design, point: Point) -> list[dict[str, Any]]:
    """Return settings of the other points under which the point is looked at: defaults, jointly, each profile's."""
    disputes = load_disputes()
    contexts: list[dict[str, Any]] = [{}, {n: parse_parameter(n, v) for n, v in point.jointly.items()}]
    for profile in disputes.profiles:
        others: dict[str, Any] = {}
        for other in disputes.points:
            if other.number != point.number:
                others |= disputes.settings(design, profile, other.number)
        contexts.append({n: v for n, v in others.items() if n not in point.parameters})
    distinct: list[dict[str, Any]] = []
    for context in contexts:
        if context not in distinct:
            distinct.append(context)
    return distinct


def _settle(
    design: Design,
    names: tuple[str, ...],
    point: Point,
    readings: Readings,
    solving: Solving,
    limits: Limits,
) -> Dispute:
    contexts = _contexts(design, point)
    texts = {profile: _text(settings) for profile, settings in _settings(design, point).items()}
    pair = _text(readings[0]), _text(readings[1])
    dispute = Dispute(design, names, point, texts, pair, Status.PROVED, tuple(_text(c) for c in contexts))
    unknown, fallback = None, None
    for context in contexts:
        first, second = (_under(design, {**context, **reading}) for reading in readings)
        answer = compare(first, second, solver=solving, limits=limits, budget=SEARCH, preferring=0)
        if answer.witness is None:
            unknown = unknown or answer.reason
            continue
        found = replace(
            dispute,
            status=Status.REFUTED,
            context=_text(context),
            witness=answer.witness,
            separated=answer.outputs,
            predictions=_predictions(design, answer.witness),
        )
        if _tells_profiles_apart(found, readings):
            return found
        fallback = fallback or found
    if fallback is not None:
        return fallback
    return replace(dispute, status=Status.UNKNOWN, reason=unknown) if unknown else dispute


def _tells_profiles_apart(dispute: Dispute, readings: Readings) -> bool:
    """Return whether profiles of one reading and those of the other predict different results for the witness."""
    predictions = dispute.predictions or {}
    first, second = ({predictions[p] for p, text in dispute.readings.items() if text == _text(r)} for r in readings)
    if dispute.witness is not None and not (first and second):
        return evaluate(dispute.design, dispute.witness) not in first | second
    return not first & second


def _under(design: Design, settings: Mapping[str, Any]) -> Design:
    """Return the design with settings, the name listing those that have an effect."""
    chain, step = compose(complete_settings(design.chain, design.step) | dict(settings))
    found = replace(design, chain=chain, step=step)
    changed = tuple(n for n, v in found.settings.items() if n in settings and design.settings.get(n) != v)
    return replace(found, changed=changed)


def _predictions(design: Design, witness: Operands) -> dict[str, int]:
    disputes = load_disputes()
    return {profile: evaluate(disputes.apply(design, profile), witness) for profile in disputes.sources(design)}
