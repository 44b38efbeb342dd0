"""Check a proof that clauses contradict each other: every step must follow by reverse unit propagation.

A DRUP proof is a list of clauses that a SAT solver added (and deleted) until it arrived at the empty one. A clause
follows by reverse unit propagation when making all its literals false, and then whatever the clauses so far leave no
choice about, contradicts one of them; it is then implied by the clauses so far. Deletions only make this quicker:
what follows from fewer clauses follows from all. The steps that DRAT allows besides (RAT) are not accepted here, so
each clause added is implied by the given ones, and with the empty one nothing satisfies them.

This file is trusted: it is what stands between a SAT solver that errs and a claim that is called proved.
"""

from collections.abc import Iterable, Iterator, Sequence

from mmaproof.smt.solving.errors import ProofRejectedError

Step = tuple[bool, Sequence[int]]
"""Whether a clause is deleted (else added), and its literals."""

_Clause = list[int]


def parse_proof(text: str) -> Iterator[Step]:
    """Read a proof in the text form of DRAT: clauses that end with 0, deletions begin with d.

    Raises ``ProofRejectedError``, which names the line.
    """
    for number, line in enumerate(text.splitlines(), 1):
        words = line.split()
        deleted = words[:1] == ["d"]
        try:
            *literals, end = map(int, words[deleted:])
        except ValueError:
            raise ProofRejectedError(f"line {number} of the proof, {line[:80]!r}, is no clause") from None
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
    """Clauses, and the literals that they force.

    Forced literals stay when a clause is deleted: they follow from the given clauses all the same. So a clause that
    one of them satisfies need not be kept, nor the literals of others that they make false. Of what is left of a
    clause, the first two literals are watched: while neither is false it forces nothing.
    """

    def __init__(self) -> None:
        self.contradictory = False
        # By literal; that of a negative one stands at the end, where Python's negative indices point.
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
        """Forget a clause, where it is kept."""
        same = self._kept.get(frozenset(literals))
        if same:
            # Whoever meets the empty list drops it.
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
        """Make the literals true and everything that follows; return whether that is a contradiction."""
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
        """Let the clauses that watch a literal know that it is false; return whether all literals of one are."""
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
