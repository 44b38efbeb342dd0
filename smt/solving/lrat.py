"""LRAT proofs that clauses are unsatisfiable: each step names the clauses that it follows from, in order.

A SAT solver writes the proof while it solves. To check a step, its literals are made false, and then each clause that
it names forces a literal; the last one has none left. So checking searches nothing. The given clauses have the numbers
from 1 on. Steps that add a definition (RAT) are not accepted here: what is derived follows from the given clauses.

``check`` is trusted. A SAT solver that is wrong is found out there, before a claim is called proved.
"""

from __future__ import annotations

import itertools
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from mmaproof.smt.solving.verdict import ProofRejectedError

SAT_SOLVER: Final = "cadical195"
Clause = tuple[int, ...]
Step = tuple[int, Clause, tuple[int, ...]]
"""the number, the literals and the hints of a clause that is derived"""


@dataclass(frozen=True, slots=True)
class Refutation:
    """Clauses that are unsatisfiable, numbered from 1, and the steps of the proof."""

    clauses: tuple[Clause, ...]
    steps: tuple[Step, ...]

    def lrat(self) -> str:
        """Return the proof as LRAT text."""
        return lrat_of(self.steps)


def lrat_of(steps: Iterable[Step]) -> str:
    """Return steps as LRAT text."""
    return "".join(f"{' '.join(map(str, (number, *literals, 0, *hints, 0)))}\n" for number, literals, hints in steps)


def proof_of(clauses: Sequence[Sequence[int]]) -> tuple[list[int] | None, list[Step]]:
    """Return what a SAT solver finds: the literals of a model, or None and the steps that lead to the empty clause.

    Nothing of it is trusted. Raises ProofRejectedError for a proof that is not whole, OSError where it has no room.
    """
    import pysolvers  # noqa: PLC0415
    from pysat.solvers import Cadical195  # noqa: PLC0415

    if () in map(tuple, clauses):
        return None, [(len(clauses) + 1, (), (list(map(tuple, clauses)).index(()) + 1,))]
    with Cadical195() as solver, tempfile.TemporaryFile() as file:
        # the proof has hints only where the solver is told before it is to write one
        solver.configure({"lrat": 1, "binary": 0})
        written = pysolvers.cadical195_tracepr(solver.cadical, file)
        for clause in clauses:
            solver.add_clause(clause)
        if solver.solve():
            return solver.get_model(), []
        pysolvers.flushpr(written)
        file.seek(0)
        steps = list(parse(file.read().decode("ascii")))
    # the solver numbers what it derives while clauses are added between them
    derived = {number for number, _, _ in steps}
    free = (x for x in itertools.count(1) if x not in derived)
    numbers = {x: number for number, x in zip(range(1, len(clauses) + 1), free, strict=False)}
    numbers |= {number: at for at, (number, _, _) in enumerate(steps, len(clauses) + 1)}
    try:
        renumbered = [(numbers[x], literals, tuple(numbers[y] for y in hints)) for x, literals, hints in steps]
    except KeyError as number:
        raise ProofRejectedError(f"the proof names clause {number}, which nothing derives") from None
    return None, needed(len(clauses), renumbered)


def parse(text: str) -> Iterator[Step]:
    """Read an LRAT proof: each line is the number of a clause, its literals, 0, the numbers of its hints, and 0.

    Deletions are left out. Raises ``ProofRejectedError``, which names the line.
    """
    for at, line in enumerate(text.splitlines(), 1):
        words = line.split()
        if words[1:2] == ["d"]:
            continue
        try:
            number, *others = map(int, words)
            end = others.index(0)
            literals, (*hints, last) = others[:end], others[end + 1 :]
        except ValueError:
            raise ProofRejectedError(f"line {at} of the proof, {line[:80]!r}, is not a step") from None
        if last != 0 or not all(x > 0 for x in (number, *hints)):
            raise ProofRejectedError(f"line {at} of the proof, {line[:80]!r}, is not a step that follows from others")
        yield number, tuple(literals), tuple(hints)


def needed(given: int, steps: Sequence[Step]) -> list[Step]:
    """Return the steps that the first empty clause needs, in their order.

    Raises ``ProofRejectedError`` where the proof ends before it.
    """
    known: dict[int, Step] = {}
    for step in steps:
        known[step[0]] = step
        if not step[1]:
            break
    else:
        raise ProofRejectedError("the proof ends before the empty clause")
    used, pending = set[int](), [step[0]]
    while pending:
        number = pending.pop()
        if number > given and number not in used and number in known:
            used.add(number)
            pending += known[number][2]
    return [x for number, x in known.items() if number in used]


def check(clauses: Sequence[Sequence[int]], steps: Iterable[Step]) -> None:
    """Check that the steps lead from the clauses to the empty clause.

    Raises ``ProofRejectedError`` for a step that does not follow, and for a proof that ends before the empty clause.
    """
    known: dict[int, frozenset[int]] = {number: frozenset(x) for number, x in enumerate(clauses, 1)}
    for number, literals, hints in steps:
        if number in known or not _follows(known, literals, hints):
            raise ProofRejectedError(f"step {number} of the proof does not follow: {' '.join(map(str, literals))} 0")
        if not literals:
            return
        known[number] = frozenset(literals)
    raise ProofRejectedError("the proof ends before the empty clause")


def _follows(known: Mapping[int, frozenset[int]], literals: Iterable[int], hints: Iterable[int]) -> bool:
    """Return whether the hints, one after the other, contradict that all literals are false."""
    false = set(literals)
    for hint in hints:
        if hint not in known:
            return False
        left = known[hint] - false
        if not left:
            return True
        if len(left) > 1:
            return False
        false.add(-next(iter(left)))
    return False


def refutation_of(clauses: Sequence[Sequence[int]], steps: Sequence[Step]) -> Refutation:
    """Return a proof with the clauses that it needs alone, all numbered anew."""
    derived = {number for number, _, _ in steps}
    given = sorted({hint for _, _, hints in steps for hint in hints} - derived)
    numbers = {old: new for new, old in enumerate((*given, *(number for number, _, _ in steps)), 1)}
    return Refutation(
        tuple(tuple(clauses[x - 1]) for x in given),
        tuple((numbers[number], literals, tuple(numbers[x] for x in hints)) for number, literals, hints in steps),
    )
