"""Sums of products of every architecture are proved by lemmas about their adders, and faulty ones are not."""

import json
import random
import sys
from collections.abc import Sequence
from dataclasses import replace
from itertools import product

import pytest
from pysmt.fnode import FNode
from support.integer_datapaths import ADDERS, PRODUCTS, TREES, Datapath, Netlist, architectures

sys.path.insert(0, "checker")

from mmaproof.smt.algebra.terms import TermAlgebra, default_environment
from mmaproof.smt.proving.adders import adder_lemmas, prove_sums, sums_first
from mmaproof.smt.solving.cnf import TRUE
from mmaproof.smt.solving.limits import Limits
from mmaproof.smt.solving.query import Query
from mmaproof.smt.solving.refuting import NotRefutedError
from mmaproof.smt.solving.sums import EqualSums, SumLemma, SumProof
from mmaproof.smt.solving.verdict import Outcome, Reply

SMALL = Datapath("simple", "dadda", "kogge-stone", 4, signed=False)


def counterexamples(unit: Datapath, netlist: Netlist) -> FNode:
    algebra = TermAlgebra(default_environment())
    m = algebra.environment.formula_manager
    operands = algebra.symbol(f"operands{unit.operand_bits}", unit.operand_bits).data
    found: FNode = m.Not(m.Equals(unit.model(algebra, operands), netlist.word(algebra, operands)))
    return found


def query_of(unit: Datapath, netlist: Netlist) -> Query:
    return Query.all_of([counterexamples(unit, netlist)])


def test_solvers_are_asked_what_adders_do_not_decide() -> None:
    asked = []

    def solvers(formula: FNode, symbols: Sequence[FNode], /, *, limits: Limits) -> Reply:
        asked.append(formula)
        return Reply(Outcome.UNKNOWN, adder_lemmas(), 0.0, reason="timeout: nobody was asked")

    ask, limits = sums_first(solvers), Limits(60, 1 << 30)
    right = counterexamples(SMALL, SMALL.netlist())
    assert ask(right, (), limits=limits).outcome is Outcome.UNSAT and not asked
    m = default_environment().formula_manager
    for formula in (m.Not(right), m.And(right, m.Not(right)), m.Bool(True), m.Not(m.Equals(m.BV(1, 4), m.BV(2, 4)))):
        assert ask(formula, (), limits=limits).outcome is Outcome.UNKNOWN
        assert asked[-1] is formula


UNITS = [
    *(Datapath("simple", "dadda", adder, 8, signed) for adder in ADDERS for signed in (False, True)),
    Datapath("simple", "dadda", "kogge-stone", 8, count=4, result=32, with_c=True),
    Datapath("simple", "dadda", "kogge-stone", 16, signed=False),
    Datapath("simple", "wallace", "kogge-stone", 16),
    Datapath("booth4", "array", "ripple", 16, signed=False),
    Datapath("simple", "counters", "brent-kung", 8, signed=False),
    Datapath("booth2", "wallace", "ladner-fischer", 8, signed=False),
    # results wider than their sums, whose highest bits are alike
    Datapath("simple", "dadda", "kogge-stone", 8, count=4, result=20),
    Datapath("booth4", "wallace", "ripple", 4, signed=False, count=3, result=12),
    Datapath("simple", "array", "lookahead", 4, count=4, result=14),
]


@pytest.mark.few(6)
@pytest.mark.parametrize("unit", UNITS, ids=str)
def test_a_unit_is_proved(unit):
    netlist = unit.netlist()
    for operands in map(random.Random(0).getrandbits, [unit.operand_bits] * 50):
        assert netlist.evaluate(operands) == unit.value(operands)
    prove_sums(query_of(unit, netlist))


def test_a_carry_may_enter_a_block_before_what_the_block_generates():
    unit = Datapath("simple", "dadda", "entered", 16)
    prove_sums(query_of(unit, unit.netlist()))


@pytest.mark.slow
@pytest.mark.parametrize("tree", TREES)
@pytest.mark.parametrize("products", PRODUCTS)
def test_every_architecture_is_proved_in_ten_seconds(products, tree):
    units = [x for x in architectures(8, 16, 32) if (x.products, x.tree) == (products, tree)]
    assert len(units) * len(PRODUCTS) * len(TREES) > 300
    for unit in units:
        prove_sums(query_of(unit, unit.netlist()), 10)


