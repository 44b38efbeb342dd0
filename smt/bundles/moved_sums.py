"""A sum of two words that is moved down by any number of places, as steps of a bundle.

It is the sum of both, moved down, and a carry. The words are moved by one bit of the places after the other, so that
no lemma is about a sum and any number of places.
"""

from __future__ import annotations

from collections.abc import Sequence

from pysmt.fnode import FNode

from mmaproof.smt.algebra.protocol import Truth, Word, ite
from mmaproof.smt.algebra.terms import TermAlgebra
from mmaproof.smt.bundles.leaves import Leaves
from mmaproof.smt.proving.laws_in_use import LawsInUse


def is_sum(words: Sequence[Word[FNode]], *carry: Word[FNode]) -> Truth[FNode]:
    """Return whether the last of three words of one width is the sum of the others, and of a carry."""
    *added, whole = words
    width = whole.width + 1
    return whole.extend(width) == whole.algebra.modular_sum([*added, *carry], width)


def limited(x: Word[FNode], least: int, most: int) -> Truth[FNode]:
    """Return whether a signed word lies within limits."""
    return (x >= least) & (x <= most)


def prove_moved_sum(
    laws: LawsInUse, algebra: TermAlgebra, words: Sequence[Word[FNode]], places: Word[FNode]
) -> Word[FNode]:
    """Prove of three signed words, known to be a sum, that they are one if they are moved down, with a carry.

    Return the carry, which is proved to be zero or one. It has one bit more than the words.
    """
    now, carry = list(words), list[Word[FNode]]()
    none, one = (algebra.signed(n, words[0].width + 1) for n in (0, 1))
    for i in range(places.width):
        bit = places.bit(i)
        moved = [ite(bit, w.drop_low(min(1 << i, w.width - 1)).extend(w.width), w) for w in now]
        after = ite(is_sum(moved), none, one)
        known = [is_sum(now, *carry), *(limited(c, 0, 1) for c in carry)]
        leaves = Leaves(algebra).parts(*now, *carry, bit)
        leaves.use_of(laws, is_sum(moved, after), known, "a sum of words is moved down as they are, or one unit less")
        leaves = Leaves(algebra).parts(is_sum(moved))
        leaves.use_of(laws, limited(after, 0, 1), (), "a carry is none or one")
        now, carry = moved, [after]
    for w, moved_down in zip(words, now, strict=True):
        leaves = Leaves(algebra).parts(w, places)
        same = w.shift_right(places) == moved_down
        leaves.use_of(laws, same, (), "a word is moved down by each bit of the places")
    return carry[0]
