"""The core of the tests as a script, for ``python -O``: verdicts are compared explicitly, no assert takes part."""

import sys
from collections.abc import Callable
from dataclasses import replace
from unittest.mock import patch

from mmaproof.designs.catalogue import find_design
from mmaproof.gemm.answers import exact_operands
from mmaproof.gemm.answers.exact_operands import Expression, Substitution, reduced
from mmaproof.gemm.answers.verdict import Asked
from mmaproof.gemm.programs import Plan
from mmaproof.gemm.programs.algorithms import find_algorithm
from mmaproof.gemm.programs.split_gemm import SplitGemm
from mmaproof.properties.equivalence import Equivalence
from mmaproof.properties.library import find_property
from mmaproof.properties.preconditions import parse_precondition
from mmaproof.smt.solving.limits import Limits
from mmaproof.smt.solving.solving import Solving
from mmaproof.smt.solving.verdict import Status, Verdict, WitnessDoesNotReplay, combine
from mmaproof.smt.trace import evaluate
from mmaproof.verification.check import check
from mmaproof.verification.compare import compare
from mmaproof.verification.search import Budget, Means
from mmaproof.verification.strategies import answer

LIMITS = Limits(120, 4 << 30)
FP16 = "volta/f32.f16.f16.f32@L=2"
HMMA = "volta/f32.f16.f16.f32"
WRONG: list[str] = []


def expect(what: str, found: object, expected: object) -> None:
    """Note what is not as expected."""
    if found != expected:
        WRONG.append(f"{what}: {found!r}, expected {expected!r}")


def raised(action: Callable[[], object]) -> str:
    """Return the name of what an action raises; empty where it raises nothing."""
    try:
        action()
    except Exception as error:
        return type(error).__name__
    return ""


def comparisons() -> None:
    """Equal, different, vacuous; by the search and by a solver."""
    first = find_design(FP16)
    for other, where, expected in (
        (f"{FP16},zero_c=B", (), "equivalent"),
        (f"{FP16},fraction_bits=22", (), "different"),
        (f"{FP16},fraction_bits=22", ("normal", "c=0"), "vacuous"),
    ):
        for budget in (None, Budget(rows=2000)):
            preconditions = [parse_precondition(x) for x in where]
            done = compare(first, find_design(other), where=preconditions, budget=budget, limits=LIMITS)
            expect(f"compare {other} where {where}", done.verdict, expected)
            if done.witness is not None:
                outputs = {evaluate(d, done.witness) for d in done.question.designs}
                expect(f"outputs of {other}", len(outputs), 2)


def properties() -> None:
    """One that holds and one that does not, and the mutant of the former."""
    asked, unit = find_property("order-independent"), find_design(FP16)
    expect("order-independent", check(asked, unit, limits=LIMITS).verdict, "holds")
    expect("order-independent, mutant", check(asked, asked.mutant(unit), limits=LIMITS).verdict, "violated")


class Denying(Equivalence):
    """Denies every witness."""

    def is_refuted_by(self, operands: object) -> bool:
        """Return False."""
        return False


def reduced_to_c(plan: Plan, k: int) -> tuple[Expression, Substitution]:
    """Return what the algorithm comes down to with a value that is not its own: c."""
    found, arithmetic = reduced(plan, k)
    return replace(found, value=lambda _, a, b, c: c), arithmetic


def soundness_checks() -> None:
    """What notices an internal error notices it: a false witness, a verdict that is none, a wrong composition."""
    pair = find_design(FP16), find_design(f"{FP16},fraction_bits=22")
    means = Means(Solving(), LIMITS, None)
    denied = raised(lambda: answer(Denying(*pair), pair[0], means))
    expect("a witness that does not replay", denied, WitnessDoesNotReplay.__name__)
    expect("a refuted verdict without a witness", raised(lambda: Verdict(Status.REFUTED, 0.0)), "ValueError")
    expect("a truth value of a verdict", raised(lambda: bool(Verdict(Status.PROVED, 0.0))), "TypeError")
    expect("no claims", raised(lambda: combine([])), "ValueError")
    unit, algorithm = find_design(HMMA), find_algorithm("markidis")
    if not isinstance(algorithm, SplitGemm):
        WRONG.append("markidis is not a split")
        return
    with patch.object(exact_operands, "reduced", reduced_to_c):
        asked = Asked(Means(Solving(), LIMITS, Budget()))
        wrong = raised(lambda: exact_operands.check_exact_operands(Plan(unit, algorithm), algorithm, 4, asked))
    expect("a wrong composition", wrong, "CompositionRefutedError")


def main() -> int:
    """Run everything; print what is not as expected."""
    for part in (comparisons, properties, soundness_checks):
        part()
    if WRONG:
        print("\n".join(WRONG), file=sys.stderr)
        return 1
    print(f"asserts are {'kept' if __debug__ else 'removed'}: every verdict is as expected")
    return 0


if __name__ == "__main__":
    sys.exit(main())
