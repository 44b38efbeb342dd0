"""What a user names besides the tensors of a product, checked before anything runs.

Plans in the place of designs: what the other modules ask of a design, answered for a plan.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
import torch

from mmaproof.designs.catalogue import find_design
from mmaproof.designs.design import Design
from mmaproof.designs.errors import DesignError, EmulationError
from mmaproof.designs.formats import Format
from mmaproof.designs.operands import Patterns
from mmaproof.gemm.programs import JoinsC, Plan, read_plan
from mmaproof.gemm.programs.evaluate import multiply_plan
from mmaproof.gemm.programs.spelling import find_preset
from mmaproof.torch.dtypes import HELD_AS_PATTERNS, Cast, dtype_of


@dataclass(frozen=True)
class Planned:
    """A plan as what computes products. Raises DesignError for one that cannot be computed."""

    plan: Plan

    def __post_init__(self) -> None:
        self.plan.require()

    @property
    def name(self) -> str:
        """The text that is read as this plan."""
        return self.plan.name

    @property
    def base_name(self) -> str:
        """The same: a plan has no shorter name."""
        return self.name

    @property
    def a_format(self) -> Format:
        """The format of a."""
        return self.plan.formats[0]

    @property
    def b_format(self) -> Format:
        """The format of b."""
        return self.plan.formats[1]

    @property
    def c_format(self) -> Format:
        """The format of c."""
        return self.plan.formats[2]

    @property
    def d_format(self) -> Format:
        """The format of d."""
        return self.plan.formats[3]

    @property
    def scale_format(self) -> None:
        """No format: plans have no scales."""

    @property
    def block(self) -> None:
        """No block: plans have no scales."""

    @property
    def k(self) -> int:
        """The elements of k of which there have to be a multiple."""
        return self.plan.k_tile

    @property
    def reads_c(self) -> bool:
        """Whether the plan has a place for c."""
        return self.plan.epilogue.c is not JoinsC.NONE

    def multiply(self, a: Patterns, b: Patterns, c: Patterns | None, jobs: int) -> Patterns:
        """Return the patterns of d; k is filled up with +0 to whole tiles."""
        missing = -a.shape[1] % self.k
        if missing:
            a, b = np.pad(a, ((0, 0), (0, missing))), np.pad(b, ((0, missing), (0, 0)))
        return multiply_plan(self.plan, a, b, c, jobs=jobs)


Multiplier = Design | Planned
"""What computes products."""


@cache
def find(name: str) -> Multiplier:
    """Return the design of a name, or the plan that a text with settings, a preset's name or a TOML file spells."""
    if "|" in name or name.endswith(".toml") or find_preset(name) is not None:
        return Planned(read_plan(name))
    return find_design(name)


_RESULTS = {
    True: (torch.float16, torch.bfloat16, torch.float32, torch.float64),
    False: (torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64),
}
"""The types that d may be converted to, by whether it is a floating-point number."""


def named(design: Design | Plan | str) -> Multiplier:
    """Return the design or plan of a text, or one that its name finds again. Raises DesignError for any other."""
    if isinstance(design, str):
        return find(design)
    if isinstance(design, Plan):
        return _found_again(Planned(design))
    if not isinstance(design, Design):
        raise DesignError(
            f"{design!r} is not a design: give the name of one, as `mmaproof list designs` lists them, or what "
            "find_design returns, or a plan"
        )
    if find(design.name) != design:
        raise DesignError(
            f"{design.name} is the name of another design: an operator of PyTorch holds a name, so give a design of "
            "the catalogue, or one made of it with change(), or name your catalogue in MMAPROOF_CATALOGUE"
        )
    return design


def _found_again(planned: Planned) -> Multiplier:
    """Return what the name of a plan finds: the plan, or the design alone where it has no settings."""
    found = find(planned.name)
    alone = isinstance(found, Design) and Planned(read_plan(planned.name)) == planned
    if found != planned and not alone:
        raise DesignError(
            f"{planned.name} is the name of another plan: an operator of PyTorch holds a name, so its unit has to be a "
            "design of the catalogue, or one made of it with change()"
        )
    return found


def cast_of(text: str | None) -> Cast:
    """Return the way of casting that a user has named; None is never."""
    if text is None:
        return Cast.NEVER
    try:
        return Cast(text)
    except ValueError:
        raise EmulationError(f"cast is {text!r}: None, {', '.join(repr(str(x)) for x in list(Cast)[1:])}") from None


def promotion_of(count: int | None) -> int:
    """Return after how many elements of k sums leave the unit; 0 for never, which a user writes as None."""
    if count is None:
        return 0
    if isinstance(count, bool) or not isinstance(count, int) or count < 1:
        raise EmulationError(
            f"promote_every is {count!r}: None for sums that stay in the unit, or a number of elements of k, which is "
            "a multiple of the design's K"
        )
    return count


def flag(name: str, value: object) -> bool:
    """Return a setting that is on or off."""
    if not isinstance(value, bool):
        raise EmulationError(f"{name} is {value!r}: True or False")
    return value


def result_of(result: object, designs: Sequence[Multiplier]) -> torch.dtype | None:
    """Return the type of results, to which the d of every design converts."""
    for design in designs:
        of_d = dtype_of(design.d_format)
        allowed = _RESULTS[of_d.is_floating_point]
        if result is not None and result not in allowed:
            raise EmulationError(
                f"result is {result!r}, and {design.name} returns {of_d}: None, {', '.join(map(str, allowed))}"
            )
    return result if isinstance(result, torch.dtype) else None


def native_of(types: object, designs: Sequence[Multiplier]) -> frozenset[torch.dtype]:
    """Return the types whose products are PyTorch's own. No design of the context may multiply these alone."""
    found = list(types) if isinstance(types, Iterable) and not isinstance(types, str) else [types]
    if found and (not isinstance(types, Iterable) or not all(isinstance(x, torch.dtype) for x in found)):
        raise EmulationError(f"native is {types!r}: a list of types of PyTorch, for example native=[torch.float64]")
    native = frozenset(x for x in found if isinstance(x, torch.dtype))
    for design in designs:
        if native.issuperset(dtypes_of(design)):
            both = " and ".join(sorted({str(x) for x in dtypes_of(design)}))
            raise EmulationError(
                f"native leaves products of {both} to PyTorch, and {design.name} is there to compute them: drop one "
                "of the two"
            )
    return native


def check_designs(designs: Sequence[Multiplier]) -> None:
    """Raise DesignError for designs that PyTorch's operators cannot be mapped to."""
    seen: dict[tuple[torch.dtype, torch.dtype], Multiplier] = {}
    for design in designs:
        if design.scale_format is not None:
            raise DesignError(
                f"{design.name} takes scales, which torch.matmul has no place for: call mmaproof.torch.matmul"
            )
        narrow = {x.name for x in (design.a_format, design.b_format)} & HELD_AS_PATTERNS
        if narrow:
            raise DesignError(
                f"{design.name} multiplies {', '.join(sorted(narrow))}, which PyTorch has no type for: call "
                "mmaproof.torch.matmul with patterns in torch.uint8"
            )
        other = seen.setdefault(dtypes_of(design), design)
        if other is not design:
            raise DesignError(f"{other.name} and {design.name} take the same types: which should run?")


def dtypes_of(design: Multiplier) -> tuple[torch.dtype, torch.dtype]:
    """Return the types of a and b."""
    return dtype_of(design.a_format), dtype_of(design.b_format)
