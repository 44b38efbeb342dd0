"""Operands split into words of the unit's format, whose products are summed: Markidis' method and its successors.

An fp32 number x becomes words. The first word is x rounded. Each further word is the rounded residual of the words
before it, multiplied once more by ``2**scale``. Calls of the unit sum products of words over k. What the unit's
accumulator would lose may be added outside it, in fp32 and to nearest. Products of the same order i + j (word i of a
with word j of b) share an accumulator. With ``accumulators=shared`` all products share one.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Self

from mmaproof.designs.conversions import Rounding
from mmaproof.designs.design import Design
from mmaproof.designs.formats import FORMATS
from mmaproof.gemm.programs.algorithm import OPERANDS, Algorithm, Spelled, parameter
from mmaproof.gemm.programs.schedule import Add, Builder, Call, Split, Words, Zero

MOST_WORDS = 4


class Schedule(StrEnum):
    """Which of the two loops is the outer one."""

    GEMM = "gemm"
    """one product of words after the other, each over all of k: as pipelined matrix multiplications do"""
    BLOCK = "block"
    """one block of k after the other, in each all products of words: as a fused kernel does"""


class Accumulators(StrEnum):
    """Which products of words share an accumulator."""

    SHARED = "shared"
    SEPARATE = "separate"
    """one for each order i + j; they are added at the end, the smallest first"""


class Outside(StrEnum):
    """Which accumulators receive the sum of every interval outside the unit, in fp32 and to nearest."""

    NONE = "none"
    MAIN = "main"
    """the one that the products of the first words go to"""
    ALL = "all"
    JOINT = "joint"
    """one that all products of an interval share, from +0: its sum is added (schedule block)"""


class JoinsC(StrEnum):
    """Where c is added."""

    FIRST = "first"
    """it is what the accumulator of the first words starts from"""
    LAST = "last"
    """to the result, in fp32 and to nearest"""


class Intermediate(StrEnum):
    """Format of an accumulator between two multiplications of words."""

    FP32 = "fp32"
    FP16 = "fp16"
    BF16 = "bf16"


@dataclass(frozen=True, slots=True)
class Products(Spelled):
    """Products of words in the order in which they are summed: pairs of the index of a word of a and of b."""

    pairs: tuple[tuple[int, int], ...]

    ALLOWED = "pairs ij (word i of a, word j of b, from 0) in order, joined by dots, 00 among them, such as 11.01.10.00"

    @classmethod
    def parse(cls, text: str) -> Self:
        """Return the products that ``text`` spells."""
        pairs = []
        for pair in text.split("."):
            if len(pair) != 2 or not (pair.isascii() and pair.isdigit()):
                raise ValueError(text)
            i, j = map(int, pair)
            if max(i, j) >= MOST_WORDS or (i, j) in pairs:
                raise ValueError(text)
            pairs.append((i, j))
        if (0, 0) not in pairs:
            raise ValueError(text)
        return cls(tuple(pairs))

    def __str__(self) -> str:
        return ".".join(f"{i}{j}" for i, j in self.pairs)

    @property
    def words(self) -> tuple[int, int]:
        """Number of words of a and of b."""
        return max(i for i, _ in self.pairs) + 1, max(j for _, j in self.pairs) + 1


@dataclass(frozen=True, kw_only=True, repr=False)
class SplitGemm(Algorithm):
    """The algorithm that the module describes; what a source leaves open is a parameter."""

    products: Products = parameter(Products(((0, 0),)), Products, "products of words, in order")
    rounding: Rounding = parameter(Rounding.RNE, Rounding, "rounding of the first word")
    residual_rounding: Rounding = parameter(Rounding.RNE, Rounding, "rounding of the other words")
    scale: int = parameter(0, range(0, 25), "each residual is multiplied by 2**scale before it is rounded")
    schedule: Schedule = parameter(Schedule.GEMM, Schedule, "products of words outside (gemm) or inside (block) of k")
    accumulators: Accumulators = parameter(Accumulators.SHARED, Accumulators, "whether all products share one")
    outside: Outside = parameter(Outside.NONE, Outside, "which accumulators are summed outside the unit")
    interval: int = parameter(
        0, range(0, 1 << 16), "elements of k from one addition outside the unit to the next; 0: the instruction's K"
    )
    intermediate: Intermediate = parameter(
        Intermediate.FP32, Intermediate, "format of the accumulator between two multiplications (schedule gemm)"
    )
    c: JoinsC = parameter(JoinsC.FIRST, JoinsC, "where c is added")
    formats: tuple[str, ...] = ()
    """operands of the units that the source means; empty: any floating-point format"""

    def why_not(self, unit: Design) -> str | None:
        """Return that the formats do not fit, or that parameters contradict each other."""
        word, accumulator = unit.a_format, unit.d_format
        problems = {
            "its operands are integers": word.is_integer,
            "its operands have scales": unit.scale_format is not None,
            f"its operands are of different formats, {word.name} and {unit.b_format.name}": unit.b_format is not word,
            f"its operands are {word.name}, and {' or '.join(self.formats)} is meant": self.formats
            and word.name not in self.formats,
            "it is wider than fp32": max(accumulator.bits, word.bits) > OPERANDS.bits,
        }
        for problem, found in problems.items():
            if found:
                return problem
        if self.scale and self.accumulators is Accumulators.SHARED and max(self.products.words) > 1:
            return f"products scaled by 2**{self.scale} cannot share an accumulator: accumulators=separate"
        if self.outside is Outside.JOINT and (self.schedule, self.accumulators) != (
            Schedule.BLOCK,
            Accumulators.SHARED,
        ):
            return "outside=joint is of one accumulator for each block: schedule=block and accumulators=shared"
        if self.interval % unit.k:
            return f"interval = {self.interval} is not a multiple of the instruction's K = {unit.k}"
        return None

    def has_no_effect(self, name: str) -> str | None:
        """Return why a parameter has no effect together with the others, or None if it has one."""
        single = max(self.products.words) == 1
        if single and name in ("residual_rounding", "scale", "accumulators", "intermediate"):
            return "on operands of one word"
        if name == "interval" and self.outside is Outside.NONE and (single or self.schedule is Schedule.GEMM):
            return "where all of k is summed inside the unit, one product of words after the other"
        if name == "intermediate" and self.schedule is Schedule.BLOCK:
            return "with schedule=block"
        return None

    def split(self, unit: Design, side: str, ks: tuple[int, ...]) -> Split:
        """Return what splits the elements ``ks`` of operand ``a`` or ``b``."""
        fmt, count = unit.formats["ab".index(side)], self.products.words["ab".index(side)]
        return Split(side, ks, fmt, count, self.rounding, self.residual_rounding, self.scale)

    def order(self, i: int, j: int) -> int:
        """Return which accumulator the product of word i of a and word j of b goes to; 0 is the main one."""
        return 0 if self.accumulators is Accumulators.SHARED else i + j

    def is_outside(self, order: int) -> bool:
        """Return whether the sums of an accumulator are added outside the unit."""
        return self.outside is Outside.ALL or (self.outside is Outside.MAIN and order == 0)

    def lower(self, builder: Builder, unit: Design, ks: tuple[int, ...], c: int) -> int:
        """Append the splits, the calls of the unit and the sums outside it."""
        cuts = tuple(builder.add(self.split(unit, side, ks)) for side in "ab")
        length, first_c = len(ks), self.c is JoinsC.FIRST
        sums = {self.order(i, j): builder.add(Zero(OPERANDS)) for i, j in self.products.pairs}
        if first_c:
            sums[0] = c
        block = self.interval or unit.k
        if self.schedule is Schedule.GEMM:
            begun = set()
            for i, j in self.products.pairs:
                order = self.order(i, j)
                if order in begun:
                    sums[order] = self._stored(builder, sums[order])
                begun.add(order)
                whole = block if self.is_outside(order) else max(length, unit.k)
                for at in range(0, length, whole):
                    sums[order] = self._product(builder, unit, cuts, (i, j), ks[at : at + whole], sums[order])
        else:
            joint = self.outside is Outside.JOINT
            for at in range(0, length, block):
                held = {0: builder.add(Zero(OPERANDS))} if joint else sums
                for i, j in self.products.pairs:
                    order = self.order(i, j)
                    held[order] = self._product(builder, unit, cuts, (i, j), ks[at : at + block], held[order])
                if joint:
                    sums[0] = builder.add(Add(sums[0], held[0], OPERANDS, label="outside"))
        d = self._combined(builder, sums)
        return d if first_c else builder.add(Add(d, c, OPERANDS, label="d"))

    def _product(
        self,
        builder: Builder,
        unit: Design,
        cuts: tuple[int, ...],
        pair: tuple[int, int],
        ks: tuple[int, ...],
        total: int,
    ) -> int:
        """Return ``total`` with the products of two words over some k added, inside the unit or outside."""
        a, b = (Words(cut, word) for cut, word in zip(cuts, pair, strict=True))
        outside = self.is_outside(self.order(*pair))
        d = builder.add(Zero(unit.c_format)) if outside else total
        # where c is of another format than d, the result of an instruction is rounded before the next one takes it
        run = len(ks) if unit.c_format is unit.d_format else unit.k
        for at in range(0, len(ks), run):
            d = builder.convert(d, unit.c_format, label="accumulator")
            d = builder.add(Call(unit, ks[at : at + run], d, a, b, label=f"a[{a.word}]*b[{b.word}]"))
        d = builder.convert(d, OPERANDS, label="accumulator")
        return builder.add(Add(total, d, OPERANDS, label="outside")) if outside else d

    def _stored(self, builder: Builder, total: int) -> int:
        """Return an accumulator as it is kept between two multiplications."""
        kept = builder.convert(total, FORMATS[self.intermediate], label="intermediate")
        return builder.convert(kept, OPERANDS, label="intermediate")

    def _combined(self, builder: Builder, sums: dict[int, int]) -> int:
        """Return the sum of the accumulators, scaled back, the smallest first."""
        first, *others = (
            builder.scale(sums[n], -n * self.scale, f"order {n}, scaled back") for n in sorted(sums, reverse=True)
        )
        for x in others:
            first = builder.add(Add(x, first, OPERANDS, label="d"))
        return first
