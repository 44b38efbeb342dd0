"""Properties of netlists: asked of the netlist, and where that gives no answer, of a design that it is proved to be.

What can be asked of a netlist is about d alone. If a netlist returns the same bits as a design for all operands, both
have the same of these properties, as far as they are about one pass.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from mmaproof.designs.design import Design
from mmaproof.properties.preconditions import Precondition
from mmaproof.properties.property import Property
from mmaproof.smt.solving.backends import DEFAULT_SOLVER
from mmaproof.smt.solving.limits import Limits
from mmaproof.smt.solving.solving import Solving
from mmaproof.smt.solving.verdict import Status
from mmaproof.smt.solving.work import worked
from mmaproof.verification.check import Check, check
from mmaproof.verification.compare import DEFAULT_BUDGET, DEFAULT_LIMITS, compare
from mmaproof.verification.means import SIMPLIFYING
from mmaproof.verification.search import Budget

DIRECT = 0.25
"""The share of the time in which the netlist itself is asked, if there is a design that it may be."""


def check_netlist(
    asked: Property,
    netlist: Design,
    meant: Design | None,
    *,
    solver: str | Solving = DEFAULT_SOLVER,
    limits: Limits = DEFAULT_LIMITS,
    k: int | None = None,
    where: Sequence[Precondition] = (),
    budget: Budget | None = DEFAULT_BUDGET,
    seed: int = 0,
    simplifying: float = SIMPLIFYING,
    told: Callable[[str], None] | None = None,
) -> Check:
    """Find out whether a netlist has a property. ``meant`` is a design that one pass of it may be equal to.

    Only proofs are taken over from the design, and only after a proof that both return the same bits, NaN codes too.
    ``simplifying`` and ``told`` are as in ``check``. Raises as ``check`` and ``compare``.
    """
    started = worked()
    if meant is not None and (meant.signature, meant.k) != (netlist.signature, netlist.k):
        meant = None
    alone = limits if meant is None else replace(limits, seconds=DIRECT * limits.seconds)
    given: dict[str, Any] = {"solver": solver, "k": k, "where": where, "budget": budget, "seed": seed}
    shown: dict[str, Any] = {"simplifying": simplifying, "told": told}
    direct = check(asked, netlist, limits=alone, **given, **shown)
    if meant is None or direct.finding.status is not Status.UNKNOWN or direct.k > netlist.k:
        return direct

    def left() -> Limits:
        return limits.after(worked() - started, "earlier questions")

    equal = compare(netlist, meant, solver=solver, limits=left(), nan_codes=True, k=netlist.k, budget=budget, seed=seed)
    if equal.status is not Status.PROVED:
        return direct
    other = check(asked, meant, limits=left(), **given, **shown)
    if other.finding.status is not Status.PROVED or other.k != direct.k:
        return direct
    answers = {f"{netlist.name} returns the bits that {meant.name} returns": equal, **(other.finding.answers or {})}
    return Check(asked, netlist, other.scope, replace(other.finding, answers=answers), worked() - started)
