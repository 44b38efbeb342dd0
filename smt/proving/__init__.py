"""Proofs in pieces: lemmas about single stages of a unit, and how they imply statements about the whole unit."""
