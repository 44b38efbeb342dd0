"""Tolerances of whole matrix products: proved and statistical, tests that use them, and how sharp these are."""
