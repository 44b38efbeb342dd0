"""Identification: what design a unit is that can only be run."""
