"""The package that decides questions: search, proof strategies, witnesses, comparisons, and executors of long work."""
