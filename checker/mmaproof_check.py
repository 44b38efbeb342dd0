"""`mmaproof-check DIR` finds out whether a proof bundle is right.

A bundle (docs/bundle.md of mmaproof) says that no values of some operands satisfy claim.smt2, and has the proof. One of
a bound says how far a matrix product is from the exact one at most, and has lemmas and their derivation.
This program needs Python alone, writes nothing and trusts no file: what it accepts, it computed.
Exit status 0: every part of the proof is right, so the claim is proved. 1: a part is wrong. 2: DIR is not a bundle.
"""

import argparse
import dataclasses
import functools
import hashlib
import json
import re
import shlex
import subprocess
import sys
import time
from fractions import Fraction
from pathlib import Path

FORM, OF_BOUNDS = "mmaproof-bundle-1", "mmaproof-bound-1"
KINDS = ("smt2", "cnf", "map.json", "lrat")  # the files of a lemma; the first alone where all values are tried
MOST_TRIED, AT_ONCE = 24, 16  # bits of which all values are tried, and of which they are tried at once
LIMITS = {"files": 1 << 14, "bytes": 1 << 28, "terms": 1 << 22, "bit operations": 1 << 24, "inputs of gates": 1 << 21}
LIMITS |= {"literals of proofs": 1 << 28, "evaluations of gates": 1 << 39}  # of a whole bundle
MOST_BITS, MOST_BYTES, MOST_GATES = 2048, 1 << 25, 1 << 16  # of a word, a file, a lemma of which all values are tried
SPENT = dict.fromkeys(LIMITS, 0)
WORDS = ("bvand", "bvor", "bvxor", "bvadd", "bvsub", "bvmul", "bvshl", "bvlshr", "bvashr", "bvnot", "bvneg")
INDICES = re.compile("[0-9]{1,4}( [0-9]{1,4})?", re.ASCII)
INDEXED = {"extract": 2, "zero_extend": 1, "sign_extend": 1}
ATOM = r"(?![\d@.])[\w~!@$%^&*+=<>.?/-]+|\|(?!#|\d*\|)[^|\\]*\||#b[01]+|#x[\da-fA-F]+|0|[1-9]\d*"
TOKEN = re.compile(rf"[ \n]+|;[^\n]*|(?P<token>[()]|(?:{ATOM})(?=[ \n();]|\Z))|(?P<odd>.)", re.ASCII)
SHAPES = {("xor", 2), ("ite", 3), ("and", 2)}  # gates that a proof about adders adds: kind, number of inputs
TRUE, FALSE = 1, -1
FORMATS = {  # bits of exponent and fraction, lower bits that are not read, bias, magnitude of the largest finite number
    "fp32": (8, 23, 0, 127, 0x7F7FFFFF),
    "tf32": (8, 10, 13, 127, 0x7F7FE000),
    "bf16": (8, 7, 0, 127, 0x7F7F),
    "fp16": (5, 10, 0, 15, 0x7BFF),
    "e5m2": (5, 2, 0, 15, 0x7B),
    "e4m3": (4, 3, 0, 7, 0x7E),
}


class Rejected(Exception):
    """Some part of the bundle is not right."""


class NotABundle(Exception):
    """The folder cannot be read as a bundle."""


def require(condition, problem, error=Rejected):
    """Raise an error with a text, unless the condition holds."""
    if not condition:
        raise error(problem)


def spend(what, amount=1):
    """Count what a bundle takes. Raise NotABundle above the limit."""
    SPENT[what] += amount
    require(SPENT[what] <= LIMITS[what], f"it is over the limit of {LIMITS[what]} {what}", NotABundle)


def result_width(operator, indices, widths):
    """Return the width of a term in bits, 0 for a truth value. Raise NotABundle if the operands do not fit."""
    match operator, widths:
        case ("not", [0]) | ("=>", [0, 0]) | ("and" | "or", [0, 0, *_]) if not any(widths):
            return 0
        case ("=" | "bvult" | "bvule" | "bvslt" | "bvsle", [x, y]) if x == y and (x or operator == "="):
            return 0
        case ("ite", [0, x, y]) if x == y:
            return x
        case (_, [x, *y]) if x and operator in WORDS and y == [x] * (operator not in ("bvnot", "bvneg")):
            return x
        case ("concat", [x, y]) if x and y:
            return x + y
        case ("zero_extend" | "sign_extend", [x]) if x:
            return x + indices[0]
        case ("extract", [x]) if indices[1] <= indices[0] < x:
            return indices[0] - indices[1] + 1
    raise NotABundle(f"({operator} ...) with indices {list(indices)} does not apply to widths {list(widths)}")


class Terms:
    """Terms. Each is its position in ``rows``: operator, indices (or name, or value), operands, width."""

    def __init__(self):
        self.rows, self.known = [], {}
        self.true, self.false = self.add("const", (1,), (), 0), self.add("const", (0,), (), 0)

    def add(self, operator, indices, operands, width=None):
        if width is None:
            width = result_width(operator, indices, [self.rows[x][3] for x in operands])
        require(width <= MOST_BITS, f"a word of {width} bits is over the limit of {MOST_BITS}", NotABundle)
        spend("terms", 1 + len(operands))
        key = (operator, indices, operands, width)
        if key not in self.known:
            self.known[key] = len(self.rows)
            self.rows.append(key)
        return self.known[key]

    def ordered(self, roots):
        """Yield the terms of ``roots``, each once and after its operands: the first visit, from left to right."""
        seen = set()
        for root in roots:
            pending = [root]
            while pending:
                x = pending.pop()
                missing = [] if x in seen else [y for y in self.rows[x][2] if y not in seen]
                if missing:
                    pending += [x, *reversed(missing)]
                elif x not in seen:
                    seen.add(x)
                    yield x

    def conjuncts(self, root):
        pending, seen = [root], set()
        while pending:
            x = pending.pop()
            if self.rows[x][0] == "and":
                spend("terms", len(self.rows[x][2]))
                pending += {*self.rows[x][2]} - seen
                seen.update(self.rows[x][2])
            else:
                yield x


def commands_of(text, name):
    """Return the commands of a script as nested lists of texts."""
    stack = [[]]
    for match in TOKEN.finditer(text):
        odd, token = text[match.start() : match.start() + 20], match["token"]
        require(match["odd"] is None, f"{name}: {odd!r} is not a SMT-LIB that is read here", NotABundle)
        if token == "(":
            stack.append([])
        elif token == ")":
            require(len(stack) > 1, f"{name}: a parenthesis is closed that was not opened", NotABundle)
            stack[-2].append(stack.pop())
        elif token is not None:
            require(stack[-1] or token[0] != "|", f"{name}: {token[:60]} is not an operator", NotABundle)
            stack[-1].append(token.strip("|"))
    require(len(stack) == 1, f"{name}: a parenthesis is not closed", NotABundle)
    return stack[0]


