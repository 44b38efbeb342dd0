"""The search examines rows by machine code and finds what arrays find."""

import numpy as np
import pytest
from support.native import needs_native

from mmaproof.designs.catalogue import find_design
from mmaproof.designs.design import Design
from mmaproof.properties.equivalence import Equivalence
from mmaproof.properties.library import PROPERTIES
from mmaproof.properties.preconditions import parse_precondition
from mmaproof.properties.question import Question
from mmaproof.smt.algebra.code import TooWideError
from mmaproof.smt.algebra.nodes import Op
from mmaproof.smt.native import lowering, paying
from mmaproof.smt.native.compiler import MiscompiledError
from mmaproof.verification import strategies
from mmaproof.verification.check import check
from mmaproof.verification.distributions import BASIC, draw
from mmaproof.verification.search import Budget, search, steer

pytestmark = needs_native
VOLTA, TURING = find_design("volta/mma.m8n8k4.f32.f16.f16.f32"), find_design("turing/mma.m16n8k8.f32.f16.f16.f32")
SCALED = find_design("blackwell/tcgen05.mma.m128n8k64.block16.f32.e2m1.e2m1.ue4m3")
TWO_FORMATS = find_design("rtx-blackwell/f32.e4m3.e2m1.f32.ue8m0")


PAIRS = [
    (Equivalence(VOLTA, TURING, k=4), VOLTA),
    (Equivalence(VOLTA, VOLTA.change(fraction_bits=22), where=[parse_precondition("exponents=-3..3")]), VOLTA),
    (Equivalence(SCALED, SCALED.change(fraction_bits=20)), SCALED),
    (Equivalence(TWO_FORMATS, TWO_FORMATS.change(fraction_bits=9)), TWO_FORMATS),
]


EXACT_SUMS = ("accumulation-precision", "correctly-rounded", "error-bound", "sticky-bit", "subnormal-accumulator")
"""Properties whose claims compare with exact sums, of hundreds of bits."""


class AskedError(Exception):
    """The first question that is searched for a witness, with the design that its operands suit."""


def first_question(monkeypatch, name: str) -> tuple[Question, Design]:
    def stop(question, design, **_):
        raise AskedError(question, design)

    monkeypatch.setattr(strategies, "search", stop)
    with pytest.raises(AskedError) as asked:
        check(name, VOLTA)
    return asked.value.args


def compare(question: Question, design: Design, rows: int = 200) -> None:
    native = question.compiled(question.lowered())
    for name in BASIC:
        batch = steer(
            draw(name, design, rows, question.k, np.random.default_rng(1)), question, np.random.default_rng(2)
        )
        for ours, arrays in zip(native(batch), question.examine(batch), strict=True):
            assert ours.dtype == bool
            assert (ours == arrays).all()


@pytest.mark.few(1)
@pytest.mark.parametrize(("question", "design"), PAIRS)
def test_machine_code_examines_rows_as_arrays_do(question, design):
    compare(question, design)


@pytest.mark.few(3)
@pytest.mark.parametrize("name", PROPERTIES)
def test_every_property_can_be_examined_by_machine_code(monkeypatch, name):
    if (reason := PROPERTIES[name].why_not(VOLTA)) is not None:
        pytest.skip(reason)
    question, design = first_question(monkeypatch, name)
    if name in EXACT_SUMS:
        with pytest.raises(TooWideError):
            question.lowered()
    else:
        compare(question, design, 40)


def test_the_search_finds_the_same_by_either(monkeypatch):
    question = Equivalence(VOLTA, VOLTA.change(fraction_bits=22))
    found = []
    for backend in ("arrays", "native"):
        monkeypatch.setenv("MMAPROOF_BACKEND", backend)
        found.append(search(question, VOLTA, seed=3, budget=Budget(20_000, 60)))
    assert found[0].witnesses == found[1].witnesses != ()
    assert found[0].rows == found[1].rows


@pytest.mark.parametrize(("price", "compiled"), [(0.0, 1), (1e9, 0)])
def test_machine_code_takes_over_where_it_pays(monkeypatch, price, compiled):
    question = Equivalence(VOLTA, VOLTA.change(adder="carry-save"))
    calls = []
    right = Question.compiled
    monkeypatch.setattr(Question, "compiled", lambda q, nodes: (calls.append(1), right(q, nodes))[1])
    monkeypatch.setattr(paying, "compile_seconds", lambda nodes: price)
    monkeypatch.setattr(paying, "LEAST_COMPILE_SECONDS", 0.0)
    monkeypatch.setattr(paying, "IMPORT_SECONDS", 0.0)
    assert search(question, VOLTA, seed=0, budget=Budget(20_000, 60)).rows >= 20_000
    assert len(calls) == compiled


@pytest.mark.parametrize("backend", ["arrays", "integers"])
def test_no_machine_code_where_another_backend_is_wanted(monkeypatch, backend):
    monkeypatch.setenv("MMAPROOF_BACKEND", backend)
    monkeypatch.setattr(Question, "lowered", lambda q: pytest.fail("lowered"))
    search(Equivalence(VOLTA, VOLTA.change(adder="carry-save")), VOLTA, seed=0, budget=Budget(5_000, 60))


def test_a_claim_that_is_compiled_wrongly_is_found_before_it_is_used(monkeypatch):
    question = Equivalence(VOLTA, VOLTA.change(fraction_bits=20))
    monkeypatch.setitem(lowering._COMPARED, Op.EQUAL, "ne")
    with pytest.raises(MiscompiledError, match="Equivalence"):
        question.compiled(question.lowered())
