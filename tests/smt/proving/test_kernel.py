"""A theorem is made by the kernel alone, from leaves that were refuted, used of terms that are as these assume."""

import copy
import itertools
import pickle
import random

import pytest
from pysmt.environment import Environment

from mmaproof.smt.algebra.terms import TermAlgebra
from mmaproof.smt.bundles.writing import Refutations
from mmaproof.smt.proving.kernel import Closure, Kernel, NotComposedError, Theorem, is_theorem
from mmaproof.smt.solving.limits import Limits
from mmaproof.smt.solving.refuting import NotRefutedError, Refuter

WIDTH = 4


@pytest.fixture
def environment():
    return Environment()


def words(environment, count):
    algebra = TermAlgebra(environment)
    return [algebra.symbol(f"w{i}", WIDTH).data for i in range(count)]


def symbols(environment):
    """All symbols that the tests of the closure read."""
    truths = [environment.formula_manager.Symbol(name) for name in "pqr"]
    return [*words(environment, 4), *truths]


def word(environment, name, width=WIDTH):
    return TermAlgebra(environment).symbol(name, width).data


@pytest.fixture
def proving(environment):
    """Return a kernel whose root a formula over a and b is, and which refutes by clausal proofs."""
    with Refuter(1 << 30) as refuter:
        refute = Refutations(refuter, Limits(60, 1 << 30)).refute

        def kernel(root):
            return Kernel(environment, root, refute)

        yield kernel


def test_equal_operands_give_equal_results(environment):
    m = environment.formula_manager
    a, b, c, d = words(environment, 4)
    known = Closure(environment, symbols(environment))
    outer = m.BVMul(m.BVAdd(a, b), c), m.BVMul(m.BVAdd(d, b), c)
    assert not known.same(*outer)
    known.merge(a, d)
    assert known.same(*outer)
    assert not known.same(m.BVAdd(a, b), m.BVAdd(b, a))
    assert not known.same(m.BVExtract(a, 0, 1), m.BVExtract(d, 1, 2))


def test_it_agrees_with_its_definition(environment):
    """The classes of random terms under random equations are those that repeated comparison finds."""
    m, draw = environment.formula_manager, random.Random(3)
    for _ in range(30):
        terms = words(environment, 4)
        while len(terms) < 20:
            terms.append(draw.choice((m.BVAdd, m.BVMul))(draw.choice(terms), draw.choice(terms)))
        terms = list(dict.fromkeys(terms))
        known, equal = Closure(environment, symbols(environment)), {x: x for x in terms}
        for _ in range(3):
            x, y = draw.choice(terms), draw.choice(terms)
            known.merge(x, y)
            equal = {z: equal[x] if equal[z] == equal[y] else equal[z] for z in terms}
        changed = True
        while changed:
            changed = False
            for x, y in itertools.combinations([t for t in terms if t.args()], 2):
                alike = x.node_type() == y.node_type() and [equal[z] for z in x.args()] == [equal[z] for z in y.args()]
                if alike and equal[x] != equal[y]:
                    old, new, changed = equal[y], equal[x], True
                    equal = {z: new if v == old else v for z, v in equal.items()}
        for x, y in itertools.combinations(terms, 2):
            assert known.same(x, y) == (equal[x] == equal[y])


def test_what_holds_is_what_was_noted_and_no_more(environment):
    m = environment.formula_manager
    p, q, r = (m.Symbol(name) for name in "pqr")
    known = Closure(environment, symbols(environment))
    known.hold(m.Or(p, q))
    assert [known.holds(x) for x in (m.Or(p, q), p, q, m.And(p, q), m.Not(p))] == [True, False, False, False, False]
    known.hold(p)
    assert [known.holds(x) for x in (p, m.And(p, q), m.Not(p))] == [True, False, False]
    known.refute(m.Not(q))
    assert [known.holds(x) for x in (q, m.And(p, q), m.Not(q))] == [True, True, False]
    known.refute(r)
    assert [known.holds(x) for x in (r, m.Not(r))] == [False, True]
    assert not known.contradictory
    known.hold(r)
    assert known.contradictory


