"""Which kernel computed a matrix product: its summation tree from masked operands, and the plan that has this tree."""
