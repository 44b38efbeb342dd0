"""Plans: how a GEMM is built from a unit, as data."""

from mmaproof.designs.plans.orders import Kind, Order
from mmaproof.designs.plans.parts import Blocks, EqualParts, HalvedBlocks, Interleaved, Parts, StatedParts
from mmaproof.designs.plans.plan import Epilogue, JoinsC, Level, PartSum, Plan, Rescale
from mmaproof.designs.plans.schedule import Schedule
from mmaproof.designs.plans.spelling import KEYS, plan_of_table, read_plan

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
