"""The record of a plan: how a GEMM is built from a unit.

A plan says for one element of the result: which instruction computes, in which order it takes k, which parts of k have
accumulators of their own, how their sums are added, and what happens to the sum before it is stored. Elements do not
depend on each other. ``Plan.schedule`` lists every operation for one K.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from fractions import Fraction
from functools import lru_cache

from mmaproof.designs.conversions import OutOfRange, Rounding, Stochastic
from mmaproof.designs.design import Design
from mmaproof.designs.errors import DesignError, OperandError
from mmaproof.designs.formats import FORMATS, Format
from mmaproof.designs.readings import CONSECUTIVE, KOrder
from mmaproof.gemm.programs import schedule as op
from mmaproof.gemm.programs.algorithm import Algorithm
from mmaproof.gemm.programs.parts import ASCENDING, Kind, Order, Parts

FP32 = FORMATS["fp32"]
ONE = Fraction(1)
LONGEST_PLANNED = 1 << 20
"""The largest K of a schedule."""


@dataclass(frozen=True, slots=True)
class PartSum:
    """Parts of k are summed by themselves, each from +0, and their sums are added outside the unit in IEEE 754.

    A promotion interval, split-K, stream-K and the blocks of a CPU library are all of this kind. The sums are added
    onto what the sum starts from (c or +0), except in a tree and onward, where the first part starts from that.
    """

    key: str
    """the name by which the parts are spelled"""
    parts: Parts
    fmt: Format
    """in which the sums of parts are added"""
    order: Order = ASCENDING
    rounding: Rounding = Rounding.RNE
    stored: Format | None = None
    """in which the sum of a part is stored before it is added, as in a workspace; None: it is not rounded for that"""
    kept: Format | None = None
    """in which the running sum is stored after each addition, as in serial split-K; None: in ``fmt``"""
    flushes: bool = False
    """whether the sum of a part that is a subnormal number is added as a zero of its sign"""


@dataclass(frozen=True, slots=True)
class Rescale:
    """Before every part but the first, the accumulator is multiplied by a factor (fp32), to nearest.

    The parts accumulate in the unit, one onto the other. Constants are used in turn; the last one is used for all
    further parts. Without constants, every factor is an operand, one for each row and each multiplication.
    """

    parts: Parts
    factors: tuple[Fraction, ...]
    """numbers of fp32; none: the factors are operands"""
    key: str = "rescale"


Level = PartSum | Rescale


@dataclass(frozen=True, slots=True)
class Held:
    """After each instruction the accumulator is rounded to ``formats``, one after the other."""

    formats: tuple[Format, ...]
    rounding: Rounding = Rounding.RNE


class JoinsC(StrEnum):
    """Where c is added."""

    FIRST = "first"
    """the accumulation starts from it"""
    LAST = "last"
    """it is added to the sum, in the epilogue"""
    NONE = "none"
    """it is not read"""


@dataclass(frozen=True, slots=True)
class Epilogue:
    """What happens to the sum: ``out(alpha * sum + beta * c)``, with one rounding of the product and the sum.

    ``alpha`` and ``beta`` are numbers of fp32; ``c`` says where c joins. A c that comes first is only scaled by beta.
    """

    c: JoinsC = JoinsC.FIRST
    c_format: Format | None = None
    """the format of c; None: that of the accumulator that it joins"""
    alpha: Fraction = ONE
    beta: Fraction = ONE
    out: Format | None = None
    """the format of d; None: that of the sum"""
    rounding: Rounding | Stochastic = Rounding.RNE
    flushes: bool = False
    """whether a subnormal number is converted to ``out`` as a zero of its sign"""
    out_of_range: OutOfRange | None = None
    """what becomes of numbers beyond the largest one of ``out``, and of infinities; None: as ``rounding`` has it"""

    def misfits(self) -> Iterator[str]:
        """Yield what does not fit together, of a unit of floating-point numbers."""
        if any(f and f.is_integer for f in (self.out, self.c_format)):
            yield "c and d are floating-point numbers, as the unit's are"
        if self.flushes and isinstance(self.rounding, Stochastic):
            yield "a conversion that rounds stochastically flushes nothing"
        if self.out is not None and self.out.is_of_scales:
            yield f"out is {self.out.name}, a format without a sign"
        if self.c is JoinsC.FIRST and self.alpha != ONE:
            yield "alpha multiplies the sum, and c is a part of it: c=last or c=none is needed with alpha"
        if self.flushes and self.out is None:
            yield "subnormal sums are flushed where they are converted: out=FORMAT:ROUNDING:flush"
        if self.out is not None and self.out_of_range is not None:
            lacking = self.out_of_range.misfit(self.out)
            if lacking is not None:
                yield f"{lacking}, and out states {self.out_of_range}: {OutOfRange.ALLOWED}"
        if self.c is JoinsC.NONE and (self.beta != ONE or self.c_format):
            yield "beta and a format of c have no effect where c is not read"


@dataclass(frozen=True)
class Plan:
    """How a GEMM is built from ``unit``: see the module. ``levels`` are in the order of the data, innermost first.

    Raises DesignError for parts that do not fit together.
    """

    unit: Design
    algorithm: Algorithm | None = None
    """an error-corrected algorithm that splits fp32 or fp64 operands; None: operands are the unit's"""
    tile: int | None = None
    """K of a tile: a multiple of the instruction's K; None: that K itself"""
    order: KOrder = CONSECUTIVE
    """order of the elements of k inside a tile"""
    then: tuple[Design, ...] = ()
    """instructions that follow ``unit`` in each tile, on its elements and its accumulator (fidelity phases)"""
    held: Held | None = None
    """how the accumulator is stored after each instruction; None: as the instruction returns it"""
    levels: tuple[Level, ...] = ()
    epilogue: Epilogue = field(default_factory=Epilogue)
    preset: str | None = field(default=None, compare=False)
    """the preset that it was made from"""

    def __post_init__(self) -> None:
        for problem in self._misfits():
            raise DesignError(f"{self.unit.name}: {problem}")

    def __repr__(self) -> str:
        return f"<{self.name}>"

    def _misfits(self) -> Sequence[str]:
        found: list[str] = []
        unit, epilogue = self.unit, self.epilogue
        if unit.scale_format is not None and self.algorithm is not None:
            found.append(f"its operands have scales, of which {self.algorithm.name} makes none")
        if unit.scale_format is not None and self.order != CONSECUTIVE:
            found.append("its elements share scales in blocks of k: the order inside a tile is consecutive")
        if self.tile is not None and (self.tile < 1 or self.tile % unit.k):
            found.append(f"tile = {self.tile} is not a multiple of the instruction's K = {unit.k}")
        if odd := [x.name for x in self.units if not x.step.multiplies_elements]:
            found.append(f"{odd[0]} adds no products of a matrix product: its elements are bits or complex numbers")
        found += self._misfits_of_instructions()
        if unit.d_format.is_integer:
            added = [x for x in self.levels if isinstance(x, Rescale) or x.fmt is not unit.d_format or x.flushes]
            scaled = (epilogue.alpha, epilogue.beta) != (ONE, ONE)
            if added or scaled or epilogue.out or epilogue.c_format or epilogue.c is JoinsC.LAST:
                found.append(f"its sums are {unit.d_format.name}: they are added in that format, and not converted")
            return found
        for level in self.levels:
            if isinstance(level, PartSum) and any(f and f.is_integer for f in (level.fmt, level.stored, level.kept)):
                found.append(f"{level.key} adds in integers, and the unit's sums are {unit.d_format.name}")
            if isinstance(level, PartSum) and level.kept is not None and level.order.kind is Kind.TREE:
                found.append(f"{level.key} adds in a tree, which keeps no running sum: leave out /{level.kept.name}")
        return [*found, *epilogue.misfits()]

    def _misfits_of_instructions(self) -> Iterator[str]:
        """Yield what does not fit of the instructions that share an accumulator, and of how it is held."""
        unit = self.unit
        if self.algorithm is not None and (self.then or self.held):
            yield f"then and held are of instructions on one accumulator, and {self.algorithm.name} adds words"
        for other in self.then:
            if (other.signature, other.k) != (unit.signature, unit.k):
                yield f"then={other.name} has other formats or another K: both work on the same elements"
        if self.then and any(x.step.multiplied_places is None for x in self.units):
            yield "then is of instructions that multiply parts of significands: others would add all products again"
        if self.held is not None:
            unfit = [x.name for x in self.held.formats if x.is_integer or x.is_of_scales]
            if unit.d_format.is_integer or unfit:
                yield f"held is of a floating-point accumulator in floating-point formats with a sign, not {unfit}"

    @property
    def units(self) -> tuple[Design, ...]:
        """The instructions that work on one accumulator, in order."""
        return (self.unit, *self.then)

    def with_unit(self, unit: Design) -> Plan:
        """Return the plan with another reading of its unit; what is changed of it is of the other instructions, too."""
        changed = {n: x for n, x in unit.settings.items() if self.unit.settings.get(n, x) != x}
        return replace(self, unit=unit, then=tuple(x.change(**changed) for x in self.then))

    @property
    def operand_formats(self) -> tuple[Format, Format]:
        """The formats of a and b."""
        if self.algorithm is not None:
            return self.algorithm.operand_format, self.algorithm.operand_format
        return self.unit.a_format, self.unit.b_format

    @property
    def k_tile(self) -> int:
        """K of a tile."""
        return self.unit.k if self.tile is None else self.tile

    @property
    def sum_format(self) -> Format:
        """The format of the sum before the epilogue."""
        return self._formats_of_sum(len(self.levels) - 1)[1]

    def _formats_of_sum(self, level: int) -> tuple[Format, Format]:
        """Return the format of what a sum of this level starts from, and that of the sum."""
        if level < 0:
            return self.operand_formats if self.algorithm else (self.unit.c_format, self.unit.d_format)
        found = self.levels[level]
        if isinstance(found, Rescale):
            return self._formats_of_sum(level - 1)
        held = found.kept or found.fmt
        if found.order.starts_in_part:
            return self._formats_of_sum(level - 1)[0], found.fmt if found.order.kind is Kind.TREE else held
        return held, held

    @property
    def formats(self) -> tuple[Format, Format, Format, Format]:
        """The formats of a, b, c and d."""
        starts, ends = self._formats_of_sum(len(self.levels) - 1)
        joined = _epilogue_format(ends) if self.epilogue.c is JoinsC.LAST else starts
        d = self.epilogue.out or self._format_before_out(ends)
        return (*self.operand_formats, self.epilogue.c_format or joined, d)

    def _format_before_out(self, ends: Format) -> Format:
        """Return the format in which the epilogue computes; that of the sum where it computes nothing."""
        computes = self.epilogue.c is JoinsC.LAST or self.epilogue.alpha != ONE
        return _epilogue_format(ends) if computes else ends

    @property
    def scale_format(self) -> Format | None:
        """The format of the scales of blocks; None if the unit has none."""
        return self.unit.scale_format

    @property
    def block(self) -> int | None:
        """How many elements of k share a scale; None if the unit has none."""
        return self.unit.block

    def blocks(self, k: int) -> int:
        """Return the number of scales of a (and of b) for ``k`` elements; 0 if the unit has none."""
        return self.unit.blocks(k) if self.unit.scale_format is not None else 0

    @property
    def scales_sum(self) -> bool:
        """Whether its exact result is not ``c + sum a*b``: the sum, or a part of it, is multiplied."""
        return (self.epilogue.alpha, self.epilogue.beta) != (ONE, ONE) or any(
            isinstance(x, Rescale) for x in self.levels
        )

    @property
    def has_factors(self) -> bool:
        """Whether factors are operands."""
        return any(isinstance(x, Rescale) and not x.factors for x in self.levels)

    @property
    def random_bits(self) -> int:
        """The random bits that each element takes as an operand; 0 for none."""
        rounding = self.epilogue.rounding
        return rounding.bits if isinstance(rounding, Stochastic) and rounding.drawn is None else 0

    def drawn(self, random: int) -> Plan:
        """Return the plan with these random bits in the place of the operand; OperandError where they do not fit."""
        rounding = self.epilogue.rounding
        if not isinstance(rounding, Stochastic) or not self.random_bits:
            raise OperandError(f"{self.name} takes no random bits: out=FORMAT:sr8 makes them an operand")
        if not 0 <= random < 1 << rounding.bits:
            raise OperandError(f"random bits {random:#x} are not of {rounding.bits} bits")
        return replace(self, epilogue=replace(self.epilogue, rounding=replace(rounding, drawn=random)))

    @property
    def has_open_order(self) -> bool:
        """Whether some order of additions is not determined, so that there is no single result."""
        return any(isinstance(x, PartSum) and x.order.is_open for x in self.levels)

    def with_open_orders(self, order: Order) -> Plan:
        """Return the plan with ``order`` in the place of every order that is not determined."""
        levels = tuple(
            replace(x, order=order) if isinstance(x, PartSum) and x.order.is_open else x for x in self.levels
        )
        return replace(self, levels=levels)

    def require(self) -> None:
        """Raise DesignError where the algorithm does not run on the unit."""
        if self.algorithm is not None:
            self.algorithm.require(self.unit)

    @property
    def finite_only(self) -> bool:
        """Whether infinities and NaNs among the operands have no meaning."""
        return self.algorithm is not None and self.algorithm.finite_only

    @property
    def is_unit(self) -> bool:
        """Whether the plan is one chain of instructions of its unit and nothing else."""
        return self == Plan(self.unit)

    @property
    def is_algorithm(self) -> bool:
        """Whether the plan is an algorithm on its unit and nothing else."""
        return self == Plan(self.unit, self.algorithm) and self.algorithm is not None

    def schedule(self, k: int) -> op.Schedule:
        """Return every operation that makes one element from ``k`` elements of a and b.

        Raises DesignError for a K that does not fit, for an order of additions that is not determined, and for an
        algorithm that does not run on the unit.
        """
        return _schedule(self, k)

    @property
    def name(self) -> str:
        """The text that ``read_plan`` reads."""
        from mmaproof.gemm.programs.spelling import spelled  # noqa: PLC0415  (the spelling reads plans)

        return spelled(self)

    @property
    def label(self) -> str:
        """What the plan is called apart from its unit: the name of an algorithm alone, else its own."""
        return self.algorithm.name if self.is_algorithm and self.algorithm is not None else self.name

    @property
    def title(self) -> str:
        """What the plan is called, with its unit."""
        return f"{self.label} on {self.unit.name}" if self.is_algorithm else self.name

    def __str__(self) -> str:
        return self.name


