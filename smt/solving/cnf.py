"""A query as clauses (bit-blasting). Every bit-vector operator becomes its textbook circuit.

``--certify=proof`` proves a statement about these clauses, so this file is trusted. Each operator is therefore as plain
as its definition in SMT-LIB. A word is the tuple of its literals, the lowest bit first. A truth value is a word of one
bit.

Gates over literals, written as clauses: and, xor and if-then-else. Each gate is written once.

A literal is a variable (an integer from 1) or its negative, as in DIMACS. The inputs may already give the value of
a gate: one is a constant, both are the same, or one is the negation of the other. Such a gate needs no clauses. Every
other gate gets a new variable and clauses that make it equal to the function of its inputs, in both directions
(Tseitin). So every assignment of the inputs extends to exactly one assignment that satisfies the clauses.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from types import MappingProxyType
from typing import Final

from mmaproof.smt.solving.query import CONST, SYMBOL, Node, Query

TRUE: Final = 1
"""The literal of the constant true. A clause makes it true."""
FALSE: Final = -TRUE


class Gates:
    """Variables numbered from 1, and the clauses over them."""

    def __init__(self) -> None:
        self.variables = TRUE
        self.clauses: list[list[int]] = [[TRUE]]
        self._known: dict[tuple[str | int, ...], int] = {}
        self._made: dict[int, tuple[str | int, ...]] = {}

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

        The gates are in the order of their variables, so a gate comes after its inputs. Later ones will be there, too.
        """
        return MappingProxyType(self._made)

    def _gate(self, key: tuple[str | int, ...], clauses: Callable[[int], list[list[int]]]) -> int:
        """Return the variable of a gate. A new gate is made with its clauses."""
        if key not in self._known:
            self._known[key] = v = self.variable()
            self._made[v] = key
            self.clauses += clauses(v)
        return self._known[key]


Word = tuple[int, ...]


@dataclass(frozen=True)
class Cnf:
    """Clauses that are satisfiable exactly if a query is, with the same values of its symbols.

    ``clauses`` are lists of literals as in DIMACS: a variable, numbered from 1, or its negative. One of them asserts
    ``root``, the literal of the query itself. ``symbols`` gives the literals of each symbol of the query.
    """

    variables: int
    clauses: Sequence[Sequence[int]]
    symbols: Mapping[str, Word]
    root: int

    def model(self, assignment: Sequence[int]) -> dict[str, int]:
        """Return the values of the query's symbols. ``assignment`` lists the literals that are true."""
        true = set(assignment)
        return {
            name: sum(1 << position for position, literal in enumerate(word) if literal in true)
            for name, word in self.symbols.items()
        }

    def dimacs(self) -> str:
        """Return the clauses as DIMACS text."""
        lines = (" ".join(map(str, (*clause, 0))) for clause in self.clauses)
        return "\n".join((f"p cnf {self.variables} {len(self.clauses)}", *lines, ""))


def encode(query: Query) -> Cnf:
    """Return the clauses of a query."""
    gates = Gates()
    root, symbols = circuit_of(query, gates)
    return Cnf(gates.variables, [*gates.clauses, [root]], symbols, root)


@dataclass(frozen=True)
class Asserted:
    """Clauses that are satisfiable exactly if several truth values hold together, each asserted by a clause of one."""

    variables: int
    clauses: Sequence[Sequence[int]]
    symbols: Mapping[str, Word]


def encode_all(query: Query) -> Asserted:
    """Return the clauses of a query that is a conjunction, whose operands are asserted one by one.

    Raises ``ValueError`` if it is not a conjunction.
    """
    *nodes, last = query.nodes
    if last.operator != "and":
        raise ValueError(f"the query is not a conjunction, its operator is {last.operator!r}")
    gates = Gates()
    words, symbols = words_of(nodes, gates)
    return Asserted(gates.variables, [*gates.clauses, *(list(words[x]) for x in last.operands)], symbols)


def circuit_of(query: Query, gates: Gates) -> tuple[int, Mapping[str, Word]]:
    """Build the circuit of a query from gates. Return the literal of the query, and those of each symbol."""
    words, symbols = words_of(query.nodes, gates)
    (root,) = words[-1]
    return root, symbols


