"""Lemmas: statements about one stage of a unit. Its inputs are free variables instead of results of earlier stages.

A lemma is written over the algebra, like the semantics, and it calls the stage that it is about. It holds for all words
of its inputs that meet the assumption. What the earlier stages deliver is among these words if it meets the assumption.
The text of each lemma says why it does.

How a statement is decided: a solver gets its formula, and the statement checks the witness.

Lemmas as files, for whoever looks for the reason why a proof was not found.

Whoever asks a lemma calls ``keep`` with the reply. Nothing happens unless a caller further out asked for files
(``keeping``). Names begin with what became of a lemma (failed or proved), and the number says when it was asked. So in
alphabetical order the lemmas that failed come first. Whether a lemma is about anything is a query, too: the
preconditions are met.

The lemmas of a staged proof. Lemmas that differ only in the names of variables are asked once.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import count
from pathlib import Path
from typing import Protocol, assert_never

from pysmt.environment import Environment
from pysmt.fnode import FNode

from mmaproof.designs.errors import InputError
from mmaproof.designs.files import require_new_folder
from mmaproof.smt.algebra.integers import IntegerAlgebra
from mmaproof.smt.algebra.protocol import Algebra, D, T, Truth, Word
from mmaproof.smt.algebra.terms import TermAlgebra, default_environment
from mmaproof.smt.proving.journal import Entry, Proved
from mmaproof.smt.proving.kernel import Kernel, NotComposedError, Refute, Stated, Theorem, asserted, conjuncts
from mmaproof.smt.proving.walk import Substitution
from mmaproof.smt.solving.limits import LEAST_SECONDS, Limits, worked
from mmaproof.smt.solving.query import Query, to_smtlib
from mmaproof.smt.solving.refuting import NotRefutedError
from mmaproof.smt.solving.solving import Ask, prove, violation_of
from mmaproof.smt.solving.verdict import Model, Outcome, Reply, Status, Verdict, by_whom

_INTEGERS = IntegerAlgebra()


@dataclass(frozen=True)
class Formula:
    """A statement as pySMT formulas: for all values of the symbols, the precondition implies the claim."""

    symbols: tuple[FNode, ...]
    precondition: FNode | None
    claim: FNode
    environment: Environment
    """the pySMT environment of the formulas"""
    places: Sequence[Entry] = field(default=(), compare=False, repr=False)
    """the places of the claim, for proofs that cut it there"""

    @property
    def violation(self) -> FNode:
        """The formula of counterexamples: the precondition, and not the claim."""
        return violation_of(self.claim, self.precondition, self.environment)

    def in_one_piece(self, refute: Refute) -> Theorem:
        """Return the theorem whose only leaf is the whole statement. Raises NotComposedError if it is not refuted."""
        kernel = Kernel(self.environment, self.violation, refute)
        *others, last = conjuncts(self.violation)  # the root holds each of them, and no step joins them again
        kernel.use(self.environment.formula_manager.Not(last), others, "the whole claim")
        return kernel.theorem()

    def with_constants(self, refute: Refute, why: str) -> Theorem:
        """Return the theorem whose only leaf is the claim, with constants for the symbols that have to be these.

        Nothing else is assumed. Raises NotComposedError if it is not refuted.
        """
        kernel = Kernel(self.environment, self.violation, refute)
        *others, last = conjuncts(self.violation)
        ends = [tuple(sorted(x.args(), key=FNode.is_constant)) for x in others if x.is_equals()]
        constants = {x: y for x, y in ends if x.is_symbol() and y.is_constant()}
        claim = self.environment.formula_manager.Not(last)
        kernel.use(Substitution(self.environment, constants)(claim), (), why)
        return kernel.theorem()


@dataclass(frozen=True)
class Input:
    """A word that a lemma ranges over."""

    name: str
    width: int
    signed: bool = False


class Lemma(ABC):
    """For all words of ``inputs``: the assumption implies the claim."""

    name: str
    """what is proved, in words; the lemmas of a proof have different names"""
    inputs: tuple[Input, ...]

    def assumption(self, algebra: Algebra[D, T], words: Mapping[str, Word[D]]) -> Truth[T]:
        """Return what is assumed of the inputs. By default it is nothing."""
        return algebra.truth(True)

    @abstractmethod
    def claim(self, algebra: Algebra[D, T], words: Mapping[str, Word[D]]) -> Truth[T]:
        """Return what is claimed."""

    @cached_property
    def formula(self) -> Formula:
        """The lemma as formulas of the default environment."""
        return self.formula_in(default_environment())

    def formula_in(self, environment: Environment) -> Formula:
        """Return the lemma as formulas of an environment."""
        algebra = TermAlgebra(environment)
        symbols = {i.name: algebra.symbol(f"{i.name}_{i.width}", i.width) for i in self.inputs}
        words = {i.name: _read(algebra, i, symbols[i.name]) for i in self.inputs}
        assumption = self.assumption(algebra, words).data
        return Formula(
            tuple(w.data for w in symbols.values()),
            None if assumption.is_true() else assumption,
            self.claim(algebra, words).data,
            environment,
        )

    def confirm(self, model: Mapping[str, int]) -> bool:
        """Return whether a solver's model of ``formula`` violates the lemma, computed on integers."""
        words = {
            i.name: _read(_INTEGERS, i, _INTEGERS.unsigned(model[f"{i.name}_{i.width}"], i.width)) for i in self.inputs
        }
        return self.assumption(_INTEGERS, words).data and not self.claim(_INTEGERS, words).data


