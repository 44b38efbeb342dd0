"""What was found out about a kernel: its tree, the plans that return what it did, and the evidence against others."""

from __future__ import annotations

from dataclasses import dataclass, field

from mmaproof.gemm.kernels.fit import Answer, Mask
from mmaproof.gemm.kernels.rivals import Rival
from mmaproof.gemm.kernels.tree import Tree
from mmaproof.gemm.programs import Plan
from mmaproof.hardware_replay.matrix_target import Product


@dataclass(frozen=True)
class Difference:
    """An element of a product that a plan does not return."""

    answer: Answer
    row: int
    column: int
    expected: int
    """what the plan returns"""
    count: int
    """differing elements of this product"""
    of: int
    """its elements"""

    @property
    def returned(self) -> int:
        """What the target returned."""
        return int(self.answer.d[self.row, self.column])


@dataclass
class Finding:
    """What was found about the elements of d that ``where`` has; None for all."""

    where: Mask | None
    tree: Tree | None = None
    no_tree: str | None = None
    """why there is no tree"""
    pairs: int = 0
    """pairs of products that were asked about"""
    plan: Plan | None = None
    """the simplest plan that returns everything that the target did"""
    units: list[str] = field(default_factory=list)
    """the names of the designs that are this plan's unit"""
    same: list[Plan] = field(default_factory=list)
    """plans that are proved to return the same"""
    rivals: list[Rival] = field(default_factory=list)
    """other plans that returned the same, and whether they are proved equal"""
    validated: int = 0
    """outputs of the validation"""
    tried: int = 0
    """plans that were compared"""
    nearest: Plan | None = None
    """where no plan was found: the one that differs least"""
    difference: Difference | None = None
    """what the nearest plan does not return"""
    flushes: bool = False
    """whether the target differs from the nearest plan only in that subnormal results of it are zeros"""


@dataclass
class Outcome:
    """What was found about a target of one product."""

    target: str
    product: Product
    findings: list[Finding]
    calls: int
    seconds: float
    problem: str | None = None
    """why nothing could be found out"""
    recorded: bool = False
    """whether the target only has recorded answers"""
    late: bool = False
    """whether time ran out, before plans were found or before the validation was done"""

    @property
    def found(self) -> bool:
        """Whether a plan was found for every element."""
        return bool(self.findings) and all(x.plan is not None for x in self.findings)
