"""The strategies by which a question is decided, in the order in which they are tried.

The list is ``STRATEGIES``. The first strategy that gives a verdict ends it. Every command
uses the list, so what one command proves, all of them prove. Strategies without cost come first. Then come those that
find a witness, proofs from lemmas, and proofs that take the question apart. Last is the solver on the whole question,
which always gives a verdict.

These words have one meaning, from the solver to the printed text. A ``Reply`` is what a solver says about one query. A
``Verdict`` is what is known of a claim. The claim may be a formula (``prove``, ``decide``), a lemma (``LemmaVerdict``),
a question (``QuestionVerdict``, or ``Comparison`` for two designs), a property (``PropertyVerdict``) or a statement
about an algorithm (``AlgorithmVerdict``). To decide is to find a verdict. ``decide`` decides one formula, and
``answer`` decides a question.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace

import numpy as np
from pysmt.fnode import FNode

from mmaproof.designs.design import Design, check_askable
from mmaproof.designs.element import Operands
from mmaproof.designs.errors import DesignError
from mmaproof.designs.operands import OperandBatch
from mmaproof.properties.equivalence import Equivalence, alignment_lemmas
from mmaproof.properties.property import Joined, LemmaVerdict, Proof, QuestionVerdict, Recalled
from mmaproof.properties.question import Argument, Question
from mmaproof.smt.bundles.aligned_alike_steps import differ_in_alignment
from mmaproof.smt.proving.kernel import NotComposedError, Theorem
from mmaproof.smt.proving.lemma import Formula, Lemmas, StagedLemma, Statement, decide
from mmaproof.smt.solving.limits import LEAST_SECONDS, Limits, worked
from mmaproof.smt.solving.portfolio import Overtaken, Rival
from mmaproof.smt.solving.solving import Ask, violation_of
from mmaproof.smt.solving.verdict import (
    BY_KERNEL,
    JOINED,
    Cause,
    Model,
    Reply,
    Status,
    Verdict,
    by_whom,
    combine,
)
from mmaproof.verification.distributions import kept_bits
from mmaproof.verification.search import (
    NO_SOLVER,
    Budget,
    Means,
    SearchResult,
    extreme_operands,
    products_at_half,
    search,
    simplest,
    small_products,
    store_proof,
    store_witness,
    stored_proof,
    stored_witness,
)
from mmaproof.verification.stages import by_stages, lemma_verdict, netlist_and_model, proved_of

AT_ONCE = 0.1
"""Seconds for which a question about several runs is asked in one piece before it is taken apart as well."""
BUSY = 0.8
"""The share of the CPU seconds below which a limit by the clock is said to have ended a question on a busy machine."""
LEMMAS_ALONE = 0.5
"""Seconds of lemmas, for each 64 products, after which the whole question is asked in parallel. To build its formula
takes about a tenth of this."""
PATIENCE = 4.0
"""How much longer that is for an argument, which has many small lemmas."""
LEAST_SIMPLIFICATION = 1.0
"""Seconds for which a witness is simplified even where the time limit has passed."""
SPECIAL_ROWS = 4096
"""Operand sets of a special case that are tried before any others."""
FIRST_CUBES, CUBE_AT_ONCE = 6, 0.5
"""Cubes that are asked about before the proof, and seconds for each of them."""
CUBE_SECONDS = 3.0
"""Seconds for one cube after it."""
MOST_CUBE_BITS = 60
"""Fraction bits that cubes reach at most."""
BY_IDENTITY = "identity: the same computation"


@dataclass
class Case:
    """A question on its way through the strategies, and what is known so far. Random operands suit ``design``."""

    question: Question
    design: Design
    means: Means
    started: float
    limits: Limits
    """the limits that are left for the next strategies"""
    met: bool = False
    """whether an input is known to meet the preconditions"""
    searched: SearchResult | None = None
    """the search that found no witness"""
    tried: list[LemmaVerdict] = field(default_factory=list)
    """lemmas of strategies that gave no proof"""
    lead: str = ""
    """where a proof failed, for whoever looks for the reason"""
    outer: Case | None = None
    """the question whose answer contains this one"""
    began: float | None = None
    """when a part of the question was asked first"""
    waits: bool = False
    """whether the whole question is not asked before its special case"""
    patience: float = 1.0
    """how much longer than usual parts are asked about without the whole question"""
    rival: Rival | None = None
    """the whole question, once it is asked in parallel with its parts"""
    stage: str = ""
    """the strategy that is tried"""
    lemmas: int = 0
    slowest: float = 0.0
    """how many parts of the question were asked about, and the seconds of that which took longest"""

    @property
    def seconds(self) -> float:
        """The time since the question was asked."""
        return worked() - self.started

    def ask(self, formula: FNode, symbols: Sequence[FNode], /, *, limits: Limits) -> Reply:
        """Ask the solvers about a part of the question, and after a while about the whole question beside it.

        Raises Overtaken if the whole question has an answer first, and what ``Solving.ask`` raises.
        """
        started, outermost = worked(), list(self._lineage())[-1]
        reply = self._reply(formula, symbols, limits)
        outermost.lemmas, outermost.slowest = outermost.lemmas + 1, max(outermost.slowest, worked() - started)
        outermost.tell()
        return reply

    def tell(self) -> None:
        """Tell a person who waits which strategy is tried, how many lemmas were asked, and which took longest."""
        if self.means.told is not None and self.outer is None:
            done = f": {self.lemmas} lemmas, slowest {self.slowest:.1f} s" if self.lemmas else ""
            self.means.told(f"{self.stage}{done}")

    def _reply(self, formula: FNode, symbols: Sequence[FNode], limits: Limits) -> Reply:
        asked, started, lineage = self.means.solving, worked(), list(self._lineage())
        alone = min((x.alone(started) for x in lineage if x.rival is None), default=0.0)
        if LEAST_SECONDS < alone < limits.seconds:
            first = replace(limits, seconds=alone)
            reply = asked.ask(formula, symbols, limits=first, rivals=[x.rival for x in lineage if x.rival is not None])
            # A reason that names these limits says that they ended the solver. Work that is counted may lag behind.
            if str(first) not in (reply.reason or ""):
                return reply
            limits = limits.after(worked() - started, "lemmas")
        for x in lineage:
            if x.alone(worked()) <= LEAST_SECONDS:
                x.begin()
        return asked.ask(formula, symbols, limits=limits, rivals=[x.rival for x in lineage if x.rival is not None])

    def decide(self, statement: Statement, limits: Limits, *, met: bool = False) -> Verdict[Model]:
        """Decide a part of the question. Raises Overtaken if the whole question has an answer first."""
        return decide(statement, self.ask, limits, precondition_met=met)

    def decide_whole(self) -> Verdict[Model]:
        """Decide the whole question, within all the time that is left."""
        rival = self.begin()
        return decide(self.question, rival.ask, self._left(), precondition_met=self.met)

    def begin(self) -> Rival:
        """Ask the solvers about the whole question, beside whatever is asked later."""
        if self.rival is None:
            whole = self.question.formula
            violation = violation_of(whole.claim, whole.precondition, whole.environment)
            self.rival = self.means.solving.beside(violation, self._left())
        return self.rival

    def end(self) -> None:
        """End the queries about the whole question."""
        if self.rival is not None:
            self.rival.end()

    def alone(self, now: float) -> float:
        """Return for how many seconds from ``now`` on the parts of the question are asked without the whole."""
        self.began = now if self.began is None else self.began
        if self.waits:
            return self.limits.seconds
        return self.began + self.patience * LEMMAS_ALONE * max(1.0, self.question.k / 64) - now

    def _left(self) -> Limits:
        now = self.means.limits.seconds - self.seconds
        return self.limits.after(max(0.0, self.limits.seconds - now), "the formula")

    def _lineage(self) -> Iterator[Case]:
        case: Case | None = self
        while case is not None:
            yield case
            case = case.outer

    def refuted(self, witnesses: Sequence[Operands], origin: str) -> QuestionVerdict:
        """Return the verdict with the simplest of some witnesses, and store that witness."""
        self.end()
        now = worked()
        deadline = max(self.started + self.means.limits.seconds, now + LEAST_SIMPLIFICATION)
        deadline = min(deadline, now + self.means.simplifying)
        if self.means.told is not None:
            self.means.told("simplifying the operands that were found")
        witness = simplest(self.question, witnesses[: self.means.simplified], deadline)
        store_witness(self.means.solving.store, self.question, witness, origin)
        return QuestionVerdict(Status.REFUTED, self.seconds, witness=witness, origin=origin, question=self.question)

    def joined(
        self, argument: Argument, *, small_first: bool = False
    ) -> tuple[Theorem | None, tuple[StagedLemma, ...]]:
        """Return the theorem that an argument makes, None if a kernel does not take its steps, and its lemmas.

        With ``small_first`` lemmas of few bits are decided by trying all values, and those about multipliers by their
        adders, unless they are to be certified.
        """
        began, whole = worked(), self.question.formula
        asked = Lemmas(self.ask_small(small_first) if small_first else self.ask, self.limits, began, whole.environment)
        theorem = asked.joined(whole.violation, argument)
        self.limits = self.limits.after(worked() - began, "lemmas")
        return theorem, asked.found()

    def ask_small(self, sums: bool) -> Ask:
        """Return how small lemmas are asked: by all values, those about ``sums`` of products by their adders."""
        from mmaproof.smt.proving.adders import sums_first  # noqa: PLC0415  (a search needs none of it)
        from mmaproof.smt.proving.exhaustion import small_ones_first  # noqa: PLC0415  (a search needs none of it)

        ask = small_ones_first(self.means.solving, self.ask)
        return sums_first(ask) if sums and self.means.solving.certify is None else ask

    def implied(
        self, lemmas: Sequence[LemmaVerdict], limits: Limits, theorem: Theorem | None = None
    ) -> QuestionVerdict:
        """Return the verdict if proved lemmas imply the claim. The preconditions are still to decide.

        Where a kernel joined the lemmas, ``theorem`` is what it made.
        """
        verdict = self.decide(_Implied(self.question), limits, met=self.met)
        proof = Joined() if theorem is None else theorem
        return self.concluded(verdict, lemmas, lemmas if verdict.status is Status.PROVED else (), proof)

    def in_one_piece(self, verdict: Verdict[Model]) -> Theorem:
        """Return the theorem whose only leaf is the whole claim, which a solver refuted."""
        by = by_whom(verdict.solver, verdict.certified_by)
        return self.question.formula.in_one_piece(lambda *_: by)

    def concluded(
        self,
        verdict: Verdict[Model],
        lemmas: Sequence[LemmaVerdict],
        rests_on: Sequence[LemmaVerdict] = (),
        proof: Proof | None = None,
    ) -> QuestionVerdict:
        """Return the verdict on the question that follows from a solver's verdict on its formula.

        If that is not the formula of the question itself, ``proof`` says why it proves it.
        """
        joined = JOINED if isinstance(proof, Joined) else BY_KERNEL
        origin = _by_solver(verdict, rests_on, joined)
        if self.searched is not None:
            origin = f"{origin} after a search of {self.searched.rows} operand sets"
        if verdict.witness is not None:
            witness, unknown = self.question.operands(verdict.witness), self.question.unknown(verdict.witness)
            if self.question.is_refuted_by(witness):
                found = self.refuted([witness], origin)
            else:  # it is kept as it is: searches and the store take unknown bits for zeros
                found = QuestionVerdict(
                    Status.REFUTED,
                    self.seconds,
                    witness=witness,
                    origin=f"{origin}, with unknown bits that are not zero",
                    question=self.question,
                    unknown=unknown,
                )
            return replace(found, solver=verdict.solver, lemmas=tuple(lemmas))
        return QuestionVerdict(
            verdict.status,
            self.seconds,
            verdict.reason,
            solver=verdict.solver,
            certified_by=verdict.certified_by,
            joined=joined if rests_on else "",
            question=self.question,
            origin=origin,
            lemmas=tuple(lemmas),
            proof=(proof or self.in_one_piece(verdict)) if verdict.status is Status.PROVED else None,
        )


def identical_arithmetic(case: Case) -> QuestionVerdict | None:
    """Two designs or plans that are the same computation are equal, bit for bit: a result is equal to itself."""
    question = case.question
    if not question.is_same_computation():
        return None
    kept = None if question.where else proof_store(case)
    if kept is not None and kept.solver is None:
        return replace(kept, origin=BY_IDENTITY)
    from mmaproof.gemm.questions.plan_equivalence import PlanEquivalence  # noqa: PLC0415  (a search needs none of it)

    theorem: Theorem | None = None
    plans = isinstance(question, PlanEquivalence)  # a normal form of plans knows more
    argument = question.argument() if question.decides_by_argument or not plans else None
    if argument is not None:
        theorem, _ = case.joined(argument, small_first=True)
        if theorem is None and not plans:
            return None
    if not question.where:
        proof = Joined() if theorem is None else theorem
        return QuestionVerdict(Status.PROVED, case.seconds, question=question, origin=BY_IDENTITY, proof=proof)
    found = case.implied((), case.limits, theorem)
    return replace(found, origin=BY_IDENTITY) if found.status is Status.PROVED else found


def witness_store(case: Case) -> QuestionVerdict | None:
    """Return the verdict of a stored witness that refutes the question again on integers."""
    found = stored_witness(case.means.solving.store, case.question)
    if found is None:
        return None
    witness, origin = found
    return QuestionVerdict(Status.REFUTED, case.seconds, witness=witness, question=case.question, origin=origin)


def proof_store(case: Case) -> QuestionVerdict | None:
    """Return the verdict of a stored proof."""
    found = stored_proof(case.means.solving, case.question)
    if found is None:
        return None
    seconds, solver = case.seconds, None if found.solver == NO_SOLVER else found.solver
    lemmas = [LemmaVerdict(Status.PROVED, 0.0, solver=solver, name=name, stage=stage) for name, stage in found.lemmas]
    count = f", {len(lemmas)} lemmas" if lemmas else ""
    return QuestionVerdict(
        Status.PROVED,
        seconds,
        solver=solver,
        stored=found.seconds,
        question=case.question,
        origin=f"{found.solver} (stored; {found.seconds:.2f} s then){count}",
        lemmas=tuple(lemmas),
        proof=Recalled(),
    )


def special_search(case: Case) -> QuestionVerdict | None:
    """Look for a witness among few random operands of a special case, in which violations show best."""
    special, budget = case.question.special_case(), case.means.budget
    case.waits = special is not None
    if special is None or budget is None:
        return None
    few = Budget(min(budget.rows, SPECIAL_ROWS), min(budget.seconds, case.limits.seconds / 4))
    found = search(special.question, case.design, seed=case.means.seed, budget=few)
    case.limits = case.limits.after(found.seconds, "the search")
    by = f"search of a special case (seed {found.seed}, {found.rows} operand sets tried, {found.seconds:.2f} s)"
    return case.refuted([special.taken(x) for x in found.witnesses], by) if found.witnesses else None


def random_search(case: Case) -> QuestionVerdict | None:
    """Look for a witness among random operands, for at most half of the time."""
    budget = case.means.budget
    if budget is None:
        return None
    allowed = Budget(budget.rows, min(budget.seconds, case.limits.seconds / 2))
    found = search(case.question, case.design, seed=case.means.seed, budget=allowed)
    if found.witnesses:
        by = f"search (seed {found.seed}, {found.rows} operand sets tried, {found.seconds:.2f} s)"
        return case.refuted(found.witnesses, by)
    case.searched, case.met = found, found.precondition_met
    case.limits = case.limits.after(found.seconds, "the search")
    return None


def extremes(case: Case) -> QuestionVerdict | None:
    """Try what random operands do not reach: the ends of the registers of a user netlist, and small products."""
    batches: list[OperandBatch | None] = []
    pair, d = _compared(case.question), case.design.d_format
    smallest = d.e_min - d.fraction_bits
    if netlist_and_model(case.question) is not None:
        batches = [extreme_operands(case.question), products_at_half(case.question, smallest)]
    elif case.means.budget is not None and pair is not None and differ_in_alignment(*pair, case.question.k):
        batches = [small_products(case.question, smallest)]
    for batch in [x for x in batches if x is not None]:
        meant, violating = case.question.examine(batch)
        case.met = case.met or bool(meant.any())
        witnesses = [batch.row(int(i)) for i in np.flatnonzero(violating)]
        if witnesses:
            return case.refuted(witnesses, f"extreme operands ({len(batch)} sets)")
    return None


def alignment(case: Case) -> QuestionVerdict | None:
    """Prove that two designs are equal that differ only in what decides alignment.

    The lemmas say that the differences in alignment do not matter in one step on any operands. So they hold for every
    chain of such steps, whatever the preconditions. They say nothing about NaN codes. They take at most half of the
    time that is left.
    """
    pair = _compared(case.question)
    if pair is None or not isinstance(case.question, Equivalence) or case.question.nan_codes:
        return None
    if not differ_in_alignment(*pair, case.question.k):
        return None
    try:
        lemmas = alignment_lemmas(*pair, case.question.k)
    except DesignError:  # the steps of the chain are not all alike
        return None
    return _by_lemmas(case, [(x.name, x) for x in lemmas], replace(case.limits, seconds=case.limits.seconds / 2))


def own_lemmas(case: Case) -> QuestionVerdict | None:
    """Prove the lemmas that the question itself has. Together they imply its claim."""
    return _by_lemmas(case, [(x.name, x) for x in case.question.lemmas()], case.limits)


def own_argument(case: Case) -> QuestionVerdict | None:
    """Prove the question by the steps that it has itself. A kernel takes them; solvers refute its leaves."""
    argument = case.question.argument() if case.question.decides_by_argument else None
    if argument is None:
        return None
    case.patience = PATIENCE
    theorem, lemmas = case.joined(argument)
    case.patience = 1.0
    if theorem is None:
        case.tried += map(lemma_verdict, lemmas)
        return None
    return case.implied(proved_of(lemmas), case.limits, theorem)


def other_questions(case: Case) -> QuestionVerdict | None:
    """Answer the questions whose claims together imply this one. One that is not proved says nothing about it."""
    lemmas: list[LemmaVerdict] = []
    for asked in case.question.other_questions():
        means = replace(case.means, limits=case.limits)
        other = Case(asked.question, asked.design, means, worked(), case.limits, outer=case)
        found = first_verdict(other)
        case.limits = case.limits.after(found.seconds, "lemmas")
        lemmas.append(
            LemmaVerdict(
                found.status,
                found.seconds,
                found.reason,
                None,
                found.solver,
                found.certified_by,
                found.stored,
                name=asked.name,
            )
        )
        if combine(x.status for x in lemmas) is not Status.PROVED:
            case.tried += lemmas
            return None
    return case.implied(lemmas, case.limits) if lemmas else None


def special_case(case: Case) -> QuestionVerdict | None:
    """Ask about a special case, for half of the time: a witness of it refutes the question. A proof says nothing."""
    special = case.question.special_case()
    if special is None:
        return None
    share = replace(case.limits, seconds=case.limits.seconds / 2)
    case.waits = False
    found = first_verdict(Case(special.question, case.design, replace(case.means, limits=share), worked(), share))
    case.limits = case.limits.after(found.seconds, "a special case")
    if found.witness is None:
        return None
    origin = f"{found.origin}, of a special case"
    return replace(case.refuted([special.taken(found.witness)], origin), solver=found.solver)


def one_moment(case: Case) -> QuestionVerdict | None:
    """Ask the solver about several runs in one piece, and wait a moment. It continues in parallel with the lemmas."""
    if not case.question.compares_runs:
        return None
    began = worked()
    answered = case.begin().wait(min(case.limits.seconds, AT_ONCE))
    case.limits = case.limits.after(worked() - began, "the whole question")
    return one_piece(case) if answered else None


def single_product(case: Case) -> QuestionVerdict | None:
    """Ask about the errors of two algorithms for one product, where most of them differ already."""
    from mmaproof.gemm.questions.finite_operands import LargerError  # noqa: PLC0415  (a search needs none of it)
    from mmaproof.verification.netlists import InCube, one_product  # noqa: PLC0415  (a search needs none of it)

    if not isinstance(case.question, LargerError):
        return None
    began = worked()
    limits = replace(case.limits, seconds=min(case.limits.seconds, CUBE_SECONDS))
    verdict = case.decide(InCube(case.question, one_product(case.question)), limits, met=True)
    case.limits = case.limits.after(worked() - began, "one product")
    if verdict.witness is None:
        return None
    return replace(case.concluded(verdict, case.tried), origin=f"{verdict.solver} asked about one product")


def first_cubes(case: Case) -> QuestionVerdict | None:
    """Ask about a user netlist in a few cubes, each for a moment."""
    return _by_cubes(case, FIRST_CUBES, CUBE_AT_ONCE)


def cubes(case: Case) -> QuestionVerdict | None:
    """Ask about a user netlist in all cubes, within half of the time that is left."""
    return _by_cubes(case, None, case.limits.seconds / 2)


def _by_cubes(case: Case, count: int | None, seconds: float) -> QuestionVerdict | None:
    pair = netlist_and_model(case.question)
    if pair is None:
        return None
    from mmaproof.verification.netlists import InCube, cubes_of, fields_of  # noqa: PLC0415  (a search needs none of it)

    began = worked()
    for number, cube in enumerate(cubes_of(case.question, min(kept_bits(pair[1]), MOST_CUBE_BITS))):
        left = seconds if count is not None else seconds - (worked() - began)
        if number == count or left <= LEAST_SECONDS:
            break
        limits = replace(case.limits, seconds=min(left, CUBE_SECONDS))
        verdict = case.decide(InCube(case.question, fields_of(case.question, cube)), limits, met=True)
        if verdict.witness is not None:
            found = case.concluded(verdict, case.tried)
            return replace(found, origin=f"{verdict.solver} in a cube: {cube.name}")
    case.limits = case.limits.after(worked() - began, "cubes")
    return None


def distances(case: Case) -> QuestionVerdict | None:
    """Take a netlist that adds one product to c apart by the distance of their exponents."""
    if netlist_and_model(case.question) is None:
        return None
    from mmaproof.verification.netlists import distance_cases  # noqa: PLC0415  (a search needs none of it)

    argument = distance_cases(case.question, case.means.seed)
    if argument is None:
        return None
    case.patience = PATIENCE
    theorem, lemmas = case.joined(argument, small_first=True)
    case.patience = 1.0
    if theorem is not None:
        return case.implied(proved_of(lemmas), case.limits, theorem)
    for lemma in lemmas:
        found = _witness_of(case, lemma.reply)
        if found is not None:
            return replace(found, origin=f"{found.solver} in a case: {lemma.relation}")
    case.tried += map(lemma_verdict, lemmas)
    return None


def _witness_of(case: Case, reply: Reply) -> QuestionVerdict | None:
    """Return the verdict if what satisfies a case refutes the question, too: in a case a product may be any word."""
    if reply.model is None:
        return None
    model = {x.symbol_name(): reply.model.get(x.symbol_name(), 0) for x in case.question.formula.symbols}
    if not case.question.confirm(model):
        return None
    return case.concluded(Verdict(Status.REFUTED, reply.seconds, solver=reply.solver, witness=model), case.tried)


SHARE_OF_ADDERS = 0.5
"""The share of the time limit that lemmas about adders may take."""
_OF_ADDERS = "the sum of its adders"


def adders(case: Case) -> QuestionVerdict | None:
    """Prove that a netlist of integers adds up the products of a design, by lemmas about its adders."""
    pair = netlist_and_model(case.question)
    if pair is None or not pair[1].d_format.is_integer:
        return None
    from mmaproof.smt.proving.adders import adder_lemmas, by_sums  # noqa: PLC0415  (a search needs none of it)

    began, whole = worked(), case.question.formula
    theorem: Theorem | None = None
    with suppress(NotComposedError):
        share = case.limits.seconds * SHARE_OF_ADDERS
        theorem = whole.with_constants(lambda stated, _: by_sums(stated, share), _OF_ADDERS)
    seconds = worked() - began
    case.limits = case.limits.after(seconds, "lemmas about adders")
    if theorem is None:
        return None
    lemma = LemmaVerdict(Status.PROVED, seconds, solver=adder_lemmas(), name=_OF_ADDERS)
    return case.implied([lemma], case.limits, theorem)


def nets(case: Case) -> QuestionVerdict | None:
    """Prove net by net that a user netlist computes a design."""
    pair = netlist_and_model(case.question)
    if pair is None or not isinstance(case.question, Equivalence):
        return None
    from mmaproof.verification.netlists import by_nets  # noqa: PLC0415  (a search needs none of it)

    share = replace(case.limits, seconds=case.limits.seconds * 0.9)
    ask = case.ask_small(pair[1].d_format.is_integer)
    proof = by_nets(case.question, *pair, ask, share, case.means.seed)
    case.limits = case.limits.after(proof.seconds, "lemmas")
    if proof.proved:
        return case.implied(proved_of(proof.lemmas), case.limits, proof.theorem)
    case.tried += map(lemma_verdict, proof.lemmas)
    case.lead = proof.lead
    return None


def stages(case: Case) -> QuestionVerdict | None:
    """Compare several runs stage by stage. If that proves nothing, try once more without the preconditions."""
    if not case.question.compares_runs or netlist_and_model(case.question) is not None:
        return None
    tried: list[LemmaVerdict] = []
    for unconditionally in (False, True) if case.question.where else (False,):
        share = replace(case.limits, seconds=case.limits.seconds / 2)
        proof = by_stages(
            case.question,
            case.design,
            case.ask,
            share,
            case.means.seed,
            unconditionally=unconditionally,
        )
        case.limits = case.limits.after(proof.seconds, "lemmas")
        if proof.proved:
            return case.implied(proved_of(proof.lemmas), case.limits, proof.theorem)
        tried += map(lemma_verdict, proof.lemmas)
    case.tried += tried
    return None


def one_piece(case: Case) -> QuestionVerdict:
    """Ask the solvers about the whole question, within all the time that is left."""
    found = case.concluded(case.decide_whole(), case.tried)
    if found.status is Status.UNKNOWN and case.lead:
        return replace(found, reason=f"{found.reason}; {case.lead}")
    return found


Strategy = Callable[[Case], QuestionVerdict | None]

STRATEGIES: tuple[Strategy, ...] = (
    identical_arithmetic,
    witness_store,
    proof_store,
    special_search,
    random_search,
    extremes,
    adders,
    own_argument,
    alignment,
    own_lemmas,
    other_questions,
    special_case,
    one_moment,
    single_product,
    first_cubes,
    distances,
    nets,
    cubes,
    stages,
    one_piece,
)


def first_verdict(case: Case) -> QuestionVerdict:
    """Return the verdict of the first strategy that has one, or of the solvers on the whole question, if that is first.

    The last strategy always has a verdict.
    """
    try:
        found = next(verdict for strategy in STRATEGIES if (verdict := _tried(strategy, case)) is not None)
    except Overtaken as overtaken:
        if overtaken.rival is not case.rival:
            raise
        found = one_piece(case)
    finally:
        case.end()
    store_proof(case.means.solving.store, found)
    return found


def _tried(strategy: Strategy, case: Case) -> QuestionVerdict | None:
    case.stage = strategy.__name__.replace("_", " ")
    case.tell()
    return strategy(case)


def _compared(question: Question) -> tuple[Design, Design] | None:
    """Return the designs of an equivalence question; None for other questions. Subclasses claim something else."""
    return question.designs if type(question) is Equivalence else None


def _by_lemmas(case: Case, lemmas: Sequence[tuple[str, Statement]], limits: Limits) -> QuestionVerdict | None:
    """Return the verdict if all lemmas are proved. It stops at the first lemma that is not, which proves nothing."""
    if not lemmas:
        return None
    found: list[LemmaVerdict] = []
    for name, lemma in lemmas:
        found.append(LemmaVerdict.of(name, case.decide(lemma, limits)))
        limits = limits.after(found[-1].seconds, "lemmas")
        case.limits = case.limits.after(found[-1].seconds, "lemmas")
        if combine(x.status for x in found) is not Status.PROVED:
            case.tried += found
            return None
    return case.implied(found, case.limits)


def _by_solver(verdict: Verdict[Model], lemmas: Sequence[LemmaVerdict], joined: str) -> str:
    """Return in words which solver answered, and how its ``lemmas`` are joined.

    The answer counts as stored only if its lemmas were stored too.
    """
    seconds = [x for x in (verdict.stored, *(lemma.stored for lemma in lemmas)) if x is not None]
    stored = f" (stored; {sum(seconds):.2f} s then)" if len(seconds) == 1 + len(lemmas) else ""
    by = dict.fromkeys(x.certified_by for x in (verdict, *lemmas) if x.certified_by is not None)
    certified = f", certified by {' and '.join(map(str, by))}" if by else ""
    count = f", {len(lemmas)} lemmas" if lemmas else ""
    how = f", {joined}" if by and lemmas else ""
    return f"{verdict.solver}{stored}{certified}{how}{count}"


class _Implied:
    """A question whose claim is known to hold. It remains to decide whether the preconditions have a model."""

    def __init__(self, question: Question) -> None:
        whole = question.formula
        self.formula = Formula(
            whole.symbols, whole.precondition, whole.environment.formula_manager.TRUE(), whole.environment
        )

    def confirm(self, model: Mapping[str, int]) -> bool:
        """Return False, because nothing refutes a proved claim."""
        return False


def answer(question: Question, design: Design, means: Means) -> QuestionVerdict:
    """Answer ``question``. Random operands are shaped for ``design``.

    Each of ``STRATEGIES`` gets the part of ``means.limits.seconds`` that the strategies before it left. So does the
    simplification of a witness, but it gets at least a second. Lemmas are a proof if every one of them is proved and
    the preconditions have a model. A lemma that fails says nothing about the question. Witnesses are simplified, and
    they are confirmed on integers. Raises DesignError for a length that no formula can have, SolversDisagree,
    UnknownSolverError, SolverNotInstalledError, and WitnessDoesNotReplay (an internal error: formula and integers
    disagree).
    """
    check_askable(question.k)
    means = means.begun()
    case = Case(question, design, means, worked(), means.limits)
    try:
        found = first_verdict(case)
    except MemoryError:
        reason = Cause.MEMORY.reason(f"mmaproof itself ran out of it (k = {question.k})")
        return QuestionVerdict(Status.UNKNOWN, case.seconds, reason, origin="nobody", question=question)
    wanted, used = means.limits.seconds, case.seconds
    if found.status is Status.UNKNOWN and means.limits.has_ended and used < BUSY * wanted:
        text = f"{used:.1f} of {wanted:.6g} CPU seconds were used until then: the machine was busy"
        return replace(found, reason=f"{found.reason}; {text}")
    return found
