"""A checker for proofs that clauses are unsatisfiable. Every step must follow by reverse unit propagation.

A DRUP proof is a list of clauses that a SAT solver added (and deleted) until it reached the empty clause. To check a
clause, all of its literals are made false, and then every literal that the clauses so far force. If that contradicts
one of the clauses, then they imply the checked clause: it follows by reverse unit propagation. Deletions only make this
quicker, because what follows from fewer clauses follows from all. DRAT allows further steps (RAT). They are not
accepted here, so the given clauses imply each added clause. If they imply the empty clause, they are unsatisfiable.

This file is trusted. A SAT solver that is wrong is found out here, before a claim is called proved.
"""

from collections.abc import Iterable, Iterator, Sequence

from mmaproof.smt.solving.errors import ProofRejectedError

Step = tuple[bool, Sequence[int]]
"""Whether a clause is deleted (otherwise it is added), and its literals."""

_Clause = list[int]


def parse_proof(text: str) -> Iterator[Step]:
    """Read a proof in the text form of DRAT. A clause ends with 0, and a deletion begins with d.

    Raises ``ProofRejectedError``, which names the line.
    """
    for number, line in enumerate(text.splitlines(), 1):
        words = line.split()
        deleted = words[:1] == ["d"]
        try:
            *literals, end = map(int, words[deleted:])
        except ValueError:
            raise ProofRejectedError(f"line {number} of the proof, {line[:80]!r}, is not a clause") from None
        if end != 0 or 0 in literals:
            raise ProofRejectedError(f"line {number} of the proof, {line[:80]!r}, is not one clause that ends with 0")
        yield deleted, literals


def check_refutation(clauses: Iterable[Sequence[int]], steps: Iterable[Step]) -> None:
    """Check that the steps lead from the clauses to the empty clause.

    Raises ``ProofRejectedError`` for a step that does not follow, and for a proof that ends before the empty clause.
    """
    known = _Clauses()
    for clause in clauses:
        known.add(clause)
    for number, (deleted, literals) in enumerate(steps, 1):
        if known.contradictory:
            return
        if deleted:
            known.delete(literals)
        elif known.imply(literals):
            known.add(literals)
        else:
            raise ProofRejectedError(f"step {number} of the proof does not follow: {' '.join(map(str, literals))} 0")
    if not known.contradictory:
        raise ProofRejectedError("the proof ends before the empty clause")


class _Clauses:
    """The clauses of a proof so far, and the literals that they force.

    Forced literals stay if a clause is deleted, because they still follow from the given clauses. So a clause that one
    of them satisfies need not be kept, and literals that they make false are dropped from other clauses. The first two
    literals of what is left of a clause are watched. While neither of them is false, the clause forces nothing.
    """

    def __init__(self) -> None:
        self.contradictory = False
        # The index is the literal. Negative literals are at the end, where Python's negative indices point.
        self._values = [0]
        """1 true, -1 false, 0 neither"""
        self._watching: list[list[_Clause]] = [[]]
        self._true: list[int] = []
        """the literals that are true, in the order in which they became so"""
        self._kept: dict[frozenset[int], list[_Clause]] = {}

    def add(self, literals: Sequence[int]) -> None:
        """Add a clause that holds."""
        self._make_room(literals)
        values = self._values
        clause = [x for x in dict.fromkeys(literals) if values[x] >= 0]
        if any(values[x] > 0 for x in clause):
            return
        if len(clause) < 2:
            self.contradictory = not clause or self._contradicts(clause) or self.contradictory
            return
        self._kept.setdefault(frozenset(literals), []).append(clause)
        for watched in clause[:2]:
            self._watching[watched].append(clause)

    def delete(self, literals: Sequence[int]) -> None:
        """Forget a clause, if it is kept."""
        same = self._kept.get(frozenset(literals))
        if same:
            # The next visit drops the empty list.
            same.pop().clear()

    def imply(self, literals: Sequence[int]) -> bool:
        """Return whether a clause follows by reverse unit propagation."""
        self._make_room(literals)
        before = len(self._true)
        contradicted = self._contradicts([-x for x in literals])
        for x in self._true[before:]:
            self._values[x] = self._values[-x] = 0
        del self._true[before:]
        return contradicted

    def _make_room(self, literals: Sequence[int]) -> None:
        variables = max(map(abs, literals), default=0)
        more = variables - len(self._values) // 2
        if more > 0:
            middle = len(self._values) // 2 + 1
            self._values[middle:middle] = [0] * (2 * more)
            self._watching[middle:middle] = [[] for _ in range(2 * more)]

    def _contradicts(self, literals: Iterable[int]) -> bool:
        """Make the literals and all that they force true. Return whether that is a contradiction."""
        values, true = self._values, self._true
        done = len(true)
        for x in literals:
            if values[x] < 0:
                return True
            if values[x] == 0:
                values[x], values[-x] = 1, -1
                true.append(x)
        while done < len(true):
            if self._visit(-true[done]):
                return True
            done += 1
        return False

    def _visit(self, false: int) -> bool:
        """Update the clauses that watch a literal that became false. Return whether one of them is now false."""
        values, watching = self._values, self._watching[false]
        stay = 0
        for position, clause in enumerate(watching):
            if not clause:
                continue
            if clause[0] == false:
                clause[0], clause[1] = clause[1], false
            other = clause[0]
            if values[other] <= 0:
                for place in range(2, len(clause)):
                    x = clause[place]
                    if values[x] >= 0:
                        clause[1], clause[place] = x, false
                        self._watching[x].append(clause)
                        break
                else:
                    if values[other] < 0:
                        watching[stay:] = watching[position:]
                        return True
                    values[other], values[-other] = 1, -1
                    self._true.append(other)
                    watching[stay] = clause
                    stay += 1
                continue
            watching[stay] = clause
            stay += 1
        del watching[stay:]
        return False
