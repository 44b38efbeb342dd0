"""Terms in the place of others, as pySMT's own substituter puts them there."""

import random

from pysmt.environment import Environment
from pysmt.typing import BV8

from mmaproof.smt.proving.walk import Substitution, substituted


def _terms(environment, seed):
    """Some words and truth values over x, y and z, each made of the ones before."""
    m, rng = environment.formula_manager, random.Random(seed)
    words = [m.Symbol(n, BV8) for n in "xyz"]
    truths = [m.Equals(words[0], words[1])]
    for _ in range(30):
        a, b, c = rng.choice(words), rng.choice(words), rng.choice(truths)
        words.append(
            rng.choice(
                [
                    m.BVSub(a, b),
                    m.BVConcat(m.BVExtract(a, 2, 5), m.BVExtract(b, 0, 3)),
                    m.Ite(c, a, b),
                    m.BVExtract(m.BVSExt(a, 4), 3, 10),
                    m.BVLShr(a, b),
                ]
            )
        )
        truths.append(rng.choice([m.BVULT(a, b), m.Not(c), m.And(c, m.BVSLE(b, a)), m.Or(m.Not(c), m.Equals(a, b))]))
    return words, truths


def test_a_term_is_that_of_pysmt():
    for seed in range(20):
        environment = Environment()
        words, truths = _terms(environment, seed)
        places = {words[0]: words[4], words[5]: words[1], words[7]: words[2], truths[3]: truths[0]}
        substitute = Substitution(environment, places)
        for term in (*words, *truths):
            assert substitute(term) is environment.substituter.substitute(term, places)


def test_what_was_put_somewhere_is_not_read_again():
    environment = Environment()
    m = environment.formula_manager
    x, y = (m.Symbol(n, BV8) for n in "xy")
    assert substituted(environment, m.BVAdd(x, y), {x: m.BVAdd(x, y), y: x}) is m.BVAdd(m.BVAdd(x, y), x)
    assert substituted(environment, m.BVNeg(x), {y: x}) is m.BVNeg(x)
