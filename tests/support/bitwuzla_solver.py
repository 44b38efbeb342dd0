"""Bitwuzla as a pySMT solver, for quantifier-free bit-vector logic (QF_BV): a second way from a formula to its terms.

pySMT has no Bitwuzla solver of its own. After ``register(environment)`` its factory knows this one as ``bitwuzla``.
"""

from typing import Any, Final

import bitwuzla
from bitwuzla import Kind
from pysmt import operators as op
from pysmt.decorators import catch_conversion_error, clear_pending_pop
from pysmt.environment import Environment
from pysmt.exceptions import (
    ConvertExpressionError,
    PysmtValueError,
    SolverReturnedUnknownResultError,
    SolverStatusError,
)
from pysmt.fnode import FNode
from pysmt.logics import QF_BV, Logic
from pysmt.solvers.eager import EagerModel
from pysmt.solvers.smtlib import SmtLibBasicSolver, SmtLibIgnoreMixin
from pysmt.solvers.solver import Converter, IncrementalTrackingSolver, SolverOptions
from pysmt.typing import PySMTType
from pysmt.walkers import DagWalker
from pysmt.walkers.generic import handles

NAME: Final = "bitwuzla"

_KINDS: Final = {
    op.NOT: Kind.NOT,
    op.AND: Kind.AND,
    op.OR: Kind.OR,
    op.IMPLIES: Kind.IMPLIES,
    op.IFF: Kind.IFF,
    op.EQUALS: Kind.EQUAL,
    op.ITE: Kind.ITE,
    op.BV_NOT: Kind.BV_NOT,
    op.BV_AND: Kind.BV_AND,
    op.BV_OR: Kind.BV_OR,
    op.BV_XOR: Kind.BV_XOR,
    op.BV_CONCAT: Kind.BV_CONCAT,
    op.BV_ULT: Kind.BV_ULT,
    op.BV_ULE: Kind.BV_ULE,
    op.BV_SLT: Kind.BV_SLT,
    op.BV_SLE: Kind.BV_SLE,
    op.BV_NEG: Kind.BV_NEG,
    op.BV_ADD: Kind.BV_ADD,
    op.BV_SUB: Kind.BV_SUB,
    op.BV_MUL: Kind.BV_MUL,
    op.BV_UDIV: Kind.BV_UDIV,
    op.BV_UREM: Kind.BV_UREM,
    op.BV_SDIV: Kind.BV_SDIV,
    op.BV_SREM: Kind.BV_SREM,
    op.BV_LSHL: Kind.BV_SHL,
    op.BV_LSHR: Kind.BV_SHR,
    op.BV_ASHR: Kind.BV_ASHR,
    op.BV_COMP: Kind.BV_COMP,
}


_INDEXED_KINDS: Final = {
    op.BV_EXTRACT: Kind.BV_EXTRACT,
    op.BV_ROL: Kind.BV_ROLI,
    op.BV_ROR: Kind.BV_RORI,
    op.BV_ZEXT: Kind.BV_ZERO_EXTEND,
    op.BV_SEXT: Kind.BV_SIGN_EXTEND,
}
"""Bitwuzla takes the indices as SMT-LIB does, the high end of an extraction first."""


def register(environment: Environment) -> None:
    """Make ``Solver(name="bitwuzla", logic=QF_BV)`` work in a pySMT environment. A second call does no harm.

    The solver goes to the end of pySMT's order of preference, so it is chosen by name only.
    """
    factory = environment.factory
    # pySMT's public function, add_generic_solver, takes programs that read SMT-LIB but no solver classes.
    factory._all_solvers[NAME] = BitwuzlaSolver
    if NAME not in factory.solver_preference_list:
        # A new list is made because all environments share the old one.
        factory.set_solver_preference_list([*factory.solver_preference_list, NAME])


