"""Targets that run operands, recordings of real ones, and the replay that compares."""
