"""The semantics of a unit, written once, and its three interpretations; solvers live in ``smt.solving`` only."""
