"""DRUP proofs of SAT solvers as LRAT proofs, which name the clauses that each step follows from.

A step of a DRUP proof follows by unit propagation, and a checker has to find out from which clauses. Here that is
found out once: every clause that forced a literal on the way to the contradiction is named, in the order in which they
did so. What no later step needs is left out, clauses of the formula too. So the proof is short, and checking it is
simple.

Nothing here is trusted: whoever reads the bundle checks the proof.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from mmaproof.smt.solving.drup import Step
from mmaproof.smt.solving.errors import ProofRejectedError

_Clause = list[int]
"""Its number, and then its literals. The first two literals are watched."""


@dataclass(frozen=True, slots=True)
class Refutation:
    """Clauses that are unsatisfiable, numbered from 1, and the proof: number, literals and hints of each step."""

    clauses: tuple[tuple[int, ...], ...]
    steps: tuple[tuple[int, tuple[int, ...], tuple[int, ...]], ...]

    def lrat(self) -> str:
        """Return the proof as LRAT text."""
        lines = (" ".join(map(str, (number, *literals, 0, *hints, 0))) for number, literals, hints in self.steps)
        return "".join(f"{line}\n" for line in lines)


def refutation_of(clauses: Sequence[Sequence[int]], steps: Iterable[Step]) -> Refutation:
    """Return the part of the clauses and of a DRUP proof that leads to the empty clause, with hints.

    Raises ``ProofRejectedError`` for a step that does not follow, and for a proof that ends before the empty clause.
    """
    proof = _Proof(max((abs(x) for clause in clauses for x in clause), default=0))
    for clause in clauses:
        proof.add(clause, ())
    for number, (deleted, literals) in enumerate(steps, 1):
        if proof.finished:
            break
        if deleted:
            proof.delete(literals)
        elif not proof.derive(literals):
            raise ProofRejectedError(f"step {number} of the proof does not follow: {' '.join(map(str, literals))} 0")
    if not proof.finished:
        raise ProofRejectedError("the proof ends before the empty clause")
    return proof.needed()


class _Proof:
    """The clauses so far, by number, and the literals that they force by themselves, each a clause of its own."""

    def __init__(self, variables: int) -> None:
        self.finished = False
        self._steps: list[tuple[tuple[int, ...], tuple[int, ...]]] = []
        """literals and hints of every clause; clauses of the formula have no hints, and all others have some"""
        size = 2 * variables + 1
        # negative literals are at the end, where Python's negative indices point
        self._values = [0] * size
        self._reasons: list[_Clause | None] = [None] * size
        """what forced a literal that is true"""
        self._watching: list[list[_Clause]] = [[] for _ in range(size)]
        self._true: list[int] = []
        self._kept: dict[frozenset[int], list[_Clause]] = {}

    def add(self, literals: Sequence[int], hints: tuple[int, ...]) -> None:
        """Add a clause that holds. Nothing is added after the empty clause, which is the last one."""
        if self.finished:
            return
        self._steps.append((tuple(literals), hints))
        number, values = len(self._steps), self._values
        distinct = list(dict.fromkeys(literals))
        if any(values[x] > 0 or -x in distinct for x in distinct):
            return
        distinct.sort(key=lambda x: values[x], reverse=True)
        clause = [number, *distinct]
        if len(distinct) > 1 and values[distinct[1]] == 0:
            for x in distinct[:2]:
                self._watching[x].append(clause)
            self._kept.setdefault(frozenset(literals), []).append(clause)
            return
        if not distinct or values[distinct[0]] < 0:
            self._finish(clause)
        else:
            self._force(distinct[0], clause)
            self._settle(len(self._true) - 1)

    def delete(self, literals: Sequence[int]) -> None:
        """Forget a clause, if it is kept."""
        same = self._kept.get(frozenset(literals))
        if same:
            # the next visit drops it
            del same.pop()[1:]

    def derive(self, literals: Sequence[int]) -> bool:
        """Add a clause if it follows by unit propagation. Return whether it does."""
        before, values = len(self._true), self._values
        if any(values[x] > 0 for x in literals):
            return True
        for x in literals:
            if values[-x] == 0:
                values[-x], values[x] = 1, -1
                self._true.append(-x)
        false = self._propagate(before)
        hints = () if false is None else self._causes(false, before)
        for x in self._true[before:]:
            values[x] = values[-x] = 0
            self._reasons[x] = None
        del self._true[before:]
        if false is None:
            return False
        self.add(literals, hints)
        return True

    def needed(self) -> Refutation:
        """Return what the last step, which is the empty clause, needs."""
        used, pending = set[int](), [len(self._steps)]
        while pending:
            number = pending.pop()
            if number not in used:
                used.add(number)
                pending += self._steps[number - 1][1]
        given = [x for x in sorted(used) if not self._steps[x - 1][1]]
        derived = [x for x in sorted(used) if self._steps[x - 1][1]]
        numbers = {old: new for new, old in enumerate((*given, *derived), 1)}
        steps = [self._steps[x - 1] for x in derived]
        return Refutation(
            tuple(self._steps[x - 1][0] for x in given),
            tuple(
                (numbers[x], literals, tuple(numbers[y] for y in hints))
                for x, (literals, hints) in zip(derived, steps, strict=True)
            ),
        )

    def _force(self, literal: int, reason: _Clause) -> None:
        self._values[literal], self._values[-literal] = 1, -1
        self._reasons[literal] = reason
        self._true.append(literal)

    def _settle(self, first: int) -> None:
        """Propagate literals that hold by themselves, and make a clause of each literal that follows."""
        false = self._propagate(first)
        for x in self._true[first:]:
            reason = self._reasons[x]
            if reason is not None and len(reason) > 2:
                self._steps.append(((x,), self._units(reason, x)))
                self._reasons[x] = [len(self._steps), x]
        if false is not None:
            self._finish(false)

    def _units(self, clause: _Clause, forced: int = 0) -> tuple[int, ...]:
        """Return the numbers of the units that falsify the literals of a clause but the forced one, and its number."""
        units = (self._reasons[-x] for x in clause[1:] if x != forced)
        return (*(unit[0] for unit in units if unit is not None), clause[0])

    def _finish(self, clause: _Clause) -> None:
        """Add the empty clause: all literals of ``clause`` are false by themselves."""
        self._steps.append(((), self._units(clause)))
        self.finished = True

    def _causes(self, false: _Clause, before: int) -> tuple[int, ...]:
        """Return the numbers of the clauses that led to a clause whose literals are all false, that one at the end."""
        wanted, hints, units = set(false[1:]), [false[0]], []
        for x in reversed(self._true[before:]):
            reason = self._reasons[x]
            if -x in wanted and reason is not None:
                hints.append(reason[0])
                wanted.update(y for y in reason[1:] if y != x)
        held = set(self._true[before:])
        for y in wanted:
            reason = self._reasons[-y]
            if -y not in held and reason is not None:
                units.append(reason[0])
        return (*sorted(units), *reversed(hints))

    def _propagate(self, first: int) -> _Clause | None:
        """Make true what the true literals from ``first`` on force. Return a clause that is false then."""
        values, true = self._values, self._true
        while first < len(true):
            false = -true[first]
            first += 1
            watching = self._watching[false]
            stay = 0
            for position, clause in enumerate(watching):
                if len(clause) < 2:
                    continue
                if clause[1] == false:
                    clause[1], clause[2] = clause[2], false
                other = clause[1]
                if values[other] <= 0:
                    for place in range(3, len(clause)):
                        x = clause[place]
                        if values[x] >= 0:
                            clause[2], clause[place] = x, false
                            self._watching[x].append(clause)
                            break
                    else:
                        watching[stay] = clause
                        stay += 1
                        if values[other] < 0:
                            watching[stay:] = watching[position + 1 :]
                            return clause
                        self._force(other, clause)
                    continue
                watching[stay] = clause
                stay += 1
            del watching[stay:]
        return None
