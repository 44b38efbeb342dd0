"""What decides one query in a solver process: a solver behind pySMT, or Bitwuzla itself.

Building Bitwuzla's terms by way of pySMT takes ten times as long as building them from the query. A lemma is answered
in so little time that this is most of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from mmaproof.smt.solving.query import Query


class GaveUpError(Exception):
    """A solver gave no answer. The text is its reason."""


class Engine(Protocol):
    """A solver for one query. The constructor loads its library."""

    def decide(self, query: Query) -> Mapping[str, int] | None:
        """Return values of all symbols that satisfy the query, or None if there are none. Raises GaveUpError."""


class PySmtEngine:
    """A solver behind pySMT, in an environment of its own."""

    def __init__(self, load: Callable[[Any], Any], why_unknown: Callable[[Any], str]) -> None:
        from pysmt.environment import Environment  # noqa: PLC0415

        self._environment = Environment()
        self._why_unknown = why_unknown
        self._solver = load(self._environment)

    def decide(self, query: Query) -> Mapping[str, int] | None:
        """Return values of all symbols that satisfy the query, or None. Raises GaveUpError."""
        from pysmt.exceptions import SolverReturnedUnknownResultError  # noqa: PLC0415

        manager = self._environment.formula_manager
        # The formula is asserted and not passed as an assumption, because Z3 is 50 to 90 times slower with an
        # assumption.
        self._solver.add_assertion(query.formula(manager))
        try:
            satisfied = self._solver.solve()
        except SolverReturnedUnknownResultError:
            raise GaveUpError(self._why_unknown(self._solver)) from None
        if not satisfied:
            return None
        return {name: int(self._solver.get_value(manager.get_symbol(name)).constant_value()) for name in query.symbols}


class BitwuzlaEngine:
    """Bitwuzla, without pySMT."""

    def __init__(self) -> None:
        import bitwuzla  # noqa: PLC0415

        from mmaproof.smt.solving.bitwuzla_solver import kinds_by_name  # noqa: PLC0415

        self._kinds = kinds_by_name()
        options = bitwuzla.Options()
        options.set(bitwuzla.Option.PRODUCE_MODELS, True)
        # Local search before bit-blasting: with it a witness that separates one fraction bit at 32 products takes 0.3 s
        # instead of 10 s, and a proof takes no longer.
        options.set("bv-solver", "preprop")
        self._results = bitwuzla.Result
        self._terms = bitwuzla.TermManager()
        self._bitwuzla = bitwuzla.Bitwuzla(self._terms, options)

    def decide(self, query: Query) -> Mapping[str, int] | None:
        """Return values of all symbols that satisfy the query, or None. Raises GaveUpError."""
        built: list[Any] = [None] * len(query.nodes)
        try:
            for position in _from_right_to_left(query):
                built[position] = self._term(query, position, built)
            self._bitwuzla.assert_formula(built[-1])
            result = self._bitwuzla.check_sat()
            if result is self._results.UNKNOWN:
                raise GaveUpError("no reason given")
            if result is self._results.UNSAT:
                return None
            return {
                node.name: self._value(built[position])
                for position, node in enumerate(query.nodes)
                if node.operator == "symbol"
            }
        finally:
            # Terms must be freed before their manager.
            built.clear()
            del self._bitwuzla

    def _term(self, query: Query, position: int, built: list[Any]) -> Any:
        node, terms = query.nodes[position], self._terms
        if node.operator == "symbol":
            return terms.mk_const(terms.mk_bv_sort(node.width) if node.width else terms.mk_bool_sort(), node.name)
        if node.operator == "const":
            if not node.width:
                return terms.mk_true() if node.value else terms.mk_false()
            # Base 16 is used because Python limits the length of decimal numbers.
            return terms.mk_bv_value(terms.mk_bv_sort(node.width), f"{node.value:x}", 16)
        operands = [built[operand] for operand in node.operands]
        kind = self._kinds[node.operator]
        return terms.mk_term(kind, operands, list(node.indices)) if node.indices else terms.mk_term(kind, operands)

    def _value(self, symbol: Any) -> int:
        value = self._bitwuzla.get_value(symbol)
        return int(value.value()) if value.sort().is_bool() else int(value.value(16), 16)


def _from_right_to_left(query: Query) -> Iterator[int]:
    """Yield the positions of nodes after their operands, the last operand first, as pySMT walks formulas.

    Models depend on the order in which terms are made.
    """
    seen = bytearray(len(query.nodes))
    pending = [len(query.nodes) - 1]
    while pending:
        position = pending.pop()
        if position < 0:
            yield ~position
        elif not seen[position]:
            seen[position] = 1
            pending.append(~position)
            pending.extend(query.nodes[position].operands)