def test_other_operators_and_other_bits_are_not_equal(environment):
    m = environment.formula_manager
    a, b, c = words(environment, 3)
    known = Closure(environment, symbols(environment))
    known.merge(a, b)
    alike = [(m.BVAdd, True), (m.BVSub, False), (m.BVMul, False)]
    assert [known.same(m.BVAdd(a, c), of(b, c)) for of, _ in alike] == [same for _, same in alike]
    bits = [(0, 1), (1, 2), (0, 2)]
    assert [known.same(m.BVExtract(a, 0, 1), m.BVExtract(b, *x)) for x in bits] == [True, False, False]
    assert not known.same(m.BVZExt(a, 1), m.BVZExt(b, 2))


def test_a_theorem_says_who_refuted_its_leaves(environment, proving):
    m = environment.formula_manager
    a, b = words(environment, 2)
    kernel = proving(m.And(m.BVULT(a, b), m.BVULT(b, a)))
    with pytest.raises(NotComposedError, match="do not refute the counterexamples"):
        kernel.theorem()
    x, y = word(environment, "x"), word(environment, "y")
    kernel.use(m.Not(m.BVULT(y, x)), [m.BVULT(x, y)], "less is not more", {x: a, y: b})
    theorem = kernel.theorem()
    assert is_theorem(theorem)
    assert theorem.root is kernel.root
    assert [(leaf.stated.why, leaf.refuted_by) for leaf in theorem.leaves] == [("less is not more", "a clausal proof")]
    assert [(step.leaf, dict(step.given)) for step in theorem.steps] == [(0, {"x": a, "y": b})]
    for mapping in (theorem.leaves[0].stated.query.symbols, theorem.steps[0].given, theorem.definitions):
        with pytest.raises(TypeError):
            mapping["z"] = 1


def test_nobody_else_makes_a_theorem(environment, proving):
    m = environment.formula_manager
    p = m.Symbol("p")
    kernel = proving(m.And(p, m.Not(p)))
    genuine = kernel.theorem()
    for forge in (
        Theorem,
        lambda: Theorem(genuine.root, {}, (), ()),
        lambda: type("Forged", (Theorem,), {"__init__": lambda self: None})(),
        lambda: object.__new__(Theorem),
        lambda: copy.copy(genuine),
        lambda: copy.deepcopy(genuine),
        lambda: pickle.loads(pickle.dumps(genuine)),
    ):
        try:
            made = forge()
        except TypeError:
            continue
        assert not is_theorem(made)
    for name in ("root", "leaves", "steps", "definitions"):
        with pytest.raises(TypeError, match="does not change"):
            setattr(genuine, name, p)
    with pytest.raises(TypeError):
        genuine.definitions[p] = p
    with pytest.raises(TypeError, match="no subclasses"):
        type("Forging", (Kernel,), {"complete": True})
    assert is_theorem(genuine)
    assert not any(map(is_theorem, (None, True, kernel, genuine.root)))


def test_a_leaf_that_something_satisfies_is_refused(environment, proving):
    m = environment.formula_manager
    a, b = words(environment, 2)
    kernel = proving(m.Not(m.Equals(a, b)))
    for refused in (kernel.refute, kernel.use):
        with pytest.raises(NotComposedError, match="a false claim: .*satisfiable"):
            refused(m.Equals(a, b), [], "a false claim")
    assert not kernel.complete
    assert not kernel.same(a, b)


def test_who_refutes_nothing_in_time_gives_no_leaf(environment):
    def never(query, seconds):
        raise NotRefutedError(f"not within {seconds} s")

    m = environment.formula_manager
    (a,) = words(environment, 1)
    kernel = Kernel(environment, m.BVULT(a, a), never)
    with pytest.raises(NotComposedError, match=r"irreflexive: not within 2\.5 s"):
        kernel.use(m.Not(m.BVULT(a, a)), [], "irreflexive", seconds=2.5)
    with pytest.raises(NotComposedError, match="do not refute"):
        kernel.theorem()


def test_a_leaf_is_used_only_where_its_assumptions_hold(environment, proving):
    m = environment.formula_manager
    a, b = words(environment, 2)
    zero = m.BV(0, WIDTH)
    positive = m.BVULT(zero, a)
    for root, known in ((m.Equals(a, b), False), (m.And(positive, m.Equals(a, b)), True)):
        kernel = proving(root)
        if not known:
            with pytest.raises(NotComposedError, match="not known to hold"):
                kernel.use(m.Not(m.Equals(a, zero)), [positive], "a claim")
            assert not kernel.holds(m.Not(m.Equals(a, zero)))
            continue
        kernel.use(m.Not(m.Equals(a, zero)), [positive], "a claim")
        assert kernel.holds(m.Not(m.Equals(a, zero)))
        assert kernel.holds(m.Not(m.Equals(b, zero)))
        assert not kernel.complete