class BitwuzlaOptions(SolverOptions):  # type: ignore[misc]
    """pySMT's options. ``solver_options`` are Bitwuzla's own options by their long names.

    Raises ``PysmtValueError`` for unsat cores, which this solver does not offer, and for unknown options.
    """

    def __init__(self, **base_options: Any) -> None:
        SolverOptions.__init__(self, **base_options)
        if self.unsat_cores_mode is not None:
            raise PysmtValueError("option 'unsat_cores_mode' is not supported by bitwuzla; leave it out")

    def __call__(self, solver: "BitwuzlaSolver") -> None:
        """Set the options in the solver's ``bitwuzla_options``."""
        options = solver.bitwuzla_options
        options.set(bitwuzla.Option.PRODUCE_MODELS, self.generate_models)
        if self.random_seed is not None:
            options.set(bitwuzla.Option.SEED, self.random_seed)
        for name, value in self.solver_options.items():
            try:
                options.set(name, value)
            except (bitwuzla.BitwuzlaException, TypeError, ValueError) as problem:
                raise PysmtValueError(f"Bitwuzla option {name}={value!r} cannot be set: {problem}") from problem


class BitwuzlaSolver(IncrementalTrackingSolver, SmtLibBasicSolver, SmtLibIgnoreMixin):  # type: ignore[misc]
    """A Bitwuzla instance behind pySMT's solver interface. It is incremental and gives models.

    ``solve`` raises ``SolverReturnedUnknownResultError`` if Bitwuzla gives no answer. ``get_value`` and ``get_model``
    raise ``SolverStatusError`` if there is no model. Formulas outside QF_BV raise ``ConvertExpressionError``.
    """

    LOGICS = (QF_BV,)
    OptionsClass = BitwuzlaOptions

    def __init__(self, environment: Environment, logic: Logic, **options: Any) -> None:
        IncrementalTrackingSolver.__init__(self, environment=environment, logic=logic, **options)
        self.bitwuzla_options = bitwuzla.Options()
        self.options(self)
        self.terms = bitwuzla.TermManager()
        self.bitwuzla = bitwuzla.Bitwuzla(self.terms, self.bitwuzla_options)
        self.converter = BitwuzlaConverter(environment, self.terms)

    @clear_pending_pop  # type: ignore[untyped-decorator]
    def _reset_assertions(self) -> None:
        self.bitwuzla = bitwuzla.Bitwuzla(self.terms, self.bitwuzla_options)
        self._backtrack_points: list[int] = []
        self._last_result = None

    @clear_pending_pop  # type: ignore[untyped-decorator]
    def declare_variable(self, symbol: FNode) -> None:
        """Make the symbol part of the model, even if no assertion mentions it."""
        self.converter.convert(symbol)

    @clear_pending_pop  # type: ignore[untyped-decorator]
    def _add_assertion(self, formula: FNode, named: str | None = None) -> FNode:
        self._assert_is_boolean(formula)
        self.bitwuzla.assert_formula(self.converter.convert(formula))
        return formula

    @clear_pending_pop  # type: ignore[untyped-decorator]
    def _solve(self, assumptions: list[FNode] | None = None) -> bool:
        assumed = [self.converter.convert(assumption) for assumption in assumptions or ()]
        result = self.bitwuzla.check_sat(*assumed)
        if result is bitwuzla.Result.UNKNOWN:
            raise SolverReturnedUnknownResultError("bitwuzla answered unknown")
        return result is bitwuzla.Result.SAT

    @clear_pending_pop  # type: ignore[untyped-decorator]
    def _push(self, levels: int = 1) -> None:
        self.bitwuzla.push(levels)

    @clear_pending_pop  # type: ignore[untyped-decorator]
    def _pop(self, levels: int = 1) -> None:
        self.bitwuzla.pop(levels)

    def get_value(self, item: FNode) -> FNode:
        """Return the constant that the formula or term has in the model."""
        self._assert_no_function_type(item)
        self._require_model()
        return self.converter.back(self.bitwuzla.get_value(self.converter.convert(item)))

    def get_model(self) -> EagerModel:
        """Return the values of all symbols that were declared or occur in an assertion or an assumption."""
        self._require_model()
        values = {symbol: self.get_value(symbol) for symbol in self.converter.declared}
        return EagerModel(assignment=values, environment=self.environment)

    def print_model(self, name_filter: Any = None) -> None:
        """Print the model, one symbol on each line. ``name_filter`` chooses the symbols."""
        for symbol in self.converter.declared:
            if name_filter is None or name_filter(symbol):
                print(f"{symbol.symbol_name()} = {self.get_value(symbol)}")

    def _require_model(self) -> None:
        # Bitwuzla would raise an error too, but its text names C++ functions.
        if self.last_command != "solve" or self.last_result is not True:
            raise SolverStatusError("there is no model: the last command was not a solve() that returned True")

    def _exit(self) -> None:
        # Terms must be freed before their manager, and the garbage collector frees the converter in any order.
        self.converter.memoization.clear()
        self.converter.declared.clear()
        del self.bitwuzla
        del self.converter
        del self.terms


