"""Solvers and what they say: queries, limits, processes and verdicts.

``prove.prove`` decides a claim, ``solving.Solving`` answers one query: by solvers that race (``portfolio``), confirmed
by another (``certify``), or from a file (``store``). ``backends`` knows the solvers, ``limits`` reads time and memory
limits, ``bitwuzla_solver`` makes Bitwuzla a solver of pySMT, ``smtlib`` writes a query for people.

This is the only folder that imports a solver, and it knows nothing about designs. The package itself imports nothing,
because every solver process passes through it while it starts.
"""