def _read(algebra: Algebra[D, T], given: Input, word: Word[D]) -> Word[D]:
    return algebra.twos_complement(word) if given.signed else word


@dataclass(frozen=True)
class _Folder:
    path: Path
    numbers: Iterator[int]


_KEPT: ContextVar[_Folder | None] = ContextVar("kept lemmas", default=None)


@contextmanager
def keeping(folder: Path | None) -> Iterator[None]:
    """Within this context, write every lemma into a new folder; None for no files.

    Raises InputError if the folder is not empty or cannot be written.
    """
    if folder is None:
        yield
        return
    require_new_folder(folder)
    token = _KEPT.set(_Folder(folder, count(1)))
    try:
        yield
    finally:
        _KEPT.reset(token)


def is_kept() -> bool:
    """Return whether lemmas are written."""
    return _KEPT.get() is not None


def keep(
    who: str, formula: FNode, reply: Reply, terms: Mapping[str, str] | None = None, *, is_precondition: bool = False
) -> None:
    """Write a lemma: the formula that a solver was asked about, for whom, and its reply.

    A lemma is proved if nothing satisfies the formula. The formula of a precondition is satisfied if it is met.
    ``terms`` say what symbols of the formula stand for, by name. Raises InputError if the file cannot be written.
    """
    kept = _KEPT.get()
    if kept is None:
        return
    said = [f"{reply.outcome.value} by {reply.solver} in {reply.seconds:.3f} s"]
    if reply.reason is not None:
        said.append(reply.reason)
    if reply.certified_by is not None:
        said.append(f"certified by {reply.certified_by}")
    model = [f"  {name} = {value:#x}" for name, value in (reply.model or {}).items()]
    stands = [f"  {name}: {text}" for name, text in (terms or {}).items()]
    comments = [
        f"asked for: {who}{', whether its preconditions can be met' if is_precondition else ''}",
        *said,
        *(["a model:", *model] if model else []),
        *(["symbols that stand for terms:", *stands] if stands else []),
    ]
    wanted, became = (Outcome.SAT, "met") if is_precondition else (Outcome.UNSAT, "proved")
    name = became if reply.outcome is wanted else "failed"
    file = kept.path / f"{name}-{next(kept.numbers):04}.smt2"
    try:
        kept.path.mkdir(parents=True, exist_ok=True)
        file.write_text(to_smtlib(Query.of(formula), comments=comments), encoding="ascii")
    except OSError as error:
        raise InputError(f"{file}: cannot be written: {error.strerror}; name another folder") from error


class Statement(Protocol):
    """What a solver can be asked: a question or a lemma."""

    @property
    def formula(self) -> Formula:
        """The statement as formulas."""

    def confirm(self, model: Mapping[str, int]) -> bool:
        """Return whether a solver's model of the formula violates the statement, computed on integers."""


def decide(statement: Statement, ask: Ask, limits: Limits, *, precondition_met: bool = False) -> Verdict[Model]:
    """Find out whether ``statement`` holds. The seconds of the verdict include the building of the formula.

    Raises what ``prove`` raises.
    """
    started = worked()
    formula = statement.formula
    who = statement.name if isinstance(statement, Lemma) else "the question in one piece"

    def kept(asked: FNode, symbols: Sequence[FNode], /, *, limits: Limits) -> Reply:
        reply = ask(asked, symbols, limits=limits)
        keep(who, asked, reply, is_precondition=asked is formula.precondition)
        return reply

    verdict = prove(
        formula.claim,
        precondition=formula.precondition,
        symbols=formula.symbols,
        environment=formula.environment,
        confirm=statement.confirm,
        ask=kept,
        limits=limits.after(worked() - started, "the formula"),
        precondition_witnessed=precondition_met,
    )
    return replace(verdict, seconds=worked() - started)


