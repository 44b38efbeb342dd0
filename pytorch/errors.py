"""The error of a product that cannot be emulated."""

from __future__ import annotations

from mmaproof.designs.errors import InputError


class EmulationError(InputError, NotImplementedError):
    """A product of tensors cannot be computed on the design. The text says which, why, and what to do."""
