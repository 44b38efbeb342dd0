"""A proved question as a bundle, which a stranger can check without mmaproof (docs/bundle.md)."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

from pysmt.fnode import FNode

from mmaproof.designs.design import Design
from mmaproof.designs.files import require_new_folder, write_folder
from mmaproof.gemm.questions.plan_equivalence import PlanEquivalence
from mmaproof.properties.equivalence import Equivalence
from mmaproof.properties.question import Question
from mmaproof.smt.bundles.composer import Composer
from mmaproof.smt.bundles.net_composer import ColumnValues, NetComposer
from mmaproof.smt.bundles.net_recorded import JournalledTools, RecordedPlaces
from mmaproof.smt.bundles.recorded import JournalledLemmas, JournalledTerms, RecordedTerms
from mmaproof.smt.bundles.refutations import Refutations
from mmaproof.smt.bundles.writing import files_of
from mmaproof.smt.proving.asked import OutOfTimeError
from mmaproof.smt.proving.exhaustion import small_ones_first
from mmaproof.smt.proving.kernel import Kernel, NotComposedError, Theorem
from mmaproof.smt.proving.samples import Samples
from mmaproof.smt.proving.staged import CLAIM_SECONDS, CLAIM_WIDENINGS
from mmaproof.smt.proving.staged_lemmas import RESULT
from mmaproof.smt.solving.limits import Limits
from mmaproof.smt.solving.prove import violation_of
from mmaproof.smt.solving.refuting import NotRefutedError, Refuter
from mmaproof.smt.solving.solving import Solving
from mmaproof.smt.solving.verdict import Outcome
from mmaproof.verification.netlists import by_nets, model_first, netlist_and_model
from mmaproof.verification.stages import sample_models

AT_ONCE = 3.0
"""Seconds in which the whole question is refuted as one lemma, before it is taken apart."""


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
    started = time.monotonic()
    bundles = [_bundle(*x, design, solving, limits, seed) for x in questions]
    names = [""] if len(bundles) == 1 else [f"{n}/" for n, _ in enumerate(bundles, start=1)]
    files = {f"{n}{file}": data for n, x in zip(names, bundles, strict=True) for file, data in x.files.items()}
    write_folder(folder, files)
    return BundleReport(
        tuple(folder / n for n in names),
        sum(x.lemmas for x in bundles),
        sum(x.steps for x in bundles),
        sum(map(len, files.values())),
        time.monotonic() - started,
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
    started = time.monotonic()
    met = _meets(question, solving, limits)
    made_by = f"mmaproof {version('mmaproof')}"
    reasons: list[str] = []

    def one_piece(refutations: Refutations, _: Limits) -> Theorem:
        kernel = Kernel(question.formula.environment, _counterexamples(question), refutations.refute)
        whole = question.formula
        kernel.use(whole.claim, [] if whole.precondition is None else [whole.precondition], "the whole claim")
        return kernel.theorem()

    def staged(refutations: Refutations, left: Limits) -> Theorem:
        kernel = Kernel(question.formula.environment, _counterexamples(question), refutations.refute)
        _staged(kernel, question, design, solving, left, seed, refutations)
        return kernel.theorem()

    attempts: list[tuple[str, Callable[[Refutations, Limits], Theorem], float | None]] = [
        ("in one piece", one_piece, AT_ONCE),
        ("stage by stage", staged, None),
        ("in one piece", one_piece, None),
    ]
    if theorem is not None and theorem.root is _counterexamples(question):
        attempts.insert(0, ("as it was proved", lambda *_: theorem, None))
    with Refuter(limits.memory_bytes) as refuter:
        for name, compose, seconds in attempts:
            left = limits.after(time.monotonic() - started, "earlier attempts")
            if seconds is not None:
                left = Limits(min(left.seconds, seconds), left.memory_bytes)
            refutations = Refutations(refuter, left)
            try:
                found = compose(refutations, left)
                files = files_of(found, met, {"made_by": made_by, **about}, refutations)
            except (NotComposedError, NotRefutedError) as problem:
                if seconds is None:
                    reasons.append(f"{name}: {problem}")
                continue
            return Bundle(files, len(found.leaves), len(found.steps))
    raise NoBundleError("; ".join(reasons))


def _meets(question: Question, solving: Solving, limits: Limits) -> Mapping[str, int] | None:
    """Return operands that meet the preconditions, None where there are none."""
    root = _counterexamples(question)
    if not root.is_and():
        return None
    whole = question.formula
    assumed = whole.environment.formula_manager.And(root.args()[:-1])
    reply = solving.ask(assumed, whole.symbols, limits=limits)
    if reply.outcome is not Outcome.SAT or reply.model is None:
        raise NoBundleError("no operands are known that meet the preconditions")
    return reply.model


def _counterexamples(question: Question) -> FNode:
    whole = question.formula
    return violation_of(whole.claim, whole.precondition, whole.environment)


def _staged(
    kernel: Kernel,
    question: Question,
    design: Design,
    solving: Solving,
    limits: Limits,
    seed: int,
    refutations: Refutations,
) -> None:
    argument = question.argument()
    if argument is not None:
        return argument(kernel)
    if not (question.compares_runs or isinstance(question, PlanEquivalence)):
        raise NotComposedError("its lemmas are joined by an argument about the question, which a bundle cannot say")
    pair = netlist_and_model(question)
    if pair is not None and isinstance(question, Equivalence):
        return _net_by_net(kernel, question, *pair, solving, limits, seed, refutations)
    whole = question.formula
    plain = RecordedTerms(whole.environment)
    claim = question.claim(plain, question.symbols(plain)).data
    if claim is not whole.claim:
        raise NotComposedError("the claim was built in another way")
    samples = Samples(sample_models(question, design, seed))
    if not samples.rows:
        raise NotComposedError("no sample meets the preconditions")
    lemmas = JournalledLemmas(solving.ask, limits, time.monotonic(), whole.environment, refutations)
    staged = JournalledTerms(lemmas, samples, whole, question.related_results())
    try:
        claimed = question.claim(staged, question.symbols(staged)).data
        proved = staged.holds(RESULT, "as claimed", claimed, seconds=CLAIM_SECONDS, widenings=CLAIM_WIDENINGS)
    except OutOfTimeError:
        raise NotComposedError(f"no staged proof within {limits}") from None
    if not proved:
        raise NotComposedError("no staged proof was found")
    return Composer(kernel, samples).compose(plain.recording.entries, staged.recording.entries, claim, claimed)


def _net_by_net(
    kernel: Kernel,
    question: Equivalence,
    netlist: Design,
    model: Design,
    solving: Solving,
    limits: Limits,
    seed: int,
    refutations: Refutations,
) -> None:
    whole = question.formula
    plain = RecordedPlaces(whole.environment)
    claim = model_first(question, netlist, model, plain, plain.begin_netlist, lambda operands: operands).data
    tools = JournalledTools(refutations)
    proof = by_nets(question, netlist, model, small_ones_first(solving), limits, seed, tools)
    if not proof.proved or tools.made is None or tools.claim is None:
        raise NotComposedError(f"no proof net by net was found: {proof.reason or proof.lead}")
    sweep_model, sweep, columns = tools.made
    composer = NetComposer(kernel, ColumnValues(columns), sweep_model, sweep)
    composer.define_unknown(plain.unknowns)
    composer.claim_again(whole.claim, claim)
    composer.compose(plain.recording.entries, tools.entries, claim, tools.claim)
