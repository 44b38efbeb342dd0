"""The room that decides: search, strategies of proof, witnesses, comparisons, and the executors of long work."""
