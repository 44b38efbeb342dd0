"""Sums of integers in registers that wrap, as steps: they do not depend on the grouping and order of products.

A step adds the exact sum of its products to the register, which keeps the result modulo a power of two. The exact sum
is that of its products in the register, because no partial sum leaves its bounds. So the register finally holds the
fold of c and all products, modulo that power, and folds of the same words are equal in any order. A product that is
zero whatever the operands are (padding) is left out.
"""

from __future__ import annotations

from collections.abc import Sequence

from pysmt.fnode import FNode

from mmaproof.designs.arithmetic import differing_parameters
from mmaproof.designs.design import Design
from mmaproof.designs.steps import Guarantee
from mmaproof.smt.algebra.protocol import Word
from mmaproof.smt.bundles.leaves import Leaves, prove_bound_of_sum, within
from mmaproof.smt.proving.journal import Place, RecordedTerms
from mmaproof.smt.proving.kernel import Kernel, NotComposedError
from mmaproof.smt.proving.laws import LawsInUse
from mmaproof.smt.semantics import OperandWords, dot_product_accumulate
from mmaproof.smt.semantics.integer_step import product_range

_GROUPING = ("L", "k_order")
"""The parameters that only say which products are added in which step."""
_Word = Word[FNode]


def is_regrouping(first: Design, second: Design) -> bool:
    """Return whether two designs are wrapping integer units that differ only in the grouping or order of products."""
    if first.formats != second.formats or not all(d.guarantees(Guarantee.WRAPS_MODULO) for d in (first, second)):
        return False
    return differing_parameters(first, second) <= set(_GROUPING)


class RegroupedSteps:
    """Proves that units and sums of what they return hold folds of products. Raises NotComposedError.

    ``design`` has the formats of all of them. They are computed in ``algebra``.
    """

    def __init__(self, kernel: Kernel, design: Design) -> None:
        self._kernel, self._laws = kernel, LawsInUse(kernel)
        self.algebra = RecordedTerms(kernel.environment)
        self._bits, self._sums = design.d_format.bits, self._laws.sums(design.d_format.bits)
        self._bound = max(map(abs, product_range(design.a_format, design.b_format)))

    def same(self, words: Sequence[FNode], others: Sequence[FNode]) -> None:
        """Prove that the folds of the same words are equal, whatever zeros are among them."""
        self._sums.prove(self._without_zeros(words), self._without_zeros(others))

    def of_design(self, design: Design, operands: OperandWords[FNode]) -> tuple[_Word, list[FNode]]:
        """Return d of a design, and the words whose fold it is proved to be."""
        self.begin()
        d = dot_product_accumulate(design, self.algebra, operands).d
        return d, self.of_steps(d)

    def begin(self) -> None:
        """Forget what was computed."""
        self.algebra.recording.entries.clear()

    def of_steps(self, d: _Word, c: Sequence[FNode] = ()) -> list[FNode]:
        """Return the words whose fold a chain of steps returns, which were computed last: those of c, and its products.

        c is known to be the fold of these words. Without them it is one word.
        """
        added = [x for x in self.algebra.recording.entries if isinstance(x, Place) and x.kind == "sum"]
        if not added or len(added) % 2 or any(x.term.bv_width() != self._bits for x in added[1::2]):
            raise NotComposedError("a step does not add its products, and then their sum to a register")
        held = added[1].operands[1]
        words = list(c) or [held]
        self._read(held, self._sums.fold(words))
        for exact, register in zip(added[::2], added[1::2], strict=True):
            self._read(register.operands[1], held)
            self._products(words, exact, register)
            held = register.term
        self._read(d.data, held)
        return words

    def of_sum(self, total: _Word, *summed: tuple[_Word, Sequence[FNode]]) -> list[FNode]:
        """Return the words whose fold a sum of two numbers is proved to be, from those whose folds the two are."""
        (x, words), (y, others) = ((n.data, of) for n, of in summed)
        self._laws.of_any(total.data, self._sums.of_two(x, y), [x, y], "a sum of two numbers")
        return self._sums.regroup(words, others)

    def _without_zeros(self, words: Sequence[FNode]) -> list[FNode]:
        """Return words without constants that are zero, whose fold is proved to be the same."""
        zero, left = self.algebra.signed(0, self._bits).data, list(words)
        while len(left) > 1 and zero in left:
            for i in range(left.index(zero), len(left) - 1):
                self._sums.exchange(left, i)
            left.pop()
            self._nothing_added(left, zero)
        return left

    def _nothing_added(self, words: Sequence[FNode], zero: FNode) -> None:
        (x,) = self._laws.words(self._bits)[:1]
        self._laws.use(self._sums.of_two(x, zero), x, {x: self._sums.fold(words)}, "nothing is added")

    def _read(self, x: FNode, held: FNode) -> None:
        """Prove that a word is what a register holds, whatever that is."""
        if not self._kernel.same(x, held):
            self._laws.of_any(x, held, [held], "a register is read")

    def _products(self, words: list[FNode], exact: Place, register: Place) -> None:
        """Add the products of a step to the words, whose fold is proved to be what the register holds."""
        before, most = self._sums.fold(words), 0
        width = exact.term.bv_width()
        total = self._word(exact.operands[0])
        for i, term in enumerate(exact.operands):
            x = self._word(term)
            self._laws.claim(within(x, self._bound).data, (), {}, "a product is within its bound")
            if i:
                self._extended(total, x, most)
                self._sums.exchange([self._in_register(total), self._in_register(x), before], 1)
                prove_bound_of_sum(self._laws, self.algebra, total, x, most, self._bound)
                total = self.algebra.modular_sum([total, x], width)
            else:
                self._sums.exchange([self._in_register(x), before], 0)
            most += self._bound
            self._take(words, term)
        if not self._kernel.same(register.term, self._sums.fold(words)):
            raise NotComposedError("a register adds another sum")

    def _extended(self, total: _Word, x: _Word, most: int) -> None:
        """Prove that a sum of two words is their sum in the register: nothing is lost."""
        leaves = Leaves(self.algebra)
        p, q = leaves.word(total), leaves.word(x)
        added = self.algebra.modular_sum([p, q], total.width)
        both = [Word(self._in_register(w), self._bits, True, self.algebra) for w in (p, q)]
        same = self._word(self._in_register(added)) == self.algebra.modular_sum(both, self._bits)
        leaves.use(self._laws, same, [within(p, most), within(q, self._bound)], "a sum in the register")

    def _take(self, words: list[FNode], term: FNode) -> None:
        """Add a product to the words, as it is in the register, unless it is always zero."""
        product = term.arg(0) if term.is_bv_sext() else term
        word = self._in_register(self._word(product))
        wide = self._in_register(self._word(term))
        if word is not wide:
            self._laws.of_any(wide, word, [product], "a product in more bits")
        if self._kernel.environment.fvo.get_free_variables(word):
            words.append(word)
            return
        zero = self.algebra.signed(0, self._bits).data
        self._laws.equal(word, zero, "padding adds zero")
        self._nothing_added(words, zero)

    def _word(self, term: FNode) -> _Word:
        return Word(term, term.bv_width(), True, self.algebra)

    def _in_register(self, x: _Word) -> FNode:
        (found,) = self.algebra.in_one_width([x], self._bits)
        return found
