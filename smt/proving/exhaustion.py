"""Claims decided by trying all values of their symbols, where these are few bits.

A query becomes the circuit that ``--certify=proof`` proves statements about, and the circuit is evaluated for all
values. A SAT solver needs minutes to prove that two multipliers of 11 by 11 bits are equal; they have 2**22 inputs,
which takes a tenth of a second here. Only bits that the query depends on are counted.

A circuit evaluated for all values of its inputs, 64 of them at once: a word holds one bit of 64 assignments.

Assignment number n gives input i the bit i of n. Words are taken in blocks that stay in the cache of a processor. In
the array of an input, the assignments of a block are a fixed pattern (the lowest inputs) or all alike (the others).

A circuit becomes a list of NumPy operations on a few arrays, which are used again when the value in them has been used
for the last time. An array may hold the negation of a gate: then a conjunction of negations is one operation, and an
exclusive or needs no negation at all.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from pysmt.environment import Environment
from pysmt.fnode import FNode

from mmaproof.smt.algebra.terms import default_environment
from mmaproof.smt.proving.word_enumeration import enumerate_words
from mmaproof.smt.solving.cnf import TRUE, Gates, circuit_of
from mmaproof.smt.solving.limits import Limits, worked
from mmaproof.smt.solving.portfolio import require_agreement
from mmaproof.smt.solving.query import SYMBOL, Query, to_smtlib
from mmaproof.smt.solving.solving import Ask, Certify, Solving, certified, violation_of
from mmaproof.smt.solving.verdict import Outcome, Reply, SolverIdentity, WitnessDoesNotReplay

Array = NDArray[np.uint64]
Operation = tuple[Callable[..., Any], tuple[Array, ...]]
"""A NumPy function and its arguments. The last argument takes the result."""

_WORD: Final = 6
"""log2 of the bits of a word"""
_PATTERNS: Final = (
    *(0xAAAAAAAAAAAAAAAA, 0xCCCCCCCCCCCCCCCC, 0xF0F0F0F0F0F0F0F0),
    *(0xFF00FF00FF00FF00, 0xFFFF0000FFFF0000, 0xFFFFFFFF00000000),
)
_ALL: Final = np.uint64(0xFFFFFFFFFFFFFFFF)
_MOST_WORDS: Final = 4096
"""the words of an array at most"""
_CACHED_BYTES: Final = 8 << 20
"""what the arrays should take together"""
_LEAST_WORDS: Final = 1024
"""The time that a call of NumPy takes is seen in arrays that are shorter than this."""


class TooManyGatesError(Exception):
    """A circuit has more gates than were allowed."""


class CountedGates(Gates):
    """Gates without clauses. Raises TooManyGatesError when there would be more of them than ``most``."""

    def __init__(self, most: int) -> None:
        super().__init__()
        self._most = most

    def _gate(self, key: tuple[str | int, ...], clauses: Callable[[int], list[list[int]]]) -> int:
        if key not in self._known and len(self._known) >= self._most:
            raise TooManyGatesError
        return super()._gate(key, lambda _: [])


@dataclass(frozen=True)
class Cone:
    """What a literal depends on: its gates, each after its inputs, and the variables that are not gates."""

    root: int
    gates: Mapping[int, tuple[str | int, ...]]
    inputs: tuple[int, ...]

    @classmethod
    def of(cls, root: int, gates: Gates) -> Cone:
        """Return the cone of a literal."""
        kinds = gates.inputs()
        needed = {abs(root)}
        for variable in range(abs(root), TRUE, -1):
            if variable in needed and variable in kinds:
                needed.update(abs(literal) for literal in _literals(kinds[variable]))
        ordered = sorted(needed - {TRUE})
        return cls(
            root,
            {variable: kinds[variable] for variable in ordered if variable in kinds},
            tuple(variable for variable in ordered if variable not in kinds),
        )

    @property
    def operations(self) -> int:
        """The number of operations on arrays, about."""
        return sum({"and": len(key) - 2, "xor": 1, "ite": 3}[str(key[0])] for key in self.gates.values())


def satisfying(cone: Cone) -> Iterator[Mapping[int, bool]]:
    """Yield the values of the inputs with which the root is true, by number."""
    if cone.root == -TRUE:
        return
    if cone.root == TRUE:
        yield {}
        return
    program = _Program(cone)
    for block in range(program.blocks):
        for number in program.satisfying(block):
            yield {variable: bool(number >> i & 1) for i, variable in enumerate(cone.inputs)}


def _literals(key: tuple[str | int, ...]) -> list[int]:
    return [int(literal) for literal in key[1:]]


@dataclass(frozen=True)
class _Stored:
    """Where a value is: in the array of this number, negated or not."""

    place: int
    negated: bool = False


class _Program:
    """The operations of a cone, bound to arrays."""

    def __init__(self, cone: Cone) -> None:
        steps = _Steps(cone)
        words = 1 << max(0, len(cone.inputs) - _WORD)
        self._words = _words_of_block(words, steps.places)
        # The patterns of fewer than six inputs repeat in a word.
        self._bits = 1 << min(_WORD, len(cone.inputs))
        self.blocks = words // self._words
        arrays = [np.empty(self._words, np.uint64) for _ in range(steps.places)]
        self._operations: list[Operation] = [(f, tuple(arrays[i] for i in places)) for f, places in steps.steps]
        self._root = arrays[steps.root]
        self._changing = self._filled(arrays[: len(cone.inputs)])

    def _filled(self, inputs: Sequence[Array]) -> Sequence[Array]:
        """Write the values of the inputs that are the same in every block. Return the arrays of the others."""
        index = np.arange(self._words, dtype=np.uint64)
        within = self._words.bit_length() - 1
        for i, array in enumerate(inputs[: _WORD + within]):
            if i < _WORD:
                array.fill(_PATTERNS[i])
            else:
                array[:] = np.where(index >> np.uint64(i - _WORD) & np.uint64(1), _ALL, np.uint64(0))
        return inputs[_WORD + within :]

    def satisfying(self, block: int) -> Iterator[int]:
        """Yield the numbers of the assignments in this block with which the root is true."""
        for i, array in enumerate(self._changing):
            array.fill(_ALL if block >> i & 1 else 0)
        for function, arguments in self._operations:
            function(*arguments)
        if not self._root.any():
            return
        for word in map(int, np.flatnonzero(self._root)):
            bits = int(self._root[word])
            for bit in range(self._bits):
                if bits >> bit & 1:
                    yield ((block * self._words + word) << _WORD) + bit


class _Steps:
    """The operations of a cone on numbered arrays. The inputs have the first numbers, and nothing else is put there.

    ``steps`` are functions of NumPy with the numbers of their arguments, the last of which takes the result. ``root``
    is the array in which a bit is set where the root is true, and ``places`` is the number of arrays.
    """

    def __init__(self, cone: Cone) -> None:
        self.steps: list[tuple[Callable[..., Any], tuple[int, ...]]] = []
        self.places = len(cone.inputs)
        self._stored = {variable: _Stored(place) for place, variable in enumerate(cone.inputs)}
        self._free: list[int] = []
        # The root is used once more, at the end. So are the inputs, because every block starts with them.
        self._uses = Counter((abs(cone.root), *cone.inputs))
        for key in cone.gates.values():
            self._uses.update(abs(literal) for literal in _literals(key))
        for variable, key in cone.gates.items():
            self._stored[variable] = self._gate(key)
            for literal in _literals(key):
                self._release(abs(literal))
        root = self._at(cone.root)
        self.root = self._all_of(np.bitwise_or, [root.place], negated=True) if root.negated else root.place

    def _gate(self, key: tuple[str | int, ...]) -> _Stored:
        """Add the operations of a gate. Their result is in an array that none of the operands is in."""
        operands = [self._at(literal) for literal in _literals(key)]
        match key[0]:
            case "and":
                return self._conjunction(operands)
            case "xor":
                x, y = operands
                return _Stored(self._all_of(np.bitwise_xor, [x.place, y.place]), x.negated != y.negated)
            case "ite":
                return self._choice(*operands)
            case _:
                raise ValueError(f"no gate is a {key[0]!r}")

    def _conjunction(self, operands: Sequence[_Stored]) -> _Stored:
        """Return the conjunction. If all operands are stored negated, it is so too."""
        plain = [x.place for x in operands if not x.negated]
        negated = [x.place for x in operands if x.negated]
        if not negated:
            return _Stored(self._all_of(np.bitwise_and, plain))
        if not plain:
            return _Stored(self._all_of(np.bitwise_or, negated), negated=True)
        result = self._all_of(np.bitwise_or, negated, negated=True)
        for place in plain:
            self._step(np.bitwise_and, result, place, result)
        return _Stored(result)

    def _choice(self, condition: _Stored, x: _Stored, y: _Stored) -> _Stored:
        """Return y, inverted where the condition holds and x differs from y."""
        if condition.negated:
            x, y = y, x
        result = self._all_of(np.bitwise_xor, [x.place, y.place])
        if x.negated != y.negated:
            self._step(np.invert, result, result)
        self._step(np.bitwise_and, result, condition.place, result)
        self._step(np.bitwise_xor, result, y.place, result)
        return _Stored(result, y.negated)

    def _all_of(self, function: Callable[..., Any], places: Sequence[int], *, negated: bool = False) -> int:
        """Return the array of the function of all operands, or of its negation."""
        result = self._free.pop() if self._free else self.places
        self.places = max(self.places, result + 1)
        first, *others = places
        for place in others:
            self._step(function, first, place, result)
            first = result
        if negated:
            self._step(np.invert, first, result)
        return result

    def _step(self, function: Callable[..., Any], *places: int) -> None:
        self.steps.append((function, places))

    def _at(self, literal: int) -> _Stored:
        stored = self._stored[abs(literal)]
        return _Stored(stored.place, stored.negated != (literal < 0))

    def _release(self, variable: int) -> None:
        self._uses[variable] -= 1
        if not self._uses[variable]:
            self._free.append(self._stored[variable].place)


def _words_of_block(words: int, places: int) -> int:
    """Return the words of an array, a power of two: as many as fit into the cache together."""
    fitting = max(_LEAST_WORDS, min(_MOST_WORDS, _CACHED_BYTES // (8 * places)))
    return min(words, 1 << (fitting.bit_length() - 1))


MOST_BITS: Final = 24
MOST_WORK: Final = 1 << 32
"""operations on words of 64 assignments, which take two to four seconds"""
MOST_GATES: Final = 20_000
"""The circuit is built in a fraction of a second."""
CHEAP_WORK: Final = 1 << 24
CHEAP_GATES: Final = 1_000
"""Together with CHEAP_WORK, what takes about 20 ms."""
FEW_GATES: Final = 200
EASY_SECONDS: Final = 0.5
"""what a solver has for a query before all values are tried"""


def decide_by_exhaustion(
    claim: FNode,
    assumption: FNode | None = None,
    most_bits: int = MOST_BITS,
    *,
    most_work: int = MOST_WORK,
    environment: Environment | None = None,
) -> Reply | None:
    """Find out whether the assumption implies the claim for all values of all symbols, by trying them.

    UNSAT means that it does, as in the reply of a solver to the query for a counterexample. SAT comes with the values
    of all symbols of the counterexample, on which the query was evaluated as integers. None: there are more than
    ``most_bits`` bits, or the circuit takes more than ``most_work`` operations on words.

    Raises ``UnsupportedFormulaError`` for a formula outside QF_BV, and ``WitnessDoesNotReplay`` if circuit and
    evaluation disagree, which is an internal error.
    """
    violation = violation_of(claim, assumption, default_environment() if environment is None else environment)
    return try_all_values(Query.of(violation), most_bits, most_work)


def try_all_values(
    query: Query, most_bits: int = MOST_BITS, most_work: int = MOST_WORK, most_gates: int = MOST_GATES
) -> Reply | None:
    """Answer a query by trying all values, as ``decide_by_exhaustion`` does."""
    started = worked()
    bits = _bits_at_most(query)
    # of more bits, what few gates decide before any value is tried
    gates = CountedGates(min(most_gates, most_work >> max(0, bits - 6) if bits <= most_bits else FEW_GATES))
    try:
        root, symbols = circuit_of(query, gates)
    except TooManyGatesError:
        return None
    cone = Cone.of(root, gates)
    if len(cone.inputs) > most_bits or cone.operations << max(0, len(cone.inputs) - 6) > most_work:
        return None
    values = next(satisfying(cone), None)
    outcome, model = Outcome.UNSAT, None
    if values is not None:
        # A bit that the query does not depend on is zero.
        model = {
            name: sum(values.get(literal, False) << i for i, literal in enumerate(word))
            for name, word in symbols.items()
        }
        outcome = Outcome.SAT
        if not query.evaluate(model):
            raise WitnessDoesNotReplay(model, to_smtlib(query))
    seconds = worked() - started
    return Reply(outcome, exhaustion(), seconds, model, solver_seconds=seconds)


def small_ones_first(solving: Solving, of_solvers: Ask | None = None) -> Ask:
    """Return a way to answer queries: by trying all values where that is cheap, else by ``solving``.

    ``of_solvers`` is how ``solving`` is asked, if not by ``Solving.ask``.

    A query of few bits that is not cheap goes to ``solving`` for a moment first, because a solver decides many of these
    by rewriting. Where ``solving`` certifies, what was found to be unsatisfiable counts only if it is confirmed: by
    trying all values a second way for ``Certify.SOLVER``, and by a solver and its proof for ``Certify.PROOF``.
    """
    of_solvers = solving.ask if of_solvers is None else of_solvers

    def ask(formula: FNode, symbols: Sequence[FNode], /, *, limits: Limits) -> Reply:
        started = worked()
        query = Query.of(formula)
        tried = try_all_values(query, most_work=CHEAP_WORK, most_gates=CHEAP_GATES)
        if tried is None and _bits_at_most(query) <= MOST_BITS and limits.seconds > EASY_SECONDS:
            asked = of_solvers(formula, symbols, limits=replace(limits, seconds=EASY_SECONDS))
            if asked.outcome is not Outcome.UNKNOWN:
                return asked
            tried = try_all_values(query)
        if tried is not None and tried.outcome is Outcome.UNSAT and solving.certify is Certify.SOLVER:
            second = enumerate_words(query)
            if second is not None:
                return replace(certified(query, tried, second), seconds=worked() - started)
        left = limits.after(worked() - started, "trying all values")
        if tried is None:
            return of_solvers(formula, symbols, limits=left)
        if tried.outcome is Outcome.UNSAT and solving.certify is not None:
            asked = of_solvers(formula, symbols, limits=left)
            require_agreement(query, [tried, asked])
            return asked
        if tried.model is None:
            return tried
        names = [symbol.symbol_name() for symbol in symbols]
        return replace(tried, model={name: tried.model.get(name, 0) for name in names})

    return ask


@cache
def exhaustion() -> SolverIdentity:
    """Return who answers, with the version of this package."""
    from importlib.metadata import version  # noqa: PLC0415

    return SolverIdentity("exhaustion", version("mmaproof"))


def _bits_at_most(query: Query) -> int:
    """Return a bound on the bits that a query depends on. Of a symbol that is only cut up, those are its parts."""
    used: dict[int, int] = {i: 0 for i, node in enumerate(query.nodes) if node.operator == SYMBOL}
    for node in query.nodes:
        for operand in node.operands:
            if operand in used:
                width = max(1, query.nodes[operand].width)
                high, low = node.indices if node.operator == "extract" else (width - 1, 0)
                used[operand] |= (1 << (high + 1)) - (1 << low)
    return sum(bits.bit_count() for bits in used.values()) + (len(query.nodes) == 1)