def words_of(nodes: Sequence[Node], gates: Gates) -> tuple[list[Word], dict[str, Word]]:
    """Build the circuit of nodes, each after its operands. Return the word of each, and of each symbol."""
    words: list[Word] = []
    symbols: dict[str, Word] = {}
    for node in nodes:
        words.append(_word(gates, node, [words[position] for position in node.operands]))
        if node.operator == SYMBOL:
            symbols[node.name] = words[-1]
    return words, symbols


def _word(gates: Gates, node: Node, operands: Sequence[Word]) -> Word:
    bits = range(max(1, node.width))
    if node.operator == SYMBOL:
        return tuple(gates.variable() for _ in bits)
    if node.operator == CONST:
        return tuple(TRUE if node.value >> bit & 1 else FALSE for bit in bits)
    return CIRCUITS[node.operator](gates, operands, node.indices)


def _negated(word: Word) -> Word:
    return tuple(-x for x in word)


def _bitwise(gate: Callable[[int, int], int], left: Word, right: Word) -> Word:
    return tuple(map(gate, left, right))


def _chosen(gates: Gates, condition: int, left: Word, right: Word) -> Word:
    return tuple(gates.ite(condition, x, y) for x, y in zip(left, right, strict=True))


def _equal(gates: Gates, left: Word, right: Word) -> int:
    return gates.all_of(-gates.xor(x, y) for x, y in zip(left, right, strict=True))


def _less(gates: Gates, left: Word, right: Word, or_equal: bool = False) -> int:
    """Compare unsigned words. The highest bit that differs decides. If none differs, ``or_equal`` decides."""
    less = TRUE if or_equal else FALSE
    for x, y in zip(left, right, strict=True):
        less = gates.ite(gates.xor(x, y), y, less)
    return less


def _signed_less(gates: Gates, left: Word, right: Word, or_equal: bool = False) -> int:
    """Compare two's complement words. With the sign bits inverted, their order is the unsigned order."""
    return _less(gates, (*left[:-1], -left[-1]), (*right[:-1], -right[-1]), or_equal)


def _sum(gates: Gates, left: Word, right: Word, carry: int = FALSE) -> Word:
    """Return the sum modulo 2**width, by ripple carry."""
    total = []
    for x, y in zip(left, right, strict=True):
        differ = gates.xor(x, y)
        total.append(gates.xor(differ, carry))
        carry = gates.ite(differ, carry, x)
    return tuple(total)


def _difference(gates: Gates, left: Word, right: Word) -> Word:
    return _sum(gates, left, _negated(right), TRUE)


def _minus(gates: Gates, word: Word) -> Word:
    return _difference(gates, (FALSE,) * len(word), word)


def _product(gates: Gates, left: Word, right: Word) -> Word:
    """Return the product modulo 2**width, by shifts and additions."""
    total = (FALSE,) * len(left)
    for position, y in enumerate(right):
        row = tuple(gates.all_of((x, y)) for x in left[: len(left) - position])
        total = (*total[:position], *_sum(gates, total[position:], row))
    return total


def _divided(gates: Gates, left: Word, right: Word) -> tuple[Word, Word]:
    """Return the quotient and the remainder of an unsigned long division.

    If the divisor is zero, every bit of the quotient is 1 and nothing is subtracted. The results are all ones and the
    dividend, as SMT-LIB defines them.
    """
    width = len(left)
    divisor = (*right, FALSE)
    remainder: Word = (FALSE,) * width
    quotient: list[int] = []
    for digit in reversed(left):
        # One more bit suffices because the divisor is greater than the old remainder, or zero.
        longer = (digit, *remainder)
        fits = -_less(gates, longer, divisor)
        remainder = _chosen(gates, fits, _difference(gates, longer, divisor), longer)[:width]
        quotient.append(fits)
    return tuple(reversed(quotient)), remainder


