"""The code interpretation without the limit of 128 bits, for what is printed in a language that has words of any width.

SystemVerilog has; C and machines have not.
"""

from __future__ import annotations

from mmaproof.smt.algebra.code import CodeAlgebra, fits
from mmaproof.smt.algebra.nodes import LANES


class WideCodeAlgebra(CodeAlgebra):
    """The interpretation of ``CodeAlgebra`` with words of 32 bits, 64, 128, and so on, as wide as a number needs."""

    def _lane(self, least: int, largest: int) -> int:
        bits = LANES[0]
        while not fits(bits, least, largest):
            bits *= 2
        return bits