class Script:
    """Symbols, definitions in order, assertions. Given ``operands``, what has a name without $ is a variable."""

    def __init__(self, text, name, terms, operands=None):
        self.name, self.terms, self.operands = name, terms, operands
        self.symbols, self.defined, self.asserted = {}, {}, []
        self.named = {"true": terms.true, "false": terms.false}
        for command in (commands := commands_of(text, name)):
            match command:
                case ["set-logic", "QF_BV"] | ["check-sat"] | ["get-value", [*_]]:
                    list(map(self._term, command[1] if command[0] == "get-value" else ()))
                case ["declare-const", str(symbol), sort]:
                    self.symbols[symbol] = self._name(symbol, terms.add("symbol", (symbol,), (), self._width(sort)))
                case ["define-fun", str(symbol), [], sort, body]:
                    self._define(symbol, self._width(sort), self._term(body))
                case ["assert", body]:
                    self.asserted.append(self._term(body))
                    require(terms.rows[self.asserted[-1]][3] == 0, f"{name}: it asserts no truth value", NotABundle)
                case _:
                    raise NotABundle(f"{name}: {str(command)[:60]} is not a command that is read here")
        order = "".join(x[0][0] for x in commands)
        require(re.fullmatch("s?[da]*(cg*)?", order), f"{name}: its commands have another order", NotABundle)

    def _define(self, symbol, width, body):
        require(self.terms.rows[body][3] == width, f"{self.name}: {symbol} has another sort than its term", NotABundle)
        if self.operands is not None and not symbol.startswith("$"):
            require(symbol not in self.operands, f"{self.name}: {symbol} is an operand")
            # its term was read before it has a name, so it mentions none but earlier variables
            self.defined[symbol] = (self.terms.add("symbol", (symbol,), (), width), body)
        self._name(symbol, self.defined.get(symbol, (body,))[0])

    def _name(self, symbol, term):
        fresh = symbol not in self.named and symbol not in CIRCUITS and not re.match("#|[0-9]", symbol)
        require(fresh, f"{self.name}: {symbol!r} is named already, an operator or a constant", NotABundle)
        self.named[symbol] = term
        return term

    def _width(self, sort):
        match sort:
            case "Bool":
                return 0
            case ["_", "BitVec", str(bits)] if re.fullmatch("[1-9][0-9]{0,3}", bits, re.ASCII):
                return int(bits)
        raise NotABundle(f"{self.name}: {str(sort)[:60]} is not a sort that is read here")

    def _term(self, tree):
        """Return the term of a nested list, of any depth."""
        pending, done = [(tree, None)], []
        while pending:
            x, count = pending.pop()
            if count is not None:
                first = len(done) - count
                done[first:] = [self.terms.add(*self._operator(x), tuple(done[first:]))]
            elif isinstance(x, str):
                done.append(self._leaf(x))
            else:
                require(x, f"{self.name}: () is not a term", NotABundle)
                pending += [(x[0], len(x) - 1), *((y, None) for y in reversed(x[1:]))]
        return done[0]

    def _operator(self, x):
        match x:
            case str() if x not in INDEXED:
                return x, ()
            case ["_", str(name), *i] if len(i) == INDEXED.get(name) and INDICES.fullmatch(" ".join(map(str, i))):
                return name, tuple(map(int, i))
        raise NotABundle(f"{self.name}: {str(x)[:60]} is not an operator")

    def _leaf(self, x):
        if x in self.named:
            return self.named[x]
        require(re.fullmatch("#x[0-9a-fA-F]+|#b[01]+", x, re.ASCII), f"{self.name}: {x!r} is not known", NotABundle)
        base, bits = (16, 4) if x[1] == "x" else (2, 1)
        return self.terms.add("const", (int(x[2:], base),), (), bits * len(x[2:]))


class Gates:
    """The translation into clauses: gates over literals. A word is a list of literals, the lowest bit first."""

    def __init__(self):
        self.variables, self.clauses, self.made = 1, {(TRUE,)}, {}

    def word(self, width):
        self.variables += max(width, 1)
        return list(range(self.variables - max(width, 1) + 1, self.variables + 1))

    def gate(self, key, clauses):
        if key not in self.made:
            spend("inputs of gates", len(key) - 1)
            self.made[key] = z = self.word(1)[0]
            self.clauses.update(tuple(sorted(c)) for c in clauses(z))
        return self.made[key]

    def all_of(self, literals):
        inputs = sorted(set(literals) - {TRUE})
        if FALSE in inputs or any(-x in inputs for x in inputs):
            return FALSE
        if len(inputs) < 2:
            return inputs[0] if inputs else TRUE
        return self.gate(("and", *inputs), lambda z: [*([-z, x] for x in inputs), [z, *(-x for x in inputs)]])

    def xor(self, x, y):
        if abs(x) == abs(y):
            return FALSE if x == y else TRUE
        x, y = sorted((x, y), key=abs)
        if abs(x) == TRUE:
            return -y if x == TRUE else y
        sign, x, y = 1 if (x > 0) == (y > 0) else -1, abs(x), abs(y)
        return sign * self.gate(("xor", x, y), lambda z: [[-z, x, y], [-z, -x, -y], [z, -x, y], [z, x, -y]])

    def ite(self, c, x, y):
        c, x, y = (-c, y, x) if c < 0 else (c, x, y)
        x = TRUE if x == c else FALSE if x == -c else x
        y = FALSE if y == c else TRUE if y == -c else y
        if c == TRUE or x == y:
            return x
        if abs(x) == TRUE:
            return -self.all_of([-c, -y]) if x == TRUE else self.all_of([-c, y])
        if abs(y) == TRUE:
            return -self.all_of([c, -x]) if y == TRUE else self.all_of([c, x])
        if x == -y:
            return self.xor(c, y)
        sign, x, y = (1, x, y) if x > 0 else (-1, -x, -y)
        sides = lambda z: [[-c, -x, z], [-c, x, -z], [c, -y, z], [c, y, -z], [-x, -y, z], [x, y, -z]]
        return sign * self.gate(("ite", c, x, y), sides)

    def less(self, x, y, less):
        for p, q in zip(x, y):
            less = self.ite(self.xor(p, q), q, less)
        return less

    def sum(self, x, y, carry=FALSE):
        total = []
        for p, q in zip(x, y):
            differ = self.xor(p, q)
            total.append(self.xor(differ, carry))
            carry = self.ite(differ, carry, p)
        return total

    def product(self, x, y):
        spend("bit operations", 4 * len(x) ** 2)
        total = [FALSE] * len(x)
        for i, q in enumerate(y):
            row = [self.all_of([p, q]) for p in x[: len(x) - i]]
            total = total[:i] + self.sum(total[i:], row)
        return total

    def shifted(self, x, amount, fill):
        spend("bit operations", len(x) * sum(bit != FALSE for bit in amount))
        for i, bit in enumerate(amount):
            step = min(1 << i, len(x))
            x = x if bit == FALSE else [self.ite(bit, p, q) for p, q in zip(x[step:] + [fill] * step, x)]
        return x


CIRCUITS = {  # the word of each operator: of gates, indices and the words of its operands
    **dict.fromkeys(["not", "bvnot"], lambda g, i, x: [-p for p in x]),
    "and": lambda g, i, *v: [g.all_of([p for (p,) in v])],
    "or": lambda g, i, *v: [-g.all_of([-p for (p,) in v])],
    "=>": lambda g, i, x, y: [-g.all_of([x[0], -y[0]])],
    "=": lambda g, i, x, y: [g.all_of([-g.xor(p, q) for p, q in zip(x, y)])],
    "ite": lambda g, i, c, x, y: [g.ite(c[0], p, q) for p, q in zip(x, y)],
    "bvult": lambda g, i, x, y: [g.less(x, y, FALSE)],
    "bvule": lambda g, i, x, y: [g.less(x, y, TRUE)],
    "bvslt": lambda g, i, x, y: [g.less([*x[:-1], -x[-1]], [*y[:-1], -y[-1]], FALSE)],
    "bvsle": lambda g, i, x, y: [g.less([*x[:-1], -x[-1]], [*y[:-1], -y[-1]], TRUE)],
    "bvand": lambda g, i, x, y: [g.all_of([p, q]) for p, q in zip(x, y)],
    "bvor": lambda g, i, x, y: [-g.all_of([-p, -q]) for p, q in zip(x, y)],
    "bvxor": lambda g, i, x, y: [g.xor(p, q) for p, q in zip(x, y)],
    "bvneg": lambda g, i, x: g.sum([FALSE] * len(x), [-p for p in x], TRUE),
    "bvadd": lambda g, i, x, y: g.sum(x, y),
    "bvsub": lambda g, i, x, y: g.sum(x, [-q for q in y], TRUE),
    "bvmul": lambda g, i, x, y: g.product(*sorted((x, y))),
    "bvshl": lambda g, i, x, y: g.shifted(x[::-1], y, FALSE)[::-1],
    "bvlshr": lambda g, i, x, y: g.shifted(x, y, FALSE),
    "bvashr": lambda g, i, x, y: g.shifted(x, y, x[-1]),
    "concat": lambda g, i, x, y: y + x,
    "extract": lambda g, i, x: x[i[1] : i[0] + 1],
    "zero_extend": lambda g, i, x: x + [FALSE] * i[0],
    "sign_extend": lambda g, i, x: x + [x[-1]] * i[0],
}