def test_terms_in_the_place_of_symbols_are_known_and_fit(environment, proving):
    m = environment.formula_manager
    a, b = words(environment, 2)
    kernel = proving(m.BVULT(a, b))
    x = word(environment, "x")
    claim = m.Equals(m.BVSub(x, x), m.BV(0, WIDTH))
    with pytest.raises(NotComposedError, match="another sort"):
        kernel.use(claim, [], "a law", {x: word(environment, "wide", WIDTH + 1)})
    with pytest.raises(NotComposedError, match="another sort"):
        kernel.use(claim, [], "a law", {x: m.BVULT(a, b)})
    for given in (None, {x: word(environment, "y")}, {x: m.BVAdd(a, x)}):
        with pytest.raises(NotComposedError, match="not an operand, and no variable"):
            kernel.use(claim, [], "a law", given)
    kernel.use(claim, [], "a law", {x: m.BVAdd(a, b)})
    assert kernel.holds(m.Equals(m.BVSub(m.BVAdd(a, b), m.BVAdd(a, b)), m.BV(0, WIDTH)))
    assert not kernel.holds(m.Equals(m.BVSub(a, a), m.BV(0, WIDTH)))


def test_a_variable_is_new_and_defined_by_what_is_known(environment, proving):
    m = environment.formula_manager
    a, b = words(environment, 2)
    v, w = word(environment, "v"), word(environment, "w")
    kernel = proving(m.BVULT(a, b))
    for variable, definition, why in (
        (a, b, "not a new variable"),
        (v, w, "not an operand, and no variable"),
        (v, v, "not an operand, and no variable"),
        (v, m.BVAdd(a, v), "not an operand, and no variable"),
        (v, m.BVULT(a, b), "different sorts"),
        (v, m.BVConcat(a, b), "different sorts"),
        (m.BVAdd(a, b), a, "different sorts|no symbol"),
    ):
        with pytest.raises(NotComposedError, match=why):
            kernel.define(variable, definition)
    kernel.define(v, m.BVAdd(a, b))
    with pytest.raises(NotComposedError, match="not a new variable"):
        kernel.define(v, a)
    kernel.define(w, v)
    assert kernel.same(w, m.BVAdd(a, b))
    assert list(kernel.definitions) == [v, w]


def test_leaves_that_differ_in_more_than_names_are_two(environment, proving):
    m = environment.formula_manager
    a, b = words(environment, 2)
    kernel = proving(m.And(m.BVULT(a, b), m.BVULT(b, a)))
    zero = m.BV(0, WIDTH)
    claims = (
        m.Equals(m.BVSub(a, a), zero),
        m.Equals(m.BVAdd(m.BVSub(a, b), b), a),
        m.Equals(m.BVAdd(b, m.BVSub(a, b)), a),
        m.Equals(m.BVSub(b, b), zero),
    )
    for claim in claims:
        kernel.use(claim, [], "a claim")
        kernel.use(claim, [], "again, which is not a step")
    kernel.use(m.Not(m.BVULT(b, a)), [m.BVULT(a, b)], "less is not more")
    theorem = kernel.theorem()
    assert [x.leaf for x in theorem.steps] == [0, 1, 2, 0, 3]
    assert len(theorem.leaves) == 4


def test_the_same_claim_without_its_assumption_is_another_leaf(environment, proving):
    m = environment.formula_manager
    a, b = words(environment, 2)
    kernel = proving(m.And(m.BVULT(a, b), m.BVULT(b, a)))
    kernel.refute(m.Not(m.BVULT(b, a)), [m.BVULT(a, b)], "less is not more")
    with pytest.raises(NotComposedError, match="satisfiable"):
        kernel.use(m.Not(m.BVULT(b, a)), [], "less is never more")
    assert not kernel.complete


def test_symbols_of_another_environment_are_refused(environment, proving):
    m, other = environment.formula_manager, Environment().formula_manager
    p, foreign = m.Symbol("p"), other.Symbol("p")
    kernel = proving(p)
    with pytest.raises(NotComposedError, match="another environment"):
        kernel.define(foreign, m.FALSE())
    with pytest.raises(NotComposedError, match="another environment"):
        proving(foreign)
    with pytest.raises(NotComposedError, match="not an operand, and no variable"):
        kernel.use(other.Not(other.And(foreign, other.Not(foreign))), [], "a claim")
    assert not kernel.complete
