"""Plans: how a GEMM is built from a unit, as data."""

from mmaproof.designs.plans.orders import Kind, Order
from mmaproof.designs.plans.parts import Blocks, EqualParts, HalvedBlocks, Interleaved, Parts, StatedParts
from mmaproof.designs.plans.plan import Epilogue, JoinsC, Level, PartSum, Plan, Rescale
from mmaproof.designs.plans.schedule import (
    Add,
    Call,
    Convert,
    Factor,
    Flush,
    Multiply,
    MultiplyAdd,
    Operand,
    Operation,
    Schedule,
    Zero,
    arguments,
)
from mmaproof.designs.plans.spelling import KEYS, plan_of_table, read_plan

__all__ = [
    "KEYS",
    "Add",
    "Blocks",
    "Call",
    "Convert",
    "Epilogue",
    "EqualParts",
    "Factor",
    "Flush",
    "HalvedBlocks",
    "Interleaved",
    "JoinsC",
    "Kind",
    "Level",
    "Multiply",
    "MultiplyAdd",
    "Operand",
    "Operation",
    "Order",
    "PartSum",
    "Parts",
    "Plan",
    "Rescale",
    "Schedule",
    "StatedParts",
    "Zero",
    "arguments",
    "plan_of_table",
    "read_plan",
]
