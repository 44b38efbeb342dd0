"""Designs with some parameters changed. The values are given as a user types them."""

from __future__ import annotations

from mmaproof.designs.design import Design
from mmaproof.designs.parameters import complete_settings, parse_parameter


def has_value(design: Design, name: str, text: str) -> bool:
    """Return whether a parameter has this value.

    A parameter without an effect has the value that the step implies, or its default.
    """
    return bool(complete_settings(design.chain, design.step)[name] == parse_parameter(name, text))


def changed_to(design: Design, **settings: str) -> Design:
    """Return the design with these values. Parameters that have them already are not named as changed.

    Raises DesignError if a parameter has another value and no effect.
    """
    return design.change(**{name: text for name, text in settings.items() if not has_value(design, name, text)})


def with_other_value(design: Design, name: str, *texts: str) -> Design:
    """Return the design with the first value that the parameter does not have. Raises DesignError as above."""
    return design.change(**{name: next(text for text in texts if not has_value(design, name, text))})
