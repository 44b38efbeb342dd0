"""The stages of a unit, written once over the algebra: unpack, terms, align, sum, convert; ``unit`` joins them."""

from mmaproof.smt.semantics.equality import equal_results
from mmaproof.smt.semantics.unit import DotProduct, StepSignals, dot_product_accumulate

__all__ = ["DotProduct", "StepSignals", "dot_product_accumulate", "equal_results"]