def _signed_divided(gates: Gates, left: Word, right: Word) -> tuple[Word, Word]:
    """Divide magnitudes. The quotient is negative if the signs differ, the remainder if the dividend is negative."""
    magnitudes = (_chosen(gates, word[-1], _minus(gates, word), word) for word in (left, right))
    quotient, remainder = _divided(gates, *magnitudes)
    opposite = gates.xor(left[-1], right[-1])
    return (
        _chosen(gates, opposite, _minus(gates, quotient), quotient),
        _chosen(gates, left[-1], _minus(gates, remainder), remainder),
    )


def _shifted_right(gates: Gates, word: Word, amount: Word, fill: int) -> Word:
    """Shift by 1, 2, 4, ... if the amount has that bit. A bit worth the width or more fills the whole word."""
    width = len(word)
    for position, bit in enumerate(amount):
        step = min(1 << position, width)
        word = _chosen(gates, bit, (*word[step:], *(fill,) * step), word)
    return word


def _shifted_left(gates: Gates, word: Word, amount: Word) -> Word:
    return _shifted_right(gates, word[::-1], amount, FALSE)[::-1]


def _rotated_left(word: Word, steps: int) -> Word:
    split = (len(word) - steps) % len(word)
    return word[split:] + word[:split]


Circuit = Callable[[Gates, Sequence[Word], Sequence[int]], Word]

# g is the gates, v the operands, and i the indices in SMT-LIB's order.
CIRCUITS: Final[Mapping[str, Circuit]] = {
    "not": lambda g, v, i: _negated(v[0]),
    "and": lambda g, v, i: (g.all_of(chain(*v)),),
    "or": lambda g, v, i: (g.any_of(chain(*v)),),
    "=>": lambda g, v, i: (g.any_of((-v[0][0], v[1][0])),),
    "iff": lambda g, v, i: (_equal(g, *v),),
    "=": lambda g, v, i: (_equal(g, *v),),
    "ite": lambda g, v, i: _chosen(g, v[0][0], v[1], v[2]),
    "bvult": lambda g, v, i: (_less(g, v[0], v[1]),),
    "bvule": lambda g, v, i: (_less(g, v[0], v[1], or_equal=True),),
    "bvslt": lambda g, v, i: (_signed_less(g, v[0], v[1]),),
    "bvsle": lambda g, v, i: (_signed_less(g, v[0], v[1], or_equal=True),),
    "bvcomp": lambda g, v, i: (_equal(g, *v),),
    "bvnot": lambda g, v, i: _negated(v[0]),
    "bvand": lambda g, v, i: _bitwise(lambda x, y: g.all_of((x, y)), *v),
    "bvor": lambda g, v, i: _bitwise(lambda x, y: g.any_of((x, y)), *v),
    "bvxor": lambda g, v, i: _bitwise(g.xor, *v),
    "bvneg": lambda g, v, i: _minus(g, v[0]),
    "bvadd": lambda g, v, i: _sum(g, v[0], v[1]),
    "bvsub": lambda g, v, i: _difference(g, *v),
    # Multiplication commutes. With its operands in a fixed order, x * y and y * x are the same circuit. A SAT solver
    # does not prove in minutes that two circuits of 11 by 11 bits are equal.
    "bvmul": lambda g, v, i: _product(g, *sorted(v)),
    "bvudiv": lambda g, v, i: _divided(g, *v)[0],
    "bvurem": lambda g, v, i: _divided(g, *v)[1],
    "bvsdiv": lambda g, v, i: _signed_divided(g, *v)[0],
    "bvsrem": lambda g, v, i: _signed_divided(g, *v)[1],
    "bvshl": lambda g, v, i: _shifted_left(g, *v),
    "bvlshr": lambda g, v, i: _shifted_right(g, v[0], v[1], fill=FALSE),
    "bvashr": lambda g, v, i: _shifted_right(g, v[0], v[1], fill=v[0][-1]),
    "concat": lambda g, v, i: (*v[1], *v[0]),
    "extract": lambda g, v, i: v[0][i[1] : i[0] + 1],
    "rotate_left": lambda g, v, i: _rotated_left(v[0], i[0]),
    "rotate_right": lambda g, v, i: _rotated_left(v[0], -i[0]),
    "zero_extend": lambda g, v, i: v[0] + (FALSE,) * i[0],
    "sign_extend": lambda g, v, i: v[0] + v[0][-1:] * i[0],
}