def translated(terms, roots, values=None):
    """Return the gates, the word of each term, and that of each symbol: ``values`` has them where they are given."""
    g, words, symbols = Gates(), {}, {}
    for x in terms.ordered(roots):
        operator, indices, operands, width = terms.rows[x]
        spend("bit operations", sum(terms.rows[y][3] + 1 for y in (x, *operands)))
        if operator == "symbol" and values is None:
            words[x] = symbols[indices[0]] = g.word(width)
        elif operator in ("symbol", "const"):
            value = indices[0] if operator == "const" else values[indices[0]]
            words[x] = [TRUE if value >> i & 1 else FALSE for i in range(max(width, 1))]
        else:
            words[x] = CIRCUITS[operator](g, indices, *(words[y] for y in operands))
    return g, words, symbols


def check_all_values(g, roots, symbols, name):
    """Raise Rejected if some values of the symbols make all roots true. Return how many values were tried."""
    read = {abs(x) for _, *inputs in g.made for x in inputs} | {abs(x) for (x,) in roots}
    bits = [x for word in symbols.values() for x in word if x in read]
    require(len(bits) <= MOST_TRIED, f"{name}: it has {len(bits)} bits, and all values of {MOST_TRIED} are tried")
    require(len(g.made) <= MOST_GATES, f"{name}: it is over the limit of {MOST_GATES} gates to be tried", NotABundle)
    spend("evaluations of gates", len(g.made) << len(bits))
    every = (1 << (1 << min(len(bits), AT_ONCE))) - 1
    # the value of a literal is an integer here, with a bit for each assignment of the first AT_ONCE bits
    values = {TRUE: every} | {x: every // ((1 << (1 << i)) + 1) << (1 << i) for i, x in enumerate(bits[:AT_ONCE])}
    of = lambda x: values[x] if x > 0 else values[-x] ^ every
    for row in range(1 << len(bits[AT_ONCE:])):
        values |= {x: every * (row >> i & 1) for i, x in enumerate(bits[AT_ONCE:])}
        for (gate, *inputs), z in g.made.items():  # in the order in which they were made: inputs first
            x, y, *others = map(of, inputs)
            value = x ^ y if gate == "xor" else functools.reduce(int.__and__, others, x & y)
            values[z] = x & y | (x ^ every) & others[0] if gate == "ite" else value
        left = functools.reduce(int.__and__, (of(x) for (x,) in roots))
        require(not left, f"{name}: some values of its symbols satisfy all that it asserts")
    return 1 << len(bits)


def product(x, y):
    """Return the product of two polynomials: products of variables (a set) with their coefficients."""
    spend("terms", len(x) * len(y))
    total = {}
    for p, c in x.items():
        for q, d in y.items():
            total[p | q] = total.get(p | q, 0) + c * d
    return total


def plus(x, y, times=1):
    """Return a polynomial plus a multiple of another one."""
    return {k: c for k in x.keys() | y.keys() if (c := x.get(k, 0) + times * y.get(k, 0))}


def literal(x):
    """Return a literal as a polynomial."""
    one = {frozenset({abs(x)} - {TRUE}): 1}
    return one if x > 0 else plus({frozenset(): 1}, one, -1)


def integer(terms, words, x):
    """Return a polynomial that is a word modulo 2^width, and the least and the largest value that it may have."""
    operator, indices, operands, _ = terms.rows[x]
    if operator == "const":
        return plus({}, {frozenset(): indices[0]}), indices[0], indices[0]
    if operator in ("bvadd", "bvsub", "bvmul", "bvneg", "concat", *INDEXED) and indices[1:] in ((), (0,)):
        parts = [integer(terms, words, y) for y in operands]
        (p, a, b), (q, c, d), top = parts[0], parts[-1], 1 << terms.rows[operands[-1]][3] - 1
        least = -top if operator == "sign_extend" else 0
        match operator:
            case "bvadd":
                return plus(p, q), a + c, b + d
            case "bvsub":
                return plus(p, q, -1), a - d, b - c
            case "bvneg":
                return plus({}, p, -1), -b, -a
            case "bvmul":
                ends = [a * c, a * d, b * c, b * d]
                return product(p, q), min(ends), max(ends)
            case "concat" if c >= 0 and d < 2 * top:
                return plus(q, p, 2 * top), 2 * top * a + c, 2 * top * b + d
            case "extract":
                return parts[0]
            case "zero_extend" | "sign_extend" if least <= a and b < least + 2 * top:
                return parts[0]
    signed = operator == "sign_extend"
    p, word = {}, words[operands[0] if signed else x]
    for i, bit in enumerate(word):
        spend("terms", len(p) + 1)
        p = plus(p, literal(bit), 1 << i)
    half = 1 << len(word) - 1
    return (plus(p, literal(word[-1]), -2 * half), -half, half - 1) if signed else (p, 0, 2 * half - 1)


def gates_below(made, roots, known):
    """Return the gates from which variables are computed, down to those that are known, each after its inputs."""
    pending, cone = list(roots), set()
    while pending:
        x = pending.pop()
        if x not in known and x not in cone:
            require(x in made, f"variable {x} is not a gate, and it is not given", NotABundle)
            cone.add(x)
            pending += map(abs, made[x][1:])
    return sorted(cone)


def adds_up(made, inputs, lemma, used):
    """Return whether literals add up to zero for all values of some inputs for which others do."""
    require(len(inputs) <= AT_ONCE and FALSE not in inputs, "a lemma about adders has too many inputs", NotABundle)
    every = (1 << (1 << len(inputs))) - 1
    values = {abs(x): every // ((1 << (1 << i)) + 1) << (1 << i) for i, x in enumerate(inputs)} | {TRUE: every}
    of = lambda x: values[x] if x > 0 else values[-x] ^ every
    cone = gates_below(made, {abs(x) for y in (lemma, *used) for _, x in y}, values)
    spend("evaluations of gates", len(cone) + 1 << len(inputs))
    for z in cone:
        x, y, *others = map(of, made[z][1:])
        value = x ^ y if made[z][0] == "xor" else functools.reduce(int.__and__, others, x & y)
        values[z] = x & y | (x ^ every) & others[0] if made[z][0] == "ite" else value
    left = every
    for k, y in enumerate((*used, lemma)):
        totals = {0: every}  # a sum: the assignments that have it
        for weight, x in y:
            spend("bit operations", len(totals))
            found = {}
            for total, rows in totals.items():
                found[total + weight] = found.get(total + weight, 0) | rows & of(x)
                found[total] = found.get(total, 0) | rows & (of(x) ^ every)
            totals = found
        left &= totals.get(0, 0) if k < len(used) else totals.get(0, 0) ^ every
    return not left


def check_sums(terms, g, words, root, proof):  # noqa: PLR0912
    """Raise Rejected unless a proof about adders says that two words do not differ. Return the number of its lemmas."""
    operator, _, operands, _ = terms.rows[root]
    equation = terms.rows[operands[0]] if operator == "not" else terms.rows[root]
    modulus = 1 << terms.rows[equation[2][0]][3] if equation[0] == "=" else 0
    require(operator == "not" and modulus > 2, "the last assertion is not that two words differ")
    (x, *_), (y, *_) = (integer(terms, words, z) for z in equation[2])
    left, lemmas = plus(x, y, -1), []
    is_literal = lambda x: type(x) is int and 0 < abs(x) <= g.variables
    form = all(isinstance(proof.get(key), list) for key in ("gates", "lemmas", "order"))
    require(form, "a proof about adders has gates, lemmas and an order", NotABundle)
    for gate in proof["gates"]:
        match gate:
            case [str(kind), *inputs] if all(map(is_literal, inputs)) and (kind, len(inputs)) in SHAPES:
                spend("inputs of gates", len(inputs))
                g.all_of(inputs) if kind == "and" else g.xor(*inputs) if kind == "xor" else g.ite(*inputs)
            case _:
                raise NotABundle(f"{str(gate)[:60]} is not a gate")
    made = {z: key for key, z in g.made.items()}
    for lemma in proof["lemmas"]:
        match lemma:
            case [[*inputs], [*using], [*total]]:
                fits = all(isinstance(z, list) and [*map(type, z)] == [int, int] and is_literal(z[1]) for z in total)
                fits = fits and all(map(is_literal, inputs)) and all(map(range(len(lemmas)).__contains__, using))
                require(fits, f"{str(lemma)[:60]} is not about literals and lemmas before it", NotABundle)
                right = adds_up(made, inputs, total, [lemmas[i] for i in using])
                require(right, f"{str(total)[:60]} do not add up to zero")
                lemmas.append(total)
            case _:
                raise NotABundle(f"{str(lemma)[:60]} is not a lemma about adders")
    require(all(map(range(len(lemmas)).__contains__, proof["order"])), "an order is of lemmas", NotABundle)
    for (weight, first), *others in (lemmas[i] for i in proof["order"]):
        spend("terms", len(others) + 1)
        times = left.get(frozenset({abs(first)}), 0) * (weight if first > 0 else -weight)
        for w, x in ((weight, first), *others):
            for k, c in literal(x).items():
                left[k] = (left.get(k, 0) - times * w * c) % modulus
    left = {k: c for k, c in left.items() if c % modulus}
    given = {x: literal(x) for x in range(1, g.variables + 1) if x not in made}
    of = lambda x: given[x] if x > 0 else plus({frozenset(): 1}, given[-x], -1)
    for z in gates_below(made, {x for k in left for x in k}, given):
        x, y, *others = map(of, made[z][1:])
        both = functools.reduce(product, others if made[z][0] == "and" else (), product(x, y))
        if made[z][0] == "ite":  # c x + (1 - c) y
            both = plus(both, plus(others[0], product(x, others[0]), -1))
        p = plus(plus(x, y), both, -2) if made[z][0] == "xor" else both
        given[z] = {k: c % modulus for k, c in p.items() if c % modulus}
    total = {}
    for k, c in left.items():
        for p, d in functools.reduce(product, (given[x] for x in k), {frozenset(): c}).items():
            total[p] = (total.get(p, 0) + d) % modulus
    require(not any(total.values()), "what adders leave of two words is not equal")
    return len(lemmas)


def check_lrat(clauses, text, name):
    """Raise Rejected unless an LRAT proof leads from the clauses (number -> literals) to the empty clause."""
    clauses, last = dict(clauses), len(clauses)
    for number, line in enumerate(text.splitlines(), 1):
        where = f"{name}, line {number}"
        own, *rest = _numbers(line, where)
        require(rest.count(0) == 2 and rest[-1] == 0, f"{where}: a step is NUMBER LITERALS 0 NUMBERS 0", NotABundle)
        literals, hints = rest[: rest.index(0)], rest[rest.index(0) + 1 : -1]
        require(own > last, f"{where}: the number of a step is greater than those before it")
        false, last = set(literals), own  # each clause named forces the one literal that is left, the last has none
        for hint in hints:
            left = {x for x in clauses.get(hint, ()) if x not in false}
            spend("literals of proofs", len(clauses.get(hint, ())))
            if hint in clauses and not left:
                break
            require(len(left) == 1, f"{where}: clause {hint} forces nothing here")
            false.add(-left.pop())
        else:
            raise Rejected(f"{where}: the clause does not follow from those that it names")
        if not literals:
            return
        clauses[own] = literals
    raise Rejected(f"{name}: the proof ends before the empty clause")


def _numbers(line, where):
    require(re.fullmatch(r"-?[0-9]{1,18}( -?[0-9]{1,18})*", line, re.ASCII), f"{where}: no integers", NotABundle)
    return [int(x) for x in line.split()]


class Known:
    """Which terms are known to be equal (congruence closure). What holds is equal to the constant true."""

    def __init__(self, terms):
        self.terms, self.classes, self.members, self.users, self.forms = terms, [], [], [], {}

    def same(self, x, y):
        self._take()
        return self.classes[x] == self.classes[y]

    def _take(self):
        for x in range(len(self.classes), len(self.terms.rows)):
            self.classes.append(x)
            self.members.append([x])
            self.users.append([])
            for y in self.terms.rows[x][2]:
                self.users[self.classes[y]].append(x)
            self._merge([(x, self.forms.setdefault(self._form(x), x))])

    def _form(self, x):
        operator, indices, operands, width = self.terms.rows[x]
        return operator, indices, tuple(self.classes[y] for y in operands), width

    def merge(self, x, y):
        """Note that two terms are equal, and what follows: equal operators of equal operands are equal."""
        self._take()
        self._merge([(x, y)])

    def _merge(self, pending):
        while pending:
            x, y = (self.classes[z] for z in pending.pop())
            if x == y:
                continue
            if len(self.members[x]) + len(self.users[x]) > len(self.members[y]) + len(self.users[y]):
                x, y = y, x
            for z in self.members[x]:
                self.classes[z] = y
            self.members[y] += self.members[x]
            for z in self.users[x]:
                pending.append((z, self.forms.setdefault(self._form(z), z)))
            self.users[y] += self.users[x]
            self.members[x], self.users[x] = [], []

    def hold(self, term):
        """Note that a truth value holds."""
        for x in self.terms.conjuncts(term):
            self.merge(x, self.terms.true)
            self.merge(*self._sides(x))

    def holds(self, term):
        """Return whether a truth value is known to hold."""
        return all(self.same(x, self.terms.true) or self.same(*self._sides(x)) for x in self.terms.conjuncts(term))

    def _sides(self, x):
        operator, _, operands, _ = self.terms.rows[x]
        return {"=": operands, "not": (*operands, self.terms.false)}.get(operator, (x, self.terms.true))


class Bundle:
    """The files of a folder. Each is read once, and its hash is compared with the manifest."""

    def __init__(self, folder):
        self.folder, self.hashes, self.unread, there = folder, {"manifest.json": ""}, set(), set()
        for path in folder.rglob("*"):
            name, _ = path.relative_to(folder).as_posix(), spend("files")
            regular = not path.is_symlink() and (path.is_dir() if name == "lemmas" else path.is_file())
            require(regular, f"{name!r} is not a regular file", NotABundle)
            there.add(name)
        manifest = self.object("manifest.json")
        self.form, self.hashes = manifest.get("form"), manifest.get("files")
        known = self.form in (FORM, OF_BOUNDS)
        require(known, f"manifest.json: the form is {self.form!r}, and {FORM!r} is read here", NotABundle)
        require(isinstance(self.hashes, dict), "manifest.json: files are names with their hashes", NotABundle)
        odd = sorted(there - {"lemmas"} ^ {*self.hashes, "manifest.json"})
        require(not odd, f"{odd[:1]} is in the folder or in the manifest, and not in both")
        self.unread = {*self.hashes}

    def text(self, name):
        """Return a file as text. Raise Rejected if its hash is another one."""
        require(name in self.hashes, f"{name} is missing", NotABundle)
        self.unread.discard(name)
        with (self.folder / name).open("rb") as file:
            most = MOST_BYTES if name.endswith((".cnf", ".lrat")) else MOST_BYTES >> 2
            data = file.read(most + 1)
        spend("bytes", len(data))
        require(len(data) <= most, f"{name}: it is over the limit of {most} bytes of such a file", NotABundle)
        odd = re.search(rb"[^ -~\n]", data) or [b""]
        require(odd == [b""], f"{name}: the byte {odd[0].hex()} is not printable ASCII, space or line feed", NotABundle)
        right = name == "manifest.json" or hashlib.sha256(data).hexdigest() == self.hashes[name]
        require(right, f"{name}: its SHA-256 is not the manifest's")
        return data.decode()

    def object(self, name):
        """Return the JSON object of a file. No key is there twice."""
        once = lambda x: require(len(dict(x)) == len(x), f"{name}: a key is there twice", NotABundle) or dict(x)
        found = json.loads(self.text(name), object_pairs_hook=once)
        require(isinstance(found, dict), f"{name}: one JSON object is expected", NotABundle)
        return found


class Lemma:
    """A lemma that was checked: no values of its symbols satisfy all that its script asserts."""

    def __init__(self, bundle, name, outside):
        script = f"lemmas/{name}.smt2"
        self.terms = Terms()
        self.script = Script(bundle.text(script), script, self.terms)
        require(self.script.asserted, f"{script} asserts nothing", NotABundle)
        g, words, symbols = translated(self.terms, self.script.asserted)
        roots = [words[x] for x in self.script.asserted]
        if f"lemmas/{name}.sums.json" in bundle.hashes:
            count = check_sums(
                self.terms, g, words, self.script.asserted[-1], bundle.object(f"lemmas/{name}.sums.json")
            )
            print(f"lemma {name}: {count} lemmas about adders")
            return
        if f"lemmas/{name}.cnf" not in bundle.hashes:
            print(f"lemma {name}: {check_all_values(g, roots, symbols, script)} values of its symbols")
            return
        g.clauses.update((x,) for (x,) in roots)
        files, clauses = [f"lemmas/{name}.{kind}" for kind in KINDS[1:]], {}
        header, *lines = bundle.text(files[0]).split("\n")
        form = re.fullmatch("p cnf [0-9]+ [0-9]+", header, re.ASCII) and lines[-1:] == [""]
        require(form, f"{files[0]}: it begins with a DIMACS header, and ends in a new line")
        for number, line in enumerate(lines[:-1], 1):
            *clauses[number], end = _numbers(line, files[0])
            own = end == 0 and tuple(sorted(clauses[number])) in g.clauses
            require(own, f"{files[0]}: clause {number} is none of the translation of {script}")
        require(bundle.object(files[1]) == symbols, f"{files[1]}: the variables are not those of {script}")
        proof = bundle.text(files[2])
        if outside:
            asked = [*outside, *(str(bundle.folder / files[i]) for i in (0, 2))]
            said = subprocess.run(asked, capture_output=True, text=True, errors="replace", check=False)
            verified = said.returncode == 0 and re.search(r"^[sc] VERIFIED\b", said.stdout, re.MULTILINE)
            require(verified, f"{files[2]}: {outside[0]} does not say VERIFIED: {said.stdout.strip()[-200:]}")
        else:
            check_lrat(clauses, proof, files[2])
        print(f"lemma {name}: {len(clauses)} clauses, {len(proof.splitlines())} steps of proof")


def check(bundle, outside):
    """Check every part of a bundle, and print what was checked. Raise Rejected or NotABundle."""
    terms = Terms()
    claim = Script(bundle.text("claim.smt2"), "claim.smt2", terms)
    composition = bundle.object("composition.json")
    require(len(claim.asserted) == 1, "claim.smt2 asserts one formula", NotABundle)
    check_met(terms, claim, composition.get("met"))
    known = Known(terms)
    known.hold(claim.asserted[0])
    definitions = Script(bundle.text("definitions.smt2"), "definitions.smt2", terms, claim.symbols)
    alone = not definitions.asserted and definitions.symbols.items() <= claim.symbols.items()
    require(alone, "definitions.smt2: it declares operands of the claim and defines variables, and nothing else")
    for variable, term in definitions.defined.values():
        known.merge(variable, term)
    print(f"definitions.smt2: {len(definitions.defined)} variables, each of operands and variables before it")
    lemmas, steps = {}, composition.get("steps")
    for step in steps if isinstance(steps, list) else [None]:
        match step:
            case {"lemma": str(name), "with": dict(given)} if re.fullmatch("[0-9]{4,8}", name, re.ASCII):
                lemmas[name] = lemmas.get(name) or Lemma(bundle, name, outside)
                apply(known, lemmas[name], given, definitions.named, name)
            case _:
                raise NotABundle("composition.json: each of its steps is a lemma and what it is used with")
    print(f"composition.json: {len(steps)} steps")
    require(known.same(terms.true, terms.false), "composition.json: the steps do not contradict counterexamples")


def check_met(terms, claim, met):
    """Check that the values given meet the preconditions of the claim, so that it is not a claim about nothing."""
    operator, _, operands, _ = terms.rows[claim.asserted[0]]
    assumed = operands[:-1] if operator == "and" else ()
    if assumed:
        widths = {x: max(terms.rows[y][3], 1) for x, y in claim.symbols.items()}
        given = isinstance(met, dict) and all(type(met.get(x)) is int and not met[x] >> w for x, w in widths.items())
        words = translated(terms, assumed, met)[1] if given else {}
        right = given and all(words[x] == [TRUE] for x in assumed)
        require(right, "composition.json: the values given do not meet the preconditions")
    print(f"claim.smt2: {len(claim.symbols)} operands, {'preconditions met' if assumed else 'no precondition'}")


def apply(known, lemma, given, named, name):
    """Note what a lemma says of terms: where all that it asserts but the last holds, the last does not."""
    terms, found = known.terms, {lemma.terms.true: known.terms.true, lemma.terms.false: known.terms.false}
    for symbol, own in lemma.script.symbols.items():
        term = named.get(given.get(symbol)) if isinstance(given.get(symbol), str) else None
        fits = term is not None and terms.rows[term][3] == lemma.terms.rows[own][3]
        require(fits, f"composition.json: {given.get(symbol)!r} is not a term for {symbol} of lemma {name}")
        found[own] = term
    for x in lemma.terms.ordered(lemma.script.asserted):
        operator, indices, operands, width = lemma.terms.rows[x]
        found[x] = found[x] if x in found else terms.add(operator, indices, tuple(found[y] for y in operands), width)
    *assumed, refuted = (found[x] for x in lemma.script.asserted)
    for x in assumed:
        require(known.holds(x), f"composition.json: an assumption of lemma {name} is not known to hold")
    known.merge(refuted, terms.false)
    if terms.rows[refuted][0] == "not":
        known.hold(terms.rows[refuted][2][0])


def bits_of(value, width):
    """Return a constant of a script."""
    return f"#b{value % (1 << width):0{width}b}"


def wider(kind, bits, x):
    """Return a word with more bits."""
    return f"((_ {kind}_extend {bits}) {x})" if bits else x


def with_zeros(x, bits):
    """Return a word with zeros below it."""
    return f"(concat {x} {bits_of(0, bits)})" if bits else x


def definition(name, width, text):
    """Return a line that names a word, or a truth value of width 0."""
    return f"(define-fun {name} () {f'(_ BitVec {width})' if width else 'Bool'} {text})"


def shift_up_to(name, most, distance, wide, width):
    """Return lines that name a shift: a distance of ``wide`` bits, at least 0 and at most ``most``, in ``width``."""
    far, none, own = bits_of(most, wide), bits_of(0, wide), most.bit_length()
    near = f"(ite (bvslt {far} {distance}) {far} (ite (bvslt {distance} {none}) {none} {distance}))"
    small = f"((_ extract {own - 1} 0) {name}_near)"
    return [definition(f"{name}_near", wide, near), definition(name, width, wider("zero", width - own, small))]


def near_by(error, unit, half):
    """Return that an error is less than a unit, or at most half of one."""
    if half:
        return f"(and (bvsle (bvadd {error} {error}) {unit}) (bvsle (bvneg {unit}) (bvadd {error} {error})))"
    return f"(and (bvslt {error} {unit}) (bvslt (bvneg {unit}) {error}))"


def parts_of(name, number, wide):
    """Return lines that name the biased exponent and the significand of a pattern, and the width of the latter."""
    exponent_bits, fraction_bits, ignored, _, _ = FORMATS[number]
    top = ignored + fraction_bits + exponent_bits
    field = f"((_ extract {top - 1} {top - exponent_bits}) {name})"
    subnormal = f"(= {field} {bits_of(0, exponent_bits)})"
    one = f"(ite {subnormal} {bits_of(1, exponent_bits)} {field})"
    fraction = f"((_ extract {top - exponent_bits - 1} {ignored}) {name})"
    return [
        definition(f"{name}_exponent", wide, wider("zero", wide - exponent_bits, one)),
        definition(f"{name}_significand", fraction_bits + 1, f"(concat (ite {subnormal} #b0 #b1) {fraction})"),
    ]


def magnitude_up_to(name, number, most):
    """Return that the magnitude of a pattern is at most that of another one."""
    exponent_bits, fraction_bits, ignored, _, _ = FORMATS[number]
    bits = exponent_bits + fraction_bits
    return f"(bvule ((_ extract {bits + ignored - 1} {ignored}) {name}) {bits_of(most >> ignored, bits)})"


def says_cut(p):
    """Return symbols and statement: what is `kept` of a term is less than a unit from it, and within a bound."""
    w, f, cut, kept = p["significand"], p["fraction_bits"], p["cut"], p["kept"]
    far = w + cut + 1
    wide, width = max(p["exponent"], p["e_max"], far.bit_length()) + 1, kept + f + far + 2
    e_max, exponent = (wider("sign", wide - p[x], x) for x in ("e_max", "exponent"))
    bound = bits_of(p["bound"], kept)
    exact = wider("zero", width - w - cut, with_zeros("significand", cut))
    value = wider("sign", width - kept - f, with_zeros("kept", f))
    zero, none = bits_of(0, w), bits_of(0, wide)
    lines = [
        definition("distance", wide, f"(ite (= present #b1) (bvsub {e_max} {exponent}) {none})"),
        *shift_up_to("shift", far, "distance", wide, width),
        definition("unit", width, f"(bvshl {bits_of(1 << f, width)} shift)"),
        definition("exact", width, f"(ite (= negative #b1) (bvneg {exact}) {exact})"),
        definition("error", width, f"(bvsub (bvshl {value} shift) exact)"),
        f"(assert (bvule significand {bits_of(p['largest'], w)}))",
        f"(assert (or (not (= present #b1)) (bvsle {exponent} {e_max})))",
        f"(assert (or (= present #b1) (= significand {zero})))",
        f"(assert (not (and {near_by('error', 'unit', p['half'])} (bvsle kept {bound}) (bvsle (bvneg {bound}) kept))))",
    ]
    return {"significand": w, "exponent": p["exponent"], "e_max": p["e_max"], "negative": 1, "present": 1}, lines


def says_rho(p):
    """Return symbols and statement: `d` is less than a unit in its last place from the sum, or that is too large."""
    total, cut = p["total"], p["cut"]
    exponent_bits, f, ignored, bias, finite = FORMATS[p["format"]]
    unused, up, down = f - p["fraction_bits"], total + 1, f + 2
    wide = max(p["e_max"], exponent_bits, (bias + f + cut).bit_length(), up.bit_length(), down.bit_length()) + 3
    width = max(total + down, f + 1 + up) + 3
    e_max = wider("sign", wide - p["e_max"], "e_max")
    above = f"(bvsub d_exponent (bvadd {e_max} {bits_of(bias + f - cut, wide)}))"
    beside = f"(bvsub {e_max} {bits_of((finite >> f) - bias - f + cut, wide)})"
    top = (finite & (1 << f) - 1 | 1 << f) >> unused << unused
    largest = bits_of(p["largest"], total)
    size = f"(ite (bvslt total {bits_of(0, total)}) (bvneg total) total)"
    number = wider("zero", width - f - 1, "d_significand")
    sign = f"((_ extract {exponent_bits + f} {exponent_bits + f}) d)"
    alike = f"(or (= d_significand {bits_of(0, f + 1)}) (= {sign} (ite (bvslt total {bits_of(0, total)}) #b1 #b0)))"
    kept = [alike, f"(= ((_ extract {unused - 1} 0) d) {bits_of(0, unused)})"] if unused else [alike]
    near = near_by("error", "unit", p["half"])
    lines = [
        *parts_of("d", p["format"], wide),
        definition("above", wide, above),
        *shift_up_to("up", up, "above", wide, width),
        *shift_up_to("down", down, "(bvneg above)", wide, width),
        definition("size", width, wider("zero", width - total, size)),
        definition("unit", width, f"(bvshl {bits_of(1 << unused, width)} up)"),
        definition("error", width, f"(bvsub (bvshl {number} up) (bvshl size down))"),
        definition("beside", wide, beside),
        *shift_up_to("beyond", down, "beside", wide, width),
        *shift_up_to("within", up, "(bvneg beside)", wide, width),
        definition("large", 0, f"(bvult (bvshl {bits_of(top, width)} within) (bvshl size beyond))"),
        f"(assert (and (bvsle total {largest}) (bvsle (bvneg {largest}) total)))",
        f"(assert (not (or large (and {' '.join([magnitude_up_to('d', p['format'], finite), near, *kept])}))))",
    ]
    require(ignored == 0, "d has bits that are not read", NotABundle)
    return {"total": total, "e_max": p["e_max"], "zero_negative": 1}, lines


def says_top(p):
    """Return symbols and statement: `e_max` is a constant or the exponent of a free number at most."""
    widths = [p["e_max"], *(FORMATS[number][0] for _, number in p["free"]), int(p["most"]).bit_length()]
    wide = max(widths) + 2
    e_max = wider("sign", wide - p["e_max"], "e_max")
    lines = [line for name, number in p["free"] for line in parts_of(name, number, wide)]
    lines += [f"(assert {magnitude_up_to(*x)})" for x in p["limited"]]
    lines += [f"(assert {magnitude_up_to(name, number, FORMATS[number][4])})" for name, number in p["free"]]
    own = [f"(bvsub {name}_exponent {bits_of(FORMATS[number][3], wide)})" for name, number in p["free"]]
    reached = " ".join(f"(bvsle {e_max} {x})" for x in [bits_of(p["most"], wide), *own])
    lines.append(f"(assert (not (or {reached})))")
    named = [*((name, number) for name, number, _ in p["limited"]), *map(tuple, p["free"])]
    return {name: sum(FORMATS[number][:3]) + 1 for name, number in named}, lines


SAYS = {"cut": says_cut, "rho": says_rho, "top": says_top}
SIZES = {  # of each kind of lemma: the numbers of bits that it states
    "cut": ("significand", "exponent", "e_max", "fraction_bits", "cut", "kept"),
    "rho": ("total", "e_max", "fraction_bits", "cut"),
    "top": ("e_max",),
}
OTHERS = {"cut": {"largest", "bound", "half"}, "rho": {"largest", "half", "format"}, "top": {"limited", "free", "most"}}


def require_form(kind, p, where):
    """Raise NotABundle unless a lemma states numbers that its words hold."""
    require(
        isinstance(p, dict) and {*p} == {*SIZES[kind], *OTHERS[kind]}, f"{where}: other keys are needed", NotABundle
    )
    sizes = all(type(p[x]) is int and 0 <= p[x] <= 512 for x in SIZES[kind])
    require(sizes and all(p[x] for x in SIZES[kind][:2]), f"{where}: a number of bits is from 1 to 512", NotABundle)
    is_of = lambda x, bits: type(x) is int and 0 <= x < 1 << bits
    match kind:
        case "cut":
            fits = is_of(p["largest"], p["significand"]) and is_of(p["bound"], p["kept"] - 1)
        case "rho":
            own = FORMATS.get(str(p["format"]), (0, -1, 1))
            # of a result without fraction bits, the statement says no more than that it is below twice itself
            fits = is_of(p["largest"], p["total"] - 1) and 0 < p["fraction_bits"] <= own[1] and not own[2]
        case "top":
            fits = type(p["most"]) is int and abs(p["most"]) < 1 << 12 and isinstance(p["free"], list)
            fits = fits and isinstance(p["limited"], list)
            for x in [*p["free"], *p["limited"]] if fits else ():
                size = isinstance(x, list) and len(x) == (3 if x in p["limited"] else 2)
                named = size and all(isinstance(y, str) for y in x[:2]) and x[1] in FORMATS
                fits = fits and named and is_of(x[2] if x in p["limited"] else 0, sum(FORMATS[x[1]][:3]))
    right = fits and type(p.get("half", True)) is bool
    require(right, f"{where}: it states what the words of a lemma cannot hold", NotABundle)


class Derivation:
    """What follows from lemmas about numbers, each of which is used once: how far it is from an exact one at most."""

    def __init__(self, bundle, outside):
        self.claim = bundle.object("bound.json")
        found = bundle.object("derivation.json")
        self.lemmas, self.numbers, self.used = {}, [], set()
        self._operands()
        require(isinstance(found.get("lemmas"), dict), "derivation.json: lemmas are an object", NotABundle)
        for name, lemma in found["lemmas"].items():
            numbered = re.fullmatch("[0-9]{4,8}", name, re.ASCII)
            require(numbered, f"{name[:20]!r} is not the number of a lemma", NotABundle)
            self.lemmas[name] = self._lemma(bundle, name, lemma, outside)
        require(isinstance(found.get("numbers"), list), "derivation.json: numbers are a list", NotABundle)
        for entry in found["numbers"]:
            spend("terms", 16)
            self._derive(entry, f"derivation.json, number {len(self.numbers)}")

    def _operands(self):
        self.sizes, self.units = {}, {}
        for name in "abc":
            match self.claim.get(name):
                case {"format": str(number), "most": int(most), "unit": int(unit)} if number in FORMATS:
                    _, f, ignored, bias, finite = FORMATS[number]
                    own = type(most) is int and 0 <= most <= finite and abs(unit) < 1 << 12
                    require(own, f"bound.json: {name} is not a finite number", NotABundle)
                    field, fraction = most >> ignored + f, most >> ignored & (1 << f) - 1
                    least = 1 - bias - f
                    significand = fraction | (1 << f if field else 0)
                    self.sizes[name] = significand * Fraction(2) ** (max(field, 1) - bias - f)
                    self.units[name] = max(unit, least)
                case None if name == "c":
                    self.sizes[name] = Fraction(0)
                case _:
                    raise NotABundle(f"bound.json: {name} is a format, the largest pattern, and a unit")
        require(type(self.claim.get("k")) is int and self.claim["k"] > 0, "bound.json: k is a number", NotABundle)

    def _lemma(self, bundle, name, lemma, outside):
        kind = lemma.get("says") if isinstance(lemma, dict) else None
        require(kind in SAYS and {*lemma} == {"says", "of"}, f"lemma {name} says {str(kind)[:20]!r}", NotABundle)
        require_form(kind, lemma["of"], f"lemma {name}")
        symbols, lines = SAYS[kind](lemma["of"])
        text, stated = bundle.text(f"lemmas/{name}.smt2"), "\n".join(["", *lines, "(check-sat)", ""])
        require(text.endswith(stated), f"lemma {name} does not end with what derivation.json says of it")
        found = Lemma(bundle, name, outside)
        count = stated.count("(assert ") == len(found.script.asserted)
        require(count, f"lemma {name} asserts more than derivation.json says of it")
        widths = {x: found.terms.rows[y][3] for x, y in found.script.symbols.items()}
        require(widths == symbols, f"lemma {name} is about other words than derivation.json says")
        return kind, lemma["of"]

    def _of(self, entry, key, kind, where):
        name = entry.get(key)
        found = self.lemmas.get(name) if isinstance(name, str) else None
        require(found is not None and found[0] == kind, f"{where}: no lemma about {kind} is named as {key}")
        return found[1]

    def _taken(self, entry, key, where):
        x = entry.get(key)
        fits = type(x) is int and 0 <= x < len(self.numbers) and x not in self.used
        require(fits, f"{where}: {key} is not an earlier number that is used once")
        self.used.add(x)
        return self.numbers[x]

    def _derive(self, entry, where):
        require(isinstance(entry, dict), f"{where}: it is not an object", NotABundle)
        match entry.get("is"):
            case "c":
                require(self.claim.get("c") is not None, f"{where}: c is zero")
                number = self.claim["c"]["format"]
                found = Number(self.sizes["c"], Fraction(0), number, FORMATS[number][1], 0, 1)
            case "zero":
                require(entry.get("format") in FORMATS, f"{where}: it has no format", NotABundle)
                found = Number(Fraction(0), Fraction(0), entry["format"], 0, 0, 0)
            case "step":
                found = self._step(entry, where)
            case "sum":
                found = self._sum(entry, where)
            case "converted":
                x, rho = self._taken(entry, "x", where), self._of(entry, "rho", "rho", where)
                require(rho["cut"] == FORMATS[x.number][1], f"{where}: rho is of other words than a number has")
                require(rho["largest"] >= (2 << rho["cut"]) - 1, f"{where}: rho is not of all significands")
                found = self._converted(x, Fraction(0), x.most, rho, 0, where)
            case _:
                raise NotABundle(f"{where}: its kind is not known")
        stated = [self._rational(entry, key, where) for key in ("most", "error")]
        require(stated == [found.most, found.error], f"{where}: another bound follows: {found.most}, {found.error}")
        self.numbers.append(found)

    def _rational(self, entry, key, where):
        match entry.get(key):
            case [int(x), int(places)] if 0 <= x < 1 << 4096 and abs(places) <= 4096:
                return x * Fraction(2) ** places
        raise NotABundle(f"{where}: {key} is an integer times a power of two")

    def _step(self, entry, where):
        x, n = self._taken(entry, "c", where), entry.get("products")
        product, c = (self._of(entry, key, "cut", where) for key in ("product", "accumulator"))
        top, rho = self._of(entry, "top", "top", where), self._of(entry, "rho", "rho", where)
        terms, given = len(top["limited"]) // 2, {name: self.claim[name] for name in "ab"}
        wanted = [[f"{z}{i}", y["format"], y["most"]] for z, y in given.items() for i in range(terms)]
        own = top["limited"] == wanted and top["free"] == [["c", x.number]]
        require(own, f"{where}: the largest exponent is that of other operands")
        self._holds_all(product, [given["a"]["format"], given["b"]["format"]], where)
        self._holds_all(c, [x.number], where)
        require(type(n) is int and 0 < n <= terms, f"{where}: a step has from 1 to {terms} products")
        alike = product["cut"] == c["cut"] == rho["cut"]
        require(alike, f"{where}: its terms and its sum have different fraction bits")
        held = rho["largest"] >= terms * product["bound"] + c["bound"]
        require(held, f"{where}: the sum of its terms may be larger than rho's lemma says")
        power = max(top["most"], exponent_of(x.most + x.error, x.number))
        lost = self._cut(product, power, self.units["a"] + self.units["b"]) * terms
        # where c has the largest exponent it loses nothing that its own fraction bits do not reach
        reached = top["most"] if x.bits <= c["cut"] else power
        lost += self._cut(c, reached, least_exponent(x.number) - x.bits) if x.most + x.error else 0
        most = x.most + n * self.sizes["a"] * self.sizes["b"]
        return self._converted(x, lost, most, rho, n, where)

    def _sum(self, entry, where):
        x, y = (self._taken(entry, key, where) for key in ("x", "y"))
        cut, top = self._of(entry, "cut", "cut", where), self._of(entry, "top", "top", where)
        rho = self._of(entry, "rho", "rho", where)
        own = x.number == y.number and top["free"] == [["x", x.number], ["y", x.number]] and not top["limited"]
        require(own, f"{where}: the largest exponent is that of other numbers")
        alike = cut["cut"] == rho["cut"] and rho["largest"] >= 2 * cut["bound"]
        require(alike, f"{where}: rho's lemma is not about such sums")
        powers = [exponent_of(z.most + z.error, z.number) for z in (x, y)]
        self._holds_all(cut, [x.number], where)
        # the number whose exponent is reached loses nothing, unless it has more bits
        bits, count = max(x.bits, y.bits), 1 + (max(x.bits, y.bits) > cut["cut"])
        of = [(top["most"], 2), *((power, count) for power in powers)]
        lost = max(self._cut(cut, power, least_exponent(x.number) - bits) * n for power, n in of)
        joined = Number(x.most + y.most, x.error + y.error, x.number, 0, x.products + y.products, x.c + y.c)
        return self._converted(joined, lost, joined.most, rho, 0, where)

    def _holds_all(self, cut, numbers, where):
        """Raise Rejected unless a lemma about terms is about all products of numbers of these formats."""
        bits = [FORMATS[x][1] for x in numbers]
        largest = functools.reduce(int.__mul__, ((2 << f) - 1 for f in bits))
        fits = cut["fraction_bits"] == sum(bits) and cut["largest"] >= largest
        require(fits, f"{where}: a lemma is not about all terms of {' times '.join(numbers)}")

    def _cut(self, cut, power, last):
        """Return what a term loses whose bits lie at 2^last and above, where the largest exponent is at most power."""
        return Fraction(0) if last >= power - cut["cut"] else Fraction(2) ** (power - cut["cut"] - cut["half"])

    def _converted(self, x, lost, most, rho, products, where):
        """Return the number that a sum becomes; its exact part is ``most``, and it is off by what x is, and lost."""
        size, number = most + x.error + lost, rho["format"]
        _, f, _, bias, finite = FORMATS[number]
        unused = f - rho["fraction_bits"]
        top = (finite & (1 << f) - 1 | 1 << f) >> unused << unused
        largest = top * Fraction(2) ** ((finite >> f) - bias - f)
        require(size <= largest, f"{where}: it may overflow")
        unit = Fraction(2) ** -(rho["fraction_bits"] + rho["half"])
        power = exponent_of(size, number)
        power += size >= Fraction(2) ** (power + 1) * (1 - unit)
        error = x.error + lost + Fraction(2) ** power * unit
        return Number(most, error, number, rho["fraction_bits"], x.products + products, x.c)

    def conclude(self):
        """Raise Rejected unless the last number is the product, with the error that is claimed."""
        require(self.numbers, "derivation.json: it has no numbers", NotABundle)
        last, k = self.numbers[-1], self.claim["k"]
        once = {*range(len(self.numbers) - 1)} == self.used
        require(once, "derivation.json: a number before the last one is not used")
        whole = last.products == k and last.c == (self.claim.get("c") is not None)
        require(whole, f"derivation.json: its last number adds {last.products} products and c {last.c} times, not {k}")
        error = self._rational(self.claim, "error", "bound.json")
        require(error >= last.error, f"bound.json: an error of at most {float(last.error)} follows, not {float(error)}")
        return error


@dataclasses.dataclass(frozen=True)
class Number:
    """A number of a derivation: its exact part is at most ``most``, and it is off by at most ``error``."""

    most: Fraction
    error: Fraction
    number: str  # its format
    bits: int  # fraction bits beyond which it has none
    products: int
    c: int


def least_exponent(number):
    """Return the exponent of the smallest normal number of a format."""
    return 1 - FORMATS[number][3]


def exponent_of(size, number):
    """Return the exponent that a pattern has at most whose magnitude is at most ``size``."""
    log = size.numerator.bit_length() - size.denominator.bit_length() if size else least_exponent(number)
    return max(log, least_exponent(number))


def check_bound(bundle, outside):
    """Check a bundle of a bound, and print what was checked. Raise Rejected or NotABundle."""
    derivation = Derivation(bundle, outside)
    error = derivation.conclude()
    print(f"derivation.json: {len(derivation.numbers)} numbers, from {len(derivation.lemmas)} lemmas")
    return error


def main(arguments=None):
    """Check the bundle that is named on the command line. Return the exit status."""
    parser = argparse.ArgumentParser(prog="mmaproof-check", description="Check a proof bundle of mmaproof.")
    parser.add_argument("folder", metavar="DIR", type=Path)
    parser.add_argument("--lrat-checker", metavar="COMMAND", default="", help="check proofs with COMMAND CNF LRAT")
    options = parser.parse_args(arguments)
    SPENT.update(dict.fromkeys(LIMITS, 0))
    try:
        bundle = Bundle(options.folder)
        outside = shlex.split(options.lrat_checker)
        error = check_bound(bundle, outside) if bundle.form == OF_BOUNDS else check(bundle, outside)
        require(bundle.unread == set(), "a file of the folder is not part of the proof")
    except Rejected as problem:
        print(f"rejected: {problem}")
        return 1
    except (NotABundle, OSError, ValueError, RecursionError, MemoryError) as problem:
        print(f"no bundle: {problem or 'memory'}", file=sys.stderr)
        return 2
    if error is not None:
        print(f"accepted: the error is at most {float(error)} (bound.json, SHA-256 {bundle.hashes['bound.json']})")
    else:
        print(f"accepted: nothing satisfies claim.smt2 (SHA-256 {bundle.hashes['claim.smt2']})")
    print(f"{SPENT['bytes']} bytes, {time.process_time():.1f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
