"""Operands and results in files of any common kind: what is in them, and which dot products that is."""
