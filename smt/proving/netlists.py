"""Proofs that a netlist computes a design: the sweep of its nets, and the claim about both results."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from pysmt.environment import Environment
from pysmt.fnode import FNode

from mmaproof.designs.formats import Format
from mmaproof.smt.algebra.protocol import Truth
from mmaproof.smt.proving.asked import Lemmas, OutOfTimeError, StagedProof
from mmaproof.smt.proving.columns import Columns
from mmaproof.smt.proving.cut_variables import CutVariables
from mmaproof.smt.proving.lemma import Formula
from mmaproof.smt.proving.model_terms import ModelTerms
from mmaproof.smt.proving.net_relations import MatchedNet
from mmaproof.smt.proving.net_sweep import NetSweep
from mmaproof.smt.solving.limits import Limits
from mmaproof.smt.solving.prove import Ask
from mmaproof.smt.solving.verdict import Cause, Status, combine

CLAIM_SECONDS = 60.0
CLAIM_WIDENINGS = 12


@dataclass(frozen=True)
class NetlistProof(StagedProof):
    """A staged proof of a netlist, the nets that were matched, in order, and those that were not.

    ``lead`` says where a proof that failed lost the design.
    """

    matched: tuple[MatchedNet, ...] = ()
    unmatched: tuple[str, ...] = ()
    lead: str = ""


class NetlistTools:
    """Makes the parts of a proof of a netlist. Whoever wants to know what happens in them makes others."""

    def lemmas(self, ask: Ask, limits: Limits, started: float, environment: Environment) -> Lemmas:
        """Return what asks lemmas."""
        return Lemmas(ask, limits, started, environment)

    def cuts(self, lemmas: Lemmas, columns: Columns, environment: Environment) -> CutVariables:
        """Return the variables."""
        return CutVariables(lemmas, columns, environment)

    def model(
        self, cuts: CutVariables, environment: Environment, patterns: Mapping[FNode, Format], of_d: Format
    ) -> ModelTerms:
        """Return the interpretation in which the design runs."""
        return ModelTerms(cuts, environment, patterns, of_d)

    def claimed(self, claim: FNode) -> None:
        """Take the claim about the results, as it is proved in the end."""

    def sweep(self, model: ModelTerms, cuts: CutVariables, columns: Columns, environment: Environment) -> NetSweep:
        """Return what the nets go through."""
        return NetSweep(model, cuts, columns, environment)


def prove_netlist(
    question: Formula,
    claim: Callable[[ModelTerms, Callable[[], None]], Truth[FNode]],
    patterns: Mapping[FNode, Format],
    of_d: Format,
    rows: Sequence[Mapping[str, int]],
    ask: Ask,
    limits: Limits,
    tools: NetlistTools | None = None,
) -> NetlistProof:
    """Try to prove a claim about a design and a netlist under the precondition of ``question``.

    ``claim`` runs the design over the algebra that it is given, then calls the function that it is given, and runs the
    netlist; it returns how the results are related. ``patterns`` are the formats of the operand symbols, and ``of_d``
    is that of results. The ``rows``
    are operands that meet the precondition.
    """
    started = time.monotonic()
    if not rows:
        return NetlistProof(False, (), 0.0, Cause.SOLVER_ERROR.reason("no sample meets the precondition"))
    columns = Columns(rows)
    made = NetlistTools() if tools is None else tools
    lemmas = made.lemmas(ask, limits, started, question.environment)
    cuts = made.cuts(lemmas, columns, question.environment)
    model = made.model(cuts, question.environment, patterns, of_d)
    sweeps: list[NetSweep] = []
    if question.precondition is not None:
        cuts.note(question.precondition)

    def begin_netlist() -> None:
        sweeps.append(made.sweep(model, cuts, columns, question.environment))
        model.on_net = sweeps[-1].on_net
        model.nested += 1

    proved, reason = False, None
    try:
        related = claim(model, begin_netlist)
        whole = model.rewritten(related.data)
        made.claimed(whole)
        proved = cuts.holds("result", "as claimed", whole, seconds=CLAIM_SECONDS, widenings=CLAIM_WIDENINGS)
        if proved:
            proved = combine([Status.PROVED, *(cuts.law(law) for law in sorted(model.used))]) is Status.PROVED
    except OutOfTimeError:
        proved, reason = False, Cause.TIMEOUT.reason(f"no proof net by net within {limits}")
    matched = tuple(x for s in sweeps for x in s.matched)
    unmatched = tuple(x for s in sweeps for x in s.unmatched)
    lead = "" if proved else "; ".join(s.lead() for s in sweeps)
    return NetlistProof(proved, lemmas.found(), time.monotonic() - started, reason, matched, unmatched, lead)