@pytest.mark.few(2)
@pytest.mark.parametrize("adder", [None, "ripple"])
@pytest.mark.parametrize("mutant", [False, True])
def test_words_are_added_up_that_are_sums_of_gates(adder, mutant):
    """What a language writes as + has no gates: what it adds up are carry-save words, or each a sum with carries."""
    units = [Datapath("booth4", "wallace", adder or "ripple", 8, count=2, result=18) for _ in range(2)]
    algebra = TermAlgebra(default_environment())
    m = algebra.environment.formula_manager
    operands = algebra.symbol("operands64", 64).data
    parts = [m.BVExtract(operands, i, i + 31) for i in (0, 32)]
    netlist = units[0].saved() if adder is None else units[0].netlist()
    if mutant:
        netlist = netlist.with_gate(netlist.outputs[9], ("not", netlist.gates[netlist.outputs[9]][1][:1]))
    words = [netlist.word(algebra, x) for x in parts]
    if adder is None:
        words = [m.BVExtract(x, i, i + 17) for x in words for i in (0, 18)]
    total, products = words[0], m.BVAdd(*(u.model(algebra, x) for u, x in zip(units, parts, strict=True)))
    for word in words[1:]:
        total = m.BVAdd(total, word)
    query = Query.all_of([m.Not(m.Equals(products, total))])
    if mutant:
        with pytest.raises(NotRefutedError):
            prove_sums(query)
    else:
        prove_sums(query)


def test_a_carry_is_told_that_no_random_operands_have():
    unit = Datapath("booth2", "array", "kogge-stone", 32, signed=False)
    prove_sums(query_of(unit, unit.netlist()))


@pytest.mark.slow
@pytest.mark.parametrize("tree", TREES)
@pytest.mark.parametrize("products", PRODUCTS)
def test_dot_products_are_proved_whose_results_are_wider_than_they_need(products, tree):
    """What is lost are blocks of carries in which a one is added to a carry of the tree."""
    unknown = []
    for adder, signed, (count, result) in product(ADDERS, (False, True), ((4, 18), (4, 32), (8, 24))):
        unit = Datapath(products, tree, adder, 8, signed, count, result)
        try:
            prove_sums(query_of(unit, unit.netlist()), 10)
        except NotRefutedError:
            unknown.append(unit)
    assert all(x.adder in ("lookahead", "entered") and x.tree == "wallace" for x in unknown), unknown
    assert len(unknown) < 6


@pytest.mark.slow
@pytest.mark.parametrize("signed", [False, True])
@pytest.mark.parametrize("products", PRODUCTS)
def test_no_mutant_of_eight_bits_is_proved(products, signed):
    of, found = random.Random(2), 0
    for tree, adder in product(TREES, ("ripple", "kogge-stone", "ladner-fischer")):
        unit = Datapath(products, tree, adder, 8, signed)
        netlist = unit.netlist()
        for number in of.sample(range(2 + unit.operand_bits, len(netlist.gates)), 7):
            kind, inputs = netlist.gates[number]
            mutant = netlist.with_gate(number, ({"and": "or", "or": "xor", "xor": "or", "not": "and"}[kind], inputs))
            try:
                prove_sums(query_of(unit, mutant))
            except NotRefutedError:
                found += 1
                continue
            operands = (*map(of.getrandbits, [16] * 2000), *(x | y << 8 for x in EDGES for y in EDGES))
            assert all(mutant.evaluate(x) == unit.value(x) for x in operands), mutant.gates[number]
    assert found > 50


EDGES = (0, 1, 2, 127, 128, 129, 254, 255)
MAPPED = [
    Datapath(products, "dadda", adder, width, signed, count, 2 * width + 4, with_c=True)
    for adder in ADDERS
    for products, signed, width, count in (
        ("simple", False, 4, 2),
        ("simple", True, 4, 2),
        ("booth4", True, 4, 2),
        ("simple", False, 8, 4),
        ("simple", True, 8, 4),
    )
    if (products, signed, width, adder) != ("simple", True, 8, "lookahead")  # unknown: two carries were joined
]


@pytest.mark.few(6)
@pytest.mark.parametrize("unit", MAPPED, ids=str)
def test_a_unit_is_proved_that_was_mapped(unit, tmp_path):
    pytest.importorskip("pyosys")
    netlist = unit.netlist().mapped(tmp_path)
    for operands in map(random.Random(0).getrandbits, [unit.operand_bits] * 50):
        assert netlist.evaluate(operands) == unit.value(operands)
    prove_sums(query_of(unit, netlist))


def test_no_mutant_is_proved_that_was_mapped_and_computes_something_else(tmp_path):
    pytest.importorskip("pyosys")
    netlist, found = SMALL.netlist().mapped(tmp_path), [0, 0]
    prove_sums(query_of(SMALL, netlist))
    for number, (kind, inputs) in enumerate(netlist.gates):
        if kind not in ("and", "or", "xor", "not"):
            continue
        mutant = netlist.with_gate(number, ({"and": "or", "or": "xor", "xor": "or", "not": "and"}[kind], inputs))
        equal = all(mutant.evaluate(x) == SMALL.value(x) for x in range(256))
        try:
            prove_sums(query_of(SMALL, mutant))
            assert equal
            found[0] += 1
        except NotRefutedError:
            found[1] += 1
    assert found[1] > 60