class BitwuzlaConverter(Converter, DagWalker):  # type: ignore[misc]
    """Converts formulas of QF_BV to Bitwuzla terms and values back. The walk is iterative.

    ``declared`` maps the symbols converted so far to their terms.
    """

    def __init__(self, environment: Environment, terms: bitwuzla.TermManager) -> None:
        DagWalker.__init__(self, environment)
        self.terms = terms
        self.declared: dict[FNode, bitwuzla.Term] = {}
        self._manager = environment.formula_manager

    @catch_conversion_error  # type: ignore[untyped-decorator]
    def convert(self, formula: FNode) -> bitwuzla.Term:
        """Return the term of a formula.

        Raises ``ConvertExpressionError`` for symbols and operators outside QF_BV.
        """
        try:
            return self.walk(formula)
        except BaseException:
            # Otherwise pySMT's walker would resume the unfinished formula together with the next one.
            self.stack.clear()
            raise

    def back(self, value: bitwuzla.Term) -> FNode:
        """Return the constant of a Bitwuzla value."""
        if value.sort().is_bool():
            return self._manager.Bool(value.value())
        # Base 16 is used because Python limits the length of the decimal numbers that it reads.
        return self._manager.BV(int(value.value(16), 16), value.sort().bv_size())

    @handles(_KINDS)  # type: ignore[untyped-decorator]
    def walk_plain(self, formula: FNode, args: list[bitwuzla.Term], **_kwargs: Any) -> bitwuzla.Term:
        """Convert an operator that has operands but no indices."""
        return self.terms.mk_term(_KINDS[formula.node_type()], args)

    def walk_symbol(self, formula: FNode, args: list[bitwuzla.Term], **_kwargs: Any) -> bitwuzla.Term:
        """Declare the symbol."""
        term = self.terms.mk_const(self._sort(formula.symbol_type(), formula), formula.symbol_name())
        self.declared[formula] = term
        return term

    def walk_bool_constant(self, formula: FNode, args: list[bitwuzla.Term], **_kwargs: Any) -> bitwuzla.Term:
        """Convert true or false."""
        return self.terms.mk_true() if formula.is_true() else self.terms.mk_false()

    def walk_bv_constant(self, formula: FNode, args: list[bitwuzla.Term], **_kwargs: Any) -> bitwuzla.Term:
        """Convert a constant, by way of hexadecimal (see ``back``)."""
        sort = self.terms.mk_bv_sort(formula.bv_width())
        return self.terms.mk_bv_value(sort, f"{formula.constant_value():x}", 16)

    def walk_bv_extract(self, formula: FNode, args: list[bitwuzla.Term], **_kwargs: Any) -> bitwuzla.Term:
        """Convert an extraction."""
        return self.terms.mk_term(
            _INDEXED_KINDS[op.BV_EXTRACT], args, [formula.bv_extract_end(), formula.bv_extract_start()]
        )

    @handles(op.BV_ROL, op.BV_ROR)  # type: ignore[untyped-decorator]
    def walk_rotation(self, formula: FNode, args: list[bitwuzla.Term], **_kwargs: Any) -> bitwuzla.Term:
        """Convert a rotation by a constant number of steps."""
        return self.terms.mk_term(_INDEXED_KINDS[formula.node_type()], args, [formula.bv_rotation_step()])

    @handles(op.BV_ZEXT, op.BV_SEXT)  # type: ignore[untyped-decorator]
    def walk_extension(self, formula: FNode, args: list[bitwuzla.Term], **_kwargs: Any) -> bitwuzla.Term:
        """Convert an extension by a constant number of bits."""
        return self.terms.mk_term(_INDEXED_KINDS[formula.node_type()], args, [formula.bv_extend_step()])

    def _sort(self, kind: PySMTType, symbol: FNode) -> bitwuzla.Sort:
        if kind.is_bool_type():
            return self.terms.mk_bool_sort()
        if kind.is_bv_type():
            return self.terms.mk_bv_sort(kind.width)
        raise ConvertExpressionError(
            message=f"symbol {symbol.symbol_name()!r} has type {kind}; bitwuzla takes Bool and bit-vectors",
            expression=symbol,
        )
