"""The query of a comparison as SMT-LIB 2: another reader of it comes to the same answer."""

import pytest
import z3

from mmaproof.designs.catalogue import find_design
from mmaproof.generators.formats.selection import equivalence_script
from mmaproof.properties.equivalence import Equivalence
from mmaproof.properties.preconditions import parse_precondition
from mmaproof.smt.proving.lemma import decide
from mmaproof.smt.solving.backends import DEFAULT_SOLVER
from mmaproof.smt.solving.solving import Solving
from mmaproof.smt.solving.verdict import Status
from mmaproof.smt.trace import evaluate
from mmaproof.verification.compare import DEFAULT_LIMITS

VOLTA = find_design("volta/f32.f16.f16.f32")
TURING = find_design("turing/f32.f16.f16.f32")


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("k", "where", "expected"), [(1, ["c=0", "exponents=0..0"], z3.unsat), (1, ["exponents=-8..8"], z3.sat)]
)
def test_z3_reads_it_and_answers_the_same(k, where, expected):
    preconditions = [parse_precondition(x) for x in where]
    question = Equivalence(VOLTA, TURING, k=k, where=preconditions)
    script = equivalence_script(question, "1.2.3")
    solver = z3.Solver()
    solver.add(z3.parse_smt2_string(script))
    assert solver.check() == expected
    status = decide(question, Solving.of(DEFAULT_SOLVER).ask, DEFAULT_LIMITS).status
    assert status == (Status.REFUTED if expected == z3.sat else Status.PROVED)
    if expected == z3.sat:
        model = solver.model()
        values = {x.name(): model[x].as_long() for x in model if x.arity() == 0 and z3.is_bv_value(model[x])}
        names = [x.symbol_name() for x in question.formula.symbols]
        operands = question.operands({name: values.get(name, 0) for name in names})
        assert evaluate(VOLTA, operands) != evaluate(TURING, operands)


def test_a_comment_names_the_question():
    where = [parse_precondition("finite"), parse_precondition("exponents=-3..4")]
    settings = {"k": 8, "where": where, "nan_codes": True, "zero_signs": False}
    script = equivalence_script(Equivalence(VOLTA, TURING, **settings), "1.2.3")
    comment, _, rest = script.partition("(set-logic QF_BV)\n")
    assert comment.splitlines() == [
        f"; Are there operands for which d of {VOLTA.name} differs from d of {TURING.name}?",
        "; asked for k = 8, where finite, exponents=-3..4",
        "; two NaNs are equal only if their bits are",
        "; +0 and -0 are equal",
        "; sat: they are different, and the values are such operands (bit patterns)",
        "; unsat: they are equivalent wherever the preconditions hold, if they hold anywhere",
        "; by mmaproof 1.2.3",
    ]
    assert "(check-sat)" in rest