@dataclass(frozen=True, slots=True)
class StagedLemma:
    """A lemma of a staged proof: the stage of its signals, and the relation between them.

    ``uses`` counts the signals that it serves, because lemmas that differ only in the names of variables are one lemma.
    ``widened`` is the number of stages by which its cut was moved back.
    """

    stage: str
    relation: str
    reply: Reply
    widened: int
    uses: int = 1

    @property
    def status(self) -> Status:
        """PROVED, UNKNOWN or REFUTED. REFUTED means that the relation does not follow from so few stages."""
        match self.reply.outcome:
            case Outcome.UNSAT:
                return Status.PROVED
            case Outcome.SAT:
                return Status.REFUTED
            case Outcome.UNKNOWN:
                return Status.UNKNOWN
            case _:
                assert_never(self.reply.outcome)


@dataclass(frozen=True, slots=True)
class StagedProof:
    """The result of a staged proof: whether the claim is proved, the lemmas, and the reason if it is not proved."""

    proved: bool
    lemmas: tuple[StagedLemma, ...]
    seconds: float
    reason: str | None = None
    theorem: Theorem | None = None
    """what a kernel made of the lemmas, where it could join them"""
    argument: Callable[[Kernel], None] | None = None
    """adds the steps to a kernel whose root are the counterexamples; it raises NotComposedError"""


class OutOfTimeError(Exception):
    """The time limit of a staged proof has passed."""


class Lemmas:
    """The formulas that were asked about. Formulas that differ only in the names of symbols are asked once."""

    def __init__(self, ask: Ask, limits: Limits, started: float, environment: Environment) -> None:
        self._ask, self._limits, self._started = ask, limits, started
        self._asked: dict[str, StagedLemma] = {}
        self._environment = environment
        self._kept = LEAST_SECONDS
        """seconds that are left where a kernel takes no more steps"""
        self.entries: list[Entry] = []
        """what happened in the proof, in order: the lemmas that were proved, and what others note"""
        self.describe: Callable[[FNode], str | None] = lambda _: None
        """Says what a variable stands for, in words, where lemmas are kept as files."""

    def ask(
        self,
        stage: str,
        relation: str,
        claim: FNode,
        assumption: FNode | None,
        *,
        seconds: float,
        widened: int = 0,
    ) -> Status:
        """Ask whether the assumption implies the claim for all values of all symbols.

        Raises ``OutOfTimeError``.
        """
        of = asserted(claim, [] if assumption is None else [assumption], self._environment)
        stated = Stated.of(of, f"{stage}: {relation}" if stage else relation)
        known = self._asked.get(stated.key)
        if known is None:
            known = StagedLemma(stage, relation, self._answer(stated, seconds, widened), widened, uses=0)
        self._asked[stated.key] = replace(known, uses=known.uses + 1)
        if known.status is Status.PROVED:
            self.entries.append(Proved(stated.why, claim, assumption))
        return known.status

    def refute(self, stated: Stated, seconds: float | None) -> str:
        """Refute a leaf, as a kernel asks for it: what was asked before has its answer. Return who refuted it.

        Raises NotRefutedError.
        """
        known = self._asked.get(stated.key)
        if known is None:
            try:
                answer = self._answer(stated, self._limits.seconds if seconds is None else seconds)
            except OutOfTimeError:
                raise NotRefutedError(f"no time is left of {self._limits}") from None
            known = self._asked[stated.key] = StagedLemma("", stated.why, answer, 0)
        by = known.reply
        if known.status is not Status.PROVED:
            raise NotRefutedError(by.reason or "something satisfies it")
        return by_whom(by.solver, by.certified_by)

    def go_on(self) -> None:
        """Raise NotComposedError if no time is left, as a kernel asks for it."""
        if self._left().seconds <= self._kept:
            raise NotComposedError(f"no time is left of {self._limits}")

    def joined(self, root: FNode, argument: Callable[[Kernel], None]) -> Theorem | None:
        """Return the theorem that an argument makes, None if a kernel does not take its steps.

        Half of the time that is left is kept for the strategies that follow if this takes longer.
        """
        self._kept = self._left().seconds / 2
        kernel = Kernel(self._environment, root, self.refute, self.go_on)
        try:
            argument(kernel)
            return kernel.theorem()
        except NotComposedError:
            return None

    def _left(self) -> Limits:
        return self._limits.after(worked() - self._started, "earlier lemmas")

    def _answer(self, stated: Stated, seconds: float, widened: int = 0) -> Reply:
        left = self._left()
        if left.seconds <= LEAST_SECONDS:
            raise OutOfTimeError
        terms = self._environment.formula_manager
        violation, symbols = terms.And(stated.all), [terms.get_symbol(x) for x in stated.query.symbols]
        answer = self._ask(violation, symbols, limits=replace(left, seconds=min(seconds, left.seconds)))
        if is_kept():
            stands = {x.symbol_name(): text for x in symbols if (text := self.describe(x)) is not None}
            again = f", {widened} stages wider" if widened else ""
            keep(f"{stated.why}{again}", violation, answer, stands)
        return answer

    def found(self) -> tuple[StagedLemma, ...]:
        """Return the lemmas in the order in which they were first asked."""
        return tuple(self._asked.values())
