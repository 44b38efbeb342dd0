"""Plans: how a GEMM is built from a unit, as data."""

from mmaproof.gemm.programs.parts import Blocks, EqualParts, HalvedBlocks, Interleaved, Kind, Order, Parts, StatedParts
from mmaproof.gemm.programs.plan import Epilogue, JoinsC, Level, PartSum, Plan, Rescale
from mmaproof.gemm.programs.schedule import Schedule
from mmaproof.gemm.programs.spelling import KEYS, plan_of_table, read_plan

__all__ = [
    "KEYS",
    "Blocks",
    "Epilogue",
    "EqualParts",
    "HalvedBlocks",
    "Interleaved",
    "JoinsC",
    "Kind",
    "Level",
    "Order",
    "PartSum",
    "Parts",
    "Plan",
    "Rescale",
    "Schedule",
    "StatedParts",
    "plan_of_table",
    "read_plan",
]
