"""The tags of operands, computed on integers."""

from mmaproof.designs.design import Design
from mmaproof.designs.element import Operands
from mmaproof.generators.cover.bins import Bin
from mmaproof.generators.cover.coverage import NeverHit
from mmaproof.generators.cover.events import events
from mmaproof.properties.question import Scope
from mmaproof.smt.algebra.integers import IntegerAlgebra
from mmaproof.smt.trace import trace


def tags_on_integers(design: Design, operands: Operands) -> tuple[str, ...]:
    """The bins that operands of length K hit."""
    words = NeverHit(design, Scope(design.k), Bin("", "")).integer_words(operands)
    found = events(design, IntegerAlgebra(), words, trace(design, operands))
    return tuple(str(x) for x in found if found.hit(x).data)