def test_the_time_limit_ends_a_search():
    unit = UNITS[0]
    with pytest.raises(NotRefutedError, match="the time is over"):
        prove_sums(query_of(unit, unit.netlist()), 1e-6)


@pytest.mark.middle
def test_no_mutant_is_proved_that_computes_something_else():
    netlist, of, found = SMALL.netlist(), random.Random(1), [0, 0]
    for _ in range(40):
        number = of.randrange(2 + SMALL.operand_bits, len(netlist.gates))
        kind, inputs = netlist.gates[number]
        mutant = netlist.with_gate(number, ({"and": "or", "or": "xor", "xor": "or", "not": "and"}[kind], inputs))
        equal = all(mutant.evaluate(x) == SMALL.value(x) for x in range(256))
        try:
            prove_sums(query_of(SMALL, mutant))
            assert equal
            found[0] += 1
        except NotRefutedError:
            found[1] += 1
    assert found[1] > 20


def changed(proof: SumProof, number: int, **of: object) -> SumProof:
    lemmas = list(proof.lemmas)
    lemmas[number] = replace(lemmas[number], **of)  # type: ignore[arg-type]
    return replace(proof, lemmas=tuple(lemmas))


def attacks(proof: SumProof) -> dict[str, SumProof]:
    """Return proofs that are wrong."""
    number = next(i for i in proof.order if abs(proof.lemmas[i].sum[1][1]) != TRUE)
    (w, x), *others = proof.lemmas[number].sum
    using = next(i for i, y in enumerate(proof.lemmas) if y.using)
    return {
        "a literal is negated": changed(proof, number, sum=((w, -x), *others)),
        "a weight is another": changed(proof, number, sum=((w, x), (3, others[0][1]), *others[1:])),
        "a lemma is used before it is there": changed(proof, using, using=(using,)),
        "nothing is used": changed(proof, using, using=()),
        "a lemma about the constant": replace(proof, lemmas=(*proof.lemmas, SumLemma((), (), ((1, 1),)))),
        "no gates are added": replace(proof, gates=()),
    }


ATTACKS = sorted(attacks(SumProof((), (SumLemma((), (0,), ((1, 2), (2, 3))),), (0,))))


@pytest.mark.parametrize("attack", ATTACKS)
def test_a_wrong_proof_is_refused(attack):
    query = query_of(SMALL, SMALL.netlist())
    proof = prove_sums(query)
    EqualSums(query).check(proof)
    with pytest.raises((NotRefutedError, IndexError)):
        EqualSums(query).check(attacks(proof)[attack])


def as_json(proof: SumProof) -> dict[str, object]:
    lemmas = [(x.inputs, x.using, x.sum) for x in proof.lemmas]
    return json.loads(json.dumps({"gates": proof.gates, "lemmas": lemmas, "order": proof.order}))


@pytest.mark.parametrize("attack", [None, *ATTACKS])
def test_the_checker_decides_alike(attack):
    import mmaproof_check as checker

    from mmaproof.smt.bundles.writing import lemma_script

    query = query_of(SMALL, SMALL.netlist())
    proof = prove_sums(query)
    checker.SPENT.update(dict.fromkeys(checker.LIMITS, 0))
    terms = checker.Terms()
    text = lemma_script(query.symbols, (counterexamples(SMALL, SMALL.netlist()),))
    script = checker.Script(text, "lemma", terms)
    g, words, _ = checker.translated(terms, script.asserted)
    given = as_json(proof if attack is None else attacks(proof)[attack])
    if attack is None:
        assert checker.check_sums(terms, g, words, script.asserted[-1], given) == len(proof.lemmas)
    else:
        with pytest.raises((checker.Rejected, checker.NotABundle)):
            checker.check_sums(terms, g, words, script.asserted[-1], given)


def test_the_checker_accepts_the_proof_of_a_unit_that_was_mapped(tmp_path):
    import mmaproof_check as checker

    from mmaproof.smt.bundles.writing import lemma_script

    pytest.importorskip("pyosys")
    unit = Datapath("booth4", "dadda", "kogge-stone", 4, count=2, result=12, with_c=True)
    netlist = unit.netlist().mapped(tmp_path)
    query = query_of(unit, netlist)
    proof = prove_sums(query)
    checker.SPENT.update(dict.fromkeys(checker.LIMITS, 0))
    terms = checker.Terms()
    script = checker.Script(lemma_script(query.symbols, (counterexamples(unit, netlist),)), "lemma", terms)
    g, words, _ = checker.translated(terms, script.asserted)
    assert checker.check_sums(terms, g, words, script.asserted[-1], as_json(proof)) == len(proof.lemmas)
