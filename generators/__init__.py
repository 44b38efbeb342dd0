"""Operands made on purpose: random ones, searched and solved-for witnesses, and the files that hold them."""
