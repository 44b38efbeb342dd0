"""A proved question as a bundle, which a stranger can check without mmaproof (docs/bundle.md)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

from pysmt.fnode import FNode

from mmaproof.designs.design import Design
from mmaproof.designs.files import require_new_folder, write_folder
from mmaproof.gemm.questions.plan_equivalence import PlanEquivalence
from mmaproof.properties.equivalence import Equivalence
from mmaproof.properties.question import Argument, Question
from mmaproof.smt.bundles.writing import Refutations, files_of
from mmaproof.smt.proving.exhaustion import small_ones_first
from mmaproof.smt.proving.kernel import Kernel, NotComposedError, Theorem, conjuncts
from mmaproof.smt.proving.lemma import StagedProof
from mmaproof.smt.solving.limits import Limits, worked
from mmaproof.smt.solving.query import Query
from mmaproof.smt.solving.refuting import NotRefutedError, Refuter
from mmaproof.smt.solving.solving import Ask, Solving
from mmaproof.smt.solving.verdict import Cause, Outcome, Reply
from mmaproof.verification.netlists import by_nets
from mmaproof.verification.stages import by_stages, netlist_and_model

AT_ONCE = 3.0
"""Seconds in which the whole question is refuted as one lemma, before it is taken apart."""
SLOWER = 4.0
"""How much longer the refutation of a lemma may take than the solver that proved it."""
NO_STEPS = "no steps are known that say what joined its lemmas"


class NoBundleError(Exception):
    """A proved question cannot be put into a bundle; the text says why."""


@dataclass(frozen=True)
class Bundle:
    """The files of a bundle by name, and the numbers of its lemmas and steps."""

    files: Mapping[str, bytes]
    lemmas: int
    steps: int


@dataclass(frozen=True)
class BundleReport:
    """Bundles that were written: their folders, the numbers of their lemmas and steps, their size in bytes, seconds."""

    folders: tuple[Path, ...]
    lemmas: int
    steps: int
    size: int
    seconds: float


def write_bundles(
    questions: Sequence[tuple[Question, Mapping[str, Any], Theorem | None]],
    design: Design,
    folder: Path,
    solving: Solving,
    limits: Limits,
    seed: int,
) -> BundleReport:
    """Write proved questions as bundles. With each question is what its manifest says of it, and its theorem.

    The lemmas of a theorem get refutations that can be checked. A question without one is proved once more.

    One bundle is written into the folder itself, each of several into a folder in it: 1, 2 and so on. Raises
    NoBundleError if one of the questions cannot be put into a bundle within the limits. Raises InputError if the folder
    is not empty or cannot be written. Nothing is written then.
    """
    require_new_folder(folder)
    started = worked()
    bundles = [_bundle(*x, design, solving, limits, seed) for x in questions]
    names = [""] if len(bundles) == 1 else [f"{n}/" for n, _ in enumerate(bundles, start=1)]
    files = {f"{n}{file}": data for n, x in zip(names, bundles, strict=True) for file, data in x.files.items()}
    write_folder(folder, files)
    return BundleReport(
        tuple(folder / n for n in names),
        sum(x.lemmas for x in bundles),
        sum(x.steps for x in bundles),
        sum(map(len, files.values())),
        worked() - started,
    )


def _bundle(
    question: Question,
    about: Mapping[str, Any],
    theorem: Theorem | None,
    design: Design,
    solving: Solving,
    limits: Limits,
    seed: int,
) -> Bundle:
    """Return the bundle of a question's theorem.

    Without one, the question is proved in one piece where that takes little time, else stage by stage. Raises
    NoBundleError.
    """
    started = worked()
    met = _meets(question, solving, limits)
    made_by = f"mmaproof {version('mmaproof')}"
    takes_steps = question.argument() is not None or question.compares_runs or isinstance(question, PlanEquivalence)
    reasons = [] if takes_steps or theorem is not None else [NO_STEPS]

    def one_piece(refutations: Refutations, _: Limits) -> Theorem:
        return question.formula.in_one_piece(refutations.refute)

    def staged(refutations: Refutations, left: Limits) -> Theorem:
        argument = _argument_of(question, design, solving, left, seed, refutations)
        kernel = Kernel(question.formula.environment, question.formula.violation, refutations.refute)
        argument(kernel)
        return kernel.theorem()

    attempts: list[tuple[str, Callable[[Refutations, Limits], Theorem], float | None]] = [
        ("in one piece", one_piece, AT_ONCE),
        *([("stage by stage", staged, None)] if takes_steps else []),
        ("in one piece", one_piece, None),
    ]
    if theorem is not None and theorem.root is question.formula.violation and not _is_in_one_piece(theorem):
        attempts.insert(0, ("as it was proved", lambda *_: theorem, limits.seconds / 2))
    with Refuter(limits.memory_bytes) as refuter:
        for name, compose, seconds in attempts:
            left = limits.after(worked() - started, "earlier attempts")
            if seconds is not None:
                left = Limits(min(left.seconds, seconds), left.memory_bytes)
            refutations = Refutations(refuter, left)
            try:
                found = compose(refutations, left)
                files = files_of(found, met, {"made_by": made_by, **about}, refutations)
            except (NotComposedError, NotRefutedError) as problem:
                if seconds != AT_ONCE:
                    reasons.append(f"{name}: {problem}")
                continue
            return Bundle(files, len(found.leaves), len(found.steps))
    raise NoBundleError("; ".join(reasons))


def _is_in_one_piece(theorem: Theorem) -> bool:
    """Return whether the only leaf of a theorem is the whole claim."""
    return [set(x.stated.all) for x in theorem.leaves] == [set(conjuncts(theorem.root))]


def _meets(question: Question, solving: Solving, limits: Limits) -> Mapping[str, int] | None:
    """Return operands that meet the preconditions, None where there are none."""
    whole = question.formula
    root = whole.violation
    if not root.is_and():
        return None
    assumed = whole.environment.formula_manager.And(root.args()[:-1])
    reply = solving.ask(assumed, whole.symbols, limits=limits)
    if reply.outcome is not Outcome.SAT or reply.model is None:
        raise NoBundleError("no operands are known that meet the preconditions")
    return reply.model


def _argument_of(
    question: Question, design: Design, solving: Solving, limits: Limits, seed: int, refutations: Refutations
) -> Argument:
    """Return what proves a question step by step. Raises NotComposedError if nothing is found that does."""
    argument = question.argument()
    if argument is not None:
        return argument
    pair = netlist_and_model(question)
    if pair is not None and isinstance(question, Equivalence):
        ask = _refuted(small_ones_first(solving), refutations, by_laws=True)
        proof: StagedProof = by_nets(question, *pair, ask, limits, seed)
    else:
        proof = by_stages(question, design, _refuted(solving.ask, refutations), limits, seed)
    if not proof.proved or proof.argument is None:
        raise NotComposedError(f"no proof was found: {proof.reason or 'a lemma is missing'}")
    return proof.argument


def _refuted(ask: Ask, refutations: Refutations, *, by_laws: bool = False) -> Ask:
    """Return what asks solvers, and knows nothing of a lemma that has no refutation.

    With ``by_laws`` an equation needs none: laws may say it.
    """

    def asked(formula: FNode, symbols: Sequence[FNode], /, *, limits: Limits) -> Reply:
        reply = ask(formula, symbols, limits=limits)
        *_, last = of = formula.args() if formula.is_and() else (formula,)
        if reply.outcome is not Outcome.UNSAT or (by_laws and last.is_not() and last.arg(0).is_equals()):
            return reply
        try:
            refutations.of(Query.all_of(of), SLOWER * limits.seconds)
        except NotRefutedError as problem:
            return replace(
                reply,
                outcome=Outcome.UNKNOWN,
                reason=Cause.TIMEOUT.reason(str(problem)),
                certified_by=None,
                certificate=None,
            )
        return reply

    return asked
