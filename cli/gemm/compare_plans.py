"""`mmaproof gemm compare` of two plans: whether they return the same bits."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mmaproof.cli.assumed import say_assumed
from mmaproof.cli.bundle import bundled, say_bundle
from mmaproof.cli.compare import EXIT_STATUS
from mmaproof.cli.explain import lemma_record, print_lemmas
from mmaproof.cli.operands import operand_lines, operands_record
from mmaproof.cli.output import (
    complain,
    print_json,
    progress,
    say,
    say_asked,
    say_wrapped,
    solver_record,
)
from mmaproof.cli.version import tool_version

if TYPE_CHECKING:
    from mmaproof.cli.options import SolvingOptions
    from mmaproof.gemm.answers.compare import PlanComparison
    from mmaproof.gemm.programs import Plan
    from mmaproof.properties.preconditions import Precondition


def compare_bits(
    plans: tuple[Plan, Plan],
    k: int | None,
    where: Sequence[Precondition],
    options: SolvingOptions,
    explain: bool,
    output: Path | None,
    bundle: Path | None,
    json: bool,
) -> int:
    """Compare two plans bit by bit, print the verdict, and return the exit status."""
    from mmaproof.designs.files import make_way
    from mmaproof.gemm.answers.compare import compare_plans
    from mmaproof.gemm.questions.finite_operands import shaped_for
    from mmaproof.generators.vectors import Vector, write_vectors

    solving, limits = options.solving, options.limits
    make_way(output)
    with progress(f"comparing {plans[0].name} and {plans[1].name}"):
        done = compare_plans(
            *plans,
            k=k,
            where=where,
            solver=solving,
            limits=limits,
            budget=options.budget,
            seed=options.seed,
        )
    units = [x.unit for x in plans]
    claim = f"{plans[0].name} and {plans[1].name} return the same bits"
    status, written = bundled(
        bundle,
        {claim: done.answer},
        claim,
        units,
        options,
        EXIT_STATUS[done.verdict],
        sampled=shaped_for(plans[0], plans[0].formats[:3]),
    )
    if json:
        print_json(comparison_record(done) | written, units)
    else:
        print_comparison(done, explain)
        say_assumed(units)
        say_bundle(written)
    if output is not None and done.answer.witness is not None:
        outputs = {plan.name: d for plan, d in done.outputs}
        why = f"{plans[0].name} and {plans[1].name} return different bits"
        vector = Vector(
            done.answer.witness,
            plans[0].formats,
            outputs,
            scale_format=done.question.scale_format,
            why=why,
            origin=done.answer.origin,
            version=tool_version(),
        )
        write_vectors(output, [vector])
    elif output is not None:
        complain(f"note: {output} is not written: no vector was found")
    return status


def comparison_record(done: PlanComparison) -> dict[str, Any]:
    """Return the verdict as a JSON object."""
    question, answer = done.question, done.answer
    record: dict[str, Any] = {
        "verdict": done.verdict,
        "plans": [x.name for x in question.plans],
        "k": question.k,
        "where": [str(p) for p in question.where],
        "seconds": round(answer.seconds, 3),
        "solver": solver_record(answer.solver),
        "certified_by": solver_record(answer.certified_by),
        "certificate_covers": answer.certificate_covers,
        "reason": answer.reason,
        "origin": answer.origin,
        "lemmas": [lemma_record(x) for x in answer.lemmas],
    }
    if answer.witness is not None:
        record["witness"] = {
            **operands_record(question.formats, answer.witness, question.scale_format),
            "outputs": {plan.name: question.d_format.hex(d) for plan, d in done.outputs},
        }
    return record


def print_comparison(done: PlanComparison, explain: bool) -> None:
    """Print the verdict for a person."""
    from mmaproof.gemm.answers.run import explanation
    from mmaproof.gemm.programs.evaluate import trace

    question, answer = done.question, done.answer
    first, second = question.plans
    say(f"{done.verdict}: {first.name}")
    say(f"  and {second.name}")
    asked = [f"k = {question.k}", *(f"where {p}" for p in question.where)]
    say_asked(asked, answer.origin, answer.seconds)
    print_lemmas(answer.lemmas, "", whole=explain)
    if answer.reason is not None:
        say(f"  reason: {answer.reason}")
    if done.verdict == "vacuous":
        say("  no operands satisfy the preconditions")
    if answer.witness is None:
        return
    print_witness(done)
    if explain:
        for plan in question.plans:
            say("")
            say(plan.name)
            for line in explanation(trace(plan, answer.witness)):
                say(f"  {line}")


MOST_SHOWN = 16
"""Elements of a and b up to which a witness is printed whole; of a longer one those that are not zero are."""


def print_witness(done: PlanComparison) -> None:
    """Print operands for which two plans differ, and what each of them returns."""
    from mmaproof.explain.values import pattern_value

    witness, fmt = done.answer.witness, done.question.d_format
    if witness is None:
        raise ValueError("there is no witness to print")
    if len(witness) <= MOST_SHOWN:
        for line in operand_lines(operands_record(done.question.formats, witness, done.question.scale_format)):
            say(f"  {line}")
    else:
        a, b, c = done.question.formats
        products = [(k, x, y) for k, (x, y) in enumerate(zip(witness.a, witness.b, strict=True)) if x and y]
        for k, x, y in products[:MOST_SHOWN]:
            say(f"  a[{k}] = {a.hex(x)} = {pattern_value(a, x)}, b[{k}] = {b.hex(y)} = {pattern_value(b, y)}")
        left = len(products) - MOST_SHOWN
        others = f"{left} more products (--json shows all); the others have a factor of zero"
        say(f"  {others if left > 0 else 'all other products have a factor of zero'}")
        say(f"  c = {c.hex(witness.c)} = {pattern_value(c, witness.c)}")
        scale = done.question.scale_format
        if scale is not None:
            for name, scales in (("a", witness.scale_a), ("b", witness.scale_b)):
                say_wrapped(", ".join(map(scale.hex, scales)), f"  scales of {name} = ")
    for plan, d in done.outputs:
        say(f"  d = {fmt.hex(d)} = {pattern_value(fmt, d)}: {plan.name}")
