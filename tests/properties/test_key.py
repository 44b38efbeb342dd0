"""The key of a question holds all of it: another question has another key, and the same one has the same."""

import subprocess
import sys
from dataclasses import dataclass, fields, replace

import pytest
from support.rtl_units import COMBINATIONAL, write_unit

from mmaproof.designs.arithmetic import same_arithmetic
from mmaproof.designs.catalogue import find_design, load_catalogue
from mmaproof.designs.design import Design
from mmaproof.designs.formats import Format
from mmaproof.designs.parameters import Chain
from mmaproof.designs.readings import KOrder
from mmaproof.designs.steps import FusedStep
from mmaproof.designs.steps.aligned import SingleProducts
from mmaproof.properties.equivalence import Equivalence, SameAlignment
from mmaproof.properties.library import PROPERTIES
from mmaproof.properties.preconditions import parse_precondition
from mmaproof.properties.property import QuestionVerdict
from mmaproof.properties.question import Scope
from mmaproof.rtl import read_unit
from mmaproof.smt.solving.verdict import Status

VOLTA, TURING = "volta/f32.f16.f16.f32", "turing/f32.f16.f16.f32"
LATE = "cdna3/v_mfma_f32_32x32x16_fp8_fp8"
SCALED = "blackwell/block16.f32.e2m1.e2m1.ue4m3"


def question(first=VOLTA, second=TURING, kind=Equivalence, **options):
    return kind(find_design(first), find_design(second), **options)


def test_other_questions_have_other_keys():
    others = [
        question(second=f"{TURING}@fraction_bits=25"),
        question(second=f"{TURING}@zero_c=absent"),
        question(second=VOLTA),
        question(TURING, VOLTA),
        question(
            VOLTA.replace("f32.f16.f16.f32", "f16.f16.f16.f16"), TURING.replace("f32.f16.f16.f32", "f16.f16.f16.f16")
        ),
        question(k=16),
        question(nan_codes=True),
        question(where=[parse_precondition("finite")]),
        question(where=[parse_precondition("exponents=-2..3")]),
        question(where=[parse_precondition("exponents=-2..4")]),
        question(f"{VOLTA}@L=2", f"{VOLTA}@L=2"),
        question(VOLTA, f"{VOLTA}@zero_c=absent", kind=SameAlignment),
        question(VOLTA, f"{VOLTA}@zero_c=absent"),
    ]
    keys = [x.key for x in (question(), *others)]
    assert None not in keys
    assert len(set(keys)) == len(keys)


@pytest.mark.middle
def test_the_same_question_has_the_same_key_in_another_process():
    asked = question(where=[parse_precondition("c=0")])
    assert asked.formula.symbols, "what was computed from a question is not part of it"
    script = (
        "from mmaproof.properties.preconditions import parse_precondition as p; from mmaproof.designs.catalogue import "
        "find_design as f; from mmaproof.properties.equivalence import Equivalence as E\n"
        f"print(E(f({VOLTA!r}), f({TURING!r}), where=[p('c=0')]).key)"
    )
    ended = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert ended.stdout.strip() == asked.key


class _Asker:
    def __init__(self):
        self.keys = []

    def __call__(self, question, what):
        self.keys.append(question.key)
        return QuestionVerdict(Status.UNKNOWN, 0.0, "timeout: not asked", question=question)

    def largest(self, question, measure):
        return 0.0, None


@pytest.mark.parametrize("design", [find_design(x) for x in (VOLTA, LATE, SCALED)], ids=lambda d: d.name)
def test_every_question_of_the_library_has_a_key(design):
    ask = _Asker()
    for asked in PROPERTIES.values():
        before = len(ask.keys)
        if asked.why_not(design) is None and asked.name != "error-bound":
            asked.settle(design, Scope(), ask)
            assert len(ask.keys) > before
    assert None not in ask.keys
    assert len(set(ask.keys)) > 20


def test_what_is_no_plain_data_leaves_no_key():
    odd = question()
    odd.measure = lambda x: x
    assert odd.key is None


def test_designs_have_one_key_only_if_they_are_one_arithmetic():
    """So no answer about a unit of the catalogue is taken for one about another unit."""
    by_key = {}
    for design in load_catalogue().designs.values():
        asked = Equivalence(design, design)
        by_key.setdefault(asked.key, []).append(design)
    assert len(by_key) > 200
    for first, *others in by_key.values():
        assert all(same_arithmetic(first, x, first.k) for x in others)


def test_netlists_have_the_key_of_their_circuit(tmp_path):
    keys = set()
    for name, source in (("one", COMBINATIONAL), ("other", COMBINATIONAL.replace("+ c;", "- c;"))):
        (tmp_path / name).mkdir()
        unit = read_unit(write_unit(tmp_path / name, source)).design
        keys.add(Equivalence(unit, unit).key)
    assert len(keys - {None}) == 2


def test_netlists_that_take_their_products_in_another_order_have_another_key(tmp_path):
    """They have no parameters that could tell them apart."""
    unit = read_unit(write_unit(tmp_path, COMBINATIONAL)).design
    turned = replace(unit, chain=Chain(KOrder("reversed")))
    assert Equivalence(unit, turned).key != Equivalence(unit, unit).key


class Other(Equivalence):
    """A question of a third party."""


@dataclass(frozen=True)
class Odd:
    """Data of a third party."""

    x: int = 1


def test_what_other_classes_do_is_not_known_from_their_names():
    """So a proof is not kept for them: another script may have a class of that name."""
    assert question().own_key == question().key
    other, odd = question(kind=Other), question()
    odd.extra = Odd()
    assert None not in (other.key, odd.key)
    assert (other.own_key, odd.own_key) == (None, None)


class OtherProducts(SingleProducts):
    """Products of a third party."""

    @property
    def shift(self):
        return 1


class OtherChain(Chain):
    """A chain of a third party."""


class OtherStep(FusedStep):
    """A step of a third party."""


class OtherDesign(Design):
    """A design of a third party."""


class OtherFormat(Format):
    """A format of a third party."""


def like(kind, value):
    return kind(*(getattr(value, f.name) for f in fields(value)))


def test_nor_is_what_other_parts_of_a_design_do():
    """Their names and parameters are those of the program's own."""
    own = find_design(VOLTA)
    step = own.step
    others = [
        replace(own, step=replace(step, terms=like(OtherProducts, step.terms))),
        replace(own, step=like(OtherStep, step)),
        replace(own, chain=like(OtherChain, own.chain)),
        replace(own, signature=replace(own.signature, a=like(OtherFormat, own.a_format))),
        like(OtherDesign, own),
    ]
    assert Equivalence(own, own).own_key is not None
    for other in others:
        asked = Equivalence(other, other)
        assert other.record() == own.record()
        assert asked.own_key is None
        assert asked.key not in (None, Equivalence(own, own).key)
