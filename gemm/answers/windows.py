"""Windows of exponents in which a statement about one fp32 number holds, for each number of significant bits."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from mmaproof.designs.operands import Patterns
from mmaproof.gemm.answers.samples import exponents_of, significant_bits
from mmaproof.gemm.answers.verdict import ROUNDS, Asked, unknown
from mmaproof.gemm.programs.algorithm import OPERANDS
from mmaproof.gemm.questions.split import EXPONENTS, OperandLemma, Window
from mmaproof.smt.solving.verdict import Status


class Precisions:
    """For each exponent, the number with the fewest significant bits that is known to violate a statement."""

    def __init__(self) -> None:
        self.failing: dict[int, tuple[int, int]] = {}
        """exponent -> significant bits and pattern"""

    def add(self, patterns: Patterns) -> None:
        """Add numbers that violate the statement."""
        columns = (exponents_of(patterns), significant_bits(patterns), patterns)
        for exponent, bits, pattern in zip(*(x.tolist() for x in columns), strict=True):
            known = self.failing.get(exponent)
            if known is None or bits < known[0]:
                self.failing[exponent] = (bits, pattern)

    def bits(self, exponent: int) -> int:
        """Return the most significant bits up to which no number at this exponent is known to violate it."""
        return self.failing[exponent][0] - 1 if exponent in self.failing else OPERANDS.precision

    def windows(self, bits: int) -> list[Window]:
        """Return the longest windows in which no number of ``bits`` significant bits is known to violate it."""
        found: list[Window] = []
        for exponent in EXPONENTS:
            if self.bits(exponent) < bits:
                continue
            if found and found[-1].high == exponent - 1:
                found[-1] = Window(found[-1].low, exponent, bits)
            else:
                found.append(Window(exponent, exponent, bits))
        return found

    def table(self) -> list[Window]:
        """Return the windows for 24, 23, ... 1 bits, without those that lie in a window of more bits."""
        found: list[Window] = []
        for bits in range(OPERANDS.precision, 0, -1):
            for window in self.windows(bits):
                if not any(w.low <= window.low and window.high <= w.high for w in found):
                    found.append(window)
        return found

    def prove(self, asked: Asked, lemma_of: Callable[[Sequence[Window]], OperandLemma]) -> tuple[list[Window], str]:
        """Return the table after proving its windows together, or an empty table and why they are not proved.

        Each witness makes the windows smaller. So the proved windows are maximal: beyond each of them there is a number
        that violates the statement.
        """
        for _ in range(ROUNDS):
            windows = self.table()
            if not windows:
                return [], ""
            lemma = lemma_of(windows)
            verdict = asked.prove(lemma)
            if verdict.status is Status.PROVED:
                return windows, ""
            if verdict.witness is None:
                break
            self.add(np.array([lemma.operand(verdict.witness)], dtype=np.uint32))
        return [], unknown(verdict)
