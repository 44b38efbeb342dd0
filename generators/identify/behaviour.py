"""How a unit computes, apart from its formats and K: what an identification looks for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from mmaproof.designs.design import Design
from mmaproof.designs.parameters import DEFINITIONS, Chain, compose, format_parameter, settings_of
from mmaproof.designs.readings import CONSECUTIVE
from mmaproof.designs.steps import Step


@dataclass(frozen=True)
class Behaviour:
    """A chain and its step. Behaviours are equal where every parameter that has an effect is."""

    chain: Chain
    step: Step

    @classmethod
    def of(cls, design: Design, k: int | None = None) -> Behaviour:
        """Return the behaviour of a design, at length ``k`` where one is given."""
        found = cls(design.chain, design.step)
        return found if k is None else found.at_length(k)

    @cached_property
    def settings(self) -> Mapping[str, Any]:
        """The values of the parameters that have an effect, by name."""
        return settings_of(self.chain, self.step)

    @cached_property
    def _hash(self) -> int:
        return hash((self.chain, self.step))

    def __hash__(self) -> int:
        # behaviours are looked up very often
        return self._hash

    def __getitem__(self, name: str) -> Any:
        """Return the value of a parameter, its default where it has no effect."""
        return self.settings[name] if name in self.settings else DEFINITIONS[name].default

    def change(self, **changes: Any) -> Behaviour:
        """Return the behaviour with parameters changed; those that come into effect by that are at their defaults.

        Raises DesignError for a value that is not allowed.
        """
        return Behaviour(*compose({**self.settings, **changes}))

    def at_length(self, k: int) -> Behaviour:
        """Return what means the same for dot products of ``k``: in one step there is no order."""
        if k != self.step.L or self.chain.k_order == CONSECUTIVE:
            return self
        return replace(self, chain=replace(self.chain, k_order=CONSECUTIVE))

    def as_text(self) -> dict[str, str]:
        """Return every parameter as text, those without an effect at their defaults."""
        return {name: format_parameter(name, self[name]) for name in DEFINITIONS}
