"""Solvers and their replies: queries, limits, processes and verdicts.

``solving.prove`` decides a claim. ``solving.Solving`` answers one query: solvers race for it (``portfolio``), another
solver confirms the reply, or a file holds it (``store``). ``backends`` knows the solvers. ``limits``
reads time and memory limits. ``query.to_smtlib`` writes a query for people.

No other folder imports a solver, and this one knows nothing about designs. This module imports nothing, because every
solver process loads it while it starts.
"""
