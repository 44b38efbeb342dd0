"""Every property of small units with elements of every kind of format: what is said is what trying all operands says."""

import contextlib
import itertools
from collections import Counter
from collections.abc import Iterable, Iterator

import pytest
from pysmt.environment import Environment
from support.in_this_process import InThisProcess
from support.small_designs import (
    CONVERSIONS,
    E2M2,
    ELEMENTS,
    INTEGERS,
    REGISTERS,
    SCALES,
    all_operands,
    use_small_formats,
)

from mmaproof.designs.design import Design
from mmaproof.designs.errors import DesignError, InputError
from mmaproof.designs.formats import Format, Specials
from mmaproof.designs.parameters import compose, parse_parameter
from mmaproof.designs.signature import Signature
from mmaproof.properties.library import PROPERTIES
from mmaproof.properties.preconditions import parse_precondition
from mmaproof.properties.property import QuestionVerdict
from mmaproof.properties.question import Question
from mmaproof.properties.run_question import Scope
from mmaproof.smt.solving.limits import Limits
from mmaproof.smt.solving.verdict import Status
from mmaproof.verification.answer import answer
from mmaproof.verification.largest import largest
from mmaproof.verification.means import Means
from mmaproof.verification.search import Budget

LIMITS = Limits(20, 4 << 30)
LEAST = next(f for f in ELEMENTS if f.name == "small-e1m1")
IGNORING = Format("small-e2m1-ignoring", "x", None, 2, 1, Specials.IEEE, "small", ignored_bits=1)
BIASED = Format("small-e2m1-biased", "x", None, 2, 1, Specials.IEEE, "small", chosen_bias=3)
FLOATS = {f.name: f for f in (*ELEMENTS, IGNORING, BIASED)}
KINDS = {
    "fused": {"fraction_bits": "3"},
    "flushed": {"fraction_bits": "2", "subnormals": "flushed", "flushed_sign": "kept"},
    "tree": {"summation": "pairwise"},
    "chains": {"summation": "interleaved"},
    "sequential": {"summation": "sequential", "fraction_bits": "2"},
    "lanes": {"summation": "lanes", "fraction_bits": "3", "e_zero": "-6"},
}
MOST_BITS = 21


def design_of(signature: Signature, k: int, settings: dict[str, str], rho: str) -> Design:
    chosen = {n: parse_parameter(n, x) for n, x in settings.items()}
    chain, step = compose({"L": k, "rho": rho} | chosen)
    return Design("small", f"m1n1k{k}", "any", signature, 1, 1, k, chain, step, "a test")


def designs_with(fmt: Format) -> Iterator[Design]:
    """Small units whose a, b or c is of the format."""
    for k, settings in itertools.product((1, 2), KINDS.values()):
        for a, b, c in ((fmt, LEAST, E2M2), (LEAST, fmt, E2M2), (LEAST, LEAST, fmt)):
            if k * (a.bits + b.bits) + c.bits <= MOST_BITS:
                with contextlib.suppress(DesignError):
                    yield design_of(Signature(a, b, c, E2M2), k, settings, "rne-fp16")


def integer_designs() -> Iterator[Design]:
    for a, b in itertools.product(INTEGERS, repeat=2):
        for rho, conversion in REGISTERS.items():
            for overflow in ("wrap", "saturate"):
                signature = Signature(a, b, conversion.target, conversion.target)
                yield design_of(signature, 2, {"integer_overflow": overflow}, rho)


def scaled_designs() -> Iterator[Design]:
    """Small units with scales with and without a zero."""
    for scale in SCALES:
        for settings in (
            {"fraction_bits": "3"},
            {"fraction_bits": "3", "group_size": "1"},
            {"summation": "sequential"},
        ):
            yield design_of(Signature(LEAST, LEAST, E2M2, E2M2, scale, 1), 1, settings, "rne-fp16")


class Asked:
    """Answers questions, and says of each what trying all operands says."""

    def __init__(self, design: Design, budget: Budget | None) -> None:
        self.design = design
        self.means = Means(InThisProcess(), LIMITS, budget, simplifying=1)
        self.wrong: list[str] = []
        self.said: Counter[Status] = Counter()

    def __call__(self, question: Question, what: str, /) -> QuestionVerdict:
        with Environment():
            found = answer(question, self.design, self.means)
        self.said[found.status] += 1
        if sum(f.bits * count for _, f, count in question.columns()) > MOST_BITS:
            return found
        meant, violating = question.examine(all_operands(question))
        so = Status.REFUTED if violating.any() else Status.PROVED if meant.any() else Status.VACUOUS
        if found.status not in (so, Status.UNKNOWN):
            self.wrong.append(f"{what}: {found.status} ({found.origin}), and trying all says {so}")
        return found

    def largest(self, question, measure):
        return largest(question, self.design, measure, 0)


def examine(design: Design, names: Iterable[str], where: str | None = None, budget: Budget | None = None):
    """Return what is said of each question, and faults: internal errors and statements that are not so."""
    faults, said = [], Counter()
    for name in names:
        asked = PROPERTIES[name]
        if asked.why_not(design) is not None:
            continue
        ask = Asked(design, budget)
        try:
            asked.settle(design, Scope(where=() if where is None else (parse_precondition(where),)), ask)
        except (DesignError, InputError):
            pass
        except Exception as error:
            ask.wrong.append(f"{type(error).__name__}: {error}")
        faults += [f"{name} of {[f.name for f in design.formats]}, {design.settings}: {x}" for x in ask.wrong]
        said += ask.said
    return faults, said
