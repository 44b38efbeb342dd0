"""The stages of a unit, written once over the algebra; ``unit`` joins them.

unpack -> terms -> align -> fused_sum -> convert are the stages; ``fused_step``, ``sequential_step``
and ``integer_step`` are what steps are composed of; ``specials`` decides infinities and NaNs.
"""

from mmaproof.smt.semantics.patterns import equal_results
from mmaproof.smt.semantics.signals import StepSignals
from mmaproof.smt.semantics.unit import DotProduct, OperandWords, dot_product_accumulate

__all__ = ["DotProduct", "OperandWords", "StepSignals", "dot_product_accumulate", "equal_results"]
