"""Proofs that a netlist computes a design: the sweep of its nets, and the claim about both results."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from pysmt.fnode import FNode

from mmaproof.designs.formats import Format
from mmaproof.smt.algebra.protocol import Truth
from mmaproof.smt.proving.asked import Lemmas, OutOfTimeError, StagedProof
from mmaproof.smt.proving.columns import Columns
from mmaproof.smt.proving.cut_variables import CutVariables
from mmaproof.smt.proving.journal import RecordedPlaces
from mmaproof.smt.proving.kernel import Kernel
from mmaproof.smt.proving.lemma import Formula
from mmaproof.smt.proving.model_terms import ModelTerms
from mmaproof.smt.proving.net_composer import ColumnValues, NetComposer
from mmaproof.smt.proving.net_relations import MatchedNet
from mmaproof.smt.proving.net_sweep import NetSweep
from mmaproof.smt.solving.limits import Limits, worked
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


ClaimOfNets = Callable[[ModelTerms | RecordedPlaces, Callable[[], None]], Truth[FNode]]
"""The claim about the results of a design and a netlist; what it calls comes between them."""


def prove_netlist(
    question: Formula,
    claim: ClaimOfNets,
    patterns: Mapping[FNode, Format],
    of_d: Format,
    rows: Sequence[Mapping[str, int]],
    ask: Ask,
    limits: Limits,
) -> NetlistProof:
    """Try to prove a claim about a design and a netlist under the precondition of ``question``.

    ``claim`` runs the design over the algebra that it is given, then calls the function that it is given, and runs the
    netlist; it returns how the results are related. ``patterns`` are the formats of the operand symbols, and ``of_d``
    is that of results. The ``rows``
    are operands that meet the precondition.
    """
    started = worked()
    if not rows:
        return NetlistProof(False, (), 0.0, Cause.SOLVER_ERROR.reason("no sample meets the precondition"))
    columns = Columns(rows)
    lemmas = Lemmas(ask, limits, started, question.environment)
    cuts = CutVariables(lemmas, columns, question.environment)
    model = ModelTerms(cuts, question.environment, patterns, of_d)
    sweeps: list[NetSweep] = []
    if question.precondition is not None:
        cuts.note(question.precondition)

    def begin_netlist() -> None:
        sweeps.append(NetSweep(model, cuts, columns, question.environment))
        model.on_net = sweeps[-1].on_net
        model.nested += 1

    def compose(kernel: Kernel) -> None:
        plain = RecordedPlaces(question.environment)
        again = claim(plain, plain.begin_netlist).data
        composer = NetComposer(kernel, ColumnValues(columns), model, sweeps[0])
        composer.define_unknown(plain.unknowns)
        composer.claim_again(question.claim, again)
        composer.compose(plain.recording.entries, lemmas.entries, again, whole)

    proved, reason, theorem = False, None, None
    try:
        related = claim(model, begin_netlist)
        whole = model.rewritten(related.data)
        proved = cuts.holds("result", "as claimed", whole, seconds=CLAIM_SECONDS, widenings=CLAIM_WIDENINGS)
        if proved:
            theorem = lemmas.joined(question.violation, compose)
        if proved and theorem is None:
            proved = combine([Status.PROVED, *(cuts.law(law) for law in sorted(model.used))]) is Status.PROVED
    except OutOfTimeError:
        proved, reason = False, Cause.TIMEOUT.reason(f"no proof net by net within {limits}")
    matched = tuple(x for s in sweeps for x in s.matched)
    unmatched = tuple(x for s in sweeps for x in s.unmatched)
    lead = "" if proved else "; ".join(s.lead() for s in sweeps)
    seconds = worked() - started
    return NetlistProof(proved, lemmas.found(), seconds, reason, theorem, compose, matched, unmatched, lead)