def _epilogue_format(sums: Format) -> Format:
    """Return the format in which an epilogue computes: fp32, or that of a wider sum."""
    return sums if sums.is_integer or sums.bits > FP32.bits else FP32


@lru_cache(maxsize=512)
def _schedule(plan: Plan, k: int) -> op.Schedule:
    plan.require()
    if plan.is_algorithm or plan.is_unit:
        plan.unit.padded_length(k)
    if not 1 <= k <= LONGEST_PLANNED:
        raise DesignError(f"k = {k}: a plan is computed for K from 1 to {LONGEST_PLANNED}")
    tile = plan.k_tile
    if k % tile and not (k < plan.unit.k and not plan.levels):
        below = k - k % tile
        choices = f"{below} or {below + tile}" if below else str(tile)
        raise DesignError(
            f"k = {k} is not a multiple of the plan's K of a tile, {tile}: choose {choices}, or fill a and b with +0"
        )
    return _Maker(plan, k).schedule()


class _Maker:
    """Makes the schedule of a plan for one K."""

    def __init__(self, plan: Plan, k: int) -> None:
        self.plan, self.k = plan, k
        self.builder = op.Builder()
        self.factors = 0
        order, tile = plan.order.permutation(plan.k_tile), plan.k_tile
        # below K the instruction is filled up with +0, and only there
        self.ks = tuple(at + i for at in range(0, k, tile) for i in order if at + i < k)

    def schedule(self) -> op.Schedule:
        """Return the schedule."""
        plan, epilogue = self.plan, self.plan.epilogue
        c: int | None = None
        if epilogue.c is not JoinsC.NONE:
            c = self.builder.add(op.Operand(plan.formats[2]))
        start = c if epilogue.c is JoinsC.FIRST else None
        if start is not None and epilogue.beta != ONE:
            start = self._scaled(self.builder.convert(start, FP32), epilogue.beta)
        total = self.total(len(plan.levels) - 1, self.ks, start)
        self._epilogue(total, c if epilogue.c is JoinsC.LAST else None)
        return op.Schedule(self.k, plan.formats, tuple(self.builder.operations))

    def total(self, level: int, ks: tuple[int, ...], start: int | None) -> int:
        """Return the sum over some k as a level computes it, from ``start`` or from +0."""
        if level < 0:
            return self._instructions(ks, start)
        found = self.plan.levels[level]
        try:
            parts = found.parts.divide(ks, self.plan.k_tile)
        except DesignError as problem:
            raise DesignError(f"{found.key}={found.parts} does not fit k = {self.k}: {problem}") from problem
        if isinstance(found, Rescale):
            return self._rescaled(level, found, parts, start)
        if found.order.kind is Kind.TREE:
            return self._tree(level, found, parts, start)
        builder, held = self.builder, found.kept or found.fmt
        order = list(found.order.of(len(parts)))
        if found.order.starts_in_part:
            total = builder.convert(self._part(level, found, parts[order.pop(0)], start), held)
        else:
            total = builder.add(op.Zero(held)) if start is None else builder.convert(start, held)
        for i in order:
            part = self._part(level, found, parts[i], None)
            wide = builder.convert(total, found.fmt)
            total = builder.convert(builder.add(op.Add(wide, part, found.fmt, found.rounding)), held)
        return total

    def _part(self, level: int, found: PartSum, ks: tuple[int, ...], start: int | None) -> int:
        """Return the sum of one part in the format in which it is added."""
        part = self.total(level - 1, ks, start)
        if found.stored is not None:
            part = self.builder.convert(part, found.stored)
        part = self.builder.convert(part, found.fmt)
        return self.builder.add(op.Flush(part, found.fmt)) if found.flushes else part

    def _tree(self, level: int, found: PartSum, parts: Sequence[tuple[int, ...]], start: int | None) -> int:
        sums = [self._part(level, found, ks, None if i else start) for i, ks in enumerate(parts)]
        while len(sums) > 1:
            pairs = [sums[i : i + 2] for i in range(0, len(sums), 2)]
            sums = [
                self.builder.add(op.Add(x[0], x[1], found.fmt, found.rounding)) if len(x) > 1 else x[0] for x in pairs
            ]
        return sums[0]

    def _rescaled(self, level: int, found: Rescale, parts: Sequence[tuple[int, ...]], start: int | None) -> int:
        total = self.total(level - 1, parts[0], start)
        for i, ks in enumerate(parts[1:]):
            fmt = self.builder.format_of(total)
            wide = self.builder.convert(total, FP32)
            if found.factors:
                scaled = self._scaled(wide, found.factors[min(i, len(found.factors) - 1)])
            else:
                scaled = self.builder.add(op.Multiply(wide, op.Factor(self.factors), FP32))
                self.factors += 1
            total = self.total(level - 1, ks, self.builder.convert(scaled, fmt))
        return total

    def _scaled(self, x: int, factor: Fraction) -> int:
        return x if factor == ONE else self.builder.add(op.Multiply(x, FP32.encode(factor), FP32))

    def _instructions(self, ks: tuple[int, ...], start: int | None) -> int:
        """Return the chain of instructions over some k."""
        unit, builder, algorithm = self.plan.unit, self.builder, self.plan.algorithm
        if len(ks) > unit.k and len(ks) % unit.k:
            raise DesignError(f"a part of {len(ks)} elements is not a multiple of the instruction's K = {unit.k}")
        if len(ks) < unit.k and self.plan.levels:
            raise DesignError(f"a part of {len(ks)} elements is shorter than the instruction's K = {unit.k}")
        block = unit.block or 1
        if any(
            ks[at] % block or ks[at : at + block] != tuple(range(ks[at], ks[at] + block))
            for at in range(0, len(ks), block)
        ):
            raise DesignError(f"a part does not consist of whole blocks of {block} elements, which share a scale")
        fmt = algorithm.operand_format if algorithm else unit.c_format
        c = builder.add(op.Zero(fmt)) if start is None else builder.convert(start, fmt)
        if algorithm is not None:
            return algorithm.lower(builder, unit.configured(len(ks)), ks, c)
        # a chain hands d on as the unit returns it, also where c has another format at first; held rounds it
        run = len(ks) if self.plan.held is None else unit.k
        tile = self.plan.k_tile if self.plan.then else len(ks)
        for at in range(0, len(ks), tile):
            for i, each in enumerate(self.plan.units):
                for first in range(at, min(at + tile, len(ks)), run):
                    part = ks[first : min(first + run, at + tile)]
                    call = op.Call(each.configured(len(part)), part, builder.convert(c, fmt), again=i > 0)
                    c = self._held(builder.add(call))
        return c

    def _held(self, c: int) -> int:
        """Return the accumulator as it is stored after an instruction."""
        held, fmt = self.plan.held, self.builder.format_of(c)
        for stored in () if held is None else held.formats:
            c = self.builder.convert(c, stored, held.rounding if held else Rounding.RNE)
        return self.builder.convert(c, fmt)

    def _epilogue(self, total: int, c: int | None) -> None:
        epilogue, builder = self.plan.epilogue, self.builder
        fmt = _epilogue_format(builder.format_of(total))
        if c is not None:
            addend = builder.convert(c, fmt)
            if epilogue.beta != ONE:
                addend = builder.add(op.Multiply(addend, fmt.encode(epilogue.beta), fmt))
            total = builder.convert(total, fmt)
            if epilogue.alpha == ONE:
                total = builder.add(op.Add(total, addend, fmt))
            else:
                total = builder.add(op.MultiplyAdd(total, fmt.encode(epilogue.alpha), addend, fmt))
        elif epilogue.alpha != ONE:
            total = builder.add(op.Multiply(builder.convert(total, fmt), fmt.encode(epilogue.alpha), fmt))
        last = total
        if epilogue.out is not None:
            if epilogue.flushes:
                total = builder.add(op.Flush(total, builder.format_of(total)))
            if isinstance(epilogue.rounding, Stochastic) and builder.format_of(total) is epilogue.out:
                raise DesignError(f"{self.plan.name}: the sum is of {epilogue.out.name}, so nothing is rounded to it")
            last = builder.convert(total, epilogue.out, epilogue.rounding, out_of_range=epilogue.out_of_range)
        if last != len(builder.operations) - 1:
            raise AssertionError("the last operation of a schedule makes d")
