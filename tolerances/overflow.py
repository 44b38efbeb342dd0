"""Whether a number of a plan may overflow: its proved bound decides it, or the largest operands show it."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf

from mmaproof.algorithms.plans.evaluate import trace
from mmaproof.designs.element import Operands
from mmaproof.designs.errors import InputError
from mmaproof.designs.plans import Plan
from mmaproof.designs.plans.orders import ASCENDING
from mmaproof.properties.gemm.split import overflows
from mmaproof.properties.preconditions import Exponents, Positive, Precondition, ZeroAccumulator
from mmaproof.smt.algebra.integers import IntegerAlgebra
from mmaproof.smt.solving.verdict import Status
from mmaproof.tolerances.tolerance import Tolerance
from mmaproof.verification.gemm.verdict import AlgorithmVerdict, Shown, Witness
from mmaproof.verification.means import Means

_INTEGERS = IntegerAlgebra()

MOST_SHOWN = 64
"""The largest K for which operands that overflow are computed on integers and shown."""


def check_plan_overflow(plan: Plan, k: int, where: Sequence[Precondition], means: Means) -> AlgorithmVerdict:
    """Find out whether a number of a plan may become infinite or NaN, or be clamped, for operands of these exponents.

    PROVED where the bound of all operands is finite: it is finite only where no sum, product or conversion can
    leave its format. REFUTED with the largest operands where one of their numbers is not finite or is clamped. Raises
    InputError without exponents, and for other conditions than a sign and a c of zero.
    """
    allowed = Exponents | Positive | ZeroAccumulator
    if not any(isinstance(x, Exponents) for x in where) or not all(isinstance(x, allowed) for x in where):
        raise InputError(
            "overflow of a plan is asked for a range of exponents: --where exponents=LO..HI, such as exponents=-8..2; "
            "`c=0` and `positive` are allowed beside it"
        )
    found = Tolerance(plan, k, tuple(where), means.solving, means.limits)
    a, b, c = found.largest_operands()
    values = {"k": k}
    if found.proved and found.bound_of_all() < inf:
        details = (f"the bound is finite: {found.proof.reason}",)
        return AlgorithmVerdict(
            Status.PROVED, f"nothing overflows, k = {k}", values, details=details, lemmas=found.proof.lemmas
        )
    # of orders that are not determined, the ascending one is one
    witness = (
        _witness(plan.with_open_orders(ASCENDING), Operands((a,) * k, (b,) * k, c or 0)) if k <= MOST_SHOWN else None
    )
    if witness is not None:
        return AlgorithmVerdict(Status.REFUTED, f"a number overflows, k = {k}", values, witnesses=(witness,))
    reason = "the bound of the largest operands is infinite, and no number that they make overflows"
    if k > MOST_SHOWN:
        reason = f"the bound is infinite, and operands that overflow are looked for up to k = {MOST_SHOWN} only"
    if not found.proved:
        reason = f"nothing is proved about the error: {found.proof.reason}"
    return AlgorithmVerdict(Status.UNKNOWN, "not settled", values, reason=reason)


def _witness(plan: Plan, operands: Operands) -> Witness | None:
    """Return operands with the first operation that overflows, computed on integers; None if there is none.

    All elements of a are the same, and all of b.
    """
    a, b, c, _ = plan.formats
    every = f"[0..{len(operands) - 1}]" if len(operands) > 1 else "[0]"  # they are all the same
    numbers = Shown(f"a{every}", a, operands.a[0]), Shown(f"b{every}", b, operands.b[0]), Shown("c", c, operands.c)
    for step in trace(plan, operands).steps:
        if overflows(_INTEGERS, step).data:
            fmt = step.result.fmt
            shown = Shown(step.label, fmt, step.result.word.data)
            return Witness(f"{step.label} overflows {fmt.name}", (*numbers, shown))
    return None
