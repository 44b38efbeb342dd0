"""Solvers and what they say: queries, limits, processes and verdicts.

This is the only folder that imports a solver, and it knows nothing about designs. The package itself imports
nothing, because every solver process passes through it while it starts.
"""
