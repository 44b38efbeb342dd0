"""Properties of small units with elements of every kind of format: what is said is what trying all operands says."""

import contextlib
import itertools
from collections import Counter
from collections.abc import Iterable, Iterator

import pytest
from pysmt.environment import Environment
from support.in_this_process import InThisProcess
from support.small_designs import (
    E2M2,
    ELEMENTS,
    INTEGERS,
    REGISTERS,
    SCALES,
    all_operands,
    use_small_formats,
)

from mmaproof.designs.design import Design
from mmaproof.designs.element import Operands
from mmaproof.designs.errors import DesignError, InputError
from mmaproof.designs.formats import FORMATS, Format, Specials
from mmaproof.designs.parameters import compose, parse_parameter
from mmaproof.designs.signature import Signature
from mmaproof.properties.equivalence import Equivalence
from mmaproof.properties.library import PROPERTIES
from mmaproof.properties.preconditions import parse_precondition
from mmaproof.properties.property import QuestionVerdict
from mmaproof.properties.question import Question, Scope
from mmaproof.smt.solving.limits import Limits
from mmaproof.smt.solving.verdict import Status
from mmaproof.verification.check import largest
from mmaproof.verification.search import Budget, Means
from mmaproof.verification.strategies import answer

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
    """Return the answer to each question, and faults: internal errors and statements that are not so."""
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


def check_designs(designs: Iterable[Design], monkeypatch: pytest.MonkeyPatch, where: str | None = None) -> Counter:
    use_small_formats(monkeypatch)
    so: Counter = Counter()
    for design in designs:
        faults, said = examine(design, PROPERTIES, where)
        assert not faults, faults
        so += said
    return so


def some_designs(fmt: Format, count: int, k: int = 1) -> list[Design]:
    """Some of the units with the format, in all of its places and with all kinds of steps if there are enough."""
    every = [x for x in designs_with(fmt) if x.k == k]
    return [every[i * 7 % len(every)] for i in range(count)]


QUICK = ("small-e2m1-fnuz", "small-e2m1-ignoring", "e2m1")


@pytest.mark.middle
@pytest.mark.parametrize("name", [pytest.param(x, marks=() if x in QUICK else pytest.mark.middle) for x in FLOATS])
def test_properties_of_elements_of_every_kind(name, monkeypatch):
    use_small_formats(monkeypatch)
    assert check_designs(some_designs(FLOATS[name], 1), monkeypatch)[Status.PROVED] > 3


@pytest.mark.slow
@pytest.mark.parametrize("name", FLOATS)
def test_properties_of_more_elements_of_every_kind(name, monkeypatch):
    use_small_formats(monkeypatch)
    designs = [*some_designs(FLOATS[name], 8)[1:], *some_designs(FLOATS[name], 1, k=2)]
    assert check_designs(designs, monkeypatch)[Status.PROVED] > 30


@pytest.mark.slow_values("normal", "exponents=-1..1")
@pytest.mark.middle
@pytest.mark.parametrize("where", ["c=0", "exponents=-1..1", "normal", "a!=0"])
def test_properties_of_restricted_elements(where, monkeypatch):
    use_small_formats(monkeypatch)
    for name in ("small-e2m1-fnuz", "small-e1m1-nan"):
        assert check_designs(some_designs(FLOATS[name], 2), monkeypatch, where)[Status.PROVED]


@pytest.mark.slow
@pytest.mark.parametrize("name", FLOATS)
def test_properties_of_elements_of_every_kind_in_every_place(name, monkeypatch):
    use_small_formats(monkeypatch)
    assert check_designs(designs_with(FLOATS[name]), monkeypatch)[Status.PROVED] > 100


@pytest.mark.middle
@pytest.mark.parametrize("kind", ["integers", "scaled"])
def test_properties_of_integers_and_of_units_with_scales(kind, monkeypatch):
    use_small_formats(monkeypatch)
    designs = integer_designs() if kind == "integers" else scaled_designs()
    assert check_designs(designs, monkeypatch)[Status.PROVED] > 10


def test_the_bound_of_one_step_is_not_claimed_of_flushed_results(monkeypatch):
    use_small_formats(monkeypatch)
    signature = Signature(FLOATS["small-e2m1-fnuz"], LEAST, E2M2, E2M2)
    for settings, status in (({}, Status.PROVED), ({"subnormals": "results"}, Status.REFUTED)):
        design = design_of(signature, 1, {"fraction_bits": "2"} | settings, "rne-fp16")
        faults, said = examine(design, ["error-bound"])
        assert not faults, faults
        assert said == {status: 1}


@pytest.mark.parametrize("where", ["finite", "positive", "normal", "c=0", "exponents=-1..1", "c=negative"])
def test_no_condition_takes_the_nan_of_a_format_without_minus_zero_for_a_number(where, monkeypatch):
    use_small_formats(monkeypatch)
    fmt = FLOATS["small-e2m1-fnuz"]
    design = design_of(Signature(fmt, LEAST, fmt, E2M2), 1, {"fraction_bits": "3"}, "rne-fp16")
    question = Equivalence(design, design, k=1, where=[parse_precondition(where)])
    assert not question.is_meant(Operands((fmt.one,), (LEAST.max_finite,), fmt.quiet_nan))
    meant = {"c=0": 0, "c=negative": 1 << fmt.sign_position | fmt.one}.get(where, fmt.one)
    assert question.is_meant(Operands((fmt.one,), (LEAST.max_finite,), meant))


@pytest.mark.parametrize(
    ("a", "c", "known"),
    [("small-e2m1-ieee", "small-e2m1-fnuz", True), ("small-e2m1-fnuz", "e2m1", True), ("e2m1", "e2m1", False)],
)
def test_the_code_of_nan_comes_from_an_operand_that_is_one(a, c, known, monkeypatch):
    use_small_formats(monkeypatch)
    design = design_of(Signature(FLOATS[a], FORMATS["e2m1"], FLOATS[c], E2M2), 1, {"nan_code": "all-ones"}, "rne-fp16")
    found = PROPERTIES["nan-code"].settle(design, Scope(), Asked(design, None))
    assert found.value == (E2M2.hex((1 << E2M2.sign_position) - 1) if known else None)
