"""Proofs in pieces: lemmas about one stage of a unit, and how they add up to a statement about the whole."""
