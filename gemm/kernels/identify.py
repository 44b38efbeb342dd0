"""The search for the plan of a kernel: its tree first, then the plans that have it, then fresh operands.

A recorded matrix product cannot be asked anything, so plans are tried one after the other.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from mmaproof.designs.errors import DesignError
from mmaproof.designs.formats import FORMATS
from mmaproof.gemm.kernels import fit as fitting
from mmaproof.gemm.kernels.asked import Asked, DiffersEachTime, draw_product, kinds_for
from mmaproof.gemm.kernels.masks import Masks, Multiplies, NotMasked, Task
from mmaproof.gemm.kernels.outcome import Difference, Finding, Outcome, everywhere, rival
from mmaproof.gemm.kernels.tree import filled_length, grow
from mmaproof.gemm.programs import Plan
from mmaproof.gemm.programs.normal_form import Numbering
from mmaproof.hardware_replay.matrix_targets import Product

ASKED_AGAIN = 3
"""How often the same random product is asked at first: a kernel that adds in any order differs."""
DOUBTED = 24
"""How often it is asked again, at least, where the answers are those of no tree or of no plan."""
DOUBTING = 5.0
"""Seconds for that."""
VALIDATED = 1_000_000
"""Outputs of the validation."""
NEAREST = 16
"""Plans whose sums are tried in other formats, where none agrees."""
KEPT = 12
"""Plans that agree with everything that are kept: the report lists them."""
COMPARING = 10.0
"""Seconds for the question whether two plans that agree are equal."""
WITNESS = "witness"
"""The kind of the operands for which two plans differ."""
EVERYTHING = slice(None)
WHOLE = 1 << 16
"""Elements of an answer that a plan is compared on in the search."""


class Trial:
    """The plans that were compared, each set of operations once, and those that agree with every answer."""

    def __init__(self, product: Product) -> None:
        self.product = product
        self.agreeing: list[Plan] = []
        self.wrong: list[tuple[tuple[int, int], int, Plan]] = []
        """how far the other plans are from the target, a number in order, and the plan"""
        self._numbering = Numbering(c_is_zero=True)
        self._plans: dict[tuple[int, int], list[Plan]] = {}

    def is_new(self, plan: Plan) -> bool:
        """Return whether no plan that is the same by identity was met before, and keep it."""
        alike = self._plans.setdefault(self._form(plan), [])
        alike.append(plan)
        return len(alike) == 1

    def nearest_first(self) -> list[Plan]:
        """Return the plans that do not agree."""
        return [plan for *_, plan in sorted(self.wrong)]

    def _form(self, plan: Plan) -> tuple[int, int]:
        length = filled_length(plan, self.product.k)
        return length, self._numbering.of(plan.schedule(length))[-1]

    def same_as(self, plan: Plan) -> list[Plan]:
        """Return the other plans that are the same by identity."""
        return [x for x in self._plans[self._form(plan)] if x != plan]


class KernelSearch:
    """One search: for the plan of ``asked``, in about ``seconds``.

    ``given`` are plans to be tried first. ``validation`` is the number of outputs that the plan found is compared on.
    Each plan that agrees as well is compared with it for at most ``comparing`` seconds.
    """

    def __init__(
        self,
        asked: Asked,
        *,
        seconds: float,
        seed: int = 0,
        validation: int = VALIDATED,
        given: Iterable[Plan] = (),
        comparing: float = COMPARING,
    ) -> None:
        self.asked, self.product = asked, asked.product
        self.seed, self.validation, self.comparing = seed, validation, comparing
        self.rng = np.random.default_rng(seed)
        self.started = time.monotonic()
        self.deadline = self.started + seconds
        self.given = tuple(given)
        self.answers: list[fitting.Answer] = []

    @property
    def is_late(self) -> bool:
        """Whether the time is over."""
        return time.monotonic() > self.deadline

    def search(self) -> Outcome:
        """Return what was found. TargetUnavailable, InputError where the target does not answer."""
        findings: list[Finding] = []
        try:
            self.asked.require_the_same(ASKED_AGAIN, self.seed)
            for kind in kinds_for(self.product):
                self._ask(kind)
            for finding in self._trees():
                self._fit(finding)
                findings.append(finding)
                if finding.plan is None:
                    self._doubt()
        except DiffersEachTime as problem:
            return self._outcome([], str(problem))
        return self._outcome(findings, None)

    def _doubt(self) -> None:
        """Ask for the same product as often as anything was asked so far: a few odd answers make a tree or plan fail.

        Raises DiffersEachTime where they differ.
        """
        self.asked.require_the_same(max(DOUBTED, self.asked.calls), self.seed, DOUBTING)

    def _outcome(self, findings: list[Finding], problem: str | None) -> Outcome:
        seconds = time.monotonic() - self.started
        late = self.is_late and not all(x.plan and x.validated >= self.validation for x in findings)
        return Outcome(self.asked.target.name, self.product, findings, self.asked.calls, seconds, problem, late=late)

    def _ask(self, kind: str) -> fitting.Answer:
        a, b = draw_product(kind, self.product, self.rng)
        answer = fitting.Answer(kind, a, b, self.asked.multiply(a, b))
        self.answers.append(answer)
        return answer

    def _trees(self) -> Iterator[Finding]:
        """Yield a finding with its tree: one for all elements, or one for each region that has a tree of its own.

        Masks that stay within fp16 are tried where wider ones show none, because a sum may be stored so.
        """
        why = ""
        for within in (None, FORMATS["fp16"]):
            try:
                masks = Masks(self.asked, within=within)
                yield Finding(None, grow(masks, self.product.k, self.seed), pairs=masks.pairs)
                return
            except NotMasked as reason:
                why = why or str(reason)
        if not self.product.d.is_integer:  # whose sums have no tree, however they are added
            self._doubt()
        found = regions_of(self.asked, self.seed)
        if len(found) < 2:
            yield Finding(None, no_tree=why)
            return
        for where, rows, columns in found:
            try:
                masks = Masks(self.asked, rows, columns)
                yield Finding(where, grow(masks, self.product.k, self.seed), pairs=masks.pairs)
            except NotMasked as reason:
                yield Finding(where, no_tree=str(reason))

    def _candidates(self, finding: Finding) -> Iterator[Plan]:
        yield from (x for x in self.given if fits(x, self.product))
        if finding.tree is None:
            yield from fitting.listed_plans(self.product)
            return
        yield from fitting.plans_of_tree(finding.tree, self.product)

    def _fit(self, finding: Finding) -> None:
        """Look for plans that return all answers, and validate the first of them.

        The usual formats of sums are tried first, then others: of every plan, or of the one that agrees. Orders of k
        within a tile come last.
        """
        trial = Trial(self.product)
        stages = (self._candidates(finding), self._other_formats(trial), self._reordered(finding))
        for number, stage in enumerate(stages):
            done = False
            while not (done or trial.agreeing):
                done = self._compare(finding, stage, trial)
                self._refute(finding, trial)
            if trial.agreeing or (number and self._flushes(finding, trial)):  # other formats flush some sums, too
                break
        if not trial.agreeing:
            self._missed(finding, trial)
            return
        self._compare(finding, fitting.with_formats(trial.agreeing[0], self.product), trial)
        while trial.agreeing and self._told_apart(finding, trial):
            self._refute(finding, trial)
        if not trial.agreeing:
            self._missed(finding, trial)
            return
        finding.plan = trial.agreeing[0]
        finding.units = fitting.same_units(finding.plan.unit)
        finding.same = trial.same_as(finding.plan)

    def _other_formats(self, trial: Trial) -> Iterator[Plan]:
        """Yield the nearest plans with other formats of their sums."""
        yield from (y for x in trial.nearest_first()[:NEAREST] for y in fitting.with_formats(x, self.product))

    def _reordered(self, finding: Finding) -> Iterator[Plan]:
        """Yield plans that take k in another order within a tile."""
        if finding.tree is not None:
            yield from fitting.plans_of_tree(finding.tree, self.product, reordered=True, is_late=lambda: self.is_late)

    def _compare(self, finding: Finding, candidates: Iterator[Plan], trial: Trial) -> bool:
        """Compare candidates with all answers; return whether there are no more of them, or no more time.

        It ends before where many plans agree, so that fresh operands can tell them apart.
        """
        for plan in candidates:
            if self.is_late:
                break
            if not trial.is_new(plan):
                continue
            finding.tried += 1
            wrong = self._wrong(finding, plan)
            if wrong is not None:
                trial.wrong.append((wrong, len(trial.wrong), plan))
                continue
            trial.agreeing.append(plan)
            if len(trial.agreeing) >= KEPT:
                return False
        return True

    def _flushes(self, finding: Finding, trial: Trial) -> bool:
        """Return whether the nearest plan is the target's but for subnormal results that are flushed; that is noted."""
        if finding.where is None and not self.is_late:
            nearest = trial.nearest_first()[:1]
            finding.flushes = bool(nearest) and all(fitting.is_flushed(nearest[0], x) for x in self.answers)
        return finding.flushes

    def _missed(self, finding: Finding, trial: Trial) -> None:
        """Note the plan that differs least, where none agrees."""
        finding.nearest = next(iter(trial.nearest_first()), None)
        if finding.nearest is not None:
            finding.difference = self._difference(finding, finding.nearest)

    def _refute(self, finding: Finding, trial: Trial) -> None:
        """Validate the first plan that agrees until one stands; drop those that fresh operands refute."""
        while trial.agreeing and self._validate(finding, trial.agreeing[0]) is not None:
            self._drop(finding, trial)

    def _drop(self, finding: Finding, trial: Trial) -> None:
        """Drop the plans that no longer return every answer."""
        distances = [(self._wrong(finding, x), x) for x in trial.agreeing]
        trial.wrong += [(wrong, len(trial.wrong), x) for wrong, x in distances if wrong is not None]
        trial.agreeing[:] = [x for wrong, x in distances if wrong is None]

    def _told_apart(self, finding: Finding, trial: Trial) -> bool:
        """Compare the first plan that agrees with the others, for all operands; return whether it was dropped.

        What is equal is noted. Of two plans that differ, the target is asked about the witness, which drops one.
        """
        first = trial.agreeing[0]
        finding.rivals = []
        for other in trial.agreeing[1:]:
            if other not in trial.agreeing:  # an earlier witness dropped it
                continue
            seconds = min(self.comparing, self.deadline - time.monotonic())
            found = rival(first, other, self.product, seconds, self.seed)
            operands = None if found.witness is None else everywhere(found.witness, self.product)
            if operands is not None:
                self.answers.append(fitting.Answer(WITNESS, *operands, self.asked.multiply(*operands)))
                self._drop(finding, trial)
                if first not in trial.agreeing:
                    return True
            if other in trial.agreeing:
                finding.rivals.append(found)
        return False

    def _wrong(self, finding: Finding, plan: Plan) -> tuple[int, int] | None:
        """Return how far a plan is from the target, None if it returns every answer; of a large one its first rows.

        That is how many answers it does not return, counted from the first one that it gets wrong, and which share of
        the elements differs there. A corner is compared before the rest.
        """
        some = slice(0, max(1, WHOLE // self.product.n))
        corners = [] if finding.where is not None else [slice(0, fitting.FIRST_SIDE)]
        for rows, columns in ((x, x) for x in corners):
            for i, answer in enumerate(self.answers):
                wrong = fitting.differing(plan, answer, rows, columns)
                if wrong.any():
                    return len(self.answers) - i, _share(wrong)
        for i, answer in enumerate(self.answers):
            wrong = self._differing(finding, plan, answer, some)
            if wrong.any():
                return len(self.answers) - i, _share(wrong)
        return None

    def _differing(
        self, finding: Finding, plan: Plan, answer: fitting.Answer, rows: slice = EVERYTHING
    ) -> fitting.Mask:
        """Return which elements of some rows of an answer a plan gets wrong."""
        wrong = fitting.differing(plan, answer, rows, EVERYTHING)
        return wrong if finding.where is None else wrong & finding.where[rows]

    def _validate(self, finding: Finding, plan: Plan) -> fitting.Answer | None:
        """Compare a plan with fresh products, all elements; return the first answer that it gets wrong."""
        finding.validated = 0
        kinds = kinds_for(self.product)
        number = 0
        while finding.validated < self.validation and not self.is_late:
            a, b = draw_product(kinds[number % len(kinds)], self.product, self.rng)
            answer = fitting.Answer(kinds[number % len(kinds)], a, b, self.asked.multiply(a, b))
            number += 1
            wrong = self._differing(finding, plan, answer)
            if wrong.any():
                self.asked.require_again(answer.a, answer.b, answer.d)
                self.answers.append(answer)
                finding.validated = 0
                return answer
            finding.validated += int(wrong.size if finding.where is None else finding.where.sum())
        return None

    def _difference(self, finding: Finding, plan: Plan) -> Difference | None:
        """Return an element that a plan gets wrong: of the simplest answer that has one."""
        for answer in self.answers:
            wrong = self._differing(finding, plan, answer)
            if wrong.any():
                return difference_at(plan, answer, wrong)
        return None


def _share(wrong: fitting.Mask) -> int:
    """Return how many elements of a million differ: those of a corner and of a whole product are compared."""
    return -(-int(wrong.sum()) * 1_000_000 // wrong.size)


def difference_at(plan: Plan, answer: fitting.Answer, wrong: fitting.Mask) -> Difference:
    """Return the first of the elements that differ."""
    row, column = (int(x) for x in np.argwhere(wrong)[0])
    expected = fitting.computed(plan, answer.part(slice(row, row + 1), slice(column, column + 1)))
    return Difference(answer, row, column, int(expected[0, 0]), int(wrong.sum()), wrong.size)


def fits(plan: Plan, product: Product) -> bool:
    """Return whether a plan multiplies the formats of a product, and this K."""
    a, b, _, d = plan.formats
    if (a, b, d) != (product.a, product.b, product.d) or plan.has_factors:
        return False
    if (plan.scale_format, plan.block) != (product.scale, product.block):
        return False
    try:
        plan.schedule(product.k)
    except DesignError:
        return False
    return True


PAIRS = 12
"""Pairs that every element is asked about."""
MOST_REGIONS = 6

Region = tuple[fitting.Mask, Sequence[int], Sequence[int]]
"""The elements of a region, and rows and columns all of whose crossings are in it."""


def regions_of(target: Multiplies, seed: int) -> list[Region]:
    """Return the regions that differ in how many units survive for some pairs; a single one where none differ.

    Elements that no rectangle of rows and columns holds are left to the region that has most of them.
    """
    product = target.product
    rng = np.random.default_rng(seed)
    everything = np.ones((product.m, product.n), dtype=bool)
    if product.k < 2:
        return [(everything, range(product.m), range(product.n))]
    try:
        masks = Masks(target)
    except NotMasked:
        return [(everything, range(product.m), range(product.n))]
    answers = []
    for _ in range(PAIRS):
        i, j = rng.permutation(product.k)[:2].tolist()
        answers += masks.depends_on_place(Task(i, (j,)))
    stacked = np.stack(answers, axis=-1).reshape(-1, PAIRS)
    _, numbers, counts = np.unique(stacked, axis=0, return_inverse=True, return_counts=True)
    placed = numbers.reshape(product.m, product.n)
    if len(counts) > MOST_REGIONS:
        return [(everything, range(product.m), range(product.n))]
    return [_region(placed == number) for number in np.argsort(-counts, kind="stable").tolist()]


def _region(where: fitting.Mask) -> Region:
    """Return a region with the rows that are like its fullest one."""
    fullest = int(where.sum(axis=1).argmax())
    columns = np.flatnonzero(where[fullest])
    rows = np.flatnonzero(where[:, columns].all(axis=1))
    return where, rows.tolist(), columns.tolist()


SIDE = 8
"""Rows and columns of the elements that are compared first."""


def search_recorded(
    answer: fitting.Answer, product: Product, name: str, *, seconds: float, given: Iterable[Plan] = (), seed: int = 0
) -> Outcome:
    """Return which plans reproduce a recorded product: of ``given``, and of the plans that are listed.

    Elements from anywhere are compared first, then all. Without ``seconds`` left, the plans tried so far decide.
    """
    started = time.monotonic()
    until = started + seconds
    sample = _sample(answer, seed)
    finding = Finding(None, no_tree="a recorded product answers no masks")
    trial = Trial(product)
    agreeing = trial.agreeing
    late = False
    for plan in _candidates(product, given, trial):
        late = time.monotonic() > until
        if late or len(agreeing) >= KEPT:
            break
        if not trial.is_new(plan):
            continue
        finding.tried += 1
        wrong = fitting.differing(plan, sample, EVERYTHING, EVERYTHING)
        share = int(wrong.sum()) * max(answer.d.size // wrong.size, 1)
        if not wrong.any():
            share = int(fitting.differing(plan, answer, EVERYTHING, EVERYTHING).sum())
        if not share:
            agreeing.append(plan)
        else:
            trial.wrong.append(((0, share), len(trial.wrong), plan))
    if agreeing:
        finding.plan = agreeing[0]
        finding.rivals = [
            rival(finding.plan, x, product, min(COMPARING, until - time.monotonic())) for x in agreeing[1:]
        ]
        finding.units, finding.same = fitting.same_units(finding.plan.unit), trial.same_as(finding.plan)
        finding.validated = answer.d.size
    elif trial.wrong:
        finding.nearest = trial.nearest_first()[0]
        wrong = fitting.differing(finding.nearest, answer, EVERYTHING, EVERYTHING)
        finding.difference = difference_at(finding.nearest, answer, wrong)
    return Outcome(name, product, [finding], 0, time.monotonic() - started, recorded=True, late=late and not agreeing)


def _candidates(product: Product, given: Iterable[Plan], trial: Trial) -> Iterator[Plan]:
    yield from (x for x in given if fits(x, product))
    yield from fitting.listed_plans(product)
    if not trial.agreeing:
        yield from (y for x in trial.nearest_first()[:NEAREST] for y in fitting.with_formats(x, product))


def _sample(answer: fitting.Answer, seed: int) -> fitting.Answer:
    """Return some rows and columns of an answer."""
    rng = np.random.default_rng(seed)
    rows, columns = (np.sort(rng.permutation(n)[:SIDE]) for n in answer.d.shape)
    return answer.part(rows, columns)
