"""Gates over literals, written as clauses: and, xor and if-then-else. Each gate is written once.

A literal is a variable (an integer from 1) or its negative, as in DIMACS. The inputs may already give the value of
a gate: one is a constant, both are the same, or one is the negation of the other. Such a gate needs no clauses. Every
other gate gets a new variable and clauses that make it equal to the function of its inputs, in both directions
(Tseitin). So every assignment of the inputs extends to exactly one assignment that satisfies the clauses.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Final

TRUE: Final = 1
"""The literal of the constant true. A clause makes it true."""
FALSE: Final = -TRUE


class Gates:
    """Variables numbered from 1, and the clauses over them."""

    def __init__(self) -> None:
        self.variables = TRUE
        self.clauses: list[list[int]] = [[TRUE]]
        self._known: dict[tuple[str | int, ...], int] = {}

    def variable(self) -> int:
        """Return a new variable that has no clauses yet."""
        self.variables += 1
        return self.variables

    def all_of(self, literals: Iterable[int]) -> int:
        """Return the conjunction."""
        inputs = sorted(set(literals) - {TRUE})
        if not inputs:
            return TRUE
        if FALSE in inputs or not set(inputs).isdisjoint(-x for x in inputs):
            return FALSE
        if len(inputs) == 1:
            return inputs[0]
        return self._gate(("and", *inputs), lambda z: [*([-z, x] for x in inputs), [z, *(-x for x in inputs)]])

    def any_of(self, literals: Iterable[int]) -> int:
        """Return the disjunction."""
        return -self.all_of(-x for x in literals)

    def xor(self, x: int, y: int) -> int:
        """Return whether exactly one of the two is true."""
        if abs(x) == abs(y):
            return FALSE if x == y else TRUE
        x, y = sorted((x, y), key=abs)
        # The constant has the smallest variable, so it comes first.
        if abs(x) == TRUE:
            return -y if x == TRUE else y
        # Negating an input negates the result.
        sign = 1 if (x > 0) == (y > 0) else -1
        x, y = abs(x), abs(y)
        return sign * self._gate(("xor", x, y), lambda z: [[-z, x, y], [-z, -x, -y], [z, -x, y], [z, x, -y]])

    def ite(self, condition: int, x: int, y: int) -> int:
        """Return x where the condition holds, y elsewhere."""
        if condition < 0:
            condition, x, y = -condition, y, x
        # An input that is the condition can be replaced by a constant.
        x = TRUE if x == condition else FALSE if x == -condition else x
        y = FALSE if y == condition else TRUE if y == -condition else y
        if condition == TRUE or x == y:
            return x
        if abs(x) == TRUE:
            return self.any_of((condition, y)) if x == TRUE else self.all_of((-condition, y))
        if abs(y) == TRUE:
            return self.any_of((-condition, x)) if y == TRUE else self.all_of((condition, x))
        if x == -y:
            return self.xor(condition, y)
        # Negating both inputs negates the gate.
        sign = 1 if x > 0 else -1
        x, y = sign * x, sign * y
        # The last two clauses follow from the others. They let a solver see z where x and y agree.
        return sign * self._gate(
            ("ite", condition, x, y),
            lambda z: [
                [-condition, -x, z],
                [-condition, x, -z],
                [condition, -y, z],
                [condition, y, -z],
                [-x, -y, z],
                [x, y, -z],
            ],
        )

    def inputs(self) -> Mapping[int, tuple[str | int, ...]]:
        """Return what every gate is of: its variable -> its kind ("and", "xor" or "ite") and its inputs' literals.

        The gates are in the order of their variables, so a gate comes after its inputs.
        """
        return {variable: key for key, variable in self._known.items()}

    def _gate(self, key: tuple[str | int, ...], clauses: Callable[[int], list[list[int]]]) -> int:
        """Return the variable of a gate. A new gate is made with its clauses."""
        if key not in self._known:
            self._known[key] = self.variable()
            self.clauses += clauses(self._known[key])
        return self._known[key]
