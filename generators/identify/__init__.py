"""Identification: which design describes a unit that can only be run."""
