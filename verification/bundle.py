"""A proved question as a bundle, which a stranger can check without mmaproof (docs/bundle.md)."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

from pysmt.fnode import FNode

from mmaproof.designs.design import Design
from mmaproof.designs.files import require_new_folder, write_folder
from mmaproof.gemm.questions.plan_equivalence import PlanEquivalence
from mmaproof.properties.equivalence import Equivalence
from mmaproof.properties.library.error_bound import WithinBound
from mmaproof.properties.library.exactness import WithinSpread
from mmaproof.properties.library.monotonicity import Monotone
from mmaproof.properties.question import Question
from mmaproof.smt.algebra.protocol import Truth, Word
from mmaproof.smt.algebra.terms import TermAlgebra
from mmaproof.smt.bundles.close_terms_steps import CloseTermsSteps
from mmaproof.smt.bundles.composer import Composer
from mmaproof.smt.bundles.error_steps import ErrorSteps
from mmaproof.smt.bundles.in_turn_steps import InTurnSteps
from mmaproof.smt.bundles.laws_in_use import LawsInUse
from mmaproof.smt.bundles.leaves import Leaves
from mmaproof.smt.bundles.net_composer import ColumnValues, NetComposer
from mmaproof.smt.bundles.net_recorded import JournalledTools, RecordedPlaces
from mmaproof.smt.bundles.order_steps import OrderSteps
from mmaproof.smt.bundles.recorded import JournalledLemmas, JournalledTerms, RecordedTerms
from mmaproof.smt.bundles.refutations import Refutations
from mmaproof.smt.bundles.writing import files_of
from mmaproof.smt.proving.asked import OutOfTimeError
from mmaproof.smt.proving.cuts import kind_of
from mmaproof.smt.proving.exhaustion import small_ones_first
from mmaproof.smt.proving.kernel import Kernel, NotComposedError
from mmaproof.smt.proving.monotone import LargeStep, TermRises
from mmaproof.smt.proving.samples import Samples
from mmaproof.smt.proving.staged import CLAIM_SECONDS, CLAIM_WIDENINGS
from mmaproof.smt.proving.staged_lemmas import RESULT
from mmaproof.smt.semantics import DotProduct, dot_product_accumulate, equal_results
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
    questions: Sequence[tuple[Question, Mapping[str, Any]]],
    design: Design,
    folder: Path,
    solving: Solving,
    limits: Limits,
    seed: int,
) -> BundleReport:
    """Prove questions once more, for bundles, and write these. With each question is what its manifest says of it.

    One bundle is written into the folder itself, each of several into a folder in it: 1, 2 and so on. Raises
    NoBundleError if one of the questions cannot be put into a bundle within the limits. Raises InputError if the folder
    is not empty or cannot be written. Nothing is written then.
    """
    require_new_folder(folder)
    started = time.monotonic()
    bundles = [_bundle(question, design, about, solving, limits, seed) for question, about in questions]
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
    question: Question, design: Design, about: Mapping[str, Any], solving: Solving, limits: Limits, seed: int
) -> Bundle:
    """Return the bundle of a question, proved in one piece where that takes little time, else stage by stage.

    Raises NoBundleError.
    """
    started = time.monotonic()
    met = _meets(question, solving, limits)
    made_by = f"mmaproof {version('mmaproof')}"
    reasons: list[str] = []

    def one_piece(kernel: Kernel, _: Refutations, __: Limits) -> None:
        whole = question.formula
        kernel.use(whole.claim, [] if whole.precondition is None else [whole.precondition], "the whole claim")

    def staged(kernel: Kernel, refutations: Refutations, left: Limits) -> None:
        _staged(kernel, question, design, solving, left, seed, refutations)

    attempts = (
        ("in one piece", one_piece, AT_ONCE),
        ("stage by stage", staged, None),
        ("in one piece", one_piece, None),
    )
    with Refuter(limits.memory_bytes) as refuter:
        for name, compose, seconds in attempts:
            left = limits.after(time.monotonic() - started, "earlier attempts")
            if seconds is not None:
                left = Limits(min(left.seconds, seconds), left.memory_bytes)
            refutations = Refutations(refuter, left)
            try:
                kernel = Kernel(question.formula.environment, _counterexamples(question), refutations.refute)
                compose(kernel, refutations, left)
                theorem = kernel.theorem()
                files = files_of(theorem, met, {"made_by": made_by, **about}, refutations)
            except (NotComposedError, NotRefutedError) as problem:
                reasons.append(f"{name}: {problem}")
                continue
            return Bundle(files, len(theorem.leaves), len(theorem.steps))
    raise NoBundleError("; ".join(reasons[1:]))


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
    if isinstance(question, Monotone):
        return _of_order(kernel, question)
    if not (question.compares_runs or isinstance(question, PlanEquivalence | WithinBound)):
        raise NotComposedError("its lemmas are joined by an argument about the question, which a bundle cannot say")
    if isinstance(question, WithinBound):
        return _of_error(kernel, question)
    if isinstance(question, WithinSpread):
        return _of_close_terms(kernel, question)
    if isinstance(question, Equivalence) and (in_turn := question.in_turn()) is not None:
        return _in_turn(kernel, question, *in_turn)
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


def _in_turn(kernel: Kernel, question: Equivalence, fused: Design, sequential: Design) -> None:
    """Add the steps that a sum in turn returns what a fused sum does."""
    algebra = TermAlgebra(kernel.environment)
    operands = question.symbols(algebra)
    first, second = (dot_product_accumulate(x, algebra, operands) for x in (fused, sequential))
    for x, y in zip(first.steps, second.steps, strict=True):
        InTurnSteps(kernel, sequential, y, x).prove()
    same = partial(equal_results, algebra, fused.d_format, nan_codes=question.nan_codes, zero_signs=question.zero_signs)
    _use_equal_results(kernel, first.d, same)


def _use_equal_results(
    kernel: Kernel,
    result: Word[FNode],
    same: Callable[[Word[FNode], Word[FNode]], Truth[FNode]],
) -> None:
    """Use that a result is the same as itself; the other one is proved to be equal to it."""
    leaves = Leaves(TermAlgebra(kernel.environment))
    d = leaves.word(result)
    leaves.use(LawsInUse(kernel), same(d, d), (), "a result is equal to itself")


def _of_close_terms(kernel: Kernel, question: WithinSpread) -> None:
    """Add the steps that a step returns what its exact twin does."""
    algebra = TermAlgebra(kernel.environment)
    runs = question.runs(algebra, question.symbols(algebra))
    found = [dot_product_accumulate(question.asked(design), algebra, operands) for design, operands in runs]
    ((step,), (wide,)) = (x.steps for x in found)
    kinds, (a, b, c) = [kind_of(label) for label in step.sums[-1].labels], question.formats
    least = {"products": a.e_min + b.e_min, "c": c.e_min}
    of_terms = [question.spreads[k] for k in kinds], [least[k] for k in kinds]
    CloseTermsSteps(kernel, step, wide, *of_terms).prove()
    same = partial(equal_results, algebra, question.design.d_format)
    _use_equal_results(kernel, found[0].d, same)


def _of_order(kernel: Kernel, question: Monotone) -> None:
    """Add the steps that a result does not fall where an operand rises."""
    found = question.lemmas()
    rises = [x for x in found if isinstance(x, TermRises)]
    large = [x for x in found if isinstance(x, LargeStep)]
    if len(rises) != 1 or len(large) != 1:
        raise NotComposedError("no term of one sum rises: its lemmas are joined in a way that a bundle cannot say")
    algebra = TermAlgebra(kernel.environment)
    operands = question.symbols(algebra)
    runs = [
        dot_product_accumulate(question.asked(design), algebra, x) for design, x in question.runs(algebra, operands)
    ]
    ((first,), (second,)) = (x.steps for x in runs)

    def claim(*results: Word[FNode]) -> Truth[FNode]:
        return question.relation(algebra, operands, [DotProduct(d, ()) for d in results])

    steps = OrderSteps(kernel, first, second, rises[0], large[0], question.formula.precondition)
    steps.prove(question.design.d_format, claim)


def _of_error(kernel: Kernel, question: WithinBound) -> None:
    """Add the steps that the error of one step is within its bound."""
    algebra = TermAlgebra(kernel.environment)
    result = dot_product_accumulate(question.asked(question.design), algebra, question.symbols(algebra))
    (step,) = result.steps
    ErrorSteps(kernel, step, question.step_error(step.terms), question.formula.precondition).prove()


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
